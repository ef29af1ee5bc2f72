# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Toolchain file: builds for another machine by Debian's cross compilers, with
# the libraries of a Debian root that scripts/cross has made. ctest runs the
# programs by qemu-user.
#
# USIW_CROSS: Debian's name of the machine; USIW_CROSS_ROOT: its root.

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES USIW_CROSS USIW_CROSS_ROOT)

set(cross_cpu_arm64 aarch64)
set(cross_cpu_riscv64 riscv64)
set(cross_cpu_s390x s390x)
set(cross_cpu_armhf arm)
set(cross_abi_armhf gnueabihf)
if(NOT cross_cpu_${USIW_CROSS})
	message(FATAL_ERROR "USIW_CROSS=${USIW_CROSS} is not known: arm64, "
		"riscv64, s390x and armhf are")
endif()
set(cross_abi gnu)
if(cross_abi_${USIW_CROSS})
	set(cross_abi ${cross_abi_${USIW_CROSS}})
endif()

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${cross_cpu_${USIW_CROSS}})
set(CMAKE_LIBRARY_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR}-linux-${cross_abi})
set(CMAKE_C_COMPILER ${CMAKE_LIBRARY_ARCHITECTURE}-gcc)
set(CMAKE_CXX_COMPILER ${CMAKE_LIBRARY_ARCHITECTURE}-g++)

set(CMAKE_SYSROOT ${USIW_CROSS_ROOT})
set(CMAKE_FIND_ROOT_PATH ${USIW_CROSS_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(ENV{PKG_CONFIG_LIBDIR}
	"${USIW_CROSS_ROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig:${USIW_CROSS_ROOT}/usr/share/pkgconfig")
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${USIW_CROSS_ROOT})
set(ENV{PKG_CONFIG_SYSTEM_INCLUDE_PATH}
	"/usr/include:${USIW_CROSS_ROOT}/usr/include")

# The cross compiler's own libc (libc6-dev-*-cross) would be used before the
# root's, which may be of another release.
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=include
	OUTPUT_VARIABLE cross_include OUTPUT_STRIP_TRAILING_WHITESPACE)
set(CMAKE_C_FLAGS_INIT "-nostdinc -isystem ${cross_include} -isystem ${USIW_CROSS_ROOT}/usr/include/${CMAKE_LIBRARY_ARCHITECTURE} -isystem ${USIW_CROSS_ROOT}/usr/include")
foreach(kind EXE SHARED MODULE)
	set(CMAKE_${kind}_LINKER_FLAGS_INIT
		"-L${USIW_CROSS_ROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}")
endforeach()

set(CMAKE_CROSSCOMPILING_EMULATOR
	"${CMAKE_CURRENT_LIST_DIR}/../tests/cross/emulate.py;${USIW_CROSS};${CMAKE_SYSTEM_PROCESSOR};${USIW_CROSS_ROOT}")

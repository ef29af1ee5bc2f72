# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Language level, warnings, sanitizers, output directories, helper functions.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)

if(NOT CMAKE_BUILD_TYPE)
	set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

option(USIW_WERROR "Treat warnings as errors" OFF)
set(USIW_SANITIZE "" CACHE STRING "Sanitizers: address,undefined or thread")
option(USIW_FUZZ "Build libFuzzer targets (needs clang)" OFF)
option(USIW_TESTS "Build the tests" ON)

include(UsiwMachine)

# The sockets API reads one object as sockaddr, sockaddr_in and
# sockaddr_storage. C's aliasing rules do not allow that, and gcc 12 for
# aarch64 drops the stores. The option has no measurable cost with gcc 12 on
# x86-64: sdp_model took 1.20 s of processor time with it and 1.21 s without,
# 300,000 messages of 64 octets by ib_send_bw 0.74 s and 0.69 s (single runs:
# 0.58 to 0.82 s), bench-framing without CRC 58 ns and 58 ns.
add_compile_options(-fno-strict-aliasing)
# GCC for x86-64 clears and copies structures of this size by "rep stos" and
# "rep movs", which take 30 cycles and more to begin.
include(CheckCCompilerFlag)
foreach(what memset memcpy)
	set(flag -m${what}-strategy=vector_loop:256:noalign,libcall:-1:noalign)
	check_c_compiler_flag(${flag} USIW_HAS_${what}_STRATEGY)
	if(USIW_HAS_${what}_STRATEGY)
		add_compile_options(${flag})
	endif()
endforeach()
# Functions begin at cache lines. Otherwise each change of a function moves all
# functions behind it, which makes a ping-pong of short messages up to 4 % slower
# or faster. It takes 1,136 cycles with this option and 1,176 without (both sides,
# medians of four minima, gcc 12). The library has 9 % more octets of code.
add_compile_options(-falign-functions=64)
add_compile_options(-ffunction-sections) # for rnic/data-path.ld

# For the directories of the data path. The same ping-pong takes 1,100 cycles
# with -O3 and 1,170 with -O2 (gcc 12, medians of three minima). Debug builds keep
# their own level.
macro(usiw_data_path)
	if(NOT CMAKE_BUILD_TYPE STREQUAL Debug AND NOT CMAKE_C_FLAGS MATCHES -O0)
		add_compile_options(-O3)
	endif()
endmacro()

add_compile_options(-Wall -Wextra -Wshadow -Wstrict-prototypes
	-Wmissing-prototypes -Wundef -Wvla -Wcast-qual -Wformat=2
	-Wpointer-arith)
if(USIW_WERROR)
	add_compile_options(-Werror)
endif()
if(USIW_SANITIZE)
	add_compile_options(-fsanitize=${USIW_SANITIZE}
		-fno-omit-frame-pointer -fno-sanitize-recover=undefined)
	add_link_options(-fsanitize=${USIW_SANITIZE})
	# TSan does not model fences, and gcc warns about each. usiw's fences
	# order atomics against atomics (doorbell against sleep). Data is
	# passed by release/acquire pairs, which TSan models.
	if(USIW_SANITIZE MATCHES thread AND CMAKE_C_COMPILER_ID STREQUAL GNU)
		add_compile_options(-Wno-tsan)
	endif()
endif()

# Products have the same relative directories as in an installed tree, so that
# everything runs from the build tree.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

# Probes for tracers (util/probe.h).
include(CheckIncludeFile)
check_include_file(sys/sdt.h USIW_HAS_SDT)
if(USIW_HAS_SDT)
	add_compile_definitions(USIW_HAS_SDT)
else()
	message(STATUS "No <sys/sdt.h> (Debian: systemtap-sdt-dev): the "
		"libraries have no probes for bpftrace and perf")
endif()

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# Atomics of one octet: gcc 12 for riscv64 calls libatomic for them.
include(CheckCSourceCompiles)
check_c_source_compiles("
	_Bool flag;
	int main(void) { return __atomic_exchange_n(&flag, 1, 2); }"
	USIW_HAS_SMALL_ATOMICS)
if(NOT USIW_HAS_SMALL_ATOMICS)
	link_libraries(atomic)
endif()

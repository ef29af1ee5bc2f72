# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# USIW_INTERFACE: eight hex digits that identify the interface between the
# provider, the preload library and the RNIC inside a process: functions, rings,
# and the table of descriptors, which is code in each of them.
#
# The RNIC library has the digits in its name. So the provider and the preload
# library do not load the library of a build with another interface, and the
# provider accepts no device from the preload library of such a build.

set(text "")
foreach(file abi/usiw-abi.h abi/usiw-ring.h rnic/rnic.h
		rnic/dgram/rnic-ud.h rnic/os/rnic-watch.h util/fdtab.h util/fdtab.c)
	file(SHA256 ${CMAKE_SOURCE_DIR}/${file} sum)
	string(APPEND text "${sum}  ${file}\n")
	set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY
		CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${file})
endforeach()
string(SHA256 sum "${text}")
string(SUBSTRING ${sum} 0 8 USIW_INTERFACE)
set(USIW_RNIC_NAME usiw-rnic-${USIW_INTERFACE})

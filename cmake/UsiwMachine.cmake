# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Refuses machines that are not supported: usiw needs pointers, file offsets
# and atomics of 64 bits. doc/install.md and usiw(7) have the same sentence
# (meta-machines).
if(CMAKE_SIZEOF_VOID_P LESS 8)
	message(FATAL_ERROR "usiw needs a 64-bit machine: i386, armhf and all "
		"other 32-bit machines are not supported.")
endif()

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See high.h. */
#include "high.h"

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

void sdp_high_move(int *fd)
{
	/* The same as for the RNIC's descriptors. */
	static const int lowest[] = { 512, 16 };
	int moved = -1;

	if (*fd < 0 || *fd >= lowest[0])
		return;
	for (size_t i = 0; i < 2 && moved < 0; i++)
		moved = fcntl(*fd, F_DUPFD_CLOEXEC, lowest[i]);
	if (moved < 0)
		return;
	/* Uses libc's symbol: the descriptor may belong to libusiw-kabi. */
	close(*fd);
	*fd = moved;
}

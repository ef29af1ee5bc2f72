/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Keeps the library's descriptors above those of the program. */
#ifndef SDP_VERBS_HIGH_H
#define SDP_VERBS_HIGH_H

#include <fcntl.h>
#include <unistd.h>

#include "util/fd-high.h"

static inline int sdp_high_dup(int fd, int lowest)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, lowest);
}

/* By libc's symbols: the descriptor may belong to libusiw-kabi. */
static inline void sdp_high_move(int *fd)
{
	*fd = util_fd_high_move(*fd, sdp_high_dup, close);
}

#endif

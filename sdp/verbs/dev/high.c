/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See high.h. */
#include "high.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "util/fd-high.h"
#include "verbs/sdp-link.h"

static void (*on_keep)(int fd, bool is_kept);

void sdp_verbs_on_keep(void (*fn)(int fd, bool is_kept))
{
	on_keep = fn;
}

static int high_dup(int fd, int lowest)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, lowest);
}

/* By libc's symbols: the descriptor may belong to libusiw-kabi. */
void sdp_high_move(int *fd)
{
	*fd = util_fd_high_move(*fd, high_dup, close);
}

void sdp_high_keep(int *fd)
{
	sdp_high_move(fd);
	if (on_keep)
		on_keep(*fd, true);
}

void sdp_high_release(int fd)
{
	if (on_keep)
		on_keep(fd, false);
}

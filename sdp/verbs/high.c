/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See high.h. */
#include "high.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cancel.h"

void sdp_high_move(int *fd)
{
	/* As the RNIC's own. */
	static const int lowest[] = { 512, 16 };
	int moved = -1;

	if (*fd < 0 || *fd >= lowest[0])
		return;
	for (size_t i = 0; i < 2 && moved < 0; i++)
		moved = fcntl(*fd, F_DUPFD_CLOEXEC, lowest[i]);
	if (moved < 0)
		return;
	/* By libc's names: the descriptor may be one of libusiw-kabi's. */
	close(*fd);
	*fd = moved;
}

void sdp_high_blank(int fd)
{
	int null = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null",
				O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	/* Not closed: libibverbs would one day close the number of another
	 * file. */
	syscall(SYS_dup3, null, fd, O_CLOEXEC);
	util_sys_close(null);
}

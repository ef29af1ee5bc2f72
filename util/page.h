/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Counter pages: memory that other processes of the same user may read.
 *
 * With USIW_STAT_DIR a file NAME.PID there, which outlives the process; else a
 * memfd called NAME-stat, which others find in /proc/PID/fd.
 */
#ifndef UTIL_PAGE_H
#define UTIL_PAGE_H

#include <stddef.h>

struct util_page {
	void *mem;
	/* Of the memfd, which has to stay open so that others find it; -1: a
	 * file stands behind the page. */
	int fd;
};

/**
 * util_page_make - make the page and map it, all 0
 * @part: of the log: a directory without room for the file is told there.
 * @size: of the mapping.
 * @filled: octets that have their memory now, since a full disk must not
 *   become SIGBUS.  What is behind them is touched only after
 *   madvise(MADV_POPULATE_WRITE).
 * @at: NULL; or where to map, in place of what is there.
 *
 * A file of that name is a dead process's, or this one's before it called
 * exec(): it is replaced.  When no file can be made, it is a memfd.
 *
 * Return: 0; negative errno.  Not a cancellation point if the caller's scope
 * has UTIL_CANCEL_OFF().
 */
int util_page_make(const char *part, const char *name, size_t size,
		   size_t filled, void *at, struct util_page *ret_page)
	__attribute__((warn_unused_result));

#endif

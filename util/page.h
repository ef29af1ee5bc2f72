/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Counter pages: memory that other processes of the same user may read.
 *
 * With USIW_STAT_DIR the page is a file NAME.PID in that directory, which
 * remains after the process.  Otherwise it is a memfd named NAME-stat, which
 * other processes find in /proc/PID/fd.
 */
#ifndef UTIL_PAGE_H
#define UTIL_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct util_page {
	void *mem;
	int fd;	      /* of the memfd, by which other processes find it */
	bool is_file; /* it is a file, and found without @fd */
};

/**
 * util_page_make - make the page and map it, all 0
 * @part: part of the log, for the error that the file cannot be made.
 * @size: of the mapping.
 * @filled: number of octets to allocate now, so that a full disk does not cause
 *   SIGBUS.  Octets after them may be touched only after
 *   madvise(MADV_POPULATE_WRITE).
 * @at: NULL; or the address to map at, which replaces the mapping there.
 *
 * A file of the same name is from a process that has ended, or from this one
 * before it called exec(); it is replaced.  If no file can be made, the page is
 * a memfd.  Nobody can make a memfd shorter, which would cause SIGBUS here.
 *
 * Return: 0; -EFBIG: RLIMIT_FSIZE is below @size; other negative errno.  Not a
 * cancellation point if the caller's scope has UTIL_CANCEL_OFF().
 */
int util_page_make(const char *part, const char *name, size_t size,
		   size_t filled, void *at, struct util_page *ret_page)
	__attribute__((warn_unused_result));

/**
 * util_page_extend - allocate @size octets of the file at @at, and map them
 * @fd: of the page.
 * @at: whole pages, as @size is.
 *
 * Return: 0; -EFBIG: RLIMIT_FSIZE is lower; other negative errno.  Not a
 *   cancellation point if the caller's scope has UTIL_CANCEL_OFF().
 */
int util_page_extend(int fd, uint64_t at, size_t size, void **ret_mem)
	__attribute__((warn_unused_result));

#endif

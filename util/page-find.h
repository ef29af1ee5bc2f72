/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Finds the pages of util/page.h: of running processes in /proc/PID/fd, and
 * files of USIW_STAT_DIR.
 *
 * A process can see the pages of the processes that it could debug: those of
 * its own user; root, all.  A page belongs to a process that is not trusted.
 * Copy it by pread(), since a mapping ends with SIGBUS when the file is cut,
 * and check what it says.
 */
#ifndef UTIL_PAGE_FIND_H
#define UTIL_PAGE_FIND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct util_found_page {
	int pid; /* as it is called here; of a file: by its name, or 0 */
	int fd;	 /* readable; closed when the function returns */
	int num; /* that of the process; not of a file */
	bool is_file;
};

/**
 * struct util_page_search - what is looked for
 * @name: as for util_page_make().
 * @found: called for each page.  Return: 0: go on; 1: it is the page of the
 *   process; negative: stop.
 * @skips: should the process be left out?  NULL: none.
 */
struct util_page_search {
	const char *name;
	int (*found)(void *arg, const struct util_found_page *page);
	bool (*skips)(void *arg, int pid);
	void *arg;
};

/**
 * util_page_find - look for pages of running processes
 * @pid: 0: of all processes.
 *
 * The page is found by a descriptor of the process: of a memfd, or of a file in
 * USIW_STAT_DIR.  One that was inherited from another process is found, and is
 * not the process's page: see util_page_is_own().
 *
 * Return: 0; what found() returned, if negative; -errno: /proc cannot be read.
 *   With @pid also -ESRCH: there is no such process; -EACCES: it is another
 *   user's, or protects itself; -ENOENT: none of its descriptors is its page.
 */
int util_page_find(const struct util_page_search *search, int pid)
	__attribute__((warn_unused_result));

/**
 * util_page_find_file - open the page in a file
 * @path: a file; or a directory, whose files NAME.PID are opened in the order
 *   of their numbers.  In a directory, files that vanish meanwhile are left
 *   out, and those for which found() returns -EAGAIN.  After another error than
 *   -ENOMEM it goes on with the next file.
 *
 * Return: 0; of the first error: what found() returned, if negative; -errno: it
 *   cannot be opened; -EINVAL: it is no regular file.
 */
int util_page_find_file(const struct util_page_search *search, const char *path)
	__attribute__((warn_unused_result));

/* Is @own how process @pid is called in its own PID namespace? */
bool util_page_is_own(int pid, uint32_t own);

/**
 * util_page_read - copy octets of a page
 * Return: octets copied, less than @len at the end of the file; -errno.
 */
ssize_t util_page_read(int fd, void *buf, size_t len, uint64_t offset);

#endif

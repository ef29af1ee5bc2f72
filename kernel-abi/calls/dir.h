/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Directory streams over the tree.  They come from one array, so that one
 * comparison distinguishes them from a DIR * of libc.
 */
#ifndef KABI_DIR_H
#define KABI_DIR_H

#include <dirent.h>
#include <glob.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kabi_node;

struct kabi_dir {
	bool is_used; /* under kabi_lock */
	int fd;
	const struct kabi_node *node;
	const struct kabi_node *next; /* child */
	long pos;  /* entries returned: ".", "..", children, real ones */
	DIR *real; /* real entries beside the tree's; NULL: none */
	struct dirent64 entry;
};

_Static_assert(sizeof(struct dirent) == sizeof(struct dirent64) &&
		       offsetof(struct dirent, d_name) ==
			       offsetof(struct dirent64, d_name),
	       "LP64: one layout");

#define KABI_DIR_MAX 256

extern struct kabi_dir kabi_dirs[KABI_DIR_MAX];

static inline struct kabi_dir *kabi_dir_of(DIR *dir)
{
	if ((uintptr_t)dir - (uintptr_t)kabi_dirs >= sizeof(kabi_dirs))
		return NULL;
	return (struct kabi_dir *)(void *)dir;
}

/* NULL and errno on failure, like the calls that they implement. */
DIR *kabi_dir_open(const struct kabi_node *node);
/* The stream takes over @fd, which is an open @node. */
DIR *kabi_dir_open_fd(const struct kabi_node *node, int fd);
int kabi_dir_close(struct kabi_dir *dir);

/* NULL: the end. */
struct dirent64 *kabi_dir_read(struct kabi_dir *dir);
int kabi_dir_read_r(struct kabi_dir *dir, struct dirent64 *entry,
		    struct dirent64 **ret_entry);
void kabi_dir_seek(struct kabi_dir *dir, long pos);

/* scandir(3).  Return: count; -errno. */
int kabi_dir_scan(const struct kabi_node *node, struct dirent64 ***ret_list,
		  int (*filter)(const struct dirent64 *),
		  int (*compar)(const struct dirent64 **,
				const struct dirent64 **));

/* glob(3) of a pattern that may match the tree: libc's glob(), with the stubs
 * as its functions. */
int kabi_dir_glob(const char *pattern, int flags,
		  int (*errfunc)(const char *path, int err), glob_t *found);

#endif

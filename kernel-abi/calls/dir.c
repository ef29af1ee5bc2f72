/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Directory streams over the tree. */
#include "calls/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/cancel.h"
#include "calls/fd.h"
#include "tree/node.h"
#include "tree/node-fd.h"
#include "base/process.h"
#include "base/real.h"
#include "tree/sysfs.h"

struct kabi_dir kabi_dirs[KABI_DIR_MAX];

static struct kabi_dir *dir_take(void)
{
	struct kabi_dir *dir = NULL;

	util_lock(&kabi_lock);
	for (size_t i = 0; i < KABI_DIR_MAX && !dir; i++)
		if (!kabi_dirs[i].is_used)
			dir = &kabi_dirs[i];
	if (dir)
		dir->is_used = true;
	util_unlock(&kabi_lock);
	return dir;
}

static void dir_give_back(struct kabi_dir *dir)
{
	util_lock(&kabi_lock);
	dir->is_used = false;
	util_unlock(&kabi_lock);
}

/* The real directory of the same path, for directories that show both. */
static DIR *real_open(const struct kabi_node *node)
{
	char path[PATH_MAX];

	if (!node->is_merged || kabi_node_path(node, path, sizeof(path)) < 0)
		return NULL;
	return kabi_real()->opendir(path);
}

DIR *kabi_dir_open_fd(const struct kabi_node *node, int fd)
{
	UTIL_CANCEL_OFF();
	int saved_errno = errno;
	struct kabi_dir *dir;

	if (node->type != KABI_DIR) {
		errno = ENOTDIR;
		return NULL;
	}
	dir = dir_take();
	if (!dir) {
		errno = EMFILE;
		return NULL;
	}
	dir->fd = fd;
	dir->node = node;
	dir->next = node->child;
	dir->pos = 0;
	dir->real = real_open(node);
	errno = saved_errno;
	return (DIR *)(void *)dir;
}

DIR *kabi_dir_open(const struct kabi_node *node)
{
	int fd = kabi_node_open(node, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int saved_errno;
	DIR *dir;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	dir = kabi_dir_open_fd(node, fd);
	if (!dir) {
		saved_errno = errno;
		kabi_fd_close(fd);
		errno = saved_errno;
	}
	return dir;
}

int kabi_dir_close(struct kabi_dir *dir)
{
	UTIL_CANCEL_OFF();
	int fd = dir->fd;

	if (dir->real)
		kabi_real()->closedir(dir->real);
	dir_give_back(dir);
	return kabi_fd_close(fd);
}

/* ---- entries ------------------------------------------------------------ */

static unsigned char node_dirent_type(const struct kabi_node *node)
{
	switch (node->type) {
	case KABI_PASS:
	case KABI_DIR:
		return DT_DIR;
	case KABI_FILE:
		return DT_REG;
	case KABI_LINK:
		return DT_LNK;
	case KABI_UVERBS:
	case KABI_UCM:
		return DT_CHR;
	}
	return DT_UNKNOWN;
}

static struct dirent64 *
entry_fill(struct kabi_dir *dir, const struct kabi_node *node, const char *name)
{
	struct dirent64 *entry = &dir->entry;

	entry->d_ino = node->ino;
	entry->d_off = ++dir->pos;
	entry->d_type = node_dirent_type(node);
	entry->d_reclen = sizeof(*entry);
	snprintf(entry->d_name, sizeof(entry->d_name), "%s", name);
	return entry;
}

/* The next real entry without a node of the same name. */
static struct dirent64 *real_entry(struct kabi_dir *dir)
{
	struct dirent64 *entry;

	while (dir->real && (entry = kabi_real()->readdir64(dir->real))) {
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0 ||
		    kabi_node_child(dir->node, entry->d_name,
				    strlen(entry->d_name)))
			continue;
		dir->entry = *entry;
		dir->entry.d_off = ++dir->pos;
		return &dir->entry;
	}
	return NULL;
}

struct dirent64 *kabi_dir_read(struct kabi_dir *dir)
{
	const struct kabi_node *node = dir->next;

	if (dir->pos == 0)
		return entry_fill(dir, dir->node, ".");
	if (dir->pos == 1)
		return entry_fill(dir, dir->node->parent, "..");
	if (!node)
		return real_entry(dir);
	dir->next = node->next;
	return entry_fill(dir, node, node->name);
}

int kabi_dir_read_r(struct kabi_dir *dir, struct dirent64 *entry,
		    struct dirent64 **ret_entry)
{
	const struct dirent64 *found = kabi_dir_read(dir);

	if (found)
		memcpy(entry, found, sizeof(*entry));
	*ret_entry = found ? entry : NULL;
	return 0;
}

void kabi_dir_seek(struct kabi_dir *dir, long pos)
{
	dir->pos = 0;
	dir->next = dir->node->child;
	if (dir->real)
		kabi_real()->rewinddir(dir->real);
	while (dir->pos < pos && kabi_dir_read(dir))
		;
}

/* ---- scandir ------------------------------------------------------------ */

static void list_free(struct dirent64 **list, size_t cnt)
{
	while (cnt > 0)
		free(list[--cnt]);
	free(list);
}

/* Appends a copy.  Return: 0; -ENOMEM: @list is unchanged. */
static int list_append(struct dirent64 ***list, size_t cnt,
		       const struct dirent64 *entry)
{
	struct dirent64 *copy = malloc(sizeof(*copy));
	struct dirent64 **more;

	if (!copy)
		return -ENOMEM;
	more = realloc(*list, (cnt + 1) * sizeof(*more));
	if (!more) {
		free(copy);
		return -ENOMEM;
	}
	*copy = *entry;
	more[cnt] = copy;
	*list = more;
	return 0;
}

int kabi_dir_scan(const struct kabi_node *node, struct dirent64 ***ret_list,
		  int (*filter)(const struct dirent64 *),
		  int (*compar)(const struct dirent64 **,
				const struct dirent64 **))
{
	struct dirent64 **list = NULL;
	const struct dirent64 *entry;
	size_t cnt = 0;
	DIR *dir = kabi_dir_open(node);
	int ret = 0;

	if (!dir)
		return -errno;
	while (ret == 0 && (entry = kabi_dir_read(kabi_dir_of(dir)))) {
		if (filter && !filter(entry))
			continue;
		ret = list_append(&list, cnt, entry);
		if (ret == 0)
			cnt++;
	}
	kabi_dir_close(kabi_dir_of(dir));
	if (ret == 0 && !list) {
		list = malloc(sizeof(*list)); /* the caller frees something */
		if (!list)
			ret = -ENOMEM;
	}
	if (ret < 0) {
		list_free(list, cnt);
		return ret;
	}
	if (compar && cnt > 1)
		qsort(list, cnt, sizeof(*list),
		      (int (*)(const void *, const void *))(
			      void (*)(void))compar);
	*ret_list = list;
	return (int)cnt;
}

/* ---- glob --------------------------------------------------------------- */

/* The stubs that libc's glob() calls. */
static void *glob_opendir(const char *path)
{
	return opendir(path);
}

static struct dirent *glob_readdir(void *dir)
{
	return readdir(dir);
}

static void glob_closedir(void *dir)
{
	closedir(dir);
}

int kabi_dir_glob(const char *pattern, int flags,
		  int (*errfunc)(const char *path, int err), glob_t *found)
{
	glob_t saved = *found;
	int ret;

	found->gl_opendir = glob_opendir;
	found->gl_readdir = glob_readdir;
	found->gl_closedir = glob_closedir;
	found->gl_stat = stat;
	found->gl_lstat = lstat;
	ret = kabi_real()->glob(pattern, flags | GLOB_ALTDIRFUNC, errfunc,
				found);
	found->gl_flags &= ~GLOB_ALTDIRFUNC;
	found->gl_opendir = saved.gl_opendir;
	found->gl_readdir = saved.gl_readdir;
	found->gl_closedir = saved.gl_closedir;
	found->gl_stat = saved.gl_stat;
	found->gl_lstat = saved.gl_lstat;
	return ret;
}

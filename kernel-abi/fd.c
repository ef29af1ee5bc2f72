/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * read, write, close and dup of descriptors that may be ours.
 *
 * An object is closed when its last descriptor is.  rnic knows one fd per
 * object, the one it was made with; when the application closes that one but
 * keeps a duplicate, the number stays taken, hidden as UTIL_FD_INTERNAL.
 */
#include "fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <stdlib.h>

#include "../util/cancel.h"
#include "netlink.h"
#include "node.h"
#include "real.h"
#include "sysfs.h"

/* One entry per object that was ever duplicated; guarded by kabi_lock. */
struct alias {
	struct alias *next;
	void *object;
	enum util_fd_kind kind;
	int primary_fd; /* the one rnic knows */
	uint32_t fd_cnt;
};

static struct alias *aliases;

/* Opened nodes.  The kind says nothing here but "something". */
static struct util_fdtab *node_fds;
#define NODE_KIND UTIL_FD_CHAN

int kabi_fd_init(void)
{
	node_fds = util_fdtab_new();
	return node_fds ? 0 : -ENOMEM;
}

static struct util_fdtab *fd_table(void)
{
	return kabi_rnic()->fdtab();
}

/* Every object is the parent's; what was opened of the tree stays open. */
void kabi_fd_fork_child(void)
{
	struct alias *alias;

	while ((alias = aliases) != NULL) {
		aliases = alias->next;
		free(alias);
	}
}

/* ---- opened nodes ------------------------------------------------------- */

const struct kabi_node *kabi_fd_node(int fd)
{
	const struct kabi_node *node;
	int saved_errno = errno;
	void *object = NULL;
	bool is_open;

	if (!atomic_load_explicit(&kabi_fds, memory_order_acquire) ||
	    util_fdtab_lookup(node_fds, fd, &object) == UTIL_FD_NONE)
		return NULL;
	node = object;
	is_open = kabi_node_is_open_as(node, fd);
	errno = saved_errno;
	if (is_open)
		return node;
	if (kabi_is_owner())
		util_fdtab_remove(node_fds, fd);
	return NULL;
}

void kabi_fd_node_add(int fd, const struct kabi_node *node)
{
	(void)util_fdtab_add(node_fds, fd, NODE_KIND, (void *)(uintptr_t)node);
}

const struct kabi_node *kabi_fd_stat_node(int fd)
{
	const struct kabi_node *dev;
	void *object = NULL;

	switch (kabi_fd_kind(fd, &object)) {
	case UTIL_FD_UVERBS:
		return kabi_uverbs_node(object);
	case UTIL_FD_UCM:
		dev = kabi_node_child(kabi_tree_root(), "dev", 3);
		dev = kabi_node_child(dev, "infiniband", 10);
		return kabi_node_child(dev, "rdma_cm", 7);
	case UTIL_FD_NONE:
		return kabi_fd_node(fd);
	case UTIL_FD_CHAN:
	case UTIL_FD_INTERNAL:
	case UTIL_FD_DEAD:
		break;
	}
	return NULL;
}

const struct kabi_node *kabi_fd_empty_path(int fd, const char *path)
{
	return path && *path == '\0' ? kabi_fd_stat_node(fd) : NULL;
}

/* ---- read and write ----------------------------------------------------- */

static void chan_put(void *chan)
{
	kabi_rnic()->chan_put(chan);
}

/* A thread may be cancelled while it waits for an event. */
static ssize_t chan_read(int fd, void *buf, size_t len)
{
	struct rnic_chan *chan = kabi_rnic()->chan_get_fd(fd);
	ssize_t ret;

	if (!chan)
		return -EBADF; /* closed just now by another thread */
	pthread_cleanup_push(chan_put, chan);
	ret = kabi_rnic()->chan_read(chan, buf, len);
	pthread_cleanup_pop(1);
	return ret;
}

ssize_t kabi_fd_read(int fd, enum util_fd_kind kind, void *buf, size_t len)
{
	ssize_t ret = -EINVAL; /* uverbs, rdma_cm: nothing to read */

	switch (kind) {
	case UTIL_FD_CHAN:
		return chan_read(fd, buf, len);
	case UTIL_FD_DEAD:
		return -ENODEV;
	case UTIL_FD_NONE:
	case UTIL_FD_INTERNAL:
		ret = kabi_real()->read(fd, buf, len);
		return ret < 0 ? -errno : ret;
	case UTIL_FD_UVERBS:
	case UTIL_FD_UCM:
		break;
	}
	return ret;
}

ssize_t kabi_fd_write(int fd, enum util_fd_kind kind, void *object,
		      const void *buf, size_t len)
{
	ssize_t ret = -EINVAL; /* channels: nothing to write */

	switch (kind) {
	case UTIL_FD_UVERBS:
		return kabi_uverbs_write(object, buf, len);
	case UTIL_FD_UCM:
		return kabi_ucm_write(object, buf, len);
	case UTIL_FD_DEAD:
		return -ENODEV;
	case UTIL_FD_NONE:
	case UTIL_FD_INTERNAL:
		ret = kabi_real()->write(fd, buf, len);
		return ret < 0 ? -errno : ret;
	case UTIL_FD_CHAN:
		break;
	}
	return ret;
}

/* ---- duplicates --------------------------------------------------------- */

static struct alias **alias_find_locked(const void *object)
{
	struct alias **where = &aliases;

	util_lock_assert_held(&kabi_lock);
	while (*where && (*where)->object != object)
		where = &(*where)->next;
	return where;
}

/* @fd gets a duplicate.  Return: 0; -ENOMEM. */
static int alias_add(int fd, enum util_fd_kind kind, void *object)
{
	struct alias *fresh = malloc(sizeof(*fresh));
	struct alias **where;

	if (!fresh)
		return -ENOMEM;
	util_lock(&kabi_lock);
	where = alias_find_locked(object);
	if (*where) {
		(*where)->fd_cnt++;
	} else {
		/* The first duplicate: @fd is the only one so far. */
		*fresh = (struct alias){ .object = object,
					 .kind = kind,
					 .primary_fd = fd,
					 .fd_cnt = 2 };
		*where = fresh;
		fresh = NULL;
	}
	util_unlock(&kabi_lock);
	free(fresh);
	return 0;
}

/*
 * @fd of @object goes.  Return: true: it was the last one, end the object,
 * *ret_primary_fd is the one rnic closes.  False: others remain.
 */
static bool alias_drop(int fd, const void *object, int *ret_primary_fd)
{
	struct alias *alias, **where;
	bool is_last = true;

	*ret_primary_fd = fd;
	util_lock(&kabi_lock);
	where = alias_find_locked(object);
	alias = *where;
	if (alias) {
		*ret_primary_fd = alias->primary_fd;
		is_last = --alias->fd_cnt == 0;
		if (is_last)
			*where = alias->next;
	}
	util_unlock(&kabi_lock);
	if (alias && is_last)
		free(alias);
	return is_last;
}

static int real_close(int fd)
{
	return kabi_real()->close(fd) < 0 ? -errno : 0;
}

static int object_close(enum util_fd_kind kind, void *object)
{
	switch (kind) {
	case UTIL_FD_CHAN:
		kabi_rnic()->chan_close(object);
		return 0;
	case UTIL_FD_UVERBS:
		return kabi_uverbs_close(object);
	case UTIL_FD_UCM:
		return kabi_ucm_close(object);
	case UTIL_FD_NONE:
	case UTIL_FD_INTERNAL:
	case UTIL_FD_DEAD:
		break;
	}
	return -EBADF;
}

static int object_fd_close(int fd, enum util_fd_kind kind, void *object)
{
	UTIL_CANCEL_OFF();
	int primary_fd;

	if (alias_drop(fd, object, &primary_fd)) {
		if (fd != primary_fd) {
			util_fdtab_remove(fd_table(), fd);
			real_close(fd);
		}
		return object_close(kind, object);
	}
	if (fd == primary_fd) /* cannot fail: the place exists */
		return util_fdtab_add(fd_table(), fd, UTIL_FD_INTERNAL, NULL);
	util_fdtab_remove(fd_table(), fd);
	return real_close(fd);
}

int kabi_fd_close(int fd)
{
	void *object = NULL;
	enum util_fd_kind kind = kabi_fd_kind(fd, &object);

	if (kind == UTIL_FD_NONE) {
		if (util_fdtab_lookup(node_fds, fd, NULL) != UTIL_FD_NONE &&
		    kabi_is_owner())
			util_fdtab_remove(node_fds, fd);
		kabi_netlink_fd_close(fd);
		return real_close(fd);
	}
	if (!kabi_is_owner())
		return real_close(fd);
	if (kind == UTIL_FD_INTERNAL)
		return -EBADF; /* the application has no such fd */
	if (kind == UTIL_FD_DEAD) {
		util_fdtab_remove(fd_table(), fd);
		return real_close(fd);
	}
	return object_fd_close(fd, kind, object);
}

/* A real duplicate @new_fd of @fd exists: tell the tables. */
static int dup_note(int fd, int new_fd)
{
	const struct kabi_node *node;
	void *object = NULL;
	enum util_fd_kind kind = kabi_fd_kind(fd, &object);
	int ret;

	if (kind == UTIL_FD_NONE || kind == UTIL_FD_INTERNAL) {
		node = kabi_fd_node(fd);
		if (node)
			kabi_fd_node_add(new_fd, node);
		kabi_netlink_fd_dup(fd, new_fd);
		return 0;
	}
	/* First the entry: its memory is what can run out. */
	ret = util_fdtab_add(fd_table(), new_fd, kind, object);
	if (ret < 0 || kind == UTIL_FD_DEAD)
		return ret;
	ret = alias_add(fd, kind, object);
	if (ret < 0)
		util_fdtab_remove(fd_table(), new_fd);
	return ret;
}

static int dup_finish(int fd, int new_fd)
{
	int ret;

	if (new_fd < 0)
		return -errno;
	if (!kabi_is_owner())
		return new_fd;
	ret = dup_note(fd, new_fd);
	if (ret < 0) {
		real_close(new_fd);
		return ret;
	}
	return new_fd;
}

int kabi_fd_dup(int fd, int lowest, bool is_cloexec)
{
	return dup_finish(
		fd,
		kabi_real()->fcntl(fd, is_cloexec ? F_DUPFD_CLOEXEC : F_DUPFD,
				   lowest));
}

/* What stands at the number @new_fd goes, as dup2() would have it. */
static int dup_make_room(int fd, int new_fd)
{
	void *object = NULL;
	enum util_fd_kind kind = kabi_fd_kind(new_fd, &object);
	int primary_fd = -1;
	struct alias *alias;

	if (kind == UTIL_FD_NONE) {
		util_fdtab_remove(node_fds, new_fd);
		kabi_netlink_fd_close(new_fd);
		return 0;
	}
	/* A bad @fd must not cost the application its @new_fd. */
	if (kabi_real()->fcntl(fd, F_GETFD) < 0)
		return -errno;
	if (kind == UTIL_FD_INTERNAL)
		return -EBUSY;
	util_lock(&kabi_lock);
	alias = *alias_find_locked(object);
	if (alias && alias->fd_cnt > 1)
		primary_fd = alias->primary_fd;
	util_unlock(&kabi_lock);
	if (kind != UTIL_FD_DEAD && primary_fd == new_fd)
		return -EBUSY; /* duplicates need that number */
	return kabi_fd_close(new_fd);
}

int kabi_fd_dup3(int fd, int new_fd, int flags)
{
	int ret;

	if (fd != new_fd && kabi_is_owner()) {
		ret = dup_make_room(fd, new_fd);
		if (ret < 0)
			return ret;
	}
	ret = kabi_real()->dup3(fd, new_fd, flags);
	if (ret < 0)
		return -errno;
	return dup_finish(fd, ret);
}

/* ---- ranges ------------------------------------------------------------- */

static int real_close_range(unsigned int first, unsigned int last, int flags)
{
	if (first > last)
		return 0;
	return kabi_real()->close_range(first, last, flags) < 0 ? -errno : 0;
}

int kabi_fd_close_range(unsigned int first, unsigned int last, int flags)
{
	unsigned int from = first;
	int ret;

	if (first > last || (flags & ~CLOSE_RANGE_UNSHARE) || !kabi_is_owner())
		return kabi_real()->close_range(first, last, flags) < 0 ? -errno
									: 0;
	/* Does the kernel have it?  Find out before anything is closed. */
	ret = real_close_range(~0u, ~0u, flags);
	if (ret < 0)
		return ret;
	for (unsigned int fd = first; fd <= last && fd < UTIL_FD_MAX; fd++) {
		if (util_fdtab_lookup(node_fds, (int)fd, NULL) != UTIL_FD_NONE)
			util_fdtab_remove(node_fds, (int)fd);
		kabi_netlink_fd_close((int)fd);
		if (kabi_fd_kind((int)fd, NULL) == UTIL_FD_NONE)
			continue;
		/* An object, or rnic's: go around it. */
		if (fd > from) {
			ret = real_close_range(from, fd - 1, flags);
			if (ret < 0)
				return ret;
		}
		kabi_fd_close((int)fd);
		from = fd + 1;
	}
	return real_close_range(from, last, flags);
}

void kabi_fd_close_from(unsigned int first)
{
	if (kabi_fd_close_range(first, ~0u, 0) == 0)
		return;
	/* A kernel without close_range(). */
	for (unsigned int fd = first; fd < UTIL_FD_MAX; fd++)
		kabi_fd_close((int)fd);
}

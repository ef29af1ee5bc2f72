/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * read, write, close and dup of descriptors that may be usiw's.
 *
 * An object is a file (util/fdtab.h).  All its numbers are equal.  A call in
 * progress holds a reference, so that another thread may close any number
 * meanwhile.
 */
#include "calls/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include "util/cancel.h"
#include "netlink/netlink.h"
#include "tree/node.h"
#include "tree/node-fd.h"
#include "tree/path.h"
#include "base/process.h"
#include "base/real.h"
#include "tree/sysfs.h"
#include "commands/ucm.h"
#include "commands/uverbs.h"

static struct util_fdtab *fd_table(void)
{
	return kabi_rnic()->fdtab();
}

/* ---- nodes --------------------------------------------------------------- */

void kabi_fd_refresh(int fd)
{
	const struct kabi_node *node = kabi_fd_node(fd);

	if (node)
		kabi_node_refresh(node, fd);
}

const struct kabi_node *kabi_fd_stat_node(int fd)
{
	const struct kabi_node *dev;
	struct util_file *file;

	switch (kabi_fd_kind(fd)) {
	case RNIC_FD_UVERBS:
		file = util_fdtab_get(fd_table(), fd, RNIC_FD_UVERBS);
		if (!file)
			return NULL; /* closed just now by another thread */
		dev = kabi_uverbs_node(file);
		util_file_put(file);
		return dev;
	case RNIC_FD_UCM:
		dev = kabi_node_child(kabi_tree_root(), "dev", 3);
		dev = kabi_node_child(dev, "infiniband", 10);
		return kabi_node_child(dev, "rdma_cm", 7);
	case RNIC_FD_NONE:
		return kabi_fd_node(fd);
	case RNIC_FD_CHAN:
	case RNIC_FD_INTERNAL:
	case RNIC_FD_DEAD:
		break;
	}
	return NULL;
}

const struct kabi_node *kabi_fd_empty_path(int fd, const char *path)
{
	if (!path || *path != '\0')
		return NULL;
	return fd == AT_FDCWD ? kabi_path_cwd() : kabi_fd_stat_node(fd);
}

/* ---- read and write ----------------------------------------------------- */

static void file_put(void *file)
{
	util_file_put(file);
}

/*
 * The last number of the object is closed. A read that a kernel has begun goes
 * on: the thread waits for a signal or to be cancelled, but holds no reference.
 */
static ssize_t wait_without(void)
{
	(void)ppoll(NULL, 0, NULL, NULL);
	return -EINTR;
}

/* A thread may be cancelled while it waits for an event. */
static ssize_t chan_read(int fd, void *buf, size_t len)
{
	struct rnic_chan *chan = kabi_rnic()->chan_get_fd(fd);
	ssize_t ret;

	if (!chan)
		return -EBADF; /* closed just now by another thread */
	pthread_cleanup_push(file_put, chan);
	ret = kabi_rnic()->chan_read(chan, buf, len);
	pthread_cleanup_pop(1);
	return ret == -ESHUTDOWN ? wait_without() : ret;
}

ssize_t kabi_fd_read(int fd, enum rnic_fd_kind kind, void *buf, size_t len)
{
	ssize_t ret = -EINVAL; /* uverbs, rdma_cm: nothing to read */

	switch (kind) {
	case RNIC_FD_CHAN:
		return chan_read(fd, buf, len);
	case RNIC_FD_DEAD:
		return -ENODEV;
	case RNIC_FD_NONE:
	case RNIC_FD_INTERNAL:
		ret = kabi_real()->read(fd, buf, len);
		return ret < 0 ? -errno : ret;
	case RNIC_FD_UVERBS:
	case RNIC_FD_UCM:
		break;
	}
	return ret;
}

/* A command; a thread may be cancelled where it waits for an event. */
static ssize_t file_write(int fd, enum rnic_fd_kind kind, const void *buf,
			  size_t len)
{
	struct util_file *file = util_fdtab_get(fd_table(), fd, kind);
	ssize_t ret;

	if (!file)
		return -EBADF; /* closed just now by another thread */
	pthread_cleanup_push(file_put, file);
	ret = kind == RNIC_FD_UVERBS ? kabi_uverbs_write(file, buf, len)
				     : kabi_ucm_write(file, buf, len);
	pthread_cleanup_pop(1);
	return ret == -ESHUTDOWN ? wait_without() : ret;
}

ssize_t kabi_fd_write(int fd, enum rnic_fd_kind kind, const void *buf,
		      size_t len)
{
	ssize_t ret = -EINVAL; /* channels: nothing to write */

	switch (kind) {
	case RNIC_FD_UVERBS:
	case RNIC_FD_UCM:
		return file_write(fd, kind, buf, len);
	case RNIC_FD_DEAD:
		return -ENODEV;
	case RNIC_FD_NONE:
	case RNIC_FD_INTERNAL:
		ret = kabi_real()->write(fd, buf, len);
		return ret < 0 ? -errno : ret;
	case RNIC_FD_CHAN:
		break;
	}
	return ret;
}

/* ---- closing and duplicates ---------------------------------------------- */

static int real_close(int fd)
{
	return kabi_real()->close(fd) < 0 ? -errno : 0;
}

static int object_fd_close(int fd)
{
	UTIL_CANCEL_OFF();

	util_fdtab_uninstall(fd_table(), fd, NULL);
	return real_close(fd);
}

int kabi_fd_close(int fd)
{
	enum rnic_fd_kind kind = kabi_fd_kind(fd);

	if (kind == RNIC_FD_NONE) {
		if (kabi_is_owner())
			kabi_fd_node_remove(fd);
		kabi_netlink_fd_close(fd);
		return real_close(fd);
	}
	if (!kabi_is_owner())
		return real_close(fd);
	if (kind == RNIC_FD_INTERNAL)
		return -EBADF; /* the application has no such fd */
	return object_fd_close(fd);
}

/* Records the duplicate @new_fd of @fd in the tables. */
static int dup_note(int fd, int new_fd)
{
	enum rnic_fd_kind kind = kabi_fd_kind(fd);
	const struct kabi_node *node;
	struct util_file *file;
	int ret;

	if (kind == RNIC_FD_NONE || kind == RNIC_FD_INTERNAL) {
		node = kabi_fd_node(fd);
		if (node)
			kabi_fd_node_add(new_fd, node);
		kabi_netlink_fd_dup(fd, new_fd);
		return 0;
	}
	if (kind == RNIC_FD_DEAD)
		return util_fdtab_add(fd_table(), new_fd, kind, NULL);
	file = util_fdtab_get(fd_table(), fd, kind);
	if (!file)
		return -EBADF; /* closed just now by another thread */
	ret = util_fdtab_install(fd_table(), new_fd, kind, file);
	util_file_put(file);
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

/* Removes the entry of the number @new_fd, which dup3() itself closes. */
static int dup_make_room(int fd, int new_fd)
{
	enum rnic_fd_kind kind = kabi_fd_kind(new_fd);

	/* With a bad @fd the application keeps its @new_fd. */
	if (kabi_real()->fcntl(fd, F_GETFD) < 0)
		return -errno;
	if (kind == RNIC_FD_INTERNAL)
		return -EBUSY;
	if (kind != RNIC_FD_NONE) {
		util_fdtab_uninstall(fd_table(), new_fd, NULL);
		return 0;
	}
	kabi_fd_node_remove(new_fd);
	kabi_netlink_fd_close(new_fd);
	return 0;
}

int kabi_fd_dup3(int fd, int new_fd, int flags)
{
	int ret;

	if (fd == new_fd || (flags & ~O_CLOEXEC))
		return -EINVAL;
	if (kabi_is_owner()) {
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
	/* Check that the kernel has the call before anything is closed. */
	ret = real_close_range(~0u, ~0u, flags);
	if (ret < 0)
		return ret;
	for (unsigned int fd = first; fd <= last && fd < UTIL_FD_MAX; fd++) {
		kabi_fd_node_remove((int)fd);
		kabi_netlink_fd_close((int)fd);
		if (kabi_fd_kind((int)fd) == RNIC_FD_NONE)
			continue;
		/* An object, or a descriptor of rnic/: leave it out. */
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

/* ---- sockets ------------------------------------------------------------ */

bool kabi_fd_make_way(int fd, const struct sockaddr *addr, socklen_t len)
{
	int err = errno, type = 0;
	struct sockaddr_storage own;
	socklen_t type_len = sizeof(type);
	bool is_free = false;

	if (!addr) {
		addr = (struct sockaddr *)&own;
		len = sizeof(own);
		if (kabi_real()->getsockname(fd, (struct sockaddr *)&own,
					     &len) < 0)
			len = 0;
	}
	if (kabi_real()->getsockopt(fd, SOL_SOCKET, SO_TYPE, &type,
				    &type_len) == 0 &&
	    type == SOCK_STREAM)
		is_free = kabi_rnic()->cm_make_way(addr, len);
	errno = err;
	return is_free;
}

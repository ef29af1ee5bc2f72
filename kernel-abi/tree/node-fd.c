/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See node-fd.h. */
#include "tree/node-fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "util/fdtab.h"
#include "base/process.h"
#include "base/real.h"
#include "base/rnic-dl.h"
#include "tree/sysfs.h"

static struct util_fdtab *node_fds;
/* Its only kind. */
enum { FD_NODE = UTIL_FD_NONE + 1 };

int kabi_node_fds_init(void)
{
	node_fds = util_fdtab_new();
	return node_fds ? 0 : -ENOMEM;
}

/* True if @fd may still be the O_PATH fd or memfd of @node.  The number may
 * have been closed by a call without a stub. */
static bool is_open_as(const struct kabi_node *node, int fd)
{
	struct stat st;

	if (node->type == KABI_DIR) {
		int flags = kabi_real()->fcntl(fd, F_GETFL);

		return flags >= 0 && (flags & O_PATH);
	}
	return kabi_real()->fstat(fd, &st) == 0 &&
	       st.st_mode == (S_IFREG | KABI_NODE_MEMFD_MODE) &&
	       st.st_nlink == 0;
}

const struct kabi_node *kabi_fd_node(int fd)
{
	const struct kabi_node *node;
	int saved_errno = errno;
	void *object = NULL;
	bool is_open;

	if (!kabi_is_touched() ||
	    util_fdtab_lookup(node_fds, fd, &object) == UTIL_FD_NONE)
		return NULL;
	node = object;
	is_open = is_open_as(node, fd);
	errno = saved_errno;
	if (is_open)
		return node;
	if (kabi_is_owner())
		util_fdtab_remove(node_fds, fd);
	return NULL;
}

void kabi_fd_node_add(int fd, const struct kabi_node *node)
{
	(void)util_fdtab_add(node_fds, fd, FD_NODE, (void *)(uintptr_t)node);
}

void kabi_fd_node_remove(int fd)
{
	if (util_fdtab_lookup(node_fds, fd, NULL) != UTIL_FD_NONE)
		util_fdtab_remove(node_fds, fd);
}

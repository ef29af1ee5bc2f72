/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * /dev/infiniband/uverbsN: the few commands that libibverbs still sends to
 * the file itself when a provider does all the rest.
 *
 * ioctl() on the eventfd behind it answers ENOTTY by itself: libibverbs then
 * uses write() for commands and sysfs for GIDs.
 */
#include "kabi.h"

#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "../abi/usiw-abi.h"
#include "fd.h"
#include "real.h"
#include "ucm.h"

struct kabi_uverbs {
	int fd;
	const struct kabi_node *node;
};

int kabi_uverbs_open(const struct kabi_node *node, int flags)
{
	struct kabi_uverbs *file = malloc(sizeof(*file));
	int event_flags = 0;
	int ret;

	if (!file)
		return -ENOMEM;
	if (flags & O_CLOEXEC)
		event_flags |= EFD_CLOEXEC;
	if (flags & O_NONBLOCK)
		event_flags |= EFD_NONBLOCK;
	file->node = node;
	file->fd = eventfd(0, event_flags);
	if (file->fd < 0) {
		ret = -errno;
		goto free_file;
	}
	ret = util_fdtab_add(kabi_rnic()->fdtab(), file->fd, UTIL_FD_UVERBS,
			     file);
	if (ret < 0)
		goto close_fd;
	return file->fd;

close_fd:
	kabi_real()->close(file->fd);
free_file:
	free(file);
	return ret;
}

int kabi_uverbs_close(void *object)
{
	struct kabi_uverbs *file = object;
	int ret;

	util_fdtab_remove(kabi_rnic()->fdtab(), file->fd);
	ret = kabi_real()->close(file->fd);
	free(file);
	return ret < 0 ? -errno : 0;
}

const struct kabi_node *kabi_uverbs_node(const void *object)
{
	return ((const struct kabi_uverbs *)object)->node;
}

/* Answer: the fd of a new completion channel. */
static int comp_channel_create(uint64_t payload, size_t len, size_t answer_size)
{
	struct ib_uverbs_create_comp_channel cmd;
	struct ib_uverbs_create_comp_channel_resp resp;
	struct rnic_chan *chan;
	int ret;

	if (len < sizeof(cmd) || answer_size < sizeof(resp))
		return -EINVAL;
	ret = kabi_user_get(&cmd, payload, sizeof(cmd));
	if (ret < 0)
		return ret;
	ret = kabi_rnic()->chan_new(sizeof(struct usiw_comp_event), &chan);
	if (ret < 0)
		return ret;
	resp.fd = (__u32)kabi_rnic()->chan_fd(chan);
	ret = kabi_user_put(cmd.response, &resp, sizeof(resp));
	if (ret < 0)
		kabi_rnic()->chan_close(chan);
	return ret;
}

ssize_t kabi_uverbs_write(void *object, const void *buf, size_t len)
{
	struct ib_uverbs_cmd_hdr hdr;
	int ret;

	(void)object;
	if (len < sizeof(hdr))
		return -EINVAL;
	ret = kabi_user_get(&hdr, (uintptr_t)buf, sizeof(hdr));
	if (ret < 0)
		return ret;
	if (hdr.in_words * sizeof(__u32) != len)
		return -EINVAL;
	switch (hdr.command) {
	case IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL:
		ret = comp_channel_create((uintptr_t)buf + sizeof(hdr),
					  len - sizeof(hdr),
					  hdr.out_words * sizeof(__u32));
		break;
	default:
		/* The provider does everything else; libibverbs takes this
		 * for "the kernel cannot". */
		ret = -EOPNOTSUPP;
		break;
	}
	return ret < 0 ? ret : (ssize_t)len;
}

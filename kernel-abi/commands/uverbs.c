/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * /dev/infiniband/uverbsN: the few commands that libibverbs sends to the file
 * itself, although a provider does everything else.
 *
 * preload.c fails ioctl() with ENOTTY, so that libibverbs uses write() for
 * commands and sysfs for GIDs.
 */
#include "commands/uverbs.h"

#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "abi/usiw-abi.h"
#include "util/log.h"
#include "util/reason.h"
#include "base/real.h"
#include "base/rnic-dl.h"
#include "base/user.h"

struct kabi_uverbs {
	struct util_file file; /* first: the fd table names it */
	const struct kabi_node *node;
};

static void uverbs_close(struct util_file *file)
{
	(void)file;
}

static void uverbs_free(struct util_file *file)
{
	free(file);
}

/* Says so once, since programs do not.  Return: -errno. */
static int eventfd_refused(void)
{
	static atomic_flag is_told = ATOMIC_FLAG_INIT;
	int err = errno;

	if (!atomic_flag_test_and_set(&is_told))
		util_err("kabi",
			 "no device can be opened: eventfd() fails: %s; %s",
			 strerror(err),
			 err == EMFILE ? "raise RLIMIT_NOFILE (ulimit -n)"
				       : "allow this call to the program");
	return -err;
}

int kabi_uverbs_open(const struct kabi_node *node, int flags)
{
	struct kabi_uverbs *uverbs = malloc(sizeof(*uverbs));
	int event_flags = 0;
	int ret;

	if (!uverbs)
		return util_refuse_memory("verbs", "ibv_open_device");
	util_file_init(&uverbs->file, uverbs_close, uverbs_free);
	uverbs->node = node;
	if (flags & O_CLOEXEC)
		event_flags |= EFD_CLOEXEC;
	if (flags & O_NONBLOCK)
		event_flags |= EFD_NONBLOCK;
	ret = eventfd(0, event_flags);
	if (ret < 0) {
		ret = eventfd_refused();
	} else {
		int fd = ret;

		ret = util_fdtab_install(kabi_rnic()->fdtab(), fd,
					 RNIC_FD_UVERBS, &uverbs->file);
		if (ret < 0)
			kabi_real()->close(fd);
		else
			ret = fd;
	}
	util_file_put(&uverbs->file);
	return ret;
}

const struct kabi_node *kabi_uverbs_node(const struct util_file *file)
{
	return ((const struct kabi_uverbs *)file)->node;
}

/* Answer: the fd of a new completion channel. */
static int comp_channel_create(uint64_t payload, size_t len, size_t answer_size)
{
	struct ib_uverbs_create_comp_channel cmd;
	struct ib_uverbs_create_comp_channel_resp resp;
	struct rnic_chan *chan;
	int ret;

	if (len < sizeof(cmd) || answer_size < sizeof(resp))
		return util_refuse("verbs", EINVAL, "ibv_create_comp_channel",
				   "the command has %zu octets, and its answer "
				   "room for %zu",
				   len, answer_size);
	ret = kabi_user_get(&cmd, payload, sizeof(cmd));
	if (ret < 0)
		return ret;
	ret = kabi_rnic()->chan_new(sizeof(struct usiw_comp_event), &chan);
	if (ret < 0)
		return util_refuse("verbs", -ret, "ibv_create_comp_channel",
				   "the process gets no eventfd, or no memory");
	resp.fd = (__u32)kabi_rnic()->chan_fd(chan);
	ret = kabi_user_put(cmd.response, &resp, sizeof(resp));
	if (ret < 0)
		kabi_rnic()->chan_close(chan);
	else /* the number holds the reference */
		kabi_rnic()->chan_put(chan);
	return ret;
}

#define FILE_NAME "/dev/infiniband/uverbs"

ssize_t kabi_uverbs_write(struct util_file *file, const void *buf, size_t len)
{
	struct ib_uverbs_cmd_hdr hdr;
	int ret;

	(void)file;
	if (len < sizeof(hdr))
		return util_refuse("kabi", EINVAL, FILE_NAME,
				   "write() of %zu octets, fewer than a "
				   "command's header",
				   len);
	ret = kabi_user_get(&hdr, (uintptr_t)buf, sizeof(hdr));
	if (ret < 0)
		return ret;
	if (hdr.in_words * sizeof(__u32) != len)
		return util_refuse("kabi", EINVAL, FILE_NAME,
				   "write() of %zu octets, and in_words is %u",
				   len, hdr.in_words);
	switch (hdr.command) {
	case IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL:
		ret = comp_channel_create((uintptr_t)buf + sizeof(hdr),
					  len - sizeof(hdr),
					  hdr.out_words * sizeof(__u32));
		break;
	default:
		/* The provider does everything else.  libibverbs reads this as
		 * "not supported by the kernel". */
		ret = util_refuse("kabi", EOPNOTSUPP, FILE_NAME,
				  "command %u is for the provider to do",
				  hdr.command);
		break;
	}
	return ret < 0 ? ret : (ssize_t)len;
}

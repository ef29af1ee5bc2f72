/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sending on a socket of NETLINK_RDMA.  The request is answered before the call
 * returns.  Beside real hardware the kernel answers it as well.
 */
#include "netlink/netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "util/cancel.h"
#include "util/env.h"
#include "util/log.h"
#include "util/reason.h"
#include "netlink/nldev.h"
#include "base/census.h"
#include "base/real.h"
#include "base/rnic-dl.h"
#include "base/totals.h"
#include "base/user.h"

/* The longest request that is read; the kernel's limit is its send buffer. */
#define REQUEST_MAX 65536

/* The most that one kabi_user_get() copies. */
#define COPY_MAX 4096

/*
 * Indices of usiw's devices beside hardware.  The kernel counts its own from 0,
 * so they do not reach this number.
 */
#define INDEX_BESIDE 0x40000000u

#define KERNEL_BUF 32768
#define KERNEL_WAIT_S 1

/* ---- devices ------------------------------------------------------------ */

struct snapshot {
	struct kabi_nldev nldev;
	struct kabi_nldev_device *devices;
	struct rnic_device_attr *attrs;
	struct rnic_device *const *list;
	struct kabi_census census;
};

static void snapshot_fini(struct snapshot *snap)
{
	if (snap->nldev.census)
		kabi_census_free(&snap->census);
	free(snap->devices);
	free(snap->attrs);
}

/* Return: 0; -errno: nothing has to be freed. */
static int snapshot_init(struct snapshot *snap, struct kabi_netlink *nl)
{
	const struct kabi_rnic *rnic = kabi_rnic();
	uint32_t base = util_settings()->devices == UTIL_DEVICES_BESIDE
				? INDEX_BESIDE
				: 0;
	int cnt, ret = -ENOMEM;

	memset(snap, 0, sizeof(*snap));
	cnt = rnic->device_list(&snap->list);
	if (cnt < 0)
		return cnt;
	snap->devices = calloc((size_t)cnt + 1, sizeof(*snap->devices));
	snap->attrs = calloc((size_t)cnt + 1, sizeof(*snap->attrs));
	if (!snap->devices || !snap->attrs)
		goto fini;
	for (int i = 0; i < cnt; i++) {
		ret = rnic->device_query(snap->list[i], &snap->attrs[i]);
		if (ret < 0)
			goto fini;
		snap->devices[i].attr = &snap->attrs[i];
		snap->devices[i].index = base + (uint32_t)i;
	}
	snap->nldev = (struct kabi_nldev){
		.devices = snap->devices,
		.device_cnt = (size_t)cnt,
		.fw_ver = KABI_VERSION,
		.portid =
			atomic_load_explicit(&nl->portid, memory_order_relaxed),
		.is_capped = kabi_netlink_option(nl, NETLINK_CAP_ACK),
	};
	return 0;

fini:
	snapshot_fini(snap);
	return ret;
}

/* Adds what the request asks about all processes.  Return: 0; -ENOMEM. */
static int snapshot_extend(struct snapshot *snap,
			   const struct kabi_nldev_request *req)
{
	int ret;

	if (!snap->nldev.census && kabi_nldev_wants_census(&snap->nldev, req)) {
		ret = kabi_census_take(&snap->census);
		if (ret < 0)
			return ret;
		snap->nldev.census = &snap->census;
	}
	if (!kabi_nldev_wants_totals(&snap->nldev, req))
		return 0;
	for (size_t i = 0; i < snap->nldev.device_cnt; i++)
		if (snap->devices[i].index == req->dev_index)
			kabi_totals(snap->list[i], snap->attrs[i].ifindex,
				    &snap->devices[i].stats);
	return 0;
}

/* ---- the real kernel ---------------------------------------------------- */

/* Return: a socket; -errno, for example if the kernel has no RDMA. */
static int kernel_open(const struct kabi_netlink *nl)
{
	static const int options[] = { NETLINK_CAP_ACK, NETLINK_EXT_ACK };
	const struct timeval limit = { .tv_sec = KERNEL_WAIT_S };
	int fd = kabi_real()->socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
				     NETLINK_RDMA);

	if (fd < 0)
		return -errno;
	(void)kabi_real()->setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit,
				      sizeof(limit));
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		int on = kabi_netlink_option(nl, options[i]);

		(void)kabi_real()->setsockopt(fd, SOL_NETLINK, options[i], &on,
					      sizeof(on));
	}
	return fd;
}

/* Sends the request as it came, but always asks for an ACK. */
static int kernel_send(int fd, const struct kabi_nldev_request *req)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct nlmsghdr hdr = req->hdr;
	struct iovec iov[2] = {
		{ .iov_base = &hdr, .iov_len = sizeof(hdr) },
		{ .iov_base = (void *)(uintptr_t)(req->msg + sizeof(hdr)),
		  .iov_len = req->msg_len - sizeof(hdr) },
	};
	struct msghdr msg = { .msg_name = (void *)(uintptr_t)&kernel,
			      .msg_namelen = sizeof(kernel),
			      .msg_iov = iov,
			      .msg_iovlen = 2 };

	hdr.nlmsg_flags |= NLM_F_ACK;
	hdr.nlmsg_pid = 0;
	return kabi_real()->sendmsg(fd, &msg, 0) < 0 ? -errno : 0;
}

static int kernel_recv(int fd, uint8_t **ret_octets, size_t *ret_len)
{
	uint8_t *octets = NULL, *more;
	size_t len = 0;
	bool is_last = false;
	ssize_t got;
	int ret;

	while (!is_last) {
		more = realloc(octets, len + KERNEL_BUF);
		ret = -ENOMEM;
		if (!more)
			goto free_octets;
		octets = more;
		got = kabi_real()->recvfrom(fd, octets + len, KERNEL_BUF, 0,
					    NULL, NULL);
		ret = got < 0 ? -errno : -EPROTO;
		if (ret == -EINTR)
			continue;
		if (got <= 0)
			goto free_octets;
		is_last = kabi_nldev_is_last(octets + len, (size_t)got);
		len += NLMSG_ALIGN((size_t)got);
	}
	*ret_octets = octets;
	*ret_len = len;
	return 0;

free_octets:
	free(octets);
	return ret;
}

/* Return: 0: the caller frees *ret_octets; -errno: there is no answer. */
static int kernel_ask(const struct kabi_netlink *nl,
		      const struct kabi_nldev_request *req,
		      uint8_t **ret_octets, size_t *ret_len)
{
	int fd = kernel_open(nl), ret;

	if (fd < 0)
		return fd;
	ret = kernel_send(fd, req);
	if (ret == 0)
		ret = kernel_recv(fd, ret_octets, ret_len);
	if (ret < 0)
		util_warn("kabi", "netlink: the kernel does not answer: %s",
			  strerror(-ret));
	kabi_real()->close(fd);
	return ret;
}

/* ---- one request -------------------------------------------------------- */

static void request_refused(const struct kabi_nldev_request *req, int ret)
{
	if (ret == -EOPNOTSUPP)
		(void)util_refuse("kabi", EOPNOTSUPP, "RDMA netlink",
				  "usiw does not have command %u with flags "
				  "0x%x",
				  req->op, req->hdr.nlmsg_flags);
	else
		(void)util_refuse(
			"kabi", -ret, "RDMA netlink",
			"message type 0x%x, command %u, device %u, "
			"port %u: there is no such command, device or "
			"port, or an attribute is missing or of the "
			"wrong size",
			req->hdr.nlmsg_type, req->op, req->dev_index,
			req->port_index);
}

static void request_answer(const struct kabi_netlink *nl,
			   const struct kabi_nldev *nldev,
			   const struct kabi_nldev_request *req,
			   struct kabi_nldev_reply *reply)
{
	uint8_t *real = NULL;
	size_t real_len = 0;
	int ret;

	if (util_settings()->devices == UTIL_DEVICES_BESIDE &&
	    kabi_nldev_owner(nldev, req) != KABI_NLDEV_OURS &&
	    kernel_ask(nl, req, &real, &real_len) == 0) {
		kabi_nldev_merge(nldev, req, real, real_len, reply);
		free(real);
		return;
	}
	ret = kabi_nldev_answer(nldev, req, reply);
	if (ret < 0)
		request_refused(req, ret);
}

/* Return: 0; -ENOBUFS: too many replies are unread. */
static int reply_queue(int fd, const struct kabi_nldev_reply *reply)
{
	size_t at = 0, len;

	while ((len = kabi_nldev_datagram(reply, at))) {
		if (kabi_real()->send(fd, reply->octets + at, len,
				      MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			return errno == EAGAIN ? -ENOBUFS : -errno;
		at += len;
	}
	return reply->is_cut ? -ENOBUFS : 0;
}

static int requests_answer(struct kabi_netlink *nl, int fd,
			   const uint8_t *octets, size_t len)
{
	struct kabi_nldev_request req;
	struct kabi_nldev_reply reply = { 0 };
	struct snapshot snap;
	size_t step;
	int ret;

	kabi_netlink_autobind(nl);
	ret = snapshot_init(&snap, nl);
	if (ret < 0)
		return ret;
	for (size_t at = 0; ret >= 0 && at < len; at += step) {
		step = kabi_nldev_decode(octets + at, len - at, &req);
		ret = snapshot_extend(&snap, &req);
		if (ret < 0)
			break;
		request_answer(nl, &snap.nldev, &req, &reply);
	}
	if (ret >= 0)
		ret = reply_queue(fd, &reply);
	kabi_nldev_reply_free(&reply);
	snapshot_fini(&snap);
	return ret;
}

/* ---- the calls ---------------------------------------------------------- */

/* Checks the destination, which must be the kernel. */
static int peer_check(const void *addr, socklen_t len)
{
	struct sockaddr_nl name;
	int ret;

	if (!addr || len == 0)
		return 0;
	if (len < sizeof(name))
		return -EINVAL;
	ret = kabi_user_get(&name, (uintptr_t)addr, sizeof(name));
	if (ret < 0)
		return ret;
	if (name.nl_family != AF_NETLINK)
		return -EINVAL;
	if (name.nl_groups)
		return -EPERM;
	return name.nl_pid ? -ECONNREFUSED : 0;
}

static int octets_get(uint8_t *octets, const struct iovec *iov)
{
	int ret = 0;

	for (size_t at = 0; ret == 0 && at < iov->iov_len; at += COPY_MAX) {
		size_t len = iov->iov_len - at;

		ret = kabi_user_get(octets + at, (uintptr_t)iov->iov_base + at,
				    len < COPY_MAX ? len : COPY_MAX);
	}
	return ret;
}

/* Copies all of @iov into one piece.  Return: its length: the caller frees
 * *ret_octets; -errno. */
static ssize_t request_get(const struct iovec *iov, size_t iov_cnt,
			   uint8_t **ret_octets)
{
	uint8_t *octets = malloc(REQUEST_MAX);
	struct iovec one;
	size_t len = 0;
	int ret = octets ? 0 : -ENOMEM;

	for (size_t i = 0; ret == 0 && i < iov_cnt; i++) {
		ret = kabi_user_get(&one, (uintptr_t)&iov[i], sizeof(one));
		if (ret == 0 && one.iov_len > REQUEST_MAX - len)
			ret = -EMSGSIZE;
		if (ret == 0)
			ret = octets_get(octets + len, &one);
		if (ret == 0)
			len += one.iov_len;
	}
	if (ret < 0) {
		free(octets);
		return ret;
	}
	*ret_octets = octets;
	return (ssize_t)len;
}

static ssize_t request_send(struct kabi_netlink *nl, int fd,
			    const struct iovec *iov, size_t iov_cnt)
{
	UTIL_CANCEL_OFF();
	uint8_t *octets = NULL;
	ssize_t len = request_get(iov, iov_cnt, &octets);
	int ret = 0;

	if (len > 0)
		ret = requests_answer(nl, fd, octets, (size_t)len);
	free(octets);
	return ret < 0 ? ret : len;
}

static ssize_t message_send(struct kabi_netlink *nl, int fd,
			    const struct msghdr *user)
{
	struct msghdr msg;
	int ret = kabi_user_get(&msg, (uintptr_t)user, sizeof(msg));

	if (ret == 0)
		ret = peer_check(msg.msg_name, msg.msg_namelen);
	return ret < 0 ? ret
		       : request_send(nl, fd, msg.msg_iov, msg.msg_iovlen);
}

ssize_t kabi_netlink_sendmsg(struct kabi_netlink *nl, int fd,
			     const struct msghdr *msg)
{
	ssize_t ret = message_send(nl, fd, msg);

	kabi_netlink_put(nl);
	return ret;
}

int kabi_netlink_sendmmsg(struct kabi_netlink *nl, int fd, struct mmsghdr *msgs,
			  unsigned int cnt)
{
	unsigned int sent = 0, len;
	ssize_t ret = 0;

	while (ret >= 0 && sent < cnt) {
		ret = message_send(nl, fd, &msgs[sent].msg_hdr);
		if (ret < 0)
			break;
		len = (unsigned int)ret;
		ret = kabi_user_put((uintptr_t)&msgs[sent].msg_len, &len,
				    sizeof(len));
		if (ret == 0)
			sent++;
	}
	kabi_netlink_put(nl);
	return sent ? (int)sent : (int)ret;
}

ssize_t kabi_netlink_send(struct kabi_netlink *nl, int fd, const void *buf,
			  size_t len, const struct sockaddr *addr,
			  socklen_t addr_len)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf,
			     .iov_len = len };
	ssize_t ret = peer_check(addr, addr_len);

	if (ret == 0)
		ret = request_send(nl, fd, &iov, 1);
	kabi_netlink_put(nl);
	return ret;
}

ssize_t kabi_netlink_writev(struct kabi_netlink *nl, int fd,
			    const struct iovec *iov, int iov_cnt)
{
	ssize_t ret = iov_cnt < 0 ? -EINVAL
				  : request_send(nl, fd, iov, (size_t)iov_cnt);

	kabi_netlink_put(nl);
	return ret;
}

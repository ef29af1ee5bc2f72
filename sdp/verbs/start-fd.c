/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The carrier STREAM: Hello on a TCP connection, which then becomes the
 * stream of a queue pair (doc/spec/sdp.md part 5, C7).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <infiniband/usiwdv.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cancel.h"
#include "direct.h"
#include "drive.h"
#include "link.h"

typedef int attach_fn(struct ibv_qp *qp, int fd,
		      const struct usiwdv_attach_attr *attr);

/* What a device other than usiw does not have is not linked to. */
static attach_fn *find_attach(void)
{
	static attach_fn *_Atomic found;
	attach_fn *fn = atomic_load_explicit(&found, memory_order_relaxed);

	if (fn)
		return fn;
	fn = (attach_fn *)sdp_direct_symbol("usiwdv_qp_attach_fd");
	atomic_store_explicit(&found, fn, memory_order_relaxed);
	return fn;
}

/* ---- octets on the socket, by system calls: a preload may stand in front of
 * libc's ------------------------------------------------------------------- */

static int wait_fd(int fd, short events, uint64_t deadline)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	uint64_t now = sdp_now_ns(), left;
	int ret;

	if (now >= deadline)
		return -ETIMEDOUT;
	left = (deadline - now) / LINK_NS_PER_MS + 1;
	ret = util_sys_poll(&pfd, 1, left < 3600000 ? (int)left : 3600000);
	if (ret < 0 && errno != EINTR)
		return -errno;
	return 0;
}

static int write_all(int fd, const uint8_t *buf, size_t len, uint64_t deadline)
{
	while (len) {
		long n = syscall(SYS_sendto, fd, buf, len,
				 MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0);

		if (n < 0 && errno == EAGAIN) {
			int ret = wait_fd(fd, POLLOUT, deadline);

			if (ret)
				return ret;
		} else if (n < 0 && errno != EINTR) {
			return -errno;
		} else if (n > 0) {
			buf += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static int read_all(int fd, uint8_t *buf, size_t len, uint64_t deadline)
{
	while (len) {
		long n = syscall(SYS_recvfrom, fd, buf, len, MSG_DONTWAIT, NULL,
				 NULL);

		if (n == 0)
			return -ECONNRESET;
		if (n < 0 && errno == EAGAIN) {
			int ret = wait_fd(fd, POLLIN, deadline);

			if (ret)
				return ret;
		} else if (n < 0 && errno != EINTR) {
			return -errno;
		} else if (n > 0) {
			buf += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static int take_names(int fd, struct sockaddr_storage *names)
{
	socklen_t len = sizeof(names[0]);

	if (syscall(SYS_getsockname, fd, &names[0], &len) < 0)
		return -errno;
	len = sizeof(names[1]);
	return syscall(SYS_getpeername, fd, &names[1], &len) < 0 ? -errno : 0;
}

/* ---- both sides -------------------------------------------------------------
 */

struct start {
	int fd;
	uint64_t deadline;
	struct sdp_link *link;
	struct sockaddr_storage names[2];
	bool has_sent;
	const char *step;
};

static int attach(struct start *s, enum usiwdv_role role, uint16_t *ret_ord)
{
	const struct sdp_options *o = &s->link->opt.conn;
	struct usiwdv_attach_result result = { 0 };
	struct usiwdv_attach_attr attr = {
		.size = sizeof(attr),
		.role = role,
		.ird = o->ird,
		.ord = o->ord,
		.result = &result,
	};
	uint64_t now = sdp_now_ns();
	int ret;

	if (now >= s->deadline)
		return -ETIMEDOUT;
	attr.timeout_ms = UINT32_MAX / 2;
	if ((s->deadline - now) / LINK_NS_PER_MS < attr.timeout_ms)
		attr.timeout_ms =
			(uint32_t)((s->deadline - now) / LINK_NS_PER_MS) + 1;
	ret = find_attach()(s->link->qp, s->fd, &attr);
	if (!ret)
		*ret_ord = result.ord;
	return -ret;
}

static int make_link(struct start *s, enum sdp_role role,
		     const struct sdp_link_options *opt)
{
	struct sdp_dev *dev;
	int ret;

	s->step = "device";
	if (!find_attach())
		return -EOPNOTSUPP;
	ret = take_names(s->fd, s->names);
	if (!ret)
		ret = sdp_dev_by_addr((struct sockaddr *)&s->names[0], &dev);
	if (ret)
		return ret;
	s->step = "queue pair";
	ret = sdp_link_new(&s->link, dev, NULL, role, SDP_STREAM, opt);
	if (ret)
		return ret;
	s->link->names[0] = s->names[0];
	s->link->names[1] = s->names[1];
	return 0;
}

static int finish(struct start *s, enum usiwdv_role role)
{
	uint16_t ord = 0;
	int ret;

	s->step = "MPA start";
	s->has_sent = true;
	ret = attach(s, role, &ord);
	if (ret)
		return ret;
	s->step = "HelloAck";
	return sdp_link_stand_up(s->link, NULL, 0, ord, s->deadline);
}

static int conclude(struct start *s, int ret, struct sdp_link **ret_link,
		    struct sdp_outcome *ret_outcome)
{
	if (!ret)
		*ret_link = s->link;
	else if (s->link)
		sdp_link_discard(s->link);
	return sdp_link_tell(ret_outcome, ret, s->has_sent,
			     (struct sockaddr *)&s->names[1], s->step);
}

static int connect_steps(struct start *s, const struct sdp_link_options *opt)
{
	int ret = make_link(s, SDP_CONNECTING, opt);

	if (ret)
		return ret;
	s->step = "Hello";
	s->has_sent = true;
	ret = write_all(s->fd, s->link->hello, s->link->hello_len, s->deadline);
	return ret ? ret : finish(s, USIWDV_INITIATOR);
}

int sdp_link_connect_fd(struct sdp_link **ret_link, int fd,
			const struct sdp_link_options *opt, uint64_t deadline,
			struct sdp_outcome *ret_outcome)
{
	struct start s = { .fd = fd, .deadline = deadline };

	return conclude(&s, connect_steps(&s, opt), ret_link, ret_outcome);
}

static int take_hello(struct start *s, const uint8_t *hello)
{
	int ret;

	util_lock(&s->link->lock);
	ret = sdp_conn_hello(s->link->conn, hello, SDP_HELLO_SIZE,
			     sdp_now_ns());
	sdp_drive(s->link, 0); /* its receives come before the carrier */
	util_unlock(&s->link->lock);
	return ret;
}

static int accept_steps(struct start *s, const struct sdp_link_options *opt)
{
	uint32_t ms = opt && opt->hello_ms ? opt->hello_ms : 5000;
	uint64_t hello_end = sdp_now_ns() + ms * LINK_NS_PER_MS;
	uint8_t hello[SDP_HELLO_SIZE];
	int ret;

	s->step = "Hello";
	ret = read_all(s->fd, hello, sizeof(hello),
		       hello_end < s->deadline ? hello_end : s->deadline);
	if (ret)
		return ret;
	ret = make_link(s, SDP_ACCEPTING, opt);
	if (ret)
		return ret;
	s->step = "Hello";
	ret = take_hello(s, hello);
	return ret ? ret : finish(s, USIWDV_RESPONDER);
}

int sdp_link_accept_fd(struct sdp_link **ret_link, int fd,
		       const struct sdp_link_options *opt, uint64_t deadline,
		       struct sdp_outcome *ret_outcome)
{
	struct start s = { .fd = fd, .deadline = deadline };

	return conclude(&s, accept_steps(&s, opt), ret_link, ret_outcome);
}

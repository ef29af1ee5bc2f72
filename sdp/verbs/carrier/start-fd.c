/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The carrier STREAM: Hello on a TCP connection that then becomes the stream of
 * a queue pair (doc/spec/sdp.md part 5, C7). The Accepting Peer also accepts a
 * peer that starts as rdma_cm does, with Hello as private data. The Connecting
 * Peer can start in the same way on a connection to a port of rdma_cm.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <infiniband/usiwdv.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/sockopt.h"
#include "verbs/dev/usiwdv.h"
#include "handover.h"
#include "verbs/dev/high.h"
#include "verbs/stream/life.h"
#include "move.h"
#include "verbs/wait/fd.h"

typedef int attach_fn(struct ibv_qp *qp, int fd,
		      const struct usiwdv_attach_attr *attr);

/* usiwdv_qp_attach_fd() is looked up at run time, because other devices do not
 * have it. */
static attach_fn *find_attach(void)
{
	static attach_fn *_Atomic found;
	attach_fn *fn = atomic_load_explicit(&found, memory_order_relaxed);

	if (fn)
		return fn;
	fn = (attach_fn *)sdp_usiwdv_symbol("usiwdv_qp_attach_fd");
	atomic_store_explicit(&found, fn, memory_order_relaxed);
	return fn;
}

/* ---- octets on the socket ----
 *
 * These are system calls, because libc's functions may be interposed. */

/* Sends, or receives, all of @len octets. */
static int move_all(int fd, short events, uint8_t *buf, size_t len,
		    uint64_t deadline)
{
	long n, call = events == POLLOUT ? SYS_sendto : SYS_recvfrom;

	while (len) {
		int ret = 0;

		n = syscall(call, fd, buf, len, MSG_NOSIGNAL | MSG_DONTWAIT,
			    NULL, 0);
		if (n > 0) {
			buf += n;
			len -= (size_t)n;
		} else if (n == 0) {
			ret = -sdp_answer_error(SDP_CAUSE_RESET,
						SDP_PHASE_OPEN);
		} else if (errno == EAGAIN) {
			ret = sdp_wait_fd(fd, events, -1, deadline);
		} else if (errno != EINTR) {
			ret = -errno;
		}
		if (ret)
			return ret;
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

/* ---- both peers ---- */

static void *move_fd(void *arg);

struct start {
	int fd;
	uint64_t deadline;
	struct sdp_link *link;
	struct sockaddr_storage names[2];
	struct sdp_handover from;
	bool has_sent;
	const char *step;
	int refusal;
	uint8_t peer_pd[USIWDV_PRIVATE_MAX];
	size_t peer_pd_len; /* private data of a Reply */
};

/* The MPA Request was received. */
static int request_check(void *arg, const struct usiwdv_attach_result *request)
{
	struct start *s = arg;

	s->refusal =
		sdp_link_take_hello(s->link, s->peer_pd, request->peer_pd_len);
	return s->refusal;
}

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

	if (s->link->stats.carrier != SDP_STREAM) {
		attr.pd = s->link->start.hello;
		attr.pd_len = role == USIWDV_INITIATOR
				      ? s->link->start.hello_len
				      : SDP_HELLO_ACK_SIZE;
		attr.peer_pd = s->peer_pd;
		attr.peer_pd_size = sizeof(s->peer_pd);
	}
	if (attr.pd && role == USIWDV_RESPONDER) {
		attr.check_request = request_check;
		attr.check_arg = s;
	}
	if (now >= s->deadline)
		return -ETIMEDOUT;
	attr.timeout_ms = UINT32_MAX / 2;
	if ((s->deadline - now) / NS_PER_MS < attr.timeout_ms)
		attr.timeout_ms =
			(uint32_t)((s->deadline - now) / NS_PER_MS) + 1;
	ret = find_attach()(s->link->qp, s->fd, &attr);
	if (!ret)
		*ret_ord = result.ord;
	if (!ret && attr.pd && role == USIWDV_INITIATOR)
		s->peer_pd_len = result.peer_pd_len;
	return s->refusal ? s->refusal : -ret;
}

static int make_link(struct start *s, enum sdp_role role,
		     enum sdp_carrier carrier,
		     const struct sdp_link_options *opt)
{
	struct sdp_dev *dev;
	int ret;

	s->step = "device";
	if (!find_attach())
		return -EOPNOTSUPP;
	ret = sdp_dev_by_addr((struct sockaddr *)&s->names[0], &dev);
	if (ret)
		return ret;
	s->step = "queue pair";
	ret = sdp_link_new(&s->link, dev, NULL, role, carrier, opt);
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
	return sdp_link_stand_up(s->link, s->peer_pd_len ? s->peer_pd : NULL,
				 s->peer_pd_len, ord, s->deadline);
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

/* ---- connecting ---- */

/* Writes Hello, or leaves it to the MPA Request. */
static int say_hello(struct start *s)
{
	int ret = 0;

	s->step = "Hello";
	s->has_sent = true;
	if (s->link->stats.carrier == SDP_STREAM)
		ret = move_all(s->fd, POLLOUT, s->link->start.hello,
			       s->link->start.hello_len, s->deadline);
	return ret ? ret : finish(s, USIWDV_INITIATOR);
}

static int connect_steps(struct start *s, const struct sdp_link_options *opt)
{
	bool is_request = opt && opt->conn.carrier == SDP_CM_PRIV;
	int ret;

	s->step = "address";
	ret = take_names(s->fd, s->names);
	if (!ret)
		ret = make_link(s, SDP_CONNECTING,
				is_request ? SDP_CM_SEND : SDP_STREAM, opt);
	if (ret)
		return ret;
	s->link->moving.run = move_fd;
	/* A move uses the same port, which is in TIME-WAIT then. */
	util_sockopt_set(s->fd, SOL_SOCKET, SO_REUSEADDR, 1);
	return say_hello(s);
}

/* Uses the same IP address, and the same port if possible (C18). */
static int bind_again(int fd, const struct sockaddr_storage *name,
		      bool has_port)
{
	struct sockaddr_storage from = *name;

	util_sockopt_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (!has_port)
		link_name_set_port(&from, 0);
	return syscall(SYS_bind, fd, &from,
		       link_name_len((struct sockaddr *)&from)) < 0
		       ? -errno
		       : 0;
}

static int connect_wait(int fd, const struct sockaddr *to, uint64_t deadline)
{
	int ret;

	if (!syscall(SYS_connect, fd, to, link_name_len(to)))
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	ret = sdp_wait_fd(fd, POLLOUT, -1, deadline);
	return ret ? ret : -util_sockopt_get(fd, SOL_SOCKET, SO_ERROR);
}

/* Return: a descriptor; -errno. */
static int reconnect(struct sdp_link *link, const struct sockaddr *to,
		     bool has_port, uint64_t deadline)
{
	int fd = (int)syscall(SYS_socket, to->sa_family,
			      SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int ret;

	if (fd < 0)
		return -errno;
	sdp_high_move(&fd);
	ret = bind_again(fd, &link->names[0], has_port);
	if (!ret)
		ret = connect_wait(fd, to, deadline);
	if (!ret)
		return fd;
	util_sys_close(fd);
	return ret;
}

/* A peer that takes MPA Requests may move to a port of rdma_cm, and one that
 * takes raw Hellos to a port that takes nothing else. */
static int move_once(struct sdp_link *link, const struct sockaddr *to,
		     uint64_t deadline)
{
	bool is_request = link->stats.carrier != SDP_STREAM;
	struct start s = { .link = link, .deadline = deadline };
	int ret;

	s.fd = reconnect(link, to, true, deadline);
	/* The port belongs to a listener, or the pair of ports was in use. */
	if (s.fd == -EADDRINUSE || s.fd == -EADDRNOTAVAIL)
		s.fd = reconnect(link, to, false, deadline);
	if (s.fd < 0)
		return s.fd;
	ret = sdp_link_renew(link, NULL, SDP_CONNECTING,
			     is_request ? SDP_CM_SEND : SDP_STREAM);
	if (!ret) {
		ret = say_hello(&s);
		/* A failed carrier ends the connection. */
		ret = ret == -ECONNREFUSED ? -ECONNRESET : ret;
	}
	util_sys_close(s.fd);
	return ret;
}

static void *move_fd(void *arg)
{
	sdp_move_run(arg, move_once);
	return NULL;
}

int sdp_link_connect_fd(struct sdp_link **ret_link, int fd,
			const struct sdp_link_options *opt, uint64_t deadline,
			struct sdp_outcome *ret_outcome)
{
	struct start s = { .fd = fd, .deadline = deadline };

	return conclude(&s, connect_steps(&s, opt), ret_link, ret_outcome);
}

#define MPA_KEY "MPA "

/* No Hello begins with these octets, in either layout. */
static int is_request(struct start *s, uint64_t deadline, bool *ret_is)
{
	char octets[sizeof(MPA_KEY) - 1];
	int ret;
	long n;

	util_sockopt_set(s->fd, SOL_SOCKET, SO_RCVLOWAT, sizeof(octets));
	do {
		ret = sdp_wait_fd(s->fd, POLLIN, -1, deadline);
		n = syscall(SYS_recvfrom, s->fd, octets, sizeof(octets),
			    MSG_PEEK | MSG_DONTWAIT, NULL, NULL);
	} while (!ret && n < 0 && errno == EAGAIN);
	util_sockopt_set(s->fd, SOL_SOCKET, SO_RCVLOWAT, 1);
	*ret_is = n == (long)sizeof(octets) &&
		  !memcmp(octets, MPA_KEY, sizeof(octets));
	return ret;
}

static int accept_steps(struct start *s, const struct sdp_link_options *opt)
{
	uint32_t ms = opt && opt->hello_ms ? opt->hello_ms : 5000;
	uint64_t hello_end = sdp_now_ns() + ms * NS_PER_MS;
	uint8_t hello[SDP_HELLO_SIZE];
	struct sdp_link_options own;
	bool is_by_cm = false;
	int ret;

	if (hello_end > s->deadline)
		hello_end = s->deadline;
	s->step = "the state that was handed over";
	ret = sdp_handover_take(&s->from, opt, &own);
	if (ret)
		return ret;
	s->step = "address";
	ret = take_names(s->fd, s->names);
	if (!ret)
		ret = sdp_handover_admits(&s->from, s->names);
	if (ret)
		return ret;
	s->step = "Hello";
	ret = is_request(s, hello_end, &is_by_cm);
	if (!ret && !is_by_cm)
		ret = move_all(s->fd, POLLIN, hello, sizeof(hello), hello_end);
	if (!ret)
		ret = make_link(s, SDP_ACCEPTING,
				is_by_cm ? SDP_CM_PRIV : SDP_STREAM, &own);
	if (!ret)
		ret = sdp_handover_restore(&s->from, s->link);
	if (ret)
		return ret;
	s->link->moving.run = move_fd;
	s->step = "Hello";
	if (!is_by_cm)
		ret = sdp_link_take_hello(s->link, hello, sizeof(hello));
	if (!ret)
		ret = finish(s, USIWDV_RESPONDER);
	return ret ? ret : sdp_handover_resume(&s->from, s->link);
}

int sdp_link_accept_fd(struct sdp_link **ret_link, int fd,
		       const struct sdp_link_options *opt, uint64_t deadline,
		       struct sdp_outcome *ret_outcome)
{
	struct start s = { .fd = fd, .deadline = deadline };

	return conclude(&s, accept_steps(&s, opt), ret_link, ret_outcome);
}

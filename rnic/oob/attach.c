/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A connected TCP socket on which the ULP has exchanged octets of its own
 * becomes a QP's stream (RFC 5044 7.1.5): the MPA start exchange in the
 * caller's thread.
 *
 * Nothing of the stream is lost or read twice because the engine asks, in the
 * start phase, for no octet behind the frame that is due, and because what
 * follows stays in the socket until the QP reads it.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "util/addr-text.h"
#include "util/cancel.h"
#include "util/env.h"
#include "util/log.h"
#include "util/reason.h"
#include "os/addr.h"
#include "os/fd.h"
#include "os/tcp.h"
#include "qp/state.h"
#include "rnic.h"
#include "start/start.h"

#define ATTACH "usiwdv_qp_attach_fd"

struct rnic_attach {
	struct rnic_qp *qp;
	struct rnic_start start; /* the loop does not know it */
	int nodelay;		 /* as the caller had it; -1: unknown */
	uint64_t deadline_ns;
	size_t taken; /* once the QP has the stream */
};

/* ---- the socket --------------------------------------------------------- */

static int socket_option(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return rnic_tcp()->getsockopt(fd, level, name, &value, &len) < 0
		       ? -errno
		       : value;
}

static int socket_check(int fd)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	int type = socket_option(fd, SOL_SOCKET, SO_TYPE), error;

	if (type == -EBADF)
		return util_refuse("verbs", EBADF, ATTACH, "fd %d is not open",
				   fd);
	if (type != SOCK_STREAM ||
	    socket_option(fd, SOL_SOCKET, SO_PROTOCOL) != IPPROTO_TCP)
		return util_refuse("verbs", EINVAL, ATTACH,
				   "fd %d is no TCP socket", fd);
	if (rnic_tcp()->getpeername(fd, (struct sockaddr *)&peer, &len) == 0)
		return 0;
	/* One that has failed has an error; one that never was has none. */
	error = socket_option(fd, SOL_SOCKET, SO_ERROR);
	if (error <= 0)
		error = EINVAL;
	return util_refuse("verbs", error, ATTACH, "fd %d is not connected",
			   fd);
}

static int attach_poll(const struct rnic_attach *a, short events)
{
	struct pollfd pfd = { .fd = rnic_start_fd(&a->start),
			      .events = events };

	for (;;) {
		uint64_t now = util_now_ns();
		uint64_t left_ms = 0;
		int rc;

		if (now < a->deadline_ns)
			left_ms = (a->deadline_ns - now + NS_PER_MS - 1) /
				  NS_PER_MS;
		rc = util_sys_poll(&pfd, 1,
				   left_ms < INT32_MAX ? (int)left_ms : -1);
		if (rc > 0)
			return 0;
		if (rc == 0)
			return -ETIMEDOUT; /* MPA-139, MPA-144 */
		if (errno != EINTR)
			return -errno;
	}
}

/* A peer that is gone looks the same whichever way it is noticed. */
static int attach_lost(int rc)
{
	return rc == -EPIPE ? -ECONNRESET : rc;
}

/* MPA-147: the ULP's last octets, in front of everything that is MPA's. */
static int attach_send_last(const struct rnic_attach *a, const void *buf,
			    size_t len)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	ssize_t rc;

	while (iov.iov_len > 0) {
		rc = rnic_tcp_send(rnic_start_fd(&a->start), &iov, 1, 0);
		if (rc == -EAGAIN)
			rc = attach_poll(a, POLLOUT);
		if (rc < 0)
			return attach_lost((int)rc);
		iov.iov_base = (char *)iov.iov_base + rc;
		iov.iov_len -= (size_t)rc;
	}
	return 0;
}

/* ---- open --------------------------------------------------------------- */

static int attach_begin(struct rnic_attach *a,
			const struct rnic_attach_options *opt)
{
	const struct util_settings *set = util_settings();
	struct smpa_options smpa = SMPA_OPTIONS_INIT;
	int rc;

	rnic_addr_of_socket(a->start.fd, &a->start.local, &a->start.peer);
	rnic_stream_start_options(&a->start.peer, &smpa);
	smpa.role = opt->is_responder ? SMPA_RESPONDER : SMPA_INITIATOR;
	smpa.rev = opt->rev ? opt->rev : (uint8_t)set->mpa_rev;
	smpa.ird = rnic_stream_depth_min(opt->ird, set->ird);
	smpa.ord = rnic_stream_depth_min(opt->ord, set->ord);
	if (!opt->is_responder)
		return rnic_start_open(&a->start, &smpa, opt->pd, opt->pd_len);
	rc = rnic_start_open(&a->start, &smpa, NULL, 0);
	return rc < 0 ? rc : attach_send_last(a, opt->last, opt->last_len);
}

int rnic_attach_open(struct rnic_qp *qp, int fd,
		     const struct rnic_attach_options *opt,
		     struct rnic_attach **ret_attach)
{
	uint32_t ms = opt->timeout_ms ? opt->timeout_ms
				      : util_settings()->start_ms;
	struct rnic_attach *a;
	int rc = socket_check(fd);

	if (rc < 0)
		return rc;
	if (rnic_qp_state(qp) != RNIC_QPS_IDLE || opt->rev > 2 ||
	    (!opt->is_responder && opt->last_len > 0))
		return util_refuse("verbs", EINVAL, ATTACH,
				   "QP 0x%06x is connected, or has failed, or "
				   "the options are wrong",
				   rnic_qp_num(qp));
	rc = rnic_qp_meet_check(qp, ATTACH);
	if (rc < 0)
		return rc;
	a = calloc(1, sizeof(*a));
	if (!a)
		return util_refuse_memory("verbs", ATTACH);
	a->qp = qp;
	a->deadline_ns = util_now_ns() + ms * NS_PER_MS;
	a->nodelay = socket_option(fd, IPPROTO_TCP, TCP_NODELAY);
	a->start.fd = rnic_fd_own(fcntl(fd, F_DUPFD_CLOEXEC, 0));
	rc = a->start.fd < 0 ? a->start.fd : attach_begin(a, opt);
	if (rc < 0) {
		rnic_attach_free(a);
		return rc;
	}
	*ret_attach = a;
	return 0;
}

/* ---- the exchange ------------------------------------------------------- */

static void attach_tell(const struct smpa_event *ev,
			struct rnic_attach_start *ret_start)
{
	*ret_start = (struct rnic_attach_start){
		.pd = ev->start.pd,
		.pd_len = ev->start.pd_len,
		.rev = ev->start.rev,
		.has_crc = ev->start.has_crc,
		.ird = ev->start.ird,
		.ord = ev->start.ord,
	};
}

static int attach_check(const struct rnic_attach *a,
			const struct smpa_event *ev,
			struct rnic_attach_start *ret_start)
{
	if (ev->type == SMPA_EV_FAULT) {
		util_warn("rnic", "qp 0x%06x%s: attach: %s", rnic_qp_num(a->qp),
			  UTIL_ADDR_PAIR_TEXT(&a->start.local, &a->start.peer),
			  smpa_fault_str(ev->fault.fault));
		return -EPROTO; /* MPA-164 */
	}
	attach_tell(ev, ret_start);
	return ev->type == SMPA_EV_REJECTED ? -ECONNREFUSED : 0; /* MPA-132 */
}

/* Until something comes up. */
int rnic_attach_wait(struct rnic_attach *attach,
		     struct rnic_attach_start *ret_start)
{
	struct smpa_event ev;
	uint32_t wants;
	int rc;

	for (;;) {
		rc = rnic_start_step(&attach->start, &ev);
		if (rc > 0)
			return attach_check(attach, &ev, ret_start);
		if (rc < 0)
			return rc;
		wants = rnic_stream_start_wants(attach->start.stream);
		rc = attach_poll(attach,
				 (short)((wants & EPOLLIN ? POLLIN : 0) |
					 (wants & EPOLLOUT ? POLLOUT : 0)));
		if (rc < 0)
			return rc;
	}
}

int rnic_attach_accept(struct rnic_attach *attach, const void *pd,
		       size_t pd_len, uint16_t ird, uint16_t ord,
		       struct rnic_attach_start *ret_start)
{
	const struct util_settings *set = util_settings();
	int rc;

	if (rnic_qp_state(attach->qp) != RNIC_QPS_IDLE)
		return util_refuse("verbs", EINVAL, ATTACH,
				   "QP 0x%06x was connected meanwhile, or has "
				   "failed",
				   rnic_qp_num(attach->qp));
	rc = smpa_conn_accept(attach->start.stream->conn, pd, pd_len,
			      rnic_stream_depth_min(ird, set->ird),
			      rnic_stream_depth_min(ord, set->ord));
	if (rc < 0)
		return rc;
	/* ESTABLISHED comes at once; what TCP does not take of the Reply the
	 * engine sends. */
	return rnic_attach_wait(attach, ret_start);
}

int rnic_attach_reject(struct rnic_attach *attach, const void *pd,
		       size_t pd_len)
{
	struct rnic_stream *stream = attach->start.stream;
	int rc = smpa_conn_reject(stream->conn, pd, pd_len);

	/* Not by steps: the answer given, no octet is to be read any more. */
	while (rc == 0) {
		rc = rnic_stream_start_flush(stream);
		if (rc < 0 || !(rnic_stream_start_wants(stream) & EPOLLOUT))
			return attach_lost(rc);
		rc = attach_poll(attach, POLLOUT);
	}
	return rc;
}

/* ---- the end ------------------------------------------------------------ */

int rnic_attach_finish(struct rnic_attach *attach)
{
	size_t taken = rnic_attach_taken(attach);
	int rc = rnic_start_attach(&attach->start, attach->qp, 0);

	if (rc == 0)
		attach->taken = taken;
	return rc;
}

size_t rnic_attach_taken(const struct rnic_attach *attach)
{
	return attach->start.stream ? attach->start.stream->start_taken
				    : attach->taken;
}

void rnic_attach_free(struct rnic_attach *attach)
{
	if (!attach)
		return;
	/* The socket is the caller's again, as it was. */
	if (rnic_start_fd(&attach->start) >= 0 && attach->nodelay >= 0)
		rnic_sock_set_flag(rnic_start_fd(&attach->start), IPPROTO_TCP,
				   TCP_NODELAY, attach->nodelay);
	rnic_start_close(&attach->start);
	free(attach);
}

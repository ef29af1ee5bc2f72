/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See fault.h.
 *
 * A silent stream is silent for the peer's TCP, too.  By the least hop limit
 * that the socket takes, what arrives is dropped before TCP sees it: nothing is
 * acknowledged, and the peer's retries run as with a host that has gone.  That
 * takes no privilege, as a filter may.
 */
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "carrier.h"
#include "engine/engine.h"
#include "engine/sockets.h"
#include "os/fd.h"
#include "os/tcp.h"
#include "qp/fault.h"
#include "qp/state.h"
#include "tcp.h"
#include "util/clock.h"
#include "util/log.h"

/* ---- the carrier --------------------------------------------------------- */

static bool is_before(uint64_t ns)
{
	return ns && util_now_ns() < ns;
}

static ssize_t fault_send(struct rnic_stream *stream, const struct iovec *iov,
			  int cnt, int flags)
{
	const struct rnic_stream_fault *fault = stream->fault;

	if (fault->error)
		return fault->error;
	if (is_before(fault->until_ns) || is_before(fault->delay_ns))
		return -EAGAIN;
	return fault->under->send(stream, iov, cnt, flags);
}

/* A stall ends when the connection does: epoll would name it again and
 * again. */
static ssize_t fault_recv(struct rnic_stream *stream, const struct iovec *iov,
			  int cnt)
{
	const struct rnic_stream_fault *fault = stream->fault;
	int status;

	if (fault->error)
		return fault->error;
	if (!is_before(fault->until_ns))
		return fault->under->recv(stream, iov, cnt);
	status = rnic_stream_tcp_peek(stream);
	if (status > 0 || (status == 0 && !stream->is_fin_sent))
		return -EAGAIN;
	return status;
}

static void fault_fin(struct rnic_stream *stream)
{
	if (!stream->fault->is_silent)
		stream->fault->under->fin(stream);
}

static uint32_t fault_watch(struct rnic_stream *stream, bool wants_in)
{
	const struct rnic_stream_fault *fault = stream->fault;
	uint32_t events = fault->under->watch(stream, wants_in);

	if (is_before(fault->until_ns))
		return 0;
	return is_before(fault->delay_ns) ? events & ~(uint32_t)EPOLLOUT
					  : events;
}

static void fault_close(struct rnic_stream *stream)
{
	stream->fault->under->close(stream);
	free(stream->fault);
}

static int fault_error(const struct rnic_stream *stream)
{
	return stream->fault->error ? stream->fault->error
				    : stream->fault->under->error(stream);
}

static uint32_t fault_emss(const struct rnic_stream *stream)
{
	return stream->fault->under->emss(stream);
}

static uint64_t fault_acked(const struct rnic_stream *stream)
{
	return stream->fault->under->acked(stream);
}

static const struct rnic_carrier fault_carrier = {
	.send = fault_send,
	.recv = fault_recv,
	.fin = fault_fin,
	.watch = fault_watch,
	.close = fault_close,
	.error = fault_error,
	.emss = fault_emss,
	.acked = fault_acked,
};

void rnic_stream_fault_begin(struct rnic_stream *stream)
{
	uint64_t down_ns = rnic_fault_port_down_ns();

	stream->fault = calloc(1, sizeof(*stream->fault));
	if (!stream->fault) {
		util_warn("rnic", "%s: no memory for faults",
			  RNIC_QP_NAME(stream->qp));
		return;
	}
	stream->fault->under = stream->carrier;
	stream->carrier = &fault_carrier;
	if (is_before(down_ns))
		rnic_stream_fault_silence(stream, down_ns);
}

/* ---- what befalls the connection ----------------------------------------- */

static void fault_set_time(struct rnic_stream *stream, uint64_t *time,
			   uint64_t ns)
{
	*time = ns;
	if (ns != UINT64_MAX)
		rnic_engine_deadline(stream->engine, &stream->source.due, ns);
}

/* More hops than the peer's packets have left: they are dropped. */
#define HOPS_MAX 255

/* Of an IPv6 socket both count: its peer may be one of IPv4. */
static void peer_ignore(const struct rnic_stream *stream, bool is_on)
{
	int fd = stream->source.fd, least = is_on ? HOPS_MAX : 0;
	int v4 = rnic_tcp()->setsockopt(fd, IPPROTO_IP, IP_MINTTL, &least,
					sizeof(least));
	int v6 = rnic_tcp()->setsockopt(fd, IPPROTO_IPV6, IPV6_MINHOPCOUNT,
					&least, sizeof(least));

	if (v4 < 0 && v6 < 0)
		util_warn("rnic", "fault: a silent stream: %m");
}

/* Its end would be an octet more: the socket stays as long as the process. */
static void socket_keep(const struct rnic_stream *stream)
{
	int fd = (int)syscall(SYS_fcntl, stream->source.fd, F_DUPFD_CLOEXEC, 0);

	if (rnic_fd_own(fd) < 0)
		util_warn("rnic", "fault: no descriptor is left to keep a "
				  "silent stream's socket");
}

void rnic_stream_fault_silence(struct rnic_stream *stream, uint64_t until_ns)
{
	struct rnic_stream_fault *fault = stream->fault;

	if (!fault || fault->until_ns >= until_ns)
		return;
	if (!fault->is_silent)
		peer_ignore(stream, true);
	if (until_ns == UINT64_MAX)
		socket_keep(stream);
	fault->is_silent = true;
	fault_set_time(stream, &fault->until_ns, until_ns);
	if (stream->source.events)
		rnic_engine_set_events(stream->engine, &stream->source, 0);
}

static void fault_stall(struct rnic_stream *stream, uint64_t until_ns)
{
	if (stream->fault->until_ns < until_ns)
		fault_set_time(stream, &stream->fault->until_ns, until_ns);
}

/* What follows does not add to it, or nothing would leave any more. */
static void fault_delay(struct rnic_stream *stream, uint64_t until_ns)
{
	if (!stream->fault->delay_ns)
		fault_set_time(stream, &stream->fault->delay_ns, until_ns);
}

/* The kernel sends RST. */
static void fault_reset(struct rnic_stream *stream)
{
	const struct sockaddr none = { .sa_family = AF_UNSPEC };

	(void)rnic_tcp()->connect(stream->source.fd, &none, sizeof(none));
	stream->fault->error = -ECONNRESET;
}

/* The QP ends, and the peer does not hear of it. */
static void fault_state_error(struct rnic_stream *stream)
{
	rnic_stream_fault_silence(stream, UINT64_MAX);
	rnic_qp_fail(stream->qp, RNIC_QPS_ERROR, USIW_WC_WR_FLUSH_ERR,
		     RNIC_QP_EV_FATAL);
}

static uint64_t rule_until_ns(const struct util_fault_rule *rule)
{
	return rule->keys & UTIL_FAULT_FOR ? util_now_ns() + rule->for_ns
					   : UINT64_MAX;
}

void rnic_stream_fault_act(struct rnic_stream *stream,
			   const struct rnic_fault_hits *hits)
{
	const struct util_fault_rule *rule;

	rule = rnic_fault_first(hits, RNIC_FAULT_BIT(STREAM_DELAY));
	if (rule)
		fault_delay(stream, rule_until_ns(rule));
	rule = rnic_fault_first(hits, RNIC_FAULT_BIT(STREAM_STALL));
	if (rule)
		fault_stall(stream, rule_until_ns(rule));
	rule = rnic_fault_first(hits, RNIC_FAULT_BIT(STREAM_SILENT));
	if (rule)
		rnic_stream_fault_silence(stream, rule_until_ns(rule));
	if (rnic_fault_first(hits, RNIC_FAULT_BIT(STREAM_HALF_CLOSE)))
		stream->fault->under->fin(stream);
	if (rnic_fault_first(hits, RNIC_FAULT_BIT(STREAM_RESET)))
		fault_reset(stream);
	if (rnic_fault_first(hits, RNIC_FAULT_BIT(STATE_ERROR)))
		fault_state_error(stream);
}

/* ---- times --------------------------------------------------------------- */

bool rnic_stream_fault_is_silent(const struct rnic_stream *stream)
{
	return stream->fault && stream->fault->is_silent;
}

uint64_t rnic_stream_fault_ns(const struct rnic_stream *stream)
{
	const struct rnic_stream_fault *fault = stream->fault;
	uint64_t ns = stream->qp ? stream->qp->fault.rnr_ns : 0;

	if (!fault)
		return ns;
	ns = util_earlier_ns(ns, fault->delay_ns);
	if (fault->until_ns != UINT64_MAX)
		ns = util_earlier_ns(ns, fault->until_ns);
	return ns;
}

static bool is_over(uint64_t ns, uint64_t now_ns)
{
	return ns && ns <= now_ns;
}

static void fault_end(struct rnic_stream *stream, uint64_t now_ns)
{
	struct rnic_stream_fault *fault = stream->fault;

	if (is_over(fault->delay_ns, now_ns))
		fault->delay_ns = 0;
	if (!is_over(fault->until_ns, now_ns))
		return;
	fault->until_ns = 0;
	if (fault->is_silent)
		peer_ignore(stream, false);
	fault->is_silent = false;
}

/* The others have their deadline anew. */
void rnic_stream_fault_serve(struct rnic_stream *stream, uint64_t now_ns)
{
	uint64_t next_ns;

	if (stream->qp && is_over(stream->qp->fault.rnr_ns, now_ns))
		rnic_qp_fault_rnr_end(stream->qp);
	if (stream->fault)
		fault_end(stream, now_ns);
	next_ns = rnic_stream_fault_ns(stream);
	if (next_ns)
		rnic_engine_deadline(stream->engine, &stream->source.due,
				     next_ns);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The transports of RC and UC: iWARP, by a stream. */
#include "transport.h"

#include "end.h"
#include "fault-message.h"
#include "fault/rules.h"
#include "io.h"
#include "os/addr.h"
#include "os/probe.h"
#include "pass.h"
#include "qp/inbound.h"
#include "qp/rnr.h"

static struct smpa_conn *conn_of(const struct rnic_qp *qp)
{
	return rnic_qp_stream(qp)->conn;
}

/* ---- messages ------------------------------------------------------------ */

static int stream_submit(struct rnic_qp *qp, const struct smpa_msg *msg)
{
	int err = rnic_fault_is_on(RNIC_FAULT_AT_STREAM)
			  ? rnic_stream_fault_submit(rnic_qp_stream(qp), msg)
			  : smpa_conn_submit(conn_of(qp), msg);

	if (!err && UTIL_PROBE_IS_ON(message_out))
		rnic_probe_message_out(qp->num, msg->opcode, msg->len);
	return err;
}

static int stream_sink(struct rnic_qp *qp, const struct iovec *iov, int cnt)
{
	return smpa_conn_sink(conn_of(qp), iov, cnt);
}

static int stream_placed(struct rnic_qp *qp, struct smpa_event *ret_ev)
{
	return smpa_conn_placed(conn_of(qp), ret_ev);
}

static bool stream_open_segment(const struct rnic_qp *qp,
				struct smpa_event *ret_ev)
{
	return smpa_conn_open_segment(conn_of(qp), ret_ev);
}

static bool stream_uses(const struct rnic_qp *qp, const void *addr, size_t len)
{
	return smpa_conn_uses(conn_of(qp), addr, len);
}

static void stream_refuse(struct rnic_qp *qp, const struct smpa_event *ev,
			  uint16_t value)
{
	const struct smpa_fault fault = { value };

	if (!ev)
		smpa_conn_refuse(conn_of(qp), fault);
	else if (ev->type == SMPA_EV_SEGMENT)
		smpa_conn_refuse_segment(conn_of(qp), ev, fault);
	else
		smpa_conn_refuse_read(conn_of(qp), ev, fault);
}

static void stream_terminate(struct rnic_qp *qp, uint16_t value)
{
	smpa_conn_terminate(conn_of(qp), (struct smpa_fault){ value });
}

/* ---- the QP and its stream ----------------------------------------------- */

static void stream_transmit(struct rnic_qp *qp)
{
	rnic_stream_tx(rnic_qp_stream(qp));
}

static void stream_go_on(struct rnic_qp *qp, void *link)
{
	struct rnic_stream *stream = link;
	struct smpa_event ev;

	if (!rnic_rnr_take_waiting(qp, &ev)) {
		rnic_stream_end_step(stream);
		return;
	}
	if (rnic_inbound_event(qp, &ev))
		rnic_stream_refuse(stream);
	rnic_stream_resume(stream);
}

static void stream_close(struct rnic_qp *qp)
{
	rnic_stream_close(rnic_qp_stream(qp));
}

static void stream_failed(struct rnic_qp *qp)
{
	rnic_stream_failed(rnic_qp_stream(qp));
}

static void stream_detach(struct rnic_qp *qp, int status)
{
	rnic_stream_detach(rnic_qp_stream(qp), status);
}

static void stream_step(void *link)
{
	rnic_stream_end_step(link);
}

static void stream_names(const struct rnic_qp *qp,
			 struct sockaddr_storage *ret_local,
			 struct sockaddr_storage *ret_peer)
{
	rnic_addr_of_socket(rnic_qp_stream(qp)->source.fd, ret_local, ret_peer);
}

/* ---- UC ------------------------------------------------------------------ */

/* Without a stream the message is lost: rnic_sq_lose(). */
static int lossy_submit(struct rnic_qp *qp, const struct smpa_msg *msg)
{
	return qp->link ? stream_submit(qp, msg) : 0;
}

#define STREAM_TRANSPORT                                                       \
	.sink = stream_sink, .placed = stream_placed,                          \
	.open_segment = stream_open_segment, .uses = stream_uses,              \
	.refuse = stream_refuse, .terminate = stream_terminate,                \
	.transmit = stream_transmit, .go_on = stream_go_on,                    \
	.close = stream_close, .failed = stream_failed,                        \
	.detach = stream_detach, .step = stream_step, .names = stream_names

const struct rnic_transport rnic_stream_transport = {
	.type = RNIC_QPT_RC,
	.submit = stream_submit,
	STREAM_TRANSPORT,
};

const struct rnic_transport rnic_stream_lossy_transport = {
	.type = RNIC_QPT_UC,
	.is_lossy = true,
	.submit = lossy_submit,
	STREAM_TRANSPORT,
};

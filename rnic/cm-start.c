/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Connections in the making: the object, its stream, and the steps of the MPA
 * start exchange, up to the moment when a QP takes the stream over.
 *
 * Active:  ASKING -> (REFUSED ->) CONNECTING -> ASKED -> (QP) or an event
 * that says why not. Passive: STARTING -> REQUEST -> accept: (QP); reject:
 * CLOSING.
 *
 * Persona ca has one step more on either side, for InfiniBand's RTU.  Active
 * (persona rnic as well, when the application moves its QP itself):
 * ASKED -> RESPONSE -> establish: (QP).  Passive: REQUEST -> accept:
 * ANSWERED -> the peer's RTR: (QP).
 */
#include "cm-internal.h"

#include "../util/env.h"
#include "../util/log.h"
#include "os/fd.h"
#include "rnr.h"
#include "qp.h"
#include "os/stat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

/*
 * How long our FIN waits for that of a peer which was rejected: the kernel's
 * siw loses the Reply's private data when the FIN comes right behind it.
 */
#define REJECTED_NS (200 * NS_PER_MS)
/*
 * The Reply comes when the peer's program has accepted, and that makes its
 * queues and registers its memory before.  A minute with the default, which is
 * what iWARP adapters of others wait; and InfiniBand's connection manager has
 * its peer wait for 68 s once the Request has come.
 */
#define REPLY_FACTOR 6
/* rnr_retry_count without limit; a kernel takes larger ones for the same. */
#define RNR_FOR_EVER 7

/* ---- the object --------------------------- */

int cm_conn_fd(const struct cm_conn *conn)
{
	return conn->stream ? rnic_stream_fd(conn->stream) : conn->fd;
}

int cm_conn_watch(struct cm_conn *conn, uint32_t events)
{
	return cm_thread_watch(cm_conn_fd(conn), CM_TAG_CONN, conn->ref, events,
			       &conn->epoll_events);
}

struct cm_conn *cm_conn_new(enum cm_phase phase)
{
	struct cm_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	if (cm_table_add(&cm.conns, conn, &conn->ref) < 0) {
		free(conn);
		return NULL;
	}
	conn->fd = -1;
	conn->phase = phase;
	cm_conn_begin(conn);
	return conn;
}

void cm_conn_begin(struct cm_conn *conn)
{
	conn->deadline_ns =
		rnic_now_ns() + util_settings()->start_ms * NS_PER_MS;
	cm_thread_deadline(conn->deadline_ns);
	TAILQ_INSERT_TAIL(&cm.starting, conn, link);
}

void cm_conn_await_reply(struct cm_conn *conn)
{
	TAILQ_REMOVE(&cm.starting, conn, link);
	conn->phase = CM_PHASE_ASKED;
	conn->deadline_ns = rnic_now_ns() + util_settings()->start_ms *
						    REPLY_FACTOR * NS_PER_MS;
	cm_thread_deadline(conn->deadline_ns);
	TAILQ_INSERT_TAIL(&cm.asked, conn, link);
}

void cm_conn_leave_list(struct cm_conn *conn)
{
	switch (conn->phase) {
	case CM_PHASE_ASKING:
		TAILQ_REMOVE(&cm.asking, conn, link);
		break;
	case CM_PHASE_REFUSED:
		TAILQ_REMOVE(&cm.refused, conn, link);
		break;
	case CM_PHASE_CONNECTING:
	case CM_PHASE_STARTING:
		TAILQ_REMOVE(&cm.starting, conn, link);
		break;
	case CM_PHASE_ASKED:
		TAILQ_REMOVE(&cm.asked, conn, link);
		break;
	case CM_PHASE_REQUEST:
	case CM_PHASE_RESPONSE:
	case CM_PHASE_BARE:
		break;
	case CM_PHASE_ANSWERED:
		TAILQ_REMOVE(&cm.answered, conn, link);
		break;
	case CM_PHASE_REJECTED:
		TAILQ_REMOVE(&cm.rejected, conn, link);
		cm.closing_cnt--;
		break;
	case CM_PHASE_CLOSING:
		TAILQ_REMOVE(&cm.closing, conn, link);
		cm.closing_cnt--;
		break;
	}
}

/* Out of the list of its phase, away from identity and listener. */
void cm_conn_detach(struct cm_conn *conn)
{
	cm_conn_leave_list(conn);
	if (conn->listener) {
		TAILQ_REMOVE(&conn->listener->listener.half_open, conn,
			     half_open_link);
		conn->listener->listener.half_open_cnt--;
	}
	conn->listener = NULL;
	if (conn->id)
		conn->id->conn = NULL;
	conn->id = NULL;
}

/* Unregistered by hand: a forked child may hold the socket open. */
void cm_conn_drop_socket(struct cm_conn *conn)
{
	if (cm_conn_fd(conn) >= 0)
		cm_conn_watch(conn, 0);
	conn->epoll_events = 0;
	if (conn->stream)
		rnic_stream_free(conn->stream);
	else
		rnic_fd_close(conn->fd);
	conn->stream = NULL;
	conn->fd = -1;
}

/* It waits for a stream that does not come: what is posted ends. */
static void conn_drop_qp(const struct cm_conn *conn)
{
	struct rnic_qp *qp;

	if (!conn->qp_life)
		return;
	qp = rnic_qp_get(conn->param.qp_num);
	if (!qp)
		return;
	rnic_qp_not_coming(qp, conn->qp_life);
	rnic_qp_put(qp);
}

void cm_conn_free(struct cm_conn *conn)
{
	conn_drop_qp(conn);
	cm_conn_detach(conn);
	cm_conn_drop_socket(conn);
	free(conn->outcome);
	cm_table_remove(&cm.conns, conn->ref);
	free(conn);
}

static void conn_end(struct cm_conn *conn, enum cm_phase phase,
		     struct cm_conn_list *list, uint64_t limit_ns)
{
	/* Bounded like half-open ones: these, too, are unexpected peers. */
	if (cm.closing_cnt >= util_settings()->half_open_max) {
		cm_conn_free(conn);
		return;
	}
	cm_conn_detach(conn);
	conn->phase = phase;
	conn->deadline_ns = rnic_now_ns() + limit_ns;
	cm_thread_deadline(conn->deadline_ns);
	TAILQ_INSERT_TAIL(list, conn, link);
	cm.closing_cnt++;
	cm_conn_close_ready(conn);
}

void cm_conn_close(struct cm_conn *conn)
{
	conn_end(conn, CM_PHASE_CLOSING, &cm.closing,
		 util_settings()->drain_ms * NS_PER_MS);
}

void cm_conn_close_behind_peer(struct cm_conn *conn)
{
	conn_end(conn, CM_PHASE_REJECTED, &cm.rejected, REJECTED_NS);
}

/* ---- the stream --------------------------- */

/* MPA-17: C=0 only by the administrator's explicit wish; "auto" is one. */
static bool start_wants_no_crc(const struct sockaddr_storage *peer)
{
	switch (util_settings()->crc) {
	case UTIL_CRC_ON:
		return false;
	case UTIL_CRC_OFF:
		return true;
	case UTIL_CRC_AUTO:
		return cm_addr_is_own((const struct sockaddr *)peer);
	}
	return false;
}

void rnic_cm_start_options(const struct sockaddr_storage *peer,
			   struct smpa_options *opt)
{
	opt->no_crc = start_wants_no_crc(peer);
	opt->want_markers = util_settings()->markers; /* C-5 */
	if (util_settings()->mpa_rev0 == UTIL_MPA_REV0_PERMISSIVE)
		opt->rev0 = SMPA_REV0_PERMISSIVE; /* C-4 */
	/* MPA2-16: what a peer may make us keep for its reads. */
	opt->ird_max =
		(uint16_t)(util_settings()->ird ? util_settings()->ird : 1);
	opt->rtr = util_settings()->rtr ? SMPA_RTR_WRITE | SMPA_RTR_READ : 0;
}

int cm_conn_open_stream(struct cm_conn *conn, struct smpa_options *opt)
{
	int ret;

	rnic_cm_start_options(&conn->peer, opt);
	ret = rnic_stream_new(conn->fd, opt, &conn->stream);
	if (ret < 0)
		return ret;
	conn->fd = -1; /* the stream's now */
	return 0;
}

void cm_conn_stands(struct cm_conn *conn, struct cm_id *id)
{
	if (id->is_moved)
		cm_addr_set_port_be(
			&conn->local,
			cm_addr_port_be((struct sockaddr *)&id->local));
	id->local = conn->local;
	id->peer = conn->peer;
	id->state = RNIC_CM_S_ESTABLISHED;
}

/*
 * rnr_retry_count is for the peer's Sends, and those are held here: nothing
 * need travel.  A kernel's iWARP manager does not look at the count, and
 * librdmacm says 7 where the application says nothing.
 */
static void conn_set_rnr_time(const struct cm_conn *conn,
			      const struct cm_id *id, struct rnic_qp *qp)
{
	rnic_rnr_set_cm_time(qp, cm_id_is_ca(id) &&
					 conn->param.rnr_retry >= RNR_FOR_EVER);
}

int cm_conn_attach(struct cm_conn *conn, struct cm_id *id, struct rnic_qp *qp,
		   uint16_t ird, uint16_t ord)
{
	int ret;

	cm_conn_watch(conn, 0);
	if (id->ack_timeout)
		cm_sock_set_ack_timeout(cm_conn_fd(conn), id->ack_timeout);
	conn_set_rnr_time(conn, id, qp);
	ret = rnic_qp_attach_stream(qp, conn->stream, ird, ord, id->ref);
	if (ret < 0)
		return ret;
	conn->stream = NULL;
	rnic_qp_set_timeout(qp, id->ack_timeout);
	cm_conn_stands(conn, id);
	return 0;
}

void cm_event_set_start(struct cm_event *event, const struct smpa_event *ev)
{
	size_t len = ev->start.pd_len;

	if (len > UINT8_MAX) {
		/* rdma_cm counts it in one octet */
		util_warn("cm", "id %u: private data of %zu octets cut to 255",
			  cm_id_num(event->owner), len);
		len = UINT8_MAX;
	}
	event->ev.pd_len = (uint8_t)len;
	if (len > 0)
		memcpy(event->ev.pd, ev->start.pd, len);
}

/*
 * MPA2-11, as rdma_get_cm_event(3) turns it round: responder_resources is what
 * the peer initiates, initiator_depth what it responds to.  Where the Reply
 * leaves a depth to us (MPA2-17) it is the one that we use.
 */
void cm_event_set_reply_depths(struct cm_event *event,
			       const struct smpa_event *ev)
{
	bool has_ird = ev->start.peer_ird != SMPA_IRD_NONE;
	bool has_ord = ev->start.peer_ord != SMPA_IRD_NONE;

	event->ev.ird = cm_depth_min(
		has_ord ? ev->start.peer_ord : ev->start.ird, UINT8_MAX);
	event->ev.ord = cm_depth_min(
		has_ird ? ev->start.peer_ird : ev->start.ord, UINT8_MAX);
}

/* ---- steps --------------------------- */

/* The connection went away, or the peer does not speak MPA. */
static void conn_lost(struct cm_conn *conn, int status)
{
	if (status == -EPIPE)
		status = -ECONNRESET;
	if (!conn->id)
		cm_conn_free(conn);
	else if (status == -ECONNRESET && conn->rev == 2)
		cm_active_retry(conn);
	else
		cm_conn_abort(conn, status);
}

static void conn_event(struct cm_conn *conn, const struct smpa_event *ev)
{
	switch (ev->type) {
	case SMPA_EV_REQUEST:
		cm_passive_request(conn, ev);
		return;
	case SMPA_EV_ESTABLISHED:
		cm_active_established(conn, ev);
		return;
	case SMPA_EV_REJECTED:
		util_info("cm", "id %u: the peer rejects, %zu octets say why%s",
			  cm_id_num(conn->id), (size_t)ev->start.pd_len,
			  util_settings()->markers
				  ? "; Linux's siw rejects whoever asks for "
				    "markers (USIW_MARKERS=on)"
				  : "");
		cm_event_set_start(conn->outcome, ev);
		if (ev->start.is_enhanced)
			cm_event_set_reply_depths(conn->outcome, ev);
		cm_conn_post_outcome(conn, -ECONNREFUSED);
		cm_conn_close(conn);
		return;
	case SMPA_EV_CLOSED:
		conn_lost(conn, -ECONNRESET);
		return;
	case SMPA_EV_FAULT:
		if (ev->fault.fault.value == SMPA_F_MPA_CLOSED) {
			conn_lost(conn, -ECONNRESET);
			return;
		}
		/* MPA-164: an invalid start frame ends the connection; what
		 * the engine has to say about it goes out first. */
		util_warn("cm", "MPA start: %s",
			  smpa_fault_str(ev->fault.fault));
		if (conn->id)
			cm_conn_post_outcome(conn, -EPROTO);
		cm_conn_close(conn);
		return;
	case SMPA_EV_NONE:
	case SMPA_EV_SEGMENT:
	case SMPA_EV_MESSAGE:
	case SMPA_EV_READ:
	case SMPA_EV_ATOMIC:
	case SMPA_EV_ATOMIC_DONE:
	case SMPA_EV_TERMINATE:
	case SMPA_EV_SENT:
		/* Never before ESTABLISHED. */
		conn_lost(conn, -EPROTO);
		return;
	}
}

static void conn_step(struct cm_conn *conn)
{
	struct smpa_event ev;
	int ret = rnic_stream_start_step(conn->stream, &ev);

	if (ret == 1) {
		conn_event(conn, &ev);
		return;
	}
	if (ret == 0)
		ret = cm_conn_watch(conn,
				    rnic_stream_start_wants(conn->stream));
	if (ret < 0)
		conn_lost(conn, ret);
}

void cm_conn_ready(struct cm_conn *conn, uint32_t events)
{
	switch (conn->phase) {
	case CM_PHASE_ASKING:
		cm_ask_ready(conn);
		break;
	case CM_PHASE_REFUSED: /* has no socket */
		break;
	case CM_PHASE_CONNECTING:
		cm_active_connected(conn);
		break;
	case CM_PHASE_STARTING:
	case CM_PHASE_ASKED:
		conn_step(conn);
		break;
	case CM_PHASE_REQUEST:
		/* The application learns it when it tries to accept. */
		cm_conn_free(conn);
		break;
	case CM_PHASE_RESPONSE: /* not watched */
		break;
	case CM_PHASE_ANSWERED:
		cm_passive_answered(conn);
		break;
	case CM_PHASE_BARE:
		cm_bare_ready(conn, events);
		break;
	case CM_PHASE_REJECTED:
	case CM_PHASE_CLOSING:
		cm_conn_close_ready(conn);
		break;
	}
}

void cm_conn_expire(struct cm_conn *conn)
{
	if (conn->phase == CM_PHASE_CLOSING) {
		cm_conn_free(conn);
		return;
	}
	if (conn->phase == CM_PHASE_REJECTED) {
		cm_conn_close(conn);
		return;
	}
	if (conn->phase == CM_PHASE_ASKING) {
		cm_ask_expire(conn);
		return;
	}
	if (conn->phase == CM_PHASE_REFUSED) {
		cm_active_redial(conn);
		return;
	}
	rnic_stat_add(RNIC_STAT_start_timeouts, 1);
	if (conn->id)
		cm_conn_abort(conn, -ETIMEDOUT);
	else
		cm_conn_free(conn);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How an attempt to connect has ended, told to the application. */
#include "outcome.h"

#include "util/log.h"
#include "conn.h"
#include "event.h"
#include "reason.h"
#include "state.h"

#include <errno.h>
#include <string.h>

static enum rnic_cm_event_type outcome_of(int status)
{
	switch (status) {
	case -ECONNRESET:
	case -ECONNREFUSED:
		return RNIC_CM_REJECTED;
	case -ETIMEDOUT:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
		return RNIC_CM_UNREACHABLE;
	default:
		return RNIC_CM_CONNECT_ERROR;
	}
}

/* InfiniBand's reasons (IBTA 12.6.7.2), where iWARP's manager has errnos. */
enum { REJ_INVALID_SERVICE = 8, REJ_CONSUMER = 28 };

/* Where the start exchange had begun, an application has let go; where TCP
 * refused, there was none. */
static int rejected_status(const struct cm_conn *conn, int status)
{
	if (!cm_id_is_ca(conn->id))
		return status;
	return conn->start.stream ? REJ_CONSUMER : REJ_INVALID_SERVICE;
}

void cm_conn_post_outcome(struct cm_conn *conn, int status)
{
	enum rnic_cm_event_type type = outcome_of(status);

	if (type == RNIC_CM_REJECTED)
		status = rejected_status(conn, status);
	cm_id_set_state(conn->id, RNIC_CM_S_DISCONNECT);
	cm_event_post(conn->outcome, type, status);
	conn->outcome = NULL;
}

/*
 * librdmacm moves its own QP when it fetches CONNECT_RESPONSE, and makes
 * CONNECT_ERROR of it when the connection is no more by then.  After that it
 * drops whatever else we say, and an application that saw the channel readable
 * would block in rdma_get_cm_event().
 */
static bool conn_owes_event(const struct cm_conn *conn)
{
	return conn->phase != CM_PHASE_RESPONSE || conn->param.wants_response;
}

void cm_conn_abort(struct cm_conn *conn, int status)
{
	util_info("cm", "%s: connecting failed: %s", CM_ID_NAME(conn->id),
		  strerror(-status));
	if (conn_owes_event(conn))
		cm_conn_post_outcome(conn, status);
	else
		cm_id_set_state(conn->id, RNIC_CM_S_DISCONNECT);
	cm_conn_free(conn);
}

void cm_event_set_start(struct cm_event *event, const struct smpa_event *ev)
{
	size_t len = ev->start.pd_len;

	if (len > UINT8_MAX) {
		/* rdma_cm counts it in one octet */
		util_warn(
			"cm", "%s: private data of %zu octets cut to 255",
			CM_ID_NAME(event->child ? event->child : event->owner),
			len);
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

	event->ev.ird = rnic_stream_depth_min(
		has_ord ? ev->start.peer_ord : ev->start.ird, UINT8_MAX);
	event->ev.ord = rnic_stream_depth_min(
		has_ird ? ev->start.peer_ird : ev->start.ord, UINT8_MAX);
}

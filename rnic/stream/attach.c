/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A QP takes a stream, and is told to end with it. */
#include "attach.h"

#include <stdlib.h>

#include "carrier.h"
#include "end.h"
#include "engine/engine.h"
#include "engine/thread.h"
#include "fault.h"
#include "meet.h"
#include "os/addr.h"
#include "os/stat.h"
#include "pass.h"
#include "qp/qp.h"
#include "qp/show.h"
#include "qp/state.h"
#include "serve.h"

/* The start frames are through: the engine lends staging from here. */
static int engine_take(struct rnic_engine *engine, struct rnic_stream *stream)
{
	int rc = smpa_conn_rx_lend(stream->conn, NULL, 0);

	if (rc < 0)
		return rc;
	free(stream->start_rx);
	stream->start_rx = NULL;
	stream->engine = engine;
	stream->source.ops = &rnic_stream_ops;
	rc = rnic_engine_thread_start(engine);
	if (rc == 0)
		rc = rnic_engine_add(engine, &stream->source);
	stream->source.due.serve = rnic_stream_serve_due;
	if (rc < 0)
		stream->engine = NULL;
	return rc;
}

int rnic_qp_attach_stream(struct rnic_qp *qp, struct rnic_stream *stream,
			  uint16_t ird, uint16_t ord, uint64_t cm_ref)
{
	int rc;

	rnic_engine_lead(qp->engine);
	rc = rnic_qp_prepare(qp, ird, ord);
	if (rc == 0)
		rc = engine_take(qp->engine, stream);
	if (rc < 0)
		goto unlead;
	rnic_addr_of_socket(stream->source.fd, &qp->ends.local, &qp->ends.peer);
	rnic_qp_show_peer(qp, 0, &qp->ends.local, &qp->ends.peer);
	stream->qp = qp;
	rnic_stream_show(stream, USIW_RES_CARRIER_TCP);
	rnic_stream_enter(stream, RNIC_STREAM_RUN);
	stream->cm_ref = cm_ref;
	qp->link = stream;
	qp->due = &stream->source.due;
	rnic_qp_set_state(qp, RNIC_QPS_RTS);
	rnic_stat_add(RNIC_STAT_streams_opened, 1);
	if (rnic_fault_is_on(RNIC_FAULT_AT_STREAM))
		rnic_stream_fault_begin(stream);
	rnic_stream_meet_begin(stream);
	/* No siw connects out of band. */
	if (!rnic_qp_has_usiw_peer(qp))
		rnic_stream_probe_start(stream);
	/* The Reply, the RTR, and what was posted before. */
	rnic_stream_tx(stream);
unlead:
	rnic_engine_unlead(qp->engine);
	return rc;
}

void rnic_qp_disconnect(struct rnic_qp *qp, uint64_t cm_ref)
{
	struct rnic_stream *stream;

	rnic_engine_lead(qp->engine);
	stream = rnic_qp_stream(qp);
	if (rnic_qp_state_now(qp) == RNIC_QPS_RTS && stream &&
	    stream->cm_ref == cm_ref) {
		rnic_qp_set_state(qp, RNIC_QPS_CLOSING);
		rnic_stream_close(stream);
	}
	rnic_engine_unlead(qp->engine);
}

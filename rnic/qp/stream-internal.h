/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The inside of a stream. */
#ifndef RNIC_STREAM_INTERNAL_H
#define RNIC_STREAM_INTERNAL_H

#include <sys/socket.h>

#include "engine/object.h"
#include "stream.h"

struct rnic_cq;
struct rnic_irq_entry;

enum rnic_stream_phase {
	RNIC_STREAM_START,   /* the connection manager's */
	RNIC_STREAM_RUN,     /* RDMA mode, QP attached */
	RNIC_STREAM_CLOSING, /* QP attached; SQ drains, then FIN, then theirs */
	RNIC_STREAM_DRAIN,   /* no QP: what is prepared goes out (TERMINATE),
				then FIN; input is thrown away */
};

struct rnic_stream {
	struct rnic_source source; /* the socket */
	enum rnic_stream_phase phase;
	struct smpa_conn *conn;
	struct rnic_engine *engine; /* NULL in START */
	struct rnic_qp *qp;	    /* NULL in START and DRAIN */
	bool is_tx_blocked;	    /* TCP took less than was offered */
	bool has_tx_markers;
	bool is_fin_sent;
	bool has_peer_fin;
	bool is_half_closed; /* the QP has been told so */
	bool is_initiator;
	bool is_probing;	       /* it is time, see probe_ns */
	uint8_t nudge_cnt;	       /* looks at the send CQ, see nudge_ns */
	uint8_t probe_cnt;	       /* how often it was */
	void *rx_staging, *tx_staging; /* lent now, from the engine's pools */
	void *start_rx, *start_tx;     /* own, until attached */
	size_t start_taken;	       /* octets of the peer's start frame */
	uint64_t deadline_ns;	       /* 0: none */
	int send_error;		       /* what a send got from the socket */
	uint64_t tx_octets;	       /* taken by TCP since the start */
	uint64_t paced_acked;	       /* by the peer's TCP, then */
	uint64_t paced_octets;	       /* of these, when deadline_ns was set */
	uint64_t rnr_ns;   /* end of the RNR time (rnr.c); 0: nothing held */
	uint64_t nudge_ns; /* when to wake who waits on the send CQ; 0 */
	uint64_t probe_ns; /* when a silent peer hears from us again; 0 */
	struct {
		uint64_t next_ns; /* 0: between FPDUs, when last looked at */
		uint64_t fpdu;	  /* how many were whole then */
		uint32_t same_cnt;
	} stall; /* stall.c */
	struct {
		uint64_t next_ns; /* 0: nobody need look */
		uint64_t acked;
		uint32_t same_cnt;
	} look;			   /* retry.c */
	uint64_t cm_ref;	   /* 0: nobody to tell, or told already */
	uint32_t pass_cnt;	   /* to look at the EMSS now and then */
	struct smpa_counters told; /* already in the counter page */
};

/* ---- stream.c: passes, under the lead ----------------------------------- */

/* Serve what epoll says, or try everything.  The stream may be gone after. */
void rnic_stream_pass(struct rnic_stream *stream, uint32_t events);

/* What stopped the reading is gone: as rnic_stream_pass(). */
void rnic_stream_resume(struct rnic_stream *stream);

/* The QP's queue got work. */
void rnic_stream_tx(struct rnic_stream *stream);

/*
 * Linux's siw, as the Responder, misses what arrives right behind its Reply
 * until something else arrives.  So an Initiator that has sent its RTR or
 * anything, and hears nothing, sends an empty RDMA Write, which changes nothing
 * anywhere, after 0.2 s and 0.8 s later.  Begin with that, once the stream
 * runs.
 */
void rnic_stream_probe_start(struct rnic_stream *stream);

/* Return: whether it is time to probe; the next time is set. */
bool rnic_stream_probe_is_due(struct rnic_stream *stream, uint64_t now_ns);

/* The stream may be gone after. */
void rnic_stream_probe(struct rnic_stream *stream);

/* Give idle staging back and ask epoll for what can be acted on. */
void rnic_stream_settle(struct rnic_stream *stream);
/* Ask epoll for what can be acted on. */
void rnic_stream_watch(struct rnic_stream *stream);

/*
 * Before a message of the peer's is refused: answer what it has asked for, as
 * far as TCP takes it at once.  The QP may have failed after.
 */
void rnic_stream_answer(struct rnic_stream *stream);

/* Send what is prepared, as far as TCP takes it.  Return: 0; -errno. */
int rnic_stream_flush(struct rnic_stream *stream);

/* ---- stream-end.c: endings, under the lead; the stream may be gone after - */

/*
 * The stream's time with its QP is over: tell the connection manager, let go
 * of the QP (the caller fails it), then let TCP finish in the background.
 * @status: 0: orderly; negative errno otherwise.
 */
void rnic_stream_detach(struct rnic_stream *stream, int status);

/* RTS -> CLOSING: FIN once everything posted is out. */
void rnic_stream_close(struct rnic_stream *stream);

/* Step the endings forward: FIN when it is due, close when all is done. */
void rnic_stream_end_step(struct rnic_stream *stream);

/* The QP's part is done: let go and fail it. */
void rnic_stream_part(struct rnic_stream *stream, int status);

/* The socket failed or the peer closed. */
void rnic_stream_lost(struct rnic_stream *stream, int status);

void rnic_stream_drain(struct rnic_stream *stream);
void rnic_stream_abort(struct rnic_stream *stream);
void rnic_stream_expire(struct rnic_stream *stream);
/* The rest of an FPDU does not come. */
void rnic_stream_stalled(struct rnic_stream *stream);
void rnic_stream_rnr(struct rnic_stream *stream);

/* RDMAP-60, RDMAP-68, EXT-19: the peer learns which of its Reads or atomics
 * has lost its memory, and how far it came. */
void rnic_stream_refuse_read(struct rnic_stream *stream,
			     const struct rnic_irq_entry *entry,
			     uint16_t fault);
void rnic_stream_mr_gone(struct rnic_stream *stream, uint32_t stag,
			 const void *addr, size_t len);

/* Add what happened since the last call to the counter page. */
void rnic_stream_count(struct rnic_stream *stream);

/* ---- nudge.c ------------------------------------------------------------ */

/* A peer's WRITE of @len octets was placed. */
void rnic_nudge_written(struct rnic_stream *stream, uint32_t len);
/* nudge_ns has come. */
void rnic_nudge_fire(struct rnic_stream *stream);
/* May something that is posted on @qp complete into @cq? */
bool rnic_nudge_is_expected(const struct rnic_qp *qp, const struct rnic_cq *cq);

/* ---- stall.c ------------------------------------------------------------ */

/* Octets have come, or may. */
void rnic_stall_begin(struct rnic_stream *stream);
/* stall.next_ns has come.  Return: the rest of an FPDU does not come. */
bool rnic_stall_is_over(struct rnic_stream *stream, uint64_t now_ns);

/* ---- retry.c --------------------------------------------------------- */

/* There is work, and look.next_ns is 0. */
void rnic_retry_begin(struct rnic_stream *stream);
/* look.next_ns has come.  Return: the peer cannot be reached any more. */
bool rnic_retry_is_over(struct rnic_stream *stream, uint64_t now_ns);

#endif

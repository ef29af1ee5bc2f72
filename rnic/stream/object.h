/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A stream: one TCP socket, perhaps memory beside it (carrier.h), one protocol
 * engine and, once connected, one QP.
 * What makes the connection owns it in its start phase.  After that the lead of
 * the QP's engine guards it.
 */
#ifndef RNIC_STREAM_OBJECT_H
#define RNIC_STREAM_OBJECT_H

#include "engine/object.h"
#include "qp/object.h"

enum rnic_stream_phase {
	RNIC_STREAM_START,   /* the start exchange; no QP */
	RNIC_STREAM_RUN,     /* RDMA mode, with its QP */
	RNIC_STREAM_CLOSING, /* with its QP: the SQ drains, then FIN goes out,
				then the peer's FIN is awaited */
	RNIC_STREAM_DRAIN,   /* no QP: what is prepared goes out (TERMINATE),
				then FIN; input is thrown away */
};

struct rnic_carrier;
struct rnic_local;
struct rnic_stream_fault;
struct rnic_tap;

struct rnic_stream {
	struct rnic_source source;	    /* the socket */
	const struct rnic_carrier *carrier; /* of its octets */
	struct rnic_local *local;	 /* ring.c; NULL with another carrier */
	struct rnic_stream_fault *fault; /* fault.c; NULL: none is possible */
	int meet_fd;			 /* meet.c: it listens; -1: no */
	uint64_t meet_at;		 /* FPDUs before the next try */
	uint8_t meet_tries;		 /* left; 0: it stays on TCP */
	enum rnic_stream_phase phase;	 /* changed by rnic_stream_enter() */
	struct smpa_conn *conn;
	struct rnic_engine *engine; /* NULL in START */
	struct rnic_qp *qp;	    /* NULL in START and DRAIN */
	bool is_tx_blocked;	    /* less was taken than was offered */
	bool is_socket_due;	    /* it may have something to say */
	bool is_notice_due;	    /* the peer has to look at its socket */
	bool has_tx_markers;
	bool is_fin_sent;
	bool has_peer_fin;
	bool is_half_closed; /* the QP has been told so */
	bool is_initiator;
	uint8_t crc;		       /* enum usiw_res_crc */
	void *rx_staging, *tx_staging; /* lent now, from the engine's pools */
	void *start_rx, *start_tx;     /* own, until attached */
	size_t start_taken;	       /* octets of the peer's start frame */
	uint64_t deadline_ns;	       /* 0: none */
	int send_error;		       /* what a send got from the socket */
	uint64_t tx_octets;	       /* sent since the start */
	uint64_t rx_octets;	       /* taken from TCP since the start */
	uint64_t paced_acked;	       /* by the peer's TCP, then */
	uint64_t paced_octets;	       /* of these, when deadline_ns was set */
	struct {
		uint64_t ns; /* when to wake the thread on the send CQ; 0 */
		uint8_t cnt; /* looks at the send CQ */
	} nudge;	     /* nudge.c */
	struct {
		uint64_t ns; /* when to probe a silent peer; 0: not at all */
		uint8_t cnt; /* probes sent */
	} probe;
	struct {
		uint64_t next_ns; /* 0: between FPDUs, when last looked at */
		uint64_t fpdu;	  /* how many were whole then */
		uint32_t same_cnt;
	} stall; /* stall.c */
	struct {
		uint64_t next_ns; /* 0: no look is due */
		uint64_t acked;
		uint32_t same_cnt;
	} look; /* retry.c */
	struct {
		uint32_t fpdu_len;  /* on average; 0: the peer is not ahead */
		uint32_t left_turn; /* poll_turn that left octets; 0: none */
		uint32_t taken_idx; /* how far the program had polled then */
	} ahead;		    /* read-ahead.c */
	uint64_t cm_ref;	    /* 0: no note to leave, or left already */
	uint32_t pass_cnt;	    /* to look at the EMSS now and then */
	struct smpa_counters told;  /* already in the counter page */
	struct rnic_tap *tap; /* tap.c; NULL until the stream is captured */
};

/* Of a QP with this transport; NULL: it has none. */
static inline struct rnic_stream *rnic_qp_stream(const struct rnic_qp *qp)
{
	return qp->link;
}

/* The stream that the source is a part of. */
static inline struct rnic_stream *rnic_stream_of(struct rnic_source *source)
{
	return RNIC_CONTAINER_OF(source, struct rnic_stream, source);
}

/* Every change of a stream's phase is here. */
static inline void rnic_stream_enter(struct rnic_stream *stream,
				     enum rnic_stream_phase phase)
{
	stream->phase = phase;
}

#endif

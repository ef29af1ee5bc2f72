/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Internal state of a connection, for the files of conn/.
 */
#ifndef SDP_STATE_H
#define SDP_STATE_H

#include "conn/sdp-conn.h"
#include "flow/credit.h"
#include "flow/resize.h"
#include "flow/sink.h"
#include "flow/source.h"

#define SDP_NS_PER_MS 1000000u
/* Maximum distance in octets between OOB_PEND and the urgent octet
 * (SDP-115). */
#define SDP_OOB_DISTANCE 65535u
/* After this many SendSms in a row the mode changes from Combined to
 * Buffered. */
#define SDP_SEND_SM_STREAK 4u
/* Delay of a further update that only answers updates, and of a further poke.
 * It doubles each time. */
#define SDP_BACKOFF_MS 10u
#define SDP_BACKOFF_MS_MAX 1000u

enum sdp_stage {
	SDP_STAGE_IDLE,
	SDP_STAGE_LISTEN,     /* Accepting: waits for Hello */
	SDP_STAGE_ACCEPT,     /* Accepting: HelloAck must be sent */
	SDP_STAGE_HELLO,      /* Connecting: waits for HelloAck */
	SDP_STAGE_OPEN,	      /* established, until the carrier is to end */
	SDP_STAGE_ABORTING,   /* AbortConn must be sent */
	SDP_STAGE_DISCONNECT, /* the carrier must be ended in order */
	SDP_STAGE_TERMINATE,  /* the carrier must be ended at once */
	SDP_STAGE_DOWN, /* the carrier ends: waits for sdp_conn_llp_down() */
	SDP_STAGE_SUSPENDED, /* between two carriers */
	SDP_STAGE_CLOSED,
};

/* A ULP buffer to send: octets [start, end) of the stream. */
struct sdp_send_entry {
	uint64_t cookie;
	uint64_t va;
	uint64_t start, end;
	uint32_t stag;
	uint32_t last_work; /* has_work: newest work that uses its memory */
	uint8_t flags;
	bool has_work;
	bool is_pend_sent; /* OOB_PEND was sent for it (SDP-113) */
	bool is_cancelled;
};

enum sdp_recv_state {
	SDP_RECV_PLAIN,
	SDP_RECV_ADVERTISED, /* advertised by a SinkAvail */
	SDP_RECV_SOLO,	     /* gets one message, which has arrived (SDP-174) */
	SDP_RECV_DONE,
};

struct sdp_recv_entry {
	uint64_t cookie;
	uint64_t va;
	uint32_t len;
	uint32_t filled;
	uint32_t stag;
	uint8_t flags;
	uint8_t state; /* enum sdp_recv_state */
	bool is_oob;
	bool is_cancelled;
	bool was_read; /* octets came by RDMA Read */
};

/* Payload of a received message, in its buffer. */
struct sdp_chunk {
	uint64_t cookie;
	uint32_t off;
	uint32_t left;
	bool is_oob;  /* its last octet is urgent */
	bool is_solo; /* only for an advertised buffer */
	bool is_old;  /* in a buffer of the size before a resize */
};

/* RDMA Reads of a part of a SrcAvail into the first receive buffer. */
struct sdp_reading {
	uint32_t len;	 /* 0: none */
	uint32_t issued; /* octets */
	uint16_t out_cnt;
	bool is_compl_due; /* all Reads are complete: RdmaRdCompl is due */
};

/* RDMA Writes into the first SinkAvail. */
struct sdp_writing {
	uint32_t len; /* 0: none */
	uint32_t issued;
	bool was_cut; /* shortened by SinkAvailCancel */
};

enum sdp_timer {
	SDP_TIMER_START,
	SDP_TIMER_LLP_END,
	SDP_TIMER_ABORT,
	SDP_TIMER_SUSP,
	SDP_TIMER_SRC_CANCEL,
	SDP_TIMER_SINK_CANCEL,
	SDP_TIMER_DEADLOCK,
	SDP_TIMER_UPDATE,
	SDP_TIMER_POKE,
	SDP_TIMER_CNT,
};

/* The close of the connection, in both directions. */
struct sdp_closing {
	bool is_wanted;	  /* the ULP sends no more */
	bool is_deaf;	  /* the ULP receives no more either (C22) */
	bool is_sent;	  /* DisConn was sent */
	bool is_done;	  /* the Send of DisConn completed */
	bool is_rcvd;	  /* the peer's DisConn was received */
	bool has_crossed; /* both DisConns were in flight at once (C19) */
	uint32_t mseq;	  /* is_sent */
	uint32_t work;	  /* is_sent: work id of DisConn, or of AbortConn */
	bool is_abort_sent;
};

/* The move of the connection (part 3.4). */
struct sdp_moving {
	bool is_wanted;	  /* this side requested it */
	bool is_sent;	  /* our SuspComm was sent */
	bool is_rcvd;	  /* the peer's SuspComm was received; answer it */
	bool is_ack_sent; /* our SuspCommAck was sent */
	bool has_crossed; /* the peer sent SuspComm too; ours has priority */
	bool has_spare;	  /* has receives for what the peer still sends */
	uint16_t port;	  /* is_wanted: our port */
	uint16_t peer_port;
	uint32_t work;	    /* is_ack_sent: id */
	bool is_llp_ending; /* SDP_WORK_DISCONNECT is due */
};

/* Messages to send as soon as the credit allows it. */
struct sdp_due {
	bool send_sm;	     /* for the oldest SrcAvail */
	bool send_sm_cancel; /* answers SrcAvailCancel */
	bool src_cancel;
	bool sink_cancel;
	bool sink_cancel_ack;
	bool leave_buffered;
	bool mode;	 /* to want_mode */
	bool ask_size;	 /* ChRcvBuf with want_size */
	bool update;	 /* an update that was delayed */
	bool poke;	 /* a poke that was delayed */
	bool first_data; /* CM_PRIV: we send the first FPDU */
};

/* Events that are flags. */
struct sdp_news {
	bool connected;
	bool readable;
	bool peer_closed;
	bool resize;
	bool suspended;
	bool failed;
	bool closed;
	uint32_t oob_cnt;
};

struct sdp_conn {
	struct sdp_options opt;
	enum sdp_stage stage;
	enum sdp_fault fault;
	uint64_t now;
	uint64_t timers[SDP_TIMER_CNT];
	bool was_open; /* on this carrier, or the one before */
	bool is_carrier_up;
	bool is_hello_out; /* SDP_WORK_HELLO was returned to the owner */
	bool may_be_rtr; /* a first message of length 0 is not an SDP message */
	uint16_t carrier_ord;
	uint16_t ord; /* RDMA Reads at a time */
	uint16_t peer_max_adverts;
	uint8_t minor;	    /* protocol version in use (SDP-61) */
	uint8_t sm_streak;  /* SendSms in a row */
	uint8_t update_cnt; /* number of updates that only answered updates */
	uint8_t poke_cnt;   /* pokes since there was credit for payload */
	enum sdp_mode want_mode;
	uint32_t want_size;
	uint32_t filler_cnt; /* number of messages that may speed up a resize */

	struct sdp_credit credit;
	struct sdp_resize resize;
	struct sdp_source source;
	struct sdp_sink sink;
	struct sdp_closing closing;
	struct sdp_moving moving;
	struct sdp_due due;
	struct sdp_news news;
	struct sdp_reading reading;
	struct sdp_writing writing;
	/* A SrcAvailCancel, a SinkAvailCancel waits for the end of RDMA. */
	bool is_src_cancel_waiting;
	bool is_sink_cancel_waiting;

	/* Work: ids [done_id, next_id) are posted. Their types are in a
	 * ring. */
	uint32_t next_id, done_id;
	uint8_t *work_kinds; /* see sdp_conn_work_kind() */

	/* rings */
	struct sdp_send_entry *send;
	struct sdp_recv_entry *recv;
	struct sdp_chunk *chunks;
	uint64_t send_end; /* stream position */
	uint16_t send_head, send_cnt;
	uint16_t recv_head, recv_cnt;
	uint16_t oob_cnt;	  /* urgent send buffers without OOB_PEND */
	uint16_t cancel_cnt;	  /* receive buffers to return */
	uint16_t send_cancel_cnt; /* send buffers that are cancelled */
	/* Free-running indices: [chunk_free, chunk_head) wait for RELEASE,
	 * [chunk_head, chunk_tail) for the ULP. */
	uint32_t chunk_cap;
	uint32_t chunk_free, chunk_head, chunk_tail;
	uint32_t old_held; /* of chunk_free to chunk_tail, is_old */
	uint64_t chunk_octets;
};

static inline bool sdp_conn_is_open(const struct sdp_conn *conn)
{
	return conn->stage == SDP_STAGE_OPEN;
}

/* Whether the ULP may send and receive. True between two carriers too. */
static inline bool sdp_conn_is_running(const struct sdp_conn *conn)
{
	return conn->stage == SDP_STAGE_OPEN ||
	       conn->stage == SDP_STAGE_SUSPENDED ||
	       (conn->was_open && conn->stage < SDP_STAGE_OPEN);
}

static inline void sdp_conn_arm(struct sdp_conn *conn, enum sdp_timer timer,
				uint32_t ms)
{
	conn->timers[timer] = conn->now + (uint64_t)ms * SDP_NS_PER_MS;
}

static inline void sdp_conn_disarm(struct sdp_conn *conn, enum sdp_timer timer)
{
	conn->timers[timer] = SDP_NEVER;
}

static inline void sdp_conn_disarm_all(struct sdp_conn *conn)
{
	for (int i = 0; i < SDP_TIMER_CNT; i++)
		sdp_conn_disarm(conn, (enum sdp_timer)i);
}

/* Whether a move forbids to start anything new. */
static inline bool sdp_conn_is_moving(const struct sdp_conn *conn)
{
	return conn->moving.is_wanted || conn->moving.is_rcvd;
}

static inline struct sdp_send_entry *
sdp_conn_send_at(const struct sdp_conn *conn, unsigned int i)
{
	return &conn->send[(conn->send_head + i) % conn->opt.send_cap];
}

static inline struct sdp_recv_entry *
sdp_conn_recv_at(const struct sdp_conn *conn, unsigned int i)
{
	return &conn->recv[(conn->recv_head + i) % conn->opt.recv_cap];
}

static inline struct sdp_chunk *sdp_conn_chunk_at(const struct sdp_conn *conn,
						  uint32_t idx)
{
	return &conn->chunks[idx % conn->chunk_cap];
}

/* enum sdp_work_type of a posted work; NONE: done. */
static inline uint8_t *sdp_conn_work_kind(const struct sdp_conn *conn,
					  uint32_t id)
{
	return &conn->work_kinds[id % conn->opt.work_cap];
}

#endif

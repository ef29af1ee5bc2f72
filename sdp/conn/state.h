/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The inside of a connection, for the files of conn/.
 */
#ifndef SDP_STATE_H
#define SDP_STATE_H

#include "conn/sdp-conn.h"
#include "flow/credit.h"
#include "flow/resize.h"
#include "flow/sink.h"
#include "flow/source.h"

#define SDP_NS_PER_MS 1000000u
/* Octets between OOB_PEND and the urgent octet (SDP-115). */
#define SDP_OOB_DISTANCE 65535u
/* SendSms in a row after which Combined gives way to Buffered. */
#define SDP_SEND_SM_STREAK 4u
/* How long one more update in answer to updates waits, or one more poke:
 * doubled each time. */
#define SDP_BACKOFF_MS 10u
#define SDP_BACKOFF_MS_MAX 1000u

enum sdp_stage {
	SDP_STAGE_IDLE,
	SDP_STAGE_LISTEN,     /* Accepting: Hello is awaited */
	SDP_STAGE_ACCEPT,     /* Accepting: HelloAck is to go out */
	SDP_STAGE_HELLO,      /* Connecting: HelloAck is awaited */
	SDP_STAGE_OPEN,	      /* established, until the carrier is to end */
	SDP_STAGE_ABORTING,   /* AbortConn is to go out */
	SDP_STAGE_DISCONNECT, /* the carrier is to end in order */
	SDP_STAGE_TERMINATE,  /* the carrier is to end at once */
	SDP_STAGE_DOWN,	      /* it is ending: sdp_conn_llp_down() is awaited */
	SDP_STAGE_SUSPENDED,  /* between two carriers */
	SDP_STAGE_CLOSED,
};

/* A ULP buffer of the stream that goes out: octets [start, end). */
struct sdp_send_entry {
	uint64_t cookie;
	uint64_t va;
	uint64_t start, end;
	uint32_t stag;
	uint32_t last_work; /* has_work: newest that uses its memory */
	uint8_t flags;
	bool has_work;
	bool is_pend_sent; /* OOB_PEND went out for it (SDP-113) */
	bool is_cancelled;
};

enum sdp_recv_state {
	SDP_RECV_PLAIN,
	SDP_RECV_ADVERTISED, /* a SinkAvail stands for it */
	SDP_RECV_SOLO,	     /* gets one message, which has come (SDP-174) */
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
	bool is_solo; /* for an advertised buffer, alone */
	bool is_old;  /* in a buffer of the size before a resize */
};

/* RDMA Reads of one part of a SrcAvail into the first receive buffer. */
struct sdp_reading {
	uint32_t len;	 /* 0: none */
	uint32_t issued; /* octets */
	uint16_t out_cnt;
	bool is_compl_due; /* all have ended: RdmaRdCompl is due */
};

/* RDMA Writes into the first SinkAvail. */
struct sdp_writing {
	uint32_t len; /* 0: none */
	uint32_t issued;
	bool was_cut; /* by SinkAvailCancel */
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

/* How both ends close. */
struct sdp_closing {
	bool is_wanted;	  /* the ULP sends no more */
	bool is_deaf;	  /* nor does it receive (C22) */
	bool is_sent;	  /* DisConn went out */
	bool is_done;	  /* and its Send completed */
	bool is_rcvd;	  /* the peer's came */
	bool has_crossed; /* both were under way at a time (C19) */
	uint32_t mseq;	  /* is_sent */
	uint32_t work;	  /* is_sent: id; AbortConn's in its turn */
	bool is_abort_sent;
};

/* How the connection moves (part 3.4). */
struct sdp_moving {
	bool is_wanted;	  /* by us */
	bool is_sent;	  /* our SuspComm */
	bool is_rcvd;	  /* the peer's, to be answered */
	bool is_ack_sent; /* our SuspCommAck */
	bool has_crossed; /* the peer's came too, and ours has priority */
	bool has_spare;	  /* receives for what the peer still has to say */
	uint16_t port;	  /* is_wanted: ours */
	uint16_t peer_port;
	uint32_t work;	    /* is_ack_sent: id */
	bool is_llp_ending; /* SDP_WORK_DISCONNECT is due */
};

/* Messages that are to go out as soon as the credit allows it. */
struct sdp_due {
	bool send_sm;	     /* for the oldest SrcAvail */
	bool send_sm_cancel; /* answers SrcAvailCancel */
	bool src_cancel;
	bool sink_cancel;
	bool sink_cancel_ack;
	bool leave_buffered;
	bool mode;	 /* to want_mode */
	bool ask_size;	 /* ChRcvBuf with want_size */
	bool update;	 /* an update that was put off */
	bool poke;	 /* a poke that was put off */
	bool first_data; /* CM_PRIV: the first FPDU is ours */
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
	bool is_hello_out; /* SDP_WORK_HELLO was handed out */
	bool may_be_rtr;   /* a first message without octets is no message */
	uint16_t carrier_ord;
	uint16_t ord; /* RDMA Reads at a time */
	uint16_t peer_max_adverts;
	uint8_t minor;	    /* protocol version in use (SDP-61) */
	uint8_t sm_streak;  /* SendSms in a row */
	uint8_t update_cnt; /* updates in answer to nothing but updates */
	uint8_t poke_cnt;   /* pokes since there was credit for payload */
	enum sdp_mode want_mode;
	uint32_t want_size;
	uint32_t filler_cnt; /* messages that may speed up a resize */

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
	/* SrcAvailCancel, SinkAvailCancel that wait for RDMA to end */
	bool is_src_cancel_waiting;
	bool is_sink_cancel_waiting;

	/* work: ids [done_id, next_id) are posted; kinds in a ring */
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
	uint16_t cancel_cnt;	  /* receive buffers to come back */
	uint16_t send_cancel_cnt; /* send buffers that are cancelled */
	/* free-running: [chunk_free, chunk_head) wait for RELEASE,
	 * [chunk_head, chunk_tail) for the ULP */
	uint32_t chunk_cap;
	uint32_t chunk_free, chunk_head, chunk_tail;
	uint32_t old_held; /* of chunk_free to chunk_tail, is_old */
	uint64_t chunk_octets;
};

static inline bool sdp_conn_is_open(const struct sdp_conn *conn)
{
	return conn->stage == SDP_STAGE_OPEN;
}

/* The ULP sends and receives, also between two carriers. */
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

/* Whether nothing new may be started, because the connection moves. */
static inline bool sdp_conn_is_moving(const struct sdp_conn *conn)
{
	return conn->moving.is_wanted || conn->moving.is_rcvd;
}

static inline struct sdp_send_entry *sdp_conn_send_at(struct sdp_conn *conn,
						      unsigned int i)
{
	return &conn->send[(conn->send_head + i) % conn->opt.send_cap];
}

static inline struct sdp_recv_entry *sdp_conn_recv_at(struct sdp_conn *conn,
						      unsigned int i)
{
	return &conn->recv[(conn->recv_head + i) % conn->opt.recv_cap];
}

static inline struct sdp_chunk *sdp_conn_chunk_at(const struct sdp_conn *conn,
						  uint32_t idx)
{
	return &conn->chunks[idx % conn->chunk_cap];
}

/* enum sdp_work_type of a posted work; NONE: it is done. */
static inline uint8_t *sdp_conn_work_kind(const struct sdp_conn *conn,
					  uint32_t id)
{
	return &conn->work_kinds[id % conn->opt.work_cap];
}

#endif

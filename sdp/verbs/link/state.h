/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Internal state of a link, for the files of verbs/.
 */
#ifndef SDP_LINK_STATE_H
#define SDP_LINK_STATE_H

#include <rdma/rdma_cma.h>
#include <stdatomic.h>

#include "verbs/dev/dev.h"
#include "lock.h"
#include "verbs/sdp-link.h"

/* Further bits of the state, for sdp_wait(). */
#define LINK_STANDS 0x100u /* Hello and HelloAck were exchanged */
#define LINK_ZDONE 0x200u  /* the zero-copy send is complete */
#define LINK_RDONE 0x400u  /* the direct receive is complete */
#define LINK_SHUT 0x800u   /* DisConn and everything before it was sent */
#define LINK_UP 0x1000u	   /* the newest carrier was established */
#define LINK_BARE 0x2000u  /* between two carriers, after sdp_link_suspend() */

/* Header and pieces of one message. */
#define LINK_SGE_MAX (1 + SDP_PIECES_MAX)
/* Work requests that the protocol core does not count. */
#define LINK_SQ_EXTRA 4u
#define LINK_NS_PER_MS 1000000ull
/* A flag of receives: leave advertised data advertised. */
#define LINK_RECV_KEEP_ADVERT 0x80000000u
/* The call has octets already: leave the error for the next call. */
#define LINK_RECV_KEEP_ERROR 0x40000000u
/* The caller polls. */
#define LINK_RECV_NO_POLL 0x20000000u

/* A sleeping thread. */
struct sdp_waiter {
	struct sdp_waiter *next, *prev; /* of the device */
	struct sdp_link *link;		/* NULL: any */
	struct sdp_dev *dev;
	struct sdp_waiter *outer;  /* the call that this one interrupts */
	_Atomic uint32_t is_awake; /* a futex */
	bool is_listed;		   /* in the list of the device */
	bool is_on_fd;		   /* sleeps on the device's descriptors */
	bool is_placed;		   /* between place_begin() and its end */
	bool is_heir;		   /* woken to take the free place */
	bool is_point;		   /* cancellation ends it */
	int cq_fd; /* is_on_fd: from usiwdv_cq_sleep_begin(); -1: none */
};

/* A buffer of the program. */
struct link_zbuf {
	struct sdp_mem mem; /* first member: a cookie */
	struct ibv_mr *mr;
	struct ibv_mw *mw; /* NULL: not allocated, or not supported */
	uint32_t stag;	   /* of the window, or of the region */
	bool is_bound;	   /* window: the peer has access */
	uint32_t done;	   /* octets, when complete */
	bool is_busy;
	bool is_eof, is_oob;
	bool is_inline; /* receive: not registered, data is copied into it */
};

/* Received urgent data (section "octets" of sdp-link.h). */
struct link_oob {
	uint32_t pend_cnt; /* number of OOB_PENDs received */
	uint32_t pres_cnt; /* of these, urgent octets that arrived */
	uint32_t left_cnt; /* of these, octets that the reader has not passed */
	uint8_t octet;	   /* the newest one */
	bool has_octet;	   /* it arrived and was not read */
	uint8_t kept;	   /* has_kept: an urgent octet that a direct */
	bool has_kept;	   /* receive got; the reader has not reached it */
};

/* Whether an urgent octet was announced that has not arrived. */
static inline bool link_oob_is_awaited(const struct link_oob *oob)
{
	return (int32_t)(oob->pend_cnt - oob->pres_cnt) > 0;
}

struct sdp_link {
	struct util_lock lock; /* UTIL_RANK_SDP_LINK */
	_Atomic unsigned int state;
	_Atomic uint32_t change_cnt; /* counts changes of the state, and news */
	_Atomic uint32_t waiter_cnt;
	struct sdp_dev *dev;
	struct sdp_conn *conn;
	struct ibv_qp *qp;     /* NULL: destroyed */
	struct rdma_cm_id *cm; /* for carriers by rdma_cm */
	_Atomic bool is_cm_over;
	/* Read without the lock. */
	_Atomic bool is_zcopy_off;
	_Atomic bool is_sending;     /* sdp_drive_is_sending() */
	_Atomic uint8_t send_mode;   /* enum sdp_mode */
	_Atomic uint32_t urgent_cnt; /* oob.left_cnt */
	struct sdp_link_options opt;
	sdp_notify_fn *notify;
	void *notify_arg;
	struct sockaddr_storage names[2]; /* ours, then the peer's */
	/* Thread function that connects the next carrier; its argument is the
	 * link. */
	void *(*move)(void *link);

	/* start */
	bool is_started; /* a polling thread may end the carrier */
	/* Messages that arrived before the core was told about the carrier: the
	 * private data of the answer must be handled before them. */
	struct sdp_pbuf *early, **early_end;
	uint32_t early_cnt;
	uint8_t mid_off, flags_off; /* offsets in a message */
	uint8_t hello[SDP_HELLO_SIZE];
	uint8_t hello_len;

	struct sdp_link *all_next, *all_prev; /* links.c */

	/* Protected by poll_lock of the device. */
	struct sdp_link *hash_next;
	bool is_hashed;

	/* Protected by wait_lock of the device. */
	struct sdp_link *timed_next;
	bool is_timed;
	_Atomic uint64_t deadline;

	/* The values of the core. */
	uint32_t src_threshold, sink_threshold, read_min;

	/* posting */
	uint32_t qp_num;
	uint32_t sq_depth, inline_max;
	struct sdp_pbuf *headers; /* one entry per work request */
	uint32_t header_cnt;
	uint32_t done_id; /* Sends and Writes before this id are complete */
	uint32_t data_id; /* id of the newest Send with payload */

	/* moving to another carrier */
	bool is_up;	   /* the newest carrier was established */
	bool wants_move;   /* sdp_link_suspend() */
	bool is_suspended; /* suspended by us; the peer has acknowledged */
	bool is_asked;	   /* the peer requested a move: start @move */
	bool is_moving;	   /* @move is running and uses the link */
	uint16_t move_port;

	/* sending */
	struct sdp_pbuf *tail; /* the newest buffer; octets may be added */
	uint64_t queued;       /* octets accepted and not sent */
	struct link_zbuf zsend;
	uint64_t cork_end; /* gathered octets are sent then at the latest */
	bool is_corked;
	bool has_more;	 /* the last send had SDP_SEND_MORE */
	bool is_shut;	 /* sending direction closed */
	bool has_shut;	 /* the core was told */
	bool is_deaf;	 /* receives no more either */
	bool is_rd_shut; /* like SHUT_RD: receives do not wait */

	/* receiving */
	struct link_zbuf direct;
	struct link_oob oob;
	bool is_refused; /* the advertised octets were requested as messages */
	bool is_peer_closed;

	/* end */
	int llp_error;		 /* from usiwdv_qp_error(); 0: none */
	int error;		 /* SO_ERROR */
	bool was_told;		 /* the error was reported */
	bool is_relayed;	 /* see sdp_link_relay() */
	bool is_failed;		 /* the connection */
	bool is_conn_down;	 /* SDP_EV_CLOSED */
	bool is_llp_down;	 /* the QP must be destroyed */
	bool is_released;	 /* sdp_link_close() was called: to be freed */
	_Atomic bool is_closing; /* the same, for counting */
	bool is_foreign; /* belongs to the parent of this forked child */
	uint64_t close_end;

	struct sdp_link_stats stats;
};

static inline unsigned int link_state(const struct sdp_link *link)
{
	/* acquire: pairs with the release in sdp_notice_update() */
	return atomic_load_explicit(&link->state, memory_order_acquire);
}

#endif

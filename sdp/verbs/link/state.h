/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Internal state of a link, for the files of verbs/.
 */
#ifndef SDP_LINK_STATE_H
#define SDP_LINK_STATE_H

#include <rdma/rdma_cma.h>
#include <stdatomic.h>

#include "util/clock.h"
#include "verbs/dev/dev.h"
#include "util/lock.h"
#include "tcp-answer.h"
#include "verbs/sdp-link.h"

/* Further bits of the state, for sdp_wait(). */
#define LINK_STANDS 0x100u  /* Hello and HelloAck were exchanged */
#define LINK_ZDONE 0x200u   /* the zero-copy send is complete */
#define LINK_RDONE 0x400u   /* the receive by zcopy is complete */
#define LINK_SHUT 0x800u    /* DisConn and everything before it was sent */
#define LINK_UP 0x1000u	    /* the newest carrier was established */
#define LINK_BARE 0x2000u   /* between two carriers, after sdp_link_suspend() */
#define LINK_OCTETS 0x8000u /* SDP_LINK_IN with an rcvlowat of 1 */
#define LINK_CONFIRMED 0x10000u /* sdp_verbs_confirm() has its answer */

/* A change of these bits concerns only calls that send. */
#define LINK_TX_BITS                                                           \
	(SDP_LINK_OUT | SDP_LINK_DRAINED | LINK_ZDONE | LINK_CONFIRMED)

/* Header and pieces of one message. */
#define LINK_SGE_MAX (1 + SDP_PIECES_MAX)
/* Work requests that the protocol core does not count. */
#define LINK_SQ_EXTRA 4u
/* The wr_id of the Read of sdp_verbs_confirm(): odd, as those of all that is
 * sent, and above what 32 bits of an id make. */
#define LINK_CONFIRM_WR UINT64_MAX
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
};

/* Received urgent data (section "octets" of sdp-link.h). */
struct link_oob {
	uint32_t pend_cnt; /* number of OOB_PENDs received */
	uint32_t pres_cnt; /* of these, urgent octets that arrived */
	uint32_t left_cnt; /* of these, octets that the reader has not passed */
	uint8_t octet;	   /* the newest one */
	bool has_octet;	   /* it arrived and was not read */
	/* has_kept: an urgent octet that a receive by zcopy got; the reader has
	 * not reached it. */
	uint8_t kept;
	bool has_kept;
};

/* Whether an urgent octet was announced that has not arrived. */
static inline bool link_oob_is_awaited(const struct link_oob *oob)
{
	return (int32_t)(oob->pend_cnt - oob->pres_cnt) > 0;
}

/* Until Hello and HelloAck are exchanged. */
struct link_start {
	bool is_over; /* a polling thread may end the carrier */
	/* Messages that arrived before the core was told about the carrier: the
	 * private data of the answer must be handled before them. */
	struct sdp_pbuf *early, **early_end;
	uint32_t early_cnt;
	uint8_t mid_off, flags_off; /* offsets in a message */
	uint8_t hello[SDP_HELLO_SIZE];
	uint8_t hello_len;
};

/* Work requests. */
struct link_post {
	uint32_t sq_depth, inline_max;
	struct sdp_pbuf *headers; /* one entry per work request */
	uint32_t header_cnt;
	uint32_t done_id; /* Sends and Writes before this id are complete */
	uint32_t data_id; /* id of the newest Send with payload */
	bool is_confirming, is_confirmed; /* sdp_verbs_confirm() */
};

/* Moving to another carrier. */
struct link_move {
	/* Thread function that connects the next carrier; its argument is the
	 * link. */
	void *(*run)(void *link);
	bool is_up;	   /* the newest carrier was established */
	bool is_wanted;	   /* sdp_link_suspend() */
	bool is_suspended; /* suspended by us; the peer has acknowledged */
	bool is_asked;	   /* the peer requested a move: start @run */
	bool is_running;   /* @run uses the link */
	uint16_t port;
};

/* Octets of the program. */
struct link_tx {
	struct sdp_pbuf *tail; /* the newest buffer; octets may be added */
	uint64_t queued;       /* octets accepted and not sent */
	struct link_zbuf zbuf;
	uint64_t cork_end; /* gathered octets are sent then at the latest */
	bool is_corked;
	bool has_more; /* the last send had SDP_SEND_MORE */
	bool is_shut;  /* by the program */
	bool was_told; /* the core knows that it is shut */
};

struct link_rx {
	struct link_zbuf zbuf;
	struct link_oob oob;
	/* sdp_link_feed(): octets before those of the connection; NULL: none
	 * are left. */
	uint8_t *fed;
	size_t fed_len, fed_at;
	bool is_refused; /* the advertised octets were requested as messages */
	bool is_peer_closed;
	bool is_deaf; /* octets are dropped */
	bool is_shut; /* as by SHUT_RD: receives do not wait */
};

struct link_end {
	/* rdma_cm has ended the carrier. Set without the link's lock, and
	 * taken by the next pass over the links that are due. */
	_Atomic bool is_cm_over;
	int llp_error;		 /* from usiwdv_qp_error(); 0: none */
	int error;		 /* SO_ERROR */
	bool was_told;		 /* the error was reported */
	bool is_relayed;	 /* see sdp_link_relay() */
	bool is_failed;		 /* the connection */
	bool is_conn_down;	 /* SDP_EV_CLOSED */
	bool is_llp_down;	 /* the QP must be destroyed */
	bool is_released;	 /* sdp_link_close() was called: to be freed */
	_Atomic bool is_closing; /* the same, for counting */
	uint64_t close_end;
};

/* Protected by wait_lock of the device, but for at_ns. */
struct link_timer {
	struct sdp_link *next;
	bool is_on;
	_Atomic uint64_t at_ns;
};

struct sdp_link {
	struct util_lock lock; /* UTIL_RANK_SDP_LINK */
	_Atomic unsigned int state;
	_Atomic uint32_t change_cnt; /* counts changes of the state, and news */
	_Atomic uint32_t rx_change_cnt; /* ... that concern a receiver */
	_Atomic uint32_t waiter_cnt;
	struct sdp_dev *dev;
	struct sdp_conn *conn;
	struct ibv_qp *qp; /* NULL: destroyed */
	uint32_t qp_num;
	struct rdma_cm_id *cm; /* for carriers by rdma_cm */
	/* Read without the lock. */
	_Atomic bool is_zcopy_off;
	_Atomic bool is_sending;     /* sdp_drive_is_sending() */
	_Atomic uint8_t send_mode;   /* enum sdp_mode */
	_Atomic uint32_t urgent_cnt; /* rx.oob.left_cnt */
	struct sdp_link_options opt; /* each has a value */
	sdp_notify_fn *notify;
	void *notify_arg;
	struct sockaddr_storage names[2]; /* ours, then the peer's */
	bool is_foreign; /* belongs to the parent of this forked child */

	struct sdp_link *all_next, *all_prev; /* links.c, and both below */
	bool is_taken, is_removed;
	/* Protected by poll_lock of the device. */
	struct sdp_link *hash_next;
	bool is_hashed;
	struct link_timer timer;

	struct link_start start;
	struct link_post post;
	struct link_move moving;
	struct link_tx tx;
	struct link_rx rx;
	struct link_end end;
	struct sdp_link_stats stats;
};

static inline unsigned int link_state(const struct sdp_link *link)
{
	/* acquire: pairs with the release in sdp_notice_update() */
	return atomic_load_explicit(&link->state, memory_order_acquire);
}

/* What holds of the link: SDP_HOLDS_..., but for one that does not stand yet.
 * The link's lock is held. */
static inline unsigned int link_holds(const struct sdp_link *link)
{
	unsigned int holds = 0;

	if (link->end.error)
		holds |= SDP_HOLDS_ERROR;
	if (link->rx.is_peer_closed)
		holds |= SDP_HOLDS_PEER_END;
	if (link->tx.is_shut)
		holds |= SDP_HOLDS_WR_SHUT;
	if (link->rx.is_shut)
		holds |= SDP_HOLDS_RD_SHUT;
	if (link->end.is_failed || link->end.is_conn_down ||
	    (link->rx.is_peer_closed && link->tx.is_shut))
		holds |= SDP_HOLDS_OVER;
	return holds;
}

#endif

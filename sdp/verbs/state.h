/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The inside of a link, for the files of verbs/.
 */
#ifndef SDP_LINK_STATE_H
#define SDP_LINK_STATE_H

#include <rdma/rdma_cma.h>
#include <stdatomic.h>

#include "dev.h"
#include "lock.h"
#include "sdp-link.h"

/* Further bits of the state, for sdp_wait(). */
#define LINK_STANDS 0x100u /* Hello and HelloAck are through */
#define LINK_ZDONE 0x200u  /* the zero-copy send has come back */
#define LINK_RDONE 0x400u  /* the direct receive has */
#define LINK_SHUT 0x800u   /* DisConn has gone, and all before it */
#define LINK_UP 0x1000u	   /* the newest carrier came to stand */
#define LINK_BARE 0x2000u  /* between two: sdp_link_suspend() is through */

/* Pieces of one message, and its header. */
#define LINK_SGE_MAX (1 + SDP_PIECES_MAX)
/* Work requests that the protocol core does not know of. */
#define LINK_SQ_EXTRA 4u
#define LINK_NS_PER_MS 1000000ull
/* A flag of receives: what is only advertised stays so. */
#define LINK_RECV_KEEP_ADVERT 0x80000000u
/* The call has octets already: the error is the next one's. */
#define LINK_RECV_KEEP_ERROR 0x40000000u
/* The caller polls. */
#define LINK_RECV_NO_POLL 0x20000000u

/* A thread that sleeps. */
struct sdp_waiter {
	struct sdp_waiter *next, *prev; /* of the device */
	struct sdp_link *link;		/* NULL: any */
	struct sdp_dev *dev;
	struct sdp_waiter *outer;  /* of the calls that this one interrupts */
	_Atomic uint32_t is_awake; /* a futex */
	bool is_listed;		   /* among the device's */
	bool is_on_fd;		   /* sleeps on the device's descriptors */
	bool is_placed;		   /* between place_begin() and its end */
	bool is_heir;		   /* woken because that place is free */
	bool is_point;		   /* cancellation ends it */
	int cq_fd; /* is_on_fd: of usiwdv_cq_sleep_begin(); -1: none */
};

/* A buffer of the program's. */
struct link_zbuf {
	struct sdp_mem mem; /* first: a cookie */
	struct ibv_mr *mr;
	struct ibv_mw *mw; /* NULL: none yet, or the device has none */
	uint32_t stag;	   /* of the window, or of the region */
	bool is_bound;	   /* the window: the peer has access */
	uint32_t done;	   /* octets, when it has come back */
	bool is_busy;
	bool is_eof, is_oob;
	bool is_inline; /* receive: not registered, copied into */
};

/* Urgent data that came (section "octets" of sdp-link.h). */
struct link_oob {
	uint32_t pend_cnt; /* OOB_PENDs */
	uint32_t pres_cnt; /* of these, octets that arrived */
	uint32_t left_cnt; /* of these, octets not passed by the reader */
	uint8_t octet;	   /* the newest one */
	bool has_octet;	   /* and it was not read */
	uint8_t kept;	   /* has_kept: an urgent octet that a direct */
	bool has_kept;	   /* receive got; the reader stands before it */
};

struct sdp_link {
	struct util_lock lock; /* UTIL_RANK_SDP_LINK */
	_Atomic unsigned int state;
	_Atomic uint32_t change_cnt; /* of the state, and of news */
	_Atomic uint32_t waiter_cnt;
	struct sdp_dev *dev;
	struct sdp_conn *conn;
	struct ibv_qp *qp;     /* NULL: gone */
	struct rdma_cm_id *cm; /* carriers by rdma_cm */
	_Atomic bool is_cm_over;
	/* looked at without the lock */
	_Atomic bool is_zcopy_off;
	_Atomic bool is_sending;     /* sdp_drive_is_sending() */
	_Atomic uint8_t send_mode;   /* enum sdp_mode */
	_Atomic uint32_t urgent_cnt; /* oob.left_cnt */
	struct sdp_link_options opt;
	sdp_notify_fn *notify;
	void *notify_arg;
	struct sockaddr_storage names[2]; /* ours, the peer's */
	/* Run by a thread with the link: the next carrier, which this side
	 * connects. */
	void *(*move)(void *link);

	/* start */
	bool is_started; /* a polling thread may end the carrier */
	/* Messages that came before the core knows of the carrier: private
	 * data of the answer stands before them. */
	struct sdp_pbuf *early, **early_end;
	uint8_t mid_off, flags_off; /* in a message */
	uint8_t hello[SDP_HELLO_SIZE];
	uint8_t hello_len;

	struct sdp_link *all_next, *all_prev; /* links.c */

	/* UTIL_RANK_SDP_POLL of the device */
	struct sdp_link *hash_next;
	bool is_hashed;

	/* wait_lock of the device */
	struct sdp_link *timed_next;
	bool is_timed;
	_Atomic uint64_t deadline;

	/* as the core has them */
	uint32_t src_threshold, sink_threshold, read_min;

	/* posting */
	uint32_t qp_num;
	uint32_t sq_depth, inline_max;
	struct sdp_pbuf *headers; /* one place per work request */
	uint32_t header_cnt;
	uint32_t done_id; /* Sends and Writes before it have completed */
	uint32_t data_id; /* newest Send with payload */

	/* moving to another carrier */
	bool is_up;	   /* the newest carrier came to stand */
	bool wants_move;   /* sdp_link_suspend() */
	bool is_suspended; /* by us, and the peer has acknowledged */
	bool is_asked;	   /* by the peer: @move is to begin */
	bool is_moving;	   /* @move runs, and uses the link */
	uint16_t move_port;

	/* sending */
	struct sdp_pbuf *tail; /* the newest buffer, octets may be added */
	uint64_t queued;       /* octets taken, and not sent */
	struct link_zbuf zsend;
	uint64_t cork_end; /* what is gathered goes then at the latest */
	bool is_corked;
	bool has_more;	 /* the last send had SDP_SEND_MORE */
	bool is_shut;	 /* no more sends */
	bool has_shut;	 /* and the core knows */
	bool is_deaf;	 /* nor does it receive */
	bool is_rd_shut; /* as SHUT_RD: a receive does not wait */

	/* receiving */
	struct link_zbuf direct;
	struct link_oob oob;
	bool is_refused; /* the advertised octets were asked for as messages */
	bool is_peer_closed;

	/* end */
	int llp_error;		 /* of usiwdv_qp_error(); 0: none */
	int error;		 /* SO_ERROR */
	bool was_told;		 /* the error has been taken */
	bool is_relayed;	 /* see sdp_link_relay() */
	bool is_failed;		 /* the connection */
	bool is_conn_down;	 /* SDP_EV_CLOSED */
	bool is_llp_down;	 /* the QP is to go */
	bool is_graceful;	 /* in order */
	bool is_released;	 /* sdp_link_close(): freed when it can be */
	_Atomic bool is_closing; /* the same, for counting */
	bool is_foreign;	 /* a parent's, in a forked child */
	uint64_t close_end;

	struct sdp_link_stats stats;
};

static inline unsigned int link_state(const struct sdp_link *link)
{
	/* acquire: pairs with the release in sdp_notice_update() */
	return atomic_load_explicit(&link->state, memory_order_acquire);
}

#endif

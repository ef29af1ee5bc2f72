/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The data of a connection, for the files of the engine. */
#ifndef SMPA_STATE_H
#define SMPA_STATE_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ddp.h"
#include "fpdu.h"
#include "include/siw-mpa.h"
#include "rdmap.h"
#include "start-frame.h"
#include "term.h"

enum conn_phase {
	PHASE_IDLE, /* smpa_conn_start() has not been called */
	PHASE_WAIT_REQUEST,
	PHASE_REQUESTED, /* REQUEST was reported: accept or reject */
	PHASE_WAIT_REPLY,
	PHASE_RDMA,   /* RFC 5044's Full Operation */
	PHASE_LEFT,   /* rejected: MPA has ended, TCP remains open */
	PHASE_FAILED, /* a start frame was bad */
};

enum rx_state {
	RX_FPDU,    /* at an FPDU boundary, or collecting one */
	RX_SEGMENT, /* SEGMENT was reported: sink or refuse */
	RX_DIRECT,  /* payload goes straight to the sink */
	RX_TRAILER, /* payload is complete; PAD and CRC follow, not checked */
	RX_PLACED,  /* FPDU is complete; MESSAGE if it was the last */
};

/* Where payload may go direct, the first read is short. */
#define RX_WINDOW_MIN 32768u

/* The current segment. */
struct rx_segment {
	struct ddp_hdr ddp;
	uint8_t opcode;
	bool is_direct;
	uint32_t len;	  /* payload */
	uint32_t trailer; /* PAD and CRC not yet skipped, if direct */
	uint32_t rest;	  /* payload not yet placed, if direct */
	size_t off;	  /* offset of the payload in staging */
	size_t end;	  /* end of the FPDU in staging, if not direct */
	uint8_t imm[RDMAP_IMM_SIZE];
};

struct conn_rx {
	uint8_t *buf; /* staging, lent by the owner */
	size_t size, head, tail;
	size_t need; /* octets from head that the next step needs */
	size_t offered_direct, offered_staging; /* by the last rx_prepare */
	enum rx_state state;
	uint32_t phase;	     /* stream offset of head modulo 512 */
	bool is_discarding;  /* input is discarded, not parsed */
	bool is_refusal_due; /* is_discarding, and smpa_conn_refuse() follows */
	bool is_eof;
	bool is_ended;		 /* CLOSED was reported */
	bool has_fpdu;		 /* a valid one came: the Responder may send */
	bool is_established_due; /* Responder: event after accept */
	bool is_rtr_due;	 /* Responder: the first FPDU may be the RTR */
	bool is_rtr_answer_due;	 /* Initiator: the answer to the Read RTR */
	bool is_crc_dropped;	 /* smpa_conn_rx_drop_crc() */
	uint8_t bulk_left;	 /* > 0: FPDUs went direct recently */
	uint8_t send_opcode;	 /* of the current QN 0 message */
	uint16_t bulk_len;	 /* ULPDU_Length of the last direct FPDU */
	size_t window;		 /* staging to offer when no length is known */
	struct ddp_order order;
	struct rx_segment seg;
	struct term_cause cause; /* the last segment checked */
	int sink_cnt, sink_idx;
	struct iovec sink[SMPA_IOV_MAX]; /* shrinks from the front */
};

/* The largest number of octets and pieces that the engine's own messages need:
 * Read RTR or its answer, and TERMINATE with all copies, each with up to two
 * markers. */
#define TX_OWN_SIZE 192u
#define TX_OWN_IOV_CNT 4u

/* An entry of the SENT queue, in staging. */
struct tx_sent {
	uint64_t end; /* stream offset after the last octet */
	uint64_t cookie;
};

/* Messages that the engine itself has to send. */
enum tx_want {
	TX_WANT_REV_REPLY = 1u << 0, /* C-3 */
	TX_WANT_RTR = 1u << 1,
	TX_WANT_RTR_ANSWER = 1u << 2,
	TX_WANT_TERMINATE = 1u << 3,
};

/* The owner's message, and how much of it is encoded. */
struct tx_msg {
	bool is_active;
	bool is_copied;
	bool is_quiet;
	bool is_safe;	 /* its memory needs no guard */
	bool is_spoiled; /* the next FPDU gets a wrong CRC */
	uint8_t opcode;
	uint8_t hdr_len; /* of the RDMAP header, which follows DDP's */
	uint32_t stag;	 /* of the sink, or the STag to invalidate */
	uint64_t to;
	uint64_t cookie;
	uint32_t len, done;
	const struct iovec *iov;
	int iovcnt, idx;
	size_t off; /* in iov[idx] */
	uint8_t hdr[RDMAP_ATOMIC_SIZE];
};

/* A message with memory that cannot be read any further. */
struct tx_fault {
	bool is_set;
	uint32_t stag; /* of the first octet that is not sent, if tagged */
	uint64_t to;
	uint64_t cookie;
};

struct conn_tx {
	uint8_t *buf; /* staging, lent by the owner */
	size_t size;
	/* The parts of staging; NULL: none.  When the engine has a message of
	 * its own and no staging, they point to own_iov and own_data below. */
	struct iovec *iov;
	struct tx_sent *sent;
	uint64_t *mark; /* stream offsets at which FPDUs in place begin */
	uint8_t *data;
	size_t iov_cap, sent_cap, mark_cap, data_cap;
	size_t iov_head, iov_end; /* pending iovecs */
	size_t sent_head, sent_cnt;
	size_t mark_head, mark_cnt;
	size_t data_pos;
	size_t offered;	     /* by the last tx_prepare */
	uint64_t shared;     /* octets in the current TCP segment */
	uint64_t end, taken; /* stream offsets: encoded, taken by TCP */
	uint64_t start_end;  /* end of this side's start frame: SeqStart */
	uint32_t msn[DDP_QN_CNT];
	uint32_t mulpdu;
	uint8_t wants;
	uint8_t rtr; /* the kind to send */
	/* Requests that ORD allows in addition to the Read RTR, until the RTR
	 * is answered (D-26). */
	uint16_t rtr_credits;
	bool is_closed;	     /* no further message is accepted */
	bool is_crc_dropped; /* smpa_conn_tx_drop_crc() */
	bool has_read;	     /* a READ Request has been encoded */
	bool is_cut;	     /* the last commit left some of the octets */
	uint8_t term_len;
	uint8_t term[RDMAP_TERM_MAX_SIZE];
	uint32_t answer_stag; /* of the Read RTR to be answered */
	uint64_t answer_to;
	struct tx_fault fault;
	struct tx_msg msg;
	struct iovec own_iov[TX_OWN_IOV_CNT];
	uint8_t own_data[TX_OWN_SIZE];
};

struct smpa_conn {
	struct smpa_options opt; /* defaults filled in */
	enum conn_phase phase;
	struct start_frame peer; /* Request, as decoded */
	struct start_outcome out;
	struct conn_rx rx;
	struct conn_tx tx;
	struct smpa_counters cnt;
};

static_assert(sizeof(struct smpa_conn) <= 2048,
	      "an idle connection costs its struct only");

/* All staged octets have been used. */
static inline bool rx_is_drained(const struct conn_rx *rx)
{
	return rx->head == rx->tail;
}

static inline bool tx_is_empty(const struct conn_tx *tx)
{
	return tx->iov_head == tx->iov_end;
}

static inline bool tx_is_staged(const struct conn_tx *tx, const void *addr)
{
	uintptr_t off = (uintptr_t)addr - (uintptr_t)tx->data;

	return off < tx->data_cap;
}

/* Are CRCs computed, and checked? */
static inline bool tx_has_crc(const struct smpa_conn *c)
{
	return c->out.has_crc && !c->tx.is_crc_dropped;
}

static inline bool rx_has_crc(const struct smpa_conn *c)
{
	return c->out.has_crc && !c->rx.is_crc_dropped;
}

/* True while the Responder must not send (MPA-134). */
static inline bool conn_is_held(const struct smpa_conn *c)
{
	return c->opt.role == SMPA_RESPONDER && c->phase == PHASE_RDMA &&
	       !c->rx.has_fpdu;
}

/* Access memory of the owner.  Return: 0; -EFAULT: it is not accessible. */
static inline int conn_access(const struct smpa_conn *c,
			      void (*access)(void *arg), void *arg)
{
	if (c->opt.guard)
		return c->opt.guard(access, arg) ? -EFAULT : 0;
	access(arg);
	return 0;
}

#endif

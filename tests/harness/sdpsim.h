/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Two SDP connections, a soft NIC for each, and a lossless pipe in memory. A
 * random scheduler chooses the next step. The NICs read and write ULP memory at
 * a later step, like real ones. Memory that was returned to the ULP is
 * overwritten, and an access to it by its STag fails the test. Every failure
 * aborts, because it is an error of the connection.
 */
#ifndef TEST_SDPSIM_H
#define TEST_SDPSIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conn/sdp-conn.h"

#define SIM_SQ 128
#define SIM_WIRE 256
#define SIM_RQ 512
#define SIM_BUFS 256

/* A ULP buffer; its cookie is its index, its STag has a generation. */
struct sim_buf {
	uint8_t *mem;
	uint32_t len;
	uint32_t stag;
	bool is_used;
	bool is_recv;
	bool is_oob;
};

/* An item in transit, with its own copy of the octets. */
struct sim_item {
	enum sdp_work_type type; /* SEND, WRITE, READ: request; NONE: answer */
	uint8_t *octets;
	uint32_t len;
	uint32_t stag;
	uint64_t va;
	uint32_t sq_idx; /* READ and its answer */
	bool is_invalidating;
	uint32_t inv_stag;
};

struct sim_wr {
	struct sdp_work work;
	bool is_sent;
	bool is_done;
	bool is_reported; /* also by a later one */
};

/* A log of octets. */
struct sim_log {
	uint8_t *octets;
	size_t len, size;
};

struct sim_end {
	struct sdp_conn *conn;
	struct sdp_options opt;
	struct sim_end *peer;
	const char *name;
	struct sim_wr sq[SIM_SQ]; /* free-running */
	uint32_t sq_done, sq_sent, sq_tail;
	struct sim_item wire[SIM_WIRE]; /* towards the peer, free-running */
	uint32_t wire_head, wire_tail;
	uint32_t rq_size[SIM_RQ]; /* posted receives, free-running */
	uint32_t rq_head, rq_tail;
	struct sim_item cq[SIM_RQ]; /* received, not yet given to conn */
	uint32_t cq_head, cq_tail;
	struct {
		uint8_t *octets;
		bool is_used;
	} rx[SIM_RQ]; /* receive buffers that the connection holds */
	struct sim_buf bufs[SIM_BUFS];
	uint32_t buf_cnt;      /* in use */
	struct sim_log expect; /* what this end's ULP sent */
	struct sim_log got;    /* what this end's ULP received */
	/* what happened */
	uint32_t mid_cnt[256];
	uint32_t oob_sent, oob_pend, oob_got;
	uint32_t event_cnt[SDP_EV_CLOSED + 1];
	uint32_t read_cnt, write_cnt, reads_out;
	enum sdp_fault fault;
	bool is_up, is_down, is_closed, wants_end;
	uint16_t susp_port;
	bool is_suspended, is_initiator;
	uint32_t grant_size; /* answer to a resize; 0: the requested size */
};

struct sim {
	struct sim_end end[2]; /* 0 connects */
	uint64_t seed, seed0;
	uint64_t now;
	enum sdp_carrier carrier;
	uint8_t private_data[SDP_HELLO_ACK_SIZE]; /* of the acceptance */
};

/* Default options of role and carrier for a small connection. */
struct sdp_options sim_options(enum sdp_role role, enum sdp_carrier carrier);

/* Makes both ends; sim_open() connects them. */
void sim_init(struct sim *s, const struct sdp_options *a,
	      const struct sdp_options *b, uint64_t seed);
void sim_open(struct sim *s);
void sim_fini(struct sim *s);

/* Makes one random step; false: only the ULP or time can cause a change. */
bool sim_step(struct sim *s);
/* Steps until nothing moves. The ULPs do nothing. */
void sim_run(struct sim *s);
/* As sim_run(), but not random: both ends do the same at the same time. */
void sim_run_in_step(struct sim *s);
/* As sim_run(), with ULPs that receive everything. */
void sim_drain(struct sim *s);
/* Advances time to the next deadline of either end; false: none. */
bool sim_wait(struct sim *s);

/* The ULP of @e sends @len random octets; false: no room. */
bool sim_send(struct sim *s, struct sim_end *e, uint32_t len, uint8_t flags);
bool sim_post_recv(struct sim *s, struct sim_end *e, uint32_t len,
		   uint8_t flags);
/* Takes up to @max received octets. */
void sim_take(struct sim *s, struct sim_end *e, uint32_t max);

/* After both ends were suspended: makes a new carrier; @end[i] connects. */
void sim_move(struct sim *s, int i);

/* "RdmaRdCompl", for a valid MID. */
const char *sim_mid_name(uint8_t mid);
/* Prints the state of both ends to stderr. */
void sim_report(const struct sim *s);
/* Fails unless both streams arrived and nothing is pending. */
void sim_check_rest(struct sim *s);

#endif

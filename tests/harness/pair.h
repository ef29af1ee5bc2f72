/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Two protocol engines and a pipe in memory, or one engine and a peer that is a
 * script of octets.
 *
 * An end has everything that an owner needs: staging, memory that the peer may
 * access, and receive buffers. It answers every event in the simplest way and
 * records it. Octets move only in pair_run() and end_feed(), in pieces of
 * pseudo-random size.
 */
#ifndef TEST_PAIR_H
#define TEST_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hex.h"
#include "random.h"
#include "siw-mpa.h"

#ifndef END_MEM_SIZE /* fuzz targets need little */
#define END_MEM_SIZE (4u << 20)
#endif
#define END_RX_STAGING (160u * 1024)
#define END_TX_STAGING (160u * 1024)

/* An event that an end received. The Private Data of start events is stored
 * separately. */
struct end_event {
	struct smpa_event ev;
	uint8_t pd[SMPA_PD_MAX];
};

/* Sizes of pieces: 0: as large as possible; else 1 to max octets at random. */
struct end_cut {
	uint64_t seed;
	size_t max;
};

struct end {
	struct smpa_conn *conn;
	uint8_t *rx_staging, *tx_staging;
	/* STag n is mem[n * slice ...]. Any STag below mem_cnt is valid.
	 * Receives use recv[], one after the other. */
	uint8_t *mem;
	uint8_t *recv;
	size_t recv_pos; /* of the current message */
	int sink_pieces; /* > 1: number of iovecs per sink */
	struct end_event *events;
	size_t event_cnt, event_cap;
	uint8_t *out; /* octets sent, not yet delivered */
	size_t out_pos, out_end, out_cap;
	struct end_cut rx_cut, tx_cut;
	uint16_t ird, ord; /* for accept */
	uint8_t pd[SMPA_PD_MAX];
	size_t pd_len;
	bool is_rejecting, is_manual;	  /* manual: do not answer REQUEST */
	uint16_t refuse_fault;		  /* != 0xffff: refuse the next ... */
	enum smpa_event_type refuse_type; /* ... event of this type */
	uint64_t atomic_word;
	size_t read_calls; /* number of rx_commit() calls */
	bool is_log_off;
	bool asks_placed; /* after this SEGMENT; in turn */
};

void end_init(struct end *e, const struct smpa_options *opt);
void end_fini(struct end *e);

/* Delivers octets, and pulls events after each piece. */
void end_feed(struct end *e, const uint8_t *buf, size_t len);
/* The same, followed by the end of the stream. */
void end_feed_eof(struct end *e);
/* Answers and records all pending events. */
void end_pull(struct end *e);
/* Lets the engine send into out[], in pieces. Returns whether there were
 * octets. */
bool end_drain(struct end *e);
/*
 * Starts the end against a scripted peer. The Initiator gets @peer_hex as
 * Reply, the Responder as Request. What the end sends is dropped.
 */
void end_establish(struct end *e, const char *peer_hex);
/* Feeds octets given in hex. */
void end_feed_hex(struct end *e, const char *hex);
/* Submits, and drains as often as necessary. Returns the last result. */
int end_submit(struct end *e, const struct smpa_msg *msg);

/* Number of events of one type so far, and the n-th of them (NULL: none). */
size_t end_count(const struct end *e, enum smpa_event_type type);
const struct smpa_event *end_event(const struct end *e,
				   enum smpa_event_type type, size_t n);
/* A checksum of all receive events, without the placement of payload. */
uint64_t end_digest(const struct end *e);

struct pair {
	struct end a, b;	  /* Initiator, Responder */
	uint8_t *wire_a, *wire_b; /* all octets that each end has sent */
	size_t wire_a_len, wire_b_len, wire_cap;
	bool is_recording;
};

void pair_init(struct pair *p, const struct smpa_options *a,
	       const struct smpa_options *b);
void pair_fini(struct pair *p);
/* Starts both ends and runs until nothing moves. */
void pair_start(struct pair *p);
/* Carries octets until nothing moves. */
void pair_run(struct pair *p);

void test_fill(uint8_t *buf, size_t len, uint64_t seed);

/* Default options of these tests: ird and ord 8. */
struct smpa_options test_options(enum smpa_role role);

/* Start frames of a scripted peer, revision 1, CRC on or off. */
#define PEER_REQUEST "4d504120494420526571204672616d6540010000"
#define PEER_REPLY "4d504120494420526570204672616d6540010000"
#define PEER_REQUEST_PLAIN "4d504120494420526571204672616d6500010000"
#define PEER_REPLY_PLAIN "4d504120494420526570204672616d6500010000"
/* An empty Write: a valid FPDU without effect. */
#define PEER_EMPTY_WRITE "000ec140000000010000000000000000ebd34c5f"

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One SDP connection, and a peer that sends what the test requests.
 */
#ifndef TEST_SDPSCRIPT_H
#define TEST_SDPSCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conn/sdp-conn.h"
#include "conn/state.h"

#define MS 1000000ull /* in ns */

struct script {
	struct sdp_conn *conn;
	uint64_t now;
	uint64_t rx; /* cookie of the next receive buffer */
	/* The peer. */
	uint32_t mseq; /* of its next message */
	uint32_t ack;  /* MSeqAck that it sends */
	uint16_t bufs; /* Bufs that it sends */
	/* The newest work that was pulled. */
	struct sdp_work work;
	uint32_t posted; /* total number of receives */
};

/* Small buffers, no automatic change of modes. */
struct sdp_options script_options(enum sdp_role role);

/* A valid Hello or HelloAck of the peer. */
struct sdp_msg script_hello(uint8_t mid, uint16_t bufs);

/* Makes the connection and exchanges Hello and HelloAck (CM_SEND). The peer has
 * @bufs receives of 256 octets and accepts 4 advertisements. */
void script_open(struct script *s, const struct sdp_options *opt,
		 uint16_t bufs);
/* The same with script_options(). */
void script_open_as(struct script *s, enum sdp_role role, uint16_t bufs);
void script_fini(struct script *s);

/* A fixture with an open script: SDP_CONNECTING, 16 receives. */
int script_setup(void **state);
int script_teardown(void **state);
#define SCRIPT_CASE(name) CASE_WITH(name, script_setup, script_teardown)

/* The next message of the connection, decoded; false: none. Posts the receives
 * that it requests. Reads and Writes end the search (see script_work()). */
bool script_next(struct script *s, struct sdp_msg *ret_msg);
/* As script_next(), but returns the MID. */
int script_mid(struct script *s);
/* The next work that is not a receive. */
enum sdp_work_type script_work(struct script *s);
/* Completes everything that was returned. */
void script_done(struct script *s);

/* The peer sends @msg. Its number, MSeqAck and Bufs are filled in. Returns the
 * result of sdp_conn_recv(). */
int script_recv(struct script *s, struct sdp_msg msg);
/* A message of that MID without extended header and payload. */
int script_plain(struct script *s, uint8_t mid);
int script_data(struct script *s, uint32_t len, uint8_t flags);
/* Sends octets unchanged. */
int script_raw(struct script *s, const void *octets, size_t len);

/* Pulls events until one of @type; false: there is none. */
bool script_event(struct script *s, enum sdp_event_type type,
		  struct sdp_event *ret_ev);

/* Queues a buffer; its STag is 0x5000 + @cookie. */
int script_send(struct script *s, uint64_t cookie, uint32_t len, uint8_t flags);
int script_post(struct script *s, uint64_t cookie, uint32_t len, uint8_t flags);

#endif

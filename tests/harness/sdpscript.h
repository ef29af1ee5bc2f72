/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One SDP connection, and a peer that sends what the test tells it to send.
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
	/* the peer */
	uint32_t mseq; /* of its next message */
	uint32_t ack;  /* what it acknowledges */
	uint16_t bufs; /* what it says it has */
	/* the newest work that was pulled */
	struct sdp_work work;
	uint32_t posted; /* receives in all */
};

/* Small buffers, no automatic modes. */
struct sdp_options script_options(enum sdp_role role);

/* A good Hello or HelloAck of the peer's. */
struct sdp_msg script_hello(uint8_t mid, uint16_t bufs);

/* Makes the connection and carries Hello and HelloAck (CM_SEND); the peer
 * has @bufs receives of 256 octets and takes 4 advertisements. */
void script_open(struct script *s, const struct sdp_options *opt,
		 uint16_t bufs);
/* The same with script_options(). */
void script_open_as(struct script *s, enum sdp_role role, uint16_t bufs);
void script_fini(struct script *s);

/* A case whose state is an open script: SDP_CONNECTING, 16 receives. */
int script_setup(void **state);
int script_teardown(void **state);
#define SCRIPT_TEST(test)                                                      \
	cmocka_unit_test_setup_teardown(test, script_setup, script_teardown)

/* The connection's next message, decoded; false: none.  Receives that it
 * wants are posted, Reads and Writes stop the search (see script_work()). */
bool script_next(struct script *s, struct sdp_msg *ret_msg);
/* As script_next(), and the MID. */
int script_mid(struct script *s);
/* The next work that is no receive. */
enum sdp_work_type script_work(struct script *s);
/* All that was handed out has completed. */
void script_done(struct script *s);

/* The peer sends @msg; its number, MSeqAck and Bufs are filled in.  Returns
 * what sdp_conn_recv() does. */
int script_recv(struct script *s, struct sdp_msg msg);
/* A message of that MID without own header or payload. */
int script_plain(struct script *s, uint8_t mid);
int script_data(struct script *s, uint32_t len, uint8_t flags);
/* As it is. */
int script_raw(struct script *s, const void *octets, size_t len);

/* Pulls events until one of @type; false: it did not come. */
bool script_event(struct script *s, enum sdp_event_type type,
		  struct sdp_event *ret_ev);

/* Gives a buffer; its STag is 0x5000 + @cookie. */
int script_send(struct script *s, uint64_t cookie, uint32_t len, uint8_t flags);
int script_post(struct script *s, uint64_t cookie, uint32_t len, uint8_t flags);

#endif

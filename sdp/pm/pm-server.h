/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The Port Mapper's server as a state machine without sockets and clocks.
 *
 * For each datagram: sdp_pm_server_receive(); if it wants a mapping, the owner
 * looks it up and calls sdp_pm_server_answer(), which makes the reply.  The
 * state is one entry for each PMAccept that no PMAck has answered.  Entries
 * are allocated once; a flood of PMReqs costs neither memory nor more than
 * constant work for each.
 */
#ifndef SDP_PM_SERVER_H
#define SDP_PM_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pm/pm-msg.h"

#define SDP_PM_SERVER_ACK_MS 5000u

struct sdp_pm_server_options {
	uint32_t slot_cnt;   /* entries in all; 0: 1024; at most 65535 */
	uint32_t source_max; /* entries of one source; 0: 64 */
	/* PMReqs of one source that are answered in a second; 0: 1000 */
	uint32_t source_per_s;
	uint32_t ack_ms; /* life of an entry; 0: SDP_PM_SERVER_ACK_MS */
	uint8_t time;	 /* PmTime of PMAccepts; 0: use once */
	uint64_t secret; /* random, so that a peer cannot choose collisions */
};

/* Where a datagram came from: the UDP source address, its port left out. */
struct sdp_pm_source {
	uint8_t addr[16]; /* IPv4: 4 octets, then zeros */
};

/* What happened since the start. */
struct sdp_pm_server_counts {
	uint64_t accepted;
	uint64_t denied;
	uint64_t duplicates; /* of these, answers to repeated PMReqs */
	uint64_t replaced;   /* entries: the same client, another handle */
	uint64_t acked;	     /* entries: PMAck came */
	uint64_t expired;    /* entries: it did not */
	uint64_t evicted;    /* entries: others needed the place */
	uint64_t malformed;  /* datagrams that are no PM message */
	uint64_t unexpected; /* PMAccepts, PMDenys, PMAcks without entry */
	uint64_t over_rate;  /* PMReqs above source_per_s */
};

struct sdp_pm_server;

/* Return: NULL: out of memory, or slot_cnt is above its limit. */
struct sdp_pm_server *
sdp_pm_server_new(const struct sdp_pm_server_options *options)
	__attribute__((warn_unused_result));

void sdp_pm_server_free(struct sdp_pm_server *server);

/* A datagram.  Return: true: @ret_req is a PMReq that wants an answer. */
bool sdp_pm_server_receive(struct sdp_pm_server *server, uint64_t now_ms,
			   const struct sdp_pm_source *source,
			   const uint8_t *buf, size_t len,
			   struct sdp_pm_msg *ret_req);

/**
 * sdp_pm_server_answer - the reply to a PMReq
 * @req: as sdp_pm_server_receive() returned it.
 * @sdp_port: where the SDP listener is now; 0: nowhere, PMDeny.
 * @sdp_addr: of the listener; NULL: the address that the PMReq named.
 * @out: SDP_PM_SIZE octets, to be sent to where the PMReq came from.
 */
void sdp_pm_server_answer(struct sdp_pm_server *server, uint64_t now_ms,
			  const struct sdp_pm_source *source,
			  const struct sdp_pm_msg *req, uint16_t sdp_port,
			  const uint8_t *sdp_addr, uint8_t *out);

/* Deletes entries that have expired. */
void sdp_pm_server_expire(struct sdp_pm_server *server, uint64_t now_ms);

/* When sdp_pm_server_expire() has something to do; UINT64_MAX: never. */
uint64_t sdp_pm_server_due_ms(const struct sdp_pm_server *server);

/* Entries that stand. */
uint32_t sdp_pm_server_pending(const struct sdp_pm_server *server);

const struct sdp_pm_server_counts *
sdp_pm_server_counts(const struct sdp_pm_server *server);

#endif

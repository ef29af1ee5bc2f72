/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The Port Mapper's server as a state machine without sockets and clocks.
 *
 * For each datagram, call sdp_pm_server_receive(). If it returns true, look up
 * the mapping and call sdp_pm_server_answer(), which makes the reply. The state
 * is one entry for each PMAccept without a PMAck. Entries are allocated once. A
 * flood of PMReqs uses no more memory, and constant work for each.
 */
#ifndef SDP_PM_SERVER_H
#define SDP_PM_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pm/pm-msg.h"

#define SDP_PM_SERVER_ACK_MS 5000u

struct sdp_pm_server_options {
	uint32_t slot_cnt; /* total number of entries; 0: 1024; at most 65535 */
	uint32_t source_max; /* maximum entries of one source; 0: 64 */
	/* PMReqs of one source that are answered per second; 0: 1000 */
	uint32_t source_per_s;
	uint32_t ack_ms; /* lifetime of an entry; 0: SDP_PM_SERVER_ACK_MS */
	uint8_t time;	 /* PmTime of PMAccepts; 0: use once */
	uint64_t secret; /* random, so that a peer cannot choose collisions */
};

/* The source of a datagram: the source address without the port. */
struct sdp_pm_source {
	uint8_t addr[16]; /* IPv4: 4 octets, then zeros */
};

/* The entries that there are, and what happened since the start. */
struct sdp_pm_server_counts {
	uint64_t pending;
	uint64_t accepted;
	uint64_t denied;
	uint64_t duplicates; /* of these, answers to repeated PMReqs */
	uint64_t replaced;   /* entries replaced: same client, another handle */
	uint64_t acked;	     /* entries that a PMAck ended */
	uint64_t expired;    /* entries that expired */
	uint64_t evicted;    /* entries evicted because the table was full */
	uint64_t malformed;  /* datagrams that are not PM messages */
	uint64_t unexpected; /* PMAccepts, PMDenys, and PMAcks without entry */
	uint64_t over_rate;  /* PMReqs above source_per_s */
};

struct sdp_pm_server;

/* Return: NULL: out of memory, or slot_cnt is too large. */
struct sdp_pm_server *
sdp_pm_server_new(const struct sdp_pm_server_options *options)
	__attribute__((warn_unused_result));

void sdp_pm_server_free(struct sdp_pm_server *server);

/* Handles a datagram. Return: true: @ret_req is a PMReq that needs an
 * answer. */
bool sdp_pm_server_receive(struct sdp_pm_server *server, uint64_t now_ms,
			   const struct sdp_pm_source *source,
			   const uint8_t *buf, size_t len,
			   struct sdp_pm_msg *ret_req);

/**
 * sdp_pm_server_answer - make the reply to a PMReq
 * @req: as sdp_pm_server_receive() returned it.
 * @sdp_port: port of the SDP listener, which has the address in the PMReq; 0:
 *   there is none, so the reply is PMDeny.
 * @out: SDP_PM_SIZE octets, to be sent to the source of the PMReq.
 */
void sdp_pm_server_answer(struct sdp_pm_server *server, uint64_t now_ms,
			  const struct sdp_pm_source *source,
			  const struct sdp_pm_msg *req, uint16_t sdp_port,
			  uint8_t *out);

/* Deletes entries that have expired. */
void sdp_pm_server_expire(struct sdp_pm_server *server, uint64_t now_ms);

/* The next time at which sdp_pm_server_expire() must be called; UINT64_MAX:
 * never. */
uint64_t sdp_pm_server_due_ms(const struct sdp_pm_server *server);

const struct sdp_pm_server_counts *
sdp_pm_server_counts(const struct sdp_pm_server *server);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The rules of this process (USIW_FAULT, usiw-fault(7)), and which of them an
 * event fires.
 *
 * A hook asks for its bit of a word that is 0 without USIW_FAULT.  Any thread,
 * and any locks may be held.
 */
#ifndef RNIC_FAULT_RULES_H
#define RNIC_FAULT_RULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "util/fault-spec.h"

/* Where the rules of this process may do something. */
enum rnic_fault_site {
	RNIC_FAULT_AT_CALL = 1u << 0,
	RNIC_FAULT_AT_WORK = 1u << 1,	/* a WR has completed */
	RNIC_FAULT_AT_STREAM = 1u << 2, /* messages, and octets of streams */
	RNIC_FAULT_AT_RECEIVE = 1u << 3,
	RNIC_FAULT_AT_DATAGRAM = 1u << 4,
	RNIC_FAULT_AT_CM = 1u << 5,
	RNIC_FAULT_AT_TIME = 1u << 6,
	RNIC_FAULT_ANYWHERE = 0x7f,
};

extern _Atomic uint32_t rnic_fault_sites;

static inline bool rnic_fault_is_on(uint32_t sites)
{
	/* relaxed: set before the first object exists */
	return __builtin_expect(
		atomic_load_explicit(&rnic_fault_sites, memory_order_relaxed) &
			sites,
		0);
}

/* Reads USIW_FAULT.  Called when the first context or channel of rdma_cm is
 * opened, or used in a forked child; once is enough. */
void rnic_fault_start(void);

/* The rules are those of @text, which stays; if it is wrong, a line says so,
 * and there are none.  No other thread uses them. */
void rnic_fault_read(const char *text);

/* The child counts anew. */
void rnic_fault_fork_child(void);

/* The process ends: log what each rule has done. */
void rnic_fault_end(void);

/* CLOCK_MONOTONIC of rnic_fault_start(), from which times of rules count. */
uint64_t rnic_fault_began_ns(void);

/* Rules in all, of this process or not. */
uint32_t rnic_fault_rule_cnt(void);
const struct util_fault_rule *rnic_fault_rule(uint32_t num);

/* Does the rule wait for a time, in this process? */
bool rnic_fault_is_timed(uint32_t num);

/* The next QP's position, from 1 on. */
uint32_t rnic_fault_qp_no(void);

#define RNIC_FAULT_BIT(fault) (1u << UTIL_FAULT_##fault)

/* Those for which dir= says which messages count. */
#define RNIC_FAULTS_OF_EITHER                                                  \
	(RNIC_FAULT_BIT(STATE_ERROR) | RNIC_FAULT_BIT(STREAM_STALL) |          \
	 RNIC_FAULT_BIT(STREAM_SILENT) | RNIC_FAULT_BIT(STREAM_RESET) |        \
	 RNIC_FAULT_BIT(STREAM_HALF_CLOSE))

/* Something that rules count.  What is 0 or NULL is not known, and a rule that
 * asks for it does not match. */
struct rnic_fault_event {
	uint32_t faults; /* that it may fire, by RNIC_FAULT_BIT() */
	uint32_t call;	 /* CALL: its number */
	uint32_t opcode; /* enum util_fault_opcode */
	bool is_in;	 /* messages: it has arrived */
	uint64_t octets; /* of the QP in that direction, with these */
	uint32_t qp_no, qp_num;
	const struct sockaddr_storage *peer;
};

/* The rules that an event has fired. */
struct rnic_fault_hits {
	uint32_t rules;			      /* a bit for each */
	uint32_t first;			      /* those that never did before */
	uint64_t event[UTIL_FAULT_RULES_MAX]; /* which one it was, from 1 */
};

/* Return: whether any has fired. */
bool rnic_fault_match(const struct rnic_fault_event *event,
		      struct rnic_fault_hits *ret_hits);

/* The event has not happened: takes it back. */
void rnic_fault_unmatch(const struct rnic_fault_event *event,
			const struct rnic_fault_hits *hits);

/* The first rule that has fired, with one of @faults.  NULL: none. */
const struct util_fault_rule *
rnic_fault_first(const struct rnic_fault_hits *hits, uint32_t faults);

/* What they ask for is done: counts it, and logs it. */
void rnic_fault_tell(const struct rnic_fault_event *event,
		     const struct rnic_fault_hits *hits);

/* A rule whose time has come: the same for it alone. */
void rnic_fault_tell_time(uint32_t num);

/* ---- the port ------------------------------------------------------------ */

/* Until when all ports are down; 0: they are as their interfaces are. */
uint64_t rnic_fault_port_down_ns(void);
void rnic_fault_set_port_down(uint64_t until_ns);

#endif

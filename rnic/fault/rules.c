/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See rules.h. */
#define _GNU_SOURCE /* program_invocation_short_name, secure_getenv */
#include "rules.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/addr.h"
#include "os/stat.h"
#include "rnic.h"
#include "util/addr-text.h"
#include "util/clock.h"
#include "util/env.h"
#include "util/keep-errno.h"
#include "util/log.h"

_Atomic uint32_t rnic_fault_sites;

static struct util_fault_spec spec; /* written once, as a rule */
static const char *spec_text;
static uint32_t ours; /* a bit for each rule of this process */

static struct {
	_Atomic uint64_t seen; /* events */
	_Atomic uint64_t done;
} counts[UTIL_FAULT_RULES_MAX];

static _Atomic uint32_t qp_cnt;
static _Atomic uint64_t began_ns;
static _Atomic uint64_t port_down_ns;

/* ---- start --------------------------------------------------------------- */

static uint32_t fault_sites(const struct util_fault_rule *rule)
{
	switch (rule->fault) {
	case UTIL_FAULT_CALL:
		return RNIC_FAULT_AT_CALL;
	case UTIL_FAULT_COMPLETION:
	case UTIL_FAULT_CQ_OVERRUN:
		return RNIC_FAULT_AT_WORK;
	case UTIL_FAULT_SIGNAL:
		return rule->keys & UTIL_FAULT_AT ? RNIC_FAULT_AT_TIME
						  : RNIC_FAULT_AT_WORK;
	case UTIL_FAULT_STATE_ERROR:
	case UTIL_FAULT_STREAM_STALL:
	case UTIL_FAULT_STREAM_SILENT:
	case UTIL_FAULT_STREAM_RESET:
	case UTIL_FAULT_STREAM_HALF_CLOSE:
	case UTIL_FAULT_STREAM_DELAY:
	case UTIL_FAULT_MESSAGE_BAD_CRC:
	case UTIL_FAULT_MESSAGE_CHANGED:
	case UTIL_FAULT_TERMINATE_FORGED:
	case UTIL_FAULT_TERMINATE_LOST:
		return RNIC_FAULT_AT_STREAM;
	case UTIL_FAULT_RECEIVE_RNR:
		return RNIC_FAULT_AT_RECEIVE | RNIC_FAULT_AT_STREAM;
	case UTIL_FAULT_DATAGRAM_LOST:
		return RNIC_FAULT_AT_DATAGRAM;
	case UTIL_FAULT_PORT_DOWN:
		return RNIC_FAULT_AT_TIME | RNIC_FAULT_AT_STREAM |
		       RNIC_FAULT_AT_DATAGRAM | RNIC_FAULT_AT_CM;
	case UTIL_FAULT_DEVICE_FATAL:
	case UTIL_FAULT_CM_ADDR_CHANGE:
		return RNIC_FAULT_AT_TIME;
	case UTIL_FAULT_CM_ADDR_ERROR:
	case UTIL_FAULT_CM_ROUTE_ERROR:
	case UTIL_FAULT_CM_UNREACHABLE:
	case UTIL_FAULT_CM_REJECT:
	case UTIL_FAULT_CM_TIMEOUT:
		return RNIC_FAULT_AT_CM;
	case UTIL_FAULT_CNT:
		break;
	}
	return 0;
}

/* The process's number in its job; NULL: it is in none. */
static const char *job_rank(void)
{
	static const char *const names[] = {
		"OMPI_COMM_WORLD_RANK",
		"PMIX_RANK",
		"PMI_RANK",
		"SLURM_PROCID",
	};
	const char *rank = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !rank; i++)
		rank = secure_getenv(names[i]);
	return rank;
}

static bool rule_is_ours(const struct util_fault_rule *rule)
{
	const char *rank;
	char text[16];

	if (rule->keys & UTIL_FAULT_PROCESS &&
	    strcmp(rule->process, program_invocation_short_name) != 0)
		return false;
	if (!(rule->keys & UTIL_FAULT_RANK))
		return true;
	rank = job_rank();
	snprintf(text, sizeof(text), "%u", rule->rank);
	return rank && strcmp(rank, text) == 0;
}

static void rules_complain(const char *text,
			   const struct util_fault_error *error)
{
	char lines[UTIL_FAULT_SHOWN_MAX];

	util_fault_error_show(text, error, lines);
	lines[strcspn(lines, "\n")] = '\0';
	util_err("rnic",
		 "USIW_FAULT, character %zu: %s; no fault is injected: %s",
		 error->at + 1, error->what, lines);
}

void rnic_fault_read(const char *text)
{
	struct util_fault_error error;
	uint32_t sites = 0;

	rnic_fault_fork_child();
	ours = 0;
	spec_text = text;
	if (!util_fault_spec_parse(text, &spec, &error)) {
		spec.rule_cnt = 0;
		atomic_store_explicit(&rnic_fault_sites, 0,
				      memory_order_relaxed);
		rules_complain(text, &error);
		return;
	}
	for (uint32_t i = 0; i < spec.rule_cnt; i++) {
		if (!rule_is_ours(&spec.rule[i]))
			continue;
		ours |= 1u << i;
		sites |= fault_sites(&spec.rule[i]);
	}
	/* release: the rules before the sign that they are there */
	atomic_store_explicit(&rnic_fault_sites, sites, memory_order_release);
}

static void setting_read(void)
{
	if (util_settings()->fault)
		rnic_fault_read(util_settings()->fault);
}

void rnic_fault_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint64_t none = 0;
	UTIL_KEEP_ERRNO();

	pthread_once(&once, setting_read);
	if (rnic_fault_is_on(RNIC_FAULT_AT_CALL)) /* a child's page is new */
		atomic_fetch_or_explicit(&rnic_stat_memory.page.observed.wanted,
					 USIW_CALLS_FAIL, memory_order_relaxed);
	if (rnic_fault_is_on(RNIC_FAULT_ANYWHERE))
		atomic_compare_exchange_strong_explicit(
			&began_ns, &none, util_now_ns(), memory_order_relaxed,
			memory_order_relaxed);
}

void rnic_fault_fork_child(void)
{
	for (uint32_t i = 0; i < UTIL_FAULT_RULES_MAX; i++) {
		atomic_store_explicit(&counts[i].seen, 0, memory_order_relaxed);
		atomic_store_explicit(&counts[i].done, 0, memory_order_relaxed);
	}
	atomic_store_explicit(&qp_cnt, 0, memory_order_relaxed);
	atomic_store_explicit(&began_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&port_down_ns, 0, memory_order_relaxed);
}

uint64_t rnic_fault_began_ns(void)
{
	return atomic_load_explicit(&began_ns, memory_order_relaxed);
}

uint32_t rnic_fault_rule_cnt(void)
{
	return spec.rule_cnt;
}

const struct util_fault_rule *rnic_fault_rule(uint32_t num)
{
	return &spec.rule[num];
}

static bool rule_is_timed(const struct util_fault_rule *rule)
{
	return fault_sites(rule) & RNIC_FAULT_AT_TIME;
}

bool rnic_fault_is_timed(uint32_t num)
{
	return ours & 1u << num && rule_is_timed(&spec.rule[num]);
}

uint32_t rnic_fault_qp_no(void)
{
	return 1 + atomic_fetch_add_explicit(&qp_cnt, 1, memory_order_relaxed);
}

/* ---- match --------------------------------------------------------------- */

static bool peer_is(const struct sockaddr_storage *peer, const uint8_t gid[16])
{
	uint8_t own[16];

	if (!peer || !rnic_addr_len(peer))
		return false;
	rnic_gid_from_ip(own, peer->ss_family, rnic_addr_octets(peer));
	return memcmp(own, gid, sizeof(own)) == 0;
}

/* Does the rule count the event? */
static bool rule_counts(const struct util_fault_rule *rule,
			const struct rnic_fault_event *event)
{
	uint32_t bit = 1u << rule->fault;

	if (!(event->faults & bit) || rule_is_timed(rule) ||
	    (bit & RNIC_FAULTS_OF_EITHER && rule->is_in != event->is_in))
		return false;
	if (rule->fault == UTIL_FAULT_CALL && rule->call != event->call)
		return false;
	if (rule->keys & UTIL_FAULT_QP && rule->qp != event->qp_no)
		return false;
	if (rule->keys & UTIL_FAULT_OPCODE && !(rule->opcodes & event->opcode))
		return false;
	if (rule->keys & UTIL_FAULT_AFTER && event->octets <= rule->after)
		return false;
	return !(rule->keys & UTIL_FAULT_PEER) ||
	       peer_is(event->peer, rule->peer);
}

/* SplitMix64: a number that depends on all bits of @n. */
static uint64_t mix(uint64_t n)
{
	n += UINT64_C(0x9e3779b97f4a7c15);
	n = (n ^ n >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	n = (n ^ n >> 27) * UINT64_C(0x94d049bb133111eb);
	return n ^ n >> 31;
}

/* Is the event with the number @nr one that fires the rule?  It does not matter
 * which events came before. */
static bool rule_fires(const struct util_fault_rule *rule, uint32_t num,
		       uint64_t nr)
{
	uint64_t first = rule->nth ? rule->nth : rule->every;

	if (rule->p)
		return (mix(mix(rule->seed + num) + nr) >> 32) < rule->p;
	return nr >= first && (!rule->every || (nr - first) % rule->every == 0);
}

/* Return: how often the rule has done it; UINT64_MAX: it may not once more. */
static uint64_t rule_take_time(const struct util_fault_rule *rule, uint32_t num)
{
	uint64_t done = atomic_fetch_add_explicit(&counts[num].done, 1,
						  memory_order_relaxed);

	if (!rule->times || done < rule->times)
		return done;
	atomic_fetch_sub_explicit(&counts[num].done, 1, memory_order_relaxed);
	return UINT64_MAX;
}

bool rnic_fault_match(const struct rnic_fault_event *event,
		      struct rnic_fault_hits *ret_hits)
{
	ret_hits->rules = 0;
	ret_hits->first = 0;
	for (uint32_t i = 0; i < spec.rule_cnt; i++) {
		const struct util_fault_rule *rule = &spec.rule[i];
		uint64_t nr, done;

		if (!(ours & 1u << i) || !rule_counts(rule, event))
			continue;
		nr = 1 + atomic_fetch_add_explicit(&counts[i].seen, 1,
						   memory_order_relaxed);
		if (!rule_fires(rule, i, nr))
			continue;
		done = rule_take_time(rule, i);
		if (done == UINT64_MAX)
			continue;
		ret_hits->rules |= 1u << i;
		ret_hits->first |= (uint32_t)!done << i;
		ret_hits->event[i] = nr;
	}
	return ret_hits->rules != 0;
}

void rnic_fault_unmatch(const struct rnic_fault_event *event,
			const struct rnic_fault_hits *hits)
{
	for (uint32_t i = 0; i < spec.rule_cnt; i++) {
		if (ours & 1u << i && rule_counts(&spec.rule[i], event))
			atomic_fetch_sub_explicit(&counts[i].seen, 1,
						  memory_order_relaxed);
		if (hits->rules & 1u << i)
			atomic_fetch_sub_explicit(&counts[i].done, 1,
						  memory_order_relaxed);
	}
}

const struct util_fault_rule *
rnic_fault_first(const struct rnic_fault_hits *hits, uint32_t faults)
{
	for (uint32_t i = 0; i < spec.rule_cnt; i++)
		if (hits->rules & 1u << i && faults & 1u << spec.rule[i].fault)
			return &spec.rule[i];
	return NULL;
}

/* ---- tell ---------------------------------------------------------------- */

#define PLACE_MAX (UTIL_ADDR_TEXT_LEN + 40)

/* ", qp 1 (0x00012a) to 192.0.2.1 port 4791" */
static const char *place_text(const struct rnic_fault_event *event,
			      char ret_text[PLACE_MAX])
{
	int len = 0;

	ret_text[0] = '\0';
	if (event->qp_no)
		len = snprintf(ret_text, PLACE_MAX, ", qp %u (0x%06x)",
			       event->qp_no, event->qp_num);
	if (event->peer && rnic_addr_len(event->peer))
		snprintf(ret_text + len, PLACE_MAX - (size_t)len, "%s%s",
			 len ? " to " : ", peer ", UTIL_ADDR_TEXT(event->peer));
	return ret_text;
}

void rnic_fault_tell(const struct rnic_fault_event *event,
		     const struct rnic_fault_hits *hits)
{
	char place[PLACE_MAX];

	place_text(event, place);
	for (uint32_t i = 0; i < spec.rule_cnt; i++) {
		bool is_first = hits->first & 1u << i;

		if (!(hits->rules & 1u << i))
			continue;
		rnic_stat_add(RNIC_STAT_faults_injected, 1);
		/* The first says that the rule works; more of them are for
		 * who asks. */
		util_log(is_first ? UTIL_LOG_WARN : UTIL_LOG_INFO, "rnic",
			 "fault: %.*s: event %llu%s", (int)spec.rule[i].len,
			 spec_text + spec.rule[i].text,
			 (unsigned long long)hits->event[i], place);
	}
}

void rnic_fault_tell_time(uint32_t num)
{
	atomic_fetch_add_explicit(&counts[num].seen, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&counts[num].done, 1, memory_order_relaxed);
	rnic_stat_add(RNIC_STAT_faults_injected, 1);
	util_warn("rnic", "fault: %.*s", (int)spec.rule[num].len,
		  spec_text + spec.rule[num].text);
}

void rnic_fault_end(void)
{
	/* A forked child that has used nothing has nothing to say. */
	if (!rnic_fault_is_on(RNIC_FAULT_ANYWHERE) || !rnic_fault_began_ns())
		return;
	for (uint32_t i = 0; i < spec.rule_cnt; i++)
		if (ours & 1u << i)
			util_warn(
				"rnic", "fault: %.*s: %llu in %llu events",
				(int)spec.rule[i].len,
				spec_text + spec.rule[i].text,
				(unsigned long long)atomic_load_explicit(
					&counts[i].done, memory_order_relaxed),
				(unsigned long long)atomic_load_explicit(
					&counts[i].seen, memory_order_relaxed));
}

/* ---- the port ------------------------------------------------------------ */

uint64_t rnic_fault_port_down_ns(void)
{
	return atomic_load_explicit(&port_down_ns, memory_order_relaxed);
}

void rnic_fault_set_port_down(uint64_t until_ns)
{
	atomic_store_explicit(&port_down_ns, until_ns, memory_order_relaxed);
}

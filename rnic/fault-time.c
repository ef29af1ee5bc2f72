/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See fault-time.h.  The loop's lock guards all of it.  Its thread does the
 * work; who opens a context does what is due at once. */
#include "fault-time.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cm/id.h"
#include "fault/rules.h"
#include "loop/loop.h"
#include "mem/context.h"
#include "port.h"
#include "qp/qp-table.h"
#include "stream/fault.h"
#include "stream/serve.h"
#include "util/clock.h"

static struct {
	struct rnic_timer timer; /* for the first of those that are to come */
	uint32_t done;		 /* rules, a bit for each */
} times;

/* ---- what comes ---------------------------------------------------------- */

static void source_silence(struct rnic_source *source, void *arg)
{
	const uint64_t *until_ns = arg;

	if (source->ops == &rnic_stream_ops)
		rnic_stream_fault_silence(rnic_stream_of(source), *until_ns);
}

static void ctx_silence(struct rnic_context *ctx, void *arg)
{
	rnic_engines_each(&ctx->engines, source_silence, arg);
}

/* All ports: nothing leaves or arrives meanwhile. */
static void port_down(const struct util_fault_rule *rule)
{
	uint64_t until_ns = util_now_ns() + rule->for_ns;

	if (until_ns < rnic_fault_port_down_ns())
		return;
	rnic_fault_set_port_down(until_ns);
	rnic_port_each(ctx_silence, &until_ns);
	rnic_ports_look();
}

static void port_up(void)
{
	rnic_fault_set_port_down(0);
	rnic_ports_look();
}

static void ctx_fatal(struct rnic_context *ctx, void *arg)
{
	(void)arg;
	rnic_context_fatal(ctx);
	rnic_engines_lead(&ctx->engines);
	rnic_qp_table_ctx_gone(ctx);
	rnic_engines_unlead(&ctx->engines);
	cm_ids_removed(ctx->dev);
}

static void rule_act(const struct util_fault_rule *rule)
{
	switch (rule->fault) {
	case UTIL_FAULT_PORT_DOWN:
		port_down(rule);
		break;
	case UTIL_FAULT_DEVICE_FATAL:
		rnic_port_each(ctx_fatal, NULL);
		break;
	case UTIL_FAULT_CM_ADDR_CHANGE:
		cm_ids_moved();
		break;
	default:
		kill(getpid(), (int)rule->signal);
	}
}

/* ---- when ---------------------------------------------------------------- */

/* Does what is due.  Return: when the next one is; 0: never. */
static uint64_t times_serve(uint64_t now_ns)
{
	uint64_t down_ns = rnic_fault_port_down_ns(), next_ns = 0;

	if (down_ns && down_ns <= now_ns)
		port_up();
	for (uint32_t i = 0; i < rnic_fault_rule_cnt(); i++) {
		const struct util_fault_rule *rule = rnic_fault_rule(i);
		uint64_t ns = rnic_fault_began_ns() + rule->at_ns;

		if (!rnic_fault_is_timed(i) || times.done & 1u << i)
			continue;
		if (ns > now_ns) {
			next_ns = util_earlier_ns(next_ns, ns);
			continue;
		}
		times.done |= 1u << i;
		rnic_fault_tell_time(i);
		rule_act(rule);
	}
	return util_earlier_ns(next_ns, rnic_fault_port_down_ns());
}

void rnic_fault_time_expire(struct rnic_timer *timer)
{
	uint64_t now_ns = util_now_ns(), next_ns = times_serve(now_ns);

	if (next_ns)
		rnic_timer_start(timer, RNIC_TIMER_FAULT, next_ns - now_ns);
}

void rnic_fault_time_start(void)
{
	if (!rnic_fault_is_on(RNIC_FAULT_AT_TIME))
		return;
	UTIL_LOCKED(&rnic_loop.lock);
	if (!rnic_timer_runs(&times.timer))
		rnic_fault_time_expire(&times.timer);
}

void rnic_fault_time_fork_child(void)
{
	memset(&times, 0, sizeof(times));
}

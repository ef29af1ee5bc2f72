/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fault-time.c: what comes at its time, and goes again. */
#include "test.h"

#include <errno.h>
#include <signal.h>

#include "child.h"
#include "dev/device.h"
#include "fault-time.h"
#include "fault/rules.h"
#include "loop/loop.h"
#include "rnicpair.h"

/* Contexts do not start the times: a case does when all is there. */
static bool is_held;

void __wrap_rnic_fault_time_start(void);
void __real_rnic_fault_time_start(void);

void __wrap_rnic_fault_time_start(void)
{
	if (!is_held)
		__real_rnic_fault_time_start();
}

/* The loop's thread reads them. */
static void read_rules(const char *rules)
{
	rnic_fault_start();
	UTIL_LOCKED(&rnic_loop.lock);
	rnic_fault_read(rules);
	rnic_fault_time_fork_child();
}

static void open_pair(struct rnicpair *p)
{
	const struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;

	is_held = true;
	rnicpair_open(p, &opt);
	is_held = false;
}

static void begin(struct rnicpair *p, const char *rules)
{
	read_rules(rules);
	open_pair(p);
	__real_rnic_fault_time_start();
}

static void end(struct rnicpair *p)
{
	rnicpair_close(p);
	read_rules("cq=overrun,process=another");
}

static uint32_t next_event(struct rnicpair_side *s)
{
	uint64_t element;

	wait_until(rnicpair_has_async(s));
	return rnicpair_async(s, &element);
}

static bool port_is_up(const struct rnicpair_side *s)
{
	struct rnic_device_attr attr;

	assert_int_equal(rnic_device_query(s->ctx->dev, &attr), 0);
	return attr.is_up;
}

static void post_send(struct rnicpair *p, uint64_t wr_id)
{
	rnicpair_post_echo(p, 0, 64 * wr_id);
}

/* Nothing that is posted meanwhile arrives before it is up again. */
CASE(a_port_is_down_for_a_time)
{
	struct rnicpair p;
	uint64_t began_ms;

	began_ms = until_ms();
	begin(&p, "port=down,at=100ms,for=200ms");
	for (int i = 0; i < 2; i++)
		assert_int_equal(next_event(&p.side[i]), USIW_EVENT_PORT_ERR);
	assert_true(until_ms() - began_ms >= 100);
	assert_false(port_is_up(&p.side[0]));
	post_send(&p, 1);
	(void)rnicpair_take(&p.side[1], p.side[1].rcq);
	assert_true(until_ms() - began_ms >= 300);
	for (int i = 0; i < 2; i++)
		assert_int_equal(next_event(&p.side[i]),
				 USIW_EVENT_PORT_ACTIVE);
	assert_true(port_is_up(&p.side[0]));
	end(&p);
}

/* Without at= it is so from the first context on; the longest time counts. */
CASE(times_of_a_port_overlap)
{
	const struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rnicpair p;
	uint64_t began_ms = until_ms();

	read_rules("port=down,for=300ms;port=down,at=50ms,for=100ms");
	rnicpair_open(&p, &opt);
	assert_int_equal(next_event(&p.side[0]), USIW_EVENT_PORT_ERR);
	assert_int_equal(next_event(&p.side[0]), USIW_EVENT_PORT_ACTIVE);
	assert_true(until_ms() - began_ms >= 300);
	assert_false(rnicpair_has_async(&p.side[0]));
	end(&p);
}

CASE(a_device_fails)
{
	struct rnicpair_side *s;
	struct rnicpair p;

	begin(&p, "device=fatal,at=100ms");
	for (int i = 0; i < 2; i++) {
		s = &p.side[i];
		/* The other one may end by the first one's end. */
		while (next_event(s) != USIW_EVENT_DEVICE_FATAL)
			;
		wait_until(rnic_qp_has_ended(s->qp));
	}
	end(&p);
}

CASE(identities_hear_that_addresses_move)
{
	struct sockaddr_in dst = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rnic_cm_chan *chan;
	struct rnic_cm_event ev;
	struct rnicpair p;
	uint32_t id, unknown, unbound;

	read_rules("cm=addr-change,at=100ms");
	assert_int_equal(rnic_cm_chan_new(&chan), 0);
	assert_int_equal(rnic_cm_create(chan, 7, &id), 0);
	assert_int_equal(rnic_cm_create(chan, 0, &unknown), 0);
	assert_int_equal(rnic_cm_create(chan, 8, &unbound), 0);
	assert_int_equal(rnic_cm_resolve_addr(chan, id, NULL,
					      (struct sockaddr *)&dst, 1),
			 0);
	assert_int_equal(rnic_cm_get_event(chan, &ev), 0);
	assert_int_equal(rnic_cm_resolve_addr(chan, unknown, NULL,
					      (struct sockaddr *)&dst, 1),
			 0);
	assert_int_equal(rnic_cm_get_event(chan, &ev), 0);
	open_pair(&p);
	__real_rnic_fault_time_start();
	assert_int_equal(rnic_cm_get_event(chan, &ev), 0);
	assert_int_equal(ev.type, RNIC_CM_ADDR_CHANGE);
	assert_int_equal(ev.status, 0);
	assert_int_equal(ev.id, id);
	rnic_cm_chan_close(chan);
	rnic_cm_chan_free(chan);
	end(&p);
}

static int is_killed(void)
{
	struct rnicpair p;

	begin(&p, "signal=KILL,at=50ms");
	pause();
	return 0;
}

CASE(the_process_is_killed)
{
	assert_int_equal(in_child(is_killed), -SIGKILL);
}

/* The times of another process. */
static int has_no_times(void)
{
	struct rnicpair p;

	begin(&p, "device=fatal,process=another");
	CHECK(rnic_timer_cnt(RNIC_TIMER_FAULT) == 0);
	return 0;
}

CASE(without_a_rule_no_timer_runs)
{
	assert_int_equal(in_child(has_no_times), 0);
}

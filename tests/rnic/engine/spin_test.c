/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* spin.c: when the completion thread looks for more, and what ends that. */
#define _GNU_SOURCE
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>

#include "engine/engine.h"
#include "engine/spin.h"
#include "engine/wake.h"
#include "mem/context.h"
#include "os/fd.h"
#include "rnicpair.h"
#include "siw-mpa.h"
#include "stream/object.h"

/* Long: only an event ends the spin of a test. */
#define SPIN_US "1000000"

/* ---- a machine that has an idle CPU, or none ---- */

static _Atomic bool has_idle;
static _Atomic uint32_t idle_until_cnt; /* it is busy after so many looks */

bool __wrap_rnic_cpus_have_idle(struct rnic_cpus *cpus, uint64_t now_ns);
bool __wrap_rnic_cpus_have_idle(struct rnic_cpus *cpus, uint64_t now_ns)
{
	uint32_t left = atomic_load(&idle_until_cnt);

	(void)cpus;
	(void)now_ns;
	if (!atomic_load(&has_idle))
		return false;
	if (left)
		atomic_store(&idle_until_cnt, left - 1);
	return left > 0;
}

static void set_idle(uint32_t looks)
{
	atomic_store(&idle_until_cnt, looks);
	atomic_store(&has_idle, looks > 0);
}

static int setup(void **state)
{
	set_idle(0);
	return 0;
}

/* ---- the completion thread of a QP that receives ---- */

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

static bool is_spinning(struct rnicpair *p, int side)
{
	return rnic_engine_is_spinning(p->side[side].ctx->engine);
}

static uint64_t fpdus_received(struct rnicpair *p)
{
	struct rnic_engine *engine = p->side[1].ctx->engine;

	return with_lead(
		engine,
		smpa_conn_counters(p->side[1].qp->stream->conn)->rx_fpdu);
}

/* Nobody polls: what side 1 receives is found by its completion thread. */
static void receive_octet(struct rnicpair *p)
{
	struct usiw_sge sge = rnicpair_sge(&p->side[0], 0, 1);
	uint64_t before = fpdus_received(p);

	/* Its program posts, too. */
	atomic_store(&p->side[1].ctx->engine->has_posted, true);
	rnicpair_post_wr(&p->side[0], .opcode = USIW_WR_WRITE, .sge = &sge,
			 .sge_cnt = 1, .rkey = p->side[1].stag,
			 .remote_addr = rnicpair_addr(&p->side[1], 0));
	wait_until(fpdus_received(p) > before);
}

/* Beside other load the thread loses its CPU, and spins the next time but one.
 */
static void spin_begin(struct rnicpair *p)
{
	set_idle(UINT32_MAX);
	do
		receive_octet(p);
	while (!is_spinning(p, 1));
}

static void open_unpolled(struct rnicpair *p)
{
	rnicpair_open(p, &defaults);
	for (int i = 0; i < 2; i++)
		rnic_engine_unpark(p->side[i].ctx->engine);
}

static void it_spins_while_a_cpu_is_idle(void **state)
{
	struct rnicpair p;

	open_unpolled(&p);
	receive_octet(&p);
	assert_false(is_spinning(&p, 1));
	spin_begin(&p);
	for (int i = 0; i < 20; i++)
		receive_octet(&p);
	set_idle(0);
	wait_until(!is_spinning(&p, 1));
	receive_octet(&p);
	assert_false(is_spinning(&p, 1));
	rnicpair_close(&p);
}

/* A thread that polls finds the next octets itself. */
static void a_poller_ends_it(void **state)
{
	struct rnicpair p;

	open_unpolled(&p);
	spin_begin(&p);
	while (is_spinning(&p, 1))
		rnic_cq_progress(p.side[1].scq);
	rnicpair_close(&p);
}

static void the_end_of_the_engine_ends_it(void **state)
{
	struct rnicpair p;

	open_unpolled(&p);
	spin_begin(&p);
	rnicpair_close(&p);
}

/* ---- alone ---- */

static void it_is_skipped_after_spins_in_vain(void **state)
{
	static const uint32_t skips[] = { 1, 3, 7, 15, 31, 63, 63 };
	struct rnicpair p;
	struct rnic_spin spin = { .has_cpus = false };
	struct rnic_engine *engine;
	struct epoll_event ev[ENGINE_EVENT_MAX];
	uint32_t skipped = 0;

	rnicpair_open_idle(&p, &defaults);
	engine = p.side[0].ctx->engine;
	for (size_t i = 0; i < ARRAY_LEN(skips); i++) {
		for (uint32_t k = 0; k <= skipped; k++) {
			set_idle(5);
			rnic_engine_lead(engine);
			rnic_engine_note_arrival(engine);
			rnic_spin_begin(&spin, engine);
			rnic_engine_unlead(engine);
			assert_int_equal(rnic_engine_is_spinning(engine),
					 k == skipped);
			assert_int_equal(rnic_spin(&spin, engine, ev), 0);
		}
		skipped = skips[i];
		assert_int_equal(spin.skip_cnt, skipped);
	}
	rnic_spin_fini(&spin);
	rnicpair_close(&p);
}

static void it_needs_an_arrival(void **state)
{
	struct rnicpair p;
	struct rnic_spin spin = { .has_cpus = false };
	struct rnic_engine *engine;

	rnicpair_open_idle(&p, &defaults);
	engine = p.side[0].ctx->engine;
	set_idle(UINT32_MAX);
	rnic_engine_lead(engine);
	rnic_spin_begin(&spin, engine); /* what came before */
	rnic_spin_begin(&spin, engine);
	assert_false(rnic_engine_is_spinning(engine));
	rnic_engine_note_arrival(engine);
	rnic_spin_begin(&spin, engine);
	assert_true(rnic_engine_is_spinning(engine));
	/* Nothing came since. */
	rnic_spin_begin(&spin, engine);
	assert_false(rnic_engine_is_spinning(engine));
	rnic_engine_unlead(engine);
	rnic_spin_fini(&spin);
	rnicpair_close(&p);
}

/* While no CPU is idle. */
static void a_program_that_posts_has_its_cpu(void **state)
{
	struct rnicpair p;
	struct rnic_spin spin = { .has_cpus = true };
	struct epoll_event ev[ENGINE_EVENT_MAX];
	struct rnic_engine *engine;

	rnicpair_open_idle(&p, &defaults);
	engine = p.side[0].ctx->engine;
	spin.cpus.fd = rnic_fd_own(open("/dev/null", O_RDONLY | O_CLOEXEC));
	for (int i = 0; i < 40; i++) {
		/* The 5th arrival comes behind a post. */
		if (i == 5)
			atomic_store(&engine->has_posted, true);
		rnic_engine_lead(engine);
		rnic_engine_note_arrival(engine);
		rnic_spin_begin(&spin, engine);
		rnic_engine_unlead(engine);
		assert_int_equal(rnic_engine_is_spinning(engine), i > 5 + 15);
		/* Shorter than it would be beside an idle CPU. */
		assert_int_equal(rnic_spin(&spin, engine, ev), 0);
		spin.skip_cnt = 0;
	}
	rnic_spin_fini(&spin);
	rnicpair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(it_spins_while_a_cpu_is_idle, setup),
		cmocka_unit_test_setup(a_poller_ends_it, setup),
		cmocka_unit_test_setup(the_end_of_the_engine_ends_it, setup),
		cmocka_unit_test_setup(it_is_skipped_after_spins_in_vain,
				       setup),
		cmocka_unit_test_setup(it_needs_an_arrival, setup),
		cmocka_unit_test_setup(a_program_that_posts_has_its_cpu, setup),
	};

	setenv("USIW_SPIN_US", SPIN_US, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

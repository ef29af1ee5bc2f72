/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* qp-table.c: numbers, references, and removal that waits for references. */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "qp/qp.h"
#include "qp/qp-table.h"
#include "rnicpair.h"

#define QP_CNT 5000

CASE(numbers_are_24_bits_and_differ)
{
	static struct rnic_qp *qp[QP_CNT];

	for (int i = 0; i < QP_CNT; i++) {
		qp[i] = calloc(1, sizeof(*qp[i]));
		assert_non_null(qp[i]);
		assert_int_equal(rnic_qp_table_add(qp[i]), 0);
		assert_in_range(qp[i]->num, 2, 0xffffff);
	}
	for (int i = 0; i < QP_CNT; i++) {
		/* A number found twice would return the other QP. */
		assert_ptr_equal(rnic_qp_get(qp[i]->num), qp[i]);
		rnic_qp_put(qp[i]);
	}
	for (int i = 0; i < QP_CNT; i++) {
		uint32_t num = qp[i]->num;

		rnic_qp_table_remove(qp[i]);
		assert_null(rnic_qp_get(num));
		free(qp[i]);
	}
	rnic_qp_put(NULL);
}

CASE(finds_no_qp_by_an_invalid_number)
{
	static const uint32_t nums[] = { 0,	   1,	      2,
					 0xffffff, 0x1000000, 0xffffffff };

	for (size_t i = 0; i < ARRAY_LEN(nums); i++)
		assert_null(rnic_qp_get(nums[i]));
}

static struct rnic_qp *shared;
static _Atomic bool is_removed;

static void *remover(void *arg)
{
	(void)arg;
	rnic_qp_table_remove(shared);
	atomic_store(&is_removed, true);
	return NULL;
}

CASE(removal_waits_for_the_last_reference)
{
	pthread_t thread;
	uint32_t num;

	shared = calloc(1, sizeof(*shared));
	assert_int_equal(rnic_qp_table_add(shared), 0);
	num = shared->num;
	assert_ptr_equal(rnic_qp_get(num), shared);
	assert_int_equal(pthread_create(&thread, NULL, remover, NULL), 0);
	/* At some point it can no longer be found, although it still exists. */
	for (;;) {
		struct rnic_qp *again = rnic_qp_get(num);

		if (!again)
			break;
		rnic_qp_put(again);
		sched_yield();
	}
	for (int i = 0; i < 100; i++)
		sched_yield();
	assert_false(atomic_load(&is_removed));
	rnic_qp_put(shared);
	pthread_join(thread, NULL);
	assert_true(atomic_load(&is_removed));
	free(shared);
}

/* ---- holders and creators at once ---- */

#define SLOT_CNT 8
static _Atomic uint32_t nums[SLOT_CNT];
static _Atomic bool is_over;

static void *holder(void *arg)
{
	unsigned i = 0;
	uintptr_t bad = 0;

	(void)arg;
	while (!atomic_load(&is_over)) {
		uint32_t num = atomic_load(&nums[i++ % SLOT_CNT]);
		struct rnic_qp *qp = rnic_qp_get(num);

		if (!qp)
			continue;
		/* Freed memory would contain 0xee by now. */
		bad += qp->num != num;
		rnic_qp_put(qp);
	}
	return (void *)bad;
}

CASE(pins_last_through_creation_and_removal)
{
	pthread_t thread[3];
	void *bad;

	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, holder, NULL),
				 0);
	for (int i = 0; i < 3000; i++) {
		struct rnic_qp *qp = calloc(1, sizeof(*qp));

		assert_int_equal(rnic_qp_table_add(qp), 0);
		atomic_store(&nums[i % SLOT_CNT], qp->num);
		sched_yield();
		rnic_qp_table_remove(qp);
		qp->num = 0xeeeeeeee;
		free(qp);
	}
	atomic_store(&is_over, true);
	for (int i = 0; i < 3; i++) {
		pthread_join(thread[i], &bad);
		assert_null(bad);
	}
}

/* A context that is closed with QPs in it removes their numbers: the manager
 * must not find a QP whose engine does not exist. */
CASE(forgets_the_qps_of_a_closed_context)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rnicpair p;
	uint32_t num;

	rnicpair_open_idle(&p, &opt);
	num = rnic_qp_num(p.side[0].qp);
	rnic_context_close(p.side[0].ctx);
	assert_null(rnic_qp_get(num));
	num = rnic_qp_num(p.side[1].qp);
	assert_ptr_equal(rnic_qp_get(num), p.side[1].qp);
	rnic_qp_put(p.side[1].qp);
	rnic_context_close(p.side[1].ctx);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* rnr.c: the RNR time, computed from what the peers have told each other. */
#include "rnr-fixture.h"
#include "qp/rnr.h"

#define US 1000ull

CASE(the_retry_time_is_what_the_peers_told)
{
	static const struct {
		const char *name;
		uint8_t min_rnr_timer, rnr_retry;
		uint64_t ns;
	} rows[] = {
		{ "655.36 ms, once", 0, 0, 655360 * US },
		{ "655.36 ms, seven times", 0, 6, 7 * 655360 * US },
		{ "10 us: not below the setting", 1, 6, 100 * NS_PER_MS },
		{ "122.88 ms, once", 27, 0, 122880 * US },
		{ "491.52 ms, twice", 31, 1, 2 * 491520 * US },
		{ "for ever", 12, 7, UINT64_MAX },
		{ "not told: for ever", 31, 0xff, UINT64_MAX },
	};
	struct rnicpair p;

	rnicpair_open_idle(&p, &(struct rnicpair_options)RNICPAIR_OPTIONS_INIT);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("%s\n", rows[i].name);
		rnic_rnr_set_time(p.side[0].qp, rows[i].min_rnr_timer,
				  rows[i].rnr_retry);
		assert_true(p.side[0].qp->rnr_ns == rows[i].ns);
	}
	/* A QP that is reset forgets its former peer. */
	assert_int_equal(rnic_qp_modify(p.side[0].qp, RNIC_QPS_ERROR), 0);
	assert_int_equal(rnic_qp_modify(p.side[0].qp, RNIC_QPS_IDLE), 0);
	assert_true(p.side[0].qp->rnr_ns == 100 * NS_PER_MS);
	rnicpair_close(&p);
}

CASE(with_a_manager_it_is_the_setting_or_for_ever)
{
	struct rnicpair p;
	struct rnic_qp *qp;

	rnicpair_open_idle(&p, &(struct rnicpair_options)RNICPAIR_OPTIONS_INIT);
	qp = p.side[0].qp;
	assert_true(qp->rnr_full_ns == UINT64_MAX);
	rnic_rnr_set_cm_time(qp, false);
	assert_true(qp->rnr_ns == 100 * NS_PER_MS);
	rnic_rnr_set_cm_time(qp, true);
	assert_true(qp->rnr_ns == UINT64_MAX);
	assert_true(qp->rnr_full_ns == 100 * NS_PER_MS);
	assert_int_equal(rnic_qp_modify(qp, RNIC_QPS_ERROR), 0);
	assert_int_equal(rnic_qp_modify(qp, RNIC_QPS_IDLE), 0);
	assert_true(qp->rnr_ns == 100 * NS_PER_MS);
	assert_true(qp->rnr_full_ns == UINT64_MAX);
	rnicpair_close(&p);
}

BEFORE_CASES()
{
	setenv("USIW_RNR_MS", "100", 1);
}

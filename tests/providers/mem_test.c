/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Protection domains and memory regions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "fake-rnic.h"

static char buf[4096];

static void region_carries_stag_and_iova(void **state)
{
	struct fake_world *w = *state;
	struct ibv_mr *mr;

	mr = ibv_reg_mr_iova2(w->pd, buf, sizeof(buf), 0x7000000000ull,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	assert_non_null(mr);
	assert_true(mr->addr == buf);
	assert_int_equal(mr->length, sizeof(buf));
	assert_int_equal(mr->lkey, 0x123456ab);
	assert_int_equal(mr->rkey, 0x123456ab);
	assert_true(fake.iova == 0x7000000000ull);
	assert_int_equal(fake.mr_access,
			 RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_READ);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr_iova2(w->pd, buf, sizeof(buf), (uintptr_t)buf,
			      IBV_ACCESS_ZERO_BASED);
	assert_non_null(mr);
	assert_true(fake.iova == 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void access_is_judged(void **state)
{
	static const struct {
		unsigned int access;
		int err;
	} rows[] = {
		{ 0, 0 },
		{ IBV_ACCESS_LOCAL_WRITE, 0 },
		{ IBV_ACCESS_REMOTE_READ, 0 },
		{ IBV_ACCESS_REMOTE_WRITE, EINVAL },
		{ IBV_ACCESS_REMOTE_ATOMIC, EINVAL },
		{ IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE, 0 },
		{ IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE, 0 },
		{ IBV_ACCESS_MW_BIND, 0 },
		{ IBV_ACCESS_RELAXED_ORDERING, 0 },
		{ IBV_ACCESS_ON_DEMAND, EOPNOTSUPP },
		{ IBV_ACCESS_HUGETLB, EINVAL },
		{ 1u << 15, EINVAL },
		{ 1u << 31, EINVAL },
	};
	struct fake_world *w = *state;
	struct ibv_mr *mr;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		errno = 0;
		mr = usiw_reg_mr(w->pd, buf, sizeof(buf), (uintptr_t)buf,
				 (int)rows[i].access);
		if (rows[i].err) {
			assert_null(mr);
			assert_int_equal(errno, rows[i].err);
			continue;
		}
		assert_non_null(mr);
		assert_int_equal(ibv_dereg_mr(mr), 0);
	}
}

static void length_above_the_limit_is_einval(void **state)
{
	struct fake_world *w = *state;

	assert_null(ibv_reg_mr(w->pd, buf, fake.limits.max_mr_size + 1, 0));
	assert_int_equal(errno, EINVAL);
}

static void memory_errors_pass_the_door(void **state)
{
	struct fake_world *w = *state;
	struct ibv_mr *mr = ibv_reg_mr(w->pd, buf, sizeof(buf), 0);
	struct ibv_pd *pd = ibv_alloc_pd(w->context);

	fake.fail_name = "rnic_mr_reg";
	fake.fail_err = -EFAULT;
	assert_null(ibv_reg_mr(w->pd, buf, sizeof(buf), 0));
	assert_int_equal(errno, EFAULT);
	fake.fail_name = "rnic_mr_dereg";
	fake.fail_err = -EBUSY;
	assert_int_equal(ibv_dereg_mr(mr), EBUSY);
	fake.fail_name = "rnic_pd_alloc";
	fake.fail_err = -ENOMEM;
	assert_null(ibv_alloc_pd(w->context));
	assert_int_equal(errno, ENOMEM);
	fake.fail_name = "rnic_pd_free";
	fake.fail_err = -EBUSY;
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	/* refused, so both still stand */
	fake.fail_name = NULL;
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(region_carries_stag_and_iova,
						fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(access_is_judged, fake_setup,
						fake_teardown),
		cmocka_unit_test_setup_teardown(
			length_above_the_limit_is_einval, fake_setup,
			fake_teardown),
		cmocka_unit_test_setup_teardown(memory_errors_pass_the_door,
						fake_setup, fake_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

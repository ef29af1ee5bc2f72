/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Protection domains and memory regions. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "fake-rnic.h"

static char buf[4096];

FAKE_CASE(region_carries_stag_and_iova)
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

FAKE_CASE(access_is_checked)
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
		{ IBV_ACCESS_ON_DEMAND, 0 },
		{ IBV_ACCESS_HUGETLB, 0 },
		{ IBV_ACCESS_HUGETLB | IBV_ACCESS_RELAXED_ORDERING, 0 },
		{ IBV_ACCESS_OPTIONAL_RANGE, 0 },
		{ IBV_ACCESS_HUGETLB | IBV_ACCESS_ON_DEMAND, 0 },
		{ IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ON_DEMAND, EINVAL },
		/* IBV_ACCESS_FLUSH_GLOBAL, IBV_ACCESS_FLUSH_PERSISTENT */
		{ 1u << 8, EOPNOTSUPP },
		{ 1u << 9, EOPNOTSUPP },
		{ 3u << 8 | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		  EOPNOTSUPP },
		{ 1u << 8 | IBV_ACCESS_REMOTE_WRITE, EINVAL },
		{ 1u << 8 | 1u << 10, EINVAL },
		{ 1u << 10, EINVAL },
		{ 1u << 15, EINVAL },
		{ 1u << 31, EINVAL },
	};
	struct fake_world *w = *state;
	struct ibv_mr *mr;
	size_t i;

	for (i = 0; i < ARRAY_LEN(rows); i++) {
		errno = 0;
		mr = usiw_reg_mr(w->pd, buf, sizeof(buf), (uintptr_t)buf,
				 (int)rows[i].access);
		if (rows[i].err) {
			assert_null(mr);
			assert_int_equal(errno, rows[i].err);
			continue;
		}
		assert_non_null(mr);
		/* optional flags are not passed to the RNIC */
		assert_int_equal(fake.mr_access, rows[i].access & 0x7f);
		assert_int_equal(ibv_dereg_mr(mr), 0);
	}
}

static struct verbs_mr *vmr_of(struct ibv_mr *mr)
{
	return (struct verbs_mr *)mr;
}

FAKE_CASE(rereg_reports_the_new_keys)
{
	struct fake_world *w = *state;
	struct ibv_pd *pd = ibv_alloc_pd(w->context);
	struct ibv_mr *mr = ibv_reg_mr(w->pd, buf, 64, 0);

	assert_non_null(pd);
	assert_non_null(mr);
	fake.mr_key = 1;
	assert_int_equal(ibv_rereg_mr(mr,
				      IBV_REREG_MR_CHANGE_TRANSLATION |
					      IBV_REREG_MR_CHANGE_PD |
					      IBV_REREG_MR_CHANGE_ACCESS,
				      pd, buf + 64, 128,
				      IBV_ACCESS_LOCAL_WRITE |
					      IBV_ACCESS_RELAXED_ORDERING),
			 0);
	assert_int_equal(fake.change.what, RNIC_MR_CHANGE_ALL);
	assert_ptr_equal(fake.change.pd, usiw_pd(pd)->rnic);
	assert_ptr_equal(fake.change.addr, buf + 64);
	assert_int_equal(fake.change.len, 128);
	assert_int_equal(fake.change.access, RNIC_ACCESS_LOCAL_WRITE);
	assert_int_equal(mr->lkey, 0x123456ac);
	assert_int_equal(mr->rkey, 0x123456ac);
	assert_ptr_equal(mr->pd, pd);
	assert_ptr_equal(mr->addr, buf + 64);
	assert_int_equal(mr->length, 128);
	/* only the domain changes: the other arguments are ignored */
	assert_int_equal(
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, w->pd, NULL, 0, 0), 0);
	assert_int_equal(fake.change.what, RNIC_MR_CHANGE_PD);
	assert_ptr_equal(mr->pd, w->pd);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

/* Bypasses the library, which has its own codes for errors that it detects. */
FAKE_CASE(rereg_refuses_and_changes_nothing)
{
	static const struct {
		const char *name;
		int fail_err, flags, access, err;
		int pd; /* 0: none, 1: same context, 2: another */
	} rows[] = {
		{ "no domain", 0, 2, 0, EINVAL, 0 },
		{ "foreign domain", 0, 2, 0, EINVAL, 2 },
		{ "remote write alone", 0, 4, 2, EINVAL, 1 },
		{ "unknown right", 0, 4, 1 << 15, EINVAL, 1 },
		{ "not mapped", -EFAULT, 1, 0, EFAULT, 1 },
		{ "windows", -EBUSY, 7, 1, EBUSY, 1 },
	};
	struct fake_world *w = *state;
	struct ibv_context *other = fake_open();
	struct ibv_pd *foreign = ibv_alloc_pd(other);
	struct ibv_pd *pds[] = { NULL, w->pd, foreign };
	struct ibv_mr *mr = ibv_reg_mr(w->pd, buf, 64, 0);
	size_t i;

	assert_non_null(mr);
	fake.mr_key = 1;
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		fake.fail_name = rows[i].fail_err ? "rnic_mr_rereg" : NULL;
		fake.fail_err = rows[i].fail_err;
		errno = 0;
		if (usiw_rereg_mr(vmr_of(mr), rows[i].flags, pds[rows[i].pd],
				  buf, 128,
				  rows[i].access) != IBV_REREG_MR_ERR_INPUT ||
		    errno != rows[i].err)
			fail_msg("%s: errno %d", rows[i].name, errno);
		assert_int_equal(mr->lkey, 0x123456ab);
		assert_ptr_equal(mr->pd, w->pd);
		assert_int_equal(vmr_of(mr)->access, 0);
	}
	fake.fail_name = NULL;
	assert_int_equal(ibv_rereg_mr(mr, 8, w->pd, buf, 1, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(ibv_rereg_mr(mr, 1, w->pd, NULL, 1, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(ibv_rereg_mr(mr, 4, w->pd, NULL, 1, 2),
			 IBV_REREG_MR_ERR_CMD);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(foreign), 0);
	fake_close(other);
}

FAKE_CASE(null_region_is_for_local_use)
{
	struct fake_world *w = *state;
	struct ibv_mr *mr = ibv_alloc_null_mr(w->pd);

	assert_non_null(mr);
	assert_int_equal(mr->lkey, 0x77);
	assert_ptr_equal(mr->pd, w->pd);
	assert_int_equal(
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, w->pd, NULL, 0, 0),
		IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	fake.fail_name = "rnic_mr_alloc_null";
	fake.fail_err = -ENOMEM;
	assert_null(ibv_alloc_null_mr(w->pd));
	assert_int_equal(errno, ENOMEM);
}

FAKE_CASE(the_whole_address_space_is_one_region)
{
	struct fake_world *w = *state;
	struct ibv_mr *mr =
		ibv_reg_mr(w->pd, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND);

	assert_non_null(mr);
	assert_int_equal(fake.iova, 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

FAKE_CASE(advice_is_passed_on)
{
	static const struct {
		const char *name;
		uint32_t flags, cnt;
		int fail_err, err;
	} rows[] = {
		{ "flush", IBV_ADVISE_MR_FLAG_FLUSH, 2, 0, 0 },
		{ "no flag", 0, 2, 0, 0 },
		{ "unknown flag", 2, 2, 0, EINVAL },
		{ "nothing", 0, 0, 0, EINVAL },
		{ "no such key", 0, 2, -EFAULT, EFAULT },
		{ "other domain", 0, 2, -EPERM, EPERM },
		{ "not on demand", 0, 2, -ENOENT, ENOENT },
		{ "unknown advice", 0, 2, -EOPNOTSUPP, EOPNOTSUPP },
		{ "no memory", 0, 2, -ENOMEM, ENOMEM },
	};
	struct fake_world *w = *state;
	struct ibv_sge sge[2] = { { .addr = 1000, .length = 5, .lkey = 7 },
				  { .addr = 2000, .length = 6, .lkey = 8 } };
	int err;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		fake.advice_cnt = 0;
		fake.fail_name = rows[i].fail_err ? "rnic_mr_advise" : NULL;
		fake.fail_err = rows[i].fail_err;
		err = ibv_advise_mr(w->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				    rows[i].flags, sge, rows[i].cnt);
		if (err != rows[i].err)
			fail_msg("%s: %d", rows[i].name, err);
		if (err)
			continue;
		assert_int_equal(fake.advice_cnt, 2);
		assert_int_equal(fake.advice, RNIC_ADVICE_PREFETCH_WRITE);
		assert_int_equal(fake.advice_sge.lkey, 8);
		assert_int_equal(fake.advice_sge.addr, 2000);
		assert_int_equal(fake.advice_sge.len, 6);
	}
	fake.fail_name = NULL;
}

FAKE_CASE(memory_errors_become_results)
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
	/* refused, so both still exist */
	fake.fail_name = NULL;
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

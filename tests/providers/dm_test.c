/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Device memory. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "fake-rnic.h"

FAKE_CASE(memory_is_asked_of_the_rnic)
{
	struct ibv_alloc_dm_attr attr = { .length = 64, .log_align_req = 3 };
	struct ibv_device_attr_ex ex;
	struct fake_world *w = *state;
	uint32_t alive = fake.open_cnt;
	char out[8] = "octets!", in[8] = "";
	struct ibv_dm *dm;
	struct ibv_mr *mr;

	assert_int_equal(ibv_query_device_ex(w->context, NULL, &ex), 0);
	assert_int_equal(ex.max_dm_size, 256);
	dm = ibv_alloc_dm(w->context, &attr);
	assert_non_null(dm);
	assert_ptr_equal(dm->context, w->context);
	assert_int_equal(fake.dm_len, 64);
	assert_int_equal(fake.dm_log_align, 3);
	assert_int_equal(ibv_memcpy_to_dm(dm, 16, out, 8), 0);
	assert_memory_equal(fake.dm + 16, out, 8);
	assert_int_equal(ibv_memcpy_from_dm(in, dm, 16, 8), 0);
	assert_memory_equal(in, out, 8);
	mr = ibv_reg_dm_mr(w->pd, dm, 8, 32,
			   IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_null(mr->addr);
	assert_int_equal(mr->length, 32);
	assert_int_equal(mr->lkey, 0x88);
	assert_int_equal(fake.dm_off, 8);
	assert_int_equal(fake.dm_len, 32);
	assert_int_equal(fake.mr_access,
			 RNIC_ACCESS_ZERO_BASED | RNIC_ACCESS_LOCAL_WRITE);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
	assert_int_equal(fake.open_cnt, alive);
}

FAKE_CASE(refusals_become_results)
{
	struct ibv_alloc_dm_attr attr = { .length = 64, .comp_mask = 1 };
	const unsigned int zero = IBV_ACCESS_ZERO_BASED;
	struct fake_world *w = *state;
	struct ibv_context *other = fake_open();
	struct ibv_pd *foreign = ibv_alloc_pd(other);
	struct ibv_dm *dm;
	char octets[8];

	assert_null(ibv_alloc_dm(w->context, &attr));
	assert_int_equal(errno, EINVAL);
	attr.comp_mask = 0;
	dm = ibv_alloc_dm(w->context, &attr);
	assert_non_null(dm);
	assert_null(ibv_reg_dm_mr(foreign, dm, 0, 4, zero));
	assert_int_equal(errno, EINVAL);
	assert_null(
		ibv_reg_dm_mr(w->pd, dm, 0, 4, zero | IBV_ACCESS_REMOTE_WRITE));
	assert_int_equal(errno, EINVAL);
	assert_null(
		ibv_reg_dm_mr(w->pd, dm, 0, 4, zero | IBV_ACCESS_ON_DEMAND));
	assert_int_equal(errno, EOPNOTSUPP);
	fake.fail_name = "rnic_dm_alloc";
	fake.fail_err = -ENOMEM;
	assert_null(ibv_alloc_dm(w->context, &attr));
	assert_int_equal(errno, ENOMEM);
	fake.fail_name = "rnic_dm_reg";
	fake.fail_err = -EINVAL;
	assert_null(ibv_reg_dm_mr(w->pd, dm, 0, 400, zero));
	assert_int_equal(errno, EINVAL);
	fake.fail_name = "rnic_dm_write";
	fake.fail_err = -EFAULT;
	assert_int_equal(ibv_memcpy_to_dm(dm, 400, octets, 8), EFAULT);
	fake.fail_name = "rnic_dm_read";
	assert_int_equal(ibv_memcpy_from_dm(octets, dm, 400, 8), EFAULT);
	fake.fail_name = "rnic_dm_free";
	fake.fail_err = -EBUSY;
	assert_int_equal(ibv_free_dm(dm), EBUSY);
	fake.fail_name = NULL;
	assert_int_equal(ibv_free_dm(dm), 0);
	assert_int_equal(ibv_dealloc_pd(foreign), 0);
	fake_close(other);
}

FAKE_CASE(a_child_has_memory_of_its_own)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	struct fake_world *w = *state;
	struct ibv_dm *dm = ibv_alloc_dm(w->context, &attr), *own;

	assert_non_null(dm);
	fake.fork_gen++;
	fake.can_renew = true;
	own = ibv_alloc_dm(w->context, &attr);
	assert_non_null(own);
	assert_int_equal(ibv_free_dm(own), 0);
	assert_null(ibv_reg_dm_mr(w->pd, dm, 0, 4, IBV_ACCESS_ZERO_BASED));
	assert_int_equal(errno, ENODEV);
	fake.can_renew = false;
	fake.fork_gen--;
	assert_int_equal(ibv_free_dm(dm), 0);
}

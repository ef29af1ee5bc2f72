/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Address handles, and the entries of Sends that have one. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "fake-rnic.h"
#include "providers/usiw/sqe.h"

static const uint8_t gid4[16] = { [10] = 0xff, 0xff, 10, 7, 0, 1 };
static const uint8_t peer4[16] = { [10] = 0xff, 0xff, 10, 7, 0, 2 };
static const uint8_t gid6[16] = { 0xfd, 7, [15] = 1 };
static const uint8_t peer6[16] = { 0xfd, 7, [15] = 2 };

static void gids_set(struct fake_world *w)
{
	usiw_context(w->context)->is_ca = true;
	fake.device.gid_cnt = 3;
	memcpy(fake.device.gid[0], gid4, 16);
	memset(fake.device.gid[1], 0, 16);
	memcpy(fake.device.gid[2], gid6, 16);
}

static struct ibv_ah_attr ah_attr(uint8_t sgid, const uint8_t dgid[16])
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .sgid_index = sgid,
			 .hop_limit = 9,
			 .traffic_class = 0x68,
			 .flow_label = 0x12345 },
	};

	memcpy(attr.grh.dgid.raw, dgid, 16);
	return attr;
}

FAKE_CASE(a_handle_is_checked)
{
	struct fake_world *w = *state;
	static const uint8_t zero[16];
	struct {
		struct ibv_ah_attr attr;
		int err;
	} rows[] = {
		{ ah_attr(0, peer4), 0 },      { ah_attr(2, peer6), 0 },
		{ ah_attr(0, peer6), EINVAL }, { ah_attr(2, peer4), EINVAL },
		{ ah_attr(1, peer4), EINVAL }, { ah_attr(3, peer4), EINVAL },
		{ ah_attr(0, zero), EINVAL },  { ah_attr(0, peer4), EINVAL },
		{ ah_attr(0, peer4), EINVAL }, { ah_attr(0, peer4), 0 },
	};

	gids_set(w);
	rows[7].attr.port_num = 2;
	rows[8].attr.is_global = 0; /* and no LID */
	rows[9].attr.grh.flow_label = 0xffffffff;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct ibv_ah *ah = ibv_create_ah(w->pd, &rows[i].attr);

		assert_int_equal(ah ? 0 : errno, rows[i].err);
		if (ah)
			assert_int_equal(ibv_destroy_ah(ah), 0);
	}
}

/* An interface that has lost its addresses. */
FAKE_CASE(a_device_without_gids_has_no_handles)
{
	struct ibv_ah_attr attr = ah_attr(0, peer4);
	struct fake_world *w = *state;

	gids_set(w);
	fake.device.gid_cnt = 0;
	errno = 0;
	assert_null(ibv_create_ah(w->pd, &attr));
	assert_int_equal(errno, EINVAL);
}

FAKE_CASE(a_handle_keeps_its_domain)
{
	struct fake_world *w = *state;
	struct ibv_ah_attr attr = ah_attr(0, peer4);
	struct ibv_pd *pd = ibv_alloc_pd(w->context);
	struct ibv_ah *ah;

	gids_set(w);
	assert_non_null(pd);
	ah = ibv_create_ah(pd, &attr);
	assert_non_null(ah);
	assert_int_equal(usiw_pd(pd)->user_cnt, 1);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

FAKE_CASE(a_lid_is_an_address_of_the_same_network)
{
	struct fake_world *w = *state;
	struct ibv_ah_attr attr = { .dlid = 5 << 8 | 6, .port_num = 1 };
	static const uint8_t expected[16] = { [10] = 0xff, 0xff, 10, 7, 5, 6 };
	struct ibv_ah *ah;

	gids_set(w);
	ah = ibv_create_ah(w->pd, &attr);
	assert_non_null(ah);
	assert_memory_equal(usiw_ah(ah)->sgid, gid4, 16);
	assert_memory_equal(usiw_ah(ah)->dgid, expected, 16);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

FAKE_CASE(an_entry_has_the_whole_destination)
{
	struct fake_world *w = *state;
	struct ibv_ah_attr attr = ah_attr(0, peer4);
	struct usiw_sqe slot = { .imm_be = 77 };
	struct usiw_ud_sqe sqe;
	struct ibv_ah *ah;

	gids_set(w);
	fake.ud.is_own = true;
	ah = ibv_create_ah(w->pd, &attr);
	assert_non_null(ah);
	assert_int_equal(
		usiw_sqe_set_ud(w->qp, ah, 0xabcdef, 0x80010000, &slot), 0);
	memcpy(&sqe, &slot, sizeof(sqe));
	assert_int_equal(sqe.qkey, 0x80010000);
	assert_int_equal(sqe.dest, 0x68abcdef);
	assert_int_equal(sqe.label,
			 0x12345 | 9 << USIW_AV_HOP_SHIFT | USIW_AV_OWN);
	assert_int_equal(sqe.imm_be, 77);
	assert_memory_equal(sqe.sgid, gid4, 16);
	assert_memory_equal(sqe.dgid, peer4, 16);
	assert_int_equal(usiw_sqe_set_ud(w->qp, ah, 0x1000000, 0, &slot),
			 -EINVAL);
	assert_int_equal(usiw_sqe_set_ud(w->qp, NULL, 1, 0, &slot), -EINVAL);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The device's attributes are those of the RNIC. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "fake-rnic.h"

FAKE_CASE(device_attributes_are_the_limits)
{
	struct fake_world *w = *state;
	struct ibv_device_attr a;

	memset(&a, 0xff, sizeof(a));
	assert_int_equal(ibv_query_device(w->context, &a), 0);
	assert_true(strlen(a.fw_ver) > 0);
	assert_true(a.node_guid == fake.device.guid_be);
	assert_true(a.sys_image_guid == fake.device.guid_be);
	assert_true(a.max_mr_size == fake.limits.max_mr_size);
	assert_true(a.page_size_cap >= 4096);
	assert_int_equal(a.vendor_id, 0x626d74);
	assert_int_equal(a.vendor_part_id, 7);
	assert_int_equal(a.hw_ver, 3);
	assert_int_equal(a.max_qp, 1000);
	assert_int_equal(a.max_qp_wr, 64);
	assert_int_equal(a.max_sge, 8);
	assert_int_equal(a.max_sge_rd, 2);
	assert_int_equal(a.max_cq, 1001);
	assert_int_equal(a.max_cqe, 128);
	assert_int_equal(a.max_mr, 1002);
	assert_int_equal(a.max_pd, 1003);
	assert_int_equal(a.max_qp_rd_atom, 16);
	assert_int_equal(a.max_qp_init_rd_atom, 32);
	assert_int_equal(a.max_res_rd_atom, 16 * 1000);
	assert_int_equal(a.max_srq, 1004);
	assert_int_equal(a.max_srq_wr, 32);
	assert_int_equal(a.max_srq_sge, 4);
	assert_int_equal(a.phys_port_cnt, 1);
	assert_int_equal(a.atomic_cap, IBV_ATOMIC_GLOB);
	assert_int_equal(a.max_mw, 1005);
	assert_int_equal(a.max_ah, 0);
	assert_int_equal(a.max_mcast_grp, 0);
	assert_int_equal(a.max_mcast_qp_attach, 0);
	assert_int_equal(a.max_total_mcast_qp_attach, 0);
	assert_true(a.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS);
	assert_true(a.device_cap_flags & IBV_DEVICE_MEM_WINDOW);
	assert_true(a.device_cap_flags & IBV_DEVICE_SRQ_RESIZE);
}

/* Programs for InfiniBand expect HCA, although it promises less. */
FAKE_CASE(atomics_and_datagrams_are_told_as_the_persona_has_them)
{
	struct fake_world *w = *state;
	struct ibv_device_attr_ex ex;
	struct ibv_context *context;
	struct ibv_device_attr a;

	assert_int_equal(ibv_query_device(w->context, &a), 0);
	assert_int_equal(a.atomic_cap, IBV_ATOMIC_GLOB);
	fake.device.persona = RNIC_PERSONA_CA;
	context = fake_open();
	assert_int_equal(ibv_query_device(context, &a), 0);
	assert_int_equal(a.atomic_cap, IBV_ATOMIC_HCA);
	assert_int_equal(usiw_query_device_ex(context, NULL, &ex, sizeof(ex)),
			 0);
	assert_int_equal(ex.orig_attr.atomic_cap, IBV_ATOMIC_HCA);
	assert_true(ex.odp_caps.per_transport_caps.rc_odp_caps &
		    IBV_ODP_SUPPORT_ATOMIC);
	assert_int_equal(ex.odp_caps.per_transport_caps.ud_odp_caps,
			 IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
				 IBV_ODP_SUPPORT_SRQ_RECV);
	fake_close(context);
}

/* Programs that were built with other headers pass other sizes. */
FAKE_CASE(structure_size_is_respected)
{
	struct fake_world *w = *state;
	struct {
		struct ibv_device_attr_ex ex;
		uint8_t later[64];
	} a;
	const size_t base = sizeof(a.ex.orig_attr);
	size_t size, i;

	for (size = base; size <= sizeof(a); size++) {
		memset(&a, 0xaa, sizeof(a));
		assert_int_equal(
			usiw_query_device_ex(w->context, NULL, &a.ex, size), 0);
		assert_int_equal(a.ex.orig_attr.max_qp, 1000);
		for (i = size; i < sizeof(a); i++)
			assert_int_equal(((uint8_t *)&a)[i], 0xaa);
		for (i = sizeof(a.ex); i < size; i++)
			assert_int_equal(((uint8_t *)&a)[i], 0);
	}
	assert_int_equal(a.ex.phys_port_cnt_ex, 1);
	assert_int_equal(a.ex.odp_caps.general_caps,
			 IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT);
	assert_int_equal(a.ex.odp_caps.per_transport_caps.rc_odp_caps &
				 ~(unsigned int)IBV_ODP_SUPPORT_ATOMIC,
			 IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
				 IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
				 IBV_ODP_SUPPORT_SRQ_RECV);
	assert_int_equal(a.ex.odp_caps.per_transport_caps.uc_odp_caps,
			 IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
				 IBV_ODP_SUPPORT_WRITE |
				 IBV_ODP_SUPPORT_SRQ_RECV);
	/* atomics on demand wherever atomics are supported */
	assert_int_equal(!(a.ex.odp_caps.per_transport_caps.rc_odp_caps &
			   IBV_ODP_SUPPORT_ATOMIC),
			 a.ex.orig_attr.atomic_cap == IBV_ATOMIC_NONE);
	assert_int_equal(a.ex.odp_caps.per_transport_caps.ud_odp_caps, 0);
	assert_int_equal(a.ex.xrc_odp_caps, 0);
	assert_true(a.ex.completion_timestamp_mask == UINT64_MAX);
	assert_int_equal(a.ex.hca_core_clock, 1000000); /* kHz: ns */
	assert_int_equal(a.ex.cq_mod_caps.max_cq_count, 0);
	assert_int_equal(
		usiw_query_device_ex(w->context, NULL, &a.ex, base - 1),
		EINVAL);
}

FAKE_CASE(unknown_input_is_einval)
{
	struct fake_world *w = *state;
	struct ibv_query_device_ex_input input = { .comp_mask = 1 };
	struct ibv_device_attr_ex ex;

	assert_int_equal(
		usiw_query_device_ex(w->context, &input, &ex, sizeof(ex)),
		EINVAL);
}

FAKE_CASE(raw_clock_is_the_rnic_s)
{
	struct fake_world *w = *state;
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK |
						     IBV_VALUES_MASK_RESERVED };

	fake.clock_ns = 3000000007;
	assert_int_equal(ibv_query_rt_values_ex(w->context, &values), 0);
	assert_int_equal(values.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	assert_true((uint64_t)values.raw_clock.tv_sec * 1000000000u +
			    (uint64_t)values.raw_clock.tv_nsec ==
		    fake.clock_ns);
	/* Fields that are not requested stay unchanged. */
	values = (struct ibv_values_ex){ .raw_clock.tv_sec = 5 };
	assert_int_equal(ibv_query_rt_values_ex(w->context, &values), 0);
	assert_int_equal(values.comp_mask, 0);
	assert_int_equal(values.raw_clock.tv_sec, 5);
}

FAKE_CASE(port_follows_the_interface)
{
	static const struct {
		uint32_t octets;
		enum ibv_mtu mtu;
	} rows[] = {
		{ 68, IBV_MTU_256 },	{ 511, IBV_MTU_256 },
		{ 512, IBV_MTU_512 },	{ 1024, IBV_MTU_1024 },
		{ 1500, IBV_MTU_1024 }, { 2048, IBV_MTU_2048 },
		{ 4095, IBV_MTU_2048 }, { 4096, IBV_MTU_4096 },
		{ 9000, IBV_MTU_4096 }, { 65536, IBV_MTU_4096 },
	};
	struct fake_world *w = *state;
	struct ibv_port_attr p;
	size_t i;

	for (i = 0; i < ARRAY_LEN(rows); i++) {
		fake.device.mtu = rows[i].octets;
		assert_int_equal(usiw_query_port(w->context, 1, &p), 0);
		assert_int_equal(p.active_mtu, rows[i].mtu);
		assert_true(p.max_mtu >= p.active_mtu);
	}
	assert_int_equal(p.state, IBV_PORT_ACTIVE);
	assert_int_equal(p.phys_state, 5);
	assert_int_equal(p.gid_tbl_len, RNIC_GID_MAX);
	assert_int_equal(p.pkey_tbl_len, 1);
	assert_int_equal(p.lid, 0);
	assert_int_equal(p.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(p.max_msg_sz, 1u << 30);
	assert_int_equal(p.active_speed, 1);
	assert_int_equal(p.active_width, 1);
	fake.device.is_up = false;
	assert_int_equal(usiw_query_port(w->context, 1, &p), 0);
	assert_int_equal(p.state, IBV_PORT_DOWN);
	assert_int_equal(p.phys_state, 3);
}

FAKE_CASE(other_ports_are_einval)
{
	struct fake_world *w = *state;
	struct ibv_port_attr p;
	unsigned int port;

	for (port = 0; port < 256; port++)
		if (port != 1)
			assert_int_equal(
				usiw_query_port(w->context, (uint8_t)port, &p),
				EINVAL);
}

/* In units of 100 Mbit/s. lo has no speed, so its port attributes apply. */
FAKE_CASE(port_speed_is_the_interface_s)
{
	struct fake_world *w = *state;
	uint64_t speed = 7;

	assert_int_equal(usiw_query_port_speed(w->context, 0, &speed), EINVAL);
	assert_int_equal(usiw_query_port_speed(w->context, 2, &speed), EINVAL);
	assert_int_equal(usiw_query_port_speed(w->context, 257, &speed),
			 EINVAL);
	fake.fail_name = "rnic_device_query";
	fake.fail_err = -ENODEV;
	assert_int_equal(usiw_query_port_speed(w->context, 1, &speed), ENODEV);
	assert_true(speed == 7);
	fake.fail_name = NULL;
	assert_int_equal(usiw_query_port_speed(w->context, 1, &speed), 0);
	assert_true(speed == 25);
}

FAKE_CASE(query_errors_become_results)
{
	struct fake_world *w = *state;
	struct ibv_device_attr a;
	struct ibv_port_attr p;

	fake.fail_name = "rnic_device_query";
	fake.fail_err = -ENODEV;
	assert_int_equal(ibv_query_device(w->context, &a), ENODEV);
	assert_int_equal(usiw_query_port(w->context, 1, &p), ENODEV);
}

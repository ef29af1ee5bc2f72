/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attributes of the device and its port, as the RNIC returns them. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/cancel.h"
#include "objects.h"
#include "result.h"

int usiw_device_query(const struct usiw_context *ctx, const char *call,
		      struct rnic_device_attr *ret_attr)
{
	int err = rnic_device_query(ctx->dev, ret_attr);

	return err ? usiw_refuse(-err, call,
				 "the interfaces cannot be listed by rtnetlink")
		   : 0;
}

#define DEVICE "ibv_query_device_ex"
#define PORT "ibv_query_port"
#define SPEED "ibv_query_port_speed"

/* enum of IBTA "PortPhysicalState" that verbs.h does not name. */
enum phys_state { PHYS_DISABLED = 3, PHYS_LINK_UP = 5 };

/* Values of ibv_port_attr.active_width and active_speed (IBTA PortInfo). */
enum link_width { WIDTH_1X = 1, WIDTH_4X = 2 };
enum link_speed {
	SPEED_SDR = 1,
	SPEED_QDR = 4,
	SPEED_FDR10 = 8,
	SPEED_EDR = 32,
	SPEED_HDR = 64,
	SPEED_NDR = 128,
};

/* Completions are stamped in ns, by a counter of 64 bits. */
#define CLOCK_KHZ 1000000u

/*
 * MEM_MGT_EXTENSIONS: Sends that invalidate, and local invalidation.  Of what
 * the flag says, registration by a work request is for kernels only.  SPDK asks
 * for it before it invalidates.
 */
#define DEVICE_CAPS                                                            \
	(IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_SYS_IMAGE_GUID |            \
	 IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_WINDOW |                       \
	 IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS)

/* Number of reads that all QPs together may have to answer. */
static int reads_total(const struct rnic_limits *limits)
{
	int total;

	if (__builtin_mul_overflow(limits->max_ird, limits->max_qp, &total))
		return INT_MAX;
	return total;
}

/*
 * usiw uses the CPU's atomic operations, which are atomic for every context,
 * process and device.  Programs for InfiniBand (UCX) look for HCA, which
 * promises less and which InfiniBand's adapters return.
 */
static enum ibv_atomic_cap atomic_cap(const struct usiw_context *ctx)
{
	return ctx->is_ca ? IBV_ATOMIC_HCA : IBV_ATOMIC_GLOB;
}

static void device_attr_fill(const struct usiw_context *ctx,
			     const struct rnic_device_attr *dev,
			     struct ibv_device_attr *ret_attr)
{
	const struct rnic_limits *limits = rnic_limits();

	*ret_attr = (struct ibv_device_attr){
		.fw_ver = USIW_VERSION,
		.node_guid = dev->guid_be,
		.sys_image_guid = dev->guid_be,
		.max_mr_size = limits->max_mr_size,
		.page_size_cap = (uint64_t)sysconf(_SC_PAGESIZE),
		.vendor_id = limits->vendor_id,
		.vendor_part_id = limits->vendor_part_id,
		.hw_ver = limits->hw_ver,
		.max_qp = (int)limits->max_qp,
		.max_qp_wr = (int)limits->max_qp_wr,
		.device_cap_flags = DEVICE_CAPS,
		.max_sge = (int)limits->max_sge,
		.max_sge_rd = (int)limits->max_sge_rd,
		.max_cq = (int)limits->max_cq,
		.max_cqe = (int)limits->max_cqe,
		.max_mr = (int)limits->max_mr,
		.max_mw = (int)limits->max_mw,
		.max_pd = (int)limits->max_pd,
		/* outstanding at this side, and at the peer */
		.max_qp_rd_atom = (int)limits->max_ird,
		.max_qp_init_rd_atom = (int)limits->max_ord,
		.max_res_rd_atom = reads_total(limits),
		.atomic_cap = atomic_cap(ctx),
		.max_srq = (int)limits->max_srq,
		.max_srq_wr = (int)limits->max_srq_wr,
		.max_srq_sge = (int)limits->max_srq_sge,
		.max_ah = ctx->is_ca ? INT_MAX : 0,
		.max_mcast_grp = ctx->is_ca ? RNIC_GROUP_MAX : 0,
		.max_mcast_qp_attach = ctx->is_ca ? RNIC_GROUP_QP_MAX : 0,
		.max_total_mcast_qp_attach =
			ctx->is_ca ? RNIC_GROUP_MAX * RNIC_GROUP_QP_MAX : 0,
		.max_pkeys = 1,
		.phys_port_cnt = 1,
	};
}

/* Faults are handled for every operation, including atomics if supported. */
static void odp_caps_fill(struct ibv_device_attr_ex *ex, bool is_ca)
{
	uint32_t rc = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
		      IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
		      IBV_ODP_SUPPORT_SRQ_RECV;

	if (ex->orig_attr.atomic_cap != IBV_ATOMIC_NONE)
		rc |= IBV_ODP_SUPPORT_ATOMIC;
	ex->odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
	ex->odp_caps.per_transport_caps.rc_odp_caps = rc;
	ex->odp_caps.per_transport_caps.uc_odp_caps =
		rc & ~(uint32_t)(IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC);
	if (is_ca)
		ex->odp_caps.per_transport_caps.ud_odp_caps =
			IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
			IBV_ODP_SUPPORT_SRQ_RECV;
}

/* It works in a forked child, too, because it uses nothing of the parent. */
int usiw_query_device_ex(struct ibv_context *context,
			 const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct usiw_context *ctx = usiw_context(context);
	struct ibv_device_attr_ex ex = {
		.completion_timestamp_mask = UINT64_MAX,
		.hca_core_clock = CLOCK_KHZ,
		.phys_port_cnt_ex = 1,
	};
	struct rnic_device_attr dev;
	int err;

	if ((input && input->comp_mask) || attr_size < sizeof(ex.orig_attr))
		return usiw_result_int(usiw_refuse(
			EINVAL, DEVICE,
			"input->comp_mask is 0x%x, not 0, or there is room for "
			"%zu octets, not %zu",
			input ? input->comp_mask : 0, attr_size,
			sizeof(ex.orig_attr)));
	err = usiw_device_query(ctx, DEVICE, &dev);
	if (err)
		return usiw_result_int(err);
	device_attr_fill(ctx, &dev, &ex.orig_attr);
	ex.device_cap_flags_ex = ex.orig_attr.device_cap_flags;
	odp_caps_fill(&ex, ctx->is_ca);
	ex.max_dm_size = rnic_limits()->max_dm_size;
	/* The structure of an older program is shorter, of a newer one
	 * longer. */
	if (attr_size > sizeof(ex))
		memset((uint8_t *)attr + sizeof(ex), 0, attr_size - sizeof(ex));
	memcpy(attr, &ex, attr_size < sizeof(ex) ? attr_size : sizeof(ex));
	return 0;
}

/*
 * The clock of completion timestamps.  If tv_nsec has enough bits it holds the
 * whole time, because some programs read nothing else.  Programs that add
 * tv_sec get the same value.
 */
static struct timespec clock_to_verbs(uint64_t ns)
{
	if (sizeof(((struct timespec *)NULL)->tv_nsec) >= sizeof(ns))
		return (struct timespec){ .tv_nsec = (long)ns };
	return util_timespec(ns);
}

/* Unknown values that are asked for are removed from comp_mask, as the man page
 * says. */
int usiw_query_rt_values(struct ibv_context *context,
			 struct ibv_values_ex *values)
{
	(void)context;
	values->comp_mask &= IBV_VALUES_MASK_RAW_CLOCK;
	if (values->comp_mask)
		values->raw_clock = clock_to_verbs(rnic_raw_clock_ns());
	return 0;
}

/* @mtu: of a datagram. */
static enum ibv_mtu mtu_to_verbs(uint32_t mtu)
{
	if (mtu >= 4096)
		return IBV_MTU_4096;
	if (mtu >= 2048)
		return IBV_MTU_2048;
	if (mtu >= 1024)
		return IBV_MTU_1024;
	if (mtu >= 512)
		return IBV_MTU_512;
	return IBV_MTU_256;
}

/* Link speeds in Mbit/s that verbs can express, in falling order. */
static const struct {
	long mbps;
	uint8_t speed, width;
} link_rates[] = {
	{ 400000, SPEED_NDR, WIDTH_4X }, { 200000, SPEED_HDR, WIDTH_4X },
	{ 100000, SPEED_EDR, WIDTH_4X }, { 40000, SPEED_FDR10, WIDTH_4X },
	{ 25000, SPEED_EDR, WIDTH_1X },	 { 10000, SPEED_FDR10, WIDTH_1X },
};

/* The speed of the interface; 0: unknown (lo). */
static long port_mbps(const char *ifname)
{
	UTIL_CANCEL_OFF();
	char path[64];
	long mbps = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/net/%s/speed", ifname);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%ld", &mbps) != 1 || mbps < 0)
		mbps = 0;
	fclose(file);
	return mbps;
}

/*
 * The highest rate that is not above the interface's.  An interface without
 * speed gets the lowest rate, as from the kernel.
 */
static void port_rate_fill(const char *ifname, struct ibv_port_attr *attr)
{
	long mbps = port_mbps(ifname);
	size_t i;

	attr->active_speed = SPEED_SDR;
	attr->active_width = WIDTH_1X;
	for (i = 0; i < sizeof(link_rates) / sizeof(link_rates[0]); i++) {
		if (mbps >= link_rates[i].mbps) {
			attr->active_speed = link_rates[i].speed;
			attr->active_width = link_rates[i].width;
			return;
		}
	}
}

/* The rate in the port attributes if the speed is unknown. */
#define SDR_MBPS 2500

/* In units of 100 Mbit/s, which are finer than a rate. */
int usiw_query_port_speed(struct ibv_context *context, uint32_t port_num,
			  uint64_t *speed)
{
	struct usiw_context *ctx = usiw_context(context);
	struct rnic_device_attr dev;
	long mbps;
	int err = usiw_check_range(SPEED, "port_num", port_num, USIW_PORT,
				   USIW_PORT);

	if (!err)
		err = usiw_device_query(ctx, SPEED, &dev);
	if (err)
		return usiw_result_int(err);
	mbps = port_mbps(dev.ifname);
	if (!mbps)
		mbps = SDR_MBPS;
	*speed = mbps < 100 ? 1 : (uint64_t)mbps / 100;
	return 0;
}

int usiw_query_port(struct ibv_context *context, uint8_t port_num,
		    struct ibv_port_attr *attr)
{
	struct usiw_context *ctx = usiw_context(context);
	struct rnic_device_attr dev;
	uint32_t gid_idx;
	int err = usiw_check_range(PORT, "port_num", port_num, USIW_PORT,
				   USIW_PORT);

	if (!err)
		err = usiw_device_query(ctx, PORT, &dev);
	if (err)
		return usiw_result_int(err);
	*attr = (struct ibv_port_attr){
		.state = dev.is_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = mtu_to_verbs(rnic_device_ud_mtu(&dev)),
		/* The size of the table, not its use, because programs store it
		 * while addresses are added and removed. */
		.gid_tbl_len = RNIC_GID_MAX,
		.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS,
		.max_msg_sz = rnic_limits()->max_msg_size,
		.pkey_tbl_len = 1,
		.lid = rnic_device_lid(&dev, &gid_idx),
		.max_vl_num = 1,
		.phys_state = dev.is_up ? PHYS_LINK_UP : PHYS_DISABLED,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
	};
	port_rate_fill(dev.ifname, attr);
	return 0;
}

/* Programs of rdma_cm ask for it without knowing. */
int usiw_query_ece(struct ibv_qp *ibqp, struct ibv_ece *ece)
{
	(void)ibqp;
	(void)ece;
	return usiw_result_int(usiw_refuse(
		EOPNOTSUPP, "ibv_query_ece",
		"usiw does not have it; librdmacm asks before it connects a "
		"QP"));
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Multicast groups on the loopback interface: who gets what, and who not any
 * more.
 */
#define _GNU_SOURCE
#include "ud-fixture.h"

#include <arpa/inet.h>
#include <net/if.h>

#include "dgram/group.h"
#include "os/tcp.h"
#include "until.h"

/* The loopback interface takes no groups of IPv6: apps-datagram has these. */
static const struct {
	const char *name;
	uint8_t sgid[16], mgid[16];
} nets[] = {
	{ "IPv4",
	  { [10] = 0xff, 0xff, 127, 0, 0, 1 },
	  { [10] = 0xff, 0xff, 239, 1, 1, 1 } },
	{ "IPv6", { [15] = 1 }, { 0xff, 0x0e, [14] = 0x12, 0x34 } },
	{ "IPv6, of the link", { [15] = 1 }, { 0xff, 0x02, [15] = 0x77 } },
};

static struct usiw_ud_sqe to_group(size_t net)
{
	struct usiw_ud_sqe to = { .qkey = UD_QKEY,
				  .dest = SIB_QPN_MULTICAST,
				  .label = 8u << USIW_AV_HOP_SHIFT };

	memcpy(to.sgid, nets[net].sgid, 16);
	memcpy(to.dgid, nets[net].mgid, 16);
	return to;
}

static uint32_t member_cnt(size_t net)
{
	uint32_t num[RNIC_GROUP_QP_MAX];
	struct sib_gid mgid;

	memcpy(mgid.raw, nets[net].mgid, 16);
	return rnic_group_members(&mgid, if_nametoindex("lo"), num);
}

static void take_recv(const char *name, struct rnicpair *p, int side)
{
	struct usiw_cqe cqe = rnicpair_take(&p->side[side], p->side[side].rcq);

	assert_row(name, cqe.status == USIW_WC_SUCCESS);
	assert_row(name, cqe.byte_len == SIB_GRH_SIZE + 10);
	assert_row(name, cqe.src_qp == rnic_qp_num(p->side[0].qp));
}

static void send_to(struct rnicpair *p, size_t net)
{
	struct usiw_ud_sqe to = to_group(net);

	ud_send(&p->side[0], &to, 1, 10);
	(void)rnicpair_take(&p->side[0], p->side[0].scq);
}

static void each_gets_one(struct rnicpair *p, size_t net)
{
	send_to(p, net);
	take_recv(nets[net].name, p, 0); /* the sender, too */
	take_recv(nets[net].name, p, 1);
	assert_true(rnicpair_is_quiet(p, p->side[0].rcq));
	assert_true(rnicpair_is_quiet(p, p->side[1].rcq));
	assert_memory_equal(p->side[1].buf + 100 + SIB_GRH_SIZE, p->side[0].buf,
			    10);
}

/* Both sides are of one process, with an engine each. */
CASE(each_qp_of_the_group_gets_one)
{
	for (size_t i = 0; i < ARRAY_LEN(nets); i++) {
		struct rnicpair p;

		ud_open(&p, &defaults);
		for (int side = 0; side < 2; side++) {
			assert_int_equal(
				rnic_qp_attach(p.side[side].qp, nets[i].mgid),
				0);
			assert_true(rnic_qp_is_attached(p.side[side].qp));
			ud_recv(&p.side[side], 1, 100, 100);
			ud_recv(&p.side[side], 2, 200, 100);
		}
		assert_int_equal(member_cnt(i), 2);
		if (nets[i].mgid[0] != 0xff)
			each_gets_one(&p, i);
		rnicpair_close(&p);
		assert_int_equal(member_cnt(i), 0);
	}
}

static int (*real_setsockopt)(int fd, int level, int name, const void *val,
			      socklen_t len);
static uint32_t looked_cnt;

/* While the kernel works, a leader looks for members. */
static int setsockopt_slow(int fd, int level, int name, const void *val,
			   socklen_t len)
{
	if (name == IP_ADD_MEMBERSHIP || name == IP_DROP_MEMBERSHIP) {
		(void)member_cnt(0);
		looked_cnt++;
	}
	return real_setsockopt(fd, level, name, val, len);
}

CASE(members_are_found_while_the_socket_joins)
{
	struct rnic_tcp_ops ops = *rnic_tcp();
	struct rnicpair p;

	real_setsockopt = ops.setsockopt;
	ops.setsockopt = setsockopt_slow;
	ud_open(&p, &defaults);
	rnic_tcp_replace(&ops);
	looked_cnt = 0;
	assert_int_equal(rnic_qp_attach(p.side[1].qp, nets[0].mgid), 0);
	assert_int_equal(rnic_qp_detach(p.side[1].qp, nets[0].mgid), 0);
	rnic_tcp_replace(NULL);
	assert_int_equal(looked_cnt, 2);
	rnicpair_close(&p);
}

CASE(who_is_not_attached_gets_nothing)
{
	struct rnicpair p;
	uint64_t lost;

	ud_open(&p, &defaults);
	assert_int_equal(rnic_qp_attach(p.side[1].qp, nets[0].mgid), 0);
	/* To attach twice is the same as once. */
	assert_int_equal(rnic_qp_attach(p.side[1].qp, nets[0].mgid), 0);
	assert_int_equal(member_cnt(0), 1);
	ud_recv(&p.side[0], 1, 100, 100);
	ud_recv(&p.side[1], 1, 100, 100);
	ud_recv(&p.side[1], 2, 100, 100);
	send_to(&p, 0);
	take_recv("attached", &p, 1);
	assert_true(rnicpair_is_quiet(&p, p.side[0].rcq));
	assert_int_equal(rnic_qp_detach(p.side[1].qp, nets[0].mgid), 0);
	assert_int_equal(rnic_qp_detach(p.side[1].qp, nets[0].mgid), -EINVAL);
	assert_false(rnic_qp_is_attached(p.side[1].qp));
	/* The socket has left the group: nothing comes that would be lost. */
	lost = test_stat(RNIC_STAT_ud_lost);
	send_to(&p, 0);
	assert_true(rnicpair_is_quiet(&p, p.side[1].rcq));
	assert_int_equal(test_stat(RNIC_STAT_ud_lost), lost);
	rnicpair_close(&p);
}

CASE(the_key_decides)
{
	struct usiw_ud_sqe to = to_group(0);
	uint64_t bad = test_stat(RNIC_STAT_ud_bad_qkey);
	struct rnicpair p;

	ud_open(&p, &defaults);
	assert_int_equal(rnic_qp_attach(p.side[1].qp, nets[0].mgid), 0);
	ud_recv(&p.side[1], 1, 100, 100);
	to.qkey++;
	ud_send(&p.side[0], &to, 1, 10);
	wait_until(test_stat(RNIC_STAT_ud_bad_qkey) == bad + 1);
	assert_true(rnicpair_is_quiet(&p, p.side[1].rcq));
	rnicpair_close(&p);
}

/* A group's address and the number of one QP: each process would hand it on. */
CASE(a_group_is_not_one_qp)
{
	uint64_t lost = test_stat(RNIC_STAT_ud_lost);
	struct usiw_ud_sqe to = to_group(0);
	struct rnicpair p;

	ud_open(&p, &defaults);
	assert_int_equal(rnic_qp_attach(p.side[1].qp, nets[0].mgid), 0);
	ud_recv(&p.side[1], 1, 100, 100);
	to.dest = rnic_qp_num(p.side[1].qp);
	ud_send(&p.side[0], &to, 1, 10);
	wait_until(test_stat(RNIC_STAT_ud_lost) == lost + 1);
	to = ud_to(p.side[1].qp);
	to.label = 0;
	to.dest = SIB_QPN_MULTICAST;
	ud_send(&p.side[0], &to, 2, 10);
	wait_until(test_stat(RNIC_STAT_ud_lost) == lost + 2);
	assert_true(rnicpair_is_quiet(&p, p.side[1].rcq));
	rnicpair_close(&p);
}

CASE(wrong_calls_are_refused)
{
	static const uint8_t unicast[16] = { [10] = 0xff, 0xff, 10, 0, 0, 1 };
	struct rnicpair p;

	ud_open(&p, &defaults);
	assert_int_equal(rnic_qp_attach(p.side[0].qp, unicast), -EINVAL);
	assert_int_equal(rnic_qp_detach(p.side[0].qp, unicast), -EINVAL);
	rnicpair_close(&p);
	rnicpair_open_idle(&p, &defaults);
	assert_int_equal(rnic_qp_attach(p.side[0].qp, nets[0].mgid), -EINVAL);
	rnicpair_close(&p);
}

/* The limit of the socket (net.ipv4.igmp_max_memberships). */
CASE(too_many_groups_are_refused)
{
	uint8_t mgid[16];
	struct rnicpair p;
	int rc = 0, cnt = 0;

	memcpy(mgid, nets[0].mgid, sizeof(mgid));
	ud_open(&p, &defaults);
	while (cnt < 256 && rc == 0) {
		mgid[15] = (uint8_t)cnt;
		rc = rnic_qp_attach(p.side[0].qp, mgid);
		if (rc == 0)
			cnt++;
	}
	assert_int_equal(rc, -ENOMEM);
	assert_true(cnt >= RNIC_GROUP_MAX);
	mgid[15] = 0;
	assert_int_equal(rnic_qp_detach(p.side[0].qp, mgid), 0);
	assert_int_equal(rnic_qp_attach(p.side[0].qp, mgid), 0);
	rnicpair_close(&p);
}

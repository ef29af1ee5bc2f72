/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Two UD QPs of two contexts on usiw_lo; octets of the buffer are numbered. */
#ifndef UD_FIXTURE_H
#define UD_FIXTURE_H

#include "test.h"

#include <string.h>

#include "../netns-fixture.h"
#include "dgram/host.h"
#include "dgram/rnic-ud.h"
#include "os/stat.h"
#include "rnicpair.h"
#include "stats.h"

#define UD_QKEY 0x11223344u

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

/* In a namespace of its own, where the port is not shared with other tests. */
BEFORE_CASES()
{
	(void)argc;
	(void)argv;
	must(netns_enter());
	netns_lo_set_up(true);
}

static inline void ud_open(struct rnicpair *p,
			   const struct rnicpair_options *opt)
{
	struct rnicpair_options ud = *opt;

	ud.type = RNIC_QPT_UD;
	rnicpair_open_idle(p, &ud);
	for (int i = 0; i < 2; i++)
		must(!rnic_qp_ud_start(
			p->side[i].qp,
			&(struct rnic_ud_options){ .qkey = UD_QKEY }));
}

/* The destination of a QP of this host. */
static inline struct usiw_ud_sqe ud_to(const struct rnic_qp *qp)
{
	struct usiw_ud_sqe to = { .qkey = UD_QKEY,
				  .dest = rnic_qp_num(qp),
				  .label = USIW_AV_OWN };
	const uint8_t lo[4] = { 127, 0, 0, 1 };

	rnic_gid_from_ip(to.sgid, AF_INET, lo);
	rnic_gid_from_ip(to.dgid, AF_INET, lo);
	return to;
}

/* @len octets of the side's buffer, from its start. */
static inline void ud_send(struct rnicpair_side *s,
			   const struct usiw_ud_sqe *to, uint64_t wr_id,
			   uint32_t len)
{
	struct usiw_sge sge = rnicpair_sge(s, 0, len);

	rnicpair_post_wr(s, .wr_id = wr_id, .opcode = USIW_WR_SEND,
			 .flags = USIW_SQE_SIGNALED, .sge = &sge,
			 .sge_cnt = len ? 1 : 0, .to = to);
}

/* A receive of @len octets at @off. */
static inline void ud_recv(struct rnicpair_side *s, uint64_t wr_id, size_t off,
			   size_t len)
{
	struct usiw_sge sge = rnicpair_sge(s, off, len);

	must(!rnicpair_post_recv(s, wr_id, &sge, 1));
}

#endif

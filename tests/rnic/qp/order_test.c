/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The order in which one stream's operations see each other (U-10). */
#include "test.h"

#include <string.h>

#include "rnicpair.h"

#define LEN 70000u

/* RDMAP-40: a Read after a Write to the same place returns what was written,
 * without a fence. With or without CRC, that is, placed by copying or
 * directly. */
CASE(a_read_sees_the_write_before_it)
{
	for (uint32_t round = 0; round < 40; round++) {
		struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
		struct rnicpair_side *a, *b;
		struct usiw_sge from, to;
		struct usiw_cqe cqe;
		struct rnicpair p;

		opt.has_crc = round & 1;
		rnicpair_open(&p, &opt);
		a = &p.side[0];
		b = &p.side[1];
		rnicpair_fill(a->buf, LEN, round + 1);
		from = rnicpair_sge(a, 0, LEN);
		to = rnicpair_sge(a, 1 << 20, LEN);
		rnicpair_post_wr(a, .wr_id = 1, .opcode = USIW_WR_WRITE,
				 .sge = &from, .sge_cnt = 1, .rkey = b->stag,
				 .remote_addr = rnicpair_addr(b, 0));
		rnicpair_post_wr(a, .wr_id = 2, .opcode = USIW_WR_READ,
				 .flags = USIW_SQE_SIGNALED, .sge = &to,
				 .sge_cnt = 1, .rkey = b->stag,
				 .remote_addr = rnicpair_addr(b, 0));
		cqe = rnicpair_take(a, a->scq);
		assert_int_equal(cqe.wr_id, 2);
		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
		assert_true(
			rnicpair_is_filled(a->buf + (1 << 20), LEN, round + 1));
		rnicpair_close(&p);
	}
}

/* If an application writes to a buffer while a peer READs it, the content is
 * undefined, but the stream must not break: the octets that were hashed are the
 * octets sent. The test itself is a race, so it does not run under
 * ThreadSanitizer. */
#ifndef __SANITIZE_THREAD__
CASE(a_source_that_changes_breaks_no_stream)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rnicpair_side *a, *b;
	struct rnicpair p;

	opt.sockbuf = 16384;
	rnicpair_open(&p, &opt);
	a = &p.side[0];
	b = &p.side[1];
	for (uint32_t round = 0; round < 60; round++) {
		struct usiw_sge to = rnicpair_sge(a, 0, 400000);
		struct usiw_cqe cqe;

		rnicpair_post_wr(a, .wr_id = round, .opcode = USIW_WR_READ,
				 .flags = USIW_SQE_SIGNALED, .sge = &to,
				 .sge_cnt = 1, .rkey = b->stag,
				 .remote_addr = rnicpair_addr(b, 0));
		while (!rnicpair_poll(a, a->scq, &cqe))
			memset(b->buf, (int)round++, 400000);
		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	}
	rnicpair_close(&p);
}
#endif

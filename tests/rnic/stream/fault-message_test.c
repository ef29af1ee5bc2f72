/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fault-message.c: messages that are changed, spoiled, or forged, and which of
 * them count. */
#include "test.h"

#include <string.h>

#include "fault-fixture.h"
#include "stats.h"
#include "stream/fault-message.h"

CASE(a_crc_is_wrong)
{
	struct rnicpair p;
	uint64_t bad;

	begin(&p, "message=bad-crc,nth=2,qp=1");
	bad = test_stat(RNIC_STAT_rx_crc_bad);
	post_send(&p, 1);
	expect_arrival(&p, 1);
	post_send(&p, 2);
	rnicpair_wait_state(&p.side[1], RNIC_QPS_TERMINATE);
	rnicpair_wait_state(&p.side[0], RNIC_QPS_TERMINATE);
	wait_until(test_stat(RNIC_STAT_rx_crc_bad) == bad + 1);
	end(&p);
}

/* The TERMINATE about a wrong CRC does not arrive: the connection has just
 * ended. */
CASE(a_terminate_is_lost)
{
	struct rnicpair p;

	begin(&p, "message=bad-crc,nth=1,qp=1;terminate=lost,qp=1");
	post_send(&p, 1);
	rnicpair_wait_state(&p.side[1], RNIC_QPS_TERMINATE);
	rnicpair_wait_state(&p.side[0], RNIC_QPS_ERROR);
	end(&p);
}

CASE(a_terminate_is_forged)
{
	struct rnicpair_side *s;
	struct rnicpair p;

	begin(&p, "terminate=forged,code=0x0102,nth=2,opcode=response,qp=1");
	s = &p.side[0];
	for (uint64_t i = 1; i <= 3; i++)
		rnicpair_post_read(&p, 0, i, LEN);
	expect(s, s->scq, 1, USIW_WC_SUCCESS);
	expect(s, s->scq, 2, USIW_WC_REM_ACCESS_ERR);
	expect(s, s->scq, 3, USIW_WC_WR_FLUSH_ERR);
	assert_int_equal(rnic_qp_state(s->qp), RNIC_QPS_TERMINATE);
	rnicpair_wait_state(&p.side[1], RNIC_QPS_ERROR);
	end(&p);
}

/* One octet of the payload, the first; CRC and length are right. */
CASE(a_payload_is_changed)
{
	static const uint32_t lens[][3] = {
		{ 1, 0, 0 },   { 2, 0, 0 },    { 0, 100, 7 },
		{ 5, 0, 900 }, { 1, 5000, 3 }, { 100000, 0, 1 },
	};
	struct rnicpair p;

	for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
		struct usiw_sge sge[3];
		uint32_t len = 0;

		begin(&p, "message=changed,nth=2,opcode=write,qp=1");
		rnicpair_fill(p.side[0].buf, 200000, 1);
		for (int n = 0; n < 3; n++) {
			sge[n] = rnicpair_sge(&p.side[0], len, lens[i][n]);
			len += lens[i][n];
		}
		for (uint64_t n = 0; n < 3; n++)
			rnicpair_post_wr(&p.side[0], .wr_id = n,
					 .opcode = USIW_WR_WRITE, .sge = sge,
					 .sge_cnt = 3, .rkey = p.side[1].stag,
					 .remote_addr = rnicpair_addr(
						 &p.side[1], n * 200000));
		post_send(&p, 200);
		expect(&p.side[1], p.side[1].rcq, 200, USIW_WC_SUCCESS);
		for (uint64_t n = 0; n < 3; n++) {
			uint8_t *at = p.side[1].buf + n * 200000;

			if (n == 1)
				at[0] ^= 0xff;
			assert_true(rnicpair_is_filled(at, len, 1));
		}
		end(&p);
	}
}

CASE(inline_data_is_changed)
{
	struct rnicpair p;
	struct usiw_sge to;

	begin(&p, "message=changed,qp=1");
	to = rnicpair_sge(&p.side[1], 0, 10);
	p.side[1].buf[4] = 'x';
	assert_int_equal(rnicpair_post_recv(&p.side[1], 1, &to, 1), 0);
	rnicpair_post_wr(&p.side[0], .opcode = USIW_WR_SEND,
			 .flags = USIW_SQE_INLINE, .inline_data = "abcd",
			 .inline_len = 4);
	expect(&p.side[1], p.side[1].rcq, 1, USIW_WC_SUCCESS);
	assert_int_equal(p.side[1].buf[0], 'a' ^ 0xff);
	assert_memory_equal(p.side[1].buf + 1, "bcdx", 4);
	end(&p);
}

/* Octets of all messages before count, and so do those of the message. */
CASE(counts_octets_and_opcodes)
{
	struct rnicpair p;

	begin(&p, "stream=reset,after=9999,opcode=send,qp=1");
	post_send(&p, 1);
	expect_arrival(&p, 1);
	rnicpair_post_read(&p, 0, 9, LEN);
	expect(&p.side[0], p.side[0].scq, 1, USIW_WC_SUCCESS);
	expect(&p.side[0], p.side[0].scq, 9, USIW_WC_SUCCESS);
	assert_int_equal(p.side[0].qp->fault.out_octets, LEN);
	post_send(&p, 2);
	rnicpair_wait_state(&p.side[0], RNIC_QPS_ERROR);
	end(&p);
}

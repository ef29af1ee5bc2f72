/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Datagrams between QPs of one host, and by UDP through its loopback. */
#define _GNU_SOURCE
#include "ud-fixture.h"

#include "dev/rnic-stats.h"
#include "engine/engine.h"
#include "fault/rules.h"
#include "os/fd.h"
#include "util/env.h"

/* ---- what arrives -------------------------------------------------------- */

struct way {
	const char *name;
	uint32_t label; /* of the destination */
};

static const struct way ways[] = { { "host", USIW_AV_OWN }, { "udp", 0 } };

static const struct {
	const char *name;
	uint8_t opcode, flags;
	uint32_t len;
	bool is_inline;
} sends[] = {
	{ "nothing", USIW_WR_SEND, 0, 0, false },
	{ "one", USIW_WR_SEND, 0, 1, false },
	{ "inline", USIW_WR_SEND, 0, 100, true },
	{ "imm", USIW_WR_SEND_IMM, 0, 7, false },
	{ "solicited", USIW_WR_SEND_IMM, USIW_SQE_SOLICITED, 8, false },
	{ "full", USIW_WR_SEND, 0, 4096, false },
};

static void take_sent(struct rnicpair *p, size_t i, uint64_t wr_id)
{
	struct usiw_cqe cqe = rnicpair_take(&p->side[0], p->side[0].scq);

	assert_row(sends[i].name, cqe.status == USIW_WC_SUCCESS);
	assert_row(sends[i].name, cqe.wr_id == wr_id);
	assert_row(sends[i].name, cqe.opcode == USIW_WC_SEND);
}

/* The IPv4 header that was in front of the packet, behind 20 octets of zero. */
static void check_grh(const char *name, const uint8_t *grh)
{
	static const uint8_t zero[20];
	static const uint8_t lo[4] = { 127, 0, 0, 1 };

	assert_row(name, memcmp(grh, zero, sizeof(zero)) == 0);
	assert_row(name, grh[20] == 0x45);
	assert_row(name, grh[29] == 17);
	assert_row(name, memcmp(grh + 32, lo, 4) == 0);
	assert_row(name, memcmp(grh + 36, lo, 4) == 0);
}

static void take_received(struct rnicpair *p, size_t i, uint64_t wr_id,
			  const uint8_t *at)
{
	struct rnicpair_side *b = &p->side[1];
	bool has_imm = sends[i].opcode == USIW_WR_SEND_IMM;
	struct usiw_cqe cqe = rnicpair_take(b, b->rcq);

	assert_row(sends[i].name, cqe.status == USIW_WC_SUCCESS);
	assert_row(sends[i].name, cqe.wr_id == wr_id);
	assert_row(sends[i].name, cqe.opcode == USIW_WC_RECV);
	assert_row(sends[i].name, cqe.byte_len == 40 + sends[i].len);
	assert_row(sends[i].name, cqe.src_qp == rnic_qp_num(p->side[0].qp));
	assert_row(sends[i].name,
		   cqe.wc_flags ==
			   (USIW_WC_FLAG_GRH | USIW_WC_FLAG_IPV4 |
			    (has_imm ? USIW_WC_FLAG_IMM : 0) |
			    (sends[i].flags ? USIW_WC_FLAG_SOLICITED : 0)));
	if (has_imm)
		assert_row(sends[i].name, cqe.imm_be == 0x1234);
	check_grh(sends[i].name, at);
	assert_row(sends[i].name,
		   rnicpair_is_filled(at + 40, sends[i].len, (uint32_t)i));
	assert_row(sends[i].name, at[40 + sends[i].len] == 0xee);
}

CASE(each_send_arrives_by_each_way)
{
	bool is_noted = false;
	struct rnicpair p;

	ud_open(&p, &defaults);
	for (size_t w = 0; w < ARRAY_LEN(ways) * ARRAY_LEN(sends); w++) {
		size_t i = w % ARRAY_LEN(sends);
		struct usiw_ud_sqe to = ud_to(p.side[1].qp);
		struct rnicpair_side *a = &p.side[0], *b = &p.side[1];
		struct usiw_sge sge = rnicpair_sge(a, 0, sends[i].len);
		const struct rnic_sched *sched = &b->qp->engine->sched;
		uint32_t arrival_no = rnic_sched_arrival_no(sched);

		to.label = ways[w / ARRAY_LEN(sends)].label;
		rnicpair_fill(a->buf, sends[i].len, (uint32_t)i);
		memset(b->buf, 0xee, 5000);
		ud_recv(b, w, 0, 5000);
		rnicpair_post_wr(
			a, .wr_id = w, .opcode = sends[i].opcode,
			.flags = sends[i].flags | USIW_SQE_SIGNALED |
				 (sends[i].is_inline ? USIW_SQE_INLINE : 0),
			.sge = &sge,
			.sge_cnt = sends[i].len && !sends[i].is_inline,
			.inline_data = a->buf,
			.inline_len = sends[i].is_inline ? sends[i].len : 0,
			.imm_be = 0x1234, .to = &to);
		take_sent(&p, i, w);
		take_received(&p, i, w, b->buf);
		/* Else the completion thread takes the poller to be away. It
		 * may have been faster, but not always. */
		is_noted |= rnic_sched_arrival_no(sched) != arrival_no;
		if (i == ARRAY_LEN(sends) - 1) {
			assert_row(ways[w / ARRAY_LEN(sends)].name, is_noted);
			is_noted = false;
		}
	}
	rnicpair_close(&p);
}

CASE(the_counters_of_the_port_have_each_datagram)
{
	struct rnic_device_stats old, now;
	struct rnicpair p;

	ud_open(&p, &defaults);
	for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
		struct usiw_ud_sqe to = ud_to(p.side[1].qp);
		uint64_t sent = test_stat(RNIC_STAT_tx_payload);
		uint64_t received = test_stat(RNIC_STAT_rx_staged);

		to.label = ways[w].label;
		rnic_device_stats(rnic_device_by_name("usiw_lo"), &old);
		ud_recv(&p.side[1], 1, 0, 1000);
		ud_send(&p.side[0], &to, 2, 300);
		assert_int_equal(rnicpair_take(&p.side[0], p.side[0].scq).wr_id,
				 2);
		assert_int_equal(rnicpair_take(&p.side[1], p.side[1].rcq).wr_id,
				 1);
		rnic_device_stats(rnic_device_by_name("usiw_lo"), &now);
		assert_row(ways[w].name, now.tx_fpdu == old.tx_fpdu + 1);
		assert_row(ways[w].name, now.rx_fpdu == old.rx_fpdu + 1);
		assert_row(ways[w].name, now.tx_copied == old.tx_copied + 300);
		assert_row(ways[w].name, now.rx_staged == old.rx_staged + 300);
		assert_row(ways[w].name,
			   test_stat(RNIC_STAT_tx_payload) == sent + 300);
		assert_row(ways[w].name,
			   test_stat(RNIC_STAT_rx_staged) == received + 300);
	}
	rnicpair_close(&p);
}

CASE(datagrams_keep_their_order)
{
	struct rnicpair p;
	struct usiw_ud_sqe to;

	ud_open(&p, &defaults);
	to = ud_to(p.side[1].qp);
	for (uint64_t i = 0; i < 64; i++)
		ud_recv(&p.side[1], i, i * 100, 100);
	for (uint64_t i = 0; i < 60; i++)
		ud_send(&p.side[0], &to, i, (uint32_t)i);
	for (uint64_t i = 0; i < 60; i++) {
		struct usiw_cqe cqe = rnicpair_take(&p.side[1], p.side[1].rcq);

		assert_int_equal(cqe.wr_id, i);
		assert_int_equal(cqe.byte_len, 40 + i);
	}
	rnicpair_close(&p);
}

/* First by the socket, then by the inbox, and nothing overtakes. */
CASE(the_inbox_goes_on_where_the_socket_ends)
{
	uint64_t opened = test_stat(RNIC_STAT_local_opened);
	struct usiw_ud_sqe to;
	struct rnicpair p;

	ud_open(&p, &defaults);
	to = ud_to(p.side[1].qp);
	for (uint64_t i = 0; i < 1000; i++) {
		ud_recv(&p.side[1], i, i * 100 % 10000, 100);
		ud_send(&p.side[0], &to, i, (uint32_t)i % 60);
		if (i < 50)
			continue;
		for (uint64_t j = i == 50 ? 0 : i; j <= i; j++) {
			struct usiw_cqe cqe =
				rnicpair_take(&p.side[1], p.side[1].rcq);

			assert_int_equal(cqe.wr_id, j);
			assert_int_equal(cqe.byte_len, 40 + j % 60);
		}
		while (rnicpair_poll(&p.side[0], p.side[0].scq,
				     &(struct usiw_cqe){ 0 }))
			;
	}
	assert_int_equal(test_stat(RNIC_STAT_local_opened),
			 opened + (util_settings()->local != UTIL_LOCAL_OFF));
	rnicpair_close(&p);
}

static uint64_t opened_after_send(struct rnicpair *p)
{
	struct usiw_ud_sqe to = ud_to(p->side[1].qp);

	ud_recv(&p->side[1], 7, 0, 100);
	ud_send(&p->side[0], &to, 7, 10);
	(void)rnicpair_take(&p->side[1], p->side[1].rcq);
	(void)rnicpair_take(&p->side[0], p->side[0].scq);
	return test_stat(RNIC_STAT_local_opened);
}

/* There is no room for the inbox where it is asked for. */
CASE(an_inbox_that_was_lost_comes_later)
{
	uint64_t opened = test_stat(RNIC_STAT_local_opened);
	struct rnic_host_head head = { .magic = RNIC_HOST_MAGIC };
	int fd = rnic_host_open_sender();
	struct rnic_host_name name;
	struct rnicpair p;

	ud_open(&p, &defaults);
	name = rnic_host_name_qp(rnic_qp_num(p.side[0].qp));
	while (!rnic_host_send(fd, &name,
			       &(struct iovec){ &head, sizeof(head) }, 1))
		;
	(void)opened_after_send(&p);
	if (util_settings()->local != UTIL_LOCAL_OFF)
		wait_until(opened_after_send(&p) > opened);
	rnicpair_close(&p);
	rnic_fd_close(fd);
}

/* The sender has its inbox still. */
CASE(a_qp_that_has_gone_is_forgotten)
{
	struct usiw_ud_sqe to;
	struct rnicpair p;
	uint32_t events;
	uint64_t lost;

	ud_open(&p, &defaults);
	to = ud_to(p.side[1].qp);
	for (uint64_t i = 0; i < 50; i++) {
		ud_recv(&p.side[1], i, 0, 100);
		ud_send(&p.side[0], &to, i, 10);
		(void)rnicpair_take(&p.side[1], p.side[1].rcq);
		(void)rnicpair_take(&p.side[0], p.side[0].scq);
	}
	assert_int_equal(rnic_qp_destroy(p.side[1].qp, &events), 0);
	p.side[1].qp = NULL;
	lost = test_stat(RNIC_STAT_ud_lost);
	for (uint64_t i = 0; i < 200; i++) {
		ud_send(&p.side[0], &to, i, 10);
		(void)rnicpair_take(&p.side[0], p.side[0].scq);
	}
	assert_int_equal(test_stat(RNIC_STAT_ud_lost), lost + 200);
	rnicpair_close(&p);
}

CASE(a_qp_reaches_itself)
{
	struct usiw_ud_sqe to;
	struct rnicpair p;

	ud_open(&p, &defaults);
	to = ud_to(p.side[0].qp);
	ud_recv(&p.side[0], 5, 0, 100);
	ud_send(&p.side[0], &to, 6, 10);
	assert_int_equal(rnicpair_take(&p.side[0], p.side[0].rcq).wr_id, 5);
	rnicpair_close(&p);
}

CASE(a_shared_receive_queue_serves)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct usiw_ud_sqe to;
	struct rnicpair p;

	opt.srq_wr = 8;
	ud_open(&p, &opt);
	to = ud_to(p.side[1].qp);
	/* The datagram is there before the receive. */
	ud_send(&p.side[0], &to, 6, 10);
	assert_int_equal(rnicpair_take(&p.side[0], p.side[0].scq).wr_id, 6);
	ud_recv(&p.side[1], 5, 0, 100);
	assert_int_equal(rnicpair_take(&p.side[1], p.side[1].rcq).wr_id, 5);
	rnicpair_close(&p);
}

/* ---- what does not ------------------------------------------------------- */

CASE(what_a_qp_cannot_take_is_counted)
{
	static const struct {
		const char *name;
		uint32_t qkey, len;
		size_t room;
		uint32_t num; /* added to the QP's */
		enum rnic_stat stat;
	} rows[] = {
		{ "qkey", UD_QKEY + 1, 10, 100, 0, RNIC_STAT_ud_bad_qkey },
		/* bit 31: the sender's own */
		{ "own qkey", 1u << 31, 10, 100, 0, RNIC_STAT_ud_received },
		{ "short", UD_QKEY, 61, 100, 0, RNIC_STAT_ud_no_recv },
		{ "fits", UD_QKEY, 60, 100, 0, RNIC_STAT_ud_received },
		{ "nobody", UD_QKEY, 10, 100, 1u << 20, RNIC_STAT_ud_lost },
	};

	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		size_t r = i % ARRAY_LEN(rows);
		struct usiw_ud_sqe to;
		struct rnicpair p;
		uint64_t before;

		ud_open(&p, &defaults);
		to = ud_to(p.side[1].qp);
		to.label = ways[i / ARRAY_LEN(rows)].label;
		to.qkey = rows[r].qkey;
		to.dest = (to.dest + rows[r].num) & 0xffffff;
		before = test_stat(rows[r].stat);
		ud_recv(&p.side[1], 1, 0, rows[r].room);
		ud_send(&p.side[0], &to, 2, rows[r].len);
		assert_row(rows[r].name,
			   rnicpair_take(&p.side[0], p.side[0].scq).status ==
				   USIW_WC_SUCCESS);
		wait_until(test_stat(rows[r].stat) == before + 1);
		assert_row(rows[r].name,
			   rnic_qp_state(p.side[1].qp) == RNIC_QPS_RTS);
		rnicpair_close(&p);
	}
}

CASE(a_datagram_waits_for_a_receive_for_some_time)
{
	struct usiw_ud_sqe to;
	struct rnicpair p;
	uint64_t lost;

	ud_open(&p, &defaults);
	to = ud_to(p.side[1].qp);
	lost = test_stat(RNIC_STAT_ud_no_recv);
	ud_send(&p.side[0], &to, 1, 10);
	(void)rnicpair_take(&p.side[0], p.side[0].scq);
	ud_recv(&p.side[1], 2, 0, 100);
	assert_int_equal(rnicpair_take(&p.side[1], p.side[1].rcq).wr_id, 2);
	ud_send(&p.side[0], &to, 3, 10);
	(void)rnicpair_take(&p.side[0], p.side[0].scq);
	wait_until(test_stat(RNIC_STAT_ud_no_recv) == lost + 1);
	ud_recv(&p.side[1], 4, 0, 100);
	assert_true(rnicpair_is_quiet(&p, p.side[1].rcq));
	ud_send(&p.side[0], &to, 5, 10);
	assert_int_equal(rnicpair_take(&p.side[1], p.side[1].rcq).wr_id, 4);
	rnicpair_close(&p);
}

/* Its WR is done all the same; those around it arrive. */
CASE(a_datagram_is_lost_on_command)
{
	struct rnicpair p;

	rnic_fault_start();
	rnic_fault_read("datagram=lost,nth=2,every=3,qp=1,peer=127.0.0.1");
	ud_open(&p, &defaults);
	for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
		struct usiw_ud_sqe to = ud_to(p.side[1].qp);
		uint64_t lost = test_stat(RNIC_STAT_ud_lost);

		to.label = ways[w].label;
		for (uint32_t i = 1; i <= 3; i++) {
			if (i != 2)
				ud_recv(&p.side[1], i, 0, 5000);
			ud_send(&p.side[0], &to, i, 100 * i);
			assert_int_equal(
				rnicpair_take(&p.side[0], p.side[0].scq).wr_id,
				i);
			if (i == 2)
				continue;
			assert_int_equal(
				rnicpair_take(&p.side[1], p.side[1].rcq)
					.byte_len,
				40 + 100 * i);
		}
		assert_row(ways[w].name,
			   test_stat(RNIC_STAT_ud_lost) == lost + 1);
	}
	rnicpair_close(&p);
	rnic_fault_read("cq=overrun,process=another");
}

static uint64_t lost_cnt(void)
{
	return test_stat(RNIC_STAT_ud_lost) + test_stat(RNIC_STAT_ud_no_recv);
}

#define VAIN_CNT 2000

static void send_in_vain(struct rnicpair *p)
{
	struct usiw_ud_sqe to = ud_to(p->side[1].qp);

	for (uint64_t i = 0; i < VAIN_CNT; i++) {
		ud_send(&p->side[0], &to, i, 10);
		assert_int_equal(
			rnicpair_take(&p->side[0], p->side[0].scq).status,
			USIW_WC_SUCCESS);
	}
}

/* The second QP never has a receive: it costs the sender a bounded time, once.
 * Meanwhile nothing is lost that goes elsewhere. */
CASE(a_receiver_that_is_full_is_given_up)
{
	struct usiw_ud_sqe own;
	struct rnicpair p;
	uint64_t lost;

	ud_open(&p, &defaults);
	own = ud_to(p.side[0].qp);
	lost = lost_cnt();
	send_in_vain(&p);
	wait_until(lost_cnt() == lost + VAIN_CNT);
	ud_recv(&p.side[0], 1, 0, 100);
	ud_send(&p.side[0], &own, 2, 10);
	assert_int_equal(rnicpair_take(&p.side[0], p.side[0].rcq).wr_id, 1);
	rnicpair_close(&p);
}

/* It waits until it is given up, and is tried again and again. */
CASE(a_datagram_that_waits_is_one_event_of_a_fault)
{
	struct usiw_ud_sqe own;
	struct rnicpair p;
	uint64_t faults;

	rnic_fault_start();
	rnic_fault_read("datagram=lost,nth=2001"); /* VAIN_CNT + 1 */
	ud_open(&p, &defaults);
	own = ud_to(p.side[0].qp);
	faults = test_stat(RNIC_STAT_faults_injected);
	send_in_vain(&p);
	assert_int_equal(test_stat(RNIC_STAT_faults_injected), faults);
	ud_send(&p.side[0], &own, VAIN_CNT, 10);
	(void)rnicpair_take(&p.side[0], p.side[0].scq);
	assert_int_equal(test_stat(RNIC_STAT_faults_injected), faults + 1);
	rnicpair_close(&p);
	rnic_fault_read("cq=overrun,process=another");
}

/* Anybody of this host may send to a QP's sockets. */
static void pass_descriptor(struct rnic_host_name name)
{
	struct rnic_stranger to = { .uid = getuid(),
				    .name = { .sun_family = AF_UNIX } };
	int fd = rnic_host_open_sender();

	to.name_len = (socklen_t)(sizeof(sa_family_t) + 1 + strlen(name.text));
	memcpy(to.name.sun_path + 1, name.text, strlen(name.text));
	/* It may have to get its name again. */
	wait_until(rnic_host_give(fd, &to, 5, fd) == 0);
	rnic_fd_close(fd);
}

/* One more is sent.  Return: whether any has come. */
static bool any_comes(struct rnicpair *p)
{
	struct usiw_ud_sqe to = ud_to(p->side[1].qp);
	struct usiw_cqe cqe;

	ud_send(&p->side[0], &to, 1, 10);
	(void)rnicpair_take(&p->side[0], p->side[0].scq);
	if (!rnicpair_poll(&p->side[1], p->side[1].rcq, &cqe))
		return false;
	ud_recv(&p->side[1], 7, 0, 100);
	return cqe.status == USIW_WC_SUCCESS;
}

static int send_nothing(int fd, const struct rnic_host_name *name)
{
	struct iovec iov = { "", 0 };

	return rnic_host_send(fd, name, &iov, 1);
}

/* What is sent meanwhile may be lost. */
CASE(a_stranger_that_passes_descriptors_costs_a_socket)
{
	struct rnicpair p;
	uint32_t num;

	ud_open(&p, &defaults);
	num = rnic_qp_num(p.side[1].qp);
	ud_recv(&p.side[1], 7, 0, 100);
	/* The first one asks for the inbox. */
	wait_until(any_comes(&p));
	for (int i = 0; i < 3; i++) {
		if (util_settings()->local != UTIL_LOCAL_OFF) {
			pass_descriptor(rnic_host_name_waker(num));
			wait_until(any_comes(&p));
		}
		pass_descriptor(rnic_host_name_qp(num));
		wait_until(any_comes(&p));
	}
	rnicpair_close(&p);
}

/* The engine sleeps again, and the QP hears what comes behind them. */
CASE(a_stranger_that_sends_nothing_costs_nothing)
{
	struct rnic_host_name names[2];
	struct rnicpair p;
	int fd;

	ud_open(&p, &defaults);
	ud_recv(&p.side[1], 7, 0, 100);
	wait_until(any_comes(&p));
	names[0] = rnic_host_name_qp(rnic_qp_num(p.side[1].qp));
	names[1] = rnic_host_name_waker(rnic_qp_num(p.side[1].qp));
	fd = rnic_host_open_sender();
	for (int i = 0; i < 6; i++) {
		if (i % 2 == 0 || util_settings()->local != UTIL_LOCAL_OFF)
			wait_until(send_nothing(fd, &names[i % 2]) == 0);
		wait_until(any_comes(&p));
	}
	rnic_fd_close(fd);
	rnicpair_close(&p);
}

/* ---- ends ---------------------------------------------------------------- */

CASE(a_wr_that_is_wrong_ends_the_qp)
{
	static const struct {
		const char *name;
		uint32_t len, lkey_off;
		uint8_t opcode;
		enum usiw_wc_status status;
	} rows[] = {
		{ "long", 4097, 0, USIW_WR_SEND, USIW_WC_LOC_LEN_ERR },
		{ "lkey", 10, 1, USIW_WR_SEND, USIW_WC_LOC_PROT_ERR },
		{ "opcode", 10, 0, USIW_WR_WRITE, USIW_WC_LOC_QP_OP_ERR },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rnicpair_side *a;
		struct usiw_ud_sqe to;
		struct usiw_sge sge;
		struct rnicpair p;

		ud_open(&p, &defaults);
		a = &p.side[0];
		to = ud_to(p.side[1].qp);
		sge = rnicpair_sge(a, 0, rows[i].len);
		sge.lkey += rows[i].lkey_off;
		ud_recv(a, 1, 0, 100);
		rnicpair_post_wr(a, .wr_id = 2, .opcode = rows[i].opcode,
				 .sge = &sge, .sge_cnt = 1, .to = &to);
		assert_row(rows[i].name,
			   rnicpair_take(a, a->scq).status == rows[i].status);
		assert_row(rows[i].name, rnicpair_take(a, a->rcq).status ==
						 USIW_WC_WR_FLUSH_ERR);
		rnicpair_close(&p);
	}
}

/* Those before it have left, by as few system calls as there may be. */
CASE(a_wr_that_is_wrong_ends_a_list)
{
	struct rnicpair_side *a, *b;
	struct usiw_ud_sqe to;
	struct rnicpair p;

	ud_open(&p, &defaults);
	a = &p.side[0];
	b = &p.side[1];
	to = ud_to(b->qp);
	to.label = 0;
	for (uint64_t i = 0; i < 40; i++)
		ud_recv(b, i, i * 100, 100);
	rnic_engine_lead(a->ctx->engine); /* nothing is served */
	for (uint64_t i = 0; i < 40; i++) {
		struct usiw_sge sge = rnicpair_sge(a, 0, 20);

		sge.lkey += i == 30;
		rnicpair_post_wr(a, .wr_id = i, .opcode = USIW_WR_SEND,
				 .flags = USIW_SQE_SIGNALED, .sge = &sge,
				 .sge_cnt = 1, .to = &to);
	}
	rnic_engine_unlead(a->ctx->engine);
	for (uint64_t i = 0; i < 40; i++) {
		struct usiw_cqe cqe = rnicpair_take(a, a->scq);

		assert_int_equal(cqe.wr_id, i);
		assert_int_equal(cqe.status, i < 30   ? USIW_WC_SUCCESS
					     : i > 30 ? USIW_WC_WR_FLUSH_ERR
						      : USIW_WC_LOC_PROT_ERR);
	}
	for (uint64_t i = 0; i < 30; i++)
		assert_int_equal(rnicpair_take(b, b->rcq).wr_id, i);
	assert_true(rnicpair_is_quiet(&p, b->rcq));
	rnicpair_close(&p);
}

CASE(a_receive_that_is_wrong_ends_its_qp)
{
	struct rnicpair_side *b;
	struct usiw_ud_sqe to;
	struct usiw_sge sge;
	struct rnicpair p;

	ud_open(&p, &defaults);
	b = &p.side[1];
	to = ud_to(b->qp);
	sge = rnicpair_sge(b, 0, 100);
	sge.lkey++;
	must(!rnicpair_post_recv(b, 1, &sge, 1));
	ud_recv(b, 2, 0, 100);
	ud_send(&p.side[0], &to, 3, 10);
	assert_int_equal(rnicpair_take(b, b->rcq).status, USIW_WC_LOC_PROT_ERR);
	assert_int_equal(rnicpair_take(b, b->rcq).status, USIW_WC_WR_FLUSH_ERR);
	assert_int_equal(rnic_qp_state(b->qp), RNIC_QPS_ERROR);
	rnicpair_close(&p);
}

CASE(a_qp_begins_anew_after_a_reset)
{
	const struct rnic_ud_options opt = { .qkey = 7 };
	struct usiw_ud_sqe to;
	struct rnicpair p;

	ud_open(&p, &defaults);
	to = ud_to(p.side[1].qp);
	assert_int_equal(rnic_qp_ud_start(p.side[1].qp, &opt), -EINVAL);
	ud_recv(&p.side[1], 1, 0, 100);
	assert_int_equal(rnic_qp_modify(p.side[1].qp, RNIC_QPS_ERROR), 0);
	assert_int_equal(rnicpair_take(&p.side[1], p.side[1].rcq).status,
			 USIW_WC_WR_FLUSH_ERR);
	assert_int_equal(rnic_qp_modify(p.side[1].qp, RNIC_QPS_IDLE), 0);
	assert_int_equal(rnic_qp_ud_start(p.side[1].qp, &opt), 0);
	ud_recv(&p.side[1], 2, 0, 100);
	to.qkey = 7;
	ud_send(&p.side[0], &to, 3, 10);
	assert_int_equal(rnicpair_take(&p.side[1], p.side[1].rcq).wr_id, 2);
	rnicpair_close(&p);
}

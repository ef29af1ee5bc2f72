/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* retry.c: a peer whose TCP does not answer is given up in time. One that has
 * closed its window, or acknowledges sometimes, is not. */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

#include "../../harness/test.h"
#include "os/clock.h"
#include "rnicpair.h"
#include "os/tcp.h"

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

#define LIMIT_MS 200
/* Checks are delayed a little, so that several become one. */
#define LONGER_MS 800

/* ---- a simulated TCP ---- */

enum kind { SILENT, NO_ROUTE, CLOSED_WINDOW, SLOW };

static _Atomic int kind;
static _Atomic uint32_t look_cnt;
static struct rnic_tcp_ops fake;
static const struct rnic_tcp_ops *real;

static int fake_getsockopt(int fd, int level, int name, void *val,
			   socklen_t *len)
{
	struct tcp_info info = {
		.tcpi_unacked = kind == SILENT || kind == SLOW,
		.tcpi_notsent_bytes = 4711,
		.tcpi_snd_mss = 1448,
		.tcpi_snd_wnd = kind == CLOSED_WINDOW ? 1447 : 65536,
	};

	if (level != IPPROTO_TCP || name != TCP_INFO)
		return getsockopt(fd, level, name, val, len);
	if (kind == SLOW)
		info.tcpi_bytes_acked = look_cnt / 2;
	look_cnt++;
	must(*len >= sizeof(info));
	memcpy(val, &info, sizeof(info));
	return 0;
}

/* What is sent is lost. */
static ssize_t fake_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	ssize_t len = 0;

	(void)fd;
	(void)flags;
	for (size_t i = 0; i < msg->msg_iovlen; i++)
		len += (ssize_t)msg->msg_iov[i].iov_len;
	return len;
}

static void network_breaks(enum kind how)
{
	kind = how;
	look_cnt = 0;
	fake = *real;
	fake.getsockopt = fake_getsockopt;
	fake.sendmsg = fake_sendmsg;
	rnic_tcp_replace(&fake);
}

/* ---- two QPs ---- */

static void connect_pair(struct rnicpair *p, uint64_t retry_ms)
{
	struct rnic_oob_send_options opt = {
		.ord = 1,
		.rnr_retry = 7,
		.retry_ns = retry_ms * NS_PER_MS,
	};

	rnicpair_open_idle(p, &defaults);
	rnicpair_rtr_both(p);
	for (int i = 0; i < 2; i++) {
		rnic_qp_oob_send(p->side[i].qp, &opt);
		rnicpair_wait_state(&p->side[i], RNIC_QPS_RTS);
	}
}

static void send_one(struct rnicpair_side *s)
{
	struct rnicpair_wr wr = { .opcode = USIW_WR_SEND,
				  .flags = USIW_SQE_SIGNALED };

	assert_int_equal(rnicpair_post(s, &wr), 0);
}

static void given_up_in_time(enum kind how)
{
	struct rnicpair p;
	struct rnicpair_side *s = &p.side[0];
	uint64_t begin_ms, took_ms;

	connect_pair(&p, LIMIT_MS);
	network_breaks(how);
	begin_ms = until_ms();
	send_one(s);
	send_one(s);
	assert_int_equal(rnicpair_take(s, s->scq).status,
			 USIW_WC_RETRY_EXC_ERR);
	took_ms = until_ms() - begin_ms;
	assert_int_equal(rnicpair_take(s, s->scq).status, USIW_WC_WR_FLUSH_ERR);
	assert_int_equal(rnic_qp_state(s->qp), RNIC_QPS_ERROR);
	assert_true(took_ms >= LIMIT_MS);
	assert_true(took_ms < 50 * LIMIT_MS);
	rnic_tcp_replace(real);
	rnicpair_close(&p);
}

static void a_silent_peer_times_out(void **state)
{
	given_up_in_time(SILENT);
}

static void an_unreachable_peer_exhausts_retries_too(void **state)
{
	given_up_in_time(NO_ROUTE);
}

static const struct {
	const char *name;
	enum kind kind;
	uint64_t retry_ms;
	bool has_work;
	uint32_t looks; /* at least this many; then there are no more */
} rows[] = {
	{ "its window is closed", CLOSED_WINDOW, LIMIT_MS, true, 4 },
	{ "it acknowledges now and then", SLOW, LIMIT_MS, true, 4 },
	{ "timeout 0 is for ever", SILENT, 0, true, 0 },
	{ "no work for it", SILENT, LIMIT_MS, false, 0 },
};

static void others_are_waited_for(void **state)
{
	struct rnicpair p[ARRAY_LEN(rows)];
	struct usiw_cqe cqe;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rnicpair_side *s = &p[i].side[0];

		connect_pair(&p[i], rows[i].retry_ms);
		network_breaks(rows[i].kind);
		if (rows[i].has_work)
			send_one(s);
		poll(NULL, 0, rows[i].looks ? LONGER_MS : LONGER_MS / 2);
		assert_row(rows[i].name, look_cnt >= rows[i].looks);
		if (!rows[i].looks)
			assert_row(rows[i].name, look_cnt == 0);
		assert_row(rows[i].name, rnic_qp_state(s->qp) == RNIC_QPS_RTS);
		assert_row(rows[i].name, !rnicpair_poll(s, s->scq, &cqe));
		rnic_tcp_replace(real);
		rnicpair_close(&p[i]);
	}
}

static int setup(void **state)
{
	real = rnic_tcp();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silent_peer_times_out),
		cmocka_unit_test(an_unreachable_peer_exhausts_retries_too),
		cmocka_unit_test(others_are_waited_for),
	};

	setenv("USIW_DRAIN_MS", "100", 1);
	return cmocka_run_group_tests(tests, setup, NULL);
}

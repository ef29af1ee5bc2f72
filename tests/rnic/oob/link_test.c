/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Unexpected peers at the port: they are refused, limited, and do not delay
 * other peers. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../harness/test.h"
#include "qp/qp-num.h"
#include "oob/frame.h"
#include "qp/transport.h"
#include "rnicpair.h"
#include "stats.h"
#include "util/clock.h"

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

static int tcp_dial(const char *from, uint32_t num)
{
	struct sockaddr_in src = { .sin_family = AF_INET };
	struct sockaddr_in dst = {
		.sin_family = AF_INET,
		.sin_port = htons(rnic_qp_num_port(num)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(inet_pton(AF_INET, from, &src.sin_addr) == 1);
	must(!bind(fd, (struct sockaddr *)&src, sizeof(src)));
	must(!connect(fd, (struct sockaddr *)&dst, sizeof(dst)));
	return fd;
}

/* Sends a Request with that private data. Return: the answer; NONE: none within
 * @retry_ms. */
static enum smpa_event_type probe_port(int fd, const void *pd, size_t pd_len,
				       int retry_ms)
{
	static uint8_t rx[SMPA_START_STAGING_MIN];
	static uint8_t tx[SMPA_START_STAGING_MIN] __attribute__((aligned(16)));
	struct smpa_options opt = SMPA_OPTIONS_INIT;
	struct smpa_event ev = { .type = SMPA_EV_NONE };
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct iovec iov[SMPA_IOV_MAX + 1];
	const struct iovec *out;
	struct smpa_conn *conn;
	ssize_t len;
	int cnt;

	opt.role = SMPA_INITIATOR;
	opt.rtr = SMPA_RTR_WRITE;
	must(!smpa_conn_new(&conn, &opt));
	must(!smpa_conn_rx_lend(conn, rx, sizeof(rx)));
	must(!smpa_conn_tx_lend(conn, tx, sizeof(tx)));
	must(!smpa_conn_start(conn, pd, pd_len));
	while ((cnt = smpa_conn_tx_prepare(conn, &out)) > 0) {
		len = writev(fd, out, cnt);
		must(len > 0);
		smpa_conn_tx_commit(conn, (size_t)len);
	}
	while (!smpa_conn_next_event(conn, &ev)) {
		if (poll(&pfd, 1, retry_ms) == 0)
			break;
		cnt = smpa_conn_rx_prepare(conn, iov, SMPA_IOV_MAX + 1);
		must(cnt > 0);
		len = readv(fd, iov, cnt);
		if (len <= 0)
			smpa_conn_rx_eof(conn);
		else
			must(!smpa_conn_rx_commit(conn, (size_t)len));
	}
	smpa_conn_free(conn);
	return ev.type;
}

/* Two QPs connect to each other, whatever other peers there are. */
static void meet(struct rnicpair *p)
{
	rnicpair_rtr_both(p);
	rnicpair_wait_rts(p);
}

IDLE_PAIR_CASE(unexpected_peers_are_refused)
{
	enum { WHO, NUMBERS, FOREIGN, SHORT, EMPTY, RDMA_CM, CASES };
	struct rnicpair *p = *state;
	struct rnic_qp *qp;
	uint32_t num, peer;

	qp = rnicpair_acceptor(p);
	num = rnic_qp_num(qp);
	peer = rnic_qp_num(rnicpair_dialler(p));
	assert_int_equal(rnicpair_rtr(qp, peer), 0);
	for (int what = 0; what < CASES; what++) {
		struct oob_frame frame = {
			.rnr_retry = 7,
			.src_num = what == WHO ? peer ^ 1 : peer,
			.dst_num = what == NUMBERS ? num ^ 0x80 : num,
			.nonce = 1,
		};
		/* 127.0.0.2 is not the address that the QP was given. */
		int fd = tcp_dial(what == FOREIGN ? "127.0.0.2" : "127.0.0.1",
				  num);
		uint8_t pd[OOB_FRAME_LEN];
		size_t len = sizeof(pd);

		oob_frame_encode(&frame, pd);
		if (what == SHORT)
			len--;
		if (what == EMPTY)
			len = 0;
		if (what == RDMA_CM)
			memset(pd, 0, sizeof(pd));
		assert_int_equal(probe_port(fd, pd, len, 5000),
				 SMPA_EV_REJECTED);
		close(fd);
		assert_int_equal(rnic_qp_state(qp), RNIC_QPS_CONNECTING);
	}
	/* The expected peer still connects. */
	rnicpair_rtr_to(rnicpair_dialler(p), rnicpair_acceptor(p));
	rnicpair_wait_rts(p);
}

/* ---- types ---- */

static struct rnic_qp *qp_of_type(struct rnicpair *p, int side,
				  enum rnic_qp_type type)
{
	p->opt.type = type;
	return rnicpair_qp_new(p, side);
}

static void send_100(struct rnicpair_side *s, struct rnic_qp *qp)
{
	struct usiw_sge sge = rnicpair_sge(s, 0, 100);
	const struct rnicpair_wr wr = { .opcode = USIW_WR_SEND,
					.flags = USIW_SQE_SIGNALED,
					.sge = &sge,
					.sge_cnt = 1 };

	must(!rnicpair_post_qp(s, qp, &wr));
}

/* Once, not with every try: the dialler hears why.  What is posted ends as it
 * does without a peer. */
static void expect_mismatch(struct rnicpair *p, struct rnic_qp *const qp[2],
			    uint64_t rejected)
{
	static const uint8_t status[] = {
		[RNIC_QPT_RC] = USIW_WC_RETRY_EXC_ERR,
		[RNIC_QPT_UC] = USIW_WC_SUCCESS,
	};
	const struct rnic_oob_send_options opt = { .retry_ns = 50 * NS_PER_MS };

	wait_until(test_stat(RNIC_STAT_rejects) == rejected + 1);
	for (int i = 0; i < 2; i++) {
		struct rnicpair_side *s = &p->side[i];

		rnic_qp_oob_send(qp[i], &opt);
		send_100(s, qp[i]);
		assert_int_equal(rnicpair_take(s, s->scq).status,
				 status[qp[i]->transport->type]);
	}
	poll(NULL, 0, 300); /* three times the longest interval */
	assert_int_equal(test_stat(RNIC_STAT_rejects), rejected + 1);
}

CASE(types_must_agree)
{
	for (int i = 0; i < 8; i++) {
		uint64_t rejected = test_stat(RNIC_STAT_rejects);
		struct rnic_qp *qp[2];
		struct rnicpair p;
		uint32_t events;

		rnicpair_open_idle(&p, &defaults);
		for (int side = 0; side < 2; side++)
			qp[side] = qp_of_type(&p, side,
					      side == (i & 1) ? RNIC_QPT_UC
							      : RNIC_QPT_RC);
		/* The acceptor waits, or the Request does. */
		rnicpair_rtr_to(qp[i >> 1 & 1], qp[!(i >> 1 & 1)]);
		rnicpair_rtr_to(qp[!(i >> 1 & 1)], qp[i >> 1 & 1]);
		expect_mismatch(&p, qp, rejected);
		for (int side = 0; side < 2; side++)
			must(!rnic_qp_destroy(qp[side], &events));
		rnicpair_close(&p);
	}
}

/* Two of a type that is not RC connect beside that. */
CASE(equal_types_connect)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair p;

	opt.type = RNIC_QPT_UC;
	rnicpair_open_idle(&p, &opt);
	meet(&p);
	rnicpair_close(&p);
}

/* A usiw without types says RC; one with types that this one does not know is
 * refused. */
IDLE_PAIR_CASE(the_type_of_a_request_counts)
{
	struct rnicpair *p = *state;
	struct rnic_qp *qp = rnicpair_acceptor(p);
	uint32_t peer = rnic_qp_num(rnicpair_dialler(p));

	assert_int_equal(rnicpair_rtr(qp, peer), 0);
	for (int type = 255; type >= 0; type -= 51) {
		struct oob_frame frame = {
			.rnr_retry = 7,
			.type = (uint8_t)type,
			.src_num = peer,
			.dst_num = rnic_qp_num(qp),
		};
		int fd = tcp_dial("127.0.0.1", rnic_qp_num(qp));
		uint8_t pd[OOB_FRAME_LEN];

		oob_frame_encode(&frame, pd);
		assert_int_equal(probe_port(fd, pd, sizeof(pd), 5000),
				 type ? SMPA_EV_REJECTED : SMPA_EV_ESTABLISHED);
		close(fd);
	}
}

/* A Request that arrives before the QP waits is kept. It is dropped if its peer
 * closes or sends another. */
CASE(an_early_request_waits)
{
	struct rnicpair p, q;
	struct oob_frame frame = { .rnr_retry = 7 };
	uint8_t pd[OOB_FRAME_LEN];
	uint32_t num, peer;
	int fd[3];

	rnicpair_open_idle(&q, &defaults);
	meet(&q); /* makes the port of the block listen */
	rnicpair_open_idle(&p, &defaults);
	num = rnic_qp_num(rnicpair_acceptor(&p));
	peer = rnic_qp_num(rnicpair_dialler(&p));
	if (rnic_qp_num_port(num) !=
	    rnic_qp_num_port(rnic_qp_num(rnicpair_acceptor(&q))))
		fail_msg("two QPs of one process are in one block");
	frame.src_num = peer;
	frame.dst_num = num;
	oob_frame_encode(&frame, pd);
	for (int i = 0; i < 3; i++) {
		fd[i] = tcp_dial("127.0.0.1", num);
		assert_int_equal(probe_port(fd[i], pd, sizeof(pd), 50),
				 SMPA_EV_NONE);
	}
	/* 0 and 1 were closed by this side when 2 came. */
	for (int i = 0; i < 2; i++) {
		char octet;

		assert_int_equal(recv(fd[i], &octet, 1, 0), 0);
	}
	close(fd[2]);
	meet(&p);
	close(fd[0]);
	close(fd[1]);
	rnicpair_close(&p);
	rnicpair_close(&q);
}

/* The dialler was reset while its Request was in transit: its QP dials
 * again. */
IDLE_PAIR_CASE(a_peer_that_leaves_after_the_reply_costs_nothing)
{
	struct oob_frame frame = { .rnr_retry = 7 };
	uint8_t pd[OOB_FRAME_LEN];
	struct rnicpair *p = *state;
	struct rnic_qp *qp;
	int fd;

	qp = rnicpair_acceptor(p);
	frame.dst_num = rnic_qp_num(qp);
	frame.src_num = rnic_qp_num(rnicpair_dialler(p));
	oob_frame_encode(&frame, pd);
	assert_int_equal(rnicpair_rtr(qp, frame.src_num), 0);
	for (int i = 0; i < 5; i++) {
		fd = tcp_dial("127.0.0.1", frame.dst_num);
		assert_int_equal(probe_port(fd, pd, sizeof(pd), 5000),
				 SMPA_EV_ESTABLISHED);
		close(fd);
		assert_int_equal(rnic_qp_state(qp), RNIC_QPS_CONNECTING);
	}
	rnicpair_rtr_to(rnicpair_dialler(p), qp);
	rnicpair_wait_rts(p);
}

/* Peers that send nothing, or no MPA, do not delay other peers. */
IDLE_PAIR_CASE(silent_and_noisy_peers_delay_no_other)
{
	static const char noise[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
	int fd[32];
	struct rnicpair *p = *state;
	uint32_t num;

	num = rnic_qp_num(rnicpair_acceptor(p));
	rnicpair_rtr_to(rnicpair_acceptor(p), rnicpair_dialler(p));
	for (int i = 0; i < 32; i++) {
		fd[i] = tcp_dial("127.0.0.1", num);
		if (i & 1)
			must(send(fd[i], noise, sizeof(noise) - 1,
				  MSG_NOSIGNAL) > 0);
	}
	rnicpair_rtr_to(rnicpair_dialler(p), rnicpair_acceptor(p));
	rnicpair_wait_rts(p);
	for (int i = 0; i < 32; i++)
		close(fd[i]);
}

/* Another program listens at the peer's address: the QP keeps trying. */
CASE(an_unexpected_answer_is_left)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct rnicpair p;
	uint32_t num, foreign;
	int fd;

	must(!bind(listener, (struct sockaddr *)&addr, sizeof(addr)));
	must(!listen(listener, 8));
	must(!getsockname(listener, (struct sockaddr *)&addr, &len));
	rnicpair_open_idle(&p, &defaults);
	num = rnic_qp_num(p.side[0].qp);
	foreign = (uint32_t)ntohs(addr.sin_port) << 8;
	if (num < foreign)
		goto close_all; /* the unexpected peer would have to dial */
	assert_int_equal(rnicpair_rtr(p.side[0].qp, foreign), 0);
	for (int i = 0; i < 3; i++) {
		char frame[256];

		fd = accept(listener, NULL, NULL);
		must(fd >= 0);
		must(recv(fd, frame, sizeof(frame), 0) > 0);
		/* Its own Request is not a Reply. */
		must(send(fd, frame, 20, MSG_NOSIGNAL) == 20);
		close(fd);
		assert_int_equal(rnic_qp_state(p.side[0].qp),
				 RNIC_QPS_CONNECTING);
	}
close_all:
	close(listener);
	rnicpair_close(&p);
}

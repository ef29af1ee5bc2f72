/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sockets that become streams. Nothing of what the ULP exchanged is lost or
 * taken for MPA, and nothing after a start frame is read. After any failure the
 * caller can use the socket and its data.
 */
#include "test.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libsiw-mpa/crc32c.h"
#include "rnicpair.h"

#define REQUEST_KEY "MPA ID Req Frame"
#define REPLY_KEY "MPA ID Rep Frame"
/* Revision 2, CRC, enhanced, four octets of private data for IRD and ORD 1. */
#define PLAIN_END "\x50\x02\0\x04\0\x01\0\x01"
#define REPLY REPLY_KEY PLAIN_END
#define REQUEST REQUEST_KEY PLAIN_END
#define FRAME_LEN 24u
/* The Initiator sends the same with the peer-to-peer model. */
#define OUR_REQUEST_LEN 24u

static const struct rnicpair_options pair_options = RNICPAIR_OPTIONS_INIT;

/* ---- sockets ---- */

/* fd[0] connected to fd[1], as an application has them: blocking. */
static void tcp_pair(int fd[2])
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(listener >= 0);
	must(!bind(listener, (struct sockaddr *)&addr, sizeof(addr)));
	must(!listen(listener, 1));
	must(!getsockname(listener, (struct sockaddr *)&addr, &len));
	fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(fd[0] >= 0);
	must(!connect(fd[0], (struct sockaddr *)&addr, sizeof(addr)));
	fd[1] = accept(listener, NULL, NULL);
	must(fd[1] >= 0);
	close(listener);
}

static void tcp_write(int fd, const void *buf, size_t len)
{
	must(send(fd, buf, len, MSG_NOSIGNAL) == (ssize_t)len);
}

static void tcp_read(int fd, void *buf, size_t len)
{
	must(recv(fd, buf, len, MSG_WAITALL) == (ssize_t)len);
}

/* Checks that exactly this comes next. */
static void tcp_expect(int fd, const void *want, size_t len)
{
	uint8_t *got = malloc(len + 1);

	must(got);
	tcp_read(fd, got, len);
	assert_memory_equal(got, want, len);
	free(got);
}

/* Checks that there is nothing to read. */
static void tcp_expect_nothing(int fd)
{
	uint8_t octet;

	assert_int_equal(recv(fd, &octet, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

/* Checks that streaming mode still works in both directions. */
static void tcp_expect_alive(int a, int b)
{
	tcp_write(a, "one", 3);
	tcp_expect(b, "one", 3);
	tcp_write(b, "two", 3);
	tcp_expect(a, "two", 3);
}

static void tcp_close(int fd[2])
{
	close(fd[0]);
	close(fd[1]);
}

/* ---- attaching ---- */

struct end {
	struct rnic_qp *qp;
	int fd;
	struct rnic_attach_options opt;
	struct rnic_attach_start start;
	uint8_t peer_pd[512];
	size_t taken;
	const char *reject; /* Responder: reject with this private data */
	const char *reply;  /* Responder: accept with this private data */
	int rc;
};

static void end_keep_pd(struct end *e)
{
	if (e->start.pd_len)
		memcpy(e->peer_pd, e->start.pd, e->start.pd_len);
}

static int end_respond(struct end *e, struct rnic_attach *a)
{
	const char *pd = e->reject ? e->reject : e->reply;
	size_t pd_len = pd ? strlen(pd) : 0;
	struct rnic_attach_start start;
	int rc;

	if (!e->reject)
		return rnic_attach_accept(a, pd, pd_len, 4, 4, &start);
	rc = rnic_attach_reject(a, pd, pd_len);
	return rc ? rc : -ECONNREFUSED;
}

static int end_attach(struct end *e)
{
	struct rnic_attach *a = NULL;

	e->rc = rnic_attach_open(e->qp, e->fd, &e->opt, &a);
	if (e->rc)
		return e->rc;
	e->rc = rnic_attach_wait(a, &e->start);
	if (e->rc == 0 || e->rc == -ECONNREFUSED)
		end_keep_pd(e);
	if (e->rc == 0 && e->opt.is_responder)
		e->rc = end_respond(e, a);
	if (e->rc == 0)
		e->rc = rnic_attach_finish(a);
	e->taken = rnic_attach_taken(a);
	rnic_attach_free(a);
	return e->rc;
}

static void *end_run(void *arg)
{
	end_attach(arg);
	return NULL;
}

static struct end end_of(struct rnicpair *p, int side, int fd)
{
	return (struct end){ .qp = p->side[side].qp,
			     .fd = fd,
			     .opt = { .is_responder = side == 1,
				      .ird = 4,
				      .ord = 4,
				      .timeout_ms = RNICPAIR_LIMIT_MS } };
}

static int setup(void **state)
{
	static struct rnicpair pair;

	rnicpair_open_idle(&pair, &pair_options);
	*state = &pair;
	return 0;
}

static int teardown(void **state)
{
	rnicpair_close(*state);
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, setup, teardown)

static void expect_idle(const struct end *e)
{
	assert_int_equal(rnic_qp_state(e->qp), RNIC_QPS_IDLE);
}

/* Checks that a Send from one side's buffer arrives in the other's. */
static void expect_send(struct rnicpair *p, int from, uint32_t seed)
{
	struct rnicpair_side *s = &p->side[from], *r = &p->side[!from];
	struct usiw_sge sge = rnicpair_sge(r, 65536, 5000);
	struct usiw_sge out = rnicpair_sge(s, 0, 5000);
	struct rnicpair_wr wr = { .opcode = USIW_WR_SEND,
				  .flags = USIW_SQE_SIGNALED,
				  .sge_cnt = 1,
				  .sge = &out };
	struct usiw_cqe cqe;

	rnicpair_fill(s->buf, 5000, seed);
	assert_int_equal(rnicpair_post_recv(r, 7, &sge, 1), 0);
	assert_int_equal(rnicpair_post(s, &wr), 0);
	cqe = rnicpair_take(r, r->rcq);
	assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	assert_int_equal(cqe.byte_len, 5000);
	assert_true(rnicpair_is_filled(r->buf + 65536, 5000, seed));
	cqe = rnicpair_take(s, s->scq);
	assert_int_equal(cqe.status, USIW_WC_SUCCESS);
}

/* ---- both ends attached ---- */

/* T-59: Hello, answer, last message, start frames, messages. */
FILE_CASE(streaming_octets_then_verbs)
{
	struct rnicpair *p = *state;
	struct end ini, rsp;
	pthread_t thread;
	int fd[2];

	tcp_pair(fd);
	tcp_write(fd[0], "HELLO\n", 6);
	tcp_expect(fd[1], "HELLO\n", 6);
	ini = end_of(p, 0, fd[0]);
	ini.opt.pd = "ping";
	ini.opt.pd_len = 4;
	rsp = end_of(p, 1, fd[1]);
	rsp.reply = "pong";
	rsp.opt.last = "SWITCH\n";
	rsp.opt.last_len = 7;
	must(!pthread_create(&thread, NULL, end_run, &rsp));
	tcp_expect(fd[0], "SWITCH\n", 7);
	assert_int_equal(end_attach(&ini), 0);
	must(!pthread_join(thread, NULL));
	assert_int_equal(rsp.rc, 0);
	assert_int_equal(ini.start.pd_len, 4);
	assert_memory_equal(ini.peer_pd, "pong", 4);
	assert_memory_equal(rsp.peer_pd, "ping", 4);
	assert_int_equal(ini.taken, FRAME_LEN + 4);
	assert_int_equal(rsp.taken, FRAME_LEN + 4);
	/* The application may close its numbers now. */
	tcp_close(fd);
	assert_int_equal(rnic_qp_state(ini.qp), RNIC_QPS_RTS);
	expect_send(p, 1, 1); /* the accepted side first, because of the RTR */
	expect_send(p, 0, 2);
	assert_int_equal(rnic_qp_modify(ini.qp, RNIC_QPS_CLOSING), 0);
	rnicpair_wait_state(&p->side[1], RNIC_QPS_ERROR);
}

/* More than the socket buffers hold: the call waits until all of it is sent. */
FILE_CASE(long_last_message_goes_first)
{
	const size_t len = 6u << 20;
	uint8_t *sent = malloc(len), *got = malloc(len);
	struct rnicpair *p = *state;
	struct end ini, rsp;
	pthread_t thread;
	int fd[2];

	must(sent && got);
	rnicpair_fill(sent, len, 3);
	tcp_pair(fd);
	rsp = end_of(p, 1, fd[1]);
	rsp.opt.last = sent;
	rsp.opt.last_len = len;
	must(!pthread_create(&thread, NULL, end_run, &rsp));
	tcp_read(fd[0], got, len);
	assert_memory_equal(sent, got, len);
	ini = end_of(p, 0, fd[0]);
	assert_int_equal(end_attach(&ini), 0);
	must(!pthread_join(thread, NULL));
	assert_int_equal(rsp.rc, 0);
	tcp_close(fd);
	expect_send(p, 0, 4);
	free(sent);
	free(got);
}

FILE_CASE(rejection_leaves_both_streaming)
{
	struct rnicpair *p = *state;
	struct end ini, rsp;
	int fd[2], value = -1;
	socklen_t len = sizeof(value);
	pthread_t thread;

	tcp_pair(fd);
	ini = end_of(p, 0, fd[0]);
	rsp = end_of(p, 1, fd[1]);
	rsp.reject = "busy";
	must(!pthread_create(&thread, NULL, end_run, &rsp));
	assert_int_equal(end_attach(&ini), -ECONNREFUSED);
	must(!pthread_join(thread, NULL));
	assert_int_equal(rsp.rc, -ECONNREFUSED);
	assert_int_equal(ini.start.pd_len, 4);
	assert_memory_equal(ini.peer_pd, "busy", 4);
	expect_idle(&ini);
	expect_idle(&rsp);
	tcp_expect_alive(fd[0], fd[1]);
	must(!getsockopt(fd[0], IPPROTO_TCP, TCP_NODELAY, &value, &len));
	assert_int_equal(value, 0); /* unchanged */

	/* a second try may succeed */
	rsp.reject = NULL;
	must(!pthread_create(&thread, NULL, end_run, &rsp));
	assert_int_equal(end_attach(&ini), 0);
	must(!pthread_join(thread, NULL));
	assert_int_equal(rsp.rc, 0);
	tcp_close(fd);
	expect_send(p, 0, 5);
}

/* MPA-138: the keys differ, so this is detected. */
FILE_CASE(two_initiators_are_eproto)
{
	struct rnicpair *p = *state;
	struct end a, b;
	pthread_t thread;
	int fd[2];

	tcp_pair(fd);
	a = end_of(p, 0, fd[0]);
	b = end_of(p, 1, fd[1]);
	b.opt.is_responder = false;
	must(!pthread_create(&thread, NULL, end_run, &b));
	assert_int_equal(end_attach(&a), -EPROTO);
	must(!pthread_join(thread, NULL));
	assert_int_equal(b.rc, -EPROTO);
	expect_idle(&a);
	tcp_close(fd);
}

/* ---- scripted peers ---- */

/* Reply and FPDU in one segment: the FPDU is read once, by the QP. */
FILE_CASE(octets_behind_the_reply_are_the_qps)
{
	/* a Send of four octets on MSN 1 */
	uint8_t octets[FRAME_LEN + 28] = REPLY
		"\0\x16\x41\x43\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0ping";
	uint8_t *fpdu = octets + FRAME_LEN;
	uint32_t crc = crc32c_final(crc32c_update(CRC32C_INIT, fpdu, 24));
	struct rnicpair *p = *state;
	struct rnicpair_side *s = &p->side[0];
	struct usiw_sge sge = rnicpair_sge(s, 0, 100);
	uint8_t request[OUR_REQUEST_LEN];
	struct usiw_cqe cqe;
	pthread_t thread;
	struct end ini;
	int fd[2];

	for (int i = 0; i < 4; i++)
		fpdu[24 + i] = (uint8_t)(crc >> 8 * i);
	/* A Reply of the peer-to-peer model: a Write is accepted as RTR. */
	octets[20] = 0x80;
	octets[22] = 0x80;
	tcp_pair(fd);
	ini = end_of(p, 0, fd[0]);
	assert_int_equal(rnicpair_post_recv(s, 11, &sge, 1), 0);
	must(!pthread_create(&thread, NULL, end_run, &ini));
	tcp_expect(fd[1], REQUEST_KEY, 16);
	tcp_read(fd[1], request + 16, sizeof(request) - 16);
	tcp_write(fd[1], octets, sizeof(octets));
	must(!pthread_join(thread, NULL));
	assert_int_equal(ini.rc, 0);
	assert_int_equal(ini.taken, FRAME_LEN);
	close(fd[0]);
	cqe = rnicpair_take(s, s->rcq);
	assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	assert_int_equal(cqe.byte_len, 4);
	assert_memory_equal(s->buf, "ping", 4);
	close(fd[1]);
}

/* T-59: the Reply, directly followed by the end of the stream. */
FILE_CASE(close_behind_the_reply_is_the_qps)
{
	struct rnicpair *p = *state;
	struct rnicpair_side *s = &p->side[0];
	struct usiw_sge sge = rnicpair_sge(s, 0, 100);
	uint8_t reply[FRAME_LEN + 1] = REPLY, request[OUR_REQUEST_LEN];
	struct usiw_cqe cqe;
	pthread_t thread;
	struct end ini;
	int fd[2];

	reply[20] = 0x80;
	reply[22] = 0x80;
	tcp_pair(fd);
	ini = end_of(p, 0, fd[0]);
	assert_int_equal(rnicpair_post_recv(s, 11, &sge, 1), 0);
	must(!pthread_create(&thread, NULL, end_run, &ini));
	tcp_read(fd[1], request, sizeof(request));
	tcp_write(fd[1], reply, FRAME_LEN);
	must(!shutdown(fd[1], SHUT_WR));
	must(!pthread_join(thread, NULL));
	assert_int_equal(ini.rc, 0);
	cqe = rnicpair_take(s, s->rcq);
	assert_int_equal(cqe.status, USIW_WC_WR_FLUSH_ERR);
	tcp_close(fd);
}

/* A Reply with R=1 and streaming octets after it, in one segment. */
FILE_CASE(octets_behind_a_rejection_are_the_callers)
{
	static const char reply[] = REPLY_KEY "\x70\x02\0\x06\0\x01\0\x01no"
					      "still here\n";
	struct rnicpair *p = *state;
	uint8_t request[OUR_REQUEST_LEN];
	pthread_t thread;
	struct end ini;
	int fd[2];

	tcp_pair(fd);
	ini = end_of(p, 0, fd[0]);
	must(!pthread_create(&thread, NULL, end_run, &ini));
	tcp_read(fd[1], request, sizeof(request));
	tcp_write(fd[1], reply, sizeof(reply) - 1);
	must(!pthread_join(thread, NULL));
	assert_int_equal(ini.rc, -ECONNREFUSED);
	assert_int_equal(ini.start.pd_len, 2);
	assert_memory_equal(ini.peer_pd, "no", 2);
	assert_int_equal(ini.taken, FRAME_LEN + 2);
	tcp_expect(fd[0], "still here\n", 11);
	tcp_expect_alive(fd[0], fd[1]);
	tcp_close(fd);
}

/* The Request, and octets that the peer was not allowed to send: they stay for
 * the caller. */
FILE_CASE(octets_behind_a_rejected_request_are_the_callers)
{
	struct rnicpair *p = *state;
	struct end rsp;
	int fd[2];

	tcp_pair(fd);
	tcp_write(fd[0], REQUEST "more", FRAME_LEN + 4);
	rsp = end_of(p, 1, fd[1]);
	rsp.reject = "";
	assert_int_equal(end_attach(&rsp), -ECONNREFUSED);
	assert_int_equal(rsp.taken, FRAME_LEN);
	tcp_expect(fd[1], "more", 4);
	tcp_expect(fd[0], REPLY_KEY "\x70", 17);
	tcp_close(fd);
}

/* T-58: EOF at each octet of the start frame, in either role. */
FILE_CASE(end_at_each_octet_is_told)
{
	struct rnicpair *p = *state;

	for (int side = 0; side < 2; side++) {
		const char *frame = side ? REQUEST : REPLY;

		for (size_t len = 0; len < FRAME_LEN; len++) {
			struct end e;
			int fd[2];

			tcp_pair(fd);
			tcp_write(fd[1], frame, len);
			must(!shutdown(fd[1], SHUT_WR));
			e = end_of(p, side, fd[0]);
			assert_int_equal(end_attach(&e), -ECONNRESET);
			assert_int_equal(e.taken, len);
			expect_idle(&e);
			/* The other direction is open, and belongs to the
			 * caller. */
			if (side == 0) {
				uint8_t request[OUR_REQUEST_LEN];

				tcp_read(fd[1], request, sizeof(request));
			}
			tcp_write(fd[0], "bye", 3);
			tcp_expect(fd[1], "bye", 3);
			tcp_close(fd);
		}
	}
}

/* T-57: what arrived before was read, what arrives later is not. */
FILE_CASE(silence_at_each_octet_times_out)
{
	struct rnicpair *p = *state;

	for (size_t len = 0; len < FRAME_LEN; len += 5) {
		uint64_t start_ms = until_ms();
		struct end e;
		int fd[2];

		tcp_pair(fd);
		tcp_write(fd[0], REQUEST, len);
		e = end_of(p, 1, fd[1]);
		e.opt.timeout_ms = 30;
		assert_int_equal(end_attach(&e), -ETIMEDOUT);
		assert_true(until_ms() - start_ms >= 30);
		assert_int_equal(e.taken, len);
		expect_idle(&e);
		tcp_write(fd[0], REQUEST + len, FRAME_LEN - len);
		tcp_expect(fd[1], REQUEST + len, FRAME_LEN - len);
		tcp_expect_nothing(fd[1]);
		tcp_close(fd);
	}
}

/* Streaming octets that the caller has not read yet are not a start frame. */
FILE_CASE(other_octets_are_eproto)
{
	static const char line[] = "GET / HTTP/1.1\r\nHost: somebody\r\n\r\n";
	struct rnicpair *p = *state;

	for (int side = 0; side < 2; side++) {
		struct end e;
		int fd[2];

		tcp_pair(fd);
		tcp_write(fd[1], line, sizeof(line) - 1);
		e = end_of(p, side, fd[0]);
		assert_int_equal(end_attach(&e), -EPROTO);
		assert_true(e.taken >= 1 && e.taken <= 20);
		tcp_expect(fd[0], line + e.taken, sizeof(line) - 1 - e.taken);
		expect_idle(&e);
		tcp_close(fd);
	}
}

FILE_CASE(reset_is_told)
{
	struct linger now = { 1, 0 };
	struct rnicpair *p = *state;
	pthread_t thread;
	struct end e;
	int fd[2];

	tcp_pair(fd);
	must(!setsockopt(fd[1], SOL_SOCKET, SO_LINGER, &now, sizeof(now)));
	e = end_of(p, 1, fd[0]);
	e.opt.last = "anybody?";
	e.opt.last_len = 8;
	must(!pthread_create(&thread, NULL, end_run, &e));
	tcp_expect(fd[1], "anybody?", 8);
	close(fd[1]);
	must(!pthread_join(thread, NULL));
	assert_int_equal(e.rc, -ECONNRESET);
	expect_idle(&e);
	/* from here on it is not a connected socket */
	assert_int_equal(end_attach(&e), -EINVAL);
	close(fd[0]);
}

/* ---- arguments ---- */

static int attach_to(struct rnicpair *p, int side, int fd)
{
	struct end e = end_of(p, side, fd);

	e.opt.timeout_ms = 1;
	return end_attach(&e);
}

FILE_CASE(refuses_what_is_no_connected_tcp_socket)
{
	int udp = socket(AF_INET, SOCK_DGRAM, 0);
	int alone = socket(AF_INET, SOCK_STREAM, 0);
	struct rnicpair *p = *state;
	int local[2], pipes[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, local));
	must(!pipe(pipes));
	assert_int_equal(attach_to(p, 0, udp), -EINVAL);
	assert_int_equal(attach_to(p, 0, alone), -EINVAL);
	assert_int_equal(attach_to(p, 0, local[0]), -EINVAL);
	assert_int_equal(attach_to(p, 0, pipes[0]), -EINVAL);
	assert_int_equal(attach_to(p, 0, -1), -EBADF);
	assert_int_equal(rnic_qp_state(p->side[0].qp), RNIC_QPS_IDLE);
	close(udp);
	close(alone);
	tcp_close(local);
	tcp_close(pipes);
}

/* The peer may be another stack, and those have RC only. */
FILE_CASE(refuses_another_type_before_it_sends)
{
	struct rnicpair *p = *state;
	uint32_t events;
	struct end e;
	int fd[2];

	tcp_pair(fd);
	e = end_of(p, 0, fd[0]);
	p->opt.type = RNIC_QPT_UC;
	e.qp = rnicpair_qp_new(p, 0);
	assert_int_equal(end_attach(&e), -EINVAL);
	tcp_expect_nothing(fd[1]);
	assert_int_equal(rnic_qp_destroy(e.qp, &events), 0);
	tcp_close(fd);
}

/* A failed connection reports its error, also before the first octet. */
FILE_CASE(a_connection_that_was_reset_says_so)
{
	struct linger at_once = { .l_onoff = 1 };
	struct rnicpair *p = *state;
	int fd[2];

	tcp_pair(fd);
	must(!setsockopt(fd[1], SOL_SOCKET, SO_LINGER, &at_once,
			 sizeof(at_once)));
	close(fd[1]);
	assert_int_equal(attach_to(p, 0, fd[0]), -ECONNRESET);
	assert_int_equal(rnic_qp_state(p->side[0].qp), RNIC_QPS_IDLE);
	close(fd[0]);
}

FILE_CASE(refuses_bad_options_before_it_sends)
{
	static const char long_pd[513];
	struct rnicpair *p = *state;
	struct end e;
	int fd[2];

	tcp_pair(fd);
	e = end_of(p, 0, fd[0]);
	e.opt.pd = long_pd;
	e.opt.pd_len = 509; /* 508 is the maximum with IRD and ORD */
	assert_int_equal(end_attach(&e), -EMSGSIZE);
	e.opt.rev = 1;
	e.opt.pd_len = 513;
	assert_int_equal(end_attach(&e), -EMSGSIZE);
	e.opt.rev = 3;
	e.opt.pd_len = 0;
	assert_int_equal(end_attach(&e), -EINVAL);
	e.opt.rev = 0;
	e.opt.last = "x";
	e.opt.last_len = 1; /* the Initiator has none */
	assert_int_equal(end_attach(&e), -EINVAL);
	assert_int_equal(rnic_qp_modify(e.qp, RNIC_QPS_ERROR), 0);
	e.opt.last_len = 0;
	assert_int_equal(end_attach(&e), -EINVAL);
	tcp_expect_nothing(fd[1]);
	tcp_expect_alive(fd[0], fd[1]);
	tcp_close(fd);
}

/* Two attachments at once to one QP: the second finds the QP in use and
 * fails. */
FILE_CASE(second_attachment_is_einval)
{
	struct rnicpair *p = *state;
	struct rnic_attach_start start;
	struct rnic_attach *late;
	struct end ini, rsp;
	pthread_t thread;
	int fd[2], other[2];

	tcp_pair(fd);
	tcp_pair(other);
	ini = end_of(p, 0, fd[0]);
	rsp = end_of(p, 1, fd[1]);
	assert_int_equal(rnic_attach_open(rsp.qp, other[1], &rsp.opt, &late),
			 0);
	must(!pthread_create(&thread, NULL, end_run, &rsp));
	assert_int_equal(end_attach(&ini), 0);
	must(!pthread_join(thread, NULL));
	assert_int_equal(rsp.rc, 0);
	tcp_write(other[0], REQUEST, FRAME_LEN);
	assert_int_equal(rnic_attach_wait(late, &start), 0);
	assert_int_equal(rnic_attach_accept(late, NULL, 0, 0, 0, &start),
			 -EINVAL);
	rnic_attach_free(late);
	tcp_expect_nothing(other[0]); /* no Reply */
	tcp_close(fd);
	tcp_close(other);
	expect_send(p, 0, 6);
}

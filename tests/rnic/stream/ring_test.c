/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ring.c: octets of QPs through the local path, and every way off it: no
 * octet is lost, and a peer that breaks the rules gets a closed connection.
 */
#define _GNU_SOURCE
#include "child.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/engine.h"
#include "local/local.h"
#include "local/meet.h"
#include "local/ring.h"
#include "mem/context.h"
#include "os/fd.h"
#include "qp/object.h"
#include "qp/qp.h"
#include "rnicpair.h"
#include "sources.h"
#include "stream/attach.h"
#include "stream/object.h"
#include "stream/pass.h"
#include "stream/ring.h"
#include "stream/tcp.h"

static const struct rnicpair_options usual = RNICPAIR_OPTIONS_INIT;

static struct rnic_engine *engine_of(struct rnicpair *p, int side)
{
	return p->side[side].ctx->engine;
}

static struct rnic_stream *stream_of(struct rnicpair *p, int side)
{
	return rnic_qp_stream(p->side[side].qp);
}

static bool stream_is_local(const struct rnic_stream *stream)
{
	return stream && stream->local && stream->local->is_tx_on &&
	       stream->local->is_rx_on && stream->local->tcp_rest == 0;
}

static bool is_local(struct rnicpair *p, int side)
{
	return with_lead(engine_of(p, side),
			 stream_is_local(stream_of(p, side)));
}

/* Octets that the side's TCP has sent and received. */
static uint64_t tcp_octets(struct rnicpair *p, int side)
{
	struct tcp_info info;
	bool is_known =
		with_lead(engine_of(p, side),
			  rnic_stream_tcp_info(stream_of(p, side), &info));

	assert_true(is_known);
	return info.tcpi_bytes_sent + info.tcpi_bytes_received;
}

/* A SEND of @len octets from one side to the other, checked. */
static void echo(struct rnicpair *p, int from, size_t len, uint32_t seed)
{
	struct rnicpair_side *a = &p->side[from], *b = &p->side[!from];

	rnicpair_fill(a->buf, len, seed);
	rnicpair_post_echo(p, from, len);
	assert_int_equal(rnicpair_take(b, b->rcq).status, USIW_WC_SUCCESS);
	assert_int_equal(rnicpair_take(a, a->scq).status, USIW_WC_SUCCESS);
	assert_true(rnicpair_is_filled(b->buf + (1u << 20), len, seed));
}

static void read_back(struct rnicpair *p, int by, size_t len, uint32_t seed)
{
	struct rnicpair_side *a = &p->side[by], *b = &p->side[!by];

	rnicpair_fill(b->buf, len, seed);
	memset(a->buf, 0, len);
	rnicpair_post_read(p, by, 7, len);
	assert_int_equal(rnicpair_take(a, a->scq).status, USIW_WC_SUCCESS);
	assert_true(rnicpair_is_filled(a->buf, len, seed));
}

static void all_sizes(struct rnicpair *p)
{
	static const size_t sizes[] = { 1,     64,     4096,   16383,
					65537, 300000, 1000000 };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		echo(p, 0, sizes[i], (uint32_t)i);
		echo(p, 1, sizes[i], (uint32_t)i + 50);
		read_back(p, 0, sizes[i], (uint32_t)i + 100);
		read_back(p, 1, sizes[i], (uint32_t)i + 150);
	}
}

static const struct {
	const char *name;
	bool has_crc;
	uint8_t rtr;
} starts[] = {
	{ "CRC, RTR", true, SMPA_RTR_WRITE },
	{ "CRC, an RTR that is answered", true, SMPA_RTR_READ },
	{ "CRC, no RTR", true, 0 },
	{ "no CRC, RTR", false, SMPA_RTR_WRITE },
};

/* The side looks for the other one after so many FPDUs, if it still does. */
static void meet_at(struct rnicpair *p, int side, uint64_t fpdu_cnt)
{
	rnic_engine_lead(engine_of(p, side));
	stream_of(p, side)->meet_at = fpdu_cnt;
	if (stream_of(p, side)->meet_tries)
		stream_of(p, side)->meet_tries = 20;
	rnic_engine_unlead(engine_of(p, side));
}

/* Messages to and fro until the octets of both sides go by the rings.  @first,
 * @last: the sides that look for each other.  Return: whether they do. */
static bool change_between(struct rnicpair *p, int first, int last)
{
	for (uint32_t i = 0; i < 40; i++) {
		if (is_local(p, 0) && is_local(p, 1))
			return true;
		/* In turn: a take that comes between connect() and the offer
		 * fails. */
		if (i % 4 < 2 ? first == 0 : last == 1)
			meet_at(p, i % 4 < 2 ? 0 : 1, 0);
		echo(p, (int)(i & 1), 100, i);
	}
	return false;
}

static bool change(struct rnicpair *p)
{
	return change_between(p, 0, 1);
}

CASE(carries_everything_past_tcp)
{
	for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
		struct rnicpair_options opt = usual;
		struct rnicpair p;
		uint64_t before;

		opt.has_crc = starts[i].has_crc;
		opt.rtr = starts[i].rtr;
		rnicpair_open(&p, &opt);
		assert_row(starts[i].name, change(&p));
		before = tcp_octets(&p, 0);
		all_sizes(&p);
		assert_row(starts[i].name, tcp_octets(&p, 0) == before);
		rnicpair_close(&p);
	}
}

static bool has_staging(const struct rnic_stream *stream)
{
	return stream->rx_staging || stream->tx_staging;
}

/* While octets come one after the other a stream keeps its staging. */
CASE(sleeping_streams_hold_no_staging)
{
	struct rnicpair p;

	rnicpair_open(&p, &usual);
	assert_true(change(&p));
	for (uint32_t i = 0; i < 20; i++)
		echo(&p, (int)(i & 1), 8, i);
	for (int side = 0; side < 2; side++)
		wait_until(with_lead(engine_of(&p, side),
				     !has_staging(stream_of(&p, side))));
	echo(&p, 0, 8, 77);
	rnicpair_close(&p);
}

/* A connection with few messages costs no more than over TCP. */
CASE(stays_on_tcp_until_it_is_used)
{
	struct rnicpair p;

	rnicpair_open(&p, &usual);
	meet_at(&p, 0, 32);
	meet_at(&p, 1, 32);
	for (uint32_t i = 0; i < 10; i++)
		echo(&p, (int)(i & 1), 100, i);
	for (int side = 0; side < 2; side++)
		assert_true(with_lead(engine_of(&p, side),
				      !stream_of(&p, side)->local));
	for (uint32_t i = 0; i < 300; i++)
		echo(&p, (int)(i & 1), 100, i);
	assert_true(is_local(&p, 0) && is_local(&p, 1));
	rnicpair_close(&p);
}

/* ---- one end does not take part ---- */

enum absent { NO_LISTENER, NO_OFFER, NO_TAKER };

static const struct {
	const char *name;
	enum absent absent;
} absences[] = {
	{ "the Initiator does not listen", NO_LISTENER },
	{ "the Responder offers nothing", NO_OFFER },
	{ "the Initiator does not take it", NO_TAKER },
};

CASE(stays_on_tcp_where_one_end_is_absent)
{
	for (size_t i = 0; i < ARRAY_LEN(absences); i++) {
		enum absent absent = absences[i].absent;
		int listener = -1;
		struct rnicpair p;
		uint64_t before;

		rnicpair_open(&p, &usual);
		if (absent == NO_TAKER)
			listener = rnic_meet_listen(with_lead(
				engine_of(&p, 0), stream_of(&p, 0)->source.fd));
		assert_false(change_between(&p, absent == NO_OFFER ? 0 : 1,
					    absent == NO_OFFER ? 0 : 1));
		/* What was offered is taken back. */
		assert_row(absences[i].name,
			   with_lead(engine_of(&p, 1),
				     !!stream_of(&p, 1)->local) ==
				   (absent == NO_TAKER));
		rnic_fd_close(listener);
		wait_until((
			rnic_cq_progress(p.side[1].scq),
			with_lead(engine_of(&p, 1), !stream_of(&p, 1)->local)));
		before = tcp_octets(&p, 0);
		all_sizes(&p);
		assert_row(absences[i].name,
			   !is_local(&p, 0) && !is_local(&p, 1));
		assert_row(absences[i].name,
			   tcp_octets(&p, 0) > before + 1000000);
		rnicpair_close(&p);
	}
}

/* ---- back to TCP ---- */

static void lose(struct rnicpair *p, int side)
{
	rnic_engine_lead(engine_of(p, side));
	rnic_stream_ring_lost(stream_of(p, side));
	rnic_stream_pass(stream_of(p, side), POLLIN);
	rnic_engine_unlead(engine_of(p, side));
}

/* A thread keeps sending while the path goes; what arrives is in order. */
struct flood {
	struct rnicpair *p;
	uint32_t cnt;
};

#define FLOOD_LEN 5000

static void *flood_send(void *arg)
{
	struct flood *flood = arg;
	struct rnicpair_side *a = &flood->p->side[0];

	for (uint32_t i = 0; i < flood->cnt; i++) {
		struct usiw_sge sge = rnicpair_sge(a, i % 8 * 8192, FLOOD_LEN);
		struct rnicpair_wr wr = { .wr_id = i,
					  .opcode = USIW_WR_SEND,
					  .flags = USIW_SQE_SIGNALED,
					  .sge = &sge,
					  .sge_cnt = 1 };

		rnicpair_fill(a->buf + i % 8 * 8192, FLOOD_LEN, i);
		must(!rnicpair_post(a, &wr));
		must(rnicpair_take(a, a->scq).status == USIW_WC_SUCCESS);
	}
	return NULL;
}

static void flood_receive(struct rnicpair *p, uint32_t i)
{
	struct rnicpair_side *b = &p->side[1];
	struct usiw_cqe cqe = rnicpair_take(b, b->rcq);
	uint8_t *at = b->buf + cqe.wr_id * 8192;
	struct usiw_sge sge = rnicpair_sge(b, cqe.wr_id * 8192, 8192);

	assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	assert_int_equal(cqe.wr_id, i % 32);
	assert_true(rnicpair_is_filled(at, FLOOD_LEN, i));
	assert_int_equal(rnicpair_post_recv(b, cqe.wr_id, &sge, 1), 0);
}

/* @at: messages received before @then, which is called @cnt times. */
static void flood_until(struct rnicpair *p, uint32_t at, uint32_t cnt,
			void (*then)(struct rnicpair *p, int side), int side)
{
	struct flood flood = { .p = p, .cnt = 400 };
	pthread_t thread;

	for (uint64_t i = 0; i < 32; i++) {
		struct usiw_sge sge = rnicpair_sge(&p->side[1], i * 8192, 8192);

		assert_int_equal(rnicpair_post_recv(&p->side[1], i, &sge, 1),
				 0);
	}
	assert_int_equal(pthread_create(&thread, NULL, flood_send, &flood), 0);
	for (uint32_t i = 0; i < flood.cnt; i++) {
		if (i >= at && i < at + cnt)
			then(p, side);
		flood_receive(p, i);
	}
	pthread_join(thread, NULL);
	/* The receives that are left. */
	for (uint32_t i = 0; i < 32; i++) {
		struct rnicpair_side *a = &p->side[0];
		struct rnicpair_wr wr = { .opcode = USIW_WR_SEND,
					  .flags = USIW_SQE_SIGNALED };

		assert_int_equal(rnicpair_post(a, &wr), 0);
		assert_int_equal(rnicpair_take(a, a->scq).status,
				 USIW_WC_SUCCESS);
		assert_int_equal(
			rnicpair_take(&p->side[1], p->side[1].rcq).status,
			USIW_WC_SUCCESS);
	}
}

static void meet_now(struct rnicpair *p, int side)
{
	meet_at(p, side, 0);
	meet_at(p, !side, 0);
}

/* TCP has octets that were sent before, and perhaps no space for more. */
CASE(changes_while_octets_move)
{
	static const int sockbufs[] = { 0, 4096 };

	for (uint32_t at = 0; at < 300; at = at * 3 + 1) {
		/* With a buffer this small, TCP takes 40 ms for each message
		 * that still goes by it. */
		for (int i = 0; i < (at < 40 ? 4 : 2); i++) {
			struct rnicpair_options opt = usual;
			struct rnicpair p;
			uint64_t before;

			opt.sockbuf = sockbufs[i / 2];
			rnicpair_open(&p, &opt);
			flood_until(&p, at, 40, meet_now, i % 2);
			assert_true(change(&p));
			before = tcp_octets(&p, 0);
			all_sizes(&p);
			assert_true(tcp_octets(&p, 0) == before);
			rnicpair_close(&p);
		}
	}
}

CASE(loses_no_octet_on_the_way_back)
{
	for (uint32_t at = 1; at < 300; at = at * 3 + 1) {
		for (int side = 0; side < 2; side++) {
			struct rnicpair p;

			rnicpair_open(&p, &usual);
			assert_true(change(&p));
			flood_until(&p, at, 1, lose, side);
			assert_true(with_lead(
				engine_of(&p, 0),
				stream_of(&p, 0)->local->has_left_tx));
			all_sizes(&p);
			rnicpair_close(&p);
		}
	}
}

/* The test takes the Initiator's end of the local path.  Return: the socket at
 * which it listens. */
static int take_initiator_end(struct rnicpair *p, struct rnic_local **ret_local)
{
	int listener = rnic_meet_listen(
		with_lead(engine_of(p, 0), stream_of(p, 0)->source.fd));

	assert_true(listener >= 0);
	meet_at(p, 1, 0);
	echo(p, 0, 100, 1);
	echo(p, 1, 100, 1);
	wait_until((rnic_cq_progress(p->side[1].scq),
		    rnic_meet_take(listener, ret_local) == 0));
	return listener;
}

/* What the Initiator has written before the Responder has looked is read. */
CASE(reads_what_came_before_its_wake_socket_is_lost)
{
	struct rnic_local *local;
	struct rnic_stream *stream;
	struct rnicpair p;
	bool is_read;
	int listener;

	rnicpair_open(&p, &usual);
	listener = take_initiator_end(&p, &local);
	rnic_engine_lead(engine_of(&p, 1));
	stream = stream_of(&p, 1);
	assert_int_equal(rnic_local_tx_begin(local, stream->rx_octets), 0);
	rnic_stream_ring_lost(stream);
	rnic_stream_pass(stream, POLLIN);
	is_read = stream->local && stream->local->is_rx_on;
	rnic_engine_unlead(engine_of(&p, 1));
	assert_true(is_read);
	rnic_local_free(local);
	rnic_fd_close(listener);
	rnicpair_close(&p);
}

/* Both ends idle: what comes later comes by TCP, in both directions. */
CASE(goes_back_while_nothing_moves)
{
	for (int side = 0; side < 2; side++) {
		struct rnicpair p;
		uint64_t before;

		rnicpair_open(&p, &usual);
		assert_true(change(&p));
		lose(&p, side);
		before = tcp_octets(&p, 0);
		all_sizes(&p);
		assert_true(tcp_octets(&p, 0) > before + 1000000);
		rnicpair_close(&p);
	}
}

/* ---- a hostile peer ---- */

static void lie_head_ahead(struct rnic_local *local)
{
	local->rx.shared->head = local->rx.own + RNIC_RING_SIZE + 1;
}

static void lie_head_behind(struct rnic_local *local)
{
	local->rx.shared->head = local->rx.own - 1;
}

static void lie_garbage(struct rnic_local *local)
{
	memset(local->rx.data, 0xff, RNIC_RING_SIZE);
	local->rx.shared->head = local->rx.own + 4096;
}

static const struct {
	const char *name;
	void (*lie)(struct rnic_local *local);
} lies[] = {
	{ "more octets than the ring holds", lie_head_ahead },
	{ "less than nothing", lie_head_behind },
	{ "octets that are no FPDU", lie_garbage },
};

CASE(hostile_ring_ends_the_connection)
{
	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		struct rnicpair_side *s;
		struct rnicpair p;

		rnicpair_open(&p, &usual);
		assert_true(change(&p));
		s = &p.side[1];
		assert_int_equal(rnicpair_post_recv(s, 5, NULL, 0), 0);
		rnic_engine_lead(engine_of(&p, 1));
		lies[i].lie(stream_of(&p, 1)->local);
		rnic_engine_unlead(engine_of(&p, 1));
		wait_until(
			(rnic_cq_progress(s->scq),
			 rnic_qp_state(s->qp) == RNIC_QPS_ERROR ||
				 rnic_qp_state(s->qp) == RNIC_QPS_TERMINATE));
		assert_row(lies[i].name, rnicpair_take(s, s->rcq).status ==
						 USIW_WC_WR_FLUSH_ERR);
		rnicpair_close(&p);
	}
}

/* Before anything has gone by the ring: it begins behind octets that never
 * come, or that came long ago. */
CASE(hostile_start_ends_the_connection)
{
	static const uint64_t starts_at[] = { 0, 1 };

	for (size_t i = 0; i < ARRAY_LEN(starts_at); i++) {
		struct rnic_local *local;
		struct rnicpair p;
		int listener;

		rnicpair_open(&p, &usual);
		listener = take_initiator_end(&p, &local);
		assert_int_equal(rnic_local_tx_begin(local, starts_at[i]), 0);
		rnicpair_wait_state(&p.side[1], RNIC_QPS_ERROR);
		rnic_local_free(local);
		rnic_fd_close(listener);
		rnicpair_close(&p);
	}
}

/* Octets on TCP while the ring is in use are nobody's. */
CASE(octets_on_tcp_end_the_connection)
{
	struct rnicpair_side *s;
	struct rnicpair p;
	int fd;

	rnicpair_open(&p, &usual);
	assert_true(change(&p));
	s = &p.side[1];
	fd = with_lead(engine_of(&p, 0), stream_of(&p, 0)->source.fd);
	assert_int_equal(send(fd, "foreign octets", 14, 0), 14);
	rnicpair_wait_state(s, RNIC_QPS_ERROR);
	rnicpair_close(&p);
}

/* ---- the peer's process ends, stops, execs or forks at each step ---- */

enum step {
	STEP_LISTENS,
	STEP_ESTABLISHED,
	STEP_TAKEN,
	STEP_BEGUN,
	STEP_SENT,
	STEP_CNT
};

static const char *const step_names[] = { "listens", "has the Reply",
					  "has taken the memory",
					  "has begun to send by the ring",
					  "has sent its first FPDU" };

enum fate { FATE_KILLED, FATE_STOPPED, FATE_EXECS, FATE_FORKS };

/* Waits for an octet, or for the end of the test.  Return: an octet came. */
static bool wait_told(int told)
{
	char octet;

	return read(told, &octet, 1) == 1;
}

/* What does not inherit the connection lives on until the end of the test. */
static void live_on(enum fate fate, int told)
{
	if (fate == FATE_EXECS) {
		must(dup2(told, 0) == 0);
		must(!fcntl(0, F_SETFD, 0));
		execl("/bin/cat", "cat", NULL);
		abort();
	}
	if (fate == FATE_FORKS && fork() == 0)
		(void)wait_told(told);
	_exit(0);
}

/* The Initiator, in a process of its own, by hand; comes as far as @last. */
static void initiator_run(int fd, enum step last, enum fate fate, int ready,
			  int told)
{
	struct smpa_options opt = SMPA_OPTIONS_INIT;
	struct rnic_stream *stream;
	struct smpa_event ev;
	int listener;

	opt.role = SMPA_INITIATOR;
	opt.rtr = SMPA_RTR_WRITE;
	opt.ird = opt.ord = 8;
	must(!rnic_stream_new(fd, &opt, &stream));
	listener = rnic_meet_listen(fd);
	must(listener >= 0);
	must(!smpa_conn_start(stream->conn, "ping", 4));
	/* Not a step, which may find the Reply already. */
	must(!rnic_stream_start_flush(stream));
	if (last >= STEP_ESTABLISHED)
		wait_until(rnic_stream_start_step(stream, &ev) == 1);
	if (last >= STEP_TAKEN) {
		wait_until(rnic_meet_take(listener, &stream->local) == 0);
		stream->carrier = &rnic_ring_carrier;
	}
	if (last >= STEP_BEGUN)
		must(!rnic_local_tx_begin(stream->local, stream->tx_octets));
	if (last >= STEP_SENT)
		must(!rnic_stream_start_flush(stream));
	must(write(ready, "x", 1) == 1);
	if (wait_told(told))
		live_on(fate, told);
	_exit(0);
}

struct peer {
	pid_t pid;
	int fd; /* the TCP connection to it */
	int ready;
	int tell; /* an octet: it meets its fate; closed: it ends */
};

/* Nothing of the RNIC is open here yet, and nothing of it is inherited. */
static void peer_start(struct peer *peer, enum step last, enum fate fate)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int ready[2], told[2];
	socklen_t len = sizeof(addr);

	must(!bind(listener, (struct sockaddr *)&addr, len));
	must(!listen(listener, 1));
	must(!getsockname(listener, (struct sockaddr *)&addr, &len));
	must(!pipe2(ready, O_CLOEXEC));
	must(!pipe2(told, O_CLOEXEC));
	peer->pid = fork();
	must(peer->pid >= 0);
	if (peer->pid == 0) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		must(!connect(fd, (struct sockaddr *)&addr, len));
		must(!fcntl(fd, F_SETFL, O_NONBLOCK));
		fd = rnic_fd_own(fd);
		must(fd >= 0);
		close(told[1]);
		initiator_run(fd, last, fate, ready[1], told[0]);
	}
	close(ready[1]);
	close(told[0]);
	peer->ready = ready[0];
	peer->tell = told[1];
	peer->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	must(peer->fd >= 0);
	peer->fd = rnic_fd_own(peer->fd);
	must(peer->fd >= 0);
	close(listener);
}

static void responder_take(struct rnicpair *p, struct peer *peer)
{
	struct smpa_options opt = SMPA_OPTIONS_INIT;
	struct rnic_stream *stream;
	struct smpa_event ev;

	opt.role = SMPA_RESPONDER;
	assert_int_equal(rnic_stream_new(peer->fd, &opt, &stream), 0);
	assert_int_equal(smpa_conn_start(stream->conn, NULL, 0), 0);
	wait_until(rnic_stream_start_step(stream, &ev) == 1);
	assert_int_equal(ev.type, SMPA_EV_REQUEST);
	assert_int_equal(smpa_conn_accept(stream->conn, NULL, 0, 8, 8), 0);
	assert_int_equal(rnic_stream_start_step(stream, &ev), 1);
	assert_int_equal(ev.type, SMPA_EV_ESTABLISHED);
	assert_int_equal(rnic_qp_attach_stream(p->side[1].qp, stream, 8, 8, 0),
			 0);
}

/* Until then it is offered the local path. */
static bool peer_is_ready(struct rnicpair *p, const struct peer *peer)
{
	struct pollfd ready = { .fd = peer->ready, .events = POLLIN };

	if (poll(&ready, 1, 0) > 0)
		return true;
	meet_at(p, 1, 0);
	rnic_engine_lead(engine_of(p, 1));
	rnic_stream_tx(stream_of(p, 1));
	rnic_engine_unlead(engine_of(p, 1));
	return false;
}

static void peer_ends(enum step last, enum fate fate)
{
	struct usiw_sge sge;
	struct rnicpair_wr wr = { .wr_id = 1,
				  .opcode = USIW_WR_SEND,
				  .flags = USIW_SQE_SIGNALED,
				  .sge = &sge,
				  .sge_cnt = 1 };
	struct rnicpair_side *s;
	struct rnicpair p;
	struct peer peer;
	char octet;
	int status;

	peer_start(&peer, last, fate);
	rnicpair_open_idle(&p, &usual);
	s = &p.side[1];
	sge = rnicpair_sge(s, 0, 1000000);
	responder_take(&p, &peer);
	wait_until(peer_is_ready(&p, &peer));
	assert_int_equal(read(peer.ready, &octet, 1), 1);
	if (fate == FATE_STOPPED)
		assert_int_equal(kill(peer.pid, SIGSTOP), 0);
	assert_int_equal(rnicpair_post_recv(s, 3, NULL, 0), 0);
	/* More than the ring holds: the rest waits for ever. */
	assert_int_equal(rnicpair_post(s, &wr), 0);
	if (fate == FATE_STOPPED)
		assert_true(rnicpair_is_quiet(&p, s->rcq));
	assert_row(step_names[last], rnic_qp_state(s->qp) == RNIC_QPS_RTS);
	if (fate == FATE_EXECS || fate == FATE_FORKS)
		assert_int_equal(write(peer.tell, "x", 1), 1);
	else
		assert_int_equal(kill(peer.pid, SIGKILL), 0);
	rnicpair_wait_state(s, RNIC_QPS_ERROR);
	assert_row(step_names[last],
		   rnicpair_take(s, s->rcq).status == USIW_WC_WR_FLUSH_ERR);
	/* TCP may have taken all of it, and said nothing of its end yet. */
	assert_int_equal(rnicpair_take(s, s->scq).wr_id, 1);
	assert_true(rnicpair_is_quiet(&p, s->scq));
	wait_until((rnic_cq_progress(s->scq),
		    with_lead(engine_of(&p, 1),
			      sources_cnt(engine_of(&p, 1))) == 0));
	close(peer.ready);
	close(peer.tell);
	assert_true(waitpid(peer.pid, &status, 0) == peer.pid);
	rnicpair_close(&p);
}

CASE(notices_a_killed_peer_at_each_step)
{
	for (enum step last = STEP_LISTENS; last < STEP_CNT; last++)
		peer_ends(last, FATE_KILLED);
}

CASE(waits_for_a_stopped_peer_at_each_step)
{
	for (enum step last = STEP_LISTENS; last < STEP_CNT; last++)
		peer_ends(last, FATE_STOPPED);
}

/* The process lives on, and the connection does not. */
CASE(notices_a_peer_that_execs_at_each_step)
{
	for (enum step last = STEP_LISTENS; last < STEP_CNT; last++)
		peer_ends(last, FATE_EXECS);
}

/* A child that lives on keeps nothing of the connection open. */
CASE(notices_a_peer_that_leaves_a_child_at_each_step)
{
	for (enum step last = STEP_LISTENS; last < STEP_CNT; last++)
		peer_ends(last, FATE_FORKS);
}

/* ---- chroot ---- */

enum { CHROOT_BEFORE, CHROOT_STARTED, CHROOT_ONE_HAS_IT, CHROOT_BOTH, CHROOTS };

/* Return: whether it may: as root, or with a user namespace. */
static bool chroot_is_allowed(void)
{
	return geteuid() == 0 || unshare(CLONE_NEWUSER) == 0;
}

static char chroot_dir[] = "/tmp/usiw-chroot-XXXXXX";
static int chroot_when;

/* Return: 77: not allowed. */
static int meet_in_a_chroot(void)
{
	struct rnicpair_start start;
	struct rnicpair p;
	int fd[2];

	if (!chroot_is_allowed())
		return 77;
	rnicpair_open_idle(&p, &usual);
	for (int now = CHROOT_BEFORE; now < CHROOTS; now++) {
		if (now == chroot_when)
			must(!chroot(chroot_dir) && !chdir("/"));
		if (now == CHROOT_BEFORE) {
			rnicpair_sockets(0, fd);
			rnicpair_start(&usual, fd, &start);
		} else if (now < CHROOT_BOTH) {
			int j = now - CHROOT_STARTED;

			must(!rnic_qp_attach_stream(
				p.side[j].qp, start.stream[j], start.ird[j],
				start.ord[j], 0));
		}
	}
	CHECK(change(&p));
	echo(&p, 0, 70000, 1);
	echo(&p, 1, 70000, 2);
	rnicpair_close(&p);
	return 0;
}

/* Nothing of the local path has a name in the file system. */
CASE(needs_no_file_system)
{
	int code = 0;

	must(mkdtemp(chroot_dir));
	for (chroot_when = 0; chroot_when < CHROOTS && !code; chroot_when++)
		code = in_child(meet_in_a_chroot);
	must(!rmdir(chroot_dir));
	if (code == 77)
		skip_because("neither root nor a user namespace");
	assert_int_equal(code, 0);
}

/* ---- few descriptors ---- */

/* However few there are, the pair works by one path or the other. */
static int with_few_descriptors(void)
{
	struct rlimit limit;
	bool was_local = false, was_tcp = false;

	must(!getrlimit(RLIMIT_NOFILE, &limit));
	for (rlim_t more = 0; more < 32; more++) {
		struct rnicpair_start start;
		struct rnicpair p;
		int fd[2], free_fd;

		rnicpair_open_idle(&p, &usual);
		rnicpair_sockets(0, fd);
		free_fd = dup(0);
		close(free_fd);
		/* Ours are above; so fill what is below. */
		limit.rlim_cur = (rlim_t)free_fd + more;
		must(!setrlimit(RLIMIT_NOFILE, &limit));
		rnicpair_start(&usual, fd, &start);
		for (int j = 0; j < 2; j++)
			must(!rnic_qp_attach_stream(
				p.side[j].qp, start.stream[j], start.ird[j],
				start.ord[j], 0));
		if (change(&p))
			was_local = true;
		else
			was_tcp = true;
		echo(&p, 0, 70000, 1);
		echo(&p, 1, 70000, 2);
		limit.rlim_cur = limit.rlim_max;
		must(!setrlimit(RLIMIT_NOFILE, &limit));
		rnicpair_close(&p);
	}
	return was_local && was_tcp ? 0 : 1;
}

CASE(works_with_few_descriptors)
{
	assert_int_equal(in_child(with_few_descriptors), 0);
}

BEFORE_CASES()
{
	setenv("USIW_LOCAL", "auto", 1);
	setenv("USIW_LOCAL_AFTER", "65536", 1); /* see meet_at() */
	setenv("USIW_DRAIN_MS", "500", 1);
}

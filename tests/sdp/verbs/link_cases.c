/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * link_cases CASE [CARRIER [PLACE [ADDRESS PORT]]] - two linked programs; under
 * usiw run, or on a device of the machine
 *
 * CASE: a name, or "all". PLACE: threads, processes; listen, connect: one end.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pair.h"

static size_t octets(size_t full)
{
	const char *value = getenv("USIW_SDP_SCALE");

	return value ? full / strtoul(value, NULL, 10) : full;
}

/* ---- ping-pong ---- */

#define ROUNDS 2000

static void ping(struct sdp_link *link)
{
	for (size_t i = 0; i < octets(ROUNDS); i++) {
		uint8_t c = (uint8_t)i, d = 0;

		put(link, &c, 1);
		get(link, &d, 1);
		must(d == (uint8_t)(c + 1));
	}
	must(!sdp_link_shutdown(link));
	get_eof(link);
	sdp_link_close(link, soon());
}

static void pong(struct sdp_link *link)
{
	for (;;) {
		uint8_t c;
		struct iovec iov = { &c, 1 };
		ssize_t n = sdp_link_recv_wait(link, &iov, 1, 0, 0, soon());

		must(n >= 0);
		if (!n)
			break;
		c++;
		put(link, &c, 1);
	}
	sdp_link_close(link, soon());
}

/* ---- both ways at once ---- */

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

struct flow {
	struct sdp_link *link;
	size_t total, piece_max;
	uint64_t seed;
	bool is_poller; /* uses no calls that wait */
};

static void fill(uint8_t *buf, size_t len, uint64_t *state)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = (uint8_t)(next_random(state) >> 32);
}

static ssize_t send_some(struct flow *f, uint8_t *buf, size_t len)
{
	struct iovec iov = { buf, len };
	ssize_t n;

	if (!f->is_poller)
		return sdp_link_send_wait(f->link, &iov, 1, 0, soon());
	while ((n = sdp_link_send(f->link, &iov, 1, 0)) == -EAGAIN)
		must(sdp_link_wait(f->link, SDP_LINK_OUT, soon()) > 0);
	return n;
}

static ssize_t recv_some(struct flow *f, uint8_t *buf, size_t len)
{
	struct iovec iov = { buf, len };
	ssize_t n;

	if (!f->is_poller)
		return sdp_link_recv_wait(f->link, &iov, 1, 0, 0, soon());
	while ((n = sdp_link_recv(f->link, &iov, 1, 0)) == -EAGAIN)
		must(sdp_link_wait(f->link, SDP_LINK_IN, soon()) > 0);
	return n;
}

static void *flow_out(void *arg)
{
	struct flow *f = arg;
	uint64_t data = f->seed, sizes = f->seed + 1;
	uint8_t *buf = malloc(f->piece_max);
	size_t left = f->total;

	while (left) {
		size_t n = 1 + next_random(&sizes) % f->piece_max;
		size_t off = 0;

		n = n < left ? n : left;
		fill(buf, n, &data);
		while (off < n) {
			ssize_t done = send_some(f, buf + off, n - off);

			must(done > 0);
			off += (size_t)done;
		}
		left -= n;
	}
	free(buf);
	return NULL;
}

/* Prints where @got, @len octets from @at of the stream on, differs from
 * @want. */
static void must_be_same(const uint8_t *got, const uint8_t *want, size_t len,
			 size_t at)
{
	size_t from = 0, to = len;

	while (from < len && got[from] == want[from])
		from++;
	while (to > from && got[to - 1] == want[to - 1])
		to--;
	if (from != len)
		fprintf(stderr, "octets %zu to %zu are wrong, of %zu to %zu\n",
			at + from, at + to - 1, at, at + len - 1);
	must(from == len);
}

static void *flow_in(void *arg)
{
	struct flow *f = arg;
	uint64_t data = f->seed, sizes = f->seed + 2;
	uint8_t *buf = malloc(f->piece_max);
	uint8_t *want = malloc(f->piece_max);
	size_t left = f->total;

	while (left) {
		size_t n = 1 + next_random(&sizes) % f->piece_max;
		ssize_t done = recv_some(f, buf, n);

		must(done > 0 && (size_t)done <= left);
		fill(want, (size_t)done, &data);
		must_be_same(buf, want, (size_t)done, f->total - left);
		left -= (size_t)done;
	}
	free(buf);
	free(want);
	return NULL;
}

static void both_ways(struct sdp_link *link, int who, size_t total,
		      size_t piece_max, bool is_poller)
{
	struct flow out = { link, total, piece_max, 77u + (unsigned int)who,
			    is_poller };
	struct flow in = { link, total, piece_max, 78u - (unsigned int)who,
			   is_poller };
	pthread_t thread;

	must(!pthread_create(&thread, NULL, flow_out, &out));
	flow_in(&in);
	pthread_join(thread, NULL);
	must(!sdp_link_shutdown(link));
	get_eof(link);
	sdp_link_close(link, soon());
}

#define BULK (32u << 20)

static void bulk_0(struct sdp_link *link)
{
	both_ways(link, 0, octets(BULK), 1u << 20, false);
}

static void bulk_1(struct sdp_link *link)
{
	both_ways(link, 1, octets(BULK), 1u << 20, false);
}

static void small_0(struct sdp_link *link)
{
	both_ways(link, 0, octets(1u << 20), 100, true);
}

static void small_1(struct sdp_link *link)
{
	both_ways(link, 1, octets(1u << 20), 100, true);
}

static void poller_0(struct sdp_link *link)
{
	both_ways(link, 0, octets(BULK / 2), 200000, true);
}

static void poller_1(struct sdp_link *link)
{
	both_ways(link, 1, octets(BULK / 2), 200000, false);
}

/* ---- the mechanisms ---- */

#define PIECE (1u << 20)
#define PIECES 8

static void stream_out(struct sdp_link *link)
{
	uint8_t *buf = malloc(PIECE);

	for (int i = 0; i < PIECES; i++) {
		memset(buf, 'a' + i, PIECE);
		put(link, buf, PIECE);
	}
	must(!sdp_link_shutdown(link));
	get_eof(link);
	free(buf);
}

static void stream_in(struct sdp_link *link)
{
	uint8_t *buf = malloc(PIECE);

	for (int i = 0; i < PIECES; i++) {
		get(link, buf, PIECE);
		must(buf[0] == 'a' + i && buf[PIECE - 1] == 'a' + i);
	}
	get_eof(link);
	free(buf);
}

/* Completions invalidate advertisements (SDP-151, SDP-167). */
static bool has_invalidate;

static void read_0(struct sdp_link *link)
{
	struct sdp_link_stats s;

	stream_out(link);
	s = stats_of(link);
	must(s.tx_octets == (uint64_t)PIECE * PIECES);
	must(s.tx_read > s.tx_octets / 2 && !s.tx_write);
	must(has_invalidate ? s.rx_invalidates > 0 : !s.rx_invalidates);
	sdp_link_close(link, soon());
}

static void read_1(struct sdp_link *link)
{
	struct sdp_link_stats s;

	stream_in(link);
	s = stats_of(link);
	must(s.rx_octets == (uint64_t)PIECE * PIECES);
	must(s.rx_read > s.rx_octets / 2 && !s.rx_write);
	sdp_link_close(link, soon());
}

/* The receiver advertises its buffer before the data is sent. */
static void write_0(struct sdp_link *link)
{
	struct sdp_link_stats s;
	uint8_t *buf = malloc(PIECE);
	char c;

	memset(buf, 'w', PIECE);
	put(link, buf, PIECE); /* its RdmaRdCompl requests Pipelined */
	for (int i = 0; i < PIECES; i++) {
		get(link, &c, 1);
		put(link, buf, PIECE);
	}
	must(!sdp_link_shutdown(link));
	get_eof(link);
	s = stats_of(link);
	must(s.send_mode == SDP_MODE_PIPELINED);
	must(s.tx_write >= PIECE);
	must(s.rx_carried > 0);
	sdp_link_close(link, soon());
	free(buf);
}

static void write_1(struct sdp_link *link)
{
	struct sdp_link_stats s;
	uint8_t *buf = malloc(PIECE);

	get(link, buf, PIECE);
	for (int i = 0; i < PIECES; i++) {
		size_t done = 0;

		/* The request goes with the SinkAvail for the answer: a
		 * Transaction. */
		must(sdp_link_send(link, &(struct iovec){ "x", 1 }, 1,
				   SDP_SEND_MORE) == 1);
		while (done < PIECE) {
			ssize_t n;
			int ret = sdp_link_recv_zcopy_begin(link, buf + done,
							    PIECE - done, 0);

			must(!ret);
			while ((n = sdp_link_recv_zcopy_done(link)) == -EAGAIN)
				(void)sdp_link_wait(link, SDP_LINK_HUP,
						    sdp_now_ns() + 1000000);
			must(n > 0);
			done += (size_t)n;
		}
		must(buf[0] == 'w' && buf[PIECE - 1] == 'w');
	}
	get_eof(link);
	s = stats_of(link);
	must(s.rx_write >= PIECE);
	must(s.tx_transactions > 0);
	must(s.tx_carried > 0 && s.tx_carried <= s.tx_bcopy);
	must(s.recv_credit > 0 && !s.is_failed);
	sdp_link_close(link, soon());
	free(buf);
}

/* ---- odd addresses and lengths ---- */

#define THRESHOLD 65536u

/* One octet above the threshold, and above a megabyte; memory at any alignment,
 * and at another one at the other end. */
static const uint32_t odd_lengths[] = { THRESHOLD + 1, (1u << 20) + 1 };
#define ODD_TURNS 16

static void odd_fill(uint8_t *at, uint32_t len, uint64_t seed)
{
	seed = seed * 2654435761u + 1;
	fill(at, len, &seed);
}

static void odd_0(struct sdp_link *link)
{
	uint8_t *buf = malloc(odd_lengths[1] + ODD_TURNS);
	uint64_t before = 0;

	for (uint32_t i = 0; i < 2 * ODD_TURNS; i++) {
		uint32_t len = odd_lengths[i % 2];
		uint8_t *at = buf + i / 2;

		odd_fill(at, len, i);
		put(link, at, len);
		/* Not copied, except for the octets of the SrcAvail. */
		must(stats_of(link).tx_read - before > len - THRESHOLD / 2);
		before = stats_of(link).tx_read;
	}
	must(!sdp_link_shutdown(link));
	get_eof(link);
	sdp_link_close(link, soon());
	free(buf);
}

static void odd_1(struct sdp_link *link)
{
	uint8_t *buf = malloc(odd_lengths[1] + ODD_TURNS);
	uint8_t *want = malloc(odd_lengths[1]);

	for (uint32_t i = 0; i < 2 * ODD_TURNS; i++) {
		uint32_t len = odd_lengths[i % 2];
		uint8_t *at = buf + (i * 5 + 3) % ODD_TURNS;

		get(link, at, len);
		odd_fill(want, len, i);
		must(!memcmp(at, want, len));
	}
	get_eof(link);
	sdp_link_close(link, soon());
	free(buf);
	free(want);
}

/* ---- end of links ---- */

static void half_0(struct sdp_link *link)
{
	char buf[6];

	put(link, "hello", 5);
	must(!sdp_link_shutdown(link));
	must(sdp_link_send(link, &(struct iovec){ buf, 1 }, 1, 0) == -EPIPE);
	get(link, buf, 6); /* the other direction continues */
	must(!memcmp(buf, "answer", 6));
	get_eof(link);
	must(sdp_link_wait(link, SDP_LINK_CLOSED, soon()) > 0);
	must(!sdp_link_error(link));
	sdp_link_close(link, soon());
}

static void half_1(struct sdp_link *link)
{
	char buf[5];

	get(link, buf, 5);
	get_eof(link);
	must(sdp_link_state(link) & SDP_LINK_RDHUP);
	must(!(sdp_link_state(link) & SDP_LINK_HUP));
	put(link, "answer", 6);
	must(!sdp_link_linger(link, soon()));
	sdp_link_close(link, soon());
}

static void abort_0(struct sdp_link *link)
{
	char c;

	get(link, &c, 1);
	sdp_link_close(link, 0);
}

static void reset_1(struct sdp_link *link)
{
	struct iovec iov = { (char[1]){ 'x' }, 1 };

	put(link, "x", 1);
	must(sdp_link_recv_wait(link, &iov, 1, 0, 0, soon()) == -ECONNRESET);
	must(sdp_link_recv_wait(link, &iov, 1, 0, 0, soon()) == 0);
	sdp_link_tell_again(link, EAGAIN); /* says nothing of the end */
	must(!(sdp_link_state(link) & SDP_LINK_ERR));
	sdp_link_tell_again(link, ECONNRESET);
	must(sdp_link_state(link) & SDP_LINK_ERR);
	must(sdp_link_send_wait(link, &iov, 1, 0, soon()) == -ECONNRESET);
	must(sdp_link_send_wait(link, &iov, 1, 0, soon()) == -EPIPE);
	must(sdp_link_state(link) & SDP_LINK_HUP);
	sdp_link_close(link, soon());
}

/* After its DisConn: AbortConn reports the reset (T30). Programs see it like a
 * reset of TCP after a FIN. */
static void abort_late_0(struct sdp_link *link)
{
	char c;

	must(!sdp_link_shutdown(link));
	get(link, &c, 1); /* the peer has seen the end */
	sdp_link_abort(link);
	sdp_link_close(link, 0);
}

static void reset_late_1(struct sdp_link *link)
{
	get_eof(link);
	must(!sdp_link_error(link));
	put(link, "x", 1);
	must(sdp_link_wait(link, SDP_LINK_CLOSED, soon()) > 0);
	must(sdp_link_state(link) & SDP_LINK_ERR);
	must(sdp_link_error(link) == EPIPE);
	sdp_link_close(link, soon());
}

/* An event takes milliseconds. Within a minute a thread that sleeps in short
 * intervals is late at most once, and finds the event. */
#define POLLED_LIMIT_NS (PAIR_LIMIT_NS / 12)

/* A program that never sleeps for its links learns of their ends too. With a
 * shared receive queue an event reports an end, not a completion. */
static void poll_once(void)
{
	struct timespec nap = { .tv_nsec = 10000 };

	(void)sdp_progress();
	nanosleep(&nap, NULL);
}

/* Long enough for the progress thread to notice the polling. */
static void poll_often(void)
{
	for (int i = 0; i < 1000; i++)
		poll_once();
}

/* Late, so that the peer has no outstanding send, which would be flushed. */
static void abort_polled_0(struct sdp_link *link)
{
	char c;

	get(link, &c, 1);
	poll_often();
	sdp_link_close(link, 0);
}

static void reset_polled_1(struct sdp_link *link)
{
	uint64_t limit;

	poll_often();
	limit = sdp_now_ns() + POLLED_LIMIT_NS;
	put(link, "x", 1);
	while (!(sdp_link_state(link) & SDP_LINK_CLOSED)) {
		must(sdp_now_ns() < limit);
		poll_once();
	}
	must(sdp_link_state(link) & SDP_LINK_ERR);
	sdp_link_close(link, soon());
}

/* Unread data at the close resets the peer (C22). */
static void unread_0(struct sdp_link *link)
{
	must(sdp_link_wait(link, SDP_LINK_IN, soon()) > 0);
	sdp_link_close(link, soon());
}

static void kill_0(struct sdp_link *link)
{
	char c;

	get(link, &c, 1);
	raise(SIGKILL);
}

/* ---- urgent data ---- */

static void oob_0(struct sdp_link *link)
{
	struct iovec iov = { (char[4]){ "abc!" }, 4 };
	char c;

	must(sdp_link_send_wait(link, &iov, 1, SDP_SEND_OOB, soon()) == 4);
	put(link, "def", 3);
	get(link, &c, 1);
	must(sdp_link_send_wait(link, &iov, 1, SDP_SEND_OOB, soon()) == 4);
	put(link, "def", 3);
	get(link, &c, 1);
	sdp_link_close(link, soon());
}

static void oob_1(struct sdp_link *link)
{
	char buf[16] = "";
	struct iovec iov = { buf, sizeof(buf) };
	struct iovec one = { (char[1]){ 0 }, 1 };

	/* Out of band: reads skip it, and stop before it. */
	must(sdp_link_wait(link, SDP_LINK_PRI, soon()) > 0);
	while (sdp_link_inq(link) < 3)
		must(sdp_link_wait(link, SDP_LINK_IN, soon()) > 0);
	must(sdp_link_recv_wait(link, &iov, 1, 0, 3, soon()) == 3);
	must(!memcmp(buf, "abc", 3));
	while (!sdp_link_at_mark(link))
		sdp_progress();
	must(sdp_link_recv(link, &one, 1, SDP_RECV_OOB) == 1);
	must(*(char *)one.iov_base == '!');
	must(sdp_link_recv(link, &one, 1, SDP_RECV_OOB) == -EINVAL);
	get(link, buf, 3);
	must(!memcmp(buf, "def", 3));
	/* Inline: it is part of the stream, and reads stop before it. */
	must(!sdp_link_set(link, SDP_LINK_OOBINLINE, 1));
	put(link, "x", 1);
	while (sdp_link_inq(link) < 3)
		sdp_progress();
	must(sdp_link_recv_wait(link, &iov, 1, 0, 3, soon()) == 3);
	while (!sdp_link_at_mark(link))
		sdp_progress();
	must(sdp_link_recv(link, &one, 1, SDP_RECV_OOB) == -EINVAL);
	get(link, buf, 4);
	must(!memcmp(buf, "!def", 4));
	put(link, "x", 1);
	get_eof(link);
	sdp_link_close(link, soon());
}

/* ---- several threads on one link ---- */

#define THREADS 4
#define RECORDS 500

struct crew {
	struct sdp_link *link;
	_Atomic unsigned int sum;
};

static void *crew_put(void *arg)
{
	struct crew *crew = arg;

	for (size_t i = 0; i < octets(RECORDS); i++)
		put(crew->link, "7", 1);
	return NULL;
}

static void *crew_get(void *arg)
{
	struct crew *crew = arg;

	for (;;) {
		char buf[7];
		struct iovec iov = { buf, sizeof(buf) };
		ssize_t n =
			sdp_link_recv_wait(crew->link, &iov, 1, 0, 0, soon());

		must(n >= 0);
		if (!n)
			return NULL;
		crew->sum += (unsigned int)n;
	}
}

static void crew_run(struct crew *crew, void *(*fn)(void *))
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		must(!pthread_create(&threads[i], NULL, fn, crew));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void crew_0(struct sdp_link *link)
{
	struct crew crew = { .link = link };

	crew_run(&crew, crew_put);
	must(!sdp_link_shutdown(link));
	get_eof(link);
	sdp_link_close(link, soon());
}

static void crew_1(struct sdp_link *link)
{
	struct crew crew = { .link = link };

	crew_run(&crew, crew_get);
	must(crew.sum == THREADS * octets(RECORDS));
	sdp_link_close(link, soon());
}

/* ---- a peer that closes late ---- */

/* Longer than sdp_verbs_drain() waits for a peer. */
static void late_0(struct sdp_link *link)
{
	struct timespec nap = { .tv_nsec = 200000000 };

	get_eof(link);
	nanosleep(&nap, NULL);
	sdp_link_close(link, soon());
}

static void late_1(struct sdp_link *link)
{
	must(!sdp_link_shutdown(link));
	sdp_link_close(link, soon());
}

/* ---- many links ---- */

#define LINKS 200

static void many(const struct pair *pair)
{
	struct sdp_link *(*links)[2] = calloc(LINKS, sizeof(*links));
	struct held stats;

	for (size_t i = 0; i < LINKS; i++)
		pair_make(pair, links[i]);
	for (size_t i = 0; i < LINKS; i++)
		put(links[i][i % 2], &i, sizeof(i));
	for (size_t i = 0; i < LINKS; i++) {
		size_t got;

		get(links[i][1 - i % 2], &got, sizeof(got));
		must(got == i);
	}
	for (size_t i = 0; i < LINKS; i++) {
		sdp_link_close(links[i][0], soon());
		sdp_link_close(links[i][1], soon());
	}
	drain_links();
	stats = held_now();
	must(stats.links == 0);
	free(links);
}

/* ---- the next event ---- */

static const struct link_case {
	const char *name;
	pair_fn *side[2];
	enum sdp_req_pipe req_pipe;
	bool only_processes;
	bool has_invalidate;
	uint32_t src_threshold; /* 0: the device's default */
} cases[] = {
	{ "pingpong", { ping, pong }, 0, false, false, 0 },
	{ "bulk", { bulk_0, bulk_1 }, 0, false, false, 0 },
	{ "small", { small_0, small_1 }, 0, false, false, 0 },
	{ "poller", { poller_0, poller_1 }, 0, false, false, 0 },
	{ "read", { read_0, read_1 }, 0, false, false, 0 },
	{ "write", { write_0, write_1 }, SDP_REQ_PIPE_ALWAYS, false, false, 0 },
	{ "read-inv", { read_0, read_1 }, 0, false, true, 0 },
	{ "write-inv",
	  { write_0, write_1 },
	  SDP_REQ_PIPE_ALWAYS,
	  false,
	  true,
	  0 },
	{ "odd", { odd_0, odd_1 }, 0, false, false, THRESHOLD },
	{ "half", { half_0, half_1 }, 0, false, false, 0 },
	{ "abort", { abort_0, reset_1 }, 0, false, false, 0 },
	{ "abort-polled",
	  { abort_polled_0, reset_polled_1 },
	  0,
	  false,
	  false,
	  0 },
	{ "abort-late", { abort_late_0, reset_late_1 }, 0, false, false, 0 },
	{ "unread", { unread_0, reset_1 }, 0, false, false, 0 },
	{ "kill", { reset_1, kill_0 }, 0, true, false, 0 },
	{ "oob", { oob_0, oob_1 }, 0, false, false, 0 },
	{ "crew", { crew_0, crew_1 }, 0, false, false, 0 },
	{ "late", { late_0, late_1 }, 0, false, false, 0 },
};

static bool is_alone(enum pair_place place)
{
	return place == PAIR_CONNECT || place == PAIR_LISTEN;
}

static void run_case(const struct link_case *c, struct pair *pair)
{
	/* A device without windows would end the stream of its peer. */
	if (c->has_invalidate && is_alone(pair->place))
		return;
	has_invalidate = c->has_invalidate;
	for (int i = 0; i < 2; i++) {
		pair->opt[i].conn.req_pipe = c->req_pipe;
		pair->opt[i].conn.has_invalidate = c->has_invalidate;
		pair->opt[i].conn.src_threshold = c->src_threshold;
	}
	if (c->only_processes && pair->place == PAIR_THREADS)
		return;
	pair_run(pair, c->side);
}

static enum sdp_carrier carrier_of(const char *name)
{
	if (!strcmp(name, "cm-send"))
		return SDP_CM_SEND;
	return strcmp(name, "stream") ? SDP_CM_PRIV : SDP_STREAM;
}

static enum pair_place place_of(const char *name)
{
	static const char *const names[] = { "threads", "processes", "connect",
					     "listen" };
	unsigned int i = 0;

	while (i < 3 && strcmp(name, names[i]))
		i++;
	return (enum pair_place)i;
}

/* Each case runs in its own process, which opens its devices itself. */
static int run_all(char **argv, enum pair_place place)
{
	/* "many" has both ends in one process. */
	size_t cnt = sizeof(cases) / sizeof(*cases) + !is_alone(place);

	for (size_t i = 0; i < cnt; i++) {
		const char *name = i < sizeof(cases) / sizeof(*cases)
					   ? cases[i].name
					   : "many";
		char *args[] = { argv[0], (char *)(uintptr_t)name,
				 argv[2], argv[3],
				 argv[4], argv[4] ? argv[5] : NULL,
				 NULL };
		pid_t pid;
		int status;

		printf("%s\n", name);
		fflush(stdout);
		pid = fork();
		if (!pid) {
			execv("/proc/self/exe", args);
			_exit(126);
		}
		must(waitpid(pid, &status, 0) == pid);
		must(WIFEXITED(status)
			     ? !WEXITSTATUS(status)
			     : place == PAIR_LISTEN && !strcmp(name, "kill") &&
				       WTERMSIG(status) == SIGKILL);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct pair pair = {
		.carrier = carrier_of(argc > 2 ? argv[2] : "stream"),
		.place = place_of(argc > 3 ? argv[3] : "threads"),
	};

	pair.is_port = argc > 2 && strstr(argv[2], "-port");
	pair.is_request = argc > 2 && !strncmp(argv[2], "request", 7);
	if (argc < 2 || (is_alone(pair.place) && argc < 6))
		return 2;
	if (!strcmp(argv[1], "all") && argc >= 4)
		return run_all(argv, pair.place);
	if (argc > 4) {
		pair.addr.sin_family = AF_INET;
		must(inet_pton(AF_INET, argv[4], &pair.addr.sin_addr) == 1);
		if (argc > 5)
			pair.addr.sin_port =
				htons((uint16_t)strtoul(argv[5], NULL, 10));
	}
	pair.opt[0] = pair.opt[1] = SDP_LINK_OPTIONS_INIT;
	if (!strcmp(argv[1], "many")) {
		many(&pair);
		return 0;
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (!strcmp(argv[1], cases[i].name)) {
			run_case(&cases[i], &pair);
			return 0;
		}
	}
	fprintf(stderr, "%s: no such case\n", argv[1]);
	return 2;
}

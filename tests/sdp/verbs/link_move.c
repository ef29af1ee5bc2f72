/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * link_move CASE [CARRIER] - connections that move to another address space,
 * and peers that do not do their part (doc/spec/sdp.md section 13, T79 to T83)
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pair.h"

static enum sdp_carrier carrier = SDP_STREAM;
static bool is_request; /* the Connecting Peer begins with an MPA Request */
static bool is_port;	/* at a TCP port */
static uint64_t pool_at_rest;

static size_t scaled(size_t n)
{
	const char *scale = getenv("USIW_SDP_SCALE");

	return scale ? n * 4 / strtoul(scale, NULL, 10) : n;
}

/* ---- a stream that can be checked ---- */

struct flow {
	uint64_t sent, got; /* positions */
};

#define FLOW_PIECE 300000

static uint8_t octet_at(uint64_t pos)
{
	return (uint8_t)((pos * 2654435761u) >> 13);
}

static void fill(uint8_t *buf, uint64_t pos, size_t len)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = octet_at(pos + i);
}

static void check(const uint8_t *buf, uint64_t pos, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (buf[i] != octet_at(pos + i))
			fprintf(stderr, "octet %llu is another one\n",
				(unsigned long long)(pos + i));
		must(buf[i] == octet_at(pos + i));
	}
}

/* Without calls that wait, so that the same thread can move the link: until
 * that many octets were sent and received. */
static void flow_until(struct sdp_link *link, struct flow *f, uint64_t sent,
		       uint64_t got)
{
	static uint8_t buf[FLOW_PIECE];

	while (f->sent < sent || f->got < got) {
		unsigned int what = SDP_LINK_IN;
		struct iovec iov = { buf, 1 + f->sent % FLOW_PIECE };
		ssize_t n;

		if (f->sent < sent) {
			if (iov.iov_len > sent - f->sent)
				iov.iov_len = sent - f->sent;
			fill(buf, f->sent, iov.iov_len);
			n = sdp_link_send(link, &iov, 1, 0);
			must(n > 0 || n == -EAGAIN);
			f->sent += n > 0 ? (uint64_t)n : 0;
			what |= SDP_LINK_OUT;
		}
		iov.iov_len = 1 + f->got % FLOW_PIECE;
		if (iov.iov_len > got - f->got)
			iov.iov_len = got - f->got;
		n = sdp_link_recv(link, &iov, 1, 0);
		if (n > 0)
			check(buf, f->got, (size_t)n);
		must(n > 0 || n == -EAGAIN || !iov.iov_len);
		f->got += n > 0 ? (uint64_t)n : 0;
		if (n <= 0)
			must(sdp_link_wait(link, what, soon()) > 0);
	}
}

struct side {
	struct sdp_link *link;
	uint64_t total;
};

/* With calls that wait, some of them too large to be copied. */
static void *send_side(void *arg)
{
	struct side *s = arg;
	uint8_t *buf = malloc(4 * FLOW_PIECE);
	uint64_t pos = 0;

	while (pos < s->total) {
		size_t len = pos % 3 ? 1 + pos % 5000
				     : 3 * FLOW_PIECE + pos % FLOW_PIECE;

		len = len < s->total - pos ? len : s->total - pos;
		fill(buf, pos, len);
		put(s->link, buf, len);
		pos += len;
	}
	free(buf);
	return NULL;
}

static void *recv_side(void *arg)
{
	struct side *s = arg;
	uint8_t *buf = malloc(4 * FLOW_PIECE);
	uint64_t pos = 0;

	while (pos < s->total) {
		struct iovec iov = { buf, 1 + pos % (4 * FLOW_PIECE) };
		ssize_t n = sdp_link_recv_wait(s->link, &iov, 1, 0, 0, soon());

		must(n > 0);
		check(buf, pos, (size_t)n);
		pos += (uint64_t)n;
	}
	free(buf);
	return NULL;
}

/* ---- moves ---- */

static int take_connection(const struct place *p)
{
	int fd = accept(p->fd, NULL, NULL);

	must(fd >= 0);
	return fd;
}

/* The next port is of the same kind as the first one. */
static void open_next(struct place *p)
{
	place_open(p, is_port ? SDP_STREAM : carrier, NULL);
}

static struct sdp_link_options continuing(const void *octets, size_t len)
{
	struct sdp_link_options opt = SDP_LINK_OPTIONS_INIT;

	opt.from = octets;
	opt.from_len = len;
	return opt;
}

static struct sdp_link *adopt(struct place *p, const void *octets, size_t len)
{
	struct sdp_link_options opt = continuing(octets, len);

	return place_accept(p, &opt);
}

static void leave(struct sdp_link *link, uint16_t port_be, void **ret_octets,
		  size_t *ret_len)
{
	must(!sdp_link_suspend(link, ntohs(port_be), soon()));
	must(!sdp_link_hand_over(link, ret_octets, ret_len));
	must(!sdp_link_error(link));
	sdp_link_close(link, 0);
}

/* Moves to the same address space, by the octets of the state. */
static struct sdp_link *move(struct sdp_link *link)
{
	struct sdp_link *next;
	struct place p;
	void *octets;
	size_t len;

	open_next(&p);
	leave(link, p.addr.sin_port, &octets, &len);
	next = adopt(&p, octets, len);
	free(octets);
	place_close(&p);
	return next;
}

/* Of the device, which the first connection opens. */
static uint64_t pool_used(void)
{
	struct held stats;

	stats = held_now();
	must(!stats.links);
	return stats.pool_used;
}

static void make(struct sdp_link *links[2], const struct sdp_link_options *opt)
{
	struct pair pair = { .carrier = carrier,
			     .is_request = is_request,
			     .is_port = is_port };

	pair.opt[0] = pair.opt[1] = opt ? *opt : SDP_LINK_OPTIONS_INIT;
	pair_make(&pair, links);
}

static void unmake(struct sdp_link *links[2])
{
	sdp_link_close(links[0], soon());
	sdp_link_close(links[1], soon());
	drain_links();
	/* Receives that are posted for more links than now exist are returned
	 * one by one. */
	must(pool_used() <= pool_at_rest);
}

static void open_device(void)
{
	struct sdp_link *links[4];

	/* More than exist at a time later. */
	make(links, NULL);
	make(links + 2, NULL);
	for (int i = 0; i < 4; i++)
		sdp_link_close(links[i], 0);
	drain_links();
	pool_at_rest = pool_used();
}

/* ---- streams while one end moves ---- */

static void stream_and_move(int who)
{
	uint64_t total = scaled(8u << 20), step = 512u << 10;
	struct flow f = { 0, 0 };
	struct sdp_link *links[2];
	pthread_t threads[2];
	struct side side;
	int moves = 0;

	make(links, NULL);
	side = (struct side){ links[!who], total };
	must(!pthread_create(&threads[0], NULL, send_side, &side));
	must(!pthread_create(&threads[1], NULL, recv_side, &side));
	for (uint64_t pos = 0; pos < total; pos += step) {
		uint64_t to = pos + step < total ? pos + step : total;

		flow_until(links[who], &f, to, to > 70000 ? to - 70000 : 0);
		links[who] = move(links[who]);
		moves++;
	}
	flow_until(links[who], &f, total, total);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("%d moves\n", moves);
	unmake(links);
}

static void case_stream(void)
{
	stream_and_move(0);
	stream_and_move(1);
}

/* Each end in turn, with and without data in transit. */
static void case_turns(void)
{
	struct sdp_link *links[2];
	char c;

	make(links, NULL);
	for (int i = 0; i < 12; i++) {
		int who = i % 3 == 0;

		put(links[!who], "x", 1);
		if (i % 2)
			get(links[who], &c, 1);
		put(links[who], "y", 1);
		links[who] = move(links[who]);
		if (i % 2 == 0)
			get(links[who], &c, 1);
		must(c == 'x');
		get(links[!who], &c, 1);
		must(c == 'y');
	}
	unmake(links);
}

static void expect(struct sdp_link *link, const char *text)
{
	char buf[16];
	size_t len = strlen(text);

	must(len <= sizeof(buf));
	get(link, buf, len);
	must(!memcmp(buf, text, len));
}

static void send_last(struct sdp_link *link, const char *text)
{
	put(link, text, strlen(text));
	must(!sdp_link_shutdown(link));
}

static void move_with_own_direction_closed(int who)
{
	struct sdp_link *links[2];

	make(links, NULL);
	send_last(links[who], "before");
	expect(links[!who], "before");
	get_eof(links[!who]);
	links[who] = move(links[who]);
	must(!sdp_link_shutdown(links[who]));
	send_last(links[!who], "behind");
	expect(links[who], "behind");
	get_eof(links[who]);
	must(!sdp_link_error(links[0]) && !sdp_link_error(links[1]));
	unmake(links);
}

static void move_with_peers_direction_closed(int who)
{
	struct sdp_link *links[2];

	make(links, NULL);
	send_last(links[!who], "before");
	must(sdp_link_wait(links[who], SDP_LINK_RDHUP, soon()) > 0);
	links[who] = move(links[who]);
	expect(links[who], "before");
	get_eof(links[who]);
	put(links[who], "behind", 6);
	expect(links[!who], "behind");
	must(!sdp_link_error(links[0]) && !sdp_link_error(links[1]));
	unmake(links);
}

/* A direction that was closed stays closed. The other one continues. */
static void case_half(void)
{
	for (int who = 0; who < 2; who++) {
		move_with_own_direction_closed(who);
		move_with_peers_direction_closed(who);
	}
}

/* Urgent octets keep their position, unread or unsent. */
static void case_oob(void)
{
	struct iovec iov = { (char[3]){ 'a', 'b', '!' }, 3 };
	struct sdp_link *links[2];
	char buf[4] = { 0 };

	make(links, NULL);
	for (int who = 0; who < 2; who++) {
		must(sdp_link_send(links[!who], &iov, 1, SDP_SEND_OOB) == 3);
		must(sdp_link_wait(links[who], SDP_LINK_PRI, soon()) > 0);
		links[who] = move(links[who]);
		must(sdp_link_state(links[who]) & SDP_LINK_PRI);
		get(links[who], buf, 2);
		must(sdp_link_at_mark(links[who]));
		must(sdp_link_recv(links[who], &(struct iovec){ buf, 1 }, 1,
				   SDP_RECV_OOB) == 1);
		must(buf[0] == '!');
		put(links[!who], "c", 1);
		get(links[who], buf, 1);
		must(buf[0] == 'c');
	}
	unmake(links);
}

/* A peer must be able to answer when all its receives are full of unread data,
 * and when it waits for credit. */
static void case_full(void)
{
	static uint8_t buf[FLOW_PIECE];
	struct sdp_link *links[2];

	for (int who = 0; who < 2; who++) {
		uint64_t got = 0, sent[2] = { 0, 0 };

		make(links, NULL);
		for (int i = 0; i < 2; i++) {
			struct iovec iov = { buf, 0 };
			ssize_t n = 0;

			do {
				sent[i] += (uint64_t)n;
				iov.iov_len = 1 + sent[i] % FLOW_PIECE;
				fill(buf, sent[i], iov.iov_len);
				n = sdp_link_send(links[i], &iov, 1, 0);
			} while (n > 0);
		}
		links[who] = move(links[who]);
		for (int i = 0; i < 2; i++) {
			for (got = 0; got < sent[!i];) {
				struct iovec iov = { buf, FLOW_PIECE };
				ssize_t n = sdp_link_recv_wait(links[i], &iov,
							       1, 0, 0, soon());

				must(n > 0);
				check(buf, got, (size_t)n);
				got += (uint64_t)n;
			}
		}
		unmake(links);
	}
}

/* ---- three processes ---- */

static int sockets[2];

static void successor(void)
{
	uint64_t total = scaled(4u << 20);
	struct sdp_link *link;
	struct flow f;
	struct place p;
	uint8_t *octets;
	size_t len;

	open_next(&p);
	must(write(sockets[1], &p.addr, sizeof(p.addr)) == sizeof(p.addr));
	must(recv(sockets[1], &f, sizeof(f), MSG_WAITALL) == sizeof(f));
	must(recv(sockets[1], &len, sizeof(len), MSG_WAITALL) == sizeof(len));
	octets = malloc(len);
	must(recv(sockets[1], octets, len, MSG_WAITALL) == (ssize_t)len);
	link = adopt(&p, octets, len);
	free(octets);
	flow_until(link, &f, total, total);
	sdp_link_close(link, soon());
	place_close(&p);
	drain_links();
}

static void first_owner(struct sdp_link *link)
{
	uint64_t half = scaled(2u << 20);
	struct flow f = { 0, 0 };
	struct sockaddr_in addr;
	void *octets;
	size_t len;

	must(read(sockets[0], &addr, sizeof(addr)) == sizeof(addr));
	flow_until(link, &f, half, half - 100000);
	leave(link, addr.sin_port, &octets, &len);
	must(send(sockets[0], &f, sizeof(f), 0) == sizeof(f));
	must(send(sockets[0], &len, sizeof(len), 0) == sizeof(len));
	must(send(sockets[0], octets, len, 0) == (ssize_t)len);
	free(octets);
}

static void remote_peer(struct sdp_link *link)
{
	struct side side = { link, scaled(4u << 20) };
	pthread_t threads[2];

	must(!pthread_create(&threads[0], NULL, send_side, &side));
	must(!pthread_create(&threads[1], NULL, recv_side, &side));
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	sdp_link_close(link, soon());
}

static void case_processes(void)
{
	static pair_fn *const sides[2][2] = { { remote_peer, first_owner },
					      { first_owner, remote_peer } };

	for (int i = 0; i < 2; i++) {
		struct pair pair = { .carrier = carrier,
				     .is_request = is_request,
				     .is_port = is_port,
				     .place = PAIR_PROCESSES };
		int status;
		pid_t pid, middle;

		/* Each opens its devices itself. */
		must(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
		fflush(NULL);
		pid = fork();
		if (!pid) {
			close(sockets[0]);
			successor();
			_exit(0);
		}
		close(sockets[1]);
		middle = fork();
		if (!middle) {
			pair.opt[0] = pair.opt[1] = SDP_LINK_OPTIONS_INIT;
			pair_run(&pair, sides[i]);
			_exit(0);
		}
		close(sockets[0]);
		must(waitpid(middle, &status, 0) == middle && !status);
		must(waitpid(pid, &status, 0) == pid && !status);
	}
}

/* ---- peers that do not do their part ---- */

#define SUSP_MS 400u
/* The first link, whose peer does its part, has that limit, too. */
#define START_MS 1500u

/* Behaviour of the next address space. */
enum hostile { REFUSES, CLOSES, SILENT, NOISY, FULL, NO_SDP, HOSTILE_CNT };

static void *noisy_listener(void *arg)
{
	char buf[256];
	int fd = take_connection(arg);

	(void)!recv(fd, buf, 1, MSG_PEEK); /* Hello has arrived */
	memset(buf, 0x5a, sizeof(buf));
	(void)!send(fd, buf, sizeof(buf), MSG_NOSIGNAL);
	while (recv(fd, buf, sizeof(buf), 0) > 0)
		;
	close(fd);
	return NULL;
}

static void *closing_listener(void *arg)
{
	close(take_connection(arg));
	return NULL;
}

/* An SDP that cannot decode this one's Hello. */
static void *other_listener(void *arg)
{
	struct sdp_link_options opt = SDP_LINK_OPTIONS_INIT;
	int fd = take_connection(arg);
	struct sdp_link *link;

	opt.conn.layout = SDP_LAYOUT_MIRRORED;
	must(sdp_link_accept_fd(&link, fd, &opt, soon(), NULL));
	close(fd);
	return NULL;
}

/* SYNs to it are dropped. */
static int fill_backlog(const struct place *p)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(!listen(p->fd, 0));
	must(!connect(fd, (const struct sockaddr *)&p->addr, sizeof(p->addr)));
	return fd;
}

/* @was_told: a call has taken the error, which is told once. */
static void expect_reset(struct sdp_link *link, uint64_t begin, bool was_told)
{
	if (!was_told)
		must(sdp_link_wait(link, SDP_LINK_ERR, soon()) > 0);
	must(sdp_link_error(link) == (was_told ? 0 : ECONNRESET));
	must(sdp_link_wait(link, SDP_LINK_CLOSED, soon()) > 0);
	/* Far below the default of ten seconds. */
	must(sdp_now_ns() - begin < 8000000000u);
}

/* The program goes on meanwhile.  Return: whether the move had failed by then,
 * and the send was told. */
static bool send_meanwhile(struct sdp_link *link)
{
	ssize_t n = sdp_link_send(link, &(struct iovec){ "x", 1 }, 1, 0);

	must(n == 1 || n == -ECONNRESET);
	return n < 0;
}

static void follow(enum hostile how, bool closes_meanwhile)
{
	static void *(*const threads[HOSTILE_CNT])(void *) = {
		[CLOSES] = closing_listener,
		[NOISY] = noisy_listener,
		[NO_SDP] = other_listener,
	};
	struct sdp_link_options opt = SDP_LINK_OPTIONS_INIT;
	struct sdp_link *links[2];
	pthread_t thread;
	uint64_t begin;
	struct place p;
	bool was_told;
	int fd = -1;

	opt.conn.start_ms = START_MS;
	make(links, &opt);
	put(links[1], "unread", 6);
	place_open(&p, SDP_STREAM, NULL);
	if (how == REFUSES)
		place_close(&p);
	if (how == FULL)
		fd = fill_backlog(&p);
	if (threads[how])
		must(!pthread_create(&thread, NULL, threads[how], &p));
	begin = sdp_now_ns();
	must(!sdp_link_suspend(links[0], ntohs(p.addr.sin_port), soon()));
	was_told = send_meanwhile(links[1]);
	if (!closes_meanwhile)
		expect_reset(links[1], begin, was_told);
	sdp_link_abort(links[0]); /* unread data is discarded */
	unmake(links);
	if (threads[how])
		pthread_join(thread, NULL);
	if (fd >= 0)
		close(fd);
	place_close(&p);
}

static void case_hostile(void)
{
	for (int how = 0; how < HOSTILE_CNT; how++) {
		printf("hostile %d\n", how);
		fflush(stdout);
		follow((enum hostile)how, false);
	}
	follow(SILENT, true);
	follow(CLOSES, true);
}

static void stop(struct sdp_link *link)
{
	char c;

	get(link, &c, 1); /* HelloAck was sent */
	raise(SIGSTOP);
}

/* A peer that is stopped does not answer SuspComm. */
static void suspend_in_vain(struct sdp_link *link)
{
	uint64_t begin;
	int status;
	pid_t pid;

	put(link, "x", 1);
	/* The child of pair_run(). */
	pid = waitpid(-1, &status, WUNTRACED);
	must(pid > 0 && WIFSTOPPED(status));
	begin = sdp_now_ns();
	must(sdp_link_suspend(link, 1, soon()) == -ECONNRESET);
	expect_reset(link, begin, false);
	sdp_link_close(link, soon());
	kill(pid, SIGKILL);
}

static void case_stopped(void)
{
	static pair_fn *const sides[2] = { suspend_in_vain, stop };
	struct pair pair = { .carrier = carrier, .place = PAIR_PROCESSES };

	pair.opt[0] = pair.opt[1] = SDP_LINK_OPTIONS_INIT;
	pair.opt[0].conn.susp_ms = SUSP_MS;
	pair_run(&pair, sides);
}

/* A connection from another address than the peer's is refused. */
static void case_wrong_peer(void)
{
	struct sdp_link *links[2], *next;
	struct sockaddr_in from = { .sin_family = AF_INET };
	struct sdp_link_options opt;
	struct place p;
	void *octets;
	size_t len;
	int fd, own;

	make(links, NULL);
	place_open(&p, SDP_STREAM, NULL);
	from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	own = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(!bind(own, (struct sockaddr *)&from, sizeof(from)));
	must(!connect(own, (struct sockaddr *)&p.addr, sizeof(p.addr)));
	leave(links[1], p.addr.sin_port, &octets, &len);
	fd = take_connection(&p);
	opt = continuing(octets, len);
	must(sdp_link_accept_fd(&next, fd, &opt, soon(), NULL) == -EPERM);
	close(fd);
	opt.from_len--;
	must(sdp_link_accept_fd(&next, own, &opt, soon(), NULL) == -EINVAL);
	links[1] = adopt(&p, octets, len);
	free(octets);
	close(own);
	place_close(&p);
	unmake(links);
}

static const struct {
	const char *name;
	void (*run)(void);
	bool has_processes; /* they open their devices themselves */
} cases[] = {
	{ "stream", case_stream, false },
	{ "turns", case_turns, false },
	{ "half", case_half, false },
	{ "oob", case_oob, false },
	{ "full", case_full, false },
	{ "processes", case_processes, true },
	{ "hostile", case_hostile, false },
	{ "stopped", case_stopped, true },
	{ "wrong-peer", case_wrong_peer, false },
};

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[2], "cm-send"))
		carrier = SDP_CM_SEND;
	if (argc > 2 && !strncmp(argv[2], "request", 7)) {
		carrier = SDP_CM_PRIV;
		is_request = true;
		is_port = !strcmp(argv[2], "request-port");
	}
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases);
	     i++) {
		if (!strcmp(argv[1], cases[i].name)) {
			if (!cases[i].has_processes)
				open_device();
			cases[i].run();
			return 0;
		}
	}
	fprintf(stderr, "usage: link_move CASE [CARRIER]\n");
	return 2;
}

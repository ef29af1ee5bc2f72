/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * SDP enters a TCP connection between two sockets of this process, by the real
 * desk. The start and the link are fakes: what is stored, and what is fed.
 */
#include "sock-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "util/env.h"
#include "loopback.h"
#include "pm/registry.h"
#include "sock/enter/other-end.h"
#include "until.h"
#include "sock/base/limit.h"
#include "sock/enter/enter.h"
#include "sock/show/ready.h"
#include "sock/start/connect.h"
#include "sock/start/owed.h"
#include "sock/start/start.h"
#include "stat/sdp-stat.h"
#include "verbs/sdp-link.h"

/* The connecting side, the accepting one. */
static struct side {
	struct sdp_sock *sock;
	int fd;
	_Atomic int end; /* 0: under way; 1: SDP; 2: TCP again */
	char fed[200000];
	size_t fed_len;
} sides[2];

/* What goes wrong. */
static struct {
	bool is_foreign;   /* another port asks than was announced */
	bool is_unknown;   /* nothing is announced */
	bool fails[2];	   /* the link of a side */
	bool cannot_cover; /* no descriptor for the shadow */
	bool is_closed[2]; /* while it starts */
	bool is_cut;	   /* TCP ends before the accepting side has it all */
	bool is_held;	   /* the accepting side, until the test lets it go */
} fault;

static sem_t go;

static _Atomic int ports[2], announce_cnt, told_cnt, close_cnt;
static char links[2]; /* addresses */

static struct side *side_of(const struct sdp_sock *sock)
{
	return &sides[sock == sides[1].sock];
}

/* ---- fakes ---- */

int sdp_registry_announce(int listen_fd, uint16_t sdp_port, bool is_cm)
{
	struct stat announced, accepted;

	must(!is_cm && fstat(listen_fd, &announced) == 0 &&
	     fstat(sides[1].fd, &accepted) == 0);
	atomic_store(&ports[announced.st_ino == accepted.st_ino], sdp_port);
	atomic_fetch_add(&announce_cnt, 1);
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int sdp_other_end_find(const union sdp_addr *own, const union sdp_addr *peer,
		       uint16_t *ret_port)
{
	union sdp_addr accepted = { .sa.sa_family = AF_UNSPEC };
	bool is_of_accepted;

	must(sdp_addr_get(sides[1].fd, false, &accepted) == 0);
	is_of_accepted = sdp_addr_port(own) == sdp_addr_port(&accepted);
	*ret_port = (uint16_t)atomic_load(&ports[!is_of_accepted]);
	*ret_port += fault.is_foreign && is_of_accepted;
	return fault.is_unknown || *ret_port == 0 ? -ENOENT : 0;
}

enum sdp_stat_fallback sdp_connect_fallback_of(int err)
{
	must(err == -ENOENT);
	return SDP_STAT_FALLBACK_no_listener;
}

void sdp_stat_fell_back(struct sdp_stat_sock *sock,
			enum sdp_stat_fallback reason)
{
	must(!sock && reason == SDP_STAT_FALLBACK_no_listener);
	atomic_fetch_add(&told_cnt, 1);
}

int sdp_link_connect_fd(struct sdp_link **ret_link, int fd,
			const struct sdp_link_options *opt, uint64_t deadline,
			struct sdp_outcome *ret_outcome)
{
	*ret_link = (struct sdp_link *)(void *)&links[0];
	return fault.fails[0] ? -ECONNREFUSED : 0;
}

int sdp_link_accept_fd(struct sdp_link **ret_link, int fd,
		       const struct sdp_link_options *opt, uint64_t deadline,
		       struct sdp_outcome *ret_outcome)
{
	char octets[10];

	*ret_link = (struct sdp_link *)(void *)&links[1];
	if (fault.is_cut) {
		must(recv(sides[1].fd, octets, sizeof(octets), MSG_WAITALL) ==
		     sizeof(octets));
		must(shutdown(sides[0].fd, SHUT_WR) == 0);
	}
	while (fault.is_held && sem_wait(&go) < 0)
		;
	return fault.fails[1] ? -ECONNREFUSED : 0;
}

void sdp_link_feed(struct sdp_link *link, void *octets, size_t len)
{
	struct side *side = &sides[(char *)(void *)link - links];

	must(len <= sizeof(side->fed));
	memcpy(side->fed, octets, len);
	side->fed_len = len;
	free(octets);
}

void sdp_link_close(struct sdp_link *link, uint64_t deadline)
{
	must(link == (struct sdp_link *)(void *)&links[1] && deadline == 0);
	must(fault.is_cut);
	atomic_fetch_add(&close_cnt, 1);
}

int sdp_start_cover(struct sdp_sock *sock, bool is_asking)
{
	must(!is_asking);
	if (fault.cannot_cover)
		return -EMFILE;
	sdp_sock_become(sock, SDP_SOCK_STARTING);
	return 0;
}

void sdp_start_return(struct sdp_sock *sock)
{
	sdp_sock_become(sock, SDP_SOCK_TCP);
}

void sdp_start_conclude(struct sdp_sock *sock, struct sdp_link *link,
			void (*on_fail)(struct sdp_sock *sock, void *arg),
			void *arg)
{
	struct linger linger = { 0 };
	socklen_t len = sizeof(linger);

	/* Nobody reads an orderly end of TCP below a link. */
	must(getsockopt(sock->tcp_fd, SOL_SOCKET, SO_LINGER, &linger, &len) ==
	     0);
	must((link != NULL) == (linger.l_onoff && linger.l_linger == 0));
	util_lock(&sock->lock);
	/* Behind the new state the test may begin its next row. */
	atomic_store(&side_of(sock)->end, link ? 1 : 2);
	if (link)
		sdp_sock_become(sock, SDP_SOCK_STREAM);
	else
		on_fail(sock, arg);
	util_unlock(&sock->lock);
	sdp_sock_drop(sock);
}

int sdp_start_wait(struct sdp_sock *sock, uint64_t deadline)
{
	wait_until(sdp_sock_state(sock) != SDP_SOCK_STARTING);
	return 0;
}

/* ---- calls of the program ---- */

static void move(struct side *side, bool is_send, size_t len)
{
	static char octets[200000];
	ssize_t ret;

	assert_int_equal(sdp_enter_in(side->sock, true), 1);
	ret = is_send ? send(side->fd, octets, len, 0)
		      : recv(side->fd, octets, len, MSG_WAITALL);
	assert_int_equal(ret, len);
	sdp_enter_out(side->sock, side->fd, is_send, (size_t)ret);
}

static int begin(void **state)
{
	static const enum sdp_enter_role roles[] = { SDP_ENTER_CONNECTED,
						     SDP_ENTER_ACCEPTED };
	int fds[2];

	memset(&fault, 0, sizeof(fault));
	atomic_store(&ports[0], 0);
	atomic_store(&ports[1], 0);
	atomic_store(&announce_cnt, 0);
	atomic_store(&told_cnt, 0);
	atomic_store(&close_cnt, 0);
	assert_int_equal(sem_init(&go, 0, 0), 0);
	test_tcp_pair(fds);
	for (int i = 0; i < 2; i++) {
		sides[i].fd = fds[i];
		sides[i].sock = sock_add(fds[i], end_nothing);
		sides[i].fed_len = 0;
		atomic_store(&sides[i].end, 0);
		sdp_enter_begin(sides[i].sock, roles[i]);
	}
	return 0;
}

static int end(void **state)
{
	wait_until(sdp_owed_cnt() == 0);
	for (int i = 0; i < 2; i++) {
		sdp_enter_end(sides[i].sock);
		sdp_private_close(sides[i].sock->tcp_fd);
		program_close(sides[i].fd);
		sdp_sock_drop(sides[i].sock);
	}
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, begin, end)

/* A call that moves nothing tries what is due. */
static void try_now(struct side *side)
{
	atomic_store(&side->sock->enter.next_at, 0);
	move(side, true, 0);
}

/* Then SDP enters. @unread: octets for the connecting side; the accepting side
 * has read some of those that it got. */
static void carry(size_t sent, size_t read, size_t unread)
{
	for (int s = 0; s < 2; s++)
		atomic_store(&sides[s].sock->enter.next_at, UINT64_MAX);
	move(&sides[0], true, sent);
	move(&sides[1], false, read);
	move(&sides[1], true, unread);
	try_now(&sides[1]);
	assert_int_equal(atomic_load(&announce_cnt), 1);
	try_now(&sides[0]);
}

/* ---- tests ---- */

/* What is unread belongs to the link, on both sides. */
FILE_CASE(the_rest_of_tcp_is_fed)
{
	static const struct {
		const char *name;
		size_t sent, read, unread;
	} rows[] = {
		{ "all is read", 10000, 10000, 0 },
		{ "an octet each", 10000, 9999, 1 },
		{ "nothing is read", 150000, 0, 5000 },
		{ "much for the connecting side", 1, 1, 150000 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (i > 0) {
			end(state);
			begin(state);
		}
		carry(rows[i].sent, rows[i].read, rows[i].unread);
		wait_until(atomic_load(&sides[0].end) &&
			   atomic_load(&sides[1].end));
		for (int s = 0; s < 2; s++) {
			assert_row(rows[i].name,
				   atomic_load(&sides[s].end) == 1);
			assert_row(rows[i].name,
				   sides[s].sock->is_accepting == s);
		}
		assert_row(rows[i].name, sides[0].fed_len == rows[i].unread);
		assert_row(rows[i].name,
			   sides[1].fed_len == rows[i].sent - rows[i].read);
	}
}

/* An exit waits for a side that has begun, and until the peer's kernel has what
 * was written to TCP. */
FILE_CASE(is_owed_until_tcp_has_given_all)
{
	int left = 0;

	fault.is_held = true;
	carry(200000, 0, 0);
	wait_until(atomic_load(&sides[0].end) == 1);
	/* More than a receive buffer has at first. */
	assert_int_equal(ioctl(sides[0].fd, SIOCOUTQ, &left), 0);
	assert_true(left > 0);
	/* The side that has entered, and the one that is held. */
	assert_int_equal(sdp_owed_cnt(), 2);
	sem_post(&go);
	wait_until(sdp_owed_cnt() == 0);
	assert_int_equal(atomic_load(&sides[1].end), 1);
	assert_int_equal(sides[1].fed_len, 200000);
}

/* The peer's end of the link may be one in order. */
FILE_CASE(what_tcp_has_lost_is_an_error)
{
	struct linger linger = { 0 };
	socklen_t len = sizeof(linger);

	fault.is_cut = true;
	carry(5000, 1000, 0);
	wait_until(sdp_sock_state(sides[1].sock) == SDP_SOCK_STREAM);
	wait_until(sdp_owed_cnt() == 0);
	assert_int_equal(atomic_load(&close_cnt), 1);
	assert_null(sdp_sock_link(sides[1].sock));
	assert_int_equal(atomic_load(&sides[1].sock->error), ECONNRESET);
	assert_int_equal(
		getsockopt(sides[1].fd, SOL_SOCKET, SO_LINGER, &linger, &len),
		0);
	assert_true(linger.l_onoff && linger.l_linger == 0);
}

/* Whatever fails, TCP goes on with all octets, and SDP is tried again later. */
FILE_CASE(tcp_goes_on_where_sdp_cannot_enter)
{
	static const struct {
		const char *name;
		bool is_foreign, is_unknown, fails[2], cannot_cover;
	} rows[] = {
		{ .name = "another port", .is_foreign = true },
		{ .name = "not announced", .is_unknown = true },
		{ .name = "no link of the connecting side", .fails = { true } },
		{ .name = "no link of the accepting side",
		  .fails = { false, true } },
		{ .name = "no link", .fails = { true, true } },
		{ .name = "no descriptor", .cannot_cover = true },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		/* A side whose own link stands does not look at TCP any more,
		 * and its end is a reset. */
		bool is_lost = rows[i].fails[0] != rows[i].fails[1];

		if (i > 0) {
			end(state);
			begin(state);
		}
		fault.is_foreign = rows[i].is_foreign;
		fault.is_unknown = rows[i].is_unknown;
		fault.fails[0] = rows[i].fails[0];
		fault.fails[1] = rows[i].fails[1];
		fault.cannot_cover = rows[i].cannot_cover;
		carry(5000, 4000, 0);
		/* It is over when the connecting side has ended, or is to try
		 * again. */
		wait_until(atomic_load(&sides[0].end) ||
			   atomic_load(&sides[0].sock->enter.next_at) !=
				   UINT64_MAX);
		for (int s = 0; s < 2; s++) {
			wait_until(sdp_sock_state(sides[s].sock) !=
				   SDP_SOCK_STARTING);
			assert_row(rows[i].name,
				   sdp_sock_state(sides[s].sock) ==
					   (is_lost && !rows[i].fails[s]
						    ? SDP_SOCK_STREAM
						    : SDP_SOCK_TCP));
			wait_until(atomic_load(&sides[s].sock->enter.gate) ==
				   SDP_ENTER_OPEN);
		}
		if (!is_lost)
			move(&sides[1], false, 1000);
		/* Once, although it is tried again. */
		if (rows[i].is_unknown) {
			try_now(&sides[0]);
			wait_until(atomic_load(&sides[0].sock->enter.next_at) !=
					   0 &&
				   atomic_load(&sides[0].sock->enter.next_at) !=
					   UINT64_MAX);
		}
		assert_row(rows[i].name,
			   atomic_load(&told_cnt) == rows[i].is_unknown);
	}
}

/* Octets that went past the library. */
FILE_CASE(foreign_octets_keep_it_on_tcp)
{
	char octet;

	assert_int_equal(send(sides[1].fd, "x", 1, 0), 1);
	assert_int_equal(recv(sides[0].fd, &octet, 1, 0), 1);
	carry(5000, 5000, 0);
	wait_until(atomic_load(&sides[0].sock->enter.next_at) != UINT64_MAX);
	for (int s = 0; s < 2; s++)
		assert_int_equal(sdp_sock_state(sides[s].sock), SDP_SOCK_TCP);
}

FILE_CASE(never_is_for_good)
{
	sdp_enter_never(sides[1].sock);
	assert_false(sdp_enter_is_possible(sides[1].sock));
	assert_int_equal(sdp_enter_in(sides[1].sock, true), 1);
	sdp_enter_out(sides[1].sock, sides[1].fd, false, SIZE_MAX / 4);
	assert_int_equal(atomic_load(&announce_cnt), 0);
	/* Also what is announced. */
	sdp_enter_begin(sides[1].sock, SDP_ENTER_ACCEPTED);
	assert_int_equal(sdp_enter_in(sides[1].sock, true), 1);
	sdp_enter_out(sides[1].sock, sides[1].fd, false,
		      util_settings()->sdp_after);
	assert_int_equal(atomic_load(&announce_cnt), 1);
	assert_true(sides[1].sock->enter.note_fd >= 0);
	sdp_enter_never(sides[1].sock);
	assert_int_equal(sides[1].sock->enter.note_fd, -1);
}

/* Those that nobody enters do not use up descriptors: the oldest give way. */
FILE_CASE(a_limited_number_is_announced)
{
	enum { MANY = 130, MAX = 128 };
	static struct sdp_sock *socks[MANY];
	static int fds[MANY][2];

	for (int i = 0; i < MANY; i++) {
		test_tcp_pair(fds[i]);
		socks[i] = sock_add(fds[i][1], end_nothing);
		sdp_enter_begin(socks[i], SDP_ENTER_ACCEPTED);
		atomic_store(&socks[i]->enter.next_at, 0);
		assert_int_equal(sdp_enter_in(socks[i], true), 1);
		sdp_enter_out(socks[i], fds[i][1], false, 0);
	}
	for (int i = 0; i < MANY; i++)
		assert_int_equal(socks[i]->enter.note_fd >= 0, i >= MANY - MAX);
	for (int i = 0; i < MANY; i++) {
		sdp_enter_end(socks[i]);
		assert_int_equal(socks[i]->enter.note_fd, -1);
		program_close(fds[i][1]);
		close(fds[i][0]);
		sdp_sock_drop(socks[i]);
	}
}

/* Which calls may go into the kernel. */
FILE_CASE(the_gate_admits)
{
	static const struct {
		const char *name;
		enum sdp_enter_gate gate;
		enum sdp_sock_state state;
		bool may_sleep;
		int want;
	} rows[] = {
		{ "open", SDP_ENTER_OPEN, SDP_SOCK_TCP, true, 1 },
		{ "open, short", SDP_ENTER_OPEN, SDP_SOCK_TCP, false, 1 },
		{ "wanted", SDP_ENTER_WANTED, SDP_SOCK_TCP, true, 0 },
		{ "wanted, short", SDP_ENTER_WANTED, SDP_SOCK_TCP, false, 1 },
		{ "begun", SDP_ENTER_OPEN, SDP_SOCK_STARTING, false, -EAGAIN },
		{ "entered", SDP_ENTER_SHUT, SDP_SOCK_STREAM, true, -EAGAIN },
	};
	struct sdp_sock *sock = sides[0].sock;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		atomic_store(&sock->enter.gate, rows[i].gate);
		atomic_store(&sock->state, rows[i].state);
		assert_row(rows[i].name,
			   sdp_enter_in(sock, rows[i].may_sleep) ==
				   rows[i].want);
		assert_row(rows[i].name, atomic_load(&sock->enter.in_cnt) ==
						 (rows[i].want == 1));
		if (rows[i].want == 1)
			sdp_enter_left(sock);
		assert_int_equal(atomic_load(&sock->enter.in_cnt), 0);
	}
	atomic_store(&sock->enter.gate, SDP_ENTER_OPEN);
	atomic_store(&sock->state, SDP_SOCK_TCP);
	assert_true(sdp_enter_hold(sock));
	sdp_enter_left(sock);
	atomic_store(&sock->enter.role, SDP_ENTER_NEVER);
	assert_false(sdp_enter_hold(sock));
}

/* What TCP has is read while SDP enters, and counted. */
FILE_CASE(reads_tcp_while_it_starts)
{
	char octets[4];
	struct iovec iov = { octets, sizeof(octets) };
	struct sdp_sock *sock = sides[0].sock;

	assert_int_equal(send(sides[1].fd, "abcdef", 6, 0), 6);
	assert_int_equal(sdp_enter_recv(sock, &iov, 1, 0), -EAGAIN);
	sock->tcp_fd = sdp_private_take(dup(sides[0].fd));
	sock->start.is_entering = true;
	atomic_store(&sock->state, SDP_SOCK_STARTING);
	wait_until(sdp_enter_recv(sock, &iov, 1, MSG_PEEK) == 4);
	assert_int_equal(atomic_load(&sock->enter.rx), 0);
	assert_int_equal(sdp_enter_recv(sock, &iov, 1, 0), 4);
	assert_memory_equal(octets, "abcd", 4);
	assert_int_equal(atomic_load(&sock->enter.rx), 4);
	sock->start.is_draining = true;
	assert_int_equal(sdp_enter_recv(sock, &iov, 1, 0), -EAGAIN);
	sock->start.is_draining = false;
	assert_int_equal(sdp_enter_recv(sock, &iov, 1, 0), 2);
	assert_int_equal(sdp_enter_recv(sock, &iov, 1, 0), -EAGAIN);
	/* The end is for the start. */
	assert_int_equal(shutdown(sides[1].fd, SHUT_WR), 0);
	assert_int_equal(sdp_enter_recv(sock, &iov, 1, 0), -EAGAIN);
	atomic_store(&sock->state, SDP_SOCK_TCP);
	sock->start.is_entering = false;
}

/* Otherwise a side that goes back would read an end in order. */
FILE_CASE(leaves_the_error_of_tcp)
{
	struct linger at_once = { .l_onoff = 1 };
	struct pollfd look = { .fd = sides[0].fd };
	char octets[4];
	struct iovec iov = { octets, sizeof(octets) };
	struct sdp_sock *sock = sides[0].sock;
	int other = open("/dev/null", O_RDONLY);

	sock->tcp_fd = sdp_private_take(dup(sides[0].fd));
	sock->start.is_entering = true;
	atomic_store(&sock->state, SDP_SOCK_STARTING);
	assert_int_equal(send(sides[1].fd, "last", 4, 0), 4);
	assert_int_equal(setsockopt(sides[1].fd, SOL_SOCKET, SO_LINGER,
				    &at_once, sizeof(at_once)),
			 0);
	assert_int_equal(dup2(other, sides[1].fd), sides[1].fd);
	wait_until(poll(&look, 1, 0) == 1 && look.revents & POLLERR);
	assert_int_equal(sdp_enter_recv(sock, &iov, 1, 0), 4);
	assert_int_equal(sdp_enter_recv(sock, &iov, 1, 0), -EAGAIN);
	atomic_store(&sock->state, SDP_SOCK_TCP);
	sock->start.is_entering = false;
	assert_int_equal(recv(sides[0].fd, octets, sizeof(octets), 0), -1);
	assert_int_equal(errno, ECONNRESET);
	close(other);
}

BEFORE_CASES()
{
	setenv("USIW_SDP_AFTER", "10000", 1);
}

ALL_CASES_WITH(table_start, NULL);

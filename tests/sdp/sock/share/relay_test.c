/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A relay: data in both directions, and every way to end. */
#include "loopback.h"
#include "test.h"
#include "until.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock/start/ask.h"
#include "sock/base/count.h"
#include "sock/show/epoll.h"
#include "sock/base/option.h"
#include "sock/show/ready.h"
#include "sock/share/relay-name.h"
#include "sock/share/relay.h"
#include "sock/show/shadow.h"
#include "sock/start/start.h"
#include "verbs/sdp-link.h"

#include "fake-sock.h"
#include "sock-fixture.h"
#include "threads.h"

/* ---- a link that is a socket pair ---- */

#define LINK FAKE_LINK

static int link_fds[2]; /* the link's end, the peer's end */
static _Atomic int shutdown_cnt, abort_cnt, linger_cnt, drain_cnt;
static _Atomic int counted_tx, counted_rx;
static _Atomic bool is_reset;
static int linger_ret, cancel_cnt;

ssize_t sdp_link_send_wait(struct sdp_link *link, const struct iovec *iov,
			   int iovcnt, unsigned int flags, uint64_t deadline)
{
	ssize_t ret;

	assert_ptr_equal(link, LINK);
	assert_int_equal(iovcnt, 1);
	assert_int_equal(flags, 0);
	assert_true(deadline == SDP_NEVER);
	ret = send(link_fds[0], iov->iov_base, iov->iov_len, MSG_NOSIGNAL);
	return ret < 0 ? -EPIPE : ret;
}

static ssize_t link_recv(const struct iovec *iov, int how)
{
	ssize_t ret = recv(link_fds[0], iov->iov_base, iov->iov_len, how);

	if (ret == 0 && atomic_load(&is_reset))
		return -ECONNRESET;
	return ret < 0 ? -EAGAIN : ret;
}

ssize_t sdp_link_recv(struct sdp_link *link, const struct iovec *iov,
		      int iovcnt, unsigned int flags)
{
	assert_ptr_equal(link, LINK);
	assert_int_equal(iovcnt, 1);
	assert_int_equal(flags & ~SDP_RECV_PEEK, SDP_RECV_RELAY);
	return link_recv(iov, flags & SDP_RECV_PEEK ? MSG_PEEK | MSG_DONTWAIT
						    : MSG_DONTWAIT);
}

ssize_t sdp_link_recv_wait(struct sdp_link *link, const struct iovec *iov,
			   int iovcnt, unsigned int flags, size_t low,
			   uint64_t deadline)
{
	assert_ptr_equal(link, LINK);
	assert_int_equal(iovcnt, 1);
	assert_int_equal(flags, SDP_RECV_RELAY);
	assert_int_equal(low, 1);
	assert_true(deadline == SDP_NEVER);
	return link_recv(iov, 0);
}

int sdp_link_shutdown(struct sdp_link *link)
{
	assert_ptr_equal(link, LINK);
	shutdown_cnt++;
	return shutdown(link_fds[0], SHUT_WR);
}

int sdp_link_linger(struct sdp_link *link, uint64_t deadline)
{
	assert_ptr_equal(link, LINK);
	assert_true(deadline > sdp_now_ns());
	linger_cnt++;
	(void)shutdown(link_fds[0], SHUT_WR);
	return linger_ret;
}

void sdp_link_abort(struct sdp_link *link)
{
	assert_ptr_equal(link, LINK);
	abort_cnt++;
	/* Its threads return from their calls. */
	(void)shutdown(link_fds[0], SHUT_RDWR);
}

int sdp_link_wait(struct sdp_link *link, unsigned int what, uint64_t deadline)
{
	(void)deadline;
	assert_ptr_equal(link, LINK);
	assert_int_equal(what, SDP_LINK_DRAINED | SDP_LINK_CLOSED);
	drain_cnt++;
	return 0;
}

void sdp_link_set_notify(struct sdp_link *link, sdp_notify_fn *fn, void *arg)
{
	assert_ptr_equal(link, LINK);
	assert_true(!fn && !arg);
}

/* ---- the rest of the layer ---- */

int sdp_start_wait(struct sdp_sock *sock, uint64_t deadline)
{
	(void)sock;
	assert_true(deadline == SDP_NEVER);
	return 0;
}

void sdp_ask_cancel(struct sdp_sock *sock)
{
	cancel_cnt++;
	atomic_store(&sock->start.is_asking, false);
}

void sdp_count_relay(struct sdp_sock *sock, size_t octets, bool is_send)
{
	(void)sock;
	*(is_send ? &counted_tx : &counted_rx) += (int)octets;
}

void sdp_options_relay(struct sdp_sock *sock)
{
	assert_true(sock->relay.is_on);
}

void sdp_relay_name_put(int lib_fd, const union sdp_addr *local,
			const union sdp_addr *peer)
{
	assert_true(lib_fd >= 0 && local && peer);
}

void sdp_shadow_show(struct sdp_shadow *shadow, int fd, short events,
		     short arrival)
{
	assert_true(shadow->lib_fd >= 0 && fd >= 0);
	assert_int_equal(events, POLLOUT);
	assert_false(arrival);
}

void sdp_shadow_close(struct sdp_shadow *shadow)
{
	close(shadow->lib_fd);
	shadow->lib_fd = -1;
}

int sdp_shadow_open(struct sdp_shadow *shadow, int flags)
{
	int pair[2];

	assert_int_equal(flags, 0);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return -EMFILE;
	shadow->lib_fd = pair[1];
	return pair[0];
}

/* ---- fixture ---- */

static struct sdp_sock *sock;
static int fd; /* the program's end of the pair; lib_fd is the other one */
static _Atomic int end_cnt;

static void on_end(struct sdp_sock *of)
{
	assert_ptr_equal(of, sock);
	/* As in end.c: first for the numbers, then for the relay. */
	if (!sdp_relay_keeps(of))
		end_cnt++;
}

static int begin(void **state)
{
	int pair[2];

	fake_reset();
	shutdown_cnt = abort_cnt = linger_cnt = drain_cnt = 0;
	counted_tx = counted_rx = end_cnt = 0;
	linger_ret = cancel_cnt = 0;
	threads_left = 100;
	is_reset = false;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, link_fds), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	fd = pair[0];
	sock = sock_add(fd, on_end);
	sock->shadow.lib_fd = pair[1];
	sock->options.linger_s = -1;
	sdp_sock_become(sock, SDP_SOCK_STREAM);
	sdp_sock_link_put(sock, LINK);
	return 0;
}

/* Closes the program's last number. */
static void program_closes(void)
{
	program_close(fd);
	fd = -1;
}

static int end(void **state)
{
	close(link_fds[1]);
	if (fd >= 0)
		program_closes();
	threads_wait();
	close(sock->shadow.lib_fd);
	close(link_fds[0]);
	sdp_sock_drop(sock);
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, begin, end)

static int ioctl_value(int of, unsigned long request)
{
	int value = -1;

	return ioctl(of, request, &value) < 0 ? -1 : value;
}

static void assert_reset(void)
{
	char octet;

	assert_int_equal(recv(fd, &octet, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
}

static void *send_thread(void *octets)
{
	assert_int_equal(send(fd, octets, 1 << 20, 0), 1 << 20);
	return NULL;
}

/* ---- cases ---- */

FILE_CASE(carries_octets_both_ways)
{
	assert_int_equal(sdp_relay_enter(sock), 0);
	assert_true(sock->relay.is_on);
	assert_int_equal(send(fd, "hello", 5, 0), 5);
	assert_octets(link_fds[1], "hello");
	assert_int_equal(send(link_fds[1], "answer", 6, 0), 6);
	assert_octets(fd, "answer");
	/* Each direction ends separately. */
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_eof(link_fds[1]);
	assert_int_equal(shutdown_cnt, 1);
	assert_int_equal(send(link_fds[1], "more", 4, 0), 4);
	assert_octets(fd, "more");
	close(link_fds[1]);
	assert_eof(fd);
	threads_wait();
	assert_int_equal(counted_tx, 5);
	assert_int_equal(counted_rx, 10);
	/* There is still a holder: the socket has not ended. */
	assert_int_equal(end_cnt, 0);
	assert_int_equal(abort_cnt, 0);
	link_fds[1] = dup(0);
}

FILE_CASE(octets_received_before_are_there_at_once)
{
	assert_int_equal(send(link_fds[1], "early", 5, 0), 5);
	assert_int_equal(sdp_relay_enter(sock), 0);
	assert_octets(fd, "early");
}

static void link_fill(void)
{
	static const char octets[4096];

	while (send(link_fds[0], octets, sizeof(octets), MSG_DONTWAIT) > 0)
		;
}

static void peer_read_all(void)
{
	char octets[4096];

	while (recv(link_fds[1], octets, sizeof(octets), MSG_DONTWAIT) > 0)
		;
}

FILE_CASE(owes_what_the_peer_does_not_have)
{
	fake.sdp_link_state.ret = SDP_LINK_DRAINED;
	assert_false(sdp_relay_is_owing());
	assert_int_equal(sdp_relay_enter(sock), 0);
	assert_false(sdp_relay_is_owing());
	/* Neither the pair nor the link has them. */
	link_fill();
	assert_int_equal(send(fd, "on the way", 10, 0), 10);
	assert_true(sdp_relay_is_owing());
	peer_read_all();
	wait_until(!sdp_relay_is_owing());
	fake.sdp_link_state.ret = 0;
	assert_true(sdp_relay_is_owing());
	fake.sdp_link_state.ret = SDP_LINK_CLOSED;
	assert_false(sdp_relay_is_owing());
	/* An end is passed on, too. */
	link_fill();
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	wait_until(!sdp_relay_is_owing());
	assert_int_equal(shutdown_cnt, 1);
}

/* Octets that the pair showed for readiness are not part of the stream. */
FILE_CASE(octets_shown_for_readiness_are_not_sent)
{
	assert_int_equal(send(fd, "????", 4, 0), 4);
	assert_int_equal(sdp_relay_enter(sock), 0);
	assert_int_equal(send(fd, "real", 4, 0), 4);
	assert_octets(link_fds[1], "real");
}

static const struct {
	const char *name;
	int linger_s, linger_ret;
	int lingers, aborts;
} closes[] = {
	{ "in order", -1, 0, 1, 0 },
	{ "SO_LINGER 0", 0, 0, 0, 1 },
	{ "the rest cannot be sent", -1, -ETIMEDOUT, 1, 1 },
};

FILE_CASE(ends_with_its_last_descriptor)
{
	for (size_t i = 0; i < ARRAY_LEN(closes); i++) {
		if (i > 0)
			assert_int_equal(begin(state), 0);
		sock->options.linger_s = closes[i].linger_s;
		linger_ret = closes[i].linger_ret;
		assert_int_equal(sdp_relay_enter(sock), 0);
		assert_int_equal(send(fd, "last", 4, 0), 4);
		program_closes();
		assert_octets(link_fds[1], "last");
		assert_eof(link_fds[1]);
		/* The peer closes too. */
		shutdown(link_fds[1], SHUT_RDWR);
		threads_wait();
		assert_row(closes[i].name, end_cnt == 1);
		assert_row(closes[i].name, linger_cnt == closes[i].lingers);
		assert_row(closes[i].name, abort_cnt == closes[i].aborts);
		assert_row(closes[i].name, shutdown_cnt == 0);
		if (i + 1 < ARRAY_LEN(closes))
			end(state);
	}
}

/* Another holder has closed nothing: the relay continues. */
FILE_CASE(goes_on_for_other_descriptors)
{
	int other = dup(fd);

	assert_int_equal(sdp_relay_enter(sock), 0);
	program_closes();
	assert_int_equal(send(other, "other", 5, 0), 5);
	assert_octets(link_fds[1], "other");
	assert_int_equal(end_cnt, 0);
	close(other);
	assert_eof(link_fds[1]);
	assert_int_equal(linger_cnt, 1);
}

FILE_CASE(a_reset_ends_both_directions)
{
	assert_int_equal(sdp_relay_enter(sock), 0);
	is_reset = true;
	close(link_fds[1]);
	assert_reset();
	assert_int_equal(send(fd, "x", 1, MSG_NOSIGNAL), -1);
	assert_int_equal(errno, EPIPE);
	threads_wait();
	link_fds[1] = dup(0);
}

/* What has come before is there, and then no end. */
FILE_CASE(octets_before_a_reset_are_read)
{
	assert_int_equal(sdp_relay_enter(sock), 0);
	assert_int_equal(send(fd, "hello", 5, 0), 5);
	assert_octets(link_fds[1], "hello");
	assert_int_equal(send(link_fds[1], "before", 6, 0), 6);
	is_reset = true;
	close(link_fds[1]);
	threads_wait();
	assert_octets(fd, "before");
	assert_reset();
	link_fds[1] = dup(0);
}

/* The kernel closes the library's end. */
FILE_CASE(a_process_that_is_killed_shows_no_end)
{
	assert_int_equal(sdp_relay_enter(sock), 0);
	assert_int_equal(send(fd, "hello", 5, 0), 5);
	assert_octets(link_fds[1], "hello");
	assert_int_equal(send(link_fds[1], "answer", 6, 0), 6);
	assert_octets(fd, "answer");
	shutdown(link_fds[1], SHUT_WR);
	assert_eof(fd);
	/* With an octet in it. The relay takes the others when the link has
	 * them. */
	wait_until(ioctl_value(sock->shadow.lib_fd, FIONREAD) == 1);
}

/* The peer's end has been passed on, and so has the holders'. */
FILE_CASE(an_end_stays_an_end)
{
	assert_int_equal(sdp_relay_enter(sock), 0);
	assert_int_equal(send(fd, "hello", 5, 0), 5);
	assert_octets(link_fds[1], "hello");
	shutdown(link_fds[1], SHUT_WR);
	shutdown(fd, SHUT_WR);
	threads_wait();
	assert_int_equal(end_cnt, 0);
	sdp_shadow_close(&sock->shadow);
	assert_eof(fd);
	assert_eof(fd);
}

FILE_CASE(holders_that_have_read_too_little_cause_a_reset)
{
	assert_int_equal(sdp_relay_enter(sock), 0);
	assert_int_equal(send(link_fds[1], "unread", 6, 0), 6);
	wait_until(ioctl_value(fd, FIONREAD) == 6);
	program_closes();
	threads_wait();
	assert_int_equal(abort_cnt, 1);
	assert_int_equal(linger_cnt, 0);
}

FILE_CASE(an_urgent_octet_of_a_holder_is_sent_in_line)
{
	assert_int_equal(sdp_relay_enter(sock), 0);
	assert_int_equal(send(fd, "abc", 3, MSG_OOB), 3);
	assert_octets(link_fds[1], "abc");
	assert_int_equal(send(fd, "def", 3, 0), 3);
	assert_octets(link_fds[1], "def");
}

/* More than the library reads at once. */
FILE_CASE(carries_much)
{
	static char octets[1 << 20], got[sizeof(octets)];
	pthread_t thread;

	for (size_t i = 0; i < sizeof(octets); i++)
		octets[i] = (char)(i * 7 + i / 251);
	assert_int_equal(sdp_relay_enter(sock), 0);
	pthread_create(&thread, NULL, send_thread, octets);
	assert_int_equal(recv(link_fds[1], got, sizeof(got), MSG_WAITALL),
			 sizeof(got));
	pthread_join(thread, NULL);
	assert_memory_equal(got, octets, sizeof(got));
}

FILE_CASE(nothing_is_written_after_shut_wr)
{
	atomic_store(&sock->is_wr_shut, true);
	assert_int_equal(sdp_relay_enter(sock), 0);
	assert_int_equal(send(fd, "x", 1, MSG_NOSIGNAL), -1);
	assert_int_equal(errno, EPIPE);
}

/* The shadow has shown the peer's end, or both. */
FILE_CASE(octets_before_a_shown_end_are_read)
{
	for (int is_closed = 0; is_closed < 2; is_closed++) {
		int other;

		if (is_closed)
			assert_int_equal(begin(state), 0);
		other = dup(fd);
		assert_int_equal(send(link_fds[1], "early", 5, 0), 5);
		shutdown(link_fds[1], SHUT_WR);
		if (is_closed) {
			sdp_shadow_close(&sock->shadow);
		} else {
			shutdown(sock->shadow.lib_fd, SHUT_WR);
			sock->shadow.is_rdhup = true;
		}
		assert_int_equal(sdp_relay_enter(sock), 0);
		assert_true(sock->relay.is_renewed);
		assert_octets(fd, "early");
		assert_eof(fd);
		assert_int_equal(send(fd, "answer", 6, 0), 6);
		assert_octets(link_fds[1], "answer");
		close(other);
		if (!is_closed)
			end(state);
	}
}

FILE_CASE(unread_octets_cause_a_reset)
{
	assert_int_equal(sdp_relay_enter(sock), 0);
	/* Stops reading without notice, like a child that was killed. */
	program_closes();
	assert_eof(link_fds[1]); /* the peer has seen the holders' end */
	while (!abort_cnt) {
		if (send(link_fds[1], "x", 1, MSG_NOSIGNAL) < 0)
			break;
	}
	threads_wait();
	assert_int_equal(abort_cnt, 1);
	assert_int_equal(end_cnt, 1);
}

static int thread_cnt(void)
{
	int cnt;

	util_lock(&sock->lock);
	cnt = sock->relay.thread_cnt;
	util_unlock(&sock->lock);
	return cnt;
}

/* Nothing has changed for the program, and a later attempt may succeed. */
FILE_CASE(needs_both_threads)
{
	for (int cnt = 0; cnt < 2; cnt++) {
		threads_left = cnt;
		assert_int_equal(sdp_relay_enter(sock), -EAGAIN);
		assert_false(sock->relay.is_on);
		assert_false(sdp_relay_keeps(sock));
		threads_wait();
		assert_int_equal(thread_cnt(), 0);
		assert_int_equal(sdp_sock_state(sock), SDP_SOCK_STREAM);
	}
	threads_left = 2;
	assert_int_equal(sdp_relay_enter(sock), 0);
	assert_int_equal(send(fd, "hello", 5, 0), 5);
	assert_octets(link_fds[1], "hello");
}

FILE_CASE(refuses_what_it_cannot_carry)
{
	static const struct {
		const char *name;
		enum sdp_sock_state state;
		bool has_fd;
		int ret;
		bool is_relay;
	} rows[] = {
		{ "TCP", SDP_SOCK_TCP, true, 0, false },
		{ "listening", SDP_SOCK_LISTENING, true, 0, false },
		{ "of another process", SDP_SOCK_RELAY, true, 0, false },
		{ "no number", SDP_SOCK_STREAM, false, -ENOTCONN, false },
		{ "starting", SDP_SOCK_STARTING, true, 0, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (i > 0)
			assert_int_equal(begin(state), 0);
		sdp_sock_become(sock, rows[i].state);
		if (!rows[i].has_fd)
			program_closes();
		assert_row(rows[i].name, sdp_relay_enter(sock) == rows[i].ret);
		assert_row(rows[i].name, sock->relay.is_on == rows[i].is_relay);
		/* The start owes what holders write. */
		assert_row(rows[i].name,
			   fake.sdp_owed_begin.cnt == rows[i].is_relay);
		if (!rows[i].is_relay)
			threads_wait();
		assert_row(rows[i].name,
			   thread_cnt() == (rows[i].is_relay ? 2 : 0));
		assert_row(rows[i].name,
			   sdp_relay_keeps(sock) == rows[i].is_relay);
		if (i + 1 < ARRAY_LEN(rows))
			end(state);
	}
}

FILE_CASE(is_entered_once)
{
	atomic_store(&sock->start.is_asking, true);
	assert_int_equal(sdp_relay_enter(sock), 0);
	assert_int_equal(cancel_cnt, 1);
	assert_int_equal(sdp_relay_enter(sock), 0);
	assert_int_equal(thread_cnt(), 2);
	assert_int_equal(send(fd, "once", 4, 0), 4);
	assert_octets(link_fds[1], "once");
}

/* When the process exits, what the holders have written is sent, and their
 * stream ends; at most until the deadline. */
FILE_CASE(ends_with_its_process)
{
	assert_int_equal(sdp_relay_enter(sock), 0);
	assert_int_equal(send(fd, "written", 7, 0), 7);
	sdp_relay_end(sdp_now_ns() + 60000000000ull);
	assert_int_equal(drain_cnt, 1);
	assert_octets(link_fds[1], "written");
	assert_eof(link_fds[1]);
	assert_int_equal(send(fd, "x", 1, MSG_NOSIGNAL), -1);
	assert_int_equal(errno, EPIPE);
}

/* The program has closed it a moment before. */
FILE_CASE(what_was_closed_ends_with_the_process_too)
{
	assert_int_equal(sdp_relay_enter(sock), 0);
	assert_int_equal(send(fd, "written", 7, 0), 7);
	program_closes();
	sdp_relay_end(sdp_now_ns() + 60000000000ull);
	assert_true(sock->relay.has_sent);
	assert_octets(link_fds[1], "written");
	assert_eof(link_fds[1]);
	shutdown(link_fds[1], SHUT_RDWR);
	threads_wait();
	assert_int_equal(end_cnt, 1);
}

/* Those of the parent go on there. */
FILE_CASE(a_forked_child_waits_for_none)
{
#ifdef __SANITIZE_THREAD__
	skip_because("a forked child has no other threads");
#endif
	assert_int_equal(sdp_relay_enter(sock), 0);
	program_closes();
	sdp_relay_fork_child();
	sdp_relay_end(UINT64_MAX);
	assert_int_equal(drain_cnt, 0);
	shutdown(link_fds[1], SHUT_RDWR);
}

FILE_CASE(does_not_wait_beyond_the_deadline)
{
	assert_int_equal(sdp_relay_enter(sock), 0);
	sdp_relay_end(0);
	assert_int_equal(drain_cnt, 0);
}

ALL_CASES_WITH(table_start, NULL);

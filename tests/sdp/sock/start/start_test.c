/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* When SDP starts on a connection, what is stored meanwhile, and where that
 * goes when the start ends: to the link, to TCP, or nowhere. */
#include "addr.h"
#include "descriptors.h"
#include "loopback.h"
#include "test.h"
#include "until.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock/start/connect.h"
#include "sock/base/count.h"
#include "sock/base/signals.h"
#include "sock/show/epoll.h"
#include "sock/base/events.h"
#include "sock/base/limit.h"
#include "sock/base/mark.h"
#include "sock/base/option.h"
#include "sock/start/owed.h"
#include "sock/show/ready.h"
#include "sock/show/shadow.h"
#include "sock/start/start.h"
#include "sock/base/tcp-state.h"
#include "stat/sdp-stat.h"
#include "verbs/sdp-link.h"

#include "fake-sock.h"
#include "sock-fixture.h"
#include "until.h"

#define LINK FAKE_LINK

/* ---- links, which are made when the gate opens ---- */

static sem_t gate;
static int link_rets[2]; /* of the first attempt, of later ones */
static struct sdp_outcome outcome;
static _Atomic int make_cnt;
static bool was_accepted;
static char link_got[2 * SDP_EARLY_MAX];
static size_t link_got_len;
static size_t link_urgent; /* octets up to the last urgent one; 0: none */
static bool link_is_full;
static int link_fault, link_told; /* 0: none */
static _Atomic int close_cnt;

static int link_make(struct sdp_link **ret_link, struct sdp_outcome *ret)
{
	int turn = make_cnt++;

	while (sem_wait(&gate) < 0)
		;
	*ret = outcome;
	*ret_link = LINK;
	return link_rets[turn > 0];
}

int sdp_link_connect_fd(struct sdp_link **ret_link, int fd,
			const struct sdp_link_options *opt, uint64_t deadline,
			struct sdp_outcome *ret_outcome)
{
	assert_true(fd >= 0 && opt && deadline == SDP_NEVER);
	was_accepted = false;
	return link_make(ret_link, ret_outcome);
}

int sdp_link_accept_fd(struct sdp_link **ret_link, int fd,
		       const struct sdp_link_options *opt, uint64_t deadline,
		       struct sdp_outcome *ret_outcome)
{
	assert_true(fd >= 0 && opt && deadline == SDP_NEVER);
	was_accepted = true;
	return link_make(ret_link, ret_outcome);
}

ssize_t sdp_link_send(struct sdp_link *link, const struct iovec *iov,
		      int iovcnt, unsigned int flags)
{
	/* Accepts a part at a time, and once there is no space. */
	size_t n = iov->iov_len < 30000 ? iov->iov_len : 30000;

	assert_ptr_equal(link, LINK);
	assert_int_equal(iovcnt, 1);
	if (link_fault)
		return -link_fault;
	if (flags) {
		assert_int_equal(flags, SDP_SEND_OOB);
		assert_int_equal(n, 1);
		link_urgent = link_got_len + 1;
	}
	link_is_full = !link_is_full;
	if (link_is_full)
		return -EAGAIN;
	memcpy(link_got + link_got_len, iov->iov_base, n);
	link_got_len += n;
	return (ssize_t)n;
}

int sdp_link_wait(struct sdp_link *link, unsigned int what, uint64_t deadline)
{
	assert_ptr_equal(link, LINK);
	assert_int_equal(what, SDP_LINK_OUT);
	assert_true(deadline == SDP_NEVER && link_is_full);
	return 1;
}

void sdp_link_set_notify(struct sdp_link *link, sdp_notify_fn *fn, void *arg)
{
	assert_ptr_equal(link, LINK);
	assert_true(!fn == !arg);
}

const struct sockaddr_storage *sdp_link_name(const struct sdp_link *link,
					     bool is_peer)
{
	static struct sockaddr_storage name;

	assert_ptr_equal(link, LINK);
	name = test_addr(is_peer ? "127.0.0.2" : "127.0.0.1",
			 is_peer ? 2222 : 1111);
	return &name;
}

int sdp_link_set(struct sdp_link *link, enum sdp_link_setting setting,
		 uint32_t value)
{
	assert_ptr_equal(link, LINK);
	assert_int_equal(value, setting == SDP_LINK_NODELAY ||
					setting == SDP_LINK_RCVLOWAT);
	return 0;
}

void sdp_link_close(struct sdp_link *link, uint64_t deadline)
{
	assert_ptr_equal(link, LINK);
	assert_true(link_fault && deadline == 0);
	close_cnt++;
}

void sdp_link_tell_again(struct sdp_link *link, int error)
{
	assert_ptr_equal(link, LINK);
	link_told = error;
}

/* ---- the rest of the layer ---- */

static _Atomic int end_cnt, raised_cnt;
static _Atomic int counted_tx, avoided_cnt;
static struct sdp_link *_Atomic updated_link; /* reported to the page */
static bool can_raise;
static int other_tcp; /* the fallback connects to this; -errno */

void sdp_count_send(struct sdp_sock *sock, size_t octets)
{
	(void)sock;
	counted_tx += (int)octets;
}

void sdp_count_update(struct sdp_sock *sock)
{
	atomic_store(&updated_link, sdp_sock_link(sock));
}

bool sdp_limit_begin(int fd)
{
	bool is_raised = can_raise && make_cnt > 0;

	assert_true(fd >= 0);
	raised_cnt += is_raised;
	return is_raised;
}

void sdp_limit_end(bool is_raised)
{
	raised_cnt -= is_raised;
}

static bool is_connected;

bool sdp_connect_look(struct sdp_sock *sock, int fd)
{
	assert_true(fd >= 0 && !sock->is_accepting);
	return is_connected;
}

/* If set, the fallback to TCP waits until the test continues it. */
static bool is_way_slow;
static sem_t on_way, way_end;

int sdp_connect_tcp(const struct sdp_sock *sock)
{
	(void)sock;
	if (is_way_slow) {
		sem_post(&on_way);
		while (sem_wait(&way_end) < 0)
			;
	}
	return other_tcp;
}

void sdp_policy_avoid(const struct sockaddr *dst)
{
	assert_non_null(dst);
	avoided_cnt++;
}

int sdp_shadow_open(struct sdp_shadow *shadow, int flags)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0, pair))
		return -errno;
	shadow->lib_fd = pair[1];
	return pair[0];
}

void sdp_shadow_show(struct sdp_shadow *shadow, int fd, short events,
		     short arrival)
{
	assert_true(shadow->lib_fd >= 0 && fd >= 0 && !events && !arrival);
}

void sdp_shadow_close(struct sdp_shadow *shadow)
{
	close(shadow->lib_fd);
	shadow->lib_fd = -1;
}

/* ---- fixture: a TCP connection with one end in the program ---- */

static struct sdp_sock *sock;
static int fd, peer;

static void on_end(struct sdp_sock *of)
{
	assert_ptr_equal(of, sock);
	end_cnt++;
}

static int begin(void **state)
{
	int pair[2];

	assert_int_equal(sem_init(&gate, 0, 0), 0);
	link_rets[0] = link_rets[1] = 0;
	outcome = (struct sdp_outcome){ .reason = SDP_REASON_NONE };
	fake_reset();
	fake.sdp_signals_restart.ret = true;
	make_cnt = end_cnt = raised_cnt = 0;
	counted_tx = avoided_cnt = 0;
	updated_link = NULL;
	link_got_len = link_urgent = 0;
	link_is_full = can_raise = false;
	link_fault = link_told = close_cnt = 0;
	is_way_slow = false;
	is_connected = true;
	assert_int_equal(sem_init(&on_way, 0, 0), 0);
	assert_int_equal(sem_init(&way_end, 0, 0), 0);
	other_tcp = -ECONNREFUSED;
	test_tcp_pair(pair);
	fd = pair[0];
	peer = pair[1];
	sock = sock_add(fd, on_end);
	sdp_sock_become(sock, SDP_SOCK_PENDING);
	return 0;
}

/* Lets the start end, and its thread. */
static void gate_open(void)
{
	sem_post(&gate);
	assert_int_equal(sdp_start_wait(sock, SDP_NEVER), 0);
	/* The file and the test hold it. */
	wait_until(atomic_load(&sock->hold_cnt) == 2);
	assert_true(fake.sdp_sock_tell.cnt > 0);
	wait_until(sdp_owed_cnt() == 0);
}

static int end(void **state)
{
	if (sdp_sock_state(sock) == SDP_SOCK_STARTING)
		gate_open();
	assert_int_equal(raised_cnt, 0);
	sdp_sock_become(sock, SDP_SOCK_TCP);
	program_close(fd);
	close(peer);
	sdp_private_close(sock->tcp_fd);
	if (sock->shadow.lib_fd >= 0)
		close(sock->shadow.lib_fd);
	free(sock->start.early); /* as the end of a socket does */
	sdp_sock_drop(sock);
	return sem_destroy(&gate);
}

#define FILE_CASE(name) CASE_WITH(name, begin, end)

static void start_now(void)
{
	assert_int_equal(sdp_start(sock, fd, SDP_START_WRITE),
			 SDP_SOCK_STARTING);
}

static ssize_t send_text(const char *text)
{
	struct iovec iov = { (void *)(uintptr_t)text, strlen(text) };

	return sdp_start_send(sock, &iov, 1, 1, false);
}

/* ---- when it starts ---- */

enum peer_does { NOTHING, SAYS, SAYS_AND_ENDS, ENDS };

static const struct {
	const char *name;
	bool is_accepting;
	enum sdp_start_why why;
	enum peer_does peer_does;
	enum sdp_sock_state state;
} whens[] = {
	{ "connects, waits", false, SDP_START_WAIT, NOTHING,
	  SDP_SOCK_STARTING },
	{ "connects, reads", false, SDP_START_READ, NOTHING,
	  SDP_SOCK_STARTING },
	{ "accepts, waits", true, SDP_START_WAIT, NOTHING, SDP_SOCK_PENDING },
	{ "accepts, reads", true, SDP_START_READ, NOTHING, SDP_SOCK_PENDING },
	{ "accepts, writes", true, SDP_START_WRITE, NOTHING,
	  SDP_SOCK_STARTING },
	{ "accepts, a Hello is there", true, SDP_START_WAIT, SAYS,
	  SDP_SOCK_STARTING },
	{ "accepts, the peer has closed behind it", true, SDP_START_READ,
	  SAYS_AND_ENDS, SDP_SOCK_TCP },
	{ "accepts, the peer has closed", true, SDP_START_WRITE, ENDS,
	  SDP_SOCK_TCP },
};

/* Waits until the kernel has processed what the peer did. */
static void peer_acts(enum peer_does what)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	if (what == SAYS || what == SAYS_AND_ENDS)
		assert_int_equal(send(peer, "Hello", 5, 0), 5);
	if (what == SAYS_AND_ENDS || what == ENDS)
		assert_int_equal(shutdown(peer, SHUT_WR), 0);
	if (what == SAYS_AND_ENDS || what == ENDS)
		pfd.events = POLLRDHUP;
	if (what != NOTHING)
		assert_int_equal(poll(&pfd, 1, -1), 1);
}

CASE(starts_when_it_is_time)
{
	for (size_t i = 0; i < ARRAY_LEN(whens); i++) {
		bool has_started = whens[i].state == SDP_SOCK_STARTING;

		begin(state);
		sock->is_accepting = whens[i].is_accepting;
		peer_acts(whens[i].peer_does);
		errno = 77;
		assert_row(whens[i].name,
			   sdp_start(sock, fd, whens[i].why) == whens[i].state);
		assert_row(whens[i].name, errno == 77);
		/* The number is a shadow's, and the TCP connection exists
		 * below. */
		assert_row(whens[i].name, (sock->tcp_fd >= 0) == has_started);
		assert_row(whens[i].name,
			   (sock->shadow.lib_fd >= 0) == has_started);
		if (has_started) {
			gate_open();
			assert_row(whens[i].name,
				   was_accepted == whens[i].is_accepting);
			assert_row(whens[i].name, sdp_sock_link(sock) == LINK);
		}
		/* The Hello of a peer that has closed is not data of the
		 * program. */
		if (whens[i].state == SDP_SOCK_TCP) {
			assert_int_equal(fake.sdp_mark_remove.cnt, 1);
			assert_eof(fd);
		}
		end(state);
	}
}

FILE_CASE(a_number_that_was_closed_starts_nothing)
{
	assert_int_equal(sdp_start(sock, peer, SDP_START_WRITE),
			 SDP_SOCK_PENDING);
	assert_int_equal(make_cnt, 0);
}

FILE_CASE(a_connecting_socket_starts_when_it_is_connected)
{
	is_connected = false;
	assert_int_equal(sdp_start(sock, fd, SDP_START_WRITE),
			 SDP_SOCK_PENDING);
	is_connected = true;
	start_now();
}

/* Without descriptors for a shadow the connection ends, for both programs. */
FILE_CASE(without_a_shadow_the_connection_ends)
{
	int next = test_fd_next();

	sock->is_accepting = true;
	for (int more = 0; more < 2; more++) {
		struct rlimit old = test_fd_leave(more);

		assert_int_equal(sdp_start(sock, fd, SDP_START_WRITE),
				 SDP_SOCK_TCP);
		test_fd_restore(old);
		assert_int_equal(fake.sdp_mark_remove.cnt, more + 1);
		sdp_private_close(sock->tcp_fd);
		sock->tcp_fd = -1;
		assert_int_equal(test_fd_next(), next);
		assert_eof(peer);
		sdp_sock_become(sock, SDP_SOCK_PENDING);
	}
	assert_int_equal(make_cnt, 0);
}

/* ---- what is stored ---- */

FILE_CASE(sent_octets_go_to_the_link)
{
	static char much[SDP_EARLY_MAX];
	struct iovec iov[2] = { { much, 40000 }, { much + 40000, 40000 } };
	struct iovec urgent = { (char[]){ "first!" }, 6 };

	for (size_t i = 0; i < sizeof(much); i++)
		much[i] = (char)(i * 7 + i / 251);
	iov[1].iov_len = sizeof(much) - 40000;
	start_now();
	assert_int_equal(sdp_start_send(sock, &urgent, 1, 1, true), 6);
	assert_int_equal(sdp_owed_cnt(), 1);
	/* As much as there is room for. */
	assert_int_equal(sdp_start_send(sock, iov, 2, 1, false),
			 SDP_EARLY_MAX - 6);
	assert_int_equal(send_text("x"), -EAGAIN);
	atomic_store(&sock->is_wr_shut, true);
	atomic_store(&sock->is_rd_shut, true);
	gate_open();
	assert_int_equal(link_got_len, SDP_EARLY_MAX);
	assert_memory_equal(link_got, "first!", 6);
	assert_int_equal(link_urgent, 6);
	assert_memory_equal(link_got + 6, much, SDP_EARLY_MAX - 6);
	assert_int_equal(counted_tx, SDP_EARLY_MAX);
	assert_non_null(updated_link);
	assert_int_equal(fake.sdp_link_shutdown.cnt, 1);
	assert_int_equal(fake.sdp_link_shutdown_read.cnt, 1);
	assert_int_equal(sdp_sock_early_len(sock), 0);
	/* It has ended: the caller checks again. */
	assert_int_equal(send_text("late"), 0);
}

/* No call of the program has seen the link's end. A link that lives must not go
 * on behind the octets that it lacks. */
FILE_CASE(octets_that_the_link_does_not_take_are_an_error)
{
	for (int lives = 0; lives < 2; lives++) {
		if (lives) {
			end(state);
			begin(state);
		}
		link_fault = lives ? ENOBUFS : ECONNRESET;
		fake.sdp_link_state.ret = lives ? 0 : SDP_LINK_ERR;
		start_now();
		assert_int_equal(send_text("lost"), 4);
		gate_open();
		assert_int_equal(sdp_sock_state(sock), SDP_SOCK_STREAM);
		assert_int_equal(link_told, link_fault);
		assert_ptr_equal(sdp_sock_link(sock), lives ? NULL : LINK);
		assert_int_equal(close_cnt, lives);
		assert_int_equal(atomic_load(&sock->error),
				 lives ? ENOBUFS : 0);
	}
}

/* TCP ends in order again, but not below a link that has entered it. */
FILE_CASE(the_end_of_tcp_is_what_it_was)
{
	for (int is_entering = 0; is_entering < 2; is_entering++) {
		struct linger linger = { 0 };
		socklen_t len = sizeof(linger);

		if (is_entering) {
			end(state);
			begin(state);
		}
		start_now();
		sock->start.is_entering = is_entering;
		assert_int_equal(send_text("early"), 5);
		gate_open();
		assert_int_equal(getsockopt(sock->tcp_fd, SOL_SOCKET, SO_LINGER,
					    &linger, &len),
				 0);
		assert_int_equal(linger.l_onoff, is_entering);
	}
}

FILE_CASE(nothing_is_kept_while_it_asks)
{
	assert_int_equal(sdp_start_cover(sock, true), 0);
	assert_true(sdp_sock_is_asking(sock));
	assert_int_equal(send_text("x"), -EAGAIN);
	sdp_start_give_back(sock, sock->tcp_fd);
	assert_int_equal(sdp_sock_state(sock), SDP_SOCK_TCP);
	/* The number belongs to TCP again. */
	assert_int_equal(send(fd, "tcp", 3, 0), 3);
	assert_octets(peer, "tcp");
	atomic_store(&sock->start.is_asking, false);
}

FILE_CASE(waits_until_its_deadline)
{
	start_now();
	assert_int_equal(sdp_start_wait(sock, sdp_now_ns() + 1000000), -EAGAIN);
	atomic_store(&sock->is_rd_shut, true);
	assert_int_equal(
		sdp_start_wait_shut(sock, &sock->is_rd_shut, SDP_NEVER), 0);
	gate_open();
	assert_int_equal(sdp_start_wait(sock, 0), 0);
}

/* ---- how it ends ---- */

static const struct {
	const char *name;
	bool is_accepting, has_way_back, has_early, is_undone;
	int ret;
	enum sdp_reason reason;
	enum sdp_sock_state state;
	int fallback, avoided_cnt, error;
} failures[] = {
	{ "no answer", false, true, true, false, -ETIMEDOUT, SDP_REASON_TIMEOUT,
	  SDP_SOCK_TCP, SDP_STAT_FALLBACK_no_hello, 1, 0 },
	{ "not SDP", false, true, false, false, -EPROTO, SDP_REASON_NOT_SDP,
	  SDP_SOCK_TCP, SDP_STAT_FALLBACK_bad_hello, 1, 0 },
	{ "no device", false, true, true, false, -ENODEV, SDP_REASON_DEVICE,
	  SDP_SOCK_TCP, SDP_STAT_FALLBACK_no_device, 1, 0 },
	{ "no memory", false, true, true, false, -ENOMEM, SDP_REASON_RESOURCE,
	  SDP_SOCK_TCP, SDP_STAT_FALLBACK_no_memory, 0, 0 },
	{ "no way back", false, false, true, false, -EPROTO, SDP_REASON_NOT_SDP,
	  SDP_SOCK_STREAM, SDP_STAT_FALLBACK_bad_hello, 1, ECONNRESET },
	{ "no way back, in time", false, false, true, false, -ETIMEDOUT,
	  SDP_REASON_TIMEOUT, SDP_SOCK_STREAM, SDP_STAT_FALLBACK_no_hello, 1,
	  ETIMEDOUT },
	{ "not wanted", false, true, true, true, -EPROTO, SDP_REASON_NOT_SDP,
	  SDP_SOCK_STREAM, FAKE_NO_FALLBACK, 0, ECONNRESET },
	{ "accepted, nothing sent", true, true, false, false, -EPROTO,
	  SDP_REASON_NOT_SDP, SDP_SOCK_STREAM, FAKE_NO_FALLBACK, 0, 0 },
	{ "accepted, something sent", true, true, true, false, -EPROTO,
	  SDP_REASON_NOT_SDP, SDP_SOCK_STREAM, FAKE_NO_FALLBACK, 0,
	  ECONNRESET },
};

CASE(a_start_that_fails_goes_on_by_tcp_where_it_can)
{
	for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
		bool is_tcp = failures[i].state == SDP_SOCK_TCP;
		int other[2];

		begin(state);
		test_tcp_pair(other);
		sock->is_accepting = failures[i].is_accepting;
		sock->start.is_undone = failures[i].is_undone;
		if (failures[i].has_way_back)
			other_tcp = other[0];
		link_rets[0] = failures[i].ret;
		outcome.reason = failures[i].reason;
		outcome.has_sent = true;
		start_now();
		if (failures[i].has_early)
			assert_int_equal(send_text("early"), 5);
		atomic_store(&sock->is_wr_shut, true);
		/* A peer that has read the refusal closes. */
		shutdown(peer, SHUT_WR);
		gate_open();
		assert_row(failures[i].name,
			   sdp_sock_state(sock) == failures[i].state);
		assert_row(failures[i].name,
			   fake.fallback == failures[i].fallback);
		assert_row(failures[i].name,
			   avoided_cnt == failures[i].avoided_cnt);
		assert_row(failures[i].name,
			   atomic_load(&sock->error) == failures[i].error);
		assert_row(failures[i].name, !sdp_sock_link(sock));
		assert_row(failures[i].name, make_cnt == 1);
		/* What was sent, and the end, go to the new connection. */
		if (is_tcp && failures[i].has_early)
			assert_octets(other[1], "early");
		if (is_tcp) {
			assert_eof(other[1]);
			assert_int_equal(send(other[1], "backto", 6, 0), 6);
			assert_octets(fd, "back");
			assert_octets(sock->tcp_fd, "to");
		} else {
			close(other[0]);
		}
		/* The refused connection has ended in order. */
		assert_eof(peer);
		close(other[1]);
		end(state);
	}
}

/* A peer whose answer is refused may also have reset the connection by then. A
 * reset alone comes from the peer's program. It shows that octets were lost. */
CASE(a_refused_answer_counts_more_than_a_reset)
{
	for (int row = 0; row < 3; row++) {
		bool is_refused = row == 0, is_accepting = row == 2;
		int other[2];

		begin(state);
		test_tcp_pair(other);
		other_tcp = other[0];
		link_rets[0] = is_refused ? -EPROTO : -ECONNRESET;
		sock->is_accepting = is_accepting;
		start_now();
		wait_until(make_cnt == 1);
		assert_int_equal(send(sock->tcp_fd, "unread", 6, 0), 6);
		close(peer);
		wait_until(sdp_tcp_state(sock->tcp_fd) == TCP_CLOSE);
		gate_open();
		assert_int_equal(sdp_sock_state(sock),
				 is_refused ? SDP_SOCK_TCP : SDP_SOCK_STREAM);
		assert_int_equal(sock->error, is_accepting ? ECONNRESET : 0);
		if (!is_refused)
			close(other[0]);
		peer = other[1];
		end(state);
	}
}

/* The fake.fallback may take long. The program's calls do not wait for it, and
 * the program may have closed the socket by its end. */
CASE(returning_to_tcp_delays_no_call)
{
	static const struct {
		const char *name;
		bool is_undone, is_relay, is_closed;
		enum sdp_sock_state state;
	} rows[] = {
		{ "wanted", false, false, false, SDP_SOCK_TCP },
		{ "not wanted", true, false, false, SDP_SOCK_STREAM },
		{ "used by others", false, true, false, SDP_SOCK_STREAM },
		{ "closed", false, false, true, SDP_SOCK_STREAM },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool is_lost = rows[i].is_undone || rows[i].is_relay;
		int other[2];
		char octet;

		begin(state);
		test_tcp_pair(other);
		other_tcp = other[0];
		link_rets[0] = -EPROTO;
		outcome.reason = SDP_REASON_NOT_SDP;
		outcome.has_sent = is_way_slow = true;
		start_now();
		assert_int_equal(send_text("early"), 5);
		sem_post(&gate);
		sem_wait(&on_way);
		assert_int_equal(send_text(" late"), 5);
		if (rows[i].is_closed)
			assert_true(sdp_start_abandon(sock));
		util_lock(&sock->lock);
		sock->start.is_undone = rows[i].is_undone;
		sock->relay.is_on = rows[i].is_relay;
		util_unlock(&sock->lock);
		sem_post(&way_end);
		gate_open();
		assert_row(rows[i].name, sdp_sock_state(sock) == rows[i].state);
		assert_row(rows[i].name, end_cnt == rows[i].is_closed);
		if (!is_lost)
			assert_octets(other[1], "early late");
		/* The peer sees the unused connection break off. */
		else
			while (recv(other[1], &octet, 1, 0) > 0)
				;
		assert_row(rows[i].name, !is_lost || errno == ECONNRESET);
		close(other[1]);
		end(state);
	}
}

/* Others had the last descriptors: tries again with the limit raised. */
FILE_CASE(a_lack_of_descriptors_is_tried_again)
{
	can_raise = true;
	link_rets[0] = -EMFILE;
	outcome.reason = SDP_REASON_RESOURCE;
	start_now();
	sem_post(&gate);
	gate_open();
	assert_int_equal(make_cnt, 2);
	assert_ptr_equal(sdp_sock_link(sock), LINK);
	assert_int_equal(raised_cnt, 0);
}

FILE_CASE(close_leaves_the_rest_to_the_thread)
{
	assert_false(sdp_start_abandon(sock)); /* it has not begun */
	start_now();
	assert_int_equal(send_text("left"), 4);
	assert_true(sdp_start_abandon(sock));
	assert_int_equal(end_cnt, 0);
	gate_open();
	assert_memory_equal(link_got, "left", 4);
	assert_int_equal(end_cnt, 1);
	assert_false(sdp_start_abandon(sock));
}

/* Nothing was sent: the peer need not wait for the start. */
FILE_CASE(close_of_an_empty_start_ends_the_connection)
{
	start_now();
	assert_true(sdp_start_abandon(sock));
	assert_eof(peer);
}

FILE_CASE(an_accepted_link_has_the_programs_port)
{
	sock->is_accepting = true;
	sock->port = 80;
	sock->options.has_nodelay = true;
	assert_int_equal(sdp_start_accepted(sock, fd, LINK), 0);
	assert_int_equal(sdp_sock_state(sock), SDP_SOCK_STREAM);
	assert_true(sock->is_by_cm && !sdp_sock_is_asking(sock));
	assert_int_equal(ntohs(sock->local.in.sin_port), 80);
	assert_int_equal(ntohs(sock->peer.in.sin_port), 2222);
	sdp_sock_link_put(sock, NULL);
}

/* connect() with AF_UNSPEC: a new socket has the number. */
FILE_CASE(undoing_leaves_a_fresh_socket)
{
	sock->peer.sa.sa_family = AF_INET;
	start_now();
	gate_open();
	atomic_store(&sock->is_wr_shut, true);
	atomic_store(&sock->error, EPIPE);
	assert_int_equal(sdp_start_undo(sock), 0);
	assert_int_equal(sdp_sock_state(sock), SDP_SOCK_TCP);
	assert_int_equal(fake.sdp_link_abort.cnt, 1);
	assert_null(sdp_sock_link(sock));
	assert_ptr_equal(sock->past_link, LINK);
	assert_false(sdp_sock_is_wr_shut(sock));
	assert_int_equal(atomic_load(&sock->error), 0);
	assert_int_equal(send(fd, "x", 1, MSG_NOSIGNAL), -1);
	assert_int_equal(errno, EPIPE); /* not connected */
}

ALL_CASES_WITH(table_start, NULL);

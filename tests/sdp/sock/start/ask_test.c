/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A connect() for which a thread must find the SDP port: the effect of each
 * answer, and of not waiting for it. */
#include "addr.h"
#include "descriptors.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "sock/start/ask.h"
#include "sock/start/connect.h"
#include "sock/base/limit.h"
#include "sock/base/option.h"
#include "sock/base/policy.h"
#include "sock/show/ready.h"
#include "sock/start/start.h"
#include "stat/sdp-stat.h"
#include "verbs/sdp-link.h"

#include "ports-fixture.h"
#include "fake-sock.h"
#include "sock-fixture.h"
#include "until.h"

#define LINK FAKE_LINK

/* ---- the rest of the layer: results, and recorded calls ---- */

static int find_ret, ask_ret, cm_ret, cover_ret, plain_why;
static enum sdp_reason cm_reason;
static bool waits_for_stop; /* the query, or rdma_cm */
static _Atomic int tell_cnt, avoid_cnt, run_cnt, close_cnt;
static _Atomic int limit_cnt;
static union sdp_addr cm_addr;
static struct sdp_target target;
static uint64_t time_limit_ns;

static struct sdp_sock *sock;
static int fd;

const char *sdp_reason_str(enum sdp_reason reason)
{
	assert_int_equal(reason, cm_reason);
	return "a reason";
}

/* Recorded actions of the thread. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void change(_Atomic int *cnt)
{
	pthread_mutex_lock(&mutex);
	++*cnt;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static int stop_wait(int stop_fd)
{
	struct pollfd pfd = { .fd = stop_fd, .events = POLLIN };

	assert_true(stop_fd >= 0);
	assert_int_equal(poll(&pfd, 1, -1), 1);
	return -ECANCELED;
}

int sdp_link_connect_cm(struct sdp_link **ret_link, const struct sockaddr *addr,
			int stop_fd, const struct sdp_link_options *opt,
			uint64_t deadline, struct sdp_outcome *ret_outcome)
{
	assert_true(opt && deadline > sdp_now_ns());
	memcpy(&cm_addr, addr, sizeof(cm_addr.in));
	ret_outcome->reason = cm_reason;
	if (waits_for_stop)
		return stop_wait(stop_fd);
	if (cm_ret == 0)
		*ret_link = LINK;
	return cm_ret;
}

void sdp_link_close(struct sdp_link *link, uint64_t deadline)
{
	assert_ptr_equal(link, LINK);
	assert_int_equal(deadline, 0);
	close_cnt++;
}

int sdp_policy_find(const union sdp_addr *dst, struct sdp_target *ret_target)
{
	assert_ptr_equal(dst, &sock->peer);
	*ret_target = target;
	return find_ret;
}

int sdp_policy_ask(int tcp_fd, const union sdp_addr *dst, int stop_fd,
		   struct sdp_target *ret_target)
{
	assert_true(tcp_fd >= 0 && dst == &sock->peer);
	if (waits_for_stop)
		return stop_wait(stop_fd);
	*ret_target = target;
	return ask_ret;
}

void sdp_policy_avoid(const struct sockaddr *dst)
{
	assert_ptr_equal(dst, &sock->peer.sa);
	avoid_cnt++;
}

enum sdp_stat_fallback sdp_connect_fallback_of(int err)
{
	return err == -EACCES	? SDP_STAT_FALLBACK_denied
	       : err == -ENOMEM ? SDP_STAT_FALLBACK_no_memory
	       : err == -ENODEV ? SDP_STAT_FALLBACK_no_device
				: SDP_STAT_FALLBACK_refused;
}

int sdp_connect(struct sdp_sock *of, int of_fd, const struct sockaddr *addr,
		socklen_t len)
{
	(void)len;
	assert_ptr_equal(of, sock);
	assert_int_equal(of_fd, fd);
	memcpy(&sock->peer, addr, sizeof(sock->peer.in));
	return SDP_CONNECT_ASK;
}

int sdp_connect_plain(struct sdp_sock *of, int of_fd, int why)
{
	assert_ptr_equal(of, sock);
	assert_int_equal(of_fd, fd);
	plain_why = why;
	return 0;
}

int sdp_connect_finish(struct sdp_sock *of, int of_fd)
{
	struct pollfd pfd = { .fd = of_fd, .events = POLLOUT };
	int err = 0;
	socklen_t len = sizeof(err);

	assert_ptr_equal(of, sock);
	assert_int_equal(poll(&pfd, 1, -1), 1);
	assert_int_equal(getsockopt(of_fd, SOL_SOCKET, SO_ERROR, &err, &len),
			 0);
	return -err;
}

bool sdp_connect_is_undone(const struct sdp_sock *of,
			   const struct sockaddr *addr, socklen_t len)
{
	(void)of;
	(void)len;
	return addr->sa_family == AF_UNSPEC;
}

bool sdp_limit_begin(int of_fd)
{
	(void)of_fd;
	limit_cnt++;
	return true;
}

void sdp_limit_end(bool is_raised)
{
	assert_true(is_raised);
	limit_cnt--;
}

uint64_t sdp_option_deadline(struct sdp_sock *of, int name)
{
	assert_ptr_equal(of, sock);
	assert_int_equal(name, SO_SNDTIMEO);
	return time_limit_ns ? sdp_now_ns() + time_limit_ns : SDP_NEVER;
}

void sdp_sock_tell(struct sdp_sock *of, int of_fd, short events)
{
	assert_ptr_equal(of, sock);
	assert_int_equal(of_fd, -1);
	assert_true(events != 0);
	change(&tell_cnt);
}

/* ---- the parts of a start ---- */

int sdp_start_cover(struct sdp_sock *of, bool is_asking)
{
	assert_true(is_asking);
	if (cover_ret < 0)
		return cover_ret;
	of->tcp_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	assert_true(of->tcp_fd >= 0);
	atomic_store(&of->start.is_asking, true);
	sdp_sock_become(of, SDP_SOCK_STARTING);
	return 0;
}

void sdp_start_give_back(struct sdp_sock *of, int tcp_fd)
{
	assert_int_equal(tcp_fd, of->tcp_fd);
	sdp_sock_become(of, SDP_SOCK_TCP);
}

void sdp_start_connected(struct sdp_sock *of)
{
	assert_int_equal(sdp_sock_state(of), SDP_SOCK_STARTING);
}

void *sdp_start_run(void *of)
{
	change(&run_cnt);
	sdp_sock_drop(of);
	return NULL;
}

void sdp_start_stand(struct sdp_sock *of, struct sdp_link *link)
{
	sdp_sock_link_put(of, link);
	sdp_sock_become(of, SDP_SOCK_STREAM);
}

/* The thread notifies when it has the answer. */
bool sdp_start_asked(struct sdp_sock *of, uint64_t deadline)
{
	struct timespec until = { .tv_sec = INT_MAX };
	int err = 0;

	if (deadline != SDP_NEVER)
		until = (struct timespec){
			.tv_sec = (time_t)(deadline / 1000000000u),
			.tv_nsec = (long)(deadline % 1000000000u),
		};
	pthread_mutex_lock(&mutex);
	while (sdp_sock_is_asking(of) && err == 0)
		err = pthread_cond_clockwait(&changed, &mutex, CLOCK_MONOTONIC,
					     &until);
	pthread_mutex_unlock(&mutex);
	return err == 0;
}

int sdp_start_wait(struct sdp_sock *of, uint64_t deadline)
{
	return sdp_start_asked(of, deadline) ? 0 : -EAGAIN;
}

/* ---- fixture ---- */

static _Atomic int end_cnt;

static void count_end(struct sdp_sock *of)
{
	(void)of;
	end_cnt++;
}

static int begin(void **state)
{
	ports_open();
	fake_reset();
	fake.sdp_connect_is_sdp_only.ret = false;
	fake.sdp_policy_way.ret = SDP_WAY_FD;
	find_ret = -EINPROGRESS;
	ask_ret = cm_ret = cover_ret = plain_why = 0;
	cm_reason = SDP_REASON_NONE;
	waits_for_stop = false;
	avoid_cnt = run_cnt = close_cnt = limit_cnt = 0;
	tell_cnt = 0;
	time_limit_ns = 0;
	target = (struct sdp_target){ .addr = addrs[SDP_PORT],
				      .is_request = true };
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fake.sock = sock = sock_add(fd, count_end);
	end_cnt = 0;
	sock->tcp_fd = sock->start.stop_fd = -1;
	return 0;
}

/* Waits until the thread has dropped the socket. */
static void thread_wait(void)
{
	/* The file and the test hold it. */
	wait_until(atomic_load(&sock->hold_cnt) == 2);
	assert_int_equal(tell_cnt, 1);
}

static int end(void **state)
{
	assert_int_equal(limit_cnt, 0);
	assert_int_equal(sock->start.stop_fd, -1);
	sdp_sock_become(sock, SDP_SOCK_TCP);
	program_close(fd);
	if (sock->tcp_fd >= 0)
		close(sock->tcp_fd);
	ports_close();
	sdp_sock_drop(sock);
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, begin, end)

static int dial(void)
{
	return sdp_ask_connect(sock, fd, &addrs[TCP_PORT].sa,
			       sizeof(struct sockaddr_in));
}

static enum port where(void)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };

	(void)poll(&pfd, 1, -1);
	return port_of(fd);
}

/* ---- cases ---- */

#define FB(name) SDP_STAT_FALLBACK_##name

/* connect() does not wait. The answer comes in time. */
static const struct {
	const char *name;
	enum sdp_use policy;
	enum sdp_way way;
	int find_ret, ask_ret;
	enum port sdp_port;
	int cm_ret;
	enum sdp_reason cm_reason;
	enum port where;
	bool has_run, has_link;
	int fallback, avoid_cnt, error;
} rows[] = {
	{ "mapped", SDP_USE_BOTH, SDP_WAY_FD, -EINPROGRESS, 0, SDP_PORT, 0, 0,
	  SDP_PORT, true, false, FAKE_NO_FALLBACK, 0, 0 },
	{ "known by now", SDP_USE_BOTH, SDP_WAY_FD, 0, -EACCES, SDP_PORT, 0, 0,
	  SDP_PORT, true, false, FAKE_NO_FALLBACK, 0, 0 },
	{ "denied", SDP_USE_BOTH, SDP_WAY_FD, -EINPROGRESS, -EACCES, SDP_PORT,
	  0, 0, TCP_PORT, false, false, FB(denied), 0, 0 },
	{ "the port refuses", SDP_USE_BOTH, SDP_WAY_FD, -EINPROGRESS, 0,
	  CLOSED_PORT, 0, 0, TCP_PORT, false, false, FB(refused), 1, 0 },
	{ "no device", SDP_USE_BOTH, SDP_WAY_NONE, -EINPROGRESS, 0, SDP_PORT, 0,
	  0, TCP_PORT, false, false, FB(no_device), 0, 0 },
	{ "SDP only, denied", SDP_USE_SDP, SDP_WAY_FD, -EINPROGRESS, -EACCES,
	  SDP_PORT, 0, 0, PORT_CNT, false, false, FAKE_NO_FALLBACK, 0,
	  ECONNREFUSED },
	{ "SDP only, the port refuses", SDP_USE_SDP, SDP_WAY_FD, -EINPROGRESS,
	  0, CLOSED_PORT, 0, 0, PORT_CNT, false, false, FAKE_NO_FALLBACK, 1,
	  ECONNREFUSED },
	{ "rdma_cm", SDP_USE_BOTH, SDP_WAY_CM, 0, 0, SDP_PORT, 0, 0, PORT_CNT,
	  false, true, FAKE_NO_FALLBACK, 0, 0 },
	{ "rdma_cm is refused", SDP_USE_BOTH, SDP_WAY_CM, 0, 0, SDP_PORT,
	  -ECONNREFUSED, SDP_REASON_REFUSED, TCP_PORT, false, false,
	  FB(refused), 1, 0 },
	{ "rdma_cm has no device", SDP_USE_BOTH, SDP_WAY_CM, 0, 0, SDP_PORT,
	  -ENODEV, SDP_REASON_DEVICE, TCP_PORT, false, false, FB(no_device), 1,
	  0 },
	{ "rdma_cm has no memory", SDP_USE_BOTH, SDP_WAY_CM, 0, 0, SDP_PORT,
	  -ENOMEM, SDP_REASON_RESOURCE, TCP_PORT, false, false, FB(no_memory),
	  0, 0 },
};

CASE(connects_as_the_reply_says)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		begin(state);
		atomic_store(&sock->is_nonblock, true);
		fake.sdp_connect_is_sdp_only.ret = rows[i].policy ==
						   SDP_USE_SDP;
		fake.sdp_policy_way.ret = rows[i].way;
		find_ret = rows[i].find_ret;
		ask_ret = rows[i].ask_ret;
		target.addr = addrs[rows[i].sdp_port];
		cm_ret = rows[i].cm_ret;
		cm_reason = rows[i].cm_reason;
		assert_row(rows[i].name, dial() == -EINPROGRESS);
		thread_wait();
		assert_row(rows[i].name, where() == rows[i].where);
		assert_row(rows[i].name, run_cnt == rows[i].has_run);
		assert_row(rows[i].name,
			   !!sdp_sock_link(sock) == rows[i].has_link);
		assert_row(rows[i].name, fake.fallback == rows[i].fallback);
		assert_row(rows[i].name, avoid_cnt == rows[i].avoid_cnt);
		assert_row(rows[i].name,
			   atomic_load(&sock->error) == rows[i].error);
		assert_row(rows[i].name, !sdp_sock_is_asking(sock));
		/* Only a start on the TCP connection has a first message. */
		assert_row(rows[i].name, !rows[i].has_run || sock->is_request);
		end(state);
	}
}

FILE_CASE(a_blocking_connect_waits_for_rdma_cm)
{
	fake.sdp_policy_way.ret = SDP_WAY_CM;
	assert_int_equal(dial(), 0);
	assert_ptr_equal(sdp_sock_link(sock), LINK);
	assert_true(atomic_load(&sock->is_told));
	thread_wait();
}

FILE_CASE(a_blocking_connect_falls_back)
{
	fake.sdp_policy_way.ret = SDP_WAY_CM;
	cm_ret = -ECONNREFUSED;
	cm_reason = SDP_REASON_REFUSED;
	assert_int_equal(dial(), 0);
	assert_int_equal(where(), TCP_PORT);
	assert_int_equal(fake.fallback, FB(refused));
	thread_wait();
}

/* A new socket is left. */
FILE_CASE(a_blocking_connect_is_refused)
{
	fake.sdp_policy_way.ret = SDP_WAY_CM;
	fake.sdp_connect_is_sdp_only.ret = true;
	cm_ret = -ECONNREFUSED;
	cm_reason = SDP_REASON_REFUSED;
	assert_int_equal(dial(), -ECONNREFUSED);
	assert_int_equal(fake.sdp_start_undo.cnt, 1);
	assert_int_equal(atomic_load(&sock->error), 0);
	thread_wait();
}

/* SO_SNDTIMEO ends the first call with EINPROGRESS, a further one with
 * EALREADY, as with TCP. */
FILE_CASE(a_blocking_connect_has_a_time_limit)
{
	fake.sdp_policy_way.ret = SDP_WAY_CM;
	waits_for_stop = true;
	time_limit_ns = 5000000;
	assert_int_equal(dial(), -EINPROGRESS);
	assert_int_equal(dial(), -EALREADY);
	sdp_ask_cancel(sock);
	thread_wait();
}

CASE(addresses_are_converted_for_rdma_cm)
{
	static const struct {
		const char *text, *want;
	} addresses[] = {
		{ "0.0.0.0", "127.0.0.1" },
		{ "127.0.0.2", "127.0.0.2" },
		{ "::ffff:127.0.0.3", "127.0.0.3" },
		{ "::ffff:0.0.0.0", "127.0.0.1" },
	};

	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		struct sockaddr_storage to, want;

		begin(state);
		fake.sdp_policy_way.ret = SDP_WAY_CM;
		to = test_addr(addresses[i].text, 99);
		want = test_addr(addresses[i].want, 99);
		memcpy(&target.addr, &to, sizeof(target.addr));
		assert_row(addresses[i].text, dial() == 0);
		assert_row(addresses[i].text,
			   !memcmp(&cm_addr, &want, sizeof(cm_addr.in)));
		thread_wait();
		end(state);
	}
}

/* Cancelled during the query, or while rdma_cm connects: TCP. */
CASE(a_cancel_ends_transfers_in_progress)
{
	static const struct {
		const char *name;
		enum sdp_way way;
		int find_ret;
		void (*end)(struct sdp_sock *sock);
	} runs[] = {
		{ "the question", SDP_WAY_FD, -EINPROGRESS, sdp_ask_cancel },
		{ "rdma_cm", SDP_WAY_CM, 0, sdp_ask_cancel },
		{ "rdma_cm, in its time", SDP_WAY_CM, 0, sdp_ask_settle },
	};

	for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
		begin(state);
		atomic_store(&sock->is_nonblock, true);
		fake.sdp_policy_way.ret = runs[i].way;
		find_ret = runs[i].find_ret;
		waits_for_stop = true;
		assert_row(runs[i].name, dial() == -EINPROGRESS);
		runs[i].end(sock);
		assert_row(runs[i].name, !sdp_sock_is_asking(sock));
		thread_wait();
		assert_row(runs[i].name, where() == TCP_PORT);
		assert_row(runs[i].name, avoid_cnt == 0);
		end(state);
	}
}

/* A fork does not cancel what has just been made. */
FILE_CASE(a_connection_made_in_time_is_kept)
{
	fake.sdp_policy_way.ret = SDP_WAY_CM;
	atomic_store(&sock->is_nonblock, true);
	assert_int_equal(dial(), -EINPROGRESS);
	sdp_ask_settle(sock);
	assert_non_null(sdp_sock_link(sock));
	assert_int_equal(fake.fallback, FAKE_NO_FALLBACK);
	thread_wait();
}

/* close() comes first: the thread's result is not used. */
FILE_CASE(an_unwanted_connection_is_closed)
{
	fake.sdp_policy_way.ret = SDP_WAY_CM;
	find_ret = 0;
	atomic_store(&sock->is_nonblock, true);
	sock->start.is_closed = true;
	assert_int_equal(dial(), -EINPROGRESS);
	thread_wait();
	assert_int_equal(close_cnt, 1);
	assert_int_equal(end_cnt, 1);
	assert_null(sdp_sock_link(sock));
	assert_int_equal(sdp_sock_state(sock), SDP_SOCK_STREAM);
	assert_int_equal(fake.fallback, FAKE_NO_FALLBACK);
}

FILE_CASE(connect_to_af_unspec_undoes_it)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	assert_int_equal(sdp_ask_connect(sock, fd, &none, sizeof(none)), 0);
	assert_int_equal(fake.sdp_start_undo.cnt, 1);
}

/* No thread can be made: the connection uses TCP, and nothing leaks. */
FILE_CASE(without_descriptors_or_a_shadow_it_is_tcp)
{
	int next = test_fd_next();
	struct rlimit old;

	old = test_fd_leave(0);
	assert_int_equal(dial(), 0);
	test_fd_restore(old);
	assert_int_equal(plain_why, -EMFILE);
	cover_ret = -ENOMEM;
	assert_int_equal(dial(), 0);
	assert_int_equal(plain_why, -ENOMEM);
	assert_int_equal(sock->start.stop_fd, -1);
	assert_int_equal(test_fd_next(), next);
	assert_int_equal(sdp_sock_state(sock), SDP_SOCK_TCP);
}

ALL_CASES_WITH(table_start, NULL);

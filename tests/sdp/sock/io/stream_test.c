/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The destination of data: the store before the start, the link, or TCP; what
 * is counted, and what ends a call. */
#include "test.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake-sock.h"
#include "sock/enter/enter.h"
#include "sock/base/count.h"
#include "sock/base/option.h"
#include "sock/show/ready.h"
#include "sock/share/share.h"
#include "sock/base/signals.h"
#include "sock/start/start.h"
#include "sock/show/sleeper.h"
#include "sock/io/stream.h"
#include "verbs/sdp-link.h"

#define LINK FAKE_LINK
#define MANY 16

/* ---- the rest of the layer ---- */

static struct sdp_sock sock;
static struct {
	unsigned int how;
	int cnt;
	bool is_wait;
} sends[MANY];
static size_t send_cnt;
static ssize_t answers[MANY]; /* 0: all of it */
static size_t counted_tx, counted_rx;
static size_t stored_least;
static bool start_ends; /* while the octets are being stored */

static size_t size_of(const struct iovec *iov, size_t cnt)
{
	size_t size = 0;

	for (size_t i = 0; i < cnt; i++)
		size += iov[i].iov_len;
	return size;
}

static ssize_t link_take(const struct iovec *iov, int cnt, unsigned int how,
			 bool is_wait)
{
	ssize_t ret;

	assert_true(send_cnt < MANY);
	sends[send_cnt].how = how;
	sends[send_cnt].cnt = cnt;
	sends[send_cnt].is_wait = is_wait;
	ret = answers[send_cnt++];
	return ret ? ret : (ssize_t)size_of(iov, (size_t)cnt);
}

ssize_t sdp_link_send(struct sdp_link *link, const struct iovec *iov,
		      int iovcnt, unsigned int flags)
{
	assert_ptr_equal(link, LINK);
	return link_take(iov, iovcnt, flags, false);
}

ssize_t sdp_link_send_wait(struct sdp_link *link, const struct iovec *iov,
			   int iovcnt, unsigned int flags, uint64_t deadline)
{
	assert_ptr_equal(link, LINK);
	(void)deadline;
	return link_take(iov, iovcnt, flags, true);
}

ssize_t sdp_link_recv(struct sdp_link *link, const struct iovec *iov,
		      int iovcnt, unsigned int flags)
{
	assert_ptr_equal(link, LINK);
	return link_take(iov, iovcnt, flags, false);
}

ssize_t sdp_link_recv_until_relay(struct sdp_link *link,
				  const struct iovec *iov, int iovcnt,
				  unsigned int flags, size_t lowat,
				  uint64_t deadline, bool *ret_is_stale)
{
	(void)lowat;
	(void)deadline;
	*ret_is_stale = false;
	assert_ptr_equal(link, LINK);
	return link_take(iov, iovcnt, flags, true);
}

int sdp_link_wait(struct sdp_link *link, unsigned int what, uint64_t deadline)
{
	(void)link;
	(void)what;
	(void)deadline;
	return -ETIMEDOUT;
}

int sdp_link_shutdown(struct sdp_link *link)
{
	assert_ptr_equal(link, LINK);
	send_cnt++;
	return 0;
}

void sdp_link_shutdown_read(struct sdp_link *link)
{
	assert_ptr_equal(link, LINK);
	/* The reading side is shut down last. */
	assert_true(sdp_sock_is_rd_shut(&sock));
}

/* Stores octets. The start may end just then. */
ssize_t sdp_start_send(struct sdp_sock *starting, const struct iovec *iov,
		       size_t cnt, size_t least, bool is_urgent)
{
	(void)is_urgent;
	stored_least = least;
	if (start_ends) {
		sdp_sock_link_put(starting, LINK);
		sdp_sock_become(starting, SDP_SOCK_STREAM);
	}
	return (ssize_t)size_of(iov, cnt);
}

int sdp_start_wait(struct sdp_sock *starting, uint64_t deadline)
{
	(void)deadline;
	sdp_sock_link_put(starting, LINK);
	sdp_sock_become(starting, SDP_SOCK_STREAM);
	return 0;
}

int sdp_start_wait_shut(struct sdp_sock *starting, const _Atomic bool *is_shut,
			uint64_t deadline)
{
	return atomic_load(is_shut) ? 0 : sdp_start_wait(starting, deadline);
}

enum sdp_sock_state sdp_start(struct sdp_sock *pending, int fd,
			      enum sdp_start_why why)
{
	(void)fd;
	(void)why;
	return sdp_sock_state(pending);
}

void sdp_count_send(struct sdp_sock *counted, size_t octets)
{
	(void)counted;
	counted_tx += octets;
}

void sdp_count_recv(struct sdp_sock *counted, size_t octets)
{
	(void)counted;
	counted_rx += octets;
}

void sdp_sock_sleep_begin(struct sdp_sock *waited_for,
			  struct sdp_poller *poller, short events,
			  struct sdp_sleeper *sleeper)
{
	(void)waited_for;
	(void)events;
	poller->sleeper = sleeper;
}

void sdp_sock_sleep_end(struct sdp_sock *waited_for, struct sdp_poller *poller)
{
	(void)waited_for;
	poller->sleeper = NULL;
}

static bool is_wanted; /* SDP is about to enter */

int sdp_enter_in(struct sdp_sock *of, bool may_sleep)
{
	return may_sleep && is_wanted ? 0 : 1;
}

ssize_t sdp_enter_recv(struct sdp_sock *of, const struct iovec *iov, size_t cnt,
		       int flags)
{
	return -EAGAIN;
}

/* ---- fixture ---- */

static char octets[SDP_EARLY_MAX + 1];

static int begin(void **state)
{
	sock = (struct sdp_sock){ .tcp_fd = -1,
				  .options = { .rcvlowat = 1 },
				  .state = SDP_SOCK_STREAM,
				  .link = LINK };
	memset(answers, 0, sizeof(answers));
	send_cnt = counted_tx = counted_rx = 0;
	fake_reset();
	fake.sdp_now_ns.ret = 1;
	fake.sdp_option_time_ms.ret = -1;
	fake.sdp_option_deadline.ret = SDP_NEVER;
	start_ends = false;
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, begin, NULL)

static ssize_t send_octets(size_t len, int flags)
{
	struct iovec iov = { octets, len };

	return sdp_stream_send(&sock, -1, &iov, 1, flags);
}

static ssize_t recv_octets(size_t len, int flags)
{
	struct iovec iov = { octets, len };

	return sdp_stream_recv(&sock, -1, &iov, 1, flags);
}

/* ---- send ---- */

FILE_CASE(a_stream_counts_what_it_sends)
{
	assert_int_equal(send_octets(20, 0), 20);
	assert_int_equal(send_octets(10, MSG_DONTWAIT), 10);
	assert_int_equal(counted_tx, 30);
}

/* The start counts what it has stored, even if it has ended by then. */
FILE_CASE(octets_of_a_start_are_counted_once)
{
	for (int ends = 0; ends < 2; ends++) {
		begin(NULL);
		sdp_sock_link_put(&sock, NULL);
		sdp_sock_become(&sock, SDP_SOCK_STARTING);
		start_ends = ends;
		assert_int_equal(send_octets(20, 0), 20);
		assert_int_equal(counted_tx, 0);
		assert_int_equal(send_cnt, 0);
	}
}

/* What several threads send is not mixed, but where TCP would mix it. */
FILE_CASE(a_start_stores_small_sends_whole)
{
	static const struct {
		const char *name;
		size_t len;
		int flags;
		size_t want;
	} rows[] = {
		{ "small", 20, 0, 20 },
		{ "the largest", SDP_EARLY_MAX, 0, SDP_EARLY_MAX },
		{ "larger", SDP_EARLY_MAX + 1, 0, 1 },
		{ "does not wait", 20, MSG_DONTWAIT, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		begin(NULL);
		sdp_sock_link_put(&sock, NULL);
		sdp_sock_become(&sock, SDP_SOCK_STARTING);
		send_octets(rows[i].len, rows[i].flags);
		assert_row(rows[i].name, stored_least == rows[i].want);
	}
}

FILE_CASE(a_short_send_that_can_wait_goes_on)
{
	struct iovec iov[65];

	for (size_t i = 0; i < ARRAY_LEN(iov); i++)
		iov[i] = (struct iovec){ octets, 1 };
	answers[0] = 5;
	answers[1] = -EAGAIN;
	assert_int_equal(send_octets(20, 0), 20);
	assert_int_equal(send_cnt, 3);
	assert_false(sends[1].is_wait);
	assert_true(sends[2].is_wait);
	assert_int_equal(counted_tx, 20);
	/* A non-blocking send returns what was accepted. */
	begin(NULL);
	answers[0] = 5;
	assert_int_equal(send_octets(20, MSG_DONTWAIT), 5);
	assert_int_equal(send_cnt, 1);
	sock.is_nonblock = true;
	answers[1] = -EAGAIN;
	assert_int_equal(send_octets(20, 0), -EAGAIN);
	/* Octets sent before an error are reported first. */
	begin(NULL);
	answers[0] = 5;
	answers[1] = -ECONNRESET;
	assert_int_equal(send_octets(20, 0), 5);
	assert_int_equal(fake.sdp_link_tell_again.cnt, 1);
	/* Also those of the start, and in the slice before. */
	begin(NULL);
	answers[1] = -ECONNRESET;
	assert_int_equal(sdp_stream_send(&sock, -1, iov, ARRAY_LEN(iov), 0),
			 64);
	assert_int_equal(fake.sdp_link_tell_again.cnt, 1);
	begin(NULL);
	answers[0] = -ECONNRESET;
	assert_int_equal(send_octets(20, 0), -ECONNRESET);
	assert_int_equal(fake.sdp_link_tell_again.cnt, 0);
}

/* Only the very last octet is urgent, and all others have MSG_MORE. */
FILE_CASE(long_vectors_go_in_slices)
{
	struct iovec iov[150];

	for (size_t i = 0; i < ARRAY_LEN(iov); i++)
		iov[i] = (struct iovec){ octets, 2 };
	assert_int_equal(
		sdp_stream_send(&sock, -1, iov, ARRAY_LEN(iov), MSG_OOB), 300);
	assert_int_equal(send_cnt, 3);
	assert_int_equal(sends[0].cnt, 64);
	assert_int_equal(sends[1].cnt, 64);
	assert_int_equal(sends[2].cnt, 22);
	assert_int_equal(sends[0].how, SDP_SEND_MORE);
	assert_int_equal(sends[1].how, SDP_SEND_MORE);
	assert_int_equal(sends[2].how, SDP_SEND_OOB);
	/* A slice that is sent only in part is the last one. */
	begin(NULL);
	answers[1] = 7;
	assert_int_equal(
		sdp_stream_send(&sock, -1, iov, ARRAY_LEN(iov), MSG_DONTWAIT),
		128 + 7);
	assert_int_equal(send_cnt, 2);
}

FILE_CASE(a_socket_that_was_shut_sends_nothing)
{
	assert_int_equal(sdp_stream_shutdown(&sock, -1, 77), -EINVAL);
	assert_int_equal(sdp_stream_shutdown(&sock, -1, SHUT_RD), 0);
	assert_int_equal(send_cnt, 0);
	assert_int_equal(sdp_stream_shutdown(&sock, -1, SHUT_RDWR), 0);
	assert_int_equal(sdp_stream_shutdown(&sock, -1, SHUT_WR), 0);
	/* The link is called once. */
	assert_int_equal(send_cnt, 1);
	assert_int_equal(send_octets(1, 0), -EPIPE);
	assert_int_equal(send_cnt, 1);
	sdp_sock_link_put(&sock, NULL);
	assert_int_equal(sdp_stream_shutdown(&sock, -1, SHUT_RD), -ENOTCONN);
}

/* ---- receive ---- */

FILE_CASE(a_receive_counts_what_it_takes)
{
	answers[0] = 5;
	assert_int_equal(recv_octets(20, 0), 5);
	assert_true(sends[0].is_wait);
	answers[1] = 5;
	assert_int_equal(recv_octets(20, MSG_PEEK), 5);
	answers[2] = 3;
	assert_int_equal(recv_octets(20, MSG_DONTWAIT | MSG_WAITALL), 3);
	assert_false(sends[2].is_wait);
	assert_int_equal(sends[2].how, 0);
	assert_int_equal(counted_rx, 8);
	assert_int_equal(recv_octets(20, MSG_ERRQUEUE), -EAGAIN);
	answers[3] = answers[4] = -EAGAIN;
	assert_int_equal(recv_octets(0, MSG_DONTWAIT), -EAGAIN);
	assert_int_equal(recv_octets(0, 0), 0);
	answers[5] = -ECONNRESET;
	assert_int_equal(recv_octets(0, 0), -ECONNRESET);
	assert_int_equal(counted_rx, 8);
}

/* Nothing arrives before the start has ended. */
FILE_CASE(a_start_does_not_hold_up_what_has_ended)
{
	sdp_sock_link_put(&sock, NULL);
	sdp_sock_become(&sock, SDP_SOCK_STARTING);
	assert_int_equal(recv_octets(1, MSG_OOB), -EINVAL);
	sock.is_rd_shut = true;
	assert_int_equal(recv_octets(20, 0), 0);
	assert_int_equal(recv_octets(20, MSG_DONTWAIT), 0);
	sock.is_wr_shut = true;
	assert_int_equal(send_octets(20, MSG_NOSIGNAL), -EPIPE);
	assert_int_equal(sdp_sock_state(&sock), SDP_SOCK_STARTING);
}

/* ---- the start has fallen back ---- */

/* A call that waits while SDP is about to enter goes on, although another
 * thread has closed the number. */
FILE_CASE(a_call_that_waits_outlives_its_number)
{
	struct iovec iov = { octets, 5 };
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	sock.tcp_fd = ends[0];
	sock.enter.role = SDP_ENTER_ACCEPTED;
	sdp_sock_become(&sock, SDP_SOCK_TCP);
	assert_int_equal(sdp_table_start(), 0);
	is_wanted = true;
	assert_int_equal(sdp_stream_begin(&sock, ends[0], true, MSG_DONTWAIT),
			 SDP_STREAM_COUNTED);
	assert_int_equal(sdp_stream_begin(&sock, ends[0], true, 0), 1);
	assert_int_equal(sdp_stream_send(&sock, ends[0], &iov, 1, 0), 5);
	assert_int_equal(recv(ends[1], octets, 9, 0), 5);
	is_wanted = false;
	close(ends[0]);
	close(ends[1]);
}

/* Another thread may have closed the number: it is not used. */
FILE_CASE(what_has_fallen_back_is_the_kernels)
{
	struct iovec iov = { octets, 5 };
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	sdp_sock_link_put(&sock, NULL);
	sdp_sock_become(&sock, SDP_SOCK_TCP);
	sock.tcp_fd = ends[0];
	assert_int_equal(sdp_stream_send(&sock, -1, &iov, 1, 0), 5);
	sock.tcp_fd = ends[1];
	assert_int_equal(sdp_stream_recv(&sock, -1, &iov, 1, 0), 5);
	assert_int_equal(sdp_stream_recv(&sock, -1, &iov, 1, MSG_DONTWAIT),
			 -EAGAIN);
	assert_int_equal(send_cnt, 0);
	assert_int_equal(counted_tx, 0);
	close(ends[1]);
	sock.tcp_fd = ends[0];
	assert_int_equal(sdp_stream_send(&sock, -1, &iov, 1, 0), -EPIPE);
	assert_int_equal(fake.sdp_signals_pipe.cnt, 1);
	close(ends[0]);
}

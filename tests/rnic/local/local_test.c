/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* local.c: who wakes whom, and how a direction goes back to TCP. */
#define _GNU_SOURCE
#include "../../harness/random.h"
#include "../../harness/test.h"
#include "../../harness/until.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "descriptors.h"
#include "lingering.h"
#include "local/local.h"
#include "local/memory.h"
#include "local/ring.h"
#include "os/fd.h"
#include "os/guard.h"
#include "os/stat.h"
#include "stats.h"

/* Two ends of one path: 0 is the active side. */
struct ends {
	struct rnic_local *end[2];
};

static void ends_open(struct ends *e)
{
	int fd = rnic_local_memory_new(), wake[2];

	assert_true(fd >= 0);
	assert_int_equal(socketpair(AF_UNIX,
				    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
				    0, wake),
			 0);
	for (int i = 0; i < 2; i++) {
		void *mem;

		wake[i] = rnic_fd_own(wake[i]);
		assert_true(wake[i] >= 0);
		assert_int_equal(rnic_local_memory_map(fd, &mem), 0);
		e->end[i] = rnic_local_new(mem, wake[i], i == 0);
		assert_non_null(e->end[i]);
	}
	close(fd);
}

static void ends_close(struct ends *e)
{
	rnic_local_free(e->end[0]);
	rnic_local_free(e->end[1]);
}

/* Both ends send by the rings, and sleep. */
static void ends_begin(struct ends *e)
{
	uint64_t tcp_octets;

	for (int i = 0; i < 2; i++)
		assert_int_equal(rnic_local_tx_begin(e->end[i], 0), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rnic_local_rx_begin(e->end[i], &tcp_octets),
				 1);
		assert_true(rnic_local_woken(e->end[i]));
		assert_true(rnic_local_sleep(e->end[i], true, false));
	}
}

static int setup(void **state)
{
	static struct ends e;

	ends_open(&e);
	ends_begin(&e);
	*state = &e;
	return 0;
}

static int setup_fresh(void **state)
{
	static struct ends e;

	ends_open(&e);
	*state = &e;
	return 0;
}

static int teardown(void **state)
{
	ends_close(*state);
	return 0;
}

#define ENDS_CASE(name) CASE_WITH(name, setup, teardown)
#define FRESH_CASE(name) CASE_WITH(name, setup_fresh, teardown)

static ssize_t put(struct rnic_local *local, const char *text)
{
	struct iovec iov = { (void *)(uintptr_t)text, strlen(text) };

	return rnic_local_send(local, &iov, 1);
}

static ssize_t put_len(struct rnic_local *local, size_t len)
{
	static uint8_t mem[2 * RNIC_RING_SIZE];
	struct iovec iov = { mem, len };

	return rnic_local_send(local, &iov, 1);
}

static ssize_t get_len(struct rnic_local *local, size_t len)
{
	static uint8_t mem[2 * RNIC_RING_SIZE];
	struct iovec iov = { mem, len };

	return rnic_local_recv(local, &iov, 1);
}

/* Wake-ups that wait for this end. */
static int wake_cnt(const struct rnic_local *local)
{
	int cnt = -1;

	assert_int_equal(ioctl(local->wake_fd, FIONREAD, &cnt), 0);
	return cnt;
}

/* One end after the other, each where its TCP octets end. */
FRESH_CASE(says_where_the_ring_begins)
{
	struct ends *e = *state;
	uint64_t tcp_octets;

	for (int i = 0; i < 2; i++) {
		uint64_t at = 20 + (uint64_t)i * 5000000000;

		assert_int_equal(rnic_local_rx_begin(e->end[!i], &tcp_octets),
				 0);
		assert_false(rnic_local_sends(e->end[i]));
		assert_int_equal(rnic_local_tx_begin(e->end[i], at), 0);
		assert_true(rnic_local_sends(e->end[i]));
		/* It sleeps: it has to learn of it. */
		assert_true(rnic_local_is_called(e->end[!i]));
		assert_int_equal(wake_cnt(e->end[!i]), 1);
		assert_int_equal(rnic_local_rx_begin(e->end[!i], &tcp_octets),
				 1);
		assert_int_equal(tcp_octets, at);
		assert_int_equal(put(e->end[i], "octets"), 6);
		assert_int_equal(get_len(e->end[!i], 100), 6);
	}
}

FRESH_CASE(begins_and_leaves_where_the_reader_leaves)
{
	struct ends *e = *state;
	uint64_t tcp_octets;

	rnic_local_leave_rx(e->end[1]);
	assert_int_equal(rnic_local_tx_begin(e->end[0], 20), 0);
	assert_false(rnic_local_sends(e->end[0]));
	assert_true(e->end[0]->has_left_tx);
	assert_int_equal(rnic_local_rx_begin(e->end[1], &tcp_octets), 1);
	assert_int_equal(rnic_local_recv(e->end[1], NULL, 0), -EPIPE);
}

/* The caller goes on with TCP, and with its CRC. */
FRESH_CASE(does_not_begin_what_cannot_be_written)
{
	struct ends *e = *state;
	struct rnic_ring *tx = &e->end[0]->tx;
	uint64_t tcp_octets;

	assert_int_equal(rnic_guard_install(), 0);
	rnic_guard_thread();
	assert_int_equal(mprotect(tx->data, RNIC_RING_SIZE, PROT_READ), 0);
	assert_true(rnic_local_tx_begin(e->end[0], 20) < 0);
	assert_false(rnic_local_sends(e->end[0]));
	assert_int_equal(rnic_local_rx_begin(e->end[1], &tcp_octets), 0);
	assert_int_equal(
		mprotect(tx->data, RNIC_RING_SIZE, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(rnic_local_tx_begin(e->end[0], 20), 0);
	assert_true(rnic_local_sends(e->end[0]));
}

/* Less than its start, or more than the ring: the other end is hostile. */
FRESH_CASE(refuses_a_wrong_start)
{
	static const uint64_t heads[] = { 1, 63, RNIC_RING_SIZE + 1,
					  UINT64_MAX };
	struct ends *e = *state;
	uint64_t tcp_octets;

	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		e->end[1]->rx.shared->head = heads[i];
		e->end[1]->rx.own = e->end[1]->rx.peer = 0;
		assert_int_equal(rnic_local_rx_begin(e->end[1], &tcp_octets),
				 -EPROTO);
		assert_false(e->end[1]->is_rx_on);
	}
}

ENDS_CASE(wakes_only_a_sleeper)
{
	struct ends *e = *state;
	struct rnic_local *a = e->end[0], *b = e->end[1];
	uint64_t wakes = test_stat(RNIC_STAT_local_wakes);

	/* Asleep at first. */
	assert_int_equal(put(a, "one"), 3);
	assert_int_equal(wake_cnt(b), 1);
	assert_int_equal(put(a, "two"), 3);
	assert_int_equal(wake_cnt(b), 1);
	assert_int_equal(test_stat(RNIC_STAT_local_wakes), wakes + 1);
	assert_true(rnic_local_woken(b));
	assert_int_equal(wake_cnt(b), 0);
	assert_int_equal(get_len(b, 100), 6);
	assert_int_equal(put(a, "three"), 5);
	assert_int_equal(wake_cnt(b), 0);
	assert_int_equal(get_len(b, 100), 5);
	assert_true(rnic_local_sleep(b, true, false));
	assert_int_equal(put(a, "four"), 4);
	assert_int_equal(wake_cnt(b), 1);
	/* The octet is taken once, not before each look until the next
	 * sleep. */
	assert_true(rnic_local_is_called(b));
	assert_true(rnic_local_woken(b));
	assert_false(rnic_local_is_called(b));
	rnic_local_stay_awake(b);
	assert_int_equal(get_len(b, 100), 4);
	assert_int_equal(get_len(b, 100), -EAGAIN);
}

/* One that was woken, and looks by itself from now on, takes the wake-up. */
ENDS_CASE(stays_awake_once_it_was_woken)
{
	struct ends *e = *state;
	struct rnic_local *a = e->end[0], *b = e->end[1];

	assert_int_equal(put(a, "one"), 3);
	rnic_local_stay_awake(b);
	assert_true(rnic_local_is_called(b));
	assert_true(rnic_local_woken(b));
	assert_int_equal(wake_cnt(b), 0);
	assert_int_equal(get_len(b, 100), 3);
	assert_true(rnic_local_sleep(b, true, false));
	rnic_local_stay_awake(b);
	assert_false(rnic_local_is_called(b));
	assert_int_equal(put(a, "two"), 3);
	assert_int_equal(wake_cnt(b), 0);
}

/* A short message leaves the wake-up to the caller.  A long one does not: it is
 * read while it is written. */
ENDS_CASE(a_short_message_wakes_later)
{
	struct ends *e = *state;
	struct rnic_local *a = e->end[0], *b = e->end[1];

	a->wakes_later = true;
	assert_int_equal(put_len(a, 16384), 16384);
	assert_true(a->is_wake_due);
	assert_int_equal(wake_cnt(b), 0);
	rnic_local_wake(a);
	assert_int_equal(wake_cnt(b), 1);
	assert_true(rnic_local_woken(b));
	assert_int_equal(get_len(b, 100000), 16384);
	assert_true(rnic_local_sleep(b, true, false));
	assert_int_equal(put_len(a, 16385), 16385);
	assert_false(a->is_wake_due);
	assert_int_equal(wake_cnt(b), 1);
}

ENDS_CASE(does_not_sleep_over_octets)
{
	struct ends *e = *state;
	struct rnic_local *a = e->end[0], *b = e->end[1];

	assert_int_equal(put(a, "one"), 3);
	assert_true(rnic_local_woken(b));
	assert_false(rnic_local_sleep(b, true, false));
	/* It is awake, and nobody wakes it. */
	assert_int_equal(put(a, "two"), 3);
	assert_int_equal(wake_cnt(b), 0);
	/* Not wanted: it does. */
	assert_true(rnic_local_sleep(b, false, false));
	assert_int_equal(get_len(b, 100), 6);
	assert_true(rnic_local_sleep(b, true, false));
}

/* A writer that waits is woken when half of the ring is free, once. */
ENDS_CASE(wakes_a_writer_that_waits)
{
	struct ends *e = *state;
	struct rnic_local *a = e->end[0], *b = e->end[1];

	rnic_local_stay_awake(b);
	assert_false(rnic_local_is_called(b));
	assert_int_equal(put_len(a, 2 * RNIC_RING_SIZE), RNIC_RING_SIZE);
	assert_int_equal(put_len(a, 1), -EAGAIN);
	assert_true(rnic_local_sleep(a, false, true));
	assert_int_equal(get_len(b, 100), 100);
	assert_int_equal(wake_cnt(a), 0);
	assert_false(rnic_local_sleep(a, false, true));
	assert_int_equal(get_len(b, RNIC_RING_SIZE / 2 - 101),
			 RNIC_RING_SIZE / 2 - 101);
	assert_int_equal(wake_cnt(a), 0);
	assert_int_equal(get_len(b, 1), 1);
	assert_int_equal(wake_cnt(a), 1);
	assert_int_equal(get_len(b, RNIC_RING_SIZE), RNIC_RING_SIZE / 2);
	assert_int_equal(wake_cnt(a), 1);
	assert_int_equal(rnic_local_acked(a),
			 sizeof(struct rnic_ring_start) + RNIC_RING_SIZE);
}

ENDS_CASE(throws_away)
{
	struct ends *e = *state;

	assert_int_equal(put_len(e->end[0], 1000), 1000);
	assert_int_equal(rnic_local_recv(e->end[1], NULL, 0), 1000);
	assert_int_equal(rnic_local_recv(e->end[1], NULL, 0), -EAGAIN);
}

/* The reader reads the ring to its end, and then the socket. */
ENDS_CASE(writer_goes_back_to_tcp)
{
	struct ends *e = *state;
	struct rnic_local *a = e->end[0], *b = e->end[1];

	assert_int_equal(put(a, "last"), 4);
	assert_true(rnic_local_sends(a));
	rnic_local_leave_tx(a);
	assert_false(rnic_local_sends(a));
	assert_int_equal(put(a, "by TCP"), -EPIPE);
	assert_int_equal(get_len(b, 3), 3);
	assert_int_equal(get_len(b, 3), 1);
	assert_int_equal(get_len(b, 3), -EPIPE);
	assert_int_equal(get_len(b, 3), -EPIPE);
	/* The other direction stays. */
	assert_int_equal(put(b, "back"), 4);
	assert_int_equal(get_len(a, 10), 4);
}

/* A reader that nobody can wake gets what follows by TCP; nothing is lost. */
ENDS_CASE(reader_asks_for_tcp)
{
	struct ends *e = *state;
	struct rnic_local *a = e->end[0], *b = e->end[1];
	int fd_cnt = test_fd_cnt();

	rnic_local_leave_rx(b);
	assert_int_equal(b->wake_fd, -1);
	/* Another thread may close it. */
	wait_until(test_fd_cnt() == fd_cnt - 1);
	/* What it says itself is no wake-up. */
	assert_false(rnic_local_is_called(b));
	/* Nor does it say anything else when it looks no more. */
	assert_true(rnic_local_sleep(b, true, false));
	assert_int_equal(b->rx.shared->reader, RNIC_RING_LEAVES);
	rnic_local_stay_awake(b);
	assert_int_equal(b->rx.shared->reader, RNIC_RING_LEAVES);
	assert_int_equal(put(a, "seen"), 4);
	assert_true(a->has_left_tx);
	assert_int_equal(put(a, "by TCP"), -EPIPE);
	assert_int_equal(get_len(b, 10), 4);
	assert_int_equal(get_len(b, 10), -EPIPE);
}

/* The other end has closed the socket by which it would be woken. */
ENDS_CASE(leaves_where_nobody_can_be_woken)
{
	struct ends *e = *state;
	struct rnic_local *a = e->end[0], *b = e->end[1];

	rnic_fd_close(b->wake_fd);
	b->wake_fd = -1;
	assert_int_equal(put(a, "seen"), 4);
	assert_true(a->has_left_tx);
	assert_false(rnic_local_woken(a));
	assert_int_equal(get_len(b, 10), 4);
	assert_int_equal(get_len(b, 10), -EPIPE);
}

/* Nobody reads the wake-ups: they neither block nor end the path. */
ENDS_CASE(survives_a_full_wake_socket)
{
	struct ends *e = *state;
	struct rnic_local *a = e->end[0], *b = e->end[1];

	for (int i = 0; i < 3000; i++) {
		assert_int_equal(put(a, "x"), 1);
		assert_int_equal(get_len(b, 10), 1);
		assert_true(rnic_local_sleep(b, true, false));
	}
	assert_false(a->has_left_tx);
	while (wake_cnt(b) > 0)
		assert_true(rnic_local_woken(b));
}

/* A socket comes whose close() takes long: the path ends, or Linux has refused
 * it. */
ENDS_CASE(does_not_wait_for_what_is_passed)
{
	struct ends *e = *state;
	struct rnic_local *b = e->end[1];
	int peer, lingering = lingering_new(&peer);
	bool is_good = true, is_refused;

	is_refused = pass_descriptors_try(e->end[0]->wake_fd, "x", 1,
					  &lingering, 1) < 0;
	assert_at_once(is_good = rnic_local_woken(b));
	assert_int_equal(is_good, is_refused);
	assert_at_once(rnic_local_leave_rx(b));
	close(peer);
	if (is_refused)
		close(lingering);
}

/* The same before the path begins. */
CASE(does_not_wait_for_what_was_passed)
{
	int fds[2], peer, lingering = lingering_new(&peer);
	struct rnic_local *local;
	int fd = rnic_local_memory_new();
	bool is_good = true;
	void *mem;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	pass_descriptors(fds[1], "x", 1, &lingering, 1);
	assert_true(fd >= 0);
	assert_int_equal(rnic_local_memory_map(fd, &mem), 0);
	local = rnic_local_new(mem, rnic_fd_own(fds[0]), true);
	assert_non_null(local);
	assert_at_once(is_good = rnic_local_woken(local));
	assert_false(is_good);
	assert_at_once(rnic_local_free(local));
	close(fds[1]);
	close(peer);
	close(fd);
}

static const struct {
	const char *name;
	uint32_t reader;
	bool leaves;
} words[] = {
	{ "awake", RNIC_RING_AWAKE, false },
	{ "asleep", RNIC_RING_ASLEEP, false },
	{ "leaves", RNIC_RING_LEAVES, true },
	{ "nonsense", 0xdeadbeef, true },
};

CASE(other_end_may_write_anything)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		struct ends e;

		ends_open(&e);
		e.end[0]->tx.shared->reader = words[i].reader;
		e.end[0]->rx.shared->writer_waits = 77;
		assert_row(words[i].name, put(e.end[0], "abc") == 3);
		assert_row(words[i].name,
			   e.end[0]->has_left_tx == words[i].leaves);
		assert_int_equal(put(e.end[1], "xy"), 2);
		assert_row(words[i].name, get_len(e.end[0], 9) == 2);
		e.end[0]->rx.shared->head = 1ull << 40;
		assert_row(words[i].name, get_len(e.end[0], 9) == -EPROTO);
		e.end[1]->tx.shared->tail = 1ull << 50;
		e.end[1]->tx.peer = e.end[1]->tx.own - RNIC_RING_SIZE;
		assert_row(words[i].name, put(e.end[1], "z") == -EPROTO);
		ends_close(&e);
	}
}

/* ---- no wake-up is lost ---- */

#define TOTAL ((uint64_t)8 << 20)

static void wait_woken(struct rnic_local *local)
{
	struct pollfd pfd = { .fd = local->wake_fd, .events = POLLIN };

	must(poll(&pfd, 1, UNTIL_LIMIT_MS) == 1);
	must(rnic_local_woken(local));
}

/* Sleeps whenever there is no room, however short. */
static void *write_all(void *arg)
{
	struct rnic_local *local = arg;
	uint64_t at = 0, seed = 3;

	while (at < TOTAL) {
		size_t len = 1 + test_random(&seed) % 100000;
		ssize_t done;

		if (len > TOTAL - at)
			len = TOTAL - at;
		done = put_len(local, len);
		must(done > 0 || done == -EAGAIN);
		if (done > 0)
			at += (uint64_t)done;
		else if (rnic_local_sleep(local, false, true))
			wait_woken(local);
	}
	return NULL;
}

ENDS_CASE(both_ends_sleep_and_wake)
{
	struct ends *e = *state;
	uint64_t at = 0, seed = 4;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, write_all, e->end[0]),
			 0);
	while (at < TOTAL) {
		ssize_t done =
			get_len(e->end[1], 1 + test_random(&seed) % 70000);

		assert_true(done > 0 || done == -EAGAIN);
		if (done > 0)
			at += (uint64_t)done;
		else if (rnic_local_sleep(e->end[1], true, false))
			wait_woken(e->end[1]);
	}
	pthread_join(thread, NULL);
}

/* ---- the CPU of a poster ---- */

FRESH_CASE(a_poster_waits_for_what_it_has_written)
{
	struct ends *e = *state;
	struct rnic_handover handover;

	/* By TCP so far. */
	assert_false(rnic_local_handover(e->end[0], &handover));
	ends_begin(e);
	assert_true(rnic_local_handover(e->end[0], &handover));
	assert_true(rnic_handover_is_over(&handover));
	assert_int_equal(put(e->end[0], "abc"), 3);
	assert_true(rnic_local_handover(e->end[0], &handover));
	assert_true(handover.was_asleep);
	assert_false(rnic_handover_is_over(&handover));
	assert_int_equal(get_len(e->end[1], 2), 2);
	assert_false(rnic_handover_is_over(&handover));
	assert_int_equal(get_len(e->end[1], 1), 1);
	assert_true(rnic_handover_is_over(&handover));
	/* The reader has not slept since. */
	rnic_local_stay_awake(e->end[1]);
	assert_int_equal(put(e->end[0], "d"), 1);
	assert_true(rnic_local_handover(e->end[0], &handover));
	assert_false(handover.was_asleep);
	assert_false(rnic_handover_is_over(&handover));
}

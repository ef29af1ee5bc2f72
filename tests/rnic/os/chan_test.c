/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* chan.c: records in order, matching tokens, and a purge that does not
 * block. */
#include "os/chan.h"

#include "os/chan-host.h"
#include "util/clock.h"
#include "os/fd.h"
#include "util/env.h"
#include "util/fdtab.h"
#include "os/guard.h"
#include "test.h"
#include "descriptors.h"
#include "wrap-syscall.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An old kernel: no preadv2 on eventfds. */
static bool is_kernel_old;

static struct rnic_chan *chan;

/* A source that ends the moment a token is written; NULL: none. */
static struct rnic_chan_node *ending;

static int syscall_error(long nr, long first_arg)
{
	if (ending && nr == SYS_write) {
		struct rnic_chan_node *node = ending;

		ending = NULL;
		rnic_chan_purge(chan, node);
	}
	return is_kernel_old && nr == SYS_preadv2 ? EOPNOTSUPP : 0;
}

static int setup(void **state)
{
	is_kernel_old = false;
	return rnic_chan_new(sizeof(uint64_t), &chan);
}

static int setup_old(void **state)
{
	int ret = setup(state);

	is_kernel_old = true;
	return ret;
}

static int teardown(void **state)
{
	rnic_chan_close(chan);
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, setup, teardown)

static void set_nonblocking(void)
{
	int fd = rnic_chan_fd(chan);

	assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK),
			 0);
}

static bool is_readable(void)
{
	struct pollfd pfd = { .fd = rnic_chan_fd(chan), .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

static void post(struct rnic_chan_node *node, uint64_t value)
{
	rnic_chan_post(chan, node, &value, sizeof(value));
}

static uint64_t read_one(void)
{
	uint64_t value = 0;

	assert_int_equal(rnic_chan_read(chan, &value, sizeof(value)),
			 sizeof(value));
	return value;
}

FILE_CASE(yields_each_post_once_and_in_turn)
{
	struct rnic_chan_node a = { 0 }, b = { 0 };

	set_nonblocking();
	post(&a, 1);
	post(&a, 1);
	post(&b, 2);
	assert_int_equal(read_one(), 1);
	assert_int_equal(read_one(), 2); /* a does not starve b */
	assert_true(is_readable());
	assert_int_equal(read_one(), 1);
	assert_false(is_readable());
	assert_int_equal(rnic_chan_read(chan, &(uint64_t){ 0 }, 8), -EAGAIN);
	assert_int_equal(rnic_chan_purge(chan, &a), 2);
	assert_int_equal(rnic_chan_purge(chan, &b), 1);
}

FILE_CASE(refuses_a_small_buffer_and_loses_nothing)
{
	struct rnic_chan_node a = { 0 };
	uint8_t small[4];

	post(&a, 7);
	assert_int_equal(rnic_chan_read(chan, small, sizeof(small)), -EINVAL);
	assert_int_equal(read_one(), 7);
}

/* As with a file of the kernel: EFAULT, and the event is lost. */
FILE_CASE(survives_a_bad_buffer)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *gone =
		mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rnic_chan_node a = { 0 };

	assert_true(gone != MAP_FAILED);
	assert_int_equal(rnic_guard_install(), 0); /* memory is registered */
	post(&a, 1);
	post(&a, 2);
	assert_int_equal(rnic_chan_read(chan, gone, sizeof(uint64_t)), -EFAULT);
	assert_int_equal(read_one(), 2);
	assert_false(is_readable());
	assert_int_equal(rnic_chan_purge(chan, &a), 2);
	munmap(gone, size);
}

FILE_CASE(purge_takes_unread_events_back)
{
	struct rnic_chan_node a = { 0 }, b = { 0 };

	set_nonblocking();
	post(&a, 1);
	post(&b, 2);
	post(&a, 1);
	post(&a, 1);
	assert_int_equal(read_one(), 1);
	assert_int_equal(rnic_chan_purge(chan, &a), 1);
	assert_int_equal(rnic_chan_purge(chan, &a), 1);
	assert_int_equal(read_one(), 2);
	assert_false(is_readable());
	assert_int_equal(rnic_chan_purge(chan, &b), 1);
	assert_int_equal(rnic_chan_purge(NULL, &(struct rnic_chan_node){ 0 }),
			 0);
}

CASE_WITH(purge_takes_unread_events_back_on_old_kernels, setup_old, teardown)
{
	purge_takes_unread_events_back(state);
}

FILE_CASE(purge_keeps_a_blocking_fd_blocking)
{
	struct rnic_chan_node a = { 0 };

	is_kernel_old = true;
	post(&a, 1);
	assert_int_equal(rnic_chan_purge(chan, &a), 0);
	assert_false(is_readable());
	assert_int_equal(fcntl(rnic_chan_fd(chan), F_GETFL) & O_NONBLOCK, 0);
}

/* Takes a token with a plain read(), as a reader does that the purge has
 * overtaken. */
FILE_CASE(a_reader_overtaken_by_purge_waits_for_the_next)
{
	struct rnic_chan_node a = { 0 }, b = { 0 };
	uint64_t token;

	set_nonblocking();
	post(&a, 1);
	post(&b, 2);
	assert_int_equal(read(rnic_chan_fd(chan), &token, 8), 8);
	assert_int_equal(rnic_chan_purge(chan, &a), 0);
	assert_false(is_readable());
	/* That reader now finds b's record. Here no thread has its token. */
	assert_int_equal(rnic_chan_read(chan, &token, 8), -EAGAIN);
	post(&b, 2);
	assert_int_equal(read_one(), 2);
}

/* The reader that a token wakes may run before the poster goes on: it does not
 * wait for the channel's lock. */
FILE_CASE(writes_a_token_without_the_lock)
{
	struct rnic_chan_node a = { 0 }, b = { 0 };

	set_nonblocking();
	post(&a, 1);
	ending = &a;
	post(&b, 2);
	assert_null(ending);
	assert_int_equal(read_one(), 2);
	assert_false(is_readable());
}

static void *blocked_reader(void *arg)
{
	*(uint64_t *)arg = read_one();
	return NULL;
}

FILE_CASE(a_blocked_reader_wakes_at_a_post)
{
	struct rnic_chan_node a = { 0 };
	uint64_t value = 0;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, blocked_reader, &value),
			 0);
	post(&a, 99);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(value, 99);
}

FILE_CASE(a_blocked_reader_can_be_cancelled)
{
	uint64_t value;
	pthread_t thread;
	void *result;

#ifdef __SANITIZE_ADDRESS__
	skip_because("ASan reports errors on the stack of a cancelled thread");
#endif
	assert_int_equal(pthread_create(&thread, NULL, blocked_reader, &value),
			 0);
	assert_int_equal(pthread_cancel(thread), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	/* and the lock is free */
	post(&(struct rnic_chan_node){ 0 }, 1);
}

/* As close(2) does under the preload library. */
static void number_close(int fd)
{
	util_fdtab_uninstall(rnic_fdtab(), fd, NULL);
	assert_int_equal(close(fd), 0);
}

/*
 * The thread is directly before its read(). Here the number of the channel is
 * closed and gets another file.
 */
static int stolen_fd = -1;

ssize_t __real___read(int fd, void *buf, size_t size);
ssize_t __wrap___read(int fd, void *buf, size_t size);

ssize_t __wrap___read(int fd, void *buf, size_t size)
{
	if (stolen_fd >= 0) {
		number_close(stolen_fd);
		assert_int_equal(eventfd(5, EFD_CLOEXEC), stolen_fd);
		stolen_fd = -1;
	}
	return __real___read(fd, buf, size);
}

FILE_CASE(a_reader_keeps_its_file_when_the_number_goes)
{
	struct rnic_chan_node a = { 0 };
	struct rnic_chan *mine;
	uint64_t value = 0;
	int fd;

	assert_int_equal(rnic_chan_new(8, &mine), 0);
	fd = rnic_chan_fd(mine);
	rnic_chan_post(mine, &a, &(uint64_t){ 7 }, 8);
	stolen_fd = fd;
	assert_int_equal(rnic_chan_read(mine, &value, 8), 8);
	assert_int_equal(value, 7);
	/* The file that has the number now was neither read nor closed. */
	assert_int_equal(read(fd, &value, 8), 8);
	assert_int_equal(value, 5);
	assert_int_equal(rnic_chan_purge(mine, &a), 1);
	rnic_chan_close(mine);
	assert_int_equal(close(fd), 0);
}

FILE_CASE(a_closed_channel_swallows_posts)
{
	struct rnic_chan_node a = { 0 };
	struct rnic_chan *mine;
	int fd;

	assert_int_equal(rnic_chan_new(8, &mine), 0);
	fd = rnic_chan_fd(mine);
	rnic_chan_get(mine); /* a CQ holds such a reference */
	rnic_chan_post(mine, &a, &(uint64_t){ 1 }, 8);
	number_close(fd);
	assert_null(rnic_chan_get_fd(fd));
	rnic_chan_post(mine, &a, &(uint64_t){ 1 }, 8);
	rnic_chan_close(mine); /* the context closes it after the program */
	assert_int_equal(rnic_chan_purge(mine, &a), 0);
	rnic_chan_put(mine);
}

static void *leaving_reader(void *arg)
{
	struct rnic_chan *mine = arg;
	uint64_t value;
	ssize_t ret = rnic_chan_read(mine, &value, 8);

	rnic_chan_put(mine);
	return (void *)(intptr_t)ret;
}

/* Each thread that waits while the channel is closed gives up its reference,
 * and the last one closes the descriptor. */
FILE_CASE(a_closed_channel_has_no_readers)
{
	int before = test_fd_cnt();
	struct rnic_chan *mine;
	pthread_t thread[3];
	void *ret;

	assert_int_equal(rnic_chan_new(8, &mine), 0);
	for (int i = 0; i < 3; i++) {
		rnic_chan_get(mine);
		assert_int_equal(
			pthread_create(&thread[i], NULL, leaving_reader, mine),
			0);
	}
	rnic_chan_close(mine);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pthread_join(thread[i], &ret), 0);
		assert_int_equal((intptr_t)ret, -ESHUTDOWN);
	}
	assert_int_equal(test_fd_cnt(), before);
}

FILE_CASE(is_found_by_its_fd_only)
{
	struct rnic_chan *found = rnic_chan_get_fd(rnic_chan_fd(chan));

	assert_ptr_equal(found, chan);
	rnic_chan_put(found);
	assert_null(rnic_chan_get_fd(0));
	assert_null(rnic_chan_get_fd(-1));
	assert_int_equal(fcntl(rnic_chan_fd(chan), F_GETFD) & FD_CLOEXEC,
			 FD_CLOEXEC);
}

FILE_CASE(refuses_odd_record_sizes)
{
	struct rnic_chan *odd = NULL;

	assert_int_equal(rnic_chan_new(0, &odd), -EINVAL);
	assert_int_equal(rnic_chan_new(RNIC_CHAN_RECORD_MAX + 1, &odd),
			 -EINVAL);
	assert_null(odd);
}

/* ---- a host, whose work the reader does ---- */

static struct rnic_chan_node host_node;

static struct fake_host {
	struct rnic_chan_host host;
	int fd;
	int ref_cnt, rest_cnt, serve_cnt;
	int event_cnt;	/* posted when it is served */
	int silent_cnt; /* ... for so many times it is not */
	int sig;	/* raised when it is served */
	bool is_busy, has_purge;
} fake[2];

static struct fake_host *fake_of(struct rnic_chan_host *host)
{
	return (struct fake_host *)host;
}

static void fake_get(struct rnic_chan_host *host)
{
	fake_of(host)->ref_cnt++;
}

static void fake_put(struct rnic_chan_host *host)
{
	fake_of(host)->ref_cnt--;
}

static int fake_rest(struct rnic_chan_host *host)
{
	fake_of(host)->rest_cnt++;
	return fake_of(host)->is_busy ? -EAGAIN : fake_of(host)->fd;
}

/* How long a thread that waits polls before it sleeps. */
static void set_spin_us(uint32_t us)
{
	((struct util_settings *)(uintptr_t)util_settings())->event_spin_us =
		us;
}

static void fake_serve(struct rnic_chan_host *host)
{
	struct fake_host *self = fake_of(host);
	uint64_t start_ns = util_now_ns();

	self->serve_cnt++;
	if (self->sig)
		assert_int_equal(raise(self->sig), 0);
	self->sig = 0;
	if (self->silent_cnt && self->silent_cnt--) {
		/* It takes longer than the shortest time to poll. */
		while (util_now_ns() < start_ns + 2000)
			;
		return;
	}
	for (int i = 0; i < self->event_cnt; i++)
		post(&host_node, 5);
	if (self->has_purge)
		rnic_chan_purge(chan, &host_node);
	self->has_purge = false;
}

static const struct rnic_chan_host_ops fake_ops = {
	.get = fake_get,
	.put = fake_put,
	.rest = fake_rest,
	.serve = fake_serve,
};

static int setup_host(void **state)
{
	memset(&host_node, 0, sizeof(host_node));
	for (int i = 0; i < 2; i++)
		fake[i] = (struct fake_host){ .host = { .ops = &fake_ops },
					      .fd = eventfd(1, EFD_CLOEXEC),
					      .event_cnt = 1 };
	if (setup(state))
		return -1;
	set_spin_us(0);
	assert_false(rnic_chan_set_host(chan, &fake[0].host));
	assert_int_equal(fake[0].ref_cnt, 1);
	return 0;
}

static int teardown_host(void **state)
{
	rnic_chan_purge(chan, &host_node);
	teardown(state);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fake[i].ref_cnt, 0);
		assert_int_equal(close(fake[i].fd), 0);
	}
	return 0;
}

#define HOST_CASE(name) CASE_WITH(name, setup_host, teardown_host)

/* An event that the reader posts itself has no token. */
HOST_CASE(a_reader_serves_the_host)
{
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(read_one(), 5);
		assert_int_equal(fake[0].serve_cnt, i);
		assert_false(is_readable());
	}
	assert_int_equal(fake[0].ref_cnt, 1);
}

HOST_CASE(further_events_have_tokens)
{
	fake[0].event_cnt = 3;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(read_one(), 5);
		assert_int_equal(is_readable(), i < 2);
	}
	assert_int_equal(fake[0].serve_cnt, 1);
}

HOST_CASE(what_is_there_needs_no_host)
{
	post(&host_node, 6);
	assert_int_equal(read_one(), 6);
	assert_int_equal(fake[0].rest_cnt, 0);
	set_nonblocking();
	assert_int_equal(rnic_chan_read(chan, &(uint64_t){ 0 }, 8), -EAGAIN);
	assert_int_equal(fake[0].rest_cnt, 0);
}

HOST_CASE(a_purge_takes_what_the_reader_has_brought)
{
	fake[0].has_purge = true;
	assert_int_equal(read_one(), 5);
	assert_int_equal(fake[0].serve_cnt, 2);
	assert_false(is_readable());
}

static void *post_one(void *arg)
{
	post(arg, 8);
	return NULL;
}

HOST_CASE(a_busy_host_posts_by_its_own_thread)
{
	pthread_t thread;

	fake[0].is_busy = true;
	assert_int_equal(pthread_create(&thread, NULL, post_one, &host_node),
			 0);
	assert_int_equal(read_one(), 8);
	assert_int_equal(fake[0].serve_cnt, 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* Its own thread is spared for a few calls, not for ever. */
HOST_CASE(tells_that_a_reader_has_served)
{
	int cnt = 0;

	assert_false(rnic_chan_set_host(chan, &fake[0].host));
	assert_int_equal(read_one(), 5);
	while (rnic_chan_set_host(chan, &fake[0].host))
		cnt++;
	assert_in_range(cnt, 1, 8);
	assert_false(rnic_chan_set_host(chan, &fake[0].host));
}

HOST_CASE(polls_before_it_sleeps)
{
	set_spin_us(3600000000u); /* an hour */
	for (int i = 0; i < 3; i++) {
		fake[0].silent_cnt = 100;
		assert_int_equal(read_one(), 5);
	}
	assert_int_equal(fake[0].rest_cnt, 0);
	/* It serves the host, too. */
	assert_true(rnic_chan_set_host(chan, &fake[0].host));
}

static volatile sig_atomic_t handled;

static void handle(int sig)
{
	handled = sig;
}

/* A signal that comes while the reader polls is not lost for its sleep. */
HOST_CASE(a_signal_before_the_sleep_ends_it)
{
	struct sigaction action = { .sa_handler = handle };
	uint64_t value;

	assert_int_equal(eventfd_read(fake[0].fd, &value), 0); /* quiet */
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	set_spin_us(1);
	fake[0].silent_cnt = 1;
	fake[0].sig = SIGUSR1;
	assert_int_equal(rnic_chan_read(chan, &value, 8), -EINTR);
	assert_int_equal(handled, SIGUSR1);
	assert_int_equal(eventfd_write(fake[0].fd, 1), 0);
	assert_int_equal(read_one(), 5);
	signal(SIGUSR1, SIG_DFL);
}

/* Reads with a poll that finds nothing, if there is one. Return: whether there
 * was: the host was served without being asked before. */
static bool has_polled(void)
{
	fake[0].serve_cnt = 0;
	fake[0].rest_cnt = 0;
	fake[0].silent_cnt = 1;
	assert_int_equal(read_one(), 5);
	return fake[0].serve_cnt > fake[0].rest_cnt;
}

HOST_CASE(polls_seldom_if_that_is_in_vain)
{
	const char *expected = "P-P---P-------P-------P";

	set_spin_us(1); /* once */
	for (size_t i = 0; expected[i]; i++)
		assert_int_equal(has_polled(), expected[i] == 'P');
	for (int i = 0; i < 7; i++)
		assert_false(has_polled());
	/* This poll finds an event, so the next wait polls, too. */
	fake[0].silent_cnt = 0;
	assert_int_equal(read_one(), 5);
	assert_true(has_polled());
}

HOST_CASE(the_host_can_change)
{
	rnic_chan_set_host(chan, &fake[1].host);
	assert_int_equal(fake[0].ref_cnt, 0);
	assert_int_equal(fake[1].ref_cnt, 1);
	assert_int_equal(read_one(), 5);
	assert_int_equal(fake[0].serve_cnt, 0);
	assert_int_equal(fake[1].serve_cnt, 1);
}

/* Two posters, two readers, and one thread that purges: everything posted is
 * read or purged, and in the end no token is left. */
#define STRESS_CNT 20000

static struct rnic_chan_node stress_node[2];
static _Atomic uint32_t stress_read;
static _Atomic bool is_stress_over;

static void *stress_post(void *arg)
{
	for (int i = 0; i < STRESS_CNT; i++)
		post(arg, 5);
	return NULL;
}

static void *stress_reader(void *arg)
{
	uint64_t value;

	(void)arg;
	while (!is_stress_over || is_readable()) {
		if (rnic_chan_read(chan, &value, 8) == 8)
			stress_read++;
	}
	return NULL;
}

FILE_CASE(balances_tokens_under_load)
{
	pthread_t thread[4];
	uint32_t sum = 0;

	set_nonblocking();
	stress_read = 0;
	is_stress_over = false;
	memset(stress_node, 0, sizeof(stress_node));
	for (int i = 0; i < 2; i++) {
		pthread_create(&thread[i], NULL, stress_post, &stress_node[i]);
		pthread_create(&thread[2 + i], NULL, stress_reader, NULL);
	}
	for (int i = 0; i < 100; i++)
		rnic_chan_purge(chan, &stress_node[i % 2]);
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	is_stress_over = true;
	pthread_join(thread[2], NULL);
	pthread_join(thread[3], NULL);
	assert_false(is_readable());
	for (int i = 0; i < 2; i++) {
		assert_int_equal(stress_node[i].pending_cnt, 0);
		sum += rnic_chan_purge(chan, &stress_node[i]);
	}
	assert_int_equal(sum, stress_read);
}

CASE_WITH(balances_tokens_under_load_on_old_kernels, setup_old, teardown)
{
	balances_tokens_under_load(state);
}

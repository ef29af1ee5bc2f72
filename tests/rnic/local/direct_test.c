/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * direct.c: what a placer may write to, what it cannot, and that nothing is
 * written behind a revocation, however the placer or the target end.
 */
#define _GNU_SOURCE
#include "must.h"
#include "test.h"
#include "until.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "local/direct.h"
#include "local/memory.h"
#include "os/fd.h"
#include "os/write-if.h"

#define IOVA 0x123456000u
#define LEN 65536u

/* Both ends: 0 is the placer here.  They are in one process, or the target is
 * in a child. */
struct ends {
	struct rnic_direct end[2];
	int wake_fd[2];
	int mem_fd;
	void *mem[2];
	uint8_t *region; /* at the same address in a child */
};

static void end_open(struct ends *e, int i)
{
	must(rnic_local_memory_map(e->mem_fd, &e->mem[i]) == 0);
	rnic_direct_init(&e->end[i], e->mem[i], i == 0, &e->wake_fd[i]);
}

static void end_close(struct ends *e, int i)
{
	if (!e->mem[i])
		return;
	rnic_direct_fini(&e->end[i]);
	rnic_local_memory_unmap(e->mem[i]);
}

static void ends_begin(struct ends *e)
{
	*e = (struct ends){ .mem_fd = rnic_local_memory_new() };
	must(e->mem_fd >= 0);
	e->region = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(e->region != MAP_FAILED);
}

static void ends_end(struct ends *e)
{
	end_close(e, 0);
	end_close(e, 1);
	close(e->mem_fd);
	munmap(e->region, LEN);
}

static int setup(void **state)
{
	static struct ends e;

	ends_begin(&e);
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, e.wake_fd) ==
	     0);
	end_open(&e, 0);
	end_open(&e, 1);
	*state = &e;
	return 0;
}

static int teardown(void **state)
{
	struct ends *e = *state;

	ends_end(e);
	close(e->wake_fd[0]);
	close(e->wake_fd[1]);
	return 0;
}

#define ENDS_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

/* ---- helpers ---- */

static uint8_t source[2 * RNIC_DIRECT_MAX];

static bool put(struct ends *e, uint32_t stag, uint64_t to, size_t len)
{
	struct rnic_direct_write write = { stag, to, source, len };

	return rnic_direct_put(&e->end[0], &write);
}

static void grant(struct ends *e, uint32_t stag)
{
	const struct rnic_direct_region region = {
		.stag = stag,
		.iova = IOVA,
		.len = LEN,
		.addr = (uint64_t)(uintptr_t)e->region,
	};

	if (rnic_direct_is_wanted(&e->end[1]))
		rnic_direct_grant(&e->end[1], &region, 4);
}

static bool put_some(struct ends *e, uint32_t stag)
{
	return put(e, stag, IOVA, 8);
}

/* Writes until the placer has asked; the target answers, and grants @stag. */
static void begin(struct ends *e, uint32_t stag)
{
	for (size_t i = 0; i < sizeof(source); i++)
		source[i] = (uint8_t)(i * 7 + 1);
	while (e->end[0].state == RNIC_DIRECT_NEW)
		assert_false(put_some(e, stag));
	assert_int_equal(e->end[0].state, RNIC_DIRECT_ASKED);
	grant(e, stag);
	assert_true(put_some(e, stag));
	memset(e->region, 0, LEN);
}

static bool region_is_clean(const struct ends *e)
{
	for (size_t i = 0; i < LEN; i++) {
		if (e->region[i])
			return false;
	}
	return true;
}

/* ---- what is written ---- */

static void some_writes_come_before_the_question(void **state)
{
	struct ends *e = *state;
	int cnt = 0;

	while (e->end[0].state == RNIC_DIRECT_NEW) {
		grant(e, 1);
		assert_false(put_some(e, 1));
		cnt++;
	}
	assert_true(cnt > 1);
	assert_true(region_is_clean(e));
	/* No answer yet. */
	for (int i = 0; i < 5; i++)
		assert_false(put_some(e, 1));
	assert_int_equal(e->end[0].state, RNIC_DIRECT_ASKED);
}

static void octets_go_to_their_place(void **state)
{
	static const size_t lens[] = { 1,    2,	   3,	  5,
				       7,    8,	   9,	  16,
				       63,   64,   100,	  4095,
				       4096, 4097, 12288, RNIC_DIRECT_MAX };
	static const size_t offs[] = { 0, 1, 8, 4090, 16381 };
	struct ends *e = *state;

	begin(e, 1);
	for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
		for (size_t j = 0; j < ARRAY_LEN(offs); j++) {
			uint8_t *at = e->region + offs[j];

			assert_true(put(e, 1, IOVA + offs[j], lens[i]));
			assert_memory_equal(at, source, lens[i]);
			memset(at, 0, lens[i]);
			assert_true(region_is_clean(e));
		}
	}
	assert_true(put(e, 1, IOVA + LEN - 8, 8));
}

static const struct {
	const char *name;
	uint32_t stag;
	uint64_t to;
	size_t len;
} strays[] = {
	{ "another STag", 2, IOVA, 8 },
	{ "before the region", 1, IOVA - 1, 8 },
	{ "across its end", 1, IOVA + LEN - 7, 8 },
	{ "behind it", 1, IOVA + LEN, 8 },
	{ "an address that wraps", 1, UINT64_MAX - 3, 8 },
	{ "the end of the addresses", 1, 0, 8 },
	{ "the length that is excluded", 1, IOVA, 4 },
	{ "too long", 1, IOVA, RNIC_DIRECT_MAX + 1 },
};

static void nothing_is_written_elsewhere(void **state)
{
	struct ends *e = *state;

	begin(e, 1);
	for (size_t i = 0; i < ARRAY_LEN(strays); i++) {
		assert_row(strays[i].name, !put(e, strays[i].stag, strays[i].to,
						strays[i].len));
		assert_row(strays[i].name, region_is_clean(e));
		/* The next one goes there. */
		assert_row(strays[i].name, put_some(e, 1));
		memset(e->region, 0, 8);
	}
}

static void a_fifth_region_replaces_the_first(void **state)
{
	struct ends *e = *state;

	begin(e, 1);
	for (uint32_t stag = 2; stag <= RNIC_DIRECT_SLOTS; stag++)
		grant(e, stag);
	for (uint32_t stag = 1; stag <= RNIC_DIRECT_SLOTS; stag++)
		assert_true(put_some(e, stag));
	grant(e, RNIC_DIRECT_SLOTS + 1);
	assert_true(put_some(e, RNIC_DIRECT_SLOTS + 1));
	assert_true(put_some(e, RNIC_DIRECT_SLOTS));
	assert_false(put_some(e, 1));
}

/* ---- what is not the peer's memory ---- */

static const struct {
	const char *name;
	bool is_mapped;
} lies[] = {
	{ "memory without the number", true },
	{ "no memory", false },
};

static void the_number_has_to_be_there(void **state)
{
	static uint64_t other[2];

	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		struct ends *e;
		void *own;

		setup(&own);
		e = own;
		while (e->end[0].state == RNIC_DIRECT_NEW)
			put_some(e, 1);
		grant(e, 1);
		atomic_store(&e->end[0].tx->answer.number_addr,
			     lies[i].is_mapped ? (uint64_t)(uintptr_t)other
					       : 4096);
		assert_row(lies[i].name, !put_some(e, 1));
		assert_row(lies[i].name, e->end[0].state == RNIC_DIRECT_OFF);
		assert_row(lies[i].name, region_is_clean(e));
		teardown(&own);
	}
}

/* Then the ring leads to the error. */
static void memory_that_is_gone_ends_it(void **state)
{
	struct ends *e = *state;

	begin(e, 1);
	must(munmap(e->region + 4096, 4096) == 0);
	assert_false(put(e, 1, IOVA + 4000, 200));
	assert_int_equal(e->end[0].state, RNIC_DIRECT_OFF);
	assert_false(put_some(e, 1));
}

/* ---- revocation ---- */

static void nothing_is_written_behind_a_revocation(void **state)
{
	struct ends *e = *state;

	begin(e, 1);
	grant(e, 2);
	rnic_direct_revoke(&e->end[1], 1);
	assert_false(rnic_direct_is_granted(&e->end[1], 1));
	assert_false(put_some(e, 1));
	assert_true(region_is_clean(e));
	assert_true(put_some(e, 2));
	grant(e, 1);
	assert_true(put_some(e, 1));
	memset(e->region, 0, 8);
	rnic_direct_revoke_all(&e->end[1]);
	assert_false(put_some(e, 1) || put_some(e, 2));
	assert_true(region_is_clean(e));
}

static void *revoke_one(void *arg)
{
	struct ends *e = arg;

	rnic_direct_revoke(&e->end[1], 1);
	return e;
}

static void it_waits_for_a_call_that_has_begun(void **state)
{
	struct ends *e = *state;
	struct rnic_direct_shared *shared = e->end[1].rx;
	pthread_t thread;
	void *ret;

	begin(e, 1);
	atomic_store(&shared->call.is_busy, 1);
	must(pthread_create(&thread, NULL, revoke_one, e) == 0);
	wait_until(!atomic_load(&shared->slot[0].gen));
	assert_int_equal(pthread_tryjoin_np(thread, &ret), EBUSY);
	atomic_store(&shared->call.is_busy, 0);
	must(pthread_join(thread, &ret) == 0);
	assert_false(e->end[1].is_closed);
}

static void a_placer_that_never_ends_gets_no_more(void **state)
{
	struct ends *e = *state;

	begin(e, 1);
	atomic_store(&e->end[1].rx->call.is_busy, 1);
	rnic_direct_revoke(&e->end[1], 1); /* a second */
	assert_true(e->end[1].is_closed);
	assert_false(rnic_direct_is_wanted(&e->end[1]));
	grant(e, 2);
	assert_false(put_some(e, 1) || put_some(e, 2));
}

/* A thread writes all the time while regions come and go. */
struct race {
	struct ends *e;
	_Atomic bool is_over;
	uint64_t placed;
};

static void *race_write(void *arg)
{
	struct race *race = arg;

	while (!atomic_load(&race->is_over))
		race->placed += put(race->e, 1, IOVA, 64);
	return NULL;
}

static void no_write_passes_a_revocation(void **state)
{
	struct race race = { .e = *state };
	struct ends *e = *state;
	pthread_t thread;

	begin(e, 1);
	must(pthread_create(&thread, NULL, race_write, &race) == 0);
	for (int i = 0; i < 2000; i++) {
		uint8_t old[64], now[64];

		rnic_direct_revoke(&e->end[1], 1);
		memcpy(old, e->region, sizeof(old));
		memset(e->region, i, sizeof(old));
		for (int j = 0; j < 100; j++)
			atomic_thread_fence(memory_order_seq_cst);
		memcpy(now, e->region, sizeof(now));
		memset(old, i, sizeof(old));
		assert_memory_equal(old, now, sizeof(now));
		grant(e, 1);
		for (int j = 0; j < 1000; j++)
			atomic_thread_fence(memory_order_seq_cst);
	}
	atomic_store(&race.is_over, true);
	must(pthread_join(thread, NULL) == 0);
	assert_true(race.placed > 0);
}

/* ---- processes ---- */

/* The other end in a child: @run, with the number of its end. */
static pid_t child_start(struct ends *e, int child_end,
			 void (*run)(struct ends *e))
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(sa_family_t); /* the kernel finds a name */
	pid_t pid;

	ends_begin(e);
	must(bind(listen_fd, (struct sockaddr *)&sun, len) == 0);
	must(listen(listen_fd, 1) == 0);
	len = sizeof(sun);
	must(getsockname(listen_fd, (struct sockaddr *)&sun, &len) == 0);
	pid = fork();
	must(pid >= 0);
	e->wake_fd[0] = e->wake_fd[1] =
		pid ? accept(listen_fd, NULL, NULL)
		    : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (pid == 0) {
		must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
		must(connect(e->wake_fd[0], (struct sockaddr *)&sun, len) == 0);
		end_open(e, child_end);
		run(e);
		_exit(0);
	}
	must(e->wake_fd[0] >= 0);
	close(listen_fd);
	end_open(e, !child_end);
	return pid;
}

static void child_end(struct ends *e, pid_t pid)
{
	kill(pid, SIGKILL);
	must(waitpid(pid, NULL, 0) == pid);
	close(e->wake_fd[0]);
	ends_end(e);
}

/* Grants, and ends when an octet comes. */
static void target_serve(struct ends *e)
{
	char octet;

	while (!rnic_direct_is_wanted(&e->end[1]))
		usleep(100);
	grant(e, 1);
	must(read(e->wake_fd[1], &octet, 1) == 1);
}

static void target_exits(struct ends *e)
{
	target_serve(e);
}

static void target_execs(struct ends *e)
{
	target_serve(e);
	execl("/bin/sleep", "sleep", "1000", NULL);
}

static const struct {
	const char *name;
	void (*run)(struct ends *e);
} target_runs[] = {
	{ "exit", target_exits },
	{ "execve", target_execs },
};

static void nothing_is_written_to_what_comes_after_the_target(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(target_runs); i++) {
		struct ends e;
		pid_t pid = child_start(&e, 1, target_runs[i].run);
		char octet;

		wait_until(put_some(&e, 1));
		assert_row(target_runs[i].name, put_some(&e, 1));
		must(write(e.wake_fd[0], "", 1) == 1);
		/* Both close it, and not before the memory is gone. */
		must(read(e.wake_fd[0], &octet, 1) == 0);
		assert_row(target_runs[i].name, !put_some(&e, 1));
		assert_row(target_runs[i].name,
			   e.end[0].state == RNIC_DIRECT_OFF);
		child_end(&e, pid);
	}
}

/* Asks, and stays in its call. */
static void placer_begin(struct ends *e)
{
	while (e->end[0].state == RNIC_DIRECT_NEW)
		put_some(e, 1);
	atomic_store(&e->end[0].tx->call.is_busy, 1);
}

static void placer_stops(struct ends *e)
{
	placer_begin(e);
	raise(SIGSTOP);
}

static void placer_exits(struct ends *e)
{
	placer_begin(e);
}

static const struct {
	const char *name;
	void (*run)(struct ends *e);
} placer_runs[] = {
	{ "stopped", placer_stops },
	{ "ended", placer_exits },
};

/* Its call is over, whatever it has said. */
static void it_does_not_wait_for_a_placer_that_is(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(placer_runs); i++) {
		struct ends e;
		pid_t pid = child_start(&e, 0, placer_runs[i].run);
		siginfo_t info;

		must(waitid(P_PID, (id_t)pid, &info,
			    WEXITED | WSTOPPED | WNOWAIT) == 0);
		grant(&e, 1);
		assert_row(placer_runs[i].name,
			   rnic_direct_is_granted(&e.end[1], 1));
		rnic_direct_revoke(&e.end[1], 1);
		assert_row(placer_runs[i].name, !e.end[1].is_closed);
		child_end(&e, pid);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ENDS_TEST(some_writes_come_before_the_question),
		ENDS_TEST(octets_go_to_their_place),
		ENDS_TEST(nothing_is_written_elsewhere),
		ENDS_TEST(a_fifth_region_replaces_the_first),
		cmocka_unit_test(the_number_has_to_be_there),
		ENDS_TEST(memory_that_is_gone_ends_it),
		ENDS_TEST(nothing_is_written_behind_a_revocation),
		ENDS_TEST(it_waits_for_a_call_that_has_begun),
		ENDS_TEST(a_placer_that_never_ends_gets_no_more),
		ENDS_TEST(no_write_passes_a_revocation),
		cmocka_unit_test(
			nothing_is_written_to_what_comes_after_the_target),
		cmocka_unit_test(it_does_not_wait_for_a_placer_that_is),
	};

	if (!rnic_write_if_works()) {
		print_message("skipped: threads have no restartable "
			      "sequences here\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

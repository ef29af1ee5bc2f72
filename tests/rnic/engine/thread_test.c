/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * thread.c: progress without a polling thread, parking while another thread
 * polls, and sleep when there is nothing to do.
 */
#define _GNU_SOURCE
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mem/context.h"
#include "engine/engine.h"
#include "engine/thread.h"
#include "engine/wake.h"
#include "qp/qp.h"
#include "stream/attach.h"
#include "child.h"
#include "rawpeer.h"

#define EXTRA_NICE 1
#define NOBODY 65534
#define STR(x) #x
#define XSTR(x) STR(x)

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

static void open_with_chan(struct rnicpair *p)
{
	struct rnicpair_options opt = defaults;

	opt.has_chan = true;
	rnicpair_open(p, &opt);
}

static int setup_chan(void **state)
{
	static struct rnicpair p;

	open_with_chan(&p);
	*state = &p;
	return 0;
}

#define CHAN_CASE(name) CASE_WITH(name, setup_chan, rnicpair_teardown)

static void wait_comp_event(struct rnicpair_side *s)
{
	struct pollfd pfd = { .fd = rnic_chan_fd(s->chan), .events = POLLIN };
	struct usiw_comp_event ev;

	must(poll(&pfd, 1, RNICPAIR_LIMIT_MS) == 1);
	must(rnic_chan_read(s->chan, &ev, sizeof(ev)) == sizeof(ev));
}

/* No thread polls: the completion threads place, answer, complete and raise
 * events. */
CHAN_CASE(completion_threads_alone_make_progress)
{
	struct rnicpair *p = *state;
	struct rnicpair_side *a = &p->side[0], *b = &p->side[1];

	for (int i = 0; i < 50; i++) {
		struct usiw_cqe cqe;

		/* A READ needs both threads: the peer's and this side's. */
		rnic_cq_arm(a->scq, false);
		rnicpair_post_read(p, 0, 4, 1u << 20);
		wait_comp_event(a);
		assert_true(rnicpair_peek(a, a->scq, &cqe));
		assert_int_equal(cqe.wr_id, 4);
		rnic_cq_arm(b->rcq, false);
		rnicpair_post_echo(p, 0, 100000);
		wait_comp_event(b);
		assert_true(rnicpair_peek(b, b->rcq, &cqe));
		assert_int_equal(cqe.wr_id, 2);
		wait_until(rnicpair_peek(a, a->scq, &cqe));
	}
}

/* Arming ends a run of polls: the thread does not stay parked. */
CHAN_CASE(arming_unparks)
{
	struct rnicpair *p = *state;
	struct rnicpair_side *b = &p->side[1];
	struct usiw_cqe cqe;

	for (int i = 0; i < 200; i++) {
		/* Busy: the thread is parked, or will be. */
		for (int j = 0; j < 20; j++) {
			rnicpair_post_echo(p, 0, 8);
			assert_int_equal(rnicpair_take(b, b->rcq).wr_id, 2);
			assert_int_equal(
				rnicpair_take(&p->side[0], p->side[0].scq)
					.wr_id,
				1);
		}
		rnic_cq_arm(b->rcq, false);
		assert_int_equal(
			atomic_load(&b->ctx->engine->sched.polls.last_ns), 0);
		assert_false(rnicpair_peek(b, b->rcq, &cqe));
		rnicpair_post_echo(p, 0, 8);
		wait_comp_event(b);
		assert_true(rnicpair_peek(b, b->rcq, &cqe));
		assert_int_equal(
			rnicpair_take(&p->side[0], p->side[0].scq).wr_id, 1);
	}
}

/* ---- its priority ---- */

/* Return: number @idx of the threads with this name; -1: none. */
static pid_t thread_find(const char *name, int idx)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	pid_t found = -1;

	must(dir);
	while (found < 0 && (entry = readdir(dir))) {
		char path[PATH_MAX], comm[32] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm",
			 entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (fscanf(file, "%31s", comm) == 1 &&
		    strcmp(comm, name) == 0 && idx-- == 0)
			found = (pid_t)atoi(entry->d_name);
		fclose(file);
	}
	closedir(dir);
	return found;
}

static int denied_run(void)
{
	const struct rlimit none = { 0, 0 };
	int fd = memfd_create("stderr", 0);
	char said[1024] = "";
	struct rnicpair p;

	CHECK(setrlimit(RLIMIT_NICE, &none) == 0);
	CHECK(geteuid() != 0 || setuid(NOBODY) == 0);
	setenv("USIW_NICE", "-5", 1);
	CHECK(dup2(fd, STDERR_FILENO) == STDERR_FILENO);
	rnicpair_open(&p, &defaults);
	rnicpair_close(&p);
	CHECK(pread(fd, said, sizeof(said) - 1, 0) > 0);
	CHECK(strstr(said, "USIW_NICE=-5: "));
	return 0;
}

/* It works all the same. First: settings are read once. */
FIRST_CASE(says_that_a_priority_is_denied)
{
	assert_int_equal(in_child(denied_run), 0);
}

PAIR_CASE(the_thread_is_as_nice_as_asked)
{
	pid_t tid = -1;

	wait_until((tid = thread_find("usiw-engine", 0)) > 0);
	wait_until(getpriority(PRIO_PROCESS, (id_t)tid) ==
		   getpriority(PRIO_PROCESS, 0) + EXTRA_NICE);
}

/* ---- where it runs ---- */

static _Atomic bool is_calm;

static void *busy(void *arg)
{
	(void)arg;
	while (!atomic_load(&is_calm))
		;
	return NULL;
}

/* Do the completion threads of both sides keep off one of so many CPUs? */
static bool keep_off_one(int cpu_cnt)
{
	bool keep_off = false;

	for (int i = 0; i < 2; i++) {
		pid_t tid = thread_find("usiw-engine", i);
		cpu_set_t cpus;

		must(tid > 0 && !sched_getaffinity(tid, sizeof(cpus), &cpus));
		keep_off = keep_off || CPU_COUNT(&cpus) < cpu_cnt;
	}
	return keep_off;
}

/* Its program posts, and does not sleep. */
static void read_once(struct rnicpair *p)
{
	struct rnicpair_side *a = &p->side[0];
	struct usiw_cqe cqe;

	rnicpair_post_read(p, 0, 4, 64);
	wait_until(rnicpair_peek(a, a->scq, &cqe));
}

/* Beside busy threads, all threads change their CPUs. */
PAIR_CASE(keeps_off_the_cpu_of_its_program)
{
	pthread_t thread[CPU_SETSIZE + 1];
	cpu_set_t cpus;
	int cpu_cnt;

	must(sched_getaffinity(0, sizeof(cpus), &cpus) == 0);
	cpu_cnt = CPU_COUNT(&cpus);
	if (cpu_cnt < 2)
		skip();
	atomic_store(&is_calm, false);
	for (int i = 0; i <= cpu_cnt; i++)
		must(pthread_create(&thread[i], NULL, busy, NULL) == 0);
	wait_until((read_once(*state), keep_off_one(cpu_cnt)));
	atomic_store(&is_calm, true);
	for (int i = 0; i <= cpu_cnt; i++)
		pthread_join(thread[i], NULL);
}

/* ---- threads that sleep on the sockets ---- */

/* Return: whether one of both becomes readable in time. */
static bool sleep_on(int fd, struct rnicpair_side *s, int ms)
{
	struct pollfd pfd[] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = rnic_chan_fd(s->chan), .events = POLLIN },
	};

	return poll(pfd, 2, ms) > 0;
}

static bool has_event(struct rnicpair_side *s)
{
	struct pollfd pfd = { .fd = rnic_chan_fd(s->chan), .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

CHAN_CASE(a_sleeper_is_woken_each_time)
{
	struct rnicpair *p = *state;
	struct rnicpair_side *b = &p->side[1];

	for (int i = 0; i < 500; i++) {
		int fd = rnic_cq_sleep_begin(b->rcq);

		if (fd == -EAGAIN)
			rnic_cq_arm(b->rcq, false);
		else
			must(fd >= 0);
		rnic_cq_progress(b->rcq);
		rnicpair_post_echo(p, 0, 8);
		assert_true(sleep_on(fd < 0 ? -1 : fd, b, RNICPAIR_LIMIT_MS));
		if (fd >= 0)
			rnic_cq_sleep_end(b->rcq);
		assert_int_equal(rnicpair_take(b, b->rcq).wr_id, 2);
		(void)rnicpair_take(&p->side[0], p->side[0].scq);
		if (has_event(b))
			wait_comp_event(b);
	}
}

/* What was armed for the sleep causes no event later. */
CHAN_CASE(the_end_of_a_sleep_disarms)
{
	struct rnicpair *p = *state;
	struct rnicpair_side *b = &p->side[1];

	if (rnic_cq_sleep_begin(b->rcq) >= 0) {
		rnic_cq_sleep_end(b->rcq);
		rnicpair_post_echo(p, 0, 8);
		assert_int_equal(rnicpair_take(b, b->rcq).wr_id, 2);
		(void)rnicpair_take(&p->side[0], p->side[0].scq);
		assert_false(has_event(b));
	}
}

/* The thread that slept has gone and no longer polls: READs are still
 * answered. */
CHAN_CASE(a_sleeper_that_has_gone_is_replaced)
{
	struct rnicpair *p = *state;
	struct rnicpair_side *a = &p->side[0], *b = &p->side[1];

	for (int i = 0; i < 50; i++) {
		if (rnic_cq_sleep_begin(b->rcq) >= 0)
			rnic_cq_sleep_end(b->rcq);
		rnicpair_post_read(p, 0, 4, 4096);
		assert_int_equal(rnicpair_take(a, a->scq).wr_id, 4);
	}
}

#define BUSY_ROUNDS 200
#define BUSY_US 200

static uint64_t now_us(void)
{
	return util_now_ns() / 1000;
}

/* Messages that arrive while a thread that sleeps on the sockets is busy
 * between two polls are left to that thread. Otherwise the completion thread
 * would wake up for each message. */
CASE(a_thread_that_is_not_asleep_is_not_woken)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair p;
	struct rnicpair_side *a = &p.side[0], *b = &p.side[1];
	uint64_t end_ms = until_ms() + RNICPAIR_LIMIT_MS;
	int cnt = 0, taken_cnt = 0;

	opt.has_chan = true;
	rnicpair_open(&p, &opt);
	while (cnt < BUSY_ROUNDS) {
		struct usiw_cqe cqe;
		uint64_t start_us;
		bool is_taken;

		must(until_ms() < end_ms);
		if (rnic_cq_sleep_begin(b->rcq) >= 0)
			rnic_cq_sleep_end(b->rcq);
		start_us = now_us();
		rnic_cq_progress(b->rcq);
		rnicpair_post_echo(&p, 0, 8);
		while (now_us() - start_us < BUSY_US)
			;
		is_taken = rnicpair_peek(b, b->rcq, &cqe);
		/* On a loaded machine: longer than the engine waits for it. */
		if (now_us() - start_us < 5 * BUSY_US) {
			taken_cnt += is_taken;
			cnt++;
		}
		if (!is_taken)
			(void)rnicpair_take(b, b->rcq);
		(void)rnicpair_take(a, a->scq);
	}
	print_message("%d of %d taken\n", taken_cnt, cnt);
	assert_true(taken_cnt < BUSY_ROUNDS / 2);
	rnicpair_close(&p);
}

/* Repeatedly, like a program that has nothing to do. */
CHAN_CASE(a_sleeper_rests)
{
	struct rnicpair *p = *state;
	struct rnicpair_side *b = &p->side[1];
	uint64_t start_us, end_ms;
	int wakes = 0, rests = 0;
	bool was_asleep = true;

	start_us = rnicpair_cpu_us();
	end_ms = until_ms() + 200;
	for (uint64_t now; (now = until_ms()) < end_ms || !rests;) {
		int fd = rnic_cq_sleep_begin(b->rcq);

		rnic_cq_progress(b->rcq);
		wakes += was_asleep;
		was_asleep = fd >= 0;
		if (fd < 0) {
			/* The completion thread is awake, or waits for a
			 * processor. However long this takes, it is one
			 * wake-up. */
			(void)sleep_on(-1, b, 1);
			continue;
		}
		rests++;
		(void)sleep_on(fd, b, now < end_ms ? (int)(end_ms - now) : 0);
		rnic_cq_sleep_end(b->rcq);
	}
	print_message("%d wakes, %llu us\n", wakes,
		      (unsigned long long)(rnicpair_cpu_us() - start_us));
	assert_true(rnicpair_cpu_us() - start_us < 60000);
	assert_true(wakes < 100);
}

/* ---- bursts ---- */

enum { BURST_CNT = 24 };

static void burst_post(struct rnicpair *p)
{
	for (int i = 0; i < BURST_CNT; i++)
		rnicpair_post_echo(p, 0, 8);
}

/* Takes the poster's completions; leaves the peer's. */
static void burst_take(struct rnicpair_side *s)
{
	for (int i = 0; i < BURST_CNT; i++)
		(void)rnicpair_take(s, s->scq);
}

/* The thread parks while a program posts in bursts and polls, although nothing
 * arrives. */
PAIR_CASE(bursts_park)
{
	struct rnicpair *p = *state;
	struct rnicpair_side *a = &p->side[0], *b = &p->side[1];
	uint64_t end_ms;

	end_ms = until_ms() + RNICPAIR_LIMIT_MS;
	while (!rnic_burst_is_watched(&a->ctx->engine->sched.burst)) {
		must(until_ms() < end_ms);
		burst_post(p);
		burst_take(a);
		for (int i = 0; i < BURST_CNT; i++)
			(void)rnicpair_take(b, b->rcq);
	}
	/* For this time only. */
	wait_until(!atomic_load(&a->ctx->engine->sched.burst.wants_park));
}

/* Posts without a later poll are sent too. */
PAIR_CASE(what_waits_is_not_forgotten)
{
	struct rnicpair *p = *state;
	struct rnicpair_side *a = &p->side[0], *b = &p->side[1];
	uint64_t end_ms;
	int watched_cnt = 0;

	end_ms = until_ms() + RNICPAIR_LIMIT_MS;
	while (watched_cnt < 5) {
		bool was_watched;

		must(until_ms() < end_ms);
		for (int i = 0; i < 4; i++) {
			burst_post(p);
			burst_take(a);
			for (int j = 0; j < BURST_CNT; j++)
				(void)rnicpair_take(b, b->rcq);
		}
		was_watched =
			rnic_burst_is_watched(&a->ctx->engine->sched.burst);
		burst_post(p);
		/* From here on this side does nothing. */
		for (int i = 0; i < BURST_CNT; i++)
			(void)rnicpair_take(b, b->rcq);
		burst_take(a);
		watched_cnt += was_watched;
	}
}

/* ---- idle states ---- */

struct rest {
	const char *name;
	void (*begin)(struct rnicpair *p, struct rawpeer *raw);
};

static void rest_idle(struct rnicpair *p, struct rawpeer *raw)
{
	(void)p;
	(void)raw;
}

static void rest_blocked(struct rnicpair *p, struct rawpeer *raw)
{
	struct usiw_sge sge = rnicpair_sge(&p->side[0], 0, 2u << 20);

	(void)raw;
	rnicpair_post_wr(&p->side[0], .opcode = USIW_WR_SEND, .sge = &sge,
			 .sge_cnt = 1);
}

/* ... and a peer that has closed its direction. */
static void rest_blocked_fin(struct rnicpair *p, struct rawpeer *raw)
{
	rest_blocked(p, raw);
	must(!shutdown(raw->fd, SHUT_WR));
}

static void rest_closing(struct rnicpair *p, struct rawpeer *raw)
{
	(void)raw;
	rnic_qp_disconnect(p->side[0].qp, 0);
}

static void rest_draining(struct rnicpair *p, struct rawpeer *raw)
{
	rest_blocked(p, raw);
	must(!rnic_qp_modify(p->side[0].qp, RNIC_QPS_ERROR));
}

static void rest_terminated(struct rnicpair *p, struct rawpeer *raw)
{
	(void)p;
	rawpeer_write(raw, 1, 1, "x", 1);
}

/* A READ without an answer, followed by a fence. */
static void rest_fenced(struct rnicpair *p, struct rawpeer *raw)
{
	struct usiw_sge sge = rnicpair_sge(&p->side[0], 0, 8);
	struct rnicpair_wr wr = { .opcode = USIW_WR_READ,
				  .sge = &sge,
				  .sge_cnt = 1 };

	(void)raw;
	must(!rnicpair_post(&p->side[0], &wr));
	wr.opcode = USIW_WR_SEND;
	wr.flags = USIW_SQE_FENCE;
	must(!rnicpair_post(&p->side[0], &wr));
}

static void rest_half_fpdu(struct rnicpair *p, struct rawpeer *raw)
{
	static const uint8_t front[] = { 1, 0, 0x41 };

	(void)p;
	must(write(raw->fd, front, sizeof(front)) == sizeof(front));
}

static const struct rest rests[] = {
	{ "idle", rest_idle },
	{ "TCP full", rest_blocked },
	{ "TCP full, peer's FIN", rest_blocked_fin },
	{ "closing, silent peer", rest_closing },
	{ "draining, silent peer", rest_draining },
	{ "terminated, silent peer", rest_terminated },
	{ "fenced", rest_fenced },
	{ "half an FPDU", rest_half_fpdu },
};

/* Waiting uses no CPU, in every state. */
CASE(waits_without_burning)
{
	for (size_t i = 0; i < ARRAY_LEN(rests); i++) {
		struct rnicpair_options opt = defaults;
		struct rnicpair p;
		struct rawpeer raw;
		uint64_t start_us;

		opt.sockbuf = 16384;
		rawpeer_open(&raw, &p, &opt);
		rests[i].begin(&p, &raw);
		usleep(20000);
		start_us = rnicpair_cpu_us();
		usleep(200000);
		start_us = rnicpair_cpu_us() - start_us;
		print_message("%s: %llu us\n", rests[i].name,
			      (unsigned long long)start_us);
		assert_true(start_us < 60000);
		rawpeer_reset(&raw);
		rnicpair_close(&p);
	}
}

CASE(closing_a_context_waits_without_burning)
{
	struct rnicpair p;
	struct rawpeer raw;
	uint32_t comp, async;
	uint64_t start_us;

	rawpeer_open(&raw, &p, &defaults);
	must(!rnic_qp_destroy(p.side[0].qp, &async));
	must(!rnic_cq_destroy(p.side[0].scq, &comp, &async));
	must(!rnic_cq_destroy(p.side[0].rcq, &comp, &async));
	must(!rnic_mr_dereg(p.side[0].mr));
	must(!rnic_pd_free(p.side[0].pd));
	start_us = rnicpair_cpu_us();
	/* The peer sends nothing, so the whole drain limit passes. */
	rnic_context_close(p.side[0].ctx);
	start_us = rnicpair_cpu_us() - start_us;
	print_message("close: %llu us\n", (unsigned long long)start_us);
	assert_true(start_us < 400000);
	rawpeer_close(&raw);
	rnic_context_close(p.side[1].ctx);
}

BEFORE_CASES()
{
	setenv("USIW_NICE", XSTR(EXTRA_NICE), 1);
}

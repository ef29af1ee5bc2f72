/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * observer.c: a process finds the command's memory by the environment and by
 * the counter page, leaves it, and survives a command that dies or is wrong.
 * Each case in its own process.
 */
#define _GNU_SOURCE
#include "os/observer.h"
#include "statdir.h"
#include "wrap-clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define RING_SIZE 8192u
#define CALLS USIW_OBSERVE_CALLS

/* Makes the file as long as a command does.  Return: its memory. */
static struct usiw_observer_place *place_make(int fd, uint64_t at)
{
	size_t len = USIW_OBSERVER_DATA_AT + RING_SIZE;
	struct usiw_observer_place *place;

	if (ftruncate(fd, (off_t)(at + len)) < 0)
		return NULL;
	place = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		     (off_t)at);
	if (place == MAP_FAILED)
		return NULL;
	place->version = USIW_OBSERVER_VERSION;
	place->kind = CALLS;
	place->ring_size = RING_SIZE;
	place->slot_cnt = 1;
	place->magic = USIW_OBSERVER_MAGIC;
	return place;
}

/* A memfd, which the environment names. */
static struct usiw_observer_place *place_in_env(void)
{
	int fd = memfd_create("usiw-observer", 0);
	char text[100];

	snprintf(text, sizeof(text), "calls:/proc/%d/fd/%d", (int)getpid(), fd);
	setenv("USIW_OBSERVE", text, 1);
	return place_make(fd, 0);
}

static struct usiw_observed *asked(void)
{
	return &rnic_stat_memory.page.observed;
}

/* As a command does for a process that runs. */
static void ask(void)
{
	asked()->request[CALLS].owner = 1;
	asked()->request[CALLS].serial++;
	asked()->wanted |= 1u << CALLS;
}

static bool say(const char *text)
{
	struct rnic_observer_record record;

	if (!rnic_observer_begin(CALLS, 5, (uint32_t)strlen(text), &record))
		return false;
	memcpy(record.payload, text, strlen(text));
	rnic_observer_end(CALLS, &record);
	return true;
}

struct got {
	struct usiw_record head;
	char text[100];
};

/* Return: as usiw_record_take(). */
static int64_t take(struct usiw_observer_place *place, uint32_t size,
		    struct got *ret_got)
{
	return usiw_record_take(&place->slot[0].ring,
				(char *)place + USIW_OBSERVER_DATA_AT, size,
				ret_got, sizeof(*ret_got));
}

static bool said(struct usiw_observer_place *place, const char *text)
{
	struct got got;
	int64_t len = take(place, RING_SIZE, &got);

	return len == (int64_t)(sizeof(got.head) + strlen(text)) &&
	       got.head.kind == 5 && got.head.ns && got.head.tid &&
	       memcmp(got.text, text, strlen(text)) == 0;
}

static int check_env(void)
{
	struct usiw_observer_place *place = place_in_env();

	if (!place || rnic_observed(CALLS))
		return 1;
	rnic_observer_start();
	if (!rnic_observed(CALLS) || rnic_observed(USIW_OBSERVE_PACKETS))
		return 2;
	if (!say("first") || !say("second"))
		return 3;
	if (place->slot[0].pid != (uint32_t)getpid() ||
	    asked()->request[CALLS].owner != (uint32_t)getpid())
		return 4;
	return said(place, "first") && said(place, "second") ? 0 : 5;
}

CASE(writes_to_the_file_that_the_environment_names)
{
	assert_int_equal(in_child(check_env), 0);
}

/* Attaches twice; what was said between goes nowhere. */
static int check_page(void)
{
	struct usiw_observer_place *place;

	rnic_observer_start();
	if (rnic_stat_fd() < 0 || rnic_observed(CALLS))
		return 1;
	for (int i = 0; i < 2; i++) {
		place = place_make(rnic_stat_fd(), USIW_OBSERVER_AT(CALLS));
		if (!place)
			return 2;
		memset(&place->slot[0], 0, sizeof(place->slot[0]));
		ask();
		if (!rnic_observed(CALLS) || !say("once"))
			return 3;
		if (!said(place, "once"))
			return 4;
		asked()->wanted = 0;
		if (rnic_observed(CALLS))
			return 5;
	}
	return 0;
}

CASE(attaches_and_leaves_when_asked)
{
	assert_int_equal(run(check_page, NULL), 0);
}

CASE_WITH(attaches_by_a_counter_file_too, setup, teardown)
{
	assert_int_equal(run(check_page, dir), 0);
}

/* A full ring, and a command that reads no more. */
static int check_full(void)
{
	struct usiw_observer_place *place = place_in_env();
	int cnt = 0;

	rnic_observer_start();
	while (say("0123456789"))
		cnt++;
	if (cnt < 100 || place->slot[0].ring.lost != 1)
		return 1;
	if (!said(place, "0123456789") || !say("0123456789"))
		return 2;
	return 0;
}

CASE(loses_and_counts_what_finds_no_room)
{
	assert_int_equal(in_child(check_full), 0);
}

/* The command was killed: its ring is full, and its beat stands still. */
static int check_killed(void)
{
	const uint64_t second = 1000000000;
	struct usiw_observer_place *place = place_in_env();

	rnic_observer_start();
	fake_now_ns = 100 * second;
	while (say("0123456789"))
		;
	fake_now_ns += 4 * second;
	if (say("0123456789") || !rnic_observed(CALLS))
		return 1;
	place->beat++;
	fake_now_ns += 4 * second;
	if (say("0123456789") || !rnic_observed(CALLS))
		return 2;
	fake_now_ns += 4 * second;
	if (say("0123456789") || !rnic_observed(CALLS))
		return 3;
	fake_now_ns += 2 * second;
	return say("0123456789") || rnic_observed(CALLS) ? 4 : 0;
}

CASE(leaves_a_command_that_was_killed)
{
	assert_int_equal(in_child(check_killed), 0);
}

/* ---- threads, while commands come and go --------------------------------- */

static atomic_bool is_over;

/* Texts of different lengths, each of one letter. */
static void *talk(void *arg)
{
	static const char letters[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	struct rnic_observer_record record;
	uint32_t len = 0;

	while (!is_over) {
		len = len % 31 + 1;
		if (!rnic_observed(CALLS) ||
		    !rnic_observer_begin(CALLS, 5, len, &record)) {
			sched_yield();
			continue;
		}
		memcpy(record.payload, letters, len);
		if (len % 8 == 0) /* loses the CPU in a record */
			sched_yield();
		memset((char *)record.payload + len - 1, 'z', 1);
		rnic_observer_end(CALLS, &record);
	}
	return arg;
}

/* Return: 1: a record that is right; 0: none is there; -1: nonsense. */
static int read_one(struct usiw_observer_place *place, uint32_t size)
{
	struct got got;
	int64_t len = take(place, size, &got);

	if (len <= 0)
		return (int)len;
	len -= (int64_t)sizeof(got.head);
	if (len < 1 || len > 31 || got.head.kind != 5 ||
	    strspn(got.text, "a") < (size_t)len - 1 || got.text[len - 1] != 'z')
		return -1;
	return 1;
}

/* As a command does, from its begin to its end. */
static int observe(uint32_t size)
{
	size_t len = USIW_OBSERVER_DATA_AT + RING_SIZE;
	struct usiw_observer_place *place;
	int cnt = 0, ret = 0;

	while (asked()->request[CALLS].user_cnt)
		sched_yield();
	place = place_make(rnic_stat_fd(), USIW_OBSERVER_AT(CALLS));
	if (!place)
		return 1;
	memset(&place->slot[0], 0,
	       len - offsetof(struct usiw_observer_place, slot));
	place->ring_size = size;
	ask();
	while (cnt < 100 && ret >= 0) {
		ret = read_one(place, size);
		cnt += ret > 0;
		place->beat++;
	}
	asked()->wanted &= ~(1u << CALLS);
	munmap(place, len);
	return ret < 0 ? 2 : 0;
}

static int check_threads(void)
{
	pthread_t threads[3];
	int ret = 0;

	rnic_observer_start();
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, talk, NULL);
	for (int i = 0; i < 100 && ret == 0; i++)
		ret = observe(i % 2 ? RING_SIZE : RING_SIZE / 2);
	is_over = true;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return ret;
}

CASE(threads_write_to_no_command_that_has_left)
{
	assert_int_equal(run(check_threads, NULL), 0);
}

/* The child takes no slot of its parent. */
static int check_fork(void)
{
	struct usiw_observer_place *place = place_in_env();
	int status;
	pid_t pid;

	rnic_observer_start();
	if (!say("parent"))
		return 1;
	pid = fork();
	if (pid == 0) {
		rnic_stat_fork_child();
		rnic_observer_fork_child();
		if (rnic_observed(CALLS))
			_exit(1);
		rnic_observer_start();
		/* there is one slot only, and it is the parent's */
		_exit(say("child") || rnic_observed(CALLS) ? 2 : 0);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		return 2;
	if (place->refused_cnt != 1 || !say("again"))
		return 3;
	return said(place, "parent") && said(place, "again") ? 0 : 4;
}

CASE(begins_anew_in_a_forked_child)
{
	assert_int_equal(in_child(check_fork), 0);
}

/* What a command may do wrong; the process goes on. */
static struct usiw_observer_place wrong;
static bool is_short;

static int check_wrong(void)
{
	struct usiw_observer_place *place;

	rnic_observer_start();
	place = place_make(rnic_stat_fd(), USIW_OBSERVER_AT(CALLS));
	if (!place)
		return 1;
	memcpy(place, &wrong, offsetof(struct usiw_observer_place, snap_len));
	if (is_short &&
	    ftruncate(rnic_stat_fd(), (off_t)USIW_OBSERVER_AT(CALLS)) < 0)
		return 2;
	ask();
	if (say("text"))
		return 3;
	return rnic_observed(CALLS) ? 4 : 0;
}

CASE_WITH(refuses_a_place_that_is_wrong, setup, teardown)
{
	static const struct usiw_observer_place right = {
		.magic = USIW_OBSERVER_MAGIC,
		.version = USIW_OBSERVER_VERSION,
		.kind = CALLS,
		.ring_size = RING_SIZE,
		.slot_cnt = 1,
	};
	static const size_t fields[] = {
		offsetof(struct usiw_observer_place, magic),
		offsetof(struct usiw_observer_place, version),
		offsetof(struct usiw_observer_place, kind),
		offsetof(struct usiw_observer_place, ring_size),
		offsetof(struct usiw_observer_place, slot_cnt),
	};
	static const uint32_t values[] = { 7, 0xffffffff, 1u << 29, 4097 };

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		for (size_t k = 0; k < sizeof(values) / sizeof(values[0]);
		     k++) {
			wrong = right;
			memcpy((char *)&wrong + fields[i], &values[k], 4);
			if (run(check_wrong, NULL) != 0)
				fail_msg("field %zu, value %u", i, values[k]);
		}
	wrong = right;
	/* A memfd cannot be made shorter. */
	is_short = true;
	assert_int_equal(run(check_wrong, dir), 0);
}

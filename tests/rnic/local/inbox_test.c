/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An inbox: writers, the reader, and writers that break every rule. */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "local/inbox.h"
#include "os/guard.h"
#include "random.h"

struct two {
	struct rnic_inbox reader, writer;
	int fd;
};

static void two_open(struct two *t)
{
	assert_int_equal(rnic_guard_install(), 0);
	assert_int_equal(rnic_inbox_new(&t->reader, &t->fd), 0);
	assert_int_equal(rnic_inbox_check(t->fd), 0);
	assert_int_equal(rnic_inbox_map(&t->writer, t->fd), 0);
}

static void two_close(struct two *t)
{
	rnic_inbox_unmap(&t->writer);
	rnic_inbox_unmap(&t->reader);
	close(t->fd);
}

static int put(struct rnic_inbox *writer, uint32_t value, size_t len)
{
	uint8_t octets[RNIC_INBOX_LEN + 1];
	struct iovec iov[] = { { octets, 4 }, { octets + 4, len - 4 } };

	memset(octets, (int)value, sizeof(octets));
	memcpy(octets, &value, 4);
	return rnic_inbox_put(writer, iov, 2);
}

static void take(struct rnic_inbox *reader, uint32_t value, size_t len)
{
	uint32_t got_len, got;
	const uint8_t *octets = rnic_inbox_peek(reader, &got_len);

	assert_non_null(octets);
	assert_int_equal(got_len, len);
	memcpy(&got, octets, 4);
	assert_int_equal(got, value);
	if (len > 4)
		assert_int_equal(octets[len - 1], value & 0xff);
	rnic_inbox_drop(reader);
}

/* The first one: cmocka takes the handler of faults away with each case. */
CASE(a_source_that_cannot_be_read_costs_no_buffer)
{
	void *gone =
		mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec iov = { gone, 100 };
	struct two t;

	two_open(&t);
	rnic_guard_thread();
	for (uint32_t i = 0; i < 2 * RNIC_INBOX_CNT; i++)
		assert_int_equal(rnic_inbox_put(&t.writer, &iov, 1), -EFAULT);
	assert_true(put(&t.writer, 1, 4) >= 0);
	take(&t.reader, 1, 4);
	two_close(&t);
	munmap(gone, 4096);
}

CASE(datagrams_come_in_order)
{
	uint32_t len, value = 0, taken = 0;
	struct two t;

	two_open(&t);
	assert_null(rnic_inbox_peek(&t.reader, &len));
	for (uint32_t burst = 1; burst < RNIC_INBOX_CNT; burst *= 2) {
		for (uint32_t i = 0; i < burst; i++, value++)
			assert_true(put(&t.writer, value, 4 + value % 100) >=
				    0);
		for (uint32_t i = 0; i < burst; i++, taken++)
			take(&t.reader, taken, 4 + taken % 100);
		assert_null(rnic_inbox_peek(&t.reader, &len));
	}
	two_close(&t);
}

CASE(what_does_not_fit_is_refused)
{
	struct two t;

	two_open(&t);
	assert_int_equal(put(&t.writer, 1, RNIC_INBOX_LEN + 1), -EMSGSIZE);
	for (uint32_t i = 0; i < RNIC_INBOX_CNT; i++)
		assert_true(put(&t.writer, i, RNIC_INBOX_LEN) >= 0);
	assert_int_equal(put(&t.writer, 1, 4), -EAGAIN);
	/* They are freed together, and all before the reader sleeps. */
	for (uint32_t i = 0; i < RNIC_INBOX_CNT; i++)
		take(&t.reader, i, RNIC_INBOX_LEN);
	assert_true(rnic_inbox_sleep(&t.reader));
	for (uint32_t i = 0; i < RNIC_INBOX_CNT; i++)
		assert_true(put(&t.writer, i, 4) >= 0);
	assert_int_equal(put(&t.writer, 1, 4), -EAGAIN);
	two_close(&t);
}

CASE(a_sleeper_is_woken_once)
{
	struct two t;
	uint64_t seen;

	two_open(&t);
	assert_int_equal(put(&t.writer, 1, 4), 1); /* it begins asleep */
	assert_int_equal(put(&t.writer, 2, 4), 0);
	take(&t.reader, 1, 4);
	take(&t.reader, 2, 4);
	seen = rnic_inbox_seen(&t.reader);
	assert_true(*rnic_inbox_word(&t.reader) == seen);
	assert_true(rnic_inbox_sleep(&t.reader));
	assert_int_equal(put(&t.writer, 3, 4), 1);
	assert_false(*rnic_inbox_word(&t.reader) == seen);
	assert_false(rnic_inbox_sleep(&t.reader)); /* there is one */
	assert_int_equal(put(&t.writer, 4, 4), 0);
	take(&t.reader, 3, 4);
	take(&t.reader, 4, 4);
	two_close(&t);
}

CASE(a_reader_that_goes_is_seen)
{
	struct two t;

	two_open(&t);
	assert_false(rnic_inbox_is_left(&t.writer));
	rnic_inbox_leave(&t.reader);
	assert_true(rnic_inbox_is_left(&t.writer));
	assert_int_equal(put(&t.writer, 1, 4), -EPIPE);
	two_close(&t);
}

CASE(another_file_is_no_inbox)
{
	int pipes[2], memfd = memfd_create("x", MFD_ALLOW_SEALING);

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(rnic_inbox_check(pipes[0]), -EPROTO);
	assert_int_equal(rnic_inbox_check(memfd), -EPROTO);
	assert_int_equal(rnic_inbox_check(-1), -EPROTO);
	close(pipes[0]);
	close(pipes[1]);
	close(memfd);
}

/* Anything may be in the memory: calls end, and stay inside. */
CASE(a_hostile_writer_harms_nobody)
{
	uint64_t seed = 7;
	struct two t;

	two_open(&t);
	for (uint32_t round = 0; round < 2000; round++) {
		uint8_t *mem = (uint8_t *)t.writer.shared;
		uint32_t len;

		for (uint32_t i = 0; i < 2048; i++)
			mem[i] = (uint8_t)test_random(&seed);
		for (uint32_t i = 0; i < 2 * RNIC_INBOX_CNT; i++) {
			const uint8_t *octets =
				rnic_inbox_peek(&t.reader, &len);

			if (!octets)
				break;
			assert_true(len <= RNIC_INBOX_LEN);
			assert_true(octets >= (uint8_t *)t.reader.shared);
			rnic_inbox_drop(&t.reader);
		}
		(void)put(&t.writer, 1, 100);
		(void)rnic_inbox_sleep(&t.reader);
	}
	two_close(&t);
}

/* ---- many writers ---- */

#define WRITERS 4
#define EACH 5000u

static void *write_many(void *arg)
{
	struct rnic_inbox writer = { .shared = NULL };
	const struct two *t = arg;
	static _Atomic uint32_t next;
	uint32_t base = atomic_fetch_add(&next, 1) << 16;

	assert_int_equal(rnic_inbox_map(&writer, t->fd), 0);
	rnic_guard_thread();
	for (uint32_t i = 0; i < EACH; i++)
		while (put(&writer, base | i, 8) == -EAGAIN)
			usleep(10);
	rnic_inbox_unmap(&writer);
	return NULL;
}

CASE(writers_do_not_disturb_each_other)
{
	uint32_t next[WRITERS] = { 0 }, cnt = 0;
	pthread_t thread[WRITERS];
	struct two t;

	two_open(&t);
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(
			pthread_create(&thread[i], NULL, write_many, &t), 0);
	while (cnt < WRITERS * EACH) {
		uint32_t len, value;
		const void *octets = rnic_inbox_peek(&t.reader, &len);

		if (!octets) {
			usleep(10);
			continue;
		}
		memcpy(&value, octets, 4);
		assert_int_equal(len, 8);
		assert_true(value >> 16 < WRITERS);
		assert_int_equal(value & 0xffff, next[value >> 16]++);
		rnic_inbox_drop(&t.reader);
		cnt++;
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_join(thread[i], NULL);
	two_close(&t);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Event queues: order, counts, waiting readers. */
#include "fixture.h"

#include "cm/object.h"
#include "loop/loop.h"
#include "test.h"
#include "until.h"

#include <pthread.h>
CASE(destroy_takes_queued_events_along)
{
	struct sockaddr_storage dst = cm_loopback(AF_INET, 9);
	struct rnic_cm_event ev;
	struct cm_side s;
	uint32_t other, cnt;

	cm_side_open(&s, 1);
	assert_int_equal(rnic_cm_create(s.chan, 7, &other), 0);
	assert_int_equal(rnic_cm_resolve_addr(s.chan, s.id, NULL,
					      (struct sockaddr *)&dst, 1),
			 0);
	assert_int_equal(rnic_cm_resolve_addr(s.chan, other, NULL,
					      (struct sockaddr *)&dst, 1),
			 0);
	assert_int_equal(rnic_cm_destroy(s.chan, s.id, &cnt), 0);
	assert_int_equal(cnt, 0);
	cm_expect(s.chan, RNIC_CM_ADDR_RESOLVED, 0, &ev);
	assert_int_equal(ev.uid, 7);
	assert_false(cm_is_readable(s.chan, 0));
	fcntl(rnic_cm_chan_fd(s.chan), F_SETFL, O_NONBLOCK);
	assert_int_equal(rnic_cm_get_event(s.chan, &ev), -EAGAIN);
	assert_int_equal(rnic_cm_destroy(s.chan, other, &cnt), 0);
	assert_int_equal(cnt, 1);
	cm_side_close(&s);
}

/* The identity that a request has made goes with its listener. */
CASE(a_migrated_request_ends_with_its_listener)
{
	struct cm_side s, t, active;
	struct cm_qp q;
	uint32_t id, cnt;

	cm_qp_open(&q);
	cm_dial(&active, &q, cm_listen(&s, AF_INET, 0), "");
	assert_true(cm_is_readable(s.chan, CM_LIMIT_MS));
	cm_side_open(&t, 2);
	assert_int_equal(rnic_cm_migrate(s.chan, s.id, t.chan, &id, &cnt), 0);
	assert_true(cm_is_readable(t.chan, 0));
	cm_side_close(&t);
	cm_side_close(&active);
	cm_side_close(&s);
	cm_qp_close(&q);
}

CASE(migrate_moves_id_and_events)
{
	struct sockaddr_storage dst = cm_loopback(AF_INET, 9);
	struct rnic_cm_event ev;
	struct rnic_cm_info info;
	struct cm_side s, t;
	uint32_t id, cnt;

	cm_side_open(&s, 1);
	cm_side_open(&t, 2);
	assert_int_equal(rnic_cm_resolve_addr(s.chan, s.id, NULL,
					      (struct sockaddr *)&dst, 1),
			 0);
	assert_int_equal(rnic_cm_migrate(s.chan, s.id, t.chan, &id, &cnt), 0);
	assert_int_equal(cnt, 0);
	assert_false(cm_is_readable(s.chan, 0));
	cm_expect(t.chan, RNIC_CM_ADDR_RESOLVED, 0, &ev);
	assert_int_equal(ev.id, id);
	assert_int_equal(rnic_cm_query(s.chan, id, &info), -ENOENT);
	assert_int_equal(rnic_cm_query(t.chan, id, &info), 0);
	assert_int_equal(rnic_cm_migrate(s.chan, id, t.chan, &id, &cnt),
			 -ENOENT);
	cm_side_close(&s);
	cm_side_close(&t);
}

/* Another thread closes the channel before this one calls read(). */
static bool is_closing;
static struct rnic_cm_chan *closing;

ssize_t __real___read(int fd, void *buf, size_t size);
ssize_t __wrap___read(int fd, void *buf, size_t size);

ssize_t __wrap___read(int fd, void *buf, size_t size)
{
	if (is_closing) {
		rnic_cm_chan_close(closing);
		is_closing = false;
	}
	return __real___read(fd, buf, size);
}

struct reader {
	struct rnic_cm_chan *chan;
	struct rnic_cm_event ev;
	int ret;
};

static void *reader_main(void *arg)
{
	struct reader *r = arg;

	r->ret = rnic_cm_get_event(r->chan, &r->ev);
	return NULL;
}

/* Events that a destroy removes meanwhile are not returned. */
CASE(a_waiting_reader_gets_the_next_event)
{
	struct sockaddr_storage dst = cm_loopback(AF_INET, 9);
	struct reader r = { .ret = 1 };
	pthread_t thread;
	struct cm_side s;
	uint32_t other, cnt;

	cm_side_open(&s, 1);
	r.chan = s.chan;
	/* A count whose event is removed before the reader gets it. */
	for (int i = 0; i < 100; i++) {
		assert_int_equal(rnic_cm_create(s.chan, 7, &other), 0);
		assert_int_equal(rnic_cm_resolve_addr(s.chan, other, NULL,
						      (struct sockaddr *)&dst,
						      1),
				 0);
		assert_int_equal(rnic_cm_destroy(s.chan, other, &cnt), 0);
	}
	assert_int_equal(pthread_create(&thread, NULL, reader_main, &r), 0);
	assert_int_equal(rnic_cm_resolve_addr(s.chan, s.id, NULL,
					      (struct sockaddr *)&dst, 1),
			 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(r.ret, 0);
	assert_int_equal(r.ev.id, s.id);
	cm_side_close(&s);
}

CASE(a_waiting_reader_can_be_cancelled)
{
	struct sockaddr_storage dst = cm_loopback(AF_INET, 9);
	struct reader r = { .ret = 1 };
	struct rnic_cm_event ev;
	pthread_t thread;
	void *result;
	struct cm_side s;

#ifdef __SANITIZE_ADDRESS__
	skip_because("ASan reports errors on the stack of a cancelled thread");
#endif
	cm_side_open(&s, 1);
	r.chan = s.chan;
	assert_int_equal(pthread_create(&thread, NULL, reader_main, &r), 0);
	assert_int_equal(pthread_cancel(thread), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_int_equal(rnic_cm_resolve_addr(s.chan, s.id, NULL,
					      (struct sockaddr *)&dst, 1),
			 0);
	cm_expect(s.chan, RNIC_CM_ADDR_RESOLVED, 0, &ev);
	cm_side_close(&s);
}

/* As the preload library does when the last number is closed. */
CASE(a_reader_gets_no_event_of_a_closed_channel)
{
	struct sockaddr_storage dst = cm_loopback(AF_INET, 9);
	struct reader r = { .ret = 1 };
	struct cm_side s;

	cm_side_open(&s, 1);
	r.chan = s.chan;
	assert_int_equal(rnic_cm_resolve_addr(s.chan, s.id, NULL,
					      (struct sockaddr *)&dst, 1),
			 0);
	closing = s.chan;
	is_closing = true;
	fcntl(rnic_cm_chan_fd(s.chan), F_SETFL, O_NONBLOCK);
	reader_main(&r);
	assert_false(is_closing);
	/* Neither EBADF nor an event of a destroyed identity. */
	assert_int_equal(r.ret, -EAGAIN);
	rnic_cm_chan_free(s.chan);
}

/* Each hands the close on to the next, so that none keeps a reference. */
CASE(all_readers_leave_a_closed_channel)
{
	struct reader r[2] = { { .ret = 1 }, { .ret = 1 } };
	pthread_t thread[2];
	struct cm_side s;

	cm_side_open(&s, 1);
	for (int i = 0; i < 2; i++) {
		r[i].chan = s.chan;
		assert_int_equal(
			pthread_create(&thread[i], NULL, reader_main, &r[i]),
			0);
	}
	rnic_cm_chan_close(s.chan);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(thread[i], NULL), 0);
		assert_int_equal(r[i].ret, -ESHUTDOWN);
	}
	rnic_cm_chan_free(s.chan);
}

BEFORE_CASES()
{
	/* Before the settings are read for the first time. */
	setenv("USIW_START_MS", "1000", 1);
	setenv("USIW_DRAIN_MS", "300", 1);
}

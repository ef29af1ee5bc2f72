/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A thread that sleeps on the completion channel is woken, whatever other
 * threads do with the CQ's events meanwhile. */
#include "test.h"

#include <stdbool.h>

#include "verbs/wait/poll.h"

enum { CQ_FD = 5 };

/* A CQ that is always empty: others have polled its completions. */
static struct {
	bool is_armed, has_event;
} cq_now;

static int notify(struct ibv_cq *cq, int solicited_only)
{
	(void)cq;
	(void)solicited_only;
	cq_now.is_armed = true;
	return 0;
}

static int poll_nothing(struct ibv_cq *cq, int cnt, struct ibv_wc *wc)
{
	(void)cq;
	(void)cnt;
	(void)wc;
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq,
		     void **ctx)
{
	(void)channel;
	(void)cq;
	(void)ctx;
	if (!cq_now.has_event)
		return -1;
	cq_now.has_event = false;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int cnt)
{
	(void)cq;
	(void)cnt;
}

static struct ibv_context context = {
	.ops = { .poll_cq = poll_nothing, .req_notify_cq = notify },
};
static struct ibv_cq cq = { .context = &context };
static struct sdp_dev dev = { .cq = &cq, .deadline = SDP_NEVER };

static void a_completion_comes(void)
{
	cq_now.has_event |= cq_now.is_armed;
	cq_now.is_armed = false;
}

static void another_thread_takes_the_event(void)
{
	util_lock(&dev.poll_lock);
	sdp_poll_events(&dev, SDP_POLL_CQ);
	util_unlock(&dev.poll_lock);
}

/* As rnic_cq_sleep_end(): another thread wakes. */
static void another_thread_disarms(void)
{
	cq_now.is_armed = false;
	sdp_poll_rearm(&dev);
}

static void (*meanwhile)(void);

static int sleep_begin_at(struct ibv_cq *at, int fd)
{
	if (fd >= 0)
		notify(at, 0);
	if (meanwhile) {
		a_completion_comes();
		meanwhile();
	}
	return fd;
}

static int sleep_begin(struct ibv_cq *at)
{
	return sleep_begin_at(at, CQ_FD);
}

static int sleep_begin_fails(struct ibv_cq *at)
{
	return sleep_begin_at(at, -1);
}

static const struct row {
	const char *name;
	int (*begin)(struct ibv_cq *at);
	void (*meanwhile)(void);
	bool is_progress; /* the progress thread: without a descriptor */
	int cq_fd;
} rows[] = {
	{ "another device", .cq_fd = -1 },
	{ "nothing meanwhile", sleep_begin, .cq_fd = CQ_FD },
	{ "no descriptor", sleep_begin_fails, .cq_fd = -1 },
	{ "progress thread", sleep_begin, .is_progress = true, .cq_fd = -1 },
	{ "the event is taken as soon as it is armed", sleep_begin,
	  another_thread_takes_the_event, .cq_fd = CQ_FD },
	{ "no descriptor, and an event is taken", sleep_begin_fails,
	  another_thread_takes_the_event, .cq_fd = -1 },
	{ "the CQ is disarmed as soon as it is armed", sleep_begin,
	  another_thread_disarms, .cq_fd = CQ_FD },
};

static bool is_woken(void)
{
	return cq_now.is_armed || cq_now.has_event;
}

CASE(who_sleeps_is_woken)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		int cq_fd = -1;

		util_lock_init(&dev.poll_lock, UTIL_RANK_SDP_POLL);
		cq_now.is_armed = cq_now.has_event = false;
		dev.cq_sleep_begin = row->begin;
		meanwhile = row->meanwhile;
		assert_int_equal(
			sdp_poll_arm(&dev, row->is_progress ? NULL : &cq_fd),
			0);
		assert_int_equal(cq_fd, row->cq_fd);
		assert_row(row->name, is_woken());
		a_completion_comes();
		another_thread_takes_the_event();
		assert_row(row->name, is_woken());
		another_thread_disarms();
		assert_row(row->name, is_woken());
		sdp_poll_disarm(&dev);
		another_thread_disarms();
		assert_false(cq_now.is_armed);
	}
}

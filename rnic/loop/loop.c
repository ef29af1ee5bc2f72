/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The loop's thread: sockets that became ready, notes of engines, deadlines.
 * Without any of these it sleeps in epoll_wait without a limit.
 */
#define _GNU_SOURCE /* pthread_setname_np */
#include "loop.h"

#include "util/cancel.h"
#include "util/env.h"
#include "util/log.h"
#include "util/thread.h"
#include "os/fd.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>

#define THREAD_EVENTS 64
#define BROKEN_STEP_NS 10000000
/*
 * One connection is mostly followed by another, whose deadline, later than
 * this, need not wake the thread then: it will look by itself.
 */
#define LINGER_NS (100 * NS_PER_MS)
/* Looks of a thread that waits for an event of its own. */
#define HELP_PASSES 8
#define NAP_NS 50000
#define NAP_MAX 8

static _Thread_local bool is_loop_thread;

/* ---- epoll --------------------------- */

/* A slot number has 20 bits: the tag lies above it. */
#define TAG_SHIFT 24
_Static_assert(RNIC_REF_PAGES <= (1u << TAG_SHIFT) / RNIC_REF_PAGE,
	       "slot numbers leave room for the tag");

static uint64_t tag_pack(enum rnic_loop_tag tag, uint64_t ref)
{
	return ref | (uint64_t)tag << TAG_SHIFT;
}

static enum rnic_loop_tag tag_of(uint64_t data)
{
	return (enum rnic_loop_tag)(data >> TAG_SHIFT & 0xff);
}

static uint64_t ref_of(uint64_t data)
{
	return data & ~((uint64_t)0xff << TAG_SHIFT);
}

int rnic_loop_watch(int fd, enum rnic_loop_tag tag, uint64_t ref,
		    uint32_t events, uint32_t *registered)
{
	struct epoll_event ev = { .events = events };
	int op = *registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (events == *registered)
		return 0;
	if (!events)
		op = EPOLL_CTL_DEL;
	ev.data.u64 = tag_pack(tag, ref);
	if (epoll_ctl(rnic_loop.epoll_fd, op, fd, &ev) < 0)
		return -errno;
	*registered = events;
	return 0;
}

/* ---- inbox --------------------------- */

static uint32_t inbox_cnt(void)
{
	UTIL_LOCKED(&rnic_loop.inbox_lock);
	const struct rnic_ref_note *note;
	uint32_t cnt = 0;

	TAILQ_FOREACH(note, &rnic_loop.inbox, link)
	cnt++;
	return cnt;
}

/* Slots are given back under the lock only: what is taken here lives. */
static void inbox_take(void)
{
	struct rnic_ref_note *note;
	void *object;
	int status = 0;

	util_lock(&rnic_loop.inbox_lock);
	note = TAILQ_FIRST(&rnic_loop.inbox);
	if (note) {
		TAILQ_REMOVE(&rnic_loop.inbox, note, link);
		note->is_queued = false;
		status = note->status;
	}
	util_unlock(&rnic_loop.inbox_lock);
	if (!note)
		return;
	object = rnic_ref_get_slot(&rnic_loop.noted, note->slot_idx);
	if (object)
		rnic_loop.ops->note(object, status);
}

/* It may be meant to tell the thread of a deadline, too. */
static void inbox_clear_wake(void)
{
	uint64_t cnt;

	while (is_loop_thread &&
	       util_sys_read(rnic_loop.wake_fd, &cnt, sizeof(cnt)) < 0 &&
	       errno == EINTR)
		;
}

/* ---- deadlines --------------------------- */

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

/* @look_ns: from the ops.  Return: milliseconds until the thread is to look
 * again; -1: no need. */
static int deadlines_timeout(uint64_t look_ns)
{
	uint64_t next = earlier(rnic_timers_next_ns(), look_ns);
	uint64_t now = util_now_ns();

	if (rnic_loop.linger_ns > now)
		next = earlier(next, rnic_loop.linger_ns);
	rnic_loop.wakes_ns = next;
	if (next == UINT64_MAX)
		return -1;
	if (next <= now)
		return 0;
	next = (next - now + NS_PER_MS - 1) / NS_PER_MS;
	return next > INT_MAX ? INT_MAX : (int)next;
}

/* ---- the thread --------------------------- */

static enum rnic_loop_order event_order(const struct epoll_event *ev)
{
	return rnic_loop.ops->order(tag_of(ev->data.u64), ref_of(ev->data.u64));
}

static void event_dispatch(const struct epoll_event *ev)
{
	rnic_loop.ops->dispatch(tag_of(ev->data.u64), ref_of(ev->data.u64),
				ev->events);
}

static void thread_serve_first(void)
{
	struct epoll_event ev[THREAD_EVENTS];
	int cnt = util_sys_epoll_wait(rnic_loop.epoll_fd, ev, THREAD_EVENTS, 0);

	for (int i = 0; i < cnt; i++)
		if (event_order(&ev[i]) == RNIC_LOOP_FIRST)
			event_dispatch(&ev[i]);
}

static void thread_serve_notes(void)
{
	uint32_t cnt;

	while ((cnt = inbox_cnt()) > 0) {
		/* What came before the streams had ended is ready by now. */
		if (!rnic_loop.is_broken)
			thread_serve_first();
		while (cnt--)
			inbox_take();
	}
}

/* An event that comes later in the array is no older. */
static void thread_dispatch(struct epoll_event *ev, int cnt)
{
	bool has_behind = false;
	int left_cnt = 0;

	for (int i = 0; i < cnt; i++) {
		enum rnic_loop_order order;

		if (tag_of(ev[i].data.u64) == RNIC_LOOP_INBOX) {
			inbox_clear_wake();
			continue;
		}
		order = event_order(&ev[i]);
		if (order == RNIC_LOOP_FIRST)
			event_dispatch(&ev[i]);
		else
			ev[left_cnt++] = ev[i];
		has_behind |= order == RNIC_LOOP_BEHIND;
	}
	if (has_behind)
		rnic_loop.ops->catch_up();
	thread_serve_notes();
	for (int i = 0; i < left_cnt; i++)
		event_dispatch(&ev[i]);
}

/*
 * The wait itself fails, say because the application has closed descriptors
 * that are not its own.
 */
static void thread_break(int err)
{
	rnic_loop.is_broken = true;
	util_err("cm", "cannot wait for sockets any more: %s", strerror(err));
	rnic_loop.ops->broken();
}

/* Notes and deadlines only; without the descriptor for them, by the clock. */
static void thread_wait_broken(int timeout)
{
	struct pollfd wake = { .fd = rnic_loop.wake_fd, .events = POLLIN };

	if (poll(&wake, 1, timeout) < 0 || (wake.revents & ~POLLIN))
		nanosleep(&(struct timespec){ .tv_nsec = BROKEN_STEP_NS },
			  NULL);
}

/* What is ready is fetched under the lock: no other thread acts on it then.
 * Return: whether anything was, but for the wake-up, which stays the
 * thread's. */
static bool thread_pass(void)
{
	struct epoll_event ev[THREAD_EVENTS];
	bool has_any = false;
	int cnt = -1;

	if (!rnic_loop.is_broken)
		cnt = util_sys_epoll_wait(rnic_loop.epoll_fd, ev, THREAD_EVENTS,
					  0);
	if (cnt < 0 && !rnic_loop.is_broken && is_loop_thread && errno != EINTR)
		thread_break(errno);
	for (int i = 0; i < cnt; i++)
		has_any |= tag_of(ev[i].data.u64) != RNIC_LOOP_INBOX;
	if (rnic_loop.is_broken)
		inbox_clear_wake();
	thread_dispatch(ev, cnt);
	if (cnt > 0)
		rnic_loop.linger_ns = util_now_ns() + LINGER_NS;
	return has_any;
}

/*
 * The caller is about to sleep until the manager's thread has made an event;
 * where the peer is on the same host, what that takes is mostly ready.  Doing
 * it here saves waking one thread and then the other.
 */
void rnic_loop_help(bool (*is_done)(const void *arg), const void *arg)
{
	if (!util_trylock(&rnic_loop.lock))
		return;
	for (int i = 0; i < HELP_PASSES && rnic_loop.is_started &&
			!rnic_loop.is_stopping && !is_done(arg);
	     i++)
		if (!thread_pass())
			break;
	util_unlock(&rnic_loop.lock);
}

/*
 * Sleep until something is ready, or it is time; then lock.  If the lock is
 * held, then by a thread of the application: its calls made the sockets ready,
 * and it may be about to help.  After a pause there is mostly nothing left, and
 * no lock to be waited for.
 */
static void thread_wait(int timeout)
{
	struct pollfd pfd = { .fd = rnic_loop.epoll_fd, .events = POLLIN };
	const struct timespec nap = { .tv_nsec = NAP_NS };

	/* Written by this thread only. */
	if (rnic_loop.is_broken)
		thread_wait_broken(timeout);
	for (int i = 0; i < NAP_MAX && !rnic_loop.is_broken; i++) {
		if (poll(&pfd, 1, timeout) <= 0)
			break;
		if (util_trylock(&rnic_loop.lock))
			return;
		nanosleep(&nap, NULL);
	}
	util_lock(&rnic_loop.lock);
}

static void *thread_main(void *arg)
{
	uint64_t look_ns;
	int timeout = 0;

	(void)arg;
	is_loop_thread = true;
	for (;;) {
		thread_wait(timeout);
		rnic_loop.wakes_ns = 0;
		/* What a peer was told last still is to arrive. */
		if (rnic_loop.is_stopping && !rnic_loop.ops->is_closing())
			break;
		thread_pass();
		rnic_timers_fire(util_now_ns());
		look_ns = rnic_loop.ops->look(util_now_ns());
		timeout = deadlines_timeout(look_ns);
		util_unlock(&rnic_loop.lock);
	}
	util_unlock(&rnic_loop.lock);
	return NULL;
}

static void thread_close_fds(void)
{
	rnic_fd_close(rnic_loop.wake_fd);
	rnic_fd_close(rnic_loop.epoll_fd);
	rnic_loop.wake_fd = rnic_loop.epoll_fd = -1;
}

static int thread_open_fds(void)
{
	uint32_t registered = 0;
	int ret;

	rnic_loop.epoll_fd = rnic_fd_own(epoll_create1(EPOLL_CLOEXEC));
	if (rnic_loop.epoll_fd < 0)
		return rnic_loop.epoll_fd;
	rnic_loop.wake_fd = rnic_fd_own(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	ret = rnic_loop.wake_fd;
	if (ret >= 0)
		ret = rnic_loop_watch(rnic_loop.wake_fd, RNIC_LOOP_INBOX, 0,
				      EPOLLIN, &registered);
	if (ret < 0)
		thread_close_fds();
	return ret;
}

/* Signals are the application's: the thread takes none. */
int rnic_loop_start(void)
{
	int ret;

	util_lock_assert_held(&rnic_loop.lock);
	if (rnic_loop.is_broken)
		return -EIO;
	if (rnic_loop.is_started)
		return 0;
	if (rnic_loop.is_stopping)
		return -ENODEV;
	ret = thread_open_fds();
	if (ret < 0)
		return ret;
	ret = util_thread_start(&rnic_loop.thread, thread_main, NULL);
	if (ret < 0) {
		thread_close_fds();
		return ret;
	}
	pthread_setname_np(rnic_loop.thread, "usiw-cm");
	rnic_loop.is_started = true;
	return 0;
}

/* ---- process --------------------------- */

/* What else the parent had is left where it lies. */
void rnic_loop_reset(bool keeps_refs)
{
	/* 32 KiB: not on the stack of the thread that forks. */
	static struct rnic_ref_table noted;
	const struct rnic_loop_ops *ops = rnic_loop.ops;

	is_loop_thread = false;
	noted = rnic_loop.noted;
	memset(&rnic_loop, 0, sizeof(rnic_loop));
	util_lock_init(&rnic_loop.lock, UTIL_RANK_CM);
	util_lock_init(&rnic_loop.inbox_lock, UTIL_RANK_LEAF);
	TAILQ_INIT(&rnic_loop.inbox);
	rnic_loop.ops = ops;
	rnic_loop.epoll_fd = rnic_loop.wake_fd = -1;
	if (keeps_refs)
		rnic_loop.noted = noted;
}

/* Within the time of a drain, not for ever: a signal handler that exits may
 * have interrupted a thread that holds a lock for which this one waits. */
static bool thread_join(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 1 + util_settings()->drain_ms / 1000;
	return pthread_timedjoin_np(rnic_loop.thread, NULL, &end) == 0;
}

void rnic_loop_stop(void)
{
	bool has_thread;

	if (!util_trylock_often(&rnic_loop.lock))
		return;
	has_thread = rnic_loop.is_started;
	rnic_loop.is_stopping = true;
	util_unlock(&rnic_loop.lock);
	if (!has_thread)
		return;
	rnic_loop_wake();
	if (!thread_join())
		return;
	util_lock(&rnic_loop.lock);
	rnic_loop.is_started = false;
	rnic_loop.ops->close_all();
	rnic_fd_close(rnic_loop.epoll_fd);
	rnic_loop.epoll_fd = -1;
	/* wake_fd stays: an engine may be about to write to it. */
	util_unlock(&rnic_loop.lock);
}

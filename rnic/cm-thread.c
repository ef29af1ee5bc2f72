/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The manager's thread: sockets that became ready, notes of engines,
 * deadlines.  Without any of these it sleeps in epoll_wait for good.
 */
#define _GNU_SOURCE /* pthread_setname_np */
#include "cm-internal.h"

#include "../util/cancel.h"
#include "../util/env.h"
#include "../util/log.h"
#include "../util/thread.h"
#include "os/fd.h"
#include "port.h"
#include "oob.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define THREAD_EVENTS 64
#define EXIT_TRY_CNT 1000
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

struct cm_manager cm = {
	.lock = UTIL_LOCK_INIT(UTIL_RANK_CM),
	.inbox_lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF),
	.asking = TAILQ_HEAD_INITIALIZER(cm.asking),
	.refused = TAILQ_HEAD_INITIALIZER(cm.refused),
	.starting = TAILQ_HEAD_INITIALIZER(cm.starting),
	.asked = TAILQ_HEAD_INITIALIZER(cm.asked),
	.answered = TAILQ_HEAD_INITIALIZER(cm.answered),
	.rejected = TAILQ_HEAD_INITIALIZER(cm.rejected),
	.closing = TAILQ_HEAD_INITIALIZER(cm.closing),
	.paused = TAILQ_HEAD_INITIALIZER(cm.paused),
	.unread = TAILQ_HEAD_INITIALIZER(cm.unread),
	.timewait = TAILQ_HEAD_INITIALIZER(cm.timewait),
	.inbox = TAILQ_HEAD_INITIALIZER(cm.inbox),
	.epoll_fd = -1,
	.wake_fd = -1,
};

/* Each is in the order of its deadlines: one constant per list. */
static struct cm_conn_list *const lists[] = {
	&cm.asking,   &cm.refused,  &cm.starting, &cm.asked,
	&cm.answered, &cm.rejected, &cm.closing,
};
#define LIST_CNT (sizeof(lists) / sizeof(lists[0]))

static _Thread_local bool is_cm_thread;

/* ---- epoll --------------------------- */

/* A slot number has 20 bits: the tag lies above it. */
#define TAG_SHIFT 24
_Static_assert(CM_TABLE_PAGES <= (1u << TAG_SHIFT) / CM_TABLE_PAGE,
	       "slot numbers leave room for the tag");

static uint64_t tag_pack(enum cm_tag tag, uint64_t ref)
{
	return ref | (uint64_t)tag << TAG_SHIFT;
}

static enum cm_tag tag_of(uint64_t data)
{
	return (enum cm_tag)(data >> TAG_SHIFT & 0xff);
}

static uint64_t ref_of(uint64_t data)
{
	return data & ~((uint64_t)0xff << TAG_SHIFT);
}

int cm_thread_watch(int fd, enum cm_tag tag, uint64_t ref, uint32_t events,
		    uint32_t *registered)
{
	struct epoll_event ev = { .events = events };
	int op = *registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (events == *registered)
		return 0;
	if (!events)
		op = EPOLL_CTL_DEL;
	ev.data.u64 = tag_pack(tag, ref);
	if (epoll_ctl(cm.epoll_fd, op, fd, &ev) < 0)
		return -errno;
	*registered = events;
	return 0;
}

/* ---- inbox --------------------------- */

static void wake_write(void)
{
	const uint64_t one = 1;
	ssize_t len;

	do {
		len = util_sys_write(cm.wake_fd, &one, sizeof(one));
	} while (len < 0 && errno == EINTR);
}

void cm_thread_deadline(uint64_t deadline_ns)
{
	util_lock_assert_held(&cm.lock);
	if (is_cm_thread || deadline_ns >= cm.wakes_ns)
		return;
	cm.wakes_ns = deadline_ns;
	wake_write();
}

/*
 * The note's memory is the slot's own, so that leaving one cannot fail.  The
 * write is behind the lock, which the thread will want.
 */
void rnic_cm_stream_ended(uint64_t cm_ref, int status)
{
	struct cm_slot *slot;
	bool is_first = false;

	util_lock(&cm.inbox_lock);
	slot = cm_table_live_slot(&cm.ids, cm_ref);
	if (slot && !slot->note.is_queued) {
		is_first = TAILQ_EMPTY(&cm.inbox);
		slot->note.is_queued = true;
		slot->note.status = status;
		TAILQ_INSERT_TAIL(&cm.inbox, &slot->note, link);
	}
	util_unlock(&cm.inbox_lock);
	if (is_first)
		wake_write();
}

/* Slots are given back under the CM lock only: what is taken here lives. */
static void inbox_drain(void)
{
	struct cm_note *note;
	struct cm_id *id;
	uint64_t cnt;
	int status = 0;

	/* It may be meant to tell the thread of a deadline, too. */
	while (is_cm_thread &&
	       util_sys_read(cm.wake_fd, &cnt, sizeof(cnt)) < 0 &&
	       errno == EINTR)
		;
	for (;;) {
		util_lock(&cm.inbox_lock);
		note = TAILQ_FIRST(&cm.inbox);
		if (note) {
			TAILQ_REMOVE(&cm.inbox, note, link);
			note->is_queued = false;
			status = note->status;
		}
		util_unlock(&cm.inbox_lock);
		if (!note)
			return;
		id = cm_table_get_slot(&cm.ids, note->slot_idx);
		if (id)
			cm_id_stream_ended(id, status);
	}
}

/* ---- deadlines --------------------------- */

static void deadlines_fire(void)
{
	uint64_t now = rnic_now_ns();
	struct cm_conn *conn;
	struct cm_id *id, *next;

	rnic_oob_fire(now);
	rnic_port_fire(now);
	for (size_t i = 0; i < LIST_CNT; i++)
		while ((conn = TAILQ_FIRST(lists[i])) &&
		       conn->deadline_ns <= now)
			cm_conn_expire(conn);
	while ((id = TAILQ_FIRST(&cm.paused)) && id->listener.resume_ns <= now)
		rnic_listen_resume(id);
	for (id = TAILQ_FIRST(&cm.unread); id; id = next) {
		next = TAILQ_NEXT(id, unread_link);
		cm_id_look(id, now);
	}
	while ((id = TAILQ_FIRST(&cm.timewait)) && id->timewait_ns <= now)
		cm_id_timewait_exit(id);
}

static uint64_t deadline_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* UINT64_MAX: none. */
static uint64_t deadlines_next(void)
{
	uint64_t next = deadline_min(rnic_oob_next_ns(), rnic_port_next_ns());

	for (size_t i = 0; i < LIST_CNT; i++)
		if (!TAILQ_EMPTY(lists[i]))
			next = deadline_min(next,
					    TAILQ_FIRST(lists[i])->deadline_ns);
	if (!TAILQ_EMPTY(&cm.paused))
		next = deadline_min(
			next, TAILQ_FIRST(&cm.paused)->listener.resume_ns);
	if (!TAILQ_EMPTY(&cm.unread))
		next = deadline_min(next, cm_id_unread_look_ns(rnic_now_ns()));
	if (!TAILQ_EMPTY(&cm.timewait))
		next = deadline_min(next,
				    TAILQ_FIRST(&cm.timewait)->timewait_ns);
	return next;
}

/* Milliseconds until the thread is to look again; -1: no need. */
static int deadlines_timeout(void)
{
	uint64_t next = deadlines_next();
	uint64_t now = rnic_now_ns();

	if (cm.linger_ns > now)
		next = deadline_min(next, cm.linger_ns);
	cm.wakes_ns = next;
	if (next == UINT64_MAX)
		return -1;
	if (next <= now)
		return 0;
	next = (next - now + NS_PER_MS - 1) / NS_PER_MS;
	return next > INT_MAX ? INT_MAX : (int)next;
}

/* ---- the thread --------------------------- */

static void thread_dispatch(const struct epoll_event *ev)
{
	uint64_t ref = ref_of(ev->data.u64);
	struct cm_conn *conn;
	struct cm_id *id;

	switch (tag_of(ev->data.u64)) {
	case CM_TAG_INBOX:
		inbox_drain();
		break;
	case CM_TAG_LISTENER:
		id = cm_table_get(&cm.ids, ref);
		if (id)
			rnic_listen_ready(id);
		break;
	case CM_TAG_CONN:
		conn = cm_table_get(&cm.conns, ref);
		if (conn)
			cm_conn_ready(conn, ev->events);
		break;
	case CM_TAG_OOB_LISTENER:
		rnic_oob_listener_ready((uint32_t)ref << 8);
		break;
	case CM_TAG_OOB_LINK:
		rnic_oob_link_ready(ref);
		break;
	case CM_TAG_PORT:
		rnic_port_ready();
		break;
	}
}

/* Nothing is heard of it any more. */
static void thread_drop(struct cm_conn *conn)
{
	if (conn->phase == CM_PHASE_BARE) {
		cm_id_stream_ended(conn->id, -EIO);
		cm_conn_free(conn);
	} else if (conn->id && conn->outcome) {
		cm_conn_abort(conn, -EIO);
	} else {
		cm_conn_free(conn);
	}
}

/*
 * The wait itself fails, say because the application has closed descriptors
 * that are not its own.  What is being made ends, and nothing new begins;
 * connections that stand are their engines' affair.
 */
static void thread_break(int err)
{
	cm.is_broken = true;
	util_err("cm", "cannot wait for sockets any more: %s", strerror(err));
	for (size_t i = 0; i < LIST_CNT; i++)
		while (!TAILQ_EMPTY(lists[i]))
			thread_drop(TAILQ_FIRST(lists[i]));
	for (uint32_t i = 0; i < cm.ids.page_cnt * CM_TABLE_PAGE; i++) {
		struct cm_id *id = cm_table_get_slot(&cm.ids, i);

		if (id && id->conn)
			thread_drop(id->conn);
	}
}

/* Notes and deadlines only; without the descriptor for them, by the clock. */
static void thread_wait_broken(int timeout)
{
	struct pollfd wake = { .fd = cm.wake_fd, .events = POLLIN };

	if (poll(&wake, 1, timeout) < 0 || (wake.revents & ~POLLIN))
		nanosleep(&(struct timespec){ .tv_nsec = BROKEN_STEP_NS },
			  NULL);
}

/* What is ready is fetched under the lock: nobody else acts on it then.
 * Return: whether anything was, but for the wake-up, which stays the thread's.
 */
static bool thread_pass(void)
{
	struct epoll_event ev[THREAD_EVENTS];
	bool has_any = false;
	int cnt = -1;

	if (cm.is_broken)
		inbox_drain();
	else
		cnt = util_sys_epoll_wait(cm.epoll_fd, ev, THREAD_EVENTS, 0);
	if (cnt < 0 && !cm.is_broken && is_cm_thread && errno != EINTR)
		thread_break(errno);
	for (int i = 0; i < cnt; i++) {
		has_any |= tag_of(ev[i].data.u64) != CM_TAG_INBOX;
		thread_dispatch(&ev[i]);
	}
	if (cnt > 0)
		cm.linger_ns = rnic_now_ns() + LINGER_NS;
	return has_any;
}

/*
 * The caller is about to sleep until the manager's thread has made an event;
 * where the peer is on the same host, what that takes is mostly ready.  Doing
 * it here saves waking one thread and then the other.
 */
void cm_thread_help(const struct cm_event_list *events)
{
	if (!util_trylock(&cm.lock))
		return;
	for (int i = 0; i < HELP_PASSES && cm.is_started && !cm.is_stopping &&
			TAILQ_EMPTY(events);
	     i++)
		if (!thread_pass())
			break;
	if (cm.is_started)
		cm_thread_deadline(deadlines_next());
	util_unlock(&cm.lock);
}

/*
 * Sleep until something is ready, or it is time; then lock.  Who holds the
 * lock is a thread of the application, by whose calls sockets became ready,
 * and who may be about to help: after a nap there is mostly nothing left, and
 * no lock to be waited for.
 */
static void thread_wait(int timeout)
{
	struct pollfd pfd = { .fd = cm.epoll_fd, .events = POLLIN };
	const struct timespec nap = { .tv_nsec = NAP_NS };

	/* Written by this thread only. */
	if (cm.is_broken)
		thread_wait_broken(timeout);
	for (int i = 0; i < NAP_MAX && !cm.is_broken; i++) {
		if (poll(&pfd, 1, timeout) <= 0)
			break;
		if (util_trylock(&cm.lock))
			return;
		nanosleep(&nap, NULL);
	}
	util_lock(&cm.lock);
}

static void *thread_main(void *arg)
{
	int timeout = 0;

	(void)arg;
	is_cm_thread = true;
	for (;;) {
		thread_wait(timeout);
		/* What a peer was told last still is to arrive. */
		if (cm.is_stopping && cm.closing_cnt == 0)
			break;
		thread_pass();
		deadlines_fire();
		timeout = deadlines_timeout();
		util_unlock(&cm.lock);
	}
	util_unlock(&cm.lock);
	return NULL;
}

static int thread_open_fds(void)
{
	uint32_t registered = 0;
	int ret;

	cm.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (cm.epoll_fd < 0)
		return -errno;
	ret = rnic_fd_register(&cm.epoll_fd);
	if (ret < 0)
		goto close_epoll;
	cm.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (cm.wake_fd < 0) {
		ret = -errno;
		goto close_epoll;
	}
	ret = rnic_fd_register(&cm.wake_fd);
	if (ret == 0)
		ret = cm_thread_watch(cm.wake_fd, CM_TAG_INBOX, 0, EPOLLIN,
				      &registered);
	if (ret == 0)
		return 0;
	rnic_fd_close(cm.wake_fd);
	cm.wake_fd = -1;
close_epoll:
	rnic_fd_close(cm.epoll_fd);
	cm.epoll_fd = -1;
	return ret;
}

/* Signals are the application's: the thread takes none. */
int cm_thread_start(void)
{
	sigset_t old;
	int ret;

	util_lock_assert_held(&cm.lock);
	if (cm.is_broken)
		return -EIO;
	if (cm.is_started)
		return 0;
	if (cm.is_stopping)
		return -ENODEV;
	ret = thread_open_fds();
	if (ret < 0)
		return ret;
	util_signals_block(&old);
	ret = -pthread_create(&cm.thread, NULL, thread_main, NULL);
	util_signals_restore(&old);
	if (ret < 0) {
		rnic_fd_close(cm.wake_fd);
		rnic_fd_close(cm.epoll_fd);
		cm.wake_fd = cm.epoll_fd = -1;
		return ret;
	}
	pthread_setname_np(cm.thread, "usiw-cm");
	cm.is_started = true;
	return 0;
}

/* ---- process --------------------------- */

/* What else the parent had is left where it lies. */
void cm_manager_reset(bool keeps_ids)
{
	/* 32 KiB: not on the stack of whoever forks. */
	static struct cm_table ids;
	const struct cm_chan_list chans = cm.chans;

	is_cm_thread = false;
	ids = cm.ids;
	memset(&cm, 0, sizeof(cm));
	util_lock_init(&cm.lock, UTIL_RANK_CM);
	util_lock_init(&cm.inbox_lock, UTIL_RANK_LEAF);
	TAILQ_INIT(&cm.asking);
	TAILQ_INIT(&cm.refused);
	TAILQ_INIT(&cm.starting);
	TAILQ_INIT(&cm.asked);
	TAILQ_INIT(&cm.answered);
	TAILQ_INIT(&cm.rejected);
	TAILQ_INIT(&cm.closing);
	TAILQ_INIT(&cm.paused);
	TAILQ_INIT(&cm.unread);
	TAILQ_INIT(&cm.timewait);
	TAILQ_INIT(&cm.inbox);
	cm.epoll_fd = cm.wake_fd = -1;
	if (!keeps_ids)
		return;
	cm.ids = ids;
	cm.chans = chans;
}

/* Listeners and half-open connections; established streams belong to QPs. */
static void manager_close_all(void)
{
	struct cm_conn *conn;

	for (size_t i = 0; i < LIST_CNT; i++) {
		while ((conn = TAILQ_FIRST(lists[i])))
			cm_conn_free(conn);
	}
	rnic_oob_close_all();
	rnic_port_close_all();
	for (uint32_t i = 0; i < cm.ids.page_cnt * CM_TABLE_PAGE; i++) {
		struct cm_id *id = cm_table_get_slot(&cm.ids, i);

		if (id && id->fd >= 0) {
			rnic_fd_close(id->fd);
			id->fd = -1;
		}
	}
}

/* Within the time of a drain, not for ever: a signal handler that exits may
 * have interrupted whoever holds a lock that the thread waits for. */
static bool thread_join(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 1 + util_settings()->drain_ms / 1000;
	return pthread_timedjoin_np(cm.thread, NULL, &end) == 0;
}

void rnic_cm_exit(void)
{
	bool has_thread;

	for (int i = 0; !util_trylock(&cm.lock); i++) {
		if (i == EXIT_TRY_CNT)
			return;
		sched_yield();
	}
	has_thread = cm.is_started;
	cm.is_stopping = true;
	util_unlock(&cm.lock);
	if (!has_thread)
		return;
	wake_write();
	if (!thread_join())
		return;
	util_lock(&cm.lock);
	cm.is_started = false;
	manager_close_all();
	rnic_fd_close(cm.epoll_fd);
	cm.epoll_fd = -1;
	/* wake_fd stays: an engine may be about to write to it. */
	util_unlock(&cm.lock);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A thread that waits serves its device itself. One progress thread serves the
 * rest.
 *
 * Of the threads that wait for links of a device, one sleeps on the device's
 * descriptors and serves all links when it wakes. The others sleep in a futex.
 * A thread that leaves the place on the descriptors wakes one of the others to
 * take it. The progress thread does not compete. While threads of the program
 * poll, it takes short sleeps, checks whether they still poll, and handles the
 * devices' asynchronous events, which pollers do not check. While a thread of
 * the program sleeps on the descriptors, the progress thread wakes only for
 * deadlines. It sleeps on the descriptors itself only if no thread of the
 * program polls or sleeps there.
 */
#include "progress.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/cancel.h"
#include "cm-chan.h"
#include "util/defer.h"
#include "util/log.h"
#include "verbs/link/notice.h"
#include "poll.h"
#include "util/thread.h"
#include "util/unwind.h"

#define NAP_NS_MIN NS_PER_MS
#define NAP_NS_MAX 4000000u
#define FDS_PER_DEV 3
#define DEVS_MAX 16
#define FDS_MAX (1 + FDS_PER_DEV * DEVS_MAX + 1)

/* The progress thread leaves a device to a sleeping thread of the program. That
 * thread wakes it when it leaves. */
static _Atomic bool is_deferring;
static _Atomic uint64_t wakeup_cnt;

uint64_t sdp_progress_wakeups(void)
{
	return atomic_load_explicit(&wakeup_cnt, memory_order_relaxed);
}

/* ---- sleeping ---- */

/* The innermost wait of this thread that has the place on the descriptors. */
static _Thread_local struct sdp_waiter *placed;

/* A call in a signal handler takes the place from the call that the handler
 * interrupts, because the interrupted call serves nothing meanwhile. */
static bool place_take(struct sdp_dev *dev, struct sdp_waiter *w)
{
	if (dev->has_fd_sleeper) {
		if (!placed || placed->dev != dev || !placed->is_on_fd)
			return false;
		placed->is_on_fd = false;
	}
	w->outer = placed;
	placed = w;
	return true;
}

/* Return: whether the caller has the place on the descriptors. */
static bool sleeper_add(struct sdp_dev *dev, struct sdp_waiter *w,
			bool only_on_fd)
{
	util_lock(&dev->wait_lock);
	w->dev = dev;
	w->is_on_fd = place_take(dev, w);
	atomic_init(&w->is_awake, 1);
	if (w->is_on_fd || !only_on_fd) {
		w->prev = NULL;
		w->next = dev->waiters;
		if (w->next)
			w->next->prev = w;
		dev->waiters = w;
		w->is_listed = true;
	}
	dev->has_fd_sleeper = true;
	util_unlock(&dev->wait_lock);
	if (w->link)
		atomic_fetch_add_explicit(&w->link->waiter_cnt, 1,
					  memory_order_seq_cst);
	return w->is_on_fd;
}

/* The place on the descriptors is free. Another thread takes it. */
static void hand_over(struct sdp_dev *dev)
{
	/* wait_lock orders this: sleep_deep() set is_deferring before it found
	 * the place taken. */
	if (!sdp_notice_wake(dev, NULL) &&
	    atomic_load_explicit(&is_deferring, memory_order_relaxed))
		sdp_notice_kick();
}

static void sleeper_remove(struct sdp_waiter *w)
{
	struct sdp_dev *dev = w->dev;

	util_lock(&dev->wait_lock);
	if (w->prev)
		w->prev->next = w->next;
	else
		dev->waiters = w->next;
	if (w->next)
		w->next->prev = w->prev;
	w->is_listed = false;
	if (placed == w)
		placed = w->outer;
	if (w->is_on_fd)
		dev->has_fd_sleeper = false;
	util_unlock(&dev->wait_lock);
	if (w->link)
		atomic_fetch_sub_explicit(&w->link->waiter_cnt, 1,
					  memory_order_relaxed);
	if (w->is_on_fd)
		hand_over(dev);
}

static int dev_fds(struct sdp_dev *dev, struct pollfd *pfd)
{
	pfd[0] = (struct pollfd){ .fd = dev->channel->fd, .events = POLLIN };
	pfd[1] = (struct pollfd){ .fd = dev->ctx->async_fd, .events = POLLIN };
	return 2;
}

/* FDS_PER_DEV descriptors for the thread that has the place. On usiw these
 * include the context's sockets, so that a thread that serves them meanwhile
 * need not wake it. Return: as sdp_poll_arm(). */
static int place_begin(struct sdp_dev *dev, struct sdp_waiter *w,
		       struct pollfd *pfd)
{
	int cnt = dev_fds(dev, pfd), ret;

	w->is_placed = true;
	ret = sdp_poll_arm(dev, &w->cq_fd);
	pfd[cnt] = (struct pollfd){ .fd = w->cq_fd, .events = POLLIN };
	return ret;
}

static void place_end(struct sdp_dev *dev, struct sdp_waiter *w)
{
	w->is_placed = false;
	sdp_poll_disarm(dev);
	if (w->cq_fd < 0)
		return;
	dev->cq_sleep_end(dev->cq);
	sdp_poll_rearm(dev);
}

static void fd_drain(int fd)
{
	uint64_t cnt;

	(void)!util_sys_read(fd, &cnt, sizeof(cnt));
}

/* ppoll() with an absolute deadline. Not a cancellation point. */
static int poll_until(struct pollfd *pfd, unsigned int cnt, uint64_t deadline)
{
	uint64_t now = sdp_now_ns();
	uint64_t left = deadline > now ? deadline - now : 0;
	struct timespec ts = util_timespec(left);

	return (int)UTIL_DEFER_SLEEP(syscall(SYS_ppoll, pfd, cnt,
					     deadline == SDP_NEVER ? NULL : &ts,
					     NULL, (size_t)0),
				     false);
}

static void serve_events(struct sdp_dev *dev, unsigned int which)
{
	util_lock(&dev->poll_lock);
	sdp_poll_events(dev, which);
	util_unlock(&dev->poll_lock);
}

/* ---- a thread of the program ---- */

static bool is_over(const struct sdp_link *link, unsigned int what,
		    const struct sdp_seen *seen)
{
	if (link_state(link) & what)
		return true;
	return seen && sdp_see(seen->cnt).was != seen->was;
}

/* ---- polling before sleep ---- */

static void note_pass(struct sdp_dev *dev)
{
	atomic_fetch_add_explicit(&dev->pass_cnt, 1, memory_order_relaxed);
}

/* Calls @turn for a limited time, until it is true. Return: whether it is. */
static bool spin(struct sdp_budget *budget, bool (*turn)(const void *arg),
		 const void *arg)
{
	bool is_found;
	uint64_t end;

	if (!sdp_budget_spins(budget))
		return false;
	end = sdp_now_ns() + SDP_SPIN_NS;
	do
		is_found = turn(arg);
	while (!is_found && sdp_now_ns() < end);
	sdp_budget_note(budget, is_found);
	return is_found;
}

struct link_turn {
	struct sdp_link *link;
	unsigned int what;
	const struct sdp_seen *seen;
};

static bool link_turn(const void *arg)
{
	const struct link_turn *turn = arg;

	(void)sdp_poll_try(turn->link->dev);
	return is_over(turn->link, turn->what, turn->seen);
}

/* Return: whether the wait is over. */
static bool link_spin(struct sdp_link *link, unsigned int what,
		      const struct sdp_seen *seen)
{
	const struct link_turn turn = { link, what, seen };

	note_pass(link->dev);
	return spin(&link->dev->spin, link_turn, &turn);
}

struct any_turn {
	bool (*is_ready)(const void *arg);
	const void *arg;
};

static bool any_turn(const void *arg)
{
	const struct any_turn *turn = arg;

	(void)sdp_progress();
	return turn->is_ready(turn->arg);
}

/* Uses the budget of the first device. A second device is rare. */
bool sdp_spin(bool (*is_ready)(const void *arg), const void *arg)
{
	const struct any_turn turn = { is_ready, arg };
	struct sdp_dev *first = sdp_dev_first();

	return first && spin(&first->spin, any_turn, &turn);
}

/* The thread was cancelled in a wait that cancellation may end. */
static bool is_cancelled(const struct sdp_waiter *w)
{
	return w->is_point && sdp_point_is_cancelled();
}

/* Return: whether the thread must sleep. */
static bool fall_asleep(struct sdp_waiter *w, unsigned int what,
			const struct sdp_seen *seen)
{
	/* seq_cst: pairs with wake(); afterwards the state is read again */
	atomic_store_explicit(&w->is_awake, 0, memory_order_seq_cst);
	if (!is_over(w->link, what, seen) && !is_cancelled(w))
		return true;
	atomic_store_explicit(&w->is_awake, 1, memory_order_relaxed);
	return false;
}

static int sleep_on_fds(struct sdp_waiter *w, unsigned int what,
			const struct sdp_seen *seen, uint64_t deadline)
{
	struct sdp_dev *dev = w->link->dev;
	struct pollfd pfd[FDS_PER_DEV + 2];
	unsigned int cnt = FDS_PER_DEV;
	int ret = 0;

	if (place_begin(dev, w, pfd) || !fall_asleep(w, what, seen)) {
		place_end(dev, w);
		return 0;
	}
	pfd[cnt++] = (struct pollfd){ .fd = dev->wake_fd, .events = POLLIN };
	pfd[cnt++] = (struct pollfd){ .fd = sdp_cm_chan_fd(), /* -1: none */
				      .events = POLLIN };
	if (poll_until(pfd, cnt, deadline) < 0)
		ret = -errno;
	sdp_notice_stay();
	atomic_store_explicit(&w->is_awake, 1, memory_order_relaxed);
	place_end(dev, w);
	if (ret)
		return ret;
	if (pfd[FDS_PER_DEV].revents)
		fd_drain(dev->wake_fd);
	serve_events(dev,
		     (pfd[0].revents ? SDP_POLL_CQ : 0) |
			     (pfd[1].revents ? SDP_POLL_ASYNC : 0) |
			     (pfd[FDS_PER_DEV + 1].revents ? SDP_POLL_CM : 0));
	return 0;
}

static int sleep_in_futex(struct sdp_waiter *w, unsigned int what,
			  const struct sdp_seen *seen, uint64_t deadline)
{
	struct timespec ts = util_timespec(deadline);
	int ret = 0;

	if (!fall_asleep(w, what, seen))
		return 0;
	/* The caller checks for the deadline. */
	if (UTIL_DEFER_SLEEP(syscall(SYS_futex, &w->is_awake,
				     FUTEX_WAIT_BITSET_PRIVATE, 0,
				     deadline == SDP_NEVER ? NULL : &ts, NULL,
				     FUTEX_BITSET_MATCH_ANY),
			     false) < 0 &&
	    errno == EINTR)
		ret = -EINTR;
	return ret;
}

/* The thread has left the call without returning from it. */
static void wait_left(void *arg)
{
	struct sdp_waiter *w = arg;

	if (w->is_placed)
		place_end(w->dev, w);
	if (w->is_listed)
		sleeper_remove(w);
	if (w->is_heir)
		hand_over(w->dev);
}

/* Return: 0; -EINTR. */
static int sleep_once(struct sdp_waiter *w, unsigned int what,
		      const struct sdp_seen *seen, uint64_t deadline)
{
	struct util_unwind unwind;
	int ret;

	util_unwind_push(&unwind, wait_left, w);
	if (sleeper_add(w->link->dev, w, false)) {
		ret = sleep_on_fds(w, what, seen, deadline);
	} else {
		ret = sleep_in_futex(w, what, seen, deadline);
	}
	sdp_notice_stay();
	sleeper_remove(w);
	util_unwind_pop(&unwind);
	return ret == -EINTR ? ret : 0;
}

static int wait_until(struct sdp_link *link, unsigned int what,
		      const struct sdp_seen *seen, uint64_t deadline,
		      bool is_point)
{
	struct sdp_dev *dev = link->dev;
	bool is_heir = false; /* woken to take the place on the descriptors */
	int ret = 0;

	while (!is_over(link, what, seen) && !link_spin(link, what, seen)) {
		struct sdp_waiter w = { .link = link, .is_point = is_point };

		if (sdp_now_ns() >= deadline)
			ret = -ETIMEDOUT;
		if (is_cancelled(&w))
			ret = -EINTR;
		if (ret)
			break;
		ret = sleep_once(&w, what, seen, deadline);
		is_heir = w.is_heir;
	}
	if (is_heir)
		hand_over(dev);
	if (is_over(link, what, seen))
		return (int)(link_state(link) & what);
	return ret;
}

int sdp_wait(struct sdp_link *link, unsigned int what,
	     const struct sdp_seen *seen, uint64_t deadline)
{
	return wait_until(link, what, seen, deadline, false);
}

int sdp_wait_point(struct sdp_link *link, unsigned int what,
		   const struct sdp_seen *seen, uint64_t deadline)
{
	return wait_until(link, what, seen, deadline, true);
}

int sdp_link_wait(struct sdp_link *link, unsigned int what, uint64_t deadline)
{
	if (link->is_foreign)
		return (int)(link_state(link) & what) ? (int)what : -EINTR;
	return sdp_wait_point(link, what, NULL, deadline);
}

bool sdp_progress(void)
{
	bool is_beside = false;

	for (struct sdp_dev *dev = sdp_dev_first(); dev; dev = dev->next) {
		note_pass(dev);
		is_beside |= sdp_poll_try(dev) < 0;
	}
	return is_beside;
}

/* A pass that a signal handler has interrupted does not end before it. */
#define SETTLE_NS NS_PER_S

void sdp_progress_settle(void)
{
	uint64_t end = sdp_now_ns() + SETTLE_NS;

	for (struct sdp_dev *dev = sdp_dev_first(); dev; dev = dev->next)
		while (sdp_poll_is_busy(dev) && sdp_now_ns() < end)
			sched_yield();
}

/* ---- threads that wait for many links ---- */

#define SLEEP_DEVS 4
static _Thread_local struct sdp_waiter sleep_waiters[SLEEP_DEVS];
static _Thread_local struct sdp_dev *sleep_devs[SLEEP_DEVS];
static _Thread_local int sleep_cnt;

/* FDS_PER_DEV entries for each device in sleep_devs, then one for rdma_cm if it
 * exists. */
int sdp_sleep_begin(struct pollfd *ret_fds, int max)
{
	struct sdp_dev *dev = sdp_dev_first();
	int cnt = 0, ret = 0;

	for (; dev && sleep_cnt < SLEEP_DEVS && cnt + 4 <= max;
	     dev = dev->next) {
		struct sdp_waiter *w = &sleep_waiters[sleep_cnt];

		*w = (struct sdp_waiter){ 0 };
		if (!sleeper_add(dev, w, true))
			continue; /* another thread serves it */
		sleep_devs[sleep_cnt++] = dev;
		ret |= place_begin(dev, w, ret_fds + cnt);
		cnt += FDS_PER_DEV;
	}
	if (cnt && sdp_cm_chan_fd() >= 0)
		ret_fds[cnt++] = (struct pollfd){ .fd = sdp_cm_chan_fd(),
						  .events = POLLIN };
	if (!ret)
		return cnt;
	sdp_sleep_end(ret_fds, cnt);
	return -EAGAIN;
}

void sdp_sleep_end(const struct pollfd *fds, int cnt)
{
	/* The devices below belong to a call that this signal handler
	 * interrupted. */
	int dev_cnt = cnt / FDS_PER_DEV;
	bool is_cm = cnt > FDS_PER_DEV * dev_cnt &&
		     fds[FDS_PER_DEV * dev_cnt].revents;

	while (dev_cnt) {
		struct sdp_dev *dev = sleep_devs[--sleep_cnt];
		const struct pollfd *pfd = fds + FDS_PER_DEV * --dev_cnt;

		place_end(dev, &sleep_waiters[sleep_cnt]);
		serve_events(dev,
			     (pfd[0].revents ? SDP_POLL_CQ : 0) |
				     (pfd[1].revents ? SDP_POLL_ASYNC : 0) |
				     (is_cm ? SDP_POLL_CM : 0));
		sleeper_remove(&sleep_waiters[sleep_cnt]);
	}
}

/* ---- the progress thread ---- */

static uint64_t passes(void)
{
	uint64_t sum = 0;

	for (struct sdp_dev *dev = sdp_dev_first(); dev; dev = dev->next)
		sum += atomic_load_explicit(&dev->pass_cnt,
					    memory_order_relaxed);
	return sum;
}

static uint64_t first_deadline(void)
{
	uint64_t first = SDP_NEVER;

	for (struct sdp_dev *dev = sdp_dev_first(); dev; dev = dev->next) {
		uint64_t ns = atomic_load_explicit(&dev->deadline,
						   memory_order_seq_cst);

		first = ns < first ? ns : first;
	}
	return first;
}

static void poll_all(void)
{
	uint64_t now = sdp_now_ns();

	for (struct sdp_dev *dev = sdp_dev_first(); dev; dev = dev->next) {
		if (atomic_load_explicit(&dev->deadline, memory_order_relaxed) >
		    now) {
			(void)sdp_poll_try(dev);
			continue;
		}
		util_lock(&dev->poll_lock);
		(void)sdp_poll(dev);
		util_unlock(&dev->poll_lock);
	}
}

/* Sleeps until a kick, a readable descriptor, a deadline, or @until. */
static void sleep_until(struct pollfd *pfd, unsigned int cnt, uint64_t until)
{
	uint64_t first;

	sdp_notice_plan(until);
	first = first_deadline(); /* read after the plan is published, so that
				     no deadline is missed */
	if (first < until)
		until = first;
	if (poll_until(pfd, cnt, until) > 0 && pfd[0].revents)
		sdp_notice_fd_drain();
	sdp_notice_plan(0);
	atomic_fetch_add_explicit(&wakeup_cnt, 1, memory_order_relaxed);
}

static bool has_sleeper(struct sdp_dev *dev)
{
	bool has;

	util_lock(&dev->wait_lock);
	has = dev->has_fd_sleeper;
	util_unlock(&dev->wait_lock);
	return has;
}

/* Descriptors of the devices' asynchronous events and of rdma_cm. No completion
 * reports these events, and a thread of the program that only polls does not
 * check them. */
static unsigned int event_fds(struct pollfd *pfd)
{
	unsigned int cnt = 0;

	for (struct sdp_dev *dev = sdp_dev_first(); dev && cnt < DEVS_MAX;
	     dev = dev->next)
		pfd[cnt++] = (struct pollfd){ .fd = dev->ctx->async_fd,
					      .events = POLLIN };
	pfd[cnt++] = (struct pollfd){ .fd = sdp_cm_chan_fd(), /* -1: none */
				      .events = POLLIN };
	return cnt;
}

static void event_serve(const struct pollfd *pfd, unsigned int cnt)
{
	unsigned int cm = pfd[cnt - 1].revents ? SDP_POLL_CM : 0;
	struct sdp_dev *dev = sdp_dev_first();

	for (unsigned int i = 0; i < cnt - 1; i++, dev = dev->next) {
		unsigned int which = cm | (pfd[i].revents ? SDP_POLL_ASYNC : 0);

		if (which)
			serve_events(dev, which);
	}
}

/* Sleeps while threads of the program poll. @pfd[0] is the kick. */
static void sleep_light(struct pollfd *pfd, uint64_t until)
{
	unsigned int cnt = event_fds(pfd + 1);

	sleep_until(pfd, 1 + cnt, until);
	event_serve(pfd + 1, cnt);
}

/* Sleeps on the descriptors of the devices that no thread of the program
 * serves. */
static void sleep_deep(struct pollfd *pfd)
{
	struct sdp_dev *served[DEVS_MAX];
	unsigned int cnt = 1, dev_cnt = 0;
	bool is_idle = true, is_any_left = false;

	atomic_store_explicit(&is_deferring, true, memory_order_relaxed);
	for (struct sdp_dev *dev = sdp_dev_first(); dev && dev_cnt < DEVS_MAX;
	     dev = dev->next) {
		if (has_sleeper(dev)) {
			is_any_left = true;
			continue;
		}
		is_idle &= sdp_poll_arm(dev, NULL) == 0;
		cnt += (unsigned int)dev_fds(dev, pfd + cnt);
		served[dev_cnt++] = dev;
	}
	atomic_store_explicit(&is_deferring, is_any_left, memory_order_relaxed);
	if (dev_cnt && sdp_cm_chan_fd() >= 0)
		pfd[cnt++] = (struct pollfd){ .fd = sdp_cm_chan_fd(),
					      .events = POLLIN };
	if (is_idle)
		sleep_until(pfd, cnt, SDP_NEVER);
	atomic_store_explicit(&is_deferring, false, memory_order_relaxed);
	while (dev_cnt) {
		sdp_poll_disarm(served[--dev_cnt]);
		serve_events(served[dev_cnt], SDP_POLL_ALL);
	}
}

static void *serve(void *arg)
{
	struct pollfd pfd[FDS_MAX];
	uint64_t seen = 0, now_seen;
	uint64_t nap = NAP_NS_MIN;

	(void)arg;
	for (;;) {
		pfd[0] = (struct pollfd){ .fd = sdp_notice_fd(),
					  .events = POLLIN };
		poll_all();
		now_seen = passes();
		if (now_seen != seen) {
			seen = now_seen;
			sleep_light(pfd, sdp_now_ns() + nap);
			nap = nap < NAP_NS_MAX ? 2 * nap : nap;
			continue;
		}
		nap = NAP_NS_MIN;
		sleep_deep(pfd);
	}
	return NULL;
}

void sdp_progress_nap(uint64_t until)
{
	struct pollfd pfd[DEVS_MAX + 1];
	unsigned int cnt = event_fds(pfd);

	poll_all();
	(void)poll_until(pfd, cnt, until);
	event_serve(pfd, cnt);
}

static _Atomic bool is_running;

int sdp_progress_start(void)
{
	int ret;

	if (sdp_notice_fd() < 0)
		return -errno;
	if (atomic_exchange_explicit(&is_running, true, memory_order_acq_rel))
		return 0;
	ret = util_thread_run(serve, NULL, UTIL_THREAD_STACK);
	if (ret < 0)
		atomic_store_explicit(&is_running, false, memory_order_relaxed);
	return ret;
}

void sdp_progress_forget(void)
{
	atomic_store_explicit(&is_running, false, memory_order_relaxed);
	atomic_store_explicit(&is_deferring, false, memory_order_relaxed);
	sleep_cnt = 0;
	placed = NULL;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See wait.h. */
#include "wait.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "util/defer.h"
#include "util/clock.h"
#include "util/unwind.h"
#include "util/user.h"
#include "sock/enter/enter.h"
#include "sock/show/epoll.h"
#include "sock/show/ready.h"
#include "sock/base/real.h"
#include "sock/show/sleeper.h"
#include "sock/share/share.h"
#include "sock/start/start.h"
#include "verbs/sdp-link.h"

/* Descriptors that need no allocation. */
#define SMALL 64
/* Descriptors to wait for in addition to the program's: devices, and the
 * thread's own. */
#define SLEEP_FDS (SDP_SLEEP_FDS + 1)

struct poll_set {
	struct pollfd *pfd; /* the program's */
	nfds_t cnt;
	struct sdp_sock **socks; /* with a reference; NULL: not in the table */
	struct pollfd *kernel;	 /* cnt, then twins, then what the sleep adds */
	nfds_t twin_cnt;
	nfds_t *twin_of;	    /* index in pfd */
	struct sdp_poller *pollers; /* cnt */
	bool has_ours;		    /* some are STARTING or STREAM */
	bool has_others;
	void *memory;
	struct sdp_sock *small_socks[SMALL];
	struct pollfd small_kernel[2 * SMALL + SLEEP_FDS];
	nfds_t small_twin_of[SMALL];
	struct sdp_poller small_pollers[SMALL];
};

static bool is_stream(const struct sdp_sock *sock)
{
	return sock && sdp_sock_is_stream(sock);
}

static bool is_pending(const struct sdp_sock *sock)
{
	return sock && sdp_sock_state(sock) == SDP_SOCK_PENDING;
}

static int set_alloc(struct poll_set *set)
{
	size_t cnt = set->cnt;

	set->memory = NULL;
	set->socks = set->small_socks;
	set->kernel = set->small_kernel;
	set->twin_of = set->small_twin_of;
	set->pollers = set->small_pollers;
	if (cnt <= SMALL)
		return 0;
	set->memory =
		calloc(1, cnt * (sizeof(*set->socks) + sizeof(*set->twin_of) +
				 sizeof(*set->pollers)) +
				  (2 * cnt + SLEEP_FDS) * sizeof(*set->kernel));
	if (!set->memory)
		return -ENOMEM;
	set->socks = set->memory;
	set->twin_of = (nfds_t *)(void *)(set->socks + cnt);
	set->pollers = (struct sdp_poller *)(void *)(set->twin_of + cnt);
	set->kernel = (struct pollfd *)(void *)(set->pollers + cnt);
	return 0;
}

/* Classifies each descriptor. The states may have changed. */
static void set_sort(struct poll_set *set)
{
	set->twin_cnt = 0;
	set->has_ours = false;
	set->has_others = false;
	for (nfds_t i = 0; i < set->cnt; i++) {
		struct sdp_sock *sock = set->socks[i];

		set->kernel[i] = set->pfd[i];
		set->kernel[i].revents = 0;
		if (sock) /* as in sdp_epoll_ctl() */
			set->kernel[i].events &= ~POLLWRBAND;
		/* For the peer's Hello. */
		if (is_pending(sock))
			set->kernel[i].events |= POLLIN;
		if (is_stream(sock)) {
			set->has_ours = true;
			set->kernel[i].fd = -1;
			continue;
		}
		/* Another thread may close the number: this call sleeps on. */
		if (sock && sdp_sock_state(sock) == SDP_SOCK_TCP &&
		    sock->tcp_fd >= 0)
			set->kernel[i].fd = sock->tcp_fd;
		set->has_others |= set->pfd[i].fd >= 0;
		if (!sock || sdp_sock_state(sock) != SDP_SOCK_LISTENING)
			continue;
		set->kernel[set->cnt + set->twin_cnt] =
			(struct pollfd){ .fd = sock->listening.twin_fd,
					 .events = set->pfd[i].events };
		set->twin_of[set->twin_cnt++] = i;
	}
}

/* The wait starts SDP where it is due. Return: whether it started anywhere. */
static bool set_start(struct poll_set *set)
{
	bool is_news = false;

	for (nfds_t i = 0; i < set->cnt; i++) {
		struct sdp_sock *sock = set->socks[i];
		enum sdp_sock_state state = sock ? sdp_sock_state(sock)
						 : SDP_SOCK_TCP;

		if (state == SDP_SOCK_RELAY)
			sdp_share_use(sock);
		if (state == SDP_SOCK_PENDING)
			is_news |= sdp_start(sock, set->pfd[i].fd,
					     SDP_START_WAIT) != state;
	}
	return is_news;
}

static void set_open(struct poll_set *set)
{
	for (nfds_t i = 0; i < set->cnt; i++)
		set->socks[i] = sdp_sock_get(set->pfd[i].fd);
	(void)set_start(set);
	set_sort(set);
}

static void set_close(void *arg)
{
	struct poll_set *set = arg;

	for (nfds_t i = 0; i < set->cnt; i++)
		if (set->socks[i])
			sdp_sock_put(set->socks[i]);
	free(set->memory);
}

static short ours_events(const struct poll_set *set, nfds_t i)
{
	short events = sdp_events_norm(sdp_sock_events(set->socks[i]));

	return events & (set->pfd[i].events | POLLERR | POLLHUP);
}

static bool set_has_ready(const void *arg)
{
	const struct poll_set *set = arg;

	for (nfds_t i = 0; i < set->cnt && set->has_ours; i++)
		if (is_stream(set->socks[i]) && ours_events(set, i))
			return true;
	return false;
}

/* True if a socket has changed its kind. The thread that changed it may have
 * looked for sleepers before this thread was one. */
static bool set_is_stale(const struct poll_set *set)
{
	for (nfds_t i = 0; i < set->cnt; i++)
		if (set->socks[i] &&
		    is_stream(set->socks[i]) != (set->kernel[i].fd < 0))
			return true;
	return false;
}

/* Combines the kernel's answer and the library's. Return: number of ready
 * descriptors. */
static int set_collect(struct poll_set *set)
{
	int ready = 0;

	for (nfds_t t = 0; t < set->twin_cnt; t++)
		set->kernel[set->twin_of[t]].revents |=
			set->kernel[set->cnt + t].revents;
	for (nfds_t i = 0; i < set->cnt; i++) {
		if (is_stream(set->socks[i]))
			set->pfd[i].revents = ours_events(set, i);
		else
			set->pfd[i].revents = set->kernel[i].revents &
					      (set->pfd[i].events | POLLERR |
					       POLLHUP | POLLNVAL);
		ready += set->pfd[i].revents != 0;
	}
	return ready;
}

/* ---- time ---- */

static bool time_is_valid(const struct timespec *timeout)
{
	return !timeout || (timeout->tv_sec >= 0 && timeout->tv_nsec >= 0 &&
			    timeout->tv_nsec < (long)NS_PER_S);
}

static uint64_t deadline_of(const struct timespec *timeout)
{
	if (!timeout)
		return SDP_NEVER;
	if (timeout->tv_sec > 1000000000)
		return SDP_NEVER;
	return sdp_now_ns() + util_timespec_ns(timeout);
}

static bool is_over(uint64_t deadline)
{
	return deadline != SDP_NEVER && sdp_now_ns() >= deadline;
}

static struct timespec *time_left(uint64_t deadline, struct timespec *ret_left)
{
	uint64_t now;

	if (deadline == SDP_NEVER)
		return NULL;
	now = sdp_now_ns();
	*ret_left = util_timespec(deadline > now ? deadline - now : 0);
	return ret_left;
}

/* A thread without a descriptor of its own cannot be woken, so it checks at
 * this interval. */
#define LOOK_NS 10000000u

static struct timespec *sleep_time(const struct sdp_sleeper *sleeper,
				   uint64_t deadline, struct timespec *ret_left)
{
	uint64_t look = sdp_now_ns() + LOOK_NS;

	if (sleeper->fd < 0 && look < deadline)
		deadline = look;
	return time_left(deadline, ret_left);
}

/* ---- poll ---- */

/* Checks the other descriptors once, without sleeping. Return: count;
 * -errno. */
static int set_look(struct poll_set *set)
{
	struct timespec zero = { 0 };

	if (set->has_others &&
	    sdp_real()->ppoll(set->kernel, set->cnt + set->twin_cnt, &zero,
			      NULL) < 0)
		return -errno;
	return set_collect(set);
}

/* A thread that sleeps in ppoll(), until it wakes or leaves without
 * returning. */
struct poll_sleep {
	struct poll_set *set;
	struct sdp_sleeper sleeper;
	struct pollfd *more; /* devices, then the thread's descriptor */
	int dev_cnt;	     /* -EAGAIN: do not sleep */
	bool has_place;	     /* sdp_sleep_begin() */
};

static void sleep_begin(struct poll_sleep *sleep)
{
	struct poll_set *set = sleep->set;

	for (nfds_t i = 0; i < set->cnt; i++)
		/* Another thread may start SDP, and read what would wake this
		 * one. */
		if (is_stream(set->socks[i]) || is_pending(set->socks[i]) ||
		    (set->socks[i] && sdp_enter_is_possible(set->socks[i])))
			sdp_sock_sleep_begin(set->socks[i], &set->pollers[i],
					     set->pfd[i].events,
					     &sleep->sleeper);
	sleep->more = set->kernel + set->cnt + set->twin_cnt;
	sleep->dev_cnt = 0;
	if (set->has_ours)
		sleep->dev_cnt = sdp_sleep_begin(sleep->more, SDP_SLEEP_FDS);
	sleep->has_place = set->has_ours && sleep->dev_cnt >= 0;
	if (sleep->dev_cnt >= 0)
		sleep->more[sleep->dev_cnt] =
			(struct pollfd){ .fd = sleep->sleeper.fd,
					 .events = POLLIN };
	sdp_sleeper_begin(&sleep->sleeper);
}

static void sleep_end(void *arg)
{
	struct poll_sleep *sleep = arg;
	struct poll_set *set = sleep->set;

	sdp_sleeper_end(&sleep->sleeper,
			sleep->more && sleep->dev_cnt >= 0 &&
				sleep->more[sleep->dev_cnt].revents);
	if (sleep->has_place)
		sdp_sleep_end(sleep->more, sleep->dev_cnt);
	for (nfds_t i = 0; i < set->cnt; i++)
		if (set->pollers[i].sleeper)
			sdp_sock_sleep_end(set->socks[i], &set->pollers[i]);
}

/* Return: result of ppoll(); 0: check again; -errno. */
static int set_sleep(struct poll_set *set, uint64_t deadline,
		     const sigset_t *mask, bool *ret_is_slept)
{
	struct poll_sleep sleep = { .set = set };
	struct util_unwind unwind;
	struct timespec left;
	int ret = 0;

	sdp_sleeper_init(&sleep.sleeper);
	for (nfds_t i = 0; i < set->cnt; i++)
		set->pollers[i].sleeper = NULL;
	util_unwind_push(&unwind, sleep_end, &sleep);
	sleep_begin(&sleep);
	if (sleep.dev_cnt >= 0 && !set_is_stale(set) && !set_has_ready(set)) {
		*ret_is_slept = true;
		ret = UTIL_DEFER_SLEEP(
			sdp_real()->ppoll(
				set->kernel,
				set->cnt + set->twin_cnt +
					(nfds_t)sleep.dev_cnt + 1,
				sleep_time(&sleep.sleeper, deadline, &left),
				mask),
			false);
		ret = ret < 0 ? -errno : ret;
	}
	util_unwind_pop(&unwind);
	sleep_end(&sleep);
	return ret;
}

/* Waits until something seems to be ready. *ret_is_slept: the kernel has
 * reported the other descriptors. Return: 0; -errno. */
static int set_rest(struct poll_set *set, uint64_t deadline,
		    const sigset_t *mask, bool *ret_is_slept)
{
	*ret_is_slept = false;
	if (!set->has_ours)
		return set_sleep(set, deadline, mask, ret_is_slept);
	if (sdp_spin(set_has_ready, set))
		return 0;
	return set_sleep(set, deadline, mask, ret_is_slept);
}

/* Has one of the open files that the call waits for woken it?  What else wakes
 * a thread, as the traffic of other connections does, is nothing for it.
 * @is_slept: the kernel has reported its descriptors. */
static bool set_is_woken(const struct poll_set *set, bool is_slept)
{
	if (set_has_ready(set))
		return true;
	if (!is_slept)
		return false;
	for (nfds_t i = 0; i < set->cnt + set->twin_cnt; i++)
		if (set->kernel[i].revents)
			return true;
	return false;
}

/* Numbers may have been closed meanwhile and reused. The kernel looks them up
 * again too, when the call is woken, or ends.
 * Return: whether this happened. */
static bool set_look_up(struct poll_set *set)
{
	bool is_any = false;

	for (nfds_t i = 0; i < set->cnt; i++) {
		if (!set->socks[i] ||
		    sdp_sock_has_fd(set->socks[i], set->pfd[i].fd))
			continue;
		sdp_sock_put(set->socks[i]);
		set->socks[i] = sdp_sock_get(set->pfd[i].fd);
		is_any = true;
	}
	return is_any;
}

static int set_wait(struct poll_set *set, uint64_t deadline,
		    const sigset_t *mask)
{
	bool is_slept = false, is_news;
	int ret;

	/* Once is enough: set_rest() polls too. */
	if (set->has_ours)
		sdp_progress();
	for (;;) {
		ret = is_slept ? set_collect(set) : set_look(set);
		is_news = (is_slept || ret != 0) && set_start(set);
		if (ret != 0 && !is_news)
			return ret;
		if (ret == 0 && is_over(deadline))
			return 0;
		set_sort(set);
		is_slept = false;
		if (ret != 0)
			continue;
		ret = set_rest(set, deadline, mask, &is_slept);
		sdp_ending_look();
		if (ret < 0)
			return ret;
		if (set_is_woken(set, is_slept) || is_over(deadline))
			is_slept &= !set_look_up(set);
		is_slept &= !set_is_stale(set);
		if (!is_slept)
			set_sort(set);
	}
}

int sdp_wait_poll(struct pollfd *pfd, nfds_t cnt,
		  const struct timespec *timeout, const sigset_t *mask)
{
	struct poll_set set = { .pfd = pfd, .cnt = cnt };
	struct util_unwind unwind;
	int ret = time_is_valid(timeout) ? set_alloc(&set) : -EINVAL;

	if (ret < 0)
		return ret;
	set_open(&set);
	util_unwind_push(&unwind, set_close, &set);
	ret = set_wait(&set, deadline_of(timeout), mask);
	util_unwind_pop(&unwind);
	set_close(&set);
	return ret;
}

/* An epoll set inside another wait must be kept up to date by the kernel. */
static bool is_near_fd(int fd)
{
	enum sdp_fd_kind kind = sdp_fd_kind(fd);

	if (kind == SDP_FD_EPOLL)
		sdp_ready_give(fd);
	return kind == SDP_FD_SOCK;
}

bool sdp_poll_is_near(const struct pollfd *pfd, nfds_t cnt)
{
	bool is_near = false;

	for (nfds_t i = 0; i < cnt; i++)
		is_near |= is_near_fd(pfd[i].fd);
	return is_near;
}

/* ---- select ---- */

#define SELECT_IN (POLLIN | POLLRDNORM | POLLRDBAND | POLLHUP | POLLERR)
#define SELECT_OUT (POLLOUT | POLLWRNORM | POLLWRBAND | POLLERR)

/* The sets may be longer than FD_SETSIZE, if the program allocates them so. */
static bool bit_get(const fd_set *set, int fd)
{
	const unsigned long *words = (const unsigned long *)(const void *)set;
	unsigned int bits = 8 * sizeof(*words), num = (unsigned int)fd;

	return set && (words[num / bits] >> num % bits & 1);
}

static void bit_put(fd_set *set, int fd, bool value)
{
	unsigned long *words = (unsigned long *)(void *)set;
	unsigned int bits = 8 * sizeof(*words), num = (unsigned int)fd;

	if (!set)
		return;
	words[num / bits] &= ~(1ul << num % bits);
	words[num / bits] |= (unsigned long)value << num % bits;
}

bool sdp_select_is_near(int cnt, const fd_set *in, const fd_set *out,
			const fd_set *except)
{
	bool is_near = false;

	for (int fd = 0; fd < cnt; fd++)
		if (bit_get(in, fd) || bit_get(out, fd) || bit_get(except, fd))
			is_near |= is_near_fd(fd);
	return is_near;
}

static int select_put(const struct pollfd *pfd, fd_set *in, fd_set *out,
		      fd_set *except)
{
	bool is_in = bit_get(in, pfd->fd) && (pfd->revents & SELECT_IN);
	bool is_out = bit_get(out, pfd->fd) && (pfd->revents & SELECT_OUT);
	bool is_except = bit_get(except, pfd->fd) && (pfd->revents & POLLPRI);

	bit_put(in, pfd->fd, is_in);
	bit_put(out, pfd->fd, is_out);
	bit_put(except, pfd->fd, is_except);
	return is_in + is_out + is_except;
}

int sdp_wait_select(int cnt, fd_set *in, fd_set *out, fd_set *except,
		    const struct timespec *timeout, const sigset_t *mask)
{
	struct pollfd *pfd = malloc(sizeof(*pfd) * (size_t)(cnt > 0 ? cnt : 1));
	struct util_unwind unwind;
	nfds_t used = 0;
	int ret, bits = 0;

	if (!pfd)
		return -ENOMEM;
	for (int fd = 0; fd < cnt; fd++) {
		short events = (short)((bit_get(in, fd) ? POLLIN : 0) |
				       (bit_get(out, fd) ? POLLOUT : 0) |
				       (bit_get(except, fd) ? POLLPRI : 0));

		if (events)
			pfd[used++] =
				(struct pollfd){ .fd = fd, .events = events };
	}
	util_unwind_push(&unwind, free, pfd);
	ret = sdp_wait_poll(pfd, used, timeout, mask);
	util_unwind_pop(&unwind);
	for (nfds_t i = 0; i < used && ret >= 0; i++)
		if (pfd[i].revents & POLLNVAL)
			ret = -EBADF;
	for (nfds_t i = 0; i < used && ret >= 0; i++)
		bits += select_put(&pfd[i], in, out, except);
	free(pfd);
	return ret < 0 ? ret : bits;
}

/* ---- epoll ---- */

/* The kernel checks the requested events. The shadow's POLLOUT is left out,
 * because it is set while nothing is shown. */
static int kernel_ctl(int set_fd, int op, int fd, struct epoll_event *ev,
		      const struct sdp_sock *sock)
{
	struct epoll_event masked;

	if (op == EPOLL_CTL_ADD && is_stream(sock) &&
	    util_user_is_readable(ev, sizeof(*ev))) {
		masked = *ev;
		masked.events &=
			~(uint32_t)(EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND);
		ev = &masked;
	}
	return sdp_real()->epoll_ctl(set_fd, op, fd, ev) < 0 ? -errno : 0;
}

int sdp_epoll_ctl(int set_fd, int op, int fd, struct epoll_event *ev,
		  struct sdp_sock *sock)
{
	enum sdp_sock_state state = sdp_sock_state(sock);
	struct epoll_event plain;
	int ret;

	/* TCP never reports it, but the shadow's kind of socket does. */
	if (op != EPOLL_CTL_DEL &&
	    util_user_get(&plain, ev, sizeof(plain)) == 0) {
		plain.events &= ~(uint32_t)EPOLLWRBAND;
		ev = &plain;
	}

	if (op != EPOLL_CTL_DEL && state == SDP_SOCK_PENDING)
		sdp_start(sock, fd, SDP_START_WAIT);
	/* Those of a connection that is TCP are the kernel's. */
	if (!sdp_enter_is_possible(sock) &&
	    (op == EPOLL_CTL_DEL ||
	     ((op == EPOLL_CTL_MOD || op == EPOLL_CTL_ADD) &&
	      util_user_is_readable(ev, sizeof(*ev))))) {
		ret = sdp_watch_ctl(set_fd, op, fd, ev, sock);
		if (ret != 0)
			return ret < 0 ? ret : 0;
	}
	ret = kernel_ctl(set_fd, op, fd, ev, sock);
	if (ret < 0)
		return ret;
	ret = sdp_watch_note(set_fd, op, fd, ev, sock);
	if (ret < 0) {
		if (op == EPOLL_CTL_ADD)
			sdp_real()->epoll_ctl(set_fd, EPOLL_CTL_DEL, fd, ev);
		return ret;
	}
	if (sdp_sock_state(sock) == SDP_SOCK_LISTENING)
		sdp_real()->epoll_ctl(set_fd, op, sock->listening.twin_fd, ev);
	if (is_stream(sock))
		sdp_sock_watch(sock, fd);
	return 0;
}

/* Starts SDP if it is time. Return: whether the event of the TCP socket is
 * obsolete: the shadow reports events instead, now or later. */
static bool is_replaced(const struct sdp_wait *wait)
{
	enum sdp_sock_state state =
		sdp_start(wait->sock, wait->fd, SDP_START_WAIT);

	return state != SDP_SOCK_PENDING && state != SDP_SOCK_TCP;
}

/* Removes events of TCP sockets that start SDP. Return: number of events
 * left. */
static int events_sift(int set_fd, struct epoll_event *ev, int cnt)
{
	struct sdp_wait waits[SMALL];
	int wait_cnt, left = cnt;

	wait_cnt = sdp_watch_pending(set_fd, ev, cnt, waits, SMALL);
	for (int w = 0; w < wait_cnt; w++) {
		if (is_replaced(&waits[w]))
			for (int i = 0; i < left; i++)
				if (ev[i].data.u64 == waits[w].data) {
					ev[i] = ev[--left];
					break;
				}
		sdp_sock_put(waits[w].sock);
	}
	return left;
}

/* One call of epoll_wait(). */
struct epoll_call {
	int fd;
	struct sdp_epoll *set;
	struct epoll_event *ev;
	int max;
	const sigset_t *mask;
	/* While asleep. */
	struct sdp_sleeper sleeper;
	struct pollfd pfd[1 + SLEEP_FDS]; /* the set, the thread's descriptor,
					     devices */
	int dev_cnt;			  /* -EAGAIN: do not sleep */
	bool has_place;			  /* sdp_sleep_begin() */
	bool is_slept;			  /* it did sleep */
};

static int kernel_look(struct epoll_call *call, int from)
{
	int ret = sdp_real()->epoll_pwait(call->fd, call->ev + from,
					  call->max - from, 0, NULL);

	return ret < 0 ? -errno : ret;
}

/* Whether to ask the kernel's set. */
enum epoll_ask {
	EPOLL_ASK_NOT,	  /* it has just reported nothing */
	EPOLL_ASK_BESIDE, /* only if the queue has something */
	EPOLL_ASK,
};

/*
 * Takes events from the queue and from the kernel, in turns if one of them
 * fills the answer.  Return: count; -errno.
 */
static int epoll_look(struct epoll_call *call, enum epoll_ask ask)
{
	bool is_kernels_turn = atomic_exchange_explicit(
		&call->set->is_kernels_turn, false, memory_order_relaxed);
	int cnt = 0, ours, more;

	if (is_kernels_turn)
		cnt = kernel_look(call, 0);
	if (cnt < 0)
		return cnt;
	ours = sdp_epoll_collect(call->set, call->ev + cnt, call->max - cnt);
	cnt += ours;
	if (cnt == call->max && ours > 0)
		atomic_store_explicit(&call->set->is_kernels_turn, true,
				      memory_order_relaxed);
	if (is_kernels_turn || cnt == call->max || ask == EPOLL_ASK_NOT ||
	    (ours == 0 && ask == EPOLL_ASK_BESIDE))
		return cnt;
	more = kernel_look(call, cnt);
	return more >= 0 ? cnt + more : cnt > 0 ? cnt : more;
}

static void epoll_sleep_end(void *arg)
{
	struct epoll_call *call = arg;

	sdp_epoll_sleep_end(call->set, &call->sleeper, call->pfd[1].revents);
	if (call->has_place)
		sdp_sleep_end(call->pfd + 2, call->dev_cnt);
	call->has_place = false;
}

/*
 * Sleeps until the set or a device has something. The thread that sleeps serves
 * the devices, because the progress thread leaves them to a program that calls
 * this repeatedly.
 * Return: whether the kernel's set has something; -errno.
 */
static int epoll_sleep(struct epoll_call *call, uint64_t deadline)
{
	struct util_unwind unwind;
	struct timespec left;
	int ret = 0;

	sdp_sleeper_init(&call->sleeper);
	call->pfd[0] = (struct pollfd){ .fd = call->fd, .events = POLLIN };
	call->pfd[1] =
		(struct pollfd){ .fd = call->sleeper.fd, .events = POLLIN };
	call->is_slept = false;
	util_unwind_push(&unwind, epoll_sleep_end, call);
	call->dev_cnt = sdp_sleep_begin(call->pfd + 2, SDP_SLEEP_FDS);
	call->has_place = call->dev_cnt >= 0;
	sdp_epoll_sleep_begin(call->set, &call->sleeper);
	if (call->dev_cnt >= 0 && !sdp_epoll_has_ready(call->set)) {
		call->is_slept = true;
		ret = UTIL_DEFER_SLEEP(
			sdp_real()->ppoll(
				call->pfd, 2 + (nfds_t)call->dev_cnt,
				sleep_time(&call->sleeper, deadline, &left),
				call->mask),
			false);
		ret = ret < 0 ? -errno : 0;
	}
	util_unwind_pop(&unwind);
	epoll_sleep_end(call);
	return ret < 0 ? ret : call->pfd[0].revents != 0;
}

static bool epoll_has_ready(const void *arg)
{
	return sdp_epoll_has_ready(arg);
}

/* As epoll_pwait(2), with an absolute deadline. */
static int epoll_wait_ours(struct epoll_call *call, uint64_t deadline)
{
	enum epoll_ask ask = EPOLL_ASK_BESIDE;
	/* Once is enough: sdp_spin() and epoll_sleep() poll too. */
	bool is_beside = sdp_progress();
	int ret;

	for (;;) {
		bool is_late = is_over(deadline);

		/* Before a sleep it is not necessary to ask the kernel's
		 * set. */
		ret = epoll_look(call, is_late ? EPOLL_ASK : ask);
		/* poll() may have reported what another thread adds to the
		 * queue only now. */
		if (ret == 0 && is_late && is_beside) {
			sdp_progress_settle();
			ret = epoll_look(call, EPOLL_ASK);
		}
		if (ret != 0 || is_late)
			return ret;
		ask = EPOLL_ASK_BESIDE;
		if (sdp_spin(epoll_has_ready, call->set))
			continue;
		ret = epoll_sleep(call, deadline);
		if (ret < 0)
			return ret;
		if (call->is_slept)
			ask = ret > 0 ? EPOLL_ASK : EPOLL_ASK_NOT;
	}
}

/* Milliseconds, rounded up, limited to what epoll_wait() accepts. */
static int whole_ms(const struct timespec *time)
{
	int64_t ms = (int64_t)time->tv_sec * 1000 +
		     (time->tv_nsec + 999999) / 1000000;

	return ms < INT_MAX ? (int)ms : INT_MAX;
}

static void kernel_wait_end(void *arg)
{
	struct sdp_epoll *set = arg;

	atomic_fetch_sub_explicit(&set->kernel_wait_cnt, 1,
				  memory_order_relaxed);
}

/* Before the first start of SDP the kernel has all events. Return: count;
 * -EAGAIN: SDP has begun, or the time is longer than the kernel accepts;
 * -errno. */
static int epoll_wait_kernel(struct epoll_call *call, uint64_t deadline)
{
	struct util_unwind unwind;
	struct timespec left;
	int ret = -EAGAIN, ms;

	/* seq_cst: pairs with sdp_sock_become(). Its caller then looks for
	 * threads that only the kernel can wake. */
	atomic_fetch_add_explicit(&call->set->kernel_wait_cnt, 1,
				  memory_order_seq_cst);
	util_unwind_push(&unwind, kernel_wait_end, call->set);
	if (!atomic_load_explicit(&sdp_begun, memory_order_seq_cst)) {
		ms = time_left(deadline, &left) ? whole_ms(&left) : -1;
		ret = UTIL_DEFER_SLEEP(
			sdp_real()->epoll_pwait(call->fd, call->ev, call->max,
						ms, call->mask),
			ms == 0);
		ret = ret < 0 ? -errno : ret;
	}
	util_unwind_pop(&unwind);
	kernel_wait_end(call->set);
	if (ret == 0 && deadline != SDP_NEVER && !is_over(deadline))
		return -EAGAIN;
	return ret;
}

static int epoll_wait_until(struct epoll_call *call, uint64_t deadline)
{
	int ret = -EAGAIN;

	if (!atomic_load_explicit(&sdp_begun, memory_order_relaxed))
		ret = epoll_wait_kernel(call, deadline);
	if (ret == -EAGAIN)
		ret = epoll_wait_ours(call, deadline);
	return ret;
}

/* Return: count; -errno. */
static int epoll_call_run(struct epoll_call *call, uint64_t deadline)
{
	int ret;

	for (;;) {
		ret = epoll_wait_until(call, deadline);
		if (ret < 0)
			return ret;
		/* relaxed: this thread sees what it registered itself */
		if (ret == 0 || atomic_load_explicit(&sdp_pending_cnt,
						     memory_order_relaxed) == 0)
			return ret;
		ret = events_sift(call->fd, call->ev, ret);
		if (ret > 0)
			return ret;
		/* What replaces them may be ready at once. */
	}
}

static void set_put(void *arg)
{
	struct sdp_epoll *set = arg;

	util_file_put(&set->file);
}

int sdp_wait_epoll(int set_fd, struct epoll_event *ev, int max,
		   const struct timespec *timeout, const sigset_t *mask)
{
	struct epoll_call call = {
		.fd = set_fd, .ev = ev, .max = max, .mask = mask
	};
	uint64_t deadline = deadline_of(timeout);
	struct util_unwind unwind;
	int ret;

	if (!time_is_valid(timeout) || max <= 0)
		return -EINVAL;
	sdp_share_use_all();
	call.set = sdp_epoll_get(set_fd);
	if (!call.set)
		return -EBADF; /* another thread has just closed it */
	util_unwind_push(&unwind, set_put, call.set);
	ret = epoll_call_run(&call, deadline);
	util_unwind_pop(&unwind);
	set_put(call.set);
	return ret;
}

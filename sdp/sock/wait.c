/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See wait.h. */
#include "wait.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "epoll.h"
#include "ready.h"
#include "real.h"
#include "start.h"
#include "verbs/sdp-link.h"

/* Descriptors that need no allocation. */
#define SMALL 64

struct poll_set {
	struct pollfd *pfd; /* the program's */
	nfds_t cnt;
	struct sdp_sock **socks; /* with a reference; NULL: not ours */
	struct pollfd *kernel;	 /* cnt, then twins, then what we sleep for */
	nfds_t twin_cnt;
	nfds_t *twin_of; /* index in pfd */
	bool has_ours;	 /* STARTING or STREAM */
	bool has_others;
	void *memory;
	struct sdp_sock *small_socks[SMALL];
	struct pollfd small_kernel[2 * SMALL + SDP_SLEEP_FDS];
	nfds_t small_twin_of[SMALL];
};

static bool is_stream(const struct sdp_sock *sock)
{
	enum sdp_sock_state state;

	if (!sock || sock->is_relay)
		return false;
	state = sdp_sock_state(sock);
	return state == SDP_SOCK_STARTING || state == SDP_SOCK_STREAM;
}

static int set_alloc(struct poll_set *set)
{
	size_t cnt = set->cnt;

	set->memory = NULL;
	set->socks = set->small_socks;
	set->kernel = set->small_kernel;
	set->twin_of = set->small_twin_of;
	if (cnt <= SMALL)
		return 0;
	set->memory = calloc(1, cnt * sizeof(*set->socks) +
					(2 * cnt + SDP_SLEEP_FDS) *
						sizeof(*set->kernel) +
					cnt * sizeof(*set->twin_of));
	if (!set->memory)
		return -ENOMEM;
	set->socks = set->memory;
	set->twin_of = (nfds_t *)(void *)(set->socks + cnt);
	set->kernel = (struct pollfd *)(void *)(set->twin_of + cnt);
	return 0;
}

/* What each descriptor is now; the states may have changed. */
static void set_sort(struct poll_set *set)
{
	set->twin_cnt = 0;
	set->has_ours = false;
	set->has_others = false;
	for (nfds_t i = 0; i < set->cnt; i++) {
		struct sdp_sock *sock = set->socks[i];

		set->kernel[i] = set->pfd[i];
		set->kernel[i].revents = 0;
		if (is_stream(sock)) {
			set->has_ours = true;
			continue;
		}
		set->has_others |= set->pfd[i].fd >= 0;
		if (!sock || sdp_sock_state(sock) != SDP_SOCK_LISTENING)
			continue;
		set->kernel[set->cnt + set->twin_cnt] =
			(struct pollfd){ .fd = sock->twin_fd,
					 .events = set->pfd[i].events };
		set->twin_of[set->twin_cnt++] = i;
	}
}

/* The wait starts what waits for it.  Return: whether something has. */
static bool set_start(struct poll_set *set)
{
	bool is_news = false;

	for (nfds_t i = 0; i < set->cnt; i++) {
		struct sdp_sock *sock = set->socks[i];
		enum sdp_sock_state state = sock ? sdp_sock_state(sock)
						 : SDP_SOCK_TCP;

		if (state == SDP_SOCK_PENDING || state == SDP_SOCK_CONNECTING)
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

static void set_close(struct poll_set *set)
{
	for (nfds_t i = 0; i < set->cnt; i++)
		if (set->socks[i])
			sdp_sock_put(set->socks[i]);
	free(set->memory);
}

static short ours_events(const struct poll_set *set, nfds_t i)
{
	struct sdp_sock *sock = set->socks[i];
	short events = sdp_sock_events(sock);

	/* SO_RCVLOWAT; the end of the stream is always worth a wake-up. */
	if ((events & POLLIN) && !(events & (POLLRDHUP | POLLERR)) &&
	    sock->options.rcvlowat > 1 && sock->link &&
	    sdp_link_inq(sock->link) < (size_t)sock->options.rcvlowat)
		events &= ~POLLIN;
	if (events & POLLIN)
		events |= POLLRDNORM;
	if (events & POLLOUT)
		events |= POLLWRNORM;
	return events & (set->pfd[i].events | POLLERR | POLLHUP);
}

static bool set_has_ready(const struct poll_set *set)
{
	for (nfds_t i = 0; i < set->cnt && set->has_ours; i++)
		if (is_stream(set->socks[i]) && ours_events(set, i))
			return true;
	return false;
}

/* From the kernel's answer and ours.  Return: count of ready ones. */
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
			set->pfd[i].revents = set->kernel[i].revents;
		ready += set->pfd[i].revents != 0;
	}
	return ready;
}

/* ---- time ------------------------------------------------------------------
 */

static bool time_is_valid(const struct timespec *timeout)
{
	return !timeout || (timeout->tv_sec >= 0 && timeout->tv_nsec >= 0 &&
			    timeout->tv_nsec < 1000000000l);
}

static uint64_t deadline_of(const struct timespec *timeout)
{
	if (!timeout)
		return SDP_NEVER;
	if (timeout->tv_sec > 1000000000)
		return SDP_NEVER;
	return sdp_now_ns() + (uint64_t)timeout->tv_sec * 1000000000u +
	       (uint64_t)timeout->tv_nsec;
}

static struct timespec *time_left(uint64_t deadline, struct timespec *ret_left)
{
	uint64_t now;

	if (deadline == SDP_NEVER)
		return NULL;
	now = sdp_now_ns();
	now = deadline > now ? deadline - now : 0;
	ret_left->tv_sec = (time_t)(now / 1000000000u);
	ret_left->tv_nsec = (long)(now % 1000000000u);
	return ret_left;
}

/* ---- poll ------------------------------------------------------------------
 */

/* One look at the others, without sleep.  Return: count; -errno. */
static int set_look(struct poll_set *set)
{
	struct timespec zero = { 0 };
	int ret;

	if (set->has_others) {
		for (nfds_t i = 0; i < set->cnt; i++)
			if (is_stream(set->socks[i]))
				set->kernel[i].fd = -1;
		ret = sdp_real()->ppoll(set->kernel, set->cnt + set->twin_cnt,
					&zero, NULL);
		if (ret < 0)
			return -errno;
	}
	return set_collect(set);
}

/* The shadows are looked at by the kernel, or no longer.  The program's
 * revents, not filled yet, notes whose. */
static void sleepers_begin(struct poll_set *set)
{
	for (nfds_t i = 0; i < set->cnt; i++) {
		set->pfd[i].revents = is_stream(set->socks[i]);
		if (set->pfd[i].revents)
			sdp_sock_sleep_begin(set->socks[i], set->pfd[i].fd);
	}
}

static void sleepers_end(struct poll_set *set)
{
	for (nfds_t i = 0; i < set->cnt; i++)
		if (set->pfd[i].revents)
			sdp_sock_sleep_end(set->socks[i]);
}

/* Return: what ppoll() returned; -errno. */
static int set_sleep(struct poll_set *set, uint64_t deadline,
		     const sigset_t *mask)
{
	nfds_t cnt = set->cnt + set->twin_cnt;
	struct timespec left;
	uint64_t wake = SDP_NEVER;
	int fds[SDP_SLEEP_FDS], more = -EAGAIN, ret = 0;

	sleepers_begin(set);
	if (set->has_ours)
		more = sdp_sleep_begin(fds, SDP_SLEEP_FDS, &wake);
	for (int i = 0; i < more; i++)
		set->kernel[cnt++] =
			(struct pollfd){ .fd = fds[i], .events = POLLIN };
	if ((!set->has_ours || more >= 0) && !set_has_ready(set)) {
		ret = sdp_real()->ppoll(
			set->kernel, cnt,
			time_left(wake < deadline ? wake : deadline, &left),
			mask);
		ret = ret < 0 ? -errno : ret;
	}
	if (more >= 0)
		sdp_sleep_end();
	sleepers_end(set);
	return ret;
}

static int set_wait(struct poll_set *set, uint64_t deadline,
		    const sigset_t *mask)
{
	int ret;

	for (;;) {
		if (set->has_ours)
			sdp_progress();
		ret = set_look(set);
		if (ret != 0 && !set_start(set))
			return ret;
		if (ret == 0 && deadline != SDP_NEVER &&
		    sdp_now_ns() >= deadline)
			return 0;
		set_sort(set);
		if (ret != 0)
			continue;
		ret = set_sleep(set, deadline, mask);
		if (ret < 0)
			return ret;
		set_sort(set);
	}
}

int sdp_wait_poll(struct pollfd *pfd, nfds_t cnt,
		  const struct timespec *timeout, const sigset_t *mask)
{
	struct poll_set set = { .pfd = pfd, .cnt = cnt };
	int ret = time_is_valid(timeout) ? set_alloc(&set) : -EINVAL;

	if (ret < 0)
		return ret;
	set_open(&set);
	ret = set_wait(&set, deadline_of(timeout), mask);
	set_close(&set);
	return ret;
}

bool sdp_poll_is_near(const struct pollfd *pfd, nfds_t cnt)
{
	for (nfds_t i = 0; i < cnt; i++)
		if (sdp_fd_kind(pfd[i].fd) == SDP_FD_SOCK)
			return true;
	return false;
}

/* ---- select ----------------------------------------------------------------
 */

#define SELECT_IN (POLLIN | POLLRDNORM | POLLRDBAND | POLLHUP | POLLERR)
#define SELECT_OUT (POLLOUT | POLLWRNORM | POLLWRBAND | POLLERR)

/* The sets may be longer than FD_SETSIZE: a program that knows it can. */
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
	for (int fd = 0; fd < cnt; fd++)
		if ((bit_get(in, fd) || bit_get(out, fd) ||
		     bit_get(except, fd)) &&
		    sdp_fd_kind(fd) == SDP_FD_SOCK)
			return true;
	return false;
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
	ret = sdp_wait_poll(pfd, used, timeout, mask);
	for (nfds_t i = 0; i < used && ret >= 0; i++)
		if (pfd[i].revents & POLLNVAL)
			ret = -EBADF;
	for (nfds_t i = 0; i < used && ret >= 0; i++)
		bits += select_put(&pfd[i], in, out, except);
	free(pfd);
	return ret < 0 ? ret : bits;
}

/* ---- epoll -----------------------------------------------------------------
 */

int sdp_epoll_ctl(int set_fd, int op, int fd, struct epoll_event *ev,
		  struct sdp_sock *sock)
{
	enum sdp_sock_state state = sdp_sock_state(sock);
	int ret;

	if (op != EPOLL_CTL_DEL &&
	    (state == SDP_SOCK_PENDING || state == SDP_SOCK_CONNECTING))
		sdp_start(sock, fd, SDP_START_WAIT);
	if (sdp_real()->epoll_ctl(set_fd, op, fd, ev) < 0)
		return -errno;
	ret = sdp_watch_note(set_fd, op, fd, ev, sock);
	if (ret < 0) {
		if (op == EPOLL_CTL_ADD)
			sdp_real()->epoll_ctl(set_fd, EPOLL_CTL_DEL, fd, ev);
		return ret;
	}
	if (sdp_sock_state(sock) == SDP_SOCK_LISTENING)
		sdp_real()->epoll_ctl(set_fd, op, sock->twin_fd, ev);
	if (is_stream(sock))
		sdp_sock_watch(sock, fd);
	return 0;
}

/*
 * Events of TCP sockets whose SDP is to start: the shadow reports in their
 * place, at once or later.  Return: events that are left.
 */
static int events_sift(int set_fd, struct epoll_event *ev, int cnt)
{
	struct sdp_wait waits[SMALL];
	int wait_cnt, left = cnt;

	wait_cnt = sdp_watch_pending(set_fd, ev, cnt, waits, SMALL);
	for (int w = 0; w < wait_cnt; w++) {
		sdp_start(waits[w].sock, waits[w].fd, SDP_START_WAIT);
		if (sdp_sock_state(waits[w].sock) != SDP_SOCK_TCP)
			for (int i = 0; i < left; i++)
				if (ev[i].data.u64 == waits[w].data) {
					ev[i] = ev[--left];
					break;
				}
		sdp_sock_put(waits[w].sock);
	}
	return left;
}

/*
 * Until the set has something, or a device: the thread that sleeps serves the
 * devices, since the progress thread leaves that to the threads of a program
 * that comes here again and again.  Return: 0: look again; -errno.
 */
static int epoll_sleep(int set_fd, uint64_t deadline, const sigset_t *mask)
{
	struct pollfd pfd[1 + SDP_SLEEP_FDS] = { { .fd = set_fd,
						   .events = POLLIN } };
	struct timespec left;
	uint64_t wake;
	int fds[SDP_SLEEP_FDS];
	int cnt = sdp_sleep_begin(fds, SDP_SLEEP_FDS, &wake), ret;

	if (cnt < 0)
		return 0;
	for (int i = 0; i < cnt; i++)
		pfd[1 + i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
	ret = sdp_real()->ppoll(
		pfd, 1 + (nfds_t)cnt,
		time_left(wake < deadline ? wake : deadline, &left), mask);
	ret = ret < 0 ? -errno : 0;
	sdp_sleep_end();
	return ret;
}

/* As epoll_pwait(2), with a point in time. */
static int epoll_wait_until(int set_fd, struct epoll_event *ev, int max,
			    uint64_t deadline, const sigset_t *mask)
{
	struct timespec left;
	int ret, ms = -1;

	if (!atomic_load_explicit(&sdp_begun, memory_order_relaxed)) {
		if (time_left(deadline, &left))
			ms = (int)(left.tv_sec * 1000 +
				   (left.tv_nsec + 999999) / 1000000);
		ret = sdp_real()->epoll_pwait(set_fd, ev, max, ms, mask);
		return ret < 0 ? -errno : ret;
	}
	for (;;) {
		sdp_progress();
		ret = sdp_real()->epoll_pwait(set_fd, ev, max, 0, NULL);
		if (ret != 0)
			return ret < 0 ? -errno : ret;
		if (deadline != SDP_NEVER && sdp_now_ns() >= deadline)
			return 0;
		ret = epoll_sleep(set_fd, deadline, mask);
		if (ret < 0)
			return ret;
	}
}

int sdp_wait_epoll(int set_fd, struct epoll_event *ev, int max,
		   const struct timespec *timeout, const sigset_t *mask)
{
	uint64_t deadline = deadline_of(timeout);
	int ret;

	if (!time_is_valid(timeout))
		return -EINVAL;
	for (;;) {
		ret = epoll_wait_until(set_fd, ev, max, deadline, mask);
		if (ret < 0)
			return ret;
		/* relaxed: what this thread has registered it sees */
		if (ret > 0 && atomic_load_explicit(&sdp_pending_cnt,
						    memory_order_relaxed) > 0)
			ret = events_sift(set_fd, ev, ret);
		else
			return ret;
		if (ret > 0)
			return ret;
		/* What stands in their place may be ready at once. */
	}
}

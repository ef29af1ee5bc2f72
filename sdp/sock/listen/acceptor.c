/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See acceptor.h. */
#include "acceptor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/cancel.h"
#include "util/log.h"
#include "util/thread.h"
#include "sock/base/limit.h"
#include "verbs/sdp-link.h"

/* One listener for IPv6 and one for IPv4. */
#define LISTENER_MAX 2
/* Attempts to get the same port for both. */
#define PORT_TRIES 16
/* The default of net.core.somaxconn. A pipe has space for as many octets. */
#define BACKLOG_MAX 4096
/* Time limit for a peer that has sent its request and does not continue. */
#define ACCEPT_NS (10 * NS_PER_S)
/* Connections are accepted in the order of their requests, as with TCP. A start
 * that takes longer than this does not delay the others. */
#define ORDER_NS (200 * NS_PER_MS)

struct waiting {
	struct waiting *next;
	struct sdp_link *link; /* NULL: not established */
	uint64_t order_end;
	bool is_over; /* no thread answers it any more */
};

struct sdp_acceptor {
	_Atomic uint32_t ref_cnt; /* of the listener and of threads */
	struct sdp_listener *listeners[LISTENER_MAX]; /* used by the thread */
	int listener_cnt;
	int pipe_fds[2];
	int wake_fd;	       /* wakes the thread */
	struct util_lock lock; /* protects everything below */
	struct waiting *first, **end;
	struct waiting *starts,
		**starts_end; /* being answered, or held back for order */
	int waiting_cnt;
	int starting_cnt;
	int backlog;
	bool is_stopped;
	bool is_closed;
};

/* A peer that is being answered. */
struct start {
	struct sdp_acceptor *acceptor;
	struct sdp_request *request;
	struct waiting *waiting; /* its entry in starts */
};

static void fd_add(int *fd)
{
	int ret = *fd < 0 ? *fd : sdp_private_add(*fd);

	if (ret >= 0)
		*fd = ret;
}

static void acceptor_put(struct sdp_acceptor *a)
{
	/* acq_rel: every other holder's last access comes before free() */
	if (atomic_fetch_sub_explicit(&a->ref_cnt, 1, memory_order_acq_rel) !=
	    1)
		return;
	for (int i = 0; i < a->listener_cnt; i++)
		sdp_listener_free(a->listeners[i]);
	sdp_private_close(a->wake_fd);
	sdp_private_close(a->pipe_fds[0]);
	sdp_private_close(a->pipe_fds[1]);
	free(a);
}

static void acceptor_get(struct sdp_acceptor *a)
{
	/* relaxed: the caller has a reference */
	atomic_fetch_add_explicit(&a->ref_cnt, 1, memory_order_relaxed);
}

static void thread_wake(struct sdp_acceptor *a)
{
	uint64_t one = 1;

	(void)!util_sys_write(a->wake_fd, &one, sizeof(one));
}

/* ---- waiting connections; the lock is held ---- */

static void show(struct sdp_acceptor *a)
{
	(void)!util_sys_write(a->pipe_fds[1], "", 1);
}

static void hide(struct sdp_acceptor *a)
{
	char octet;

	(void)!util_sys_read(a->pipe_fds[0], &octet, 1);
}

static void waiting_add(struct sdp_acceptor *a, struct waiting *w)
{
	w->next = NULL;
	*a->end = w;
	a->end = &w->next;
	a->waiting_cnt++;
	show(a);
}

static struct waiting *waiting_take(struct sdp_acceptor *a)
{
	struct waiting *w = a->first;

	if (!w)
		return NULL;
	a->first = w->next;
	if (!a->first)
		a->end = &a->first;
	a->waiting_cnt--;
	hide(a);
	return w;
}

static void start_add(struct sdp_acceptor *a, struct waiting *w)
{
	w->next = NULL;
	*a->starts_end = w;
	a->starts_end = &w->next;
	a->starting_cnt++;
}

static void start_remove(struct sdp_acceptor *a, struct waiting **at)
{
	struct waiting *w = *at;

	*at = w->next;
	if (!w->next)
		a->starts_end = at;
	a->starting_cnt--;
}

/* Makes all starts acceptable that are not held back. Return: when to check
 * again; SDP_NEVER: when the next start has ended. */
static uint64_t starts_settle(struct sdp_acceptor *a)
{
	uint64_t now = sdp_now_ns(), hold_end = 0, next = SDP_NEVER;
	struct waiting **at = &a->starts, *w;

	while ((w = *at) != NULL) {
		bool is_held = w->is_over && w->link && now < hold_end;

		if (is_held && next == SDP_NEVER)
			next = hold_end;
		if (!w->is_over && hold_end < w->order_end)
			hold_end = w->order_end;
		if (!w->is_over || is_held) {
			at = &w->next;
			continue;
		}
		start_remove(a, at);
		if (w->link)
			waiting_add(a, w);
		else
			free(w);
	}
	return next;
}

/* Linux accepts one connection more than the backlog. */
static bool is_full(const struct sdp_acceptor *a)
{
	return a->waiting_cnt + a->starting_cnt > a->backlog;
}

/* ---- threads ---- */

static void *start_thread(void *arg)
{
	struct start *start = arg;
	struct sdp_acceptor *a = start->acceptor;
	struct sdp_link_options opt = SDP_LINK_OPTIONS_INIT;
	struct sdp_link *link = NULL;
	struct waiting *w = start->waiting;
	struct sdp_outcome outcome;
	bool is_raised, is_late;
	int ret;

	sdp_inside_enter();
	sdp_verbs_own_thread();
	/* The peer sends the first message, with or without an RTR. */
	opt.conn.carrier = SDP_CM_PRIV;
	is_raised = sdp_limit_begin(a->wake_fd);
	ret = sdp_request_accept(&link, start->request, &opt,
				 sdp_now_ns() + ACCEPT_NS, &outcome);
	sdp_limit_end(is_raised);
	if (ret < 0)
		util_info("sdp", "%s: %s", outcome.text,
			  sdp_reason_str(outcome.reason));
	util_lock(&a->lock);
	is_late = a->is_closed;
	w->link = ret == 0 && !is_late ? link : NULL;
	w->is_over = true;
	(void)starts_settle(a);
	util_unlock(&a->lock);
	/* The queue may have been full, and has a new start now. */
	thread_wake(a);
	if (ret == 0 && is_late)
		sdp_link_close(link, 0);
	acceptor_put(a);
	free(start);
	return NULL;
}

static void request_start(struct sdp_acceptor *a, struct sdp_request *request)
{
	struct start *start = calloc(1, sizeof(*start));
	struct waiting *w = calloc(1, sizeof(*w));

	if (!start || !w) {
		free(start);
		free(w);
		sdp_request_reject(request);
		return;
	}
	*start = (struct start){ .acceptor = a,
				 .request = request,
				 .waiting = w };
	w->order_end = sdp_now_ns() + ORDER_NS;
	acceptor_get(a);
	util_lock(&a->lock);
	start_add(a, w);
	util_unlock(&a->lock);
	/* Without a new thread, this thread runs the start. */
	if (util_thread_run(start_thread, start, UTIL_THREAD_STACK) < 0)
		start_thread(start);
}

/* What the thread has to do next. */
struct task {
	bool is_listening;
	bool takes;    /* take another request */
	bool has_more; /* there will be more work */
	int ms;	       /* until the next check; -1: none */
};

static struct task task_get(struct sdp_acceptor *a)
{
	uint64_t now = sdp_now_ns(), at;
	struct task task;

	util_lock(&a->lock);
	at = starts_settle(a);
	task.is_listening = !a->is_stopped;
	task.takes = !a->is_stopped && !is_full(a);
	/* Starts in progress may still succeed. */
	task.has_more = !a->is_stopped ||
			(a->starting_cnt > 0 && !a->is_closed);
	util_unlock(&a->lock);
	task.ms = at == SDP_NEVER ? -1
		  : at <= now	  ? 0
				  : (int)((at - now) / NS_PER_MS + 1);
	return task;
}

static void listen_end(struct sdp_acceptor *a)
{
	while (a->listener_cnt > 0)
		sdp_listener_free(a->listeners[--a->listener_cnt]);
}

static void requests_take(struct sdp_acceptor *a, struct sdp_listener *listener)
{
	bool is_raised = sdp_limit_begin(a->wake_fd);
	struct sdp_request *request;

	while (task_get(a).takes && sdp_listener_take(listener, &request) == 0)
		request_start(a, request);
	sdp_limit_end(is_raised);
}

static void *accept_thread(void *arg)
{
	struct sdp_acceptor *a = arg;
	struct pollfd pfd[1 + LISTENER_MAX];
	struct task task;
	uint64_t cnt;

	sdp_inside_enter();
	sdp_verbs_own_thread();
	for (task = task_get(a); task.has_more; task = task_get(a)) {
		if (!task.is_listening)
			listen_end(a);
		pfd[0] = (struct pollfd){ .fd = a->wake_fd, .events = POLLIN };
		/* The kernel's own backlog limits what it queues. */
		for (int i = 0; i < a->listener_cnt; i++)
			pfd[1 + i] = (struct pollfd){
				.fd = task.takes
					      ? sdp_listener_fd(a->listeners[i])
					      : -1,
				.events = POLLIN,
			};
		if (util_sys_poll(pfd, 1 + (nfds_t)a->listener_cnt, task.ms) <
		    0)
			continue;
		if (pfd[0].revents)
			(void)!util_sys_read(a->wake_fd, &cnt, sizeof(cnt));
		for (int i = 0; i < a->listener_cnt; i++)
			if (pfd[1 + i].revents)
				requests_take(a, a->listeners[i]);
	}
	listen_end(a);
	acceptor_put(a);
	return NULL;
}

/* ---- listening ---- */

static int listen_at(struct sdp_acceptor *a, const union sdp_addr *name)
{
	int ret = sdp_listener_new(&a->listeners[a->listener_cnt], &name->sa,
				   BACKLOG_MAX);

	if (ret == 0)
		a->listener_cnt++;
	return ret;
}

/* Both families use the same port. Return: 0; -errno. */
static int listen_all(struct sdp_acceptor *a, const union sdp_addr *name,
		      bool is_dual, uint16_t *ret_port)
{
	union sdp_addr v4 = { .in = { .sin_family = AF_INET } }, own;
	struct sockaddr_storage found = { .ss_family = AF_UNSPEC };
	int ret = -EADDRINUSE;

	for (int i = 0; i < PORT_TRIES && ret == -EADDRINUSE; i++) {
		ret = listen_at(a, name);
		if (ret < 0)
			return ret;
		(void)sdp_listener_name(a->listeners[0], &found);
		own = sdp_addr_of(&found);
		*ret_port = sdp_addr_port(&own);
		sdp_addr_set_port(&v4, *ret_port);
		if (is_dual)
			ret = listen_at(a, &v4);
		if (ret < 0)
			listen_end(a);
	}
	return ret == 0 && *ret_port == 0 ? -ENODEV : ret;
}

static int fds_make(struct sdp_acceptor *a)
{
	a->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (a->wake_fd < 0 ||
	    syscall(SYS_pipe2, a->pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	fd_add(&a->wake_fd);
	fd_add(&a->pipe_fds[0]);
	fd_add(&a->pipe_fds[1]);
	return 0;
}

int sdp_acceptor_new(struct sdp_acceptor **ret_acceptor,
		     const union sdp_addr *name, bool is_dual, int backlog,
		     uint16_t *ret_port, int *ret_fd)
{
	struct sdp_acceptor *a = calloc(1, sizeof(*a));
	int ret;

	if (!a)
		return -ENOMEM;
	atomic_init(&a->ref_cnt, 1);
	util_lock_init(&a->lock, UTIL_RANK_LEAF);
	a->end = &a->first;
	a->starts_end = &a->starts;
	a->wake_fd = a->pipe_fds[0] = a->pipe_fds[1] = -1;
	sdp_acceptor_set_backlog(a, backlog);
	ret = fds_make(a);
	if (ret == 0)
		ret = listen_all(a, name, is_dual, ret_port);
	if (ret < 0) {
		acceptor_put(a);
		return ret;
	}
	acceptor_get(a);
	ret = util_thread_run(accept_thread, a, UTIL_THREAD_STACK);
	if (ret < 0) {
		acceptor_put(a);
		acceptor_put(a);
		return ret;
	}
	*ret_fd = a->pipe_fds[0];
	*ret_acceptor = a;
	return 0;
}

/* ---- calls for the program ---- */

void sdp_acceptor_set_backlog(struct sdp_acceptor *acceptor, int backlog)
{
	util_lock(&acceptor->lock);
	acceptor->backlog = backlog >= 0 && backlog < BACKLOG_MAX ? backlog
								  : BACKLOG_MAX;
	util_unlock(&acceptor->lock);
	thread_wake(acceptor);
}

struct sdp_link *sdp_acceptor_take(struct sdp_acceptor *acceptor)
{
	struct sdp_link *link = NULL;
	struct waiting *w;
	bool was_full;

	util_lock(&acceptor->lock);
	was_full = is_full(acceptor);
	w = waiting_take(acceptor);
	util_unlock(&acceptor->lock);
	if (w)
		link = w->link;
	free(w);
	if (was_full)
		thread_wake(acceptor);
	return link;
}

void sdp_acceptor_put_back(struct sdp_acceptor *acceptor, struct sdp_link *link)
{
	struct waiting *w = calloc(1, sizeof(*w));

	if (!w) {
		sdp_link_close(link, 0);
		return;
	}
	w->link = link;
	util_lock(&acceptor->lock);
	w->next = acceptor->first;
	if (!w->next)
		acceptor->end = &w->next;
	acceptor->first = w;
	acceptor->waiting_cnt++;
	show(acceptor);
	util_unlock(&acceptor->lock);
}

void sdp_acceptor_stop(struct sdp_acceptor *acceptor)
{
	util_lock(&acceptor->lock);
	acceptor->is_stopped = true;
	util_unlock(&acceptor->lock);
	thread_wake(acceptor);
}

void sdp_acceptor_free(struct sdp_acceptor *acceptor)
{
	struct waiting *w, *next, **at = &acceptor->starts;

	util_lock(&acceptor->lock);
	acceptor->is_stopped = acceptor->is_closed = true;
	/* Including those held back for order. The remaining ones belong to
	 * their threads. */
	while ((w = *at) != NULL) {
		if (w->is_over) {
			start_remove(acceptor, at);
			waiting_add(acceptor, w);
		} else {
			at = &w->next;
		}
	}
	w = acceptor->first;
	acceptor->first = NULL;
	acceptor->end = &acceptor->first;
	acceptor->waiting_cnt = 0;
	util_unlock(&acceptor->lock);
	thread_wake(acceptor);
	for (; w; w = next) {
		next = w->next;
		sdp_link_close(w->link, 0);
		free(w);
	}
	acceptor_put(acceptor);
}

void sdp_acceptor_forget(struct sdp_acceptor *acceptor)
{
	sdp_private_close(acceptor->wake_fd);
	sdp_private_close(acceptor->pipe_fds[0]);
	sdp_private_close(acceptor->pipe_fds[1]);
	/* Threads of the parent may have held it, so the memory is not
	 * freed. */
}

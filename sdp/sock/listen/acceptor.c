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

/* A peer that has asked. */
struct peer {
	struct peer *next;
	struct sdp_acceptor *acceptor;
	struct sdp_request *request;
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
	struct peer *first;    /* in the order of their requests */
	int peer_cnt;
	int shown_cnt; /* octets in the pipe: that many can be accepted */
	int backlog;
	bool is_stopped;
	bool is_closed;
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

/* ---- the peers; the lock is held ---- */

static void peer_add(struct sdp_acceptor *a, struct peer **at,
		     struct peer *peer)
{
	peer->next = *at;
	*at = peer;
	a->peer_cnt++;
}

static void peer_remove(struct sdp_acceptor *a, struct peer **at)
{
	*at = (*at)->next;
	a->peer_cnt--;
}

static void show(struct sdp_acceptor *a, int cnt)
{
	char octet;

	for (; a->shown_cnt < cnt; a->shown_cnt++)
		(void)!util_sys_write(a->pipe_fds[1], "", 1);
	for (; a->shown_cnt > cnt; a->shown_cnt--)
		(void)!util_sys_read(a->pipe_fds[0], &octet, 1);
}

/* Removes those that have failed, and shows those that can be accepted: an
 * earlier one that is being answered holds others back. Return: when to check
 * again; SDP_NEVER: when the next answer has ended. */
static uint64_t peers_settle(struct sdp_acceptor *a)
{
	uint64_t now = sdp_now_ns(), hold_end = 0, next = SDP_NEVER;
	struct peer **at = &a->first, *peer;
	int cnt = 0;

	while ((peer = *at) != NULL) {
		if (peer->is_over && !peer->link) {
			peer_remove(a, at);
			free(peer);
			continue;
		}
		if (!peer->is_over && hold_end < peer->order_end)
			hold_end = peer->order_end;
		if (peer->link && now >= hold_end)
			cnt++;
		else if (peer->link && next == SDP_NEVER)
			next = hold_end;
		at = &peer->next;
	}
	show(a, cnt);
	return next;
}

/* Linux accepts one connection more than the backlog. */
static bool is_full(const struct sdp_acceptor *a)
{
	return a->peer_cnt > a->backlog;
}

/* ---- threads ---- */

static void *answer_thread(void *arg)
{
	struct peer *peer = arg;
	struct sdp_acceptor *a = peer->acceptor;
	struct sdp_link_options opt = SDP_LINK_OPTIONS_INIT;
	struct sdp_link *link = NULL;
	struct sdp_outcome outcome;
	bool is_raised, is_late;
	int ret;

	sdp_inside_enter();
	sdp_verbs_own_thread();
	/* The peer sends the first message, with or without an RTR. */
	opt.conn.carrier = SDP_CM_PRIV;
	is_raised = sdp_limit_begin(a->wake_fd);
	ret = sdp_request_accept(&link, peer->request, &opt,
				 sdp_now_ns() + ACCEPT_NS, &outcome);
	sdp_limit_end(is_raised);
	if (ret < 0)
		util_info("sdp", "%s: %s", outcome.text,
			  sdp_reason_str(outcome.reason));
	util_lock(&a->lock);
	is_late = a->is_closed;
	peer->link = ret == 0 && !is_late ? link : NULL;
	peer->is_over = true;
	(void)peers_settle(a);
	util_unlock(&a->lock);
	/* The queue may have been full, and has a new start now. */
	thread_wake(a);
	if (ret == 0 && is_late)
		sdp_link_close(link, 0);
	acceptor_put(a);
	return NULL;
}

static void request_answer(struct sdp_acceptor *a, struct sdp_request *request)
{
	struct peer *peer = calloc(1, sizeof(*peer)), **at = &a->first;

	if (!peer) {
		sdp_request_reject(request);
		return;
	}
	*peer = (struct peer){ .acceptor = a,
			       .request = request,
			       .order_end = sdp_now_ns() + ORDER_NS };
	acceptor_get(a);
	util_lock(&a->lock);
	while (*at)
		at = &(*at)->next;
	peer_add(a, at, peer);
	util_unlock(&a->lock);
	/* Without a new thread, this thread answers. */
	if (util_thread_run(answer_thread, peer, UTIL_THREAD_STACK) < 0)
		answer_thread(peer);
}

static bool is_any_answered(const struct sdp_acceptor *a)
{
	const struct peer *peer = a->first;

	while (peer && peer->is_over)
		peer = peer->next;
	return peer;
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
	at = peers_settle(a);
	task.is_listening = !a->is_stopped;
	task.takes = !a->is_stopped && !is_full(a);
	/* Those that are being answered may still succeed, or hold back. */
	task.has_more = !a->is_stopped || (is_any_answered(a) && !a->is_closed);
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
		request_answer(a, request);
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
		sdp_listener_name(a->listeners[0], &found);
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
	struct peer **at = &acceptor->first, *peer = NULL;
	struct sdp_link *link = NULL;
	bool was_full;

	util_lock(&acceptor->lock);
	(void)peers_settle(acceptor);
	was_full = is_full(acceptor);
	if (acceptor->shown_cnt > 0) {
		while (!(*at)->link)
			at = &(*at)->next;
		peer = *at;
		link = peer->link;
		peer_remove(acceptor, at);
		show(acceptor, acceptor->shown_cnt - 1);
	}
	util_unlock(&acceptor->lock);
	free(peer);
	if (was_full)
		thread_wake(acceptor);
	return link;
}

void sdp_acceptor_put_back(struct sdp_acceptor *acceptor, struct sdp_link *link)
{
	struct peer *peer = calloc(1, sizeof(*peer));

	if (!peer) {
		sdp_link_close(link, 0);
		return;
	}
	peer->link = link;
	peer->is_over = true;
	util_lock(&acceptor->lock);
	peer_add(acceptor, &acceptor->first, peer);
	(void)peers_settle(acceptor);
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
	struct peer *over = NULL, *peer, **at = &acceptor->first;

	util_lock(&acceptor->lock);
	acceptor->is_stopped = acceptor->is_closed = true;
	/* The others belong to their threads. */
	while ((peer = *at) != NULL) {
		if (!peer->is_over) {
			at = &peer->next;
			continue;
		}
		peer_remove(acceptor, at);
		peer->next = over;
		over = peer;
	}
	util_unlock(&acceptor->lock);
	thread_wake(acceptor);
	while ((peer = over) != NULL) {
		over = peer->next;
		if (peer->link)
			sdp_link_close(peer->link, 0);
		free(peer);
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

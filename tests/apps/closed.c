/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A program closes descriptors of libibverbs and librdmacm, in every possible
 * way. The objects of these descriptors remain valid for calls in progress: a
 * destroy returns, a wait continues, and a call with the number fails with
 * EBADF. Runs alone under `usiw run`.
 */
#define _GNU_SOURCE /* close_range, gettid */
#include <dirent.h>

#include "waiter.h"

#define CNT(array) (sizeof(array) / sizeof((array)[0]))

static struct ibv_device *device;
static int null_fd; /* cannot be written to */

/* ---- ways ---- */

static void by_close(int fd)
{
	NEEDS(!close(fd));
}

static void by_close_range(int fd)
{
	NEEDS(!close_range((unsigned int)fd, (unsigned int)fd, 0));
}

/* The number then belongs to another file. */
static void by_dup2(int fd)
{
	NEEDS(dup2(null_fd, fd) == fd);
}

static void (*const ways[])(int fd) = { by_close, by_close_range, by_dup2 };

static bool is_by_dup2(size_t way)
{
	return ways[way] == by_dup2;
}

/* ---- verbs ---- */

enum which { ASYNC, COMPLETION };

static void verbs_outlive_it(size_t way, enum which which)
{
	struct ibv_context *ctx = ibv_open_device(device);
	struct ibv_comp_channel *channel;
	struct ibv_srq_init_attr init = { .attr = { 4, 1, 0 } };
	struct ibv_srq_attr limit = { .srq_limit = 1 };
	struct ibv_async_event event;
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	int fd;

	NEEDS(ctx);
	channel = ibv_create_comp_channel(ctx);
	NEEDS(channel);
	cq = ibv_create_cq(ctx, 10, NULL, channel, 0);
	pd = ibv_alloc_pd(ctx);
	NEEDS(cq && pd);
	srq = ibv_create_srq(pd, &init);
	NEEDS(srq);
	fd = which == ASYNC ? ctx->async_fd : channel->fd;
	ways[way](fd);
	/* An event that nobody reads. */
	NEEDS(!ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT));
	NEEDS(!ibv_req_notify_cq(cq, 0));
	if (which == ASYNC && !is_by_dup2(way))
		NEEDS(ibv_get_async_event(ctx, &event) < 0);
	NEEDS(!ibv_destroy_srq(srq));
	NEEDS(!ibv_destroy_cq(cq));
	NEEDS(!ibv_dealloc_pd(pd));
	if (which == COMPLETION && !is_by_dup2(way))
		NEEDS(dup2(null_fd, fd) == fd);
	NEEDS(!ibv_destroy_comp_channel(channel)); /* closes the number */
	if (which == ASYNC && is_by_dup2(way))
		NEEDS(!close(fd));
	NEEDS(!ibv_close_device(ctx));
}

/* ---- threads that wait ---- */

/* Those of the library, too. */
static int fd_cnt(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int cnt = 0;

	NEEDS(dir);
	while (readdir(dir))
		cnt++;
	NEEDS(!closedir(dir));
	return cnt;
}

/* It leaves the channel's descriptors, of which there were @cnt before, and
 * does not return. */
static void waits_on(pthread_t thread, int cnt)
{
	while (!waiter_is_blocked() || fd_cnt() > cnt)
		poll(NULL, 0, 1);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	/* ASan reports errors on the stack of a cancelled thread. TSan no
	 * longer follows one that was inside ppoll(). */
	NEEDS(!pthread_detach(thread));
#else
	NEEDS(!pthread_cancel(thread));
	NEEDS(!pthread_join(thread, NULL));
#endif
}

static void *verbs_wait_main(void *arg)
{
	struct ibv_cq *cq;
	void *cq_context;

	waiter_begin();
	(void)!ibv_get_cq_event(arg, &cq, &cq_context);
	printf("ibv_get_cq_event returned: %s\n", strerror(errno));
	exit(1);
}

__attribute__((unused)) static void
a_thread_waits_on_for_a_completion(size_t way)
{
	struct ibv_context *ctx = ibv_open_device(device);
	struct ibv_comp_channel *channel;
	pthread_t thread;
	int cnt;

	NEEDS(ctx);
	cnt = fd_cnt();
	channel = ibv_create_comp_channel(ctx);
	NEEDS(channel);
	waiter_start(&thread, verbs_wait_main, channel);
	ways[way](channel->fd);
	if (!is_by_dup2(way))
		NEEDS(dup2(null_fd, channel->fd) == channel->fd);
	NEEDS(!ibv_destroy_comp_channel(channel));
	waits_on(thread, cnt);
	NEEDS(!ibv_close_device(ctx));
}

/* ---- rdma_cm ---- */

static void *cm_wait_main(void *arg)
{
	struct rdma_cm_event *event;

	waiter_begin();
	(void)!rdma_get_cm_event(arg, &event);
	printf("rdma_get_cm_event returned: %s\n", strerror(errno));
	exit(1);
}

/* As the event thread of rping. */
static void a_waiting_thread_waits_on(size_t way)
{
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	pthread_t thread;
	int cnt;

	/* What the first one opens stays open. */
	rdma_destroy_event_channel(rdma_create_event_channel());
	cnt = fd_cnt();
	channel = rdma_create_event_channel();
	NEEDS(channel);
	waiter_start(&thread, cm_wait_main, channel);
	ways[way](channel->fd);
	/* The thread does not use the file that gets the number next. */
	if (!is_by_dup2(way)) {
		NEEDS(dup2(null_fd, channel->fd) == channel->fd);
		errno = 0;
		NEEDS(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	}
	NEEDS(!close(channel->fd));
	waits_on(thread, cnt);
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	NEEDS(null_fd >= 0 && list && list[0]);
	device = list[0];
	for (size_t way = 0; way < CNT(ways); way++) {
		verbs_outlive_it(way, ASYNC);
		verbs_outlive_it(way, COMPLETION);
#ifndef __SANITIZE_THREAD__
		/* It reports each close() of a number that another thread
		 * reads. */
		a_thread_waits_on_for_a_completion(way);
#endif
		a_waiting_thread_waits_on(way);
	}
	printf("%zu ways\n", CNT(ways));
	return 0;
}

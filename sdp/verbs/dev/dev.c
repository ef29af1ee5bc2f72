/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Opens devices, and sizes their shared queues.
 */
#include "dev.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "util/v4-mapped.h"
#include "util/cancel.h"
#include "util/device-name.h"
#include "high.h"
#include "usiwdv.h"
#include "util/log.h"
#include "verbs/way.h"

/* Maximum number of entries of the SRQ; entries of a new CQ. */
#define SRQ_MAX 16384u
#define CQE_FIRST 2048u
/* Entries of a CQ that cannot be resized: enough for about 600 links. */
#define CQE_FIXED 65536u
#define INLINE_WANTED 128u
/* Number of receives that all links share, and number that each link adds. */
#define SRQ_BASE 128u
#define SRQ_PER_LINK 34u
/*
 * usiw holds a Send until there is a receive. Few receives are reused in turn,
 * so their memory stays in the processor's cache. Above the maximum each link
 * adds one: it has at most one receive in use, for a message of which a part
 * has arrived.
 */
#define SRQ_BASE_USIW 32u
#define SRQ_PER_LINK_USIW 2u
#define SRQ_MAX_USIW 512u
/* Devices are recognised by their vendor, because a device may have any
 * name. */
#define VENDOR_SIW 0x626d74u

static struct util_lock process_lock = UTIL_LOCK_INIT(UTIL_RANK_SDP_PROCESS);
static struct sdp_dev *_Atomic devices;

struct util_lock *sdp_dev_process_lock(void)
{
	return &process_lock;
}

struct sdp_dev *sdp_dev_first(void)
{
	/* acquire: pairs with the release in dev_publish() */
	return atomic_load_explicit(&devices, memory_order_acquire);
}

void sdp_dev_forget(void)
{
	util_lock_init(&process_lock, UTIL_RANK_SDP_PROCESS);
	/* The rest belongs to the parent and to libibverbs. */
	for (struct sdp_dev *dev = sdp_dev_first(); dev; dev = dev->next) {
		sdp_high_release(dev->wake_fd);
		util_sys_close(dev->wake_fd);
	}
	atomic_store_explicit(&devices, NULL, memory_order_relaxed);
}

static void dev_publish(struct sdp_dev *dev)
{
	dev->next = sdp_dev_first();
	/* release: pairs with sdp_dev_first() */
	atomic_store_explicit(&devices, dev, memory_order_release);
}

static uint32_t min32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t srq_want(const struct sdp_dev *dev, uint32_t links)
{
	uint64_t want = SRQ_BASE + (uint64_t)links * SRQ_PER_LINK;
	uint32_t max = min32((uint32_t)dev->attr.max_srq_wr, SRQ_MAX);

	if (dev->is_usiw) {
		want = SRQ_BASE_USIW + (uint64_t)links * SRQ_PER_LINK_USIW;
		if (want > SRQ_MAX_USIW)
			want = SRQ_MAX_USIW;
		if (want < SRQ_BASE_USIW + (uint64_t)links)
			want = SRQ_BASE_USIW + (uint64_t)links;
	}
	return want < max ? (uint32_t)want : max;
}

/* ---- opening ---- */

static int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno
								       : 0;
}

/* Linux's siw cannot resize a CQ. There the CQ is made large at once. */
static int open_cq(struct sdp_dev *dev)
{
	uint32_t cnt = min32((uint32_t)dev->attr.max_cqe, CQE_FIRST);
	uint32_t fixed = min32((uint32_t)dev->attr.max_cqe, CQE_FIXED);
	int ret;

	dev->cq = ibv_create_cq(dev->ctx, (int)cnt, dev, dev->channel, 0);
	if (!dev->cq)
		return -errno;
	ret = dev->is_usiw ? 0 : ibv_resize_cq(dev->cq, (int)cnt);
	if (ret == ENOSYS || ret == EOPNOTSUPP) {
		ibv_destroy_cq(dev->cq);
		dev->cq = ibv_create_cq(dev->ctx, (int)fixed, dev, dev->channel,
					0);
		if (!dev->cq)
			return -errno;
	}
	dev->cqe_cnt = (uint32_t)dev->cq->cqe;
	return 0;
}

static int open_queues(struct sdp_dev *dev)
{
	struct ibv_srq_init_attr srq = {
		.attr = { .max_wr = min32((uint32_t)dev->attr.max_srq_wr,
					  SRQ_MAX),
			  .max_sge = 1 },
	};
	int ret;

	dev->channel = ibv_create_comp_channel(dev->ctx);
	if (!dev->channel)
		return -errno;
	sdp_high_keep(&dev->channel->fd);
	ret = set_nonblocking(dev->channel->fd);
	if (!ret)
		ret = set_nonblocking(dev->ctx->async_fd);
	if (ret)
		goto destroy_channel;
	ret = open_cq(dev);
	if (ret)
		goto destroy_channel;
	dev->srq = ibv_create_srq(dev->pd, &srq);
	if (dev->srq)
		return 0;
	ret = -errno;
	ibv_destroy_cq(dev->cq);
destroy_channel:
	sdp_high_release(dev->channel->fd);
	ibv_destroy_comp_channel(dev->channel);
	return ret;
}

/* Sets both functions for the sleep, or none. */
static void find_usiwdv(struct sdp_dev *dev)
{
	void *begin = sdp_usiwdv_symbol("usiwdv_cq_sleep_begin");
	void *end = sdp_usiwdv_symbol("usiwdv_cq_sleep_end");

	dev->qp_error =
		(int (*)(struct ibv_qp *))sdp_usiwdv_symbol("usiwdv_qp_error");
	if (!begin || !end)
		return;
	dev->cq_sleep_begin = (int (*)(struct ibv_cq *))begin;
	dev->cq_sleep_end = (void (*)(struct ibv_cq *))end;
}

/* The device takes ownership of @ctx. */
static int dev_open(struct ibv_context *ctx, struct sdp_dev **ret_dev)
{
	struct sdp_dev *dev = calloc(1, sizeof(*dev));
	int ret;

	if (!dev)
		return -ENOMEM;
	dev->ctx = ctx;
	sdp_high_keep(&ctx->cmd_fd);
	sdp_high_keep(&ctx->async_fd);
	snprintf(dev->name, sizeof(dev->name), "%s",
		 ibv_get_device_name(ctx->device));
	dev->is_usiw = util_device_name_is_ours(dev->name);
	if (dev->is_usiw)
		find_usiwdv(dev);
	ret = -ibv_query_device(ctx, &dev->attr);
	if (ret)
		goto free_dev;
	dev->is_siw = dev->attr.vendor_id == VENDOR_SIW;
	dev->has_windows = dev->attr.max_mw > 0 &&
			   dev->attr.device_cap_flags &
				   (IBV_DEVICE_MEM_WINDOW_TYPE_2A |
				    IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	dev->pd = ibv_alloc_pd(ctx);
	if (!dev->pd) {
		ret = -errno;
		goto free_dev;
	}
	dev->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (dev->wake_fd < 0) {
		ret = -errno;
		goto dealloc_pd;
	}
	sdp_high_keep(&dev->wake_fd);
	ret = open_queues(dev);
	if (ret)
		goto close_wake;
	util_lock_init(&dev->poll_lock, UTIL_RANK_SDP_POLL);
	util_lock_init(&dev->wait_lock, UTIL_RANK_SDP_POOL);
	sdp_pool_init(&dev->pool, dev->pd,
		      dev->is_usiw ? SDP_DEV_BUF_SIZE_USIW : SDP_DEV_BUF_SIZE,
		      dev->is_usiw);
	dev->srq_target = srq_want(dev, 0);
	dev->inline_max = INLINE_WANTED;
	atomic_init(&dev->deadline, UINT64_MAX);
	atomic_init(&dev->pass_cnt, 0);
	dev_publish(dev);
	*ret_dev = dev;
	return 0;
close_wake:
	sdp_high_release(dev->wake_fd);
	util_sys_close(dev->wake_fd);
dealloc_pd:
	ibv_dealloc_pd(dev->pd);
free_dev:
	sdp_high_release(ctx->cmd_fd);
	sdp_high_release(ctx->async_fd);
	util_warn("sdp", "%s: device cannot be used: %s",
		  ibv_get_device_name(ctx->device), strerror(-ret));
	free(dev);
	return ret ? ret : -ENODEV;
}

/* ---- finding a device ---- */

/* The address in the form of a GID table. */
static bool gid_of(const struct sockaddr *addr, union ibv_gid *ret_gid)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;

	if (addr->sa_family == AF_INET6) {
		memcpy(ret_gid->raw, &in6->sin6_addr, 16);
		return true;
	}
	if (addr->sa_family != AF_INET)
		return false;
	util_v4_map(ret_gid->raw, &in->sin_addr);
	return true;
}

/* All addresses of 127.0.0.0/8 belong to the loopback interface. */
static void gid_canonical(union ibv_gid *gid)
{
	static const uint8_t lo[4] = { 127, 0, 0, 1 };

	if (util_v4_is_mapped(gid->raw) && gid->raw[12] == 127)
		memcpy(gid->raw + 12, lo, sizeof(lo));
}

static bool has_gid(struct ibv_context *ctx, const union ibv_gid *gid)
{
	struct ibv_port_attr port;
	union ibv_gid other;

	if (ibv_query_port(ctx, 1, &port))
		return false;
	for (int i = 0; i < port.gid_tbl_len; i++) {
		if (!ibv_query_gid(ctx, 1, i, &other) &&
		    !memcmp(other.raw, gid->raw, sizeof(gid->raw)))
			return true;
	}
	return false;
}

static struct sdp_dev *find_open(const union ibv_gid *gid)
{
	for (struct sdp_dev *dev = sdp_dev_first(); dev; dev = dev->next) {
		if (has_gid(dev->ctx, gid))
			return dev;
	}
	return NULL;
}

static int open_by_gid(const union ibv_gid *gid, struct sdp_dev **ret_dev)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int ret = -ENODEV;

	if (!list)
		return -errno;
	for (int i = 0; list[i] && ret == -ENODEV; i++) {
		ctx = ibv_open_device(list[i]);
		if (!ctx)
			continue;
		if (has_gid(ctx, gid))
			ret = dev_open(ctx, ret_dev);
		if (ret)
			ibv_close_device(ctx);
	}
	ibv_free_device_list(list);
	return ret;
}

int sdp_dev_by_addr(const struct sockaddr *addr, struct sdp_dev **ret_dev)
{
	union ibv_gid gid;
	int ret = 0;

	if (!gid_of(addr, &gid))
		return -ENODEV;
	gid_canonical(&gid);
	(void)sdp_verbs_way(); /* loads the drivers without a lock */
	util_lock(&process_lock);
	*ret_dev = find_open(&gid);
	if (!*ret_dev)
		ret = open_by_gid(&gid, ret_dev);
	util_unlock(&process_lock);
	return ret;
}

int sdp_dev_by_context(struct ibv_context *ctx, struct sdp_dev **ret_dev)
{
	struct sdp_dev *dev;
	int ret = 0;

	util_lock(&process_lock);
	for (dev = sdp_dev_first(); dev && dev->ctx != ctx; dev = dev->next)
		;
	if (dev)
		*ret_dev = dev;
	else
		ret = dev_open(ctx, ret_dev);
	util_unlock(&process_lock);
	return ret;
}

/* ---- sharing ---- */

int sdp_dev_grow(struct sdp_dev *dev, uint32_t sq_depth)
{
	uint32_t srq = srq_want(dev, dev->link_cnt + 1);
	uint64_t need = (uint64_t)dev->sq_total + sq_depth + srq;

	/* Links that have received a part of a message must not hold all
	 * receives. */
	if (need > (uint32_t)dev->attr.max_cqe || srq <= dev->link_cnt + 1)
		return -ENOMEM;
	if (need > dev->cqe_cnt) {
		uint32_t cnt = min32((uint32_t)(2 * need),
				     (uint32_t)dev->attr.max_cqe);
		int ret = ibv_resize_cq(dev->cq, (int)cnt);

		if (ret)
			return -ret;
		dev->cqe_cnt = (uint32_t)dev->cq->cqe;
	}
	dev->link_cnt++;
	dev->sq_total += sq_depth;
	dev->srq_target = srq;
	sdp_dev_refill(dev);
	return dev->srq_posted ? 0 : -ENOMEM;
}

void sdp_dev_shrink(struct sdp_dev *dev, uint32_t sq_depth)
{
	dev->link_cnt--;
	dev->sq_total -= sq_depth;
	dev->srq_target = srq_want(dev, dev->link_cnt);
}

void sdp_dev_refill(struct sdp_dev *dev)
{
	struct ibv_recv_wr *first = NULL, **end = &first, *bad = NULL;
	uint32_t cnt = 0;

	while (dev->srq_posted + cnt < dev->srq_target) {
		struct sdp_pbuf *buf = sdp_pool_get(&dev->pool);

		if (!buf)
			break; /* the next pass tries again */
		buf->sge.length = dev->pool.buf_size;
		*end = &buf->wr;
		end = &buf->wr.next;
		cnt++;
	}
	if (!cnt)
		return;
	*end = NULL;
	dev->srq_posted += cnt;
	if (!ibv_post_srq_recv(dev->srq, first, &bad))
		return;
	while (bad) {
		struct ibv_recv_wr *next = bad->next;

		dev->srq_posted--;
		sdp_pool_put(&dev->pool,
			     (struct sdp_pbuf *)(uintptr_t)bad->wr_id);
		bad = next;
	}
}

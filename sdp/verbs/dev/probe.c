/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Finds the verbs devices and the way to connect on them. */
#include "probe.h"

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "util/device-name.h"
#include "usiwdv.h"
#include "util/env.h"
#include "util/log.h"
#include "verbs/way.h"

static pthread_once_t probe_once = PTHREAD_ONCE_INIT;
static enum sdp_way way;
/* Objects of rdma_cm exist in this process. */
static _Atomic bool has_used_cm;

static bool is_usiw(struct ibv_device *device)
{
	return util_device_name_is_ours(ibv_get_device_name(device));
}

/* SDP here is for iWARP. It was never tested on RoCE and InfiniBand. */
static bool is_iwarp(struct ibv_device *device)
{
	return device->transport_type == IBV_TRANSPORT_IWARP;
}

static void (*fork_prepare)(void);
static void (*fork_parent)(void);

void sdp_verbs_at_fork(void (*prepare)(void), void (*parent)(void))
{
	fork_prepare = prepare;
	fork_parent = parent;
}

/* The first call loads all drivers. */
static void probe(void)
{
	bool is_by_cm = util_settings()->sdp_carrier == UTIL_SDP_CARRIER_CM;
	struct ibv_device **list = ibv_get_device_list(NULL);
	bool has_fd = false, has_cm = false;

	if (!list)
		return;
	if (fork_prepare &&
	    pthread_atfork(fork_prepare, fork_parent, NULL) != 0) {
		util_err("sdp", "no memory: this program uses TCP only");
		ibv_free_device_list(list);
		return;
	}
	for (int i = 0; list[i]; i++) {
		has_fd |= is_usiw(list[i]);
		has_cm |= is_usiw(list[i]) ? is_by_cm : is_iwarp(list[i]);
	}
	ibv_free_device_list(list);
	has_fd &= !is_by_cm && sdp_usiwdv_symbol("usiwdv_qp_attach_fd");
	way = has_fd ? SDP_WAY_FD : has_cm ? SDP_WAY_CM : SDP_WAY_NONE;
}

enum sdp_way sdp_verbs_way(void)
{
	pthread_once(&probe_once, probe);
	return way;
}

void sdp_probe_use_cm(void)
{
	atomic_store_explicit(&has_used_cm, true, memory_order_relaxed);
}

void sdp_probe_fork_child(void)
{
	/* relaxed: the child has one thread */
	if (way == SDP_WAY_CM &&
	    atomic_load_explicit(&has_used_cm, memory_order_relaxed))
		way = SDP_WAY_NONE;
}

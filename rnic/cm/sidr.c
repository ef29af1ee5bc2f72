/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Requests for the QP of a service: made, found, sent, freed. */
#include "sidr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mad.h"

#define FULL_NS (10 * NS_PER_MS)
#define FULL_MAX 100u
#define BURST_MAX 8u

static struct cm_sidr_list *sidr_list(uint32_t request_id)
{
	return &cm.sidrs[request_id % CM_SIDR_LISTS];
}

void cm_sidr_release(struct cm_sidr *sidr)
{
	rnic_timer_stop(&sidr->timer);
	cm_mads_release(&sidr->has_mads);
}

int cm_sidr_new(struct cm_id *id, struct cm_sidr **ret_sidr)
{
	struct cm_sidr *sidr = calloc(1, sizeof(*sidr));
	int ret;

	if (!sidr)
		return -ENOMEM;
	ret = cm_mads_hold(&sidr->has_mads);
	if (ret < 0) {
		free(sidr);
		return ret;
	}
	sidr->id = id;
	id->ud.sidr = sidr;
	*ret_sidr = sidr;
	return 0;
}

void cm_sidr_add(struct cm_sidr *sidr)
{
	LIST_INSERT_HEAD(sidr_list(sidr->request_id), sidr, link);
	sidr->is_listed = true;
}

void cm_sidr_forget(struct cm_sidr *sidr)
{
	if (!sidr)
		return;
	free(sidr->outcome);
	free(sidr);
}

void cm_sidr_free(struct cm_sidr *sidr)
{
	if (!sidr)
		return;
	cm_sidr_release(sidr);
	if (sidr->is_listed)
		LIST_REMOVE(sidr, link);
	sidr->id->ud.sidr = NULL;
	cm_sidr_forget(sidr);
}

static bool gid_is_equal(const struct sib_gid *a, const struct sib_gid *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

struct cm_sidr *cm_sidr_find(bool is_asker, uint32_t request_id, uint64_t tid,
			     const struct sib_gid *peer)
{
	struct cm_sidr *sidr;

	LIST_FOREACH(sidr, sidr_list(request_id), link)
	{
		if (sidr->is_asker == is_asker &&
		    sidr->request_id == request_id && sidr->tid == tid &&
		    gid_is_equal(&sidr->way.path.dst, peer))
			break;
	}
	return sidr;
}

/*
 * At another host a process hands each on by a socket that has room for eleven
 * (net.unix.max_dgram_qlen).  What is lost there comes again after seconds.
 */
static bool sidr_may_send(const struct cm_sidr *sidr)
{
	uint64_t now_ns = util_now_ns();

	if (sidr->way.is_own)
		return true;
	if (now_ns >= cm.mads.burst_ns) {
		cm.mads.burst_ns = now_ns + FULL_NS;
		cm.mads.burst_cnt = 0;
	}
	return cm.mads.burst_cnt++ < BURST_MAX;
}

int cm_sidr_send(struct cm_sidr *sidr)
{
	bool is_sent = sidr_may_send(sidr);
	int ret = is_sent ? cm_mad_send(&sidr->way, &sidr->name, sidr->mad)
			  : -EAGAIN;

	if (ret == -EAGAIN && sidr->full_cnt < FULL_MAX) {
		sidr->full_cnt += is_sent;
		rnic_timer_start(&sidr->timer, RNIC_TIMER_CM_SIDR_FULL,
				 FULL_NS);
		return -EAGAIN;
	}
	sidr->full_cnt = 0;
	return ret == -ECONNREFUSED ? ret : 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* QPs that wait for a peer without rdma_cm: who dials, when again, how long. */
#include "rdv-internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cancel.h"
#include "../util/log.h"
#include "cm-internal.h"
#include "context.h"
#include "engine.h"
#include "fd.h"
#include "qp-num.h"
#include "qp.h"

#define RDV_BUCKETS 1024u

/* How often those that have a time limit are looked at. */
#define RDV_TICK_NS (50 * NS_PER_MS)

/*
 * Pauses between tries: the peer's application is mostly as far as ours within
 * a moment; one that takes longer is waited for at leisure.
 */
static const struct {
	uint32_t try_cnt; /* the pause of the tries below that */
	uint64_t pause_ns;
} pauses[] = {
	{ 16, 1 * NS_PER_MS },
	{ 48, 5 * NS_PER_MS },
	{ 128, 20 * NS_PER_MS },
	{ UINT32_MAX, 100 * NS_PER_MS },
};

#define PAUSE_CNT (sizeof(pauses) / sizeof(pauses[0]))

static struct {
	struct rdv *bucket[RDV_BUCKETS];
	struct rdv_list all;
	struct rdv_list redial[PAUSE_CNT]; /* each by redial_ns */
	uint64_t tick_ns;		   /* 0: nobody has a time limit */
	bool is_ready;
} rdvs; /* guarded by the manager's lock */

static void rdvs_init(void)
{
	if (rdvs.is_ready)
		return;
	TAILQ_INIT(&rdvs.all);
	for (size_t i = 0; i < PAUSE_CNT; i++)
		TAILQ_INIT(&rdvs.redial[i]);
	rdvs.is_ready = true;
}

struct rdv *rdv_find(uint32_t num)
{
	struct rdv *rdv = rdvs.bucket[num % RDV_BUCKETS];

	while (rdv && rdv->num != num)
		rdv = rdv->hash_next;
	return rdv;
}

/* ---- the next try ------------------------------------------------------- */

static size_t rdv_pause(const struct rdv *rdv)
{
	size_t i = 0;

	while (rdv->try_cnt >= pauses[i].try_cnt && i < PAUSE_CNT - 1)
		i++;
	return i;
}

void rdv_try_again(struct rdv *rdv)
{
	size_t pause = rdv_pause(rdv);

	rdv->redial_ns = rnic_now_ns() + pauses[pause].pause_ns;
	TAILQ_INSERT_TAIL(&rdvs.redial[pause], rdv, redial_link);
	cm_thread_deadline(rdv->redial_ns);
}

static void rdv_redial_end(struct rdv *rdv)
{
	if (!rdv->redial_ns)
		return;
	TAILQ_REMOVE(&rdvs.redial[rdv_pause(rdv)], rdv, redial_link);
	rdv->redial_ns = 0;
}

/* ---- begin and end ------------------------------------------------------ */

static void gid_to_addr(const uint8_t gid[16], uint32_t ifindex, uint16_t port,
			struct sockaddr_storage *ret_addr)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(port) };

	memcpy(&in6.sin6_addr, gid, sizeof(in6.sin6_addr));
	if (IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr))
		in6.sin6_scope_id = ifindex;
	memset(ret_addr, 0, sizeof(*ret_addr));
	memcpy(ret_addr, &in6, sizeof(in6));
	cm_addr_unmap(ret_addr);
}

static bool gid_is_zero(const uint8_t gid[16])
{
	static const uint8_t zero[16];

	return memcmp(gid, zero, sizeof(zero)) == 0;
}

/* The greater (address, number) dials. */
static bool rdv_dials(const struct rdv *rdv, const uint8_t own_gid[16])
{
	int order = memcmp(own_gid, rdv->opt.dgid, 16);

	return order > 0 || (order == 0 && rdv->num > rdv->dest_num);
}

static int rdv_new(struct rnic_qp *qp, const struct rnic_rdv_options *opt,
		   struct rdv **ret_rdv)
{
	struct rnic_device_attr dev;
	struct rdv *rdv;
	int rc = rnic_device_query(qp->ctx->dev, &dev);

	if (rc < 0)
		return rc;
	if (opt->gid_idx >= dev.gid_cnt || gid_is_zero(dev.gid[opt->gid_idx]) ||
	    gid_is_zero(opt->dgid) || opt->dest_num > RNIC_QP_NUM_MASK ||
	    !rnic_qp_num_port(opt->dest_num))
		return -EINVAL;
	rdv = calloc(1, sizeof(*rdv));
	if (!rdv)
		return -ENOMEM;
	rdv->qp = qp;
	rdv->num = qp->num;
	rdv->dest_num = opt->dest_num;
	rdv->opt = *opt;
	rdv->rnr_retry = RDV_RNR_RETRY_UNKNOWN;
	gid_to_addr(dev.gid[opt->gid_idx], dev.ifindex, 0, &rdv->local);
	gid_to_addr(opt->dgid, dev.ifindex, rnic_qp_num_port(opt->dest_num),
		    &rdv->peer);
	rdv->is_dialler = rdv_dials(rdv, dev.gid[opt->gid_idx]);
	if (rdv->is_dialler &&
	    util_sys_getrandom(&rdv->nonce, sizeof(rdv->nonce)) !=
		    sizeof(rdv->nonce))
		rdv->nonce = rnic_now_ns() ^ (uintptr_t)rdv;
	*ret_rdv = rdv;
	return 0;
}

static void rdv_list_add(struct rdv *rdv)
{
	struct rdv **bucket = &rdvs.bucket[rdv->num % RDV_BUCKETS];

	rdv->hash_next = *bucket;
	*bucket = rdv;
	TAILQ_INSERT_TAIL(&rdvs.all, rdv, all_link);
}

void rdv_free(struct rdv *rdv)
{
	struct rdv **where = &rdvs.bucket[rdv->num % RDV_BUCKETS];

	while (*where != rdv)
		where = &(*where)->hash_next;
	*where = rdv->hash_next;
	TAILQ_REMOVE(&rdvs.all, rdv, all_link);
	rdv_redial_end(rdv);
	if (rdv->link)
		rdv_link_free(rdv->link);
	free(rdv);
}

/* The port accepts from the first QP on that waits to be dialled. */
static int rdv_listen(const struct rdv *rdv)
{
	bool is_new = false;
	int fd = rnic_qp_num_listen(rdv->num, &is_new);

	if (fd < 0)
		return fd;
	if (!is_new)
		return 0;
	return rdv_link_listen(fd, rdv->num, false);
}

/* @fd: of a dialler, what rdv_link_connect() answered. */
static int rdv_begin(struct rdv *rdv, int fd)
{
	bool is_self = rdv->num == rdv->dest_num &&
		       cm_addr_is_same_host(&rdv->local, &rdv->peer);
	int rc = cm_thread_start();

	if (rc == 0 && !rdv->is_dialler && !is_self)
		rc = rdv_listen(rdv);
	if (rc == 0)
		rc = rnic_qp_connecting(rdv->qp);
	if (rc == 0 && is_self) {
		rc = rdv_link_self(rdv);
		if (rc < 0)
			rnic_qp_not_connecting(rdv->qp);
	}
	if (rc < 0 || is_self) {
		rnic_fd_close(fd);
		free(rdv);
		return rc;
	}
	rdv_list_add(rdv);
	if (rdv->is_dialler)
		rdv_link_dial(rdv, fd);
	else
		rdv_link_take_parked(rdv);
	return 0;
}

int rnic_qp_rendezvous(struct rnic_qp *qp, const struct rnic_rdv_options *opt)
{
	struct rdv *rdv;
	int rc = rdv_new(qp, opt, &rdv);
	int fd = -1;

	if (rc < 0)
		return rc;
	/* Before the lock: meanwhile the manager's thread serves the peers of
	 * those that were dialled before. */
	if (rdv->is_dialler)
		fd = rdv_link_connect(rdv);
	util_lock(&cm.lock);
	rdvs_init();
	qp->is_told = true;
	rc = rdv_begin(rdv, fd);
	util_unlock(&cm.lock);
	return rc;
}

void rnic_qp_rendezvous_send(struct rnic_qp *qp,
			     const struct rnic_rdv_send_options *opt)
{
	struct rdv *rdv;

	rnic_qp_may_send(qp, opt->ord, opt->patience_ns);
	util_lock(&cm.lock);
	rdv = qp->is_told ? rdv_find(qp->num) : NULL;
	if (rdv) {
		rdv->rnr_retry = opt->rnr_retry;
		rdv->patience_ns = opt->patience_ns;
		rdv->deadline_ns =
			opt->patience_ns ? rnic_now_ns() + opt->patience_ns : 0;
		if (rdv->deadline_ns && !rdvs.tick_ns) {
			rdvs.tick_ns = rnic_now_ns() + RDV_TICK_NS;
			cm_thread_deadline(rdvs.tick_ns);
		}
	}
	util_unlock(&cm.lock);
}

void rnic_rdv_cancel(struct rnic_qp *qp)
{
	struct rdv *rdv;

	if (!qp->is_told)
		return;
	util_lock(&cm.lock);
	rdv = rdv_find(qp->num);
	if (rdv)
		rdv_free(rdv);
	util_unlock(&cm.lock);
}

/* ---- deadlines ---------------------------------------------------------- */

/*
 * Patience counts for work only: who has posted nothing may wait for ever, as
 * a hardware's QP would.
 */
static void rdv_look_at_clock(struct rdv *rdv, uint64_t now_ns)
{
	if (!rdv->deadline_ns || rdv->deadline_ns > now_ns)
		return;
	if (!rnic_qp_give_up(rdv->qp)) {
		rdv->deadline_ns = now_ns + rdv->patience_ns;
		return;
	}
	util_warn("rnic",
		  "qp 0x%06x: no connection with qp 0x%06x within %u ms: "
		  "retries exhausted",
		  rdv->num, rdv->dest_num,
		  (unsigned int)(rdv->patience_ns / NS_PER_MS));
	rdv_free(rdv);
}

static void rdvs_tick(uint64_t now_ns)
{
	struct rdv *rdv, *next;

	rdvs.tick_ns = 0;
	for (rdv = TAILQ_FIRST(&rdvs.all); rdv; rdv = next) {
		next = TAILQ_NEXT(rdv, all_link);
		if (rdv->deadline_ns)
			rdvs.tick_ns = now_ns + RDV_TICK_NS;
		rdv_look_at_clock(rdv, now_ns);
	}
}

void rnic_rdv_fire(uint64_t now_ns)
{
	struct rdv *rdv;

	if (!rdvs.is_ready)
		return;
	rdv_links_fire(now_ns);
	for (size_t i = 0; i < PAUSE_CNT; i++) {
		while ((rdv = TAILQ_FIRST(&rdvs.redial[i])) &&
		       rdv->redial_ns <= now_ns) {
			rdv_redial_end(rdv);
			rdv->try_cnt++;
			rdv_link_dial(rdv, rdv_link_connect(rdv));
		}
	}
	if (rdvs.tick_ns && rdvs.tick_ns <= now_ns)
		rdvs_tick(now_ns);
}

uint64_t rnic_rdv_next_ns(void)
{
	uint64_t next = UINT64_MAX;

	if (!rdvs.is_ready)
		return next;
	next = rdv_links_next_ns();
	for (size_t i = 0; i < PAUSE_CNT; i++) {
		const struct rdv *rdv = TAILQ_FIRST(&rdvs.redial[i]);

		if (rdv && rdv->redial_ns < next)
			next = rdv->redial_ns;
	}
	if (rdvs.tick_ns && rdvs.tick_ns < next)
		next = rdvs.tick_ns;
	return next;
}

/* ---- process ------------------------------------------------------------ */

void rnic_rdv_close_all(void)
{
	struct rdv *rdv;

	if (!rdvs.is_ready)
		return;
	while ((rdv = TAILQ_FIRST(&rdvs.all)))
		rdv_free(rdv);
	rdv_links_close_all();
}

void rnic_rdv_fork_child(void)
{
	memset(&rdvs, 0, sizeof(rdvs));
	rdv_links_forget();
}

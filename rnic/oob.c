/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* QPs that wait for a peer without rdma_cm: who dials, when again, how long. */
#include "oob-internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cancel.h"
#include "../util/log.h"
#include "cm-internal.h"
#include "mem/context.h"
#include "engine/engine.h"
#include "os/fd.h"
#include "qp-num.h"
#include "qp.h"

#define OOB_BUCKETS 1024u

/* How often those that have a time limit are looked at. */
#define OOB_TICK_NS (50 * NS_PER_MS)

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
	struct oob *bucket[OOB_BUCKETS];
	struct oob_list all;
	struct oob_list redial[PAUSE_CNT]; /* each by redial_ns */
	uint64_t tick_ns;		   /* 0: nobody has a time limit */
	bool is_ready;
} oobs; /* guarded by the manager's lock */

static void oobs_init(void)
{
	if (oobs.is_ready)
		return;
	TAILQ_INIT(&oobs.all);
	for (size_t i = 0; i < PAUSE_CNT; i++)
		TAILQ_INIT(&oobs.redial[i]);
	oobs.is_ready = true;
}

struct oob *oob_find(uint32_t num)
{
	struct oob *oob = oobs.bucket[num % OOB_BUCKETS];

	while (oob && oob->num != num)
		oob = oob->hash_next;
	return oob;
}

/* ---- the next try ------------------------------------------------------- */

static size_t oob_pause(const struct oob *oob)
{
	size_t i = 0;

	while (oob->try_cnt >= pauses[i].try_cnt && i < PAUSE_CNT - 1)
		i++;
	return i;
}

void oob_try_again(struct oob *oob)
{
	size_t pause = oob_pause(oob);

	oob->redial_ns = rnic_now_ns() + pauses[pause].pause_ns;
	TAILQ_INSERT_TAIL(&oobs.redial[pause], oob, redial_link);
	cm_thread_deadline(oob->redial_ns);
}

static void oob_redial_end(struct oob *oob)
{
	if (!oob->redial_ns)
		return;
	TAILQ_REMOVE(&oobs.redial[oob_pause(oob)], oob, redial_link);
	oob->redial_ns = 0;
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
static bool oob_dials(const struct oob *oob, const uint8_t own_gid[16])
{
	int order = memcmp(own_gid, oob->opt.dgid, 16);

	return order > 0 || (order == 0 && oob->num > oob->dest_num);
}

static int oob_new(struct rnic_qp *qp, const struct rnic_oob_options *opt,
		   struct oob **ret_oob)
{
	struct rnic_device_attr dev;
	struct oob *oob;
	int rc = rnic_device_query(qp->ctx->dev, &dev);

	if (rc < 0)
		return rc;
	if (opt->gid_idx >= dev.gid_cnt || gid_is_zero(dev.gid[opt->gid_idx]) ||
	    gid_is_zero(opt->dgid) || opt->dest_num > RNIC_QP_NUM_MASK ||
	    !rnic_qp_num_port(opt->dest_num))
		return -EINVAL;
	oob = calloc(1, sizeof(*oob));
	if (!oob)
		return -ENOMEM;
	oob->qp = qp;
	oob->num = qp->num;
	oob->dest_num = opt->dest_num;
	oob->opt = *opt;
	oob->rnr_retry = OOB_RNR_RETRY_UNKNOWN;
	gid_to_addr(dev.gid[opt->gid_idx], dev.ifindex, 0, &oob->local);
	gid_to_addr(opt->dgid, dev.ifindex, rnic_qp_num_port(opt->dest_num),
		    &oob->peer);
	oob->is_dialler = oob_dials(oob, dev.gid[opt->gid_idx]);
	if (oob->is_dialler &&
	    util_sys_getrandom(&oob->nonce, sizeof(oob->nonce)) !=
		    sizeof(oob->nonce))
		oob->nonce = rnic_now_ns() ^ (uintptr_t)oob;
	*ret_oob = oob;
	return 0;
}

static void oob_list_add(struct oob *oob)
{
	struct oob **bucket = &oobs.bucket[oob->num % OOB_BUCKETS];

	oob->hash_next = *bucket;
	*bucket = oob;
	TAILQ_INSERT_TAIL(&oobs.all, oob, all_link);
}

void oob_free(struct oob *oob)
{
	struct oob **where = &oobs.bucket[oob->num % OOB_BUCKETS];

	while (*where != oob)
		where = &(*where)->hash_next;
	*where = oob->hash_next;
	TAILQ_REMOVE(&oobs.all, oob, all_link);
	oob_redial_end(oob);
	if (oob->link)
		oob_link_free(oob->link);
	free(oob);
}

/* The port accepts from the first QP on that waits to be dialled. */
static int oob_listen(const struct oob *oob)
{
	bool is_new = false;
	int fd = rnic_qp_num_listen(oob->num, &is_new);

	if (fd < 0)
		return fd;
	if (!is_new)
		return 0;
	return oob_link_listen(fd, oob->num, false);
}

/* @fd: of a dialler, what oob_link_connect() answered. */
static int oob_begin(struct oob *oob, int fd)
{
	bool is_self = oob->num == oob->dest_num &&
		       cm_addr_is_same_host(&oob->local, &oob->peer);
	int rc = cm_thread_start();

	if (rc == 0 && !oob->is_dialler && !is_self)
		rc = oob_listen(oob);
	if (rc == 0)
		rc = rnic_qp_connecting(oob->qp);
	if (rc == 0 && is_self) {
		rc = oob_link_self(oob);
		if (rc < 0)
			rnic_qp_not_connecting(oob->qp);
	}
	if (rc < 0 || is_self) {
		rnic_fd_close(fd);
		free(oob);
		return rc;
	}
	oob_list_add(oob);
	if (oob->is_dialler)
		oob_link_dial(oob, fd);
	else
		oob_link_take_parked(oob);
	return 0;
}

int rnic_qp_oob(struct rnic_qp *qp, const struct rnic_oob_options *opt)
{
	struct oob *oob;
	int rc = oob_new(qp, opt, &oob);
	int fd = -1;

	if (rc < 0)
		return rc;
	/* Before the lock: meanwhile the manager's thread serves the peers of
	 * those that were dialled before. */
	if (oob->is_dialler)
		fd = oob_link_connect(oob);
	util_lock(&cm.lock);
	oobs_init();
	qp->is_told = true;
	rc = oob_begin(oob, fd);
	util_unlock(&cm.lock);
	return rc;
}

void rnic_qp_oob_send(struct rnic_qp *qp,
		      const struct rnic_oob_send_options *opt)
{
	struct oob *oob;

	rnic_qp_may_send(qp, opt->ord, opt->retry_ns);
	util_lock(&cm.lock);
	oob = qp->is_told ? oob_find(qp->num) : NULL;
	if (oob) {
		oob->rnr_retry = opt->rnr_retry;
		oob->retry_ns = opt->retry_ns;
		oob->deadline_ns = opt->retry_ns ? rnic_now_ns() + opt->retry_ns
						 : 0;
		if (oob->deadline_ns && !oobs.tick_ns) {
			oobs.tick_ns = rnic_now_ns() + OOB_TICK_NS;
			cm_thread_deadline(oobs.tick_ns);
		}
	}
	util_unlock(&cm.lock);
}

void rnic_oob_cancel(struct rnic_qp *qp)
{
	struct oob *oob;

	if (!qp->is_told)
		return;
	util_lock(&cm.lock);
	oob = oob_find(qp->num);
	if (oob)
		oob_free(oob);
	util_unlock(&cm.lock);
}

/* ---- deadlines ---------------------------------------------------------- */

/*
 * The time counts for work only: a QP without any may wait for ever, as that
 * of hardware would.
 */
static void oob_look_at_clock(struct oob *oob, uint64_t now_ns)
{
	if (!oob->deadline_ns || oob->deadline_ns > now_ns)
		return;
	if (!rnic_qp_give_up(oob->qp)) {
		oob->deadline_ns = now_ns + oob->retry_ns;
		return;
	}
	util_warn("rnic",
		  "qp 0x%06x: no connection with qp 0x%06x within %u ms: "
		  "retries exhausted",
		  oob->num, oob->dest_num,
		  (unsigned int)(oob->retry_ns / NS_PER_MS));
	oob_free(oob);
}

static void oobs_tick(uint64_t now_ns)
{
	struct oob *oob, *next;

	oobs.tick_ns = 0;
	for (oob = TAILQ_FIRST(&oobs.all); oob; oob = next) {
		next = TAILQ_NEXT(oob, all_link);
		if (oob->deadline_ns)
			oobs.tick_ns = now_ns + OOB_TICK_NS;
		oob_look_at_clock(oob, now_ns);
	}
}

void rnic_oob_fire(uint64_t now_ns)
{
	struct oob *oob;

	if (!oobs.is_ready)
		return;
	oob_links_fire(now_ns);
	for (size_t i = 0; i < PAUSE_CNT; i++) {
		while ((oob = TAILQ_FIRST(&oobs.redial[i])) &&
		       oob->redial_ns <= now_ns) {
			oob_redial_end(oob);
			oob->try_cnt++;
			oob_link_dial(oob, oob_link_connect(oob));
		}
	}
	if (oobs.tick_ns && oobs.tick_ns <= now_ns)
		oobs_tick(now_ns);
}

uint64_t rnic_oob_next_ns(void)
{
	uint64_t next = UINT64_MAX;

	if (!oobs.is_ready)
		return next;
	next = oob_links_next_ns();
	for (size_t i = 0; i < PAUSE_CNT; i++) {
		const struct oob *oob = TAILQ_FIRST(&oobs.redial[i]);

		if (oob && oob->redial_ns < next)
			next = oob->redial_ns;
	}
	if (oobs.tick_ns && oobs.tick_ns < next)
		next = oobs.tick_ns;
	return next;
}

/* ---- process ------------------------------------------------------------ */

void rnic_oob_close_all(void)
{
	struct oob *oob;

	if (!oobs.is_ready)
		return;
	while ((oob = TAILQ_FIRST(&oobs.all)))
		oob_free(oob);
	oob_links_close_all();
}

void rnic_oob_fork_child(void)
{
	memset(&oobs, 0, sizeof(oobs));
	oob_links_forget();
}

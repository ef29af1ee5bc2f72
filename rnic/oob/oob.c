/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connection out of band: begun, given up, and its deadlines. */
#include "oob.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "util/cancel.h"
#include "util/log.h"
#include "util/reason.h"
#include "link.h"
#include "loop/loop.h"
#include "os/addr.h"
#include "os/fd.h"
#include "qp/qp-num.h"
#include "qp/qp.h"
#include "qp/modify.h"
#include "wait.h"

/* How often those that have a time limit are looked at. */
#define OOB_TICK_NS (50 * NS_PER_MS)

/* The loop's lock; runs while a QP has a time limit. */
static struct rnic_timer tick;

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
	rnic_addr_unmap(ret_addr);
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

#define MODIFY "ibv_modify_qp"

static int oob_check(const struct rnic_device_attr *dev,
		     const struct rnic_oob_options *opt)
{
	if (opt->gid_idx >= dev->gid_cnt || gid_is_zero(dev->gid[opt->gid_idx]))
		return util_refuse("verbs", EINVAL, MODIFY,
				   "ah_attr.grh.sgid_index is %u: the device "
				   "has no such GID",
				   opt->gid_idx);
	if (gid_is_zero(opt->dgid))
		return util_refuse("verbs", EINVAL, MODIFY,
				   "ah_attr.grh.dgid is 0, no address");
	if (opt->dest_num > RNIC_QP_NUM_MASK ||
	    !rnic_qp_num_port(opt->dest_num))
		return util_refuse(
			"verbs", EINVAL, MODIFY,
			"dest_qp_num is 0x%x, a number that no QP of "
			"usiw has",
			opt->dest_num);
	return 0;
}

static int oob_new(struct rnic_qp *qp, const struct rnic_oob_options *opt,
		   struct oob **ret_oob)
{
	struct rnic_device_attr dev;
	struct oob *oob;
	int rc = rnic_device_query(qp->ctx->dev, &dev);

	if (rc < 0)
		return util_refuse("verbs", -rc, MODIFY,
				   "the interfaces cannot be listed by "
				   "rtnetlink");
	rc = oob_check(&dev, opt);
	if (rc < 0)
		return rc;
	oob = calloc(1, sizeof(*oob));
	if (!oob)
		return util_refuse_memory("verbs", MODIFY);
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
		oob->nonce = util_now_ns() ^ (uintptr_t)oob;
	*ret_oob = oob;
	return 0;
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

static int oob_connect_self(struct oob *oob)
{
	int rc = oob_link_self(oob);

	if (rc == 0)
		return 0;
	rnic_qp_not_connecting(oob->qp);
	return util_refuse("verbs", -rc, MODIFY,
			   "QP 0x%06x cannot be connected with itself",
			   oob->num);
}

/* @fd: of a dialler, what oob_link_connect() answered. */
static int oob_begin(struct oob *oob, int fd)
{
	bool is_self = oob->num == oob->dest_num &&
		       rnic_addr_is_same_host(&oob->local, &oob->peer);
	int rc = rnic_loop_start();

	if (rc == 0 && !oob->is_dialler && !is_self)
		rc = oob_listen(oob);
	if (rc < 0)
		rc = util_refuse("verbs", -rc, MODIFY,
				 "the thread that connects cannot start, or "
				 "QP 0x%06x has no TCP port to listen on",
				 oob->num);
	else if (!rnic_qp_connecting(oob->qp, oob->dest_num, &oob->local,
				     &oob->peer))
		rc = util_refuse("verbs", EINVAL, MODIFY,
				 "QP 0x%06x is connected, or has failed",
				 oob->num);
	else if (is_self)
		rc = oob_connect_self(oob);
	if (rc < 0 || is_self) {
		rnic_fd_close(fd);
		free(oob);
		return rc;
	}
	oob_add(oob);
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
	UTIL_LOCKED(&rnic_loop.lock);
	qp->is_told = true;
	return oob_begin(oob, fd);
}

void rnic_qp_oob_send(struct rnic_qp *qp,
		      const struct rnic_oob_send_options *opt)
{
	struct oob *oob;

	rnic_qp_may_send(qp, opt);
	UTIL_LOCKED(&rnic_loop.lock);
	oob = qp->is_told ? oob_find(qp->num) : NULL;
	if (!oob)
		return;
	oob->rnr_retry = opt->rnr_retry;
	oob->retry_ns = opt->retry_ns;
	oob->deadline_ns = opt->retry_ns ? util_now_ns() + opt->retry_ns : 0;
	if (oob->deadline_ns && !rnic_timer_runs(&tick))
		rnic_timer_start(&tick, RNIC_TIMER_OOB_TICK, OOB_TICK_NS);
}

void rnic_oob_cancel(struct rnic_qp *qp)
{
	struct oob *oob;

	if (!qp->is_told)
		return;
	util_lock(&rnic_loop.lock);
	oob = oob_find(qp->num);
	if (oob)
		oob_free(oob);
	util_unlock(&rnic_loop.lock);
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
		  "%s: no connection with qp 0x%06x within %u ms: retries "
		  "exhausted",
		  OOB_NAME(oob), oob->dest_num,
		  (unsigned int)(oob->retry_ns / NS_PER_MS));
	oob_free(oob);
}

void rnic_oob_tick(struct rnic_timer *timer)
{
	uint64_t now_ns = util_now_ns();
	struct oob *oob, *next;

	for (oob = oob_first(); oob; oob = next) {
		next = LIST_NEXT(oob, all_link);
		if (oob->deadline_ns)
			rnic_timer_start(timer, RNIC_TIMER_OOB_TICK,
					 OOB_TICK_NS);
		oob_look_at_clock(oob, now_ns);
	}
}

void rnic_oob_redial(struct rnic_timer *redial)
{
	struct oob *oob = RNIC_OWNER(redial, struct oob, redial);

	oob->try_cnt++;
	oob_link_dial(oob, oob_link_connect(oob));
}

/* ---- process ------------------------------------------------------------ */

void rnic_oob_close_all(void)
{
	struct oob *oob;

	while ((oob = oob_first()))
		oob_free(oob);
}

void rnic_oob_fork_child(void)
{
	oob_wait_forget();
	tick.list = RNIC_TIMER_NONE;
	oob_links_fork_child();
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The TCP connections of QPs that connect out of band: dialled, accepted,
 * parked, attached. */
#include "link.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "util/env.h"
#include "util/log.h"
#include "frame.h"
#include "loop/loop.h"
#include "os/addr.h"
#include "os/fd.h"
#include "os/stat.h"
#include "os/tcp.h"
#include "qp/qp-num.h"
#include "qp/qp-table.h"
#include "qp/rnr.h"
#include "qp/transport.h"
#include "start/accept.h"
#include "start/dial.h"
#include "wait.h"

/* How long a peer waits here for a QP that is not as far, before it has to
 * dial again; and how many may. */
#define LINK_PARK_NS (10000 * NS_PER_MS)
#define LINK_PARK_MAX 4096u

/* ---- the object --------------------------------------------------------- */

/* Every change of a link's phase is here.  STARTING is within the time limit of
 * what was before it. */
static void link_enter(struct oob_link *link, enum oob_link_phase phase)
{
	link->phase = phase;
	if (phase == OOB_LINK_PARKED)
		rnic_timer_start(&link->start.timer, RNIC_TIMER_OOB_PARKED,
				 LINK_PARK_NS);
	else if (phase != OOB_LINK_STARTING)
		rnic_timer_start(&link->start.timer, RNIC_TIMER_OOB_STARTING,
				 util_settings()->start_ms * NS_PER_MS);
}

static struct oob_link *link_new(int fd, struct oob *oob)
{
	struct oob_link *link =
		rnic_start_new(sizeof(*link), RNIC_LOOP_OOB_LINK);

	if (!link)
		return NULL;
	link_enter(link, OOB_LINK_CONNECTING);
	link->start.fd = fd;
	link->oob = oob;
	if (oob)
		oob->link = link;
	return link;
}

void oob_link_free(struct oob_link *link)
{
	if (link->oob)
		link->oob->link = NULL;
	rnic_start_free(&link->start);
}

void oob_free(struct oob *oob)
{
	if (oob->link)
		oob_link_free(oob->link);
	oob_remove(oob);
}

/* It came to nothing: dial again, or take another that is parked. */
static void link_fail(struct oob_link *link)
{
	struct oob *oob = link->oob;

	oob_link_free(link);
	if (!oob)
		return;
	if (oob->is_dialler)
		oob_try_again(oob);
	else
		oob_link_take_parked(oob);
}

/* One READ more than the application's: ack.c's. */
static uint16_t depth_with_ack(uint32_t wanted, uint32_t set)
{
	return (uint16_t)(rnic_stream_depth_min(wanted, set) + 1u);
}

/* Return: 0; -errno. */
static int link_open(struct oob_link *link, enum smpa_role role, uint16_t ird,
		     const void *pd, size_t pd_len)
{
	struct smpa_options opt = SMPA_OPTIONS_INIT;

	rnic_stream_start_options(&link->start.peer, &opt);
	opt.role = role;
	opt.ird = ird;
	opt.ord = depth_with_ack(util_settings()->ord, UINT8_MAX);
	/* Either side may send first (RFC 6581 9): never without an RTR. */
	opt.rtr = SMPA_RTR_WRITE | SMPA_RTR_READ;
	opt.rev = 2;
	opt.rev0 = SMPA_REV0_REFUSE;
	opt.ird_max++;
	link_enter(link, OOB_LINK_STARTING);
	return rnic_start_open(&link->start, &opt, pd, pd_len);
}

/* ---- types of QPs -------------------------------------------------------- */

static const char *const type_names[] = {
	[RNIC_QPT_RC] = "RC",
	[RNIC_QPT_UC] = "UC",
};

static const char *type_name(unsigned int type)
{
	return type < sizeof(type_names) / sizeof(type_names[0])
		       ? type_names[type]
		       : "of a type that this usiw does not know";
}

/* Of the link's peer and of the QP. */
static bool types_agree(const struct oob_link *link, const struct oob *oob)
{
	return link->frame.type == oob->qp->transport->type;
}

static void mismatch_log(const struct oob_link *link, const struct oob *oob)
{
	util_warn("rnic",
		  "%s: it is %s, and cannot be connected with qp 0x%06x, which "
		  "is %s",
		  OOB_NAME(oob), type_name(oob->qp->transport->type),
		  oob->dest_num, type_name(link->frame.type));
}

/* ---- attaching ----------------------------------------------------------- */

/* The QP takes the stream; link and oob are gone. */
static void link_attach(struct oob_link *link)
{
	struct oob *oob = link->oob;
	int rc;

	rnic_rnr_set_time(oob->qp, oob->opt.min_rnr_timer,
			  link->frame.rnr_retry);
	rc = rnic_start_attach(&link->start, oob->qp, 0);
	if (rc < 0) {
		util_warn("rnic", "%s: connection dropped: %s", OOB_NAME(oob),
			  strerror(-rc));
		link_fail(link);
		return;
	}
	util_info("rnic", "%s: connected with qp 0x%06x", OOB_NAME(oob),
		  oob->dest_num);
	rnic_stat_add(oob->is_dialler ? RNIC_STAT_connects : RNIC_STAT_accepts,
		      1);
	oob_free(oob);
}

/* ---- dialling ----------------------------------------------------------- */

int oob_link_connect(const struct oob *oob)
{
	int fd = rnic_dial_open(&oob->local, oob->opt.tos);
	int rc = fd < 0 ? fd : rnic_dial_connect(fd, &oob->peer);

	if (rc == 0)
		return fd;
	rnic_fd_close(fd);
	return rc;
}

static void link_dialled(struct oob_link *link);
static void link_step(struct oob_link *link);

void oob_link_dial(struct oob *oob, int fd)
{
	struct oob_link *link;

	if (fd < 0) {
		if (!oob->try_cnt)
			util_warn("rnic", "%s: connecting: %s", OOB_NAME(oob),
				  strerror(-fd));
		oob_try_again(oob);
		return;
	}
	link = link_new(fd, oob);
	if (!link) {
		rnic_fd_close(fd);
		oob_try_again(oob);
		return;
	}
	link_dialled(link);
}

static void frame_fill(const struct oob *oob, uint64_t nonce,
		       uint8_t pd[OOB_FRAME_LEN])
{
	struct oob_frame frame = {
		.min_rnr_timer = oob->opt.min_rnr_timer,
		.rnr_retry = oob->rnr_retry,
		.type = (uint8_t)oob->qp->transport->type,
		.src_num = oob->num,
		.dst_num = oob->dest_num,
		.nonce = nonce,
	};

	oob_frame_encode(&frame, pd);
}

static int dial_start(struct oob_link *link)
{
	const struct oob *oob = link->oob;
	uint8_t pd[OOB_FRAME_LEN];

	frame_fill(oob, oob->nonce, pd);
	return link_open(link, SMPA_INITIATOR,
			 depth_with_ack(oob->opt.ird, util_settings()->ird), pd,
			 sizeof(pd));
}

/* Is it the Reply of the QP that was dialled, to this try? */
static bool reply_take(struct oob_link *link, const struct smpa_event *ev)
{
	const struct oob *oob = link->oob;
	struct oob_frame *frame = &link->frame;

	return oob_frame_decode(ev->start.pd, ev->start.pd_len, frame) == 0 &&
	       frame->src_num == oob->dest_num && frame->dst_num == oob->num &&
	       frame->nonce == oob->nonce;
}

static void link_established(struct oob_link *link, const struct smpa_event *ev)
{
	struct oob *oob = link->oob;

	if (!reply_take(link, ev) || !types_agree(link, oob)) {
		util_warn(
			"rnic",
			"%s: an unexpected peer answers in place of qp 0x%06x",
			OOB_NAME(oob), oob->dest_num);
		link_fail(link);
		return;
	}
	link_attach(link);
}

/* Types stay as they are: there is no other try. */
static void link_rejected(struct oob_link *link, const struct smpa_event *ev)
{
	struct oob *oob = link->oob;

	if (!oob || !reply_take(link, ev) || types_agree(link, oob)) {
		link_fail(link);
		return;
	}
	mismatch_log(link, oob);
	oob_link_free(link);
}

/* ---- accepting ---------------------------------------------------------- */

static bool link_is_for(const struct oob_link *link, const struct oob *oob)
{
	return !oob->is_dialler && link->frame.dst_num == oob->num &&
	       link->frame.src_num == oob->dest_num &&
	       rnic_addr_is_same_host(&link->start.peer, &oob->peer) &&
	       rnic_addr_is_same_host(&link->start.local, &oob->local);
}

/* Reply with R=1.  All input was read, so that close() sends FIN, not RST. */
static void link_reject(struct oob_link *link, const void *pd, size_t pd_len)
{
	struct smpa_event ev;

	rnic_stat_add(RNIC_STAT_rejects, 1);
	if (smpa_conn_reject(link->start.stream->conn, pd, pd_len) == 0)
		(void)rnic_start_step(&link->start, &ev);
	link_fail(link);
}

static void link_refuse(struct oob_link *link)
{
	util_warn("rnic",
		  "qp 0x%06x%s: an unexpected peer, qp 0x%06x, is refused",
		  link->frame.dst_num,
		  UTIL_ADDR_PAIR_TEXT(&link->start.local, &link->start.peer),
		  link->frame.src_num);
	link_reject(link, NULL, 0);
}

/* The Reply says which type this side has. */
static void link_refuse_type(struct oob_link *link, const struct oob *oob)
{
	uint8_t pd[OOB_FRAME_LEN];

	mismatch_log(link, oob);
	frame_fill(oob, link->frame.nonce, pd);
	link_reject(link, pd, sizeof(pd));
}

/*
 * The dialler may have gone meanwhile, and its FIN be still under way: the QP
 * gets the stream when the dialler has taken the Reply, which it says by its
 * RTR.  Until then a newer try may take the place of this one.
 */
static void link_accept(struct oob_link *link, struct oob *oob)
{
	uint8_t pd[OOB_FRAME_LEN];
	struct smpa_event ev;
	int rc;

	if (!types_agree(link, oob)) {
		link_refuse_type(link, oob);
		return;
	}
	if (oob->link)
		oob_link_free(oob->link);
	rnic_half_open_remove(&link->start);
	link_enter(link, OOB_LINK_ANSWERED);
	link->oob = oob;
	oob->link = link;
	frame_fill(oob, link->frame.nonce, pd);
	rc = smpa_conn_accept(
		link->start.stream->conn, pd, sizeof(pd),
		depth_with_ack(oob->opt.ird, util_settings()->ird),
		depth_with_ack(util_settings()->ord, UINT8_MAX));
	if (rc == 0)
		rc = rnic_start_established(&link->start, &ev);
	if (rc == 0)
		rc = rnic_start_watch(&link->start, EPOLLIN);
	if (rc < 0)
		link_fail(link);
}

static void link_answered(struct oob_link *link)
{
	int rc = rnic_stream_start_is_heard(link->start.stream);

	if (rc > 0)
		link_attach(link);
	else if (rc < 0)
		link_fail(link);
}

/* The parked one behind @link; NULL: the first, or no more. */
static struct oob_link *parked_next(const struct oob_link *link)
{
	struct rnic_timer *timer =
		link ? TAILQ_NEXT(&link->start.timer, link)
		     : rnic_timer_first(RNIC_TIMER_OOB_PARKED);

	return timer ? RNIC_OWNER(timer, struct oob_link, start.timer) : NULL;
}

/* An earlier try of the same peer is over, whether TCP has told it or not. */
static void park_drop_older(const struct oob_link *newer)
{
	struct oob_link *link = parked_next(NULL), *next;

	for (; link; link = next) {
		next = parked_next(link);
		if (link->frame.src_num == newer->frame.src_num &&
		    link->frame.dst_num == newer->frame.dst_num &&
		    rnic_addr_is_same_host(&link->start.peer,
					   &newer->start.peer))
			oob_link_free(link);
	}
}

/* Until its QP waits, only the peer's leaving is of interest.  One that is
 * dropped dials again. */
static void link_park(struct oob_link *link)
{
	uint32_t max = rnic_fd_share(LINK_PARK_MAX);

	park_drop_older(link);
	while (rnic_timer_cnt(RNIC_TIMER_OOB_PARKED) >= max)
		oob_link_free(parked_next(NULL));
	if (rnic_start_watch(&link->start, EPOLLRDHUP) < 0) {
		link_fail(link);
		return;
	}
	rnic_half_open_remove(&link->start);
	link_enter(link, OOB_LINK_PARKED);
}

static bool qp_exists(uint32_t num)
{
	struct rnic_qp *qp = rnic_qp_get(num);

	rnic_qp_put(qp);
	return qp != NULL;
}

static void link_request(struct oob_link *link, const struct smpa_event *ev)
{
	struct oob *oob;

	if (oob_frame_decode(ev->start.pd, ev->start.pd_len, &link->frame) <
	    0) {
		memset(&link->frame, 0, sizeof(link->frame));
		link_refuse(link);
		return;
	}
	oob = oob_find(link->frame.dst_num);
	if (oob && link_is_for(link, oob))
		link_accept(link, oob);
	else if (oob || !qp_exists(link->frame.dst_num))
		link_refuse(link);
	else
		link_park(link);
}

void oob_link_take_parked(struct oob *oob)
{
	struct oob_link *link = parked_next(NULL);

	while (link && !link_is_for(link, oob))
		link = parked_next(link);
	if (link)
		link_accept(link, oob);
}

static void link_take(struct rnic_acceptor *from, int fd)
{
	struct oob_link *link = link_new(fd, NULL);

	if (!link) {
		rnic_fd_close(fd);
		return;
	}
	rnic_half_open_add(from, &link->start);
	rnic_addr_of_socket(fd, &link->start.local, &link->start.peer);
	if (link_open(link, SMPA_RESPONDER,
		      depth_with_ack(util_settings()->ird, UINT8_MAX), NULL,
		      0) < 0)
		link_fail(link);
	else
		link_step(link);
}

/* For all listeners.  Guarded by the loop's lock. */
static struct rnic_acceptor acceptor = {
	.take = link_take,
	.pause_list = RNIC_TIMER_OOB_PAUSED,
};

int oob_link_listen(int listener, uint32_t block_num, bool is_again)
{
	/* Edges, so that what cannot be taken does not keep the thread awake;
	 * a registration anew is one, when there is something to take. */
	uint32_t registered = is_again ? EPOLLIN : 0;

	return rnic_loop_watch(listener, RNIC_LOOP_OOB_LISTENER,
			       rnic_qp_num_port(block_num), EPOLLIN | EPOLLET,
			       &registered);
}

void rnic_oob_listener_ready(uint32_t block_num)
{
	bool is_new;
	int listener = rnic_qp_num_listen(block_num, &is_new);
	int rc;

	if (listener < 0)
		return;
	rc = rnic_acceptor_take(&acceptor, listener);
	if (rc < 0) {
		util_warn("rnic", "accept: %s", strerror(-rc));
		rnic_acceptor_pause(&acceptor);
	} else if (rc > 0) {
		(void)oob_link_listen(listener, block_num, true);
	}
}

void oob_listeners_resume(struct rnic_timer *pause)
{
	uint32_t num = 0;
	int listener;

	(void)pause;

	while ((listener = rnic_qp_num_next_listener(&num)) >= 0)
		(void)oob_link_listen(listener, num, true);
}

/* ---- steps -------------------------------------------------------------- */

static void link_step(struct oob_link *link)
{
	struct smpa_event ev;
	int rc = rnic_start_step(&link->start, &ev);

	if (rc == 1 && ev.type == SMPA_EV_REQUEST)
		link_request(link, &ev);
	else if (rc == 1 && ev.type == SMPA_EV_ESTABLISHED)
		link_established(link, &ev);
	else if (rc == 1 && ev.type == SMPA_EV_REJECTED)
		link_rejected(link, &ev);
	else if (rc != 0 || rnic_start_watch(&link->start,
					     rnic_stream_start_wants(
						     link->start.stream)) < 0)
		link_fail(link);
}

/* At once, and when the socket is ready. */
static void link_dialled(struct oob_link *link)
{
	int rc = rnic_dial_result(&link->start);

	if (rc == 0)
		rc = rnic_start_watch(&link->start, EPOLLOUT);
	else if (rc > 0)
		rc = dial_start(link);
	if (rc < 0)
		link_fail(link);
	else if (link->phase == OOB_LINK_STARTING)
		link_step(link);
}

void oob_link_ready(struct oob_link *link)
{
	switch (link->phase) {
	case OOB_LINK_CONNECTING:
		link_dialled(link);
		break;
	case OOB_LINK_STARTING:
		link_step(link);
		break;
	case OOB_LINK_PARKED:
		link_fail(link); /* the peer has left */
		break;
	case OOB_LINK_ANSWERED:
		link_answered(link);
		break;
	}
}

/* ---- a QP connected to itself ------------------------------------------- */

/* A TCP socket connected to itself hears what it says. */
static int self_socket(const struct oob *oob)
{
	struct sockaddr_storage own = { 0 };
	socklen_t len = sizeof(own);
	int fd = rnic_sock_open(oob->local.ss_family, SOCK_STREAM);
	int rc = fd;

	if (fd < 0)
		return fd;
	if (rnic_tcp()->bind(fd, (const struct sockaddr *)&oob->local,
			     rnic_addr_len(&oob->local)) < 0 ||
	    rnic_tcp()->getsockname(fd, (struct sockaddr *)&own, &len) < 0 ||
	    (rnic_tcp()->connect(fd, (struct sockaddr *)&own, len) < 0 &&
	     errno != EINPROGRESS))
		rc = -errno;
	else if (rnic_tcp()->getpeername(fd, (struct sockaddr *)&own, &len) < 0)
		rc = -errno;
	if (rc < 0)
		rnic_fd_close(fd);
	return rc;
}

/*
 * Start frames make no sense towards oneself: the bare mode has none, and
 * numbers and order of what is sent are those of what is received.
 */
int oob_link_self(const struct oob *oob)
{
	struct rnic_start start = { .fd = self_socket(oob) };
	struct smpa_options opt = SMPA_OPTIONS_INIT;
	struct smpa_event ev;
	int rc;

	if (start.fd < 0)
		return start.fd;
	opt.role = SMPA_INITIATOR;
	opt.bare = true;
	rc = rnic_start_open(&start, &opt, NULL, 0);
	if (rc == 0)
		rc = rnic_start_established(&start, &ev);
	if (rc == 0) {
		start.ird = start.ord =
			depth_with_ack(oob->opt.ird, util_settings()->ird);
		rnic_rnr_set_time(oob->qp, oob->opt.min_rnr_timer,
				  oob->rnr_retry);
		rc = rnic_start_attach(&start, oob->qp, 0);
	}
	rnic_start_close(&start);
	return rc;
}

/* ---- deadlines and the end ---------------------------------------------- */

void oob_link_expire(struct rnic_timer *timer)
{
	struct oob_link *link = RNIC_OWNER(timer, struct oob_link, start.timer);

	if (link->phase != OOB_LINK_PARKED)
		rnic_stat_add(RNIC_STAT_start_timeouts, 1);
	link_fail(link);
}

void oob_links_fork_child(void)
{
	rnic_acceptor_fork_child(&acceptor);
}

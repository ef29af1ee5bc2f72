/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The TCP connections of QPs that connect out of band: dialled, accepted,
 * parked, attached. */
#define _GNU_SOURCE /* accept4, IP_BIND_ADDRESS_NO_PORT */
#include "link.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "../../util/env.h"
#include "../../util/log.h"
#include "frame.h"
#include "loop/loop.h"
#include "os/addr.h"
#include "os/fd.h"
#include "os/stat.h"
#include "os/tcp.h"
#include "qp/qp-num.h"
#include "wait.h"
#include "qp/qp-table.h"
#include "qp/rnr.h"
#include "stream/attach.h"
#include "stream/start.h"

/* How long a peer waits here for a QP that is not as far, before it has to
 * dial again; and how many may. */
#define LINK_PARK_NS (10000 * NS_PER_MS)
#define LINK_PARK_MAX 4096u
/* Connections taken per wake-up, so that others have their turn. */
#define LINK_BATCH 64
/* How long to look away when there is no descriptor for the next one. */
#define LINK_PAUSE_NS (100 * NS_PER_MS)

/* Guarded by the loop's lock, both. */
struct rnic_ref_table oob_link_refs;
static struct {
	struct oob_link_list unnamed; /* no Request yet */
	struct oob_link_list parked;
	uint32_t unnamed_cnt;
	struct rnic_timer pause; /* runs: out of file descriptors */
} links = {
	.unnamed = TAILQ_HEAD_INITIALIZER(links.unnamed),
	.parked = TAILQ_HEAD_INITIALIZER(links.parked),
};

/* ---- the object --------------------------------------------------------- */

static int link_fd(const struct oob_link *link)
{
	return link->stream ? rnic_stream_fd(link->stream) : link->fd;
}

static int link_watch(struct oob_link *link, uint32_t events)
{
	return rnic_loop_watch(link_fd(link), RNIC_LOOP_OOB_LINK, link->ref,
			       events, &link->epoll_events);
}

/* Into the list of those that have to be quick. */
static void link_begin(struct oob_link *link)
{
	rnic_timer_start(&link->timer, RNIC_TIMER_OOB_STARTING,
			 util_settings()->start_ms * NS_PER_MS);
	if (!link->oob) {
		TAILQ_INSERT_TAIL(&links.unnamed, link, list_link);
		links.unnamed_cnt++;
	}
}

static struct oob_link *link_new(int fd, struct oob *oob)
{
	struct oob_link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	if (rnic_ref_add(&oob_link_refs, link, &link->ref) < 0) {
		free(link);
		return NULL;
	}
	link->fd = fd;
	link->oob = oob;
	if (oob)
		oob->link = link;
	link_begin(link);
	return link;
}

static void link_unlist(struct oob_link *link)
{
	rnic_timer_stop(&link->timer);
	if (link->phase == OOB_LINK_PARKED) {
		TAILQ_REMOVE(&links.parked, link, list_link);
	} else if (!link->oob) {
		TAILQ_REMOVE(&links.unnamed, link, list_link);
		links.unnamed_cnt--;
	}
}

void oob_link_free(struct oob_link *link)
{
	link_unlist(link);
	if (link->oob)
		link->oob->link = NULL;
	/* By hand: a forked child may hold the socket open. */
	if (link_fd(link) >= 0)
		(void)link_watch(link, 0);
	if (link->stream)
		rnic_stream_free(link->stream);
	else
		rnic_fd_close(link->fd);
	rnic_ref_remove(&oob_link_refs, link->ref);
	free(link);
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

static int link_open_stream(struct oob_link *link, struct smpa_options *opt)
{
	int rc;

	rnic_stream_start_options(&link->peer, opt);
	/* Either side may send first (RFC 6581 9): never without an RTR. */
	opt->rtr = SMPA_RTR_WRITE | SMPA_RTR_READ;
	opt->rev = 2;
	opt->rev0 = SMPA_REV0_REFUSE;
	opt->ird_max++;
	rc = rnic_stream_new(link->fd, opt, &link->stream);
	if (rc == 0)
		link->fd = -1;
	return rc;
}

/* The QP takes the stream; link and oob are gone. */
static void link_attach(struct oob_link *link)
{
	struct oob *oob = link->oob;
	int rc;

	(void)link_watch(link, 0);
	rnic_rnr_set_time(oob->qp, oob->opt.min_rnr_timer,
			  link->frame.rnr_retry);
	rc = rnic_qp_attach_stream(oob->qp, link->stream, link->ird, link->ord,
				   0);
	if (rc < 0) {
		util_warn("rnic", "qp 0x%06x: connection dropped: %s", oob->num,
			  strerror(-rc));
		link_fail(link);
		return;
	}
	link->stream = NULL;
	util_info("rnic", "qp 0x%06x: connected with qp 0x%06x", oob->num,
		  oob->dest_num);
	rnic_stat_add(oob->is_dialler ? RNIC_STAT_connects : RNIC_STAT_accepts,
		      1);
	oob_free(oob);
}

static void link_outcome(struct oob_link *link, const struct smpa_event *ev)
{
	link->ird = ev->start.ird;
	link->ord = ev->start.ord;
}

/* ---- dialling ----------------------------------------------------------- */

static int dial_socket(const struct oob *oob)
{
	const struct sockaddr *local = (const struct sockaddr *)&oob->local;
	int fd = rnic_sock_open(local->sa_family, SOCK_STREAM);
	int rc;

	if (fd < 0)
		return fd;
	if (oob->opt.tos)
		rnic_sock_set_tos(fd, local->sa_family, oob->opt.tos);
	rnic_sock_set_flag(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	if (rnic_tcp()->bind(fd, local, rnic_addr_len(local)) == 0)
		return fd;
	rc = -errno;
	rnic_fd_close(fd);
	return rc;
}

int oob_link_connect(const struct oob *oob)
{
	const struct sockaddr *peer = (const struct sockaddr *)&oob->peer;
	int fd = dial_socket(oob);
	int rc;

	if (fd < 0 || rnic_tcp()->connect(fd, peer, rnic_addr_len(peer)) == 0 ||
	    errno == EINPROGRESS || errno == EINTR)
		return fd;
	rc = -errno;
	rnic_fd_close(fd);
	return rc;
}

static void link_dialled(struct oob_link *link);

void oob_link_dial(struct oob *oob, int fd)
{
	struct oob_link *link;

	if (fd < 0) {
		if (!oob->try_cnt)
			util_warn("rnic", "qp 0x%06x: connect: %s", oob->num,
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
	rnic_addr_of_socket(fd, &link->local, &link->peer);
	/* On the same host the handshake is over when connect() returns. */
	if (link->peer.ss_family != AF_UNSPEC)
		link_dialled(link);
	else if (link_watch(link, EPOLLOUT) < 0)
		link_fail(link);
}

static void frame_fill(const struct oob *oob, uint64_t nonce,
		       uint8_t pd[OOB_FRAME_LEN])
{
	struct oob_frame frame = {
		.min_rnr_timer = oob->opt.min_rnr_timer,
		.rnr_retry = oob->rnr_retry,
		.src_num = oob->num,
		.dst_num = oob->dest_num,
		.nonce = nonce,
	};

	oob_frame_encode(&frame, pd);
}

static int dial_start(struct oob_link *link)
{
	struct smpa_options opt = SMPA_OPTIONS_INIT;
	uint8_t pd[OOB_FRAME_LEN];
	int rc;

	/* TCP's simultaneous open with itself: the port is closed. */
	if (rnic_addr_equal(&link->local, &link->peer))
		return -ECONNREFUSED;
	opt.role = SMPA_INITIATOR;
	opt.ird = depth_with_ack(link->oob->opt.ird, util_settings()->ird);
	opt.ord = depth_with_ack(util_settings()->ord, UINT8_MAX);
	rc = link_open_stream(link, &opt);
	if (rc < 0)
		return rc;
	frame_fill(link->oob, link->oob->nonce, pd);
	link->phase = OOB_LINK_STARTING;
	return smpa_conn_start(rnic_stream_conn(link->stream), pd, sizeof(pd));
}

/* SO_ERROR tells how connect() ended. */
static int dial_outcome(struct oob_link *link)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (rnic_tcp()->getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &err, &len) <
	    0)
		err = errno;
	if (!err)
		rnic_addr_of_socket(link->fd, &link->local, &link->peer);
	return -err;
}

/* The Reply: from the QP that was dialled, to this try? */
static void link_established(struct oob_link *link, const struct smpa_event *ev)
{
	struct oob *oob = link->oob;
	struct oob_frame frame;

	if (oob_frame_decode(ev->start.pd, ev->start.pd_len, &frame) < 0 ||
	    frame.src_num != oob->dest_num || frame.dst_num != oob->num ||
	    frame.nonce != oob->nonce) {
		util_warn(
			"rnic",
			"qp 0x%06x: an unexpected peer answers in place of qp "
			"0x%06x",
			oob->num, oob->dest_num);
		link_fail(link);
		return;
	}
	link->frame = frame;
	link_outcome(link, ev);
	link_attach(link);
}

/* ---- accepting ---------------------------------------------------------- */

static bool link_is_for(const struct oob_link *link, const struct oob *oob)
{
	return !oob->is_dialler && link->frame.dst_num == oob->num &&
	       link->frame.src_num == oob->dest_num &&
	       rnic_addr_is_same_host(&link->peer, &oob->peer) &&
	       rnic_addr_is_same_host(&link->local, &oob->local);
}

/* Reply with R=1.  All input was read, so that close() sends FIN, not RST. */
static void link_refuse(struct oob_link *link)
{
	struct smpa_event ev;

	util_warn("rnic",
		  "qp 0x%06x: an unexpected peer, qp 0x%06x, is refused",
		  link->frame.dst_num, link->frame.src_num);
	rnic_stat_add(RNIC_STAT_rejects, 1);
	if (smpa_conn_reject(rnic_stream_conn(link->stream), NULL, 0) == 0)
		(void)rnic_stream_start_step(link->stream, &ev);
	link_fail(link);
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

	if (oob->link)
		oob_link_free(oob->link);
	link_unlist(link);
	link->phase = OOB_LINK_ANSWERED;
	link->oob = oob;
	oob->link = link;
	link_begin(link);
	frame_fill(oob, link->frame.nonce, pd);
	rc = smpa_conn_accept(
		rnic_stream_conn(link->stream), pd, sizeof(pd),
		depth_with_ack(oob->opt.ird, util_settings()->ird),
		depth_with_ack(util_settings()->ord, UINT8_MAX));
	if (rc == 0)
		rc = rnic_stream_start_step(link->stream, &ev);
	if (rc != 1 || ev.type != SMPA_EV_ESTABLISHED ||
	    link_watch(link, EPOLLIN) < 0) {
		link_fail(link);
		return;
	}
	link_outcome(link, &ev);
}

static void link_answered(struct oob_link *link)
{
	int rc = rnic_stream_start_is_heard(link->stream);

	if (rc > 0)
		link_attach(link);
	else if (rc < 0)
		link_fail(link);
}

/* An earlier try of the same peer is over, whether TCP has told it or not. */
static void park_drop_older(const struct oob_link *newer)
{
	struct oob_link *link = TAILQ_FIRST(&links.parked), *next;

	for (; link; link = next) {
		next = TAILQ_NEXT(link, list_link);
		if (link->frame.src_num == newer->frame.src_num &&
		    link->frame.dst_num == newer->frame.dst_num &&
		    rnic_addr_is_same_host(&link->peer, &newer->peer))
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
		oob_link_free(TAILQ_FIRST(&links.parked));
	if (link_watch(link, EPOLLRDHUP) < 0) {
		link_fail(link);
		return;
	}
	link_unlist(link);
	link->phase = OOB_LINK_PARKED;
	rnic_timer_start(&link->timer, RNIC_TIMER_OOB_PARKED, LINK_PARK_NS);
	TAILQ_INSERT_TAIL(&links.parked, link, list_link);
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
	struct oob_link *link;

	TAILQ_FOREACH(link, &links.parked, list_link)
	{
		if (link_is_for(link, oob)) {
			link_accept(link, oob);
			return;
		}
	}
}

/* The oldest of those that have not yet made their Request. */
static void unnamed_drop(void)
{
	rnic_stat_add(RNIC_STAT_half_open_refused, 1);
	oob_link_free(TAILQ_FIRST(&links.unnamed));
}

/*
 * The newest is kept: a QP's peer makes its Request at once, and the oldest
 * have had their time.
 */
static void link_take(int fd)
{
	struct smpa_options opt = SMPA_OPTIONS_INIT;
	uint32_t max = rnic_fd_share(util_settings()->half_open_max);
	struct oob_link *link;

	while (links.unnamed_cnt >= max)
		unnamed_drop();
	link = rnic_fd_register(&fd) == 0 ? link_new(fd, NULL) : NULL;
	if (!link) {
		rnic_fd_close(fd);
		return;
	}
	rnic_addr_of_socket(fd, &link->local, &link->peer);
	link->phase = OOB_LINK_STARTING;
	opt.role = SMPA_RESPONDER;
	opt.ird = depth_with_ack(util_settings()->ird, UINT8_MAX);
	opt.ord = depth_with_ack(util_settings()->ord, UINT8_MAX);
	if (link_open_stream(link, &opt) < 0 ||
	    smpa_conn_start(rnic_stream_conn(link->stream), NULL, 0) < 0) {
		link_fail(link);
		return;
	}
	rnic_oob_link_ready(link->ref);
}

int oob_link_listen(int listener, uint32_t block_num, bool is_again)
{
	/* Edges, so that what cannot be taken does not keep the thread awake;
	 * a registration anew is one, when there is something to take. */
	uint32_t registered = is_again ? EPOLLIN : 0;

	return rnic_loop_watch(listener, RNIC_LOOP_OOB_LISTENER,
			       rnic_qp_num_port(block_num), EPOLLIN | EPOLLET,
			       &registered);
}

/* Return: as accept4(); EAGAIN: none, or the next has to wait. */
static int listener_accept(int listener)
{
	for (;;) {
		int fd = rnic_tcp()->accept4(listener, NULL, NULL,
					     SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0 || errno == EAGAIN)
			return fd;
		if (!rnic_tcp_is_short(errno))
			continue; /* one that ended in TCP's queue */
		if (links.unnamed_cnt) {
			unnamed_drop();
			continue;
		}
		util_warn("rnic", "accept: %s", strerror(errno));
		rnic_timer_start(&links.pause, RNIC_TIMER_OOB_PAUSED,
				 LINK_PAUSE_NS);
		errno = EAGAIN;
		return -1;
	}
}

void rnic_oob_listener_ready(uint32_t block_num)
{
	bool is_new;
	int listener = rnic_qp_num_listen(block_num, &is_new);

	if (listener < 0)
		return;
	for (int i = 0; i < LINK_BATCH; i++) {
		int fd = listener_accept(listener);

		if (fd < 0)
			return;
		link_take(fd);
	}
	(void)oob_link_listen(listener, block_num, true);
}

void oob_listeners_resume(void)
{
	uint32_t num = 0;
	int listener;

	while ((listener = rnic_qp_num_next_listener(&num)) >= 0)
		(void)oob_link_listen(listener, num, true);
}

/* ---- steps -------------------------------------------------------------- */

static void link_step(struct oob_link *link)
{
	struct smpa_event ev;
	int rc = rnic_stream_start_step(link->stream, &ev);

	if (rc == 1 && ev.type == SMPA_EV_REQUEST)
		link_request(link, &ev);
	else if (rc == 1 && ev.type == SMPA_EV_ESTABLISHED)
		link_established(link, &ev);
	else if (rc != 0 ||
		 link_watch(link, rnic_stream_start_wants(link->stream)) < 0)
		link_fail(link);
}

/* The TCP connection stands. */
static void link_dialled(struct oob_link *link)
{
	if (dial_start(link) < 0)
		link_fail(link);
	else
		link_step(link);
}

void rnic_oob_link_ready(uint64_t ref)
{
	struct oob_link *link = rnic_ref_get(&oob_link_refs, ref);

	if (!link)
		return;
	switch (link->phase) {
	case OOB_LINK_CONNECTING:
		if (dial_outcome(link) < 0)
			link_fail(link);
		else
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
	if (rnic_tcp()->bind(
		    fd, (const struct sockaddr *)&oob->local,
		    rnic_addr_len((const struct sockaddr *)&oob->local)) < 0 ||
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
static int self_start(const struct oob *oob, struct rnic_stream *stream)
{
	uint16_t depth = depth_with_ack(oob->opt.ird, util_settings()->ird);
	struct smpa_event ev;
	int rc = smpa_conn_start(rnic_stream_conn(stream), NULL, 0);

	if (rc < 0)
		return rc;
	rc = rnic_stream_start_step(stream, &ev);
	if (rc != 1 || ev.type != SMPA_EV_ESTABLISHED)
		return rc < 0 ? rc : -EPROTO;
	rnic_rnr_set_time(oob->qp, oob->opt.min_rnr_timer, oob->rnr_retry);
	return rnic_qp_attach_stream(oob->qp, stream, depth, depth, 0);
}

int oob_link_self(const struct oob *oob)
{
	struct smpa_options opt = SMPA_OPTIONS_INIT;
	struct rnic_stream *stream;
	int fd = self_socket(oob);
	int rc;

	if (fd < 0)
		return fd;
	opt.role = SMPA_INITIATOR;
	opt.bare = true;
	rc = rnic_stream_new(fd, &opt, &stream);
	if (rc < 0) {
		rnic_fd_close(fd);
		return rc;
	}
	rc = self_start(oob, stream);
	if (rc < 0)
		rnic_stream_free(stream);
	return rc;
}

/* ---- deadlines and the end ---------------------------------------------- */

void oob_link_expire(struct oob_link *link)
{
	if (link->phase != OOB_LINK_PARKED)
		rnic_stat_add(RNIC_STAT_start_timeouts, 1);
	link_fail(link);
}

void oob_links_close_all(void)
{
	struct oob_link *link;
	uint32_t slot = 0;

	while ((link = rnic_ref_next(&oob_link_refs, &slot)))
		oob_link_free(link);
}

void oob_links_forget(void)
{
	memset(&oob_link_refs, 0, sizeof(oob_link_refs));
	TAILQ_INIT(&links.unnamed);
	TAILQ_INIT(&links.parked);
	links.unnamed_cnt = 0;
	links.pause.list = RNIC_TIMER_NONE;
}

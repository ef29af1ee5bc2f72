/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The carriers CM-SEND and CM-PRIV: Hello is private data of rdma_cm.
 *
 * Each start has its own event channel. Once the link is established, its
 * identity migrates to the channel that the process polls.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "util/cancel.h"
#include "verbs/wait/cm-chan.h"
#include "verbs/wait/fd.h"
#include "handover.h"
#include "verbs/stream/life.h"
#include "move.h"
#include "verbs/dev/probe.h"

#define PRIV_MAX 255

struct start {
	struct rdma_event_channel *ch;
	struct rdma_cm_id *id; /* NULL: the link has it */
	struct sdp_link *link;
	uint64_t deadline; /* 0: do not wait */
	int stop_fd;	   /* ends a wait when readable; -1: none */
	bool is_adopted;   /* the shared channel has the link's identity */
	const char *step;
	struct sdp_handover from;
	struct sockaddr_storage peer;
	uint8_t priv[PRIV_MAX];
	size_t priv_len;
	uint16_t ord;
};

/* ---- events ---- */

static int error_of(const struct rdma_cm_event *ev)
{
	enum sdp_cause cause = SDP_CAUSE_RESET;
	enum sdp_phase phase = SDP_PHASE_START;

	switch (ev->event) {
	case RDMA_CM_EVENT_REJECTED:
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		if (ev->status == -ETIMEDOUT)
			cause = SDP_CAUSE_SILENCE;
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
		return -ENODEV;
	case RDMA_CM_EVENT_DISCONNECTED:
		phase = SDP_PHASE_OPEN;
		break;
	default:
		if (ev->status < 0)
			return ev->status;
	}
	return -sdp_answer_error(cause, phase);
}

static void take_private(struct start *s, const struct rdma_cm_event *ev)
{
	s->priv_len = ev->param.conn.private_data_len;
	if (ev->param.conn.private_data)
		memcpy(s->priv, ev->param.conn.private_data, s->priv_len);
	else
		s->priv_len = 0;
	s->ord = ev->param.conn.initiator_depth;
}

/* Waits for the next event, which must be @want. */
static int wait_event(struct start *s, enum rdma_cm_event_type want)
{
	struct rdma_cm_event *ev;
	int ret;

	while (rdma_get_cm_event(s->ch, &ev)) {
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		ret = sdp_wait_fd(s->ch->fd, POLLIN, s->stop_fd, s->deadline);
		if (ret)
			return ret;
	}
	ret = ev->event == want ? 0 : error_of(ev);
	if (!ret && (want == RDMA_CM_EVENT_ESTABLISHED ||
		     want == RDMA_CM_EVENT_CONNECT_REQUEST))
		take_private(s, ev);
	if (!ret && want == RDMA_CM_EVENT_CONNECT_REQUEST)
		s->id = ev->id;
	rdma_ack_cm_event(ev);
	return ret;
}

/* ---- both peers ---- */

static int make_link(struct start *s, enum sdp_role role,
		     enum sdp_carrier carrier,
		     const struct sdp_link_options *opt)
{
	struct sdp_dev *dev;
	int ret;

	s->step = "device";
	if (!s->id->verbs)
		return -ENODEV;
	ret = sdp_dev_by_context(s->id->verbs, &dev);
	if (ret)
		return ret;
	s->step = "queue pair";
	ret = sdp_link_new(&s->link, dev, s->id, role, carrier, opt);
	if (ret)
		return ret;
	s->id = NULL;
	return 0;
}

static struct rdma_conn_param conn_param(struct sdp_link *link)
{
	return (struct rdma_conn_param){
		.private_data = link->start.hello_len ? link->start.hello
						      : NULL,
		.private_data_len = link->start.hello_len,
		.responder_resources = (uint8_t)link->opt.conn.ird,
		.initiator_depth = (uint8_t)link->opt.conn.ord,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
}

static void copy_addr(struct sockaddr_storage *to, const struct sockaddr *from)
{
	memcpy(to, from, link_name_len(from));
}

/* From now on the process handles the identity's events. */
static int hand_over(struct start *s)
{
	struct sdp_link *link = s->link;
	int ret;

	/* A link that moves keeps its names. */
	if (!link->names[0].ss_family) {
		copy_addr(&link->names[0], rdma_get_local_addr(link->cm));
		copy_addr(&link->names[1], rdma_get_peer_addr(link->cm));
	}
	ret = sdp_cm_chan_adopt(link);
	s->is_adopted = !ret;
	return ret;
}

static int finish(struct start *s, const void *octets, size_t len)
{
	int ret = hand_over(s);

	if (ret)
		return ret;
	s->step = "HelloAck";
	return sdp_link_stand_up(s->link, octets, len, s->ord, s->deadline);
}

/* The identity of a failed start may still be on the channel of the start. If
 * it is not, another thread may destroy it at any time. */
static void leave_channel(struct start *s)
{
	if (!s->is_adopted && s->link->cm)
		(void)sdp_cm_chan_adopt(s->link);
}

static int conclude(struct start *s, int ret, struct sdp_link **ret_link,
		    struct sdp_outcome *ret_outcome)
{
	if (!ret) {
		*ret_link = s->link;
	} else if (s->link) {
		leave_channel(s);
		sdp_link_discard(s->link);
	}
	if (s->id)
		rdma_destroy_id(s->id);
	return sdp_link_tell(ret_outcome, ret, false,
			     (struct sockaddr *)&s->peer, s->step);
}

/* ---- connecting ---- */

/* @is_again: another identity used @src before. */
static int resolve(struct start *s, const struct sockaddr *src,
		   const struct sockaddr *dst, bool is_again)
{
	struct sockaddr_storage any = { .ss_family = dst->sa_family };
	int ret, one = 1;

	s->step = "address";
	if (rdma_create_id(s->ch, &s->id, NULL, RDMA_PS_TCP))
		return -errno;
	/* Sets the local port before the connection is established, because no
	 * event reports it. */
	if (!src && rdma_bind_addr(s->id, (struct sockaddr *)&any))
		return -errno;
	if (is_again)
		(void)rdma_set_option(s->id, RDMA_OPTION_ID,
				      RDMA_OPTION_ID_REUSEADDR, &one,
				      sizeof(one));
	if (rdma_resolve_addr(s->id, (struct sockaddr *)(uintptr_t)src,
			      (struct sockaddr *)(uintptr_t)dst, 2000))
		return -errno;
	ret = wait_event(s, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (ret)
		return ret;
	s->step = "route";
	if (rdma_resolve_route(s->id, 2000))
		return -errno;
	return wait_event(s, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static int say_hello(struct start *s)
{
	struct rdma_conn_param param;
	int ret;

	s->step = "connect";
	param = conn_param(s->link);
	if (rdma_connect(s->link->cm, &param))
		return -errno;
	ret = wait_event(s, RDMA_CM_EVENT_ESTABLISHED);
	return ret ? ret : finish(s, s->priv, s->priv_len);
}

/* move() of struct sdp_link */
static void *move_cm(void *arg);

static int connect_steps(struct start *s, const struct sockaddr *dst,
			 const struct sdp_link_options *opt)
{
	int ret = resolve(s, NULL, dst, false);

	if (ret)
		return ret;
	ret = make_link(s, SDP_CONNECTING, SDP_CM_SEND, opt);
	if (ret)
		return ret;
	s->link->moving.run = move_cm;
	return say_hello(s);
}

/* Uses the same IP address, and the same port if possible (C18). */
static int resolve_again(struct start *s, const struct sockaddr *to)
{
	struct sockaddr_storage from = s->link->names[0];
	int ret = resolve(s, (struct sockaddr *)&from, to, true);

	if (ret != -EADDRINUSE && ret != -EADDRNOTAVAIL)
		return ret;
	rdma_destroy_id(s->id);
	s->id = NULL;
	link_name_set_port(&from, 0);
	return resolve(s, (struct sockaddr *)&from, to, false);
}

/* The steps of connecting for a link that moves. */
static int move_steps(struct start *s, const struct sockaddr *to)
{
	struct sdp_dev *dev;
	int ret = resolve_again(s, to);

	if (ret)
		return ret;
	ret = s->id->verbs ? sdp_dev_by_context(s->id->verbs, &dev) : -ENODEV;
	if (!ret && dev != s->link->dev)
		ret = -ENODEV;
	if (!ret)
		ret = sdp_link_renew(s->link, s->id, SDP_CONNECTING,
				     SDP_CM_SEND);
	if (ret)
		return ret;
	s->id = NULL;
	ret = say_hello(s);
	/* A failed carrier ends the connection. */
	return ret == -ECONNREFUSED ? -ECONNRESET : ret;
}

static int move_once(struct sdp_link *link, const struct sockaddr *to,
		     uint64_t deadline)
{
	struct start s = { .link = link, .deadline = deadline, .stop_fd = -1 };
	int ret;

	s.ch = sdp_cm_chan_new();
	if (!s.ch)
		return -errno;
	ret = move_steps(&s, to);
	if (s.id)
		rdma_destroy_id(s.id);
	else if (ret)
		leave_channel(&s);
	sdp_cm_chan_free(s.ch);
	return ret;
}

static void *move_cm(void *arg)
{
	sdp_move_run(arg, move_once);
	return NULL;
}

int sdp_link_connect_cm(struct sdp_link **ret_link, const struct sockaddr *dst,
			int stop_fd, const struct sdp_link_options *opt,
			uint64_t deadline, struct sdp_outcome *ret_outcome)
{
	struct start s = { .deadline = deadline,
			   .stop_fd = stop_fd,
			   .step = "event channel" };
	int ret;

	sdp_probe_use_cm();
	copy_addr(&s.peer, dst);
	s.ch = sdp_cm_chan_new();
	if (!s.ch)
		return sdp_link_tell(ret_outcome, -errno, false, dst, s.step);
	ret = conclude(&s, connect_steps(&s, dst, opt), ret_link, ret_outcome);
	sdp_cm_chan_free(s.ch);
	return ret;
}

/* ---- accepting ---- */

struct sdp_listener {
	struct rdma_event_channel *ch;
	struct rdma_cm_id *id;
};

int sdp_listener_new(struct sdp_listener **ret_listener,
		     const struct sockaddr *addr, int backlog)
{
	struct sdp_listener *l = calloc(1, sizeof(*l));
	int ret, one = 1;

	if (!l)
		return -ENOMEM;
	sdp_probe_use_cm();
	l->ch = sdp_cm_chan_new();
	if (!l->ch)
		goto fail;
	if (rdma_create_id(l->ch, &l->id, NULL, RDMA_PS_TCP) ||
	    (addr->sa_family == AF_INET6 &&
	     rdma_set_option(l->id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &one,
			     sizeof(one))) ||
	    rdma_bind_addr(l->id, (struct sockaddr *)(uintptr_t)addr) ||
	    rdma_listen(l->id, backlog))
		goto fail;
	*ret_listener = l;
	return 0;
fail:
	ret = -errno;
	sdp_listener_free(l);
	return ret;
}

void sdp_listener_name(const struct sdp_listener *listener,
		       struct sockaddr_storage *ret_addr)
{
	copy_addr(ret_addr, rdma_get_local_addr(listener->id));
}

int sdp_listener_fd(const struct sdp_listener *listener)
{
	return listener->ch->fd;
}

void sdp_listener_free(struct sdp_listener *listener)
{
	if (!listener)
		return;
	if (listener->id)
		rdma_destroy_id(listener->id);
	if (listener->ch)
		sdp_cm_chan_free(listener->ch);
	free(listener);
}

static int admit(struct start *s)
{
	struct sockaddr_storage names[2];

	s->step = "address";
	copy_addr(&names[0], rdma_get_local_addr(s->id));
	copy_addr(&names[1], rdma_get_peer_addr(s->id));
	return sdp_handover_admits(&s->from, names);
}

/* Separates the identity from the listener's channel. */
static int leave_listener(struct start *s)
{
	s->ch = sdp_cm_chan_new();
	if (!s->ch)
		return -errno;
	return rdma_migrate_id(s->id, s->ch) ? -errno : 0;
}

static int answer_steps(struct start *s, const struct sdp_link_options *opt)
{
	struct rdma_conn_param param;
	struct sdp_link_options own;
	int ret;

	s->step = "the state that was handed over";
	ret = sdp_handover_take(&s->from, opt, &own);
	if (!ret)
		ret = admit(s);
	if (!ret)
		ret = make_link(s, SDP_ACCEPTING,
				own.conn.carrier == SDP_STREAM
					? SDP_CM_SEND
					: own.conn.carrier,
				&own);
	if (!ret)
		ret = sdp_handover_restore(&s->from, s->link);
	if (ret)
		return ret;
	s->link->moving.run = move_cm;
	s->step = "Hello";
	ret = sdp_link_take_hello(s->link, s->priv, s->priv_len);
	if (ret) {
		(void)rdma_reject(s->link->cm, NULL, 0);
		return ret;
	}
	s->step = "accept";
	param = conn_param(s->link);
	if (rdma_accept(s->link->cm, &param))
		return -errno;
	ret = wait_event(s, RDMA_CM_EVENT_ESTABLISHED);
	if (!ret)
		ret = finish(s, NULL, 0);
	return ret ? ret : sdp_handover_resume(&s->from, s->link);
}

struct sdp_request {
	struct start start;
};

static void request_free(struct sdp_request *request)
{
	if (request->start.id)
		rdma_destroy_id(request->start.id);
	if (request->start.ch)
		sdp_cm_chan_free(request->start.ch);
	free(request);
}

void sdp_request_reject(struct sdp_request *request)
{
	(void)rdma_reject(request->start.id, NULL, 0);
	request_free(request);
}

int sdp_listener_take(struct sdp_listener *listener,
		      struct sdp_request **ret_request)
{
	struct sdp_request *request = calloc(1, sizeof(*request));
	struct start *s;
	int ret;

	if (!request)
		return -ENOMEM;
	s = &request->start;
	s->stop_fd = -1;
	s->ch = listener->ch;
	ret = wait_event(s, RDMA_CM_EVENT_CONNECT_REQUEST);
	s->ch = NULL;
	if (ret) {
		free(request);
		return ret == -ETIMEDOUT ? -EAGAIN : ret;
	}
	copy_addr(&s->peer, rdma_get_peer_addr(s->id));
	ret = leave_listener(s);
	if (ret) {
		sdp_request_reject(request);
		return ret;
	}
	*ret_request = request;
	return 0;
}

int sdp_request_accept(struct sdp_link **ret_link, struct sdp_request *request,
		       const struct sdp_link_options *opt, uint64_t deadline,
		       struct sdp_outcome *ret_outcome)
{
	struct start *s = &request->start;
	int ret;

	s->deadline = deadline;
	ret = answer_steps(s, opt);
	/* No link has the identity, so no answer was sent to the peer. */
	if (ret && s->id)
		(void)rdma_reject(s->id, NULL, 0);
	ret = conclude(s, ret, ret_link, ret_outcome);
	s->id = NULL; /* freed by conclude() */
	request_free(request);
	return ret;
}

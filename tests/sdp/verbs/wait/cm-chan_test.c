/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The end of a carrier by rdma_cm reaches the link, whatever other threads do
 * with the link between the event and the pass that follows it. */
#include "test.h"

#include <errno.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include "verbs/link/drive.h"
#include "verbs/link/notice.h"
#include "verbs/wait/cm-chan.h"
#include "verbs/wait/poll.h"

/* What another thread does meanwhile. */
enum meanwhile { NOTHING, CALL, SECOND_END };

struct scene {
	const char *name;
	enum rdma_cm_event_type type;
	enum meanwhile meanwhile;
	bool is_starting; /* the core has a deadline, in the future */
	bool is_early;	  /* comes before the shared channel has the identity */
	bool is_end;	  /* expected */
};

static struct {
	const struct scene *scene;
	struct sdp_link link;
	struct rdma_cm_id id;
	struct rdma_cm_event ev;
	int cnt, left; /* events, and those in the shared channel */
	int acked_cnt;
} fake;

/* ---- rdma_cm, with one channel ---- */

struct rdma_event_channel *rdma_create_event_channel(void)
{
	static struct rdma_event_channel channel;
	int pipe_fds[2];

	assert_int_equal(pipe(pipe_fds), 0);
	close(pipe_fds[1]);
	channel.fd = pipe_fds[0];
	return &channel;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	close(channel->fd);
}

int rdma_get_cm_event(struct rdma_event_channel *channel,
		      struct rdma_cm_event **ret_ev)
{
	if (!fake.left) {
		errno = EAGAIN;
		return -1;
	}
	fake.left--;
	*ret_ev = &fake.ev;
	return 0;
}

/* As on Linux, the event moves along, and nobody is told. */
int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	assert_ptr_equal(id, &fake.id);
	assert_ptr_equal(id->context, &fake.link);
	if (fake.scene->is_early)
		fake.left = fake.cnt;
	return 0;
}

/* The link was marked, and its device has not been polled yet. */
int rdma_ack_cm_event(struct rdma_cm_event *ev)
{
	assert_ptr_equal(ev, &fake.ev);
	fake.acked_cnt++;
	if (fake.scene->meanwhile != CALL)
		return 0;
	util_lock(&fake.link.lock);
	sdp_drive(&fake.link, 0);
	util_unlock(&fake.link.lock);
	return 0;
}

/* ---- verbs ---- */

static int poll_nothing(struct ibv_cq *cq, int max, struct ibv_wc *wc)
{
	return 0;
}

/* ---- scenes ---- */

static void play(const struct scene *s)
{
	static struct sdp_dev dev;
	static struct ibv_context ctx = { .ops.poll_cq = poll_nothing };
	static struct ibv_cq cq = { .context = &ctx };
	static struct ibv_qp qp;
	struct sdp_options opt = SDP_OPTIONS_INIT;
	struct sdp_link *link = &fake.link;

	memset(&dev, 0, sizeof(dev));
	util_lock_init(&dev.poll_lock, UTIL_RANK_SDP_POLL);
	util_lock_init(&dev.wait_lock, UTIL_RANK_SDP_POOL);
	dev.cq = &cq;
	atomic_init(&dev.deadline, SDP_NEVER);
	memset(&fake, 0, sizeof(fake));
	fake.scene = s;
	util_lock_init(&link->lock, UTIL_RANK_SDP_LINK);
	link->dev = &dev;
	link->qp = &qp;
	link->tx.cork_end = SDP_NEVER;
	link->end.close_end = SDP_NEVER;
	atomic_init(&link->timer.at_ns, SDP_NEVER);
	opt.role = SDP_CONNECTING;
	opt.carrier = SDP_CM_SEND;
	assert_int_equal(sdp_conn_new(&link->conn, &opt), 0);
	if (s->is_starting)
		assert_int_equal(sdp_conn_start(link->conn, sdp_now_ns()), 0);
	link->cm = &fake.id;
	fake.ev = (struct rdma_cm_event){ .id = &fake.id, .event = s->type };
	fake.cnt = 1 + (s->meanwhile == SECOND_END);

	assert_int_equal(sdp_cm_chan_adopt(link), 0);
	util_lock(&dev.poll_lock);
	if (!s->is_early) {
		fake.left = fake.cnt;
		sdp_cm_chan_serve();
	}
	(void)sdp_poll(&dev);
	util_unlock(&dev.poll_lock);

	assert_int_equal(fake.left, 0);
	assert_int_equal(fake.acked_cnt, fake.cnt);
	/* The link has not stood up yet, so it keeps its queue pair. */
	assert_int_equal(link->end.is_llp_down, s->is_end);
	sdp_conn_free(link->conn);
}

CASE(test_ends)
{
	static const struct scene scenes[] = {
		{ .name = "the end alone",
		  .type = RDMA_CM_EVENT_DISCONNECTED,
		  .is_end = true },
		{ .name = "a call on the link",
		  .type = RDMA_CM_EVENT_DISCONNECTED,
		  .meanwhile = CALL,
		  .is_end = true },
		{ .name = "a call that plans a deadline",
		  .type = RDMA_CM_EVENT_DISCONNECTED,
		  .meanwhile = CALL,
		  .is_starting = true,
		  .is_end = true },
		{ .name = "two ends",
		  .type = RDMA_CM_EVENT_DISCONNECTED,
		  .meanwhile = SECOND_END,
		  .is_end = true },
		{ .name = "the device goes",
		  .type = RDMA_CM_EVENT_DEVICE_REMOVAL,
		  .meanwhile = CALL,
		  .is_end = true },
		{ .name = "an end before the channel has the identity",
		  .type = RDMA_CM_EVENT_DISCONNECTED,
		  .is_early = true,
		  .is_end = true },
		{ .name = "no end",
		  .type = RDMA_CM_EVENT_TIMEWAIT_EXIT,
		  .meanwhile = CALL },
	};

	for (size_t i = 0; i < sizeof(scenes) / sizeof(*scenes); i++) {
		print_message("%s\n", scenes[i].name);
		play(&scenes[i]);
	}
}

static bool is_kicked(void)
{
	struct pollfd pfd = { .fd = sdp_notice_fd(), .events = POLLIN };
	bool is = poll(&pfd, 1, 0) == 1;

	sdp_notice_fd_drain();
	return is;
}

/* The progress thread may sleep already, without the channel. */
CASE(test_new_channel_wakes)
{
	static const struct scene quiet = {
		.type = RDMA_CM_EVENT_TIMEWAIT_EXIT,
	};

	sdp_cm_chan_forget();
	(void)is_kicked();
	play(&quiet);
	assert_true(is_kicked());
	play(&quiet);
	assert_false(is_kicked());
}

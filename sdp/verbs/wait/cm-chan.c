/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Events of rdma_cm on established links: the peer has disconnected.
 */
#include "cm-chan.h"

#include <errno.h>
#include <fcntl.h>

#include "verbs/link/drive.h"
#include "verbs/link/notice.h"
#include "verbs/dev/high.h"

static struct rdma_event_channel *_Atomic channel;

struct rdma_event_channel *sdp_cm_chan_new(void)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	int flags;

	if (!ch)
		return NULL;
	flags = fcntl(ch->fd, F_GETFL);
	if (flags < 0 || fcntl(ch->fd, F_SETFL, flags | O_NONBLOCK) < 0) {
		rdma_destroy_event_channel(ch);
		return NULL;
	}
	sdp_high_keep(&ch->fd);
	return ch;
}

void sdp_cm_chan_free(struct rdma_event_channel *ch)
{
	sdp_high_release(ch->fd);
	rdma_destroy_event_channel(ch);
}

/* Threads that fell asleep before there was a channel do not sleep on it. */
static void wake_sleepers(void)
{
	sdp_notice_kick();
	for (struct sdp_dev *dev = sdp_dev_first(); dev; dev = dev->next)
		sdp_notice_wake_all(dev);
}

static struct rdma_event_channel *get(void)
{
	struct rdma_event_channel *ch =
		atomic_load_explicit(&channel, memory_order_acquire);
	struct rdma_event_channel *other = NULL;

	if (ch)
		return ch;
	ch = sdp_cm_chan_new();
	if (!ch)
		return NULL;
	/* seq_cst: a thread announces its sleep, then reads the channel */
	if (atomic_compare_exchange_strong_explicit(&channel, &other, ch,
						    memory_order_seq_cst,
						    memory_order_acquire)) {
		wake_sleepers();
		return ch;
	}
	sdp_cm_chan_free(ch);
	return other;
}

int sdp_cm_chan_fd(void)
{
	struct rdma_event_channel *ch =
		atomic_load_explicit(&channel, memory_order_seq_cst);

	return ch ? ch->fd : -1;
}

/* Handles the events of all devices. No lock keeps the links: an event that is
 * not acknowledged keeps its identity, and so its link. It only marks the link:
 * the thread that holds the link's lock may wait in rdma_destroy_id() until the
 * event is acknowledged. */
void sdp_cm_chan_serve(void)
{
	struct rdma_event_channel *ch =
		atomic_load_explicit(&channel, memory_order_acquire);
	struct rdma_cm_event *ev;

	while (ch && !rdma_get_cm_event(ch, &ev)) {
		struct sdp_link *link = ev->id->context;
		bool is_end = ev->event == RDMA_CM_EVENT_DISCONNECTED ||
			      ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL;

		if (is_end)
			sdp_drive_cm_over(link);
		rdma_ack_cm_event(ev);
	}
}

int sdp_cm_chan_adopt(struct sdp_link *link)
{
	struct rdma_event_channel *ch = get();

	if (!ch)
		return -errno;
	link->cm->context = link;
	if (rdma_migrate_id(link->cm, ch))
		return -errno;
	/* Events move along with the identity. Linux wakes no thread for them
	 * that sleeps on the channel already. */
	sdp_cm_chan_serve();
	return 0;
}

void sdp_cm_chan_forget(void)
{
	atomic_store_explicit(&channel, NULL, memory_order_relaxed);
}

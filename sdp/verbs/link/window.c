/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Memory windows on the program's memory.
 *
 * A link has one window for data that it sends and one for data that it
 * receives. A work request binds the window directly before the message that
 * advertises it, in the same list. So a buffer that is never advertised needs
 * no bind, and no bind is in flight when a buffer comes back.
 */
#include "window.h"

#include <errno.h>

static uint32_t next_stag(const struct link_zbuf *z)
{
	return ibv_inc_rkey(z->mw->rkey);
}

int sdp_window_open(struct sdp_link *link, struct link_zbuf *z)
{
	if (!link->dev->has_windows) {
		z->stag = z->mr->rkey;
		return 0;
	}
	if (!z->mw)
		z->mw = ibv_alloc_mw(link->dev->pd, IBV_MW_TYPE_2);
	if (!z->mw)
		return -errno;
	z->stag = next_stag(z);
	return 0;
}

/* The region can be deregistered only after the window is invalid. A work
 * request that invalidates would have to complete first. ibv_dealloc_mw() takes
 * effect at once. */
void sdp_window_close(struct link_zbuf *z)
{
	if (!z->is_bound)
		return;
	(void)ibv_dealloc_mw(z->mw);
	z->mw = NULL;
	z->is_bound = false;
}

static struct link_zbuf *advertised(struct sdp_link *link, uint8_t mid)
{
	switch (mid) {
	case SDP_MID_SRC_AVAIL:
		return &link->tx.zbuf;
	case SDP_MID_SINK_AVAIL:
		return &link->rx.zbuf;
	default:
		return NULL;
	}
}

bool sdp_window_bind(struct sdp_link *link, uint8_t mid,
		     struct ibv_send_wr *ret_wr)
{
	struct link_zbuf *z = advertised(link, mid);

	if (!z || !z->mw || z->is_bound)
		return false;
	*ret_wr = (struct ibv_send_wr){ .opcode = IBV_WR_BIND_MW };
	ret_wr->bind_mw.mw = z->mw;
	ret_wr->bind_mw.rkey = z->stag;
	ret_wr->bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = z->mr,
		.addr = (uintptr_t)z->mem.base,
		.length = z->mem.len,
		.mw_access_flags = z == &link->tx.zbuf
					   ? IBV_ACCESS_REMOTE_READ
					   : IBV_ACCESS_REMOTE_WRITE,
	};
	z->mw->rkey = z->stag;
	z->is_bound = true;
	return true;
}

/* Each advertisement uses another key. */
static void change_stag(struct sdp_link *link, struct link_zbuf *z)
{
	z->is_bound = false;
	z->stag = next_stag(z);
	sdp_conn_set_stag(link->conn, (uintptr_t)&z->mem, z->stag);
}

void sdp_window_invalidated(struct sdp_link *link, uint32_t stag)
{
	struct link_zbuf *bufs[] = { &link->tx.zbuf, &link->rx.zbuf };

	for (int i = 0; i < 2; i++) {
		if (bufs[i]->is_bound && bufs[i]->stag == stag)
			change_stag(link, bufs[i]);
	}
	link->stats.rx_invalidates++;
}

int sdp_window_renew(struct sdp_link *link)
{
	struct link_zbuf *bufs[] = { &link->tx.zbuf, &link->rx.zbuf };

	for (int i = 0; i < 2; i++) {
		struct link_zbuf *z = bufs[i];
		int ret;

		if (!z->is_bound)
			continue;
		sdp_window_close(z);
		ret = sdp_window_open(link, z);
		if (ret)
			return ret;
		change_stag(link, z);
	}
	return 0;
}

void sdp_window_free(struct sdp_link *link)
{
	struct link_zbuf *bufs[] = { &link->tx.zbuf, &link->rx.zbuf };

	for (int i = 0; i < 2; i++) {
		if (bufs[i]->mw)
			(void)ibv_dealloc_mw(bufs[i]->mw);
		bufs[i]->mw = NULL;
		bufs[i]->is_bound = false;
	}
}

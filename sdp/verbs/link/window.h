/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Type 2 memory windows for advertisements. The peer may invalidate a window
 * with the message that completes the transfer (C26). A device without them
 * advertises the regions themselves.
 */
#ifndef SDP_WINDOW_H
#define SDP_WINDOW_H

#include "state.h"

/* @z->mr is registered. Gives @z an STag. Return: 0; -ENOMEM ... */
int sdp_window_open(struct sdp_link *link, struct link_zbuf *z);

/* Ends the peer's access. Call it before the region is deregistered. */
void sdp_window_close(struct link_zbuf *z);

/* If the message @mid advertises a buffer with an unbound window, *ret_wr binds
 * it before the message. Return: whether a bind is needed. */
bool sdp_window_bind(struct sdp_link *link, uint8_t mid,
		     struct ibv_send_wr *ret_wr);

/* The peer invalidated @stag. The core has checked it. */
void sdp_window_invalidated(struct sdp_link *link, uint32_t stag);

/* Windows belong to a queue pair: makes new ones for the link's new queue pair.
 * Return: 0; -ENOMEM ... */
int sdp_window_renew(struct sdp_link *link);

/* The link ends. */
void sdp_window_free(struct sdp_link *link);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What is advertised: type 2 memory windows, which a peer may invalidate with
 * the message that completes the transfer (C26).  A device without them
 * advertises the regions themselves.
 */
#ifndef SDP_WINDOW_H
#define SDP_WINDOW_H

#include "state.h"

/* @z->mr has been registered.  Gives it an STag.  Return: 0; -ENOMEM ... */
int sdp_window_open(struct sdp_link *link, struct link_zbuf *z);

/* The peer has no access any more.  Before the region goes. */
void sdp_window_close(struct link_zbuf *z);

/* If the message @mid advertises a buffer with a window that has to be bound
 * first, *ret_wr binds it before the message.  Return: whether it has to be. */
bool sdp_window_bind(struct sdp_link *link, uint8_t mid,
		     struct ibv_send_wr *ret_wr);

/* The peer invalidated @stag, which the core found right. */
void sdp_window_invalidated(struct sdp_link *link, uint32_t stag);

/* Windows belong to a queue pair: the link gets another one.  Return: 0;
 * -ENOMEM ... */
int sdp_window_renew(struct sdp_link *link);

/* The link ends. */
void sdp_window_free(struct sdp_link *link);

#endif

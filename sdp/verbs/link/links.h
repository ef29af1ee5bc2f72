/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* All links of the process. */
#ifndef SDP_LINKS_H
#define SDP_LINKS_H

#include "state.h"

void sdp_links_add(struct sdp_link *link);
/* Return: whether to free it; false: sdp_links_let_go() tells. */
bool sdp_links_remove(struct sdp_link *link);

void sdp_links_count(uint32_t *ret_all, uint32_t *ret_released);

/* Number of closed links with octets or a DisConn to send. */
uint32_t sdp_links_owing(void);

/* Those that no other thread has taken: fills in @cnt at most, and keeps their
 * memory until sdp_links_let_go(). Return: their number. */
uint32_t sdp_links_take_owing(struct sdp_link **ret_links, uint32_t cnt);
/* The same for all that have not ended. */
uint32_t sdp_links_take_live(struct sdp_link **ret_links, uint32_t cnt);
/* Return: whether to free it: it was removed meanwhile. */
bool sdp_links_let_go(struct sdp_link *link);

/* Around a fork, so that the list is consistent in the child. */
void sdp_links_lock(void);
void sdp_links_unlock(void);
/* In a forked child: marks every link as dead (SDP_LINK_CLOSED, ECONNRESET).
 * Touches nothing of the parent's. */
void sdp_links_orphan(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The TCP connections of QPs that connect out of band. */
#ifndef RNIC_OOB_LINK_H
#define RNIC_OOB_LINK_H

#include "loop/object.h"
#include "object.h"

/* A socket that connects to the peer, or -errno. With or without any lock. */
int oob_link_connect(const struct oob *oob);

/* Dials with the result of oob_link_connect(). After a failure there will be
 * another try. */
void oob_link_dial(struct oob *oob, int fd);

/* Accepts from the port of this block; @is_again: it was accepted from
 * before. */
int oob_link_listen(int listener, uint32_t block_num, bool is_again);

/* A peer came before its QP waited: is it the right one? The oob may be
 * freed. */
void oob_link_take_parked(struct oob *oob);

/* Connects a QP to itself. Return: 0: RTS; -errno. */
int oob_link_self(const struct oob *oob);

/* Removes it from its oob, without an event. */
void oob_link_free(struct oob_link *link);

/* The time limit of its phase is over. */
void oob_link_expire(struct rnic_timer *timer);
/* The pause after a lack of file descriptors is over. */
void oob_listeners_resume(struct rnic_timer *pause);
void oob_links_fork_child(void);

/* The QP has its stream, or no longer needs one. */
void oob_free(struct oob *oob);

/* @block_num: any number of the block whose port is readable. */
void rnic_oob_listener_ready(uint32_t block_num);
void oob_link_ready(struct oob_link *link);

#endif

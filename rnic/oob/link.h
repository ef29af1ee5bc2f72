/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The TCP connections of QPs that connect out of band. */
#ifndef RNIC_OOB_LINK_H
#define RNIC_OOB_LINK_H

#include "loop/object.h"
#include "object.h"

/* A socket that connects to the peer.  Return: -errno.  Any lock or none. */
int oob_link_connect(const struct oob *oob);

/* Dial with what oob_link_connect() answered; on failure there will be another
 * try. */
void oob_link_dial(struct oob *oob, int fd);

/* The port of that block is to be accepted from; @is_again: it was already. */
int oob_link_listen(int listener, uint32_t block_num, bool is_again);

/* A peer came before its QP waited: is it the one?  The oob may be gone. */
void oob_link_take_parked(struct oob *oob);

/* A QP connected to itself.  Return: 0: RTS; -errno. */
int oob_link_self(const struct oob *oob);

/* Takes it from its oob, silently. */
void oob_link_free(struct oob_link *link);

/* The time limit of its phase is over. */
void oob_link_expire(struct rnic_timer *timer);
/* The pause for want of file descriptors is over. */
void oob_listeners_resume(struct rnic_timer *pause);
void oob_links_fork_child(void);

/* The QP has its stream, or does not want one any more. */
void oob_free(struct oob *oob);

/* @block_num: any number of the block whose port is readable. */
void rnic_oob_listener_ready(uint32_t block_num);
void oob_link_ready(struct oob_link *link);

#endif

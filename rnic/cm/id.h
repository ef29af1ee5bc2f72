/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Identities: made, and the end of their streams. */
#ifndef RNIC_CM_ID_H
#define RNIC_CM_ID_H

#include "object.h"

int cm_id_new(struct rnic_cm_chan *chan, uint64_t uid, struct cm_id **ret_id);
/* Allocates the events that the end of a connection needs. Return: false: there
 * is no memory. */
bool cm_id_reserve_end(struct cm_id *id);
/* The application disconnects, in state ESTABLISHED or after it. */
void cm_id_disconnected(struct cm_id *id);
/* The stream of an established identity has ended. */
void cm_id_stream_ended(struct cm_id *id, int status);
/* In each round of the loop: checks whether a delayed DISCONNECTED may be
 * raised. Return: when to check again; UINT64_MAX: none is delayed. */
uint64_t cm_ids_look(uint64_t now_ns);
/* The longest delay is over. */
void cm_id_end_unread(struct rnic_timer *unread);
/* The identity's time in timewait is over. */
void cm_id_timewait_exit(struct rnic_timer *in_timewait);
/* DEVICE_REMOVAL for all identities of the device, once. */
void cm_ids_removed(const struct rnic_device *dev);
/* USIW_FAULT: their addresses have moved to another interface of a bond. */
void cm_ids_moved(void);
/* The process exits: closes the sockets of all identities. */
void cm_ids_close(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Requests for the QP of a service, of either side: the object.  All calls are
 * made with the manager locked. */
#ifndef RNIC_CM_SIDR_H
#define RNIC_CM_SIDR_H

#include "object.h"

/* Private data of the application. */
#define CM_SIDR_REQ_PD (SIB_SIDR_REQ_PRIVATE - SIB_IP_CM_SIZE)
#define CM_SIDR_REP_PD SIB_SIDR_REP_PRIVATE

/* The request of @id, which keeps it, and holds what sends MADs.
 * Return: 0; -errno. */
int cm_sidr_new(struct cm_id *id, struct cm_sidr **ret_sidr);
/* Its numbers are set: it can be found from here on. */
void cm_sidr_add(struct cm_sidr *sidr);
/* NULL: nothing.  The outcome, if it was not posted, is freed. */
void cm_sidr_free(struct cm_sidr *sidr);
/* The same in a forked child, for one of the parent's. */
void cm_sidr_forget(struct cm_sidr *sidr);

/* NULL: there is none.  @peer: its address. */
struct cm_sidr *cm_sidr_find(bool is_asker, uint32_t request_id, uint64_t tid,
			     const struct sib_gid *peer);

/* No MAD is sent from here on.  May be called twice. */
void cm_sidr_release(struct cm_sidr *sidr);

/*
 * Sends its MAD.  It is sent again if a socket is full, for a second at most,
 * and waits for others that are under way.  Return: 0: it is out, or lost;
 * -EAGAIN: RNIC_TIMER_CM_SIDR_FULL runs; -ECONNREFUSED: nobody is there.
 */
int cm_sidr_send(struct cm_sidr *sidr);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Connection manager: rdma_cm identities, their state machine and events,
 * and the thread that serves listeners and MPA start exchanges.  The public
 * calls stand in rnic.h; these are for the rest of rnic/.
 */
#ifndef RNIC_CM_H
#define RNIC_CM_H

struct smpa_options;
struct util_fdtab;
struct sockaddr_storage;

/* What the settings say about a start exchange with that peer: CRC, markers,
 * revision 0, RTR. */
void rnic_cm_start_options(const struct sockaddr_storage *peer,
			   struct smpa_options *opt);

/*
 * Around a fork, so that the child finds whole identities: both in the parent;
 * in the child first what it keeps of the fd table, then, after the walk over
 * it, the rest.  @tab: NULL: no descriptor was made yet.  Connections are the
 * parent's.
 */
void rnic_cm_fork_prepare(void);
void rnic_cm_fork_parent(void);
void rnic_cm_fork_keep(struct util_fdtab *tab);
void rnic_cm_fork_child(struct util_fdtab *tab);

/* Process exit (destructor): let connections that are being closed end in
 * order, within their limits; stop the thread, close listeners. */
void rnic_cm_exit(void);

#endif

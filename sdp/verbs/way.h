/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How sockets connect on the devices of this process. */
#ifndef SDP_WAY_H
#define SDP_WAY_H

enum sdp_way {
	SDP_WAY_NONE, /* no device */
	SDP_WAY_FD,   /* attach a TCP connection: usiwdv_qp_attach_fd(3) */
	SDP_WAY_CM,   /* connect by rdma_cm from the start */
};

/*
 * SDP_WAY_FD if any device supports it. The first call loads libibverbs'
 * drivers, which depend on the environment at that time. Call it before the
 * program clears its environment or changes its user. Children inherit the
 * result. Exception: a child of a process that has used rdma_cm gets
 * SDP_WAY_NONE, because the objects belong to the parent.
 */
enum sdp_way sdp_verbs_way(void);

/*
 * Registers handlers with pthread_atfork() when the drivers are loaded. A
 * driver and the libraries below it have handlers of their own, which take
 * their locks. A thread that holds a lock of the caller may wait for one of
 * those. So the caller's locks must be taken first, and the handler that is
 * registered last runs first. Call this function once, before sdp_verbs_way().
 */
void sdp_verbs_at_fork(void (*prepare)(void), void (*parent)(void));

#endif

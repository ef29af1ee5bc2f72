/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How connections of sockets are made on the devices of this process. */
#ifndef SDP_WAY_H
#define SDP_WAY_H

enum sdp_way {
	SDP_WAY_NONE, /* no device */
	SDP_WAY_FD,   /* a TCP connection goes over: usiwdv_qp_attach_fd(3) */
	SDP_WAY_CM,   /* by rdma_cm, from the first octet on */
};

/*
 * SDP_WAY_FD where any device has it.  The first call loads libibverbs'
 * drivers, and these are found by the environment of that moment: make it
 * before a program clears its environment or changes its user.  Children
 * inherit what it found, but for one: a child of a process that has used
 * rdma_cm has no way, since its objects are the parent's.
 */
enum sdp_way sdp_verbs_way(void);

/*
 * pthread_atfork()'s, from when the drivers are loaded.  A driver and what lies
 * below it have handlers of their own, which take their locks.  A thread with a
 * lock of the caller's may wait for one of theirs.  So the caller's have to be
 * taken first, and the handler that is registered last runs first.  To be
 * called once, before sdp_verbs_way().
 */
void sdp_verbs_at_fork(void (*prepare)(void), void (*parent)(void));

#endif

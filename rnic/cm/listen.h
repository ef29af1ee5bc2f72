/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Listeners: a listening TCP socket per listening identity. Connections are
 * accepted, and their number is limited. All calls are made with the manager
 * locked.
 */
#ifndef RNIC_LISTEN_H
#define RNIC_LISTEN_H

#include "object.h"

/* Limit of unfetched requests if the application gives no backlog. */
#define RNIC_LISTEN_BACKLOG 1024

/* The bound identity listens.  Return: 0; -EADDRINUSE, ... */
int rnic_listen_start(struct cm_id *id, int backlog);

/* Also ends its half-open connections and unfetched requests. */
void rnic_listen_stop(struct cm_id *id);

/* A listening identity changes to @fd, bound to another port. Return: 0: its
 * own socket is closed; -errno: nothing has changed. */
int rnic_listen_move(struct cm_id *id, int fd);

/* The listening socket is ready. */
void rnic_listen_ready(struct cm_id *id);

/* The pause after a lack of file descriptors is over. */
void rnic_listen_resume(struct rnic_timer *pause);

/* In a forked child: accepts from a socket that listens already. Return: 0;
 * -errno. */
int rnic_listen_resume_inherited(struct cm_id *id);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Before a port is dialled: finds out whether its listener is on the port
 * beside it. */
#ifndef RNIC_CM_ASK_H
#define RNIC_CM_ASK_H

#include "object.h"

/* Return: true: an answer is awaited; false: dial the port itself. */
bool cm_ask_begin(struct cm_conn *conn);

enum cm_ask_answer {
	CM_ASK_NONE, /* not yet */
	CM_ASK_HERE, /* the TCP connection to the port beside is established */
	CM_ASK_DIRECT, /* dial the port itself */
};

/* The socket is ready, or the time is over. */
enum cm_ask_answer cm_ask_ready(struct cm_conn *conn);
enum cm_ask_answer cm_ask_expire(struct cm_conn *conn);

/* The port itself has answered, by MPA. */
void cm_ask_note_own_port(const struct cm_conn *conn);

#endif

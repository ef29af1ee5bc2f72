/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Before a port is dialled: is its listener on the port beside it? */
#ifndef RNIC_CM_ASK_H
#define RNIC_CM_ASK_H

#include "object.h"

/* Return: whether an answer is awaited; else the port itself is to be dialled.
 */
bool cm_ask_begin(struct cm_conn *conn);

enum cm_ask_answer {
	CM_ASK_NONE,   /* not yet */
	CM_ASK_HERE,   /* the TCP connection stands, at the port beside */
	CM_ASK_DIRECT, /* the port itself is to be dialled */
};

/* The socket is ready; the time is over. */
enum cm_ask_answer cm_ask_ready(struct cm_conn *conn);
enum cm_ask_answer cm_ask_expire(struct cm_conn *conn);

/* The port itself has answered, by MPA. */
void cm_ask_note_direct(const struct cm_conn *conn);

#endif

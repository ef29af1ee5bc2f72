/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Messages that are one FPDU with little payload or none, as most messages
 * are. */
#ifndef SMPA_TX_SHORT_H
#define SMPA_TX_SHORT_H

#include "state.h"

/*
 * Encodes @msg if it is short and can be encoded at once.  What tx.c does for
 * segments, pieces and markers costs more than the octets of such a message.
 * Return: false: it is not short, there is no room, the payload is not
 * accessible, or @msg is not valid.  Nothing has changed then, and tx.c handles
 * it.
 */
bool tx_submit_short(struct smpa_conn *c, const struct smpa_msg *msg);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Payload that cannot be read when it is sent. */
#ifndef SMPA_TX_FAULT_H
#define SMPA_TX_FAULT_H

#include "state.h"

/* Runs @access over the payload.  Return: false: the payload is not accessible;
 * the message ends here, and the fault is recorded. */
bool tx_msg_access(struct smpa_conn *c, struct tx_msg *m,
		   void (*access)(void *arg), void *arg);

/* Reads one octet of each page, which TCP reads next. */
void tx_touch(const uint8_t *p, size_t len);

/* Records that an FPDU in place begins here.  Return: false: no room. */
bool tx_mark_push(struct conn_tx *tx);

#endif

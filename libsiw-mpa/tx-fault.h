/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Payload that is not there when it is to be sent. */
#ifndef SMPA_TX_FAULT_H
#define SMPA_TX_FAULT_H

#include "state.h"

/* Run @access over the payload.  Return: false: it is not there; the message
 * ends here, and the fault is noted. */
bool tx_msg_access(struct smpa_conn *c, struct tx_msg *m,
		   void (*access)(void *arg), void *arg);

/* Is there a page behind each octet?  What is read is what TCP reads next. */
void tx_touch(const uint8_t *p, size_t len);

/* An FPDU in place begins here; false: no room. */
bool tx_mark_push(struct conn_tx *tx);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The private data of both start frames of an out-of-band connection. */
#ifndef RNIC_OOB_FRAME_H
#define RNIC_OOB_FRAME_H

#include "object.h"

void oob_frame_encode(const struct oob_frame *frame,
		      uint8_t buf[OOB_FRAME_LEN]);

/* Return: 0; -EPROTO: not such a frame. */
int oob_frame_decode(const void *buf, size_t len, struct oob_frame *ret_frame);

#endif

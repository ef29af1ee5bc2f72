/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The header of MADs of connection management (IBA 13.4.2, 16.7.1).
 */
#ifndef SIB_MAD_H
#define SIB_MAD_H

#include <stdint.h>

#define SIB_MAD_HDR_SIZE 24u

/* Writes SIB_MAD_SIZE octets: the header, then zeros. */
void sib_mad_begin(uint8_t *out, uint16_t attr, uint64_t tid);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * P_Keys and Q_Keys.
 */
#include "include/siw-ib.h"

#define PKEY_FULL 0x8000u
#define PKEY_PARTITION 0x7fffu
#define QKEY_CONTROLLED 0x80000000u

bool sib_pkey_match(uint16_t a, uint16_t b)
{
	return !((a ^ b) & PKEY_PARTITION) && a & PKEY_PARTITION &&
	       (a | b) & PKEY_FULL;
}

uint32_t sib_qkey_to_send(uint32_t wr_qkey, uint32_t qp_qkey)
{
	return wr_qkey & QKEY_CONTROLLED ? qp_qkey : wr_qkey;
}

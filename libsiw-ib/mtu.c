/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Path MTUs: 256 << (code - 1).
 */
#include "include/siw-ib.h"

#define CODE_MAX 5u

uint32_t sib_mtu_of_link(uint32_t link_mtu)
{
	for (uint8_t code = CODE_MAX; code; code--) {
		uint32_t mtu = sib_mtu_of_code(code);

		if (link_mtu >= mtu + SIB_MTU_OVERHEAD)
			return mtu;
	}
	return 0;
}

uint8_t sib_mtu_code(uint32_t mtu)
{
	for (uint8_t code = CODE_MAX; code; code--)
		if (sib_mtu_of_code(code) == mtu)
			return code;
	return 0;
}

uint32_t sib_mtu_of_code(uint8_t code)
{
	return code && code <= CODE_MAX ? 256u << (code - 1) : 0;
}

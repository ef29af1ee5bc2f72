/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The header of MADs of connection management.
 */
#include "mad.h"

#include <string.h>

#include "include/siw-ib.h"
#include "libsiw-mpa/wire.h"

#define BASE_VERSION 1u
#define CLASS_COM_MGT 0x07u
#define CLASS_VERSION 2u
#define METHOD_SEND 0x03u

/* Offsets; status, class specific, reserved and modifier are zero. */
#define AT_BASE_VERSION 0u
#define AT_CLASS 1u
#define AT_CLASS_VERSION 2u
#define AT_METHOD 3u
#define AT_TID 8u
#define AT_ATTR 16u

void sib_mad_begin(uint8_t *out, uint16_t attr, uint64_t tid)
{
	memset(out, 0, SIB_MAD_SIZE);
	out[AT_BASE_VERSION] = BASE_VERSION;
	out[AT_CLASS] = CLASS_COM_MGT;
	out[AT_CLASS_VERSION] = CLASS_VERSION;
	out[AT_METHOD] = METHOD_SEND;
	wire_put64(out + AT_TID, tid);
	wire_put16(out + AT_ATTR, attr);
}

enum sib_fault sib_cm_decode(const uint8_t *buf, size_t len, struct sib_cm *ret)
{
	if (len != SIB_MAD_SIZE)
		return SIB_F_MAD_LENGTH;
	if (buf[AT_BASE_VERSION] != BASE_VERSION)
		return SIB_F_MAD_BASE_VERSION;
	if (buf[AT_CLASS] != CLASS_COM_MGT)
		return SIB_F_MAD_CLASS;
	if (buf[AT_CLASS_VERSION] != CLASS_VERSION)
		return SIB_F_MAD_CLASS_VERSION;
	if (buf[AT_METHOD] != METHOD_SEND)
		return SIB_F_MAD_METHOD;
	ret->attr = wire_get16(buf + AT_ATTR);
	ret->tid = wire_get64(buf + AT_TID);
	return SIB_OK;
}

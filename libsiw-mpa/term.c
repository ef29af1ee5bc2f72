/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * TERMINATE messages and the names of faults.
 */
#include "term.h"

#include <errno.h>
#include <string.h>

#include "wire.h"

/* Third octet of the TERMINATE header (5.5). */
#define TERM_M 0x80u
#define TERM_D 0x40u
#define TERM_R 0x20u
#define TERM_SWAPPED 0x07u /* where a Linux siw has them */
/* Offset of the copied DDP header, which follows the segment length. */
#define TERM_DDP_OFF 6u

static uint32_t fault_layer(struct smpa_fault fault)
{
	return fault.value >> 12;
}

static uint32_t fault_etype(struct smpa_fault fault)
{
	return fault.value >> 8 & 0xf;
}

/* Table 6.4 (RDMAP-66). */
static uint8_t term_flags(struct smpa_fault fault,
			  const struct term_cause *cause)
{
	if (!cause || cause->ddp_len == 0)
		return 0; /* RDMAP-58, D-1 */
	switch (fault_layer(fault)) {
	case 0:
		if (fault_etype(fault) == 0)
			return 0;
		if (fault_etype(fault) == 1 && cause->has_read)
			return TERM_M | TERM_D | TERM_R; /* D-2 */
		return TERM_M | TERM_D;
	case 1:
		return TERM_M | TERM_D;
	}
	return 0;
}

uint32_t term_encode(struct smpa_fault fault, const struct term_cause *cause,
		     uint8_t *out)
{
	uint8_t flags = term_flags(fault, cause);
	uint8_t *p = wire_put16(out, fault.value);

	p = wire_put16(p, (uint16_t)(flags << 8));
	if (flags & TERM_D) {
		p = wire_put16(p, (uint16_t)cause->segment_len); /* D-4 */
		memcpy(p, cause->ddp, cause->ddp_len);
		p += cause->ddp_len;
	}
	if (flags & TERM_R) {
		memcpy(p, cause->read, sizeof(cause->read));
		p += sizeof(cause->read);
	}
	return (uint32_t)(p - out);
}

static const struct {
	uint16_t value;
	const char *text;
} fault_names[] = {
	{ SMPA_F_RDMAP_LOCAL, "RDMAP: local catastrophic error" },
	{ SMPA_F_RDMAP_STAG, "RDMAP, remote protection: invalid STag" },
	{ SMPA_F_RDMAP_BOUNDS,
	  "RDMAP, remote protection: base or bounds violation" },
	{ SMPA_F_RDMAP_ACCESS,
	  "RDMAP, remote protection: access rights violation" },
	{ SMPA_F_RDMAP_STREAM,
	  "RDMAP, remote protection: STag not associated with the stream" },
	{ SMPA_F_RDMAP_WRAP, "RDMAP, remote protection: tagged offset wrap" },
	{ SMPA_F_RDMAP_INVALIDATE,
	  "RDMAP, remote protection: STag cannot be invalidated" },
	{ SMPA_F_RDMAP_PROT, "RDMAP, remote protection: unspecified error" },
	{ SMPA_F_RDMAP_VERSION,
	  "RDMAP, remote operation: invalid RDMAP version" },
	{ SMPA_F_RDMAP_OPCODE, "RDMAP, remote operation: unexpected opcode" },
	{ SMPA_F_RDMAP_STREAM_CATA,
	  "RDMAP, remote operation: catastrophic error, this stream" },
	{ SMPA_F_RDMAP_GLOBAL_CATA,
	  "RDMAP, remote operation: catastrophic error, global" },
	{ 0x0209, "RDMAP, remote operation: STag cannot be invalidated" },
	{ SMPA_F_RDMAP_UNSPEC, "RDMAP, remote operation: unspecified error" },
	{ SMPA_F_DDP_LOCAL, "DDP: local catastrophic error" },
	{ SMPA_F_DDP_T_STAG, "DDP, tagged buffer: invalid STag" },
	{ SMPA_F_DDP_T_BOUNDS, "DDP, tagged buffer: base or bounds violation" },
	{ SMPA_F_DDP_T_STREAM,
	  "DDP, tagged buffer: STag not associated with the stream" },
	{ SMPA_F_DDP_T_WRAP, "DDP, tagged buffer: tagged offset wrap" },
	{ SMPA_F_DDP_T_VERSION, "DDP, tagged buffer: invalid DDP version" },
	{ SMPA_F_DDP_U_QN, "DDP, untagged buffer: invalid queue number" },
	{ SMPA_F_DDP_U_NO_BUFFER,
	  "DDP, untagged buffer: invalid MSN, no buffer available" },
	{ SMPA_F_DDP_U_MSN,
	  "DDP, untagged buffer: invalid MSN, range not valid" },
	{ SMPA_F_DDP_U_MO, "DDP, untagged buffer: invalid message offset" },
	{ SMPA_F_DDP_U_TOO_LONG,
	  "DDP, untagged buffer: message too long for the buffer" },
	{ SMPA_F_DDP_U_VERSION, "DDP, untagged buffer: invalid DDP version" },
	{ SMPA_F_MPA_CLOSED, "MPA: TCP connection closed or lost" },
	{ SMPA_F_MPA_CRC, "MPA: CRC error" },
	{ SMPA_F_MPA_MARKER, "MPA: marker and ULPDU length disagree" },
	{ SMPA_F_MPA_START, "MPA: invalid Request or Reply frame" },
	{ SMPA_F_MPA_LOCAL, "MPA: local catastrophic error" },
	{ SMPA_F_MPA_IRD, "MPA: insufficient IRD resources" },
	{ SMPA_F_MPA_RTR, "MPA: no matching RTR option" },
};

/* NULL: no RFC defines it. */
static const char *fault_name(struct smpa_fault fault)
{
	for (size_t i = 0; i < sizeof(fault_names) / sizeof(*fault_names); i++)
		if (fault_names[i].value == fault.value)
			return fault_names[i].text;
	if (fault_layer(fault) == 0 && fault_etype(fault) == 0)
		return fault_names[0].text; /* any code */
	return NULL;
}

/* D-5: the bit fields of a Linux siw begin at the other end of each octet. */
static bool fault_is_swapped(struct smpa_fault fault, uint8_t flags)
{
	const struct smpa_fault swapped = SMPA_FAULT(
		fault_etype(fault), fault_layer(fault), fault.value & 0xff);

	if (flags & (TERM_M | TERM_D | TERM_R))
		return false;
	return flags & TERM_SWAPPED ||
	       (!fault_name(fault) && fault_name(swapped));
}

int term_decode(const uint8_t *buf, size_t len, struct term_info *ret_info)
{
	struct term_info info = { 0 };
	int used;

	if (len < RDMAP_TERM_MIN_SIZE)
		return -EMSGSIZE;
	info.fault.value = wire_get16(buf);
	info.is_swapped = fault_is_swapped(info.fault, buf[2]);
	if ((buf[2] & TERM_D) && len > TERM_DDP_OFF) {
		used = ddp_hdr_decode(buf + TERM_DDP_OFF, len - TERM_DDP_OFF,
				      &info.ddp);
		info.has_ddp = used > 0;
		info.has_read =
			used > 0 && (buf[2] & TERM_R) &&
			rdmap_read_decode(buf + TERM_DDP_OFF + used,
					  len - TERM_DDP_OFF - (size_t)used,
					  &info.read) > 0;
	}
	*ret_info = info;
	return 0;
}

const char *smpa_fault_str(struct smpa_fault fault)
{
	const char *name = fault_name(fault);

	return name ? name : "unknown error";
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Texts for faults.
 */
#include "include/siw-ib.h"

static const char *const texts[] = {
	[SIB_OK] = "packet: as it should be",
	[SIB_F_BTH_SHORT] = "BTH: the packet ends before BTH or ICRC",
	[SIB_F_BTH_OPCODE] = "BTH OpCode: without meaning",
	[SIB_F_BTH_VERSION] = "BTH TVer: not 0",
	[SIB_F_BTH_PAD] = "BTH PadCnt: does not fit the packet's length",
	[SIB_F_EXT_SHORT] =
		"extended headers: the packet ends before or inside",
	[SIB_F_PAYLOAD_NONE] = "payload: this opcode has none",
	[SIB_F_PAYLOAD_EMPTY] = "payload: a last packet without",
	[SIB_F_PAYLOAD_LONG] = "payload: longer than the path MTU",
	[SIB_F_PAYLOAD_MTU] = "payload: not the path MTU, and not the last",
	[SIB_F_ICRC] = "ICRC: wrong",
	[SIB_F_MAD_LENGTH] = "MAD: not 256 octets",
	[SIB_F_MAD_BASE_VERSION] = "MAD BaseVersion: not 1",
	[SIB_F_MAD_CLASS] = "MAD MgmtClass: not connection management",
	[SIB_F_MAD_CLASS_VERSION] = "MAD ClassVersion: not 2",
	[SIB_F_MAD_METHOD] = "MAD Method: not Send",
	[SIB_F_MAD_ATTRIBUTE] = "MAD AttributeID: another message",
	[SIB_F_SIDR_INFO] = "SIDR_REP additional information: too long",
	[SIB_F_IP_CM_SHORT] = "rdma_cm's private data: shorter than its header",
	[SIB_F_IP_CM_VERSION] = "rdma_cm's private data, version: not 0",
	[SIB_F_IP_CM_IPV] = "rdma_cm's private data, IPV: neither 4 nor 6",
};

const char *sib_fault_str(enum sib_fault fault)
{
	if ((unsigned int)fault >= sizeof(texts) / sizeof(*texts))
		return "fault: unknown";
	return texts[fault];
}

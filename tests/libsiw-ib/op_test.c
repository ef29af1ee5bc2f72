/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The table of opcodes, against the tables of IBA 9.2.1, A14 and A17.
 */
#include "test.h"

#include <string.h>

#include "roce.h"
#include "siw-ib.h"

/* By service, the operations that it has. */
static const struct {
	enum sib_service service;
	const char *name;
	uint32_t operations; /* bit n: operation n */
	uint16_t ext;	     /* of requests */
	uint16_t response_ext;
} services[] = {
	{ SIB_RC, "RC ", 0x30dfffff, 0, 0 },
	{ SIB_UC, "UC ", 0x000fff, 0, 0 },
	{ SIB_RD, "RD ", 0x303fffff, SIB_RDETH | SIB_DETH, SIB_RDETH },
	{ SIB_UD, "UD ", 0x000030, SIB_DETH, 0 },
	{ SIB_CNP, "CNP ", 0x000002, 0, 0 },
	{ 6, "", 0, 0, 0 },
	{ 7, "", 0, 0, 0 },
	{ SIB_XRC, "XRC ", 0xdfffff, SIB_XRCETH, 0 },
};

CASE(knows_the_opcodes_of_each_service)
{
	for (size_t i = 0; i < ARRAY_LEN(services); i++) {
		for (unsigned int n = 0; n < 32; n++) {
			const struct sib_op *op =
				sib_op(SIB_OPCODE(services[i].service, n));

			assert_int_equal(op != NULL,
					 services[i].operations >> n & 1);
			if (!op)
				continue;
			assert_int_equal(op->service, services[i].service);
			assert_int_equal(strncmp(op->name, services[i].name,
						 strlen(services[i].name)),
					 0);
		}
	}
}

/* Operations, without what the service adds. */
static const struct {
	const char *name;
	enum sib_operation operation;
	enum sib_part part;
	bool has_payload, is_response;
	uint16_t ext;
} operations[] = {
	{ "SEND first", 0x00, SIB_PART_FIRST, true, false, 0 },
	{ "SEND middle", 0x01, SIB_PART_MIDDLE, true, false, 0 },
	{ "SEND last", 0x02, SIB_PART_LAST, true, false, 0 },
	{ "SEND last with immediate", 0x03, SIB_PART_LAST, true, false,
	  SIB_IMMDT },
	{ "SEND only", 0x04, SIB_PART_ONLY, true, false, 0 },
	{ "SEND only with immediate", 0x05, SIB_PART_ONLY, true, false,
	  SIB_IMMDT },
	{ "WRITE first", 0x06, SIB_PART_FIRST, true, false, SIB_RETH },
	{ "WRITE middle", 0x07, SIB_PART_MIDDLE, true, false, 0 },
	{ "WRITE last", 0x08, SIB_PART_LAST, true, false, 0 },
	{ "WRITE last with immediate", 0x09, SIB_PART_LAST, true, false,
	  SIB_IMMDT },
	{ "WRITE only", 0x0a, SIB_PART_ONLY, true, false, SIB_RETH },
	{ "WRITE only with immediate", 0x0b, SIB_PART_ONLY, true, false,
	  SIB_RETH | SIB_IMMDT },
	{ "READ request", 0x0c, SIB_PART_ONLY, false, false, SIB_RETH },
	{ "READ response first", 0x0d, SIB_PART_FIRST, true, true, SIB_AETH },
	{ "READ response middle", 0x0e, SIB_PART_MIDDLE, true, true, 0 },
	{ "READ response last", 0x0f, SIB_PART_LAST, true, true, SIB_AETH },
	{ "READ response only", 0x10, SIB_PART_ONLY, true, true, SIB_AETH },
	{ "ACK", 0x11, SIB_PART_ONLY, false, true, SIB_AETH },
	{ "ATOMIC ACK", 0x12, SIB_PART_ONLY, false, true,
	  SIB_AETH | SIB_ATOMIC_AETH },
	{ "COMPARE SWAP", 0x13, SIB_PART_ONLY, false, false, SIB_ATOMIC_ETH },
	{ "FETCH ADD", 0x14, SIB_PART_ONLY, false, false, SIB_ATOMIC_ETH },
	{ "RESYNC", 0x15, SIB_PART_ONLY, false, false, 0 },
	{ "SEND last with invalidate", 0x16, SIB_PART_LAST, true, false,
	  SIB_IETH },
	{ "SEND only with invalidate", 0x17, SIB_PART_ONLY, true, false,
	  SIB_IETH },
	{ "FLUSH", 0x1c, SIB_PART_ONLY, false, false, SIB_FETH | SIB_RETH },
	{ "ATOMIC WRITE", 0x1d, SIB_PART_ONLY, true, false, SIB_RETH },
};

CASE(has_the_same_operations_in_each_service)
{
	for (size_t i = 0; i < ARRAY_LEN(services); i++) {
		if (services[i].service == SIB_CNP)
			continue; /* its only one is of its own */
		for (size_t n = 0; n < ARRAY_LEN(operations); n++) {
			const struct sib_op *op = sib_op(SIB_OPCODE(
				services[i].service, operations[n].operation));
			const char *name = operations[n].name;

			if (!op)
				continue;
			assert_string_equal(op->name + strlen(services[i].name),
					    name);
			assert_row(name, op->part == operations[n].part);
			assert_row(name, op->has_payload ==
						 operations[n].has_payload);
			assert_row(name,
				   op->ext ==
					   (operations[n].ext |
					    (operations[n].is_response
						     ? services[i].response_ext
						     : services[i].ext)));
		}
	}
}

CASE(knows_sizes)
{
	/* those that rxe sent, and the longest */
	assert_int_equal(sib_op(SIB_OPCODE(SIB_UD, SIB_SEND_ONLY))->hdr_size,
			 20);
	assert_int_equal(
		sib_op(SIB_OPCODE(SIB_UD, SIB_SEND_ONLY_IMM))->hdr_size, 24);
	assert_int_equal(sib_op(SIB_OPCODE(SIB_RC, SIB_CMP_SWAP))->hdr_size,
			 40);
	assert_int_equal(sib_op(SIB_OPCODE(SIB_RC, SIB_ATOMIC_ACK))->hdr_size,
			 24);
	assert_int_equal(
		sib_op(SIB_OPCODE(SIB_RC, SIB_WRITE_ONLY_IMM))->hdr_size, 32);
	assert_int_equal(sib_op(SIB_OPCODE(SIB_RD, SIB_CMP_SWAP))->hdr_size,
			 SIB_HDR_MAX);
	for (unsigned int n = 0; n < 256; n++) {
		const struct sib_op *op = sib_op((uint8_t)n);

		assert_true(!op || op->hdr_size <= SIB_HDR_MAX);
	}
}

CASE(knows_what_rxe_sends)
{
	for (size_t i = 0; i < ARRAY_LEN(roce_vectors); i++)
		assert_row(roce_vectors[i].name,
			   sib_op(roce_vectors[i].hdr.opcode));
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The table of opcodes (IBA 9.2.1, A14, A17, A19).
 */
#include "include/siw-ib.h"

#define EXT_SIZE(ext)                                                          \
	(((ext) & SIB_RDETH ? 4 : 0) + ((ext) & SIB_DETH ? 8 : 0) +            \
	 ((ext) & SIB_XRCETH ? 4 : 0) + ((ext) & SIB_FETH ? 4 : 0) +           \
	 ((ext) & SIB_RETH ? 16 : 0) + ((ext) & SIB_ATOMIC_ETH ? 28 : 0) +     \
	 ((ext) & SIB_AETH ? 4 : 0) + ((ext) & SIB_ATOMIC_AETH ? 8 : 0) +      \
	 ((ext) & SIB_IMMDT ? 4 : 0) + ((ext) & SIB_IETH ? 4 : 0))

/* One row: @S is the service, @E its extended headers, @e those of the
 * operation. */
#define ROW(S, E, operation, what, place, has, e)                              \
	[SIB_OPCODE(SIB_##S, operation)] = {                                   \
		.name = #S " " what,                                           \
		.ext = (E) | (e),                                              \
		.hdr_size = SIB_BTH_SIZE + EXT_SIZE((E) | (e)),                \
		.service = SIB_##S,                                            \
		.part = SIB_PART_##place,                                      \
		.has_payload = has,                                            \
	}

#define SEND_ONLY(S, E)                                                        \
	ROW(S, E, SIB_SEND_ONLY, "SEND only", ONLY, true, 0),                  \
		ROW(S, E, SIB_SEND_ONLY_IMM, "SEND only with immediate", ONLY, \
		    true, SIB_IMMDT)

#define SEND_AND_WRITE(S, E)                                                   \
	ROW(S, E, SIB_SEND_FIRST, "SEND first", FIRST, true, 0),               \
		ROW(S, E, SIB_SEND_MIDDLE, "SEND middle", MIDDLE, true, 0),    \
		ROW(S, E, SIB_SEND_LAST, "SEND last", LAST, true, 0),          \
		ROW(S, E, SIB_SEND_LAST_IMM, "SEND last with immediate", LAST, \
		    true, SIB_IMMDT),                                          \
		SEND_ONLY(S, E),                                               \
		ROW(S, E, SIB_WRITE_FIRST, "WRITE first", FIRST, true,         \
		    SIB_RETH),                                                 \
		ROW(S, E, SIB_WRITE_MIDDLE, "WRITE middle", MIDDLE, true, 0),  \
		ROW(S, E, SIB_WRITE_LAST, "WRITE last", LAST, true, 0),        \
		ROW(S, E, SIB_WRITE_LAST_IMM, "WRITE last with immediate",     \
		    LAST, true, SIB_IMMDT),                                    \
		ROW(S, E, SIB_WRITE_ONLY, "WRITE only", ONLY, true, SIB_RETH), \
		ROW(S, E, SIB_WRITE_ONLY_IMM, "WRITE only with immediate",     \
		    ONLY, true, SIB_RETH | SIB_IMMDT)

/* What only reliable services have.  Responses have the headers @R. */
#define READ_AND_ATOMIC(S, E, R)                                               \
	ROW(S, E, SIB_READ_REQUEST, "READ request", ONLY, false, SIB_RETH),    \
		ROW(S, R, SIB_READ_RESPONSE_FIRST, "READ response first",      \
		    FIRST, true, SIB_AETH),                                    \
		ROW(S, R, SIB_READ_RESPONSE_MIDDLE, "READ response middle",    \
		    MIDDLE, true, 0),                                          \
		ROW(S, R, SIB_READ_RESPONSE_LAST, "READ response last", LAST,  \
		    true, SIB_AETH),                                           \
		ROW(S, R, SIB_READ_RESPONSE_ONLY, "READ response only", ONLY,  \
		    true, SIB_AETH),                                           \
		ROW(S, R, SIB_ACK, "ACK", ONLY, false, SIB_AETH),              \
		ROW(S, R, SIB_ATOMIC_ACK, "ATOMIC ACK", ONLY, false,           \
		    SIB_AETH | SIB_ATOMIC_AETH),                               \
		ROW(S, E, SIB_CMP_SWAP, "COMPARE SWAP", ONLY, false,           \
		    SIB_ATOMIC_ETH),                                           \
		ROW(S, E, SIB_FETCH_ADD, "FETCH ADD", ONLY, false,             \
		    SIB_ATOMIC_ETH)

#define SEND_INVALIDATE(S, E)                                                  \
	ROW(S, E, SIB_SEND_LAST_INV, "SEND last with invalidate", LAST, true,  \
	    SIB_IETH),                                                         \
		ROW(S, E, SIB_SEND_ONLY_INV, "SEND only with invalidate",      \
		    ONLY, true, SIB_IETH)

/* A READ response without payload answers both. */
#define PLACEMENT(S, E)                                                        \
	ROW(S, E, SIB_FLUSH, "FLUSH", ONLY, false, SIB_FETH | SIB_RETH),       \
		ROW(S, E, SIB_ATOMIC_WRITE, "ATOMIC WRITE", ONLY, true,        \
		    SIB_RETH)

static const struct sib_op ops[] = {
	SEND_AND_WRITE(RC, 0),
	READ_AND_ATOMIC(RC, 0, 0),
	SEND_INVALIDATE(RC, 0),
	PLACEMENT(RC, 0),
	SEND_AND_WRITE(UC, 0),
	SEND_AND_WRITE(RD, SIB_RDETH | SIB_DETH),
	READ_AND_ATOMIC(RD, SIB_RDETH | SIB_DETH, SIB_RDETH),
	PLACEMENT(RD, SIB_RDETH | SIB_DETH),
	ROW(RD, SIB_RDETH | SIB_DETH, SIB_RESYNC, "RESYNC", ONLY, false, 0),
	SEND_ONLY(UD, SIB_DETH),
	/* 16 reserved octets, which no QP gets, stand as payload. */
	ROW(CNP, 0, SIB_CONGESTION, "congestion", ONLY, true, 0),
	SEND_AND_WRITE(XRC, SIB_XRCETH),
	READ_AND_ATOMIC(XRC, SIB_XRCETH, 0),
	SEND_INVALIDATE(XRC, SIB_XRCETH),
};

const struct sib_op *sib_op(uint8_t opcode)
{
	if (opcode >= sizeof(ops) / sizeof(*ops) || !ops[opcode].name)
		return NULL;
	return &ops[opcode];
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * FPDUs: those of the figures in RFC 5044 and in the draft, and computed ones
 * (doc/spec/mpa.md 9.1 to 9.3).
 */
#ifndef TEST_VECTORS_FRAMING_H
#define TEST_VECTORS_FRAMING_H

#include <stdbool.h>
#include <stdint.h>

enum framing_result { FRAMING_OK, FRAMING_CRC, FRAMING_MARKER };

struct framing_vector {
	const char *name, *origin;
	const char *hex;
	const char *ulpdu; /* NULL: as FRAMING_ZEROS */
	uint32_t phase;	   /* stream offset modulo 512 of hex[0] */
	bool has_markers;
	bool has_crc;
	bool is_canonical; /* an encoder must produce exactly this */
	enum framing_result result;
};

#define ULPDU_F5                                                               \
	"41430000000000000000000000010000000000000000000000000000"             \
	"0000000000000000000000000000"
#define ULPDU_F6                                                               \
	"41430000000000000000000000020000000000000000000000000000"             \
	"0000000000000000000000000000"

static const struct framing_vector framing_vectors[] = {
	{ "RFC-F5", "RFC 5044 figure 5",
	  "00000000002a4143000000000000000000000001000000000000000000000000"
	  "0000000000000000000000000000000052239983",
	  ULPDU_F5, 0, true, true, true, FRAMING_OK },
	{ "RFC-F6", "RFC 5044 figure 6",
	  "002a4143000000000000000000000002000000000000001400000000"
	  "000000000000000000000000000000000000000084925898",
	  ULPDU_F6, 492, true, true, true, FRAMING_OK },
	{ "RFC-F4", "RFC 5044 figure 4, ULPDU and CRC computed",
	  "0010000102030405060708090000000c0a0b0c0d0e0f0000105b1c88",
	  "000102030405060708090a0b0c0d0e0f", 500, true, true, true,
	  FRAMING_OK },
	{ "D00-F5", "draft-culley-iwarp-mpa-00 figure 5",
	  "00000000002a4003000000000000000000000001000000000000000000000000"
	  "000000000000000000000000000000004c86b384",
	  "4003000000000000000000000001000000000000000000000000000000000000"
	  "00000000000000000000",
	  0, true, true, true, FRAMING_OK },
	{ "D00-F6", "draft-culley-iwarp-mpa-00 figure 6",
	  "002a4003000000000000000000000002000000000000001400000000"
	  "0000000000000000000000000000000000000000a19cd103",
	  "4003000000000000000000000002000000000000000000000000000000000000"
	  "00000000000000000000",
	  492, true, true, true, FRAMING_OK },
	{ "V-1", "RFC-F5 without markers, computed",
	  "002a414300000000000000000000000100000000000000000000000000000000"
	  "000000000000000000000000b7243ec3",
	  ULPDU_F5, 0, false, true, true, FRAMING_OK },
	{ "V-2", "computed", "00010100ce4184fe", "01", 0, false, true, true,
	  FRAMING_OK },
	{ "V-3", "computed", "000201024af191f5", "0102", 0, false, true, true,
	  FRAMING_OK },
	{ "V-4", "computed", "0003010203000000aafa1dc9", "010203", 0, false,
	  true, true, FRAMING_OK },
	{ "V-5", "computed", "000401020304000039ee264a", "01020304", 0, false,
	  true, true, FRAMING_OK },
	{ "V-6", "computed", "00050102030405005a3b0d7f", "0102030405", 0, false,
	  true, true, FRAMING_OK },
	{ "V-7", "PAD not zero, computed", "0003010203aaaaaa066df023", "010203",
	  0, false, true, false, FRAMING_OK },
	{ "V-8", "marker between PAD and CRC, computed",
	  "000e101112131415161718191a1b1c1d00000010a72c3923",
	  "101112131415161718191a1b1c1d", 496, true, true, true, FRAMING_OK },
	{ "V-9", "the same with PAD, computed",
	  "000d101112131415161718191a1b1c00000000102134897f",
	  "101112131415161718191a1b1c", 496, true, true, true, FRAMING_OK },
	{ "V-10", "smallest FPDUPTR, computed",
	  "000e30310000000432333435363738393a3b3c3dc78531b8",
	  "303132333435363738393a3b3c3d", 508, true, true, true, FRAMING_OK },
	{ "V-11a", "ends at a marker place, computed",
	  "000e101112131415161718191a1b1c1daa76560b",
	  "101112131415161718191a1b1c1d", 492, true, true, true, FRAMING_OK },
	{ "V-11b", "behind it, computed",
	  "00000000000e202122232425262728292a2b2c2d651e48e1",
	  "202122232425262728292a2b2c2d", 0, true, true, true, FRAMING_OK },
	{ "V-13", "FPDUPTR wrong, CRC right, computed",
	  "002a4143000000000000000000000002000000000000001800000000"
	  "0000000000000000000000000000000000000000e996c154",
	  ULPDU_F6, 492, true, true, false, FRAMING_MARKER },
	{ "V-14", "reserved bits set, computed",
	  "002a4143000000000000000000000002"
	  "00000000ffff0017000000000000000000000000"
	  "000000000000000000000000ca349390",
	  ULPDU_F6, 492, true, true, false, FRAMING_OK },
	{ "V-15", "CRC not in use, computed",
	  "002a414300000000000000000000000100000000000000000000000000000000"
	  "000000000000000000000000deadbeef",
	  ULPDU_F5, 0, false, false, false, FRAMING_OK },
	{ "V-15 with CRC", "computed",
	  "002a414300000000000000000000000100000000000000000000000000000000"
	  "000000000000000000000000deadbeef",
	  ULPDU_F5, 0, false, true, false, FRAMING_CRC },
	{ "V-13 with wrong CRC", "T-25, by hand",
	  "002a4143000000000000000000000002000000000000001800000000"
	  "0000000000000000000000000000000000000000e996c155",
	  ULPDU_F6, 492, true, true, false, FRAMING_CRC },
	{ "leading marker not zero", "C-10, computed",
	  "00000004000e202122232425262728292a2b2c2de819379b",
	  "202122232425262728292a2b2c2d", 0, true, true, false,
	  FRAMING_MARKER },
	{ "no CRC, zero field", "C-7, by hand", "0002010200000000", "0102", 0,
	  false, false, true, FRAMING_OK },
	{ "empty ULPDU", "C-11, computed", "00000000c74b6748", "", 0, false,
	  true, true, FRAMING_OK },
};

/* V-12: ULPDU of this many zero octets, first in a stream with markers. */
#define FRAMING_V12_LEN 1442u
#define FRAMING_V12_SIZE 1460u
#define FRAMING_V12_CRC "3f549c7a"

struct crc_vector {
	const char *name, *origin, *hex;
	const char *crc; /* on the wire */
};

static const struct crc_vector crc_vectors[] = {
	{ "32 zeros", "RFC 7143 A.4",
	  "00000000000000000000000000000000"
	  "00000000000000000000000000000000",
	  "aa36918a" },
	{ "32 ones", "RFC 7143 A.4",
	  "ffffffffffffffffffffffffffffffff"
	  "ffffffffffffffffffffffffffffffff",
	  "43aba862" },
	{ "ascending", "RFC 7143 A.4",
	  "000102030405060708090a0b0c0d0e0f"
	  "101112131415161718191a1b1c1d1e1f",
	  "4e79dd46" },
	{ "descending", "RFC 7143 A.4",
	  "1f1e1d1c1b1a19181716151413121110"
	  "0f0e0d0c0b0a09080706050403020100",
	  "5cdb3f11" },
	{ "an iSCSI SCSI Read PDU", "RFC 7143 A.4",
	  "01c00000000000000000000000000000"
	  "14000000000004000000001400000018"
	  "28000000000000000200000000000000",
	  "563a96d9" },
	{ "123456789", "the usual check value", "313233343536373839",
	  "839206e3" },
	{ "nothing", "by hand", "", "00000000" },
};

#endif

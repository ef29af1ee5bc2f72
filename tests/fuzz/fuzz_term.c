/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * TERMINATE headers: the parser stays within the octets, and a header of usiw
 * decodes to its original values.
 */
#include "fuzz.h"

#include <string.h>

#include "term.h"

static void check_ours(const uint8_t *data, size_t size)
{
	uint8_t out[RDMAP_TERM_MAX_SIZE];
	struct term_cause cause = { 0 };
	struct term_info t;
	struct smpa_fault fault;
	uint32_t len;

	if (size < 5 + sizeof(cause.ddp) + sizeof(cause.read))
		return;
	fault.value = (uint16_t)(data[0] << 8 | data[1]);
	cause.segment_len = data[2];
	memcpy(cause.ddp, data + 5, sizeof(cause.ddp));
	memcpy(cause.read, data + 5 + sizeof(cause.ddp), sizeof(cause.read));
	cause.ddp_len = cause.ddp[0] & 0x80 ? 14 : 18;
	cause.has_read = data[3] & 1;
	len = term_encode(fault, data[4] & 1 ? &cause : NULL, out);
	fuzz_assert(len <= RDMAP_TERM_MAX_SIZE);
	fuzz_assert(term_decode(out, len, &t) == 0);
	fuzz_assert(t.fault.value == fault.value);
	fuzz_assert(t.has_ddp == (len > 4));
	fuzz_assert(t.has_read == (len > 24));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct term_info t;
	/* a separate allocation, so that a sanitizer sees its end */
	uint8_t *copy = malloc(size ? size : 1);

	fuzz_assert(copy);
	memcpy(copy, data, size);
	if (term_decode(copy, size, &t) == 0) {
		fuzz_assert(size >= 4);
		fuzz_assert(!t.has_read || size >= 6 + 14 + 28);
		fuzz_assert(!t.has_ddp || size >= 6 + 14);
		fuzz_assert(smpa_fault_str(t.fault));
	}
	free(copy);
	check_ours(data, size);
	return 0;
}

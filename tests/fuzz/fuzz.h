/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What every fuzz target needs: the entry, and an assertion that stays.
 */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../harness/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of what the fuzzer has found. */
#define fuzz_assert must

#endif

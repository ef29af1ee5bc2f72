/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Common parts of fuzz targets: the entry point, and an assertion that also
 * works in release builds.
 */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../harness/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* For errors that the fuzzer finds. */
#define fuzz_assert must

#endif

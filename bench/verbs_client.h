/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The client of bench-verbs. */
#ifndef BENCH_VERBS_CLIENT_H
#define BENCH_VERBS_CLIENT_H

#include "verbs_link.h"

/* Connects, measures, and prints. */
void bench_connect(const struct bench_options *opt);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The server of bench-verbs. */
#ifndef BENCH_VERBS_SERVER_H
#define BENCH_VERBS_SERVER_H

#include "verbs_link.h"

/* Serves one client. */
void bench_serve(const struct bench_options *opt);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A mix of faults, drawn by a seed. */
#ifndef CHAOS_H
#define CHAOS_H

#include <stdbool.h>
#include <stdint.h>

#define CHAOS_MAX 1024

/*
 * The same for a seed.
 * @is_hard: also one that ends a connection, or lets work fail.  The others are
 *   those that a program meets without an error of a completion.
 * @ret_rules: a specification (util/fault-spec.h).
 */
void chaos_draw(uint64_t seed, bool is_hard, char ret_rules[CHAOS_MAX]);

#endif

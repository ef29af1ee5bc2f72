/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Memory that free(), munmap() and the like take from the program while work
 * requests use it.  libusiw-check.so (preload.h) tells of the calls.
 */
#ifndef USIW_CHECK_TAKEN_H
#define USIW_CHECK_TAKEN_H

#include <stdint.h>

/* Finds the library.  Without it nothing is told.  Called once. */
void usiw_check_taken_start(void);

/* @step: 1: from now on, calls of this thread are not the program's.  -1: they
 * are, as before. */
void usiw_check_inside(int step);

/* @step: 1: a work request uses the memory.  -1: it does not any more.  Under
 * the lock of shadow.h. */
void usiw_check_memory_used(uint64_t addr, uint32_t len, int step);

/* Nothing is in use: in a forked child, because the RNIC uses the parent's
 * memory, and when the process ends. */
void usiw_check_taken_forget(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Atomic operations of RFC 7306 on 64 bits of the application's memory.
 *
 * They are operations of the CPU. So they are atomic with respect to each
 * other, in any stream, context or process, and to the atomic operations of the
 * program that owns the memory (EXT-3 asks for less).
 */
#ifndef RNIC_ATOMIC_H
#define RNIC_ATOMIC_H

#include <stdint.h>
#include <sys/uio.h>

/* Octets that an atomic operation reads and writes. */
#define RNIC_ATOMIC_LEN 8

/* As on the wire. */
enum rnic_atomic_op {
	RNIC_FETCH_ADD = 0,
	RNIC_CMP_SWP = 2,
};

/*
 * FetchAdd: each 1 bit of the mask is the most significant bit of a field; no
 * carry leaves a field. CmpSwap: bits to compare, and bits to replace.
 */
struct rnic_atomic {
	uint8_t op; /* enum rnic_atomic_op */
	uint64_t add_swap, add_swap_mask;
	uint64_t compare, compare_mask;
};

/**
 * rnic_atomic_execute - executes it, once
 * @target: aligned to 8 octets; checked by rnic_mr_resolve().
 * @ret_old: the previous value, also if nothing was swapped.
 * Return: 0; -EFAULT: the memory does not exist, nothing was done.
 * Context: under the lead, as rnic_mr_resolve().
 */
int rnic_atomic_execute(const struct rnic_atomic *atomic, void *target,
			uint64_t *ret_old) __attribute__((warn_unused_result));

/*
 * Stores the result of an atomic of this side in @iov, 8 octets in all, in host
 * order. Return: 0; -EFAULT: the memory does not exist. Context: as above.
 */
int rnic_atomic_store(const struct iovec *iov, uint64_t value)
	__attribute__((warn_unused_result));

#endif

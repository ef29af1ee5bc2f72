/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * QP numbers.  A number is 16 bits of TCP port and 8 bits of slot, so that
 * address and number are all that a peer needs to find a QP: each block of 256
 * numbers owns a port, bound dual-stack, which listens once a connection
 * without rdma_cm is wanted.
 */
#ifndef RNIC_QP_NUM_H
#define RNIC_QP_NUM_H

#include <stdbool.h>
#include <stdint.h>

#include "os/clock.h"

#define RNIC_QP_NUM_MASK 0xffffffu

/* Time for which a number that a peer may still know is not drawn again. */
#define RNIC_QP_NUM_REST_NS (60000 * NS_PER_MS)

static inline uint16_t rnic_qp_num_port(uint32_t num)
{
	return (uint16_t)(num >> 8);
}

/*
 * A number that no QP of this process has.  Without a port for it
 * (descriptors or ports exhausted) its port part is one on which
 * listening takes privilege: such a QP is reached through rdma_cm only, and
 * the next one may have a port again.
 * Return: 0; -EMFILE: no number is left.
 */
int rnic_qp_num_draw(uint32_t *ret_num);

/* @was_told: a peer may come with it: it rests. */
void rnic_qp_num_release(uint32_t num, bool was_told);

/*
 * The block's port is to accept from now on.
 * Return: its socket, which is not the caller's to close, and is open as long
 * as the block has numbers in use, or known to peers; *ret_is_new: it did not
 * listen before.  -EADDRNOTAVAIL: no port.
 */
int rnic_qp_num_listen(uint32_t num, bool *ret_is_new);

/*
 * One listener after the other, by port.
 * @num: 0 at first; then of the block just answered.  Return: as
 *   rnic_qp_num_listen(); -ENOENT: that was all.
 */
int rnic_qp_num_next_listener(uint32_t *num);

void rnic_qp_num_fork_child(void);

#endif

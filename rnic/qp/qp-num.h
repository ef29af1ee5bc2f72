/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * QP numbers.  A number is 16 bits of TCP port and 8 bits of slot, so that a
 * peer finds a QP by address and number alone.  Each block of 256 numbers owns
 * a port, bound for IPv4 and IPv6.  It listens once a connection without
 * rdma_cm is wanted.
 */
#ifndef RNIC_QP_NUM_H
#define RNIC_QP_NUM_H

#include <stdbool.h>
#include <stdint.h>

#include "util/clock.h"

#define RNIC_QP_NUM_MASK 0xffffffu

/* A number that a peer may still use is not assigned again for this time. */
#define RNIC_QP_NUM_REST_NS (60000 * NS_PER_MS)

static inline uint16_t rnic_qp_num_port(uint32_t num)
{
	return (uint16_t)(num >> 8);
}

/*
 * Draw a number that no QP of this process has.  If there is no port for it
 * (descriptors or ports are exhausted), its port part is a privileged port.
 * Such a QP can be reached through rdma_cm only.  The next one may have a port
 * again.
 * Return: 0; -EMFILE: no number is left.
 */
int rnic_qp_num_draw(uint32_t *ret_num);

/* @was_told: a peer may still use it, so it rests. */
void rnic_qp_num_release(uint32_t num, bool was_told);

/*
 * The block's port accepts connections from now on.
 * Return: its socket.  The caller must not close it; it is open while the block
 * has numbers in use or at rest.  *ret_is_new: it did not listen before.
 * -EADDRNOTAVAIL: no port.
 */
int rnic_qp_num_listen(uint32_t num, bool *ret_is_new);

/*
 * The listeners in turn, by port.
 * @num: 0 at first; then a number of the block that was returned last.
 * Return: as rnic_qp_num_listen(); -ENOENT: no more.
 */
int rnic_qp_num_next_listener(uint32_t *num);

void rnic_qp_num_fork_child(void);

#endif

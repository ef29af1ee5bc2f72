/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Records of what the process sends and receives (abi/usiw-packet.h). */
#ifndef RNIC_PACKET_H
#define RNIC_PACKET_H

#include <stdbool.h>
#include <sys/uio.h>

#include "abi/usiw-packet.h"
#include "observer.h"

/* A place in a list of memory. */
struct rnic_cursor {
	const struct iovec *iov;
	int cnt;
	size_t off; /* in the first one */
};

/* As many octets as there are, at most.  Return: whether there were so many. */
bool rnic_cursor_skip(struct rnic_cursor *cursor, size_t len);
/* Copies and moves on.  The memory may be the application's.  Return: 0;
 * -EFAULT: a part of it cannot be read, and is 0 in @to. */
int rnic_cursor_copy(struct rnic_cursor *cursor, void *to, size_t len);

/*
 * Writes a record; without room it is lost and counted.
 * @head: @head_len octets that come before those of the cursor.
 * @len: octets that the cursor has at least; it does not move.
 */
void rnic_packet_record(enum usiw_packet_kind kind, uint16_t flags,
			const struct usiw_packet *packet, const void *head,
			size_t head_len, const struct rnic_cursor *cursor,
			size_t len);

/* The flags of the process: its persona. */
uint16_t rnic_packet_flags(void);

/* Sets an address and its port.  @addr: AF_INET, AF_INET6. */
void rnic_packet_set_end(uint8_t ret_addr[16], uint16_t *ret_port,
			 const struct sockaddr_storage *addr);

#endif

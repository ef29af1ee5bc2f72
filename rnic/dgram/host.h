/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Datagrams between the processes of one host: AF_UNIX datagram sockets with an
 * abstract name for each QP number of UD.  Nothing is lost there: a receiver
 * that is full says so.
 *
 * Any process of the network namespace may send to such a name, as any host may
 * send to the UDP port.  A QP trusts nothing but its Q_Key.
 */
#ifndef RNIC_HOST_H
#define RNIC_HOST_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "libsiw-ib/include/siw-ib.h"
#include "os/stranger.h"

/* What a message is; they change with the layout. */
enum rnic_host_magic {
	RNIC_HOST_MAGIC = 0x75736431, /* a datagram */
	RNIC_HOST_ASK = 0x75736441,   /* src_num asks for the inbox */
	RNIC_HOST_GIVE = 0x75736447,  /* src_num's, with a descriptor */
};

enum rnic_host_flags {
	RNIC_HOST_IMM = 1u << 0,
	RNIC_HOST_SOLICITED = 1u << 1,
	/* In an inbox: the sender's datagrams before this one are in the
	 * socket. */
	RNIC_HOST_BEHIND = 1u << 2,
};

/* Above them, 24 bits: the PSN, which only captures show. */
#define RNIC_HOST_PSN_SHIFT 8

/* In front of the payload: what a receive needs, with the GRH next to it. */
struct rnic_host_head {
	uint32_t magic; /* enum rnic_host_magic */
	uint32_t dest_num, src_num;
	uint32_t qkey;
	uint32_t imm_be;
	uint32_t flags; /* enum rnic_host_flags */
	uint8_t grh[SIB_GRH_SIZE];
};

_Static_assert(sizeof(struct rnic_host_head) == 64, "host datagram layout");

#define RNIC_HOST_MAX (sizeof(struct rnic_host_head) + SIB_PAYLOAD_MAX)

/* The name of a socket. */
struct rnic_host_name {
	char text[32];
};

struct rnic_host_name rnic_host_name_qp(uint32_t num);
/* By which it is woken. */
struct rnic_host_name rnic_host_name_waker(uint32_t num);
/* Who listens at a port of rdma_cm's: SIB_PS_UDP, ... */
struct rnic_host_name rnic_host_name_service(uint16_t port_space,
					     uint16_t port);
/* Who asks: the upper half of the transaction IDs of its MADs. */
struct rnic_host_name rnic_host_name_asker(uint32_t tid_high);

/* A socket of that name, in the fd table.  Return: -EADDRINUSE: another process
 * has its name; other -errno. */
int rnic_host_open(const struct rnic_host_name *name);

/* A socket without a name, to send by.  Return: in the fd table; -errno. */
int rnic_host_open_sender(void);

/* @iov[0] is the head.
 * Return: 0; -EAGAIN: the receiver is full; -ECONNREFUSED: nobody has that
 name; -EFAULT: the payload cannot be read; other -errno. */
int rnic_host_send(int fd, const struct rnic_host_name *name, struct iovec *iov,
		   int cnt);

/* A message without payload.  Errors as above. */
int rnic_host_tell(int fd, const struct rnic_host_name *name,
		   enum rnic_host_magic magic, uint32_t src_num);
/* A RNIC_HOST_GIVE with a descriptor, to whom has asked.  Return: -EPERM: it is
 * another user's process, or has no name; as above. */
int rnic_host_give(int fd, struct rnic_stranger *to, uint32_t src_num,
		   int passed);

/* The next message, which stays.  Return: 0; -EAGAIN: there is none. */
int rnic_host_peek(int fd, uint32_t *ret_magic);

/*
 * @buf: RNIC_HOST_MAX octets, the head first.
 * Return: octets; -EAGAIN; -EBADMSG: it was none of usiw; -EPROTO: it has
 * descriptors, and stays (os/stranger.h); other -errno.
 */
ssize_t rnic_host_recv(int fd, void *buf, struct rnic_stranger *ret_from);

/* The next message is a RNIC_HOST_GIVE.  Return: the descriptor, which is the
 * caller's and not in the fd table; -EPROTO: it is not, and stays.
 * *ret_src_num: 0: another user's process gives it. */
int rnic_host_recv_given(int fd, uint32_t *ret_src_num);

/* Wake-ups are taken from a socket of rnic_host_name_waker().  Return: 0;
 * -EPROTO: there is a descriptor, which stays. */
int rnic_host_recv_wakes(int fd);

#endif

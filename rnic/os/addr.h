/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* IPv4 and IPv6 addresses of sockets, and plain TCP sockets. */
#ifndef RNIC_ADDR_H
#define RNIC_ADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* An address, whatever struct it is in. */
typedef union {
	const struct sockaddr *sa;
	const struct sockaddr_storage *storage;
	const struct sockaddr_in *in;
	const struct sockaddr_in6 *in6;
} __attribute__((transparent_union)) rnic_addr_arg;

/* Octets of an AF_INET or AF_INET6 address; 0: another family. */
socklen_t rnic_addr_len(rnic_addr_arg addr);
bool rnic_addr_is_any(rnic_addr_arg addr);
bool rnic_addr_is_loopback(rnic_addr_arg addr);
uint16_t rnic_addr_port_be(rnic_addr_arg addr);
void rnic_addr_set_port_be(struct sockaddr_storage *addr, uint16_t port_be);
void rnic_addr_set(struct sockaddr_storage *dst, rnic_addr_arg src);
/* The octets of its IP address: 4, or 16 of AF_INET6. */
const uint8_t *rnic_addr_octets(const struct sockaddr_storage *addr);
/* Converts an IPv4-mapped address to IPv4. */
void rnic_addr_unmap(struct sockaddr_storage *addr);
bool rnic_addr_equal(const struct sockaddr_storage *a,
		     const struct sockaddr_storage *b);
/* The same address, whatever the ports. */
bool rnic_addr_is_same_host(const struct sockaddr_storage *a,
			    const struct sockaddr_storage *b);
/* Own and peer's address, IPv4 as such; family 0: none, or not connected. */
void rnic_addr_of_socket(int fd, struct sockaddr_storage *ret_local,
			 struct sockaddr_storage *ret_peer);
/* A non-blocking socket, in the fd table; or negative errno. */
int rnic_sock_open(int family, int type);
/* The process at the other end of a connected AF_UNIX socket.  Return: its PID;
 * 0: it has none in this name space; -errno. */
pid_t rnic_sock_peer(int fd, uid_t *ret_uid);
void rnic_sock_set_flag(int fd, int level, int name, int value);
void rnic_sock_set_tos(int fd, int family, uint8_t tos);
/*
 * The address from which the kernel would reach @dst. @src: NULL or any: the
 * kernel chooses.
 * Return: 0; -ENETUNREACH and other errors of connect(2).
 */
int rnic_addr_source(rnic_addr_arg src, rnic_addr_arg dst,
		     struct sockaddr_storage *ret_local);
/* Does the address belong to this network namespace? */
bool rnic_addr_is_own(rnic_addr_arg addr);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Options, names and ioctls of a socket over SDP.
 *
 * The TCP socket below remains open for them, so the kernel stores and checks
 * the options as for TCP.  Options that would disturb the RNIC, or that concern
 * the stream of octets, are stored here.
 */
#ifndef SDP_SOCK_OPTION_H
#define SDP_SOCK_OPTION_H

#include "table.h"

/* At the start: read what the program has set, and leave the TCP socket
 * with what is good for the RNIC. */
void sdp_options_take(struct sdp_sock *sock);

/* The new TCP socket @fd is to take the place of the one below: it gets all
 * that the program has set. */
void sdp_options_renew(const struct sdp_sock *sock, int fd);

/* The names of the TCP connection @fd, in the program's view. */
void sdp_names_take(struct sdp_sock *sock, int fd);

/* A relay: the kernel waits at the number, so it is told for how long. */
void sdp_options_relay(struct sdp_sock *sock);

/* @name: SO_RCVTIMEO, SO_SNDTIMEO.  Return: when a call on @sock that begins
 * now is to end by it, of sdp_now_ns(); SDP_NEVER. */
uint64_t sdp_option_deadline(struct sdp_sock *sock, int name);

/* Of the kernel's socket @fd, for poll().  Return: ms, rounded up; -1: none. */
int sdp_option_time_ms(int fd, int name);

/* STARTING, STREAM, RELAY.  Return: 0; -errno. */
int sdp_option_set(struct sdp_sock *sock, int level, int name,
		   const void *value, socklen_t len);
int sdp_option_get(struct sdp_sock *sock, int level, int name, void *value,
		   socklen_t *len);

/* LISTENING: the twin has what the listener has. */
void sdp_options_copy(int from_fd, int to_fd);

/* @name as the kernel gives it out.  Return: 0; -EFAULT; -EINVAL. */
int sdp_name_put(const union sdp_addr *name, struct sockaddr *addr,
		 socklen_t *len);

/* What differs from the kernel's answer for the TCP socket, in any state. */
int sdp_name_get(struct sdp_sock *sock, int fd, bool is_peer,
		 struct sockaddr *addr, socklen_t *len);

/* STARTING, STREAM: FIONREAD, SIOCOUTQ, SIOCATMARK.  Return: 0; -errno;
 * -ENOTTY: the kernel's. */
int sdp_option_ioctl(struct sdp_sock *sock, unsigned long request, void *arg);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Options, names and ioctls of a socket over SDP.
 *
 * The TCP socket below stays open for them, so the kernel stores and checks
 * options as for TCP. The library itself stores the options that would disturb
 * the RNIC and those that concern the stream of octets.
 */
#ifndef SDP_SOCK_OPTION_H
#define SDP_SOCK_OPTION_H

#include "table.h"
#include "verbs/sdp-link.h"

/* At the start: reads the program's options from the TCP socket @fd, and sets
 * those that the RNIC needs. */
void sdp_options_take(struct sdp_sock *sock, int fd);

/* The new TCP socket @fd will replace the one below: gives it all options of
 * the program. */
void sdp_options_renew(const struct sdp_sock *sock, int fd);

/* Those that a link is made with. */
static inline void sdp_options_of_link(const struct sdp_sock *sock,
				       struct sdp_link_options *ret_opt)
{
	ret_opt->is_nodelay = sock->options.has_nodelay;
	ret_opt->is_oobinline = sock->options.has_oobinline;
	ret_opt->rcvlowat = (uint32_t)sock->options.rcvlowat;
}

/* A relay: the kernel waits on the number, so it needs the program's time
 * limits. */
void sdp_options_relay(struct sdp_sock *sock);

/* @name: SO_RCVTIMEO, SO_SNDTIMEO. Return: the time of sdp_now_ns() at which a
 *   call on
 * @sock that begins now must end; SDP_NEVER. */
uint64_t sdp_option_deadline(struct sdp_sock *sock, int name);

/* The time limit of the kernel's socket @fd of @sock, for poll(). Return: ms,
 * rounded up; -1: none. */
int sdp_option_time_ms(const struct sdp_sock *sock, int fd, int name);

/* TCP: the kernel has taken @value. It does not tell a negative time from
 * none. */
void sdp_option_note(struct sdp_sock *sock, int level, int name,
		     const void *value, socklen_t len);

/* STARTING, STREAM, RELAY.  Return: 0; -errno. */
int sdp_option_set(struct sdp_sock *sock, int level, int name,
		   const void *value, socklen_t len);
int sdp_option_get(struct sdp_sock *sock, int level, int name, void *value,
		   socklen_t *len);

/* The kernel has answered for @fd, which has no shadow: takes the library's
 * mark out of the answer. */
void sdp_option_hide(int fd, int level, int name, void *value,
		     const socklen_t *len);

/* LISTENING: copies the listener's options to the twin. */
void sdp_options_copy(int from_fd, int to_fd);

/* Copies @name to the program, as the kernel does. Return: 0; -EFAULT;
 * -EINVAL. */
int sdp_name_put(const union sdp_addr *name, struct sockaddr *addr,
		 socklen_t *len);

/* The names that differ from those of the TCP socket, in any state. */
int sdp_name_get(struct sdp_sock *sock, int fd, bool is_peer,
		 struct sockaddr *addr, socklen_t *len);

/* STARTING, STREAM: FIONREAD, SIOCOUTQ, SIOCOUTQNSD, SIOCATMARK; those of
 * interfaces and addresses. Return: 0; -errno; -ENOTTY: pass it to the
 * kernel. */
int sdp_option_ioctl(struct sdp_sock *sock, unsigned long request, void *arg);

#endif

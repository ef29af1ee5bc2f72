/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Decides whether a socket of this program uses SDP, and finds the peer's SDP
 * port. */
#ifndef SDP_SOCK_POLICY_H
#define SDP_SOCK_POLICY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "rules/rules.h"
#include "table.h"
#include "verbs/way.h"

/* Reads the rules. Return: false: no socket of this process can use SDP. */
bool sdp_policy_start(void);

/* How connections are made in this process. With SDP_WAY_NONE everything uses
 * TCP, and nothing is announced. */
enum sdp_way sdp_policy_way(void);

/* What @sock may use, which is bound to @addr or connects to it. A program that
 * names AF_INET_SDP gets SDP, whatever the rules say. */
enum sdp_use sdp_policy_use(const struct sdp_sock *sock,
			    enum sdp_rule_role role,
			    const struct sockaddr *addr);

/*
 * An SDP port. @is_request: it may be a port of rdma_cm, so an MPA Request must
 * come first. The registry reports this. An answer of the Port Mapper cannot.
 */
struct sdp_target {
	union sdp_addr addr;
	bool is_request;
};

/*
 * Finds the SDP Address of @dst without waiting: in the registry, or in stored
 * answers of the Port Mapper.
 * Return: 0; -EINPROGRESS: another host, call sdp_policy_ask(); -ENOENT,
 *   -EPERM, -ECONNREFUSED: no SDP on this host; -EADDRNOTAVAIL: no answer;
 *   -EACCES: denied; other -errno: use TCP.
 */
int sdp_policy_find(const union sdp_addr *dst, struct sdp_target *ret_target);

/* Asks the Port Mapper and waits for the answer. Binds @fd, the socket that
 * will connect, because the request names its port. @stop_fd: ends the wait
 * with -ECANCELED when it becomes readable; -1: none. Return: as
 * sdp_policy_find(). */
int sdp_policy_ask(int fd, const union sdp_addr *dst, int stop_fd,
		   struct sdp_target *ret_target);

/* The announced port did not speak SDP: use TCP for some seconds. */
void sdp_policy_avoid(const struct sockaddr *dst);

void sdp_policy_fork_child(void);

#endif

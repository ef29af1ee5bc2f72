/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Whether a socket of this program is to use SDP, and which port the peer has
 * for it. */
#ifndef SDP_SOCK_POLICY_H
#define SDP_SOCK_POLICY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "table.h"
#include "verbs/way.h"

/* Reads the rules; false: nothing here could use SDP. */
bool sdp_policy_start(void);

/* How connections are made here.  With SDP_WAY_NONE everything is TCP, and
 * nothing is announced. */
enum sdp_way sdp_policy_way(void);

enum sdp_policy { SDP_POLICY_TCP, SDP_POLICY_SDP, SDP_POLICY_BOTH };

enum sdp_policy sdp_policy_server(const struct sockaddr *addr);
enum sdp_policy sdp_policy_client(const struct sockaddr *addr);

/*
 * Where SDP is to be had.  @is_request: it may be a port of rdma_cm, so an MPA
 * Request comes first: the registry says so, and a Port Mapper's answer has no
 * place for it.
 */
struct sdp_target {
	union sdp_addr addr;
	bool is_request;
};

/*
 * The SDP Address of @dst, without a wait: by the registry, or by what the Port
 * Mapper has said.
 * Return: 0; -EINPROGRESS: another host, sdp_policy_ask() is next; -ENOENT,
 *   -EPERM, -ECONNREFUSED: no SDP on this host; -EADDRNOTAVAIL: no answer;
 *   -EACCES: denied; other -errno: TCP.
 */
int sdp_policy_find(const union sdp_addr *dst, struct sdp_target *ret_target);

/* The Port Mapper's answer, which is waited for.  @fd, the socket that will
 * connect, is bound for it, since the question names its port.  @stop_fd:
 * readable to end the wait with -ECANCELED; -1: none.  Else as
 * sdp_policy_find(). */
int sdp_policy_ask(int fd, const union sdp_addr *dst, int stop_fd,
		   struct sdp_target *ret_target);

/* The port did not hold what the answer promised: TCP for some seconds. */
void sdp_policy_avoid(const struct sockaddr *dst);

void sdp_policy_fork_child(void);

#endif

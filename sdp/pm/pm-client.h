/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The Port Mapper's client with its socket: it asks another host for the SDP
 * Address that belongs to a Conventional Address. It stores answers and their
 * absence.
 */
#ifndef SDP_PM_CLIENT_H
#define SDP_PM_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "pm/pm-cache.h"

struct sdp_pm_options {
	uint16_t udp_port;    /* 0: SDP_PM_UDP_PORT */
	uint16_t send_cnt;    /* total number of PMReqs; 0: 4 */
	uint32_t timeout_ms;  /* after the first PMReq, then doubled; 0: 250 */
	uint32_t negative_ms; /* how long a missing answer and a PMDeny are
				 stored; 0: 10000 */
	bool is_connection;   /* @peer and @local are the ends of a connection
				 that stands: the answer is for it alone, and
				 only a missing one is stored */
};

struct sdp_pm_result {
	enum sdp_pm_outcome outcome;
	/* The SDP Address; set if mapped. */
	struct sockaddr_storage sdp;
	/* The Connecting Peer's address in the PMReq. Bind the TCP socket to it
	 * before connect(). */
	struct sockaddr_storage local;
};

/**
 * sdp_pm_query - ask the host of a TCP destination for its SDP Address
 * @peer: Conventional Address, AF_INET or AF_INET6 (also IPv4-mapped).
 * @local: the address that the TCP socket is bound to. Its port is named in the
 *   PMReq and must not be 0. A wildcard address is replaced by the source
 *   address of the route to @peer.
 * @options: NULL: defaults.
 * @stop_fd: -1, or a descriptor that ends the wait when it becomes readable.
 *
 * Blocks for at most 3.75 s with the default options. Returns at once if the
 * answer is stored. An ICMP "port unreachable" counts as no answer and ends the
 * wait. Call sdp_registry_find() first: addresses of this host need no Port
 * Mapper.
 *
 * Return: 0; -EINVAL: port 0; -EAFNOSUPPORT; -ECANCELED: @stop_fd; errors of
 *   socket() and connect(): -ENETUNREACH, -EMFILE, ...
 * Context: any thread, several at a time; not a cancellation point; EINTR is
 *   handled.
 * Spec: doc/spec/sdp.md 2.O, C8, C20.
 */
int sdp_pm_query(const struct sockaddr *peer, const struct sockaddr *local,
		 const struct sdp_pm_options *options, int stop_fd,
		 struct sdp_pm_result *ret_result)
	__attribute__((warn_unused_result));

/* Whether an answer of sdp_pm_query() is stored. If so, @ret_answer is that
 * answer, without a local address. Sends nothing. */
bool sdp_pm_known(const struct sockaddr *peer,
		  struct sdp_pm_result *ret_result);

/* The SDP Address of @peer did not accept the connection: it counts as denied
 * for
 * @options' negative_ms. */
void sdp_pm_reject(const struct sockaddr *peer,
		   const struct sdp_pm_options *options);

/* A forked child calls it first. */
void sdp_pm_fork_child(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The Port Mapper's client with its socket: which SDP Address belongs to a
 * Conventional Address of another host.  Answers, and their absence, are
 * remembered.
 */
#ifndef SDP_PM_CLIENT_H
#define SDP_PM_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct sdp_pm_options {
	uint16_t udp_port;    /* 0: SDP_PM_UDP_PORT */
	uint16_t send_cnt;    /* PMReqs in all; 0: 4 */
	uint32_t timeout_ms;  /* after the first PMReq, then doubled; 0: 250 */
	uint32_t negative_ms; /* no answer, denied: remembered; 0: 10000 */
};

enum sdp_pm_outcome {
	SDP_PM_MAPPED,	  /* connect to the SDP Address, from local */
	SDP_PM_DENIED,	  /* PMDeny: TCP */
	SDP_PM_NO_ANSWER, /* all PMReqs went unanswered: TCP */
};

struct sdp_pm_result {
	enum sdp_pm_outcome outcome;
	/* The SDP Address; set if mapped. */
	struct sockaddr_storage sdp;
	/* The address that the PMReq named as Connecting Peer's: bind the TCP
	 * socket to it before connect(). */
	struct sockaddr_storage local;
};

/**
 * sdp_pm_query - ask the host of a TCP destination for its SDP Address
 * @peer: Conventional Address, AF_INET or AF_INET6 (also IPv4-mapped).
 * @local: what the TCP socket is bound to; its port is named in the PMReq and
 *   must not be 0.  A wildcard address is replaced by the one that the route
 *   to @peer has.
 * @options: NULL: defaults.
 * @stop_fd: -1, or a descriptor that ends the wait when it is readable.
 *
 * Blocks for 3.75 s at most with the default options; at once when the answer
 * is remembered.  An ICMP "port unreachable" counts as no answer, without
 * waiting.  Ask sdp_registry_find() first: this host's own addresses need no
 * Port Mapper.
 *
 * Return: 0; -EINVAL: port 0; -EAFNOSUPPORT; -ECANCELED: @stop_fd;
 *   what socket(), connect() say: -ENETUNREACH, -EMFILE, ...
 * Context: any thread, several at a time; no cancellation point; EINTR is
 *   taken care of.
 * Spec: doc/spec/sdp.md 2.O, C8, C20.
 */
int sdp_pm_query(const struct sockaddr *peer, const struct sockaddr *local,
		 const struct sdp_pm_options *options, int stop_fd,
		 struct sdp_pm_result *ret_result)
	__attribute__((warn_unused_result));

/* Whether an answer of sdp_pm_query() is remembered; then it would be this
 * one, without a local address.  Nothing is sent. */
bool sdp_pm_known(const struct sockaddr *peer,
		  struct sdp_pm_result *ret_result);

/* The SDP Address of @peer did not take the connection: it counts as denied
 * for @options' negative_ms. */
void sdp_pm_reject(const struct sockaddr *peer,
		   const struct sdp_pm_options *options);

/* First call of a forked child. */
void sdp_pm_fork_child(void);

#endif

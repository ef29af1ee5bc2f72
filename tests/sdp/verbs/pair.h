/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Two ends of a link, in one process or in two. */
#ifndef SDP_TEST_PAIR_H
#define SDP_TEST_PAIR_H

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/sdp-link.h"
#include "../../harness/must.h"

/* Long: only a hang reaches it. */
#define PAIR_LIMIT_NS 240000000000ull

static inline uint64_t soon(void)
{
	return sdp_now_ns() + PAIR_LIMIT_NS;
}

/* The last two: one end here, the other in a separate program. */
enum pair_place { PAIR_THREADS, PAIR_PROCESSES, PAIR_CONNECT, PAIR_LISTEN };

/* The address of an Accepting Peer. */
struct place {
	int fd;			 /* STREAM: listening socket */
	struct sdp_listener *cm; /* other carriers */
	struct sockaddr_in addr;
};

/* @addr: NULL: any port of 127.0.0.1 */
void place_open(struct place *p, enum sdp_carrier carrier,
		const struct sockaddr_in *addr);
void place_close(struct place *p);
/* Accepts a link, which must succeed. */
struct sdp_link *place_accept(struct place *p,
			      const struct sdp_link_options *opt);

typedef void pair_fn(struct sdp_link *link);

struct pair {
	enum sdp_carrier carrier;
	bool is_port;	 /* listen by TCP, for any carrier */
	bool is_request; /* connect by TCP, and send an MPA Request */
	enum pair_place place;
	struct sockaddr_in addr; /* zero: any port of 127.0.0.1 */
	struct sdp_link_options
		opt[2]; /* the Connecting Peer's, the Accepting Peer's */
};

/* @side[0] runs with the Connecting Peer's link, @side[1] with the Accepting
 *   Peer's. Each closes its link. */
void pair_run(const struct pair *pair, pair_fn *const side[2]);

/* Makes both links in this process. */
void pair_make(const struct pair *pair, struct sdp_link *ret_links[2]);

/* Ends of a TCP connection over loopback. */
void pair_tcp(int ret_fds[2]);

/* Blocking calls that must succeed. */
void put(struct sdp_link *link, const void *buf, size_t len);
void get(struct sdp_link *link, void *buf, size_t len);
void get_eof(struct sdp_link *link);
struct sdp_link_stats stats_of(struct sdp_link *link);

/* What all links and devices of the process hold now. */
struct held {
	uint32_t links;
	uint64_t pool_used; /* octets of registered buffers */
};
struct held held_now(void);

/* Waits until every closed link has ended. sdp_verbs_drain() itself does not
 * wait long for a peer's DisConn. */
void drain_links(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The statistics page: one per process, written by the library, read by
 * sdpstat(1).  It lies in a memfd named usiw-sdp-stat, which sdpstat finds in
 * /proc/PID/fd; with USIW_STAT_DIR in a file usiw-sdp.PID there, which
 * outlives the process, however that ends.
 *
 * A field is one atomic word; the socket's owner writes it without a lock.
 * What a closed socket counted goes into the process's totals.
 */
#ifndef SDP_STAT_H
#define SDP_STAT_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/socket.h>

/* Of a socket, and in total.  X(identifier): the name in the output, too. */
#define SDP_STAT_COUNTERS(X)                                                   \
	X(tx_bcopy)	  /* octets in Data Messages */                        \
	X(tx_read)	  /* octets the peer read: Read Zcopy */               \
	X(tx_write)	  /* octets written into a SinkAvail: Write Zcopy */   \
	X(tx_transaction) /* octets that a SinkAvail or SrcAvail carried */    \
	X(tx_messages)	  /* SDP Messages */                                   \
	X(rx_bcopy)                                                            \
	X(rx_read)                                                             \
	X(rx_write)                                                            \
	X(rx_transaction)                                                      \
	X(rx_messages)                                                         \
	X(relayed) /* octets copied for other holders of the descriptor */

enum sdp_stat_counter {
#define SDP_STAT_ENUM(name) SDP_STAT_##name,
	SDP_STAT_COUNTERS(SDP_STAT_ENUM)
#undef SDP_STAT_ENUM
		SDP_STAT_COUNTER_CNT
};

/* Of a socket: what it is now.  Words are those of enums below. */
#define SDP_STAT_GAUGES(X)                                                     \
	X(fd)		/* the number in the program; -1: closed */            \
	X(state)	/* enum sdp_stat_state */                              \
	X(role)		/* enum sdp_stat_role */                               \
	X(carrier)	/* enum sdp_stat_carrier */                            \
	X(send_mode)	/* enum sdp_mode */                                    \
	X(recv_mode)	/* enum sdp_mode */                                    \
	X(send_credits) /* messages that the peer would take */                \
	X(recv_credits) /* Bufs, as told to the peer */                        \
	X(relay)	/* 1: other processes hold the descriptor */           \
	X(fallback)	/* enum sdp_stat_fallback */

enum sdp_stat_gauge {
#define SDP_STAT_ENUM(name) SDP_STAT_##name,
	SDP_STAT_GAUGES(SDP_STAT_ENUM)
#undef SDP_STAT_ENUM
		SDP_STAT_GAUGE_CNT
};

/* Of the process. */
#define SDP_STAT_EVENTS(X)                                                     \
	X(listens)   /* announced listeners */                                 \
	X(connects)  /* connections over SDP, asked for here */                \
	X(accepts)   /* connections over SDP, taken here */                    \
	X(resets)    /* connections that an error or a reset has ended */      \
	X(overflows) /* sockets that found no place in the page */

enum sdp_stat_event {
#define SDP_STAT_ENUM(name) SDP_STAT_##name,
	SDP_STAT_EVENTS(SDP_STAT_ENUM)
#undef SDP_STAT_ENUM
		SDP_STAT_EVENT_CNT
};

/* Why a socket that rules give to SDP went on over TCP.  X(id, text) */
#define SDP_STAT_FALLBACKS(X)                                                  \
	X(none, "none")                                                        \
	X(no_listener, "the local listener has no SDP port")                   \
	X(foreign, "another user announced the local listener")                \
	X(no_answer, "no Port Mapper answered")                                \
	X(denied, "the Port Mapper denied it")                                 \
	X(refused, "the SDP port refused the connection")                      \
	X(no_hello, "the peer's Hello or HelloAck did not come")               \
	X(bad_hello, "Hello or HelloAck was refused")                          \
	X(no_device, "no RDMA device for the route")                           \
	X(no_memory, "out of memory or descriptors")                           \
	X(unsupported, "the socket is used in a way that SDP has not")         \
	X(error, "another error")

enum sdp_stat_fallback {
#define SDP_STAT_ENUM(name, text) SDP_STAT_FALLBACK_##name,
	SDP_STAT_FALLBACKS(SDP_STAT_ENUM)
#undef SDP_STAT_ENUM
		SDP_STAT_FALLBACK_CNT
};

#define SDP_STAT_STATES(X)                                                     \
	X(closed)                                                              \
	X(listen)                                                              \
	X(resolving)                                                           \
	X(connecting)                                                          \
	X(hello_sent)                                                          \
	X(hello_wait)                                                          \
	X(established)                                                         \
	X(discon_sent)                                                         \
	X(discon_rcvd)                                                         \
	X(closing)                                                             \
	X(suspended)                                                           \
	X(tcp)

enum sdp_stat_state {
#define SDP_STAT_ENUM(name) SDP_STAT_STATE_##name,
	SDP_STAT_STATES(SDP_STAT_ENUM)
#undef SDP_STAT_ENUM
		SDP_STAT_STATE_CNT
};

enum sdp_stat_role {
	SDP_STAT_ROLE_NONE,
	SDP_STAT_ROLE_SERVER,
	SDP_STAT_ROLE_CLIENT,
	SDP_STAT_ROLE_CNT
};

enum sdp_stat_carrier {
	SDP_STAT_CARRIER_NONE,
	SDP_STAT_CARRIER_STREAM,
	SDP_STAT_CARRIER_CM_SEND,
	SDP_STAT_CARRIER_CM_PRIV,
	SDP_STAT_CARRIER_CNT
};

#define SDP_STAT_MAGIC 0x73647073u /* "sdps" */
/* It changes with the layout: what there is of each kind takes six bits. */
#define SDP_STAT_VERSION                                                       \
	(1u << 24 | (unsigned)SDP_STAT_COUNTER_CNT << 18 |                     \
	 SDP_STAT_GAUGE_CNT << 12 | SDP_STAT_EVENT_CNT << 6 |                  \
	 SDP_STAT_FALLBACK_CNT)
_Static_assert(SDP_STAT_COUNTER_CNT < 64 && SDP_STAT_GAUGE_CNT < 64 &&
		       SDP_STAT_EVENT_CNT < 64 && SDP_STAT_FALLBACK_CNT < 64,
	       "six bits each");
#define SDP_STAT_SOCK_MAX 65535u

/* AF_INET or AF_INET6, host order; family 0: none. */
struct sdp_stat_addr {
	_Atomic uint64_t head;	  /* family << 48 | port << 32 | scope */
	_Atomic uint64_t addr[2]; /* IPv4 in the low half of addr[0] */
};

struct sdp_stat_sock {
	/* 0: free; odd: changing hands; else used, and another number for
	 * each use. */
	_Atomic uint32_t seq;
	_Atomic uint32_t id; /* number of the socket in its process */
	struct sdp_stat_addr local;
	struct sdp_stat_addr peer;
	_Atomic uint32_t gauge[SDP_STAT_GAUGE_CNT];
	_Atomic uint64_t counter[SDP_STAT_COUNTER_CNT];
	uint8_t pad[256 - 56 - 4 * SDP_STAT_GAUGE_CNT -
		    8 * SDP_STAT_COUNTER_CNT];
};

_Static_assert(sizeof(struct sdp_stat_sock) == 256, "page layout");

struct sdp_stat_page {
	uint32_t magic;
	uint32_t version;
	uint32_t pid; /* as the process sees itself */
	uint32_t sock_max;
	uint64_t start_ns; /* CLOCK_REALTIME */
	char program[64];  /* base name; cut */
	/* Odd while a closed socket goes into the totals. */
	_Atomic uint32_t fold_seq;
	_Atomic uint32_t sock_cnt; /* slots that were ever used */
	_Atomic uint64_t event[SDP_STAT_EVENT_CNT];
	_Atomic uint64_t fallback[SDP_STAT_FALLBACK_CNT];
	_Atomic uint64_t closed[SDP_STAT_COUNTER_CNT]; /* by closed sockets */
	/* Takes what sockets count that found no place; never free. */
	struct sdp_stat_sock overflow __attribute__((aligned(64)));
	struct sdp_stat_sock sock[];
};

/* Makes the page; again and again costs nothing.  Without one, counting goes
 * on in memory of the process, unseen. */
void sdp_stat_init(void);

/* Makes the page, if needed, and returns its memfd once.  The caller keeps it
 * open, out of reach of the program's close(), and closes it in a forked child.
 * This file does not use the number.  -1: the page is a file, or there is none.
 */
int sdp_stat_fd_take(void);

/* A place for one socket, all 0.  Never NULL: the overflow slot at worst. */
struct sdp_stat_sock *sdp_stat_sock_add(void);

/* The socket has ended: its counters are added to the totals.  No thread writes
 * to @sock any more. */
void sdp_stat_sock_remove(struct sdp_stat_sock *sock);

/* Either may be NULL: unchanged. */
void sdp_stat_sock_name(struct sdp_stat_sock *sock,
			const struct sockaddr *local,
			const struct sockaddr *peer);

/* @sock may be NULL: counted for the process only. */
void sdp_stat_fell_back(struct sdp_stat_sock *sock,
			enum sdp_stat_fallback reason);

void sdp_stat_count(enum sdp_stat_event event);

/* First call of a forked child: what is counted from now on is the child's.
 * Slots stay where they are, and hold 0. */
void sdp_stat_fork_child(void);

static inline void sdp_stat_add(struct sdp_stat_sock *sock,
				enum sdp_stat_counter counter, uint64_t value)
{
	/* relaxed: a counter orders nothing */
	atomic_fetch_add_explicit(&sock->counter[counter], value,
				  memory_order_relaxed);
}

static inline void sdp_stat_set(struct sdp_stat_sock *sock,
				enum sdp_stat_gauge gauge, uint32_t value)
{
	atomic_store_explicit(&sock->gauge[gauge], value, memory_order_relaxed);
}

#endif

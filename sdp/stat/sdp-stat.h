/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The statistics page: one per process, written by the library, read by
 * sdpstat(1). It is a memfd named usiw-sdp-stat, which sdpstat finds in
 * /proc/PID/fd. With USIW_STAT_DIR it is a file usiw-sdp.PID in that directory,
 * which outlives the process.
 *
 * Each field is an atomic word. The socket's owner writes it without a lock.
 * The counters of a closed socket are added to the process's totals.
 */
#ifndef SDP_STAT_H
#define SDP_STAT_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/socket.h>

/* Counters of a socket, and in the totals. X(identifier): also the name in the
 * output. */
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

/* Current state of a socket. The values are those of the enums below. */
#define SDP_STAT_GAUGES(X)                                                     \
	X(fd)		/* the number in the program; -1: closed */            \
	X(state)	/* enum sdp_stat_state */                              \
	X(role)		/* enum sdp_stat_role */                               \
	X(carrier)	/* enum sdp_stat_carrier */                            \
	X(send_mode)	/* enum sdp_mode */                                    \
	X(recv_mode)	/* enum sdp_mode */                                    \
	X(send_credits) /* messages that the peer accepts now */               \
	X(recv_credits) /* Bufs as announced to the peer */                    \
	X(relay)	/* 1: other processes hold the descriptor */           \
	X(fallback)	/* enum sdp_stat_fallback */

enum sdp_stat_gauge {
#define SDP_STAT_ENUM(name) SDP_STAT_##name,
	SDP_STAT_GAUGES(SDP_STAT_ENUM)
#undef SDP_STAT_ENUM
		SDP_STAT_GAUGE_CNT
};

/* Counters of the process. */
#define SDP_STAT_EVENTS(X)                                                     \
	X(listens)   /* announced listeners */                                 \
	X(connects)  /* connections over SDP, made here */                     \
	X(accepts)   /* connections over SDP, accepted here */                 \
	X(resets)    /* connections ended by an error or a reset */            \
	X(overflows) /* sockets without a slot in the page */

enum sdp_stat_event {
#define SDP_STAT_ENUM(name) SDP_STAT_##name,
	SDP_STAT_EVENTS(SDP_STAT_ENUM)
#undef SDP_STAT_ENUM
		SDP_STAT_EVENT_CNT
};

/* Why a socket that the rules give to SDP used TCP. X(id, text) */
#define SDP_STAT_FALLBACKS(X)                                                  \
	X(none, "none")                                                        \
	X(no_listener, "the peer has no SDP port")                             \
	X(foreign, "another user announced the local listener")                \
	X(no_answer, "no Port Mapper answered")                                \
	X(denied, "the Port Mapper denied it")                                 \
	X(refused, "the SDP port refused the connection")                      \
	X(no_hello, "the peer sent no Hello or HelloAck")                      \
	X(bad_hello, "the peer sent an invalid Hello or HelloAck")             \
	X(no_device, "no RDMA device for the route")                           \
	X(no_memory, "out of memory or descriptors")                           \
	X(unsupported, "SDP does not support this use of the socket")          \
	X(error, "another error")

enum sdp_stat_fallback {
#define SDP_STAT_ENUM(name, text) SDP_STAT_FALLBACK_##name,
	SDP_STAT_FALLBACKS(SDP_STAT_ENUM)
#undef SDP_STAT_ENUM
		SDP_STAT_FALLBACK_CNT
};

#define SDP_STAT_STATES(X)                                                     \
	X(closed)                                                              \
	X(hello_sent)                                                          \
	X(hello_wait)                                                          \
	X(established)                                                         \
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
/* Changes with the layout: the number of items of each kind takes six bits. */
#define SDP_STAT_VERSION                                                       \
	(2u << 24 | (unsigned)SDP_STAT_COUNTER_CNT << 18 |                     \
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
	/* 0: free; odd: being allocated or freed; other numbers: used. The
	 * number differs for each use. */
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
	uint32_t pid; /* as the process sees it */
	uint32_t sock_max;
	uint64_t start_ns; /* CLOCK_REALTIME */
	char program[64];  /* base name, truncated */
	/* Odd while a closed socket is added to the totals. */
	_Atomic uint32_t fold_seq;
	_Atomic uint32_t sock_cnt; /* number of slots that were ever used */
	_Atomic uint64_t event[SDP_STAT_EVENT_CNT];
	_Atomic uint64_t fallback[SDP_STAT_FALLBACK_CNT];
	_Atomic uint64_t closed[SDP_STAT_COUNTER_CNT]; /* by closed sockets */
	/* Shared by the sockets without a slot of their own. Never free. */
	struct sdp_stat_sock overflow __attribute__((aligned(64)));
	struct sdp_stat_sock sock[];
};

/* Makes the page if needed, and returns its memfd once. Without a page,
 * counting continues in private memory. The caller keeps it open, out of reach
 * of the program's close(), and closes it in a forked child. This file does not
 * use the number. -1: the page is a file, or there is none. */
int sdp_stat_fd_take(void);

/* Allocates a slot for one socket, all zero. Never NULL: the overflow slot if
 * none is free. */
struct sdp_stat_sock *sdp_stat_sock_add(void);

/* The socket has ended: adds its counters to the totals. No thread may write to
 * @sock any more. */
void sdp_stat_sock_remove(struct sdp_stat_sock *sock);

/* Sets the names. A NULL address stays unchanged. */
void sdp_stat_sock_name(struct sdp_stat_sock *sock,
			const struct sockaddr *local,
			const struct sockaddr *peer);

/* @sock may be NULL: counts for the process only. */
void sdp_stat_fell_back(struct sdp_stat_sock *sock,
			enum sdp_stat_fallback reason);

void sdp_stat_count(enum sdp_stat_event event);

/* A forked child calls it first: from now on its own events are counted. Slots
 * keep their addresses and become 0. */
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

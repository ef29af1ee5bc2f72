/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The program's stream sockets and epoll sets, by descriptor.
 *
 * A socket gets an entry where the program creates it: socket(), accept(), a
 * duplicate, or an inherited descriptor that exec() announced. The library
 * ignores a descriptor without an entry.
 *
 * Sockets of the RNIC, libibverbs and librdmacm must never get an entry. They
 * make their sockets through the same stubs, and would call themselves. They
 * are recognised where a socket is created, by the object file of the caller
 * and by a flag of the thread (sdp_inside()). After that, their descriptors are
 * simply not in the table. This works in any order of LD_PRELOAD and for any
 * thread.
 */
#ifndef SDP_SOCK_TABLE_H
#define SDP_SOCK_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/fdtab.h"
#include "util/lock.h"
#include "addr.h"

struct sdp_acceptor;
struct sdp_link;
struct sdp_poller;
struct sdp_stat_sock;
struct sdp_watch;

enum sdp_sock_state {
	SDP_SOCK_TCP, /* everything that is not SDP: new, bound, fallen back */
	SDP_SOCK_LISTENING, /* with a twin on the SDP port */
	SDP_SOCK_PENDING,   /* TCP to an SDP port, perhaps not connected yet */
	SDP_SOCK_STARTING,  /* Hello and what follows; the shadow is in place */
	SDP_SOCK_STREAM,    /* SDP; the number refers to the shadow */
	SDP_SOCK_RELAY,	    /* SDP, but another process has the connection */
};

/* Options of setsockopt() that the library must implement itself. */
struct sdp_sock_options {
	bool is_taken; /* otherwise the TCP socket has them all */
	/* TCP: a negative time, which the kernel does not tell from none. */
	_Atomic bool is_rcv_at_once, is_snd_at_once;
	uint64_t rcvtimeo_ns; /* 0: none */
	uint64_t sndtimeo_ns;
	int linger_s; /* -1: off */
	int rcvlowat;
	bool has_nodelay;
	bool has_cork;
	bool has_oobinline;
	bool has_reuseaddr;
	bool has_inq; /* TCP_INQ */
};

/* See shadow.h. */
struct sdp_shadow {
	struct util_lock lock;
	int lib_fd; /* the library's end of the pair; -1: none */
	/* An epoll set that the kernel watches, or O_ASYNC. Written with the
	 * lock held. */
	_Atomic bool is_watched;
	bool has_edges;	 /* a registration has EPOLLET */
	bool has_pri;	 /* a registration has EPOLLPRI */
	bool is_in;	 /* shown readable */
	bool is_pri;	 /* an urgent octet is shown */
	bool is_out;	 /* shown writable */
	bool is_rdhup;	 /* the library's end is shut down for sending */
	bool is_gone;	 /* the library's end is closed */
	uint32_t octets; /* octets in the program's end */
};

/*
 * The program's numbers and the calls inside hold the open file. It ends with
 * the last of them, as in the kernel: a thread that sleeps in recv() keeps the
 * connection although another thread closes the number. Threads of the library
 * hold only the memory, and continue with what the program has left.
 */
/* LISTENING. */
struct sdp_sock_listening {
	int twin_fd;
	int note_fd;		       /* the announcement */
	struct sdp_acceptor *acceptor; /* of rdma_cm; otherwise NULL */
	struct sdp_turn *turn;	       /* of calls that change O_NONBLOCK */
	bool is_sdp_only;	       /* accepts no TCP */
};

/* STARTING. */
struct sdp_sock_start {
	char *early;		    /* octets sent meanwhile */
	_Atomic uint32_t early_len; /* written with the lock */
	uint32_t early_urgent; /* its length up to the urgent octet; 0: none */
	_Atomic uint32_t step; /* a futex: sdp_sock_step() */
	int stop_fd;	       /* is_asking: readable when the query must end */
	_Atomic bool is_asking;	  /* not connected yet (ask.h) */
	_Atomic bool is_entering; /* from TCP, which may have octets: enter.h */
	_Atomic bool is_draining; /* the start takes these octets */
	bool is_owing;		  /* octets, or may: owed.h */
	bool is_closed;		  /* the program has closed it */
	bool is_undone;		  /* the program has cancelled the connection */
};

/* TCP, until SDP enters: enter.h. */
struct sdp_sock_enter {
	struct sdp_sock *next;	 /* announced */
	_Atomic uint32_t role;	 /* enum sdp_enter_role */
	_Atomic uint32_t gate;	 /* a futex: enum sdp_enter_gate */
	_Atomic uint32_t in_cnt; /* a futex: calls inside the kernel */
	_Atomic uint64_t tx, rx; /* octets that these calls have moved */
	/* tx or rx at the last turn; how many octets behind it are much. */
	_Atomic uint64_t turn_at, next_at;
	_Atomic bool is_sending;  /* the last call sent */
	bool is_told;		  /* that the peer is not there for SDP */
	union sdp_addr own, peer; /* as the kernel names them */
	int note_fd;		  /* the announcement; -1: none */
};

/*
 * One octet of the holders of a relay, which was sent, stays unread in the
 * library's end of the pair. If that end is closed before it has shown the
 * peer's end, the kernel makes a reset of it: when the link was lost, and when
 * this process is killed.
 */
#define SDP_RELAY_STAY 1

/* STREAM whose shadow carries the data, and RELAY: relay.h. */
struct sdp_sock_relay {
	struct sdp_sock *next;
	_Atomic bool is_on;
	uint8_t thread_cnt;
	_Atomic bool is_unasked; /* RELAY: the parent was not asked yet */
	int share_fd;		 /* RELAY: to ask the parent; -1: none */
	_Atomic bool has_sent;	 /* no holder writes any more */
	bool is_lost;		 /* the peer's octets have no end */
	/* The numbers got another pair than other processes may hold. Those
	 * have the other end of past_fd; -1: none. */
	bool is_renewed;
	int past_fd;
	/* A futex: its numbers are closed, and no call is inside. */
	_Atomic uint32_t is_left;
};

struct sdp_sock {
	struct util_file file; /* first member */
	void (*end)(struct sdp_sock *sock);
	_Atomic uint32_t hold_cnt;
	struct util_lock lock; /* protects changes of the state */
	_Atomic uint32_t state;
	int family;
	_Atomic bool is_nonblock;
	_Atomic bool is_async;	 /* O_ASYNC: the kernel sends signals */
	bool is_accepting;	 /* accepted from a twin */
	bool is_request;	 /* connects: begins with an MPA Request */
	bool is_by_cm;		 /* STREAM: tcp_fd is not connected */
	_Atomic bool is_told;	 /* is_by_cm: connect() has reported success */
	bool is_shared;		 /* a child may hold it: share.h */
	_Atomic bool is_rd_shut; /* SHUT_RD; written with the lock */
	_Atomic bool is_wr_shut; /* SHUT_WR; the same */
	_Atomic int error;	 /* SO_ERROR */
	/* STREAM: for names and options; LISTENING: for accept(). Open from
	 * when SDP is about to begin, also when the socket is TCP again: calls
	 * of other threads may be using it. */
	_Atomic int tcp_fd;
	uint16_t port; /* LISTENING, accepted: the port that the program sees */
	union sdp_addr peer;  /* connected: the address that the program sees */
	union sdp_addr local; /* STREAM of the accepting side */
	struct sdp_sock_options options;
	struct sdp_stat_sock *stat; /* count.h */
	_Atomic uint64_t tx_octets;
	_Atomic uint64_t rx_octets;
	_Atomic uint32_t call_cnt;
	/* STREAM, RELAY. Removed with the shadow's lock held. */
	_Atomic(struct sdp_link *) link;
	_Atomic bool is_over; /* its end has begun; the link may be freed */
	struct sdp_link *past_link; /* broken off by connect() with AF_UNSPEC */
	struct sdp_shadow shadow;
	/* Changed with the shadow's lock held; watches also with that of
	 * epoll.c. */
	struct sdp_watch *watches;  /* epoll.h */
	struct sdp_poller *pollers; /* sleeper.h */
	struct sdp_sock_listening listening;
	struct sdp_sock_enter enter;
	struct sdp_sock_start start;
	struct sdp_sock_relay relay;
};

static inline bool sdp_sock_is_asking(const struct sdp_sock *sock)
{
	/* acquire: pairs with the release in sdp_sock_asking_put() */
	return atomic_load_explicit(&sock->start.is_asking,
				    memory_order_acquire);
}

/* STARTING: something has changed that a call may wait for. */
void sdp_sock_step(struct sdp_sock *sock);

static inline void sdp_sock_asking_put(struct sdp_sock *sock, bool is_asking)
{
	/* release: publishes the state, or the result of the query; pairs with
	 * sdp_sock_is_asking() */
	atomic_store_explicit(&sock->start.is_asking, is_asking,
			      memory_order_release);
	if (!is_asking)
		sdp_sock_step(sock);
}

/* Read it once for each use: connect() with AF_UNSPEC removes it while other
 * threads use the socket. */
static inline struct sdp_link *sdp_sock_link(const struct sdp_sock *sock)
{
	/* acquire: pairs with the release in sdp_sock_link_put() */
	return atomic_load_explicit(&sock->link, memory_order_acquire);
}

static inline void sdp_sock_link_put(struct sdp_sock *sock,
				     struct sdp_link *link)
{
	/* release: publishes the link; pairs with sdp_sock_link() */
	atomic_store_explicit(&sock->link, link, memory_order_release);
}

/* acquire: pairs with sdp_stream_shutdown(), so that a shutdown of both
 * directions is seen completely. */
static inline bool sdp_sock_is_rd_shut(const struct sdp_sock *sock)
{
	return atomic_load_explicit(&sock->is_rd_shut, memory_order_acquire);
}

static inline bool sdp_sock_is_wr_shut(const struct sdp_sock *sock)
{
	return atomic_load_explicit(&sock->is_wr_shut, memory_order_acquire);
}

/* STARTING: number of octets that wait for the link. */
static inline uint32_t sdp_sock_early_len(const struct sdp_sock *sock)
{
	/* relaxed: a count; the lock protects the octets */
	return atomic_load_explicit(&sock->start.early_len,
				    memory_order_relaxed);
}

static inline struct sdp_sock *sdp_sock_of(struct util_file *file)
{
	return (struct sdp_sock *)(void *)file;
}

extern _Atomic(struct util_fdtab *) sdp_fds;

/* The address family of programs that name SDP. */
#define SDP_AF_INET_SDP 27

/* The kinds of entries in the table. */
enum sdp_fd_kind {
	SDP_FD_NONE = UTIL_FD_NONE,
	SDP_FD_PRIVATE,		    /* the library's */
	SDP_FD_SOCK = UTIL_FD_FILE, /* struct sdp_sock */
	SDP_FD_EPOLL,		    /* see epoll.h */
};

int sdp_table_start(void); /* 0; -ENOMEM */

/* NULL: no socket of this process can use SDP. */
static inline struct util_fdtab *sdp_table(void)
{
	/* acquire: pairs with the release in sdp_table_start() */
	return atomic_load_explicit(&sdp_fds, memory_order_acquire);
}

static inline enum sdp_fd_kind sdp_fd_kind(int fd)
{
	struct util_fdtab *tab = sdp_table();

	return tab ? util_fdtab_lookup(tab, fd, NULL) : SDP_FD_NONE;
}

/* The socket of @fd with a reference; NULL: none. Keeps errno. */
struct sdp_sock *sdp_sock_get(int fd);

/* The same for a short time, with util_fdtab_unpin(). NULL: not in the table.
 * There is a table. */
struct sdp_sock *sdp_sock_pin(int fd, struct util_fd_pin *ret_pin);
void sdp_sock_put(struct sdp_sock *sock);

/* For threads of the library: keeps the memory; the open file may end. */
void sdp_sock_hold(struct sdp_sock *sock);
void sdp_sock_drop(struct sdp_sock *sock);

/* Runs @fn(@sock) in a thread of the library that holds @sock; @fn must end
 * with sdp_sock_drop(). Return: 0; -errno: it does not run. */
int sdp_sock_thread(struct sdp_sock *sock, void *(*fn)(void *arg));

/* Whether @fd still refers to @sock. Another thread may have closed it. */
bool sdp_sock_has_fd(const struct sdp_sock *sock, int fd);

static inline enum sdp_sock_state sdp_sock_state(const struct sdp_sock *sock)
{
	/* acquire: pairs with the release in sdp_sock_become() */
	return (enum sdp_sock_state)atomic_load_explicit(&sock->state,
							 memory_order_acquire);
}

/* Whether data goes by SDP and not through the shadow. */
static inline bool sdp_sock_is_stream(const struct sdp_sock *sock)
{
	enum sdp_sock_state state = sdp_sock_state(sock);

	return (state == SDP_SOCK_STARTING || state == SDP_SOCK_STREAM) &&
	       !sock->relay.is_on;
}

/* Number of sockets that are PENDING. */
extern _Atomic int sdp_pending_cnt;

void sdp_sock_become(struct sdp_sock *sock, enum sdp_sock_state state);

/*
 * Adds an entry for the new descriptor @fd. @close: called when the last number
 * is closed; @end: called when also the last call has returned. Return: NULL:
 * ENOMEM, or there is no table; the descriptor stays an ordinary one.
 */
struct sdp_sock *sdp_sock_add(int fd, int family,
			      void (*close)(struct util_file *file),
			      void (*end)(struct sdp_sock *sock));

/* Adds a further descriptor of the same socket. Return: 0; -EMFILE; -ENOMEM. */
int sdp_sock_add_fd(struct sdp_sock *sock, int fd);

/* The same for @fd, a duplicate of its number @from_fd. The numbers may have
 * been replaced in between. */
int sdp_sock_add_dup(struct sdp_sock *sock, int fd, int from_fd);

/* Calls fn(fd, arg) for each number of @sock. */
void sdp_sock_each_fd(struct sdp_sock *sock, void (*fn)(int fd, void *arg),
		      void *arg);

/* Replaces each number of @sock by the file of @from_fd. */
void sdp_sock_cover(struct sdp_sock *sock, int from_fd);

/* Makes tcp_fd, a number of the TCP socket that the program does not close: a
 * call that sleeps goes on with it. Return: 0; -errno. */
int sdp_sock_below_take(struct sdp_sock *sock);

/* Replaces the file of tcp_fd, if there is one: its number stays, because calls
 * of other threads may be using it. */
void sdp_sock_below_put(struct sdp_sock *sock, int from_fd);

/* Returns one of its numbers. Return: -1: it has none. */
int sdp_sock_any_fd(struct sdp_sock *sock);

/*
 * Calls @fn for each socket with a number, once or more; @fn must tolerate a
 * repeated call. The walk holds a reference meanwhile, because other threads
 * may close the number.
 */
void sdp_table_each_sock(void (*fn)(struct sdp_sock *sock));

/* SDP has started on at least one socket. */
extern _Atomic bool sdp_begun;

/* A copy out of the program's range: CLOEXEC, and high if the limit allows. It
 * has no low number meanwhile. Return: its number; -errno. */
int sdp_private_dup(int fd);
/* Moves a descriptor of the library out of the program's range: CLOEXEC, and
 * high if the limit allows. Return: its number; -errno, and @fd is
 * unchanged. */
int sdp_private_add(int fd);
/* The same for the result of a system call: -1 gives -errno. @fd is closed if
 * it cannot be moved. */
int sdp_private_take(int fd);
void sdp_private_close(int fd);
/* Another layer of the library keeps it, or is about to close it. */
void sdp_private_note(int fd, bool is_kept);

/*
 * The process exits, and this thread handles it; false: another thread does, or
 * it is done. From then on no other thread of the program returns from a call.
 */
bool sdp_ending_begin(void);
extern _Atomic bool sdp_is_ending;
void sdp_ending_sleep(void);

/* Called at the end of each call. */
static inline void sdp_ending_look(void)
{
	/* relaxed: a small delay does not matter */
	if (__builtin_expect(
		    atomic_load_explicit(&sdp_is_ending, memory_order_relaxed),
		    false))
		sdp_ending_sleep();
}

/* True between _enter and _leave: calls of this thread belong to the
 * library. */
bool sdp_inside(void);
bool sdp_inside_enter(void); /* returns the previous value, for leave */
void sdp_inside_leave(bool old);

/* True when @caller, a return address, is in the RNIC or its libraries. */
bool sdp_caller_is_rnic(const void *caller);

/* True in the process that made the table; false in a vfork child. */
bool sdp_is_owner(void);
void sdp_table_fork_child(void);

#endif

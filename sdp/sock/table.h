/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The program's stream sockets and epoll sets, by descriptor.
 *
 * A socket gets an entry where the program makes it: socket(), accept(), a
 * duplicate, an inherited descriptor that exec() announced.  Nothing else does,
 * so a descriptor that is not here is none of our business.
 *
 * Two kinds of code must never get an entry, or they would run over
 * themselves: the RNIC, libibverbs and librdmacm make their sockets through
 * the same stubs.  They are told apart where a socket is made, by the object
 * file of the caller and by a mark of the thread (sdp_inside()); after that,
 * their descriptors are simply not in the table.  This holds in any order of
 * LD_PRELOAD and for threads of any origin.
 */
#ifndef SDP_SOCK_TABLE_H
#define SDP_SOCK_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../util/fdtab.h"
#include "../../util/lock.h"
#include "addr.h"

struct sdp_acceptor;
struct sdp_link;
struct sdp_poller;
struct sdp_stat_sock;
struct sdp_watch;

enum sdp_sock_state {
	SDP_SOCK_TCP,	    /* all that is not SDP: fresh, bound, fallen back */
	SDP_SOCK_LISTENING, /* with a twin on the SDP port */
	SDP_SOCK_CONNECTING, /* TCP connect to the SDP port under way */
	SDP_SOCK_PENDING,    /* TCP connection to an SDP port, no octet yet */
	SDP_SOCK_STARTING,   /* Hello and what follows; shadow in place */
	SDP_SOCK_STREAM,     /* SDP; the number is a shadow's */
	SDP_SOCK_RELAY,	     /* the same, of another process */
};

/* What a socket was told by setsockopt() and we must do ourselves. */
struct sdp_sock_options {
	bool is_taken;	      /* else the TCP socket has them all */
	uint64_t rcvtimeo_ns; /* 0: none */
	uint64_t sndtimeo_ns;
	int linger_s; /* -1: off */
	int rcvlowat;
	bool has_nodelay;
	bool has_cork;
	bool has_oobinline;
	bool has_reuseaddr;
};

/* See shadow.h. */
struct sdp_shadow {
	struct util_lock lock;
	int lib_fd; /* our end of the pair; -1: none */
	/* By an epoll set that the kernel looks after, or O_ASYNC.  Written
	 * with the lock. */
	_Atomic bool is_watched;
	bool has_edges;	 /* by a registration with EPOLLET */
	bool has_pri;	 /* by a registration with EPOLLPRI */
	bool is_in;	 /* shown readable */
	bool is_pri;	 /* an urgent octet is among what is shown */
	bool is_out;	 /* shown writable */
	bool is_rdhup;	 /* our end sends no more */
	bool is_gone;	 /* our end is closed */
	uint32_t octets; /* in the program's end */
};

/*
 * The open file is what the program's numbers and the calls inside hold; its
 * end comes with the last of them, as the kernel's: a thread that sleeps in
 * recv() keeps the connection, though another closes the number.  Threads of
 * ours hold the memory only, and go on with what the program has left.
 */
struct sdp_sock {
	struct util_file file; /* first */
	void (*end)(struct sdp_sock *sock);
	_Atomic uint32_t hold_cnt;
	struct util_lock lock;	/* state changes */
	_Atomic uint32_t state; /* a futex: waits for the end of STARTING */
	int family;
	_Atomic bool is_nonblock;
	_Atomic bool is_async;	 /* O_ASYNC: the kernel signals what it sees */
	bool is_accepting;	 /* came from a twin */
	bool is_request;	 /* connects: begins with an MPA Request */
	bool is_by_cm;		 /* STREAM: tcp_fd is not connected */
	_Atomic bool is_told;	 /* is_by_cm: connect() has said so */
	bool is_sdp_only;	 /* LISTENING: takes no TCP */
	uint8_t connect_cnt;	 /* CONNECTING: threads inside connect() */
	bool is_limit_raised;	 /* STARTING: limit.h */
	bool is_closed;		 /* STARTING: the program has closed it */
	bool is_undone;		 /* STARTING: the program wants no connection */
	_Atomic bool is_asking;	 /* STARTING: not connected yet (ask.h) */
	_Atomic bool is_relay;	 /* the shadow carries the octets: relay.h */
	uint8_t relay_cnt;	 /* threads */
	bool is_shared;		 /* a child may hold it: share.h */
	_Atomic bool is_unasked; /* RELAY: the parent does not know yet */
	int share_fd;		 /* RELAY: to ask it; -1: none */
	_Atomic bool relay_is_primed;	/* the holders see what had come */
	_Atomic bool relay_has_sent;	/* no holder writes any more */
	_Atomic uint32_t relay_is_left; /* a futex: no call is inside */
	_Atomic uint32_t relay_is_over; /* a futex */
	_Atomic bool is_rd_shut;	/* SHUT_RD; written with the lock */
	_Atomic bool is_wr_shut;	/* SHUT_WR; the same */
	_Atomic int error;		/* SO_ERROR */
	int tcp_fd;  /* STREAM: names and options live there */
	int stop_fd; /* is_asking: readable when it is to end */
	int twin_fd; /* LISTENING */
	struct sdp_acceptor *acceptor; /* LISTENING: rdma_cm's; else NULL */
	int note_fd;		       /* LISTENING: the announcement */
	int listen_fd;	      /* LISTENING: the program's, for accept() */
	uint16_t port;	      /* LISTENING, accepted: the program's view */
	union sdp_addr peer;  /* connected: the program's view */
	union sdp_addr local; /* STREAM of the accepting side */
	struct sdp_sock_options options;
	struct sdp_stat_sock *stat; /* count.h */
	_Atomic uint64_t tx_octets;
	_Atomic uint64_t rx_octets;
	_Atomic uint32_t call_cnt;
	/* STREAM, RELAY.  It goes under the shadow's lock. */
	_Atomic(struct sdp_link *) link;
	_Atomic bool is_over;	    /* its end has begun; the link may go */
	struct sdp_link *past_link; /* broken off by connect() */
	char *early;		    /* STARTING: what was sent meanwhile */
	_Atomic uint32_t early_len; /* written with the lock */
	struct sdp_shadow shadow;
	/* Changed with the shadow's lock, watches with that of epoll.c, too. */
	struct sdp_watch *watches;  /* epoll.h */
	struct sdp_poller *pollers; /* sleeper.h */
};

static inline bool sdp_sock_is_asking(const struct sdp_sock *sock)
{
	/* acquire: pairs with the release in sdp_sock_asking_put() */
	return atomic_load_explicit(&sock->is_asking, memory_order_acquire);
}

static inline void sdp_sock_asking_put(struct sdp_sock *sock, bool is_asking)
{
	/* release: the state, or what has come of the question; pairs with
	 * sdp_sock_is_asking() */
	atomic_store_explicit(&sock->is_asking, is_asking,
			      memory_order_release);
}

/* Looked at once for each use: connect() to no address takes it away while
 * other threads are inside. */
static inline struct sdp_link *sdp_sock_link(const struct sdp_sock *sock)
{
	/* acquire: pairs with the release in sdp_sock_link_put() */
	return atomic_load_explicit(&sock->link, memory_order_acquire);
}

static inline void sdp_sock_link_put(struct sdp_sock *sock,
				     struct sdp_link *link)
{
	/* release: what the link is; pairs with sdp_sock_link() */
	atomic_store_explicit(&sock->link, link, memory_order_release);
}

/* acquire: pairs with sdp_stream_shutdown(), so that a shutdown of both
 * directions is seen as a whole. */
static inline bool sdp_sock_is_rd_shut(const struct sdp_sock *sock)
{
	return atomic_load_explicit(&sock->is_rd_shut, memory_order_acquire);
}

static inline bool sdp_sock_is_wr_shut(const struct sdp_sock *sock)
{
	return atomic_load_explicit(&sock->is_wr_shut, memory_order_acquire);
}

/* STARTING: octets that wait for the link. */
static inline uint32_t sdp_sock_early_len(const struct sdp_sock *sock)
{
	/* relaxed: a count; the octets themselves are the lock's */
	return atomic_load_explicit(&sock->early_len, memory_order_relaxed);
}

static inline struct sdp_sock *sdp_sock_of(struct util_file *file)
{
	return (struct sdp_sock *)(void *)file;
}

extern _Atomic(struct util_fdtab *) sdp_fds;

/* Address family of programs that name SDP. */
#define SDP_AF_INET_SDP 27

/* The kinds of the table's entries. */
#define SDP_FD_SOCK UTIL_FD_UCM
#define SDP_FD_EPOLL UTIL_FD_UVERBS
#define SDP_FD_PRIVATE UTIL_FD_INTERNAL

int sdp_table_start(void); /* 0; -ENOMEM */

static inline bool sdp_table_is_there(void)
{
	/* acquire: pairs with the release in sdp_table_start() */
	return atomic_load_explicit(&sdp_fds, memory_order_acquire) != NULL;
}

static inline enum util_fd_kind sdp_fd_kind(int fd)
{
	/* acquire: pairs with the release in sdp_table_start() */
	struct util_fdtab *tab =
		atomic_load_explicit(&sdp_fds, memory_order_acquire);

	return tab ? util_fdtab_lookup(tab, fd, NULL) : UTIL_FD_NONE;
}

/* The socket behind @fd with a reference; NULL: none of ours.  Keeps errno. */
struct sdp_sock *sdp_sock_get(int fd);
void sdp_sock_put(struct sdp_sock *sock);

/* For threads of ours: the memory stays, the open file may end. */
void sdp_sock_hold(struct sdp_sock *sock);
void sdp_sock_drop(struct sdp_sock *sock);

/* A thread of ours runs @fn(@sock), and holds @sock: @fn ends with
 * sdp_sock_drop().  Return: 0; -errno: it does not run. */
int sdp_sock_thread(struct sdp_sock *sock, void *(*fn)(void *arg));

/* Whether @fd still stands for @sock; another thread may have closed it. */
bool sdp_sock_has_fd(const struct sdp_sock *sock, int fd);

static inline enum sdp_sock_state sdp_sock_state(const struct sdp_sock *sock)
{
	/* acquire: pairs with the release in sdp_sock_become() */
	return (enum sdp_sock_state)atomic_load_explicit(&sock->state,
							 memory_order_acquire);
}

/* The octets go by SDP, and not through the shadow. */
static inline bool sdp_sock_is_stream(const struct sdp_sock *sock)
{
	enum sdp_sock_state state = sdp_sock_state(sock);

	return (state == SDP_SOCK_STARTING || state == SDP_SOCK_STREAM) &&
	       !sock->is_relay;
}

/* To an SDP port, and the kernel's until SDP starts. */
static inline bool sdp_state_is_pending(enum sdp_sock_state state)
{
	return state == SDP_SOCK_CONNECTING || state == SDP_SOCK_PENDING;
}

/* Sockets that are CONNECTING or PENDING: one load tells that there are none.
 */
extern _Atomic int sdp_pending_cnt;

void sdp_sock_become(struct sdp_sock *sock, enum sdp_sock_state state);

/*
 * An entry for the new descriptor @fd.  @close: the last number has gone; @end:
 * and the last call has left.
 * Return: NULL: ENOMEM, or there is no table; the descriptor stays plain.
 */
struct sdp_sock *sdp_sock_add(int fd, int family,
			      void (*close)(struct util_file *file),
			      void (*end)(struct sdp_sock *sock));

/* A further descriptor of the same socket.  Return: 0; -EMFILE; -ENOMEM. */
int sdp_sock_add_fd(struct sdp_sock *sock, int fd);

/* The same for @fd, which was duplicated from its number @from_fd: the numbers
 * may have been covered in between. */
int sdp_sock_add_dup(struct sdp_sock *sock, int fd, int from_fd);

/* Each number of @sock: fn(fd, arg). */
void sdp_sock_each_fd(struct sdp_sock *sock, void (*fn)(int fd, void *arg),
		      void *arg);

/* Each number of @sock stands for the file of @from_fd from now on. */
void sdp_sock_cover(struct sdp_sock *sock, int from_fd);

/* One of its numbers.  Return: -1: it has none. */
int sdp_sock_any_fd(struct sdp_sock *sock);

/* Each number of a socket: fn(fd, arg). */
void sdp_table_each_fd(void (*fn)(int fd, void *arg), void *arg);

/*
 * Each socket with a number, once or more; closing it twice is its own care.
 * The walk has a reference meanwhile, since other threads may close the number.
 */
void sdp_table_each_sock(void (*fn)(struct sdp_sock *sock));

/* SDP has started on some socket. */
extern _Atomic bool sdp_begun;

/* A descriptor of ours moves out of the program's way: CLOEXEC, and high where
 * the limit allows.  Return: its number; -errno, @fd as it was. */
int sdp_private_add(int fd);
/* The same for what a system call has returned: -1 is its -errno, and @fd is
 * closed where it cannot be moved. */
int sdp_private_take(int fd);
void sdp_private_close(int fd);

/*
 * The process exits, and this thread sees to it; false: another does, or it is
 * done.  From then on no other thread of the program comes out of a call.
 */
bool sdp_ending_begin(void);
extern _Atomic bool sdp_is_ending;
void sdp_ending_sleep(void);

/* At the end of each call. */
static inline void sdp_ending_look(void)
{
	/* relaxed: a little later is soon enough */
	if (__builtin_expect(
		    atomic_load_explicit(&sdp_is_ending, memory_order_relaxed),
		    false))
		sdp_ending_sleep();
}

/* True between in and out: what this thread calls is the library's own. */
bool sdp_inside(void);
bool sdp_inside_enter(void); /* returns what it was, for leave */
void sdp_inside_leave(bool old);

/* True when @caller, a return address, is in the RNIC or its libraries. */
bool sdp_caller_is_rnic(const void *caller);

/* True in the process that the table is of; a vfork child is not. */
bool sdp_is_owner(void);
void sdp_table_fork_child(void);

#endif

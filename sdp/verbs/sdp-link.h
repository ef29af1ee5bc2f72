/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sdp-link.h - an SDP connection over a queue pair, as a stream of octets.
 *
 * The only header of sdp/verbs that the socket layer includes.  A link is a
 * struct sdp_conn (sdp/conn/sdp-conn.h), its queue pair, and a lock.
 *
 * Sign convention: 0 or a count, else a negative errno.  Times are
 * nanoseconds of sdp_now_ns() (CLOCK_MONOTONIC); SDP_NEVER is no deadline.
 *
 * Threads.  Every function may be called from any thread, several at a time on
 * one link, unless it says otherwise; sdp_link_close() is the last call on a
 * link, and the caller sees to it that no other call is inside.  Nothing here
 * is async-signal-safe.  Functions that wait say so; all others return at
 * once, and may be called under locks of the caller's.
 *
 * Progress.  Something must poll the completion queues.  A thread inside a
 * function that waits does it itself.  A thread that polls in a loop calls
 * sdp_progress(); one that sleeps for several descriptors uses
 * sdp_sleep_begin().  For all the rest the process has one thread, made with
 * the first link, which sleeps when there is nothing to do.
 *
 * Nothing is opened, allocated or started before the first link.
 */
#ifndef SDP_LINK_H
#define SDP_LINK_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "conn/sdp-conn.h"

struct pollfd;
struct sdp_link;
struct sdp_listener;
struct sdp_request;

uint64_t sdp_now_ns(void);

/* Whether @error is what TCP's own timers, or the network, end a connection
 * with; else the peer has. */
static inline bool sdp_link_is_lost(int error)
{
	return error == ETIMEDOUT || error == EHOSTUNREACH ||
	       error == EHOSTDOWN || error == ENETUNREACH || error == ENETDOWN;
}

/* ---- how links are to behave --------------------------------------------- */

/**
 * struct sdp_link_options - zero means default
 * @conn: layout, sizes, thresholds of the protocol; role, carrier and memory
 *   functions are set here, not by the caller.  conn.ird and conn.ord are cut
 *   to what the device has; conn.src_threshold is the device's if it is zero.
 * @hello_ms: time that an Accepting Peer waits for the Hello (5000).
 * @send_bytes: octets that sdp_link_send() takes before the peer has credit
 *   for them, as SO_SNDBUF (1048576).
 * @is_nodelay: as TCP_NODELAY.  Without it small sends are gathered while a
 *   message is being sent.
 * @is_oobinline: as SO_OOBINLINE.
 * @has_no_zcopy: user buffers are never registered.
 */
struct sdp_link_options {
	struct sdp_options conn;
	uint32_t hello_ms;
	uint32_t send_bytes;
	bool is_nodelay;
	bool is_oobinline;
	bool has_no_zcopy;
};

#define SDP_LINK_OPTIONS_INIT                                                  \
	((struct sdp_link_options){ .conn = SDP_OPTIONS_INIT })

/* ---- start ----------------------------------------------------------------
 */

/* Why there is no link; for the log and the statistics page. */
enum sdp_reason {
	SDP_REASON_NONE,
	SDP_REASON_DEVICE,   /* no verbs device for the route */
	SDP_REASON_CARRIER,  /* the device does not offer the carrier */
	SDP_REASON_RESOURCE, /* memory, descriptors, queue pairs */
	SDP_REASON_REFUSED,  /* the peer closed, reset or rejected */
	SDP_REASON_NOT_SDP,  /* what came is no Hello, or no HelloAck */
	SDP_REASON_TIMEOUT,
	SDP_REASON_LOST, /* the carrier failed in the midst of the start */
	SDP_REASON_CNT,
};

/* "the peer refused"; static, never NULL. */
const char *sdp_reason_str(enum sdp_reason reason);

/**
 * struct sdp_outcome - what came of a start, also of one that succeeded
 * @reason: SDP_REASON_NONE on success.
 * @has_sent: octets of ours may have reached the peer on the TCP connection:
 *   the same connection is no longer good for plain TCP.  A new connection is
 *   in any case: no octet of the program was sent yet.
 * @text: one line for the log: "192.0.2.1:80: HelloAck did not come in time".
 */
struct sdp_outcome {
	enum sdp_reason reason;
	bool has_sent;
	char text[120];
};

/*
 * Both ends of the carrier STREAM.  @fd is a connected TCP socket, blocking or
 * not.  It remains open and belongs to the caller.  On success the stream
 * belongs to the link: the caller closes @fd at once, or puts another file at
 * its number, and never reads, writes or shuts it down.  On failure the caller
 * closes it as well, or continues with plain TCP if !has_sent and it is the
 * Connecting Peer. They wait, until @deadline.  A signal does not end them. The
 * Connecting Peer with SDP_CM_PRIV as opt->conn.carrier begins as rdma_cm does,
 * with Hello in an MPA Request: ports of rdma_cm and of sdp_link_accept_fd()
 * take that. The Accepting Peer reads 32 octets, and not one more.  It also
 * takes a peer that begins by rdma_cm, and answers by CM-PRIV. Return: 0 and
 * *ret_link; -ENODEV, -EOPNOTSUPP, -ENOMEM, -EMFILE, -EAGAIN, -ECONNREFUSED,
 * -EPROTO, -ETIMEDOUT, -ECONNRESET ...; *ret_outcome is filled in any case
 * (NULL: not wanted).
 */
int sdp_link_connect_fd(struct sdp_link **ret_link, int fd,
			const struct sdp_link_options *opt, uint64_t deadline,
			struct sdp_outcome *ret_outcome);
int sdp_link_accept_fd(struct sdp_link **ret_link, int fd,
		       const struct sdp_link_options *opt, uint64_t deadline,
		       struct sdp_outcome *ret_outcome);

/*
 * The carriers CM-SEND and CM-PRIV, by rdma_cm: to @dst.  @stop_fd: readable to
 * end the wait with -ECANCELED; -1: none.
 * The Accepting Peer's opt->conn.carrier says which of both it answers by; the
 * Connecting Peer takes either.  They wait, until @deadline.
 */
int sdp_link_connect_cm(struct sdp_link **ret_link, const struct sockaddr *dst,
			int stop_fd, const struct sdp_link_options *opt,
			uint64_t deadline, struct sdp_outcome *ret_outcome);

/* Listens at once.  Port 0: any; sdp_listener_name() tells which.  An address
 * of AF_INET6 is for that family alone. */
int sdp_listener_new(struct sdp_listener **ret_listener,
		     const struct sockaddr *addr, int backlog);
int sdp_listener_name(const struct sdp_listener *listener,
		      struct sockaddr_storage *ret_addr);
/* Readable when sdp_link_accept_cm() or sdp_listener_take() may have something
 * to do. */
int sdp_listener_fd(const struct sdp_listener *listener);
void sdp_listener_free(struct sdp_listener *listener);
/* Waits for a peer, and for its link to stand.  A peer that is no SDP's is
 * rejected, and the call returns why. */
int sdp_link_accept_cm(struct sdp_link **ret_link,
		       struct sdp_listener *listener,
		       const struct sdp_link_options *opt, uint64_t deadline,
		       struct sdp_outcome *ret_outcome);

/*
 * The two steps of that: a peer that asks, which does not wait, and the answer,
 * which does, and may be given by another thread.  With the answer the request
 * is gone; the listener may have gone before.
 * Return: 0; -EAGAIN: no peer asks; -EMFILE ...: the peer was rejected.
 */
int sdp_listener_take(struct sdp_listener *listener,
		      struct sdp_request **ret_request);
int sdp_request_accept(struct sdp_link **ret_link, struct sdp_request *request,
		       const struct sdp_link_options *opt, uint64_t deadline,
		       struct sdp_outcome *ret_outcome);
void sdp_request_reject(struct sdp_request *request);

/* ---- state ----------------------------------------------------------------
 */

#define SDP_LINK_IN 0x01u    /* sdp_link_recv() has something to say */
#define SDP_LINK_OUT 0x02u   /* sdp_link_send() does */
#define SDP_LINK_PRI 0x04u   /* urgent data came, or is on its way */
#define SDP_LINK_RDHUP 0x08u /* the peer sends no more */
#define SDP_LINK_HUP 0x10u   /* over in both directions */
#define SDP_LINK_ERR 0x20u   /* sdp_link_error() has something to say */
/* Only for sdp_link_wait(): all octets that were taken have been sent, and
 * read by the peer as far as SDP can tell (RdmaRdCompl). */
#define SDP_LINK_DRAINED 0x40u
/* The carrier is gone, nothing will happen any more. */
#define SDP_LINK_CLOSED 0x80u

/* What holds now; one atomic load, no lock. */
unsigned int sdp_link_state(const struct sdp_link *link);

/**
 * sdp_link_set_notify - be told when the state changes
 * @fn: called with the bits that hold now and those that are news: bits that
 *   have come or gone, and SDP_LINK_IN each time that more octets have come
 *   (a new edge for EPOLLET), SDP_LINK_PRI for each urgent octet.
 *
 * Called in any thread, with the link's lock held: it must not block, nor
 * call anything here but sdp_link_state() and sdp_now_ns().  Locks that it
 * takes must not be held while functions here are called.  It is called once
 * with the present state before this function returns.  After
 * sdp_link_set_notify(link, NULL, NULL) has returned it is not running, and
 * will not be called.
 */
typedef void sdp_notify_fn(void *arg, unsigned int state, unsigned int news);
void sdp_link_set_notify(struct sdp_link *link, sdp_notify_fn *fn, void *arg);

/* The pending error, taken away as SO_ERROR takes it; 0: none. */
int sdp_link_error(struct sdp_link *link);
/* FIONREAD: octets that a receive would find, up to an urgent one. */
size_t sdp_link_inq(struct sdp_link *link);
/* SIOCOUTQ: octets taken, and not sent (or not read by the peer) yet. */
size_t sdp_link_outq(struct sdp_link *link);
/* SIOCATMARK */
bool sdp_link_at_mark(struct sdp_link *link);

/* IP addresses and ports of the TCP connection below. */
int sdp_link_name(const struct sdp_link *link, bool is_peer,
		  struct sockaddr_storage *ret_addr, socklen_t *ret_len);

/* ---- octets ---------------------------------------------------------------
 */

#define SDP_SEND_OOB 0x01u  /* the last octet is urgent */
#define SDP_SEND_MORE 0x02u /* as MSG_MORE */

/**
 * sdp_link_send - octets for the peer, copied
 * Return: octets taken, at least one; 0: none were given; -EAGAIN: not
 *   writable; -EPIPE: after sdp_link_shutdown(), after the peer's end, or the
 *   error was told before; -ECONNRESET, -ETIMEDOUT, on usiw whatever else ends
 *   TCP's connections (-EHOSTUNREACH ...): told once.
 */
ssize_t sdp_link_send(struct sdp_link *link, const struct iovec *iov,
		      int iovcnt, unsigned int flags);

/**
 * sdp_link_send_wait - the same for a caller that can wait
 *
 * All octets are taken, unless something ends it.  Large pieces are not
 * copied: the peer reads them out of the caller's memory, or they are written
 * into the peer's, and the call returns when it has the memory back.
 * Return: octets taken, if any; else as sdp_link_send(), -ETIMEDOUT for
 *   @deadline becomes -EAGAIN (as SO_SNDTIMEO), -EINTR: a signal handler ran.
 */
ssize_t sdp_link_send_wait(struct sdp_link *link, const struct iovec *iov,
			   int iovcnt, unsigned int flags, uint64_t deadline);

#define SDP_RECV_PEEK 0x01u
#define SDP_RECV_OOB 0x02u     /* as MSG_OOB */
#define SDP_RECV_WAITALL 0x04u /* sdp_link_recv_wait() only */
#define SDP_RECV_TRUNC                                                         \
	0x08u /* discard, as MSG_TRUNC of TCP; iov_base may                    \
		 be NULL */

/* The receives for the caller of sdp_link_relay(). */
#define SDP_RECV_RELAY 0x10u

/*
 * From now on only receives with SDP_RECV_RELAY get octets.  All others, also
 * those that wait, return -ESTALE, or what they have got before.
 */
void sdp_link_relay(struct sdp_link *link);

/**
 * sdp_link_recv - octets of the peer
 * Return: octets; 0: the peer sends no more, or there is no space in @iov;
 *   -EAGAIN: none; -ECONNRESET, -ETIMEDOUT ...: told once, then 0.  With
 *   SDP_RECV_OOB: 1, -EAGAIN: on its way, -EINVAL: none, read already, or
 *   inline.
 *   A call stops before the urgent octet.
 */
ssize_t sdp_link_recv(struct sdp_link *link, const struct iovec *iov,
		      int iovcnt, unsigned int flags);

/**
 * sdp_link_recv_wait - the same for a caller that can wait
 * @lowat: as SO_RCVLOWAT; 0 is 1.
 *
 * If nothing is there and the caller's memory is large, the peer puts the
 * octets directly there.
 * Return: as sdp_link_recv(); -EAGAIN: @deadline (as SO_RCVTIMEO); -EINTR: a
 *   signal handler ran, and nothing was received.
 */
ssize_t sdp_link_recv_wait(struct sdp_link *link, const struct iovec *iov,
			   int iovcnt, unsigned int flags, size_t lowat,
			   uint64_t deadline);

/* The same; *ret_is_stale: it was sdp_link_relay() that ended the call, also
 * one that returns octets. */
ssize_t sdp_link_recv_until_relay(struct sdp_link *link,
				  const struct iovec *iov, int iovcnt,
				  unsigned int flags, size_t lowat,
				  uint64_t deadline, bool *ret_is_stale);

/*
 * The steps of the two, for callers that wait in their own way.  The memory
 * belongs to the link until the call that ends it has returned other than
 * -EAGAIN.  One of each at a time; other receives get -EAGAIN meanwhile, other
 * sends queue behind.
 * begin: 0; -EAGAIN: one is there, or no space in the queue; -ENOTSUP: too
 *   small, or zero copy is off; -ENOMEM ...: cannot be registered; as
 *   sdp_link_send(), sdp_link_recv().
 * done: octets transferred; -EAGAIN: not yet.
 * cancel: asks for it back; done says how much had gone.  Takes as long as
 *   the peer does, conn.cancel_ms at most.
 */
int sdp_link_send_zcopy_begin(struct sdp_link *link, const void *buf,
			      size_t len);
ssize_t sdp_link_send_zcopy_done(struct sdp_link *link);
void sdp_link_send_zcopy_cancel(struct sdp_link *link);
int sdp_link_recv_direct_begin(struct sdp_link *link, void *buf, size_t len,
			       unsigned int flags);
ssize_t sdp_link_recv_direct_done(struct sdp_link *link);
void sdp_link_recv_direct_cancel(struct sdp_link *link);

/* ---- cancellation ----------------------------------------------------------
 */

/**
 * sdp_point_enter - a call begins that is a cancellation point
 * sdp_point_leave - and ends
 *
 * Between them the thread is not cancelled, whatever its type; in
 * sdp_point_leave() it is, if it was meanwhile.  They do not nest.
 */
int sdp_point_enter(void);
void sdp_point_leave(void);

/* The thread has left the call, and those inside it, by siglongjmp() or its
 * like.  @depth: what sdp_point_enter() returned. */
void sdp_point_left(int depth);

/**
 * sdp_point_cancel - pthread_cancel() of @thread has returned 0
 *
 * If it sleeps in sdp_link_wait(), sdp_link_send_wait() or
 * sdp_link_recv_wait() between the two calls above, it wakes up: they return
 * -EINTR, or what they have done so far.
 */
void sdp_point_cancel(pthread_t thread);

/* Whether the calling thread is to end with its call. */
bool sdp_point_is_cancelled(void);

/* ---- waiting ---------------------------------------------------------------
 */

/**
 * sdp_link_wait - until one of @what (SDP_LINK_*) holds
 *
 * Makes progress meanwhile: polls a short, adaptive time, then sleeps.
 * Return: the bits of @what that hold; -ETIMEDOUT; -EINTR: a signal handler
 *   ran.
 */
int sdp_link_wait(struct sdp_link *link, unsigned int what, uint64_t deadline);

/* Looks once at all completion queues, if no other thread does.  Cheap.
 * Return: how many completions were found. */
int sdp_progress(void);

/**
 * sdp_sleep_begin - prepare to sleep in poll() or a similar call
 * @ret_fds: descriptors to wait for beside the caller's own; at most @max.
 *
 * The pattern:
 *
 *	sdp_progress();
 *	... look at the states of the links ...
 *	cnt = sdp_sleep_begin(fds, MAX);
 *	if (cnt >= 0) {
 *		... look again, then ppoll() ...
 *		sdp_sleep_end(fds, cnt);
 *	}
 *	... from the beginning ...
 *
 * While it sleeps the caller serves all links of the devices whose descriptors
 * it got.  Those of a device that another thread serves are not among them, so
 * there may be none: what happens to its links is told by the function of
 * sdp_link_set_notify(), which is to wake the caller.
 * Return: descriptors; -EAGAIN: something has come, look again.
 */
int sdp_sleep_begin(struct pollfd *ret_fds, int max);
/* @fds: as ppoll() left them; @cnt: what sdp_sleep_begin() returned. */
void sdp_sleep_end(const struct pollfd *fds, int cnt);
#define SDP_SLEEP_FDS 16

/*
 * Before it sleeps, a thread that waits for many polls for a while:
 *
 *	struct sdp_spin spin = SDP_SPIN_INIT;
 *
 *	while (nothing is ready && sdp_spin_turn(&spin))
 *		;
 *
 * Each turn polls all devices once.  How many there are depends on what became
 * of it before: sdp_spin_slept() is told how long a thread slept behind it,
 * until something was ready.
 */
struct sdp_spin {
	uint64_t start, last; /* 0: not begun */
};
#define SDP_SPIN_INIT ((struct sdp_spin){ 0 })
bool sdp_spin_turn(struct sdp_spin *spin);
void sdp_spin_slept(uint64_t ns);

/* ---- end ------------------------------------------------------------------
 */

/* No more sends; the peer reads EOF behind what was taken. */
int sdp_link_shutdown(struct sdp_link *link);

/* SHUT_RD: a receive does not wait any more, also one that sleeps.  What the
 * peer sends is received all the same. */
void sdp_link_shutdown_read(struct sdp_link *link);

/* Abortive: the peer gets ECONNRESET.  sdp_link_close() is still to come. */
void sdp_link_abort(struct sdp_link *link);

/**
 * sdp_link_linger - close in order, and wait for it
 *
 * As sdp_link_shutdown(); then waits until the peer has all, or the carrier
 * is gone.  Octets that lie unread, or still come, make it an abort (as TCP
 * does it).
 * Return: 0; -ETIMEDOUT: what is left goes on in the background; -EINTR.
 */
int sdp_link_linger(struct sdp_link *link, uint64_t deadline);

/**
 * sdp_link_close - the caller has done with @link, which is freed when it can
 * @deadline: what has not been sent by then is thrown away, and the link
 *   aborted.  0: abort at once.
 *
 * Returns at once; the rest happens in the background.  fn of
 * sdp_link_set_notify() is not called any more.
 */
void sdp_link_close(struct sdp_link *link, uint64_t deadline);

/* ---- moves ----------------------------------------------------------------
 *
 * A peer that moves to another address space is followed without a call: the
 * stream goes on over the carrier that it asks for, or ends with ECONNRESET.
 * A link of this process moves in four steps.  The next address space listens.
 * This one calls sdp_link_suspend() with that port, then sdp_link_hand_over();
 * the octets of that go to the other process, which accepts, and calls
 * sdp_link_adopt_fd() or sdp_link_adopt_cm().
 */

/**
 * sdp_link_suspend - the peer stops sending, and knows where to go on
 *
 * Waits.  What comes before that can be received as ever, also afterwards.
 * Return: 0; -ENOTCONN, -ECONNRESET: it is over; -ETIMEDOUT, -EINTR: to be
 * called again.
 */
int sdp_link_suspend(struct sdp_link *link, uint16_t port, uint64_t deadline);

/**
 * sdp_link_hand_over - what the next address space has to know
 * @ret_octets: free() them.
 *
 * The link is over then, without an error; sdp_link_close() is still to come.
 * Return: 0; -EINVAL: sdp_link_suspend() is not through; -EBUSY: memory of a
 * caller is in use (sdp_link_send_zcopy_done(), sdp_link_recv_direct_done());
 * -ENOMEM.
 */
int sdp_link_hand_over(struct sdp_link *link, void **ret_octets,
		       size_t *ret_len);

/*
 * As sdp_link_accept_fd() and sdp_link_accept_cm(), of a connection that is
 * handed over.  Return: also -EPERM: the connection comes from another peer;
 * accept the next one.  -EINVAL: @octets are not such.
 */
int sdp_link_adopt_fd(struct sdp_link **ret_link, int fd, const void *octets,
		      size_t len, const struct sdp_link_options *opt,
		      uint64_t deadline, struct sdp_outcome *ret_outcome);
int sdp_link_adopt_cm(struct sdp_link **ret_link, struct sdp_listener *listener,
		      const void *octets, size_t len,
		      const struct sdp_link_options *opt, uint64_t deadline,
		      struct sdp_outcome *ret_outcome);

/* ---- settings and statistics
 * ---------------------------------------------- */

enum sdp_link_setting {
	SDP_LINK_NODELAY,   /* 0, 1; 1 pushes what is gathered */
	SDP_LINK_CORK,	    /* 0, 1; held at most 200 ms, as TCP_CORK */
	SDP_LINK_OOBINLINE, /* 0, 1 */
	SDP_LINK_SNDBUF,    /* send_bytes */
	SDP_LINK_ZCOPY,	    /* 0, 1 */
	SDP_LINK_MODE,	    /* enum sdp_mode of the sending half */
	SDP_LINK_RCV_SIZE,  /* ask the peer to change its buffers (ChRcvBuf) */
};

int sdp_link_set(struct sdp_link *link, enum sdp_link_setting setting,
		 uint32_t value);

struct sdp_link_stats {
	enum sdp_carrier carrier;
	enum sdp_role role;
	enum sdp_mode send_mode, recv_mode;
	uint16_t send_credit; /* messages that the peer would take now */
	uint16_t recv_credit; /* Bufs, as told to the peer */
	bool is_failed;	      /* an error or a reset has ended it */
	uint32_t peer_rcv_sz; /* its receive buffers */
	uint64_t tx_octets, rx_octets;
	uint64_t tx_msgs, rx_msgs;
	uint64_t tx_bcopy;	  /* octets in Data and as inline of adverts */
	uint64_t tx_read;	  /* octets that the peer read (Read Zcopy) */
	uint64_t tx_write;	  /* octets written (Write Zcopy) */
	uint64_t rx_bcopy;	  /* octets copied out of messages */
	uint64_t rx_read;	  /* octets read from the peer */
	uint64_t rx_write;	  /* octets that the peer wrote */
	uint64_t tx_transactions; /* SinkAvails with payload */
	uint64_t rx_transactions;
	uint64_t tx_carried; /* of tx_bcopy: octets that adverts carried */
	uint64_t rx_carried;
	uint64_t rx_invalidates; /* advertisements that the peer invalidated */
	uint64_t sleeps;	 /* times a thread slept for this link */
	char device[64];
};

void sdp_link_get_stats(struct sdp_link *link, struct sdp_link_stats *ret);

/* Octets of memory and objects of all links and devices: for leak tests. */
struct sdp_verbs_stats {
	uint32_t devices, links, closing; /* links: closing ones included */
	uint64_t pool_bytes;		  /* registered buffers */
	uint64_t pool_used;
	uint64_t wakeups; /* of the progress thread */
	uint64_t polls;	  /* of completion queues */
};
void sdp_verbs_get_stats(struct sdp_verbs_stats *ret);

/* ---- process --------------------------------------------------------------
 */

/*
 * sdp_verbs_fork_prepare() and its two ends belong into pthread_atfork(), or
 * around the fork: no other thread is in the midst of something when the
 * child is made.  After sdp_verbs_after_fork() in the child the parent's links
 * are dead there: every call on one answers as after a reset, nothing of the
 * parent's is touched, sdp_link_close() frees the memory; new links open the
 * devices anew.  A child that only executes another program needs none of
 * them.
 */
void sdp_verbs_fork_prepare(void);
void sdp_verbs_fork_parent(void);
void sdp_verbs_after_fork(void);

/*
 * The process is about to exit: no other thread comes out of a call that waits,
 * and links may be closed though threads are inside.  A thread of the socket
 * layer's own goes on.
 */
void sdp_verbs_end(void);
void sdp_verbs_own_thread(void);

/* Before exit: waits until every link that was closed has gone, or has at
 * least sent all and its DisConn, @deadline at the latest.  Return: links that
 * are left. */
int sdp_verbs_drain(uint64_t deadline);

#endif

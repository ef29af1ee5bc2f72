/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sdp-link.h - an SDP connection over a queue pair, as a stream of octets.
 *
 * This is the only header of sdp/verbs that the socket layer includes. A link
 * consists of a struct sdp_conn (sdp/conn/sdp-conn.h), its queue pair, and a
 * lock.
 *
 * Sign convention: 0 or a count, else a negative errno. Times are nanoseconds
 * of sdp_now_ns() (CLOCK_MONOTONIC). SDP_NEVER is no deadline.
 *
 * Threads. Every function may be called from any thread, and by several threads
 * at once on one link, unless it says otherwise. sdp_link_close() is the last
 * call on a link. The caller makes sure that no other call is still running
 * then. No function is async-signal-safe. The functions that wait say so. All
 * others return at once, and may be called while the caller holds locks.
 *
 * Progress. Something must poll the completion queues. A thread inside a
 * function that waits does so itself. A thread that polls in a loop calls
 * sdp_progress(). A thread that sleeps on several descriptors uses
 * sdp_sleep_begin(). For everything else the process has one thread. It is
 * started with the first link and sleeps when there is nothing to do.
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

/* Whether @error comes from TCP's timers or from the network. Otherwise the
 * peer ended the connection. */
static inline bool sdp_link_is_lost(int error)
{
	return error == ETIMEDOUT || error == EHOSTUNREACH ||
	       error == EHOSTDOWN || error == ENETUNREACH || error == ENETDOWN;
}

/* Whether the connection has ended by one or the other. */
static inline bool sdp_link_is_end(int error)
{
	return error == ECONNRESET || sdp_link_is_lost(error);
}

/* ---- options ---- */

/**
 * struct sdp_link_options - zero means default
 * @conn: layout, sizes and thresholds of the protocol. The library sets role
 *   carrier and memory functions. conn.ird and conn.ord are limited to what the
 *   device supports. A conn.src_threshold of 0 selects the device's.
 * @hello_ms: how long an Accepting Peer waits for the Hello (5000).
 * @send_bytes: octets that sdp_link_send() accepts before the peer has credit
 *   for them, like SO_SNDBUF (1048576).
 * @is_nodelay: like TCP_NODELAY. Without it small sends are gathered while a
 *   message is being sent.
 * @is_oobinline, @rcvlowat: like SO_OOBINLINE and SO_RCVLOWAT.
 * @from, @from_len: accepting: the octets of sdp_link_hand_over(), which the
 * new link continues; NULL: none. The accept returns also -EPERM: the
 * connection comes from another peer, accept the next one; -EINVAL: @from is
 * not valid.
 */
struct sdp_link_options {
	struct sdp_options conn;
	uint32_t hello_ms;
	uint32_t send_bytes;
	bool is_nodelay;
	bool is_oobinline;
	uint32_t rcvlowat;
	const void *from;
	size_t from_len;
};

#define SDP_LINK_OPTIONS_INIT                                                  \
	((struct sdp_link_options){ .conn = SDP_OPTIONS_INIT })

/* ---- start ---- */

/* Why there is no link, for the log and the statistics page. */
enum sdp_reason {
	SDP_REASON_NONE,
	SDP_REASON_DEVICE,   /* no verbs device for the route */
	SDP_REASON_CARRIER,  /* the device does not offer the carrier */
	SDP_REASON_RESOURCE, /* memory, descriptors, queue pairs */
	SDP_REASON_REFUSED,  /* the peer closed, reset or rejected */
	SDP_REASON_NOT_SDP,  /* what came is no Hello, or no HelloAck */
	SDP_REASON_TIMEOUT,
	SDP_REASON_LOST, /* the carrier failed during the start */
	SDP_REASON_CNT,
};

/* For example "the peer refused"; static, never NULL. */
const char *sdp_reason_str(enum sdp_reason reason);

/**
 * struct sdp_outcome - the result of a start, whether it succeeded or not
 * @reason: SDP_REASON_NONE on success.
 * @has_sent: octets of this side may have reached the peer on the TCP
 *   connection. The connection cannot be used for plain TCP then. A new
 *   connection can: no octet of the program was sent.
 * @text: one line for the log: "192.0.2.1:80: HelloAck did not come in time".
 */
struct sdp_outcome {
	enum sdp_reason reason;
	bool has_sent;
	char text[120];
};

/*
 * Both ends of the carrier STREAM. @fd is a connected TCP socket, blocking or
 * not. It remains open and belongs to the caller. On success the stream belongs
 * to the link: the caller closes @fd at once, or replaces it by another file
 * with dup2(), and never reads, writes or shuts it down. On failure the caller
 * closes it too, or continues with plain TCP if !has_sent and it is the
 * Connecting Peer. Both functions wait, at most until @deadline. A signal does
 * not interrupt them.
 *
 * If opt->conn.carrier is SDP_CM_PRIV, the Connecting Peer begins as rdma_cm
 * does, with the Hello in an MPA Request. Ports of rdma_cm and of
 * sdp_link_accept_fd() accept that.
 *
 * The Accepting Peer reads exactly 32 octets. It also accepts a peer that
 * begins as rdma_cm does, and answers by CM-PRIV.
 *
 * Return: 0 and *ret_link; -ENODEV, -EOPNOTSUPP, -ENOMEM, -EMFILE, -EAGAIN,
 *   -ECONNREFUSED, -EPROTO, -ETIMEDOUT, -ECONNRESET ...; *ret_outcome is filled
 *   in any case (NULL: not needed).
 */
int sdp_link_connect_fd(struct sdp_link **ret_link, int fd,
			const struct sdp_link_options *opt, uint64_t deadline,
			struct sdp_outcome *ret_outcome);
int sdp_link_accept_fd(struct sdp_link **ret_link, int fd,
		       const struct sdp_link_options *opt, uint64_t deadline,
		       struct sdp_outcome *ret_outcome);

/*
 * The carriers CM-SEND and CM-PRIV, by rdma_cm, to @dst. @stop_fd: a descriptor
 * that ends the wait with -ECANCELED when it becomes readable; -1: none. The
 * Accepting Peer's opt->conn.carrier says by which of the two it answers. The
 * Connecting Peer accepts both. Both functions wait, at most until @deadline.
 */
int sdp_link_connect_cm(struct sdp_link **ret_link, const struct sockaddr *dst,
			int stop_fd, const struct sdp_link_options *opt,
			uint64_t deadline, struct sdp_outcome *ret_outcome);

/* Listens at once. Port 0: any port; sdp_listener_name() returns it. A listener
 * with an address of AF_INET6 accepts only that family. */
int sdp_listener_new(struct sdp_listener **ret_listener,
		     const struct sockaddr *addr, int backlog);
void sdp_listener_name(const struct sdp_listener *listener,
		       struct sockaddr_storage *ret_addr);
/* Readable when sdp_listener_take() may have something to do. */
int sdp_listener_fd(const struct sdp_listener *listener);
void sdp_listener_free(struct sdp_listener *listener);
/*
 * Accepts in two steps. sdp_listener_take() takes a connection request and
 * does not wait. sdp_request_accept() answers it and waits until the link is
 * established; another thread may call it. It rejects a peer that does not
 * speak SDP, and returns the reason. The answer frees the request. The listener
 * may be freed earlier.
 * Return: 0; -EAGAIN: no request; -EMFILE ...: the peer was rejected.
 */
int sdp_listener_take(struct sdp_listener *listener,
		      struct sdp_request **ret_request);
int sdp_request_accept(struct sdp_link **ret_link, struct sdp_request *request,
		       const struct sdp_link_options *opt, uint64_t deadline,
		       struct sdp_outcome *ret_outcome);
void sdp_request_reject(struct sdp_request *request);

/* ---- state ---- */

/* sdp_link_recv() has rcvlowat octets, an end or an error. */
#define SDP_LINK_IN 0x01u
#define SDP_LINK_OUT 0x02u   /* sdp_link_send() has room or an error */
#define SDP_LINK_PRI 0x04u   /* an urgent octet arrived and was not read */
#define SDP_LINK_RDHUP 0x08u /* the peer sends no more */
#define SDP_LINK_HUP 0x10u   /* closed in both directions */
#define SDP_LINK_ERR 0x20u   /* sdp_link_error() has an error */
/* Only for sdp_link_wait(): all accepted octets were sent, and the peer has
 * read them as far as SDP can tell (RdmaRdCompl). */
#define SDP_LINK_DRAINED 0x40u
/* The carrier has ended. The state changes no more. */
#define SDP_LINK_CLOSED 0x80u
/* Only for sdp_notify_fn: SDP_LINK_PRI, or the octet was announced and has not
 * arrived (OOB_PEND). */
#define SDP_LINK_URGENT 0x4000u

/* The current state: one atomic load, no lock. */
unsigned int sdp_link_state(const struct sdp_link *link);

/**
 * sdp_link_set_notify - set a function to call when the state changes
 * @fn: called with the bits that hold now and those that are news: bits that
 *   have changed, SDP_LINK_IN each time that more octets arrive (a new edge for
 *   EPOLLET), SDP_LINK_PRI for each urgent octet, and SDP_LINK_URGENT for each
 *   announcement of one.
 *
 * It is called in any thread, with the link's lock held. It must not block. It
 * must not call any function of this header except sdp_link_state() and
 * sdp_now_ns(). Locks that it takes must not be held during calls of this
 * header's functions. It is called once with the current state before this
 * function returns. After sdp_link_set_notify(link, NULL, NULL) has returned,
 * the function does not run and will not be called.
 */
typedef void sdp_notify_fn(void *arg, unsigned int state, unsigned int news);
void sdp_link_set_notify(struct sdp_link *link, sdp_notify_fn *fn, void *arg);

/* Returns and clears the pending error, like SO_ERROR; 0: none. */
int sdp_link_error(struct sdp_link *link);
/* FIONREAD: octets that a receive would return, up to an urgent octet. */
size_t sdp_link_inq(struct sdp_link *link);
/* SIOCOUTQ: octets accepted that were not sent yet (or not read by the
 * peer). */
size_t sdp_link_outq(struct sdp_link *link);
/* SIOCATMARK */
bool sdp_link_at_mark(struct sdp_link *link);

/* IP address and port of an end of the underlying TCP connection, as long as
 * the link exists. */
const struct sockaddr_storage *sdp_link_name(const struct sdp_link *link,
					     bool is_peer);

/* ---- octets ---- */

#define SDP_SEND_OOB 0x01u  /* the last octet is urgent */
#define SDP_SEND_MORE 0x02u /* like MSG_MORE */

/**
 * sdp_link_send - send octets by copying them
 * Return: number of octets accepted, at least one; 0: @iov is empty; -EAGAIN:
 *   not writable; -EPIPE: after sdp_link_shutdown(), after the peer's end, or
 *   after the error was reported; -ECONNRESET, -ETIMEDOUT, on usiw also other
 *   errors of TCP (-EHOSTUNREACH ...): reported once.
 */
ssize_t sdp_link_send(struct sdp_link *link, const struct iovec *iov,
		      int iovcnt, unsigned int flags);

/* A caller that does not report @error, which a call of the link has returned:
 * the next call returns it again if it is the end of the connection. */
void sdp_link_tell_again(struct sdp_link *link, int error);

/**
 * sdp_link_send_wait - the same for a caller that can wait
 *
 * Accepts all octets unless an error, a signal or @deadline ends it. Large
 * pieces are not copied: the peer reads them from the caller's memory, or they
 * are written into the peer's memory. The call returns when the memory is no
 * longer used.
 * Return: octets accepted, if any; else as sdp_link_send(); -EAGAIN: @deadline
 *   (like SO_SNDTIMEO); -EINTR: a signal handler ran.
 */
ssize_t sdp_link_send_wait(struct sdp_link *link, const struct iovec *iov,
			   int iovcnt, unsigned int flags, uint64_t deadline);

#define SDP_RECV_PEEK 0x01u
#define SDP_RECV_OOB 0x02u     /* like MSG_OOB */
#define SDP_RECV_WAITALL 0x04u /* sdp_link_recv_wait() only */
#define SDP_RECV_TRUNC                                                         \
	0x08u /* discard, as MSG_TRUNC of TCP; iov_base may                    \
		 be NULL */

/* Marks the receives of the caller of sdp_link_relay(). They return 0 only at
 * the peer's end, also if another call has reported an error. */
#define SDP_RECV_RELAY 0x10u

/*
 * From now on only receives with SDP_RECV_RELAY return octets. All other
 * receives, including those that already wait, return -ESTALE or the octets
 * received so far.
 */
void sdp_link_relay(struct sdp_link *link);

/**
 * sdp_link_recv - receive octets
 * Return: number of octets; 0: the peer sends no more, or there are octets and
 *   @iov has no space;
 *   -EAGAIN: no octets; -ECONNRESET, -ETIMEDOUT ...: reported once, then 0.
 *   With SDP_RECV_OOB: 1; -EAGAIN: announced but not received; -EINVAL: none,
 *   already read, or inline. A call stops before the urgent octet.
 */
ssize_t sdp_link_recv(struct sdp_link *link, const struct iovec *iov,
		      int iovcnt, unsigned int flags);

/**
 * sdp_link_recv_wait - the same for a caller that can wait
 * @lowat: like SO_RCVLOWAT; 0 means 1.
 *
 * If no octets are there and the caller's memory is large, the peer places the
 * octets directly.
 * Return: as sdp_link_recv(); -EAGAIN: @deadline (like SO_RCVTIMEO); -EINTR: a
 *   signal handler ran, and nothing was received.
 */
ssize_t sdp_link_recv_wait(struct sdp_link *link, const struct iovec *iov,
			   int iovcnt, unsigned int flags, size_t lowat,
			   uint64_t deadline);

/* As sdp_link_recv_wait(). *ret_is_stale: sdp_link_relay() ended the call. It
 * is also set for a call that returns octets. */
ssize_t sdp_link_recv_until_relay(struct sdp_link *link,
				  const struct iovec *iov, int iovcnt,
				  unsigned int flags, size_t lowat,
				  uint64_t deadline, bool *ret_is_stale);

/*
 * The steps of the two functions above, for callers that wait in their own way.
 * The memory belongs to the link until a call of done returns other than
 * -EAGAIN. At most one send and one receive are possible at a time. Meanwhile
 * other receives return -EAGAIN, and other sends queue behind.
 *  - begin returns 0; -EAGAIN: one is active, or the queue is full; -ENOTSUP:
 *    too small, or zero copy is off; -ENOMEM ...: cannot be registered; other
 *    errors as sdp_link_send() and sdp_link_recv().
 *  - done returns the octets transferred; -EAGAIN: not complete.
 */
int sdp_link_send_zcopy_begin(struct sdp_link *link, const void *buf,
			      size_t len);
ssize_t sdp_link_send_zcopy_done(struct sdp_link *link);
int sdp_link_recv_zcopy_begin(struct sdp_link *link, void *buf, size_t len,
			      unsigned int flags);
ssize_t sdp_link_recv_zcopy_done(struct sdp_link *link);

/*
 * The link receives @octets before those of the peer's first message, because
 * they came by other means. @octets is from malloc() and belongs to the link.
 * Call it once, before the first receive.
 */
void sdp_link_feed(struct sdp_link *link, void *octets, size_t len);

/* ---- cancellation ---- */

/**
 * sdp_point_enter - begin a call that is a cancellation point
 * sdp_point_leave - end it
 *
 * Between the two the thread is not cancelled, whatever its cancellation type.
 * If pthread_cancel() was called meanwhile, sdp_point_leave() ends the thread.
 * The calls do not nest.
 */
int sdp_point_enter(void);
void sdp_point_leave(void);

/* The thread has left the call, and all calls inside it, by siglongjmp() or
 * similar.
 * @depth: the return value of sdp_point_enter(). */
void sdp_point_left(int depth);

/**
 * sdp_point_cancel - pthread_cancel() of @thread has returned 0
 *
 * If @thread sleeps in sdp_link_wait(), sdp_link_send_wait() or
 * sdp_link_recv_wait() between the two calls above, it wakes up. Those
 * functions return -EINTR, or the octets transferred so far.
 */
void sdp_point_cancel(pthread_t thread);

/* Whether the calling thread ends with its call. */
bool sdp_point_is_cancelled(void);

/* ---- waiting ---- */

/**
 * sdp_link_wait - wait until one of @what (SDP_LINK_*) holds
 *
 * Makes progress meanwhile: polls for a short, adaptive time, then sleeps.
 * Return: the bits of @what that hold; -ETIMEDOUT; -EINTR: a signal handler
 *   ran.
 */
int sdp_link_wait(struct sdp_link *link, unsigned int what, uint64_t deadline);

/**
 * sdp_progress - poll all completion queues once, unless another thread does
 *
 * Cheap. Return: whether another thread does. sdp_link_state() may show what
 * that thread handles before its notice is given.
 */
bool sdp_progress(void);

/* Waits until the passes of other threads that sdp_progress() has met, and
 * their notices, have ended. A signal handler may call it. */
void sdp_progress_settle(void);

/**
 * sdp_sleep_begin - prepare to sleep in poll() or a similar call
 * @ret_fds: descriptors to wait for in addition to the caller's own; at most
 *   @max.
 *
 * The pattern:
 *
 *	sdp_progress();
 *	... check the states of the links ...
 *	cnt = sdp_sleep_begin(fds, MAX);
 *	if (cnt >= 0) {
 *		... check again, then ppoll() ...
 *		sdp_sleep_end(fds, cnt);
 *	}
 *	... repeat ...
 *
 * While it sleeps, the caller serves all links of the devices whose descriptors
 * it got. Devices that another thread serves are not among them, so there may
 * be no descriptors at all. The function of sdp_link_set_notify() reports
 * changes of their links and must wake the caller.
 * Return: number of descriptors; -EAGAIN: something has happened, check again.
 */
int sdp_sleep_begin(struct pollfd *ret_fds, int max);
/* @fds: as ppoll() returned them; @cnt: return value of sdp_sleep_begin(). */
void sdp_sleep_end(const struct pollfd *fds, int cnt);
#define SDP_SLEEP_FDS 16

/* A thread that waits for many links polls all devices for a limited time
 * before it sleeps, if that has been worth it (dev/spin.h).
 * Return: whether @is_ready(@arg) has been true. */
bool sdp_spin(bool (*is_ready)(const void *arg), const void *arg);

/* ---- end ---- */

/* Sends no more. The peer reads EOF after the octets accepted so far. */
int sdp_link_shutdown(struct sdp_link *link);

/* SHUT_RD: receives no longer wait, and those that sleep return. Data that the
 * peer sends is still received. */
void sdp_link_shutdown_read(struct sdp_link *link);

/* Aborts: the peer gets ECONNRESET. The caller must still call
 * sdp_link_close(). */
void sdp_link_abort(struct sdp_link *link);

/**
 * sdp_link_linger - close in order and wait
 *
 * As sdp_link_shutdown(). Then waits until all is sent, and DisConn behind it,
 * or the carrier has ended. Unread octets, and octets that still arrive, turn
 * the close into an abort, as with TCP.
 *
 * Return: 0; -ETIMEDOUT: the rest continues in the background; -EINTR.
 */
int sdp_link_linger(struct sdp_link *link, uint64_t deadline);

/**
 * sdp_link_close - release @link
 * @deadline: octets that were not sent by then are dropped, and the link is
 *   aborted. With 0 it is aborted at once.
 *
 * Returns at once. The close continues in the background, and @link is freed at
 * its end. The function of sdp_link_set_notify() is not called any more.
 */
void sdp_link_close(struct sdp_link *link, uint64_t deadline);

/* ---- moves ----------------------------------------------------------------
 *
 * If the peer moves to another address space, the library follows without a
 * call: the stream continues on the carrier that the peer asks for, or ends
 * with ECONNRESET. A link of this process moves in four steps. The next address
 * space listens. This process calls sdp_link_suspend() with that port, then
 * sdp_link_hand_over(). It passes the resulting octets to the other process.
 * That process accepts with opt->from.
 */

/**
 * sdp_link_suspend - stop the peer, and tell it where to reconnect
 *
 * Waits. Data received before can be received as usual, also afterwards.
 * Return: 0; -ENOTCONN, -ECONNRESET: the link has ended; -ETIMEDOUT, -EINTR:
 *   call it again.
 */
int sdp_link_suspend(struct sdp_link *link, uint16_t port, uint64_t deadline);

/**
 * sdp_link_hand_over - get the state for the next address space
 * @ret_octets: to be released by free().
 *
 * The link has ended then, without an error. The caller must still call
 * sdp_link_close().
 * Return: 0; -EINVAL: sdp_link_suspend() has not succeeded; -EBUSY: memory of a
 *   caller is in use (sdp_link_send_zcopy_done(), sdp_link_recv_zcopy_done());
 *   -ENOMEM.
 */
int sdp_link_hand_over(struct sdp_link *link, void **ret_octets,
		       size_t *ret_len);

/* ---- settings and statistics ---- */

enum sdp_link_setting {
	SDP_LINK_NODELAY, /* 0, 1; 1 sends gathered octets */
	SDP_LINK_CORK, /* 0, 1; holds octets for at most 200 ms, as TCP_CORK */
	SDP_LINK_OOBINLINE, /* 0, 1 */
	SDP_LINK_RCVLOWAT,
	SDP_LINK_MODE,	   /* enum sdp_mode of the sending half */
	SDP_LINK_RCV_SIZE, /* ask the peer to change its buffers (ChRcvBuf) */
};

int sdp_link_set(struct sdp_link *link, enum sdp_link_setting setting,
		 uint32_t value);

struct sdp_link_stats {
	enum sdp_carrier carrier;
	enum sdp_role role;
	enum sdp_mode send_mode, recv_mode;
	uint16_t send_credit; /* messages that the peer accepts now */
	uint16_t recv_credit; /* Bufs as announced to the peer */
	bool is_failed;	      /* an error or a reset ended the link */
	uint32_t peer_rcv_sz; /* size of the peer's receive buffers */
	uint64_t tx_octets, rx_octets;
	uint64_t tx_msgs, rx_msgs;
	uint64_t tx_bcopy;	  /* octets in Data and inline in adverts */
	uint64_t tx_read;	  /* octets that the peer read (Read Zcopy) */
	uint64_t tx_write;	  /* octets written (Write Zcopy) */
	uint64_t rx_bcopy;	  /* octets copied from messages */
	uint64_t rx_read;	  /* octets read from the peer */
	uint64_t rx_write;	  /* octets that the peer wrote */
	uint64_t tx_transactions; /* SinkAvails with payload */
	uint64_t rx_transactions;
	uint64_t tx_carried; /* of tx_bcopy: octets carried by adverts */
	uint64_t rx_carried;
	uint64_t rx_invalidates; /* advertisements that the peer invalidated */
	char device[64];
};

void sdp_link_get_stats(struct sdp_link *link, struct sdp_link_stats *ret);

/* ---- process ---- */

/* Calls @fn for each descriptor that the library keeps open from now on, and
 * before it is closed. Call it before all others. */
void sdp_verbs_on_keep(void (*fn)(int fd, bool is_kept));

/*
 * Call sdp_verbs_fork_prepare() and its two counterparts from pthread_atfork(),
 * or around the fork. They make sure that no other thread is inside an
 * operation when the child is made. After sdp_verbs_after_fork() the parent's
 * links are dead in the child: every call on one behaves as after a reset and
 * touches nothing of the parent's. sdp_link_close() frees the memory. New links
 * open the devices again. A child that only executes another program needs none
 * of these calls.
 */
void sdp_verbs_fork_prepare(void);
void sdp_verbs_fork_parent(void);
void sdp_verbs_after_fork(void);

/*
 * The process is about to exit. From now on no other thread returns from a call
 * that waits, and links may be closed while threads are inside. Threads of the
 * socket layer itself continue.
 */
void sdp_verbs_end(void);
void sdp_verbs_own_thread(void);

/* Call it before exit or exec. Waits until every closed link has ended, or has
 * at least sent its data and its DisConn, at most until @deadline. Return:
 * number of links left. */
int sdp_verbs_drain(uint64_t deadline);

/* Gives closed links that the peer has no room for another carrier, where it
 * has. Return: number of links that owed octets. */
int sdp_verbs_flush(uint64_t deadline);

/*
 * Waits until the peers' RNICs have received what was sent, or their links have
 * ended. SDP_LINK_DRAINED and a DisConn that was sent say only that this host's
 * TCP has it. If the process ends then, and a peer has sent something
 * meanwhile, TCP resets the connection, and what its window did not let out is
 * lost. An RDMA Read without octets, of which no STag is checked (RFC 5040
 * section 5.2), is answered behind all of it.
 *
 * Return: number of links without an answer.
 */
int sdp_verbs_confirm(uint64_t deadline);

#endif

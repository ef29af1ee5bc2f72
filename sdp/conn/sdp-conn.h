/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sdp-conn.h - one SDP connection as a protocol engine that does no I/O.
 *
 * draft-pinkerton-iwarp-sdp-01; requirements are those of doc/spec/sdp.md.
 * Received messages and finished work go in; work to post and events come
 * out.  No socket, no thread, no clock, no verbs, and no allocation but in
 * sdp_conn_new().
 *
 * The owner carries work between the connection and a queue pair:
 *
 *	sdp_conn_recv(c, ...);			a receive completed
 *	sdp_conn_work_done(c, id, is_ok);	a Send, Read or Write completed
 *	sdp_conn_tick(c, now);			a deadline has passed
 *	while (sdp_conn_next_event(c, &ev))	what does it mean?
 *		...
 *	while (sdp_conn_next_work(c, &work))	what is to be posted?
 *		...
 *
 * After any other call, both loops are due as well; nothing happens behind
 * the owner's back.
 *
 * Memory is the owner's.  A ULP buffer, and a buffer that a message was
 * received into, has a cookie; a piece of memory is a cookie, an offset and a
 * length, and the owner knows the address and the local key behind it.
 * Copies are events (SDP_EV_COPY), so that the owner makes them with the care
 * that its memory needs.
 *
 * How a verbs layer drives it:
 *  - SDP_WORK_POST before anything that follows it; the Bufs of later
 *    messages count on these receives.  With a shared receive queue only the
 *    number is kept.
 *  - SDP_WORK_SEND, _READ, _WRITE go to the send queue in the order in which
 *    they came out.  Their ids count up, and sdp_conn_work_done() means "this
 *    one and all Sends and Writes before it": only work with is_signaled needs
 *    a completion.  A Read needs its own: with Linux's siw a Send that was
 *    posted after it may complete first.
 *    At most work_cap are posted at a time.
 *  - A message's completion may be reported before or after the peer's
 *    answer to it; both orders are right.
 *  - After a message was given to sdp_conn_recv(), the receive buffer is the
 *    connection's if it returned 1, until SDP_EV_RELEASE.
 *  - A buffer with SDP_BUF_RDMA is registered, and its STag bound, before it
 *    is given; the STag is to be invalidated when the buffer comes back by
 *    SDP_EV_SENT or SDP_EV_RECEIVED.
 * How a socket layer drives it:
 *  - A blocking send gives its buffer and waits for SDP_EV_SENT, or copies
 *    into a buffer of its own.  sdp_conn_send_room() says whether the socket
 *    is writable.
 *  - A receive looks with sdp_conn_peek() first; what is there is copied out
 *    and sdp_conn_consume()d.  Otherwise it gives its buffer by
 *    sdp_conn_post_recv() and waits for SDP_EV_RECEIVED, which lets the peer
 *    place the octets directly.  sdp_conn_readable() says whether the socket
 *    is readable, also when the peer has only advertised something; a
 *    receive that cannot wait then has sdp_conn_refuse_advert(), and the
 *    octets come as messages.
 *  - Timeouts and signals: sdp_conn_cancel_send(), sdp_conn_cancel_recv().
 *
 * Sign convention: 0 or a count, else a negative errno.  On an error nothing
 * has changed unless said otherwise.  Times are nanoseconds of one clock of
 * the owner's that never goes back.
 * Context of every function: one thread at a time per connection; different
 * connections are independent.
 */
#ifndef SDP_CONN_H
#define SDP_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/fault.h"
#include "msg/msg.h"

struct sdp_conn;

/* Pieces of ULP memory that one message takes its payload from. */
#define SDP_PIECES_MAX 4
/* No deadline. */
#define SDP_NEVER UINT64_MAX

enum sdp_role { SDP_CONNECTING, SDP_ACCEPTING };

/*
 * How Hello and HelloAck travel (part 5, C7).
 * CM_SEND: Hello is private data, HelloAck the first Send.  The owner takes
 * it only where the accepting side may send first (an RTR of MPA revision 2).
 * CM_PRIV: both are private data.
 * STREAM: Hello is 32 octets on the TCP connection, HelloAck the first Send.
 * The connecting side takes either form of HelloAck.
 */
enum sdp_carrier { SDP_CM_SEND, SDP_CM_PRIV, SDP_STREAM };

/* What a Data Sink asks for by REQ_PIPE (C28). */
enum sdp_req_pipe {
	SDP_REQ_PIPE_AUTO, /* when the ULP has receives posted */
	SDP_REQ_PIPE_NEVER,
	SDP_REQ_PIPE_ALWAYS,
};

/**
 * struct sdp_options - how a connection is to behave; zero means default
 * @size: sizeof(struct sdp_options) of the caller.
 * @role, @carrier, @layout: the wire; both ends need the same layout (C1).
 * @bufs: receive Private Buffers that the peer may count on, 3 to 65535
 *   (32).  One more is posted (part 4 rule 11).
 * @buf_size: their size in octets, 37 to 2^31 (16384).
 * @buf_size_max: up to here the peer may have them grow by ChRcvBuf
 *   (@buf_size: not at all).
 * @wish_size: DesRemRcvSz: wish for the peer's buffers; 0: none.
 * @max_adverts: advertisements that the peer may have outstanding (8).
 * @ird, @ord: RDMA Reads at a time, inbound and outbound (4).
 * @src_threshold: buffers up to so many octets go by copy (65536);
 *   UINT32_MAX: all.
 * @sink_threshold: only larger receive buffers are advertised (65536); never
 *   below @buf_size (SDP-32).
 * @read_min: a smaller receive buffer makes the peer send instead of being
 *   read into piecemeal (4096).
 * @inline_max: octets of an advertised buffer that go with the SrcAvail
 *   (64).
 * @rdma_max: octets of one RDMA Read or Write (1 MiB).
 * @send_cap, @recv_cap: ULP buffers that can wait (32 each).
 * @work_cap: Sends, Reads and Writes that can be posted (64).
 * @has_manual_mode: modes change on request only (sdp_conn_set_mode());
 *   else on the peer's hints (SDP-218).
 * @req_pipe: enum sdp_req_pipe.
 * @has_no_transaction: no payload in SinkAvails (SDP-179).
 * @has_invalidate: RdmaRdCompl and RdmaWrCompl invalidate the peer's STag
 *   (SDP-151, SDP-167, C26).
 * @start_ms: Hello to HelloAck (10000).  @llp_end_ms: wait for the peer to
 *   end the carrier (2000).  @abort_ms: AbortConn without credit (1000).
 *   @susp_ms: SuspComm to SuspCommAck (10000).  @cancel_ms: cancels (5000).
 *   @deadlock_ms: SDP-160 (10).
 * @first_mseq, @peer_first_mseq, @first_non_discards: for tests of wrapping;
 *   both ends of a connection need to know.
 * @alloc, @free, @mem_ctx: memory; NULL: malloc and free.
 *
 * New fields go to the end.  A larger @size with a non-zero tail unknown to
 * the library gives -E2BIG.
 */
struct sdp_options {
	size_t size;
	enum sdp_role role;
	enum sdp_carrier carrier;
	enum sdp_layout layout;
	uint32_t bufs;
	uint32_t buf_size;
	uint32_t buf_size_max;
	uint32_t wish_size;
	uint16_t max_adverts;
	uint16_t ird;
	uint16_t ord;
	uint16_t send_cap;
	uint16_t recv_cap;
	uint16_t work_cap;
	uint32_t src_threshold;
	uint32_t sink_threshold;
	uint32_t read_min;
	uint32_t inline_max;
	uint32_t rdma_max;
	bool has_manual_mode;
	bool has_no_transaction;
	bool has_invalidate;
	enum sdp_req_pipe req_pipe;
	uint32_t start_ms;
	uint32_t llp_end_ms;
	uint32_t abort_ms;
	uint32_t susp_ms;
	uint32_t cancel_ms;
	uint32_t deadlock_ms;
	uint32_t first_mseq;
	uint32_t peer_first_mseq;
	uint32_t first_non_discards;
	void *(*alloc)(void *mem_ctx, size_t size);
	void (*free)(void *mem_ctx, void *ptr);
	void *mem_ctx;
};

#define SDP_OPTIONS_INIT                                                       \
	((struct sdp_options){ .size = sizeof(struct sdp_options) })

/**
 * sdp_conn_new - make a connection object
 * Return: 0; -EINVAL: an option out of range; -E2BIG; -ENOMEM.
 */
int sdp_conn_new(struct sdp_conn **ret_conn, const struct sdp_options *opt);

/* Frees @conn (NULL is fine); all memory that it knew is the owner's. */
void sdp_conn_free(struct sdp_conn *conn);

/* ---- start -------------------------------------------------------------- */

/**
 * sdp_conn_start - begin: Connecting Peer: SDP_WORK_POST and SDP_WORK_HELLO
 *   follow; Accepting Peer: sdp_conn_hello() is awaited
 * Return: 0; -EINVAL: begun already.
 */
int sdp_conn_start(struct sdp_conn *conn, uint64_t now);

/**
 * sdp_conn_hello - Accepting Peer: the Hello that the carrier brought
 * @octets, @len: as it came; zeros behind it are accepted.
 *
 * SDP_WORK_POST follows, and with CM_PRIV SDP_WORK_HELLO: private data of the
 * acceptance.
 * Return: 0; -EPROTO: refused (sdp_conn_fault() is SDP_FAULT_HELLO): reject
 *   the carrier's connection, or close it (STREAM); -EINVAL: not awaited.
 * Spec: SDP-57 to SDP-61, SDP-65 to SDP-67.
 */
int sdp_conn_hello(struct sdp_conn *conn, const void *octets, size_t len,
		   uint64_t now);

/**
 * sdp_conn_carrier_up - the carrier carries Sends
 * @octets, @len: Connecting Peer: private data of the answer, if any; one
 *   that is no HelloAck is not looked at, and HelloAck is awaited as first
 *   message.  Accepting Peer: NULL, 0.
 * @ord: RDMA Reads that the carrier agreed on; 0: it does not say.  The
 *   smaller number of this and of what Hello and HelloAck say holds.
 * Return: 0; -EPROTO: HelloAck is refused (SDP-70, SDP-71), the connection
 *   has failed; -EINVAL: not awaited.
 */
int sdp_conn_carrier_up(struct sdp_conn *conn, const void *octets, size_t len,
			uint16_t ord, uint64_t now);

/* ---- the carrier's side ----------------------------------------------------
 */

/**
 * sdp_conn_recv - a message was received
 * @cookie: of the receive buffer.
 * @octets, @len: what is in it; only the headers are looked at.
 * @inv_stag: STag that the message invalidated, or NULL.
 *
 * Return: 1: the buffer has payload and is the connection's until
 *   SDP_EV_RELEASE; 0: it is the owner's again, SDP_WORK_POST follows;
 *   -EPROTO: the peer broke the protocol, the connection has failed;
 *   -ENOTCONN: it has ended.  With an error the buffer is the owner's.
 */
int sdp_conn_recv(struct sdp_conn *conn, uint64_t cookie, const void *octets,
		  size_t len, const uint32_t *inv_stag, uint64_t now);

enum sdp_work_type {
	SDP_WORK_NONE,
	SDP_WORK_POST,	     /* .post: post receives */
	SDP_WORK_HELLO,	     /* .hello: octets for the carrier's start */
	SDP_WORK_SEND,	     /* .send: an SDP Message */
	SDP_WORK_READ,	     /* .rdma: peer's memory to ours */
	SDP_WORK_WRITE,	     /* .rdma: our memory to the peer's */
	SDP_WORK_DISCONNECT, /* end the carrier in order, then llp_down */
	SDP_WORK_TERMINATE,  /* end it so that the peer sees an error */
};

struct sdp_piece {
	uint64_t cookie;
	uint32_t off;
	uint32_t len;
};

struct sdp_work {
	enum sdp_work_type type;
	uint32_t id; /* SEND, READ, WRITE: for sdp_conn_work_done() */
	bool is_signaled;
	union {
		struct {
			uint32_t cnt;
			uint32_t size; /* octets of each, at least */
		} post;
		struct {
			uint8_t octets[SDP_HELLO_SIZE];
			uint8_t len;
		} hello;
		struct {
			uint8_t header[SDP_HEADER_MAX];
			uint8_t header_len;
			uint8_t mid;
			uint8_t piece_cnt; /* payload: of the send buffers */
			bool is_solicited;
			bool is_invalidating;
			uint32_t inv_stag;
			struct sdp_piece pieces[SDP_PIECES_MAX];
		} send;
		struct {
			uint32_t stag; /* the peer's */
			uint64_t va;
			struct sdp_piece piece; /* ours */
		} rdma;
	};
};

/**
 * sdp_conn_next_work - what is to be posted next
 * Return: 1: *ret_work is filled, and counts as posted; 0: nothing now.
 */
int sdp_conn_next_work(struct sdp_conn *conn, struct sdp_work *ret_work);

/**
 * sdp_conn_work_done - a Send, Read or Write completed, and all Sends and
 * Writes before it
 * @is_ok: false: the carrier failed; the connection fails with it.
 * Return: 0; -EINVAL: @id is not posted, or has completed.
 */
int sdp_conn_work_done(struct sdp_conn *conn, uint32_t id, bool is_ok,
		       uint64_t now);

/**
 * sdp_conn_llp_down - the carrier is no more
 *
 * Between two carriers (SDP_EV_SUSPENDED) only the old one's end; else the
 * connection's.
 * Nothing that was posted accesses memory any longer.  All ULP buffers come
 * back by events, then SDP_EV_CLOSED.  What came before can still be peeked
 * at and consumed.
 */
void sdp_conn_llp_down(struct sdp_conn *conn, uint64_t now);

/* When sdp_conn_tick() is due; SDP_NEVER. */
uint64_t sdp_conn_deadline(const struct sdp_conn *conn);
void sdp_conn_tick(struct sdp_conn *conn, uint64_t now);

/* ---- events
 * ------------------------------------------------------------------- */

enum sdp_event_type {
	SDP_EV_NONE,
	SDP_EV_CONNECTED,
	SDP_EV_COPY,	    /* .copy: copy now, before the next call */
	SDP_EV_RECEIVED,    /* .received: a receive buffer comes back */
	SDP_EV_RELEASE,	    /* .release: a message's buffer comes back */
	SDP_EV_SENT,	    /* .sent: a send buffer comes back */
	SDP_EV_READABLE,    /* sdp_conn_readable() has changed for the better */
	SDP_EV_OOB_PENDING, /* urgent data is on its way (SDP-118) */
	SDP_EV_PEER_CLOSED, /* the peer sends no more */
	SDP_EV_RESIZE,	    /* .resize: answer by sdp_conn_resize() */
	SDP_EV_SUSPENDED,   /* .suspended: the connection moves */
	SDP_EV_FAILED,	    /* .failed: it is over; the carrier may not be */
	SDP_EV_CLOSED,	    /* the last one, but for RELEASE of what is
			       consumed later */
};

struct sdp_event {
	enum sdp_event_type type;
	union {
		struct {
			struct sdp_piece from; /* of a received message */
			uint64_t to;	       /* cookie of the ULP buffer */
			uint32_t to_off;
		} copy;
		struct {
			uint64_t cookie;
			uint32_t len; /* octets in it */
			bool is_eof;  /* the peer sends no more */
			bool is_oob;  /* the last octet is urgent */
			bool is_cancelled;
		} received;
		struct {
			uint64_t cookie;
		} release;
		struct {
			uint64_t cookie;
			uint32_t len; /* octets transferred, all when it
					 was not cancelled and no failure */
		} sent;
		struct {
			uint32_t size;
		} resize;
		struct {
			bool is_initiator; /* accept; else connect to port */
			uint16_t port;
		} suspended;
		struct {
			enum sdp_fault fault;
		} failed;
	};
};

/* Return: 1: *ret_ev is filled; 0: no more for now. */
int sdp_conn_next_event(struct sdp_conn *conn, struct sdp_event *ret_ev);

/* ---- the ULP's side
 * ------------------------------------------------------------ */

#define SDP_BUF_RDMA 0x01u    /* stag and va are good for the peer */
#define SDP_BUF_OOB 0x02u     /* send: the last octet is urgent */
#define SDP_BUF_WAITALL 0x04u /* receive: comes back full (SDP-171) */
/* With SDP_BUF_OOB: the peer was told of it on the carrier before. */
#define SDP_BUF_PEND_SENT 0x08u

struct sdp_buf {
	uint64_t cookie;
	uint64_t va;
	uint32_t len;
	uint32_t stag;
	uint8_t flags;
};

/**
 * sdp_conn_send - append a buffer to the stream; it is the connection's until
 *   SDP_EV_SENT
 * Return: 0; -EAGAIN: send_cap buffers wait; -EPIPE: after
 *   sdp_conn_shutdown() or the end (SDP-86); -ENOTCONN: not yet; -EINVAL: no
 *   octet, or more than 2^31.
 */
int sdp_conn_send(struct sdp_conn *conn, const struct sdp_buf *buf);

/* The newest send buffer grows by @len octets that follow in its memory.
 * Return: 0; -ENOENT: @cookie is not the newest, or is urgent; as
 * sdp_conn_send(). */
int sdp_conn_send_more(struct sdp_conn *conn, uint64_t cookie, uint32_t len);

/* Buffers that sdp_conn_send() would take now. */
uint16_t sdp_conn_send_room(const struct sdp_conn *conn);

/* The rest of a buffer is taken out of the stream; SDP_EV_SENT says how much
 * went before.  If nothing did, it does not wait for the buffers in front.
 * Return: 0; -ENOENT. */
int sdp_conn_cancel_send(struct sdp_conn *conn, uint64_t cookie, uint64_t now);

/**
 * sdp_conn_post_recv - a buffer for octets of the stream, until
 *   SDP_EV_RECEIVED
 * Return: 0; -EAGAIN: recv_cap buffers wait; -ENOTCONN: not yet, or after
 *   SDP_EV_CLOSED; -EINVAL: no octet, or more than 2^31.
 */
int sdp_conn_post_recv(struct sdp_conn *conn, const struct sdp_buf *buf);

/* The buffer comes back with what is in it.  Return: 0; -ENOENT. */
int sdp_conn_cancel_recv(struct sdp_conn *conn, uint64_t cookie, uint64_t now);

/* A buffer that waits: its STag is another one when it is advertised next. */
void sdp_conn_set_stag(struct sdp_conn *conn, uint64_t cookie, uint32_t stag);

/* Octets that are there, or advertised; those that are there. */
uint64_t sdp_conn_readable(const struct sdp_conn *conn);
uint64_t sdp_conn_buffered(const struct sdp_conn *conn);

/**
 * sdp_conn_peek - the first octets of the stream that are there, in place
 * @off: octets of the stream to skip; an urgent octet ends a piece.
 * @ret_is_oob: the piece's last octet is urgent.
 * Return: 1; 0: nothing there; -EBUSY: receive buffers wait, and get it.
 */
int sdp_conn_peek(const struct sdp_conn *conn, uint64_t off,
		  struct sdp_piece *ret_piece, bool *ret_is_oob);

/* @len octets that were peeked at are no longer wanted.  Return: 0; -EINVAL:
 * more than there are; -EBUSY. */
int sdp_conn_consume(struct sdp_conn *conn, uint64_t len);

/* The peer is to send what it has advertised (SDP-161).  Return: 0; -ENOENT:
 * nothing is advertised, or it is being read. */
int sdp_conn_refuse_advert(struct sdp_conn *conn);

/* ---- end
 * -------------------------------------------------------------------------- */

/* No more sends; DisConn follows what was given.  Return: 0; -ENOTCONN. */
int sdp_conn_shutdown(struct sdp_conn *conn, uint64_t now);

/* As sdp_conn_shutdown(), and what comes from now on, or lies unread, makes
 * it an abortive close (C22). */
int sdp_conn_close(struct sdp_conn *conn, uint64_t now);

/* Abortive close (SDP-103, SDP-104). */
void sdp_conn_abort(struct sdp_conn *conn, uint64_t now);

/* SDP_FAULT_NONE while all is well, or after a graceful end. */
enum sdp_fault sdp_conn_fault(const struct sdp_conn *conn);
/* All octets and DisConn have gone: their Sends completed. */
bool sdp_conn_has_shut(const struct sdp_conn *conn);
/* "V9: SrcAvail that the mode forbids"; static, never NULL. */
const char *sdp_fault_str(enum sdp_fault fault);

/* ---- modes, sizes, moves
 * ------------------------------------------------------------ */

/* Messages that the peer would take now; size of its receive buffers. */
uint32_t sdp_conn_credit(const struct sdp_conn *conn);
/* The newest Bufs that the peer was told. */
uint16_t sdp_conn_told_bufs(const struct sdp_conn *conn);
uint32_t sdp_conn_peer_size(const struct sdp_conn *conn);

enum sdp_mode sdp_conn_send_mode(const struct sdp_conn *conn);
enum sdp_mode sdp_conn_recv_mode(const struct sdp_conn *conn);

/* ModeChange of the own sending half as soon as the rules allow it.  Return:
 * 0; -EINVAL: there is no such transition (SDP-213). */
int sdp_conn_set_mode(struct sdp_conn *conn, enum sdp_mode mode);

/* Buffered -> Combined of the receiving half.  Return: 0; -EINVAL: it is not
 * Buffered. */
int sdp_conn_leave_buffered(struct sdp_conn *conn);

/* Ask for another size of the peer's buffers.  Return: 0; -EINVAL; -EBUSY;
 * -EPERM: refused before (SDP-131). */
int sdp_conn_ask_size(struct sdp_conn *conn, uint32_t size);

/* Answer to SDP_EV_RESIZE: SDP_WORK_POST has this size from now on; the old
 * size: cannot be had.  Return: 0; -EINVAL: not asked. */
int sdp_conn_resize(struct sdp_conn *conn, uint32_t size);

/* Move to another address space, which accepts on @port (SDP-237).
 * SDP_EV_SUSPENDED follows.  Return: 0; -EINVAL: not connected, or moving. */
int sdp_conn_suspend(struct sdp_conn *conn, uint16_t port, uint64_t now);

/* After SDP_EV_SUSPENDED and sdp_conn_llp_down(): a new carrier.  The stream
 * goes on where it was (SDP-244).  Return: 0; -EINVAL: not suspended. */
int sdp_conn_move(struct sdp_conn *conn, enum sdp_role role,
		  enum sdp_carrier carrier, uint64_t now);

/* There will be no other carrier: SDP_FAULT_MOVE. */
void sdp_conn_give_up_move(struct sdp_conn *conn, uint64_t now);

/* What the initiator of a move hands to the next address space (SDP-240),
 * beside what can be peeked at: the @i-th piece of the stream that the peer
 * has not got, and its SDP_BUF_OOB and SDP_BUF_PEND_SENT.  Return: 1; 0: no
 * more. */
int sdp_conn_unsent(const struct sdp_conn *conn, uint16_t i,
		    struct sdp_piece *ret_piece, uint8_t *ret_flags);

/* There, before sdp_conn_hello(): which directions were closed; what lay
 * unread, in the order of the stream.  Return: 0; -EINVAL: begun already;
 * -ENOSPC. */
int sdp_conn_inherit(struct sdp_conn *conn, bool has_shut, bool has_peer_shut);
int sdp_conn_inherit_octets(struct sdp_conn *conn,
			    const struct sdp_piece *piece, bool is_oob);

#endif

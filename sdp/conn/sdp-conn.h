/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sdp-conn.h - one SDP connection as a protocol engine that does no I/O.
 *
 * draft-pinkerton-iwarp-sdp-01; requirements are those of doc/spec/sdp.md.
 * Received messages and finished work go in. Work to post and events come out.
 * The engine uses no socket, no thread, no clock and no verbs. It allocates
 * memory only in sdp_conn_new().
 *
 * The owner carries work between the connection and a queue pair:
 *
 *	sdp_conn_recv(c, ...);			a receive completed
 *	sdp_conn_work_done(c, id, is_ok);	a Send, Read or Write completed
 *	sdp_conn_tick(c, now);			a deadline has passed
 *	while (sdp_conn_next_event(c, &ev))	handle the event
 *		...
 *	while (sdp_conn_next_work(c, &work))	post it
 *		...
 *
 * Run both loops after every other call too. The engine does nothing outside of
 * these calls.
 *
 * All memory belongs to the owner. Each ULP buffer and each receive buffer of a
 * message has a cookie. A piece of memory is a cookie, an offset and a length;
 * only the owner has the address and the local key. Copies are events
 * (SDP_EV_COPY), so the owner can make them in a way that suits the memory.
 *
 * How a verbs layer uses it:
 *  - Execute SDP_WORK_POST before any work that follows it: the Bufs of later
 *    messages count these receives. With a shared receive queue, only keep the
 *    number.
 *  - Post SDP_WORK_SEND, _READ and _WRITE to the send queue in the order in
 *    which they were returned. Their ids are consecutive. sdp_conn_work_done()
 *    reports that one work and all Sends and Writes before it are done, so only
 *    work with is_signaled needs a completion. A Read needs a completion of its
 *    own: on Linux's siw a Send that was posted after it may complete first. At
 *    most work_cap are posted at a time.
 *  - A message's completion may be reported before or after the peer's answer
 *    to it.
 *  - If sdp_conn_recv() returned 1, the receive buffer belongs to the
 *    connection until SDP_EV_RELEASE.
 *  - Register a buffer with SDP_BUF_RDMA and bind its STag before passing it.
 *    Invalidate the STag when the buffer comes back by SDP_EV_SENT or
 *    SDP_EV_RECEIVED.
 * How a socket layer uses it:
 *  - A blocking send passes its buffer and waits for SDP_EV_SENT, or copies the
 *    data into a buffer of its own. sdp_conn_send_room() tells whether the
 *    socket is writable.
 *  - A receive calls sdp_conn_peek() first. It copies what it finds and calls
 *    sdp_conn_consume(). If there is nothing, it passes its buffer to
 *    sdp_conn_post_recv() and waits for SDP_EV_RECEIVED. The peer can then
 *    place the octets directly. sdp_conn_readable() tells whether the socket is
 *    readable; octets that the peer has only advertised count. A receive that
 *    must not wait calls sdp_conn_refuse_advert(), and the octets come as
 *    messages.
 *  - Time-outs and signals use sdp_conn_cancel_send() and
 *    sdp_conn_cancel_recv().
 *
 * Sign convention: 0 or a count, else a negative errno. A call that fails has
 * changed nothing unless said otherwise. Times are nanoseconds of one monotonic
 * clock of the owner.
 * Context of every function: one thread at a time per connection; different
 * connections are independent.
 */
#ifndef SDP_CONN_H
#define SDP_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "msg/msg.h"

struct sdp_conn;

/* Maximum number of pieces of ULP memory in the payload of one message. */
#define SDP_PIECES_MAX 4
/* No deadline. */
#define SDP_NEVER UINT64_MAX

enum sdp_role { SDP_CONNECTING, SDP_ACCEPTING };

/*
 * How Hello and HelloAck are carried (part 5, C7).
 *  - CM_SEND: Hello is private data, HelloAck is the first Send. Use it only if
 *    the accepting side may send first (an RTR of MPA revision 2).
 *  - CM_PRIV: both are private data.
 *  - STREAM: Hello is 32 octets on the TCP connection, HelloAck is the first
 *    Send.
 * The connecting side accepts both forms of HelloAck.
 */
enum sdp_carrier { SDP_CM_SEND, SDP_CM_PRIV, SDP_STREAM };

/* What a Data Sink asks for by REQ_PIPE (C28). */
enum sdp_req_pipe {
	SDP_REQ_PIPE_AUTO, /* when the ULP has receives posted */
	SDP_REQ_PIPE_NEVER,
	SDP_REQ_PIPE_ALWAYS,
};

/**
 * struct sdp_options - behaviour of a connection; zero selects the default
 * @role, @carrier, @layout: the protocol on the wire; both ends need the same
 *   layout (C1).
 * @bufs: receive Private Buffers that the peer may use, 3 to 65535 (32). One
 *   more is posted (part 4 rule 11).
 * @buf_size: their size in octets, 37 to 2^31 (16384).
 * @buf_size_max: the size to which the peer may enlarge them by ChRcvBuf
 *   (@buf_size: not at all).
 * @wish_size: DesRemRcvSz, the requested size of the peer's buffers; 0: none.
 * @max_adverts: advertisements that the peer may have outstanding (8).
 * @ird, @ord: RDMA Reads at a time, inbound and outbound (4).
 * @src_threshold: send buffers up to this size are copied (65536); UINT32_MAX:
 *   all.
 * @sink_threshold: only larger receive buffers are advertised (65536); never
 *   below @buf_size_max (SDP-32).
 * @read_min: if the receive buffer is smaller, the peer is asked to send the
 *   data instead of having it read in small pieces (4096).
 * @inline_max: octets of an advertised buffer that the SrcAvail itself carries
 *   (64).
 * @rdma_max: maximum length of one RDMA Read or Write (1 MiB).
 * @send_cap, @recv_cap: maximum number of queued ULP buffers (32 each).
 * @work_cap: maximum number of posted Sends, Reads and Writes (64).
 * @has_manual_mode: the mode changes only by sdp_conn_set_mode(); otherwise it
 *   also follows the peer's hints (SDP-218).
 * @req_pipe: enum sdp_req_pipe.
 * @has_no_transaction: SinkAvails carry no payload (SDP-179).
 * @has_invalidate: RdmaRdCompl and RdmaWrCompl invalidate the peer's STag
 *   (SDP-151, SDP-167, C26).
 * @start_ms: Hello to HelloAck (10000).  @llp_end_ms: wait for the peer to
 *   end the carrier (2000).  @abort_ms: AbortConn without credit (1000).
 *   @susp_ms: SuspComm to SuspCommAck (10000).  @cancel_ms: cancels (5000).
 *   @deadlock_ms: SDP-160 (10).
 * @first_mseq, @peer_first_mseq, @first_non_discards: for tests of wrapping;
 *   both ends need matching values.
 */
struct sdp_options {
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
};

#define SDP_OPTIONS_INIT ((struct sdp_options){ 0 })

/**
 * sdp_conn_new - make a connection object
 * Return: 0; -EINVAL: an option out of range; -ENOMEM.
 */
int sdp_conn_new(struct sdp_conn **ret_conn, const struct sdp_options *opt);

/* Frees @conn, which may be NULL. The memory that it referred to stays the
 * owner's. */
void sdp_conn_free(struct sdp_conn *conn);

/* ---- start ---- */

/**
 * sdp_conn_start - begin the connection
 *
 * Connecting Peer: SDP_WORK_POST and SDP_WORK_HELLO follow. Accepting Peer: the
 * connection waits for sdp_conn_hello().
 * Return: 0; -EINVAL: already begun.
 */
int sdp_conn_start(struct sdp_conn *conn, uint64_t now);

/**
 * sdp_conn_hello - Accepting Peer: pass the Hello that the carrier delivered
 * @octets, @len: the Hello as received; trailing zeros are accepted.
 *
 * SDP_WORK_POST follows. With CM_PRIV, SDP_WORK_HELLO follows too and has the
 * private data of the acceptance.
 * Return: 0; -EPROTO: refused, and sdp_conn_fault() is SDP_FAULT_HELLO: reject
 *   the carrier's connection, or close it (STREAM); -EINVAL: not expected now.
 * Spec: SDP-57 to SDP-61, SDP-65 to SDP-67.
 */
int sdp_conn_hello(struct sdp_conn *conn, const void *octets, size_t len,
		   uint64_t now);

/**
 * sdp_conn_carrier_up - the carrier can carry Sends
 * @octets, @len: Connecting Peer: private data of the answer, if any. It is the
 *   HelloAck; if it is all zeros, the first message must be the HelloAck.
 *   Accepting Peer: NULL, 0.
 * @ord: number of RDMA Reads that the carrier negotiated; 0: unknown. The
 *   smaller of this number and that of Hello and HelloAck applies.
 * Return: 0; -EPROTO: it is no HelloAck, or one that is refused (SDP-70,
 *   SDP-71), and the connection has failed; -EINVAL: not expected now.
 */
int sdp_conn_carrier_up(struct sdp_conn *conn, const void *octets, size_t len,
			uint16_t ord, uint64_t now);

/* ---- calls for the carrier ---- */

/**
 * sdp_conn_recv - a message was received
 * @cookie: the receive buffer.
 * @octets, @len: its content; only the headers are read.
 * @inv_stag: the STag that the message invalidated, or NULL.
 *
 * Return: 1: the buffer has payload and belongs to the connection until
 *   SDP_EV_RELEASE; 0: the buffer belongs to the owner again, and SDP_WORK_POST
 *   follows; -EPROTO: protocol violation by the peer, the connection has
 *   failed; -ENOTCONN: the connection has ended. On an error the buffer belongs
 *   to the owner.
 */
int sdp_conn_recv(struct sdp_conn *conn, uint64_t cookie, const void *octets,
		  size_t len, const uint32_t *inv_stag, uint64_t now);

enum sdp_work_type {
	SDP_WORK_NONE,
	SDP_WORK_POST,	     /* .post: post receives */
	SDP_WORK_HELLO,	     /* .hello: octets for the start of the carrier */
	SDP_WORK_SEND,	     /* .send: an SDP Message */
	SDP_WORK_READ,	     /* .rdma: from the peer's memory to ours */
	SDP_WORK_WRITE,	     /* .rdma: from our memory to the peer's */
	SDP_WORK_DISCONNECT, /* end the carrier in order, then call llp_down */
	SDP_WORK_TERMINATE, /* end the carrier so that the peer sees an error */
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
			uint32_t size; /* minimum size of each in octets */
		} post;
		struct {
			uint8_t octets[SDP_HELLO_SIZE];
			uint8_t len;
		} hello;
		struct {
			uint8_t header[SDP_HEADER_MAX];
			uint8_t header_len;
			uint8_t mid;
			uint8_t piece_cnt; /* payload from the send buffers */
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
 * sdp_conn_next_work - get the next work to post
 * Return: 1: *ret_work is filled and counts as posted; 0: none now.
 */
int sdp_conn_next_work(struct sdp_conn *conn, struct sdp_work *ret_work);

/**
 * sdp_conn_work_done - a Send, Read or Write completed, and so did all Sends
 *   and Writes before it
 * @is_ok: false: the carrier failed, and the connection fails too.
 * Return: 0; -EINVAL: @id is not posted, or has completed already.
 */
int sdp_conn_work_done(struct sdp_conn *conn, uint32_t id, bool is_ok,
		       uint64_t now);

/**
 * sdp_conn_llp_down - the carrier has ended
 *
 * During a move (after SDP_EV_SUSPENDED) only the old carrier has ended.
 * Otherwise the connection ends. Posted work accesses memory no longer. Events
 * return all ULP buffers, then comes SDP_EV_CLOSED. Octets that were received
 * before can still be peeked at and consumed.
 */
void sdp_conn_llp_down(struct sdp_conn *conn, uint64_t now);

/* The time at which sdp_conn_tick() must be called, or SDP_NEVER. */
uint64_t sdp_conn_deadline(const struct sdp_conn *conn);
void sdp_conn_tick(struct sdp_conn *conn, uint64_t now);

/* ---- events ---- */

enum sdp_event_type {
	SDP_EV_NONE,
	SDP_EV_CONNECTED,
	SDP_EV_COPY,	    /* .copy: copy now, before the next call */
	SDP_EV_RECEIVED,    /* .received: a receive buffer comes back */
	SDP_EV_RELEASE,	    /* .release: a message's buffer comes back */
	SDP_EV_SENT,	    /* .sent: a send buffer comes back */
	SDP_EV_READABLE,    /* sdp_conn_readable() has increased */
	SDP_EV_OOB_PENDING, /* the peer announced urgent data (SDP-118) */
	SDP_EV_PEER_CLOSED, /* the peer sends no more */
	SDP_EV_RESIZE,	    /* .resize: answer by sdp_conn_resize() */
	SDP_EV_SUSPENDED,   /* .suspended: the connection moves */
	SDP_EV_FAILED,	    /* it has failed; the carrier may still exist */
	SDP_EV_CLOSED,	    /* the last event, except RELEASE of data that is
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
			uint32_t len; /* octets transferred; less than all only
					 after a cancel or a failure */
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

/* Return: 1: *ret_ev is filled; 0: no more events now. */
int sdp_conn_next_event(struct sdp_conn *conn, struct sdp_event *ret_ev);

/* ---- calls for the ULP ---- */

#define SDP_BUF_RDMA 0x01u    /* the peer may use stag and va */
#define SDP_BUF_OOB 0x02u     /* send: the last octet is urgent */
#define SDP_BUF_WAITALL 0x04u /* receive: comes back full (SDP-171) */
/* With SDP_BUF_OOB: the urgent octet was announced on the previous carrier. */
#define SDP_BUF_PEND_SENT 0x08u

struct sdp_buf {
	uint64_t cookie;
	uint64_t va;
	uint32_t len;
	uint32_t stag;
	uint8_t flags;
};

/**
 * sdp_conn_send - append a buffer to the stream
 *
 * The buffer belongs to the connection until SDP_EV_SENT.
 * Return: 0; -EAGAIN: send_cap buffers are queued; -EPIPE: after
 *   sdp_conn_shutdown() or the end (SDP-86), or not connected yet;
 *   -EINVAL: length 0 or more than 2^31.
 */
int sdp_conn_send(struct sdp_conn *conn, const struct sdp_buf *buf);

/* Extends the newest send buffer by the @len octets that follow it in memory.
 * Return: 0; -ENOENT: @cookie is not the newest buffer, or is urgent; otherwise
 *   as sdp_conn_send(). */
int sdp_conn_send_more(struct sdp_conn *conn, uint64_t cookie, uint32_t len);

/* Number of buffers that sdp_conn_send() accepts now. */
uint16_t sdp_conn_send_room(const struct sdp_conn *conn);

/* Removes the rest of a buffer from the stream. SDP_EV_SENT tells how much was
 * sent before. If nothing was, the buffer comes back without waiting for the
 * buffers before it.
 * Return: 0; -ENOENT. */
int sdp_conn_cancel_send(struct sdp_conn *conn, uint64_t cookie, uint64_t now);

/**
 * sdp_conn_post_recv - queue a buffer for octets of the stream
 *
 * The buffer belongs to the connection until SDP_EV_RECEIVED.
 * Return: 0; -EAGAIN: recv_cap buffers are queued; -ENOTCONN: not connected
 *   yet, or after SDP_EV_CLOSED; -EINVAL: length 0 or more than 2^31.
 */
int sdp_conn_post_recv(struct sdp_conn *conn, const struct sdp_buf *buf);

/* Returns the buffer with the octets received so far. Return: 0; -ENOENT. */
int sdp_conn_cancel_recv(struct sdp_conn *conn, uint64_t cookie, uint64_t now);

/* Sets the STag with which a queued buffer is advertised next. */
void sdp_conn_set_stag(struct sdp_conn *conn, uint64_t cookie, uint32_t stag);

/* The number of octets received or advertised; the number received. */
uint64_t sdp_conn_readable(const struct sdp_conn *conn);
uint64_t sdp_conn_buffered(const struct sdp_conn *conn);

/**
 * sdp_conn_peek - look at received octets in place
 * @off: octets of the stream to skip. An urgent octet ends a piece.
 * @ret_is_oob: the last octet of the piece is urgent.
 * Return: 1; 0: no octets; -EBUSY: the octets go to receive buffers that are
 *   queued.
 */
int sdp_conn_peek(const struct sdp_conn *conn, uint64_t off,
		  struct sdp_piece *ret_piece, bool *ret_is_oob);

/* Removes @len octets that were peeked at. Return: 0; -EINVAL: more than there
 * are; -EBUSY. */
int sdp_conn_consume(struct sdp_conn *conn, uint64_t len);

/* Asks the peer to send what it has advertised (SDP-161). Return: 0; -ENOENT:
 * nothing is advertised, or it is being read. */
int sdp_conn_refuse_advert(struct sdp_conn *conn);

/* ---- end ---- */

/* Closes the sending direction. DisConn follows the queued buffers. Return: 0;
 * -ENOTCONN. */
int sdp_conn_shutdown(struct sdp_conn *conn, uint64_t now);

/* As sdp_conn_shutdown(). In addition, payload that is unread or arrives later
 * makes the close abortive (C22). */
int sdp_conn_close(struct sdp_conn *conn, uint64_t now);

/* Abortive close (SDP-103, SDP-104). */
void sdp_conn_abort(struct sdp_conn *conn, uint64_t now);

/* SDP_FAULT_NONE as long as nothing failed, also after a graceful end. */
enum sdp_fault sdp_conn_fault(const struct sdp_conn *conn);
/* Whether the Sends of all octets and of DisConn have completed. */
bool sdp_conn_has_shut(const struct sdp_conn *conn);
/* For example "V9: SrcAvail is not allowed in this mode"; static, never
 * NULL. */
const char *sdp_fault_str(enum sdp_fault fault);

/* ---- modes, sizes, moves ---- */

/* Number of messages that the peer accepts now; size of its receive buffers. */
uint32_t sdp_conn_credit(const struct sdp_conn *conn);
/* The newest Bufs that was sent to the peer. */
uint16_t sdp_conn_told_bufs(const struct sdp_conn *conn);
uint32_t sdp_conn_peer_size(const struct sdp_conn *conn);

enum sdp_mode sdp_conn_send_mode(const struct sdp_conn *conn);
enum sdp_mode sdp_conn_recv_mode(const struct sdp_conn *conn);

/* Sends ModeChange for our sending half as soon as the rules allow it. Return:
 * 0; -EINVAL: no such transition (SDP-213). */
int sdp_conn_set_mode(struct sdp_conn *conn, enum sdp_mode mode);

/* Requests another size of the peer's buffers. Return: 0; -EINVAL; -EBUSY;
 * -EPERM: refused before (SDP-131). */
int sdp_conn_ask_size(struct sdp_conn *conn, uint32_t size);

/* Answers SDP_EV_RESIZE: SDP_WORK_POST has this size from now on. Pass the old
 * size if the requested one is not available. Return: 0; -EINVAL: not
 * requested. */
int sdp_conn_resize(struct sdp_conn *conn, uint32_t size);

/* Moves to another address space, which accepts on @port (SDP-237).
 * SDP_EV_SUSPENDED follows. Return: 0; -EINVAL: not connected, or already
 * moving. */
int sdp_conn_suspend(struct sdp_conn *conn, uint16_t port, uint64_t now);

/* Starts a new carrier after SDP_EV_SUSPENDED and sdp_conn_llp_down(). The
 * stream continues where it stopped (SDP-244). Return: 0; -EINVAL: not
 * suspended. */
int sdp_conn_move(struct sdp_conn *conn, enum sdp_role role,
		  enum sdp_carrier carrier, uint64_t now);

/* Reports that there is no other carrier: the connection fails with
 * SDP_FAULT_MOVE. */
void sdp_conn_give_up_move(struct sdp_conn *conn, uint64_t now);

/* For the initiator of a move: data for the next address space (SDP-240), in
 * addition to what can be peeked at. Gives the @i-th piece of the stream that
 * the peer has not received, with its SDP_BUF_OOB and SDP_BUF_PEND_SENT.
 * Return: 1; 0: no more. */
int sdp_conn_unsent(const struct sdp_conn *conn, uint16_t i,
		    struct sdp_piece *ret_piece, uint8_t *ret_flags);

/* In the new address space, before sdp_conn_hello(): sets which directions are
 * closed, and adds unread data in the order of the stream. Return: 0; -EINVAL:
 * begun already; -ENOSPC. */
int sdp_conn_inherit(struct sdp_conn *conn, bool has_shut, bool has_peer_shut);
int sdp_conn_inherit_octets(struct sdp_conn *conn,
			    const struct sdp_piece *piece, bool is_oob);

#endif

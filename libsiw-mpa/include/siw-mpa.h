/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * siw-mpa.h - MPA, DDP and RDMAP as a protocol engine that does no I/O.
 *
 * The library implements RFC 5044 (MPA), RFC 6581 (MPA revision 2), RFC 5041
 * (DDP), RFC 5040 (RDMAP) and RFC 7306 (immediate data, atomics).  Octets from
 * the peer go in and events come out; messages go in and octets for the peer
 * come out.  The library has no socket, no thread and no clock, and allocates
 * memory in smpa_conn_new() only.
 *
 * One struct smpa_conn is one RDMAP stream over one TCP connection.  Its
 * owner moves the octets between the two:
 *
 *	n = smpa_conn_rx_prepare(c, iov, max);	  get memory to read into
 *	... readv(fd, iov, n) ...
 *	smpa_conn_rx_commit(c, len);		  @len octets were read
 *	while (smpa_conn_next_event(c, &ev))	  handle what they mean
 *		...
 *	n = smpa_conn_tx_prepare(c, &iov);	  get the octets to send
 *	... sendmsg(fd, iov, n) ...
 *	smpa_conn_tx_commit(c, len);		  @len octets were sent
 *
 * The owner provides the large buffers.  It lends staging memory while the
 * connection needs it (smpa_conn_rx_lend, smpa_conn_tx_lend), and takes it back
 * when the connection is idle.  An idle connection then costs its struct only.
 *
 * Return values: 0 or a count, or a negative errno.  After an error nothing
 * has changed, unless the function says otherwise.
 * Threads: one thread at a time may use a connection; different connections
 * are independent.  No function is async-signal-safe.
 */
#ifndef SIW_MPA_H
#define SIW_MPA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h> /* struct iovec only */

#ifdef __cplusplus
extern "C" {
#endif

struct smpa_conn;

/* Largest Private Data field on the wire, octets (MPA-119). */
#define SMPA_PD_MAX 512
/* Octets of it that the enhanced data of revision 2 takes (MPA2-5). */
#define SMPA_PD_ENHANCED 4
/* Largest and smallest MULPDU, octets (MPA-58). */
#define SMPA_MULPDU_MAX 64768
#define SMPA_MULPDU_MIN 128
/* IRD/ORD value "no automatic negotiation" (MPA2-17). */
#define SMPA_IRD_NONE 0x3fff
/* SGEs of one message or sink. */
#define SMPA_IOV_MAX 32

/* Smallest memory that may be lent, octets. */
#define SMPA_RX_STAGING_MIN (140 * 1024)
#define SMPA_TX_STAGING_MIN (140 * 1024)
/* With CRC or markers all payload passes through send staging.  This size
 * holds four FPDUs of the largest length.  A smaller size works too; a larger
 * one has no effect. */
#define SMPA_TX_STAGING_FULL (384 * 1024)
/* Smallest for the start phase alone (until SMPA_EV_ESTABLISHED). */
#define SMPA_START_STAGING_MIN 2048

enum smpa_role { SMPA_INITIATOR, SMPA_RESPONDER };

/* RTR kinds, a mask (RFC 6581 9.2: flags B, C, D). */
enum smpa_rtr {
	SMPA_RTR_SEND = 1u << 0,  /* zero-length Send */
	SMPA_RTR_WRITE = 1u << 1, /* zero-length RDMA Write */
	SMPA_RTR_READ = 1u << 2,  /* zero-length RDMA Read */
};

/* What to do with a peer of MPA revision 0 (RFC 5044, Appendix C). */
enum smpa_rev0 {
	SMPA_REV0_REFUSE,     /* treat it like any unknown revision */
	SMPA_REV0_PERMISSIVE, /* DDP and RDMAP version 0, markers both ways and
				 CRC, regardless of other options (C-4) */
};

/* RDMAP opcodes as on the wire (RFC 5040 4.1, RFC 7306). */
enum smpa_opcode {
	SMPA_OP_WRITE = 0x0,
	SMPA_OP_READ_REQUEST = 0x1,
	SMPA_OP_READ_RESPONSE = 0x2,
	SMPA_OP_SEND = 0x3,
	SMPA_OP_SEND_INV = 0x4,
	SMPA_OP_SEND_SE = 0x5,
	SMPA_OP_SEND_SE_INV = 0x6,
	SMPA_OP_TERMINATE = 0x7,
	SMPA_OP_IMM = 0x8,
	SMPA_OP_IMM_SE = 0x9,
	SMPA_OP_ATOMIC_REQUEST = 0xa,
	SMPA_OP_ATOMIC_RESPONSE = 0xb,
};

/*
 * An error in the form of a TERMINATE (RFC 5040 4.8): layer << 12 |
 * etype << 8 | code.  0x1205 is DDP, untagged buffer, message too long.
 */
struct smpa_fault {
	uint16_t value;
};

#define SMPA_FAULT(layer, etype, code)                                         \
	((struct smpa_fault){                                                  \
		(uint16_t)((layer) << 12 | (etype) << 8 | (code)) })

enum smpa_fault_value {
	SMPA_F_RDMAP_LOCAL = 0x0000,
	SMPA_F_RDMAP_STAG = 0x0100,
	SMPA_F_RDMAP_BOUNDS = 0x0101,
	SMPA_F_RDMAP_ACCESS = 0x0102,
	SMPA_F_RDMAP_STREAM = 0x0103,
	SMPA_F_RDMAP_WRAP = 0x0104,
	SMPA_F_RDMAP_INVALIDATE = 0x0109,
	SMPA_F_RDMAP_PROT = 0x01ff,
	SMPA_F_RDMAP_VERSION = 0x0205,
	SMPA_F_RDMAP_OPCODE = 0x0206,
	SMPA_F_RDMAP_STREAM_CATA = 0x0207,
	SMPA_F_RDMAP_GLOBAL_CATA = 0x0208,
	SMPA_F_RDMAP_UNSPEC = 0x02ff,
	SMPA_F_DDP_LOCAL = 0x1000,
	SMPA_F_DDP_T_STAG = 0x1100,
	SMPA_F_DDP_T_BOUNDS = 0x1101,
	SMPA_F_DDP_T_STREAM = 0x1102,
	SMPA_F_DDP_T_WRAP = 0x1103,
	SMPA_F_DDP_T_VERSION = 0x1104,
	SMPA_F_DDP_U_QN = 0x1201,
	SMPA_F_DDP_U_NO_BUFFER = 0x1202,
	SMPA_F_DDP_U_MSN = 0x1203,
	SMPA_F_DDP_U_MO = 0x1204,
	SMPA_F_DDP_U_TOO_LONG = 0x1205,
	SMPA_F_DDP_U_VERSION = 0x1206,
	SMPA_F_MPA_CLOSED = 0x2001,
	SMPA_F_MPA_CRC = 0x2002,
	SMPA_F_MPA_MARKER = 0x2003,
	SMPA_F_MPA_START = 0x2004,
	SMPA_F_MPA_LOCAL = 0x2005,
	SMPA_F_MPA_IRD = 0x2006,
	SMPA_F_MPA_RTR = 0x2007,
};

/* A description such as "DDP, tagged buffer: base or bounds violation".  The
 * string is static and never NULL. */
const char *smpa_fault_str(struct smpa_fault fault);

/**
 * struct smpa_options - options of a connection; zero means the default
 * @size: sizeof(struct smpa_options) of the caller.
 * @role: the Initiator sends the MPA Request.
 * @rev: Initiator: revision of the Request, 1 or 2 (0: 2).  Responder: the
 *   highest revision accepted (0: 2).
 * @no_crc: the administrator asks for C=0 (MPA-17).  CRCs are still used when
 *   the peer asks for them.
 * @want_markers: ask the peer to send markers (M=1).
 * @rtr: mask of enum smpa_rtr.  Initiator: offered (peer-to-peer model, A=1);
 *   0: client-server model.  Responder: supported, 0: WRITE | READ.
 * @ird: inbound read requests offered, 0 to 0x3fff.
 * @ord: outbound read requests wanted, 0 to 0x3fff.
 * @mulpdu: largest DDP segment, octets; clamped to 128..64768; 0: 1442.
 * @direct_min: without CRC and markers, ULPDUs of at least this length go
 *   straight to the sink (rx_prepare); 0: 16384.
 * @copy_max: without CRC and markers, payloads up to this length are copied
 *   into tx staging; longer ones are sent in place; 0: 2048.
 * @alloc, @free, @mem_ctx: the allocator; NULL: malloc and free.
 * @rev0: enum smpa_rev0.
 * @bare: for tests of peers that implement the 2002 draft (C-31): no start
 *   frames, RDMA mode from the first octet in both directions, markers both
 *   ways, CRC, DDP and RDMAP version 0.  Either side may send first.
 * @ird_max: Initiator: a Reply that wants more inbound reads than this is
 *   answered with TERMINATE (SMPA_F_MPA_IRD); 0: no limit.
 * @guard: runs access(arg), which reads or writes message memory (sinks,
 *   iovecs of messages).  It returns 0, or -EFAULT if the memory cannot be
 *   accessed and the access was abandoned halfway.  It may detect that by a
 *   signal handler, for example.  NULL: access(arg) is called directly, and the
 *   memory must be accessible.
 *
 * New fields are added at the end.  A larger @size with a non-zero tail that
 * the library does not know fails with -E2BIG.
 */
struct smpa_options {
	size_t size;
	enum smpa_role role;
	uint8_t rev;
	bool no_crc;
	bool want_markers;
	uint8_t rtr;
	uint16_t ird;
	uint16_t ord;
	uint32_t mulpdu;
	uint32_t direct_min;
	uint32_t copy_max;
	void *(*alloc)(void *mem_ctx, size_t size);
	void (*free)(void *mem_ctx, void *ptr);
	void *mem_ctx;
	uint8_t rev0;
	bool bare;
	uint16_t ird_max;
	int (*guard)(void (*access)(void *arg), void *arg);
};

#define SMPA_OPTIONS_INIT { .size = sizeof(struct smpa_options) }

/**
 * smpa_conn_new - make a connection object in state "before start"
 * Return: 0; -EINVAL: an option out of range; -E2BIG; -ENOMEM.
 */
int smpa_conn_new(struct smpa_conn **ret_conn, const struct smpa_options *opt);

/* Frees @conn, which may be NULL.  Lent memory still belongs to the owner. */
void smpa_conn_free(struct smpa_conn *conn);

/* ---- start ------------------------------------------------------------ */

/**
 * smpa_conn_start - Initiator: queue the MPA Request; Responder: wait for it
 * @pd, @pd_len: Initiator's Private Data, copied into tx staging, which must
 *   be lent already; Responder: NULL, 0.
 * Return: 0; -EMSGSIZE: the frame does not hold @pd_len octets (512, or 508
 *   with enhanced data); -EINVAL: started already; -ENOBUFS: no tx staging.
 * With the option bare there is no frame and no Private Data, and
 * SMPA_EV_ESTABLISHED follows at once.
 * Spec: MPA-120, MPA-121, MPA2-1, MPA2-5.
 */
int smpa_conn_start(struct smpa_conn *conn, const void *pd, size_t pd_len);

/**
 * smpa_conn_accept - Responder, after SMPA_EV_REQUEST: queue Reply with R=0
 * @ird, @ord: the numbers that the ULP grants and wants; reduced to those of
 *   the peer (MPA2-12, MPA2-13).  The result is in the SMPA_EV_ESTABLISHED
 *   event, which follows at once, before the Reply has been sent.
 * Nothing else is sent until a valid first FPDU of the peer has arrived
 * (MPA-134).  smpa_conn_submit() may be called before that; its octets wait.
 * Return: 0; -EMSGSIZE; -EINVAL: no Request pending; -ENOBUFS.
 */
int smpa_conn_accept(struct smpa_conn *conn, const void *pd, size_t pd_len,
		     uint16_t ird, uint16_t ord);

/* Responder: queue Reply with R=1.  The owner closes the TCP connection after
 * the Reply has been sent. */
int smpa_conn_reject(struct smpa_conn *conn, const void *pd, size_t pd_len);

/* ---- receiving -------------------------------------------------------- */

/**
 * smpa_conn_rx_lend - lend receive staging, or take it back
 * @buf, @size: at least SMPA_RX_STAGING_MIN octets (SMPA_START_STAGING_MIN
 *   until ESTABLISHED); NULL, 0 takes it back.  A replacement is allowed
 *   while idle.
 * Return: 0; -EBUSY: octets of an incomplete FPDU or an unread event are in
 *   it (smpa_conn_rx_is_idle() says so); -EINVAL: too small.
 */
int smpa_conn_rx_lend(struct smpa_conn *conn, void *buf, size_t size);

/* True if no octet waits in staging and no event is pending.  Staging may then
 * be taken back.  A direct sink may still be open; the rest of its payload
 * needs staging again at the next rx_prepare. */
bool smpa_conn_rx_is_idle(const struct smpa_conn *conn);

/* True if only a part of an FPDU has arrived.  Always false before
 * ESTABLISHED. */
bool smpa_conn_rx_is_midway(const struct smpa_conn *conn);

/**
 * smpa_conn_rx_prepare - get memory for the next stream octets
 * @iov: array to fill, of @max elements (>= SMPA_IOV_MAX + 1).
 *
 * When a direct sink is open, the first iovecs are the rest of its memory, in
 * their order.  Its last octets, up to eight, have an iovec of their own: fill
 * one iovec after the other, for programs that spin on the last octets.
 * The last iovec is staging.  In the start phase the iovecs have exactly the
 * length that the current start frame lacks, so that nothing after the frame
 * is read.
 * Return: number of iovecs, > 0; 0: there is nothing to read now (events are
 *   pending, or the stream has ended); -ENOBUFS: lend staging first.
 * Spec: design "RX walk"; MPA-80, MPA-85.
 */
int smpa_conn_rx_prepare(struct smpa_conn *conn, struct iovec *iov, int max);

/**
 * smpa_conn_rx_commit - report stream octets that have arrived
 * @len: number of octets, from the front, that now are in the iovecs of the
 *   last rx_prepare; 1 to their total length.
 * Return: 0; -EINVAL: @len is out of range, nothing has changed.
 */
int smpa_conn_rx_commit(struct smpa_conn *conn, size_t len);

/* Report that the peer closed its half of the stream (FIN).  After all earlier
 * events comes SMPA_EV_CLOSED, or a fault event if an FPDU was cut. */
void smpa_conn_rx_eof(struct smpa_conn *conn);

enum smpa_event_type {
	SMPA_EV_NONE,
	/* start */
	SMPA_EV_REQUEST,     /* .start; answer by accept or reject */
	SMPA_EV_ESTABLISHED, /* .start; RDMA mode from here */
	SMPA_EV_REJECTED,    /* .start; Initiator: Reply said R=1 */
	/* receiving */
	SMPA_EV_SEGMENT,     /* .seg; answer by smpa_conn_sink() or _refuse() */
	SMPA_EV_MESSAGE,     /* .msg; all payload of a message is placed */
	SMPA_EV_READ,	     /* .read; peer asks for an RDMA Read Response */
	SMPA_EV_ATOMIC,	     /* .atomic; peer asks for an atomic operation */
	SMPA_EV_ATOMIC_DONE, /* .atomic_done; answer to a request of this end */
	SMPA_EV_TERMINATE,   /* .term; peer's TERMINATE; nothing follows */
	/* sending */
	SMPA_EV_SENT, /* .sent; last octet was taken (tx_commit) */
	/* end */
	SMPA_EV_FAULT,	/* .fault; the peer violated the protocol; TERMINATE is
			   queued where the RFCs require one; further input is
			   ignored */
	SMPA_EV_CLOSED, /* FIN at an FPDU boundary */
};

struct smpa_event {
	enum smpa_event_type type;
	union {
		struct {
			const void *pd; /* in staging; valid until the next
					   rx_prepare, accept or reject */
			size_t pd_len;
			uint8_t rev;
			bool has_crc; /* the result of the negotiation */
			bool tx_markers, rx_markers;
			bool is_enhanced; /* S=1: ird and ord mean something */
			bool is_peer_to_peer; /* A=1 and an RTR was agreed */
			uint16_t ird, ord;    /* ESTABLISHED: the values to use;
						 else as peer_ird, peer_ord */
			/* As the peer sent them (MPA2-11).  ESTABLISHED of the
			 * Responder: the values of the Request. */
			uint16_t peer_ird, peer_ord;
			uint8_t version; /* of DDP and RDMAP: 1; 0 with MPA
					    revision 0 (MPA-13) */
		} start;
		struct {
			uint8_t opcode; /* enum smpa_opcode */
			bool is_tagged;
			bool is_last;	   /* L flag */
			uint32_t stag;	   /* tagged */
			uint64_t to;	   /* tagged */
			uint32_t qn;	   /* untagged; only QN 0 comes here */
			uint32_t msn;	   /* untagged */
			uint32_t mo;	   /* untagged */
			uint32_t len;	   /* payload octets, > 0 if tagged */
			uint32_t inv_stag; /* SEND_INV, SEND_SE_INV */
			uint8_t imm[8];	   /* IMM, IMM_SE: as in MESSAGE */
		} seg;
		struct {
			uint8_t opcode; /* WRITE, READ_RESPONSE, SEND*, IMM* */
			uint32_t len;	/* untagged: message length; tagged: of
					   the last segment only */
			uint32_t stag;	/* tagged: as sent */
			uint64_t to;	/* tagged: of the last segment */
			uint32_t inv_stag; /* SEND_INV, SEND_SE_INV */
			uint32_t msn;	   /* untagged */
			uint8_t imm[8];	   /* IMM, IMM_SE */
		} msg;
		struct {
			uint32_t sink_stag;
			uint64_t sink_to;
			uint32_t len;
			uint32_t src_stag;
			uint64_t src_to;
			uint32_t msn;
		} read;
		struct {
			uint8_t op; /* 0 FetchAdd, 2 CmpSwap */
			uint32_t id, stag, msn;
			uint64_t to, add_swap, add_swap_mask;
			uint64_t compare, compare_mask;
		} atomic;
		struct {
			uint32_t id;
			uint64_t value;
		} atomic_done;
		struct {
			struct smpa_fault fault;
			bool has_ddp, has_read; /* copied headers below */
			bool is_tagged;
			uint8_t opcode;
			bool is_swapped; /* by a Linux siw: layer and type in
					    the place of each other */
			uint32_t stag, qn, msn, mo;
			uint64_t to;
			uint32_t behind; /* qn 1: number of Read and Atomic
					    Requests that this end submitted
					    after the one with that msn */
			struct {	 /* has_read */
				uint32_t sink_stag, src_stag, len;
				uint64_t sink_to, src_to;
			} read;
		} term;
		struct {
			uint64_t cookie;
		} sent;
		struct {
			struct smpa_fault fault;
			bool is_truncated;  /* EOF inside an FPDU or frame */
			bool has_terminate; /* one was queued */
		} fault;
	};
};

/**
 * smpa_conn_next_event - get the next event
 * SENT events come first, then receive events in stream order.  The function
 * processes staged octets only up to the event.  A SEGMENT must be answered
 * (sink, refuse), and a REQUEST (accept, reject), before the next event comes.
 * Return: 1: *ret_ev is filled; 0: there is no event at present.
 */
int smpa_conn_next_event(struct smpa_conn *conn, struct smpa_event *ret_ev);

/**
 * smpa_conn_sink - give memory for the payload of the pending SEGMENT
 * @iov, @iovcnt: memory of exactly seg.len octets, in at most SMPA_IOV_MAX
 *   elements.  The array is copied.  The memory must stay valid until the
 *   segment is placed: at the latest until MESSAGE, or until smpa_conn_uses()
 *   returns false for it.  NULL and 0: the payload is dropped; events follow as
 *   if it were placed.
 * Staged octets are copied at once.  Octets that have not arrived yet go
 * straight to the sink with the next rx_prepare.
 * Return: 0; -EINVAL: no SEGMENT is pending, or the length differs; -EFAULT:
 *   the guard says that the memory cannot be written (a part of it may have
 *   been written).  The SEGMENT is still pending then; refuse it.
 */
int smpa_conn_sink(struct smpa_conn *conn, const struct iovec *iov, int iovcnt);

/**
 * smpa_conn_placed - get the MESSAGE that the last smpa_conn_sink() completed
 * What smpa_conn_next_event() would return next, apart from SENT events: an
 * owner that has sunk the last segment of a message, whose octets have all
 * arrived, need not ask for events to learn of the message.
 * Return: 1: *ret_ev is the SMPA_EV_MESSAGE, and next_event does not report it;
 *   0: none, *ret_ev has not changed.
 */
int smpa_conn_placed(struct smpa_conn *conn, struct smpa_event *ret_ev);

/**
 * smpa_conn_open_segment - get the SEGMENT with an open direct sink
 * An owner calls it when reading into the sink failed with EFAULT, to learn
 * which segment it has to refuse.
 * Return: 1: *ret_ev is the SMPA_EV_SEGMENT as it came; 0: no sink is open.
 */
int smpa_conn_open_segment(const struct smpa_conn *conn,
			   struct smpa_event *ret_ev);

/**
 * smpa_conn_refuse - refuse the pending SEGMENT, MESSAGE, READ or ATOMIC, or a
 *   segment with an open direct sink that is no longer accessible
 * Queues TERMINATE with the copied headers that RFC 5040 4.8 requires.
 * Further input is ignored, and no further submit is possible.
 */
void smpa_conn_refuse(struct smpa_conn *conn, struct smpa_fault fault);

/**
 * smpa_conn_refuse_later - smpa_conn_refuse() will follow for what is pending
 *   now, when the owner has submitted the answers to earlier requests
 * Further input is ignored; submitting goes on.
 */
void smpa_conn_refuse_later(struct smpa_conn *conn);

/**
 * smpa_conn_refuse_read - refuse a Read or Atomic Request that was taken
 *   earlier and cannot be answered completely, because its memory is no longer
 *   accessible
 * @read: SMPA_EV_READ or SMPA_EV_ATOMIC as it came, or an equal copy; of an
 *   atomic only the MSN is used.
 * Queues TERMINATE with the headers of that request.  If its response is the
 * current message, the encoded part of the response is still sent, and the
 * copied request is advanced by that part (RDMAP-68).  Further input is
 * ignored, and no further submit is possible.
 */
void smpa_conn_refuse_read(struct smpa_conn *conn,
			   const struct smpa_event *read,
			   struct smpa_fault fault);

/**
 * smpa_conn_refuse_segment - refuse a segment of a Send that the owner took
 *   earlier and kept
 * @segment: SMPA_EV_SEGMENT as it came.
 * Queues TERMINATE with the header of that segment.  Further input is ignored,
 * and no further submit is possible.
 */
void smpa_conn_refuse_segment(struct smpa_conn *conn,
			      const struct smpa_event *segment,
			      struct smpa_fault fault);

/* ---- sending ---------------------------------------------------------- */

/**
 * smpa_conn_tx_lend - lend send staging, or take it back
 * @buf, @size: at least SMPA_TX_STAGING_MIN octets (SMPA_START_STAGING_MIN
 *   until ESTABLISHED), aligned to 16; NULL, 0 takes it back.
 * Return: 0; -EBUSY: prepared octets wait in it; -EINVAL: too small.
 */
int smpa_conn_tx_lend(struct smpa_conn *conn, void *buf, size_t size);

/* True if nothing waits to be sent and no SENT event is pending.  Staging may
 * then be taken back. */
bool smpa_conn_tx_is_idle(const struct smpa_conn *conn);

/**
 * struct smpa_msg - one RDMAP message to send
 * @opcode: enum smpa_opcode (not TERMINATE).
 * @iov, @iovcnt: payload (WRITE, READ_RESPONSE, SEND*).  The array must stay
 *   valid until the next successful submit or the SENT event, and the memory
 *   until SENT.  With CRC, markers, @copy, or at most copy_max octets, the
 *   memory must stay valid only until it has been encoded, see
 *   smpa_conn_uses().  If it changes meanwhile, either content may be sent.
 * @len: length of the payload; the sum of the iovecs.
 * @copy: copy the payload even where it could be sent in place.
 * @cookie: returned in SENT.  @quiet: no SENT event (responses).
 * @safe: the memory is always accessible, so the guard is not called.
 */
struct smpa_msg {
	uint8_t opcode;
	bool copy;
	bool quiet;
	uint8_t imm[8]; /* IMM, IMM_SE */
	bool safe;
	uint32_t stag; /* WRITE, READ_RESPONSE: sink; SEND*INV: STag */
	uint64_t to;   /* WRITE, READ_RESPONSE */
	const struct iovec *iov;
	int iovcnt;
	uint32_t len;
	struct { /* READ_REQUEST */
		uint32_t sink_stag;
		uint64_t sink_to;
		uint32_t len;
		uint32_t src_stag;
		uint64_t src_to;
	} read;
	struct { /* ATOMIC_REQUEST; _RESPONSE: id, value */
		uint8_t op;
		uint32_t id, stag;
		uint64_t to, add_swap, add_swap_mask;
		uint64_t compare, compare_mask, value;
	} atomic;
	uint64_t cookie;
};

/**
 * smpa_conn_submit - submit a message for sending
 * The engine cuts the message into DDP segments of at most MULPDU octets and
 * encodes as many as fit into tx staging.  tx_prepare encodes the rest.
 * Return: 0; -EAGAIN: the previous message is not completely encoded, or
 *   staging is full: send first (tx_prepare, tx_commit), then try again; or a
 *   Read RTR that the engine has sent holds the last ORD credit (D-26): its
 *   answer must arrive first; -ENOBUFS: lend tx staging first; -EPIPE: the
 *   stream is not in RDMA mode; -EINVAL: opcode and lengths do not fit.
 * Spec: DDP-12 to DDP-35, RDMAP-9, -13, -19, -23, EXT-4, EXT-16.
 */
int smpa_conn_submit(struct smpa_conn *conn, const struct smpa_msg *msg);

/* The same, and its first FPDU has a wrong CRC: for tests of peers.  Return: as
 * smpa_conn_submit(); -EOPNOTSUPP: there is no CRC. */
int smpa_conn_submit_spoiled(struct smpa_conn *conn,
			     const struct smpa_msg *msg);

/**
 * smpa_conn_tx_prepare - get the octets to send
 * @ret_iov: set to an array inside tx staging, valid until tx_commit, submit
 *   or tx_lend.
 * Return: number of iovecs, at most 1024; 0: nothing to send, or the Responder
 *   must not send before the first FPDU has arrived; -EFAULT: all readable
 *   octets have been taken, and the memory of the next message cannot be read.
 *   smpa_conn_tx_unreadable() returns the cookie of that message.  The function
 *   returns -EFAULT until the owner calls smpa_conn_terminate() or
 *   _refuse_read().
 */
int smpa_conn_tx_prepare(struct smpa_conn *conn, const struct iovec **ret_iov);

/**
 * smpa_conn_tx_fault - report that sending failed with EFAULT
 * Memory that was readable when it was encoded is no longer readable.  The
 * function drops the first FPDU with such payload and all after it.
 * Return: 0: tx_prepare continues with the octets before that FPDU, then
 *   returns -EFAULT; -EPIPE: a part of that FPDU has been sent, so nothing can
 *   follow it, not even TERMINATE; tx_prepare returns -EFAULT at once.
 */
int smpa_conn_tx_fault(struct smpa_conn *conn);

/* After -EFAULT of tx_prepare: the cookie of the unreadable message. */
uint64_t smpa_conn_tx_unreadable(const struct smpa_conn *conn);

/**
 * smpa_conn_tx_ends_segment - ask whether TCP should begin a new segment after
 *   the octets of the last tx_prepare
 * True if a following FPDU that shared their TCP segment would extend into the
 * next segment (MPA-73).  The owner then sends them with MSG_EOR.  The engine
 * takes the segment for ended when tx_commit reports all of them.
 */
bool smpa_conn_tx_ends_segment(const struct smpa_conn *conn);

/* Report that @len octets of the last tx_prepare, from the front, have been
 * taken.  Return: 0; -EINVAL: @len is more than the iovecs had. */
int smpa_conn_tx_commit(struct smpa_conn *conn, size_t len);

/* Number of encoded octets that are not sent yet.  While it is not 0, poll for
 * writability or, while the Responder must not send, wait for the RTR. */
size_t smpa_conn_tx_pending(const struct smpa_conn *conn);

/* Responder: true while MPA-134 forbids sending, before the first FPDU. */
bool smpa_conn_tx_is_held(const struct smpa_conn *conn);

/* Set the MULPDU of later segments, after the EMSS of the path has changed
 * (MPA-67). */
void smpa_conn_set_mulpdu(struct smpa_conn *conn, uint32_t mulpdu);

/* The largest DDP segment for a TCP EMSS (MPA-63, MPA-64), within the limits
 * of MPA-58. */
uint32_t smpa_mulpdu(uint32_t emss, bool has_markers);

/**
 * smpa_conn_terminate - queue TERMINATE for a local error (RDMAP-58)
 * Messages that are not completely encoded are dropped.  No further submit is
 * possible.
 */
void smpa_conn_terminate(struct smpa_conn *conn, struct smpa_fault fault);

/**
 * smpa_conn_uses - ask whether the connection still refers to this memory
 * True if an open sink, the message being encoded, or a payload that is sent in
 * place and not yet taken overlaps [@addr, @addr + @len).
 */
bool smpa_conn_uses(const struct smpa_conn *conn, const void *addr, size_t len);

/**
 * smpa_conn_tx_drop_crc - compute no CRCs from here on
 * smpa_conn_rx_drop_crc - check none
 * For a direction whose octets do not go over a wire any more.  Both ends have
 * to agree on that by other means than MPA: the receiver drops the CRC before
 * it gets octets that the sender has encoded without.  FPDUs that are encoded
 * already keep their CRC.  The field of all others is zero (C-7).
 * Return: 0; -EINVAL: not in RDMA mode.
 */
int smpa_conn_tx_drop_crc(struct smpa_conn *conn);
int smpa_conn_rx_drop_crc(struct smpa_conn *conn);

/* ---- a look at a stream from outside ----------------------------------- */

/*
 * Where a direction of a stream stands: for those who show its octets to
 * others, and begin in the middle of a connection.
 */
struct smpa_place {
	size_t rest;	/* octets that come before an FPDU begins */
	uint32_t phase; /* of that FPDU, for smpa_fpdu_size() */
	bool has_markers;
	bool has_crc; /* FPDUs have CRCs now: agreed on, and not dropped */
};

/**
 * smpa_conn_rx_place - where the next octet that arrives stands
 * smpa_conn_tx_place - where the next octet that is sent stands
 * To be asked between prepare and commit, or when there is no event.
 * Return: 0; -EAGAIN: not known now: before RDMA mode, between the octets of a
 *   length field, while an event is pending, or the input is discarded.
 */
int smpa_conn_rx_place(const struct smpa_conn *conn,
		       struct smpa_place *ret_place);
int smpa_conn_tx_place(const struct smpa_conn *conn,
		       struct smpa_place *ret_place);

/* More octets of a start frame or an FPDU than the following two need. */
#define SMPA_SIZE_OCTETS 20

/**
 * smpa_start_frame_size - length of the start frame that begins at @buf
 * smpa_fpdu_size - length of the FPDU that begins at @buf, with its markers
 * @phase: octets since the start frame of this direction; modulo 512 will do.
 * Return: octets; 0: more than @len octets are needed to tell; -EMSGSIZE: no
 *   frame or FPDU is so long.
 */
int smpa_start_frame_size(const void *buf, size_t len);
int smpa_fpdu_size(const void *buf, size_t len, uint32_t phase,
		   bool has_markers);

/* ---- counters --------------------------------------------------------- */

struct smpa_counters {
	uint64_t rx_direct; /* payload octets received straight into sinks */
	uint64_t rx_staged; /* payload octets copied from staging */
	uint64_t rx_fpdu, tx_fpdu;
	uint64_t rx_crc_bad;
	uint64_t tx_inplace, tx_copied; /* payload octets */
};

/* Totals since smpa_conn_new(). */
const struct smpa_counters *smpa_conn_counters(const struct smpa_conn *conn);

#ifdef __cplusplus
}
#endif

#endif

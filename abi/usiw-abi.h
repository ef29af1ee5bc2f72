/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Layouts shared between the verbs provider (producer of work) and the soft
 * RNIC (consumer of work): ring headers, queue entries, the counter page.
 *
 * All layouts use host byte order, types of fixed size and explicit padding.
 * A reader copies an entry out once, checks the copy and uses the copy, because
 * the other side of the mapping may change the entry at any time.
 */
#ifndef USIW_ABI_H
#define USIW_ABI_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define USIW_CACHE_LINE 64

/*
 * The abi_version of a device below class/infiniband_verbs.  libibverbs gives
 * the device to no provider that supports another one.  It was 1 until
 * providers compared the interface (usiw_interface), so that a provider that
 * does not compare it gets no device.
 */
#define USIW_UVERBS_ABI 2

/* Ring header.  Each of the two free-running indices has its own cache line. */
struct usiw_ring_hdr {
	_Atomic uint32_t prod_idx; /* written by the producer only */
	uint8_t pad0[USIW_CACHE_LINE - 4];
	_Atomic uint32_t cons_idx; /* written by the consumer only */
	uint8_t pad1[USIW_CACHE_LINE - 4];
};

_Static_assert(sizeof(struct usiw_ring_hdr) == 2 * USIW_CACHE_LINE,
	       "ring header layout");
_Static_assert(offsetof(struct usiw_ring_hdr, cons_idx) == USIW_CACHE_LINE,
	       "ring header layout");

/* One scatter/gather element; same layout as struct ibv_sge. */
struct usiw_sge {
	uint64_t addr;
	uint32_t len;
	uint32_t lkey;
};

_Static_assert(sizeof(struct usiw_sge) == 16, "sge layout");

enum usiw_wr_opcode {
	USIW_WR_WRITE = 1,
	USIW_WR_WRITE_IMM,
	USIW_WR_SEND,
	USIW_WR_SEND_IMM,
	USIW_WR_SEND_INV,
	USIW_WR_READ,
	USIW_WR_CMP_SWP,
	USIW_WR_FETCH_ADD,
	USIW_WR_LOCAL_INV,
	USIW_WR_BIND_MW,
};

enum usiw_sqe_flags {
	USIW_SQE_SIGNALED = 1u << 0,
	USIW_SQE_SOLICITED = 1u << 1,
	USIW_SQE_FENCE = 1u << 2,
	USIW_SQE_INLINE = 1u << 3, /* payload octets follow, no SGEs */
};

/*
 * BIND_MW has no payload and uses the header as follows: rkey is the new STag
 * of the window (index and new key), imm_be is the lkey of the region in host
 * order, remote_addr is the first octet, compare_add is the length (0 unbinds a
 * window of type 1), and swap has the access rights (enum rnic_access).
 */

/*
 * Send queue entry.  A slot is @stride octets long (fixed per ring, a
 * multiple of a cache line): this header, then @sge_cnt struct usiw_sge, or
 * with USIW_SQE_INLINE @inline_len payload octets.
 */
struct usiw_sqe {
	uint64_t wr_id;
	uint8_t opcode; /* enum usiw_wr_opcode */
	uint8_t flags;	/* enum usiw_sqe_flags */
	uint16_t sge_cnt;
	uint32_t inline_len;
	uint64_t remote_addr;
	uint32_t rkey; /* remote STag; _INV: the STag to invalidate */
	uint32_t imm_be;
	uint64_t compare_add;
	uint64_t swap;
	uint64_t reserved[2];
};

_Static_assert(sizeof(struct usiw_sqe) == 64, "sqe layout");
_Static_assert(offsetof(struct usiw_sqe, remote_addr) == 16, "sqe layout");
_Static_assert(offsetof(struct usiw_sqe, compare_add) == 32, "sqe layout");

/*
 * The same for a Send of a UD QP.  It holds the whole destination, because the
 * application may destroy the address handle before the datagram is sent.
 * GIDs are as in rnic.h.
 */
struct usiw_ud_sqe {
	uint64_t wr_id;
	uint8_t opcode;
	uint8_t flags;
	uint16_t sge_cnt;
	uint32_t inline_len;
	uint32_t qkey;
	uint32_t dest;	/* QP number; above it, 8 bits, the traffic class */
	uint32_t label; /* enum usiw_av_label */
	uint32_t imm_be;
	uint8_t sgid[16], dgid[16];
};

enum usiw_av_label {
	USIW_AV_FLOW = 0xfffff, /* flow label */
	USIW_AV_HOP_SHIFT = 20, /* hop limit, 8 bits */
	USIW_AV_OWN = 1 << 30,	/* the destination is this host */
};

_Static_assert(sizeof(struct usiw_ud_sqe) == 64, "ud sqe layout");
_Static_assert(offsetof(struct usiw_ud_sqe, imm_be) ==
		       offsetof(struct usiw_sqe, imm_be),
	       "ud sqe layout");
_Static_assert(offsetof(struct usiw_ud_sqe, sgid) == 32, "ud sqe layout");

/* Receive queue entry, RQ and SRQ: this header, then @sge_cnt usiw_sge. */
struct usiw_rqe {
	uint64_t wr_id;
	uint32_t sge_cnt;
	uint32_t reserved;
};

_Static_assert(sizeof(struct usiw_rqe) == 16, "rqe layout");

/* Completion status; numerically equal to enum ibv_wc_status. */
enum usiw_wc_status {
	USIW_WC_SUCCESS = 0,
	USIW_WC_LOC_LEN_ERR = 1,
	USIW_WC_LOC_QP_OP_ERR = 2,
	USIW_WC_LOC_PROT_ERR = 4,
	USIW_WC_WR_FLUSH_ERR = 5,
	USIW_WC_MW_BIND_ERR = 6,
	USIW_WC_BAD_RESP_ERR = 7,
	USIW_WC_LOC_ACCESS_ERR = 8,
	USIW_WC_REM_INV_REQ_ERR = 9,
	USIW_WC_REM_ACCESS_ERR = 10,
	USIW_WC_REM_OP_ERR = 11,
	USIW_WC_RETRY_EXC_ERR = 12,
	USIW_WC_RNR_RETRY_EXC_ERR = 13,
	USIW_WC_REM_ABORT_ERR = 16,
	USIW_WC_FATAL_ERR = 19,
	USIW_WC_RESP_TIMEOUT_ERR = 20,
	USIW_WC_GENERAL_ERR = 21,
};

/* Completion opcode; numerically equal to enum ibv_wc_opcode. */
enum usiw_wc_opcode {
	USIW_WC_SEND = 0,
	USIW_WC_WRITE = 1,
	USIW_WC_READ = 2,
	USIW_WC_CMP_SWP = 3,
	USIW_WC_FETCH_ADD = 4,
	USIW_WC_BIND_MW = 5,
	USIW_WC_LOCAL_INV = 6,
	USIW_WC_RECV = 1 << 7,
	USIW_WC_RECV_WITH_IMM = (1 << 7) + 1,
};

/* Completion flags; numerically equal to enum ibv_wc_flags. */
enum usiw_wc_flags {
	USIW_WC_FLAG_GRH = 1u << 0,
	USIW_WC_FLAG_IMM = 1u << 1,
	USIW_WC_FLAG_INV = 1u << 3,
	/* These are not of libibverbs: the GRH is that of IPv4; the sender asks
	 * for an event. */
	USIW_WC_FLAG_IPV4 = 1u << 30,
	USIW_WC_FLAG_SOLICITED = 1u << 31,
};

/* Completion queue entry. */
struct usiw_cqe {
	uint64_t wr_id;
	uint32_t status; /* enum usiw_wc_status */
	uint32_t opcode; /* enum usiw_wc_opcode */
	uint32_t byte_len;
	uint32_t imm_be; /* or the invalidated STag, host order */
	uint32_t qp_num;
	uint32_t wc_flags;
	uint32_t vendor_err;
	uint32_t src_qp;       /* UD: the sender's number */
	uint64_t timestamp_ns; /* if the CQ asks for it: CLOCK_MONOTONIC_RAW */
	uint64_t qp_handle;    /* cookie given at QP creation */
	uint64_t wallclock_ns; /* if the CQ asks for it: CLOCK_REALTIME */
};

_Static_assert(sizeof(struct usiw_cqe) == 64, "cqe layout");

/* Record read from a completion channel fd (ib_uverbs_comp_event_desc). */
struct usiw_comp_event {
	uint64_t cq_handle;
};

/* Record read from the async fd (ib_uverbs_async_event_desc). */
struct usiw_async_event {
	uint64_t element;    /* handle of the CQ, QP or SRQ; or port number */
	uint32_t event_type; /* enum usiw_async_type */
	uint32_t reserved;
};

_Static_assert(sizeof(struct usiw_comp_event) == 8, "event layout");
_Static_assert(sizeof(struct usiw_async_event) == 16, "event layout");

/* Numerically equal to enum ibv_event_type. */
enum usiw_async_type {
	USIW_EVENT_CQ_ERR = 0,
	USIW_EVENT_QP_FATAL = 1,
	USIW_EVENT_QP_REQ_ERR = 2,
	USIW_EVENT_QP_ACCESS_ERR = 3,
	USIW_EVENT_COMM_EST = 4,
	USIW_EVENT_SQ_DRAINED = 5,
	USIW_EVENT_DEVICE_FATAL = 8,
	USIW_EVENT_PORT_ACTIVE = 9,
	USIW_EVENT_PORT_ERR = 10,
	USIW_EVENT_SRQ_ERR = 14,
	USIW_EVENT_SRQ_LIMIT_REACHED = 15,
	USIW_EVENT_QP_LAST_WQE_REACHED = 16,
	USIW_EVENT_GID_CHANGE = 18,
};

/*
 * Counter page, one per process; it describes itself.  Resources follow it
 * (usiw-res.h).  A reader checks magic and version, and reads @count entries.
 * A counter is the sum of its entry and of the value with its index in each of
 * the @part_cnt parts.  Threads that count at the same time use different
 * parts, and so different cache lines.  Values are relaxed atomics and only
 * grow.
 */
#define USIW_STAT_MAGIC 0x75736977u /* "usiw" */
#define USIW_STAT_VERSION 4
#define USIW_STAT_MAX 60
#define USIW_STAT_PARTS 32

struct usiw_stat {
	char name[24]; /* NUL-terminated */
	_Atomic uint64_t value;
};

struct usiw_stat_part {
	_Alignas(USIW_CACHE_LINE) _Atomic uint64_t value[64];
};

/*
 * What observing commands ask of the process (usiw-observer.h): one of each
 * kind at a time.  A command takes `owner` (its process ID; 0: none), has the
 * records' place ready in this file, and sets the bit of the kind in `wanted`
 * last.  A command that leaves clears the bit; the next one waits until no
 * thread writes a record any more.
 */
#define USIW_OBSERVE_CNT 2

/* No command's: the process has calls that must fail (USIW_FAULT). */
#define USIW_CALLS_FAIL (1u << 31)

struct usiw_observed {
	/* 1 << kind; USIW_CALLS_FAIL */
	_Alignas(USIW_CACHE_LINE) _Atomic uint32_t wanted;
	struct usiw_observe_request {
		_Atomic uint32_t owner;
		_Atomic uint32_t serial; /* grows with each request */
		/* Threads of the process that write a record. */
		_Atomic uint32_t user_cnt;
	} request[USIW_OBSERVE_CNT];
};

struct usiw_stat_page {
	uint32_t magic;
	uint32_t version;
	uint32_t pid;
	uint32_t count;
	uint32_t part_cnt;
	uint32_t reserved[11];
	struct usiw_stat stat[USIW_STAT_MAX];
	struct usiw_stat_part part[USIW_STAT_PARTS];
	struct usiw_observed observed;
};

_Static_assert(sizeof(struct usiw_stat) == 32, "stat layout");
_Static_assert(offsetof(struct usiw_stat_page, stat) == 64, "stat layout");
_Static_assert(offsetof(struct usiw_stat_page, part) == 64 + 32 * USIW_STAT_MAX,
	       "stat layout");
_Static_assert(sizeof(struct usiw_stat_part) == 512, "stat layout");
_Static_assert(sizeof(struct usiw_observed) == USIW_CACHE_LINE, "stat layout");

#endif

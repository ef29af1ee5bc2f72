/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The resources of a process (devices, contexts, PDs, CQs, SRQs, QPs, MRs,
 * identities of rdma_cm), in the file of its counter page.  The process writes
 * them and never reads them; observers copy them by pread().
 *
 * Behind the page is a directory of chunks; a chunk is an array of slots of one
 * kind.  Chunks are added and stay.  A slot begins with struct usiw_res_head,
 * and has two parts:
 *
 * - What identifies the resource.  It changes rarely.  @seq is odd meanwhile.
 *   Two copies of this part that are equal, taken one after the other, with an
 *   even @seq, are of one moment.
 * - From usiw_res_live() on, relaxed atomics, each with one writer at a time.
 *   They change with the traffic and may be of different moments.
 *
 * A process may be killed in the middle of a change: @seq stays odd then.
 */
#ifndef USIW_RES_H
#define USIW_RES_H

#include "usiw-abi.h"

enum usiw_res_kind {
	USIW_RES_DEVICE = 1,
	USIW_RES_CONTEXT,
	USIW_RES_PD,
	USIW_RES_CQ,
	USIW_RES_SRQ,
	USIW_RES_QP,
	USIW_RES_MR, /* and memory windows */
	USIW_RES_ID, /* of rdma_cm, librdmacm's struct rdma_cm_id */
	USIW_RES_KIND_CNT
};

/* A chunk of slots; each chunk of a kind is twice as large as the one before,
 * so that 16 of each kind are enough. */
struct usiw_res_chunk {
	uint64_t offset; /* in the file, a multiple of the cache line */
	uint32_t slot_cnt;
	uint16_t kind;	    /* enum usiw_res_kind */
	uint16_t slot_size; /* as usiw_res_size() */
};

#define USIW_RES_CHUNK_MAX 128

struct usiw_res_dir {
	uint64_t start_ns; /* CLOCK_REALTIME, when the page was made */
	char program[16];  /* base name, cut off; 0 at the end */
	/* Release: the entries before it.  Only grows. */
	_Atomic uint32_t chunk_cnt;
	/* By kind: resources that exist, and those of them without a slot. */
	_Atomic uint32_t used[USIW_RES_KIND_CNT];
	_Atomic uint32_t unseen[USIW_RES_KIND_CNT];
	struct usiw_res_chunk chunk[USIW_RES_CHUNK_MAX];
};

/* The beginning of the file. */
struct usiw_stat_file {
	struct usiw_stat_page page;
	struct usiw_res_dir res;
};

struct usiw_res_head {
	_Atomic uint32_t seq; /* 0: free; odd: changing */
	uint32_t id;	      /* the number of the resource, see each kind */
	uint64_t made_ns;     /* CLOCK_REALTIME */
};

/* Host order; family AF_INET or AF_INET6, 0: none. */
struct usiw_res_addr {
	uint16_t family;
	uint16_t port;
	uint32_t scope;	  /* IPv6: interface of a link-local address */
	uint8_t addr[16]; /* network order; IPv4: the first four */
};

/* ---- device -------------------------------------------------------------- */

/* What is counted for a device; a line for each part of the counter page, and
 * one for threads without a part. */
struct usiw_res_device_count {
	_Alignas(USIW_CACHE_LINE) _Atomic uint64_t tx_fpdu; /* and datagrams */
	_Atomic uint64_t rx_fpdu, rx_crc_bad;
	_Atomic uint64_t rx_direct, rx_staged, tx_inplace, tx_copied;
};

struct usiw_res_device {
	struct usiw_res_head head; /* id: 1 and up, in the order of the list */
	char name[64];
	char ifname[16];
	uint64_t guid_be;
	uint32_t ifindex;
	uint32_t persona; /* 0: RNIC, 1: channel adapter */
	struct usiw_res_device_count count[1 + USIW_STAT_PARTS];
};

/* ---- context, protection domain ------------------------------------------ */

/* ids: numbers that are not used again, from 1 on. */
struct usiw_res_context {
	struct usiw_res_head head;
	uint32_t device; /* id, as all references */
	uint32_t engine_cnt;
	uint8_t reserved[40];
};

struct usiw_res_pd {
	struct usiw_res_head head;
	uint32_t context;
	uint8_t reserved[44];
};

/* ---- queues -------------------------------------------------------------- */

enum usiw_res_armed {
	USIW_RES_NOT_ARMED,
	USIW_RES_ARMED_SOLICITED,
	USIW_RES_ARMED_ANY,
};

/* Indices are those of the ring: modulo 2^32. */
struct usiw_res_cq {
	struct usiw_res_head head; /* id: a number from 1 on */
	uint32_t context;
	uint32_t depth;
	uint32_t has_channel; /* completion channel */
	uint8_t reserved[36];

	/* live: by whoever adds entries */
	_Alignas(USIW_CACHE_LINE) _Atomic uint32_t pushed_idx;
	_Atomic uint32_t is_overrun;
	_Atomic uint32_t fired_cnt; /* events */
	/* by whoever polls and arms */
	_Alignas(USIW_CACHE_LINE) _Atomic uint32_t polled_idx;
	_Atomic uint32_t armed; /* enum usiw_res_armed */
};

struct usiw_res_srq {
	struct usiw_res_head head; /* id: a number from 1 on */
	uint32_t context, pd;
	uint32_t depth, max_sge;
	uint8_t reserved[32];

	_Alignas(USIW_CACHE_LINE) _Atomic uint32_t taken_idx;
	_Atomic uint32_t limit; /* armed; 0: none */
	_Alignas(USIW_CACHE_LINE) _Atomic uint32_t posted_idx;
};

/* Numerically equal to enum rnic_qp_type. */
enum usiw_res_qp_type {
	USIW_RES_QPT_RC,
	USIW_RES_QPT_UC,
	USIW_RES_QPT_UD,
};

/* Numerically equal to enum rnic_qp_state. */
enum usiw_res_qp_state {
	USIW_RES_QPS_IDLE,
	USIW_RES_QPS_CONNECTING,
	USIW_RES_QPS_RTS,
	USIW_RES_QPS_CLOSING,
	USIW_RES_QPS_TERMINATE,
	USIW_RES_QPS_ERROR,
};

/* What takes octets to the peer. */
enum usiw_res_carrier {
	USIW_RES_CARRIER_NONE,
	USIW_RES_CARRIER_TCP,
	USIW_RES_CARRIER_RING, /* memory that both processes share */
	USIW_RES_CARRIER_UDP,  /* UD; within the host, shared memory or a
				  socket */
};

enum usiw_res_crc {
	USIW_RES_CRC_TX = 1 << 0, /* computed */
	USIW_RES_CRC_RX = 1 << 1, /* checked */
};

enum usiw_res_op {
	USIW_RES_OP_SEND,
	USIW_RES_OP_WRITE,
	USIW_RES_OP_READ,
	USIW_RES_OP_ATOMIC, /* eight octets each, which are not counted */
	USIW_RES_OP_CNT
};

/* Messages of one direction, and the octets of their payload. */
struct usiw_res_traffic {
	_Alignas(USIW_CACHE_LINE) _Atomic uint64_t messages[USIW_RES_OP_CNT];
	_Atomic uint64_t octets[USIW_RES_OP_ATOMIC];
	_Atomic uint64_t stream_octets; /* of TCP or ring, with headers */
};

struct usiw_res_qp {
	struct usiw_res_head head;		     /* id: the QP number */
	uint32_t context, pd, send_cq, recv_cq, srq; /* srq 0: none */
	uint32_t type;				     /* enum usiw_res_qp_type */
	uint32_t sq_depth, rq_depth;		     /* rq_depth 0: SRQ */
	uint32_t send_sge, recv_sge, inline_max;
	uint32_t reads_in_max, reads_out_max; /* IRD, ORD */
	uint32_t peer_num;		      /* QP number; 0: not known */
	struct usiw_res_addr local, peer;
	uint8_t reserved[8];

	/* live: under the lead */
	_Alignas(USIW_CACHE_LINE) _Atomic uint32_t state;
	_Atomic uint32_t status; /* enum usiw_wc_status of its end */
	_Atomic uint32_t error;	 /* errno of TCP; 0: none */
	_Atomic uint32_t carrier, crc;
	_Atomic uint32_t sq_sent_idx, sq_done_idx; /* taken to be sent; done */
	_Atomic uint32_t rq_taken_idx;
	_Atomic uint32_t reads_out, reads_in; /* READs and atomics under way */
	_Atomic uint32_t rnr_held; /* Sends that wait for a receive */
	_Atomic uint32_t reserved_live;
	_Atomic uint64_t rnr_cnt;  /* Sends that had to wait */
	_Atomic uint64_t state_ns; /* CLOCK_REALTIME, since when */
	/* What this end sends: Sends, Writes, its own READs and atomics. */
	struct usiw_res_traffic tx;
	/* What the peer sends: its READs and atomics are served here. */
	struct usiw_res_traffic rx;
	/* by whoever posts */
	_Alignas(USIW_CACHE_LINE) _Atomic uint32_t sq_posted_idx;
	_Atomic uint32_t rq_posted_idx;
};

/* ---- memory -------------------------------------------------------------- */

enum usiw_res_mr_type {
	USIW_RES_MR_REGION,
	USIW_RES_MR_NULL,   /* reads as zeroes */
	USIW_RES_MR_WINDOW, /* memory window; bound or not */
};

struct usiw_res_mr {
	struct usiw_res_head head; /* id: the STag, lkey and rkey */
	uint64_t addr, len, iova;
	uint32_t pd;
	uint32_t access;   /* enum ibv_access_flags */
	uint32_t type;	   /* enum usiw_res_mr_type */
	uint32_t is_valid; /* not invalidated; a window: bound */
	uint32_t reserved[2];
};

/* ---- identity of rdma_cm ------------------------------------------------- */

/* Numerically equal to RNIC_CM_S_*. */
enum usiw_res_id_state {
	USIW_RES_IDS_IDLE,
	USIW_RES_IDS_BOUND,
	USIW_RES_IDS_ADDR,  /* address resolved */
	USIW_RES_IDS_ROUTE, /* route resolved */
	USIW_RES_IDS_LISTEN,
	USIW_RES_IDS_CONNECT,
	USIW_RES_IDS_REQUEST, /* of a peer; the application must answer */
	USIW_RES_IDS_ESTABLISHED,
	USIW_RES_IDS_DISCONNECT,
};

struct usiw_res_id {
	struct usiw_res_head head; /* id: its number, from 0 on */
	uint32_t device;	   /* 0: not bound to one */
	uint32_t qp_num;	   /* 0: none */
	uint32_t port_space;	   /* enum rdma_port_space */
	uint32_t state;		   /* enum usiw_res_id_state */
	uint64_t state_ns;	   /* CLOCK_REALTIME, since when */
	struct usiw_res_addr local, peer;
	uint32_t backlog; /* of a listener */
	uint8_t reserved[36];
};

/* ---- sizes --------------------------------------------------------------- */

#define USIW_RES_SIZE_CHECK(kind, size)                                        \
	_Static_assert(sizeof(struct usiw_res_##kind) == (size),               \
		       "layout of " #kind)

USIW_RES_SIZE_CHECK(chunk, 16);
USIW_RES_SIZE_CHECK(head, 16);
USIW_RES_SIZE_CHECK(addr, 24);
USIW_RES_SIZE_CHECK(traffic, USIW_CACHE_LINE);
USIW_RES_SIZE_CHECK(device_count, USIW_CACHE_LINE);
USIW_RES_SIZE_CHECK(device, (2 + 1 + USIW_STAT_PARTS) * USIW_CACHE_LINE);
USIW_RES_SIZE_CHECK(context, USIW_CACHE_LINE);
USIW_RES_SIZE_CHECK(pd, USIW_CACHE_LINE);
USIW_RES_SIZE_CHECK(cq, 3 * USIW_CACHE_LINE);
USIW_RES_SIZE_CHECK(srq, 3 * USIW_CACHE_LINE);
USIW_RES_SIZE_CHECK(qp, 6 * USIW_CACHE_LINE);
USIW_RES_SIZE_CHECK(mr, USIW_CACHE_LINE);
USIW_RES_SIZE_CHECK(id, 2 * USIW_CACHE_LINE);
_Static_assert(sizeof(struct usiw_stat_file) % USIW_CACHE_LINE == 0,
	       "slots begin at a cache line");

/* Octets of a slot; 0: no such kind. */
static inline uint32_t usiw_res_size(uint32_t kind)
{
	switch (kind) {
	case USIW_RES_DEVICE:
		return sizeof(struct usiw_res_device);
	case USIW_RES_CONTEXT:
		return sizeof(struct usiw_res_context);
	case USIW_RES_PD:
		return sizeof(struct usiw_res_pd);
	case USIW_RES_CQ:
		return sizeof(struct usiw_res_cq);
	case USIW_RES_SRQ:
		return sizeof(struct usiw_res_srq);
	case USIW_RES_QP:
		return sizeof(struct usiw_res_qp);
	case USIW_RES_MR:
		return sizeof(struct usiw_res_mr);
	case USIW_RES_ID:
		return sizeof(struct usiw_res_id);
	default:
		return 0;
	}
}

/* Octets of the identifying part; behind it everything is live. */
static inline uint32_t usiw_res_live(uint32_t kind)
{
	switch (kind) {
	case USIW_RES_DEVICE:
		return offsetof(struct usiw_res_device, count);
	case USIW_RES_CQ:
		return offsetof(struct usiw_res_cq, pushed_idx);
	case USIW_RES_SRQ:
		return offsetof(struct usiw_res_srq, taken_idx);
	case USIW_RES_QP:
		return offsetof(struct usiw_res_qp, state);
	default:
		return usiw_res_size(kind);
	}
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * rnic.h - the calls of the verbs provider and of the kernel emulation.
 *
 * The soft RNIC lives in the application's process, in libusiw-rnic-*.so. There
 * is one instance of it, however many of its users are loaded.
 *
 * Calls return 0 or a count, else a negative errno. On failure nothing has
 * changed. Context: any thread, unless said otherwise; nothing is
 * async-signal-safe. A destroy function must not run at the same time as
 * another call on the same object.
 *
 * After fork, objects made by the parent fail with -ENODEV in the child
 * (rnic_is_forked()). Objects that the child makes or re-creates work.
 */
#ifndef RNIC_H
#define RNIC_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "abi/usiw-ring.h"
#include "util/fdtab.h"
#include "util/v4-mapped.h"

#define RNIC_EXPORT __attribute__((visibility("default")))

struct rnic_device;
struct rnic_context;
struct rnic_pd;
struct rnic_mr;
struct rnic_mw;
struct rnic_dm;
struct rnic_cq;
struct rnic_qp;
struct rnic_srq;
struct rnic_chan;
struct rnic_cm_chan;

/* ---- process ---------------------------------------------------------- */

/* The kinds of the process-wide fd table. */
enum rnic_fd_kind {
	RNIC_FD_NONE = UTIL_FD_NONE,
	RNIC_FD_INTERNAL, /* sockets, epoll: never shown to the application */
	RNIC_FD_DEAD,	  /* inherited over fork: every use fails with ENODEV */
	/* struct rnic_chan; read() yields records */
	RNIC_FD_CHAN = UTIL_FD_FILE,
	RNIC_FD_UVERBS, /* of kernel-abi/commands/uverbs.c */
	RNIC_FD_UCM,	/* of kernel-abi/commands/ucm.c */
};

/* The table; never NULL after the first successful call. NULL: ENOMEM. */
RNIC_EXPORT struct util_fdtab *rnic_fdtab(void);

/*
 * Number of forks between the first process of the library and this one.
 * Objects of the provider and of kernel-abi remember it at creation; a
 * different value later means that the object is the parent's.
 */
RNIC_EXPORT uint32_t rnic_fork_gen(void);

/*
 * After memory was registered, faults on it are caught: a handler of the RNIC
 * for SIGSEGV and SIGBUS runs before the application's. Async-signal-safe, as
 * the next one.
 */
RNIC_EXPORT bool rnic_guard_is_on(void);

/* memcpy() with memory of the application. Return: 0; -EFAULT; -ENOSYS: nothing
 * is guarded yet. */
RNIC_EXPORT int rnic_guard_copy(void *dst, const void *src, size_t len);

/*
 * As sigaction(2) for these two signals, for the handler that runs after ours.
 * Return: 0; -ENOENT: another signal, or nothing is guarded: call libc.
 */
struct sigaction;
RNIC_EXPORT int rnic_guard_sigaction(int sig, const struct sigaction *act,
				     struct sigaction *ret_old);

/* ---- devices ---------------------------------------------------------- */

#define RNIC_GID_MAX 32

/*
 * How a device presents itself. Engine and wire protocol are the same. A CA has
 * InfiniBand's QP states and, by rdma_cm, InfiniBand's handshake.
 */
enum rnic_persona { RNIC_PERSONA_RNIC, RNIC_PERSONA_CA };

struct rnic_device_attr {
	char name[64];	     /* usiw_<interface>, or by USIW_NAME */
	char ifname[16];     /* at present */
	uint32_t ifindex;    /* 0: the interface was removed */
	uint32_t uverbs_num; /* 1000 + position */
	uint8_t mac[6];	     /* zero for lo */
	uint64_t guid_be;    /* node GUID, network order, unique, not 0 */
	enum rnic_persona persona;
	uint32_t mtu; /* of the interface, octets */
	bool is_up;
	uint32_t gid_cnt;	       /* >= 1 */
	uint8_t gid[RNIC_GID_MAX][16]; /* IPv4-mapped or IPv6; zero: empty */
};

/* @addr: of AF_INET or AF_INET6, network order. */
static inline void rnic_gid_from_ip(uint8_t gid[16], int family,
				    const void *addr)
{
	if (family == AF_INET)
		util_v4_map(gid, addr);
	else
		memcpy(gid, addr, 16);
}

/*
 * For programs that exchange LIDs instead of GIDs: the last two octets of the
 * first IPv4 address. A peer in the same network has the same other octets.
 * Return: host order; 0: no such address.
 */
static inline uint16_t rnic_device_lid(const struct rnic_device_attr *attr,
				       uint32_t *ret_gid_idx)
{
	for (uint32_t i = 0; i < attr->gid_cnt; i++) {
		const uint8_t *gid = attr->gid[i];

		if (!util_v4_is_mapped(gid))
			continue;
		*ret_gid_idx = i;
		return (uint16_t)(gid[14] << 8 | gid[15]);
	}
	return 0;
}

/* Limits, the same for every device; the result of query_device. */
struct rnic_limits {
	uint64_t max_mr_size, max_dm_size;
	uint32_t max_qp, max_qp_wr, max_sge, max_sge_rd, max_inline;
	uint32_t max_cq, max_cqe, max_mr, max_mw, max_pd, max_srq;
	uint32_t max_srq_wr, max_srq_sge, max_ird, max_ord;
	uint32_t max_msg_size;
	uint32_t vendor_id, vendor_part_id, hw_ver;
};

RNIC_EXPORT const struct rnic_limits *rnic_limits(void);

/*
 * The devices of this process: one per usable interface (up, with an IP
 * address; lo always). They are found at the first call and never changed.
 * Return: count (0 to many); *ret_list is valid until exit.
 */
RNIC_EXPORT int rnic_device_list(struct rnic_device *const **ret_list);

/* Current attributes. Addresses and state are queried from the kernel. */
RNIC_EXPORT int rnic_device_query(const struct rnic_device *dev,
				  struct rnic_device_attr *ret_attr);

/* The same until exit. Cheap. */
RNIC_EXPORT enum rnic_persona
rnic_device_persona(const struct rnic_device *dev);

/* By name ("usiw_lo"); NULL: none. */
RNIC_EXPORT struct rnic_device *rnic_device_by_name(const char *name);

/* The device whose interface owns the address (port ignored, IPv4-mapped
 * taken as IPv4); NULL: none. */
RNIC_EXPORT struct rnic_device *
rnic_device_by_addr(const struct sockaddr *addr);

/* By node GUID (network order); NULL: none. */
RNIC_EXPORT struct rnic_device *rnic_device_by_guid(uint64_t guid_be);

/* ---- event channels --------------------------------------------------- */

/*
 * A queue of fixed-size records with a real, pollable eventfd. Its number is in
 * the fd table as RNIC_FD_CHAN. rnic_chan_read() on it returns one record.
 * O_NONBLOCK, poll and epoll on the fd work as on the kernel's files. The
 * channel is a file (util/fdtab.h): the number holds a reference, and *ret_chan
 * is another one, the caller's.
 */
RNIC_EXPORT int rnic_chan_new(size_t record_size, struct rnic_chan **ret_chan);

/* The number that it was made with. The application may have closed it. */
RNIC_EXPORT int rnic_chan_fd(const struct rnic_chan *chan);

/*
 * As read(fd, buf, size). Blocks unless the fd has O_NONBLOCK.
 * Return: record_size; -EAGAIN; -EINTR; -EINVAL: @size too small; -ENODEV;
 *   -EFAULT: @buf does not exist (once memory is registered, see rnic_guard());
 *   -ESHUTDOWN: its last number is closed. A kernel lets the reader wait on. It
 *   does so without a reference, which would keep a descriptor.
 */
RNIC_EXPORT ssize_t rnic_chan_read(struct rnic_chan *chan, void *buf,
				   size_t size);

/*
 * Its maker no longer uses it: closes the number that it was made with, unless
 * the application has, and drops the maker's reference.
 */
RNIC_EXPORT void rnic_chan_close(struct rnic_chan *chan);

/* The channel behind an fd number, with a reference; NULL: not a channel. */
RNIC_EXPORT struct rnic_chan *rnic_chan_get_fd(int fd);
RNIC_EXPORT void rnic_chan_put(struct rnic_chan *chan);

/* ---- context, PD, MR -------------------------------------------------- */

RNIC_EXPORT int rnic_context_open(struct rnic_device *dev,
				  struct rnic_context **ret_ctx);

/* Frees objects that still exist in it (the process is about to end, or the
 * application has not freed them). */
RNIC_EXPORT void rnic_context_close(struct rnic_context *ctx);

/* fd of the channel of struct usiw_async_event records. */
RNIC_EXPORT int rnic_context_async_fd(const struct rnic_context *ctx);

/*
 * Called before a context is used. A context that a forked child has inherited
 * is re-created in place, empty, with the same number for its async fd, if that
 * is open. Cheap otherwise; any thread.
 * Return: 0; -errno as rnic_context_open(): it still belongs to the parent.
 */
RNIC_EXPORT int rnic_context_enter(struct rnic_context *ctx);
/* Inherited, and not re-created since. */
RNIC_EXPORT bool rnic_context_is_forked(const struct rnic_context *ctx);

RNIC_EXPORT int rnic_pd_alloc(struct rnic_context *ctx,
			      struct rnic_pd **ret_pd);
RNIC_EXPORT int rnic_pd_free(struct rnic_pd *pd); /* -EBUSY */
/* What commands that look at the process call it (abi/usiw-res.h). */
RNIC_EXPORT uint32_t rnic_pd_num(const struct rnic_pd *pd);
/* As rnic_context_enter(), for the domain's context. *user_cnt is zeroed with
 * the domain's own count of objects. */
RNIC_EXPORT int rnic_pd_enter(struct rnic_pd *pd, _Atomic uint32_t *user_cnt);
RNIC_EXPORT bool rnic_pd_is_forked(const struct rnic_pd *pd);

/* Numerically equal to enum ibv_access_flags. */
enum rnic_access {
	RNIC_ACCESS_LOCAL_WRITE = 1u << 0,
	RNIC_ACCESS_REMOTE_WRITE = 1u << 1,
	RNIC_ACCESS_REMOTE_READ = 1u << 2,
	RNIC_ACCESS_REMOTE_ATOMIC = 1u << 3,
	RNIC_ACCESS_MW_BIND = 1u << 4,
	RNIC_ACCESS_ZERO_BASED = 1u << 5,
	RNIC_ACCESS_ON_DEMAND = 1u << 6,
};

/*
 * Registers [@addr, @addr + @len); peers address it from @iova on. With
 * ON_DEMAND no page is checked: an access to memory that does not exist ends
 * that stream. Then @addr NULL, @len SIZE_MAX and @iova 0 are also valid: the
 * whole address space.
 * Return: 0; -EFAULT: not mapped, or not writable although LOCAL_WRITE is
 *   asked; -EINVAL: wraps, or remote write/atomic without local write, or an
 *   unknown access bit; -ENOMEM.
 */
RNIC_EXPORT int rnic_mr_reg(struct rnic_pd *pd, void *addr, size_t len,
			    uint64_t iova, uint32_t access,
			    struct rnic_mr **ret_mr);
RNIC_EXPORT uint32_t rnic_mr_stag(const struct rnic_mr *mr);

/* Numerically equal to enum ibv_advise_mr_advice. */
enum rnic_advice {
	RNIC_ADVICE_PREFETCH = 0,
	RNIC_ADVICE_PREFETCH_WRITE = 1,
	RNIC_ADVICE_PREFETCH_NO_FAULT = 2,
};

/*
 * Octets [@addr, @addr + @len) of an on-demand region are about to be accessed:
 * brings their pages in, at once.
 * Return: 0; -EOPNOTSUPP: other advice; -EFAULT: no such STag, not wholly
 *   inside, or not mapped as needed; -EINVAL: a window or a null region;
 *   -EPERM: another domain's, or PREFETCH_WRITE without LOCAL_WRITE; -ENOENT:
 *   not an on-demand region; -ENOMEM.
 */
RNIC_EXPORT int rnic_mr_advise(struct rnic_pd *pd, uint32_t advice,
			       uint32_t stag, uint64_t addr, size_t len);

/* After the return, no octet of the region is accessed for a peer or a posted
 * WR. Streams that were using it have ended.
 * Return: 0; -EBUSY: a window is bound to it. */
RNIC_EXPORT int rnic_mr_dereg(struct rnic_mr *mr);

/* Numerically equal to enum ibv_rereg_mr_flags. */
enum rnic_mr_change_what {
	RNIC_MR_CHANGE_TRANSLATION = 1u << 0,
	RNIC_MR_CHANGE_PD = 1u << 1,
	RNIC_MR_CHANGE_ACCESS = 1u << 2,
	RNIC_MR_CHANGE_ALL = 7,
};

struct rnic_mr_change {
	uint32_t what; /* enum rnic_mr_change_what */
	struct rnic_pd *pd;
	void *addr; /* address for peers, too, unless zero-based */
	size_t len;
	uint32_t access;
};

/*
 * Deregisters and registers in one call. The STag stays, unless it was
 * invalidated. Work in progress with the region ends as in rnic_mr_dereg().
 * Return: 0; as rnic_mr_reg(); -EINVAL: also for a null region, a domain of
 *   another context, other octets for device memory; -EBUSY: a window is bound
 *   to it.
 */
RNIC_EXPORT int rnic_mr_rereg(struct rnic_mr *mr,
			      const struct rnic_mr_change *want);

/* A region of any address and length that reads as zeroes and drops writes, for
 * local use. */
RNIC_EXPORT int rnic_mr_alloc_null(struct rnic_pd *pd, struct rnic_mr **ret_mr);

/* Numerically equal to enum ibv_mw_type. */
enum rnic_mw_type {
	RNIC_MW_TYPE_1 = 1,
	RNIC_MW_TYPE_2 = 2,
};

/* A window that is bound to nothing; BIND_MW (abi/usiw-abi.h) binds it. */
RNIC_EXPORT int rnic_mw_alloc(struct rnic_pd *pd, enum rnic_mw_type type,
			      struct rnic_mw **ret_mw);

/* Before the first binding. Each binding sets another key. */
RNIC_EXPORT uint32_t rnic_mw_stag(const struct rnic_mw *mw);

/* If it is bound it is unbound first, as a region by rnic_mr_dereg(). */
RNIC_EXPORT int rnic_mw_dealloc(struct rnic_mw *mw);

/*
 * Device memory: octets that only the RNIC accesses. A forked child may
 * allocate some in the parent's context.
 * Return: 0; -EINVAL: no octets, or an impossible alignment; -ENOMEM: less is
 *   left of max_dm_size.
 */
RNIC_EXPORT int rnic_dm_alloc(struct rnic_context *ctx, size_t len,
			      uint32_t log_align, struct rnic_dm **ret_dm);
RNIC_EXPORT int rnic_dm_free(struct rnic_dm *dm); /* -EBUSY: regions */

/* Offsets and lengths of copies are multiples of this. */
#define RNIC_DM_WORD 4

/* Return: 0; -EFAULT: not inside; -EINVAL: not whole words. */
RNIC_EXPORT int rnic_dm_write(struct rnic_dm *dm, uint64_t off,
			      const void *from, size_t len);
RNIC_EXPORT int rnic_dm_read(const struct rnic_dm *dm, uint64_t off, void *to,
			     size_t len);

/* @len may be 0.  Return: 0; -EINVAL: not inside, not zero-based, of another
 *   context, rights as in rnic_mr_reg(); -ENOMEM. */
RNIC_EXPORT int rnic_dm_reg(struct rnic_pd *pd, struct rnic_dm *dm,
			    uint64_t off, size_t len, uint32_t access,
			    struct rnic_mr **ret_mr);

/* ---- completion queues ------------------------------------------------ */

/*
 * The slots of a ring may be in memory that the caller lends, cache-line
 * aligned and as large as the functions for that return. Its content does not
 * matter. It belongs to the caller again when creation has failed, when the
 * object is destroyed, and after a resize: the old memory if the resize
 * succeeded, else the new one. The header with the indices always belongs to
 * the RNIC.
 */

/*
 * @cqe: entries wanted, 1 to max_cqe. @chan: a reference is taken; NULL: none.
 *   @handle: returned in events (the provider's struct ibv_cq). @slots: lent;
 *   NULL: the RNIC's own.
 */
RNIC_EXPORT int rnic_cq_create(struct rnic_context *ctx, uint32_t cqe,
			       struct rnic_chan *chan, uint64_t handle,
			       void *slots, struct rnic_cq **ret_cq);

/* Octets to lend; @cqe as for rnic_cq_create(). */
RNIC_EXPORT size_t rnic_cq_slots_size(uint32_t cqe);

/* Options of a CQ; set before its first QP. */
enum rnic_cq_flags {
	RNIC_CQ_TIMESTAMP = 1u << 0,	  /* usiw_cqe.timestamp_ns is filled */
	RNIC_CQ_WALLCLOCK = 1u << 1,	  /* usiw_cqe.wallclock_ns is filled */
	RNIC_CQ_IGNORE_OVERRUN = 1u << 2, /* what does not fit is lost; no
					     event, no QP fails */
};

RNIC_EXPORT void rnic_cq_set_flags(struct rnic_cq *cq, uint32_t flags);

/*
 * Space for @cqe entries from now on. Entries in the CQ are kept, in order. The
 * ring remains the same object, except for its slots. The caller keeps every
 * consumer out in the meantime. @slots: lent; NULL: the RNIC's own.
 * Return: 0; -EINVAL: @cqe is out of range or less than the entries in the CQ,
 *   or the CQ is overrun; -ENOMEM.
 */
RNIC_EXPORT int rnic_cq_resize(struct rnic_cq *cq, uint32_t cqe, void *slots);

/* The clock of usiw_cqe.timestamp_ns, now. */
RNIC_EXPORT uint64_t rnic_raw_clock_ns(void);

/* The ring of struct usiw_cqe. Its consumer is the provider, under the
 * provider's lock. Valid as long as the CQ. */
RNIC_EXPORT const struct usiw_ring *rnic_cq_ring(const struct rnic_cq *cq);
RNIC_EXPORT uint32_t rnic_cq_num(const struct rnic_cq *cq);

/*
 * The ring is empty: makes progress in this thread (takes the lead, one pass).
 * The caller then checks the ring again.
 */
RNIC_EXPORT void rnic_cq_progress(struct rnic_cq *cq);

/* Progress is due although the ring may not be empty: posts wait for it. */
RNIC_EXPORT bool rnic_cq_wants_progress(const struct rnic_cq *cq);

/*
 * The next completion (or next solicited one, or one in error) raises an event.
 * One that came behind the entry of the last event, and is not polled yet,
 * raises it at once.
 */
RNIC_EXPORT void rnic_cq_arm(struct rnic_cq *cq, bool solicited_only);

/* The consumer has removed entries, and those before them have moved up. */
RNIC_EXPORT void rnic_cq_moved(struct rnic_cq *cq);

/*
 * The calling thread is about to sleep until the returned descriptor, or the
 * channel of the CQ, is readable, and then polls the CQ itself. The CQ is armed
 * until _end.
 * Return: the descriptor, which must not be closed or read; -EAGAIN: arm the CQ
 *   and sleep on the channel this time.
 */
RNIC_EXPORT int rnic_cq_sleep_begin(struct rnic_cq *cq);
RNIC_EXPORT void rnic_cq_sleep_end(struct rnic_cq *cq);

/*
 * Return: 0; -EBUSY: QPs use it. Unread events are removed. *ret_comp_events
 *   and *ret_async_events are the numbers of events that the application has
 *   read (and must acknowledge before the destruction is complete).
 */
RNIC_EXPORT int rnic_cq_destroy(struct rnic_cq *cq, uint32_t *ret_comp_events,
				uint32_t *ret_async_events);

/* ---- shared receive queues -------------------------------------------- */

struct rnic_srq_options {
	uint32_t max_wr, max_sge; /* in: wanted, out: given */
	uint32_t limit;
	uint64_t handle;
	void *slots; /* in: lent; NULL: the RNIC's own */
};

RNIC_EXPORT int rnic_srq_create(struct rnic_pd *pd,
				struct rnic_srq_options *opt,
				struct rnic_srq **ret_srq);
/* Octets to lend, for what rnic_srq_create() takes. */
RNIC_EXPORT size_t rnic_srq_slots_size(uint32_t max_wr, uint32_t max_sge);
RNIC_EXPORT const struct usiw_ring *rnic_srq_ring(const struct rnic_srq *srq);
RNIC_EXPORT uint32_t rnic_srq_num(const struct rnic_srq *srq);
/* Entries were committed. QPs may hold messages that wait for them. */
RNIC_EXPORT void rnic_srq_ring_rq(struct rnic_srq *srq);
/* 0 disarms. Fires once when fewer than @limit are posted. */
RNIC_EXPORT int rnic_srq_set_limit(struct rnic_srq *srq, uint32_t limit);
/*
 * Space for @max_wr receives from now on. Posted receives are kept. The ring
 * remains the same object, except for its slots. The caller keeps every
 * producer out in the meantime. @slots: lent; NULL: the RNIC's own.
 * Return: 0; -EINVAL: out of range, or more are posted; -ENOMEM.
 */
RNIC_EXPORT int rnic_srq_resize(struct rnic_srq *srq, uint32_t max_wr,
				void *slots);
RNIC_EXPORT void rnic_srq_query(struct rnic_srq *srq,
				struct rnic_srq_options *ret_opt);
RNIC_EXPORT int rnic_srq_destroy(struct rnic_srq *srq,
				 uint32_t *ret_async_events); /* -EBUSY */

/* ---- queue pairs ------------------------------------------------------ */

/* iWARP QP states (RFC 5040 and the RDMA verbs model). */
enum rnic_qp_state {
	RNIC_QPS_IDLE,	     /* INIT (RESET before) for the application */
	RNIC_QPS_CONNECTING, /* RTR or RTS for it: rnic_qp_oob() */
	RNIC_QPS_RTS,
	RNIC_QPS_CLOSING,   /* SQD */
	RNIC_QPS_TERMINATE, /* SQE: TERMINATE sent or received, closing */
	RNIC_QPS_ERROR,	    /* ERR */
};

enum rnic_qp_type {
	RNIC_QPT_RC,
	/* Messages may be lost: those that have no receive or no memory at the
	 * responder, and those of a QP whose peer is not there. Neither end
	 * hears of it. Only rnic_qp_oob() connects it. */
	RNIC_QPT_UC,
	RNIC_QPT_UD,
};

struct rnic_qp_options {
	enum rnic_qp_type type;
	struct rnic_cq *send_cq, *recv_cq;
	struct rnic_srq *srq;		     /* NULL: own RQ */
	uint32_t max_send_wr, max_recv_wr;   /* in: wanted, out: given */
	uint32_t max_send_sge, max_recv_sge; /* in: wanted, out: given */
	uint32_t max_inline;		     /* in: wanted, out: given */
	uint64_t handle;	   /* comes back in CQEs and async events */
	void *sq_slots, *rq_slots; /* in: lent; NULL: the RNIC's own */
};

/* Octets to lend, for the arguments of rnic_qp_create(); *ret_rq 0: SRQ. */
RNIC_EXPORT void rnic_qp_slots_size(const struct rnic_qp_options *opt,
				    size_t *ret_sq, size_t *ret_rq);

RNIC_EXPORT int rnic_qp_create(struct rnic_pd *pd, struct rnic_qp_options *opt,
			       struct rnic_qp **ret_qp);
RNIC_EXPORT uint32_t rnic_qp_num(const struct rnic_qp *qp);

/*
 * No QP has a number without a port part. With persona ca such a number, as
 * that of the peer, is used for a connection of rdma_cm.
 */
static inline bool rnic_qp_num_is_cm(uint32_t num)
{
	return num >> 8 == 0;
}

/* Rings of struct usiw_sqe and struct usiw_rqe. The provider is the producer,
 * under its own locks. The RQ ring of a QP with SRQ is NULL. */
RNIC_EXPORT const struct usiw_ring *rnic_qp_sq(const struct rnic_qp *qp);
RNIC_EXPORT const struct usiw_ring *rnic_qp_rq(const struct rnic_qp *qp);

/* Cheap (one relaxed load). Used to refuse a post in IDLE. */
RNIC_EXPORT enum rnic_qp_state rnic_qp_state(const struct rnic_qp *qp);

/* Entries were committed to the SQ: transmits in this thread if the lead is
 * free; else the leader does. Never blocks. */
RNIC_EXPORT void rnic_qp_ring_sq(struct rnic_qp *qp);

/* Entries were committed to the RQ. Messages may wait for them. They are
 * flushed if the QP has ended. */
RNIC_EXPORT void rnic_qp_ring_rq(struct rnic_qp *qp);

/*
 * Remote access that the QP allows (enum rnic_access bits).  After the return
 * no octet is written or read by a right that is not among them: a request of
 * the peer that still needs one is refused, which ends the QP.
 */
RNIC_EXPORT int rnic_qp_set_access(struct rnic_qp *qp, uint32_t access);

/*
 * Transitions that the application may ask for:
 *   IDLE -> IDLE (no effect), IDLE -> ERROR, RTS -> CLOSING (drain the SQ,
 *   FIN, wait for the peer's, flush), any -> ERROR (abort: flush now),
 *   ERROR -> IDLE (reset; queues are emptied without completions);
 *   CONNECTING -> IDLE and -> ERROR like RTS.
 * RTS is reached through the connection manager, out of band or an
 * attachment only.
 * Return: 0; -EINVAL: not a transition.
 */
RNIC_EXPORT int rnic_qp_modify(struct rnic_qp *qp, enum rnic_qp_state state);

/*
 * Connection without rdma_cm, by address and QP number: IDLE -> CONNECTING at
 * once, RTS after the peer has done the same, in any order. Receives and sends
 * may be posted in the meantime.
 *
 * Return: 0; -EINVAL: not IDLE, no such GID index, an address or number that no
 *   peer can have; -EADDRNOTAVAIL: this QP got no port (see log); -ENOMEM;
 *   -errno of socket calls.
 */
struct rnic_oob_options {
	uint32_t gid_idx; /* own address */
	uint8_t dgid[16];
	uint32_t dest_num;
	uint8_t ird; /* reads and atomics of the peer at a time */
	uint8_t tos;
	uint8_t min_rnr_timer; /* as in struct ibv_qp_attr */
};

RNIC_EXPORT int rnic_qp_oob(struct rnic_qp *qp,
			    const struct rnic_oob_options *opt);

/* Values that are known only when the application is ready to send. */
struct rnic_oob_send_options {
	uint8_t ord;	   /* own reads and atomics at a time */
	uint8_t rnr_retry; /* for the peer, if the start is still to come */
	/* If work is posted, how long to wait before WC_RETRY_EXC_ERR: */
	uint64_t retry_ns; /* for a peer that is silent; 0: no limit */
	uint64_t gone_ns;  /* after the peer has closed, or the connection has
			      broken; 0: not at all */
};

/* The QP is CONNECTING, or RTS out of band. */
RNIC_EXPORT void rnic_qp_oob_send(struct rnic_qp *qp,
				  const struct rnic_oob_send_options *opt);

struct rnic_qp_attr {
	enum rnic_qp_state state;
	uint32_t access;
	uint32_t ird, ord;
	uint8_t timeout; /* as given by RNIC_CM_OPT_ACK_TIMEOUT */
	struct sockaddr_storage local, peer; /* family 0: not connected */
};

RNIC_EXPORT void rnic_qp_query(struct rnic_qp *qp,
			       struct rnic_qp_attr *ret_attr);

/*
 * Why the QP's TCP connection has failed, since the QP was IDLE: the errno of a
 * call on the socket. 0: it has not failed, or has ended in order. Set before
 * completions and events report the end.
 */
RNIC_EXPORT int rnic_qp_error(const struct rnic_qp *qp);

/*
 * Outstanding WRs are removed without completion, as the verbs demand. Windows
 * of type 2 that it has bound are unbound. The stream, if any, is drained in
 * the background (USIW_DRAIN_MS). Completions stay in the CQs. No other QP gets
 * its number before rnic_qp_destroy(), so until then a completion with that
 * number belongs to this QP.
 */
RNIC_EXPORT void rnic_qp_retire(struct rnic_qp *qp);

/* Destroys a retired QP; retires it first if necessary. */
RNIC_EXPORT int rnic_qp_destroy(struct rnic_qp *qp, uint32_t *ret_async_events);

/* ---- connection manager (used by kernel-abi/) --------------------------- */

/* Numerically equal to enum rdma_cm_event_type. */
enum rnic_cm_event_type {
	RNIC_CM_ADDR_RESOLVED = 0,
	RNIC_CM_ADDR_ERROR = 1,
	RNIC_CM_ROUTE_RESOLVED = 2,
	RNIC_CM_ROUTE_ERROR = 3,
	RNIC_CM_CONNECT_REQUEST = 4,
	RNIC_CM_CONNECT_RESPONSE = 5,
	RNIC_CM_CONNECT_ERROR = 6,
	RNIC_CM_UNREACHABLE = 7,
	RNIC_CM_REJECTED = 8,
	RNIC_CM_ESTABLISHED = 9,
	RNIC_CM_DISCONNECTED = 10,
	RNIC_CM_DEVICE_REMOVAL = 11,
	RNIC_CM_MULTICAST_JOIN = 12, /* the id is that of rnic_cm_join() */
	RNIC_CM_ADDR_CHANGE = 14,
	RNIC_CM_TIMEWAIT_EXIT = 15,
	RNIC_CM_USER = 18,
	RNIC_CM_INTERNAL = 19, /* librdmacm's own */
};

#define RNIC_CM_PD_MAX 256
#define RNIC_CM_ARG_SIZE 8

struct rnic_cm_event {
	enum rnic_cm_event_type type;
	/* 0, negative errno; REJECTED, persona ca: InfiniBand's reason */
	int32_t status;
	uint64_t uid;	    /* the user's cookie of the id of the event; with
			       CONNECT_REQUEST that of the listening id */
	uint32_t id;	    /* id number; CONNECT_REQUEST: of the new id */
	uint32_t listen_id; /* CONNECT_REQUEST */
	uint8_t ird, ord;   /* responder_resources, initiator_depth: as the
			       application must get them */
	uint32_t qp_num;    /* persona ca: the connection's substitute number */
	/* Of an identity for datagrams, where qp_num is the peer's. */
	bool is_ud;
	uint32_t qkey;
	uint8_t dgid[16], gid_idx, tclass;
	uint8_t pd_len;
	uint8_t pd[RNIC_CM_PD_MAX];
};

struct rnic_cm_conn_param {
	uint32_t qp_num;
	uint8_t ird;	   /* responder_resources */
	uint8_t ord;	   /* initiator_depth */
	uint8_t rnr_retry; /* rnr_retry_count, for the peer's Sends */
	/* Active side: uses InfiniBand's steps with any persona. */
	bool wants_response;
	uint8_t pd_len;
	uint8_t pd[RNIC_CM_PD_MAX];
};

struct rnic_cm_info {
	struct rnic_device *dev;	     /* NULL: not bound to one yet */
	struct sockaddr_storage local, peer; /* family 0: unknown */
	enum {
		RNIC_CM_S_IDLE,
		RNIC_CM_S_BOUND,
		RNIC_CM_S_ADDR,
		RNIC_CM_S_ROUTE,
		RNIC_CM_S_LISTEN,
		RNIC_CM_S_CONNECT,
		RNIC_CM_S_REQUEST,
		RNIC_CM_S_ESTABLISHED,
		RNIC_CM_S_DISCONNECT
	} state;
	enum rnic_persona persona; /* of @dev */
	/*
	 * Persona ca, once the peer's start frame has arrived: a substitute for
	 * the peer's QP number (rnic_qp_num_is_cm()), never 0; and the agreed
	 * depths. 0 before.
	 */
	uint32_t peer_num;
	uint8_t ird, ord;
	uint16_t ud_ps;		  /* port space of datagrams; 0: connections */
	uint8_t tos, ack_timeout; /* as set; 0: nothing */
	bool has_qp;		  /* rnic_cm_note_qp() */
};

/*
 * One event channel = one rdma_cm file. Its fd is a pollable eventfd in
 * semaphore mode, readable while events wait. It belongs to the channel; the
 * owner of the file (ucm.c) gives the application duplicates of it.
 */
RNIC_EXPORT int rnic_cm_chan_new(struct rnic_cm_chan **ret_chan);
RNIC_EXPORT int rnic_cm_chan_fd(const struct rnic_cm_chan *chan);
/* The application's numbers for it belong to @file. In a forked child they are
 * used for the re-created channel. */
RNIC_EXPORT void rnic_cm_chan_set_file(struct rnic_cm_chan *chan,
				       const struct util_file *file);
/* The application has closed it: destroys every id that is still on it. Threads
 * that wait for an event leave with -ESHUTDOWN. */
RNIC_EXPORT void rnic_cm_chan_close(struct rnic_cm_chan *chan);
/* No thread is inside a call any more. */
RNIC_EXPORT void rnic_cm_chan_free(struct rnic_cm_chan *chan);

/*
 * The next event. Blocks unless the fd has O_NONBLOCK.
 * Return: 0; -EAGAIN; -EINTR; -ENODEV after fork; -ESHUTDOWN: as of
 *   rnic_chan_read().
 */
RNIC_EXPORT int rnic_cm_get_event(struct rnic_cm_chan *chan,
				  struct rnic_cm_event *ret_ev);

/* Ids are numbers, valid only on their channel. Every call below returns
 * -ENOENT for an unknown number, and -EINVAL in a state that does not allow
 * it. */
RNIC_EXPORT int rnic_cm_create(struct rnic_cm_chan *chan, uint64_t uid,
			       uint32_t *ret_id);
/* *ret_events_reported: events of this id that get_event has returned
 * (librdmacm waits for them). Those still queued are removed. */
RNIC_EXPORT int rnic_cm_destroy(struct rnic_cm_chan *chan, uint32_t id,
				uint32_t *ret_events_reported);
/* The ACCEPT command gives a passive id its user cookie. */
RNIC_EXPORT int rnic_cm_set_uid(struct rnic_cm_chan *chan, uint32_t id,
				uint64_t uid);
/* -EADDRINUSE, -EADDRNOTAVAIL, -EACCES as from bind(2). */
RNIC_EXPORT int rnic_cm_bind(struct rnic_cm_chan *chan, uint32_t id,
			     const struct sockaddr *addr);
/* @src may be NULL.  ADDR_RESOLVED or ADDR_ERROR follows. */
RNIC_EXPORT int rnic_cm_resolve_addr(struct rnic_cm_chan *chan, uint32_t id,
				     const struct sockaddr *src,
				     const struct sockaddr *dst,
				     uint32_t timeout_ms);
RNIC_EXPORT int rnic_cm_resolve_route(struct rnic_cm_chan *chan, uint32_t id,
				      uint32_t timeout_ms);
RNIC_EXPORT int rnic_cm_query(struct rnic_cm_chan *chan, uint32_t id,
			      struct rnic_cm_info *ret_info);
RNIC_EXPORT int rnic_cm_listen(struct rnic_cm_chan *chan, uint32_t id,
			       int backlog);
/* The QP belongs to librdmacm, which moves it along with the events. */
RNIC_EXPORT int rnic_cm_note_qp(struct rnic_cm_chan *chan, uint32_t id);
RNIC_EXPORT int rnic_cm_connect(struct rnic_cm_chan *chan, uint32_t id,
				const struct rnic_cm_conn_param *param);
RNIC_EXPORT int rnic_cm_accept(struct rnic_cm_chan *chan, uint32_t id,
			       const struct rnic_cm_conn_param *param);
/*
 * After CONNECT_RESPONSE: the application is ready, and the QP gets its stream.
 * The peer's ESTABLISHED follows.
 * Return: 0; -EINVAL: no such response, or the QP (of rnic_cm_connect()) is not
 *   IDLE; -ECONNRESET: the peer has closed.
 */
RNIC_EXPORT int rnic_cm_establish(struct rnic_cm_chan *chan, uint32_t id);
RNIC_EXPORT int rnic_cm_reject(struct rnic_cm_chan *chan, uint32_t id,
			       const void *pd, uint8_t pd_len);
RNIC_EXPORT int rnic_cm_disconnect(struct rnic_cm_chan *chan, uint32_t id);
enum rnic_cm_option {
	RNIC_CM_OPT_TOS,       /* value: 0..255 */
	RNIC_CM_OPT_REUSEADDR, /* value: 0, 1 */
	RNIC_CM_OPT_AFONLY,    /* value: 0, 1 */
	/* 0..31: the stream ends if octets are outstanding and the peer's TCP
	 * acknowledges none for 8 times 4.096 us * 2^value, but for at least a
	 * second; 0: for USIW_RETRY_MS. */
	RNIC_CM_OPT_ACK_TIMEOUT
};
RNIC_EXPORT int rnic_cm_set_option(struct rnic_cm_chan *chan, uint32_t id,
				   enum rnic_cm_option opt, uint32_t value);
/*
 * An event that the application, or librdmacm, sends to itself: USER or
 * INTERNAL, with eight octets in pd.
 */
RNIC_EXPORT int rnic_cm_write_event(struct rnic_cm_chan *chan, uint32_t id,
				    enum rnic_cm_event_type type, int status,
				    const void *arg);
/* Moves the id, with its queued events, to another channel.
 * *ret_events_reported as in destroy. */
RNIC_EXPORT int rnic_cm_migrate(struct rnic_cm_chan *from, uint32_t id,
				struct rnic_cm_chan *to, uint32_t *ret_id,
				uint32_t *ret_events_reported);

/*
 * The program cannot have a TCP port because identities use it: moves them to
 * the ports beside theirs (USIW_PORT_SPACE). It does not wait for a lock
 * without a limit, so it may be called wherever bind(2) may. Return: whether
 * any has moved.
 */
RNIC_EXPORT bool rnic_cm_make_way(const struct sockaddr *addr, socklen_t len);

/* ---- a stream from a socket (used by providers/usiw/usiwdv.c) ----------- */

/*
 * RFC 5044 7.1.5, delayed start: a TCP connection on which the ULP has
 * exchanged octets becomes the stream of an IDLE QP. Calls block in the calling
 * thread, until the one deadline of the attachment.
 *
 * The RNIC uses a duplicate of the socket's descriptor; the caller's stays open
 * in every case. Only the peer's start frame is read from the stream.
 */
struct rnic_attach;

struct rnic_attach_options {
	bool is_responder;
	uint8_t rev;	     /* 0: as set (USIW_MPA_REV) */
	uint16_t ird, ord;   /* Initiator: offered and wanted */
	uint32_t timeout_ms; /* 0: as set (USIW_START_MS) */
	const void *pd;	     /* Initiator: Private Data */
	size_t pd_len;
	const void *last; /* Responder: last streaming octets (MPA-147) */
	size_t last_len;
};

struct rnic_attach_start {
	const void *pd; /* the peer's, until the next call */
	size_t pd_len;
	uint8_t rev;
	bool has_crc;
	uint16_t ird, ord; /* Request, rejection: the peer's; else ours */
};

/*
 * Initiator: the Request is made, nothing is sent. Responder: the last
 * streaming octets were passed to TCP.
 * Return: 0; -EINVAL: the QP is not IDLE, @fd is not a connected TCP socket, an
 *   option is out of range; -EBADF; -EMSGSIZE: @pd_len; -ETIMEDOUT; errors of
 *   sending.
 */
RNIC_EXPORT int rnic_attach_open(struct rnic_qp *qp, int fd,
				 const struct rnic_attach_options *opt,
				 struct rnic_attach **ret_attach);

/*
 * Initiator: waits for the Reply; Responder: for the Request.
 * Return: 0; -ECONNREFUSED: rejected; *ret_start is filled for both.
 *   -ECONNRESET: the stream ended; -EPROTO: the octets are no valid start
 *   frame; -ETIMEDOUT.
 */
RNIC_EXPORT int rnic_attach_wait(struct rnic_attach *attach,
				 struct rnic_attach_start *ret_start);

/* Responder, after the Request.  Return: 0, *ret_start filled; -EMSGSIZE;
 * -EINVAL. */
RNIC_EXPORT int rnic_attach_accept(struct rnic_attach *attach, const void *pd,
				   size_t pd_len, uint16_t ird, uint16_t ord,
				   struct rnic_attach_start *ret_start);

/* The rejecting Reply was passed to TCP; streaming may continue. */
RNIC_EXPORT int rnic_attach_reject(struct rnic_attach *attach, const void *pd,
				   size_t pd_len);

/* RTS: the QP has the stream.  Return: 0; -EINVAL: the QP is not IDLE. */
RNIC_EXPORT int rnic_attach_finish(struct rnic_attach *attach);

/* Octets read from the stream so far, all of the start frame. */
RNIC_EXPORT size_t rnic_attach_taken(const struct rnic_attach *attach);

/* In any state; NULL: nothing. */
RNIC_EXPORT void rnic_attach_free(struct rnic_attach *attach);

#endif

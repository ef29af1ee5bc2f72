/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Counters in the shared page (abi/usiw-abi.h): one list, one page per process.
 * With USIW_STAT_DIR it is a file usiw.PID there, which remains when the
 * process ends; else a memfd named usiw-stat.
 */
#ifndef RNIC_STAT_H
#define RNIC_STAT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/usiw-res.h"

/* Whole pages, as large as they are on any machine. */
#define RNIC_STAT_SIZE 65536u

/* X(identifier): the identifier is the counter's name in the page. */
#define RNIC_STAT_LIST(X)                                                      \
	X(tx_octets) /* octets of streams sent in RDMA mode */                 \
	X(rx_octets) /* octets of streams received in RDMA mode */             \
	X(tx_fpdu)   /* and datagrams */                                       \
	X(rx_fpdu)                                                             \
	X(tx_payload) /* DDP payload octets sent, and those of datagrams */    \
	X(rx_direct)  /* DDP payload octets read directly into buffers */      \
	X(rx_staged)  /* ... copied from staging, and those of datagrams */    \
	X(rx_crc_bad)                                                          \
	X(tx_inplace) /* payload octets sent without a copy */                 \
	X(tx_copied)                                                           \
	X(tx_calls) /* sendmsg calls on streams */                             \
	X(rx_calls) /* readv calls on streams */                               \
	X(send_wr)                                                             \
	X(write_wr)                                                            \
	X(read_wr)                                                             \
	X(atomic_wr)                                                           \
	X(local_wr) /* BIND_MW, LOCAL_INV */                                   \
	X(recv_done)                                                           \
	X(recv_held)	/* messages that came before their receive */          \
	X(recv_dropped) /* ... of QPs that may lose them, without receive or   \
			   memory */                                           \
	X(send_lost)	/* messages of such QPs whose peer was not there */    \
	X(read_served)                                                         \
	X(atomic_served)                                                       \
	X(cqe)                                                                 \
	X(cqe_error)                                                           \
	X(term_sent)                                                           \
	X(term_received)                                                       \
	X(passes_poll)	 /* engine passes led by a polling thread */           \
	X(passes_post)	 /* ... by a posting thread */                         \
	X(passes_thread) /* ... by the completion thread */                    \
	X(parks)                                                               \
	X(yields) /* posters that let other threads of their CPU run */        \
	X(streams_opened)                                                      \
	X(streams_ended)                                                       \
	X(local_opened) /* streams and peers of UD by shared memory */         \
	X(local_left)	/* ... and went back to TCP */                         \
	X(local_wakes)	/* sleeping peers woken */                             \
	X(local_tx_octets)                                                     \
	X(local_rx_octets)                                                     \
	X(ud_received)                                                         \
	X(ud_no_recv) /* datagrams without a receive that takes them */        \
	X(ud_bad_qkey)                                                         \
	X(ud_bad)	  /* no datagrams, or with a wrong ICRC */             \
	X(ud_lost)	  /* that could not be sent, or handed on */           \
	X(ud_socket_full) /* that the UDP socket has dropped */                \
	X(mads_sent)                                                           \
	X(mads_received)                                                       \
	X(mads_bad) /* malformed, or for nobody here */                        \
	X(connects)                                                            \
	X(accepts)                                                             \
	X(rejects)                                                             \
	X(half_open_refused)                                                   \
	X(start_timeouts)                                                      \
	X(mr_registered)                                                       \
	X(mem_faults) /* accesses to registered memory that does not exist */  \
	X(qp_created)                                                          \
	X(faults_injected) /* by USIW_FAULT */

enum rnic_stat {
#define RNIC_STAT_ENUM(name) RNIC_STAT_##name,
	RNIC_STAT_LIST(RNIC_STAT_ENUM)
#undef RNIC_STAT_ENUM
		RNIC_STAT_CNT
};

/*
 * The page.  Its address never changes: private memory is there first, and
 * again in a forked child.
 */
union rnic_stat_memory {
	struct usiw_stat_page page;
	struct usiw_stat_file file; /* the same, and what follows it */
	uint8_t whole_pages[RNIC_STAT_SIZE];
};
extern union rnic_stat_memory rnic_stat_memory;

/* Any thread; never fails.  All threads that call it write to the same cache
 * line, so the data path uses rnic_stat_count(). */
static inline void rnic_stat_add(enum rnic_stat stat, uint64_t value)
{
	/* relaxed: a counter orders nothing */
	atomic_fetch_add_explicit(&rnic_stat_memory.page.stat[stat].value,
				  value, memory_order_relaxed);
}

/*
 * A part of the page for one engine, whose lead guards it: counting there needs
 * no atomic addition and shares no cache line with other engines.
 */
struct rnic_stat_part {
	uint32_t num; /* 0: none was free; the counters are shared */
};

struct rnic_stat_part rnic_stat_part_take(void);
/* What was counted there stays. */
void rnic_stat_part_give(struct rnic_stat_part part);

/* @value grows by @more.  Under the lock that guards @part. */
static inline void rnic_stat_grow(_Atomic uint64_t *value,
				  struct rnic_stat_part part, uint64_t more)
{
	/* relaxed: as above */
	if (part.num)
		atomic_store_explicit(
			value,
			atomic_load_explicit(value, memory_order_relaxed) +
				more,
			memory_order_relaxed);
	else
		atomic_fetch_add_explicit(value, more, memory_order_relaxed);
}

/* rnic_stat_add() under the lock that guards @part. */
static inline void rnic_stat_count(struct rnic_stat_part part,
				   enum rnic_stat stat, uint64_t value)
{
	struct usiw_stat_page *page = &rnic_stat_memory.page;

	rnic_stat_grow(part.num ? &page->part[part.num - 1].value[stat]
				: &page->stat[stat].value,
		       part, value);
}

/* Makes the page, or waits for the thread that makes it.  Return: true: this
 * call has made it. */
bool rnic_stat_init(void);

/* The page's file; -1: there is none. */
int rnic_stat_fd(void);

/**
 * Maps @size octets more of the page's file, all 0.
 *
 * @size: whole pages.
 * @ret_offset: in the file.
 *
 * Return: 0; -ENOENT: there is no page; -ESTALE: the application has closed its
 *   descriptor; -EFBIG: beyond RLIMIT_FSIZE, or where records begin
 *   (usiw-observer.h); -ENOSPC and others of the system.
 * Context: one thread at a time.  Not a cancellation point if the caller's
 * scope has UTIL_CANCEL_OFF().
 */
int rnic_stat_extend(size_t size, void **ret_mem, uint64_t *ret_offset)
	__attribute__((warn_unused_result));

/* In a forked child: the next rnic_stat_init() makes a separate page. */
void rnic_stat_fork_child(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Devices: the state that all links over one verbs device share. A device is
 * opened when the first link needs it, and stays open until exit.
 */
#ifndef SDP_DEV_H
#define SDP_DEV_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "pool.h"
#include "spin.h"

#define SDP_DEV_BUCKETS 1024u
/*
 * Size of a Private Buffer in octets. On usiw each message costs a header and
 * two or three system calls, whatever its length. So one message fills a
 * segment of the loopback device: one FPDU of MPA, with its headers and its
 * CRC.
 */
#define SDP_DEV_BUF_SIZE 16384u
#define SDP_DEV_BUF_SIZE_USIW 65280u

struct sdp_link;
struct sdp_waiter;

struct sdp_dev {
	struct sdp_dev *next; /* written with the process lock held */
	char name[64];
	struct ibv_context *ctx;
	struct ibv_device_attr attr;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct sdp_pool pool;
	bool is_usiw;
	bool is_siw;	     /* Linux's siw */
	bool has_windows;    /* type 2 memory windows */
	uint32_t inline_max; /* value to request; poll_lock */
	/* usiwdv_qp_error(3), or NULL. */
	int (*qp_error)(struct ibv_qp *qp);
	/* usiwdv_cq_sleep_begin(3) and _end, or NULL. */
	int (*cq_sleep_begin)(struct ibv_cq *cq);
	void (*cq_sleep_end)(struct ibv_cq *cq);

	/* UTIL_RANK_SDP_POLL. The holder polls the CQ, and may free links. */
	struct util_lock poll_lock;
	struct sdp_link *buckets[SDP_DEV_BUCKETS]; /* by QP number */
	uint32_t link_cnt;
	uint32_t cqe_cnt, sq_total;
	uint32_t srq_posted, srq_target;

	/* UTIL_RANK_SDP_POOL. */
	struct util_lock wait_lock;
	struct sdp_link *timed; /* links with a deadline */
	struct sdp_waiter *waiters;
	bool has_fd_sleeper;
	int wake_fd; /* wakes the thread that sleeps on the descriptors */
	_Atomic uint64_t deadline; /* the earliest deadline; may be too early */
	struct sdp_budget spin;
	/* Number of threads that rely on an event of the channel. */
	_Atomic int armed_cnt;
	/* Counts the passes by threads of the program. The progress thread
	 * reads it. */
	_Atomic uint64_t pass_cnt;
};

/* Devices of the process; the list only grows. */
struct sdp_dev *sdp_dev_first(void);

/* Finds the device of the interface with @addr. Return: 0; -ENODEV; -ENOMEM
 * ... */
int sdp_dev_by_addr(const struct sockaddr *addr, struct sdp_dev **ret_dev);

/* Finds the device of a context that rdma_cm opened. */
int sdp_dev_by_context(struct ibv_context *ctx, struct sdp_dev **ret_dev);

/* Makes room for another link: completions and receives. poll_lock is held. */
int sdp_dev_grow(struct sdp_dev *dev, uint32_t sq_depth);
void sdp_dev_shrink(struct sdp_dev *dev, uint32_t sq_depth);

/* Fills the SRQ. poll_lock is held. */
void sdp_dev_refill(struct sdp_dev *dev);

/* The lock of the list of devices. It is held over a fork. */
struct util_lock *sdp_dev_process_lock(void);

/* A forked child forgets the parent's devices. */
void sdp_dev_forget(void);

#endif

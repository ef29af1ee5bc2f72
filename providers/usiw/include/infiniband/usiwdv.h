/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * usiwdv.h - direct verbs of usiw, for functions that no portable verb has.
 *
 * Link with -lusiw.  See usiwdv_qp_attach_fd(3).
 */
#ifndef INFINIBAND_USIWDV_H
#define INFINIBAND_USIWDV_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Largest private data, octets.  MPA revision 2 uses four of them itself. */
#define USIWDV_PRIVATE_MAX 512

enum usiwdv_role {
	USIWDV_INITIATOR, /* sends the MPA Request */
	USIWDV_RESPONDER, /* waits for it */
};

/* The result of an attachment.  On failure it is filled as far as it went. */
struct usiwdv_attach_result {
	size_t taken;	    /* octets read, all of the peer's start frame */
	size_t peer_pd_len; /* of the peer's private data, if it came */
	uint16_t ird, ord;  /* Request, rejection: of the peer; else to use */
	uint8_t mpa_rev;    /* of the peer's start frame; 0: none came */
	uint8_t has_crc;
};

/**
 * struct usiwdv_attach_attr - options of an attachment; zero: default
 * @size: sizeof(struct usiwdv_attach_attr).
 * @role: enum usiwdv_role.
 * @timeout_ms: limit of the whole call; 0: USIW_START_MS.
 * @mpa_rev: Initiator: revision of the Request; Responder: the highest
 *   accepted; 0: USIW_MPA_REV.
 * @ird, @ord: RDMA Reads that the peer, and this side, may have outstanding.
 * @pd, @pd_len: private data for the peer.
 * @peer_pd, @peer_pd_size: buffer for the peer's private data, or NULL.
 * @last_msg, @last_msg_len: Responder: streaming octets to send before it
 *   waits for the Request.
 * @check_request: Responder: called with the Request in *result and its
 *   private data in @peer_pd.  0 accepts, any other value rejects.  @pd is read
 *   after the call.  NULL accepts.
 * @result: buffer for the result, or NULL.
 */
struct usiwdv_attach_attr {
	size_t size;
	uint32_t role;
	uint32_t timeout_ms;
	uint8_t mpa_rev;
	uint16_t ird, ord;
	const void *pd;
	size_t pd_len;
	void *peer_pd;
	size_t peer_pd_size;
	const void *last_msg;
	size_t last_msg_len;
	int (*check_request)(void *check_arg,
			     const struct usiwdv_attach_result *request);
	void *check_arg;
	struct usiwdv_attach_result *result;
};

/*
 * Make the connected TCP socket @fd the stream of @qp, which is in state INIT.
 * The call blocks.
 * Return: 0: the QP is in state RTS, and the caller should close @fd; else an
 * errno, which is in errno as well.
 */
int usiwdv_qp_attach_fd(struct ibv_qp *qp, int fd,
			const struct usiwdv_attach_attr *attr);

/*
 * Get the error of the TCP connection of @qp, after an event or a completion
 * has reported that @qp has ended.
 * Return: the errno of TCP, for instance ETIMEDOUT, EHOSTUNREACH or ECONNRESET;
 * 0: the TCP connection has not failed.
 */
int usiwdv_qp_error(struct ibv_qp *qp);

/*
 * Sleep on the sockets of a completion queue.  _begin returns a descriptor that
 * is readable when octets have arrived for a queue pair that has the same
 * engine as the CQ (USIW_ENGINES).  Now and then it is readable although
 * nothing is there: a wake-up of the local path may come after its octets have
 * been found (USIW_LOCAL).  A thread that sleeps on it beside the completion
 * channel's descriptor, and polls @cq when it wakes, is woken by the kernel and
 * not by usiw's thread.  _begin arms the CQ, like ibv_req_notify_cq() for any
 * completion.  The thread must then poll the CQ before it sleeps.  _end disarms
 * the CQ; no event comes after it.  Use the descriptor for poll() and similar
 * calls only.
 * Return: the descriptor; -1 and errno, where EAGAIN means: sleep on the
 * channel this time; EOPNOTSUPP: queue pairs of several engines complete into
 * @cq.
 */
int usiwdv_cq_sleep_begin(struct ibv_cq *cq);
void usiwdv_cq_sleep_end(struct ibv_cq *cq);

/*
 * resource_type for the allocators of a parent domain
 * (ibv_alloc_parent_domain(3)).  The upper 32 bits are zero, because there is
 * no enum rdma_driver_id for usiw.  Each stands for the entries of one queue;
 * the memory may have any content.  A resize allocates new entries before it
 * frees the old ones.  A forked child does not free what its parent allocated.
 */
enum usiwdv_res_type {
	USIWDV_RES_SQ = 1,
	USIWDV_RES_RQ,
	USIWDV_RES_SRQ,
	USIWDV_RES_CQ,
};

#ifdef __cplusplus
}
#endif

#endif

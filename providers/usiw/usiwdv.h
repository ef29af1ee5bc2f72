/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * usiwdv.h - direct verbs of usiw: what no portable verb offers.
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

/* Largest private data, octets; MPA revision 2 keeps four of them. */
#define USIWDV_PRIVATE_MAX 512

enum usiwdv_role {
	USIWDV_INITIATOR, /* sends the MPA Request */
	USIWDV_RESPONDER, /* waits for it */
};

/* What came of an attachment, as far as it went; also on failure. */
struct usiwdv_attach_result {
	size_t taken;	    /* octets read: all of the peer's start frame */
	size_t peer_pd_len; /* of the peer's private data, if it came */
	uint16_t ird, ord;  /* Request, rejection: the peer's; else ours */
	uint8_t mpa_rev;    /* of the peer's start frame; 0: none came */
	uint8_t has_crc;
};

/**
 * struct usiwdv_attach_attr - how a socket becomes a stream; zero: default
 * @size: sizeof(struct usiwdv_attach_attr).
 * @role: enum usiwdv_role.
 * @timeout_ms: of the whole call; 0: USIW_START_MS.
 * @mpa_rev: Initiator: revision of the Request; Responder: the highest
 *   accepted; 0: USIW_MPA_REV.
 * @ird, @ord: RDMA Reads taken and made at a time.
 * @pd, @pd_len: private data for the peer.
 * @peer_pd, @peer_pd_size: where the peer's is put; NULL: nobody wants it.
 * @last_msg, @last_msg_len: Responder: streaming octets to send before it
 *   waits for the Request.
 * @check_request: Responder: called with the Request in *result, and the
 * private data in @peer_pd; 0 accepts, anything else rejects, with @pd as it is
 * then. NULL accepts.
 * @result: NULL: nobody wants it.
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
 * Make the connected TCP socket @fd the stream of @qp (INIT).  Blocks.
 * Return: 0: the QP is RTS, @fd is to be closed; else an errno, also in errno.
 */
int usiwdv_qp_attach_fd(struct ibv_qp *qp, int fd,
			const struct usiwdv_attach_attr *attr);

/*
 * Why the TCP connection of @qp has failed, once an event or a completion tells
 * that @qp has ended.  Return: the errno that TCP gave, ETIMEDOUT, EHOSTUNREACH
 * or ECONNRESET for instance; 0: the connection has not failed.
 */
int usiwdv_qp_error(struct ibv_qp *qp);

/*
 * A thread that would sleep on the completion channel of @cq, and polls @cq
 * when it wakes, sleeps on this descriptor beside the channel's: it is readable
 * when octets have come for a queue pair of the context.  So it is woken by the
 * kernel, not by the thread that serves the context meanwhile.  _begin arms the
 * CQ, as ibv_req_notify_cq() for any completion; then the CQ has to be polled
 * before the thread sleeps.  _end takes the arming back: an event that has not
 * come does not come any more.  The descriptor is only for poll() and its kin.
 * Return: the descriptor; -1 and errno, EAGAIN: sleep on the channel this time.
 */
int usiwdv_cq_sleep_begin(struct ibv_cq *cq);
void usiwdv_cq_sleep_end(struct ibv_cq *cq);

/*
 * What the allocators of a parent domain (ibv_alloc_parent_domain(3)) are
 * asked for: their resource_type, whose upper 32 bits are zero, since there is
 * no enum rdma_driver_id for usiw.  Each is the entries of one queue, of any
 * content; a resize asks for new ones before it gives the old ones back.  What
 * a process has made its forked child does not give back.
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

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Direct verbs, the provider's side: the only symbols that the provider
 * exports.  libusiw.so (usiwdv-link.c) finds them through the QP.
 */
#include <infiniband/usiwdv.h>

#include <string.h>

#include "objects.h"
#include "reason.h"
#include "result.h"

/* The version script exports it. */
#define EXPORT __attribute__((visibility("default")))

#define ATTACH "usiwdv_qp_attach_fd"

/* Return: 0; -EINVAL: too short; -E2BIG: an unknown part is not zero. */
static int attr_copy(const struct usiwdv_attach_attr *from,
		     struct usiwdv_attach_attr *to)
{
	const uint8_t *octet = (const uint8_t *)from;

	if (from->size < sizeof(*to))
		return usiw_refuse(EINVAL, ATTACH, "attr->size is %zu, not %zu",
				   (size_t)from->size, sizeof(*to));
	for (size_t i = sizeof(*to); i < from->size; i++)
		if (octet[i])
			return usiw_refuse(E2BIG, ATTACH,
					   "octet %zu of attr, which this usiw "
					   "does not know, is not 0",
					   i);
	*to = *from;
	return 0;
}

static int attr_check(const struct usiwdv_attach_attr *attr)
{
	if (attr->role != USIWDV_INITIATOR && attr->role != USIWDV_RESPONDER)
		return usiw_refuse(EINVAL, ATTACH,
				   "role is %d, not USIWDV_INITIATOR or "
				   "_RESPONDER",
				   (int)attr->role);
	if (attr->mpa_rev > 2 || (attr->pd_len && !attr->pd) ||
	    (attr->last_msg_len && !attr->last_msg) ||
	    (attr->peer_pd_size && !attr->peer_pd))
		return usiw_refuse(EINVAL, ATTACH,
				   "mpa_rev is %u, above 2, or a length has no "
				   "buffer",
				   attr->mpa_rev);
	if (attr->role == USIWDV_INITIATOR &&
	    (attr->check_request || attr->last_msg_len))
		return usiw_refuse(EINVAL, ATTACH,
				   "check_request and last_msg are the "
				   "Responder's");
	/* The Responder learns later whether only four octets fewer fit. */
	if (attr->pd_len > USIWDV_PRIVATE_MAX)
		return usiw_refuse(EMSGSIZE, ATTACH, "pd_len is %zu, above %u",
				   (size_t)attr->pd_len,
				   (unsigned int)USIWDV_PRIVATE_MAX);
	return 0;
}

/* MPA-141 to MPA-143: private data longer than its buffer is an error. */
static int attach_tell(const struct usiwdv_attach_attr *attr,
		       const struct rnic_attach_start *start)
{
	struct usiwdv_attach_result *res = attr->result;

	res->peer_pd_len = start->pd_len;
	res->mpa_rev = start->rev;
	res->has_crc = start->has_crc;
	res->ird = start->ird;
	res->ord = start->ord;
	if (!attr->peer_pd)
		return 0;
	if (start->pd_len > attr->peer_pd_size)
		return usiw_refuse(EMSGSIZE, ATTACH,
				   "peer_pd_size is %zu, and the peer has sent "
				   "%zu octets",
				   (size_t)attr->peer_pd_size,
				   (size_t)start->pd_len);
	if (start->pd_len)
		memcpy(attr->peer_pd, start->pd, start->pd_len);
	return 0;
}

static int attach_initiate(struct rnic_attach *attach,
			   const struct usiwdv_attach_attr *attr)
{
	struct rnic_attach_start start;
	int rc = rnic_attach_wait(attach, &start);
	int told;

	if (rc && rc != -ECONNREFUSED)
		return rc;
	told = attach_tell(attr, &start);
	return told ? told : rc;
}

static int attach_respond(struct rnic_attach *attach,
			  const struct usiwdv_attach_attr *attr)
{
	struct rnic_attach_start start;
	int rc = rnic_attach_wait(attach, &start);

	if (rc)
		return rc;
	rc = attach_tell(attr, &start);
	if (rc)
		return rc;
	if (attr->check_request) {
		attr->result->taken = rnic_attach_taken(attach);
		if (attr->check_request(attr->check_arg, attr->result)) {
			rc = rnic_attach_reject(attach, attr->pd, attr->pd_len);
			return rc ? rc : -ECONNREFUSED;
		}
	}
	rc = rnic_attach_accept(attach, attr->pd, attr->pd_len, attr->ird,
				attr->ord, &start);
	if (rc)
		return rc;
	attr->result->ird = start.ird;
	attr->result->ord = start.ord;
	attr->result->has_crc = start.has_crc;
	return 0;
}

static int attach(struct usiw_qp *qp, int fd,
		  const struct usiwdv_attach_attr *attr)
{
	bool is_responder = attr->role == USIWDV_RESPONDER;
	struct rnic_attach_options opt = {
		.is_responder = is_responder,
		.rev = attr->mpa_rev,
		.ird = attr->ird,
		.ord = attr->ord,
		.timeout_ms = attr->timeout_ms,
		.pd = is_responder ? NULL : attr->pd,
		.pd_len = is_responder ? 0 : attr->pd_len,
		.last = attr->last_msg,
		.last_len = attr->last_msg_len,
	};
	struct rnic_attach *a;
	int rc = rnic_attach_open(qp->rnic, fd, &opt, &a);

	if (rc)
		return rc;
	rc = is_responder ? attach_respond(a, attr) : attach_initiate(a, attr);
	if (rc == 0)
		rc = rnic_attach_finish(a);
	attr->result->taken = rnic_attach_taken(a);
	rnic_attach_free(a);
	return rc;
}

EXPORT int usiwdv_cq_sleep_begin(struct ibv_cq *ibcq)
{
	struct usiw_cq *cq = usiw_cq(ibcq);
	int fd = usiw_is_forked(cq->fork_gen)
			 ? usiw_refuse_forked("usiwdv_cq_sleep_begin")
			 : rnic_cq_sleep_begin(cq->rnic);

	if (fd < 0)
		errno = -fd;
	return fd < 0 ? -1 : fd;
}

EXPORT void usiwdv_cq_sleep_end(struct ibv_cq *ibcq)
{
	rnic_cq_sleep_end(usiw_cq(ibcq)->rnic);
}

EXPORT int usiwdv_qp_error(struct ibv_qp *ibqp)
{
	const struct usiw_qp *qp = usiw_qp(ibqp);

	return usiw_is_forked(qp->fork_gen) ? 0 : rnic_qp_error(qp->rnic);
}

EXPORT int usiwdv_qp_attach_fd(struct ibv_qp *ibqp, int fd,
			       const struct usiwdv_attach_attr *attr)
{
	struct usiwdv_attach_result unwanted;
	struct usiwdv_attach_attr own;
	struct usiw_qp *qp = usiw_qp(ibqp);
	int rc;

	if (!attr)
		return usiw_result_int(
			usiw_refuse(EINVAL, ATTACH, "attr is NULL"));
	if (usiw_is_forked(qp->fork_gen))
		return usiw_result_int(usiw_refuse_forked(ATTACH));
	rc = attr_copy(attr, &own);
	if (rc)
		return usiw_result_int(rc);
	if (!own.result)
		own.result = &unwanted;
	*own.result = (struct usiwdv_attach_result){ 0 };
	rc = attr_check(&own);
	if (!rc)
		rc = attach(qp, fd, &own);
	if (!rc)
		ibqp->state = IBV_QPS_RTS;
	return usiw_result_int(rc);
}

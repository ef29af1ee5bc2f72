/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A provider's module, with the symbols that libusiw.so uses. */
#include <infiniband/usiwdv.h>

__attribute__((visibility("default"))) int
fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
	       struct ibv_send_wr **bad);

int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		   struct ibv_send_wr **bad)
{
	(void)qp;
	*bad = wr;
	return 0;
}

/* These report their arguments. */
__attribute__((visibility("default"))) int
usiwdv_qp_attach_fd(struct ibv_qp *qp, int fd,
		    const struct usiwdv_attach_attr *attr)
{
	return (int)qp->qp_num + fd + (int)attr->timeout_ms;
}

__attribute__((visibility("default"))) int usiwdv_qp_error(struct ibv_qp *qp)
{
	return (int)qp->qp_num + 1;
}

__attribute__((visibility("default"))) int
usiwdv_cq_sleep_begin(struct ibv_cq *cq)
{
	return cq->cqe + 1;
}

__attribute__((visibility("default"))) void
usiwdv_cq_sleep_end(struct ibv_cq *cq)
{
	cq->cqe = 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * libusiw.so, which an application links for the direct verbs.
 *
 * The provider is a plugin that libibverbs loads, and programs cannot be linked
 * to it.  A QP refers to the code that posts to it.  The module with that code
 * is the provider that made the QP.  It has the symbol, unless the QP belongs
 * to another device.
 */
#define _GNU_SOURCE
#include "usiwdv.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

/* The version script exports it. */
#define EXPORT __attribute__((visibility("default")))

typedef int attach_fd_fn(struct ibv_qp *qp, int fd,
			 const struct usiwdv_attach_attr *attr);
typedef int qp_error_fn(struct ibv_qp *qp);
typedef int cq_sleep_begin_fn(struct ibv_cq *cq);
typedef void cq_sleep_end_fn(struct ibv_cq *cq);

/* NULL: the context's provider has no such symbol. */
static void *provider_symbol(const struct ibv_context *ctx, const char *name)
{
	void *op = (void *)(uintptr_t)ctx->ops.post_send;
	struct link_map *map;
	Dl_info info;
	void *module, *symbol;

	if (!op || !dladdr1(op, &info, (void **)&map, RTLD_DL_LINKMAP) ||
	    !map || !map->l_name || !map->l_name[0])
		return NULL;
	module = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
	if (!module)
		return NULL;
	symbol = dlsym(module, name);
	dlclose(module); /* the QP's context keeps it loaded */
	return symbol;
}

EXPORT int usiwdv_qp_attach_fd(struct ibv_qp *qp, int fd,
			       const struct usiwdv_attach_attr *attr)
{
	attach_fd_fn *fn = NULL;

	if (qp)
		fn = (attach_fd_fn *)provider_symbol(qp->context,
						     "usiwdv_qp_attach_fd");
	if (!fn || fn == usiwdv_qp_attach_fd) {
		errno = qp ? EOPNOTSUPP : EINVAL;
		return errno;
	}
	return fn(qp, fd, attr);
}

EXPORT int usiwdv_qp_error(struct ibv_qp *qp)
{
	qp_error_fn *fn =
		(qp_error_fn *)provider_symbol(qp->context, "usiwdv_qp_error");

	return fn && fn != usiwdv_qp_error ? fn(qp) : 0;
}

/* The call is in the data path, so the provider is looked up once. */
struct cq_sleep {
	void *op; /* whose these are */
	cq_sleep_begin_fn *begin;
	cq_sleep_end_fn *end;
};

static const struct cq_sleep *cq_sleep_of(const struct ibv_cq *cq)
{
	static _Thread_local struct cq_sleep found;
	void *op = (void *)(uintptr_t)cq->context->ops.post_send;

	if (found.op == op)
		return &found;
	found.op = op;
	found.begin = (cq_sleep_begin_fn *)provider_symbol(
		cq->context, "usiwdv_cq_sleep_begin");
	found.end = (cq_sleep_end_fn *)provider_symbol(cq->context,
						       "usiwdv_cq_sleep_end");
	return &found;
}

EXPORT int usiwdv_cq_sleep_begin(struct ibv_cq *cq)
{
	cq_sleep_begin_fn *fn = cq_sleep_of(cq)->begin;

	if (!fn || fn == usiwdv_cq_sleep_begin) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return fn(cq);
}

EXPORT void usiwdv_cq_sleep_end(struct ibv_cq *cq)
{
	cq_sleep_end_fn *fn = cq_sleep_of(cq)->end;

	if (fn && fn != usiwdv_cq_sleep_end)
		fn(cq);
}

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
#include <infiniband/usiwdv.h>

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>

#include "util/interpose.h"

/* The version script exports it. */
#define EXPORT __attribute__((visibility("default")))

typedef int attach_fd_fn(struct ibv_qp *qp, int fd,
			 const struct usiwdv_attach_attr *attr);
typedef int qp_error_fn(struct ibv_qp *qp);
typedef int cq_sleep_begin_fn(struct ibv_cq *cq);
typedef void cq_sleep_end_fn(struct ibv_cq *cq);

/* The functions of one provider.  NULL: it has no such function. */
struct provider {
	attach_fd_fn *attach_fd;
	qp_error_fn *qp_error;
	cq_sleep_begin_fn *cq_sleep_begin;
	cq_sleep_end_fn *cq_sleep_end;
};

static void *module_of(void *op)
{
	struct link_map *map;
	Dl_info info;

	if (!op || !dladdr1(op, &info, (void **)&map, RTLD_DL_LINKMAP) ||
	    !map || !map->l_name || !map->l_name[0])
		return NULL;
	return util_loaded_module(map->l_name);
}

/* A module may find the functions below, through what it is linked to. */
static void *symbol_of(void *module, const char *name, const void *own)
{
	void *symbol = module ? dlsym(module, name) : NULL;

	return symbol == own ? NULL : symbol;
}

static void look_up(void *op, struct provider *ret_provider)
{
	void *module = module_of(op);

	ret_provider->attach_fd = (attach_fd_fn *)symbol_of(
		module, "usiwdv_qp_attach_fd",
		(void *)(uintptr_t)usiwdv_qp_attach_fd);
	ret_provider->qp_error = (qp_error_fn *)symbol_of(
		module, "usiwdv_qp_error", (void *)(uintptr_t)usiwdv_qp_error);
	ret_provider->cq_sleep_begin = (cq_sleep_begin_fn *)symbol_of(
		module, "usiwdv_cq_sleep_begin",
		(void *)(uintptr_t)usiwdv_cq_sleep_begin);
	ret_provider->cq_sleep_end = (cq_sleep_end_fn *)symbol_of(
		module, "usiwdv_cq_sleep_end",
		(void *)(uintptr_t)usiwdv_cq_sleep_end);
}

/* Calls are in the data path, so the first provider is looked up once.  A
 * process has one, but for tests. */
static struct provider provider_of(const struct ibv_context *ctx)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct provider first;
	static _Atomic(void *) first_op;
	void *op = (void *)(uintptr_t)ctx->ops.post_send;
	struct provider found;

	/* acquire: pairs with the release below */
	if (op && atomic_load_explicit(&first_op, memory_order_acquire) == op)
		return first;
	look_up(op, &found);
	if (!found.attach_fd)
		return found;
	pthread_mutex_lock(&lock);
	if (!atomic_load_explicit(&first_op, memory_order_relaxed)) {
		first = found;
		atomic_store_explicit(&first_op, op, memory_order_release);
	}
	pthread_mutex_unlock(&lock);
	return found;
}

EXPORT int usiwdv_qp_attach_fd(struct ibv_qp *qp, int fd,
			       const struct usiwdv_attach_attr *attr)
{
	attach_fd_fn *fn = qp ? provider_of(qp->context).attach_fd : NULL;

	if (!fn) {
		errno = qp ? EOPNOTSUPP : EINVAL;
		return errno;
	}
	return fn(qp, fd, attr);
}

EXPORT int usiwdv_qp_error(struct ibv_qp *qp)
{
	qp_error_fn *fn = provider_of(qp->context).qp_error;

	return fn ? fn(qp) : 0;
}

EXPORT int usiwdv_cq_sleep_begin(struct ibv_cq *cq)
{
	cq_sleep_begin_fn *fn = provider_of(cq->context).cq_sleep_begin;

	if (!fn) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return fn(cq);
}

EXPORT void usiwdv_cq_sleep_end(struct ibv_cq *cq)
{
	cq_sleep_end_fn *fn = provider_of(cq->context).cq_sleep_end;

	if (fn)
		fn(cq);
}

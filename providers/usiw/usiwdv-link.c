/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * libusiw.so: what an application links for the direct verbs.
 *
 * The provider is a plugin that libibverbs loads by whatever path and name,
 * and that nobody can be linked to.  A QP, however, knows the code that posts
 * to it: the module which holds that is the provider that made the QP, and has
 * the symbol, or the QP is of another device.
 */
#define _GNU_SOURCE
#include "usiwdv.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

/* The version script lets it out. */
#define EXPORT __attribute__((visibility("default")))

typedef int attach_fd_fn(struct ibv_qp *qp, int fd,
			 const struct usiwdv_attach_attr *attr);

/* NULL: the QP's provider has no such symbol. */
static void *provider_symbol(const struct ibv_qp *qp, const char *name)
{
	void *op = (void *)(uintptr_t)qp->context->ops.post_send;
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
	dlclose(module); /* the QP's context keeps it */
	return symbol;
}

EXPORT int usiwdv_qp_attach_fd(struct ibv_qp *qp, int fd,
			       const struct usiwdv_attach_attr *attr)
{
	attach_fd_fn *fn = NULL;

	if (qp)
		fn = (attach_fd_fn *)provider_symbol(qp, "usiwdv_qp_attach_fd");
	if (!fn || fn == usiwdv_qp_attach_fd) {
		errno = qp ? EOPNOTSUPP : EINVAL;
		return errno;
	}
	return fn(qp, fd, attr);
}

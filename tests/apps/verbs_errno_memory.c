/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Wrong arguments to the verbs of domains, memory regions, memory windows and
 * device memory.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs_errno.h"

static void domains(void)
{
	struct ibv_td_init_attr td = { .comp_mask = 1 };
	struct ibv_parent_domain_init_attr p = { .pd = w.other_pd };

	NULLS(alloc_td, EOPNOTSUPP, ibv_alloc_td(w.context, &td));
	NULLS(alloc_td, EINVAL, ibv_alloc_td(w.context, NULL));
	NULLS(alloc_parent_domain, EINVAL,
	      ibv_alloc_parent_domain(w.context, NULL));
	NULLS(alloc_parent_domain, EINVAL,
	      ibv_alloc_parent_domain(w.context, &p));
	p.pd = NULL;
	NULLS(alloc_parent_domain, EINVAL,
	      ibv_alloc_parent_domain(w.context, &p));
	p.pd = w.pd;
	p.td = w.other_td;
	NULLS(alloc_parent_domain, EINVAL,
	      ibv_alloc_parent_domain(w.context, &p));
	p.td = NULL;
	p.comp_mask =
		IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS; /* there are none */
	NULLS(alloc_parent_domain, EINVAL,
	      ibv_alloc_parent_domain(w.context, &p));
	p.comp_mask = 1u << 31;
	NULLS(alloc_parent_domain, EOPNOTSUPP,
	      ibv_alloc_parent_domain(w.context, &p));
	GIVES(dealloc_td, EBUSY, ibv_dealloc_td(w.td));
	GIVES(dealloc_pd, EBUSY, ibv_dealloc_pd(w.pd));
	GIVES(dealloc_pd, EBUSY, ibv_dealloc_pd(w.parent));
	CALLED_BY_LIBRARY(alloc_pd);	 /* no argument that could be wrong */
	CALLED_BY_LIBRARY(free_context); /* ibv_close_device() */
}

static struct ibv_mr *reg_on_demand(void *addr, size_t len, int access)
{
	return ibv_reg_mr(w.pd, addr, len, access | IBV_ACCESS_ON_DEMAND);
}

/* @readable: two read-only pages. */
static void advice(char *readable)
{
	const enum ibv_advise_mr_advice prefetch =
		IBV_ADVISE_MR_ADVICE_PREFETCH;
	const enum ibv_advise_mr_advice prefetch_write =
		IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	struct ibv_mr *all, *mr;
	struct ibv_sge sge = { .addr = (uintptr_t)readable, .length = 8192 };

	all = reg_on_demand(NULL, SIZE_MAX,
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				    IBV_ACCESS_REMOTE_READ);
	mr = reg_on_demand(readable, 8192, 0);
	NEEDS(all && mr);
	sge.lkey = all->lkey;
	GIVES(advise_mr, 0, ibv_advise_mr(w.pd, prefetch, 0, &sge, 1));
	GIVES(advise_mr, 0,
	      ibv_advise_mr(w.pd, prefetch, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1));
	GIVES(advise_mr, EFAULT,
	      ibv_advise_mr(w.pd, prefetch_write, 0, &sge, 1));
	GIVES(advise_mr, EINVAL, ibv_advise_mr(w.pd, prefetch, 0, &sge, 0));
	GIVES(advise_mr, EINVAL,
	      ibv_advise_mr(w.pd, prefetch, 1u << 9, &sge, 1));
	/* ENOTSUP in its man page: the same number */
	GIVES(advise_mr, EOPNOTSUPP,
	      ibv_advise_mr(w.pd, (enum ibv_advise_mr_advice)77, 0, &sge, 1));
	GIVES(advise_mr, EPERM, ibv_advise_mr(w.pd2, prefetch, 0, &sge, 1));
	sge.addr = 64;
	GIVES(advise_mr, EFAULT, ibv_advise_mr(w.pd, prefetch, 0, &sge, 1));
	GIVES(advise_mr, 0,
	      ibv_advise_mr(w.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0,
			    &sge, 1));
	sge.addr = (uintptr_t)readable;
	sge.lkey = mr->lkey;
	GIVES(advise_mr, 0, ibv_advise_mr(w.pd, prefetch, 0, &sge, 1));
	GIVES(advise_mr, EPERM,
	      ibv_advise_mr(w.pd, prefetch_write, 0, &sge, 1));
	sge.length++;
	GIVES(advise_mr, EFAULT, ibv_advise_mr(w.pd, prefetch, 0, &sge, 1));
	sge.lkey ^= 1;
	GIVES(advise_mr, EFAULT, ibv_advise_mr(w.pd, prefetch, 0, &sge, 1));
	sge = (struct ibv_sge){ (uintptr_t)w.buf, 8, w.mr->lkey };
	GIVES(advise_mr, ENOENT, ibv_advise_mr(w.pd, prefetch, 0, &sge, 1));
	GIVES(advise_mr, EOPNOTSUPP,
	      ibv_advise_mr(w.pd, (enum ibv_advise_mr_advice)99, 0, &sge, 1));
	GIVES(dereg_mr, 0, ibv_dereg_mr(all));
	GIVES(dereg_mr, 0, ibv_dereg_mr(mr));
}

static const int wrong_access[] = { IBV_ACCESS_REMOTE_WRITE,
				    IBV_ACCESS_REMOTE_ATOMIC, 1 << 15,
				    INT32_MIN };

static void registration(void)
{
	/* With a constant, the macros of verbs.h do not call the verb. */
	volatile int none = 0, rw = IBV_ACCESS_LOCAL_WRITE;
	volatile int on_demand = IBV_ACCESS_ON_DEMAND;
	char *readable =
		mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	NEEDS(readable != MAP_FAILED);
	for (size_t i = 0; i < sizeof(wrong_access) / sizeof(int); i++) {
		volatile int access = wrong_access[i];

		NULLS(reg_mr, EINVAL,
		      ibv_reg_mr(w.pd, w.buf, BUF_SIZE, access));
	}
	NULLS(reg_mr, EFAULT, ibv_reg_mr(w.pd, (void *)4096, 4096, none));
	/* checked when it is accessed */
	mr = reg_on_demand(readable, 1 << 20, rw);
	HOLDS(mr != NULL);
	if (mr)
		GIVES(dereg_mr, 0, ibv_dereg_mr(mr));
	NULLS(reg_mr, EINVAL, ibv_reg_mr(w.pd, NULL, SIZE_MAX, rw));
	NULLS(reg_mr, EINVAL,
	      ibv_reg_mr_iova(w.pd, NULL, SIZE_MAX, 4096, on_demand));
	advice(readable);
	NULLS(reg_mr, EFAULT, ibv_reg_mr(w.pd, readable, 8192, rw));
	mr = ibv_reg_mr(w.pd, readable, 8192, none);
	HOLDS(mr != NULL);
	if (mr)
		GIVES(dereg_mr, 0, ibv_dereg_mr(mr));
	NEEDS(munmap(readable + 4096, 4096) == 0);
	NULLS(reg_mr, EFAULT, ibv_reg_mr(w.pd, readable, 8192, none));
	NEEDS(munmap(readable, 4096) == 0);
	/* wraps around the end of the address space */
	HOLDS(!ibv_reg_mr(w.pd, (void *)(uintptr_t)-4096, 8192, none));
	CALLED_BY_LIBRARY(alloc_null_mr); /* no argument */
}

static void rereg(void)
{
	const int translation = IBV_REREG_MR_CHANGE_TRANSLATION;
	const int access = IBV_REREG_MR_CHANGE_ACCESS;
	const int pd = IBV_REREG_MR_CHANGE_PD;
	struct ibv_mr *mr = ibv_reg_mr(w.pd, w.buf, BUF_SIZE, 1);

	NEEDS(mr);
	for (size_t i = 0; i < sizeof(wrong_access) / sizeof(int); i++)
		FAILS(rereg_mr, IBV_REREG_MR_ERR_CMD, EINVAL,
		      ibv_rereg_mr(mr, access, NULL, NULL, 0, wrong_access[i]));
	FAILS_IN_LIBRARY(IBV_REREG_MR_ERR_INPUT, EINVAL,
			 ibv_rereg_mr(mr, 8, w.pd, w.buf, 1, 0));
	FAILS_IN_LIBRARY(IBV_REREG_MR_ERR_INPUT, EINVAL,
			 ibv_rereg_mr(mr, 1 << 10, NULL, NULL, 0, 0));
	FAILS_IN_LIBRARY(IBV_REREG_MR_ERR_INPUT, EINVAL,
			 ibv_rereg_mr(mr, translation, w.pd, NULL, 1, 0));
	FAILS_IN_LIBRARY(IBV_REREG_MR_ERR_INPUT, EINVAL,
			 ibv_rereg_mr(mr, translation, w.pd, w.buf, 0, 0));
	FAILS(rereg_mr, IBV_REREG_MR_ERR_CMD, EINVAL,
	      ibv_rereg_mr(mr, 0, w.pd, w.buf, 1, 0));
	FAILS(rereg_mr, IBV_REREG_MR_ERR_CMD, EINVAL,
	      ibv_rereg_mr(mr, pd, NULL, NULL, 0, 0));
	FAILS(rereg_mr, IBV_REREG_MR_ERR_CMD, EINVAL,
	      ibv_rereg_mr(mr, pd, w.other_pd, NULL, 0, 0));
	FAILS(rereg_mr, IBV_REREG_MR_ERR_CMD, EFAULT,
	      ibv_rereg_mr(mr, translation, w.pd, (void *)(uintptr_t)4096, 64,
			   0));
	/* none of them has changed it */
	HOLDS(mr->pd == w.pd && mr->addr == w.buf && mr->length == BUF_SIZE);
	GIVES(rereg_mr, 0, ibv_rereg_mr(mr, access, w.pd, NULL, 0, 5));
	GIVES(rereg_mr, 0, ibv_rereg_mr(mr, translation, w.pd, w.buf, 1, 0));
	GIVES(rereg_mr, 0, ibv_rereg_mr(mr, pd, w.pd2, NULL, 0, 0));
	HOLDS(mr->pd == w.pd2 && mr->length == 1);
	GIVES(dealloc_pd, EBUSY, ibv_dealloc_pd(w.pd2));
	GIVES(dereg_mr, 0, ibv_dereg_mr(mr));
}

static void device_memory(void)
{
	const unsigned int zero = IBV_ACCESS_ZERO_BASED;
	struct ibv_alloc_dm_attr attr = { .length = 4096, .comp_mask = 1 };
	struct ibv_dm foreign = { .context = w.other };
	struct ibv_device_attr_ex ex;
	char octets[128] = "";
	struct ibv_dm *dm;
	struct ibv_mr *mr;

	GIVES(query_device_ex, 0, ibv_query_device_ex(w.context, NULL, &ex));
	HOLDS(ex.max_dm_size >= 4096);
	NULLS(alloc_dm, EINVAL, ibv_alloc_dm(w.context, &attr));
	attr.comp_mask = 0;
	attr.length = 0;
	NULLS(alloc_dm, EINVAL, ibv_alloc_dm(w.context, &attr));
	attr.length = ex.max_dm_size + 1;
	NULLS(alloc_dm, ENOMEM, ibv_alloc_dm(w.context, &attr));
	attr.length = SIZE_MAX;
	NULLS(alloc_dm, ENOMEM, ibv_alloc_dm(w.context, &attr));
	attr.length = 128;
	dm = ibv_alloc_dm(w.context, &attr);
	NEEDS(dm);
	HOLDS(ibv_memcpy_to_dm(dm, 0, octets, 128) == 0);
	HOLDS(ibv_memcpy_to_dm(dm, 4, octets, 128) == EFAULT);
	HOLDS(ibv_memcpy_from_dm(octets, dm, UINT64_MAX - 3, 8) == EFAULT);
	HOLDS(ibv_memcpy_from_dm(octets, dm, 1, 4) == EINVAL);
	NULLS(reg_dm_mr, EINVAL, ibv_reg_dm_mr(w.pd, dm, 0, 128, 1));
	NULLS(reg_dm_mr, EINVAL, ibv_reg_dm_mr(w.pd, dm, 1, 128, zero));
	NULLS(reg_dm_mr, EINVAL, ibv_reg_dm_mr(w.pd, w.other_dm, 0, 64, 0));
	NULLS(reg_dm_mr, EINVAL, ibv_reg_dm_mr(w.pd, &foreign, 0, 64, 0));
	NULLS(reg_dm_mr, EINVAL, ibv_reg_dm_mr(w.pd, w.dm, 4096, 64, zero));
	NULLS(reg_dm_mr, EINVAL,
	      ibv_reg_dm_mr(w.pd, w.dm, UINT64_MAX, 64, zero));
	NULLS(reg_dm_mr, EINVAL, ibv_reg_dm_mr(w.pd, w.dm, 0, SIZE_MAX, zero));
	mr = ibv_reg_dm_mr(w.pd, dm, 1, 127, zero);
	NEEDS(mr);
	GIVES(free_dm, EBUSY, ibv_free_dm(dm));
	GIVES(dereg_mr, 0, ibv_dereg_mr(mr));
	GIVES(free_dm, 0, ibv_free_dm(dm));
}

static void windows(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(w.pd, IBV_MW_TYPE_1);
	struct ibv_mw none = { .context = w.context,
			       .pd = w.pd,
			       .type = IBV_MW_TYPE_1 };
	struct ibv_mw_bind bind = { .bind_info = { .mr = w.mr } };

	if (!mw) { /* a build without windows: all three fail */
		NULLS(alloc_mw, EOPNOTSUPP, ibv_alloc_mw(w.pd, IBV_MW_TYPE_1));
		GIVES(bind_mw, EOPNOTSUPP, ibv_bind_mw(w.qp, &none, &bind));
		GIVES(dealloc_mw, EOPNOTSUPP, ibv_dealloc_mw(&none));
		return;
	}
	NULLS(alloc_mw, EINVAL, ibv_alloc_mw(w.pd, (enum ibv_mw_type)3));
	NULLS(alloc_mw, EINVAL, ibv_alloc_mw(w.pd, (enum ibv_mw_type)99));
	bind.bind_info.length = 64;
	bind.bind_info.addr = (uintptr_t)w.buf;
	GIVES(bind_mw, EINVAL,
	      ibv_bind_mw(w.qp, mw, &bind)); /* not connected */
	GIVES(dealloc_mw, 0, ibv_dealloc_mw(mw));
}

/* Objects that another process would have to pass on. */
static void import(void)
{
	volatile int none = 0;
	int null = open("/dev/null", O_RDWR);

	errno = 0;
	HOLDS(!ibv_import_device(w.context->cmd_fd) && errno == EOPNOTSUPP);
	errno = 0;
	HOLDS(!ibv_import_device(-1) && errno == EINVAL);
	HOLDS(!ibv_import_device(null));
	NULLS(import_pd, EOPNOTSUPP, ibv_import_pd(w.context, w.pd->handle));
	NULLS(import_mr, EOPNOTSUPP, ibv_import_mr(w.pd, w.mr->handle));
	NULLS(import_dm, EOPNOTSUPP, ibv_import_dm(w.context, 1));
	CALLED_BY_LIBRARY(unimport_pd); /* there are none to pass */
	CALLED_BY_LIBRARY(unimport_mr);
	CALLED_BY_LIBRARY(unimport_dm);
	/* no dma-buf, and no descriptor, as programs ask for support */
	NULLS(reg_dmabuf_mr, EINVAL,
	      ibv_reg_dmabuf_mr(w.pd, 0, 4096, 0, null, 1));
	NULLS(reg_dmabuf_mr, EBADF,
	      ibv_reg_dmabuf_mr(w.pd, 0, 4096, 0, -1, none));
	NULLS(reg_dmabuf_mr, EBADF, ibv_reg_dmabuf_mr(w.pd, 0, 0, 0, -1, none));
	close(null);
}

void check_memory(void)
{
	domains();
	registration();
	rereg();
	device_memory();
	windows();
	import();
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The null region: zeroes to read from, and a sink. */
#include "null-mr.h"

#include "util/reason.h"
#include "mr.h"

#include <errno.h>
#include <sys/mman.h>

/*
 * Address space as long as a message may be; the kernel gives it one page of
 * zeroes over and over.  What arrives is placed segment by segment, each at
 * the front of the sink, so that it never takes more than one segment's pages.
 */
static void *null_map(int prot)
{
	void *mem = mmap(NULL, rnic_null_mr_size(), prot,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return mem == MAP_FAILED ? NULL : mem;
}

static bool null_make(struct rnic_mr_table *table)
{
	UTIL_LOCKED(&table->lock);

	if (!table->null_zero)
		table->null_zero = null_map(PROT_READ);
	if (!table->null_sink)
		table->null_sink = null_map(PROT_READ | PROT_WRITE);
	return table->null_zero && table->null_sink;
}

#define ALLOC "ibv_alloc_null_mr"

int rnic_mr_alloc_null(struct rnic_pd *pd, struct rnic_mr **ret_mr)
{
	struct rnic_mr shape = {
		.access = RNIC_ACCESS_LOCAL_WRITE,
		.kind = RNIC_MR_NULL,
	};

	if (rnic_pd_is_forked(pd))
		return -ENODEV;
	if (!null_make(&pd->ctx->mrs))
		return util_refuse_memory("verbs", ALLOC);
	return rnic_mr_add(pd, ALLOC, &shape, ret_mr);
}

void rnic_null_mr_fini(struct rnic_mr_table *table)
{
	if (table->null_zero)
		munmap(table->null_zero, rnic_null_mr_size());
	if (table->null_sink)
		munmap(table->null_sink, rnic_null_mr_size());
	table->null_zero = NULL;
	table->null_sink = NULL;
}

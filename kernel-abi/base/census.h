/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The resources of all usiw processes that this one may see, as a kernel lists
 * them: by device, with the process that each belongs to.
 *
 * What processes say of themselves is not trusted: numbers may occur twice, and
 * enums may have any value.
 */
#ifndef KABI_CENSUS_H
#define KABI_CENSUS_H

#include <stddef.h>
#include <stdint.h>

#include "abi/usiw-res.h"

struct kabi_resource {
	uint32_t pid;	  /* as this process calls it */
	uint32_t ifindex; /* of its device; 0: it has none, or none yet */
	/* PD: its queue pairs, SRQs, regions and windows; CQ: what completes
	 * into it. */
	uint64_t user_cnt;
	const struct usiw_res_head *slot; /* struct usiw_res_KIND */
};

struct kabi_resources {
	struct kabi_resource *row; /* by process, then by rising number */
	size_t cnt, room;
};

struct kabi_census {
	struct kabi_resources kind[USIW_RES_KIND_CNT];
};

/* Return: 0, and *@ret_census is freed by kabi_census_free(); -ENOMEM. */
int kabi_census_take(struct kabi_census *ret_census)
	__attribute__((warn_unused_result));
void kabi_census_free(struct kabi_census *census);

#endif

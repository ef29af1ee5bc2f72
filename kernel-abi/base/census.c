/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See census.h. */
#include "base/census.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "base/peers.h"

/* ---- one process --------------------------------------------------------- */

struct taking {
	struct kabi_census *census;
	enum usiw_res_kind kind;
	uint32_t pid;
	size_t first[USIW_RES_KIND_CNT]; /* rows of this process */
};

static int rows_reserve(struct kabi_resources *rows)
{
	size_t room = rows->room ? 2 * rows->room : 32;
	struct kabi_resource *more;

	if (rows->cnt < rows->room)
		return 0;
	more = realloc(rows->row, room * sizeof(*more));
	if (!more)
		return -ENOMEM;
	rows->row = more;
	rows->room = room;
	return 0;
}

static int resource_take(void *arg, const void *resource,
			 struct util_stat_place place)
{
	struct taking *taking = arg;
	struct kabi_resources *rows = &taking->census->kind[taking->kind];
	size_t size = usiw_res_size(taking->kind);
	void *slot = NULL;

	(void)place;
	if (rows_reserve(rows) == 0)
		slot = util_alloc_lines(1, size);
	if (!slot)
		return -ENOMEM;
	memcpy(slot, resource, size);
	rows->row[rows->cnt++] =
		(struct kabi_resource){ .pid = taking->pid, .slot = slot };
	return 0;
}

static int row_compare(const void *a, const void *b)
{
	uint32_t x = ((const struct kabi_resource *)a)->slot->id;
	uint32_t y = ((const struct kabi_resource *)b)->slot->id;

	return x < y ? -1 : x > y;
}

/* The process's resource with that number; NULL: none. */
static struct kabi_resource *find(const struct taking *taking,
				  enum usiw_res_kind kind, uint32_t id)
{
	const struct kabi_resources *rows = &taking->census->kind[kind];
	const struct usiw_res_head head = { .id = id };
	const struct kabi_resource key = { .slot = &head };
	size_t first = taking->first[kind];

	if (rows->cnt == first)
		return NULL;
	return bsearch(&key, rows->row + first, rows->cnt - first, sizeof(key),
		       row_compare);
}

/* References to other resources of the process, by their numbers. */
static const struct reference {
	enum usiw_res_kind from, to;
	size_t at; /* a uint32_t of the slot */
	bool is_owner, is_use;
} references[] = {
#define FIELD(kind, field) offsetof(struct usiw_res_##kind, field)
	{ USIW_RES_CONTEXT, USIW_RES_DEVICE, FIELD(context, device), true,
	  false },
	{ USIW_RES_PD, USIW_RES_CONTEXT, FIELD(pd, context), true, false },
	{ USIW_RES_CQ, USIW_RES_CONTEXT, FIELD(cq, context), true, false },
	{ USIW_RES_SRQ, USIW_RES_CONTEXT, FIELD(srq, context), true, false },
	{ USIW_RES_SRQ, USIW_RES_PD, FIELD(srq, pd), false, true },
	{ USIW_RES_QP, USIW_RES_CONTEXT, FIELD(qp, context), true, false },
	{ USIW_RES_QP, USIW_RES_PD, FIELD(qp, pd), false, true },
	{ USIW_RES_QP, USIW_RES_CQ, FIELD(qp, send_cq), false, true },
	{ USIW_RES_QP, USIW_RES_CQ, FIELD(qp, recv_cq), false, true },
	{ USIW_RES_MR, USIW_RES_PD, FIELD(mr, pd), true, true },
	{ USIW_RES_ID, USIW_RES_DEVICE, FIELD(id, device), true, false },
#undef FIELD
};

/* Those that it refers to were linked before. */
static void row_link(const struct taking *taking, enum usiw_res_kind kind,
		     struct kabi_resource *row)
{
	const struct reference *ref = references;
	struct kabi_resource *to;
	uint32_t id;

	if (kind == USIW_RES_DEVICE)
		memcpy(&row->ifindex,
		       (const uint8_t *)row->slot +
			       offsetof(struct usiw_res_device, ifindex),
		       sizeof(row->ifindex));
	for (; ref < references + sizeof(references) / sizeof(*ref); ref++) {
		if (ref->from != kind)
			continue;
		memcpy(&id, (const uint8_t *)row->slot + ref->at, sizeof(id));
		to = find(taking, ref->to, id);
		if (to && ref->is_owner)
			row->ifindex = to->ifindex;
		if (to && ref->is_use)
			to->user_cnt++;
	}
}

static int kind_take(struct taking *taking, const struct util_stat *stat,
		     enum usiw_res_kind kind)
{
	struct kabi_resources *rows = &taking->census->kind[kind];
	size_t first = taking->first[kind];
	int ret;

	taking->kind = kind;
	ret = util_stat_each(stat, kind, resource_take, taking);
	if (rows->cnt > first)
		qsort(rows->row + first, rows->cnt - first, sizeof(*rows->row),
		      row_compare);
	return ret;
}

/* A page that ends in the middle has the resources before that. */
static int process_take(void *arg, const struct kabi_peer *peer)
{
	struct taking taking = { .census = arg, .pid = (uint32_t)peer->pid };
	const struct kabi_resources *rows = taking.census->kind;
	int ret = 0;

	if (!peer->is_running)
		return 0;
	for (int i = 1; i < USIW_RES_KIND_CNT; i++)
		taking.first[i] = rows[i].cnt;
	for (int i = 1; ret >= 0 && i < USIW_RES_KIND_CNT; i++)
		ret = kind_take(&taking, peer->stat, (enum usiw_res_kind)i);
	/* The kinds are in such an order. */
	for (int i = 1; i < USIW_RES_KIND_CNT; i++)
		for (size_t r = taking.first[i]; r < rows[i].cnt; r++)
			row_link(&taking, (enum usiw_res_kind)i,
				 &rows[i].row[r]);
	return ret == -ENOMEM ? ret : 0;
}

/* ---- all ----------------------------------------------------------------- */

void kabi_census_free(struct kabi_census *census)
{
	for (int i = 0; i < USIW_RES_KIND_CNT; i++) {
		struct kabi_resources *rows = &census->kind[i];

		for (size_t r = 0; r < rows->cnt; r++)
			free((void *)(uintptr_t)rows->row[r].slot);
		free(rows->row);
	}
	memset(census, 0, sizeof(*census));
}

int kabi_census_take(struct kabi_census *ret_census)
{
	struct kabi_census census = { 0 };
	int ret = kabi_peers_each(process_take, &census);

	if (ret < 0) {
		kabi_census_free(&census);
		return ret;
	}
	*ret_census = census;
	return 0;
}

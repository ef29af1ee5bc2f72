/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The table of operations. Each operation is set, is where the installed
 * library looks for it, and returns EOPNOTSUPP in its own way if it is not
 * supported.
 */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "fake-rnic.h"

static const char *const op_names[] = {
#define VERBS_ROW(since, kind, ret, name, params, args) #name,
#include "providers/usiw/verbs-ops.def"
};

/* Rows that are left to the library. */
#define LIB_IS_LIB(name) #name,
#define LIB_IS_DO(name)
#define LIB_IS_POST(name)
#define LIB_IS_COUNT(name)
#define LIB_IS_POLL(name)
#define LIB_IS_MAKE(name)
#define LIB_IS_TELL(name)
#define LIB_IS_INT(name)
#define LIB_IS_PTR(name)
#define LIB_IS_FD(name)
#define LIB_IS_VOID(name)
#define LIB_IS_REREG(name)
static const char *const lib_names[] = {
#define VERBS_ROW(since, kind, ret, name, params, args) LIB_IS_##kind(name)
#include "providers/usiw/verbs-ops.def"
	NULL
};

static bool is_left_to_library(const char *name)
{
	size_t i;

	for (i = 0; lib_names[i]; i++)
		if (strcmp(lib_names[i], name) == 0)
			return true;
	return false;
}

CASE(every_op_is_set)
{
	void *ops[VERBS_OP_CNT];
	size_t i;

	assert_int_equal(ARRAY_LEN(op_names), VERBS_OP_CNT);
	memcpy(ops, &usiw_context_ops, sizeof(ops));
	for (i = 0; i < VERBS_OP_CNT; i++)
		if (!ops[i] != is_left_to_library(op_names[i]))
			fail_msg("%s is %s", op_names[i],
				 ops[i] ? "set" : "not set");
}

/* The library's structure is sorted alphabetically. */
CASE(rows_are_sorted)
{
	for (size_t i = 1; i < VERBS_OP_CNT; i++)
		if (strcmp(op_names[i - 1], op_names[i]) >= 0)
			fail_msg("%s before %s", op_names[i - 1], op_names[i]);
}

static const uint8_t op_since[] = {
#define VERBS_ROW(since, kind, ret, name, params, args) since,
#include "providers/usiw/verbs-ops.def"
};

/* For every layout, whichever the installed library has. */
CASE(each_layout_has_its_rows)
{
	const struct usiw_library_layout *layout = usiw_library_layouts;
	void *all[VERBS_OP_CNT], *ops[VERBS_OP_CNT];
	size_t cnt;

	memcpy(all, &usiw_context_ops, sizeof(all));
	for (; layout->op_cnt; layout++) {
		cnt = usiw_ops_of(layout->layout, ops);
		if (cnt != layout->op_cnt)
			fail_msg("layout %u has %zu rows", layout->layout, cnt);
		for (size_t i = 0, at = 0; i < VERBS_OP_CNT; i++) {
			if (op_since[i] > layout->layout)
				continue;
			if (ops[at++] != all[i])
				fail_msg("layout %u: %s is not row %zu",
					 layout->layout, op_names[i], at - 1);
		}
	}
}

/*
 * The library copies most operations into the public context by name. Under
 * each name it must have found what the table has there. This detects a missing
 * or additional operation above it.
 */
#define SAME(field, name)                                                      \
	do {                                                                   \
		void *seen_, *meant_;                                          \
		memcpy(&seen_, &(field), sizeof(seen_));                       \
		memcpy(&meant_, &usiw_context_ops.name, sizeof(meant_));       \
		if (seen_ != meant_)                                           \
			fail_msg("the library has another %s", #name);         \
	} while (0)

FAKE_CASE(library_found_each_op_by_name)
{
	struct fake_world *w = *state;
	struct verbs_context *v = verbs_get_ctx(w->context);
	struct ibv_context_ops *o = &w->context->ops;

	SAME(v->advise_mr, advise_mr);
	SAME(v->alloc_dm, alloc_dm);
	SAME(o->alloc_mw, alloc_mw);
	SAME(v->alloc_null_mr, alloc_null_mr);
	SAME(v->alloc_parent_domain, alloc_parent_domain);
	SAME(o->_compat_alloc_pd, alloc_pd);
	SAME(v->alloc_td, alloc_td);
	SAME(o->_compat_async_event, async_event);
	SAME(v->attach_counters_point_flow, attach_counters_point_flow);
	SAME(o->_compat_attach_mcast, attach_mcast);
	SAME(o->bind_mw, bind_mw);
	SAME(v->close_xrcd, close_xrcd);
	SAME(o->_compat_cq_event, cq_event);
	SAME(o->_compat_create_ah, create_ah);
	SAME(v->create_counters, create_counters);
	SAME(o->_compat_create_cq, create_cq);
	SAME(v->ibv_create_flow, create_flow);
	SAME(v->create_flow_action_esp, create_flow_action_esp);
	SAME(o->_compat_create_qp, create_qp);
	SAME(v->create_qp_ex, create_qp_ex);
	SAME(v->create_rwq_ind_table, create_rwq_ind_table);
	SAME(o->_compat_create_srq, create_srq);
	SAME(v->create_srq_ex, create_srq_ex);
	SAME(v->create_wq, create_wq);
	SAME(o->dealloc_mw, dealloc_mw);
	SAME(o->_compat_dealloc_pd, dealloc_pd);
	SAME(v->dealloc_td, dealloc_td);
	SAME(o->_compat_dereg_mr, dereg_mr);
	SAME(o->_compat_destroy_ah, destroy_ah);
	SAME(v->destroy_counters, destroy_counters);
	SAME(o->_compat_destroy_cq, destroy_cq);
	SAME(v->ibv_destroy_flow, destroy_flow);
	SAME(v->destroy_flow_action, destroy_flow_action);
	SAME(o->_compat_destroy_qp, destroy_qp);
	SAME(v->destroy_rwq_ind_table, destroy_rwq_ind_table);
	SAME(o->_compat_destroy_srq, destroy_srq);
	SAME(v->destroy_wq, destroy_wq);
	SAME(o->_compat_detach_mcast, detach_mcast);
	SAME(v->free_dm, free_dm);
	SAME(v->get_srq_num, get_srq_num);
	SAME(v->modify_cq, modify_cq);
	SAME(v->modify_flow_action_esp, modify_flow_action_esp);
	SAME(o->_compat_modify_qp, modify_qp);
	SAME(v->modify_qp_rate_limit, modify_qp_rate_limit);
	SAME(o->_compat_modify_srq, modify_srq);
	SAME(v->modify_wq, modify_wq);
	SAME(v->open_qp, open_qp);
	SAME(v->open_xrcd, open_xrcd);
	SAME(o->poll_cq, poll_cq);
	SAME(o->post_recv, post_recv);
	SAME(o->post_send, post_send);
	SAME(v->post_srq_ops, post_srq_ops);
	SAME(o->post_srq_recv, post_srq_recv);
	SAME(v->query_device_ex, query_device_ex);
	SAME(o->_compat_query_qp, query_qp);
	SAME(v->query_rt_values, query_rt_values);
	SAME(o->_compat_query_srq, query_srq);
	SAME(v->read_counters, read_counters);
	SAME(v->reg_dm_mr, reg_dm_mr);
	SAME(o->_compat_reg_mr, reg_mr);
	SAME(o->req_notify_cq, req_notify_cq);
	SAME(o->_compat_rereg_mr, rereg_mr);
	SAME(o->_compat_resize_cq, resize_cq);
}

#define REFUSES_INT(call)                                                      \
	do {                                                                   \
		errno = 0;                                                     \
		assert_int_equal(call, EOPNOTSUPP);                            \
		assert_int_equal(errno, EOPNOTSUPP);                           \
	} while (0)
#define REFUSES_PTR(call)                                                      \
	do {                                                                   \
		errno = 0;                                                     \
		assert_null(call);                                             \
		assert_int_equal(errno, EOPNOTSUPP);                           \
	} while (0)

/* Through the library's own functions if it exports one. */
FAKE_CASE(refused_verbs_say_eopnotsupp)
{
	struct fake_world *w = *state;
	struct ibv_ah_attr ah_attr = { .port_num = 1 };
	struct ibv_modify_cq_attr mod_attr = { 0 };
	struct ibv_ece ece = { 0 };
	union ibv_gid gid = { 0 };
	uint32_t num;

	REFUSES_PTR(ibv_create_ah(w->pd, &ah_attr));
	REFUSES_PTR(ibv_import_pd(w->context, 1));
	REFUSES_PTR(ibv_import_mr(w->pd, 1));
	REFUSES_PTR(ibv_import_dm(w->context, 1));
	REFUSES_PTR(usiw_context_ops.open_xrcd(w->context, NULL));
	REFUSES_PTR(usiw_context_ops.open_qp(w->context, NULL));

	REFUSES_INT(ibv_attach_mcast(w->qp, &gid, 0));
	REFUSES_INT(ibv_detach_mcast(w->qp, &gid, 0));
	REFUSES_INT(ibv_get_srq_num(w->srq, &num));
	REFUSES_INT(ibv_modify_cq(w->cq, &mod_attr));
	REFUSES_INT(ibv_query_ece(w->qp, &ece));
	REFUSES_INT(ibv_set_ece(w->qp, &ece));
}

FAKE_CASE(order_of_octets_is_not_promised)
{
	struct fake_world *w = *state;

	assert_int_equal(
		ibv_query_qp_data_in_order(w->qp, IBV_WR_RDMA_WRITE, 0), 0);
}

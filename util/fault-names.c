/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See fault-names.h. */
#define _GNU_SOURCE /* strerrorname_np */
#include "fault-names.h"

#include <signal.h>
#include <string.h>

struct row {
	const char *name;
	uint32_t number;
};

#define CNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* ---- calls --------------------------------------------------------------- */

static const char *const call_names[] = {
	"advise_mr",
	"alloc_dm",
	"alloc_mw",
	"alloc_null_mr",
	"alloc_parent_domain",
	"alloc_pd",
	"alloc_td",
	"attach_mcast",
	"bind_mw",
	"create_ah",
	"create_cq",
	"create_cq_ex",
	"create_qp",
	"create_qp_ex",
	"create_srq",
	"create_srq_ex",
	"dealloc_mw",
	"dealloc_pd",
	"dealloc_td",
	"dereg_mr",
	"destroy_ah",
	"destroy_cq",
	"destroy_qp",
	"destroy_srq",
	"detach_mcast",
	"free_dm",
	"modify_qp",
	"modify_srq",
	"poll_cq",
	"post_recv",
	"post_send",
	"post_srq_ops",
	"post_srq_recv",
	"query_device_ex",
	"query_ece",
	"query_port",
	"query_port_speed",
	"query_qp",
	"query_qp_data_in_order",
	"query_rt_values",
	"query_srq",
	"reg_dm_mr",
	"reg_dmabuf_mr",
	"reg_mr",
	"req_notify_cq",
	"rereg_mr",
	"resize_cq",
	"start_poll",
	"wr_complete",
	"rdma_accept",
	"rdma_bind_addr",
	"rdma_connect",
	"rdma_create_id",
	"rdma_destroy_id",
	"rdma_disconnect",
	"rdma_join_multicast",
	"rdma_leave_multicast",
	"rdma_listen",
	"rdma_migrate_id",
	"rdma_reject",
	"rdma_resolve_addr",
	"rdma_resolve_route",
	"rdma_set_option",
};

_Static_assert(CNT(call_names) <= UTIL_FAULT_CALL_MAX, "numbers of calls");

static const char *call_name(size_t place)
{
	return call_names[place];
}

static uint32_t place_itself(size_t place)
{
	return (uint32_t)place;
}

const struct util_fault_names util_fault_calls = {
	.what = "call",
	.hint = "use a verb without ibv_, as post_send, or a call of rdma_cm, as rdma_connect",
	.name = call_name,
	.number = place_itself,
	.cnt = CNT(call_names),
};

/* ---- statuses ------------------------------------------------------------ */

static const struct row statuses[] = {
	{ "LOC_LEN_ERR", 1 },	    { "LOC_QP_OP_ERR", 2 },
	{ "LOC_PROT_ERR", 4 },	    { "WR_FLUSH_ERR", 5 },
	{ "MW_BIND_ERR", 6 },	    { "BAD_RESP_ERR", 7 },
	{ "LOC_ACCESS_ERR", 8 },    { "REM_INV_REQ_ERR", 9 },
	{ "REM_ACCESS_ERR", 10 },   { "REM_OP_ERR", 11 },
	{ "RETRY_EXC_ERR", 12 },    { "RNR_RETRY_EXC_ERR", 13 },
	{ "REM_ABORT_ERR", 16 },    { "FATAL_ERR", 19 },
	{ "RESP_TIMEOUT_ERR", 20 }, { "GENERAL_ERR", 21 },
};

static const char *status_name(size_t place)
{
	return statuses[place].name;
}

static uint32_t status_number(size_t place)
{
	return statuses[place].number;
}

const struct util_fault_names util_fault_statuses = {
	.what = "status",
	.hint = "use one without IBV_WC_, as RETRY_EXC_ERR",
	.name = status_name,
	.number = status_number,
	.cnt = CNT(statuses),
};

/* ---- errnos -------------------------------------------------------------- */

/* The number of the last one. */
#define ERRNO_LAST 133

static const char *errno_name(size_t place)
{
	return strerrorname_np((int)place + 1);
}

static uint32_t errno_number(size_t place)
{
	return (uint32_t)place + 1;
}

const struct util_fault_names util_fault_errnos = {
	.what = "errno",
	.hint = "use a name such as ENOMEM",
	.name = errno_name,
	.number = errno_number,
	.cnt = ERRNO_LAST,
};

/* ---- signals ------------------------------------------------------------- */

static const struct row signals[] = {
	{ "KILL", SIGKILL },
	{ "STOP", SIGSTOP },
	{ "TERM", SIGTERM },
	{ "ABRT", SIGABRT },
};

static const char *signal_name(size_t place)
{
	return signals[place].name;
}

static uint32_t signal_number(size_t place)
{
	return signals[place].number;
}

const struct util_fault_names util_fault_signals = {
	.what = "signal here",
	.hint = "use KILL, STOP, TERM or ABRT",
	.name = signal_name,
	.number = signal_number,
	.cnt = CNT(signals),
};

/* ---- look-up ------------------------------------------------------------- */

int util_fault_name_find(const struct util_fault_names *names, const char *name,
			 size_t len)
{
	for (size_t i = 0; i < names->cnt; i++) {
		const char *known = names->name(i);

		if (known && strlen(known) == len &&
		    memcmp(known, name, len) == 0)
			return (int)i;
	}
	return -1;
}

int util_fault_call(const char *name)
{
	return util_fault_name_find(&util_fault_calls, name, strlen(name));
}

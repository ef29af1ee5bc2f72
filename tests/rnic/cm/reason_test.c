/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* reason.c: what a refused command of rdma_cm says at USIW_LOG=debug. */
#include "fixture.h"

#include "said.h"
#include "util/log.h"

static int setup(void **state)
{
	(void)state;
	return util_log_route("cm", UTIL_LOG_DEBUG, UTIL_LOG_STDERR, NULL);
}

static int resolve_route(const struct cm_side *s)
{
	return rnic_cm_resolve_route(s->chan, s->id, 1000);
}

static int connect_early(const struct cm_side *s)
{
	const struct rnic_cm_conn_param param = { 0 };

	return rnic_cm_connect(s->chan, s->id, &param);
}

static int accept_nothing(const struct cm_side *s)
{
	const struct rnic_cm_conn_param param = { 0 };

	return rnic_cm_accept(s->chan, s->id, &param);
}

static int reject_nothing(const struct cm_side *s)
{
	return rnic_cm_reject(s->chan, s->id, NULL, 0);
}

static int disconnect_early(const struct cm_side *s)
{
	return rnic_cm_disconnect(s->chan, s->id);
}

static int establish_early(const struct cm_side *s)
{
	return rnic_cm_establish(s->chan, s->id);
}

static int set_tos(const struct cm_side *s)
{
	return rnic_cm_set_option(s->chan, s->id, RNIC_CM_OPT_TOS, 256);
}

static int resolve_both_families(const struct cm_side *s)
{
	struct sockaddr_storage src = cm_loopback(AF_INET6, 0);
	struct sockaddr_storage dst = cm_loopback(AF_INET, 1);

	return rnic_cm_resolve_addr(s->chan, s->id, (struct sockaddr *)&src,
				    (struct sockaddr *)&dst, 1000);
}

static int bind_twice(const struct cm_side *s)
{
	struct sockaddr_storage ss = cm_loopback(AF_INET, 0);
	int ret = rnic_cm_bind(s->chan, s->id, (struct sockaddr *)&ss);

	return ret ? ret : rnic_cm_bind(s->chan, s->id, (struct sockaddr *)&ss);
}

static const struct {
	int (*call)(const struct cm_side *s);
	const char *says;
} rows[] = {
	{ resolve_route,
	  "rdma_resolve_route: EINVAL: the state is IDLE, not ADDR\n" },
	{ connect_early, "rdma_connect: EINVAL: the state is IDLE, not ROUTE" },
	{ accept_nothing, "rdma_accept: EINVAL: the state is IDLE" },
	{ reject_nothing, "rdma_reject: EINVAL: the state is IDLE" },
	{ disconnect_early, "rdma_disconnect: EINVAL: the state is IDLE" },
	{ establish_early, "rdma_establish: EINVAL: there is no connect " },
	{ set_tos, "RDMA_OPTION_ID_TOS: EINVAL: 256 is above 255\n" },
	{ resolve_both_families, "rdma_resolve_addr: EINVAL: one address is" },
	/* The last one: it binds. */
	{ bind_twice, "rdma_bind_addr: EINVAL: the state is BOUND, not IDLE" },
};

CASE_WITH(a_refused_command_says_why, setup, NULL)
{
	struct cm_side s;

	cm_side_open(&s, 1);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *text;
		int ret;

		said_begin();
		ret = rows[i].call(&s);
		text = said_end();
		assert_row(rows[i].says, ret == -EINVAL);
		assert_row(rows[i].says, strstr(text, rows[i].says));
		assert_row(rows[i].says, strstr(text, ", from ") != NULL);
	}
	cm_side_close(&s);
}

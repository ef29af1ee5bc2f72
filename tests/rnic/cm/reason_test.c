/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* reason.c: what a refused command of rdma_cm says at USIW_LOG=debug. */
#include "fixture.h"

#include <stdio.h>

#include "rnic/cm/rnic-cm-ud.h"
#include "said.h"
#include "util/log.h"
#include "util/reason.h"

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

static int join_without_datagrams(const struct cm_side *s)
{
	struct sockaddr_storage group = cm_loopback(AF_INET, 0);
	uint32_t join;

	return rnic_cm_join(s->chan, s->id, (struct sockaddr *)&group,
			    sizeof(struct sockaddr_in), 0, &join);
}

static int leave_without_datagrams(const struct cm_side *s)
{
	uint32_t cnt;

	return rnic_cm_leave(s->chan, s->id, &cnt);
}

static int write_event(const struct cm_side *s)
{
	return rnic_cm_write_event(s->chan, s->id, RNIC_CM_ESTABLISHED, 0,
				   NULL);
}

static const struct {
	int (*call)(const struct cm_side *s);
	int err;
	const char *says;
} rows[] = {
	{ resolve_route, EINVAL,
	  "rdma_resolve_route: EINVAL: the state is IDLE, not ADDR; id " },
	{ connect_early, EINVAL,
	  "rdma_connect: EINVAL: the state is IDLE, not ROUTE; id " },
	{ accept_nothing, EINVAL,
	  "rdma_accept: EINVAL: the state is IDLE, not REQUEST; id " },
	{ reject_nothing, EINVAL, "rdma_reject: EINVAL: the state is IDLE" },
	{ disconnect_early, EINVAL,
	  "rdma_disconnect: EINVAL: the state is IDLE" },
	{ establish_early, EINVAL,
	  "rdma_establish: EINVAL: there is no connect " },
	{ set_tos, EINVAL,
	  "RDMA_OPTION_ID_TOS: EINVAL: 256 is above 255; id " },
	{ resolve_both_families, EINVAL,
	  "rdma_resolve_addr: EINVAL: one address is" },
	{ write_event, EINVAL, "rdma_write_cm_event: EINVAL: the event is " },
	/* the first one */
	{ join_without_datagrams, EOPNOTSUPP,
	  "cm: error: rdma_join_multicast: EOPNOTSUPP: an iWARP device has no "
	  "datagrams" },
	{ leave_without_datagrams, EOPNOTSUPP,
	  "cm: debug: rdma_leave_multicast: EOPNOTSUPP: an iWARP device has "
	  "no datagrams" },
	/* The last one: it binds. */
	{ bind_twice, EINVAL,
	  "rdma_bind_addr: EINVAL: the state is BOUND, not IDLE; id " },
};

static char noted[160];

static void reason_note(const char *reason)
{
	snprintf(noted, sizeof(noted), "%s", reason);
}

/* Without a log of the debug level, which the cases behind have. */
CASE(a_watcher_is_told_why)
{
	struct cm_side s;

	cm_side_open(&s, 1);
	util_reason_watch(reason_note);
	assert_int_equal(connect_early(&s), -EINVAL);
	util_reason_watch(NULL);
	assert_int_equal(
		strncmp(noted, "the state is IDLE, not ROUTE; id ", 33), 0);
	cm_side_close(&s);
}

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
		assert_row(rows[i].says, ret == -rows[i].err);
		assert_row(rows[i].says, strstr(text, rows[i].says));
		assert_row(rows[i].says,
			   strchr(text, '\n') == text + strlen(text) - 1);
	}
	cm_side_close(&s);
}

/* Those that are known. */
CASE_WITH(a_refusal_names_the_addresses, setup, NULL)
{
	struct sockaddr_storage dst = cm_loopback(AF_INET, 4791);
	struct rnic_cm_event ev;
	const char *text;
	struct cm_side s;

	cm_side_open(&s, 1);
	said_begin();
	assert_int_equal(accept_nothing(&s), -EINVAL);
	text = said_end();
	assert_null(strstr(text, " from "));
	assert_null(strstr(text, " to "));
	assert_int_equal(rnic_cm_resolve_addr(s.chan, s.id, NULL,
					      (struct sockaddr *)&dst, 1000),
			 0);
	cm_expect(s.chan, RNIC_CM_ADDR_RESOLVED, 0, &ev);
	said_begin();
	assert_int_equal(accept_nothing(&s), -EINVAL);
	text = said_end();
	assert_non_null(strstr(text, " from 127.0.0.1 port 0 to 127.0.0.1 port "
				     "4791\n"));
	cm_side_close(&s);
}

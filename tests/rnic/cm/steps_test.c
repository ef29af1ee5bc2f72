/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The start exchange with unexpected peers that abort it. */
#include "fixture.h"

#include "engine/engine.h"
#include "lists.h"
#include "qp/object.h"

#define START_MS 400
#define RETRY_MS 1234ull

static uint64_t now_ms(void)
{
	return util_now_ns() / NS_PER_MS;
}

CASE(garbage_is_closed)
{
	struct cm_side s;
	uint8_t buf[64];
	int fd;

	fd = cm_rawpeer(cm_listen(&s, AF_INET, 0));
	memset(buf, 0x5a, sizeof(buf));
	cm_say(fd, buf, sizeof(buf));
	assert_true(cm_read_to_end(fd, buf, sizeof(buf)) >= 0);
	close(fd);
	assert_false(cm_is_readable(s.chan, 0));
	cm_side_close(&s);
}

/* T-45, T-57: each prefix of a Request, then nothing: closed after the time
 * limit, not before it. A complete Request waits for the application. */
CASE(half_a_request_times_out)
{
	static const size_t cuts[] = { 0, 1, 15, 16, 17, 19 };
	const size_t cnt = sizeof(cuts) / sizeof(cuts[0]);
	uint64_t begin = now_ms();
	int fd[sizeof(cuts) / sizeof(cuts[0])];
	struct cm_side s;
	uint8_t buf[8];
	uint16_t port;

	port = cm_listen(&s, AF_INET, 0);
	for (size_t i = 0; i < cnt; i++) {
		fd[i] = cm_rawpeer(port);
		if (cuts[i])
			cm_say(fd[i], cm_mpa_request, cuts[i]);
	}
	for (size_t i = 0; i < cnt; i++) {
		assert_int_equal(cm_read_to_end(fd[i], buf, sizeof(buf)), 0);
		close(fd[i]);
	}
	assert_true(now_ms() - begin >= START_MS);
	assert_int_equal(cm_half_open_cnt(&s), 0);
	assert_false(cm_is_readable(s.chan, 0));
	cm_side_close(&s);
}

CASE(rst_at_each_octet_leaves_nothing)
{
	struct rnic_cm_event ev;
	struct cm_side s;
	uint32_t cnt;
	uint16_t port;

	port = cm_listen(&s, AF_INET, 0);
	for (size_t cut = 0; cut < sizeof(cm_mpa_request); cut++) {
		int fd = cm_rawpeer(port);

		if (cut)
			cm_say(fd, cm_mpa_request, cut);
		cm_slam(fd);
	}
	/* The last peer is accepted after all of them. */
	{
		int fd = cm_rawpeer(port);

		cm_say(fd, cm_mpa_request, sizeof(cm_mpa_request));
		cm_expect(s.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
		cm_slam(fd);
	}
	assert_int_equal(rnic_cm_destroy(s.chan, ev.id, &cnt), 0);
	assert_false(cm_is_readable(s.chan, 50));
	assert_int_equal(cm_half_open_cnt(&s), 0);
	cm_side_close(&s);
}

/* Each side's own value, from when it is connected. */
CM_PAIR_CASE(ack_timeout_is_the_queue_pairs)
{
	struct rnic_qp_attr attr;
	struct cm_pair *p = *state;

	assert_int_equal(rnic_cm_set_option(p->active.chan, p->active.id,
					    RNIC_CM_OPT_ACK_TIMEOUT, 32),
			 -EINVAL);
	assert_int_equal(rnic_cm_set_option(p->active.chan, p->active.id,
					    RNIC_CM_OPT_ACK_TIMEOUT, 21),
			 0);
	assert_int_equal(rnic_cm_set_option(p->listener.chan, p->child,
					    RNIC_CM_OPT_ACK_TIMEOUT, 14),
			 0);
	rnic_qp_query(p->active_qp.qp, &attr);
	assert_int_equal(attr.timeout, 0);
	cm_pair_accept(p);
	rnic_qp_query(p->active_qp.qp, &attr);
	assert_int_equal(attr.timeout, 21);
	rnic_qp_query(p->passive_qp.qp, &attr);
	assert_int_equal(attr.timeout, 14);
}

static uint64_t retry_ns_of(const struct cm_qp *q)
{
	uint64_t ns;

	rnic_engine_lead(q->qp->engine);
	ns = q->qp->retry_ns;
	rnic_engine_unlead(q->qp->engine);
	return ns;
}

/* 8 tries of 4.096 us * 2^value, and at least one second. */
CASE(ack_timeout_is_the_time_of_a_silent_peer)
{
	static const struct {
		uint8_t timeout;
		uint64_t ns;
	} rows[] = { { 0, RETRY_MS * NS_PER_MS }, { 1, 1000 * NS_PER_MS },
		     { 14, 1000 * NS_PER_MS },	  { 15, 1073741824 },
		     { 21, 68719476736 },	  { 31, 70368744177664 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cm_pair p;

		cm_pair_open(&p, AF_INET);
		assert_int_equal(rnic_cm_set_option(p.listener.chan, p.child,
						    RNIC_CM_OPT_ACK_TIMEOUT,
						    rows[i].timeout),
				 0);
		cm_pair_accept(&p);
		assert_int_equal(retry_ns_of(&p.passive_qp), rows[i].ns);
		assert_int_equal(retry_ns_of(&p.active_qp),
				 RETRY_MS * NS_PER_MS);
		cm_pair_close(&p);
	}
}

BEFORE_CASES()
{
	/* Before the settings are read for the first time. */
	setenv("USIW_START_MS", "1000", 1);
	setenv("USIW_DRAIN_MS", "300", 1);
	setenv("USIW_RETRY_MS", "1234", 1);
}

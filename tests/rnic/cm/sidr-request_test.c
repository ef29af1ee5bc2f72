/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The active side of datagrams, against a peer that answers as the test wants.
 */
#include "sidr-fixture.h"

#define PORT 4242u
#define QPN 0xabcdefu
/* Requests in all. */
#define SENT_CNT 16

static int peer; /* has the name of the port */

struct asked {
	struct cm_side s;
	struct sidr_dgram dgram;
	struct sib_sidr_req req;
};

/* A request is out, and was read. */
static int ask(void **state)
{
	static struct asked a;

	memset(&a, 0, sizeof(a));
	peer = sidr_peer_open(rnic_host_name_service(SIB_PS_UDP, PORT));
	sidr_resolve(&a.s, AF_INET, PORT);
	assert_int_equal(sidr_connect(&a.s, "hello", 5), 0);
	assert_int_equal(sidr_peer_recv(peer, &a.dgram), SIB_MAD_SIZE);
	assert_int_equal(sib_sidr_req_decode(a.dgram.mad, SIB_MAD_SIZE, &a.req),
			 SIB_OK);
	*state = &a;
	return 0;
}

/* Nothing is left of it. */
static int done(void **state)
{
	struct asked *a = *state;

	cm_side_close(&a->s);
	rnic_fd_close(peer);
	util_lock(&rnic_loop.lock);
	assert_int_equal(cm.mads.user_cnt, 0);
	assert_int_equal(rnic_timer_cnt(RNIC_TIMER_CM_SIDR), 0);
	util_unlock(&rnic_loop.lock);
	return 0;
}

#define ASKED_CASE(name) CASE_WITH(name, ask, done)

/* The answer to it. */
static struct sib_sidr_rep answer_to(const struct asked *a)
{
	static const uint8_t pd[] = { 'y', 'e', 's' };

	return (struct sib_sidr_rep){ .tid = a->req.tid,
				      .request_id = a->req.request_id,
				      .qpn = QPN,
				      .service_id = a->req.service_id,
				      .qkey = RNIC_CM_QKEY,
				      .private_data = pd,
				      .private_len = sizeof(pd) };
}

static void answer_encode(const struct sib_sidr_rep *rep,
			  struct sidr_dgram *dgram)
{
	sidr_head(&dgram->head);
	assert_int_equal(sib_sidr_rep_encode(rep, dgram->mad, SIB_MAD_SIZE),
			 SIB_MAD_SIZE);
}

static void answer_send(const struct asked *a, struct sidr_dgram *dgram,
			size_t len)
{
	assert_int_equal(
		sidr_peer_send(peer, sidr_asker(a->req.tid), dgram, len), 0);
}

ASKED_CASE(asks_with_addresses_and_private_data)
{
	struct asked *a = *state;
	const struct sib_gid own = sidr_loopback();
	struct sib_gid src, dst;
	struct rnic_cm_info info;
	struct sib_ip_cm ip;

	assert_int_equal(a->dgram.head.dest_num, SIB_QPN_GSI);
	assert_int_equal(a->dgram.head.src_num, SIB_QPN_GSI);
	assert_int_equal(a->dgram.head.qkey, SIB_QKEY_GSI);
	assert_true(sib_grh_gids(a->dgram.head.grh, &src, &dst));
	assert_memory_equal(&src, &own, sizeof(own));
	assert_memory_equal(&dst, &own, sizeof(own));
	assert_int_equal(a->req.pkey, SIB_PKEY_DEFAULT);
	assert_true(a->req.service_id == sib_service_id(SIB_PS_UDP, PORT));
	assert_int_equal(rnic_cm_query(a->s.chan, a->s.id, &info), 0);
	assert_int_equal(info.ud_ps, SIB_PS_UDP);
	assert_int_equal(
		sib_ip_cm_decode(a->req.private_data, a->req.private_len, &ip),
		SIB_OK);
	assert_memory_equal(&ip.src, &own, sizeof(own));
	assert_memory_equal(&ip.dst, &own, sizeof(own));
	assert_int_not_equal(ip.src_port, 0);
	assert_int_equal(ip.src_port, cm_port(&info.local));
	assert_memory_equal(a->req.private_data + SIB_IP_CM_SIZE, "hello\0", 6);
}

ASKED_CASE(the_answer_says_which_qp)
{
	struct asked *a = *state;
	const struct sib_gid own = sidr_loopback();
	struct sib_sidr_rep rep = answer_to(a);
	struct rnic_cm_event ev;

	answer_encode(&rep, &a->dgram);
	answer_send(a, &a->dgram, SIB_MAD_SIZE);
	cm_expect(a->s.chan, RNIC_CM_ESTABLISHED, 0, &ev);
	assert_true(ev.is_ud);
	assert_int_equal(ev.id, a->s.id);
	assert_int_equal(ev.uid, 2);
	assert_int_equal(ev.qp_num, QPN);
	assert_int_equal(ev.qkey, RNIC_CM_QKEY);
	assert_memory_equal(ev.dgid, &own, sizeof(own));
	assert_int_equal(ev.pd_len, SIB_SIDR_REP_PRIVATE);
	assert_memory_equal(ev.pd, "yes\0", 4);
	/* There is no connection. */
	assert_int_equal(rnic_cm_disconnect(a->s.chan, a->s.id), 0);
	assert_false(cm_is_readable(a->s.chan, SIDR_QUIET_MS));
	/* It may come twice, but nobody waits for it. */
	assert_int_equal(sidr_peer_send(peer, sidr_asker(a->req.tid), &a->dgram,
					SIB_MAD_SIZE),
			 -ECONNREFUSED);
	assert_int_equal(sidr_connect(&a->s, "", 0), -EINVAL);
}

static const struct {
	const char *name;
	uint8_t status;
	uint32_t qkey;
	enum rnic_cm_event_type event;
	int event_status;
} refusals[] = {
	{ "no service", SIB_SIDR_NO_SERVICE, 0, RNIC_CM_UNREACHABLE, 1 },
	{ "rejected", SIB_SIDR_REJECTED, RNIC_CM_QKEY, RNIC_CM_UNREACHABLE, 2 },
	{ "redirected", SIB_SIDR_REDIRECT, 0, RNIC_CM_UNREACHABLE, 4 },
	{ "a status of tomorrow", 77, 0, RNIC_CM_UNREACHABLE, 77 },
	{ "another Q_Key", SIB_SIDR_VALID, 0x1234567 + 1, RNIC_CM_ADDR_ERROR,
	  -EINVAL },
};

CASE(refusals_are_told)
{
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		struct rnic_cm_event ev;
		struct sib_sidr_rep rep;
		struct asked *a;

		ask((void **)&a);
		rep = answer_to(a);
		rep.status = refusals[i].status;
		rep.qkey = refusals[i].qkey;
		answer_encode(&rep, &a->dgram);
		answer_send(a, &a->dgram, SIB_MAD_SIZE);
		cm_expect(a->s.chan, refusals[i].event,
			  refusals[i].event_status, &ev);
		assert_row(refusals[i].name, ev.qp_num == 0);
		assert_row(refusals[i].name, !memcmp(ev.pd, "yes", 3));
		assert_row(refusals[i].name,
			   sidr_connect(&a->s, "", 0) == -EINVAL);
		done((void **)&a);
	}
}

/* What is sent instead of the answer. */
static const struct {
	const char *name;
	size_t at; /* this octet of the datagram is another one */
	bool is_bad;
	size_t len; /* 0: of a MAD */
} strangers[] = {
	{ "no head", 0, true, 0 },
	{ "to another QP", 4, true, 0 },
	{ "with another Q_Key", 12, true, 0 },
	{ "without addresses", 24, true, 0 },
	{ "from another host", 24 + 35, false, 0 },
	{ "base version", 64, true, 0 },
	{ "class", 65, true, 0 },
	{ "a request", 64 + 17, true, 0 },
	{ "transaction ID", 64 + 15, false, 0 },
	{ "request ID", 64 + 27, false, 0 },
	{ "info length", 64 + 29, true, 0 },
	{ "too short", 0, true, SIB_MAD_SIZE - 1 },
	{ "too long", 0, true, SIB_MAD_SIZE + 1 },
	{ "empty", 0, true, 1 },
};

ASKED_CASE(no_other_datagram_is_taken_for_it)
{
	struct asked *a = *state;
	struct sib_sidr_rep rep = answer_to(a);
	struct rnic_cm_event ev;

	for (size_t i = 0; i < ARRAY_LEN(strangers); i++) {
		uint64_t bad = test_stat(RNIC_STAT_mads_bad);
		uint64_t taken = sidr_taken();
		size_t len = strangers[i].len ? strangers[i].len : SIB_MAD_SIZE;

		answer_encode(&rep, &a->dgram);
		if (!strangers[i].len)
			((uint8_t *)&a->dgram)[strangers[i].at] ^= 0x7f;
		answer_send(a, &a->dgram, len);
		wait_until(test_stat(RNIC_STAT_mads_bad) + sidr_taken() >
			   bad + taken);
		assert_false(cm_is_readable(a->s.chan, 0));
		wait_until(!strangers[i].is_bad ||
			   test_stat(RNIC_STAT_mads_bad) > bad);
		assert_row(strangers[i].name,
			   strangers[i].is_bad ==
				   (test_stat(RNIC_STAT_mads_bad) > bad));
	}
	answer_encode(&rep, &a->dgram);
	answer_send(a, &a->dgram, SIB_MAD_SIZE);
	cm_expect(a->s.chan, RNIC_CM_ESTABLISHED, 0, &ev);
}

/* The time for an answer is over now. */
static void expire(void)
{
	util_lock(&rnic_loop.lock);
	assert_true(cm_first(RNIC_TIMER_CM_SIDR)->deadline_ns >
		    util_now_ns() + 2000 * NS_PER_MS);
	cm_first(RNIC_TIMER_CM_SIDR)->deadline_ns = util_now_ns();
	rnic_loop_wake();
	util_unlock(&rnic_loop.lock);
}

ASKED_CASE(is_repeated_a_limited_number_of_times)
{
	struct asked *a = *state;
	struct sidr_dgram again;
	struct rnic_cm_event ev;

	for (int i = 1; i < SENT_CNT; i++) {
		expire();
		assert_int_equal(sidr_peer_recv(peer, &again), SIB_MAD_SIZE);
		assert_memory_equal(again.mad, a->dgram.mad, SIB_MAD_SIZE);
	}
	assert_false(cm_is_readable(a->s.chan, 0));
	expire();
	cm_expect(a->s.chan, RNIC_CM_UNREACHABLE, -ETIMEDOUT, &ev);
	assert_false(sidr_peer_hears(peer));
}

ASKED_CASE(a_late_answer_counts)
{
	struct asked *a = *state;
	struct sib_sidr_rep rep = answer_to(a);
	struct rnic_cm_event ev;

	expire();
	assert_int_equal(sidr_peer_recv(peer, &a->dgram), SIB_MAD_SIZE);
	answer_encode(&rep, &a->dgram);
	answer_send(a, &a->dgram, SIB_MAD_SIZE);
	cm_expect(a->s.chan, RNIC_CM_ESTABLISHED, 0, &ev);
	assert_false(sidr_peer_hears(peer));
}

CASE(nobody_there_is_no_service)
{
	struct rnic_cm_event ev;
	struct cm_side s;

	sidr_resolve(&s, AF_INET, PORT);
	assert_int_equal(sidr_connect(&s, "", 0), 0);
	cm_expect(s.chan, RNIC_CM_UNREACHABLE, SIB_SIDR_NO_SERVICE, &ev);
	cm_side_close(&s);
}

CASE(waits_for_a_peer_that_is_full)
{
	struct asked a = { 0 };
	int cnt = 0, heard = 0;

	peer = sidr_peer_open(rnic_host_name_service(SIB_PS_UDP, PORT));
	sidr_head(&a.dgram.head);
	while (sidr_peer_send(peer, rnic_host_name_service(SIB_PS_UDP, PORT),
			      &a.dgram, SIB_MAD_SIZE) == 0)
		cnt++;
	sidr_resolve(&a.s, AF_INET, PORT);
	assert_int_equal(sidr_connect(&a.s, "full", 4), 0);
	while (sib_sidr_req_decode(a.dgram.mad, SIB_MAD_SIZE, &a.req)) {
		assert_int_equal(sidr_peer_recv(peer, &a.dgram), SIB_MAD_SIZE);
		heard++;
	}
	assert_int_equal(heard, cnt + 1);
	done(&(void *){ &a });
}

CASE(what_cannot_be_asked_changes_nothing)
{
	static const uint8_t pd[181];
	struct rnic_cm_info info;
	struct cm_side s;

	peer = sidr_peer_open(rnic_host_name_service(SIB_PS_UDP, PORT));
	sidr_resolve(&s, AF_INET, PORT);
	assert_int_equal(sidr_connect(&s, pd, 181), -EINVAL);
	assert_int_equal(rnic_cm_query(s.chan, s.id, &info), 0);
	assert_int_equal(info.state, RNIC_CM_S_ROUTE);
	assert_int_equal(rnic_cm_disconnect(s.chan, s.id), -EINVAL);
	assert_int_equal(sidr_connect(&s, pd, 180), 0);
	assert_int_equal(sidr_connect(&s, pd, 0), -EINVAL);
	assert_int_equal(rnic_cm_establish(s.chan, s.id), -EINVAL);
	done(&(void *){ &s });
}

BEFORE_CASES()
{
	/* Before the settings are read for the first time. */
	setenv("USIW_PERSONA", "ca", 1);
}

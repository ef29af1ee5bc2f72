/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The passive side of datagrams, asked by a process that sends what the test
 * wants.
 */
#include "sidr-fixture.h"

#define TID 0x5a5a5a5a00000001u
#define REQUEST_ID 77u
#define QPN 0x123456u
#define SRC_PORT 4567u
#define LISTEN_UID 1

struct served {
	struct cm_side s;
	uint16_t port;
	int asker;
};

static int serve(void **state)
{
	static struct served a;

	a.port = sidr_listen(&a.s, 2);
	a.asker = sidr_peer_open(sidr_asker(TID));
	*state = &a;
	return 0;
}

static int done(void **state)
{
	struct served *a = *state;

	cm_side_close(&a->s);
	rnic_fd_close(a->asker);
	util_lock(&rnic_loop.lock);
	assert_int_equal(cm.mads.user_cnt, 0);
	for (size_t i = 0; i < CM_SIDR_LISTS; i++)
		assert_true(LIST_EMPTY(&cm.sidrs[i]));
	util_unlock(&rnic_loop.lock);
	return 0;
}

#define SERVED_CASE(name) CASE_WITH(name, serve, done)

/* ---- requests ---- */

static void request_encode(struct sidr_dgram *dgram, uint16_t port,
			   uint32_t request_id)
{
	uint8_t pd[SIB_SIDR_REQ_PRIVATE] = { 0 };
	const struct sib_ip_cm ip = { .src = sidr_loopback(),
				      .dst = sidr_loopback(),
				      .src_port = SRC_PORT };
	const struct sib_sidr_req req = {
		.tid = TID,
		.request_id = request_id,
		.pkey = SIB_PKEY_DEFAULT,
		.service_id = sib_service_id(SIB_PS_UDP, port),
		.private_data = pd,
		.private_len = sizeof(pd),
	};

	sidr_head(&dgram->head);
	assert_int_equal(sib_ip_cm_encode(&ip, pd, sizeof(pd)), SIB_IP_CM_SIZE);
	memcpy(pd + SIB_IP_CM_SIZE, "ask", 3);
	assert_int_equal(sib_sidr_req_encode(&req, dgram->mad, SIB_MAD_SIZE),
			 SIB_MAD_SIZE);
}

static void dgram_send(const struct served *a, struct sidr_dgram *dgram)
{
	struct rnic_host_name name =
		rnic_host_name_service(SIB_PS_UDP, a->port);

	assert_int_equal(sidr_peer_send(a->asker, name, dgram, SIB_MAD_SIZE),
			 0);
}

static void request_send(const struct served *a, uint32_t request_id)
{
	struct sidr_dgram dgram;

	request_encode(&dgram, a->port, request_id);
	dgram_send(a, &dgram);
}

/* Return: the new identity. */
static uint32_t request_expect(const struct served *a)
{
	struct rnic_cm_event ev;

	cm_expect(a->s.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	assert_true(ev.is_ud);
	assert_int_equal(ev.uid, LISTEN_UID);
	assert_int_equal(ev.listen_id, a->s.id);
	assert_int_equal(ev.pd_len, 180);
	assert_memory_equal(ev.pd, "ask\0", 4);
	return ev.id;
}

static uint32_t request(const struct served *a, uint32_t request_id)
{
	request_send(a, request_id);
	return request_expect(a);
}

static void answer_expect(const struct served *a, uint32_t request_id,
			  uint8_t status, struct sidr_dgram *dgram,
			  struct sib_sidr_rep *rep)
{
	assert_int_equal(sidr_peer_recv(a->asker, dgram), SIB_MAD_SIZE);
	assert_int_equal(dgram->head.dest_num, SIB_QPN_GSI);
	assert_int_equal(dgram->head.qkey, SIB_QKEY_GSI);
	assert_int_equal(sib_sidr_rep_decode(dgram->mad, SIB_MAD_SIZE, rep),
			 SIB_OK);
	assert_true(rep->tid == TID);
	assert_int_equal(rep->request_id, request_id);
	assert_int_equal(rep->status, status);
	assert_true(rep->service_id == sib_service_id(SIB_PS_UDP, a->port));
}

static void refusal_expect(const struct served *a, uint32_t request_id)
{
	struct sidr_dgram dgram;
	struct sib_sidr_rep rep;

	answer_expect(a, request_id, SIB_SIDR_REJECTED, &dgram, &rep);
}

/* ---- cases ---- */

SERVED_CASE(a_request_makes_an_identity)
{
	struct served *a = *state;
	struct rnic_cm_info info;
	uint32_t child = request(a, REQUEST_ID);

	assert_int_equal(rnic_cm_query(a->s.chan, child, &info), 0);
	assert_int_equal(info.state, RNIC_CM_S_REQUEST);
	assert_int_equal(info.ud_ps, SIB_PS_UDP);
	assert_non_null(info.dev);
	assert_int_equal(cm_port(&info.local), a->port);
	assert_int_equal(cm_port(&info.peer), SRC_PORT);
	assert_int_equal(((struct sockaddr_in *)&info.peer)->sin_addr.s_addr,
			 htonl(INADDR_LOOPBACK));
	assert_int_equal(rnic_cm_connect(a->s.chan, child,
					 &(struct rnic_cm_conn_param){ 0 }),
			 -EINVAL);
}

SERVED_CASE(each_request_gets_one_answer)
{
	struct served *a = *state;
	struct sidr_dgram first, again;
	struct sib_sidr_rep rep;
	uint32_t child = request(a, REQUEST_ID);

	/* Not decided: it is no other one. */
	request_send(a, REQUEST_ID);
	assert_false(cm_is_readable(a->s.chan, SIDR_QUIET_MS));
	assert_int_equal(sidr_accept(&a->s, child, QPN, "yes", 3), 0);
	answer_expect(a, REQUEST_ID, SIB_SIDR_VALID, &first, &rep);
	assert_int_equal(rep.qpn, QPN);
	assert_int_equal(rep.qkey, RNIC_CM_QKEY);
	assert_memory_equal(rep.private_data, "yes\0", 4);
	request_send(a, REQUEST_ID);
	assert_int_equal(sidr_peer_recv(a->asker, &again), SIB_MAD_SIZE);
	assert_memory_equal(again.mad, first.mad, SIB_MAD_SIZE);
	assert_false(cm_is_readable(a->s.chan, 0));
	assert_int_equal(sidr_accept(&a->s, child, QPN, "", 0), -EINVAL);
	assert_int_equal(rnic_cm_reject(a->s.chan, child, "", 0), -EINVAL);
	assert_int_equal(rnic_cm_disconnect(a->s.chan, child), 0);
	assert_false(sidr_peer_hears(a->asker));
}

SERVED_CASE(another_asker_is_another_request)
{
	struct served *a = *state;
	uint32_t child = request(a, REQUEST_ID);
	struct sidr_dgram dgram;

	request_encode(&dgram, a->port, REQUEST_ID);
	dgram.mad[15]++; /* transaction ID */
	dgram_send(a, &dgram);
	assert_int_not_equal(request_expect(a), child);
}

SERVED_CASE(a_rejection_is_told)
{
	struct served *a = *state;
	uint32_t child = request(a, REQUEST_ID);
	struct sidr_dgram dgram;
	struct sib_sidr_rep rep;

	assert_int_equal(rnic_cm_reject(a->s.chan, child, "no", 2), 0);
	answer_expect(a, REQUEST_ID, SIB_SIDR_REJECTED, &dgram, &rep);
	assert_memory_equal(rep.private_data, "no\0", 3);
	assert_int_equal(rep.qpn, 0);
	assert_int_equal(sidr_accept(&a->s, child, QPN, "", 0), -EINVAL);
}

SERVED_CASE(what_does_not_fit_decides_nothing)
{
	static const uint8_t pd[137];
	struct served *a = *state;
	uint32_t child = request(a, REQUEST_ID);
	struct sidr_dgram dgram;
	struct sib_sidr_rep rep;

	assert_int_equal(sidr_accept(&a->s, child, QPN, pd, 137), -EINVAL);
	assert_int_equal(sidr_accept(&a->s, child, 1u << 24, pd, 0), -EINVAL);
	assert_int_equal(rnic_cm_reject(a->s.chan, child, pd, 137), -EINVAL);
	assert_false(sidr_peer_hears(a->asker));
	assert_int_equal(sidr_accept(&a->s, child, QPN, pd, 136), 0);
	answer_expect(a, REQUEST_ID, SIB_SIDR_VALID, &dgram, &rep);
}

/* The end of what would have decided. */
CASE(who_is_not_answered_is_rejected)
{
	static const char *const ends[] = { "identity", "listener", "channel" };

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		struct sidr_dgram dgram;
		struct sib_sidr_rep rep;
		struct served *a;
		uint32_t cnt;

		serve((void **)&a);
		request_send(a, REQUEST_ID);
		assert_true(cm_is_readable(a->s.chan, CM_LIMIT_MS));
		if (i == 0)
			assert_int_equal(rnic_cm_destroy(a->s.chan,
							 request_expect(a),
							 &cnt),
					 0);
		else if (i == 1)
			assert_int_equal(
				rnic_cm_destroy(a->s.chan, a->s.id, &cnt), 0);
		else
			rnic_cm_chan_close(a->s.chan);
		answer_expect(a, REQUEST_ID, SIB_SIDR_REJECTED, &dgram, &rep);
		done((void **)&a);
	}
}

SERVED_CASE(a_decision_may_come_after_the_listener)
{
	struct served *a = *state;
	uint32_t child = request(a, REQUEST_ID), cnt;
	struct sidr_dgram dgram;
	struct sib_sidr_rep rep;

	assert_int_equal(rnic_cm_destroy(a->s.chan, a->s.id, &cnt), 0);
	assert_int_equal(cnt, 1);
	assert_int_equal(sidr_accept(&a->s, child, QPN, "", 0), 0);
	answer_expect(a, REQUEST_ID, SIB_SIDR_VALID, &dgram, &rep);
}

SERVED_CASE(undecided_requests_are_limited)
{
	struct served *a = *state;
	uint32_t first = request(a, 1), cnt;

	request(a, 2);
	request_send(a, 3);
	refusal_expect(a, 3);
	assert_false(cm_is_readable(a->s.chan, 0));
	assert_int_equal(rnic_cm_destroy(a->s.chan, first, &cnt), 0);
	refusal_expect(a, 1);
	request(a, 3);
	request_send(a, 4);
	refusal_expect(a, 4);
}

/* An octet of the MAD is another one. */
static const struct {
	const char *name;
	size_t at;
} malformed[] = {
	{ "base version", 0 }, { "class", 1 },	{ "method", 3 },
	{ "attribute", 17 },   { "P_Key", 29 }, { "service ID", 32 },
	{ "port space", 37 },  { "port", 39 },	{ "version of rdma_cm", 40 },
	{ "IP version", 41 },
};

SERVED_CASE(malformed_requests_are_counted)
{
	struct served *a = *state;

	for (size_t i = 0; i < ARRAY_LEN(malformed); i++) {
		uint64_t bad = test_stat(RNIC_STAT_mads_bad);
		struct sidr_dgram dgram;

		request_encode(&dgram, a->port, REQUEST_ID);
		dgram.mad[malformed[i].at] ^= 0x7f;
		dgram_send(a, &dgram);
		wait_until(test_stat(RNIC_STAT_mads_bad) == bad + 1);
	}
	assert_false(cm_is_readable(a->s.chan, 0));
	assert_false(sidr_peer_hears(a->asker));
	request(a, REQUEST_ID);
}

SERVED_CASE(requests_for_another_address_are_rejected)
{
	struct served *a = *state;
	struct sidr_dgram dgram;

	request_encode(&dgram, a->port, REQUEST_ID);
	dgram.mad[40 + 35] = 2; /* 127.0.0.2; the listener is at 127.0.0.1 */
	dgram_send(a, &dgram);
	refusal_expect(a, REQUEST_ID);
	assert_false(cm_is_readable(a->s.chan, 0));
}

/* ---- at any address ---- */

static const struct {
	const char *name;
	int family;
	int afonly; /* -1: not set */
	int request;
	bool is_taken;
	bool has_device;
} listeners[] = {
	{ "IPv4", AF_INET, -1, AF_INET, true, true },
	{ "IPv4 alone", AF_INET, -1, AF_INET6, false, true },
	{ "IPv4, both", AF_INET, 0, AF_INET6, true, true },
	{ "IPv4 only", AF_INET, 1, AF_INET6, false, true },
	{ "IPv6 takes both", AF_INET6, -1, AF_INET, true, true },
	{ "IPv6", AF_INET6, -1, AF_INET6, true, true },
	{ "IPv6, both", AF_INET6, 0, AF_INET, true, true },
	{ "IPv6 only", AF_INET6, 1, AF_INET, false, true },
	{ "no address of this host", AF_INET, -1, AF_INET, false, false },
};

/* The request is for ::1. */
static void request_to_ipv6(struct sidr_dgram *dgram)
{
	struct sib_ip_cm ip = { .src_port = SRC_PORT };

	assert_int_equal(sib_gid_from_ip(in6addr_loopback.s6_addr, 16, &ip.src),
			 0);
	ip.dst = ip.src;
	assert_int_equal(sib_ip_cm_encode(&ip, dgram->mad + 40, SIB_IP_CM_SIZE),
			 SIB_IP_CM_SIZE);
}

CASE(a_listener_at_any_address_takes_those_of_devices)
{
	for (size_t i = 0; i < ARRAY_LEN(listeners); i++) {
		struct sockaddr_storage any = { 0 };
		struct served a = { .asker = sidr_peer_open(sidr_asker(TID)) };
		struct rnic_cm_info info;
		struct sidr_dgram dgram;
		struct cm_side *s = &a.s;

		any.ss_family = (sa_family_t)listeners[i].family;
		assert_int_equal(rnic_cm_chan_new(&s->chan), 0);
		assert_int_equal(rnic_cm_create_ud(s->chan, LISTEN_UID,
						   SIB_PS_UDP, &s->id),
				 0);
		if (listeners[i].afonly >= 0)
			assert_int_equal(rnic_cm_set_option(
						 s->chan, s->id,
						 RNIC_CM_OPT_AFONLY,
						 (uint32_t)listeners[i].afonly),
					 0);
		assert_int_equal(
			rnic_cm_bind(s->chan, s->id, (struct sockaddr *)&any),
			0);
		assert_int_equal(rnic_cm_listen(s->chan, s->id, 0), 0);
		assert_int_equal(rnic_cm_query(s->chan, s->id, &info), 0);
		a.port = cm_port(&info.local);
		request_encode(&dgram, a.port, REQUEST_ID);
		if (listeners[i].request == AF_INET6)
			request_to_ipv6(&dgram);
		if (!listeners[i].has_device)
			dgram.mad[40 + 32] = 192; /* 192.0.0.1 */
		dgram_send(&a, &dgram);
		if (listeners[i].is_taken)
			request_expect(&a);
		else
			refusal_expect(&a, REQUEST_ID);
		done(&(void *){ &a });
	}
}

BEFORE_CASES()
{
	/* Before the settings are read for the first time. */
	setenv("USIW_PERSONA", "ca", 1);
}

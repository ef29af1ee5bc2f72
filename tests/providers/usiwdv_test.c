/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Direct verbs over the fake RNIC: arguments, results, private data. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "fake-rnic.h"

#define FD 17

static struct usiwdv_attach_attr attr_of(enum usiwdv_role role)
{
	return (struct usiwdv_attach_attr){
		.size = sizeof(struct usiwdv_attach_attr), .role = role
	};
}

static int check_yes(void *arg, const struct usiwdv_attach_result *request)
{
	*(struct usiwdv_attach_result *)arg = *request;
	return 0;
}

static int check_no(void *arg, const struct usiwdv_attach_result *request)
{
	check_yes(arg, request);
	return 1;
}

static int attach(struct fake_world *w, const struct usiwdv_attach_attr *attr)
{
	int rc;

	errno = 0;
	rc = usiwdv_qp_attach_fd(w->qp, FD, attr);
	assert_int_equal(rc, errno);
	assert_int_equal(fake.attach.alive, 0);
	return rc;
}

FAKE_CASE(refuses_bad_attributes)
{
	struct fake_world *w = *state;
	struct usiwdv_attach_result seen;
	struct {
		struct usiwdv_attach_attr attr;
		uint8_t tail[16];
	} larger = { .attr = attr_of(USIWDV_INITIATOR) };
	struct usiwdv_attach_attr attr;

	assert_int_equal(attach(w, NULL), EINVAL);
#define BAD(role, change, want)                                                \
	do {                                                                   \
		attr = attr_of(role);                                          \
		change;                                                        \
		assert_int_equal(attach(w, &attr), want);                      \
	} while (0)
	BAD(USIWDV_INITIATOR, attr.size = 0, EINVAL);
	BAD(USIWDV_INITIATOR, attr.size = sizeof(attr) - 1, EINVAL);
	BAD(USIWDV_INITIATOR, attr.role = 2, EINVAL);
	BAD(USIWDV_INITIATOR, attr.mpa_rev = 3, EINVAL);
	BAD(USIWDV_INITIATOR, attr.pd_len = 1, EINVAL);
	BAD(USIWDV_INITIATOR, (attr.pd = "", attr.pd_len = 513), EMSGSIZE);
	BAD(USIWDV_INITIATOR, attr.peer_pd_size = 1, EINVAL);
	BAD(USIWDV_RESPONDER, attr.last_msg_len = 1, EINVAL);
	BAD(USIWDV_INITIATOR, (attr.last_msg = "", attr.last_msg_len = 1),
	    EINVAL);
	BAD(USIWDV_INITIATOR,
	    (attr.check_request = check_no, attr.check_arg = &seen), EINVAL);
#undef BAD
	assert_int_equal(fake.attach.wait_cnt, 0);

	larger.attr.size = sizeof(larger);
	assert_int_equal(attach(w, &larger.attr), 0);
	larger.tail[15] = 1;
	assert_int_equal(attach(w, &larger.attr), E2BIG);
}

FAKE_CASE(initiator_hands_all_through)
{
	struct fake_world *w = *state;
	struct usiwdv_attach_attr attr = attr_of(USIWDV_INITIATOR);
	struct usiwdv_attach_result result;
	char peer_pd[8] = "xxxxxxx";

	attr.timeout_ms = 1234;
	attr.mpa_rev = 1;
	attr.ird = 5;
	attr.ord = 6;
	attr.pd = "hello";
	attr.pd_len = 5;
	attr.peer_pd = peer_pd;
	attr.peer_pd_size = sizeof(peer_pd);
	attr.result = &result;
	fake.attach.taken = 24;
	fake.attach.start = (struct rnic_attach_start){
		.pd = "reply",
		.pd_len = 5,
		.rev = 2,
		.has_crc = true,
		.ird = 7,
		.ord = 8,
	};
	assert_int_equal(attach(w, &attr), 0);
	assert_int_equal(w->qp->state, IBV_QPS_RTS);
	assert_int_equal(fake.attach.fd, FD);
	assert_false(fake.attach.opt.is_responder);
	assert_int_equal(fake.attach.opt.timeout_ms, 1234);
	assert_int_equal(fake.attach.opt.rev, 1);
	assert_int_equal(fake.attach.opt.ird, 5);
	assert_int_equal(fake.attach.opt.ord, 6);
	assert_ptr_equal(fake.attach.opt.pd, attr.pd);
	assert_int_equal(fake.attach.opt.pd_len, 5);
	assert_int_equal(fake.attach.finish_cnt, 1);
	assert_int_equal(fake.attach.accept_cnt, 0);
	assert_memory_equal(peer_pd, "replyxx", 7);
	assert_int_equal(result.taken, 24);
	assert_int_equal(result.peer_pd_len, 5);
	assert_int_equal(result.mpa_rev, 2);
	assert_int_equal(result.has_crc, 1);
	assert_int_equal(result.ird, 7);
	assert_int_equal(result.ord, 8);
}

FAKE_CASE(responder_accepts)
{
	struct fake_world *w = *state;
	struct usiwdv_attach_attr attr = attr_of(USIWDV_RESPONDER);
	struct usiwdv_attach_result seen = { 0 }, result;
	char peer_pd[4];

	attr.pd = "yes";
	attr.pd_len = 3;
	attr.ird = 4;
	attr.ord = 1;
	attr.last_msg = "switch";
	attr.last_msg_len = 6;
	attr.peer_pd = peer_pd;
	attr.peer_pd_size = sizeof(peer_pd);
	attr.check_request = check_yes;
	attr.check_arg = &seen;
	attr.result = &result;
	fake.attach.taken = 28;
	fake.attach.start = (struct rnic_attach_start){
		.pd = "may?",
		.pd_len = 4,
		.rev = 2,
		.ird = 7,
		.ord = 8,
	};
	assert_int_equal(attach(w, &attr), 0);
	assert_true(fake.attach.opt.is_responder);
	assert_int_equal(fake.attach.opt.pd_len, 0);
	assert_ptr_equal(fake.attach.opt.last, attr.last_msg);
	assert_int_equal(fake.attach.opt.last_len, 6);
	assert_int_equal(seen.peer_pd_len, 4);
	assert_int_equal(seen.ird, 7); /* the peer's value */
	assert_int_equal(seen.taken, 28);
	assert_memory_equal(peer_pd, "may?", 4);
	assert_int_equal(fake.attach.accept_cnt, 1);
	assert_int_equal(fake.attach.pd_len, 3);
	assert_memory_equal(fake.attach.pd, "yes", 3);
	assert_int_equal(fake.attach.ird, 4);
	assert_int_equal(fake.attach.finish_cnt, 1);
	assert_int_equal(result.ird, 3); /* the value for this side */
	assert_int_equal(result.ord, 2);
	assert_int_equal(result.peer_pd_len, 4);
}

FAKE_CASE(responder_rejects)
{
	struct fake_world *w = *state;
	struct usiwdv_attach_attr attr = attr_of(USIWDV_RESPONDER);
	struct usiwdv_attach_result seen;

	attr.pd = "no";
	attr.pd_len = 2;
	attr.check_request = check_no;
	attr.check_arg = &seen;
	assert_int_equal(attach(w, &attr), ECONNREFUSED);
	assert_int_equal(fake.attach.reject_cnt, 1);
	assert_int_equal(fake.attach.accept_cnt, 0);
	assert_int_equal(fake.attach.finish_cnt, 0);
	assert_memory_equal(fake.attach.pd, "no", 2);
	assert_int_not_equal(w->qp->state, IBV_QPS_RTS);
}

FAKE_CASE(rejection_brings_its_private_data)
{
	struct fake_world *w = *state;
	struct usiwdv_attach_attr attr = attr_of(USIWDV_INITIATOR);
	struct usiwdv_attach_result result;
	char peer_pd[3];

	attr.peer_pd = peer_pd;
	attr.peer_pd_size = sizeof(peer_pd);
	attr.result = &result;
	fake.attach.start =
		(struct rnic_attach_start){ .pd = "why", .pd_len = 3 };
	fake.fail_name = "rnic_attach_wait";
	fake.fail_err = -ECONNREFUSED;
	assert_int_equal(attach(w, &attr), ECONNREFUSED);
	assert_int_equal(result.peer_pd_len, 3);
	assert_memory_equal(peer_pd, "why", 3);
	assert_int_equal(fake.attach.finish_cnt, 0);
}

/* T-50: nothing is written beyond the buffer, and nothing is accepted. */
FAKE_CASE(private_data_too_long_is_emsgsize)
{
	static const enum usiwdv_role roles[] = { USIWDV_INITIATOR,
						  USIWDV_RESPONDER };
	struct fake_world *w = *state;

	for (size_t i = 0; i < 2; i++) {
		struct usiwdv_attach_attr attr = attr_of(roles[i]);
		struct usiwdv_attach_result result;
		char peer_pd[3] = "ab";

		attr.peer_pd = peer_pd;
		attr.peer_pd_size = 2;
		attr.result = &result;
		fake.attach.start =
			(struct rnic_attach_start){ .pd = "why", .pd_len = 3 };
		assert_int_equal(attach(w, &attr), EMSGSIZE);
		assert_int_equal(result.peer_pd_len, 3);
		assert_string_equal(peer_pd, "ab");
		attr.peer_pd = NULL; /* not requested */
		attr.peer_pd_size = 0;
		assert_int_equal(attach(w, &attr), 0);
	}
	assert_int_equal(fake.attach.finish_cnt, 2);
}

FAKE_CASE(every_failure_comes_through)
{
	static const char *const names[] = { "rnic_attach_open",
					     "rnic_attach_wait",
					     "rnic_attach_accept",
					     "rnic_attach_finish" };
	static const int errs[] = { EINVAL, EPROTO, ETIMEDOUT, ECONNRESET };
	struct fake_world *w = *state;
	struct usiwdv_attach_attr attr = attr_of(USIWDV_RESPONDER);

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		for (size_t j = 0; j < ARRAY_LEN(errs); j++) {
			fake.fail_name = names[i];
			fake.fail_err = -errs[j];
			assert_int_equal(attach(w, &attr), errs[j]);
			assert_int_not_equal(w->qp->state, IBV_QPS_RTS);
		}
	}
	fake.fail_name = NULL;
	fake.fork_gen = 1;
	assert_int_equal(attach(w, &attr), ENODEV);
}

FAKE_CASE(sleep_hands_the_descriptor_through)
{
	struct fake_world *w = *state;

	fake.sleep_ret = 31;
	assert_int_equal(usiwdv_cq_sleep_begin(w->qp->recv_cq), 31);
	assert_int_equal(fake.sleep_cnt, 1);
	usiwdv_cq_sleep_end(w->qp->recv_cq);
	assert_int_equal(fake.sleep_cnt, 0);
	fake.sleep_ret = -EAGAIN;
	errno = 0;
	assert_int_equal(usiwdv_cq_sleep_begin(w->qp->recv_cq), -1);
	assert_int_equal(errno, EAGAIN);
}

FAKE_CASE(error_comes_through)
{
	struct fake_world *w = *state;

	assert_int_equal(usiwdv_qp_error(w->qp), 0);
	fake.tcp_error = EHOSTUNREACH;
	assert_int_equal(usiwdv_qp_error(w->qp), EHOSTUNREACH);
	fake.fork_gen = 1;
	assert_int_equal(usiwdv_qp_error(w->qp), 0);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Messages of NETLINK_RDMA: requests and replies, octet by octet. */
#include "test.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "messages.h"

static const struct rnic_device_attr attrs[] = {
	{ .name = "usiw_lo",
	  .ifname = "lo",
	  .ifindex = 1,
	  .uverbs_num = 1000,
	  .is_up = true },
	{ .name = "usiw_down0",
	  .ifname = "down0",
	  .ifindex = 7,
	  .uverbs_num = 1001,
	  .persona = RNIC_PERSONA_CA },
	{ .name = "usiw_gone0",
	  .uverbs_num = 1002 }, /* its interface was removed */
};
static const struct kabi_nldev_device devices[] = {
	{ .attr = &attrs[0], .index = 0 },
	{ .attr = &attrs[1], .index = 1 },
	{ .attr = &attrs[2], .index = 2 },
};
static const struct kabi_nldev nldev = {
	.devices = devices,
	.device_cnt = ARRAY_LEN(devices),
	.fw_ver = "1.2.3",
	.portid = PORTID,
};

/* ---- replies ---- */

/* The attribute in the message at @at; NULL: not found. */
static const void *attr_of(const struct kabi_nldev_reply *reply, size_t at,
			   uint16_t type, size_t *ret_len)
{
	const uint8_t *p = reply->octets + at + NLMSG_HDRLEN;
	const uint8_t *end =
		reply->octets + at + header_at(reply, at).nlmsg_len;
	struct nlattr attr;

	while (p < end) {
		memcpy(&attr, p, sizeof(attr));
		assert_in_range(attr.nla_len, sizeof(attr), end - p);
		if (attr.nla_type == type) {
			*ret_len = attr.nla_len - sizeof(attr);
			return p + sizeof(attr);
		}
		p += NLA_ALIGN(attr.nla_len);
	}
	return NULL;
}

static uint64_t number_of(const struct kabi_nldev_reply *reply, size_t at,
			  uint16_t type)
{
	uint64_t value = 0;
	size_t len = 0;
	const void *p = attr_of(reply, at, type, &len);

	if (!p)
		fail_msg("no attribute %u", type);
	assert_in_range(len, 1, sizeof(value));
	memcpy(&value, p,
	       len); /* a little-endian machine, like all that are tested */
	return le64toh(value);
}

static const char *text_of(const struct kabi_nldev_reply *reply, size_t at,
			   uint16_t type)
{
	size_t len = 0;
	const char *p = attr_of(reply, at, type, &len);

	if (!p)
		fail_msg("no attribute %u", type);
	assert_int_equal(strnlen(p, len), len - 1);
	return p;
}

/* ---- tests ---- */

CASE(a_list_names_every_device_and_ends)
{
	struct message msg = message(RDMA_NLDEV_CMD_GET, DUMP, -1, -1, NULL);
	struct kabi_nldev_reply reply = ask(&nldev, msg.octets, msg.len);
	static const uint64_t node_types[] = { 4, 1, 4 };
	static const char *const protocols[] = { "iw", "roce", "iw" };
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
		struct nlmsghdr hdr = header_at(&reply, at);

		assert_int_equal(hdr.nlmsg_type, TYPE(RDMA_NLDEV_CMD_GET));
		assert_int_equal(hdr.nlmsg_flags, NLM_F_MULTI);
		assert_int_equal(
			number_of(&reply, at, RDMA_NLDEV_ATTR_DEV_INDEX), i);
		assert_string_equal(
			text_of(&reply, at, RDMA_NLDEV_ATTR_DEV_NAME),
			attrs[i].name);
		assert_string_equal(
			text_of(&reply, at, RDMA_NLDEV_ATTR_FW_VERSION),
			"1.2.3");
		assert_int_equal(
			number_of(&reply, at, RDMA_NLDEV_ATTR_DEV_NODE_TYPE),
			node_types[i]);
		assert_string_equal(
			text_of(&reply, at, RDMA_NLDEV_ATTR_DEV_PROTOCOL),
			protocols[i]);
		at += NLMSG_ALIGN(hdr.nlmsg_len);
	}
	assert_int_equal(header_at(&reply, at).nlmsg_type, NLMSG_DONE);
	assert_int_equal(at + header_at(&reply, at).nlmsg_len, reply.len);
	kabi_nldev_reply_free(&reply);
}

/* In host order, as in the kernel. */
CASE(a_guid_is_a_number)
{
	const uint8_t guid[8] = { 2, 0, 0, 0xff, 0xfe, 0, 0, 1 };
	struct rnic_device_attr attr = attrs[0];
	struct kabi_nldev_device device = { .attr = &attr, .index = 5 };
	struct kabi_nldev one = { .devices = &device,
				  .device_cnt = 1,
				  .fw_ver = "1",
				  .portid = PORTID };
	struct message msg =
		message(RDMA_NLDEV_CMD_GET, NLM_F_REQUEST, 5, -1, NULL);
	struct kabi_nldev_reply reply;

	memcpy(&attr.guid_be, guid, sizeof(guid));
	reply = ask(&one, msg.octets, msg.len);
	assert_int_equal(number_of(&reply, 0, RDMA_NLDEV_ATTR_NODE_GUID),
			 0x020000fffe000001);
	assert_int_equal(header_at(&reply, 0).nlmsg_flags, 0);
	kabi_nldev_reply_free(&reply);
}

CASE(ports_name_state_and_interface)
{
	struct kabi_nldev_reply reply;
	struct message msg;
	size_t len;

	for (int i = 0; i < (int)ARRAY_LEN(devices); i++) {
		bool is_up = attrs[i].is_up;

		msg = message(RDMA_NLDEV_CMD_PORT_GET, NLM_F_REQUEST, i, 1,
			      NULL);
		reply = ask(&nldev, msg.octets, msg.len);
		assert_int_equal(
			number_of(&reply, 0, RDMA_NLDEV_ATTR_PORT_STATE),
			is_up ? 4 : 1);
		assert_int_equal(
			number_of(&reply, 0, RDMA_NLDEV_ATTR_PORT_PHYS_STATE),
			is_up ? 5 : 3);
		if (attrs[i].ifindex) {
			assert_int_equal(number_of(&reply, 0,
						   RDMA_NLDEV_ATTR_NDEV_INDEX),
					 attrs[i].ifindex);
			assert_string_equal(
				text_of(&reply, 0, RDMA_NLDEV_ATTR_NDEV_NAME),
				attrs[i].ifname);
		} else {
			assert_null(attr_of(&reply, 0,
					    RDMA_NLDEV_ATTR_NDEV_NAME, &len));
		}
		kabi_nldev_reply_free(&reply);
	}
	/* the list of one device's ports */
	msg = message(RDMA_NLDEV_CMD_PORT_GET, DUMP, 1, -1, NULL);
	reply = ask(&nldev, msg.octets, msg.len);
	assert_int_equal(header_at(&reply, 0).nlmsg_type,
			 TYPE(RDMA_NLDEV_CMD_PORT_GET));
	assert_int_equal(number_of(&reply, 0, RDMA_NLDEV_ATTR_PORT_INDEX), 1);
	len = NLMSG_ALIGN(header_at(&reply, 0).nlmsg_len);
	assert_int_equal(header_at(&reply, len).nlmsg_type, NLMSG_DONE);
	kabi_nldev_reply_free(&reply);
}

CASE(character_devices_have_name_number_and_revision)
{
	static const struct {
		int dev;
		const char *type, *name;
		uint64_t devt, abi;
	} cases[] = {
		/* 231:1192 and 10:1000192 as the kernel packs them */
		{ 0, "uverbs", "uverbs1000", 0x40e7a8, 2 },
		{ 1, "uverbs", "uverbs1001", 0x40e7a9, 2 },
		{ -1, "rdma_cm", "rdma_cm", 0xf4300a00, 4 },
		{ 0, "rdma_cm", "rdma_cm", 0xf4300a00, 4 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct message msg = message(RDMA_NLDEV_CMD_GET_CHARDEV,
					     NLM_F_REQUEST, cases[i].dev, -1,
					     cases[i].type);
		struct kabi_nldev_reply reply =
			ask(&nldev, msg.octets, msg.len);

		assert_string_equal(
			text_of(&reply, 0, RDMA_NLDEV_ATTR_CHARDEV_NAME),
			cases[i].name);
		assert_int_equal(
			number_of(&reply, 0, RDMA_NLDEV_ATTR_CHARDEV_ABI),
			cases[i].abi);
		assert_int_equal(number_of(&reply, 0, RDMA_NLDEV_ATTR_CHARDEV),
				 cases[i].devt);
		kabi_nldev_reply_free(&reply);
	}
}

CASE(what_cannot_be_answered_is_an_error)
{
	static const struct {
		uint32_t op;
		uint16_t flags;
		int dev, port;
		const char *type;
		int err;
	} cases[] = {
		{ RDMA_NLDEV_CMD_GET, 0, -1, -1, NULL, -EINVAL },
		{ RDMA_NLDEV_CMD_GET, 0, 3, -1, NULL, -EINVAL },
		{ RDMA_NLDEV_CMD_PORT_GET, 0, 0, -1, NULL, -EINVAL },
		{ RDMA_NLDEV_CMD_PORT_GET, 0, 0, 0, NULL, -EINVAL },
		{ RDMA_NLDEV_CMD_PORT_GET, 0, 0, 2, NULL, -EINVAL },
		{ RDMA_NLDEV_CMD_PORT_GET, 0, 3, 1, NULL, -EINVAL },
		{ RDMA_NLDEV_CMD_PORT_GET, NLM_F_DUMP, -1, -1, NULL, -EINVAL },
		{ RDMA_NLDEV_CMD_GET_CHARDEV, 0, 0, -1, NULL, -EINVAL },
		{ RDMA_NLDEV_CMD_GET_CHARDEV, 0, 3, -1, "uverbs", -EINVAL },
		{ RDMA_NLDEV_CMD_GET_CHARDEV, 0, 0, 2, "uverbs", -EINVAL },
		{ RDMA_NLDEV_CMD_GET_CHARDEV, 0, -1, -1, "uverbs",
		  -EOPNOTSUPP },
		{ RDMA_NLDEV_CMD_GET_CHARDEV, 0, 0, -1, "umad", -EOPNOTSUPP },
		{ RDMA_NLDEV_CMD_SET, NLM_F_ACK, 0, -1, NULL, -EOPNOTSUPP },
		{ RDMA_NLDEV_CMD_STAT_GET_STATUS, 0, 0, 1, NULL, -EOPNOTSUPP },
		{ RDMA_NLDEV_CMD_STAT_GET, 0, 3, 1, NULL, -EINVAL },
		{ RDMA_NLDEV_CMD_RES_GET, 0, 3, -1, NULL, -EINVAL },
		{ RDMA_NLDEV_CMD_RES_QP_GET, 0, 3, -1, NULL, -EINVAL },
		{ RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP, 3, -1, NULL, -EINVAL },
		{ RDMA_NLDEV_CMD_UNSPEC, 0, -1, -1, NULL, -EINVAL },
		{ 1023, 0, -1, -1, NULL, -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct message msg =
			message(cases[i].op, cases[i].flags | NLM_F_REQUEST,
				cases[i].dev, cases[i].port, cases[i].type);
		struct kabi_nldev_reply reply =
			ask(&nldev, msg.octets, msg.len);

		error_is(&reply, cases[i].err);
		/* the request is included */
		assert_int_equal(reply.len, NLMSG_HDRLEN + 4 + msg.len);
		assert_memory_equal(reply.octets + NLMSG_HDRLEN + 4, msg.octets,
				    msg.len);
		kabi_nldev_reply_free(&reply);
	}
}

CASE(what_is_malformed_is_an_error)
{
	static const char long_type[KABI_NLDEV_TYPE_MAX + 1] =
		"uverbsuverbsuverbsuverbsuverbsuv";
	struct message good = message(RDMA_NLDEV_CMD_GET_CHARDEV, NLM_F_REQUEST,
				      0, 1, "uverbs");
	struct message bad[11];
	struct kabi_nldev_reply reply;
	uint32_t len;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		bad[i] = good;
	len = NLMSG_HDRLEN - 1;
	memcpy(bad[0].octets, &len, 4);
	len = (uint32_t)good.len + 1;
	memcpy(bad[1].octets, &len, 4);
	len = UINT32_MAX;
	memcpy(bad[2].octets, &len, 4);
	bad[3].octets[NLMSG_HDRLEN] = 3;   /* shorter than its header */
	bad[4].octets[NLMSG_HDRLEN] = 7;   /* not the four octets of an index */
	bad[5].octets[NLMSG_HDRLEN] = 255; /* longer than the message */
	bad[6].octets[NLMSG_HDRLEN + 8] = 9;
	bad[10].octets[NLMSG_HDRLEN + 8] = 6; /* half a port */
	len = (uint32_t)good.len - 9; /* ends inside the last attribute */
	memcpy(bad[7].octets, &len, 4);
	bad[7].len = len;
	bad[8] = message(RDMA_NLDEV_CMD_GET_CHARDEV, NLM_F_REQUEST, 0, -1,
			 long_type);
	bad[9] = message(RDMA_NLDEV_CMD_GET_CHARDEV, NLM_F_REQUEST, 0, -1, "");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		reply = ask(&nldev, bad[i].octets, bad[i].len);
		if (reply.len == 0)
			fail_msg("case %zu", i);
		error_is(&reply, -EINVAL);
		kabi_nldev_reply_free(&reply);
	}
	/* shorter than a header: the received octets are quoted */
	reply = ask(&nldev, good.octets, 12);
	error_is(&reply, -EINVAL);
	kabi_nldev_reply_free(&reply);
	/* of another subsystem */
	good.octets[5] = RDMA_NL_LS << 2;
	reply = ask(&nldev, good.octets, good.len);
	error_is(&reply, -EINVAL);
	kabi_nldev_reply_free(&reply);
}

CASE(acks_come_when_asked_for)
{
	static const struct {
		uint16_t type, flags;
		bool is_acked;
		size_t replies; /* before the ACK */
	} cases[] = {
		{ TYPE(RDMA_NLDEV_CMD_SYS_GET), NLM_F_REQUEST, false, 1 },
		{ TYPE(RDMA_NLDEV_CMD_SYS_GET), NLM_F_REQUEST | NLM_F_ACK, true,
		  1 },
		/* not a request */
		{ TYPE(RDMA_NLDEV_CMD_SYS_GET), 0, false, 0 },
		{ TYPE(RDMA_NLDEV_CMD_SYS_GET), NLM_F_ACK, true, 0 },
		{ NLMSG_NOOP, NLM_F_REQUEST, false, 0 },
		{ NLMSG_DONE, NLM_F_REQUEST | NLM_F_ACK, true, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct nlmsghdr hdr = { .nlmsg_len = sizeof(hdr),
					.nlmsg_type = cases[i].type,
					.nlmsg_flags = cases[i].flags,
					.nlmsg_seq = SEQ };
		struct kabi_nldev_reply reply = ask(&nldev, &hdr, sizeof(hdr));
		size_t at = 0;

		for (size_t r = 0; r < cases[i].replies; r++)
			at += NLMSG_ALIGN(header_at(&reply, at).nlmsg_len);
		if (cases[i].is_acked) {
			assert_int_equal(header_at(&reply, at).nlmsg_type,
					 NLMSG_ERROR);
			assert_int_equal(*(int32_t *)(void *)(reply.octets +
							      at +
							      NLMSG_HDRLEN),
					 0);
			at += NLMSG_ALIGN(header_at(&reply, at).nlmsg_len);
		}
		assert_int_equal(at, reply.len);
		kabi_nldev_reply_free(&reply);
	}
}

CASE(errors_do_not_quote_when_capped)
{
	struct kabi_nldev capped = nldev;
	struct message msg =
		message(RDMA_NLDEV_CMD_GET, NLM_F_REQUEST, 77, -1, NULL);
	struct kabi_nldev_reply reply;

	capped.is_capped = true;
	reply = ask(&capped, msg.octets, msg.len);
	error_is(&reply, -EINVAL);
	assert_int_equal(reply.len, NLMSG_HDRLEN + sizeof(struct nlmsgerr));
	assert_int_equal(header_at(&reply, 0).nlmsg_flags, NLM_F_CAPPED);
	kabi_nldev_reply_free(&reply);
}

/* ---- beside real hardware ---- */

/* The answer of a kernel with the devices mlx5_0 and usiw_lo. */
static size_t real_list(uint8_t octets[MSG_MAX])
{
	static const char *const names[] = { "mlx5_0", "usiw_lo" };
	struct message msg;
	size_t len = 0;

	for (int i = 0; i < 2; i++) {
		msg = message(RDMA_NLDEV_CMD_GET, NLM_F_MULTI, i, -1, NULL);
		attr_put(&msg, RDMA_NLDEV_ATTR_DEV_NAME, names[i],
			 strlen(names[i]) + 1);
		memcpy(msg.octets, &(uint32_t){ (uint32_t)msg.len }, 4);
		memcpy(octets + len, msg.octets, msg.len);
		len += msg.len;
	}
	msg = message(0, NLM_F_MULTI, -1, -1, NULL);
	memcpy(msg.octets + 4, &(uint16_t){ NLMSG_DONE }, 2);
	memcpy(octets + len, msg.octets, msg.len);
	return len + msg.len;
}

CASE(lists_of_both_are_one)
{
	static const char *const names[] = { "usiw_lo", "usiw_down0",
					     "usiw_gone0", "mlx5_0" };
	struct message msg = message(RDMA_NLDEV_CMD_GET, DUMP, -1, -1, NULL);
	struct kabi_nldev_reply reply = { 0 };
	struct kabi_nldev_request req;
	uint8_t real[MSG_MAX];
	size_t real_len = real_list(real), at = 0;

	kabi_nldev_decode(msg.octets, msg.len, &req);
	assert_int_equal(kabi_nldev_owner(&nldev, &req), KABI_NLDEV_BOTH);
	assert_true(kabi_nldev_is_last(real, real_len));
	assert_false(kabi_nldev_is_last(real, real_len - NLMSG_HDRLEN));
	kabi_nldev_merge(&nldev, &req, real, real_len, &reply);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_string_equal(
			text_of(&reply, at, RDMA_NLDEV_ATTR_DEV_NAME),
			names[i]);
		at += NLMSG_ALIGN(header_at(&reply, at).nlmsg_len);
	}
	assert_int_equal(header_at(&reply, at).nlmsg_type, NLMSG_DONE);
	assert_int_equal(at + header_at(&reply, at).nlmsg_len, reply.len);
	kabi_nldev_reply_free(&reply);
}

CASE(requests_go_to_their_owner)
{
	static const struct {
		uint32_t op;
		int dev;
		const char *type;
		enum kabi_nldev_owner owner;
	} cases[] = {
		{ RDMA_NLDEV_CMD_GET, 1, NULL, KABI_NLDEV_OURS },
		{ RDMA_NLDEV_CMD_GET, 9, NULL, KABI_NLDEV_KERNEL },
		{ RDMA_NLDEV_CMD_GET, -1, NULL, KABI_NLDEV_KERNEL },
		{ RDMA_NLDEV_CMD_SYS_GET, -1, NULL, KABI_NLDEV_KERNEL },
		{ RDMA_NLDEV_CMD_RES_QP_GET, 1, NULL, KABI_NLDEV_OURS },
		{ RDMA_NLDEV_CMD_STAT_GET, 9, NULL, KABI_NLDEV_KERNEL },
		{ RDMA_NLDEV_CMD_GET_CHARDEV, -1, "rdma_cm", KABI_NLDEV_OURS },
		{ RDMA_NLDEV_CMD_GET_CHARDEV, 0, "uverbs", KABI_NLDEV_OURS },
		{ RDMA_NLDEV_CMD_GET_CHARDEV, 9, "uverbs", KABI_NLDEV_KERNEL },
		{ 1023, -1, NULL, KABI_NLDEV_OURS },
	};
	struct kabi_nldev_request req;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct message msg = message(cases[i].op, NLM_F_REQUEST,
					     cases[i].dev, -1, cases[i].type);

		kabi_nldev_decode(msg.octets, msg.len, &req);
		assert_int_equal(kabi_nldev_owner(&nldev, &req),
				 cases[i].owner);
	}
}

/* Both are a walk through /proc. */
CASE(other_processes_are_looked_at_for_what_they_have)
{
	static const struct {
		uint32_t op;
		int dev;
		uint16_t flags;
		uint32_t res; /* 0: without the attribute */
		bool census, totals;
	} cases[] = {
		{ RDMA_NLDEV_CMD_GET, 1, 0, 0, false, false },
		{ RDMA_NLDEV_CMD_RES_QP_GET, 1, DUMP, 0, true, false },
		{ RDMA_NLDEV_CMD_RES_QP_GET, 9, DUMP, 0, false, false },
		{ RDMA_NLDEV_CMD_RES_GET, 1, 0, 0, true, false },
		{ RDMA_NLDEV_CMD_RES_GET, -1, DUMP, 0, true, false },
		{ RDMA_NLDEV_CMD_STAT_GET, 1, 0, 0, false, true },
		{ RDMA_NLDEV_CMD_STAT_GET, 9, 0, 0, false, false },
		{ RDMA_NLDEV_CMD_STAT_GET, 1, DUMP, RDMA_NLDEV_ATTR_RES_QP,
		  true, false },
		{ RDMA_NLDEV_CMD_STAT_GET, 9, DUMP, RDMA_NLDEV_ATTR_RES_QP,
		  false, false },
		{ 1023, 1, 0, 0, false, false },
	};
	struct kabi_nldev_request req;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct message msg = message(cases[i].op,
					     NLM_F_REQUEST | cases[i].flags,
					     cases[i].dev, 1, NULL);

		if (cases[i].res)
			message_add(&msg, RDMA_NLDEV_ATTR_STAT_RES,
				    cases[i].res);
		kabi_nldev_decode(msg.octets, msg.len, &req);
		if (kabi_nldev_wants_census(&nldev, &req) != cases[i].census ||
		    kabi_nldev_wants_totals(&nldev, &req) != cases[i].totals)
			fail_msg("row %zu", i);
	}
}

/* The ACK that marks the end is not for an application that requested none. A
 * refusal is. */
CASE(replies_of_the_kernel_are_passed_on)
{
	static const struct {
		uint16_t flags;
		int err;
		bool is_passed;
	} cases[] = {
		{ NLM_F_REQUEST, 0, false },
		{ NLM_F_REQUEST | NLM_F_ACK, 0, true },
		{ NLM_F_REQUEST, -EPERM, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct message msg = message(RDMA_NLDEV_CMD_SET, cases[i].flags,
					     9, -1, NULL);
		struct message real = message(0, 0, -1, -1, NULL);
		struct nlmsgerr error = { .error = cases[i].err };
		struct kabi_nldev_reply reply = { 0 };
		struct kabi_nldev_request req;

		memcpy(real.octets + real.len, &error, sizeof(error));
		real.len += sizeof(error);
		memcpy(real.octets, &(uint32_t){ (uint32_t)real.len }, 4);
		memcpy(real.octets + 4, &(uint16_t){ NLMSG_ERROR }, 2);
		kabi_nldev_decode(msg.octets, msg.len, &req);
		kabi_nldev_merge(&nldev, &req, real.octets, real.len, &reply);
		assert_int_equal(reply.len, cases[i].is_passed ? real.len : 0);
		if (reply.len)
			error_is(&reply, cases[i].err);
		kabi_nldev_reply_free(&reply);
	}
}

CASE(datagrams_hold_lists_and_fit_a_page)
{
	enum { MANY = 100 };
	struct kabi_nldev_device many[MANY];
	struct kabi_nldev who = nldev;
	struct message msg = message(RDMA_NLDEV_CMD_GET, DUMP, -1, -1, NULL);
	struct kabi_nldev_reply reply;
	size_t at = 0, len, cnt = 0;

	for (uint32_t i = 0; i < MANY; i++)
		many[i] = (struct kabi_nldev_device){ .attr = &attrs[0],
						      .index = i };
	who.devices = many;
	who.device_cnt = MANY;
	reply = ask(&who, msg.octets, msg.len);
	while ((len = kabi_nldev_datagram(&reply, at))) {
		header_at(&reply, at); /* begins with a message */
		assert_in_range(len, NLMSG_HDRLEN, 4096);
		at += len;
		cnt++;
	}
	assert_int_equal(at, reply.len);
	assert_in_range(cnt, 2, MANY / 8);
	kabi_nldev_reply_free(&reply);
	/* a single message stays single: a reply, then its ACK */
	msg = message(RDMA_NLDEV_CMD_SYS_GET, NLM_F_REQUEST | NLM_F_ACK, -1, -1,
		      NULL);
	reply = ask(&nldev, msg.octets, msg.len);
	len = kabi_nldev_datagram(&reply, 0);
	assert_int_equal(len, header_at(&reply, 0).nlmsg_len);
	assert_int_equal(len + kabi_nldev_datagram(&reply, len), reply.len);
	kabi_nldev_reply_free(&reply);
}

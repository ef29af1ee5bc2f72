/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* For tests of the rdma_cm file: opens it, writes commands, reads events. */
#ifndef UCM_FIXTURE_H
#define UCM_FIXTURE_H

#include "test.h"

#include "ucm-direct.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#define ANSWER_SIZE 512

struct ucm {
	int fd;
	struct util_file *object; /* valid only while the number is open */
	uint8_t answer[ANSWER_SIZE];
};

static inline void ucm_open(struct ucm *u)
{
	u->fd = kabi_ucm_open(O_RDWR | O_NONBLOCK | O_CLOEXEC);
	assert_true(u->fd >= 0);
	u->object = ucm_object(u->fd);
	assert_non_null(u->object);
}

static inline void ucm_close(struct ucm *u)
{
	ucm_number_close(u->fd);
	assert_null(ucm_object(u->fd));
	assert_int_equal(fcntl(u->fd, F_GETFD), -1);
}

/* A fixture with an open file. */
static inline int ucm_setup(void **state)
{
	static struct ucm u;

	ucm_open(&u);
	*state = &u;
	return 0;
}

static inline int ucm_teardown(void **state)
{
	ucm_close(*state);
	return 0;
}

#define UCM_TEST(test)                                                         \
	cmocka_unit_test_setup_teardown(test, ucm_setup, ucm_teardown)

static inline uint64_t answer_of(const struct ucm *u)
{
	return (uintptr_t)u->answer;
}

/* Sends a whole command with a buffer of @out octets for the answer. */
static inline ssize_t ucm_send(struct ucm *u, uint32_t nr, const void *cmd,
			       size_t in, size_t out)
{
	struct rdma_ucm_cmd_hdr hdr = { .cmd = nr,
					.in = (__u16)in,
					.out = (__u16)out };
	uint8_t buf[1024];

	assert_true(in + sizeof(hdr) <= sizeof(buf));
	memcpy(buf, &hdr, sizeof(hdr));
	memcpy(buf + sizeof(hdr), cmd, in);
	return kabi_ucm_write(u->object, buf, in + sizeof(hdr));
}

#define SEND(u, name, cmd, out)                                                \
	ucm_send((u), RDMA_USER_CM_CMD_##name, &(cmd), sizeof(cmd), (out))

static inline uint32_t ucm_create(struct ucm *u)
{
	struct rdma_ucm_create_id cmd = { .uid = 0xc001,
					  .response = answer_of(u),
					  .ps = RDMA_PS_TCP };
	struct rdma_ucm_create_id_resp resp;

	assert_int_equal(SEND(u, CREATE_ID, cmd, sizeof(resp)),
			 sizeof(cmd) + 8);
	memcpy(&resp, u->answer, sizeof(resp));
	return resp.id;
}

static inline struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr.s_addr =
					     htonl(INADDR_LOOPBACK) };
}

static inline ssize_t ucm_resolve(struct ucm *u, uint32_t id)
{
	struct sockaddr_in dst = loopback(9);
	struct rdma_ucm_resolve_ip cmd = { .id = id, .timeout_ms = 1000 };

	memcpy(&cmd.dst_addr, &dst, sizeof(dst));
	return SEND(u, RESOLVE_IP, cmd, 0);
}

static inline struct rdma_ucm_event_resp ucm_event(struct ucm *u)
{
	struct rdma_ucm_get_event cmd = { .response = answer_of(u) };
	struct rdma_ucm_event_resp resp;
	struct pollfd pfd = { .fd = u->fd, .events = POLLIN };

	assert_int_equal(poll(&pfd, 1, 5000), 1);
	assert_int_equal(SEND(u, GET_EVENT, cmd, sizeof(resp)),
			 sizeof(cmd) + 8);
	memcpy(&resp, u->answer, sizeof(resp));
	return resp;
}

#endif

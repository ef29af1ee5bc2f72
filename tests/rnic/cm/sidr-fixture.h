/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * For tests of datagram identities: listeners and askers on loopback, and a
 * process of the host that sends and receives management datagrams itself.
 */
#ifndef SIDR_FIXTURE_H
#define SIDR_FIXTURE_H

#include "fixture.h"

#include "cm/rnic-cm-ud.h"
#include "dgram/host.h"
#include "lists.h"
#include "os/fd.h"
#include "stats.h"

/* Nothing comes within this time. */
#define SIDR_QUIET_MS 30

/* Port 0: any. */
static inline struct sockaddr_storage sidr_bind(struct cm_side *s, int family,
						uint16_t port)
{
	struct sockaddr_storage ss = cm_loopback(family, port);
	struct rnic_cm_info info;

	assert_int_equal(rnic_cm_chan_new(&s->chan), 0);
	assert_int_equal(rnic_cm_create_ud(s->chan, 1, SIB_PS_UDP, &s->id), 0);
	assert_int_equal(rnic_cm_bind(s->chan, s->id, (struct sockaddr *)&ss),
			 0);
	assert_int_equal(rnic_cm_query(s->chan, s->id, &info), 0);
	return info.local;
}

static inline uint16_t sidr_listen(struct cm_side *s, int backlog)
{
	struct sockaddr_storage local = sidr_bind(s, AF_INET, 0);

	assert_int_equal(rnic_cm_listen(s->chan, s->id, backlog), 0);
	return cm_port(&local);
}

/* Up to ROUTE_RESOLVED. */
static inline void sidr_resolve(struct cm_side *s, int family, uint16_t port)
{
	struct sockaddr_storage ss = cm_loopback(family, port);
	struct rnic_cm_event ev;

	assert_int_equal(rnic_cm_chan_new(&s->chan), 0);
	assert_int_equal(rnic_cm_create_ud(s->chan, 2, SIB_PS_UDP, &s->id), 0);
	assert_int_equal(rnic_cm_resolve_addr(s->chan, s->id, NULL,
					      (struct sockaddr *)&ss, 1000),
			 0);
	cm_expect(s->chan, RNIC_CM_ADDR_RESOLVED, 0, &ev);
	assert_true(ev.is_ud);
	assert_int_equal(rnic_cm_resolve_route(s->chan, s->id, 1000), 0);
	cm_expect(s->chan, RNIC_CM_ROUTE_RESOLVED, 0, &ev);
}

static inline int sidr_connect(const struct cm_side *s, const void *pd,
			       size_t len)
{
	struct rnic_cm_conn_param param = { .pd_len = (uint8_t)len };

	memcpy(param.pd, pd, len);
	return rnic_cm_connect(s->chan, s->id, &param);
}

static inline int sidr_accept(const struct cm_side *s, uint32_t id,
			      uint32_t qp_num, const void *pd, size_t len)
{
	struct rnic_cm_conn_param param = { .qp_num = qp_num,
					    .pd_len = (uint8_t)len };

	memcpy(param.pd, pd, len);
	return rnic_cm_accept(s->chan, id, &param);
}

/* ---- a process that speaks for itself ---- */

struct sidr_dgram {
	struct rnic_host_head head;
	uint8_t mad[SIB_MAD_SIZE + 4];
};

static inline struct sib_gid sidr_loopback(void)
{
	const uint8_t addr[4] = { 127, 0, 0, 1 };
	struct sib_gid gid;

	assert_int_equal(sib_gid_from_ip(addr, 4, &gid), 0);
	return gid;
}

/* From 127.0.0.1 to 127.0.0.1, as usiw sends them. */
static inline void sidr_head(struct rnic_host_head *head)
{
	struct sib_path path = { .src = sidr_loopback(),
				 .dst = sidr_loopback() };

	*head = (struct rnic_host_head){ .magic = RNIC_HOST_MAGIC,
					 .dest_num = SIB_QPN_GSI,
					 .src_num = SIB_QPN_GSI,
					 .qkey = SIB_QKEY_GSI };
	assert_int_equal(sib_grh_encode(&path, 280, head->grh, 40), 40);
}

static inline int sidr_peer_open(struct rnic_host_name name)
{
	int fd = rnic_host_open(&name);

	assert_true(fd >= 0);
	return fd;
}

/* Return: octets behind the head. */
static inline size_t sidr_peer_recv(int fd, struct sidr_dgram *ret)
{
	static uint8_t buf[RNIC_HOST_MAX];
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct rnic_stranger from;
	ssize_t len;

	assert_int_equal(poll(&pfd, 1, CM_LIMIT_MS), 1);
	len = rnic_host_recv(fd, buf, &from);
	assert_true(len >= (ssize_t)sizeof(ret->head));
	assert_true((size_t)len <= sizeof(*ret));
	memcpy(ret, buf, (size_t)len);
	return (size_t)len - sizeof(ret->head);
}

static inline bool sidr_peer_hears(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, SIDR_QUIET_MS) == 1;
}

/* @len: octets behind the head. */
static inline int sidr_peer_send(int fd, struct rnic_host_name name,
				 struct sidr_dgram *dgram, size_t len)
{
	struct iovec iov = { dgram, sizeof(dgram->head) + len };

	return rnic_host_send(fd, &name, &iov, 1);
}

/* Anybody of this host may pass one to a name. */
static inline void sidr_pass_descriptor(struct rnic_host_name name)
{
	struct rnic_stranger to = { .uid = getuid(),
				    .name = { .sun_family = AF_UNIX } };
	int fd = rnic_host_open_sender();

	assert_true(fd >= 0);
	to.name_len = (socklen_t)(sizeof(sa_family_t) + 1 + strlen(name.text));
	memcpy(to.name.sun_path + 1, name.text, strlen(name.text));
	assert_int_equal(rnic_host_give(fd, &to, 5, fd), 0);
	rnic_fd_close(fd);
}

static inline struct rnic_host_name sidr_asker(uint64_t tid)
{
	return rnic_host_name_asker((uint32_t)(tid >> 32));
}

/* MADs that have come, good or bad. */
static inline uint64_t sidr_taken(void)
{
	return test_stat(RNIC_STAT_mads_received);
}

#endif

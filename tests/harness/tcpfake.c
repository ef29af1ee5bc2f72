/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A TCP with configurable limits and failures. */
#define _GNU_SOURCE
#include "tcpfake.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "os/tcp.h"

/* Written before it is installed, while no thread reads it. */
static struct tcpfake_plan plan;
static const struct rnic_tcp_ops *real;
static struct rnic_tcp_ops fake;
static _Atomic unsigned recv_cnt, send_cnt, all_cnt;

/* Return: 0: continue; -1: fail with errno. */
static int call_fails(int fd, _Atomic unsigned *cnt, unsigned fail_at)
{
	unsigned now, all;

	if (plan.fd >= 0 && fd != plan.fd)
		return 0;
	now = atomic_fetch_add(cnt, 1) + 1;
	all = atomic_fetch_add(&all_cnt, 1) + 1;
	if (fail_at && now >= fail_at) {
		errno = plan.err;
		return -1;
	}
	if ((plan.eagain_every && all % plan.eagain_every == 0) ||
	    (plan.eagain_at && all == plan.eagain_at)) {
		errno = EAGAIN;
		return -1;
	}
	return 0;
}

/* Copies the array, limited to @max octets. */
static size_t iov_cut(const struct msghdr *msg, size_t max, struct iovec *iov)
{
	size_t n = 0;

	while (n < msg->msg_iovlen && n < 1024 && max > 0) {
		iov[n] = msg->msg_iov[n];
		if (iov[n].iov_len > max)
			iov[n].iov_len = max;
		max -= iov[n].iov_len;
		n++;
	}
	return n;
}

static ssize_t fake_recv(int fd, void *buf, size_t len, int flags)
{
	if (call_fails(fd, &recv_cnt, plan.recv_fail_at) < 0)
		return -1;
	if (plan.recv_max && len > plan.recv_max &&
	    (plan.fd < 0 || fd == plan.fd))
		len = plan.recv_max;
	return real->recv(fd, buf, len, flags);
}

static ssize_t fake_recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct iovec iov[1024];
	struct msghdr cut = *msg;

	if (call_fails(fd, &recv_cnt, plan.recv_fail_at) < 0)
		return -1;
	if (!plan.recv_max || (plan.fd >= 0 && fd != plan.fd))
		return real->recvmsg(fd, msg, flags);
	cut.msg_iov = iov;
	cut.msg_iovlen = iov_cut(msg, plan.recv_max, iov);
	return real->recvmsg(fd, &cut, flags);
}

static ssize_t fake_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct iovec iov[1024];
	struct msghdr cut = *msg;

	if (call_fails(fd, &send_cnt, plan.send_fail_at) < 0)
		return -1;
	if (!plan.send_max || (plan.fd >= 0 && fd != plan.fd))
		return real->sendmsg(fd, msg, flags);
	cut.msg_iov = iov;
	cut.msg_iovlen = iov_cut(msg, plan.send_max, iov);
	return real->sendmsg(fd, &cut, flags);
}

void tcpfake_install(const struct tcpfake_plan *new_plan)
{
	if (!real)
		real = rnic_tcp();
	plan = *new_plan;
	atomic_store(&recv_cnt, 0);
	atomic_store(&send_cnt, 0);
	atomic_store(&all_cnt, 0);
	fake = *real;
	fake.recv = fake_recv;
	fake.recvmsg = fake_recvmsg;
	fake.sendmsg = fake_sendmsg;
	rnic_tcp_replace(&fake);
}

void tcpfake_remove(void)
{
	rnic_tcp_replace(real);
}

unsigned tcpfake_recv_cnt(void)
{
	return atomic_load(&recv_cnt);
}

unsigned tcpfake_send_cnt(void)
{
	return atomic_load(&send_cnt);
}

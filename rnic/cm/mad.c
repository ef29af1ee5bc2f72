/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Management datagrams of connection management, out and in. */
#include "mad.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "util/addr-text.h"
#include "util/cancel.h"
#include "util/log.h"
#include "dgram/tap.h"
#include "dgram/udp-send.h"
#include "dgram/udp.h"
#include "loop/loop.h"
#include "os/observer.h"
#include "os/stat.h"
#include "os/stranger.h"

#define NAME_TRIES 8
/* Of those that stay on this host; others get the kernel's. */
#define HOST_HOP_LIMIT 64

/* ---- the process's socket ------------------------------------------------ */

static int mads_open_name(void)
{
	struct rnic_host_name name;
	uint32_t digits[2];
	int fd = -EADDRINUSE;

	for (int i = 0; i < NAME_TRIES && fd == -EADDRINUSE; i++) {
		if (util_sys_getrandom(digits, sizeof(digits)) < 0)
			return -errno;
		cm.mads.tid_high = digits[0];
		cm.mads.tid_low = digits[1];
		name = rnic_host_name_asker(cm.mads.tid_high);
		fd = rnic_host_open(&name);
	}
	return fd;
}

static void mads_close(void)
{
	cm_mad_sock_unwatch(&cm.mads.sock);
	rnic_stranger_close(cm.mads.sock.fd);
}

static int mads_open(void)
{
	int ret = rnic_loop_start();

	if (ret < 0)
		return ret;
	cm.mads.sock = (struct cm_mad_sock){ .fd = mads_open_name() };
	if (cm.mads.sock.fd < 0)
		return cm.mads.sock.fd;
	ret = cm_mad_sock_watch(&cm.mads.sock, RNIC_LOOP_MAD, 0);
	if (ret == 0)
		ret = rnic_udp_open();
	if (ret < 0)
		mads_close();
	return ret;
}

int cm_mads_hold(bool *is_held)
{
	int ret = 0;

	util_lock_assert_held(&rnic_loop.lock);
	if (*is_held)
		return 0;
	if (!cm.mads.user_cnt)
		ret = mads_open();
	if (ret < 0)
		return ret;
	cm.mads.user_cnt++;
	*is_held = true;
	return 0;
}

void cm_mads_release(bool *is_held)
{
	if (!*is_held)
		return;
	*is_held = false;
	if (--cm.mads.user_cnt)
		return;
	mads_close();
	rnic_udp_close();
}

uint64_t cm_mads_tid(void)
{
	return (uint64_t)cm.mads.tid_high << 32 | cm.mads.tid_low++;
}

/* ---- out ----------------------------------------------------------------- */

static int mad_send_host(const struct cm_way *way,
			 const struct rnic_host_name *name, uint8_t *mad)
{
	const struct sib_op *op = sib_op(SIB_OPCODE(SIB_UD, SIB_SEND_ONLY));
	struct rnic_host_head head = {
		.magic = RNIC_HOST_MAGIC,
		.dest_num = SIB_QPN_GSI,
		.src_num = SIB_QPN_GSI,
		.qkey = SIB_QKEY_GSI,
	};
	struct iovec iov[] = { { &head, sizeof(head) }, { mad, SIB_MAD_SIZE } };
	struct sib_path path = way->path;
	int ret;

	path.hop_limit = HOST_HOP_LIMIT;
	ret = sib_grh_encode(&path, op->hdr_size + SIB_MAD_SIZE + SIB_ICRC_SIZE,
			     head.grh, sizeof(head.grh));
	if (ret >= 0)
		ret = rnic_host_send(cm.mads.sock.fd, name, iov, 2);
	if (ret == 0 && rnic_observed(USIW_OBSERVE_PACKETS))
		rnic_dgram_tap(SIB_QPN_GSI, true, USIW_CARRIER_UNIX, &head,
			       iov + 1, 1);
	return ret;
}

static void mad_lost(const struct cm_way *way, int ret)
{
	struct sockaddr_storage from, to;

	rnic_udp_addr(&way->path.src, 0, way->ifindex, &from);
	rnic_udp_addr(&way->path.dst, SIB_UDP_PORT, way->ifindex, &to);
	util_info("cm", "a management datagram%s is lost: %s",
		  UTIL_ADDR_PAIR_TEXT(&from, &to), strerror(-ret));
}

int cm_mad_send(const struct cm_way *way, const struct rnic_host_name *name,
		uint8_t mad[SIB_MAD_SIZE])
{
	int ret = way->is_own
			  ? mad_send_host(way, name, mad)
			  : rnic_udp_send_mad(&way->path, way->ifindex, mad);

	if (ret == 0)
		rnic_stat_add(RNIC_STAT_mads_sent, 1);
	else if (ret != -EAGAIN && ret != -ECONNREFUSED)
		mad_lost(way, ret);
	return ret;
}

/* ---- in ------------------------------------------------------------------ */

/* Any process of the host may have sent it. */
static int mad_decode(const struct rnic_host_head *head, size_t len,
		      struct cm_mad *ret_mad)
{
	if (len != sizeof(*head) + SIB_MAD_SIZE ||
	    head->magic != RNIC_HOST_MAGIC || head->dest_num != SIB_QPN_GSI ||
	    head->qkey != SIB_QKEY_GSI)
		return -EBADMSG;
	memset(&ret_mad->path, 0, sizeof(ret_mad->path));
	if (!sib_grh_gids(head->grh, &ret_mad->path.src, &ret_mad->path.dst))
		return -EBADMSG;
	memcpy(ret_mad->octets, head + 1, SIB_MAD_SIZE);
	if (rnic_observed(USIW_OBSERVE_PACKETS)) {
		const struct iovec iov = { ret_mad->octets, SIB_MAD_SIZE };

		rnic_dgram_tap(SIB_QPN_GSI, false, USIW_CARRIER_UNIX, head,
			       &iov, 1);
	}
	return 0;
}

static void sock_pause(struct cm_mad_sock *sock)
{
	util_info("cm", "a process of this host passes descriptors");
	(void)rnic_loop_watch(sock->fd, sock->tag, sock->ref, 0,
			      &sock->watched);
	rnic_stranger_drop(sock->fd);
	rnic_timer_start(&sock->pause, RNIC_TIMER_CM_MAD,
			 RNIC_STRANGER_DROP_NS);
}

int cm_mad_recv(struct cm_mad_sock *sock, struct cm_mad *ret_mad)
{
	_Alignas(struct rnic_host_head) uint8_t buf[RNIC_HOST_MAX];
	struct rnic_stranger from;
	ssize_t len = rnic_host_recv(sock->fd, buf, &from);
	int ret;

	if (len == -EPROTO) {
		sock_pause(sock);
		return -EAGAIN;
	}
	if (len < 0 && len != -EBADMSG)
		return (int)len;
	ret = len < 0 ? (int)len
		      : mad_decode((const void *)buf, (size_t)len, ret_mad);
	rnic_stat_add(ret < 0 ? RNIC_STAT_mads_bad : RNIC_STAT_mads_received,
		      1);
	return ret;
}

/* ---- sockets of both kinds ----------------------------------------------- */

int cm_mad_sock_watch(struct cm_mad_sock *sock, enum rnic_loop_tag tag,
		      uint64_t ref)
{
	sock->tag = tag;
	sock->ref = ref;
	return rnic_loop_watch(sock->fd, tag, ref, EPOLLIN, &sock->watched);
}

void cm_mad_sock_unwatch(struct cm_mad_sock *sock)
{
	rnic_timer_stop(&sock->pause);
	if (sock->watched)
		(void)rnic_loop_watch(sock->fd, sock->tag, sock->ref, 0,
				      &sock->watched);
}

void cm_mad_sock_resume(struct rnic_timer *pause)
{
	struct cm_mad_sock *sock = RNIC_OWNER(pause, struct cm_mad_sock, pause);

	if (cm_mad_sock_watch(sock, sock->tag, sock->ref) < 0)
		rnic_timer_start(&sock->pause, RNIC_TIMER_CM_MAD,
				 RNIC_STRANGER_DROP_NS);
}

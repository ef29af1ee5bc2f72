/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The QPs of this host that a UD QP sends to. */
#include "peer.h"

#include <errno.h>
#include <stdlib.h>

#include "local/inbox.h"
#include "os/stat.h"
#include "util/cancel.h"
#include "util/env.h"

/* A QP is known by its number, in one place.  Another one of the same place
 * gets its datagrams by AF_UNIX. */
#define PEERS 256u
/* A request for an inbox, or the inbox itself, is lost if a socket is full. One
 * of so many datagrams that go by the socket sends the request again. */
#define PEER_ASK_EVERY 64u

struct rnic_peer {
	uint32_t num;	   /* 0: none */
	uint32_t sent_cnt; /* by the socket, since it is known */
	bool has_put;	   /* a datagram, since it has the inbox */
	struct rnic_inbox inbox;
};

static struct rnic_peer *peer_find(const struct rnic_ud *ud, uint32_t num)
{
	struct rnic_peer *peer = &ud->peers[(num ^ num >> 8) % PEERS];

	return ud->peers && peer->num == num ? peer : NULL;
}

/* Asks for its inbox.  Without memory nothing is lost but time. */
static void peer_ask(struct rnic_ud *ud, uint32_t num)
{
	struct rnic_host_name name = rnic_host_name_qp(num);
	struct rnic_peer *peer;

	if (util_settings()->local == UTIL_LOCAL_OFF)
		return;
	if (!ud->peers)
		ud->peers = calloc(PEERS, sizeof(*ud->peers));
	if (!ud->peers)
		return;
	peer = &ud->peers[(num ^ num >> 8) % PEERS];
	if (peer->inbox.shared && !rnic_inbox_is_left(&peer->inbox))
		return; /* the place is taken */
	rnic_inbox_unmap(&peer->inbox);
	peer->num = num;
	peer->sent_cnt = 0;
	peer->has_put = false;
	(void)rnic_host_tell(ud->source.fd, &name, RNIC_HOST_ASK, ud->qp->num);
}

void rnic_peer_given(struct rnic_ud *ud, uint32_t num, int fd)
{
	struct rnic_peer *peer = num ? peer_find(ud, num) : NULL;

	if (peer && !peer->inbox.shared &&
	    rnic_inbox_map(&peer->inbox, fd) == 0)
		rnic_stat_add(RNIC_STAT_local_opened, 1);
	util_sys_close(fd);
}

/* Return: false: it does not exist any more. */
static bool peer_wake(const struct rnic_ud *ud, const struct rnic_peer *peer)
{
	struct rnic_host_name name = rnic_host_name_waker(peer->num);

	rnic_stat_add(RNIC_STAT_local_wakes, 1);
	/* EAGAIN: enough wake-ups wait there. */
	return rnic_host_tell(ud->source.fd, &name, RNIC_HOST_MAGIC, 0) !=
	       -ECONNREFUSED;
}

static void peer_forget(struct rnic_peer *peer)
{
	rnic_inbox_unmap(&peer->inbox);
	peer->num = 0;
}

/* Return: as rnic_host_send(); -EPIPE: it has no inbox any more. */
static int peer_put(struct rnic_ud *ud, struct rnic_peer *peer,
		    const struct iovec *iov, int cnt)
{
	struct rnic_host_head *head = iov[0].iov_base;
	int rc;

	if (!peer->has_put)
		head->flags |= RNIC_HOST_BEHIND;
	rc = rnic_inbox_put(&peer->inbox, iov, cnt);
	if (rc >= 0)
		peer->has_put = true;
	/* One that was killed looks full in the end. */
	if ((rc == 1 || (rc == -EAGAIN && !ud->full.end_ns)) &&
	    !peer_wake(ud, peer))
		return rc == 1 ? -ECONNREFUSED : -EPIPE;
	return rc > 0 ? 0 : rc;
}

int rnic_peer_send(struct rnic_ud *ud, uint32_t num, struct iovec *iov, int cnt)
{
	struct rnic_peer *peer = peer_find(ud, num);
	struct rnic_host_name name;
	int rc;

	if (peer && peer->inbox.shared) {
		rc = peer_put(ud, peer, iov, cnt);
		if (rc == -EPIPE || rc == -ECONNREFUSED)
			peer_forget(peer);
		if (rc != -EPIPE)
			return rc;
		peer = NULL;
	}
	name = rnic_host_name_qp(num);
	rc = rnic_host_send(ud->source.fd, &name, iov, cnt);
	if (rc == 0 && (!peer || ++peer->sent_cnt == PEER_ASK_EVERY))
		peer_ask(ud, num);
	return rc;
}

bool rnic_peer_has_inbox(const struct rnic_ud *ud, uint32_t num)
{
	const struct rnic_peer *peer = peer_find(ud, num);

	return peer && peer->inbox.shared;
}

void rnic_peers_free(struct rnic_ud *ud)
{
	for (uint32_t i = 0; ud->peers && i < PEERS; i++)
		rnic_inbox_unmap(&ud->peers[i].inbox);
	free(ud->peers);
	ud->peers = NULL;
}

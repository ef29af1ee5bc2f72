/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Identities: life, binding, and the end of their streams. */
#include "cm-internal.h"

#include "../util/log.h"
#include "os/fd.h"
#include "qp.h"
#include "os/tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

int cm_id_new(struct rnic_cm_chan *chan, uint64_t uid, struct cm_id **ret_id)
{
	struct cm_id *id = calloc(1, sizeof(*id));
	int ret;

	if (!id)
		return -ENOMEM;
	ret = cm_table_add(&cm.ids, id, &id->ref);
	if (ret < 0) {
		free(id);
		return ret;
	}
	id->chan = chan;
	id->uid = uid;
	id->fd = -1;
	id->state = RNIC_CM_S_IDLE;
	TAILQ_INSERT_TAIL(&chan->ids, id, chan_link);
	*ret_id = id;
	return 0;
}

/*
 * Events of the identity go; with an unfetched CONNECT_REQUEST its child
 * goes too, since nobody knows its number.
 */
static void id_drop_events(struct cm_id *id)
{
	struct rnic_cm_chan *chan = id->chan;
	struct cm_event *event = TAILQ_FIRST(&chan->events);

	while (event) {
		struct cm_id *child = event->child;

		if (event->owner != id) {
			event = TAILQ_NEXT(event, link);
			continue;
		}
		cm_event_remove(chan, event);
		if (child)
			cm_id_free(child);
		/* The child may have taken events of its own along. */
		event = TAILQ_FIRST(&chan->events);
	}
}

/*
 * The connection goes with the identity, as in the kernel: who leaves without
 * a word tells its peer so.
 */
static void id_drop_stream(const struct cm_id *id)
{
	struct rnic_qp *qp;

	if (id->state != RNIC_CM_S_ESTABLISHED)
		return;
	qp = rnic_qp_get(id->qp_num);
	if (!qp)
		return;
	rnic_qp_disconnect(qp, id->ref);
	rnic_qp_put(qp);
}

/*
 * Who could still refer to it: epoll events and notes on their way, by
 * reference number only; the QP's stream, by the same.
 */
void cm_id_free(struct cm_id *id)
{
	util_lock_assert_held(&cm.lock);
	id_drop_stream(id);
	cm_table_remove(&cm.ids, id->ref);
	if (id->state == RNIC_CM_S_LISTEN)
		rnic_listen_stop(id);
	id_drop_events(id);
	if (id->conn && id->state == RNIC_CM_S_REQUEST)
		cm_conn_reject(id->conn, NULL, 0);
	else if (id->conn && id->conn->phase == CM_PHASE_BARE)
		cm_conn_close(id->conn);
	else if (id->conn)
		cm_conn_free(id->conn);
	rnic_fd_close(id->fd);
	if (id->unread_ns)
		TAILQ_REMOVE(&cm.unread, id, unread_link);
	if (id->timewait_ns)
		TAILQ_REMOVE(&cm.timewait, id, timewait_link);
	free(id->ended);
	free(id->timewait);
	TAILQ_REMOVE(&id->chan->ids, id, chan_link);
	free(id);
}

int cm_id_lock(struct rnic_cm_chan *chan, uint32_t num, struct cm_id **ret_id)
{
	struct cm_id *id;
	int ret = cm_chan_lock(chan);

	if (ret < 0)
		return ret;
	id = cm_table_get_slot(&cm.ids, num);
	if (!id || id->chan != chan) {
		util_unlock(&cm.lock);
		return -ENOENT;
	}
	*ret_id = id;
	return 0;
}

/* ---- binding --------------------------- */

/* Is that address and port another identity's, which would share it? */
static bool addr_is_shared(const struct sockaddr *addr)
{
	struct sockaddr_storage want;

	cm_addr_set(&want, addr);
	for (uint32_t i = 0; i < cm.ids.page_cnt * CM_TABLE_PAGE; i++) {
		const struct cm_id *id = cm_table_get_slot(&cm.ids, i);
		const struct sockaddr *local;
		struct sockaddr_storage real;

		if (!id || id->fd < 0 || !id->is_reuseaddr ||
		    id->local.ss_family != want.ss_family)
			continue;
		cm_port_real_local(id, &real);
		local = (const struct sockaddr *)&real;
		if (cm_addr_port_be(local) == cm_addr_port_be(addr) &&
		    (cm_addr_is_any(local) || cm_addr_is_any(addr) ||
		     cm_addr_is_same_host(&id->local, &want)))
			return true;
	}
	return false;
}

/*
 * A port in use by a live socket is refused, one that only lingers in
 * TIME_WAIT is not: hence first without SO_REUSEADDR, then with it, but not
 * beside a socket of ours that has the flag by its application's wish: both
 * must want it.  The flag is off afterwards, unless asked for, so that nobody
 * else binds between our bind and our listen.
 */
static int sock_bind(const struct cm_id *id, int fd,
		     const struct sockaddr *addr)
{
	socklen_t len = cm_addr_len(addr);
	int ret;

	cm_sock_set_flag(fd, SOL_SOCKET, SO_REUSEADDR, id->is_reuseaddr);
	if (rnic_tcp()->bind(fd, addr, len) == 0)
		return 0;
	if (errno != EADDRINUSE || id->is_reuseaddr)
		return -errno;
	if (addr_is_shared(addr))
		return -EADDRINUSE;
	cm_sock_set_flag(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	ret = rnic_tcp()->bind(fd, addr, len) == 0 ? 0 : -errno;
	cm_sock_set_flag(fd, SOL_SOCKET, SO_REUSEADDR, 0);
	return ret;
}

int cm_id_open_bound(const struct cm_id *id, const struct sockaddr *addr)
{
	int fd = cm_sock_open(addr->sa_family, SOCK_STREAM);
	int ret;

	if (fd < 0)
		return fd;
	/* Who says nothing gets the machine's default (bindv6only). */
	if (addr->sa_family == AF_INET6 && id->has_afonly)
		cm_sock_set_flag(fd, IPPROTO_IPV6, IPV6_V6ONLY, id->is_afonly);
	ret = sock_bind(id, fd, addr);
	if (ret < 0) {
		rnic_fd_close(fd);
		return ret;
	}
	return fd;
}

/* On that port, or beside it. */
static int id_open(struct cm_id *id, const struct sockaddr *addr)
{
	int fd;

	id->is_moved = false;
	fd = cm_id_open_bound(id, addr);
	return fd == -EADDRINUSE ? cm_port_open_beside(id, addr) : fd;
}

/* IDLE -> BOUND: a real bind, so that the errors are real. */
int cm_id_bind(struct cm_id *id, const struct sockaddr *addr)
{
	struct rnic_device *dev = NULL;
	struct sockaddr_storage none;
	int fd;

	if (id->state != RNIC_CM_S_IDLE)
		return -EINVAL;
	if (cm_addr_len(addr) == 0)
		return -EAFNOSUPPORT;
	fd = id_open(id, addr);
	if (fd < 0)
		return fd;
	if (!cm_addr_is_any(addr)) {
		dev = rnic_device_by_addr(addr);
		/* As the kernel, for which loopback is as good as any; not so
		 * where lo is a device: servers ask the identity for it. */
		if (!dev && !cm_addr_is_loopback(addr)) {
			rnic_fd_close(fd);
			return -ENODEV;
		}
	}
	if (id->has_tos)
		cm_sock_set_tos(fd, addr->sa_family, id->tos);
	id->fd = fd;
	id->dev = dev;
	/* Not unmapped: family and scope as the application knows them. */
	cm_addr_set(&id->local, addr);
	if (cm_addr_port_be(addr) == 0) {
		struct sockaddr_storage real;

		cm_addr_of_socket(fd, &real, &none);
		cm_addr_set_port_be(&id->local,
				    cm_addr_port_be((struct sockaddr *)&real));
	}
	id->has_port = true;
	id->state = RNIC_CM_S_BOUND;
	return 0;
}

/* V6ONLY can be said before bind(2) only. */
int cm_id_rebind(struct cm_id *id)
{
	int fd;

	rnic_fd_close(id->fd);
	id->fd = -1;
	fd = id_open(id, (struct sockaddr *)&id->local);
	if (fd < 0) {
		id->state = RNIC_CM_S_IDLE;
		return fd;
	}
	if (id->has_tos)
		cm_sock_set_tos(fd, id->local.ss_family, id->tos);
	id->fd = fd;
	return 0;
}

static int id_set_reuseaddr(struct cm_id *id, uint32_t value)
{
	bool is_early = id->state == RNIC_CM_S_IDLE;

	if (!is_early && (!value || id->state == RNIC_CM_S_LISTEN))
		return -EINVAL;
	id->is_reuseaddr = value != 0;
	if (id->fd >= 0)
		cm_sock_set_flag(id->fd, SOL_SOCKET, SO_REUSEADDR, 1);
	return 0;
}

static int id_set_afonly(struct cm_id *id, uint32_t value)
{
	if (id->state != RNIC_CM_S_IDLE && id->state != RNIC_CM_S_BOUND)
		return -EINVAL;
	if (id->has_afonly && id->is_afonly == (value != 0))
		return 0;
	id->has_afonly = true;
	id->is_afonly = value != 0;
	if (id->state == RNIC_CM_S_BOUND && id->local.ss_family == AF_INET6)
		return cm_id_rebind(id);
	return 0;
}

static int id_set_option(struct cm_id *id, enum rnic_cm_option opt,
			 uint32_t value)
{
	switch (opt) {
	case RNIC_CM_OPT_TOS:
		if (value > 255)
			return -EINVAL;
		id->tos = (uint8_t)value;
		id->has_tos = true;
		if (id->fd >= 0)
			cm_sock_set_tos(id->fd, id->local.ss_family, id->tos);
		else if (id->conn && cm_conn_fd(id->conn) >= 0)
			cm_sock_set_tos(cm_conn_fd(id->conn),
					id->local.ss_family, id->tos);
		return 0;
	case RNIC_CM_OPT_REUSEADDR:
		return id_set_reuseaddr(id, value);
	case RNIC_CM_OPT_AFONLY:
		return id_set_afonly(id, value);
	case RNIC_CM_OPT_ACK_TIMEOUT:
		if (value > 31)
			return -EINVAL;
		id->ack_timeout = (uint8_t)value;
		return 0;
	}
	return -EINVAL;
}

int rnic_cm_set_option(struct rnic_cm_chan *chan, uint32_t num,
		       enum rnic_cm_option opt, uint32_t value)
{
	struct cm_id *id;
	int ret = cm_id_lock(chan, num, &id);

	if (ret < 0)
		return ret;
	ret = id_set_option(id, opt, value);
	util_unlock(&cm.lock);
	return ret;
}

/* ---- the end --------------------------- */

/*
 * InfiniBand's manager keeps the number of a QP for as long as a packet may
 * live, half a second with RoCE's usual values; TCP has seen to that already.
 */
#define TIMEWAIT_NS (500 * NS_PER_MS)

int cm_id_reserve_end(struct cm_id *id)
{
	if (!id->ended)
		id->ended = cm_event_new(id);
	if (!id->timewait && cm_id_is_ca(id))
		id->timewait = cm_event_new(id);
	return id->ended && (id->timewait || !cm_id_is_ca(id)) ? 0 : -ENOMEM;
}

/*
 * As InfiniBand's manager, which enters timewait when both sides have said that
 * they disconnect: programs give their last reference back at TIMEWAIT_EXIT.
 */
static void id_enter_timewait(struct cm_id *id)
{
	if (!id->timewait || id->timewait_ns || !id->has_disconnected)
		return;
	id->timewait_ns = rnic_now_ns() + TIMEWAIT_NS;
	cm_thread_deadline(id->timewait_ns);
	TAILQ_INSERT_TAIL(&cm.timewait, id, timewait_link);
}

void cm_id_timewait_exit(struct cm_id *id)
{
	TAILQ_REMOVE(&cm.timewait, id, timewait_link);
	id->timewait_ns = 0;
	cm_event_post(id->timewait, RNIC_CM_TIMEWAIT_EXIT, 0);
	id->timewait = NULL;
}

/* DISCONNECTED has taken the event that was set aside for it. */
static bool id_was_connected(const struct cm_id *id)
{
	return id->state == RNIC_CM_S_DISCONNECT && !id->ended;
}

/* The event is the same however the stream ended, as the kernel has it. */
static void id_end(struct cm_id *id)
{
	id->state = RNIC_CM_S_DISCONNECT;
	cm_event_post(id->ended, RNIC_CM_DISCONNECTED, 0);
	id->ended = NULL;
	id_enter_timewait(id);
}

static void id_end_unread(struct cm_id *id)
{
	TAILQ_REMOVE(&cm.unread, id, unread_link);
	id->unread_ns = 0;
	id_end(id);
}

void cm_id_disconnected(struct cm_id *id)
{
	id->has_disconnected = true;
	if (id->unread_ns)
		id_end_unread(id);
	else if (id_was_connected(id))
		id_enter_timewait(id);
}

/*
 * With hardware the peer's disconnect takes the way of the managers, and is
 * long behind the last message.  Here both come in one read.  Programs that
 * read events in a thread of their own (libfabric) destroy the QP at once, and
 * with it the completion of the message; so DISCONNECTED waits until the
 * application has polled what had come before, but no longer than this.
 */
#define UNREAD_NS (100 * NS_PER_MS)
#define UNREAD_LOOK_NS NS_PER_MS

static bool id_is_unread(const struct cm_id *id)
{
	struct rnic_qp *qp = rnic_qp_get(id->qp_num);
	bool is_unread = qp && rnic_rq_is_unread(qp);

	rnic_qp_put(qp);
	return is_unread;
}

uint64_t cm_id_unread_look_ns(uint64_t now_ns)
{
	return now_ns + UNREAD_LOOK_NS;
}

void cm_id_look(struct cm_id *id, uint64_t now_ns)
{
	if (now_ns >= id->unread_ns || !id_is_unread(id))
		id_end_unread(id);
}

void cm_id_stream_ended(struct cm_id *id, int status)
{
	if (id->state != RNIC_CM_S_ESTABLISHED || id->unread_ns)
		return;
	util_debug("cm", "id %u: stream ended, status %d", cm_id_num(id),
		   status);
	if (id->has_disconnected || !id_is_unread(id)) {
		id_end(id);
		return;
	}
	id->unread_ns = rnic_now_ns() + UNREAD_NS;
	TAILQ_INSERT_TAIL(&cm.unread, id, unread_link);
	cm_thread_deadline(cm_id_unread_look_ns(rnic_now_ns()));
}

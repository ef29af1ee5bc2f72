/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Listeners: begun, moved, ended. */
#include "listen.h"

#include "util/log.h"
#include "bind.h"
#include "loop/loop.h"
#include "os/addr.h"
#include "os/fd.h"
#include "os/tcp.h"
#include "passive.h"
#include "reason.h"
#include "service.h"
#include "state.h"
#include "start/accept.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>

static int listen_watch(struct cm_id *id, bool is_on)
{
	return rnic_loop_watch(id->fd, RNIC_LOOP_LISTENER, id->ref,
			       is_on ? EPOLLIN : 0, &id->listener.watched);
}

static void listen_take(struct rnic_acceptor *acceptor, int fd)
{
	struct cm_id *id =
		RNIC_OWNER(acceptor, struct cm_id, listener.acceptor);
	cm_passive_accepted(id, fd);
}

static int listen_bind_any(struct cm_id *id)
{
	const struct sockaddr_in any = { .sin_family = AF_INET };

	return cm_id_bind(id, &any);
}

/* Inherited by the connections is SO_REUSEADDR, so that their TIME_WAIT does
 * not keep the port from the next listener. */
static int listen_on(int fd)
{
	rnic_sock_set_flag(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	return rnic_tcp()->listen(fd, SOMAXCONN) < 0 ? -errno : 0;
}

/* A plain socket of the program may share the port, and listen already. */
static int listen_or_move(struct cm_id *id)
{
	int ret = listen_on(id->fd), fd;

	if (ret != -EADDRINUSE || id->is_moved)
		return ret;
	fd = cm_id_open_beside(id, &id->local);
	if (fd < 0)
		return ret;
	rnic_fd_close(id->fd);
	id->fd = fd;
	return listen_on(fd);
}

static int listen_start_tcp(struct cm_id *id)
{
	int ret = listen_or_move(id);

	if (ret < 0) {
		rnic_sock_set_flag(id->fd, SOL_SOCKET, SO_REUSEADDR,
				   id->is_reuseaddr);
		return ret;
	}
	rnic_acceptor_reserve();
	id->listener.acceptor = (struct rnic_acceptor){
		.take = listen_take,
		.pause_list = RNIC_TIMER_CM_PAUSED,
	};
	return listen_watch(id, true);
}

int rnic_listen_start(struct cm_id *id, int backlog)
{
	int ret;

	util_lock_assert_held(&rnic_loop.lock);
	if (id->state == RNIC_CM_S_IDLE) {
		ret = listen_bind_any(id);
		if (ret < 0)
			return ret;
	}
	if (id->state != RNIC_CM_S_BOUND)
		return cm_refuse_state(id, "rdma_listen", "IDLE or BOUND");
	ret = rnic_loop_start();
	if (ret < 0)
		return cm_refuse(id, -ret, "rdma_listen", CM_NO_THREAD);
	id->listener.backlog = RNIC_LISTEN_BACKLOG;
	if (backlog > 0 && backlog < RNIC_LISTEN_BACKLOG)
		id->listener.backlog = (uint32_t)backlog;
	ret = cm_id_is_ud(id) ? cm_service_start(id) : listen_start_tcp(id);
	/* EADDRINUSE says all, or a warning has. */
	if (ret < 0)
		return ret == -EADDRINUSE
			       ? ret
			       : cm_refuse(id, -ret, "rdma_listen",
					   "its socket does not listen");
	cm_id_set_state(id, RNIC_CM_S_LISTEN);
	return 0;
}

int rnic_listen_resume_inherited(struct cm_id *id)
{
	int ret = rnic_loop_start();

	if (ret < 0)
		return ret;
	return cm_id_is_ud(id) ? cm_service_start(id) : listen_watch(id, true);
}

void rnic_listen_stop(struct cm_id *id)
{
	struct rnic_acceptor *acceptor = &id->listener.acceptor;

	if (cm_id_is_ud(id)) {
		cm_service_stop(id);
		return;
	}
	listen_watch(id, false);
	rnic_timer_stop(&acceptor->pause);
	/* A forked child may hold it open, and then the port. */
	if (!id->is_inherited)
		(void)rnic_tcp()->shutdown(id->fd, SHUT_RDWR);
	while (acceptor->half_open_cnt)
		rnic_start_free(TAILQ_FIRST(&acceptor->half_open));
}

static void listen_pause(struct cm_id *id, int err)
{
	util_warn("cm", "%s: accept: %s", CM_ID_NAME(id), strerror(err));
	listen_watch(id, false);
	rnic_acceptor_pause(&id->listener.acceptor);
}

int rnic_listen_move(struct cm_id *id, int fd)
{
	int ret = listen_on(fd);

	if (ret < 0)
		return ret;
	/* Connections that TCP has made already are kept. */
	rnic_listen_ready(id);
	listen_watch(id, false);
	rnic_fd_close(id->fd);
	id->fd = fd;
	if (!rnic_timer_runs(&id->listener.acceptor.pause) &&
	    listen_watch(id, true) < 0)
		listen_pause(id, ENOMEM);
	return 0;
}

void rnic_listen_resume(struct rnic_timer *pause)
{
	struct cm_id *id =
		RNIC_OWNER(pause, struct cm_id, listener.acceptor.pause);

	if (listen_watch(id, true) < 0)
		listen_pause(id, ENOMEM);
}

void rnic_listen_ready(struct cm_id *id)
{
	int ret = rnic_acceptor_take(&id->listener.acceptor, id->fd);

	if (ret < 0)
		listen_pause(id, -ret);
}

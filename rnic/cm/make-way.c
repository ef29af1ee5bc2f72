/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An identity makes way for the program's own TCP socket. */
#include "object.h"

#include "util/cancel.h"
#include "util/log.h"
#include "bind.h"
#include "listen.h"
#include "os/addr.h"
#include "os/fd.h"
#include "port.h"
#include "reason.h"

#include <netinet/in.h>

/* The identity holds a TCP port that the program wants for itself. */
static bool id_is_in_the_way(const struct cm_id *id,
			     const struct sockaddr_storage *want)
{
	return id->fd >= 0 && !id->is_moved &&
	       rnic_addr_port_be(&id->local) == rnic_addr_port_be(want) &&
	       cm_port_addr_overlaps(&id->local, want);
}

static bool id_move(struct cm_id *id)
{
	struct sockaddr_storage beside = id->local;
	int fd;

	rnic_addr_set_port_be(&beside,
			      cm_port_beside_be(rnic_addr_port_be(&id->local)));
	fd = cm_id_open_bound(id, &beside);
	if (fd < 0)
		return false;
	if (id->state != RNIC_CM_S_LISTEN) {
		rnic_fd_close(id->fd);
		id->fd = fd;
	} else if (rnic_listen_move(id, fd) < 0) {
		rnic_fd_close(fd);
		return false;
	}
	util_info("cm",
		  "%s: the program takes TCP port %u for itself: usiw's peers "
		  "find us on %u, others do not",
		  CM_ID_NAME(id), ntohs(rnic_addr_port_be(&id->local)),
		  ntohs(rnic_addr_port_be(&beside)));
	id->is_moved = true;
	return true;
}

/* bind(2) and listen(2) may be called in a signal handler. */
bool rnic_cm_make_way(const struct sockaddr *addr, socklen_t len)
{
	UTIL_CANCEL_OFF();
	struct sockaddr_storage want = { 0 };
	bool has_moved = false;
	struct cm_id *id;
	uint32_t slot = 0;

	if (!cm_port_is_apart() || len < sizeof(addr->sa_family) ||
	    rnic_addr_len(addr) == 0 || len < rnic_addr_len(addr) ||
	    rnic_addr_port_be(addr) == 0 ||
	    !util_trylock_often(&rnic_loop.lock))
		return false;
	rnic_addr_set(&want, addr);
	while ((id = rnic_ref_next(&rnic_loop.noted, &slot))) {
		if (id_is_in_the_way(id, &want))
			has_moved |= id_move(id);
	}
	util_unlock(&rnic_loop.lock);
	return has_moved;
}

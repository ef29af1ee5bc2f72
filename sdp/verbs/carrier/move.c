/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A connection whose peer moves to another address space: connects to the
 * peer's new address (doc/spec/sdp.md 3.4).
 */
#include "move.h"

#include <errno.h>
#include <string.h>

#include "verbs/link/drive.h"
#include "verbs/stream/life.h"
#include "util/log.h"
#include "verbs/wait/progress.h"

/* The next address space listens before SuspComm is sent (SDP-236). So the only
 * transient failures are a full backlog and a shortage of resources on the
 * host. */
#define TRIES 5
#define PAUSE_NS (50 * NS_PER_MS)

/* The peer's IP address with the port of SuspComm (SDP-239). */
static void address(struct sdp_link *link, struct sockaddr_storage *ret_to)
{
	*ret_to = link->names[1];
	link_name_set_port(ret_to, link->moving.port);
}

static void pause_for(uint64_t ns)
{
	uint64_t end = sdp_now_ns() + ns;

	while (sdp_now_ns() < end)
		sdp_progress_nap(end);
}

static void finish(struct sdp_link *link, int ret)
{
	util_lock(&link->lock);
	if (ret && !link->end.is_failed && !link->end.is_conn_down) {
		util_warn("sdp",
			  "qp 0x%06x: cannot follow the peer to port "
			  "%u: %s",
			  link->qp_num, link->moving.port, strerror(-ret));
		sdp_conn_give_up_move(link->conn, sdp_now_ns());
	}
	link->start.is_over = true;
	link->moving.is_running = false;
	sdp_drive(link, 0);
	util_unlock(&link->lock);
}

void sdp_move_run(struct sdp_link *link, sdp_move_fn *try_once)
{
	uint32_t ms = link->opt.conn.start_ms ? link->opt.conn.start_ms : 10000;
	uint64_t deadline = sdp_now_ns() + ms * NS_PER_MS;
	struct sockaddr_storage to;
	int ret;

	/* At exit the process waits until pending data is sent. */
	sdp_verbs_own_thread();
	address(link, &to);
	for (int i = 0;; i++) {
		ret = try_once(link, (struct sockaddr *)&to, deadline);
		if (ret != -ECONNREFUSED || i + 1 == TRIES ||
		    sdp_now_ns() >= deadline)
			break;
		pause_for(PAUSE_NS << i);
	}
	finish(link, ret);
}

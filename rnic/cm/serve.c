/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the loop calls for identities and connections. */
#include "serve.h"

#include "conn.h"
#include "id.h"
#include "os/fd.h"
#include "outcome.h"

#include <errno.h>

/* Its socket will never be reported ready. */
static void thread_drop(struct cm_conn *conn)
{
	if (conn->phase == CM_PHASE_BARE) {
		cm_id_stream_ended(conn->id, -EIO);
		cm_conn_free(conn);
	} else if (conn->id && conn->outcome) {
		cm_conn_abort(conn, -EIO);
	} else {
		cm_conn_free(conn);
	}
}

void cm_serve_broken(void)
{
	struct rnic_start *start;
	uint32_t slot = 0;

	while ((start = rnic_ref_next(&rnic_starts, &slot)))
		if (start->tag == RNIC_LOOP_CONN)
			thread_drop((struct cm_conn *)start);
}

void cm_serve_close_all(void)
{
	struct cm_id *id;
	uint32_t slot = 0;

	while ((id = rnic_ref_next(&rnic_loop.noted, &slot))) {
		rnic_fd_close(id->fd);
		id->fd = -1;
	}
}

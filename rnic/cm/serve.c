/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the loop calls for identities and connections. */
#include "serve.h"

#include "conn.h"
#include "id.h"
#include "listen.h"
#include "os/fd.h"
#include "outcome.h"
#include "start.h"

#include <errno.h>

/* Each is in the order of its deadlines: one constant per list. */
static struct cm_conn_list *const lists[] = {
	&cm.asking,   &cm.refused,  &cm.starting, &cm.asked,
	&cm.answered, &cm.rejected, &cm.closing,
};
#define LIST_CNT (sizeof(lists) / sizeof(lists[0]))

void cm_serve_fire(uint64_t now_ns)
{
	struct cm_conn *conn;
	struct cm_id *id, *next;

	for (size_t i = 0; i < LIST_CNT; i++)
		while ((conn = TAILQ_FIRST(lists[i])) &&
		       conn->deadline_ns <= now_ns)
			cm_conn_expire(conn);
	while ((id = TAILQ_FIRST(&cm.paused)) &&
	       id->listener.resume_ns <= now_ns)
		rnic_listen_resume(id);
	for (id = TAILQ_FIRST(&cm.unread); id; id = next) {
		next = TAILQ_NEXT(id, unread_link);
		cm_id_look(id, now_ns);
	}
	while ((id = TAILQ_FIRST(&cm.timewait)) && id->timewait_ns <= now_ns)
		cm_id_timewait_exit(id);
}

static uint64_t deadline_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t cm_serve_next_ns(void)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < LIST_CNT; i++)
		if (!TAILQ_EMPTY(lists[i]))
			next = deadline_min(next,
					    TAILQ_FIRST(lists[i])->deadline_ns);
	if (!TAILQ_EMPTY(&cm.paused))
		next = deadline_min(
			next, TAILQ_FIRST(&cm.paused)->listener.resume_ns);
	if (!TAILQ_EMPTY(&cm.unread))
		next = deadline_min(next, cm_id_unread_look_ns(rnic_now_ns()));
	if (!TAILQ_EMPTY(&cm.timewait))
		next = deadline_min(next,
				    TAILQ_FIRST(&cm.timewait)->timewait_ns);
	return next;
}

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
	struct cm_id *id;
	uint32_t slot = 0;

	for (size_t i = 0; i < LIST_CNT; i++)
		while (!TAILQ_EMPTY(lists[i]))
			thread_drop(TAILQ_FIRST(lists[i]));
	while ((id = rnic_ref_next(&rnic_loop.noted, &slot))) {
		if (id->conn)
			thread_drop(id->conn);
	}
}

void cm_serve_close_all(void)
{
	struct cm_conn *conn;
	struct cm_id *id;
	uint32_t slot = 0;

	for (size_t i = 0; i < LIST_CNT; i++) {
		while ((conn = TAILQ_FIRST(lists[i])))
			cm_conn_free(conn);
	}
	while ((id = rnic_ref_next(&rnic_loop.noted, &slot))) {
		rnic_fd_close(id->fd);
		id->fd = -1;
	}
}

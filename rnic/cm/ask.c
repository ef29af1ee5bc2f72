/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Before a port is dialled, the one beside it (port.c): has a listener of
 * usiw moved there?  The other order would not do: what answers at the port
 * itself may be a program's plain socket, which would take our connection for
 * one of its own, and our Request for garbage.
 *
 * It costs one round trip, and where a firewall drops what comes to unknown
 * ports, a wait; both are remembered for a while.
 */
#include "ask.h"

#include "util/env.h"
#include "util/log.h"
#include "bind.h"
#include "conn.h"
#include "os/addr.h"
#include "port.h"
#include "reason.h"
#include "start/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/epoll.h>

/*
 * Several round trips between continents.  Each first connection to a host
 * behind a firewall that drops the question takes so much longer.
 */
#define ASK_NS (400 * NS_PER_MS)
/* A listener that was at its port may move at any time. */
#define OWN_PORT_NS (1000 * NS_PER_MS)
/* A firewall stays as it is; what it drops is a property of the host. */
#define SILENT_NS (60000 * NS_PER_MS)

/* Half the time of a start, so that there is time left for the port. */
static uint64_t ask_ns(void)
{
	uint64_t half_ns = util_settings()->start_ms * NS_PER_MS / 2;

	return half_ns < ASK_NS ? half_ns : ASK_NS;
}

/* ---- what is known ------------------------------------------------------ */

static void known_add(const struct sockaddr_storage *addr, uint64_t ns)
{
	struct cm_known *known = &cm.known[cm.known_turn++ % CM_KNOWN_CNT];

	known->addr = *addr;
	known->until_ns = util_now_ns() + ns;
}

static bool known_matches(const struct cm_known *known,
			  const struct sockaddr_storage *addr)
{
	uint16_t port_be = rnic_addr_port_be(&known->addr);

	/* Port 0: any port of the host. */
	return rnic_addr_is_same_host(&known->addr, addr) &&
	       (!port_be || port_be == rnic_addr_port_be(addr));
}

static bool is_known_own_port(const struct sockaddr_storage *addr)
{
	uint64_t now_ns = util_now_ns();

	for (size_t i = 0; i < CM_KNOWN_CNT; i++)
		if (cm.known[i].until_ns > now_ns &&
		    known_matches(&cm.known[i], addr))
			return true;
	return false;
}

void cm_ask_note_own_port(const struct cm_conn *conn)
{
	if (!conn->is_beside && cm_port_is_apart() &&
	    !is_known_own_port(&conn->id->peer))
		known_add(&conn->id->peer, OWN_PORT_NS);
}

static void note_silent(const struct cm_conn *conn)
{
	struct sockaddr_storage host = conn->id->peer;

	rnic_addr_set_port_be(&host, 0);
	known_add(&host, SILENT_NS);
}

/* ---- asking ------------------------------------------------------------- */

static uint16_t port_be_of(const struct cm_conn *conn)
{
	return rnic_addr_port_be(&conn->id->peer);
}

/* Return: 0: the connection or the answer is awaited; -errno: there is none. */
static int ask_look(struct cm_conn *conn)
{
	int ret = rnic_dial_result(&conn->start);

	return ret < 0 ? ret
		       : rnic_start_watch(&conn->start,
					  ret ? EPOLLIN : EPOLLOUT);
}

/* Return: as ask_look(). */
static int ask_dial(struct cm_conn *conn)
{
	struct sockaddr_storage to = conn->id->peer;
	int ret;

	rnic_addr_set_port_be(&to, cm_port_beside_be(port_be_of(conn)));
	conn->start.fd = cm_id_open_source(conn->id);
	if (conn->start.fd < 0)
		return conn->start.fd;
	ret = rnic_dial_connect(conn->start.fd, &to);
	return ret < 0 ? ret : ask_look(conn);
}

bool cm_ask_begin(struct cm_conn *conn)
{
	conn->is_beside = false;
	if (!cm_port_is_apart() || is_known_own_port(&conn->id->peer))
		return false;
	if (ask_dial(conn) < 0) {
		rnic_start_close(&conn->start);
		return false;
	}
	cm_conn_enter(conn, CM_PHASE_ASKING, ask_ns());
	return true;
}

/* No listener of usiw is there. */
static enum cm_ask_answer ask_refused(struct cm_conn *conn)
{
	rnic_start_close(&conn->start);
	cm_conn_begin(conn);
	return CM_ASK_DIRECT;
}

enum cm_ask_answer cm_ask_ready(struct cm_conn *conn)
{
	int ret;

	if (!rnic_start_is_connected(&conn->start)) {
		ret = ask_look(conn);
		return ret < 0 ? ask_refused(conn) : CM_ASK_NONE;
	}
	ret = cm_port_read_sign(conn->start.fd, port_be_of(conn));
	if (ret == -EAGAIN)
		return CM_ASK_NONE;
	if (ret < 0)
		return ask_refused(conn);
	util_debug("cm", "%s: the listener of port %u is on %u",
		   CM_ID_NAME(conn->id), ntohs(port_be_of(conn)),
		   ntohs(cm_port_beside_be(port_be_of(conn))));
	cm_conn_begin(conn);
	conn->is_beside = true;
	return CM_ASK_HERE;
}

enum cm_ask_answer cm_ask_expire(struct cm_conn *conn)
{
	if (!rnic_start_is_connected(&conn->start))
		note_silent(conn);
	return ask_refused(conn);
}

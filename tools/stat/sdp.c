/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See sdp.h. */
#include "sdp.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "sdp/stat/read.h"
#include "util/page-find.h"

#define PAGE_NAME "usiw-sdp"
#define NAME(name) #name,
#define ID(name, text) #name,
#define CNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const state_names[] = { SDP_STAT_STATES(NAME) };
static const char *const role_names[] = { "none", "server", "client" };
static const char *const carrier_names[] = { "none", "stream", "cm_send",
					     "cm_priv" };
static const char *const fallback_names[] = { SDP_STAT_FALLBACKS(ID) };

_Static_assert(CNT(role_names) == SDP_STAT_ROLE_CNT, "a name for each role");
_Static_assert(CNT(carrier_names) == SDP_STAT_CARRIER_CNT,
	       "a name for each carrier");

/* Another process has written the number. */
static const char *name_of(const char *const *names, size_t cnt, uint32_t value)
{
	return value < cnt ? names[value] : "unknown";
}

static int page_found(void *arg, const struct util_found_page *page)
{
	struct sdp_stat_snapshot *snapshot = arg;
	int ret = sdp_stat_read(page->fd, snapshot);

	if (ret < 0)
		return ret == -ENOMEM ? ret : 0;
	if (util_page_is_own(page->pid, snapshot->head.pid))
		return 1;
	sdp_stat_snapshot_free(snapshot);
	return 0;
}

/* Return: 0: there may be no sockets; -ENOMEM. */
static int snapshot_read(const struct process *process,
			 struct sdp_stat_snapshot *ret_snapshot)
{
	const struct util_page_search search = {
		.name = PAGE_NAME,
		.found = page_found,
		.arg = ret_snapshot,
	};
	int ret;

	memset(ret_snapshot, 0, sizeof(*ret_snapshot));
	if (process->proc_fd < 0)
		return 0; /* a file; sdpstat reads that of SDP */
	ret = util_page_find(&search, process->pid);
	/* Another one may have the number of a process that has ended. */
	if (!process_lives(process))
		sdp_stat_snapshot_free(ret_snapshot);
	return ret == -ENOMEM ? ret : 0;
}

static uint64_t word(const _Atomic uint64_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

/* As of the resources of the RNIC. */
static struct cell addr_of(const struct sdp_stat_addr *addr)
{
	uint64_t head = word(&addr->head);
	struct usiw_res_addr res = {
		.family = (uint16_t)(head >> 48),
		.port = (uint16_t)(head >> 32),
		.scope = (uint32_t)head,
	};
	uint64_t octets[2] = { htobe64(word(&addr->addr[0])),
			       htobe64(word(&addr->addr[1])) };
	uint32_t ipv4 = htonl((uint32_t)word(&addr->addr[0]));
	struct cell cell;

	if (res.family == AF_INET)
		memcpy(res.addr, &ipv4, sizeof(ipv4));
	else
		memcpy(res.addr, octets, sizeof(octets));
	cell_set_addr(&cell, &res);
	return cell;
}

static uint64_t octets_of(const struct sdp_stat_sock *sock, bool is_tx)
{
	int first = is_tx ? SDP_STAT_tx_bcopy : SDP_STAT_rx_bcopy;
	int last = is_tx ? SDP_STAT_tx_transaction : SDP_STAT_rx_transaction;
	uint64_t sum = 0;

	for (int i = first; i <= last; i++)
		sum += sdp_stat_counter_get(sock, (enum sdp_stat_counter)i);
	return sum;
}

/* What is shown of a socket. */
struct shown {
	uint32_t id, fd;
	const char *state, *role, *carrier;
	const char *fallback; /* NULL: none */
	struct cell local, peer;
	uint64_t tx_octets, rx_octets;
};

static struct shown shown_of(const struct sdp_stat_sock *sock)
{
	uint32_t why = sdp_stat_gauge_get(sock, SDP_STAT_fallback);

#define NAME_OF(names, gauge)                                                  \
	name_of(names, CNT(names), sdp_stat_gauge_get(sock, gauge))
	return (struct shown){
		.id = atomic_load_explicit(&sock->id, memory_order_relaxed),
		.fd = sdp_stat_gauge_get(sock, SDP_STAT_fd),
		.state = NAME_OF(state_names, SDP_STAT_state),
		.role = NAME_OF(role_names, SDP_STAT_role),
		.carrier = NAME_OF(carrier_names, SDP_STAT_carrier),
		.fallback =
			why ? name_of(fallback_names, CNT(fallback_names), why)
			    : NULL,
		.local = addr_of(&sock->local),
		.peer = addr_of(&sock->peer),
		.tx_octets = octets_of(sock, true),
		.rx_octets = octets_of(sock, false),
	};
#undef NAME_OF
}

/* Sockets are no resources of a device, and use a QP that has no number
 * here. */
static bool filter_takes_sock(const struct filter *filter,
			      const struct shown *sock)
{
	if (filter->device || filter->has_qp)
		return false;
	if (filter->state && strcmp(filter->state, sock->state) != 0)
		return false;
	return !filter->peer || (sock->peer.type == CELL_TEXT &&
				 filter_takes_peer(filter, sock->peer.text));
}

/* ---- table --------------------------------------------------------------- */

static struct cell count_of(uint64_t octets)
{
	return (struct cell){ .type = CELL_COUNT, .number = octets };
}

static void sock_fill(const void *arg, size_t row, struct cell *ret_cells)
{
	const struct shown *sock = (const struct shown *)arg + row;
	struct cell *cell = ret_cells;

	*cell++ = (struct cell){ CELL_NUMBER, sock->id, "" };
	*cell++ =
		(struct cell){ sock->fd == UINT32_MAX ? CELL_NONE : CELL_NUMBER,
			       sock->fd, "" };
	cell_set_text(cell++, sock->state);
	cell_set_text(cell++, sock->role);
	cell_set_text(cell++, sock->carrier);
	*cell++ = count_of(sock->tx_octets);
	*cell++ = count_of(sock->rx_octets);
	*cell++ = sock->local;
	*cell++ = sock->peer;
	cell_set_text(cell, sock->fallback);
}

int sdp_table(const struct process *process, const struct filter *filter)
{
	static const char *const titles[] = {
		"SOCKET",    "FD",	  "STATE", "ROLE", "CARRIER",
		"TX-OCTETS", "RX-OCTETS", "LOCAL", "PEER", "FALLBACK",
	};
	struct sdp_stat_snapshot snapshot;
	int ret = snapshot_read(process, &snapshot);
	struct shown *shown = NULL;
	size_t cnt = 0;

	if (snapshot.sock_cnt)
		shown = malloc(snapshot.sock_cnt * sizeof(*shown));
	if (snapshot.sock_cnt && !shown)
		ret = -ENOMEM;
	for (uint32_t i = 0; shown && i < snapshot.sock_cnt; i++) {
		shown[cnt] = shown_of(&snapshot.sock[i]);
		cnt += filter_takes_sock(filter, &shown[cnt]);
	}
	if (cnt) {
		puts("\nSDP sockets:");
		grid_print(titles, CNT(titles), cnt, sock_fill, shown);
	}
	free(shown);
	sdp_stat_snapshot_free(&snapshot);
	return ret;
}

/* ---- JSON ---------------------------------------------------------------- */

static json_t *addr_value(const struct cell *addr)
{
	return addr->type == CELL_TEXT ? json_string(addr->text) : json_null();
}

static json_t *sock_of(const struct shown *sock)
{
	return json_pack(
		"{s:I,s:I,s:s,s:s,s:s,s:s?,s:o,s:o,s:I,s:I}", "id",
		(json_int_t)sock->id, "fd", (json_int_t)(int32_t)sock->fd,
		"state", sock->state, "role", sock->role, "carrier",
		sock->carrier, "fallback", sock->fallback, "local",
		addr_value(&sock->local), "peer", addr_value(&sock->peer),
		"tx_octets", (json_int_t)sock->tx_octets, "rx_octets",
		(json_int_t)sock->rx_octets);
}

json_t *sdp_tree(const struct process *process, const struct filter *filter)
{
	json_t *array = json_array();
	struct sdp_stat_snapshot snapshot;
	int ret = snapshot_read(process, &snapshot);

	for (uint32_t i = 0; ret == 0 && i < snapshot.sock_cnt; i++) {
		struct shown sock = shown_of(&snapshot.sock[i]);

		if (filter_takes_sock(filter, &sock))
			ret = json_array_append_new(array, sock_of(&sock));
	}
	sdp_stat_snapshot_free(&snapshot);
	if (ret == 0)
		return array;
	json_decref(array);
	return NULL;
}

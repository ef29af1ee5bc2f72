/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The table of PMAccepts that wait for their PMAck.
 *
 * An entry is in three lists: the chain of its client (by CpIPAddr and CpPort,
 * which every message of a transaction has), the list of its source, and the
 * list of all entries. The last two have the oldest entry in front. It is
 * evicted first.
 */
#include "pm/pm-server.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOT_MAX 65535u
#define SOURCE_CNT 256u
#define NONE UINT32_MAX

struct link {
	uint32_t prev, next; /* indices of entries; NONE at the ends */
};

struct list {
	uint32_t first, last;
};

struct entry {
	struct link all, chain, source;
	struct sdp_pm_msg req;
	uint16_t sdp_port;
	uint32_t source_slot;
	uint64_t due_ms;
};

/* Sources with the same hash share their limits. */
struct source {
	struct list entries;
	uint32_t cnt;
	uint32_t tokens; /* PMReqs that may be answered at once */
	uint64_t filled_ms;
};

struct sdp_pm_server {
	struct sdp_pm_server_options options;
	struct sdp_pm_server_counts counts;
	struct list all;
	struct list free;   /* by entry.all */
	uint32_t chain_cnt; /* a power of two */
	struct list *chain;
	struct entry *entry;
	struct source source[SOURCE_CNT];
};

/* A list is identified by the offset of its link in an entry. */
static struct link *link_at(struct entry *entries, uint32_t idx, size_t offset)
{
	return (struct link *)(void *)((uint8_t *)&entries[idx] + offset);
}

static void list_append(struct entry *entries, struct list *list, uint32_t idx,
			size_t offset)
{
	struct link *link = link_at(entries, idx, offset);

	link->prev = list->last;
	link->next = NONE;
	if (list->last == NONE)
		list->first = idx;
	else
		link_at(entries, list->last, offset)->next = idx;
	list->last = idx;
}

static void list_remove(struct entry *entries, struct list *list, uint32_t idx,
			size_t offset)
{
	const struct link *link = link_at(entries, idx, offset);

	if (link->prev == NONE)
		list->first = link->next;
	else
		link_at(entries, link->prev, offset)->next = link->next;
	if (link->next == NONE)
		list->last = link->prev;
	else
		link_at(entries, link->next, offset)->prev = link->prev;
}

#define ALL offsetof(struct entry, all)
#define CHAIN offsetof(struct entry, chain)
#define SOURCE offsetof(struct entry, source)

static uint64_t mix(uint64_t hash, const uint8_t *octets, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		hash = (hash ^ octets[i]) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	return hash;
}

static struct list *chain_of(const struct sdp_pm_server *server,
			     const struct sdp_pm_msg *msg)
{
	uint8_t port[3] = { (uint8_t)(msg->cp_port >> 8), (uint8_t)msg->cp_port,
			    msg->ipv };
	uint64_t hash =
		mix(server->options.secret, msg->cp_addr, sizeof(msg->cp_addr));

	hash = mix(hash, port, sizeof(port));
	return &server->chain[hash & (server->chain_cnt - 1)];
}

static uint32_t source_slot(const struct sdp_pm_server *server,
			    const struct sdp_pm_source *source)
{
	return (uint32_t)(mix(server->options.secret, source->addr,
			      sizeof(source->addr)) %
			  SOURCE_CNT);
}

static void options_default(struct sdp_pm_server_options *options)
{
	if (!options->slot_cnt)
		options->slot_cnt = 1024;
	if (!options->source_max)
		options->source_max = 64;
	if (!options->source_per_s)
		options->source_per_s = 1000;
	if (!options->ack_ms)
		options->ack_ms = SDP_PM_SERVER_ACK_MS;
}

struct sdp_pm_server *
sdp_pm_server_new(const struct sdp_pm_server_options *options)
{
	static const struct list empty = { NONE, NONE };
	struct sdp_pm_server *server;
	uint32_t i;

	if (options->slot_cnt > SLOT_MAX)
		return NULL;
	server = calloc(1, sizeof(*server));
	if (!server)
		return NULL;
	server->options = *options;
	options_default(&server->options);
	for (server->chain_cnt = 1;
	     server->chain_cnt < server->options.slot_cnt;)
		server->chain_cnt *= 2;
	server->chain = calloc(server->chain_cnt, sizeof(*server->chain));
	server->entry =
		calloc(server->options.slot_cnt, sizeof(*server->entry));
	if (!server->chain || !server->entry) {
		sdp_pm_server_free(server);
		return NULL;
	}
	for (i = 0; i < server->chain_cnt; i++)
		server->chain[i] = empty;
	for (i = 0; i < SOURCE_CNT; i++) {
		server->source[i].entries = empty;
		server->source[i].tokens = server->options.source_per_s;
	}
	server->all = server->free = empty;
	for (i = 0; i < server->options.slot_cnt; i++)
		list_append(server->entry, &server->free, i, ALL);
	return server;
}

void sdp_pm_server_free(struct sdp_pm_server *server)
{
	if (!server)
		return;
	free(server->chain);
	free(server->entry);
	free(server);
}

static void entry_delete(struct sdp_pm_server *server, uint32_t idx)
{
	struct entry *entry = &server->entry[idx];
	struct source *source = &server->source[entry->source_slot];

	list_remove(server->entry, &server->all, idx, ALL);
	list_remove(server->entry, chain_of(server, &entry->req), idx, CHAIN);
	list_remove(server->entry, &source->entries, idx, SOURCE);
	source->cnt--;
	server->counts.pending--;
	list_append(server->entry, &server->free, idx, ALL);
}

/* Makes a free entry. Evicts the oldest entry of the source if the source has
 * reached its limit, else the oldest of all. */
static uint32_t entry_take(struct sdp_pm_server *server, uint32_t slot)
{
	struct source *source = &server->source[slot];
	uint32_t idx;

	if (source->cnt >= server->options.source_max) {
		entry_delete(server, source->entries.first);
		server->counts.evicted++;
	} else if (server->free.first == NONE) {
		entry_delete(server, server->all.first);
		server->counts.evicted++;
	}
	idx = server->free.first;
	list_remove(server->entry, &server->free, idx, ALL);
	return idx;
}

static void entry_add(struct sdp_pm_server *server, uint64_t now_ms,
		      const struct sdp_pm_source *from,
		      const struct sdp_pm_msg *req, uint16_t sdp_port)
{
	uint32_t slot = source_slot(server, from);
	uint32_t idx = entry_take(server, slot);
	struct entry *entry = &server->entry[idx];

	entry->req = *req;
	entry->sdp_port = sdp_port;
	entry->source_slot = slot;
	entry->due_ms = now_ms + server->options.ack_ms; /* SDP-267 */
	list_append(server->entry, &server->all, idx, ALL);
	list_append(server->entry, chain_of(server, req), idx, CHAIN);
	list_append(server->entry, &server->source[slot].entries, idx, SOURCE);
	server->source[slot].cnt++;
	server->counts.pending++;
}

static bool is_same_client(const struct sdp_pm_msg *a,
			   const struct sdp_pm_msg *b)
{
	return a->ipv == b->ipv && a->cp_port == b->cp_port &&
	       !memcmp(a->cp_addr, b->cp_addr, sizeof(a->cp_addr));
}

/* The entry of the 4-tuple. The caller compares the handle (SDP-266,
 * SDP-270). */
static uint32_t entry_find(const struct sdp_pm_server *server,
			   const struct sdp_pm_msg *req)
{
	uint32_t idx = chain_of(server, req)->first;

	for (; idx != NONE; idx = server->entry[idx].chain.next) {
		const struct sdp_pm_msg *old = &server->entry[idx].req;

		if (is_same_client(old, req) && old->ap_port == req->ap_port &&
		    !memcmp(old->ap_addr, req->ap_addr, sizeof(old->ap_addr)))
			break;
	}
	return idx;
}

/* The entry that a PMAck ends. The PMAck has the fields of the PMAccept. */
static uint32_t entry_find_acked(const struct sdp_pm_server *server,
				 const struct sdp_pm_msg *ack)
{
	uint32_t idx = chain_of(server, ack)->first;

	for (; idx != NONE; idx = server->entry[idx].chain.next) {
		const struct entry *entry = &server->entry[idx];

		if (is_same_client(&entry->req, ack) &&
		    entry->req.handle == ack->handle &&
		    entry->sdp_port == ack->ap_port &&
		    !memcmp(entry->req.ap_addr, ack->ap_addr,
			    sizeof(ack->ap_addr)))
			break;
	}
	return idx;
}

/* Whether the source may have another PMReq answered in this second. */
static bool rate_allows(struct sdp_pm_server *server, uint64_t now_ms,
			const struct sdp_pm_source *from)
{
	struct source *source = &server->source[source_slot(server, from)];
	uint64_t per_s = server->options.source_per_s, passed_ms, more;

	passed_ms = now_ms > source->filled_ms ? now_ms - source->filled_ms : 0;
	if (passed_ms > 1000)
		passed_ms = 1000;
	more = passed_ms * per_s / 1000;
	if (more) {
		source->filled_ms = now_ms;
		more += source->tokens;
		source->tokens = (uint32_t)(more < per_s ? more : per_s);
	}
	if (source->tokens == 0)
		return false;
	source->tokens--;
	return true;
}

bool sdp_pm_server_receive(struct sdp_pm_server *server, uint64_t now_ms,
			   const struct sdp_pm_source *source,
			   const uint8_t *buf, size_t len,
			   struct sdp_pm_msg *ret_req)
{
	struct sdp_pm_msg msg;
	uint32_t idx = NONE;

	sdp_pm_server_expire(server, now_ms);
	if (sdp_pm_msg_decode(buf, len, &msg) < 0) {
		server->counts.malformed++;
		return false;
	}
	if (msg.type == SDP_PM_REQ) {
		if (!rate_allows(server, now_ms, source)) {
			server->counts.over_rate++;
			return false;
		}
		*ret_req = msg;
		return true;
	}
	if (msg.type == SDP_PM_ACK)
		idx = entry_find_acked(server, &msg);
	if (idx == NONE) {
		server->counts.unexpected++; /* SDP-269 */
		return false;
	}
	entry_delete(server, idx); /* SDP-267: the timer stops */
	server->counts.acked++;
	return false;
}

void sdp_pm_server_answer(struct sdp_pm_server *server, uint64_t now_ms,
			  const struct sdp_pm_source *source,
			  const struct sdp_pm_msg *req, uint16_t sdp_port,
			  uint8_t *out)
{
	struct sdp_pm_msg reply = *req; /* SDP-253, SDP-255: echoed */
	uint32_t idx = entry_find(server, req);

	/* A duplicate gets a new answer (SDP-268), and a new transaction
	 * replaces the old one (SDP-270). In both cases the old entry is
	 * removed. */
	if (idx != NONE) {
		if (server->entry[idx].req.handle == req->handle)
			server->counts.duplicates++;
		else
			server->counts.replaced++;
		entry_delete(server, idx);
	}
	reply.time = 0;
	if (sdp_port) {
		reply.type = SDP_PM_ACCEPT;
		reply.time = server->options.time;
		reply.ap_port = sdp_port;
		entry_add(server, now_ms, source, req, sdp_port);
		server->counts.accepted++;
	} else {
		reply.type = SDP_PM_DENY;
		server->counts.denied++;
	}
	sdp_pm_msg_encode(&reply, out);
}

void sdp_pm_server_expire(struct sdp_pm_server *server, uint64_t now_ms)
{
	while (server->all.first != NONE &&
	       server->entry[server->all.first].due_ms <= now_ms) {
		entry_delete(server, server->all.first);
		server->counts.expired++;
	}
}

uint64_t sdp_pm_server_due_ms(const struct sdp_pm_server *server)
{
	return server->all.first == NONE
		       ? UINT64_MAX
		       : server->entry[server->all.first].due_ms;
}

const struct sdp_pm_server_counts *
sdp_pm_server_counts(const struct sdp_pm_server *server)
{
	return &server->counts;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See peers.h. */
#include "base/peers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/env.h"
#include "util/page-find.h"

/* A page tells itself from others by these. */
struct page_id {
	uint32_t pid;
	uint64_t start_ns;
};

struct peers {
	kabi_peers_fn each;
	void *arg;
	char netns[64];	      /* of this process; "": it cannot be told */
	struct page_id *live; /* pages of processes that run */
	size_t live_cnt, live_room;
};

/* ---- processes that run -------------------------------------------------- */

/* "net:[4026531840]", or "". */
static void netns_of(const char *pid, char ret_name[64])
{
	char path[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%s/ns/net", pid);
	len = readlink(path, ret_name, 63);
	ret_name[len < 0 ? 0 : len] = '\0';
}

static bool is_in_netns(const struct peers *peers, int pid)
{
	char text[16], name[64];

	snprintf(text, sizeof(text), "%d", pid);
	netns_of(text, name);
	return strcmp(name, peers->netns) == 0;
}

/* Return: 0; -ENOMEM. */
static int live_add(struct peers *peers, const struct util_stat *stat)
{
	size_t room = peers->live_room ? 2 * peers->live_room : 64;
	struct page_id *more = peers->live;

	if (peers->live_cnt == peers->live_room) {
		more = realloc(more, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		peers->live = more;
		peers->live_room = room;
	}
	peers->live[peers->live_cnt++] =
		(struct page_id){ stat->pid, stat->start_ns };
	return 0;
}

static int live_found(void *arg, const struct util_found_page *page)
{
	struct kabi_peer peer = { .pid = page->pid, .is_running = true };
	struct peers *peers = arg;
	struct util_stat stat;
	int ret;

	if (util_stat_read(page->fd, &stat) < 0 ||
	    !util_page_is_own(page->pid, stat.pid)) /* but inherited */
		return 0;
	ret = live_add(peers, &stat);
	if (ret < 0)
		return ret;
	peer.stat = &stat;
	if (is_in_netns(peers, page->pid))
		ret = peers->each(peers->arg, &peer);
	return ret < 0 ? ret : 1;
}

/* ---- what others have left ----------------------------------------------- */

static bool is_live(const struct peers *peers, const struct util_stat *stat)
{
	for (size_t i = 0; i < peers->live_cnt; i++)
		if (peers->live[i].pid == stat->pid &&
		    peers->live[i].start_ns == stat->start_ns)
			return true;
	return false;
}

static int file_found(void *arg, const struct util_found_page *page)
{
	struct kabi_peer peer = { .pid = page->pid };
	const struct peers *peers = arg;
	struct util_stat stat;

	if (util_stat_read(page->fd, &stat) < 0 || is_live(peers, &stat))
		return 0;
	peer.stat = &stat;
	return peers->each(peers->arg, &peer);
}

/* ---- both ---------------------------------------------------------------- */

int kabi_peers_each(kabi_peers_fn each, void *arg)
{
	UTIL_CANCEL_OFF();
	struct peers peers = { .each = each, .arg = arg };
	struct util_page_search search = { .name = UTIL_STAT_NAME,
					   .found = live_found,
					   .arg = &peers };
	const char *dir = util_settings()->stat_dir;
	int ret;

	netns_of("self", peers.netns);
	ret = util_page_find(&search, 0);
	search.found = file_found;
	if (ret != -ENOMEM && dir)
		ret = util_page_find_file(&search, dir);
	free(peers.live);
	return ret == -ENOMEM ? ret : 0;
}

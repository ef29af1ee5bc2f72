/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Copies a statistics page while its process writes to it. */
#include "stat/read.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/page-find.h"
#include "util/plain-text.h"

/* A change takes a microsecond. A process that was killed during a change
 * leaves an odd number for ever. */
#define TRIES 100

static int head_read(int fd, struct sdp_stat_page *ret_head)
{
	ssize_t got = util_page_read(fd, ret_head, sizeof(*ret_head), 0);

	if (got < 0)
		return (int)got;
	if ((size_t)got < sizeof(*ret_head))
		return -EPROTO;
	if (ret_head->magic == 0)
		return -EAGAIN;
	if (ret_head->magic != SDP_STAT_MAGIC ||
	    ret_head->version != SDP_STAT_VERSION ||
	    ret_head->sock_max != SDP_STAT_SOCK_MAX)
		return -EPROTO;
	util_plain_text(ret_head->program, sizeof(ret_head->program));
	return 0;
}

static uint32_t seq_of(const _Atomic uint32_t *seq)
{
	return atomic_load_explicit(seq, memory_order_relaxed);
}

/* Whether only counters of the slot have changed since it was read. */
static bool is_steady(int fd, const struct sdp_stat_sock *sock, size_t at)
{
	uint32_t seq;

	return !(seq_of(&sock->seq) & 1) &&
	       util_page_read(fd, &seq, sizeof(seq),
			      at + offsetof(struct sdp_stat_sock, seq)) ==
		       sizeof(seq) &&
	       seq == seq_of(&sock->seq);
}

/* Reads changing slots again one by one. Moves those in use to the front. */
static int socks_pick(int fd, struct sdp_stat_snapshot *snapshot, uint32_t cnt)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		struct sdp_stat_sock *sock = &snapshot->sock[i];
		size_t at = sizeof(snapshot->head) + i * sizeof(*sock);

		for (int n = 0; n < TRIES && !is_steady(fd, sock, at); n++)
			if (util_page_read(fd, sock, sizeof(*sock), at) < 0)
				return -EIO;
		if (seq_of(&sock->seq) == 0 || seq_of(&sock->seq) & 1)
			continue;
		memmove(&snapshot->sock[used++], sock, sizeof(*sock));
	}
	snapshot->sock_cnt = used;
	return 0;
}

static int socks_read(int fd, struct sdp_stat_snapshot *snapshot)
{
	uint32_t cnt = seq_of(&snapshot->head.sock_cnt);
	ssize_t got;

	if (cnt > SDP_STAT_SOCK_MAX)
		return -EPROTO;
	snapshot->sock = calloc(cnt ? cnt : 1, sizeof(*snapshot->sock));
	if (!snapshot->sock)
		return -ENOMEM;
	got = util_page_read(fd, snapshot->sock, cnt * sizeof(*snapshot->sock),
			     sizeof(snapshot->head));
	if (got < 0)
		return (int)got;
	return socks_pick(fd, snapshot,
			  (uint32_t)((size_t)got / sizeof(*snapshot->sock)));
}

static void totals_add(struct sdp_stat_snapshot *snapshot)
{
	for (int i = 0; i < SDP_STAT_COUNTER_CNT; i++) {
		uint64_t sum = atomic_load_explicit(&snapshot->head.closed[i],
						    memory_order_relaxed) +
			       sdp_stat_counter_get(&snapshot->head.overflow,
						    (enum sdp_stat_counter)i);

		for (uint32_t k = 0; k < snapshot->sock_cnt; k++)
			sum += sdp_stat_counter_get(&snapshot->sock[k],
						    (enum sdp_stat_counter)i);
		snapshot->total[i] = sum;
	}
}

int sdp_stat_read(int fd, struct sdp_stat_snapshot *ret_snapshot)
{
	struct sdp_stat_snapshot snapshot;
	struct sdp_stat_page again;
	int ret = 0;

	/* A socket that is closed during the read must be counted exactly
	 * once. */
	for (int n = 0; n < TRIES; n++) {
		snapshot = (struct sdp_stat_snapshot){ .sock = NULL };
		ret = head_read(fd, &snapshot.head);
		if (ret == 0)
			ret = socks_read(fd, &snapshot);
		if (ret == 0)
			ret = head_read(fd, &again);
		if (ret < 0) {
			free(snapshot.sock);
			return ret;
		}
		if (n == TRIES - 1 ||
		    (seq_of(&again.fold_seq) ==
			     seq_of(&snapshot.head.fold_seq) &&
		     !(seq_of(&again.fold_seq) & 1)))
			break;
		free(snapshot.sock);
	}
	totals_add(&snapshot);
	*ret_snapshot = snapshot;
	return 0;
}

void sdp_stat_snapshot_free(struct sdp_stat_snapshot *snapshot)
{
	free(snapshot->sock);
	snapshot->sock = NULL;
	snapshot->sock_cnt = 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reading of the statistics page. */
#ifndef SDP_STAT_READ_H
#define SDP_STAT_READ_H

#include <stdint.h>

#include "stat/sdp-stat.h"

struct sdp_stat_snapshot {
	struct sdp_stat_page head; /* without sockets */
	struct sdp_stat_sock *sock;
	uint32_t sock_cnt;
	/* Sums over closed sockets, open sockets, and sockets without a
	 * slot. */
	uint64_t total[SDP_STAT_COUNTER_CNT];
};

/**
 * sdp_stat_read - copy a page
 * @fd: the memfd or file. It is read by pread(): with a mapping, another
 *   process's ftruncate() would cause SIGBUS here.
 *
 * The content is validated. Texts are printable ASCII. Values of enums are not
 * checked.
 *
 * Return: 0, to be freed with sdp_stat_snapshot_free(); -EPROTO: not a page, or
 *   of another version; -EAGAIN: the page is being created; -ENOMEM; errors of
 *   pread().
 */
int sdp_stat_read(int fd, struct sdp_stat_snapshot *ret_snapshot)
	__attribute__((warn_unused_result));

void sdp_stat_snapshot_free(struct sdp_stat_snapshot *snapshot);

static inline uint32_t sdp_stat_gauge_get(const struct sdp_stat_sock *sock,
					  enum sdp_stat_gauge gauge)
{
	return atomic_load_explicit(&sock->gauge[gauge], memory_order_relaxed);
}

static inline uint64_t sdp_stat_counter_get(const struct sdp_stat_sock *sock,
					    enum sdp_stat_counter counter)
{
	return atomic_load_explicit(&sock->counter[counter],
				    memory_order_relaxed);
}

#endif

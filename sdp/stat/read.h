/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The reader's side of the statistics page. */
#ifndef SDP_STAT_READ_H
#define SDP_STAT_READ_H

#include <stdint.h>

#include "stat/sdp-stat.h"

struct sdp_stat_snapshot {
	struct sdp_stat_page head; /* without sockets */
	struct sdp_stat_sock *sock;
	uint32_t sock_cnt;
	/* By sockets that are closed, that are not, and that found no place. */
	uint64_t total[SDP_STAT_COUNTER_CNT];
};

/**
 * sdp_stat_read - copy a page
 * @fd: of the memfd or file; read with pread(), since a mapping would turn
 *   another process's ftruncate() into SIGBUS here.
 *
 * What the page says is checked; text is ended by 0, and words of enums are
 * as they stand there.
 *
 * Return: 0, to be freed with sdp_stat_snapshot_free(); -EPROTO: no page, or
 *   not one of this version; -EAGAIN: it is just being made; -ENOMEM; what
 *   pread() says.
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

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* QPs that wait for a peer, by number, and when each is to dial again. */
#include "wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OOB_BUCKETS 1024u

/*
 * Pauses between tries: the peer's application is mostly as far as ours within
 * a moment; one that takes longer is tried less often.
 */
static const struct {
	uint32_t try_cnt; /* the pause of the tries below that */
	uint64_t pause_ns;
} pauses[] = {
	{ 16, 1 * NS_PER_MS },
	{ 48, 5 * NS_PER_MS },
	{ 128, 20 * NS_PER_MS },
	{ UINT32_MAX, 100 * NS_PER_MS },
};

#define PAUSE_CNT (sizeof(pauses) / sizeof(pauses[0]))
_Static_assert(PAUSE_CNT ==
		       RNIC_TIMER_OOB_REDIAL_LAST - RNIC_TIMER_OOB_REDIAL + 1,
	       "a list of timers for each pause");

static struct {
	struct oob_list bucket[OOB_BUCKETS];
	struct oob_list all;
} oobs; /* guarded by the loop's lock */

static struct oob_list *bucket_of(uint32_t num)
{
	return &oobs.bucket[num % OOB_BUCKETS];
}

struct oob *oob_find(uint32_t num)
{
	struct oob *oob;

	LIST_FOREACH(oob, bucket_of(num), bucket_link)
	{
		if (oob->num == num)
			break;
	}
	return oob;
}

struct oob *oob_first(void)
{
	return LIST_FIRST(&oobs.all);
}

void oob_try_again(struct oob *oob)
{
	uint32_t i = 0;

	while (oob->try_cnt >= pauses[i].try_cnt && i < PAUSE_CNT - 1)
		i++;
	rnic_timer_start(&oob->redial, RNIC_TIMER_OOB_REDIAL + i,
			 pauses[i].pause_ns);
}

void oob_add(struct oob *oob)
{
	LIST_INSERT_HEAD(bucket_of(oob->num), oob, bucket_link);
	LIST_INSERT_HEAD(&oobs.all, oob, all_link);
}

void oob_remove(struct oob *oob)
{
	LIST_REMOVE(oob, bucket_link);
	LIST_REMOVE(oob, all_link);
	rnic_timer_stop(&oob->redial);
	free(oob);
}

void oob_wait_forget(void)
{
	memset(&oobs, 0, sizeof(oobs));
}

const char *oob_name(const struct oob *oob, char buf[OOB_NAME_LEN])
{
	snprintf(buf, OOB_NAME_LEN, "qp 0x%06x%s", oob->num,
		 UTIL_ADDR_PAIR_TEXT(&oob->local, &oob->peer));
	return buf;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* QPs that wait for a peer, by number, and when each is to dial again. */
#include "wait.h"

#include <stdlib.h>
#include <string.h>

#include "loop/loop.h"

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

static struct {
	struct oob *bucket[OOB_BUCKETS];
	struct oob_list all;
	struct oob_list redial[PAUSE_CNT]; /* each by redial_ns */
	bool is_ready;
} oobs; /* guarded by the loop's lock */

static void oobs_init(void)
{
	if (oobs.is_ready)
		return;
	TAILQ_INIT(&oobs.all);
	for (size_t i = 0; i < PAUSE_CNT; i++)
		TAILQ_INIT(&oobs.redial[i]);
	oobs.is_ready = true;
}

struct oob *oob_find(uint32_t num)
{
	struct oob *oob = oobs.bucket[num % OOB_BUCKETS];

	while (oob && oob->num != num)
		oob = oob->hash_next;
	return oob;
}

struct oob *oob_first(void)
{
	return oobs.is_ready ? TAILQ_FIRST(&oobs.all) : NULL;
}

static size_t oob_pause(const struct oob *oob)
{
	size_t i = 0;

	while (oob->try_cnt >= pauses[i].try_cnt && i < PAUSE_CNT - 1)
		i++;
	return i;
}

void oob_try_again(struct oob *oob)
{
	size_t pause = oob_pause(oob);

	oob->redial_ns = rnic_now_ns() + pauses[pause].pause_ns;
	TAILQ_INSERT_TAIL(&oobs.redial[pause], oob, redial_link);
	rnic_loop_deadline(oob->redial_ns);
}

static void oob_redial_end(struct oob *oob)
{
	if (!oob->redial_ns)
		return;
	TAILQ_REMOVE(&oobs.redial[oob_pause(oob)], oob, redial_link);
	oob->redial_ns = 0;
}

void oob_add(struct oob *oob)
{
	struct oob **bucket = &oobs.bucket[oob->num % OOB_BUCKETS];

	oobs_init();
	oob->hash_next = *bucket;
	*bucket = oob;
	TAILQ_INSERT_TAIL(&oobs.all, oob, all_link);
}

void oob_remove(struct oob *oob)
{
	struct oob **where = &oobs.bucket[oob->num % OOB_BUCKETS];

	while (*where != oob)
		where = &(*where)->hash_next;
	*where = oob->hash_next;
	TAILQ_REMOVE(&oobs.all, oob, all_link);
	oob_redial_end(oob);
	free(oob);
}

struct oob *oob_take_due(uint64_t now_ns)
{
	struct oob *oob;

	for (size_t i = 0; oobs.is_ready && i < PAUSE_CNT; i++) {
		oob = TAILQ_FIRST(&oobs.redial[i]);
		if (oob && oob->redial_ns <= now_ns) {
			oob_redial_end(oob);
			return oob;
		}
	}
	return NULL;
}

uint64_t oob_wait_next_ns(void)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; oobs.is_ready && i < PAUSE_CNT; i++) {
		const struct oob *oob = TAILQ_FIRST(&oobs.redial[i]);

		if (oob && oob->redial_ns < next)
			next = oob->redial_ns;
	}
	return next;
}

void oob_wait_forget(void)
{
	memset(&oobs, 0, sizeof(oobs));
}

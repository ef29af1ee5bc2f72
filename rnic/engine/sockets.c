/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See sockets.h. */
#include "sockets.h"

#include <string.h>
#include <sys/epoll.h>

/* One that has been read so often in vain is quiet. */
#define SOCKETS_QUIET_POLLS 256u

/* Has the peer sent nothing for long, and is there nothing to be sent? */
static bool source_is_quiet(const struct rnic_source *source)
{
	return source->quiet_cnt >= SOCKETS_QUIET_POLLS &&
	       !(source->events & EPOLLOUT);
}

/* Return: its place; busy->cnt: it has none. */
static uint32_t busy_find(const struct rnic_busy *busy,
			  const struct rnic_source *source)
{
	uint32_t i = 0;

	while (i < busy->cnt && busy->at[i] != source)
		i++;
	return i;
}

void rnic_engine_forget_busy(struct rnic_engine *engine,
			     const struct rnic_source *source)
{
	struct rnic_busy *busy = &engine->busy;
	uint32_t i = busy_find(busy, source);

	if (i == busy->cnt)
		return;
	busy->cnt--;
	memmove(busy->at + i, busy->at + i + 1,
		(busy->cnt - i) * sizeof(busy->at[0]));
}

bool rnic_engine_note_busy(struct rnic_engine *engine,
			   struct rnic_source *source)
{
	struct rnic_busy *busy = &engine->busy;
	uint32_t cnt = busy->cnt;

	if (busy_find(busy, source) < cnt)
		return false;
	if (cnt == RNIC_BUSY_MAX)
		cnt--;
	/* The latest is first. */
	memmove(busy->at + 1, busy->at, cnt * sizeof(busy->at[0]));
	busy->at[0] = source;
	busy->cnt = cnt + 1;
	source->quiet_cnt = 0;
	return true;
}

void rnic_engine_pass_busy(struct rnic_engine *engine)
{
	struct rnic_busy busy = engine->busy;

	for (uint32_t i = 0; i < busy.cnt; i++) {
		struct rnic_source *source = busy.at[i];

		/* One of the others may have ended it. */
		if (busy_find(&engine->busy, source) == engine->busy.cnt)
			continue;
		if (source_is_quiet(source)) {
			rnic_engine_forget_busy(engine, source);
			continue;
		}
		source->quiet_cnt++;
		source->ops->pass(source, EPOLLIN | EPOLLOUT);
	}
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See turn.h. */
#include "turn.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

struct sdp_turn {
	pthread_mutex_t mutex;
};

struct sdp_turn *sdp_turn_new(void)
{
	struct sdp_turn *turn = mmap(NULL, sizeof(*turn),
				     PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attr;

	if (turn == MAP_FAILED)
		return NULL;
	/* These fail for no attribute that exists. */
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&turn->mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	return turn;
}

void sdp_turn_free(struct sdp_turn *turn)
{
	if (turn)
		munmap(turn, sizeof(*turn));
}

void sdp_turn_take(struct sdp_turn *turn)
{
	if (turn && pthread_mutex_lock(&turn->mutex) == EOWNERDEAD)
		pthread_mutex_consistent(&turn->mutex);
}

void sdp_turn_leave(struct sdp_turn *turn)
{
	if (turn)
		pthread_mutex_unlock(&turn->mutex);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Common declarations of the stress program: see verbs_stress.c. */
#ifndef VERBS_STRESS_H
#define VERBS_STRESS_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREAD_CNT 64
#define LINK_CNT 40
#define POOL_CNT 6  /* CQs per context that links share */
#define DEPTH 8	    /* WRs of a queue */
#define REC_CNT 200 /* WRs of a queue in one life of the link */
#define BUF_LEN 0x80000
#define LIMIT_S 60

/* Aborts the run on a violation. */
#define MUST(cond)                                                             \
	do {                                                                   \
		if (!(cond)) {                                                 \
			printf("line %d: %s does not hold (errno %s), "        \
			       "seed %u\n",                                    \
			       __LINE__, #cond, strerror(errno), run.seed);    \
			fflush(stdout);                                        \
			_Exit(1);                                              \
		}                                                              \
	} while (0)

/* A verb of the data path: it succeeds and leaves errno alone. */
#define MUST_QUIETLY(call)                                                     \
	do {                                                                   \
		errno = EXDEV;                                                 \
		MUST((call) == 0 && errno == EXDEV);                           \
	} while (0)

/* One CQ, and the maximum number of completions in it. */
struct queue {
	struct ibv_cq *cq; /* NULL: none */
	struct ibv_cq_ex *ex;
	bool is_single; /* never shared: the polling thread has exclusive use of
			   the link */
	pthread_mutex_t lock;
	int reserved; /* protected by lock */
};

enum rec_state { REC_UNUSED, REC_SIGNALED, REC_QUIET, REC_DONE };

/* One queue of work requests, from connection to reset. */
struct work {
	_Atomic uint8_t rec[REC_CNT]; /* enum rec_state */
	_Atomic uint32_t next;	      /* first record not used */
	_Atomic int inflight;	      /* of DEPTH */
	_Atomic uint32_t expected, seen;
};

/* One life of a link. The record of its work outlives the link. */
struct life {
	struct work work[2][2]; /* by side; sends, receives */
	_Atomic int credits[2]; /* receives not used by a send yet */
	_Atomic bool has_failed;
	bool is_settled; /* all completions have arrived */
	bool has_srq[2];
};

struct side {
	struct queue *scq, *rcq;
	struct queue own; /* used if it is not from the pool */
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	uint8_t *buf;
	struct ibv_qp *qp;
};

/* Two connected queue pairs. A thread that holds @lock for writing may create
 * and destroy them. A thread that holds it for reading may post to them. */
struct link {
	pthread_rwlock_t lock;
	bool is_made, is_connected;
	struct side side[2];
	uint32_t life_no;
	struct life *life;
};

struct world {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct queue pool[POOL_CNT];
	pthread_t comp_thread, async_thread;
};

#define LIFE_MAX (1u << 20)

extern struct run {
	uint32_t seed, seconds;
	bool has_atomics;
	struct world world[2];
	struct link link[LINK_CNT];
	struct life *lives[LIFE_MAX];
	_Atomic uint32_t life_cnt;
	_Atomic bool is_over, is_quiet;
	_Atomic uint32_t posted, polled, lost, failed, resets, connects;
	_Atomic uint32_t resizes, comp_events, async_events;
} run;

static inline uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static inline uint32_t pick(uint32_t *rng, uint32_t below)
{
	*rng ^= *rng << 13;
	*rng ^= *rng >> 17;
	*rng ^= *rng << 5;
	return *rng % below;
}

/* Takes at most @max completions, by either way of polling. Return: their
 * number. */
int queue_poll(struct queue *q, uint32_t max);
/* Returns when everything in it now was taken, by this thread or by others. */
void queue_drain(struct queue *q);
void queue_open(struct queue *q, struct world *w, int cqe, uint32_t *rng);
void queue_close(struct queue *q);
/* Resizes it to at least the reserved size, plus a random number. */
void queue_resize(struct queue *q, uint32_t *rng);
/* Reserves space for @cnt more completions; negative: fewer. */
void queue_reserve(struct queue *q, int cnt);
/* Makes a wr_id. */
uint64_t id_of(uint32_t life_no, int side, int is_recv, uint32_t rec);
/* Thread functions that serve the events of a struct world. */
void *comp_loop(void *arg);
void *async_loop(void *arg);

#endif

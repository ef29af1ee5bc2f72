/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Checks of verbs with wrong arguments, and the objects for them.
 */
#ifndef VERBS_ERRNO_H
#define VERBS_ERRNO_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "needs.h"

#define BUF_SIZE 8192u

/* "other": of another context of the same device. */
struct objects {
	struct ibv_context *context, *other;
	struct ibv_device_attr limits;
	struct ibv_pd *pd, *pd2, *parent, *other_pd;
	struct ibv_td *td, *other_td;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq, *other_cq;
	struct ibv_cq_ex *cq_ex;
	struct ibv_srq *srq, *other_srq;
	struct ibv_qp *qp, *other_qp;
	struct ibv_mr *mr;
	struct ibv_dm *dm, *other_dm;
	char *buf;
};

extern struct objects w;
extern unsigned int failure_cnt;

/* Counts a check of @verb, a row of verbs-ops.def, or NULL. While the objects
 * exist, it also fails if one of them has changed. */
void note(const char *verb, int line, const char *what, long got, long want);

/* Checks verbs that return the value of errno, or 0. */
#define GIVES(verb, want, call)                                                \
	do {                                                                   \
		long got_ = (call);                                            \
		note(#verb, __LINE__, #call, got_, want);                      \
	} while (0)

/* Checks verbs that return NULL and set errno. */
#define NULLS(verb, want, call)                                                \
	do {                                                                   \
		errno = 0;                                                     \
		bool is_null_ = !(call);                                       \
		note(#verb, __LINE__, #call, is_null_ ? errno : 0, want);      \
	} while (0)

/* Checks verbs that return a value other than errno, and set errno. */
#define FAILS(verb, want, why, call)                                           \
	do {                                                                   \
		errno = 0;                                                     \
		long got_ = (call);                                            \
		note(#verb, __LINE__, #call, got_ == (want) ? errno : got_,    \
		     why);                                                     \
	} while (0)

/* The library refuses it itself: usiw says nothing. */
#define FAILS_IN_LIBRARY(want, why, call)                                      \
	do {                                                                   \
		errno = 0;                                                     \
		HOLDS((call) == (want) && errno == (why));                     \
	} while (0)

/* Checks a condition, or a function of the library that is not in the table. */
#define HOLDS(what) note(NULL, __LINE__, #what, !!(what), 1)

/* The library calls the verb itself, without arguments of the application. */
#define CALLED_BY_LIBRARY(verb) note(#verb, __LINE__, #verb, 0, 0)

struct ibv_context *device_open(const char *wanted);
struct ibv_qp_init_attr qp_attr(struct ibv_cq *cq);
struct ibv_srq *srq_open(struct ibv_pd *pd);

/* Objects that are not connected: memory, queues, unsupported features. */
void check_memory(void);
void check_queues(void);
void check_others(void);
/* Two connected QPs. */
void check_connection(const char *device);

#endif

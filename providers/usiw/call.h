/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Every verb passes here, for commands that observe the process (usiw trace),
 * and for rules that let calls fail (USIW_FAULT).  ops.c makes a wrapper of
 * each operation from its row in verbs-ops.def.  With neither a wrapper costs
 * two relaxed loads and a branch.
 */
#ifndef USIW_CALL_H
#define USIW_CALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/usiw-observer.h"
#include "util/text.h"

struct ibv_qp;
struct ibv_qp_attr;
struct ibv_wc;

/* The RNIC's (rnic_observed_word()); set when the first context is opened. */
extern const _Atomic uint32_t *_Atomic usiw_observed_word;

static inline uint32_t usiw_observed(void)
{
	/* relaxed: as rnic_observed() */
	const _Atomic uint32_t *word =
		atomic_load_explicit(&usiw_observed_word, memory_order_relaxed);

	return atomic_load_explicit(word, memory_order_relaxed);
}

/* Is a call to be recorded, or may it have to fail? */
static inline bool usiw_calls_are_observed(void)
{
	return __builtin_expect(
		usiw_observed() & (1u << USIW_OBSERVE_CALLS | USIW_CALLS_FAIL),
		0);
}

/* Beside it there is room for a name. */
#define USIW_CALL_BUF (USIW_CALL_TEXT_MAX - 64)

/* A call that is observed. */
struct usiw_call {
	const char *name;	    /* as the application writes it */
	uint64_t began_ns, took_ns; /* without what is printed */
	int err;		    /* of usiw_call_fails() */
	int saved_errno;	    /* the program's, whatever is done here */
	/* Its arguments are where it answers; and it has. */
	bool is_query, is_answered;
	bool is_poll;		 /* of a CQ */
	const struct ibv_wc *wc; /* that the call returns; NULL: none */
	/* While arguments are printed (print.h). */
	const char *arg;
	const struct ibv_qp_attr *qp_attr; /* waits for its mask */
	uint32_t cq_num;		   /* of the last CQ and QP */
	bool is_ud;
	/* First the arguments, then what is printed as the result. */
	struct util_text text;
	size_t args_len;
	char buf[USIW_CALL_BUF];
};

/* Without a command that wants it nothing is printed. */
void usiw_call_begin(struct usiw_call *call, const char *name);

/*
 * The last before the call: must it fail (USIW_FAULT), instead of being done?
 * Then @call->err says by what: negative errno.
 * @qp: that it is about; NULL: none.
 */
bool usiw_call_fails(struct usiw_call *call, const struct ibv_qp *qp);

/* The call has returned, and has set errno; more is printed. */
void usiw_call_return(struct usiw_call *call);

/* The arguments are printed; what follows is the result. */
void usiw_call_args_end(struct usiw_call *call);

/* @result: 0 or a count, of call->wc, too; negative: -errno.  errno is as it
 * was at the return. */
void usiw_call_end(struct usiw_call *call, int result);

/* The event @call->name reaches the program, with its text. */
void usiw_call_event(const struct usiw_call *call);

/* A work request of a QP (0: of an SRQ) is published next. */
void usiw_call_post(uint32_t qp_num, uint64_t wr_id, bool is_recv,
		    bool is_signaled);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the checker knows of the program's objects.  All of it is under one
 * lock.  Inside of it usiw takes only that of the pieces (wr.c).
 */
#ifndef USIW_CHECK_SHADOW_H
#define USIW_CHECK_SHADOW_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "rnic/os/rnic-watch.h"
#include "stack.h"

void usiw_check_lock(void);
void usiw_check_unlock(void);

enum usiw_check_kind {
	USIW_CHECK_PD,
	USIW_CHECK_MR,
	USIW_CHECK_CQ,
	USIW_CHECK_SRQ,
	USIW_CHECK_QP,
	USIW_CHECK_MW,
	USIW_CHECK_AH,
	USIW_CHECK_KIND_CNT,
};

/* The first member of each. */
struct usiw_check_object {
	LIST_ENTRY(usiw_check_object) by_ptr;
	LIST_ENTRY(usiw_check_object) by_num;
	enum usiw_check_kind kind;
	bool is_there;	 /* in the tables: nothing destroys it */
	const void *ptr; /* the library's object */
	const struct ibv_context *context; /* whose numbers @num is of */
	uint32_t num;			   /* QP number, lkey */
	struct usiw_check_stack made;
	uint32_t async_cnt; /* asynchronous events that the program has read */
};

LIST_HEAD(usiw_check_objects, usiw_check_object);

struct usiw_check_mr {
	struct usiw_check_object obj;
	const void *pd; /* usiw_check_pd() */
	uint64_t iova, len;
	uint64_t host; /* address of the first octet in this process */
	unsigned int access;
	bool is_opaque; /* no memory of the process, or any address */
};

struct usiw_check_cq {
	struct usiw_check_object obj;
	uint64_t depth_sum;   /* of the queues that complete to it */
	uint32_t pending_cnt; /* completions that may come, not polled */
	bool is_overrun_told;
	uint64_t poll_cnt;  /* calls of ibv_poll_cq() and the like */
	uint32_t event_cnt; /* read by the program */
	bool is_armed;
	uint64_t arm_cnt;
	bool is_armed_late; /* completions were there, and are not polled */
	struct usiw_check_stack armed;
};

struct usiw_check_wr;
TAILQ_HEAD(usiw_check_wrs, usiw_check_wr);

/* A queue of work requests. */
struct usiw_check_queue {
	struct usiw_check_wrs wrs; /* oldest first */
	uint32_t cnt, signaled_cnt;
	bool is_overfull_told, is_recv_sent_told;
	struct usiw_check_cq *cq; /* NULL: an SRQ of no or several CQs */
	const void *pd;		  /* usiw_check_pd() */
	struct {		  /* the WR that found the queue full */
		bool is_there;
		bool is_passed; /* others were posted after it */
		uint64_t wr_id, addr;
		uint64_t poll_cnt;
		struct usiw_check_stack stack;
	} refused;
};

struct usiw_check_srq {
	struct usiw_check_object obj;
	struct usiw_check_queue rq;
	uint32_t max_wr;
	uint32_t qp_cnt;
	bool is_mixed; /* its QPs have different CQs */
};

struct usiw_check_qp {
	struct usiw_check_object obj;
	struct usiw_check_queue sq, rq;
	struct usiw_check_srq *srq;
	pthread_mutex_t post_lock; /* outermost: keeps the order of posts */
	uint32_t send_wr, recv_wr; /* depths */
	uint32_t max_inline;
	bool is_sig_all;
	bool was_in_rts;
	uint64_t message_cnt; /* that came, as its completions say */
	uint32_t recv_cnt;    /* receives that were posted since RESET */
	uint32_t lost_cnt;    /* those that RESET took, and none came since */
	struct usiw_check_stack reset;
	struct { /* the peer's TERMINATE, until it is told */
		bool is_there;
		struct rnic_terminated what;
	} terminated;
};

/* In a forked child: the objects are the parent's. */
void usiw_check_shadow_forget(void);

/* Adds an object of @size octets.  Under the lock.  Return: NULL: no memory;
 * then the object is not checked. */
void *usiw_check_add(enum usiw_check_kind kind, size_t size, const void *ptr,
		     const struct ibv_context *context, uint32_t num);
/* NULL: it is not known.  @context NULL: of any. */
void *usiw_check_find(enum usiw_check_kind kind, const void *ptr);
void *usiw_check_find_num(enum usiw_check_kind kind,
			  const struct ibv_context *context, uint32_t num);
/* Takes the object out of the tables, and puts it in again. */
void usiw_check_remove(struct usiw_check_object *obj);
void usiw_check_put(struct usiw_check_object *obj);
/* The same around a call that ends @ptr, with the lock: takes it out; puts it
 * in again after an error @err, or frees it.  NULL: it is not known. */
void *usiw_check_begin_end(enum usiw_check_kind kind, const void *ptr);
void usiw_check_end(struct usiw_check_object *obj, int err);
void usiw_check_renumber(struct usiw_check_object *obj, uint32_t num);

/* Calls @fn with each object. */
void usiw_check_each(void (*fn)(struct usiw_check_object *obj));

/* Regions that were deregistered lately.  NULL: the key was none. */
void usiw_check_mr_gone(const struct usiw_check_mr *mr,
			const struct usiw_check_stack *stack);
const struct usiw_check_stack *
usiw_check_mr_find_gone(const struct ibv_context *context, uint32_t lkey);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Work requests that are posted and not complete: their memory, and the rules
 * about it.  All under the lock of shadow.h.
 */
#ifndef USIW_CHECK_WR_H
#define USIW_CHECK_WR_H

#include "preload.h"
#include "shadow.h"

/* A WR, as it is about to be posted. */
struct usiw_check_post {
	uint64_t wr_id;
	uint8_t opcode; /* enum usiw_wr_opcode; 0: a receive */
	bool is_signaled, is_fenced, is_inline;
	const struct ibv_sge *sges;
	uint32_t sge_cnt;
};

/*
 * Checks the memory of a WR, and adds it to its queue.
 * @owner: the QP or SRQ.
 * @stack: of the post.
 * Return: NULL: no memory.
 */
struct usiw_check_wr *usiw_check_wr_add(struct usiw_check_queue *queue,
					const struct usiw_check_object *owner,
					const struct usiw_check_post *post,
					const struct usiw_check_stack *stack);

/* It was not posted. */
void usiw_check_wr_undo(struct usiw_check_queue *queue,
			struct usiw_check_wr *wr);

/* The completion of a WR of a queue that completes in order was polled. */
void usiw_check_wr_complete(struct usiw_check_queue *queue, uint64_t wr_id,
			    enum ibv_wc_status status);
/* The same for a receive of an SRQ. */
void usiw_check_wr_complete_one(struct usiw_check_queue *queue, uint64_t wr_id,
				enum ibv_wc_status status);

/* All of the queue are gone: RESET, or it is destroyed. */
void usiw_check_wr_drop(struct usiw_check_queue *queue);

/* In a forked child: the queues are the parent's. */
void usiw_check_wr_forget(void);

/* The region is about to be deregistered. */
void usiw_check_wr_dereg(const struct usiw_check_mr *mr,
			 const struct usiw_check_stack *stack);

/* @call is about to take memory from the program.  Without the lock. */
void usiw_check_wr_taken(enum usiw_check_call call, uint64_t addr,
			 uint64_t len);

#endif

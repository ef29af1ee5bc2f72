/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Stacks of calls, as addresses; symbols are the command's work. */
#ifndef USIW_CHECK_STACK_H
#define USIW_CHECK_STACK_H

#include <stdbool.h>
#include <stdint.h>

struct util_text;

#define USIW_CHECK_FRAMES 20

struct usiw_check_stack {
	uint32_t cnt;
	void *pc[USIW_CHECK_FRAMES]; /* return addresses, innermost first */
};

/* Takes the stack of the calling thread, without this function.  Context: any
 * lock; the first call of the process allocates: usiw_check_stack_init(). */
void usiw_check_stack_take(struct usiw_check_stack *ret_stack);

/* Loads what unwinds stacks.  Called once, without locks. */
void usiw_check_stack_init(void);

/* Adds the stack as JSON, without the frames of usiw at its begin:
 * [["MODULE",OFFSET],...].  Under the lock of shadow.h. */
void usiw_check_stack_print(const struct usiw_check_stack *stack,
			    struct util_text *text);

/* As above.  Does the module that called libibverbs have @name in its path? */
bool usiw_check_stack_is_by(const struct usiw_check_stack *stack,
			    const char *name);

#endif

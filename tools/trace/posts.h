/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Work requests that are posted and not complete: when was it? */
#ifndef TRACE_POSTS_H
#define TRACE_POSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/usiw-observer.h"

struct trace_posts;

struct trace_posts *trace_posts_new(void);
void trace_posts_free(struct trace_posts *posts);

/* @source: number of the process; @ns: when. */
void trace_posts_add(struct trace_posts *posts, uint32_t source, uint64_t ns,
		     const struct usiw_post_record *post);

/*
 * The post of a completion is taken out, with those before it that have none.
 * Return: false: it is not known.
 */
bool trace_posts_take(struct trace_posts *posts, uint32_t source,
		      const struct usiw_completion_record *completion,
		      uint64_t *ret_ns);

#endif

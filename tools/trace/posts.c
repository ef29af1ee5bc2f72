/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See posts.h. */
#include "posts.h"

#include <stdlib.h>

#include "abi/usiw-abi.h"

#define LIST_CNT 4096u
/* More of a queue are forgotten, the oldest first. */
#define POST_MAX (1u << 16)

struct post {
	uint64_t wr_id, ns;
	bool is_signaled, is_taken;
};

/* Of a QP, or of all SRQs of a process: free-running numbers. */
struct queue {
	struct queue *next;
	uint32_t source, qp_num;
	bool is_recv;
	uint32_t first, end, size; /* size: a power of 2 */
	struct post *ring;
};

struct trace_posts {
	struct queue *lists[LIST_CNT];
};

struct trace_posts *trace_posts_new(void)
{
	return calloc(1, sizeof(struct trace_posts));
}

void trace_posts_free(struct trace_posts *posts)
{
	for (uint32_t i = 0; posts && i < LIST_CNT; i++)
		while (posts->lists[i]) {
			struct queue *queue = posts->lists[i];

			posts->lists[i] = queue->next;
			free(queue->ring);
			free(queue);
		}
	free(posts);
}

static struct queue **queue_find(struct trace_posts *posts, uint32_t source,
				 uint32_t qp_num, bool is_recv)
{
	uint32_t hash = (qp_num * 2 + is_recv + source * 64) * 0x9e3779b1u;
	struct queue **at = &posts->lists[hash >> 20];

	while (*at && ((*at)->source != source || (*at)->qp_num != qp_num ||
		       (*at)->is_recv != is_recv))
		at = &(*at)->next;
	return at;
}

static struct post *post_at(const struct queue *queue, uint32_t num)
{
	return &queue->ring[num & (queue->size - 1)];
}

/* Return: whether there is room for one more. */
static bool queue_grow(struct queue *queue)
{
	struct queue larger = *queue;

	if (queue->end - queue->first < queue->size)
		return true;
	if (queue->size == POST_MAX) {
		queue->first++;
		return true;
	}
	larger.size = queue->size ? 2 * queue->size : 16;
	larger.ring = malloc(larger.size * sizeof(*larger.ring));
	if (!larger.ring)
		return false;
	for (uint32_t i = queue->first; i != queue->end; i++)
		*post_at(&larger, i) = *post_at(queue, i);
	free(queue->ring);
	*queue = larger;
	return true;
}

void trace_posts_add(struct trace_posts *posts, uint32_t source, uint64_t ns,
		     const struct usiw_post_record *post)
{
	struct queue **at =
		queue_find(posts, source, post->qp_num, post->is_recv);

	if (!*at) {
		*at = calloc(1, sizeof(**at));
		if (!*at)
			return;
		(*at)->source = source;
		(*at)->qp_num = post->qp_num;
		(*at)->is_recv = post->is_recv;
	}
	if (queue_grow(*at))
		*post_at(*at, (*at)->end++) =
			(struct post){ .wr_id = post->wr_id,
				       .ns = ns,
				       .is_signaled = post->is_signaled };
}

static bool queue_take(struct queue *queue, bool is_in_order,
		       const struct usiw_completion_record *completion,
		       uint64_t *ret_ns)
{
	for (uint32_t i = queue->first; i != queue->end; i++) {
		struct post *post = post_at(queue, i);

		/* What fails completes, signaled or not. */
		if (post->is_taken || post->wr_id != completion->wr_id ||
		    !(post->is_signaled || completion->status))
			continue;
		*ret_ns = post->ns;
		post->is_taken = true;
		if (is_in_order)
			queue->first = i;
		while (queue->first != queue->end &&
		       post_at(queue, queue->first)->is_taken)
			queue->first++;
		return true;
	}
	return false;
}

bool trace_posts_take(struct trace_posts *posts, uint32_t source,
		      const struct usiw_completion_record *completion,
		      uint64_t *ret_ns)
{
	bool is_recv = completion->opcode & USIW_WC_RECV;
	struct queue *queue =
		*queue_find(posts, source, completion->qp_num, is_recv);

	if (queue)
		return queue_take(queue, true, completion, ret_ns);
	queue = is_recv ? *queue_find(posts, source, 0, true) : NULL;
	return queue && queue_take(queue, false, completion, ret_ns);
}

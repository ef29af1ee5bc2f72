/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See wr.h. */
#include "wr.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "abi/usiw-abi.h"
#include "hash.h"
#include "objects.h"
#include "report.h"
#include "taken.h"

/* Memory of an SGE.  What is not looked at has no octets at 0. */
struct piece {
	LIST_ENTRY(piece) link; /* of all pieces of its kind */
	struct usiw_check_wr *wr;
	uint64_t host; /* address in the process */
	uint32_t len;
	uint32_t lkey;
	bool is_mapped;
	bool is_shared; /* with a receive: what changes is not reported */
	bool is_hashed;
	uint64_t hash;
};

struct usiw_check_wr {
	TAILQ_ENTRY(usiw_check_wr) link;
	struct usiw_check_queue *queue;
	const struct usiw_check_object *owner;
	uint64_t wr_id;
	uint8_t opcode;
	bool is_signaled;
	bool is_sink;
	uint64_t message_cnt; /* of the QP at the post */
	struct usiw_check_stack posted;
	uint32_t piece_cnt;
	struct piece pieces[];
};

/* Of WRs that write to their memory, and of others. */
static LIST_HEAD(piece_list, piece) sinks, sources;
/* Who changes the lists, or the memory of a piece in them, has this lock inside
 * of that of shadow.h.  Nothing is called with it, so that free() may wait. */
static pthread_mutex_t pieces_lock = PTHREAD_MUTEX_INITIALIZER;

static const char *opcode_name(uint8_t opcode)
{
	static const char *const names[] = {
		"receive",
		"RDMA_WRITE",
		"RDMA_WRITE_WITH_IMM",
		"SEND",
		"SEND_WITH_IMM",
		"SEND_WITH_INV",
		"RDMA_READ",
		"ATOMIC_CMP_AND_SWP",
		"ATOMIC_FETCH_AND_ADD",
		"LOCAL_INV",
		"BIND_MW",
	};

	return opcode < sizeof(names) / sizeof(names[0]) ? names[opcode] : "WR";
}

static const char *owner_name(const struct usiw_check_object *owner)
{
	return owner->kind == USIW_CHECK_QP ? "QP" : "SRQ";
}

/* What names a WR in a finding. */
#define WR_FMT "%s (wr_id 0x%" PRIx64 ") of %s 0x%06x"
#define WR_ARGS(wr)                                                            \
	opcode_name((wr)->opcode), (wr)->wr_id, owner_name((wr)->owner),       \
		(wr)->owner->num

/* Does it write to its SGEs? */
static bool post_is_sink(const struct usiw_check_post *post)
{
	return !post->opcode || post->opcode == USIW_WR_READ ||
	       post->opcode == USIW_WR_CMP_SWP ||
	       post->opcode == USIW_WR_FETCH_ADD;
}

/* ---- the region of an SGE ---------------------------------------------- */

static void lkey_report(const struct usiw_check_wr *wr, uint32_t lkey)
{
	const struct usiw_check_stack *gone =
		usiw_check_mr_find_gone(wr->owner->context, lkey);
	static const struct usiw_check_stack none;

	usiw_check_report(USIW_CHECK_BAD_LKEY,
			  USIW_CHECK_PLACES({ "posted", &wr->posted },
					    { "region deregistered",
					      gone ? gone : &none }),
			  WR_FMT ": lkey 0x%08x is %s", WR_ARGS(wr), lkey,
			  gone ? "of a region that was deregistered"
			       : "of no region");
}

/* Return: the region, if the SGE is wholly in it; else it was reported. */
static const struct usiw_check_mr *sge_check(const struct usiw_check_wr *wr,
					     const struct ibv_sge *sge)
{
	const struct usiw_check_mr *mr = usiw_check_find_num(
		USIW_CHECK_MR, wr->owner->context, sge->lkey);

	if (!mr) {
		lkey_report(wr, sge->lkey);
		return NULL;
	}
	if (mr->pd != wr->queue->pd) {
		usiw_check_report(
			USIW_CHECK_BAD_LKEY,
			USIW_CHECK_PLACES({ "posted", &wr->posted },
					  { "region made", &mr->obj.made }),
			WR_FMT ": the region with lkey 0x%08x belongs to "
			       "another protection domain",
			WR_ARGS(wr), sge->lkey);
		return NULL;
	}
	if (mr->is_opaque)
		return NULL;
	if (sge->addr < mr->iova || sge->addr - mr->iova > mr->len ||
	    sge->length > mr->len - (sge->addr - mr->iova)) {
		usiw_check_report(
			USIW_CHECK_OUT_OF_REGION,
			USIW_CHECK_PLACES({ "posted", &wr->posted },
					  { "region made", &mr->obj.made }),
			WR_FMT ": %" PRIu32 " octets at 0x%" PRIx64
			       " are not in the region, which has %" PRIu64
			       " octets at 0x%" PRIx64,
			WR_ARGS(wr), sge->length, sge->addr, mr->len, mr->iova);
		return NULL;
	}
	if (wr->is_sink && !(mr->access & IBV_ACCESS_LOCAL_WRITE))
		usiw_check_report(
			USIW_CHECK_NO_LOCAL_WRITE,
			USIW_CHECK_PLACES({ "posted", &wr->posted },
					  { "region made", &mr->obj.made }),
			WR_FMT ": it writes to a region without "
			       "IBV_ACCESS_LOCAL_WRITE",
			WR_ARGS(wr));
	return mr;
}

/* ---- memory that two WRs use ------------------------------------------- */

static bool has_octets_of(const struct piece *piece, uint64_t host,
			  uint64_t len)
{
	return host < piece->host + piece->len && piece->host < host + len;
}

static const struct piece *overlap_find(const struct piece_list *list,
					uint64_t host, uint64_t len)
{
	const struct piece *piece;

	LIST_FOREACH(piece, list, link)
	if (has_octets_of(piece, host, len))
		return piece;
	return NULL;
}

static void overlap_report(enum usiw_check_rule rule,
			   const struct usiw_check_wr *wr,
			   const struct piece *piece, const struct piece *other)
{
	usiw_check_report(
		rule,
		USIW_CHECK_PLACES({ "posted", &wr->posted },
				  { "first WR posted", &other->wr->posted }),
		WR_FMT " %s 0x%" PRIx64 ", which " WR_FMT ", not complete, %s",
		WR_ARGS(wr), wr->is_sink ? "writes to" : "reads", piece->host,
		WR_ARGS(other->wr), other->wr->is_sink ? "writes to" : "reads");
}

/* What WRs do to octets that a receive of the program waits for. */
static void recv_overlap(const struct usiw_check_wr *wr, struct piece *piece,
			 const struct piece *recv)
{
	if (wr->is_sink) {
		overlap_report(USIW_CHECK_BUFFER_IN_USE, wr, piece, recv);
		return;
	}
	/* What comes may change them, and many programs exclude by their
	 * protocol that it comes too early. */
	piece->is_shared = true;
	if (!wr->queue->is_recv_sent_told)
		overlap_report(USIW_CHECK_RECV_BUFFER_SENT, wr, piece, recv);
	wr->queue->is_recv_sent_told = true;
}

/* A WR of the same queue writes to them: they are sent before. */
static void sources_release(const struct usiw_check_queue *queue,
			    const struct piece *sink)
{
	struct piece *piece;

	LIST_FOREACH(piece, &sources, link)
	if (piece->wr->queue == queue &&
	    has_octets_of(piece, sink->host, sink->len))
		piece->is_hashed = false;
}

/* What a READ or atomic brings is sent.  A fenced WR of the same QP waits for
 * it. */
static void sent_on(const struct usiw_check_wr *wr, struct piece *piece,
		    const struct piece *sink, bool is_fenced)
{
	piece->is_shared = true;
	if (!is_fenced || sink->wr->queue != wr->queue)
		overlap_report(USIW_CHECK_BUFFER_IN_USE, wr, piece, sink);
}

/* Receives may share memory, and so may READs: programs that do not look at
 * what comes do it. */
static void overlap_check(const struct usiw_check_wr *wr, struct piece *piece,
			  bool is_fenced)
{
	const struct piece *other;

	if (!wr->opcode)
		return;
	other = overlap_find(&sinks, piece->host, piece->len);
	if (wr->is_sink)
		sources_release(wr->queue, piece);
	if (other && !other->wr->opcode)
		recv_overlap(wr, piece, other);
	else if (other && !wr->is_sink)
		sent_on(wr, piece, other, is_fenced);
	if (other || !wr->is_sink)
		return;
	other = overlap_find(&sources, piece->host, piece->len);
	if (other && other->wr->queue != wr->queue)
		overlap_report(USIW_CHECK_BUFFER_IN_USE, wr, piece, other);
}

/* ---- adding ------------------------------------------------------------ */

static void piece_init(struct usiw_check_wr *wr, struct piece *piece,
		       const struct ibv_sge *sge, bool is_fenced)
{
	const struct usiw_check_mr *mr = sge->length ? sge_check(wr, sge)
						     : NULL;

	piece->wr = wr;
	piece->lkey = sge->lkey;
	if (!mr)
		return; /* no memory to look at: len is 0 */
	piece->host = mr->host + (sge->addr - mr->iova);
	piece->len = sge->length;
	overlap_check(wr, piece, is_fenced);
	if (!wr->is_sink && !piece->is_shared)
		piece->is_hashed = !usiw_check_hash_memory(
			piece->host, piece->len, &piece->hash);
	piece->is_mapped = piece->is_hashed ||
			   !usiw_check_is_mapped(piece->host, piece->len);
}

/* Puts the memory into the lists, or takes it out of them. */
static void pieces_list(struct usiw_check_wr *wr, bool is_in)
{
	pthread_mutex_lock(&pieces_lock);
	for (uint32_t i = 0; i < wr->piece_cnt; i++) {
		struct piece *piece = &wr->pieces[i];

		if (is_in)
			LIST_INSERT_HEAD(wr->is_sink ? &sinks : &sources, piece,
					 link);
		else
			LIST_REMOVE(piece, link);
		usiw_check_memory_used(piece->host, piece->len, is_in ? 1 : -1);
	}
	pthread_mutex_unlock(&pieces_lock);
}

static uint64_t message_cnt(const struct usiw_check_object *owner)
{
	return owner->kind == USIW_CHECK_QP
		       ? ((const struct usiw_check_qp *)owner)->message_cnt
		       : 0;
}

struct usiw_check_wr *usiw_check_wr_add(struct usiw_check_queue *queue,
					const struct usiw_check_object *owner,
					const struct usiw_check_post *post,
					const struct usiw_check_stack *stack)
{
	uint32_t cnt = post->is_inline ? 0 : post->sge_cnt;
	struct usiw_check_wr *wr =
		calloc(1, sizeof(*wr) + cnt * sizeof(wr->pieces[0]));

	if (!wr)
		return NULL;
	wr->queue = queue;
	wr->owner = owner;
	wr->wr_id = post->wr_id;
	wr->opcode = post->opcode;
	wr->is_signaled = post->is_signaled;
	wr->is_sink = post_is_sink(post);
	wr->message_cnt = message_cnt(owner);
	wr->posted = *stack;
	wr->piece_cnt = cnt;
	for (uint32_t i = 0; i < cnt; i++)
		piece_init(wr, &wr->pieces[i], &post->sges[i], post->is_fenced);
	pieces_list(wr, true);
	TAILQ_INSERT_TAIL(&queue->wrs, wr, link);
	queue->cnt++;
	queue->signaled_cnt += wr->is_signaled;
	if (queue->cq)
		queue->cq->pending_cnt += wr->is_signaled;
	return wr;
}

/* ---- ending ------------------------------------------------------------ */

void usiw_check_wr_undo(struct usiw_check_queue *queue,
			struct usiw_check_wr *wr)
{
	TAILQ_REMOVE(&queue->wrs, wr, link);
	queue->cnt--;
	queue->signaled_cnt -= wr->is_signaled;
	if (queue->cq)
		queue->cq->pending_cnt -= wr->is_signaled;
	pieces_list(wr, false);
	free(wr);
}

void usiw_check_wr_forget(void)
{
	LIST_INIT(&sinks);
	LIST_INIT(&sources);
	/* A thread that the child does not have may have held it. */
	pthread_mutex_init(&pieces_lock, NULL);
}

static void unmapped_report(const struct usiw_check_wr *wr,
			    const struct piece *piece)
{
	struct usiw_check_stack here;

	usiw_check_stack_take(&here);
	usiw_check_report(USIW_CHECK_UNMAPPED_IN_USE,
			  USIW_CHECK_PLACES({ "posted", &wr->posted },
					    { "completion polled", &here }),
			  WR_FMT ": %" PRIu32 " octets at 0x%" PRIx64
				 " were unmapped before its completion",
			  WR_ARGS(wr), piece->len, piece->host);
}

/* A counter, such as that of credits: one of its values arrives, whole. */
static bool is_word(const struct piece *piece)
{
	return piece->len <= 8 && !(piece->len & (piece->len - 1)) &&
	       piece->host % piece->len == 0;
}

/*
 * Protocols on top of datagrams have acknowledgements of their own, which come
 * before the completion if that is not signaled.  What arrived was read.
 */
static bool may_be_acked(const struct usiw_check_wr *wr)
{
	const struct ibv_qp *qp = wr->owner->ptr;

	return wr->owner->kind == USIW_CHECK_QP && qp->qp_type == IBV_QPT_UD &&
	       message_cnt(wr->owner) != wr->message_cnt;
}

static enum usiw_check_rule changed_rule(const struct usiw_check_wr *wr,
					 const struct piece *piece)
{
	if (may_be_acked(wr))
		return USIW_CHECK_DATAGRAM_CHANGED;
	return is_word(piece) ? USIW_CHECK_WORD_CHANGED
			      : USIW_CHECK_SOURCE_CHANGED;
}

static void changed_report(const struct usiw_check_wr *wr,
			   const struct piece *piece)
{
	struct usiw_check_stack here;

	usiw_check_stack_take(&here);
	usiw_check_report(changed_rule(wr, piece),
			  USIW_CHECK_PLACES({ "posted", &wr->posted },
					    { "completion polled", &here }),
			  WR_FMT ": its %" PRIu32 " octets at 0x%" PRIx64
				 " changed before its completion was polled",
			  WR_ARGS(wr), piece->len, piece->host);
}

/* Does its region still allow what the WR does? */
static bool is_allowed(const struct usiw_check_wr *wr,
		       const struct piece *piece)
{
	const struct usiw_check_mr *mr = usiw_check_find_num(
		USIW_CHECK_MR, wr->owner->context, piece->lkey);

	return mr && mr->pd == wr->queue->pd && piece->host >= mr->host &&
	       piece->host + piece->len <= mr->host + mr->len &&
	       (!wr->is_sink || mr->access & IBV_ACCESS_LOCAL_WRITE);
}

/*
 * The RNIC could not access the memory, and the region allows it.  Another
 * mapping may have its place now, so that it can be read again.
 */
static void protected_report(const struct usiw_check_wr *wr)
{
	struct usiw_check_stack here;

	for (uint32_t i = 0; i < wr->piece_cnt; i++)
		if (!wr->pieces[i].is_mapped || !is_allowed(wr, &wr->pieces[i]))
			return;
	usiw_check_stack_take(&here);
	usiw_check_report(USIW_CHECK_UNMAPPED_IN_USE,
			  USIW_CHECK_PLACES({ "posted", &wr->posted },
					    { "completion polled", &here }),
			  WR_FMT ": its memory was unmapped or protected "
				 "before its completion",
			  WR_ARGS(wr));
}

/* The WR is complete.  One that failed may have sent nothing of it.  Return:
 * true: the memory is not there any more. */
static bool piece_check(const struct usiw_check_wr *wr,
			const struct piece *piece, bool is_success)
{
	bool has_hash = piece->is_hashed && is_success;
	uint64_t hash = 0;
	int err;

	if (!piece->len || !piece->is_mapped)
		return false;
	err = has_hash ? usiw_check_hash_memory(piece->host, piece->len, &hash)
		       : usiw_check_is_mapped(piece->host, piece->len);
	if (err == -EFAULT)
		unmapped_report(wr, piece);
	else if (!err && has_hash && hash != piece->hash)
		changed_report(wr, piece);
	return err == -EFAULT;
}

/* What is flushed was not under way: the QP had failed. */
static void wr_end(struct usiw_check_queue *queue, struct usiw_check_wr *wr,
		   enum ibv_wc_status status)
{
	bool is_gone = false;

	for (uint32_t i = 0; i < wr->piece_cnt; i++)
		if (status != IBV_WC_WR_FLUSH_ERR)
			is_gone |= piece_check(wr, &wr->pieces[i],
					       status == IBV_WC_SUCCESS);
	if (status == IBV_WC_LOC_PROT_ERR && wr->piece_cnt && !is_gone)
		protected_report(wr);
	usiw_check_wr_undo(queue, wr);
}

static struct usiw_check_wr *wr_find(const struct usiw_check_queue *queue,
				     uint64_t wr_id, enum ibv_wc_status status)
{
	struct usiw_check_wr *wr;

	TAILQ_FOREACH(wr, &queue->wrs, link)
	if (wr->wr_id == wr_id && (wr->is_signaled || status))
		return wr;
	return NULL;
}

void usiw_check_wr_complete_one(struct usiw_check_queue *queue, uint64_t wr_id,
				enum ibv_wc_status status)
{
	struct usiw_check_wr *wr = wr_find(queue, wr_id, status);

	if (wr)
		wr_end(queue, wr, status);
}

void usiw_check_wr_complete(struct usiw_check_queue *queue, uint64_t wr_id,
			    enum ibv_wc_status status)
{
	const struct usiw_check_wr *last = wr_find(queue, wr_id, status);
	struct usiw_check_wr *wr;
	bool is_last;

	/* Those before it that are not signaled are complete, too. */
	while (last && (wr = TAILQ_FIRST(&queue->wrs))) {
		is_last = wr == last;
		wr_end(queue, wr, is_last ? status : IBV_WC_SUCCESS);
		if (is_last)
			return;
	}
}

void usiw_check_wr_drop(struct usiw_check_queue *queue)
{
	struct usiw_check_wr *wr;

	while ((wr = TAILQ_FIRST(&queue->wrs)))
		usiw_check_wr_undo(queue, wr);
}

/*
 * Does the object access memory?  WRs of a QP that has ended are flushed.
 * @is_idle_too: it may be connected later.
 */
static bool is_live(const struct usiw_check_object *owner, bool is_idle_too)
{
	const struct usiw_qp *qp = owner->ptr;
	enum rnic_qp_state state;

	if (!owner->is_there)
		return false;
	if (owner->kind != USIW_CHECK_QP)
		return ((const struct usiw_check_srq *)owner)->qp_cnt;
	state = rnic_qp_state(qp->rnic);
	return state == RNIC_QPS_CONNECTING || state == RNIC_QPS_RTS ||
	       (is_idle_too && state == RNIC_QPS_IDLE);
}

static void dereg_look(const struct piece_list *list,
		       const struct usiw_check_mr *mr,
		       const struct usiw_check_stack *stack)
{
	const struct piece *piece;

	LIST_FOREACH(piece, list, link)
	{
		const struct usiw_check_object *owner = piece->wr->owner;

		if (piece->lkey != mr->obj.num || !piece->len ||
		    owner->context != mr->obj.context)
			continue;
		if (!is_live(owner, false))
			continue;
		usiw_check_report(
			piece->wr->opcode ? USIW_CHECK_DEREG_IN_USE
					  : USIW_CHECK_DEREG_RECEIVES,
			USIW_CHECK_PLACES({ "deregistered", stack },
					  { "posted", &piece->wr->posted },
					  { "region made", &mr->obj.made }),
			"region with lkey 0x%08x: " WR_FMT
			", not complete, uses it",
			mr->obj.num, WR_ARGS(piece->wr));
	}
}

void usiw_check_wr_dereg(const struct usiw_check_mr *mr,
			 const struct usiw_check_stack *stack)
{
	dereg_look(&sinks, mr, stack);
	dereg_look(&sources, mr, stack);
}

/* ---- memory that is freed ---------------------------------------------- */

static const struct {
	const char *name, *label;
} calls[] = {
	[USIW_CHECK_FREE] = { "free()", "freed" },
	[USIW_CHECK_REALLOC] = { "realloc()", "reallocated" },
	[USIW_CHECK_MUNMAP] = { "munmap()", "unmapped" },
	[USIW_CHECK_MREMAP] = { "mremap()", "remapped" },
	[USIW_CHECK_MADVISE] = { "madvise()", "given back" },
};

/* It was told: whatever becomes of the memory is no finding of its own. */
static void piece_forget(struct piece *piece)
{
	usiw_check_memory_used(piece->host, piece->len, -1);
	pthread_mutex_lock(&pieces_lock);
	piece->host = piece->len = 0;
	pthread_mutex_unlock(&pieces_lock);
	piece->is_mapped = false;
}

/* A region that is gone was told, or is of a QP that has ended. */
static void taken_look(const struct piece_list *list, enum usiw_check_call call,
		       uint64_t addr, uint64_t len,
		       const struct usiw_check_stack *stack)
{
	struct piece *piece;

	LIST_FOREACH(piece, list, link)
	{
		const struct usiw_check_wr *wr = piece->wr;

		if (!has_octets_of(piece, addr, len) ||
		    !is_live(wr->owner, true) || !is_allowed(wr, piece) ||
		    may_be_acked(wr))
			continue;
		usiw_check_report(
			call <= USIW_CHECK_REALLOC ? USIW_CHECK_FREED_IN_USE
						   : USIW_CHECK_UNMAPPED_IN_USE,
			USIW_CHECK_PLACES({ calls[call].label, stack },
					  { "posted", &wr->posted }),
			WR_FMT ": %s takes its %" PRIu32 " octets at 0x%" PRIx64
			       ", or some, before its completion was "
			       "polled",
			WR_ARGS(wr), calls[call].name, piece->len, piece->host);
		piece_forget(piece);
	}
}

/*
 * The caller may hold locks of the dynamic linker, which reports wait for: so
 * it waits for the lock of shadow.h only if the memory is in use.
 */
void usiw_check_wr_taken(enum usiw_check_call call, uint64_t addr, uint64_t len)
{
	struct usiw_check_stack here;
	bool is_used;

	pthread_mutex_lock(&pieces_lock);
	is_used = overlap_find(&sinks, addr, len) ||
		  overlap_find(&sources, addr, len);
	pthread_mutex_unlock(&pieces_lock);
	if (!is_used)
		return;
	usiw_check_lock();
	usiw_check_stack_take(&here);
	taken_look(&sinks, call, addr, len, &here);
	taken_look(&sources, call, addr, len, &here);
	usiw_check_unlock();
}

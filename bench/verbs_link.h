/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Common parts of the two sides of bench-verbs: connections by rdma_cm, in
 * groups.
 *
 * A group belongs to one thread of the client: a protection domain, a CQ, a
 * memory region and some queue pairs. All groups of a process are on one
 * context. The server makes the same groups, as the client's private data
 * demands.
 */
#ifndef BENCH_VERBS_LINK_H
#define BENCH_VERBS_LINK_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure.h"

#define LINKS_MAX 16384
#define WC_BATCH 32

enum bench_op { OP_WRITE, OP_SEND, OP_READ, OP_ATOMIC };

/* The traffic on a group's queue pairs. */
enum bench_kind {
	KIND_STREAM, /* the client writes, sends or reads */
	KIND_PING,   /* Sends in both directions */
	KIND_IDLE,   /* nothing */
};

/* Private data of a connect, between processes of one machine. */
struct bench_hello {
	uint32_t group_idx;
	uint8_t kind, op, is_events, is_passive, is_touched, reserved[3];
	uint32_t size;
	uint32_t buf_cnt;
	uint32_t depth;	   /* work requests outstanding on a queue pair */
	uint32_t link_cnt; /* queue pairs of this group */
	uint32_t rkey;	   /* of the client's memory, for answers by WRITE */
	uint64_t addr;
};

/* Private data of an accept: the memory to write to and to read from. */
struct bench_grant {
	uint64_t addr;
	uint32_t rkey;
	uint32_t reserved;
};

struct bench_group;

struct bench_link {
	struct bench_group *group;
	struct rdma_cm_id *id;
	struct bench_grant grant;
	uint64_t posted, done; /* the client's work requests */
	uint64_t recv_turn;
};

struct bench_group {
	struct bench_hello hello;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_comp_channel *channel; /* NULL: poll */
	struct ibv_mr *mr;
	char *buf;
	struct bench_link *links;
	uint32_t link_cnt;
	_Atomic uint32_t recv_cnt; /* receives posted, all links together */
};

struct bench_options {
	struct bench_hello hello; /* of each group */
	uint64_t window_ns;
	int list_len;
	int thread_cnt;
	int idle_cnt;
	bool is_ping, is_beside_bulk;
	const char *port, *host;
};

/* Makes everything except the connections, on the context of @id. */
void bench_group_init(struct bench_group *group,
		      const struct bench_hello *hello, struct rdma_cm_id *id);
/* Called after its queue pairs are destroyed. */
void bench_group_fini(struct bench_group *group);

/* Adds the group's next link, with a queue pair of @id, and with receives. */
struct bench_link *bench_link_add(struct bench_group *group,
				  struct rdma_cm_id *id);

void bench_recv_post(struct bench_link *link);
/* The buffer of the oldest receive, which has completed. */
char *bench_recv_next(const struct bench_link *link);

/*
 * Posts one message of a ping-pong, signaled. The target of a WRITE or READ at
 * the peer is @addr. The first buffer receives, the second is sent.
 */
void bench_ping_post(struct bench_link *link, uint64_t addr, uint32_t rkey);

/* The octet that distinguishes a WRITE of a ping-pong from those before it. */
static inline char bench_ping_mark(uint64_t turn)
{
	return (char)(turn & 1 ? 0x55 : 0x2a);
}

/* The offset of the octets of turn @turn from the start of the buffers. */
static inline size_t bench_offset(const struct bench_group *group,
				  uint64_t turn)
{
	return turn % group->hello.buf_cnt * group->hello.size;
}

/*
 * Takes completions of the group, WC_BATCH at most. If there are none and the
 * group has a channel, it sleeps until one comes.
 */
int bench_group_poll(struct bench_group *group, struct ibv_wc *wc);

struct rdma_conn_param bench_conn_param(struct rdma_cm_id *id, const void *data,
					size_t len);

/* The next event of a channel; it must be of this type. */
struct rdma_cm_event *bench_cm_expect(struct rdma_event_channel *channel,
				      enum rdma_cm_event_type type);

#endif

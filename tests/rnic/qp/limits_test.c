/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The maximum of each limit that the device reports works, and one more is
 * refused. */
#define _GNU_SOURCE
#include "../../harness/test.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "qp/qp.h"
#include "rawpeer.h"
#include "rnicpair.h"

/* ---- the longest message ---- */

#define LONGEST ((size_t)1 << 31)
#define WINDOW ((size_t)16 << 20)
/* 2 GiB on a loaded machine: three times this is within the test's time. */
#define LONGEST_MS 90000

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define IS_SANITIZED
#endif

/* A large address range of which all pages are the same few pages, registered.
 * They are mapped at once: a fault for each takes longer than the message. */
struct endless {
	uint8_t *mem;
	struct rnic_mr *mr;
};

static void endless_open(struct endless *e, struct rnicpair_side *s)
{
	int fd = memfd_create("endless", MFD_CLOEXEC);

	assert_true(fd >= 0 && ftruncate(fd, (off_t)WINDOW) == 0);
	e->mem = mmap(NULL, LONGEST, PROT_NONE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(e->mem != MAP_FAILED);
	for (size_t at = 0; at < LONGEST; at += WINDOW)
		assert_true(mmap(e->mem + at, WINDOW, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd,
				 0) != MAP_FAILED);
	close(fd);
	assert_int_equal(rnic_mr_reg(s->pd, e->mem, LONGEST, (uintptr_t)e->mem,
				     RNIC_ACCESS_LOCAL_WRITE |
					     RNIC_ACCESS_REMOTE_WRITE |
					     RNIC_ACCESS_REMOTE_READ,
				     &e->mr),
			 0);
}

static void endless_close(struct endless *e)
{
	assert_int_equal(rnic_mr_dereg(e->mr), 0);
	munmap(e->mem, LONGEST);
}

static void carry_longest(struct rnicpair *p, uint8_t opcode,
			  const struct endless *mine,
			  const struct endless *other)
{
	struct rnicpair_side *a = &p->side[0], *b = &p->side[1];
	bool is_read = opcode == USIW_WR_READ;
	const struct endless *src = is_read ? other : mine;
	const struct endless *dst = is_read ? mine : other;
	struct usiw_sge sge = { (uintptr_t)mine->mem, (uint32_t)LONGEST,
				rnic_mr_stag(mine->mr) };
	struct usiw_sge to = { (uintptr_t)other->mem, (uint32_t)LONGEST,
			       rnic_mr_stag(other->mr) };
	struct rnicpair_wr wr = {
		.opcode = opcode,
		.flags = USIW_SQE_SIGNALED,
		.sge = &sge,
		.sge_cnt = 1,
		.rkey = rnic_mr_stag(other->mr),
		.remote_addr = (uintptr_t)other->mem,
	};
	struct usiw_cqe cqe;

	rnicpair_fill(src->mem, WINDOW, opcode);
	memset(dst->mem, 0, WINDOW);
	if (!is_read)
		assert_int_equal(rnicpair_post_recv(b, 1, &to, 1), 0);
	assert_int_equal(rnicpair_post(a, &wr), 0);
	if (!is_read) {
		cqe = rnicpair_take_in(b, b->rcq, LONGEST_MS);
		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
		assert_int_equal(cqe.byte_len, LONGEST);
	}
	cqe = rnicpair_take_in(a, a->scq, LONGEST_MS);
	assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	if (is_read)
		assert_int_equal(cqe.byte_len, LONGEST);
	assert_true(rnicpair_is_filled(dst->mem, WINDOW, opcode));
}

CASE(carries_the_longest_message)
{
	/* With a sanitizer the one that counts octets on both sides: each takes
	 * 15 s of processor time then. */
	static const uint8_t opcodes[] = { USIW_WR_SEND,
#ifndef IS_SANITIZED
					   USIW_WR_WRITE_IMM, USIW_WR_READ
#endif
	};
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct endless mine, other;
	struct rnicpair p;
	struct usiw_sge sge[2];
	struct rnicpair_wr wr = { .opcode = USIW_WR_SEND,
				  .sge = sge,
				  .sge_cnt = 2 };

	assert_int_equal(rnic_limits()->max_msg_size, LONGEST);
	opt.has_crc = false;
	rnicpair_open(&p, &opt);
	endless_open(&mine, &p.side[0]);
	endless_open(&other, &p.side[1]);
	for (size_t i = 0; i < ARRAY_LEN(opcodes); i++)
		carry_longest(&p, opcodes[i], &mine, &other);
	/* One octet more: the provider refuses it, and so does the queue. */
	sge[0] = (struct usiw_sge){ (uintptr_t)mine.mem, (uint32_t)LONGEST,
				    rnic_mr_stag(mine.mr) };
	sge[1] = rnicpair_sge(&p.side[0], 0, 1);
	assert_int_equal(rnicpair_post(&p.side[0], &wr), 0);
	assert_int_equal(rnicpair_take(&p.side[0], p.side[0].scq).status,
			 USIW_WC_LOC_LEN_ERR);
	endless_close(&mine);
	endless_close(&other);
	rnicpair_close(&p);
}

/* ---- the maximum of outstanding requests ---- */

/* RDMAP-51: this many Reads and atomics are outstanding, and not one more. */
CASE(asks_as_much_as_ord_says)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	uint32_t most = rnic_limits()->max_ord;
	struct rnicpair_side *s;
	struct rnic_qp_attr attr;
	struct rawpeer raw;
	struct rnicpair p;

	assert_int_equal(most, 128);
	assert_int_equal(rnic_limits()->max_ird, most);
	opt.ird = opt.ord = (uint16_t)most;
	opt.max_wr = 256;
	opt.rtr = 0; /* a Read of the engine would count too */
	s = rawpeer_open(&raw, &p, &opt);
	rnic_qp_query(s->qp, &attr);
	assert_int_equal(attr.ord, most);
	assert_int_equal(attr.ird, most);
	for (uint32_t i = 0; i <= most; i++) {
		struct usiw_sge sge = rnicpair_sge(s, 8 * i, 8);
		struct rnicpair_wr wr = { .opcode = i % 2 ? USIW_WR_READ
							  : USIW_WR_FETCH_ADD,
					  .sge = &sge,
					  .sge_cnt = 1 };

		assert_int_equal(rnicpair_post(s, &wr), 0);
	}
	for (uint32_t i = 0; i < most; i++)
		assert_int_equal(rawpeer_event(&raw).type,
				 i % 2 ? SMPA_EV_READ : SMPA_EV_ATOMIC);
	assert_true(rnicpair_is_quiet(&p, s->scq));
	assert_int_equal(rawpeer_try(&raw).type, SMPA_EV_NONE);
	rawpeer_close_both(&raw, &p);
}

/* The same in both directions at once, answered. */
CASE(answers_as_much_as_ird_says)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	uint32_t most = rnic_limits()->max_ird;
	struct rnicpair p;

	opt.ird = opt.ord = (uint16_t)most;
	opt.max_wr = 1024;
	opt.cqe = 1024;
	rnicpair_open(&p, &opt);
	for (int i = 0; i < 2; i++)
		memset(p.side[i].buf, 0, 8);
	for (uint32_t i = 0; i < 2 * 500; i++) {
		struct rnicpair_side *a = &p.side[i % 2],
				     *b = &p.side[!(i % 2)];
		struct usiw_sge sge = rnicpair_sge(a, 64 + 8 * i, 8);
		struct rnicpair_wr wr = {
			.wr_id = i / 2,
			.opcode = i % 6 < 2 ? USIW_WR_READ : USIW_WR_FETCH_ADD,
			.flags = USIW_SQE_SIGNALED,
			.sge = &sge,
			.sge_cnt = 1,
			.rkey = b->stag,
			.remote_addr = rnicpair_addr(b, 0),
			.compare_add = 1,
		};

		assert_int_equal(rnicpair_post(a, &wr), 0);
	}
	for (uint64_t i = 0; i < 500; i++) {
		for (int side = 0; side < 2; side++) {
			struct rnicpair_side *s = &p.side[side];
			struct usiw_cqe cqe = rnicpair_take(s, s->scq);
			uint64_t seen, want = i - (i + 2) / 3;

			assert_int_equal(cqe.status, USIW_WC_SUCCESS);
			assert_int_equal(cqe.wr_id, i);
			memcpy(&seen,
			       s->buf + 64 + 8 * (2 * i + (uint64_t)side), 8);
			assert_true(seen == want);
		}
	}
	rnicpair_close(&p);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Registered memory becomes inaccessible when octets are to be read or written:
 * the stream ends, each side gets its error, every WR completes once, and the
 * process continues.
 *
 * Each case is a child process, because cmocka has handlers of its own in the
 * parent.
 * Each case is a child process: cmocka has handlers of its own in the parent.
 */
#define _GNU_SOURCE
#include "../../harness/child.h"

#include <string.h>
#include <sys/mman.h>

#include "../../util/child.h"
#include "qp/qp.h"
#include "rnicpair.h"

#define PAGE ((size_t)4096)
#define AREA ((size_t)2 << 20)

/* Far from other mappings, so that unmapped memory is not mapped again. */
#define PLACE ((void *)0x7e9000000000)

enum kind { UNMAPPED, NO_ACCESS, READ_ONLY, TRUNCATED, KIND_CNT };

static const char *const kind_names[] = { "unmapped", "PROT_NONE", "PROT_READ",
					  "truncated" };

/* Payload: copied, in place or through staging, and directly to the sink. */
static const uint32_t lens[] = { 64, 1500, 9000, 300000, 1500000 };

/* Under ThreadSanitizer only rows without CRC: each is a process, which takes
 * 0.15 s of processor time there. */
#ifdef __SANITIZE_THREAD__
#define STEP 2
#else
#define STEP 1
#endif

/* Pinned elsewhere; on demand; an implicit region of the whole address
 * space. */
enum how { NORMAL, ON_DEMAND, IMPLICIT, HOW_CNT };

static const char *const how_names[] = { "normal", "on demand", "implicit" };

struct area {
	uint8_t *mem;
	int fd;
	struct rnic_mr *mr;
	uint32_t stag;
};

static void area_open(struct area *a, struct rnicpair_side *s, enum how how)
{
	uint32_t access = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |
			  RNIC_ACCESS_REMOTE_READ;
	void *addr;

	a->fd = memfd_create("area", MFD_CLOEXEC);
	must(a->fd >= 0 && ftruncate(a->fd, (off_t)AREA) == 0);
	a->mem =
		mmap(PLACE, AREA, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);
	must(a->mem != MAP_FAILED);
	memset(a->mem, 5, AREA);
	if (how != NORMAL)
		access |= RNIC_ACCESS_ON_DEMAND;
	addr = how == IMPLICIT ? NULL : a->mem;
	must(rnic_mr_reg(s->pd, addr, how == IMPLICIT ? SIZE_MAX : AREA,
			 (uintptr_t)addr, access, &a->mr) == 0);
	a->stag = rnic_mr_stag(a->mr);
}

/* From the middle page of the first @len octets on. */
static void area_lose(struct area *a, enum kind kind, uint32_t len)
{
	size_t from = len / 2 / PAGE * PAGE;
	int ret = 0;

	switch (kind) {
	case UNMAPPED:
		ret = munmap(a->mem + from, AREA - from);
		break;
	case NO_ACCESS:
		ret = mprotect(a->mem + from, AREA - from, PROT_NONE);
		break;
	case READ_ONLY:
		ret = mprotect(a->mem + from, AREA - from, PROT_READ);
		break;
	case TRUNCATED:
		ret = ftruncate(a->fd, (off_t)from);
		break;
	case KIND_CNT:
		break;
	}
	must(ret == 0);
}

/* The WR of the case, with the inaccessible memory. */
enum role { WRITE_TO, READ_FROM, READ_INTO, SEND_FROM, SEND_INTO, ROLE_CNT };

static const char *const role_names[] = { "WRITE to it", "READ from it",
					  "READ into it", "SEND from it",
					  "SEND into it" };

struct gone_row {
	enum role role;
	enum kind kind;
	enum how how;
	bool has_crc;
	uint32_t len;
	uint32_t poll_cnt; /* before it becomes inaccessible midway */
};

/* Side 0 posts. True if its own memory becomes inaccessible, not the peer's. */
static bool role_is_local(enum role role)
{
	return role == READ_INTO || role == SEND_FROM;
}

static int post(struct rnicpair *p, const struct area *a,
		const struct gone_row *row, uint64_t wr_id)
{
	struct rnicpair_side *s = &p->side[0];
	struct usiw_sge own = rnicpair_sge(s, 0, row->len);
	const struct usiw_sge gone = { .addr = (uintptr_t)a->mem,
				       .len = row->len,
				       .lkey = a->stag };
	struct rnicpair_wr wr = {
		.wr_id = wr_id,
		.flags = USIW_SQE_SIGNALED,
		.sge_cnt = 1,
		.sge = role_is_local(row->role) ? &gone : &own,
	};

	switch (row->role) {
	case WRITE_TO:
		wr.opcode = USIW_WR_WRITE;
		break;
	case READ_FROM:
	case READ_INTO:
		wr.opcode = USIW_WR_READ;
		break;
	case SEND_FROM:
	case SEND_INTO:
	case ROLE_CNT:
		wr.opcode = USIW_WR_SEND;
		break;
	}
	if (row->role == READ_INTO) {
		wr.rkey = p->side[1].stag;
		wr.remote_addr = rnicpair_addr(&p->side[1], 0);
	} else {
		wr.rkey = a->stag;
		wr.remote_addr = (uintptr_t)a->mem;
	}
	return rnicpair_post(s, &wr);
}

static int expect_ends(struct rnicpair *p, uint32_t local, uint32_t remote)
{
	uint64_t element;

	for (int i = 0; i < 2; i++) {
		rnicpair_wait_state(&p->side[i], RNIC_QPS_TERMINATE);
		CHECK(rnicpair_async(&p->side[i], &element) ==
		      (i ? remote : local));
		CHECK(!rnicpair_has_async(&p->side[i]));
	}
	return 0;
}

/* Takes all completions of side 0, in order. The first that failed is
 * @first. */
static int expect_sends(struct rnicpair *p, uint64_t last_good,
			enum usiw_wc_status first)
{
	struct usiw_cqe cqe;

	for (uint64_t id = 1; id <= 4; id++) {
		cqe = rnicpair_take(&p->side[0], p->side[0].scq);
		CHECK(cqe.wr_id == id);
		if (id <= last_good)
			CHECK(cqe.status == USIW_WC_SUCCESS);
		else if (id == last_good + 1)
			CHECK(cqe.status == first);
		else
			CHECK(cqe.status == USIW_WC_WR_FLUSH_ERR);
	}
	return 0;
}

/* Posts a valid WR, the one of the row, and two more. */
static int post_all(struct rnicpair *p, const struct area *a,
		    const struct gone_row *row)
{
	struct usiw_sge sge = rnicpair_sge(&p->side[0], 0, 8);
	struct rnicpair_wr good = {
		.wr_id = 1,
		.opcode = USIW_WR_SEND,
		.flags = USIW_SQE_SIGNALED,
		.sge_cnt = 1,
		.sge = &sge,
	};

	CHECK(rnicpair_post(&p->side[0], &good) == 0);
	CHECK(post(p, a, row, 2) == 0);
	/* The following ones wait for the first, so that their status is
	 * defined. */
	good.flags |= USIW_SQE_FENCE;
	for (good.wr_id = 3; good.wr_id <= 4; good.wr_id++)
		CHECK(rnicpair_post(&p->side[0], &good) == 0);
	return 0;
}

static int expect_recv(struct rnicpair *p, const struct gone_row *row)
{
	struct rnicpair_side *s = &p->side[1];
	struct usiw_cqe cqe = rnicpair_take(s, s->rcq);

	CHECK(cqe.wr_id == 11 && cqe.status == USIW_WC_SUCCESS);
	if (row->role == WRITE_TO)
		return 0; /* the sender was faster with all of them */
	cqe = rnicpair_take(s, s->rcq);
	CHECK(cqe.wr_id == 12);
	CHECK(cqe.status == (row->role == SEND_INTO ? USIW_WC_LOC_PROT_ERR
						    : USIW_WC_WR_FLUSH_ERR));
	cqe = rnicpair_take(s, s->rcq);
	CHECK(cqe.wr_id == 13 && cqe.status == USIW_WC_WR_FLUSH_ERR);
	return 0;
}

static int expect_row(struct rnicpair *p, const struct gone_row *row)
{
	switch (row->role) {
	case WRITE_TO: /* done when TCP has accepted it; the others fail */
		rnicpair_wait_state(&p->side[0], RNIC_QPS_TERMINATE);
		CHECK(expect_ends(p, USIW_EVENT_QP_FATAL,
				  USIW_EVENT_QP_ACCESS_ERR) == 0);
		break;
	case READ_FROM:
		CHECK(expect_sends(p, 1, USIW_WC_REM_ACCESS_ERR) == 0);
		CHECK(expect_ends(p, USIW_EVENT_QP_FATAL,
				  USIW_EVENT_QP_ACCESS_ERR) == 0);
		break;
	case READ_INTO:
		CHECK(expect_sends(p, 1, USIW_WC_LOC_PROT_ERR) == 0);
		CHECK(expect_ends(p, USIW_EVENT_QP_FATAL,
				  USIW_EVENT_QP_FATAL) == 0);
		break;
	case SEND_FROM:
		CHECK(expect_sends(p, 1, USIW_WC_LOC_PROT_ERR) == 0);
		CHECK(expect_ends(p, USIW_EVENT_QP_REQ_ERR,
				  USIW_EVENT_QP_FATAL) == 0);
		break;
	case SEND_INTO:
		CHECK(expect_ends(p, USIW_EVENT_QP_FATAL,
				  USIW_EVENT_QP_REQ_ERR) == 0);
		break;
	case ROLE_CNT:
		break;
	}
	return expect_recv(p, row);
}

static int child_row(void *arg)
{
	const struct gone_row *row = arg;
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	bool is_local = role_is_local(row->role);
	struct usiw_sge sge;
	struct rnicpair p;
	struct area a;
	int ret;

	opt.has_crc = row->has_crc;
	rnicpair_open(&p, &opt);
	area_open(&a, &p.side[is_local ? 0 : 1], row->how);
	sge = rnicpair_sge(&p.side[1], 0, AREA);
	CHECK(rnicpair_post_recv(&p.side[1], 11, &sge, 1) == 0);
	if (row->role == SEND_INTO) {
		sge.addr = (uintptr_t)a.mem;
		sge.lkey = a.stag;
	}
	CHECK(rnicpair_post_recv(&p.side[1], 12, &sge, 1) == 0);
	CHECK(rnicpair_post_recv(&p.side[1], 13, &sge, 1) == 0);
	area_lose(&a, row->kind, row->len);
	CHECK(post_all(&p, &a, row) == 0);
	ret = expect_row(&p, row);
	must(rnic_mr_dereg(a.mr) == 0);
	rnicpair_close(&p);
	return ret;
}

static void run(const struct gone_row *row)
{
	char err[2048];
	int ret =
		child_run(child_row, (void *)(uintptr_t)row, err, sizeof(err));

	if (ret)
		fail_msg("%s, %s, %s, CRC %d, %u octets: %d: %s",
			 role_names[row->role], kind_names[row->kind],
			 how_names[row->how], row->has_crc, row->len, ret, err);
}

static void ends_the_stream(enum role role)
{
	struct gone_row row = { .role = role };

	for (row.kind = 0; row.kind < KIND_CNT; row.kind++) {
		/* Memory that is only read may be read-only. */
		if (row.kind == READ_ONLY &&
		    (role == READ_FROM || role == SEND_FROM))
			continue;
		for (size_t i = 0; i < ARRAY_LEN(lens) * 2; i += STEP) {
			row.len = lens[i / 2];
			row.has_crc = i % 2;
			row.how = (enum how)((unsigned int)i % HOW_CNT);
			run(&row);
		}
	}
}

CASE(write_to_what_is_gone)
{
	ends_the_stream(WRITE_TO);
}

CASE(read_from_what_is_gone)
{
	ends_the_stream(READ_FROM);
}

CASE(read_into_what_is_gone)
{
	ends_the_stream(READ_INTO);
}

CASE(send_from_what_is_gone)
{
	ends_the_stream(SEND_FROM);
}

CASE(send_into_what_is_gone)
{
	ends_the_stream(SEND_INTO);
}

/* The response is in progress and TCP is full when its source is unmapped. */
static int child_midway(void *arg)
{
	const struct gone_row *row = arg;
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct usiw_cqe cqe;
	struct rnicpair p;
	bool is_done = false;
	struct area a;

	opt.has_crc = row->has_crc;
	opt.sockbuf = 16384;
	rnicpair_open(&p, &opt);
	area_open(&a, &p.side[1], row->how);
	CHECK(post(&p, &a, row, 1) == 0);
	/* A few reads of what has arrived, while the engine's threads run. */
	for (uint32_t i = 0; i < row->poll_cnt && !is_done; i++)
		is_done = rnicpair_poll(&p.side[0], p.side[0].scq, &cqe);
	area_lose(&a, row->kind, 0);
	if (!is_done)
		cqe = rnicpair_take(&p.side[0], p.side[0].scq);
	/* Inside an FPDU a TERMINATE cannot be sent, and it may be too late. */
	CHECK(cqe.wr_id == 1);
	CHECK(cqe.status == USIW_WC_REM_ACCESS_ERR ||
	      cqe.status == USIW_WC_WR_FLUSH_ERR ||
	      cqe.status == USIW_WC_SUCCESS);
	must(rnic_mr_dereg(a.mr) == 0);
	rnicpair_close(&p);
	return 0;
}

CASE(read_from_what_goes_midway)
{
	struct gone_row row = { .role = READ_FROM, .len = 1500000 };
	char err[2048];
	int ret;

	for (row.kind = 0; row.kind < KIND_CNT; row.kind++) {
		for (int i = 0; i < 6; i++) {
			row.has_crc = i % 2;
			row.poll_cnt = (uint32_t)i / 2;
			ret = child_run(child_midway, &row, err, sizeof(err));
			if (ret)
				fail_msg("%s: %d: %s", kind_names[row.kind],
					 ret, err);
		}
	}
}

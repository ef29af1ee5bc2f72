/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* For the tests of cq.c: a CQ with a channel, and the events that it raises. */
#ifndef CQ_FIXTURE_H
#define CQ_FIXTURE_H

#include "test.h"

#include <poll.h>

#include "engine/engine.h"
#include "mem/context.h"
#include "qp/cq.h"
#include "rawpeer.h"

struct bell {
	struct rnic_context *ctx;
	struct rnic_chan *chan;
	struct rnic_cq *cq;
};

static inline void bell_open(struct bell *b, uint32_t cqe)
{
	assert_int_equal(
		rnic_context_open(rnic_device_by_name("usiw_lo"), &b->ctx), 0);
	assert_int_equal(
		rnic_chan_new(sizeof(struct usiw_comp_event), &b->chan), 0);
	assert_int_equal(
		rnic_cq_create(b->ctx, cqe, b->chan, 0xabc, NULL, &b->cq), 0);
}

static inline void bell_close(struct bell *b, uint32_t comp, uint32_t async)
{
	uint32_t got_comp, got_async;

	assert_int_equal(rnic_cq_destroy(b->cq, &got_comp, &got_async), 0);
	assert_int_equal(got_comp, comp);
	assert_int_equal(got_async, async);
	rnic_chan_close(b->chan);
	rnic_context_close(b->ctx);
}

static inline int push(struct bell *b, bool is_solicited,
		       enum usiw_wc_status status)
{
	struct usiw_cqe cqe = {
		.wc_flags = is_solicited ? USIW_WC_FLAG_SOLICITED : 0,
		.status = status,
	};
	int rc;

	rnic_engine_lead(b->ctx->engine);
	rc = rnic_cq_push(b->cq, &cqe, b->ctx->engine->stat);
	rnic_engine_unlead(b->ctx->engine);
	return rc;
}

static inline bool is_readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

static inline uint32_t events_read(struct rnic_chan *chan)
{
	struct usiw_comp_event ev;
	uint32_t cnt = 0;

	while (is_readable(rnic_chan_fd(chan))) {
		must(rnic_chan_read(chan, &ev, sizeof(ev)) == sizeof(ev));
		must(ev.cq_handle == 0xabc);
		cnt++;
	}
	return cnt;
}

static inline void push_many_quiet(struct bell *b, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		assert_int_equal(push(b, false, USIW_WC_SUCCESS), 0);
}

#endif

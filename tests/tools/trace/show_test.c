/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Lines of usiw trace.  Their texts come from processes that nobody trusts. */
#include "printed.h"

#include <arpa/inet.h>
#include <limits.h>

#include "abi/usiw-abi.h"

static const struct trace_who first = { 1, 1 }, other = { 5, 6 };

CASE(calls_are_printed_with_each_kind_of_result)
{
	static const struct {
		const char *made, *line;
		int32_t result;
		uint64_t took_ns;
		uint32_t cnt;
	} rows[] = {
		{ "", "[1] f(a=1) = 0 <1.002 us>\n", 0, 1002, 1 },
		{ "", "[1] f(a=1) = 3\n", 3, 0, 1 },
		{ "qp 0x11", "[1] f(a=1) = qp 0x11\n", 0, 0, 1 },
		{ "NULL", "[1] f(a=1) = NULL ENOMEM (Cannot allocate memory)\n",
		  -12, 0, 1 },
		{ "", "[1] f(a=1) = EINVAL (Invalid argument)\n", -22, 0, 1 },
		{ "", "[1] f(a=1) = 0 <5.000 us in 7 calls>\n", 0, 5000, 7 },
		{ "", "[1] f(a=1) = -2147483648\n", INT_MIN, 0, 1 },
		{ "\033[2J", "[1] f(a=1) = ?[2J\n", 0, 0, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct text_record record;
		struct trace_call call =
			record_of(&record, "f", "a=1", rows[i].made,
				  rows[i].took_ns, rows[i].cnt, rows[i].result);

		EXPECT_PRINTED(trace_call_show(out, first, &call),
			       rows[i].line);
	}
}

CASE(records_with_wrong_lengths_are_refused)
{
	struct text_record record = {
		.head = { .name_len = 3, .args_len = 4, .made_len = 5 }
	};
	const uint32_t len = sizeof(record.head) + 12;
	struct trace_call call;

	for (uint32_t i = 0; i < len; i++)
		assert_false(trace_call_read(&call, &record, i));
	assert_true(trace_call_read(&call, &record, len));
	record.head.args_len = UINT16_MAX;
	record.head.name_len = UINT16_MAX;
	assert_false(trace_call_read(&call, &record, len));
}

CASE(events_and_completions_are_printed)
{
	struct text_record record;
	struct trace_call event = record_of(&record, "IBV_EVENT_QP_FATAL",
					    "qp=0x000011", "", 0, 1, 0);
	struct usiw_completion_record completion = {
		.wr_id = 0x1f,
		.qp_num = 0x11,
		.cq_num = 3,
		.byte_len = 64,
		.opcode = USIW_WC_RECV,
	};

	EXPECT_PRINTED(trace_event_show(out, other, &event),
		       "[5/6] --- IBV_EVENT_QP_FATAL {qp=0x000011} ---\n");
	EXPECT_PRINTED(trace_completion_show(out, other, &completion, 0),
		       "[5/6] --- IBV_WC_SUCCESS {wr_id=0x1f, "
		       "opcode=IBV_WC_RECV, qp=0x000011, cq=3, byte_len=64} "
		       "---\n");
	completion.flags = USIW_WC_FLAG_IMM;
	completion.imm_be = htonl(7);
	completion.status = USIW_WC_RNR_RETRY_EXC_ERR;
	completion.opcode = USIW_WC_SEND;
	completion.vendor_err = 9;
	EXPECT_PRINTED(trace_completion_show(out, other, &completion, 12345),
		       "[5/6] --- IBV_WC_RNR_RETRY_EXC_ERR {wr_id=0x1f, "
		       "opcode=IBV_WC_SEND, qp=0x000011, cq=3, "
		       "vendor_err=0x9, imm_data=0x7} 12.345 us after its post "
		       "---\n");
	completion =
		(struct usiw_completion_record){ .status = 250, .opcode = 251 };
	EXPECT_PRINTED(trace_completion_show(out, other, &completion, 0),
		       "[5/6] --- status 250 {wr_id=0x0, opcode=opcode 251, "
		       "qp=0x000000, cq=0, vendor_err=0x0} ---\n");
}

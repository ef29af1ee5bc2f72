/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See show.h. */
#define _GNU_SOURCE /* strerrorname_np */
#include "show.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "abi/usiw-abi.h"
#include "util/fault-names.h"
#include "util/plain-text.h"

bool trace_call_read(struct trace_call *call, const void *record, uint32_t len)
{
	const struct usiw_call_record *head = record;

	if (len < sizeof(*head) ||
	    (uint32_t)head->name_len + head->args_len + head->made_len >
		    len - sizeof(*head))
		return false;
	call->record = head;
	call->name = head->text;
	call->args = call->name + head->name_len;
	call->made = call->args + head->args_len;
	return true;
}

static void text_put(FILE *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		putc(util_plain_char(text[i]), out);
}

static void who_put(FILE *out, struct trace_who who)
{
	if (who.tid == who.pid)
		fprintf(out, "[%u] ", who.pid);
	else
		fprintf(out, "[%u/%u] ", who.pid, who.tid);
}

static void us_put(FILE *out, uint64_t ns)
{
	fprintf(out, "%" PRIu64 ".%03" PRIu64 " us", ns / 1000, ns % 1000);
}

static void result_put(FILE *out, const struct trace_call *call)
{
	const struct usiw_call_record *record = call->record;
	int err = record->result < 0 && record->result > -4096 ? -record->result
							       : 0;

	text_put(out, call->made, record->made_len);
	if (record->made_len && !err)
		return;
	if (record->made_len)
		putc(' ', out);
	if (err && strerrorname_np(err))
		fprintf(out, "%s (%s)", strerrorname_np(err), strerror(err));
	else
		fprintf(out, "%d", (int)record->result);
}

void trace_call_show(FILE *out, struct trace_who who,
		     const struct trace_call *call)
{
	const struct usiw_call_record *record = call->record;

	who_put(out, who);
	text_put(out, call->name, record->name_len);
	putc('(', out);
	text_put(out, call->args, record->args_len);
	fputs(") = ", out);
	result_put(out, call);
	if (record->took_ns) {
		fputs(" <", out);
		us_put(out, record->took_ns);
		if (record->cnt > 1)
			fprintf(out, " in %u calls", record->cnt);
		putc('>', out);
	}
	putc('\n', out);
}

void trace_event_show(FILE *out, struct trace_who who,
		      const struct trace_call *event)
{
	who_put(out, who);
	fputs("--- ", out);
	text_put(out, event->name, event->record->name_len);
	fputs(" {", out);
	text_put(out, event->args, event->record->args_len);
	fputs("} ---\n", out);
}

/* ---- completions -------------------------------------------------------- */

const char *trace_status_name(uint8_t status, char buf[TRACE_NAME_MAX])
{
	for (size_t i = 0; i < util_fault_statuses.cnt; i++)
		if (util_fault_statuses.name(i) &&
		    util_fault_statuses.number(i) == status) {
			snprintf(buf, TRACE_NAME_MAX, "IBV_WC_%s",
				 util_fault_statuses.name(i));
			return buf;
		}
	if (status == USIW_WC_SUCCESS)
		return "IBV_WC_SUCCESS";
	snprintf(buf, TRACE_NAME_MAX, "status %u", status);
	return buf;
}

const char *trace_opcode_name(uint8_t opcode, char buf[TRACE_NAME_MAX])
{
	static const char *const names[] = {
		[USIW_WC_SEND] = "IBV_WC_SEND",
		[USIW_WC_WRITE] = "IBV_WC_RDMA_WRITE",
		[USIW_WC_READ] = "IBV_WC_RDMA_READ",
		[USIW_WC_CMP_SWP] = "IBV_WC_COMP_SWAP",
		[USIW_WC_FETCH_ADD] = "IBV_WC_FETCH_ADD",
		[USIW_WC_BIND_MW] = "IBV_WC_BIND_MW",
		[USIW_WC_LOCAL_INV] = "IBV_WC_LOCAL_INV",
		[USIW_WC_RECV] = "IBV_WC_RECV",
		[USIW_WC_RECV_WITH_IMM] = "IBV_WC_RECV_RDMA_WITH_IMM",
	};

	if (opcode < sizeof(names) / sizeof(names[0]) && names[opcode])
		return names[opcode];
	snprintf(buf, TRACE_NAME_MAX, "opcode %u", opcode);
	return buf;
}

void trace_completion_show(FILE *out, struct trace_who who,
			   const struct usiw_completion_record *completion,
			   uint64_t took_ns)
{
	char status[TRACE_NAME_MAX], opcode[TRACE_NAME_MAX];

	who_put(out, who);
	fprintf(out,
		"--- %s {wr_id=0x%" PRIx64 ", opcode=%s, qp=0x%06x, "
		"cq=%u",
		trace_status_name(completion->status, status),
		completion->wr_id,
		trace_opcode_name(completion->opcode, opcode),
		completion->qp_num, completion->cq_num);
	if (completion->status)
		fprintf(out, ", vendor_err=0x%x", completion->vendor_err);
	else if (completion->opcode & USIW_WC_RECV || completion->byte_len)
		fprintf(out, ", byte_len=%u", completion->byte_len);
	if (completion->flags & USIW_WC_FLAG_IMM)
		fprintf(out, ", imm_data=0x%x", ntohl(completion->imm_be));
	if (completion->flags & USIW_WC_FLAG_INV)
		fprintf(out, ", invalidated_rkey=0x%x", completion->imm_be);
	putc('}', out);
	if (took_ns) {
		putc(' ', out);
		us_put(out, took_ns);
		fputs(" after its post", out);
	}
	fputs(" ---\n", out);
}

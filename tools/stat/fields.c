/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See fields.h. */
#define _GNU_SOURCE /* strerrorname_np */
#include "fields.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- cells --------------------------------------------------------------- */

static void cell_set(struct cell *cell, enum cell_type type, uint64_t number)
{
	cell->type = type;
	cell->number = number;
}

/* Another process has written the number. */
static void cell_set_name(struct cell *cell, const char *const *names,
			  size_t cnt, uint32_t value)
{
	cell->type = CELL_TEXT;
	if (value < cnt && names[value])
		snprintf(cell->text, sizeof(cell->text), "%s", names[value]);
	else
		snprintf(cell->text, sizeof(cell->text), "unknown %u", value);
}

/* "3/64" */
static void cell_set_fill(struct cell *cell, uint32_t used, uint32_t max)
{
	cell->type = max ? CELL_TEXT : CELL_NONE;
	snprintf(cell->text, sizeof(cell->text), "%u/%u", used, max);
}

/* kind_get_name(), which sets the cell by @call. */
#define GET_BY(kind, name, call)                                               \
	static void kind##_get_##name(const struct view *view,                 \
				      const void *resource, struct cell *cell) \
	{                                                                      \
		const struct usiw_res_##kind *res = resource;                  \
                                                                               \
		(void)view;                                                    \
		call;                                                          \
	}
#define GET(kind, name, type, expr)                                            \
	GET_BY(kind, name, cell_set(cell, (type), (expr)))
#define GET_TEXT(kind, name, expr) GET_BY(kind, name, cell_set_text(cell, expr))
#define GET_NAME(kind, name, names, value)                                     \
	GET_BY(kind, name, cell_set_name(cell, names, CNT(names), (value)))
#define GET_ADDR(kind, name) GET_BY(kind, name, cell_set_addr(cell, &res->name))
#define GET_FILL(kind, name, used, max)                                        \
	GET_BY(kind, name, cell_set_fill(cell, (used), (max)))
#define LIVE(field) UTIL_STAT_LIVE(res->field)

/* In JSON only; in tables and JSON; the same, of numbers that grow. */
#define ONLY(kind, name) { #name, NULL, false, kind##_get_##name }
#define SHOW(kind, name, title) { #name, title, false, kind##_get_##name }
#define RATE(kind, name, title) { #name, title, true, kind##_get_##name }
/* In tables only. */
#define TABLE(kind, name, title) { NULL, title, false, kind##_get_##name }

/* ---- device -------------------------------------------------------------- */

static const char *const personas[] = { "rnic", "ca" };

static void cell_set_guid(struct cell *cell, uint64_t guid_be)
{
	cell->type = CELL_TEXT;
	snprintf(cell->text, sizeof(cell->text), "%016" PRIx64,
		 be64toh(guid_be));
}

#define SUM(field) UTIL_STAT_DEVICE_SUM(res, field)

GET_TEXT(device, name, res->name)
GET_TEXT(device, interface, res->ifname)
GET_NAME(device, persona, personas, res->persona)
GET_BY(device, guid, cell_set_guid(cell, res->guid_be))
GET(device, tx_octets, CELL_COUNT, SUM(tx_inplace) + SUM(tx_copied))
GET(device, rx_octets, CELL_COUNT, SUM(rx_direct) + SUM(rx_staged))
GET(device, tx_fpdus, CELL_COUNT, SUM(tx_fpdu))
GET(device, rx_fpdus, CELL_COUNT, SUM(rx_fpdu))
GET(device, rx_crc_errors, CELL_COUNT, SUM(rx_crc_bad))
GET(device, tx_octets_in_place, CELL_COUNT, SUM(tx_inplace))
GET(device, rx_octets_direct, CELL_COUNT, SUM(rx_direct))

static const struct field device_fields[] = {
	SHOW(device, name, "DEVICE"),
	SHOW(device, interface, "INTERFACE"),
	SHOW(device, persona, "PERSONA"),
	ONLY(device, guid),
	RATE(device, tx_octets, "TX-OCTETS"),
	RATE(device, rx_octets, "RX-OCTETS"),
	RATE(device, tx_fpdus, "TX-FPDUS"),
	RATE(device, rx_fpdus, "RX-FPDUS"),
	RATE(device, rx_crc_errors, "CRC-ERRORS"),
	RATE(device, tx_octets_in_place, NULL),
	RATE(device, rx_octets_direct, NULL),
};

/* ---- context, protection domain ------------------------------------------ */

GET(context, id, CELL_NUMBER, res->head.id)
GET_TEXT(context, device, view_device(view, res->device))
GET(context, engines, CELL_NUMBER, res->engine_cnt)
GET(context, made_ns, CELL_TIME, res->head.made_ns)

static const struct field context_fields[] = {
	SHOW(context, id, "CONTEXT"),
	SHOW(context, device, "DEVICE"),
	SHOW(context, engines, "ENGINES"),
	SHOW(context, made_ns, "AGE"),
};

GET(pd, id, CELL_NUMBER, res->head.id)
GET(pd, context, CELL_NUMBER, res->context)
GET_TEXT(pd, device, view_context_device(view, res->context))
GET(pd, made_ns, CELL_TIME, res->head.made_ns)

static const struct field pd_fields[] = {
	SHOW(pd, id, "PD"),
	SHOW(pd, device, "DEVICE"),
	SHOW(pd, context, "CONTEXT"),
	SHOW(pd, made_ns, "AGE"),
};

/* ---- completion queue, shared receive queue ------------------------------ */

static const char *const armed_names[] = { "no", "solicited", "any" };

static uint32_t cq_fill(const struct usiw_res_cq *res)
{
	return util_stat_fill(LIVE(polled_idx), LIVE(pushed_idx), res->depth);
}

GET(cq, id, CELL_NUMBER, res->head.id)
GET(cq, context, CELL_NUMBER, res->context)
GET_TEXT(cq, device, view_context_device(view, res->context))
GET_FILL(cq, fill, cq_fill(res), res->depth)
GET(cq, depth, CELL_NUMBER, res->depth)
GET(cq, unpolled, CELL_NUMBER, cq_fill(res))
GET(cq, completed, CELL_NUMBER, LIVE(pushed_idx))
GET(cq, polled, CELL_NUMBER, LIVE(polled_idx))
GET_NAME(cq, armed, armed_names, LIVE(armed))
GET(cq, channel, CELL_BOOL, res->has_channel != 0)
GET(cq, events, CELL_NUMBER, LIVE(fired_cnt))
GET(cq, overrun, CELL_BOOL, LIVE(is_overrun) != 0)
GET(cq, made_ns, CELL_TIME, res->head.made_ns)

static const struct field cq_fields[] = {
	SHOW(cq, id, "CQ"),
	SHOW(cq, device, "DEVICE"),
	ONLY(cq, context),
	TABLE(cq, fill, "UNPOLLED"),
	ONLY(cq, depth),
	ONLY(cq, unpolled),
	SHOW(cq, completed, "COMPLETED"),
	SHOW(cq, polled, "POLLED"),
	SHOW(cq, armed, "ARMED"),
	SHOW(cq, channel, "CHANNEL"),
	SHOW(cq, events, "EVENTS"),
	SHOW(cq, overrun, "OVERRUN"),
	SHOW(cq, made_ns, "AGE"),
};

static uint32_t srq_fill(const struct usiw_res_srq *res)
{
	return util_stat_fill(LIVE(taken_idx), LIVE(posted_idx), res->depth);
}

GET(srq, id, CELL_NUMBER, res->head.id)
GET(srq, context, CELL_NUMBER, res->context)
GET_TEXT(srq, device, view_context_device(view, res->context))
GET(srq, pd, CELL_NUMBER, res->pd)
GET_FILL(srq, fill, srq_fill(res), res->depth)
GET(srq, depth, CELL_NUMBER, res->depth)
GET(srq, posted, CELL_NUMBER, srq_fill(res))
GET(srq, limit, CELL_NUMBER, LIVE(limit))
GET(srq, max_sge, CELL_NUMBER, res->max_sge)
GET(srq, made_ns, CELL_TIME, res->head.made_ns)

static const struct field srq_fields[] = {
	SHOW(srq, id, "SRQ"),	    SHOW(srq, device, "DEVICE"),
	ONLY(srq, context),	    SHOW(srq, pd, "PD"),
	TABLE(srq, fill, "POSTED"), ONLY(srq, depth),
	ONLY(srq, posted),	    SHOW(srq, limit, "LIMIT"),
	SHOW(srq, max_sge, "SGES"), SHOW(srq, made_ns, "AGE"),
};

/* ---- queue pair ---------------------------------------------------------- */

static const char *const qp_types[] = {
	[USIW_RES_QPT_RC] = "rc",
	[USIW_RES_QPT_UC] = "uc",
	[USIW_RES_QPT_UD] = "ud",
};
static const char *const qp_states[] = {
	[USIW_RES_QPS_IDLE] = "idle",
	[USIW_RES_QPS_CONNECTING] = "connecting",
	[USIW_RES_QPS_RTS] = "rts",
	[USIW_RES_QPS_CLOSING] = "closing",
	[USIW_RES_QPS_TERMINATE] = "terminate",
	[USIW_RES_QPS_ERROR] = "error",
};
static const char *const carriers[] = {
	[USIW_RES_CARRIER_NONE] = "none",
	[USIW_RES_CARRIER_TCP] = "tcp",
	[USIW_RES_CARRIER_RING] = "ring",
	[USIW_RES_CARRIER_UDP] = "udp",
};
static const char *const crc_names[] = {
	[0] = "off",
	[USIW_RES_CRC_TX] = "tx",
	[USIW_RES_CRC_RX] = "rx",
	[USIW_RES_CRC_TX | USIW_RES_CRC_RX] = "on",
};
static const char *const wc_names[] = {
	[USIW_WC_SUCCESS] = "success",
	[USIW_WC_LOC_LEN_ERR] = "local length",
	[USIW_WC_LOC_QP_OP_ERR] = "local QP operation",
	[USIW_WC_LOC_PROT_ERR] = "local protection",
	[USIW_WC_WR_FLUSH_ERR] = "flushed",
	[USIW_WC_MW_BIND_ERR] = "memory window bind",
	[USIW_WC_BAD_RESP_ERR] = "bad response",
	[USIW_WC_LOC_ACCESS_ERR] = "local access",
	[USIW_WC_REM_INV_REQ_ERR] = "remote invalid request",
	[USIW_WC_REM_ACCESS_ERR] = "remote access",
	[USIW_WC_REM_OP_ERR] = "remote operation",
	[USIW_WC_RETRY_EXC_ERR] = "retries exhausted",
	[USIW_WC_RNR_RETRY_EXC_ERR] = "RNR retries exhausted",
	[USIW_WC_REM_ABORT_ERR] = "remote abort",
	[USIW_WC_FATAL_ERR] = "fatal",
	[USIW_WC_RESP_TIMEOUT_ERR] = "response timeout",
	[USIW_WC_GENERAL_ERR] = "general",
};

static uint32_t sq_fill(const struct usiw_res_qp *res)
{
	return util_stat_fill(LIVE(sq_done_idx), LIVE(sq_posted_idx),
			      res->sq_depth);
}

static uint32_t rq_fill(const struct usiw_res_qp *res)
{
	return util_stat_fill(LIVE(rq_taken_idx), LIVE(rq_posted_idx),
			      res->rq_depth);
}

/* Those the other end knows of; what cannot be is 0. */
static uint32_t sq_sent(const struct usiw_res_qp *res)
{
	return util_stat_fill(LIVE(sq_done_idx), LIVE(sq_sent_idx),
			      res->sq_depth);
}

static const char *error_name(uint32_t error)
{
	return error && error < 4096 ? strerrorname_np((int)error) : NULL;
}

static uint64_t messages(const struct usiw_res_traffic *traffic)
{
	uint64_t sum = 0;

	for (int i = 0; i < USIW_RES_OP_CNT; i++)
		sum += UTIL_STAT_LIVE(traffic->messages[i]);
	return sum;
}

/* Datagrams have no stream. */
static uint64_t octets(const struct usiw_res_traffic *traffic)
{
	uint64_t sum = 0;

	for (int i = 0; i < USIW_RES_OP_ATOMIC; i++)
		sum += UTIL_STAT_LIVE(traffic->octets[i]);
	return sum;
}

GET(qp, qp, CELL_HEX, res->head.id)
GET_TEXT(qp, device, view_context_device(view, res->context))
GET(qp, context, CELL_NUMBER, res->context)
GET(qp, pd, CELL_NUMBER, res->pd)
GET(qp, send_cq, CELL_NUMBER, res->send_cq)
GET(qp, recv_cq, CELL_NUMBER, res->recv_cq)
GET(qp, srq, res->srq ? CELL_NUMBER : CELL_NONE, res->srq)
GET_NAME(qp, type, qp_types, res->type)
GET_NAME(qp, state, qp_states, LIVE(state))
GET(qp, state_ns, CELL_TIME, LIVE(state_ns))
GET_NAME(qp, status, wc_names, LIVE(status))
GET_TEXT(qp, error, error_name(LIVE(error)))
GET_NAME(qp, carrier, carriers, LIVE(carrier))
GET_NAME(qp, crc, crc_names, LIVE(crc))
GET_ADDR(qp, local)
GET_ADDR(qp, peer)
GET(qp, peer_qp, res->peer_num ? CELL_HEX : CELL_NONE, res->peer_num)
GET_FILL(qp, sq, sq_fill(res), res->sq_depth)
GET(qp, sq_depth, CELL_NUMBER, res->sq_depth)
GET(qp, sq_outstanding, CELL_NUMBER, sq_fill(res))
GET(qp, sq_sent, CELL_NUMBER, sq_sent(res))
GET(qp, sq_posted_total, CELL_NUMBER, LIVE(sq_posted_idx))
GET(qp, sq_completed_total, CELL_NUMBER, LIVE(sq_done_idx))
GET_FILL(qp, rq, rq_fill(res), res->rq_depth)
GET(qp, rq_depth, res->rq_depth ? CELL_NUMBER : CELL_NONE, res->rq_depth)
GET(qp, rq_posted, res->rq_depth ? CELL_NUMBER : CELL_NONE, rq_fill(res))
GET(qp, send_sge, CELL_NUMBER, res->send_sge)
GET(qp, recv_sge, CELL_NUMBER, res->recv_sge)
GET(qp, inline_max, CELL_NUMBER, res->inline_max)
GET_FILL(qp, reads, LIVE(reads_out), res->reads_out_max)
GET(qp, reads_out, CELL_NUMBER, LIVE(reads_out))
GET(qp, reads_out_max, CELL_NUMBER, res->reads_out_max)
GET(qp, reads_in, CELL_NUMBER, LIVE(reads_in))
GET(qp, reads_in_max, CELL_NUMBER, res->reads_in_max)
GET(qp, rnr_waiting, CELL_NUMBER, LIVE(rnr_held))
GET(qp, rnr_total, CELL_COUNT, LIVE(rnr_cnt))
GET(qp, tx_messages, CELL_COUNT, messages(&res->tx))
GET(qp, rx_messages, CELL_COUNT, messages(&res->rx))
GET(qp, tx_octets, CELL_COUNT, octets(&res->tx))
GET(qp, rx_octets, CELL_COUNT, octets(&res->rx))
GET(qp, tx_stream_octets, CELL_COUNT, LIVE(tx.stream_octets))
GET(qp, rx_stream_octets, CELL_COUNT, LIVE(rx.stream_octets))
GET(qp, made_ns, CELL_TIME, res->head.made_ns)

#define TRAFFIC(way)                                                           \
	GET(qp, way##_sends, CELL_COUNT, LIVE(way.messages[USIW_RES_OP_SEND])) \
	GET(qp, way##_writes, CELL_COUNT,                                      \
	    LIVE(way.messages[USIW_RES_OP_WRITE]))                             \
	GET(qp, way##_reads, CELL_COUNT, LIVE(way.messages[USIW_RES_OP_READ])) \
	GET(qp, way##_atomics, CELL_COUNT,                                     \
	    LIVE(way.messages[USIW_RES_OP_ATOMIC]))                            \
	GET(qp, way##_send_octets, CELL_COUNT,                                 \
	    LIVE(way.octets[USIW_RES_OP_SEND]))                                \
	GET(qp, way##_write_octets, CELL_COUNT,                                \
	    LIVE(way.octets[USIW_RES_OP_WRITE]))                               \
	GET(qp, way##_read_octets, CELL_COUNT,                                 \
	    LIVE(way.octets[USIW_RES_OP_READ]))
TRAFFIC(tx)
TRAFFIC(rx)

#define TRAFFIC_FIELDS(way)                                                    \
	RATE(qp, way##_sends, NULL), RATE(qp, way##_writes, NULL),             \
		RATE(qp, way##_reads, NULL), RATE(qp, way##_atomics, NULL),    \
		RATE(qp, way##_send_octets, NULL),                             \
		RATE(qp, way##_write_octets, NULL),                            \
		RATE(qp, way##_read_octets, NULL),                             \
		RATE(qp, way##_stream_octets, NULL)

static const struct field qp_fields[] = {
	SHOW(qp, qp, "QP"),
	SHOW(qp, device, "DEVICE"),
	ONLY(qp, context),
	ONLY(qp, pd),
	ONLY(qp, send_cq),
	ONLY(qp, recv_cq),
	ONLY(qp, srq),
	SHOW(qp, type, "TYPE"),
	SHOW(qp, state, "STATE"),
	SHOW(qp, state_ns, "SINCE"),
	ONLY(qp, status),
	ONLY(qp, error),
	SHOW(qp, carrier, "CARRIER"),
	SHOW(qp, crc, "CRC"),
	TABLE(qp, sq, "SQ"),
	ONLY(qp, sq_depth),
	ONLY(qp, sq_outstanding),
	ONLY(qp, sq_sent),
	ONLY(qp, sq_posted_total),
	ONLY(qp, sq_completed_total),
	TABLE(qp, rq, "RQ"),
	ONLY(qp, rq_depth),
	ONLY(qp, rq_posted),
	ONLY(qp, send_sge),
	ONLY(qp, recv_sge),
	ONLY(qp, inline_max),
	TABLE(qp, reads, "READS"),
	ONLY(qp, reads_out),
	ONLY(qp, reads_out_max),
	ONLY(qp, reads_in),
	ONLY(qp, reads_in_max),
	SHOW(qp, rnr_waiting, "RNR"),
	RATE(qp, rnr_total, NULL),
	RATE(qp, tx_messages, "TX-MSGS"),
	RATE(qp, rx_messages, "RX-MSGS"),
	RATE(qp, tx_octets, "TX-OCTETS"),
	RATE(qp, rx_octets, "RX-OCTETS"),
	TRAFFIC_FIELDS(tx),
	TRAFFIC_FIELDS(rx),
	ONLY(qp, local),
	SHOW(qp, peer, "PEER"),
	ONLY(qp, peer_qp),
	ONLY(qp, made_ns),
};

/* ---- memory region ------------------------------------------------------- */

static const char *const mr_types[] = {
	[USIW_RES_MR_REGION] = "region",
	[USIW_RES_MR_NULL] = "null",
	[USIW_RES_MR_WINDOW] = "window",
};

/* enum ibv_access_flags */
static const char *const access_names[] = {
	"local_write", "remote_write", "remote_read", "remote_atomic",
	"mw_bind",     "zero_based",   "on_demand",
};

static void cell_set_access(struct cell *cell, uint32_t access)
{
	size_t len = 0;

	cell_set_text(cell, "local_read");
	for (size_t i = 0; i < CNT(access_names); i++)
		if (access & 1u << i)
			len += (size_t)snprintf(
				cell->text + len, sizeof(cell->text) - len,
				"%s%s", len ? "," : "", access_names[i]);
}

GET(mr, stag, CELL_HEX, res->head.id)
GET_TEXT(mr, device, view_pd_device(view, res->pd))
GET(mr, pd, CELL_NUMBER, res->pd)
GET_NAME(mr, type, mr_types, res->type)
GET(mr, address, CELL_HEX, res->addr)
GET(mr, length, CELL_COUNT, res->len)
GET(mr, iova, CELL_HEX, res->iova)
GET_BY(mr, access, cell_set_access(cell, res->access))
GET(mr, valid, CELL_BOOL, res->is_valid != 0)
GET(mr, made_ns, CELL_TIME, res->head.made_ns)

static const struct field mr_fields[] = {
	SHOW(mr, stag, "STAG"),	    SHOW(mr, device, "DEVICE"),
	SHOW(mr, pd, "PD"),	    SHOW(mr, type, "TYPE"),
	SHOW(mr, valid, "VALID"),   SHOW(mr, address, "ADDRESS"),
	SHOW(mr, length, "LENGTH"), ONLY(mr, iova),
	SHOW(mr, made_ns, "AGE"),   SHOW(mr, access, "ACCESS"),
};

/* ---- identity of rdma_cm ------------------------------------------------- */

static const char *const id_states[] = {
	[USIW_RES_IDS_IDLE] = "idle",
	[USIW_RES_IDS_BOUND] = "bound",
	[USIW_RES_IDS_ADDR] = "address resolved",
	[USIW_RES_IDS_ROUTE] = "route resolved",
	[USIW_RES_IDS_LISTEN] = "listening",
	[USIW_RES_IDS_CONNECT] = "connecting",
	[USIW_RES_IDS_REQUEST] = "request",
	[USIW_RES_IDS_ESTABLISHED] = "established",
	[USIW_RES_IDS_DISCONNECT] = "disconnected",
};

static const char *port_space_name(uint32_t ps)
{
	switch (ps) {
	case 0x0002:
		return "ipoib";
	case 0x0106:
		return "tcp";
	case 0x0111:
		return "udp";
	case 0x013f:
		return "ib";
	default:
		return "unknown";
	}
}

GET(id, id, CELL_NUMBER, res->head.id)
GET_TEXT(id, device, view_device(view, res->device))
GET_NAME(id, state, id_states, res->state)
GET(id, state_ns, CELL_TIME, res->state_ns)
GET_TEXT(id, port_space, port_space_name(res->port_space))
GET(id, qp, res->qp_num ? CELL_HEX : CELL_NONE, res->qp_num)
GET(id, backlog, res->backlog ? CELL_NUMBER : CELL_NONE, res->backlog)
GET_ADDR(id, local)
GET_ADDR(id, peer)
GET(id, made_ns, CELL_TIME, res->head.made_ns)

static const struct field id_fields[] = {
	SHOW(id, id, "ID"),	    SHOW(id, device, "DEVICE"),
	SHOW(id, state, "STATE"),   SHOW(id, state_ns, "SINCE"),
	SHOW(id, port_space, "PS"), SHOW(id, qp, "QP"),
	ONLY(id, backlog),	    SHOW(id, local, "LOCAL"),
	SHOW(id, peer, "PEER"),	    ONLY(id, made_ns),
};

/* ---- all ----------------------------------------------------------------- */

#define KIND(upper, lower, name, title, option)                                \
	{ USIW_RES_##upper, name,	    title,                             \
	  option,	    lower##_fields, CNT(lower##_fields) }

const struct kind fields_kinds[FIELDS_KIND_CNT] = {
	KIND(DEVICE, device, "devices", "Devices", "devices"),
	KIND(CONTEXT, context, "contexts", "Contexts", "contexts"),
	KIND(PD, pd, "pds", "Protection domains", "pds"),
	KIND(CQ, cq, "cqs", "Completion queues", "cqs"),
	KIND(SRQ, srq, "srqs", "Shared receive queues", "srqs"),
	KIND(QP, qp, "qps", "Queue pairs", "qps"),
	KIND(MR, mr, "mrs", "Memory regions", "mrs"),
	KIND(ID, id, "connections", "Connections of rdma_cm", "conns"),
};

const struct kind *fields_of(enum usiw_res_kind kind)
{
	for (size_t i = 0; i < FIELDS_KIND_CNT; i++)
		if (fields_kinds[i].kind == kind)
			return &fields_kinds[i];
	return NULL;
}

const struct field *fields_find(const struct kind *kind, const char *name)
{
	for (size_t i = 0; i < kind->field_cnt; i++)
		if (kind->field[i].name &&
		    strcmp(kind->field[i].name, name) == 0)
			return &kind->field[i];
	return NULL;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The connection object: its options, its memory and its queries.
 */
#include "conn/sdp-conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conn/state.h"

/* Upper limits of the options that determine the size of memory. */
#define CAP_MAX 4096u

static void default32(uint32_t *value, uint32_t other)
{
	if (!*value)
		*value = other;
}

static void default16(uint16_t *value, uint16_t other)
{
	if (!*value)
		*value = other;
}

static void options_default(struct sdp_options *opt)
{
	default32(&opt->bufs, 32);
	default32(&opt->buf_size, 16384);
	default32(&opt->buf_size_max, opt->buf_size);
	default16(&opt->max_adverts, 8);
	default16(&opt->ird, 4);
	default16(&opt->ord, 4);
	default16(&opt->send_cap, 32);
	default16(&opt->recv_cap, 32);
	default16(&opt->work_cap, 64);
	default32(&opt->src_threshold, 65536);
	default32(&opt->sink_threshold, 65536);
	default32(&opt->read_min, 4096);
	default32(&opt->inline_max, 64);
	default32(&opt->rdma_max, 1u << 20);
	default32(&opt->start_ms, 10000);
	default32(&opt->llp_end_ms, 2000);
	default32(&opt->abort_ms, 1000);
	default32(&opt->susp_ms, 10000);
	default32(&opt->cancel_ms, 5000);
	default32(&opt->deadlock_ms, 10);
}

static bool options_are_valid(const struct sdp_options *opt)
{
	return opt->role <= SDP_ACCEPTING && opt->carrier <= SDP_STREAM &&
	       opt->layout <= SDP_LAYOUT_MIRRORED &&
	       opt->req_pipe <= SDP_REQ_PIPE_ALWAYS &&
	       opt->bufs >= SDP_BUFS_MIN && opt->bufs <= SDP_BUFS_MAX &&
	       opt->buf_size >= SDP_BUF_SIZE_MIN &&
	       opt->buf_size <= SDP_LEN_MAX &&
	       opt->buf_size_max >= opt->buf_size &&
	       opt->buf_size_max <= SDP_LEN_MAX &&
	       opt->wish_size <= SDP_LEN_MAX && opt->send_cap <= CAP_MAX &&
	       opt->recv_cap <= CAP_MAX && opt->work_cap <= CAP_MAX &&
	       opt->work_cap >= 4 && opt->max_adverts <= CAP_MAX;
}

static uint32_t power_of_two(uint32_t min)
{
	uint32_t n = 1;

	while (n < min)
		n <<= 1;
	return n;
}

/* The object and its rings are one allocation. The rings with the strictest
 * alignment come first. */
static size_t place(size_t *total, size_t cnt, size_t size)
{
	size_t off = (*total + 7) & ~(size_t)7;

	*total = off + cnt * size;
	return off;
}

int sdp_conn_new(struct sdp_conn **ret_conn, const struct sdp_options *options)
{
	struct sdp_options opt = *options;
	struct sdp_conn *conn;
	size_t total = sizeof(*conn), src, snk, in, out, send, recv, chunk;
	size_t kinds;
	uint32_t chunk_cap;
	uint8_t *block;

	options_default(&opt);
	if (!options_are_valid(&opt))
		return -EINVAL;
	/* A buffer that is advertised gets all of one message, also if the
	 * receives grow meanwhile (SDP-32, SDP-130, SDP-172, C25). */
	if (opt.sink_threshold < opt.buf_size_max)
		opt.sink_threshold = opt.buf_size_max;
	/* During a resize, buffers of the old and of the new size may hold
	 * payload. */
	chunk_cap = power_of_two(2 * (opt.bufs + 1));
	src = place(&total, opt.max_adverts, sizeof(struct sdp_src_advert));
	snk = place(&total, opt.max_adverts, sizeof(struct sdp_snk_advert));
	in = place(&total, opt.max_adverts, sizeof(struct sdp_in_advert));
	out = place(&total, opt.max_adverts, sizeof(struct sdp_out_advert));
	send = place(&total, opt.send_cap, sizeof(struct sdp_send_entry));
	recv = place(&total, opt.recv_cap, sizeof(struct sdp_recv_entry));
	chunk = place(&total, chunk_cap, sizeof(struct sdp_chunk));
	kinds = place(&total, opt.work_cap, 1);
	block = calloc(1, total);
	if (!block)
		return -ENOMEM;
	conn = (void *)block;
	conn->opt = opt;
	conn->send = (void *)(block + send);
	conn->recv = (void *)(block + recv);
	conn->chunks = (void *)(block + chunk);
	conn->work_kinds = block + kinds;
	conn->chunk_cap = chunk_cap;
	sdp_source_init(&conn->source, (void *)(block + src),
			(void *)(block + snk), opt.max_adverts);
	sdp_sink_init(&conn->sink, (void *)(block + in), (void *)(block + out),
		      opt.max_adverts);
	sdp_conn_disarm_all(conn);
	*ret_conn = conn;
	return 0;
}

void sdp_conn_free(struct sdp_conn *conn)
{
	free(conn);
}

/* ---- queries ---- */

uint16_t sdp_conn_send_room(const struct sdp_conn *conn)
{
	if (!sdp_conn_is_running(conn) || conn->closing.is_wanted)
		return 0;
	return (uint16_t)(conn->opt.send_cap - conn->send_cnt);
}

uint64_t sdp_conn_readable(const struct sdp_conn *conn)
{
	const struct sdp_sink *s = &conn->sink;
	uint64_t n = conn->chunk_octets;

	for (uint16_t i = 0; i < s->in_cnt && sdp_conn_is_open(conn); i++) {
		const struct sdp_in_advert *a =
			&s->in[(s->in_head + i) % s->cap];

		n += a->len - a->done;
	}
	return n;
}

uint64_t sdp_conn_buffered(const struct sdp_conn *conn)
{
	return conn->chunk_octets;
}

uint32_t sdp_conn_credit(const struct sdp_conn *conn)
{
	return sdp_credit_get(&conn->credit);
}

uint16_t sdp_conn_told_bufs(const struct sdp_conn *conn)
{
	return conn->credit.sent_bufs;
}

uint32_t sdp_conn_peer_size(const struct sdp_conn *conn)
{
	return conn->resize.peer_size;
}

bool sdp_conn_has_shut(const struct sdp_conn *conn)
{
	return conn->closing.is_done;
}

enum sdp_fault sdp_conn_fault(const struct sdp_conn *conn)
{
	return conn->fault;
}

enum sdp_mode sdp_conn_send_mode(const struct sdp_conn *conn)
{
	return conn->source.mode;
}

enum sdp_mode sdp_conn_recv_mode(const struct sdp_conn *conn)
{
	return conn->sink.mode;
}

uint64_t sdp_conn_deadline(const struct sdp_conn *conn)
{
	uint64_t first = SDP_NEVER;

	for (int i = 0; i < SDP_TIMER_CNT; i++) {
		if (conn->timers[i] < first)
			first = conn->timers[i];
	}
	return first;
}

const char *sdp_fault_str(enum sdp_fault fault)
{
	static const char *const strings[] = {
		[SDP_FAULT_NONE] = "no fault",
		[SDP_FAULT_LENGTH] =
			"V1: Len does not match the octets received",
		[SDP_FAULT_MID] =
			"V2: MID is reserved or not allowed in this state",
		[SDP_FAULT_MSEQ] = "V3: MSeq is not the next one",
		[SDP_FAULT_MSEQACK] =
			"V4: MSeqAck acknowledges a message that was not sent",
		[SDP_FAULT_CREDIT] =
			"V5: exceeds the credit or the buffer size",
		[SDP_FAULT_OOB] = "V6: OOB_PRES without payload",
		[SDP_FAULT_AVAIL] = "V8: invalid length of an advertisement",
		[SDP_FAULT_SRC_AVAIL] =
			"V9: SrcAvail is not allowed in this mode",
		[SDP_FAULT_SINK_AVAIL] =
			"V10: SinkAvail is not allowed in this mode",
		[SDP_FAULT_ADVERTS] =
			"V11: more advertisements than MaxAdverts",
		[SDP_FAULT_RD_COMPL] = "V12: unexpected RdmaRdCompl or SendSm",
		[SDP_FAULT_WR_COMPL] = "V13: unexpected RdmaWrCompl",
		[SDP_FAULT_STAG] =
			"V14: the message invalidated the wrong STag",
		[SDP_FAULT_PAYLOAD] =
			"V15: unexpected payload after a SrcAvail",
		[SDP_FAULT_NON_DISCARDS] =
			"V16: NonDiscards exceeds the messages sent",
		[SDP_FAULT_MODE] = "V17: unexpected ModeChange",
		[SDP_FAULT_RESIZE] = "V18: unexpected ChRcvBuf or ChRcvBufAck",
		[SDP_FAULT_CLOSED] =
			"V19: message after DisConn, or AbortConn without DisConn",
		[SDP_FAULT_SUSP] = "V20: unexpected message around SuspComm",
		[SDP_FAULT_HELLO] = "V21: invalid Hello or HelloAck",
		[SDP_FAULT_LLP] = "V22: the carrier reported an error",
		[SDP_FAULT_LLP_LOST] = "the carrier ended without DisConn",
		[SDP_FAULT_PEER_ABORT] = "the peer aborted",
		[SDP_FAULT_LOCAL_ABORT] = "aborted here",
		[SDP_FAULT_TIMEOUT] = "the peer did not answer in time",
		[SDP_FAULT_MOVE] =
			"the connection could not be moved to another carrier",
	};

	return (unsigned int)fault < sizeof(strings) / sizeof(*strings)
		       ? strings[fault]
		       : "?";
}

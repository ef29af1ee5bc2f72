/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Replays both receiving sides of a captured connection. One engine is the
 * Responder and gets what the Initiator sent. The other is the Initiator and
 * gets what the Responder sent. What they send is dropped: it only keeps their
 * state as it was during the capture.
 *
 *
 * Reads a script and prints what each side sees, one line per event, with "R "
 * or "I " in front. Commands, one per line, with fields separated by a space:
 *
 *   cut MAX SEED DIRECT_MIN
 *   initiator REV NO_CRC MARKERS RTR IRD ORD PD    begin; prints the Request
 *   responder REV NO_CRC MARKERS RTR IRD ORD
 *   accept IRD ORD PD       the Responder's answer; prints the Reply
 *   reject PD
 *   send SIDE               its first FPDU leaves (an empty Write)
 *   data SIDE HEX           octets for that side
 *   fin SIDE                the stream to that side ends
 *   end                     of the connection; prints "end"; another may follow
 *
 * An empty octet string is "-".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "siw-mpa.h"

#define SINK_SIZE 65536u

struct side {
	char name;
	struct smpa_conn *conn;
	uint8_t *rx, *tx;
	uint8_t *in; /* octets received, not taken yet */
	size_t in_len;
	uint8_t sink[SINK_SIZE];
	char segment[160]; /* its line, until the payload is placed */
	uint32_t segment_len;
};

static struct side responder = { .name = 'R' }, initiator = { .name = 'I' };
static size_t cut_max;
static uint64_t cut_seed;
static uint32_t direct_min;

static void fail(const char *what)
{
	printf("replay: %s\n", what);
	exit(2);
}

static size_t cut_next(size_t len)
{
	size_t piece;

	if (!cut_max)
		return len;
	cut_seed = cut_seed * 6364136223846793005u + 1442695040888963407u;
	piece = 1 + (size_t)(cut_seed >> 33) % cut_max;
	return piece < len ? piece : len;
}

static size_t unhex(const char *hex, uint8_t *out, size_t size)
{
	size_t len = 0;
	unsigned int octet;

	if (hex[0] == '-')
		return 0;
	while (sscanf(hex, "%2x", &octet) == 1) {
		if (len == size)
			fail("too many octets");
		out[len++] = (uint8_t)octet;
		hex += 2;
	}
	return len;
}

static void print_hex(const void *buf, size_t len)
{
	const uint8_t *octet = buf;

	for (size_t i = 0; i < len; i++)
		printf("%02x", octet[i]);
	if (len == 0)
		printf("-");
}

static uint32_t fnv(const uint8_t *buf, size_t len)
{
	uint32_t value = 0x811c9dc5u;

	for (size_t i = 0; i < len; i++)
		value = (value ^ buf[i]) * 0x01000193u;
	return value;
}

/* Drops everything that the engine sends. */
static void side_drain(struct side *s, bool is_printed)
{
	const struct iovec *iov;
	int cnt;

	while ((cnt = smpa_conn_tx_prepare(s->conn, &iov)) > 0) {
		size_t len = 0;

		for (int i = 0; i < cnt; i++) {
			if (is_printed)
				print_hex(iov[i].iov_base, iov[i].iov_len);
			len += iov[i].iov_len;
		}
		smpa_conn_tx_commit(s->conn, len);
	}
}

/* ---- events ---- */

/* The payload of the last segment was placed, so the line is complete. */
static void segment_done(struct side *s)
{
	if (!s->segment[0])
		return;
	printf("%s fnv=%08x\n", s->segment, fnv(s->sink, s->segment_len));
	s->segment[0] = '\0';
}

static void segment_begin(struct side *s, const struct smpa_event *ev)
{
	struct iovec iov = { s->sink, ev->seg.len };
	char where[80];

	if (ev->seg.len > sizeof(s->sink))
		fail("segment longer than any ULPDU");
	if (ev->seg.is_tagged)
		snprintf(where, sizeof(where), "stag=%08x to=%016llx",
			 ev->seg.stag, (unsigned long long)ev->seg.to);
	else
		snprintf(where, sizeof(where), "qn=%u msn=%u mo=%u", ev->seg.qn,
			 ev->seg.msn, ev->seg.mo);
	snprintf(s->segment, sizeof(s->segment),
		 "%c segment op=%u last=%d %s len=%u", s->name, ev->seg.opcode,
		 ev->seg.is_last, where, ev->seg.len);
	s->segment_len = ev->seg.len;
	if (smpa_conn_sink(s->conn, &iov, 1) < 0)
		fail("sink refused");
}

static void print_message(const struct smpa_event *ev)
{
	printf("message op=%u len=%u ", ev->msg.opcode, ev->msg.len);
	if (ev->msg.opcode == SMPA_OP_WRITE ||
	    ev->msg.opcode == SMPA_OP_READ_RESPONSE)
		printf("stag=%08x to=%016llx\n", ev->msg.stag,
		       (unsigned long long)ev->msg.to);
	else
		printf("msn=%u inv=%08x\n", ev->msg.msn, ev->msg.inv_stag);
}

static void print_start(const struct side *s, const struct smpa_event *ev)
{
	switch (ev->type) {
	case SMPA_EV_REQUEST:
		printf("request rev=%u enhanced=%d ird=%u ord=%u pd=",
		       ev->start.rev, ev->start.is_enhanced, ev->start.ird,
		       ev->start.ord);
		break;
	case SMPA_EV_REJECTED:
		printf("rejected ird=%u ord=%u pd=", ev->start.ird,
		       ev->start.ord);
		break;
	default:
		printf("established crc=%d markers=%d%d rtr=%d",
		       ev->start.has_crc, ev->start.rx_markers,
		       ev->start.tx_markers, ev->start.is_peer_to_peer);
		if (s == &responder) {
			printf("\n");
			return;
		}
		printf(" pd=");
		break;
	}
	print_hex(ev->start.pd, ev->start.pd_len);
	printf("\n");
}

static void event_print(struct side *s, const struct smpa_event *ev)
{
	printf("%c ", s->name);
	switch (ev->type) {
	case SMPA_EV_REQUEST:
	case SMPA_EV_ESTABLISHED:
	case SMPA_EV_REJECTED:
		print_start(s, ev);
		break;
	case SMPA_EV_MESSAGE:
		print_message(ev);
		break;
	case SMPA_EV_READ:
		printf("read sink=%08x:%016llx len=%u source=%08x:%016llx "
		       "msn=%u\n",
		       ev->read.sink_stag, (unsigned long long)ev->read.sink_to,
		       ev->read.len, ev->read.src_stag,
		       (unsigned long long)ev->read.src_to, ev->read.msn);
		break;
	case SMPA_EV_TERMINATE:
		printf("terminate %04x\n", ev->term.fault.value);
		break;
	case SMPA_EV_FAULT:
		printf("fault %04x truncated=%d\n", ev->fault.fault.value,
		       ev->fault.is_truncated);
		break;
	case SMPA_EV_CLOSED:
		printf("closed\n");
		break;
	default:
		printf("event %d\n", (int)ev->type);
		break;
	}
}

static void side_pull(struct side *s)
{
	struct smpa_event ev;

	while (smpa_conn_next_event(s->conn, &ev)) {
		segment_done(s);
		if (ev.type == SMPA_EV_SEGMENT)
			segment_begin(s, &ev);
		else if (ev.type != SMPA_EV_SENT)
			event_print(s, &ev);
	}
	if (!smpa_conn_uses(s->conn, s->sink, sizeof(s->sink)))
		segment_done(s);
}

/* ---- input ---- */

/* Reads as much as the engine accepts now. The rest waits, as in TCP. */
static void side_take(struct side *s)
{
	struct iovec iov[SMPA_IOV_MAX + 1];
	size_t at = 0;
	int cnt;

	while (at < s->in_len &&
	       (cnt = smpa_conn_rx_prepare(s->conn, iov, SMPA_IOV_MAX + 1)) >
		       0) {
		size_t left = cut_next(s->in_len - at), done = 0;

		for (int i = 0; i < cnt && left > 0; i++) {
			size_t len = iov[i].iov_len < left ? iov[i].iov_len
							   : left;

			memcpy(iov[i].iov_base, s->in + at, len);
			at += len;
			left -= len;
			done += len;
		}
		smpa_conn_rx_commit(s->conn, done);
		side_pull(s);
		side_drain(s, false);
	}
	if (at > 0)
		memmove(s->in, s->in + at, s->in_len - at);
	s->in_len -= at;
}

static void side_data(struct side *s, const char *hex)
{
	size_t size = strlen(hex) / 2;

	s->in = realloc(s->in, s->in_len + size + 1);
	if (!s->in)
		fail("no memory");
	s->in_len += unhex(hex, s->in + s->in_len, size);
	side_take(s);
}

static void side_begin(struct side *s, enum smpa_role role, const char *args)
{
	struct smpa_options opt = SMPA_OPTIONS_INIT;
	unsigned int rev, no_crc, markers, rtr, ird, ord;
	char hex[2 * SMPA_PD_MAX + 2] = "-";
	uint8_t pd[SMPA_PD_MAX];
	size_t pd_len;

	if (sscanf(args, "%u %u %u %u %u %u %1025s", &rev, &no_crc, &markers,
		   &rtr, &ird, &ord, hex) < 6)
		fail("bad options");
	opt.role = role;
	opt.rev = (uint8_t)rev;
	opt.no_crc = no_crc;
	opt.want_markers = markers;
	opt.rtr = (uint8_t)rtr;
	opt.ird = (uint16_t)ird;
	opt.ord = (uint16_t)ord;
	opt.direct_min = direct_min;
	s->rx = malloc(SMPA_RX_STAGING_MIN);
	s->tx = aligned_alloc(16, SMPA_TX_STAGING_MIN);
	if (!s->rx || !s->tx || smpa_conn_new(&s->conn, &opt) < 0)
		fail("no connection");
	smpa_conn_rx_lend(s->conn, s->rx, SMPA_RX_STAGING_MIN);
	smpa_conn_tx_lend(s->conn, s->tx, SMPA_TX_STAGING_MIN);
	pd_len = unhex(hex, pd, sizeof(pd));
	if (smpa_conn_start(s->conn, pd_len ? pd : NULL, pd_len) < 0)
		fail("no start");
}

static void side_send(struct side *s)
{
	const struct smpa_msg msg = { .opcode = SMPA_OP_WRITE, .quiet = true };
	int ret = smpa_conn_submit(s->conn, &msg);

	/* A broken stream sends nothing. A held one accepts it and waits. */
	if (ret < 0 && ret != -EPIPE && ret != -EAGAIN)
		fail("submit");
	side_drain(s, false);
	side_take(s);
}

static void answer(const char *line)
{
	char hex[2 * SMPA_PD_MAX + 2];
	uint8_t pd[SMPA_PD_MAX];
	unsigned int ird, ord;
	size_t pd_len;
	int ret;

	if (sscanf(line, "accept %u %u %1025s", &ird, &ord, hex) == 3) {
		pd_len = unhex(hex, pd, sizeof(pd));
		ret = smpa_conn_accept(responder.conn, pd, pd_len,
				       (uint16_t)ird, (uint16_t)ord);
	} else if (sscanf(line, "reject %1025s", hex) == 1) {
		pd_len = unhex(hex, pd, sizeof(pd));
		ret = smpa_conn_reject(responder.conn, pd, pd_len);
	} else {
		fail("bad answer");
	}
	if (ret < 0) {
		/* The Request was invalid: there is nothing to answer. */
		return;
	}
	printf("reply ");
	side_drain(&responder, true);
	printf("\n");
	side_pull(&responder);
	side_take(&responder);
}

static void side_end(struct side *s)
{
	smpa_conn_free(s->conn);
	free(s->rx);
	free(s->tx);
	free(s->in);
	*s = (struct side){ .name = s->name };
}

static void command(const char *line)
{
	struct side *s = strchr(line, ' ') && strchr(line, ' ')[1] == 'R'
				 ? &responder
				 : &initiator;

	if (!strncmp(line, "cut ", 4)) {
		unsigned long long seed;

		if (sscanf(line, "cut %zu %llu %u", &cut_max, &seed,
			   &direct_min) != 3)
			fail("bad cut");
		cut_seed = seed;
	} else if (!strncmp(line, "initiator ", 10)) {
		side_begin(&initiator, SMPA_INITIATOR, line + 10);
		printf("request ");
		side_drain(&initiator, true);
		printf("\n");
	} else if (!strncmp(line, "responder ", 10)) {
		side_begin(&responder, SMPA_RESPONDER, line + 10);
	} else if (!strncmp(line, "send ", 5)) {
		side_send(s);
	} else if (!strncmp(line, "data ", 5)) {
		side_data(s, line + 7);
	} else if (!strncmp(line, "fin ", 4)) {
		/* Unread octets come before it. */
		if (s->in_len == 0) {
			smpa_conn_rx_eof(s->conn);
			side_pull(s);
		}
	} else if (!strcmp(line, "end")) {
		side_end(&initiator);
		side_end(&responder);
		printf("end\n");
	} else {
		answer(line);
	}
}

int main(void)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	while ((len = getline(&line, &size, stdin)) > 0) {
		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		command(line);
	}
	free(line);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which FPDUs may share a TCP segment. No READ Request ever crosses a segment
 * border, nor does a short FPDU in a run of its kind. Large FPDUs are not
 * changed.
 */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "siw-mpa.h"
#include "wire.h"

#define EMSS 1448u
#define READ_FPDU 52u
#define OCTETS_MAX (8u << 20)
#define BORDER_MAX 4096u

/* Models a TCP with a backlog: octets continue from the last border. */
struct tcp {
	struct end e;
	uint8_t *octets;       /* all of them */
	uint64_t sent, border; /* stream offsets */
	uint64_t border_at[BORDER_MAX];
	unsigned int borders;
	uint8_t payload[8192];
	struct iovec iov;
};

static void tcp_init(struct tcp *t, uint32_t emss)
{
	struct smpa_options o = test_options(SMPA_INITIATOR);

	memset(t, 0, sizeof(*t));
	o.rev = 1;
	o.mulpdu = smpa_mulpdu(emss, false);
	end_init(&t->e, &o);
	end_establish(&t->e, PEER_REPLY);
	t->iov.iov_base = t->payload;
	t->octets = malloc(OCTETS_MAX);
	assert_non_null(t->octets);
}

static void tcp_fini(struct tcp *t)
{
	free(t->octets);
	end_fini(&t->e);
}

/* Sends at most @max octets. Return: octets sent. */
static size_t send_some(struct tcp *t, size_t max)
{
	const struct iovec *iov;
	size_t len = 0;
	bool is_border;
	int cnt = smpa_conn_tx_prepare(t->e.conn, &iov);

	assert_true(cnt >= 0);
	for (int i = 0; i < cnt; i++) {
		assert_true(t->sent + len + iov[i].iov_len <= OCTETS_MAX);
		memcpy(t->octets + t->sent + len, iov[i].iov_base,
		       iov[i].iov_len);
		len += iov[i].iov_len;
	}
	is_border = smpa_conn_tx_ends_segment(t->e.conn) && len <= max;
	if (len > max)
		len = max;
	assert_int_equal(smpa_conn_tx_commit(t->e.conn, len), 0);
	t->sent += len;
	if (is_border && len > 0) {
		assert_true(t->borders < BORDER_MAX);
		t->border = t->sent;
		t->border_at[t->borders++] = t->sent;
	}
	return len;
}

static void submit(struct tcp *t, enum smpa_opcode opcode, uint32_t len)
{
	struct smpa_msg msg = { .opcode = opcode, .quiet = true };

	if (opcode == SMPA_OP_READ_REQUEST) {
		msg.read.len = len;
	} else {
		t->iov.iov_len = msg.len = len;
		msg.iov = &t->iov;
		msg.iovcnt = 1;
	}
	/* What does not fit waits until there is room. */
	while (smpa_conn_submit(t->e.conn, &msg) == -EAGAIN)
		assert_true(send_some(t, SIZE_MAX) > 0);
}

static void send_all(struct tcp *t)
{
	while (send_some(t, SIZE_MAX) > 0)
		;
}

/* As perftest does: posts each READ separately. */
CASE(reads_one_by_one_share_segments)
{
	struct tcp t;

	tcp_init(&t, EMSS);
	for (int i = 0; i < 270; i++) {
		uint64_t at = t.sent - t.border;

		submit(&t, SMPA_OP_READ_REQUEST, 64);
		send_all(&t);
		assert_true(at + READ_FPDU <= EMSS);
	}
	assert_int_equal(t.borders, 10); /* 27 in each segment, not one */
	tcp_fini(&t);
}

/* More than a segment at once: each transmission is one segment. */
CASE(chained_reads_go_in_segments)
{
	struct tcp t;

	tcp_init(&t, EMSS);
	for (int i = 0; i < 27; i++)
		submit(&t, SMPA_OP_READ_REQUEST, 64);
	/* This one is accepted, but waits. The next would not be accepted. */
	submit(&t, SMPA_OP_READ_REQUEST, 64);
	assert_int_equal(
		smpa_conn_submit(
			t.e.conn,
			&(struct smpa_msg){ .opcode = SMPA_OP_READ_REQUEST,
					    .quiet = true }),
		-EAGAIN);
	assert_int_equal(send_some(&t, SIZE_MAX), 27 * READ_FPDU);
	assert_int_equal(t.borders, 1);
	assert_int_equal(send_some(&t, SIZE_MAX), READ_FPDU);
	assert_int_equal(t.borders, 1);
	assert_true(smpa_conn_tx_is_idle(t.e.conn));
	tcp_fini(&t);
}

/* Each READ Request must lie between two borders. Return: their number. */
static unsigned int check_reads(const struct tcp *t)
{
	unsigned int reads = 0, next = 0;
	uint64_t border = 0;
	uint64_t at = 0;

	while (at < t->sent) {
		uint32_t ulpdu = wire_get16(t->octets + at);
		bool is_read = (t->octets[at + 3] & 0xf) ==
			       SMPA_OP_READ_REQUEST;

		while (next < t->borders && t->border_at[next] <= at)
			border = t->border_at[next++];
		at += (2 + ulpdu + 3) / 4 * 4 + 4;
		if (!is_read)
			continue;
		assert_true(at - border <= EMSS);
		/* and no border was put inside it */
		assert_true(next == t->borders || t->border_at[next] >= at);
		reads++;
	}
	assert_true(at == t->sent);
	return reads;
}

/* Messages of all sizes, also if TCP accepts only pieces. */
CASE(no_mixture_cuts_a_read)
{
	static const uint32_t sizes[] = { 0, 1, 17, 64, 500, 1400, 4096, 8192 };

	for (uint64_t seed = 1; seed <= 30; seed++) {
		uint64_t random = seed;
		unsigned int reads = 1;
		struct tcp t;

		tcp_init(&t, EMSS);
		submit(&t, SMPA_OP_READ_REQUEST,
		       1); /* from here on the kind is known */
		send_all(&t);
		for (int i = 0; i < 700; i++) {
			uint64_t r = test_random(&random);

			if (r % 4 == 0) {
				reads++;
				submit(&t, SMPA_OP_READ_REQUEST, 1);
			} else {
				submit(&t, SMPA_OP_WRITE, sizes[r / 4 % 8]);
			}
			/* Some are sent at once, some in pieces, some later. */
			if (r / 32 % 4 == 0)
				send_some(&t, r / 128 % 3000);
			else if (r / 32 % 4 == 1)
				send_some(&t, SIZE_MAX);
			else if (r / 32 % 4 == 2)
				send_all(&t);
		}
		send_all(&t);
		assert_int_equal(check_reads(&t), reads);
		tcp_fini(&t);
	}
}

/* A run of one kind: padding and CRC are not cut either. */
CASE(short_fpdus_share_segments)
{
	static const struct {
		uint32_t len, fpdu, in_one;
	} kinds[] = {
		{ 1, 24, 60 }, { 2, 24, 60 }, { 64, 84, 17 }, { 160, 180, 8 }
	};

	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		struct tcp t;

		tcp_init(&t, EMSS);
		for (uint32_t i = 0; i < 10 * kinds[k].in_one; i++) {
			submit(&t, SMPA_OP_WRITE, kinds[k].len);
			assert_true(t.sent - t.border + kinds[k].fpdu <= EMSS);
			send_all(&t);
		}
		assert_int_equal(t.borders, 10);
		tcp_fini(&t);
	}
}

/* Without READs cutting has no benefit, and segments should be full. */
CASE(large_messages_are_left_alone)
{
	static const uint32_t sizes[] = { 200, 1000, 1428, 4096, 8192 };

	for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
		struct tcp t;

		tcp_init(&t, EMSS);
		for (int i = 0; i < 100; i++) {
			submit(&t, SMPA_OP_WRITE, sizes[k]);
			send_all(&t);
		}
		assert_int_equal(t.borders, 0);
		/* A READ among them is followed by a border in time. */
		submit(&t, SMPA_OP_READ_REQUEST, 1);
		send_all(&t);
		submit(&t, SMPA_OP_WRITE, 8192);
		send_all(&t);
		assert_true(t.border == t.sent);
		tcp_fini(&t);
	}
}

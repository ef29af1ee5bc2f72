/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Messages in memory that cannot be read. Nothing of a partly readable FPDU is
 * sent. The octets before it are sent. The owner learns which message it was.
 */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "pair.h"
#include "siw-mpa.h"

#define PAGE ((size_t)4096)
#define MEM_SIZE (64 * PAGE)
#define MULPDU 4110u /* 4096 octets of payload after a tagged header */
#define FPDU_SIZE (2 + (size_t)MULPDU + 4)
#define OUT_MAX (1u << 20)

static sigjmp_buf guard_jump;
static unsigned int guard_calls;
static uint8_t *mem;
static uint8_t out[OUT_MAX];
static size_t out_len;

static void guard_handler(int sig)
{
	(void)sig;
	siglongjmp(guard_jump, 1);
}

static int guard(void (*access)(void *arg), void *arg)
{
	struct sigaction act = { .sa_handler = guard_handler };
	struct sigaction old;
	int ret = -EFAULT;

	guard_calls++;
	sigaction(SIGSEGV, &act, &old);
	if (sigsetjmp(guard_jump, 1) == 0) {
		access(arg);
		ret = 0;
	}
	sigaction(SIGSEGV, &old, NULL);
	return ret;
}

static void page_set(size_t page, int prot)
{
	if (mprotect(mem + page * PAGE, PAGE, prot) < 0)
		fail();
}

struct two {
	struct end a, b; /* the Initiator sends, the Responder checks */
	size_t start_len;
};

static void two_init(struct two *t, bool has_crc)
{
	struct smpa_options a = test_options(SMPA_INITIATOR);
	struct smpa_options b = test_options(SMPA_RESPONDER);

	a.rev = 1;
	a.no_crc = !has_crc;
	a.mulpdu = MULPDU;
	a.guard = guard;
	b.no_crc = !has_crc;
	end_init(&t->a, &a);
	end_init(&t->b, &b);
	end_establish(&t->a, has_crc ? PEER_REPLY : PEER_REPLY_PLAIN);
	end_establish(&t->b, has_crc ? PEER_REQUEST : PEER_REQUEST_PLAIN);
	t->a.event_cnt = 0;
	t->b.event_cnt = 0;
	out_len = 0;
	guard_calls = 0;
	mem = mmap(NULL, MEM_SIZE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		fail();
	test_fill(mem, MEM_SIZE, 1);
}

static void two_fini(struct two *t)
{
	end_fini(&t->a);
	end_fini(&t->b);
	munmap(mem, MEM_SIZE);
}

/*
 * Sends as TCP does, at most @max octets. Return: the last result of
 * tx_prepare, or 1 if @max was reached first.
 */
static int take(struct two *t, size_t max)
{
	const struct iovec *iov;
	size_t taken;
	int n;

	while (max > 0) {
		n = smpa_conn_tx_prepare(t->a.conn, &iov);
		if (n <= 0)
			return n;
		taken = 0;
		for (int i = 0; i < n && max > 0; i++) {
			size_t len = iov[i].iov_len < max ? iov[i].iov_len
							  : max;

			assert_true(out_len + len <= OUT_MAX);
			memcpy(out + out_len, iov[i].iov_base, len);
			out_len += len;
			taken += len;
			max -= len;
		}
		assert_int_equal(smpa_conn_tx_commit(t->a.conn, taken), 0);
	}
	return 1;
}

/* Everything sent is well-formed: the Responder accepts it. */
static void responder_take(struct two *t)
{
	end_feed(&t->b, out, out_len);
	out_len = 0;
	assert_int_equal(end_count(&t->b, SMPA_EV_FAULT), 0);
}

static struct iovec iovs[8];

static int submit(struct two *t, uint8_t opcode, size_t off, uint32_t len,
		  uint64_t cookie)
{
	struct iovec *v = &iovs[cookie % 8];
	struct smpa_msg msg = {
		.opcode = opcode,
		.iov = v,
		.iovcnt = 1,
		.len = len,
		.stag = 1,
		.cookie = cookie,
	};

	v->iov_base = mem + off;
	v->iov_len = len;
	return smpa_conn_submit(t->a.conn, &msg);
}

static void finds_small_messages_unreadable(bool has_crc)
{
	struct two t;

	two_init(&t, has_crc);
	page_set(1, PROT_NONE);
	assert_int_equal(submit(&t, SMPA_OP_SEND, 0, 100, 1), 0);
	/* the last octet is on the unmapped page */
	assert_int_equal(submit(&t, SMPA_OP_SEND, PAGE - 99, 100, 2), 0);
	assert_false(smpa_conn_tx_is_idle(t.a.conn));
	assert_true(smpa_conn_tx_pending(t.a.conn) > 0);
	assert_int_equal(submit(&t, SMPA_OP_SEND, 0, 100, 3), -EAGAIN);
	assert_int_equal(take(&t, OUT_MAX), -EFAULT);
	assert_int_equal(take(&t, OUT_MAX),
			 -EFAULT); /* until the owner has answered */
	assert_int_equal(smpa_conn_tx_unreadable(t.a.conn), 2);
	assert_false(smpa_conn_uses(t.a.conn, mem, MEM_SIZE));
	end_pull(&t.a);
	assert_int_equal(end_count(&t.a, SMPA_EV_SENT), 1);
	responder_take(&t);
	assert_int_equal(end_count(&t.b, SMPA_EV_MESSAGE), 1);
	smpa_conn_terminate(t.a.conn,
			    (struct smpa_fault){ SMPA_F_RDMAP_STREAM_CATA });
	assert_int_equal(take(&t, OUT_MAX), 0);
	assert_true(smpa_conn_tx_is_idle(t.a.conn));
	responder_take(&t);
	assert_int_equal(end_count(&t.b, SMPA_EV_TERMINATE), 1);
	two_fini(&t);
}

/* Three FPDUs of one page each. The second cannot be read. */
static void finds_long_messages_unreadable(bool has_crc)
{
	struct two t;

	two_init(&t, has_crc);
	page_set(2, PROT_NONE);
	assert_int_equal(submit(&t, SMPA_OP_SEND, 0, 10, 1), 0);
	assert_int_equal(submit(&t, SMPA_OP_WRITE, PAGE, 3 * (uint32_t)PAGE, 2),
			 0);
	assert_int_equal(take(&t, OUT_MAX), -EFAULT);
	assert_int_equal(smpa_conn_tx_unreadable(t.a.conn), 2);
	responder_take(&t);
	assert_int_equal(end_count(&t.b, SMPA_EV_SEGMENT), 2);
	assert_int_equal(end_count(&t.b, SMPA_EV_MESSAGE), 1);
	two_fini(&t);
}

CASE(sends_nothing_of_an_unreadable_fpdu)
{
	finds_small_messages_unreadable(false);
	finds_small_messages_unreadable(true);
	finds_long_messages_unreadable(false);
	finds_long_messages_unreadable(true);
}

/* A request that was partly answered is copied with what is still open. */
CASE(reports_how_many_octets_a_read_moved)
{
	struct smpa_event read = { .type = SMPA_EV_READ };
	const struct smpa_event *ev;
	struct two t;

	for (int has_gone_late = 0; has_gone_late < 2; has_gone_late++) {
		two_init(&t, false);
		if (!has_gone_late)
			page_set(2, PROT_NONE);
		assert_int_equal(submit(&t, SMPA_OP_READ_RESPONSE, 0,
					4 * (uint32_t)PAGE, 7),
				 0);
		if (has_gone_late) {
			page_set(2, PROT_NONE);
			assert_int_equal(smpa_conn_tx_fault(t.a.conn), 0);
		}
		assert_int_equal(take(&t, OUT_MAX), -EFAULT);
		assert_int_equal(smpa_conn_tx_unreadable(t.a.conn), 7);
		read.read.sink_stag = 1;
		read.read.src_stag = 5;
		read.read.src_to = 0x1000;
		read.read.len = 4 * (uint32_t)PAGE;
		read.read.msn = 1;
		smpa_conn_refuse_read(
			t.a.conn, &read,
			(struct smpa_fault){ SMPA_F_RDMAP_BOUNDS });
		assert_int_equal(take(&t, OUT_MAX), 0);
		responder_take(&t);
		ev = end_event(&t.b, SMPA_EV_TERMINATE, 0);
		assert_non_null(ev);
		assert_int_equal(ev->term.fault.value, SMPA_F_RDMAP_BOUNDS);
		assert_true(ev->term.has_read);
		assert_int_equal(ev->term.read.len, 2 * PAGE);
		assert_int_equal(ev->term.read.sink_to, 2 * PAGE);
		assert_int_equal(ev->term.read.src_to, 0x1000 + 2 * PAGE);
		two_fini(&t);
	}
}

/* Readable when it was framed, unmapped when TCP sends it. */
CASE(cuts_what_went_away_after_framing)
{
	struct two t;

	two_init(&t, false);
	assert_int_equal(submit(&t, SMPA_OP_SEND, 0, 10, 1), 0);
	assert_int_equal(submit(&t, SMPA_OP_WRITE, PAGE, 2 * (uint32_t)PAGE, 2),
			 0);
	assert_int_equal(submit(&t, SMPA_OP_SEND, 0, 10, 3), 0);
	assert_int_equal(
		submit(&t, SMPA_OP_WRITE, 8 * PAGE, 3 * (uint32_t)PAGE, 4), 0);
	assert_int_equal(submit(&t, SMPA_OP_SEND, 0, 10, 5), 0);
	assert_int_equal(take(&t, 5000), 1); /* inside the first long one */
	page_set(9, PROT_NONE);
	assert_int_equal(smpa_conn_tx_fault(t.a.conn), 0);
	assert_int_equal(take(&t, OUT_MAX), -EFAULT);
	assert_int_equal(smpa_conn_tx_unreadable(t.a.conn), 4);
	end_pull(&t.a);
	assert_int_equal(end_count(&t.a, SMPA_EV_SENT), 3);
	smpa_conn_terminate(t.a.conn,
			    (struct smpa_fault){ SMPA_F_RDMAP_STREAM_CATA });
	assert_int_equal(take(&t, OUT_MAX), 0);
	responder_take(&t);
	assert_int_equal(end_count(&t.b, SMPA_EV_MESSAGE), 3);
	assert_int_equal(end_count(&t.b, SMPA_EV_SEGMENT), 1 + 2 + 1 + 1);
	assert_int_equal(end_count(&t.b, SMPA_EV_TERMINATE), 1);
	two_fini(&t);
}

/* Many messages: the ring of marks wraps. */
CASE(cuts_at_any_place)
{
	struct two t;

	for (unsigned int taken = 0; taken < 40; taken++) {
		two_init(&t, false);
		for (uint64_t i = 0; i < 700; i++) {
			assert_int_equal(
				submit(&t, SMPA_OP_WRITE, 0, (uint32_t)PAGE, i),
				0);
			while (smpa_conn_tx_pending(t.a.conn) > 300000)
				assert_int_equal(take(&t, 9999), 1);
			out_len = 0;
		}
		assert_int_equal(submit(&t, SMPA_OP_WRITE, 8 * PAGE,
					(uint32_t)PAGE, 700),
				 0);
		assert_int_equal(take(&t, 1 + 777 * taken), 1);
		page_set(8, PROT_NONE);
		assert_int_equal(smpa_conn_tx_fault(t.a.conn), 0);
		out_len = 0;
		assert_int_equal(take(&t, OUT_MAX), -EFAULT);
		assert_int_equal(smpa_conn_tx_unreadable(t.a.conn), 700);
		end_pull(&t.a);
		assert_int_equal(end_count(&t.a, SMPA_EV_SENT), 700);
		two_fini(&t);
	}
}

/* At least one octet of its second FPDU was sent. */
CASE(ends_when_part_of_it_is_out)
{
	static const size_t parts[] = { 1, 884, 16 + PAGE - 1 };

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		size_t taken = FPDU_SIZE + parts[i];
		struct two t;

		two_init(&t, false);
		assert_int_equal(
			submit(&t, SMPA_OP_WRITE, 0, 2 * (uint32_t)PAGE, 1), 0);
		assert_int_equal(take(&t, taken), 1);
		page_set(1, PROT_NONE);
		assert_int_equal(smpa_conn_tx_fault(t.a.conn), -EPIPE);
		assert_int_equal(take(&t, OUT_MAX), -EFAULT);
		assert_int_equal(smpa_conn_tx_unreadable(t.a.conn), 1);
		assert_int_equal(out_len, taken);
		smpa_conn_terminate(
			t.a.conn,
			(struct smpa_fault){ SMPA_F_RDMAP_STREAM_CATA });
		/* There is no way to send a TERMINATE. */
		assert_int_equal(take(&t, OUT_MAX), 0);
		assert_true(smpa_conn_tx_is_idle(t.a.conn));
		assert_false(smpa_conn_uses(t.a.conn, mem, MEM_SIZE));
		assert_int_equal(submit(&t, SMPA_OP_SEND, 0, 1, 2), -EPIPE);
		two_fini(&t);
	}
}

/* An FPDU of which nothing was sent can still be dropped and the reason
 * reported, even if TCP would send it next. */
CASE(cuts_between_two_fpdus)
{
	struct two t;

	for (size_t taken = 0; taken <= 2; taken++) {
		two_init(&t, false);
		assert_int_equal(
			submit(&t, SMPA_OP_WRITE, 0, 3 * (uint32_t)PAGE, 1), 0);
		if (taken)
			assert_int_equal(take(&t, taken * FPDU_SIZE), 1);
		page_set(taken, PROT_NONE);
		assert_int_equal(smpa_conn_tx_fault(t.a.conn), 0);
		assert_int_equal(take(&t, OUT_MAX), -EFAULT);
		assert_int_equal(out_len, taken * FPDU_SIZE);
		assert_int_equal(smpa_conn_tx_unreadable(t.a.conn), 1);
		smpa_conn_terminate(
			t.a.conn,
			(struct smpa_fault){ SMPA_F_RDMAP_STREAM_CATA });
		assert_int_equal(take(&t, OUT_MAX), 0);
		responder_take(&t);
		assert_int_equal(end_count(&t.b, SMPA_EV_SEGMENT), taken);
		assert_int_equal(end_count(&t.b, SMPA_EV_TERMINATE), 1);
		two_fini(&t);
	}
}

CASE(asks_the_guard_only_where_it_may_fault)
{
	struct smpa_msg msg = { .opcode = SMPA_OP_SEND, .cookie = 1 };
	struct iovec v = { NULL, 100 };
	struct two t;

	two_init(&t, true);
	assert_int_equal(smpa_conn_submit(t.a.conn, &msg), 0); /* empty */
	msg.iov = &v;
	v.iov_base = mem;
	msg.iovcnt = 1;
	msg.len = 100;
	msg.safe = true;
	assert_int_equal(smpa_conn_submit(t.a.conn, &msg), 0);
	v.iov_len = msg.len = MEM_SIZE;
	assert_int_equal(smpa_conn_submit(t.a.conn, &msg), 0);
	assert_int_equal(take(&t, OUT_MAX), 0);
	assert_int_equal(guard_calls, 0);
	v.iov_len = msg.len = 100;
	msg.safe = false;
	assert_int_equal(smpa_conn_submit(t.a.conn, &msg), 0);
	assert_int_equal(guard_calls, 1);
	two_fini(&t);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The start phase of whole engines, and the end of streams, by exact octets and
 * codes.
 *
 * T-nn: doc/spec/mpa.md, part 12.
 */
#include "test.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pair.h"

#define KEY_REQUEST "MPA ID Req Frame"
#define KEY_REPLY "MPA ID Rep Frame"

static size_t frame(uint8_t *out, const char *key, uint8_t flags, uint8_t rev,
		    const uint8_t *pd, size_t pd_len)
{
	memcpy(out, key, 16);
	out[16] = flags;
	out[17] = rev;
	out[18] = (uint8_t)(pd_len >> 8);
	out[19] = (uint8_t)pd_len;
	if (pd_len)
		memcpy(out + 20, pd, pd_len);
	return 20 + pd_len;
}

static void start(struct end *e, const struct smpa_options *o, const void *pd,
		  size_t pd_len)
{
	end_init(e, o);
	assert_int_equal(smpa_conn_start(e->conn, pd, pd_len), 0);
	end_drain(e);
}

/* T-40, T-41: both frames for all M and C, Private Data of every length, in
 * pieces of one octet. The Private Data is unchanged. */
CASE(frames_are_exact)
{
	static const size_t lens[] = { 0, 1, 255, 256, 511, 512 };
	uint8_t pd[512], want[532];

	test_fill(pd, sizeof(pd), 40);
	for (int bits = 0; bits < 4; bits++) {
		for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
			struct smpa_options a = test_options(SMPA_INITIATOR);
			struct smpa_options b = test_options(SMPA_RESPONDER);
			uint8_t flags = (uint8_t)((bits & 1 ? 0x80 : 0) |
						  (bits & 2 ? 0x40 : 0));
			size_t len;
			struct pair p;

			a.rev = 1;
			a.want_markers = b.want_markers = bits & 1;
			a.no_crc = b.no_crc = !(bits & 2);
			pair_init(&p, &a, &b);
			p.is_recording = true;
			p.b.rx_cut = (struct end_cut){ 1, 1 };
			p.a.pd_len = p.b.pd_len = lens[i];
			memcpy(p.a.pd, pd, lens[i]);
			memcpy(p.b.pd, pd, lens[i]);
			pair_start(&p);
			len = frame(want, KEY_REQUEST, flags, 1, pd, lens[i]);
			assert_int_equal(p.wire_a_len, len);
			assert_memory_equal(p.wire_a, want, len);
			frame(want, KEY_REPLY, flags, 1, pd, lens[i]);
			assert_int_equal(p.wire_b_len, len);
			assert_memory_equal(p.wire_b, want, len);
			assert_memory_equal(p.a.events[0].pd, pd, lens[i]);
			assert_memory_equal(p.b.events[0].pd, pd, lens[i]);
			pair_fini(&p);
		}
	}
}

/* Feeds octets, and expects that fault, nothing sent, and nothing read any
 * more. */
static void expect_refusal(const char *name, enum smpa_role role,
			   const uint8_t *octets, size_t len, bool has_eof,
			   uint16_t fault, bool is_truncated)
{
	struct smpa_options o = test_options(role);
	const struct smpa_event *ev;
	struct smpa_msg msg = { .opcode = SMPA_OP_SEND };
	struct end e;

	o.rev = 1;
	start(&e, &o, NULL, 0);
	e.out_end = 0;
	e.rx_cut = (struct end_cut){ len, 5 };
	end_feed(&e, octets, len);
	if (has_eof)
		end_feed_eof(&e);
	assert_row(name, e.event_cnt == 1);
	ev = end_event(&e, SMPA_EV_FAULT, 0);
	assert_row(name, ev && ev->fault.fault.value == fault);
	assert_row(name, !ev->fault.has_terminate);
	assert_row(name, ev->fault.is_truncated == is_truncated);
	end_drain(&e);
	assert_row(name, e.out_end == 0);
	assert_row(name, smpa_conn_submit(e.conn, &msg) == -EPIPE);
	end_fini(&e);
}

/* T-42: each octet of the key wrong: refused at once, without waiting for
 * more. */
CASE(wrong_keys_are_refused)
{
	static const char *const others[] = {
		"MPA ID Req frame", /* draft text: octet 66 at 11 */
		"GET / HTTP/1.0\r\n",
		"SSH-2.0-OpenSSH_",
	};
	uint8_t buf[20];

	for (int role = 0; role < 2; role++) {
		const char *key = role ? KEY_REQUEST : KEY_REPLY;

		for (size_t at = 0; at < 16; at++) {
			frame(buf, key, 0x40, 1, NULL, 0);
			buf[at] ^= 0x20;
			expect_refusal("key octet",
				       role ? SMPA_RESPONDER : SMPA_INITIATOR,
				       buf, at + 1, false, SMPA_F_MPA_START,
				       false);
		}
		for (size_t i = 0; i < ARRAY_LEN(others); i++)
			expect_refusal(others[i],
				       role ? SMPA_RESPONDER : SMPA_INITIATOR,
				       (const uint8_t *)others[i], 16, false,
				       SMPA_F_MPA_START, false);
	}
}

/* T-43, T-44, T-47, T-48, T-58 */
CASE(malformed_frames_are_refused)
{
	uint8_t buf[532];
	uint8_t pd[10] = "123456789";
	size_t len;

	frame(buf, KEY_REQUEST, 0x40, 1, NULL, 0);
	expect_refusal("T-43", SMPA_INITIATOR, buf, 10, false, SMPA_F_MPA_START,
		       false);
	frame(buf, KEY_REPLY, 0x40, 1, NULL, 0);
	expect_refusal("T-44", SMPA_RESPONDER, buf, 10, false, SMPA_F_MPA_START,
		       false);
	for (int role = 0; role < 2; role++) {
		enum smpa_role r = role ? SMPA_RESPONDER : SMPA_INITIATOR;
		const char *key = role ? KEY_REQUEST : KEY_REPLY;
		static const uint16_t lens[] = { 513, 1024, 65535 };

		for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
			frame(buf, key, 0x40, 1, NULL, 0);
			buf[18] = (uint8_t)(lens[i] >> 8);
			buf[19] = (uint8_t)lens[i];
			expect_refusal("T-47", r, buf, 20, false,
				       SMPA_F_MPA_START, false);
		}
		len = frame(buf, key, 0x40, 1, pd, 10);
		expect_refusal("T-48", r, buf, len - 1, true, SMPA_F_MPA_CLOSED,
			       true);
		for (size_t cut = 0; cut < len; cut++)
			expect_refusal("T-58", r, buf, cut, true,
				       SMPA_F_MPA_CLOSED, cut > 0);
	}
}

/* T-49: PD_Length 4 and five octets. Neither side may send FPDUs yet. */
CASE(surplus_behind_a_request_is_refused)
{
	struct smpa_options o = test_options(SMPA_RESPONDER);
	const struct smpa_event *ev;
	uint8_t buf[25];
	struct end e;

	o.rev = 1;
	start(&e, &o, NULL, 0);
	e.is_manual = true;
	frame(buf, KEY_REQUEST, 0x40, 1, (const uint8_t *)"12345", 5);
	buf[19] = 4;
	end_feed(&e, buf, 24);
	assert_int_equal(end_count(&e, SMPA_EV_REQUEST), 1);
	assert_memory_equal(e.events[0].pd, "1234", 4);
	assert_int_equal(smpa_conn_accept(e.conn, NULL, 0, 1, 1), 0);
	end_feed(&e, buf + 24, 1); /* the Reply was not sent yet */
	ev = end_event(&e, SMPA_EV_FAULT, 0);
	assert_non_null(ev);
	assert_int_equal(ev->fault.fault.value, SMPA_F_MPA_START);
	assert_false(ev->fault.has_terminate);
	end_fini(&e);
}

/* T-46: what a Responder of either revision answers, and what an Initiator
 * accepts. C-3: Reply with R=1, own highest revision, no Private Data. */
CASE(unknown_revisions_are_refused)
{
	static const uint8_t revs[] = { 0, 3, 255 };
	uint8_t buf[20], want[20];

	for (uint8_t own = 1; own <= 2; own++) {
		for (size_t i = 0; i < ARRAY_LEN(revs); i++) {
			struct smpa_options o = test_options(SMPA_RESPONDER);
			const struct smpa_event *ev;
			struct end e;

			o.rev = own;
			start(&e, &o, NULL, 0);
			frame(buf, KEY_REQUEST, 0xc0, revs[i], NULL, 0);
			end_feed(&e, buf, 20);
			ev = end_event(&e, SMPA_EV_FAULT, 0);
			assert_non_null(ev);
			assert_int_equal(ev->fault.fault.value,
					 SMPA_F_MPA_START);
			end_drain(&e);
			frame(want, KEY_REPLY, 0x60, own, NULL, 0);
			assert_int_equal(e.out_end, 20);
			assert_memory_equal(e.out, want, 20);
			end_fini(&e);
			frame(buf, KEY_REPLY, 0xc0, revs[i], NULL, 0);
			expect_refusal("T-46, Reply", SMPA_INITIATOR, buf, 20,
				       false, SMPA_F_MPA_START, false);
		}
	}
}

/* T-51: reserved bits, and R in a Request, are ignored and not echoed. */
CASE(reserved_bits_are_ignored)
{
	uint8_t buf[20], want[20];

	for (int bits = 0; bits < 0x40; bits++) {
		struct smpa_options o = test_options(SMPA_RESPONDER);
		struct end e;

		o.rev = 1;
		start(&e, &o, NULL, 0);
		frame(buf, KEY_REQUEST, (uint8_t)(0x40 | bits), 1, NULL, 0);
		end_feed(&e, buf, 20);
		end_drain(&e);
		frame(want, KEY_REPLY, 0x40, 1, NULL, 0);
		assert_int_equal(end_count(&e, SMPA_EV_ESTABLISHED), 1);
		assert_int_equal(e.out_end, 20);
		assert_memory_equal(e.out, want, 20);
		end_fini(&e);
	}
}

/* ---- over a socket: T-52, T-59 ---- */

/* Reads only what may be read, and handles events as usual. */
static void socket_read(int fd, struct end *e)
{
	struct iovec iov[SMPA_IOV_MAX + 1];
	ssize_t got;
	int n;

	end_pull(e);
	while ((n = smpa_conn_rx_prepare(e->conn, iov, SMPA_IOV_MAX + 1)) > 0) {
		struct msghdr m = { .msg_iov = iov, .msg_iovlen = (size_t)n };

		got = recvmsg(fd, &m, MSG_DONTWAIT);
		if (got == 0)
			smpa_conn_rx_eof(e->conn);
		else if (got > 0)
			assert_int_equal(
				smpa_conn_rx_commit(e->conn, (size_t)got), 0);
		end_pull(e);
		if (got <= 0)
			return;
	}
}

static void socket_write(int fd, struct end *e)
{
	end_drain(e);
	if (e->out_end)
		assert_int_equal(write(fd, e->out, e->out_end), e->out_end);
	e->out_end = 0;
}

static void stream_say(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void stream_expect(int fd, const char *text)
{
	char buf[64] = "";

	assert_int_equal(recv(fd, buf, strlen(text), MSG_DONTWAIT),
			 strlen(text));
	assert_string_equal(buf, text);
}

/*
 * Delayed start (7.2): streaming data, Hello, the Ack, while the Responder
 * already waits. Then the Reply, directly followed by everything allowed there.
 * No streaming octet is lost, read twice, or taken for MPA.
 */
CASE(starts_on_a_used_stream)
{
	for (int end = 0; end < 3; end++) {
		struct smpa_options o[2] = { test_options(SMPA_INITIATOR),
					     test_options(SMPA_RESPONDER) };
		struct smpa_msg msg = { .opcode = SMPA_OP_SEND };
		struct end a, b;
		int fd[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
		stream_say(fd[0], "login");
		stream_say(fd[1], "welcome");
		stream_expect(fd[1], "login");
		stream_say(fd[0], "Hello");
		stream_expect(fd[0], "welcome");
		stream_expect(fd[1], "Hello");
		/* MPA-147: the last streaming octets, then MPA */
		start(&b, &o[1], NULL, 0);
		stream_say(fd[1], "Hello Ack");
		b.is_rejecting = end == 1;
		b.pd_len = 3;
		memcpy(b.pd, "bye", 3);
		start(&a, &o[0], "pd", 2);
		/* the Initiator's ULP has not read the Ack yet */
		socket_write(fd[0], &a);
		stream_expect(fd[0], "Hello Ack");
		socket_read(fd[1], &b);
		assert_int_equal(end_count(&b, SMPA_EV_REQUEST), 1);
		socket_write(fd[1], &b);
		if (end == 1) /* T-52: rejected, the stream continues */
			stream_say(fd[1], "reason");
		if (end == 2) /* a Reply directly followed by a close */
			assert_int_equal(shutdown(fd[1], SHUT_WR), 0);
		socket_read(fd[0], &a);
		socket_read(fd[0], &a);
		if (end == 1) {
			struct iovec iov[33];

			assert_int_equal(a.event_cnt, 1);
			assert_int_equal(a.events[0].ev.type, SMPA_EV_REJECTED);
			assert_memory_equal(a.events[0].pd, "bye", 3);
			assert_int_equal(smpa_conn_rx_prepare(a.conn, iov, 33),
					 0);
			assert_int_equal(smpa_conn_rx_prepare(b.conn, iov, 33),
					 0);
			stream_expect(fd[0], "reason");
			stream_say(fd[0], "good bye");
			stream_expect(fd[1], "good bye");
		} else {
			assert_int_equal(a.events[0].ev.type,
					 SMPA_EV_ESTABLISHED);
			assert_int_equal(end_count(&a, SMPA_EV_CLOSED),
					 end == 2);
			/* this does not close the other direction */
			assert_int_equal(smpa_conn_submit(a.conn, &msg), 0);
			socket_write(fd[0], &a);
			socket_read(fd[1], &b);
			assert_int_equal(end_count(&b, SMPA_EV_MESSAGE), 1);
		}
		end_fini(&a);
		end_fini(&b);
		close(fd[0]);
		close(fd[1]);
	}
}

/* ---- end of links ---- */

/*
 * MPA-157, DDP-45: each side in turn closes first. What the other side has to
 * send still arrives, then its end is seen too.
 */
CASE(closes_half_by_half)
{
	static uint8_t data[100000];

	test_fill(data, sizeof(data), 45);
	for (int first = 0; first < 2; first++) {
		struct smpa_options a = test_options(SMPA_INITIATOR);
		struct smpa_options b = test_options(SMPA_RESPONDER);
		struct iovec v = { data, sizeof(data) };
		struct smpa_msg msg = { .opcode = SMPA_OP_WRITE,
					.iov = &v,
					.iovcnt = 1,
					.len = sizeof(data) };
		struct end *from, *to;
		struct pair p;

		a.rtr = SMPA_RTR_WRITE;
		pair_init(&p, &a, &b);
		pair_start(&p);
		to = first ? &p.b : &p.a;   /* receives the FIN */
		from = first ? &p.a : &p.b; /* has sent it */
		end_feed_eof(to);
		assert_int_equal(end_count(to, SMPA_EV_CLOSED), 1);
		assert_int_equal(end_submit(to, &msg), 0);
		end_drain(to);
		end_feed(from, to->out, to->out_end);
		assert_memory_equal(from->mem, data, sizeof(data));
		assert_int_equal(end_count(from, SMPA_EV_MESSAGE), 1);
		end_feed_eof(from);
		assert_int_equal(end_count(from, SMPA_EV_CLOSED), 1);
		assert_int_equal(end_count(from, SMPA_EV_FAULT), 0);
		/* CLOSED is reported once */
		end_feed_eof(to);
		assert_int_equal(end_count(to, SMPA_EV_CLOSED), 1);
		pair_fini(&p);
	}
}

/*
 * MPA-166 to MPA-168, C-15, T-73: after codes 2 and 3 the input is read and
 * dropped, however much arrives. The sending direction completes what it had
 * encoded, sends the whole Terminate, and nothing more.
 */
CASE(sends_the_terminate_after_codes_2_and_3)
{
	static uint8_t data[60000];
	static const struct {
		uint16_t fault;
		const char *fpdu;
	} rows[] = {
		{ SMPA_F_MPA_CRC,
		  "0012c1400000000100000000000000004142434492defa33" },
		{ SMPA_F_MPA_MARKER, "ffcf" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct smpa_options a = test_options(SMPA_INITIATOR);
		struct smpa_options b = test_options(SMPA_RESPONDER);
		struct iovec v = { data, sizeof(data) };
		struct smpa_msg msg = { .opcode = SMPA_OP_WRITE,
					.iov = &v,
					.iovcnt = 1,
					.len = sizeof(data),
					.cookie = 7 };
		const struct smpa_event *ev;
		struct pair p;

		a.rtr = SMPA_RTR_WRITE;
		pair_init(&p, &a, &b);
		pair_start(&p);
		test_fill(data, sizeof(data), i);
		/* being sent when the bad FPDU arrives */
		assert_int_equal(smpa_conn_submit(p.b.conn, &msg), 0);
		end_feed_hex(&p.b, rows[i].fpdu);
		ev = end_event(&p.b, SMPA_EV_FAULT, 0);
		assert_non_null(ev);
		assert_int_equal(ev->fault.fault.value, rows[i].fault);
		assert_true(ev->fault.has_terminate);
		for (int n = 0; n < 50; n++)
			end_feed(&p.b, data, sizeof(data));
		assert_int_equal(end_count(&p.b, SMPA_EV_SEGMENT), 0);
		end_drain(&p.b);
		end_feed(&p.a, p.b.out, p.b.out_end);
		assert_memory_equal(p.a.mem, data, sizeof(data));
		assert_int_equal(end_count(&p.a, SMPA_EV_MESSAGE), 1);
		ev = end_event(&p.a, SMPA_EV_TERMINATE, 0);
		assert_non_null(ev);
		assert_int_equal(ev->term.fault.value, rows[i].fault);
		assert_false(ev->term.has_ddp);
		assert_int_equal(p.a.events[p.a.event_cnt - 1].ev.type,
				 SMPA_EV_TERMINATE);
		assert_int_equal(smpa_conn_submit(p.b.conn, &msg), -EPIPE);
		pair_fini(&p);
	}
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A peer that violates the protocol: each message ends the link with a reset,
 * and nothing of it is left (doc/spec/sdp.md part 10, T96 to T107).
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "pair.h"
#include "conn/state.h"
#include "../../harness/until.h"
#include "verbs/link/drive.h"
#include "verbs/link/state.h"

#define OCTETS_MAX 64

struct octets {
	uint8_t buf[OCTETS_MAX];
	uint32_t len;
};

/* A valid message: an empty Data Message, the first one. */
static struct octets data(void)
{
	struct sdp_msg msg = { .mid = SDP_MID_DATA, .bufs = 33 };
	struct octets o = { .len = 0 };

	o.len = (uint32_t)sdp_msg_encode(&msg, SDP_LAYOUT_FIGURE, o.buf);
	return o;
}

static struct octets message(struct sdp_msg msg, uint32_t payload)
{
	struct octets o = { .len = 0 };

	msg.bufs = 33;
	msg.payload_len = payload;
	o.len = (uint32_t)sdp_msg_encode(&msg, SDP_LAYOUT_FIGURE, o.buf) +
		payload;
	return o;
}

static struct octets short_message(void)
{
	struct octets o = data();

	o.len = 15;
	return o;
}

static struct octets len_less(void)
{
	struct octets o = data();

	o.buf[7] = 15;
	return o;
}

static struct octets len_more(void)
{
	struct octets o = data();

	o.buf[7] = 17;
	return o;
}

static struct octets with_mid(uint8_t mid)
{
	struct octets o = data();

	o.buf[3] = mid;
	return o;
}

static struct octets mid_reserved_low(void)
{
	return with_mid(0x0f);
}

static struct octets mid_reserved(void)
{
	return with_mid(0x10);
}

static struct octets mid_experimental(void)
{
	return with_mid(0x40);
}

static struct octets mid_reserved_high(void)
{
	return with_mid(0xfc);
}

static struct octets mseq_gap(void)
{
	struct octets o = data();

	o.buf[10] = 1; /* 256: higher than the numbers of its own messages */
	return o;
}

static struct octets mseqack_ahead(void)
{
	struct octets o = data();

	o.buf[15] = 9;
	return o;
}

static struct octets oob_of_send_sm(void)
{
	return message((struct sdp_msg){ .mid = SDP_MID_SEND_SM,
					 .flags = SDP_FLAG_OOB_PRES },
		       0);
}

static struct octets oob_without_octet(void)
{
	struct octets o = data();

	o.buf[2] = SDP_FLAG_OOB_PRES;
	return o;
}

static struct octets discon_with_payload(void)
{
	struct octets o = with_mid(SDP_MID_DISCONN);

	o.len = 17;
	o.buf[7] = 17;
	return o;
}

static struct octets src_avail_cut(void)
{
	struct octets o = with_mid(SDP_MID_SRC_AVAIL);

	o.len = 31;
	o.buf[7] = 31;
	return o;
}

static struct octets src_avail_empty(void)
{
	return message((struct sdp_msg){ .mid = SDP_MID_SRC_AVAIL }, 1);
}

static struct octets src_avail_huge(void)
{
	return message((struct sdp_msg){ .mid = SDP_MID_SRC_AVAIL,
					 .avail.len = 0x80000001u },
		       1);
}

static struct octets sink_avail_in_combined(void)
{
	return message((struct sdp_msg){ .mid = SDP_MID_SINK_AVAIL,
					 .avail.len = 100000 },
		       0);
}

static struct octets hello_again(void)
{
	struct sdp_msg msg = { .mid = SDP_MID_HELLO,
			       .hello = { .max_adverts = 1,
					  .min_v = 1,
					  .maj_v = 1,
					  .rcv_sz = 100,
					  .ird = 1,
					  .ord = 1 } };

	return message(msg, 0);
}

static struct octets rd_compl_of_nothing(void)
{
	return message((struct sdp_msg){ .mid = SDP_MID_RDMA_RD_COMPL,
					 .compl_len = 1 },
		       0);
}

static struct octets susp_comm_constant(void)
{
	struct octets o = message(
		(struct sdp_msg){ .mid = SDP_MID_SUSP_COMM, .susp_port = 1 },
		0);

	o.buf[23] ^= 1; /* T81 */
	return o;
}

static struct octets susp_ack_of_nothing(void)
{
	return message((struct sdp_msg){ .mid = SDP_MID_SUSP_COMM_ACK }, 0);
}

static struct octets abort_without_discon(void)
{
	return message((struct sdp_msg){ .mid = SDP_MID_ABORT_CONN }, 0);
}

static const struct bad_message {
	const char *name;
	struct octets (*make)(void);
} bad_messages[] = {
	{ "15 octets", short_message },
	{ "Len less by one", len_less },
	{ "Len more by one", len_more },
	{ "MID 0x0f", mid_reserved_low },
	{ "MID 0x10", mid_reserved },
	{ "MID 0x40", mid_experimental },
	{ "MID 0xfc", mid_reserved_high },
	{ "MSeq with a gap", mseq_gap },
	{ "MSeqAck ahead", mseqack_ahead },
	{ "OOB_PRES in SendSm", oob_of_send_sm },
	{ "OOB_PRES without payload", oob_without_octet },
	{ "DisConn with payload", discon_with_payload },
	{ "SrcAvail cut", src_avail_cut },
	{ "SrcAvail of nothing", src_avail_empty },
	{ "SrcAvail of 2 GiB and more", src_avail_huge },
	{ "SinkAvail in Combined", sink_avail_in_combined },
	{ "Hello in the middle", hello_again },
	{ "RdmaRdCompl of nothing", rd_compl_of_nothing },
	{ "AbortConn without DisConn", abort_without_discon },
	{ "SuspComm with another constant", susp_comm_constant },
	{ "SuspCommAck of nothing", susp_ack_of_nothing },
};

static void post(struct sdp_link *link, const struct octets *o)
{
	struct ibv_sge sge = { .addr = (uintptr_t)o->buf, .length = o->len };
	struct ibv_send_wr wr = { .wr_id = 1,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_INLINE };
	struct ibv_send_wr *bad;

	util_lock(&link->lock);
	if (link->qp)
		must(!ibv_post_send(link->qp, &wr, &bad));
	util_unlock(&link->lock);
}

static void expect_reset(struct sdp_link *link)
{
	must(sdp_link_wait(link, SDP_LINK_CLOSED, soon()) > 0);
	must(sdp_link_error(link) == ECONNRESET);
}

static void with_pair(void (*fn)(struct sdp_link *bad, struct sdp_link *good,
				 const void *arg),
		      const void *arg)
{
	struct pair pair = { .carrier = SDP_STREAM };
	struct sdp_link *links[2];

	pair.opt[0] = pair.opt[1] = SDP_LINK_OPTIONS_INIT;
	pair_make(&pair, links);
	fn(links[0], links[1], arg);
	sdp_link_close(links[0], 0);
	sdp_link_close(links[1], 0);
	drain_links();
}

/* Captures stderr from here to log_end(). */
static int log_begin(int *ret_stderr)
{
	int fd = memfd_create("log", MFD_CLOEXEC);

	must(fd >= 0);
	*ret_stderr = dup(STDERR_FILENO);
	must(dup2(fd, STDERR_FILENO) == STDERR_FILENO);
	return fd;
}

/* Demands a line like "qp 0x001234 to 127.0.0.1:5: aborted: V3: MSeq is not the
 * next one". */
static void log_end(int fd, int old_stderr)
{
	char text[4096];
	ssize_t len;

	must(dup2(old_stderr, STDERR_FILENO) == STDERR_FILENO);
	close(old_stderr);
	len = pread(fd, text, sizeof(text) - 1, 0);
	must(len >= 0);
	text[len] = '\0';
	close(fd);
	if (!strstr(text, ": aborted: V"))
		fprintf(stderr, "said: %s\n", text);
	must(strstr(text, ": aborted: V"));
}

static void send_bad(struct sdp_link *bad, struct sdp_link *good,
		     const void *arg)
{
	const struct bad_message *m = arg;
	struct octets o = m->make();
	int fd, old_stderr;

	printf("%s\n", m->name);
	fflush(stdout);
	fd = log_begin(&old_stderr);
	post(bad, &o);
	expect_reset(good);
	log_end(fd, old_stderr);
}

/* Data after DisConn, and the same MSeq twice. */
static void send_twice(struct sdp_link *bad, struct sdp_link *good,
		       const void *arg)
{
	struct octets o = message(*(const struct sdp_msg *)arg, 0);
	struct octets more =
		message((struct sdp_msg){ .mid = SDP_MID_DATA,
					  .mseq = o.buf[3] == SDP_MID_DISCONN },
			1);
	int fd, old_stderr;

	fd = log_begin(&old_stderr);
	post(bad, &o);
	post(bad, &more);
	must(sdp_link_wait(good, SDP_LINK_CLOSED, soon()) > 0);
	log_end(fd, old_stderr);
	must(sdp_conn_fault(good->conn) != SDP_FAULT_NONE);
}

/* Valid first octets, then random ones. */
static void send_noise(struct sdp_link *bad, struct sdp_link *good,
		       const void *arg)
{
	uint64_t state = *(const uint64_t *)arg;
	uint32_t mseq = 0;

	while (!(sdp_link_state(good) & SDP_LINK_CLOSED)) {
		struct octets o = data();

		state = state * 6364136223846793005u + 1442695040888963407u;
		o.len = 16 + (uint32_t)(state >> 60) * 2;
		o.buf[7] = (uint8_t)o.len;
		o.buf[3] = (uint8_t)(state >> 56) & 0x0f;
		if (state >> 55 & 1)
			o.buf[3] = (uint8_t)(0xff - o.buf[3] % 3);
		o.buf[11] = (uint8_t)mseq++;
		for (uint32_t i = 16; i < o.len; i++)
			o.buf[i] = (uint8_t)(state >> i);
		post(bad, &o);
		(void)sdp_link_wait(good, SDP_LINK_CLOSED,
				    sdp_now_ns() + 1000000);
	}
}

static bool is_refused(struct sdp_link *link)
{
	bool is_down;

	util_lock(&link->lock);
	is_down = link->end.is_llp_down;
	util_unlock(&link->lock);
	return is_down;
}

/* As if the thread of the start did not run while the peer already sends: a
 * link keeps as many messages as it has granted, and then ends. */
static void send_before_start(struct sdp_link *bad, struct sdp_link *good,
			      const void *arg)
{
	struct sdp_pbuf *buf;
	uint32_t cnt = 0;

	(void)arg;
	util_lock(&good->lock);
	good->start.is_over = false;
	util_unlock(&good->lock);
	for (uint32_t i = 0; i < 60; i++) {
		struct octets o = message(
			(struct sdp_msg){ .mid = SDP_MID_DATA, .mseq = i }, 1);

		post(bad, &o);
	}
	wait_until(is_refused(good));
	util_lock(&good->lock);
	for (buf = good->start.early; buf; buf = buf->next)
		cnt++;
	must(cnt == sdp_conn_told_bufs(good->conn) + 1u);
	sdp_drive_started(good);
	sdp_drive(good, 0);
	util_unlock(&good->lock);
	expect_reset(good);
}

/* T109: the peer keeps an STag, and reads again by it when the program has its
 * memory back. */
static void read_late(struct sdp_link *bad, struct sdp_link *good,
		      const void *arg)
{
	static uint8_t mem[1u << 20], copy[sizeof(mem)];
	struct ibv_send_wr wr = { .wr_id = 1,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_READ };
	struct ibv_send_wr *failed;
	struct ibv_mr *mr;
	struct ibv_sge sge;

	(void)arg;
	mr = ibv_reg_mr(bad->dev->pd, copy, sizeof(copy),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	must(mr);
	must(!sdp_link_send_zcopy_begin(good, mem, sizeof(mem)));
	must(sdp_link_wait(bad, SDP_LINK_IN, soon()) > 0);
	util_lock(&bad->lock);
	must(bad->conn->sink.in_cnt == 1);
	wr.wr.rdma.rkey = bad->conn->sink.in[bad->conn->sink.in_head].stag;
	wr.wr.rdma.remote_addr = bad->conn->sink.in[bad->conn->sink.in_head].va;
	util_unlock(&bad->lock);
	get(bad, copy, sizeof(copy));
	must(sdp_link_wait(good, LINK_ZDONE, soon()) > 0);
	must(sdp_link_send_zcopy_done(good) == sizeof(mem));
	sge = (struct ibv_sge){ (uintptr_t)copy, 100, mr->lkey };
	wr.sg_list = &sge;
	util_lock(&bad->lock);
	must(!ibv_post_send(bad->qp, &wr, &failed));
	util_unlock(&bad->lock);
	expect_reset(good);
	must(sdp_link_wait(bad, SDP_LINK_CLOSED, soon()) > 0);
	must(!ibv_dereg_mr(mr));
}

/* T14: the carrier ends between Hello and HelloAck. */
static void *end_behind_hello(void *arg)
{
	int fd = *(int *)arg;
	uint8_t hello[SDP_HELLO_SIZE];
	struct linger at_once = { .l_onoff = 1 };

	must(recv(fd, hello, sizeof(hello), MSG_WAITALL) == sizeof(hello));
	must(hello[3] == SDP_MID_HELLO);
	must(!setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)));
	close(fd);
	return NULL;
}

static void connect_in_vain(void)
{
	struct sdp_outcome outcome;
	struct sdp_link *link = NULL;
	pthread_t thread;
	int fds[2], ret;

	pair_tcp(fds);
	must(!pthread_create(&thread, NULL, end_behind_hello, &fds[1]));
	ret = sdp_link_connect_fd(&link, fds[0], NULL, soon(), &outcome);
	printf("no HelloAck: %s: %s\n", strerror(-ret), outcome.text);
	must(ret == -ECONNREFUSED || ret == -ECONNRESET);
	must(outcome.reason != SDP_REASON_NONE);
	must(!link);
	pthread_join(thread, NULL);
	close(fds[0]);
	drain_links();
}

/* ---- a Reply whose private data is no HelloAck ---- */

#define MPA_HEAD 20
#define MPA_ENHANCED 4

static void ack_cut(struct octets *o)
{
	o->len--;
}

static void ack_len_less(struct octets *o)
{
	o->buf[7]--;
}

static void ack_len_more(struct octets *o)
{
	o->buf[7]++;
	o->len++;
}

static void ack_padding(struct octets *o)
{
	o->buf[o->len++] = 1;
}

static void ack_hello(struct octets *o)
{
	o->buf[3] = SDP_MID_HELLO;
}

static void ack_mid(struct octets *o)
{
	o->buf[3] = 0x40;
}

static void ack_bufs(struct octets *o)
{
	o->buf[1] = 2;
}

static void ack_noise(struct octets *o)
{
	memset(o->buf, 0xa5, o->len);
}

static void ack_zeros(struct octets *o)
{
	memset(o->buf, 0, o->len - 1);
}

static const struct bad_ack {
	const char *name;
	void (*spoil)(struct octets *ack);
} bad_acks[] = {
	{ "27 octets", ack_cut },
	{ "Len 27", ack_len_less },
	{ "Len 29", ack_len_more },
	{ "padding of 1", ack_padding },
	{ "MID of Hello", ack_hello },
	{ "MID 0x40", ack_mid },
	{ "Bufs 2", ack_bufs },
	{ "0xa5", ack_noise },
	{ "zeros but the last", ack_zeros },
};

struct replier {
	int fd;
	const struct bad_ack *bad; /* NULL: a good HelloAck */
};

static void read_exactly(int fd, void *buf, size_t len)
{
	must(recv(fd, buf, len, MSG_WAITALL) == (ssize_t)len);
}

/* Answers an MPA Request of revision 2, and waits for the end. */
static void *reply(void *arg)
{
	const struct replier *r = arg;
	struct octets ack =
		message((struct sdp_msg){ .mid = SDP_MID_HELLO_ACK,
					  .hello = { .max_adverts = 1,
						     .min_v = 1,
						     .maj_v = 1,
						     .rcv_sz = 1000,
						     .ird = 1,
						     .ord = 1 } },
			0);
	uint8_t frame[MPA_HEAD + MPA_ENHANCED + OCTETS_MAX];
	uint8_t hello[SDP_HELLO_SIZE];

	read_exactly(r->fd, frame, MPA_HEAD + MPA_ENHANCED);
	must(frame[17] == 2 && frame[19] == MPA_ENHANCED + SDP_HELLO_SIZE);
	read_exactly(r->fd, hello, sizeof(hello));
	must(hello[3] == SDP_MID_HELLO);
	if (r->bad)
		r->bad->spoil(&ack);
	memcpy(frame, "MPA ID Rep Frame", 16);
	frame[19] = (uint8_t)(MPA_ENHANCED + ack.len);
	/* An RTR by a Write: A of IRD and C of ORD. */
	memcpy(frame + MPA_HEAD, (uint8_t[]){ 0x80, 1, 0x80, 1 }, MPA_ENHANCED);
	memcpy(frame + MPA_HEAD + MPA_ENHANCED, ack.buf, ack.len);
	must(send(r->fd, frame, MPA_HEAD + (size_t)frame[19], MSG_NOSIGNAL) ==
	     MPA_HEAD + frame[19]);
	while (recv(r->fd, hello, sizeof(hello), 0) > 0)
		;
	close(r->fd);
	return NULL;
}

/* The start fails when the Reply comes, and the log says why. */
static void connect_to(const struct bad_ack *bad)
{
	struct sdp_link_options opt = SDP_LINK_OPTIONS_INIT;
	struct replier r = { .bad = bad };
	struct sdp_link *link = NULL;
	struct sdp_outcome outcome;
	pthread_t thread;
	int fds[2], fd = -1, old_stderr, ret;

	printf("HelloAck: %s\n", bad ? bad->name : "good");
	fflush(stdout);
	pair_tcp(fds);
	r.fd = fds[1];
	must(!pthread_create(&thread, NULL, reply, &r));
	opt.conn.carrier = SDP_CM_PRIV;
	if (bad)
		fd = log_begin(&old_stderr);
	ret = sdp_link_connect_fd(&link, fds[0], &opt, soon(), &outcome);
	if (bad)
		log_end(fd, old_stderr);
	printf("%s\n", outcome.text);
	must(ret == (bad ? -EPROTO : 0));
	must(outcome.reason == (bad ? SDP_REASON_NOT_SDP : SDP_REASON_NONE));
	must(!bad == !!link);
	if (link)
		sdp_link_close(link, 0);
	close(fds[0]);
	pthread_join(thread, NULL);
	drain_links();
}

int main(void)
{
	static const struct sdp_msg discon = { .mid = SDP_MID_DISCONN };
	static const struct sdp_msg empty = { .mid = SDP_MID_DATA };
	struct held before, after;

	/* The first one opens the device. */
	with_pair(send_bad, &bad_messages[0]);
	before = held_now();
	for (size_t i = 0; i < sizeof(bad_messages) / sizeof(*bad_messages);
	     i++)
		with_pair(send_bad, &bad_messages[i]);
	for (int i = 0; i < 20; i++)
		connect_in_vain();
	connect_to(NULL);
	for (size_t i = 0; i < sizeof(bad_acks) / sizeof(*bad_acks); i++)
		connect_to(&bad_acks[i]);
	with_pair(read_late, NULL);
	with_pair(send_before_start, NULL);
	with_pair(send_twice, &discon);
	with_pair(send_twice, &empty);
	for (uint64_t seed = 1; seed <= 40; seed++)
		with_pair(send_noise, &seed);
	after = held_now();
	must(after.links == 0);
	must(after.pool_used == before.pool_used);
	return 0;
}

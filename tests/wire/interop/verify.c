/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Verifies data in both directions: an rdma_cm pair sends, writes and reads
 * patterns of each size between two stacks, and compares what arrived,
 * including guards.
 *
 *   verify -s [options]              serve, until the connections are done
 *   verify -c ADDRESS [options]      connect
 *
 *   -p PORT  -a ADDRESS (bind)  -S SIZE,SIZE,...  -n CONNECTIONS
 *   -d OCTETS   private data each way        -r DEPTH   IRD and ORD
 *   -f          the accepting side sends first, as soon as it is established
 *   -q MS       with -f, on the connecting side: nothing may arrive for this
 *               time; then this side sends something, and data must arrive
 *   -x          connect only to be rejected with private data
 *   -b          WRITE to an STag that does not exist; the connection must be
 *               terminated, and the other side continues to serve
 *
 * Both sides execute the same script. Small SENDs are tokens. The side that
 * moves data sends a token that names the operation, and the other side
 * compares.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#define GUARD 64
#define GUARD_OCTET 0xa5
#define SIZE_MAX_CNT 64
#define PD_MAX 255
#define LIMIT_MS 60000 /* the other side may be a slow guest */
#define BURST 16
#define RECV_CNT 4
#define TOKEN_SIZE 32

struct options {
	bool is_server, is_first, is_rejecting, is_breaking;
	const char *address, *port;
	size_t size[SIZE_MAX_CNT], size_cnt, size_max;
	int connections, depth, quiet_ms;
	size_t pd_len;
};

static struct options opt = {
	.port = "7174",
	.connections = 1,
	.depth = 4,
	.quiet_ms = 0,
};

/* What one side tells the other about its memory and its last operation. */
struct token {
	uint32_t word;
	uint32_t rkey;
	uint64_t addr;
	uint64_t len;
};

enum { WORD_HELLO = 1, WORD_WRITTEN, WORD_READ, WORD_BURST, WORD_END };

struct side {
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	/* data: guard, size_max and guard, shared with the peer. src: data to
	 * send. slots: receives. */
	uint8_t *data, *src, *slots;
	struct ibv_mr *data_mr, *src_mr, *slots_mr;
	size_t slot_size;
	struct token peer;
	uint32_t recv_head, recv_len[RECV_CNT];
	int recv_ready, done_cnt;
	bool is_passive;
};

static void die(const char *what, int err)
{
	fprintf(stderr, "verify: %s: %s\n", what, err ? strerror(err) : "bad");
	exit(1);
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ---- patterns ---- */

/* Depends on side, step and position. The period is prime to that of any
 * FPDU. */
static uint8_t pattern_at(uint32_t seed, size_t pos)
{
	uint32_t x = (uint32_t)pos * 2654435761u ^ seed * 40503u;

	return (uint8_t)(x >> 24 ^ x >> 11 ^ pos % 251);
}

static void pattern_fill(uint8_t *p, size_t len, uint32_t seed)
{
	for (size_t i = 0; i < len; i++)
		p[i] = pattern_at(seed, i);
}

static void pattern_check(const char *what, const uint8_t *p, size_t len,
			  uint32_t seed)
{
	for (size_t i = 0; i < len; i++) {
		if (p[i] == pattern_at(seed, i))
			continue;
		fprintf(stderr,
			"verify: %s of %zu octets: octet %zu is %02x, "
			"not %02x\n",
			what, len, i, p[i], pattern_at(seed, i));
		exit(1);
	}
}

static void guard_check(const char *what, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < GUARD; i++) {
		if (p[-1 - (ssize_t)i] == GUARD_OCTET &&
		    p[len + i] == GUARD_OCTET)
			continue;
		fprintf(stderr,
			"verify: %s of %zu octets: wrote beside the "
			"buffer, %zu octets off\n",
			what, len, i);
		exit(1);
	}
}

/* ---- verbs ---- */

static struct ibv_mr *region(struct side *s, uint8_t **ret_buf, size_t len)
{
	struct ibv_mr *mr;

	*ret_buf = malloc(len);
	if (!*ret_buf)
		die("malloc", ENOMEM);
	memset(*ret_buf, GUARD_OCTET, len);
	mr = ibv_reg_mr(s->pd, *ret_buf, len,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_READ);
	if (!mr)
		die("ibv_reg_mr", errno);
	return mr;
}

static void post_recv(struct side *s, uint32_t slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)s->slots + slot * s->slot_size,
		.length = (uint32_t)s->slot_size,
		.lkey = s->slots_mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = slot,
				  .sg_list = &sge,
				  .num_sge = 1 };
	struct ibv_recv_wr *bad;
	int ret = ibv_post_recv(s->id->qp, &wr, &bad);

	if (ret)
		die("ibv_post_recv", ret);
}

static void side_init(struct side *s, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 2 * BURST + 4,
			 .max_recv_wr = RECV_CNT,
			 .max_send_sge = 2,
			 .max_recv_sge = 1 },
	};

	*s = (struct side){ .id = id };
	s->pd = ibv_alloc_pd(id->verbs);
	s->cq = ibv_create_cq(id->verbs, 128, NULL, NULL, 0);
	if (!s->pd || !s->cq)
		die("pd or cq", errno);
	attr.send_cq = attr.recv_cq = s->cq;
	if (rdma_create_qp(id, s->pd, &attr))
		die("rdma_create_qp", errno);
	s->slot_size = opt.size_max < TOKEN_SIZE ? TOKEN_SIZE : opt.size_max;
	s->data_mr = region(s, &s->data, opt.size_max + 2 * GUARD + 8);
	s->src_mr = region(s, &s->src, opt.size_max + 8);
	s->slots_mr = region(s, &s->slots, RECV_CNT * s->slot_size);
	for (uint32_t i = 0; i < RECV_CNT; i++)
		post_recv(s, i);
}

static void side_fini(struct side *s)
{
	rdma_destroy_qp(s->id);
	ibv_dereg_mr(s->data_mr);
	ibv_dereg_mr(s->src_mr);
	ibv_dereg_mr(s->slots_mr);
	ibv_destroy_cq(s->cq);
	ibv_dealloc_pd(s->pd);
	free(s->data);
	free(s->src);
	free(s->slots);
}

static bool side_poll(struct side *s)
{
	struct ibv_wc wc;
	int ret = ibv_poll_cq(s->cq, 1, &wc);

	if (ret < 0)
		die("ibv_poll_cq", errno);
	if (ret == 0)
		return false;
	if (wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "verify: work request %s (opcode %d)\n",
			ibv_wc_status_str(wc.status), wc.opcode);
		exit(1);
	}
	if (wc.opcode & IBV_WC_RECV) {
		uint32_t slot =
			(s->recv_head + (uint32_t)s->recv_ready) % RECV_CNT;

		if (wc.wr_id != slot)
			die("receives out of order", 0);
		s->recv_len[slot] = wc.byte_len;
		s->recv_ready++;
	} else {
		s->done_cnt++;
	}
	return true;
}

static void wait_done(struct side *s, int cnt)
{
	int64_t limit = now_ms() + LIMIT_MS;

	while (s->done_cnt < cnt)
		if (!side_poll(s) && now_ms() > limit)
			die("send queue", ETIMEDOUT);
	s->done_cnt -= cnt;
}

/* The oldest message. It stays valid until recv_release(). */
static const uint8_t *recv_wait(struct side *s, size_t *ret_len)
{
	int64_t limit = now_ms() + LIMIT_MS;

	while (s->recv_ready == 0)
		if (!side_poll(s) && now_ms() > limit)
			die("waiting for a message", ETIMEDOUT);
	*ret_len = s->recv_len[s->recv_head];
	return s->slots + s->recv_head * s->slot_size;
}

static void recv_release(struct side *s)
{
	post_recv(s, s->recv_head);
	s->recv_head = (s->recv_head + 1) % RECV_CNT;
	s->recv_ready--;
}

static void post_send(struct side *s, struct ibv_send_wr *wr, uint64_t raddr,
		      uint32_t rkey)
{
	struct ibv_send_wr *bad;
	int ret;

	wr->wr.rdma.remote_addr = raddr;
	wr->wr.rdma.rkey = rkey;
	ret = ibv_post_send(s->id->qp, wr, &bad);
	if (ret)
		die("ibv_post_send", ret);
}

static void post(struct side *s, enum ibv_wr_opcode opcode, const void *at,
		 size_t len, uint32_t lkey, uint64_t raddr, uint32_t rkey)
{
	struct ibv_sge sge = { .addr = (uintptr_t)at,
			       .length = (uint32_t)len,
			       .lkey = lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED };

	post_send(s, &wr, raddr, rkey);
}

/* Two pieces, the first of an odd length, test gathering at the sender. Neither
 * is empty: siw 6.1 reads an empty one as a pointer and crashes. */
static void post_gather(struct side *s, enum ibv_wr_opcode opcode, size_t len,
			uint64_t raddr, uint32_t rkey)
{
	size_t first = len / 3;
	struct ibv_sge sge[2] = {
		{ (uintptr_t)s->src, (uint32_t)first, s->src_mr->lkey },
		{ (uintptr_t)s->src + first, (uint32_t)(len - first),
		  s->src_mr->lkey },
	};
	struct ibv_send_wr wr = { .sg_list = first ? sge : sge + 1,
				  .num_sge = first ? 2 : 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED };

	post_send(s, &wr, raddr, rkey);
}

/* ---- tokens ---- */

static void token_send(struct side *s, uint32_t word, uint64_t len)
{
	struct token t = { .word = word,
			   .rkey = s->data_mr->rkey,
			   .addr = (uintptr_t)s->data + GUARD,
			   .len = len };

	memcpy(s->src, &t, sizeof(t));
	post(s, IBV_WR_SEND, s->src, sizeof(t), s->src_mr->lkey, 0, 0);
	wait_done(s, 1);
}

static void token_wait(struct side *s, uint32_t word, uint64_t len)
{
	struct token t;
	size_t got;
	const uint8_t *p = recv_wait(s, &got);

	if (got != sizeof(t))
		die("token of a wrong length", 0);
	memcpy(&t, p, sizeof(t));
	if (t.word != word || t.len != len) {
		fprintf(stderr, "verify: token %u/%llu, not %u/%llu\n", t.word,
			(unsigned long long)t.len, word,
			(unsigned long long)len);
		exit(1);
	}
	s->peer = t;
	recv_release(s);
}

/* ---- the script ---- */

static uint32_t seed_of(int mover, int step, size_t len)
{
	return (uint32_t)len * 8 + (uint32_t)step * 2 + (uint32_t)mover;
}

/* One side moves data in each way. The other side compares. */
static void move(struct side *s, int mover, size_t len)
{
	size_t off = len % 7;

	/* SEND */
	pattern_fill(s->src, len, seed_of(mover, 0, len));
	post_gather(s, IBV_WR_SEND, len, 0, 0);
	wait_done(s, 1);
	/* WRITE to an unaligned address */
	pattern_fill(s->src, len, seed_of(mover, 1, len));
	post_gather(s, IBV_WR_RDMA_WRITE, len, s->peer.addr + off,
		    s->peer.rkey);
	wait_done(s, 1);
	token_send(s, WORD_WRITTEN, len);
	token_wait(s, WORD_READ, len); /* compared and filled again */
	/* READ what the peer has put there into the space between guards */
	memset(s->data, GUARD_OCTET, len + 2 * GUARD + 8);
	post(s, IBV_WR_RDMA_READ, s->data + GUARD + off, len, s->data_mr->lkey,
	     s->peer.addr + off, s->peer.rkey);
	wait_done(s, 1);
	pattern_check("READ", s->data + GUARD + off, len,
		      seed_of(mover, 2, len));
	guard_check("READ", s->data + GUARD + off, len);
	token_send(s, WORD_END, len);
}

static void compare(struct side *s, int mover, size_t len)
{
	size_t off = len % 7, got;
	const uint8_t *p;

	memset(s->data, GUARD_OCTET, len + 2 * GUARD + 8);
	/* No data may move before the guards are set. */
	token_send(s, WORD_HELLO, len);
	p = recv_wait(s, &got);
	if (got != len)
		die("SEND of a wrong length", 0);
	pattern_check("SEND", p, len, seed_of(mover, 0, len));
	recv_release(s);
	token_wait(s, WORD_WRITTEN, len);
	pattern_check("WRITE", s->data + GUARD + off, len,
		      seed_of(mover, 1, len));
	guard_check("WRITE", s->data + GUARD + off, len);
	pattern_fill(s->data + GUARD + off, len, seed_of(mover, 2, len));
	token_send(s, WORD_READ, len);
	token_wait(s, WORD_END, len);
}

/* Many operations at once: WRITEs, and READs of the written data. */
static void burst_move(struct side *s)
{
	size_t piece = opt.size_max / BURST;

	pattern_fill(s->src, piece * BURST, 77);
	for (size_t i = 0; i < BURST; i++) {
		post(s, IBV_WR_RDMA_WRITE, s->src + i * piece, piece,
		     s->src_mr->lkey, s->peer.addr + i * piece, s->peer.rkey);
		post(s, IBV_WR_RDMA_READ, s->data + GUARD + i * piece, piece,
		     s->data_mr->lkey, s->peer.addr + i * piece, s->peer.rkey);
	}
	wait_done(s, 2 * BURST);
	pattern_check("burst of READs", s->data + GUARD, piece * BURST, 77);
	token_send(s, WORD_BURST, piece);
}

static void burst_compare(struct side *s)
{
	size_t piece = opt.size_max / BURST;

	token_wait(s, WORD_BURST, piece);
	pattern_check("burst of WRITEs", s->data + GUARD, piece * BURST, 77);
}

/* The side that must not send first sends nothing, then it sends. */
static void first_words(struct side *s)
{
	int64_t limit = now_ms() + opt.quiet_ms;

	if (!opt.is_first)
		return;
	if (s->is_passive) {
		token_send(s, WORD_HELLO, 0);
		token_wait(s, WORD_END, 0);
		return;
	}
	while (now_ms() < limit)
		if (side_poll(s))
			die("something came before our first message", 0);
	if (opt.quiet_ms) {
		token_send(s, WORD_END, 0);
		token_wait(s, WORD_HELLO, 0);
	} else {
		token_wait(s, WORD_HELLO, 0);
		token_send(s, WORD_END, 0);
	}
}

static void script(struct side *s)
{
	first_words(s);
	if (!s->is_passive) /* the connecting side sends first */
		token_send(s, WORD_HELLO, opt.size_cnt);
	else
		token_wait(s, WORD_HELLO, opt.size_cnt);
	for (size_t i = 0; i < opt.size_cnt; i++) {
		for (int mover = 0; mover < 2; mover++) {
			if ((mover == 1) == s->is_passive) {
				token_wait(s, WORD_HELLO, opt.size[i]);
				move(s, mover, opt.size[i]);
			} else {
				compare(s, mover, opt.size[i]);
			}
		}
	}
	if (opt.size_max >= BURST) {
		/* The side that compared last has the address of the peer's
		 * buffer. */
		if (s->is_passive) {
			burst_move(s);
			token_wait(s, WORD_END, 1);
			burst_compare(s);
		} else {
			burst_compare(s);
			token_send(s, WORD_END, 1);
			burst_move(s);
		}
	}
	/* When the peer has answered, it has received everything. */
	if (s->is_passive) {
		token_wait(s, WORD_END, 99);
		token_send(s, WORD_END, 100);
	} else {
		token_send(s, WORD_END, 99);
		token_wait(s, WORD_END, 100);
	}
}

/* A WRITE with an invalid STag: the peer terminates the connection, and the
 * requests are flushed. */
static void break_in(struct side *s)
{
	int64_t limit = now_ms() + LIMIT_MS;
	struct ibv_wc wc;
	int ret = 0;

	post(s, IBV_WR_RDMA_WRITE, s->src, 8, s->src_mr->lkey, 4096,
	     0x51525300);
	while (now_ms() < limit) {
		ret = ibv_poll_cq(s->cq, 1, &wc);
		if (ret > 0 && wc.status != IBV_WC_SUCCESS)
			break;
	}
	if (ret <= 0)
		die("waiting for the connection to be terminated", ETIMEDOUT);
	printf("terminated: %s\n", ibv_wc_status_str(wc.status));
}

/* ---- connections ---- */

static struct rdma_cm_event *event_wait(struct rdma_event_channel *chan,
					enum rdma_cm_event_type type)
{
	struct pollfd pfd = { .fd = chan->fd, .events = POLLIN };
	static struct rdma_cm_event *next; /* arrived early */
	struct rdma_cm_event *event = NULL;

	if (next && type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		event = next;
		next = NULL;
	}
	while (!event) {
		if (poll(&pfd, 1, LIMIT_MS) != 1)
			die(rdma_event_str(type), ETIMEDOUT);
		if (rdma_get_cm_event(chan, &event))
			die("rdma_get_cm_event", errno);
		/* The peer's next connection may overtake the end of this
		 * one. */
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST &&
		    event->event != type && !next) {
			next = event;
			event = NULL;
		}
	}
	if (event->event != type) {
		fprintf(stderr, "verify: %s, status %d, instead of %s\n",
			rdma_event_str(event->event), event->status,
			rdma_event_str(type));
		exit(1);
	}
	return event;
}

static void event_skip(struct rdma_event_channel *chan,
		       enum rdma_cm_event_type type)
{
	rdma_ack_cm_event(event_wait(chan, type));
}

static void param_fill(struct rdma_conn_param *param, uint8_t *pd, int from)
{
	pattern_fill(pd, opt.pd_len, (uint32_t)(500 + from));
	*param = (struct rdma_conn_param){
		.private_data = opt.pd_len ? pd : NULL,
		.private_data_len = (uint8_t)opt.pd_len,
		.responder_resources = (uint8_t)opt.depth,
		.initiator_depth = (uint8_t)opt.depth,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
}

static void pd_check(const struct rdma_cm_event *event, int from)
{
	const struct rdma_conn_param *param = &event->param.conn;

	if (param->private_data_len < opt.pd_len) {
		fprintf(stderr, "verify: %u octets of private data, not %zu\n",
			param->private_data_len, opt.pd_len);
		exit(1);
	}
	pattern_check("private data", param->private_data, opt.pd_len,
		      (uint32_t)(500 + from));
}

/* Return: whether to count the connection. */
static bool client_once(struct rdma_event_channel *chan,
			struct sockaddr_in *address)
{
	struct rdma_conn_param param;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	uint8_t pd[PD_MAX];
	struct side s;
	int err;

	if (rdma_create_id(chan, &id, NULL, RDMA_PS_TCP))
		die("rdma_create_id", errno);
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)address, 5000))
		die("rdma_resolve_addr", errno);
	event_skip(chan, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(id, 5000))
		die("rdma_resolve_route", errno);
	event_skip(chan, RDMA_CM_EVENT_ROUTE_RESOLVED);
	side_init(&s, id);
	param_fill(&param, pd, 0);
	err = rdma_connect(id, &param) ? errno : 0;
	if (err == EADDRNOTAVAIL || err == EADDRINUSE) {
		/* siw has chosen a port in TIME_WAIT, or one that TCP uses */
		side_fini(&s);
		rdma_destroy_id(id);
		return false;
	}
	if (err)
		die("rdma_connect", err);
	event = event_wait(chan, opt.is_rejecting ? RDMA_CM_EVENT_REJECTED
						  : RDMA_CM_EVENT_ESTABLISHED);
	pd_check(event, 1);
	rdma_ack_cm_event(event);
	if (opt.is_breaking) {
		/* siw does not report a violation before the connection is
		 * established, and cannot be ended then */
		token_send(&s, WORD_HELLO, 1);
		token_wait(&s, WORD_HELLO, 2);
		break_in(&s);
	} else if (!opt.is_rejecting) {
		script(&s);
		rdma_disconnect(id);
		event_skip(chan, RDMA_CM_EVENT_DISCONNECTED);
	}
	side_fini(&s);
	rdma_destroy_id(id);
	return true;
}

static void server_once(struct rdma_event_channel *chan)
{
	struct rdma_conn_param param;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	uint8_t pd[PD_MAX];
	struct side s;

	event = event_wait(chan, RDMA_CM_EVENT_CONNECT_REQUEST);
	id = event->id;
	pd_check(event, 0);
	rdma_ack_cm_event(event);
	param_fill(&param, pd, 1);
	if (opt.is_rejecting) {
		if (rdma_reject(id, param.private_data, param.private_data_len))
			die("rdma_reject", errno);
		rdma_destroy_id(id);
		return;
	}
	side_init(&s, id);
	s.is_passive = true;
	if (rdma_accept(id, &param))
		die("rdma_accept", errno);
	event_skip(chan, RDMA_CM_EVENT_ESTABLISHED);
	if (opt.is_breaking) {
		token_wait(&s, WORD_HELLO, 1);
		token_send(&s, WORD_HELLO, 2);
	} else {
		script(&s);
	}
	event_skip(chan, RDMA_CM_EVENT_DISCONNECTED);
	if (!opt.is_breaking)
		rdma_disconnect(id);
	side_fini(&s);
	rdma_destroy_id(id);
}

static void options_parse(int argc, char **argv)
{
	char *word;
	int o;

	while ((o = getopt(argc, argv, "sc:p:a:S:n:d:r:fq:xb")) != -1) {
		switch (o) {
		case 's':
			opt.is_server = true;
			break;
		case 'c':
		case 'a':
			opt.address = optarg;
			break;
		case 'p':
			opt.port = optarg;
			break;
		case 'S':
			for (word = strtok(optarg, ",");
			     word && opt.size_cnt < SIZE_MAX_CNT;
			     word = strtok(NULL, ",")) {
				size_t size = strtoul(word, NULL, 0);

				opt.size[opt.size_cnt++] = size;
				if (size > opt.size_max)
					opt.size_max = size;
			}
			break;
		case 'n':
			opt.connections = atoi(optarg);
			break;
		case 'd':
			opt.pd_len = strtoul(optarg, NULL, 0);
			break;
		case 'r':
			opt.depth = atoi(optarg);
			break;
		case 'f':
			opt.is_first = true;
			break;
		case 'q':
			opt.quiet_ms = atoi(optarg);
			break;
		case 'x':
			opt.is_rejecting = true;
			break;
		case 'b':
			opt.is_breaking = true;
			break;
		default:
			exit(2);
		}
	}
	if (opt.pd_len > PD_MAX || opt.size_cnt == 0 ||
	    (!opt.is_server && !opt.address))
		exit(2);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	struct rdma_event_channel *chan;
	struct rdma_cm_id *listener;

	options_parse(argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	address.sin_port = htons((uint16_t)atoi(opt.port));
	if (opt.address &&
	    inet_pton(AF_INET, opt.address, &address.sin_addr) != 1)
		die("address", EINVAL);
	chan = rdma_create_event_channel();
	if (!chan)
		die("rdma_create_event_channel", errno);
	if (!opt.is_server) {
		for (int i = 0, tries = 0; i < opt.connections;
		     i += client_once(chan, &address))
			if (tries++ > opt.connections + 10)
				die("rdma_connect", EADDRNOTAVAIL);
	} else {
		if (rdma_create_id(chan, &listener, NULL, RDMA_PS_TCP))
			die("rdma_create_id", errno);
		if (rdma_bind_addr(listener, (struct sockaddr *)&address))
			die("rdma_bind_addr", errno);
		if (rdma_listen(listener, 16))
			die("rdma_listen", errno);
		for (int i = 0; i < opt.connections; i++)
			server_once(chan);
		rdma_destroy_id(listener);
	}
	rdma_destroy_event_channel(chan);
	printf("verified: %d connections, %zu sizes\n", opt.connections,
	       opt.size_cnt);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Connection out of band: single frames, and the links of two QPs. Unexpected
 * peers connect to the ports of the QPs, and answer their connections.
 *
 * The sockets are socket pairs, and the fuzzer has their other ends. Only the
 * fuzzer runs the connection manager, so a run can be repeated. QP numbers and
 * nonces differ in each process, so the input refers to them by kind. A QP may
 * get its stream only from a peer that has sent the right frames at the right
 * time.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop/loop.h"
#include "os/netif.h"
#include "qp/qp-num.h"
#include "oob/frame.h"
#include "oob/link.h"
#include "oob/oob.h"
#include "start/start.h"
#include "rnicpair.h"
#include "os/tcp.h"

enum step {
	STEP_WAIT,   /* QP, kind of peer: RTR */
	STEP_RESET,  /* QP */
	STEP_COME,   /* host: an unexpected peer dials the port */
	STEP_FRAME,  /* unexpected peer, two kinds of number, change, cut */
	STEP_OCTETS, /* unexpected peer, length octet, so many octets */
	STEP_LEAVE,  /* unexpected peer */
	STEP_REFUSE, /* the next dialled connections fail, or not */
	STEP_LATER,  /* all time limits pass */
	STEP_CNT
};

/* Lower than any QP number of this process: the QP dials. Higher: it
 * accepts. */
#define FOREIGN_LOW 0x040105u
#define FOREIGN_HIGH 0xffff05u
#define PEERS 16
#define FDS 1024
#define STEPS_MAX 64

#define REQUEST "MPA ID Req Frame\x50\x02\x00\x1c\xc0\x04\xc0\x04"
#define REPLY "MPA ID Rep Frame\x50\x02\x00\x1c\x80\x04\x80\x04"
#define HEAD_LEN 24
#define FRAME_LEN (HEAD_LEN + OOB_FRAME_LEN)

struct input {
	const uint8_t *p, *end;
};

static struct rnicpair pair;
static const struct rnicpair_options options = {
	.max_wr = 4,
	.max_sge = 1,
	.cqe = 16,
	.buf_len = 4096,
	.ird = 4,
	.ord = 4,
};
static struct rnic_tcp_ops real;

/* The peers of one input. */
static struct peer {
	int fd;		  /* the fuzzer's end; -1: none */
	bool is_answerer; /* answers a QP that dials */
	bool is_foreign;  /* its address was not given to any QP */
} peers[PEERS];
static uint32_t peer_cnt;
static int queue[PEERS]; /* waiting to be accepted */
static uint32_t queue_cnt;
static bool is_foreign_fd[FDS], is_ours_fd[FDS];
/* Only this thread has sockets of these; a completion thread has files. */
static _Thread_local bool has_sockets;
static bool is_refusing;
static uint32_t dest_num[2];
/* The peers from which each QP got a valid Request. A Request may wait until
 * its QP is given the peer. */
static uint32_t heard_of[2][STEPS_MAX];
static uint32_t heard_cnt[2];

static uint8_t octet(struct input *in)
{
	return in->p < in->end ? *in->p++ : 0;
}

/* ---- sockets ---- */

static void peer_add(int fd, bool is_answerer, bool is_foreign)
{
	struct peer *s = &peers[peer_cnt % PEERS];

	if (s->fd >= 0)
		close(s->fd);
	*s = (struct peer){ fd, is_answerer, is_foreign };
	peer_cnt++;
}

static int socket_new(bool is_answerer, bool is_foreign)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
		       fd) < 0)
		return -1;
	fuzz_assert(fd[0] < FDS);
	is_ours_fd[fd[0]] = true;
	is_foreign_fd[fd[0]] = is_foreign;
	peer_add(fd[1], is_answerer, is_foreign);
	return fd[0];
}

int __real_rnic_fd_own(int fd);
int __wrap_rnic_fd_own(int fd);

/* The record of a socket moves to its new number. */
int __wrap_rnic_fd_own(int fd)
{
	int owned = __real_rnic_fd_own(fd);

	fuzz_assert(owned < FDS);
	if (has_sockets && owned >= 0 && owned != fd) {
		is_ours_fd[owned] = is_ours_fd[fd];
		is_foreign_fd[owned] = is_foreign_fd[fd];
		is_ours_fd[fd] = false;
	}
	return owned;
}

static int fake_socket(int family, int type, int protocol)
{
	if ((type & 0xf) != SOCK_STREAM)
		return real.socket(family, type, protocol);
	return socket_new(true, false);
}

static int fake_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	return is_ours_fd[fd] ? 0 : real.bind(fd, addr, len);
}

static int fake_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	(void)fd;
	(void)addr;
	(void)len;
	errno = EINPROGRESS;
	return -1;
}

static int fake_accept4(int fd, struct sockaddr *addr, socklen_t *len,
			int flags)
{
	(void)fd;
	(void)addr;
	(void)len;
	(void)flags;
	if (!queue_cnt) {
		errno = EAGAIN;
		return -1;
	}
	return queue[--queue_cnt];
}

static int fake_name(struct sockaddr *addr, socklen_t *len, uint32_t host,
		     uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(host) };

	fuzz_assert(*len >= sizeof(in));
	memcpy(addr, &in, sizeof(in));
	*len = sizeof(in);
	return 0;
}

static int fake_getsockname(int fd, struct sockaddr *addr, socklen_t *len)
{
	if (!is_ours_fd[fd])
		return real.getsockname(fd, addr, len);
	return fake_name(addr, len, INADDR_LOOPBACK, 1);
}

static int fake_getpeername(int fd, struct sockaddr *addr, socklen_t *len)
{
	return fake_name(addr, len, INADDR_LOOPBACK + is_foreign_fd[fd], 2);
}

static int fake_getsockopt(int fd, int level, int name, void *val,
			   socklen_t *len)
{
	int value = 0;

	if (level == SOL_SOCKET && name == SO_ERROR)
		value = is_refusing ? ECONNREFUSED : 0;
	else if (level == IPPROTO_TCP && name == TCP_MAXSEG)
		value = 1448;
	else
		return real.getsockopt(fd, level, name, val, len);
	memcpy(val, &value, sizeof(value));
	return 0;
}

/* ---- the network ---- */

/* The kernel's answer would take most of the time. It is always lo. */
int __wrap_rnic_netif_table_new(struct rnic_netif_table **ret_table);
int __wrap_rnic_netif_table_new(struct rnic_netif_table **ret_table)
{
	struct rnic_netif_table *table = calloc(1, sizeof(*table));

	fuzz_assert(table);
	table->netifs = calloc(1, sizeof(*table->netifs));
	table->addrs = calloc(1, sizeof(*table->addrs));
	fuzz_assert(table->netifs && table->addrs);
	atomic_init(&table->user_cnt, 1);
	table->netif_cnt = table->addr_cnt = 1;
	*table->netifs = (struct rnic_netif){ .ifindex = 1,
					      .name = "lo",
					      .mtu = 65536,
					      .is_loopback = true,
					      .is_up = true,
					      .is_running = true };
	*table->addrs = (struct rnic_netif_addr){ .ifindex = 1,
						  .family = AF_INET,
						  .addr = { 127, 0, 0, 1 } };
	*ret_table = table;
	return 0;
}

/* ---- the connection manager ---- */

/* Does the work of the manager's thread until nothing is left. */
static void manager_step(void)
{
	struct epoll_event ev[64];

	util_lock(&rnic_loop.lock);
	for (int i = 0; i < 2; i++)
		rnic_oob_listener_ready(rnic_qp_num(pair.side[i].qp));
	for (int turn = 0; turn < 8; turn++) {
		int cnt = epoll_wait(rnic_loop.epoll_fd, ev, 64, 0);

		for (int i = 0; i < cnt; i++) {
			uint64_t data = ev[i].data.u64;

			struct oob_link *link = rnic_ref_get(
				&rnic_starts, data & ~((uint64_t)0xff << 24));

			if ((data >> 24 & 0xff) == RNIC_LOOP_OOB_LINK && link)
				oob_link_ready(link);
		}
	}
	util_unlock(&rnic_loop.lock);
}

static void exit_without_thread(void)
{
	rnic_loop.is_started = false;
}

static void world_open(void)
{
	static struct rnic_tcp_ops fake;
	bool is_new;

	setenv("USIW_DRAIN_MS", "0", 1);
	setenv("USIW_HALF_OPEN_MAX", "4", 1);
	setenv("USIW_LOG", "none", 1);
	rnic_loop.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	rnic_loop.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rnic_loop.is_started = true;
	atexit(exit_without_thread);
	rnicpair_open_idle(&pair, &options);
	for (int i = 0; i < 2; i++) {
		fuzz_assert(rnic_qp_num_listen(rnic_qp_num(pair.side[i].qp),
					       &is_new) >= 0);
	}
	fake = real = *rnic_tcp();
	fake.socket = fake_socket;
	fake.bind = fake_bind;
	fake.connect = fake_connect;
	fake.accept4 = fake_accept4;
	fake.getsockname = fake_getsockname;
	fake.getpeername = fake_getpeername;
	fake.getsockopt = fake_getsockopt;
	rnic_tcp_replace(&fake);
}

static void qp_reset(int i)
{
	struct rnic_qp *qp = pair.side[i].qp;

	if (rnic_qp_state(qp) == RNIC_QPS_IDLE)
		return;
	fuzz_assert(rnic_qp_modify(qp, RNIC_QPS_ERROR) == 0);
	fuzz_assert(rnic_qp_modify(qp, RNIC_QPS_IDLE) == 0);
	dest_num[i] = 0;
}

/* ---- steps ---- */

static uint32_t number(uint8_t kind)
{
	switch (kind % 6) {
	case 0:
		return rnic_qp_num(pair.side[0].qp);
	case 1:
		return rnic_qp_num(pair.side[1].qp);
	case 2:
		return FOREIGN_LOW;
	case 3:
		return FOREIGN_HIGH;
	case 4:
		return 0x12; /* not a port */
	default:
		return rnic_qp_num(pair.side[0].qp) ^ 0x40;
	}
}

static void wait_for(int i, uint32_t peer)
{
	struct rnic_qp *qp = pair.side[i].qp;
	bool may = rnic_qp_state(qp) == RNIC_QPS_IDLE && rnic_qp_num_port(peer);
	int rc;

	if (peer == rnic_qp_num(qp))
		return; /* needs a real socket */
	rc = rnicpair_rtr(qp, peer);
	fuzz_assert(rc == (may ? 0 : -EINVAL));
	if (may)
		dest_num[i] = peer;
}

static void take_note(const struct peer *s, const uint8_t *pd, uint64_t nonce)
{
	struct oob_frame frame;

	if (s->is_foreign || oob_frame_decode(pd, OOB_FRAME_LEN, &frame) < 0)
		return;
	for (int i = 0; i < 2; i++) {
		if (frame.dst_num != rnic_qp_num(pair.side[i].qp))
			continue;
		if (!s->is_answerer ||
		    (frame.src_num == dest_num[i] && frame.nonce == nonce))
			heard_of[i][heard_cnt[i]++] = frame.src_num;
	}
}

/* The nonce of the Request that the QP has sent; 0: none yet. */
static uint64_t nonce_heard(const struct peer *s)
{
	uint8_t heard[FRAME_LEN + 8];
	struct oob_frame frame;

	if (recv(s->fd, heard, sizeof(heard), MSG_PEEK) < FRAME_LEN ||
	    oob_frame_decode(heard + HEAD_LEN, OOB_FRAME_LEN, &frame) < 0)
		return 0;
	return frame.nonce;
}

static void say(const struct peer *s, const uint8_t *octets, size_t len)
{
	(void)send(s->fd, octets, len, MSG_NOSIGNAL);
	manager_step();
}

static void say_frame(const struct peer *s, struct input *in)
{
	uint8_t from = octet(in), to = octet(in), at = octet(in),
		change = octet(in), cut = octet(in);
	uint64_t nonce = nonce_heard(s);
	uint8_t buf[FRAME_LEN];
	struct oob_frame frame = {
		.rnr_retry = 7,
		.src_num = number(from),
		.dst_num = number(to),
		.nonce = from & 0x80 ? 0 : nonce,
	};

	memcpy(buf, s->is_answerer ? REPLY : REQUEST, HEAD_LEN);
	oob_frame_encode(&frame, buf + HEAD_LEN);
	buf[at % FRAME_LEN] ^= change;
	take_note(s, buf + HEAD_LEN, nonce);
	say(s, buf, cut < FRAME_LEN ? FRAME_LEN - cut : FRAME_LEN);
}

static void say_octets(const struct peer *s, struct input *in)
{
	size_t len = octet(in), have = (size_t)(in->end - in->p);

	if (have > len)
		have = len;
	say(s, in->p, have);
	in->p += have;
}

static void come(bool is_foreign)
{
	int fd;

	if (queue_cnt == PEERS)
		return;
	fd = socket_new(false, is_foreign);
	if (fd < 0)
		return;
	queue[queue_cnt++] = fd;
	manager_step();
}

static void later(void)
{
	util_lock(&rnic_loop.lock);
	rnic_timers_fire(util_now_ns() + UINT64_C(100000000000));
	util_unlock(&rnic_loop.lock);
	manager_step();
}

static void peer_step(enum step step, struct input *in)
{
	struct peer *s = &peers[octet(in) % PEERS];

	if (s->fd < 0)
		return;
	if (step == STEP_FRAME) {
		say_frame(s, in);
	} else if (step == STEP_OCTETS) {
		say_octets(s, in);
	} else {
		close(s->fd);
		s->fd = -1;
		manager_step();
	}
}

static void run_step(struct input *in)
{
	enum step step = (enum step)(octet(in) % STEP_CNT);
	uint8_t which;

	switch (step) {
	case STEP_WAIT:
		which = octet(in) & 1;
		wait_for(which, number(octet(in)));
		manager_step();
		break;
	case STEP_RESET:
		qp_reset(octet(in) & 1);
		break;
	case STEP_COME:
		come(octet(in) & 1);
		break;
	case STEP_FRAME:
	case STEP_OCTETS:
	case STEP_LEAVE:
		peer_step(step, in);
		break;
	case STEP_REFUSE:
		is_refusing = octet(in) & 1;
		break;
	case STEP_LATER:
		later();
		break;
	case STEP_CNT:
		break;
	}
}

static void invariants(void)
{
	for (int i = 0; i < 2; i++) {
		enum rnic_qp_state state = rnic_qp_state(pair.side[i].qp);
		bool may = state == RNIC_QPS_IDLE ||
			   state == RNIC_QPS_CONNECTING;

		for (uint32_t j = 0; j < heard_cnt[i] && !may; j++)
			may = heard_of[i][j] == dest_num[i];
		fuzz_assert(may);
	}
}

static void check_frame(const uint8_t *data, size_t size)
{
	uint8_t again[OOB_FRAME_LEN];
	struct oob_frame frame;

	if (oob_frame_decode(data, size, &frame) < 0)
		return;
	fuzz_assert(size == OOB_FRAME_LEN);
	oob_frame_encode(&frame, again);
	fuzz_assert(!memcmp(data, again, OOB_FRAME_LEN));
}

static void run_begin(void)
{
	for (int i = 0; i < PEERS; i++)
		peers[i].fd = -1;
	peer_cnt = queue_cnt = 0;
	is_refusing = false;
	has_sockets = true;
	memset(is_ours_fd, 0, sizeof(is_ours_fd));
	memset(heard_cnt, 0, sizeof(heard_cnt));
	memset(dest_num, 0, sizeof(dest_num));
}

static void run_end(void)
{
	qp_reset(0);
	qp_reset(1);
	manager_step(); /* connections that wait to be accepted */
	util_lock(&rnic_loop.lock);
	rnic_loop.ops->close_all();
	for (uint32_t i = 0; i < rnic_starts.page_cnt * RNIC_REF_PAGE; i++)
		fuzz_assert(!rnic_ref_get_slot(&rnic_starts, i));
	util_unlock(&rnic_loop.lock);
	for (int i = 0; i < PEERS; i++)
		if (peers[i].fd >= 0)
			close(peers[i].fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };

	if (!real.socket)
		world_open();
	check_frame(data, size);
	run_begin();
	for (int i = 0; i < STEPS_MAX && in.p < in.end; i++) {
		run_step(&in);
		invariants();
	}
	run_end();
	return 0;
}

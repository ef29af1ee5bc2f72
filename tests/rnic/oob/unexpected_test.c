/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Many unexpected peers, and a shortage of descriptors: in each case two QPs
 * connect out of band without a long delay. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../harness/test.h"
#include "loop/ref.h"
#include "qp/qp-num.h"
#include "oob/frame.h"
#include "oob/link.h"
#include "start/start.h"
#include "oob/wait.h"
#include "rnicpair.h"
#include "tries.h"

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

#define HALF_OPEN_MAX 16
#define HALF_OPEN_STR "16"
/* A peer that had to wait for the time limit of an unexpected one would wait
 * this long. */
#define START_STR "30000"
/* No peer may wait this long for another reason. Less than the 10 s after which
 * a parked connection is dropped. */
#define SOON_MS 9000
/* Connections of the flood that wait to be accepted. Each is accepted before
 * later ones, at the speed of a slow machine. */
#define FLOOD_QUEUE_MAX 256

/* ---- peers ---- */

static int tcp_dial(uint32_t num)
{
	struct sockaddr_in dst = {
		.sin_family = AF_INET,
		.sin_port = htons(rnic_qp_num_port(num)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(fd >= 0);
	must(!connect(fd, (struct sockaddr *)&dst, sizeof(dst)));
	return fd;
}

/* The octets of a Request as the QP's peer would send it. */
static size_t request(uint32_t from, uint32_t to, uint8_t buf[64])
{
	static const uint8_t head[] = "MPA ID Req Frame\x50\x02\x00\x1c"
				      "\xc0\x01\xc0\x01";
	struct oob_frame frame = {
		.rnr_retry = 7,
		.src_num = from,
		.dst_num = to,
		.nonce = 4711,
	};

	memcpy(buf, head, 24);
	oob_frame_encode(&frame, buf + 24);
	return 24 + OOB_FRAME_LEN;
}

/* Not while one connection is accepted and another is dropped for it. */
static size_t fd_cnt(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t cnt = 0;

	must(dir);
	util_lock(&rnic_loop.lock);
	while (readdir(dir))
		cnt++;
	util_unlock(&rnic_loop.lock);
	closedir(dir);
	return cnt;
}

static bool has_links(void)
{
	bool ret = false;

	util_lock(&rnic_loop.lock);
	for (uint32_t i = 0; i < rnic_starts.page_cnt * RNIC_REF_PAGE; i++)
		ret = ret || rnic_ref_get_slot(&rnic_starts, i);
	util_unlock(&rnic_loop.lock);
	return ret;
}

/* Waits until everything of an earlier test is closed, because descriptors are
 * counted. */
static void wait_alone(void)
{
	wait_until(!has_links());
}

/* ---- two QPs that connect ---- */

static void wait_accept(struct rnicpair *p)
{
	rnicpair_rtr_to(rnicpair_acceptor(p), rnicpair_dialler(p));
}

static void come(struct rnicpair *p)
{
	rnicpair_rtr_to(rnicpair_dialler(p), rnicpair_acceptor(p));
}

static void meet_soon(struct rnicpair *p, uint64_t begin_ms)
{
	rnicpair_wait_rts(p);
	assert_true(until_ms() - begin_ms < SOON_MS);
}

/* Waits until that many connections are kept, of those whose other ends are
 * among the
 * @others. */
static void wait_kept(size_t others, size_t cnt)
{
	wait_until(fd_cnt() >= others + cnt);
}

/* ---- tests ---- */

/* More connections than may be half open, with no Request or with a part of
 * one. */
IDLE_PAIR_CASE(silent_connections_keep_no_peer_away)
{
	enum { CROWD = 200 };
	uint8_t octets[64];
	struct rnicpair *p = *state;
	int fd[CROWD];
	size_t before, len;
	uint32_t num;

	wait_accept(p);
	num = rnic_qp_num(rnicpair_acceptor(p));
	len = request(rnic_qp_num(rnicpair_dialler(p)), num, octets);
	before = fd_cnt();
	for (int i = 0; i < CROWD; i++) {
		size_t cut = (size_t)i % len;

		fd[i] = tcp_dial(num);
		/* It may be closed already. */
		if (cut)
			(void)send(fd[i], octets, cut, MSG_NOSIGNAL);
	}
	wait_kept(before + CROWD, HALF_OPEN_MAX / 2);
	assert_in_range(fd_cnt() - before - CROWD, 0, HALF_OPEN_MAX);
	assert_int_equal(rnic_qp_state(rnicpair_acceptor(p)),
			 RNIC_QPS_CONNECTING);
	come(p);
	meet_soon(p, until_ms());
	for (int i = 0; i < CROWD; i++)
		close(fd[i]);
}

static _Atomic bool flood_is_over;
static _Atomic uint32_t flood_cnt;

static int listener_of(uint32_t num)
{
	bool is_new;
	int fd = rnic_qp_num_listen(num, &is_new);

	must(fd >= 0);
	return fd;
}

/* Number of connections that wait to be accepted. */
static uint32_t queue_len(int listener)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	must(!getsockopt(listener, IPPROTO_TCP, TCP_INFO, &info, &len));
	return info.tcpi_unacked;
}

static bool has_waiting(int listener)
{
	struct pollfd pfd = { .fd = listener, .events = POLLIN };

	return poll(&pfd, 1, 0) > 0;
}

static void *flood(void *arg)
{
	const uint32_t num = *(const uint32_t *)arg;
	const int listener = listener_of(num);
	int fd[64];

	for (int i = 0; i < 64; i++)
		fd[i] = tcp_dial(num);
	for (int i = 0; !flood_is_over; i = (i + 1) % 64) {
		while (!flood_is_over && queue_len(listener) > FLOOD_QUEUE_MAX)
			sched_yield();
		close(fd[i]);
		fd[i] = tcp_dial(num);
		flood_cnt++;
	}
	for (int i = 0; i < 64; i++)
		close(fd[i]);
	return NULL;
}

/* They arrive as fast as they are accepted, while other peers connect one after
 * another. */
CASE(a_flood_of_connections_does_not_block_peers)
{
	static uint32_t
		num; /* static, because the thread uses it too if this fails */
	struct rnicpair p, q;
	pthread_t thread;

	rnicpair_open_idle(&q, &defaults);
	wait_accept(&q); /* the port stays open */
	num = rnic_qp_num(rnicpair_acceptor(&q));
	assert_int_equal(pthread_create(&thread, NULL, flood, &num), 0);
	while (flood_cnt < 200)
		sched_yield();
	for (int i = 0; i < 20; i++) {
		uint64_t begin_ms = until_ms();

		rnicpair_open_idle(&p, &defaults);
		wait_accept(&p);
		come(&p);
		meet_soon(&p, begin_ms);
		rnicpair_close(&p);
	}
	flood_is_over = true;
	pthread_join(thread, NULL);
	wait_until(!has_waiting(listener_of(num)));
	rnicpair_close(&q);
}

/* Requests for a QP that is not ready, each from another number. They are kept
 * while there are enough descriptors. */
CASE(waiting_peers_leave_descriptors)
{
	enum { CROWD = 120, LIMIT = 400 };
	struct rlimit old, few;
	struct rnicpair p, q;
	uint8_t octets[64];
	int fd[CROWD];
	size_t before;
	uint32_t num;

	wait_alone();
	rnicpair_open_idle(&q, &defaults);
	wait_accept(&q); /* makes the port listen */
	rnicpair_open_idle(&p, &defaults);
	num = rnic_qp_num(rnicpair_acceptor(&p));
	must(!getrlimit(RLIMIT_NOFILE, &old));
	few = old;
	few.rlim_cur = LIMIT;
	must(!setrlimit(RLIMIT_NOFILE, &few));
	before = fd_cnt();
	must(before + 2 * CROWD < LIMIT);
	for (int i = 0; i < CROWD; i++) {
		size_t len = request((uint32_t)(0xff0000 + i), num, octets);

		fd[i] = tcp_dial(num);
		must(send(fd[i], octets, len, MSG_NOSIGNAL) == (ssize_t)len);
	}
	wait_kept(before + CROWD, LIMIT / 8);
	/* A quarter of the limit, and some whose Request is being read. */
	assert_in_range(fd_cnt() - before - CROWD, LIMIT / 8,
			LIMIT / 4 + HALF_OPEN_MAX);
	come(&p);
	wait_dialled(rnicpair_dialler(&p));
	wait_accept(&p);
	meet_soon(&p, until_ms());
	must(!setrlimit(RLIMIT_NOFILE, &old));
	for (int i = 0; i < CROWD; i++)
		close(fd[i]);
	rnicpair_close(&p);
	rnicpair_close(&q);
}

/* Sets the limit to the descriptors in use plus @more. */
static void limit_descriptors(struct rlimit *ret_old, unsigned int more)
{
	struct rlimit few;
	int next;

	wait_alone();
	next = dup(0);
	must(next >= 0);
	close(next);
	must(!getrlimit(RLIMIT_NOFILE, ret_old));
	few = *ret_old;
	few.rlim_cur = (rlim_t)next + more;
	must(!setrlimit(RLIMIT_NOFILE, &few));
}

/* Without a descriptor for the GID table the call fails. Otherwise the QP dials
 * later. */
IDLE_PAIR_CASE(a_dialler_without_descriptors_tries_later)
{
	struct rlimit old;
	struct rnicpair *p = *state;
	struct rnic_qp *qp;
	int rc;

	wait_accept(p);
	qp = rnicpair_dialler(p);
	{
		struct rnic_oob_options opt = rnicpair_to(
			RNICPAIR_LO4, rnic_qp_num(rnicpair_acceptor(p)));

		limit_descriptors(&old, 0);
		rc = rnic_qp_oob(qp, &opt);
	}
	if (rc) {
		assert_int_equal(rc, -EMFILE);
		assert_int_equal(rnic_qp_state(qp), RNIC_QPS_IDLE);
	} else {
		wait_until(oob_tries(rnic_qp_num(qp)) >= 3);
		assert_int_equal(rnic_qp_state(qp), RNIC_QPS_CONNECTING);
	}
	must(!setrlimit(RLIMIT_NOFILE, &old));
	if (rc)
		come(p);
	meet_soon(p, until_ms());
}

/* The dialler has its socket. The acceptor gets a descriptor only later: no
 * further connection is needed to trigger it. */
IDLE_PAIR_CASE(a_missed_connection_is_taken_later)
{
	struct rlimit old;
	struct rnicpair *p = *state;

	wait_accept(p);
	limit_descriptors(&old, 1); /* the dialler's socket */
	come(p);
	wait_until(has_waiting(listener_of(rnic_qp_num(rnicpair_acceptor(p)))));
	assert_int_equal(rnic_qp_state(rnicpair_acceptor(p)),
			 RNIC_QPS_CONNECTING);
	must(!setrlimit(RLIMIT_NOFILE, &old));
	meet_soon(p, until_ms());
}

BEFORE_CASES()
{
	setenv("USIW_HALF_OPEN_MAX", HALF_OPEN_STR, 1);
	setenv("USIW_START_MS", START_STR, 1);
}

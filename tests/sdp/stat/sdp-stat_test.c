/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The statistics page as its process writes it, read as by sdpstat. Each case
 * runs in its own process, because a process has one page.
 */
#define _GNU_SOURCE
#include "child.h"
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stat/read.h"
#include "stat/sdp-stat.h"

static char dir[64];

static int setup(void **state)
{
	unsetenv("USIW_STAT_DIR");
	strcpy(dir, "/tmp/sdp-stat-test.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	return rmdir(dir);
}

static uint64_t get64(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static int check_sockets(void)
{
	struct sockaddr_in local = { .sin_family = AF_INET,
				     .sin_port = htons(80) };
	struct sockaddr_in6 peer = { .sin6_family = AF_INET6,
				     .sin6_port = htons(443),
				     .sin6_scope_id = 3 };
	struct sdp_stat_sock *a = sdp_stat_sock_add();
	struct sdp_stat_sock *b = sdp_stat_sock_add();
	int fd = sdp_stat_fd_take();
	struct sdp_stat_snapshot s;
	uint32_t first_id;

	CHECK(fd >= 0 && sdp_stat_fd_take() == -1);
	local.sin_addr.s_addr = htonl(0x7f000001);
	inet_pton(AF_INET6, "fe80::1:2", &peer.sin6_addr);
	sdp_stat_sock_name(a, (void *)&local, NULL);
	sdp_stat_sock_name(a, NULL, (void *)&peer);
	sdp_stat_set(a, SDP_STAT_fd, 5);
	sdp_stat_set(a, SDP_STAT_state, SDP_STAT_STATE_established);
	sdp_stat_add(a, SDP_STAT_tx_bcopy, 100);
	sdp_stat_add(a, SDP_STAT_tx_bcopy, 11);
	sdp_stat_add(b, SDP_STAT_tx_bcopy, 1000);
	sdp_stat_add(b, SDP_STAT_rx_write, 5);
	sdp_stat_count(SDP_STAT_connects);
	sdp_stat_fell_back(b, SDP_STAT_FALLBACK_denied);
	sdp_stat_fell_back(NULL, SDP_STAT_FALLBACK_no_answer);

	CHECK(sdp_stat_read(fd, &s) == 0);
	CHECK(s.head.pid == (uint32_t)getpid());
	CHECK(strcmp(s.head.program, program_invocation_short_name) == 0);
	CHECK(s.sock_cnt == 2);
	CHECK(s.total[SDP_STAT_tx_bcopy] == 1111);
	CHECK(s.total[SDP_STAT_rx_write] == 5);
	CHECK(get64(&s.head.event[SDP_STAT_connects]) == 1);
	CHECK(get64(&s.head.fallback[SDP_STAT_FALLBACK_denied]) == 1);
	CHECK(get64(&s.head.fallback[SDP_STAT_FALLBACK_no_answer]) == 1);
	CHECK(sdp_stat_gauge_get(&s.sock[0], SDP_STAT_fd) == 5);
	CHECK(sdp_stat_gauge_get(&s.sock[1], SDP_STAT_fd) == UINT32_MAX);
	CHECK(sdp_stat_gauge_get(&s.sock[1], SDP_STAT_state) ==
	      SDP_STAT_STATE_tcp);
	CHECK(sdp_stat_gauge_get(&s.sock[1], SDP_STAT_fallback) ==
	      SDP_STAT_FALLBACK_denied);
	CHECK(get64(&s.sock[0].local.head) ==
	      ((uint64_t)AF_INET << 48 | 80ull << 32));
	CHECK(get64(&s.sock[0].local.addr[0]) == 0x7f000001);
	CHECK(get64(&s.sock[0].peer.head) ==
	      ((uint64_t)AF_INET6 << 48 | 443ull << 32 | 3));
	CHECK(get64(&s.sock[0].peer.addr[0]) == 0xfe80ull << 48);
	CHECK(get64(&s.sock[0].peer.addr[1]) == 0x10002);
	first_id = s.sock[0].id;
	sdp_stat_snapshot_free(&s);

	/* The counters of a closed socket are kept. Its slot starts at 0
	 * again. */
	sdp_stat_sock_remove(a);
	CHECK(sdp_stat_read(fd, &s) == 0);
	CHECK(s.sock_cnt == 1 && s.total[SDP_STAT_tx_bcopy] == 1111);
	sdp_stat_snapshot_free(&s);
	CHECK(sdp_stat_sock_add() == a);
	CHECK(sdp_stat_read(fd, &s) == 0);
	CHECK(s.sock_cnt == 2 && s.total[SDP_STAT_tx_bcopy] == 1111);
	CHECK(s.sock[0].id != first_id && s.sock[0].local.head == 0);
	CHECK(sdp_stat_counter_get(&s.sock[0], SDP_STAT_tx_bcopy) == 0);
	sdp_stat_snapshot_free(&s);
	return 0;
}

CASE(shows_sockets_and_keeps_totals)
{
	assert_int_equal(in_child(check_sockets), 0);
}

static int check_overflow(void)
{
	struct sdp_stat_sock *sock, *last = NULL, *first = sdp_stat_sock_add();
	int fd = sdp_stat_fd_take();
	struct sdp_stat_snapshot s;

	for (unsigned int i = 1; i < SDP_STAT_SOCK_MAX; i++) {
		last = sdp_stat_sock_add();
		sdp_stat_add(last, SDP_STAT_rx_bcopy, 1);
	}
	CHECK(last == first + SDP_STAT_SOCK_MAX - 1);
	for (int i = 0; i < 3; i++) {
		sock = sdp_stat_sock_add();
		CHECK(sock < first);
		sdp_stat_add(sock, SDP_STAT_rx_bcopy, 1);
		sdp_stat_sock_name(
			sock, (struct sockaddr *)&(struct sockaddr_in){ 0 },
			NULL);
		sdp_stat_sock_remove(sock);
	}
	CHECK(sdp_stat_read(fd, &s) == 0);
	CHECK(s.sock_cnt == SDP_STAT_SOCK_MAX);
	CHECK(s.total[SDP_STAT_rx_bcopy] == SDP_STAT_SOCK_MAX - 1 + 3);
	CHECK(get64(&s.head.event[SDP_STAT_overflows]) == 3);
	sdp_stat_snapshot_free(&s);
	sdp_stat_sock_remove(last);
	CHECK(sdp_stat_sock_add() == last);
	return 0;
}

CASE(counts_sockets_that_find_no_place)
{
	assert_int_equal(in_child(check_overflow), 0);
}

static int check_child(struct sdp_stat_sock *inherited)
{
	struct sdp_stat_sock *own;
	struct sdp_stat_snapshot s;
	int fd;

	sdp_stat_fork_child();
	sdp_stat_add(inherited, SDP_STAT_tx_bcopy, 1000);
	own = sdp_stat_sock_add();
	CHECK(own != inherited);
	sdp_stat_add(own, SDP_STAT_tx_bcopy, 3);
	sdp_stat_sock_remove(inherited);
	fd = sdp_stat_fd_take();
	CHECK(fd >= 0);
	CHECK(sdp_stat_read(fd, &s) == 0);
	CHECK(s.head.pid == (uint32_t)getpid());
	CHECK(s.sock_cnt == 1);
	CHECK(s.total[SDP_STAT_tx_bcopy] == 3);
	sdp_stat_snapshot_free(&s);
	return 0;
}

static int check_fork(void)
{
	struct sdp_stat_sock *sock = sdp_stat_sock_add();
	int fd = sdp_stat_fd_take(), status;
	struct sdp_stat_snapshot s;
	pid_t child;

	for (int i = 0; i < 200; i++)
		sdp_stat_sock_add();
	sdp_stat_add(sock, SDP_STAT_tx_bcopy, 20);
	child = fork();
	if (child == 0)
		_exit(check_child(sock));
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK(sdp_stat_read(fd, &s) == 0);
	CHECK(s.head.pid == (uint32_t)getpid());
	CHECK(s.sock_cnt == 201 && s.total[SDP_STAT_tx_bcopy] == 20);
	sdp_stat_snapshot_free(&s);
	return 0;
}

CASE(gives_a_forked_child_its_own_page)
{
	assert_int_equal(in_child(check_fork), 0);
}

CASE(leaves_a_file_behind)
{
	struct sdp_stat_snapshot s;
	pid_t pid = fork();
	char path[128];
	int fd, status;

	if (pid == 0) {
		struct sdp_stat_sock *sock;

		setenv("USIW_STAT_DIR", dir, 1);
		sock = sdp_stat_sock_add();
		sdp_stat_add(sock, SDP_STAT_tx_read, 77);
		if (sdp_stat_fd_take() == -1)
			raise(SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	snprintf(path, sizeof(path), "%s/usiw-sdp.%d", dir, (int)pid);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(sdp_stat_read(fd, &s), 0);
	assert_int_equal(s.head.pid, pid);
	assert_true(s.total[SDP_STAT_tx_read] == 77);
	sdp_stat_snapshot_free(&s);
	close(fd);
	unlink(path);
}

#define WRITER_CNT 3
#define ROUND_CNT 300
#define SOCK_CNT 5

static _Atomic int writers_left;

static void *writer(void *arg)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct sdp_stat_sock *socks[SOCK_CNT];

	(void)arg;
	for (int i = 0; i < ROUND_CNT; i++) {
		for (int k = 0; k < SOCK_CNT; k++) {
			socks[k] = sdp_stat_sock_add();
			sdp_stat_sock_name(socks[k], (void *)&addr,
					   (void *)&addr);
			sdp_stat_add(socks[k], SDP_STAT_tx_bcopy, 1);
			sdp_stat_set(socks[k], SDP_STAT_state,
				     SDP_STAT_STATE_established);
		}
		for (int k = 0; k < SOCK_CNT; k++)
			sdp_stat_sock_remove(socks[k]);
	}
	/* release: pairs with the acquire of the reader */
	atomic_fetch_sub_explicit(&writers_left, 1, memory_order_release);
	return NULL;
}

/* Sockets are opened and closed meanwhile: each is counted exactly once. */
static int check_threads(void)
{
	pthread_t threads[WRITER_CNT];
	int fd = sdp_stat_fd_take();
	struct sdp_stat_snapshot s;
	uint64_t last = 0;
	bool is_last;

	writers_left = WRITER_CNT;
	for (int i = 0; i < WRITER_CNT; i++)
		CHECK(pthread_create(&threads[i], NULL, writer, NULL) == 0);
	do {
		is_last = atomic_load_explicit(&writers_left,
					       memory_order_acquire) == 0;
		CHECK(sdp_stat_read(fd, &s) == 0);
		CHECK(s.sock_cnt <= WRITER_CNT * SOCK_CNT);
		CHECK(s.total[SDP_STAT_tx_bcopy] <=
		      WRITER_CNT * SOCK_CNT * ROUND_CNT);
		if (is_last)
			last = s.total[SDP_STAT_tx_bcopy];
		sdp_stat_snapshot_free(&s);
	} while (!is_last);
	CHECK(last == WRITER_CNT * SOCK_CNT * ROUND_CNT);
	for (int i = 0; i < WRITER_CNT; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	return 0;
}

CASE(counts_while_sockets_come_and_go)
{
	assert_int_equal(in_child(check_threads), 0);
}

ALL_CASES_WITH(setup, teardown);

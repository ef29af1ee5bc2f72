/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * context.c: contexts opened and closed, objects left in them, and their
 * streams when the process exits, is killed, or forks.
 */
#define _GNU_SOURCE

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mem/context.h"
#include "engine/engine.h"
#include "util/env.h"
#include "qp/qp.h"
#include "rawpeer.h"
#include "test.h"

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

static unsigned fds_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned cnt = 0;

	must(dir);
	while (readdir(dir))
		cnt++;
	closedir(dir);
	return cnt;
}

CASE(leaves_no_descriptor_behind)
{
	struct rnic_device *dev = rnic_device_by_name("usiw_lo");
	struct rnic_context *ctx;
	struct rnicpair p;
	unsigned before;

	assert_non_null(dev);
	/* What is made once per process. */
	assert_int_equal(rnic_context_open(dev, &ctx), 0);
	rnic_context_close(ctx);
	rnic_context_close(NULL);
	before = fds_open();
	for (int i = 0; i < 20; i++) {
		assert_int_equal(rnic_context_open(dev, &ctx), 0);
		assert_true(rnic_context_async_fd(ctx) >= 0);
		rnic_context_close(ctx);
	}
	for (int i = 0; i < 3; i++) {
		rnicpair_open(&p, &defaults);
		rnicpair_close(&p);
	}
	assert_int_equal(fds_open(), before);
}

/* Queues that were not destroyed are ended, and the peer is told. */
CASE(closing_ends_what_was_forgotten)
{
	struct rnicpair p;
	struct rawpeer raw;

	rawpeer_open(&raw, &p, &defaults);
	assert_int_equal(shutdown(raw.fd, SHUT_WR), 0);
	rnic_context_close(p.side[0].ctx);
	assert_int_equal(rawpeer_event(&raw).type, SMPA_EV_CLOSED);
	rawpeer_close(&raw);
	rnic_context_close(p.side[1].ctx);
}

/* ---- processes ---- */

static void fd_send(int via, int fd)
{
	char octet = 'x', room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &octet, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = room,
			      .msg_controllen = sizeof(room) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	must(sendmsg(via, &msg, 0) == 1);
}

static int fd_recv(int via)
{
	char octet, room[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &octet, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = room,
			      .msg_controllen = sizeof(room) };
	int fd;

	must(recvmsg(via, &msg, 0) == 1);
	must(CMSG_FIRSTHDR(&msg));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	return fd;
}

/* A separate process, connected by @fd. */
static pid_t spawn(void (*run)(int via), int *ret_via)
{
	int via[2];
	pid_t pid;

	must(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, via));
	pid = fork();
	must(pid >= 0);
	if (pid == 0) {
		must(!prctl(PR_SET_PDEATHSIG, SIGKILL));
		close(via[0]);
		run(via[1]);
		_exit(0);
	}
	close(via[1]);
	*ret_via = via[0];
	return pid;
}

/* A QP in this process whose peer's socket goes to the other process. */
static void connect_across(int via, struct rnicpair *p)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rawpeer *raw = calloc(1, sizeof(*raw));

	opt.rtr = 0; /* only the test sends */
	rnicpair_open_idle(p, &opt);
	must(raw);
	rawpeer_join(raw, p, 0);
	fd_send(via, raw->fd);
	rawpeer_close(raw);
	free(raw);
}

static void *hold_lead(void *arg)
{
	struct rnicpair *p = arg;

	rnic_engine_lead(p->side[0].ctx->engine);
	for (;;)
		pause();
	return NULL;
}

#define EXIT_LEN (3u << 20)

/* Completes what it sends and exits at once. */
static void run_and_exit(int via)
{
	static struct rnicpair p;
	struct usiw_sge sge;

	connect_across(via, &p);
	sge = rnicpair_sge(&p.side[0], 0, EXIT_LEN);
	rnicpair_post_wr(&p.side[0], .opcode = USIW_WR_SEND,
			 .flags = USIW_SQE_SIGNALED, .sge = &sge, .sge_cnt = 1);
	must(rnicpair_take(&p.side[0], p.side[0].scq).status == 0);
	exit(0);
}

/* Cases that fork run first: this process has no thread yet. */
FIRST_CASE(what_was_complete_arrives_after_exit)
{
	size_t got = 0;
	ssize_t len;
	int via, fd, status;
	pid_t pid;

	pid = spawn(run_and_exit, &via);
	fd = fd_recv(via);
	for (;;) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		char octets[65536];

		assert_int_equal(poll(&pfd, 1, RNICPAIR_LIMIT_MS), 1);
		/* Late input of the exiting process: it must not cause a
		 * RST. */
		(void)!send(fd, "x", 1, MSG_NOSIGNAL);
		len = read(fd, octets, sizeof(octets));
		if (len <= 0)
			break;
		got += (size_t)len;
	}
	assert_int_equal(len, 0); /* FIN, not RST */
	assert_true(got > EXIT_LEN);
	close(fd);
	close(via);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* As when a signal handler exits in the middle of ibv_poll_cq(). */
static void run_and_exit_beside_the_lead(int via)
{
	static struct rnicpair p;
	pthread_t thread;

	connect_across(via, &p);
	must(!pthread_create(&thread, NULL, hold_lead, &p));
	while (util_trylock(&p.side[0].ctx->engine->lead))
		util_unlock(&p.side[0].ctx->engine->lead);
	exit(0);
}

FIRST_CASE(exit_does_not_wait_for_the_lead_for_ever)
{
	struct pollfd pfd = { .events = POLLIN };
	int via, fd, status;
	pid_t pid;

	pid = spawn(run_and_exit_beside_the_lead, &via);
	fd = fd_recv(via);
	pfd.fd = via; /* the child's end is closed when it exits */
	if (poll(&pfd, 1, (int)util_settings()->drain_ms * 2 + 5000) != 1)
		kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(fd);
	close(via);
}

/* Forks, lets the child check that it can use a device, and waits. */
static void run_and_fork(int via)
{
	static struct rnicpair p;
	static struct rnicpair mine;
	struct usiw_sge sge;
	pid_t pid;

	connect_across(via, &p);
	pid = fork();
	must(pid >= 0);
	if (pid > 0)
		for (;;)
			pause();
	must(rnic_fork_gen() == 1);
	rnicpair_open(&mine, &defaults);
	sge = rnicpair_sge(&mine.side[0], 0, 100000);
	must(!rnicpair_post_recv(&mine.side[1], 1, &sge, 0));
	rnicpair_post_wr(&mine.side[0], .opcode = USIW_WR_SEND,
			 .flags = USIW_SQE_SIGNALED);
	must(rnicpair_take(&mine.side[1], mine.side[1].rcq).status == 0);
	rnicpair_close(&mine);
	pid = getpid();
	must(send(via, &pid, sizeof(pid), 0) == sizeof(pid));
	(void)!recv(via, &pid, sizeof(pid), 0); /* until the test is over */
	_exit(0);
}

FIRST_CASE(the_parents_death_reaches_the_peer)
{
	struct pollfd pfd = { .events = POLLIN };
	pid_t pid, child;
	int via, status;
	char octet;

#ifdef __SANITIZE_THREAD__
	skip_because("no threads after a fork under TSan");
#endif
	pid = spawn(run_and_fork, &via);
	pfd.fd = fd_recv(via);
	assert_int_equal(recv(via, &child, sizeof(child), 0), sizeof(child));
	/* Both processes live: the stream continues. */
	while (recv(pfd.fd, &octet, 1, MSG_DONTWAIT) == 1)
		continue;
	assert_int_equal(poll(&pfd, 1, 50), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(poll(&pfd, 1, RNICPAIR_LIMIT_MS), 1);
	assert_true(recv(pfd.fd, &octet, 1, MSG_DONTWAIT) <= 0);
	/* ... although the child exists. */
	assert_int_equal(kill(child, 0), 0);
	close(pfd.fd);
	close(via);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* cm-fork.c: what a forked child inherits of its parent's identities. */
#include "fixture.h"

#include "cm/object.h"
#include "fault/rules.h"
#include "loop/loop.h"
#include "os/fd.h"
#include "os/stat.h"
#include "util/fdtab.h"
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/wait.h>

/* For a process without cmocka: prints the line and exits. */
#define MUST(what)                                                             \
	do {                                                                   \
		if (!(what))                                                   \
			_exit(__LINE__ % 200 + 1);                             \
	} while (0)

static void file_ignore(struct util_file *file)
{
	(void)file;
}

/* Registers the channel as kernel-abi/ does: returns a number for the
 * application. */
static int chan_number(struct rnic_cm_chan *chan)
{
	static struct util_file file;
	int num = fcntl(rnic_cm_chan_fd(chan), F_DUPFD, 0);

	util_file_init(&file, file_ignore, file_ignore);
	MUST(num >= 0);
	MUST(util_fdtab_install(rnic_fdtab(), num, RNIC_FD_UCM, &file) == 0);
	rnic_cm_chan_set_file(chan, &file);
	return num;
}

/* Waits only by epoll, set up before the channel's first use. */
static void chan_wait(struct rnic_cm_chan *chan, int num,
		      struct rnic_cm_event *ret_ev)
{
	struct epoll_event ready = { .events = EPOLLIN };
	int set = epoll_create1(EPOLL_CLOEXEC), ret;

	MUST(epoll_ctl(set, EPOLL_CTL_ADD, num, &ready) == 0);
	MUST(fcntl(num, F_SETFL, O_NONBLOCK) == 0);
	do {
		MUST(epoll_wait(set, &ready, 1, CM_LIMIT_MS) == 1);
		ret = rnic_cm_get_event(chan, ret_ev);
	} while (ret == -EAGAIN);
	MUST(ret == 0);
	/* Neither the socket nor the event is left. */
	MUST(epoll_wait(set, &ready, 1, 0) == 0);
	MUST(rnic_cm_get_event(chan, ret_ev) == -EAGAIN);
	close(set);
}

/* @num: the channel's number, on which the child waits; -1: it waits by
 *   reading. */
static void child_serve(struct rnic_cm_chan *chan, uint32_t listener, int num)
{
	struct rnic_cm_event ev;

	if (num < 0)
		MUST(rnic_cm_get_event(chan, &ev) == 0);
	else
		chan_wait(chan, num, &ev);
	MUST(ev.type == RNIC_CM_CONNECT_REQUEST && ev.listen_id == listener);
	MUST(ev.uid == 1);
	MUST(rnic_cm_reject(chan, ev.id, "bye", 3) == 0);
	/* Waits until the peer has received that. */
	rnic_cm_chan_free(chan);
	rnic_loop_stop();
}

/* A process that listens, and exits when its child runs: daemon(3). */
static void daemon_main(int to, bool has_num, int fork_cnt)
{
	struct cm_side s;
	uint16_t port = cm_listen(&s, AF_INET, 0);
	int num = has_num ? chan_number(s.chan) : -1;

	for (int i = 0; i < fork_cnt; i++) {
		if (fork() != 0)
			_exit(0);
	}
	MUST(write(to, &port, sizeof(port)) == sizeof(port));
	child_serve(s.chan, s.id, num);
	port = 0;
	MUST(write(to, &port, sizeof(port)) == sizeof(port));
	_exit(0);
}

static void daemon_run(bool has_num, int fork_cnt)
{
	struct rnic_cm_event ev;
	uint16_t port = 0;
	struct cm_qp q;
	struct cm_side s;
	int via[2], status;
	pid_t pid;

	assert_int_equal(pipe(via), 0);
	pid = fork();
	if (pid == 0)
		daemon_main(via[1], has_num, fork_cnt);
	close(via[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(via[0], &port, sizeof(port)), sizeof(port));
	cm_qp_open(&q);
	cm_dial(&s, &q, port, "hi");
	assert_true(cm_is_readable(s.chan, CM_LIMIT_MS));
	assert_int_equal(rnic_cm_get_event(s.chan, &ev), 0);
	assert_int_equal(ev.type, RNIC_CM_REJECTED);
	assert_int_equal(ev.pd_len, 3);
	/* The child has found no error. */
	assert_int_equal(read(via[0], &port, sizeof(port)), sizeof(port));
	assert_int_equal(port, 0);
	cm_side_close(&s);
	cm_qp_close(&q);
	close(via[0]);
}

/* Runs first: this process has no thread yet. */
FIRST_CASE(a_daemon_goes_on_listening)
{
#ifdef __SANITIZE_THREAD__
	skip_because("no threads after a fork under TSan");
#endif
	daemon_run(false, 1);
}

/* daemon(3) forks once, others twice. Nothing uses the channel in between. */
CASE(a_daemon_is_woken_before_its_first_call)
{
#ifdef __SANITIZE_THREAD__
	skip_because("no threads after a fork under TSan");
#endif
	daemon_run(true, 1);
	daemon_run(true, 2);
}

/* A child that has inherited a listener, and waits until the test continues. */
static pid_t child_new(int via[2])
{
	char octet;
	pid_t pid;

	assert_int_equal(pipe(via), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(via[1]);
		(void)!read(via[0], &octet, 1);
		_exit(0);
	}
	close(via[0]);
	return pid;
}

CASE(a_destroyed_listener_frees_its_port)
{
	struct sockaddr_storage ss;
	struct cm_side s, again;
	int via[2], status;
	uint32_t cnt;
	pid_t pid;

	ss = cm_loopback(AF_INET, cm_listen(&s, AF_INET, 0));
	pid = child_new(via);
	assert_int_equal(rnic_cm_destroy(s.chan, s.id, &cnt), 0);
	cm_side_open(&again, 1);
	assert_int_equal(
		rnic_cm_bind(again.chan, again.id, (struct sockaddr *)&ss), 0);
	assert_int_equal(rnic_cm_listen(again.chan, again.id, 0), 0);
	close(via[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	cm_side_close(&again);
	cm_side_close(&s);
}

/* Of two listeners, one cannot be waited for at first. */
CASE(a_child_that_lacks_something_goes_on_later)
{
	struct rnic_cm_info info;
	struct cm_side s;
	uint32_t other;
	int status;
	pid_t pid;

#ifdef __SANITIZE_THREAD__
	skip_because("no threads after a fork under TSan");
#endif
	(void)cm_listen(&s, AF_INET, 0);
	assert_int_equal(rnic_cm_create(s.chan, 1, &other), 0);
	assert_int_equal(rnic_cm_listen(s.chan, other, 0), 0);
	pid = fork();
	if (pid == 0) {
		struct cm_id *id = rnic_ref_get_slot(&rnic_loop.noted, other);
		int kept = dup(id->fd);

		MUST(kept >= 0 && close(id->fd) == 0);
		MUST(rnic_cm_query(s.chan, s.id, &info) == -EBADF);
		MUST(dup2(kept, id->fd) == id->fd);
		MUST(rnic_cm_query(s.chan, s.id, &info) == 0);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	cm_side_close(&s);
}

/* It opens nothing: the channel is all that it uses. */
CASE(a_child_begins_its_faults_with_the_channel)
{
	struct rnic_cm_info info;
	struct cm_side s;
	int status;
	pid_t pid;

#ifdef __SANITIZE_THREAD__
	skip_because("no threads after a fork under TSan");
#endif
	rnic_fault_read("verb=rdma_accept,errno=ENOMEM");
	(void)cm_listen(&s, AF_INET, 0);
	pid = fork();
	if (pid == 0) {
		MUST(!rnic_fault_began_ns());
		MUST(rnic_cm_query(s.chan, s.id, &info) == 0);
		MUST(rnic_fault_began_ns());
		MUST(rnic_stat_memory.page.observed.wanted & USIW_CALLS_FAIL);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	cm_side_close(&s);
	rnic_fault_read("cq=overrun,process=another");
}

CASE(a_child_that_closes_removes_nothing)
{
	struct rnic_cm_event ev;
	struct cm_side s, peer;
	struct cm_qp q;
	int status;
	uint16_t port;
	pid_t pid;

	cm_qp_open(&q);
	port = cm_listen(&s, AF_INET, 0);
	pid = fork();
	if (pid == 0) {
		struct cm_id *id = rnic_ref_get_slot(&rnic_loop.noted, s.id);
		int fd = id->fd;

		MUST(fcntl(fd, F_GETFD) >= 0);
		rnic_cm_chan_free(s.chan);
		MUST(fcntl(fd, F_GETFD) < 0);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	cm_dial(&peer, &q, port, "hi");
	cm_expect(s.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	cm_side_close(&peer);
	cm_side_close(&s);
	cm_qp_close(&q);
}

/* Connections belong to the parent. Bound identities are bound again if
 * possible. */
CM_PAIR_CASE(a_child_has_no_connections)
{
	struct rnic_cm_info info;
	struct cm_side bound;
	struct sockaddr_storage ss = cm_loopback(AF_INET, 0);
	struct cm_pair *p = *state;
	int status;
	pid_t pid;

	cm_pair_accept(p);
	cm_side_open(&bound, 1);
	assert_int_equal(
		rnic_cm_bind(bound.chan, bound.id, (struct sockaddr *)&ss), 0);
	pid = fork();
	if (pid == 0) {
		MUST(rnic_cm_query(p->active.chan, p->active.id, &info) == 0);
		MUST(info.state == RNIC_CM_S_DISCONNECT);
		MUST(rnic_cm_query(bound.chan, bound.id, &info) == 0);
		MUST(info.state == RNIC_CM_S_IDLE); /* the parent has it */
		MUST(fcntl(rnic_cm_chan_fd(bound.chan), F_SETFL, O_NONBLOCK) ==
		     0);
		MUST(rnic_cm_get_event(bound.chan, &(struct rnic_cm_event){
							   0 }) == -EAGAIN);
		rnic_cm_chan_free(p->active.chan);
		rnic_cm_chan_free(bound.chan);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(rnic_cm_query(p->active.chan, p->active.id, &info), 0);
	assert_int_equal(info.state, RNIC_CM_S_ESTABLISHED);
	cm_side_close(&bound);
}

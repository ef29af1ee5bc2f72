/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The thread sleeps when there is nothing to do, and does not spin when it
 * cannot wait. */
#include "../cm/fixture.h"

#include "../cm/lists.h"
#include "loop/loop.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>

/* Voluntary and other context switches of the thread "usiw-cm". */
static unsigned long thread_switches(void)
{
	unsigned long sum = 0, value;
	char path[300], line[200];
	bool is_found = false;
	struct dirent *entry;
	DIR *dir = opendir("/proc/self/task");

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		bool is_ours = false;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status",
			 entry->d_name);
		file = fopen(path, "r");
		while (file && fgets(line, sizeof(line), file)) {
			is_ours |= strcmp(line, "Name:\tusiw-cm\n") == 0;
			if (is_ours && strstr(line, "ctxt_switches") &&
			    sscanf(strchr(line, ':') + 1, "%lu", &value) == 1)
				sum += value;
		}
		is_found |= is_ours;
		if (file)
			fclose(file);
	}
	closedir(dir);
	assert_true(is_found);
	return sum;
}

/* Whether there is a period in which the thread does almost nothing. A thread
 * that spins has none. A thread that still completes earlier work has one. */
static bool becomes_quiet(void)
{
	unsigned long before;

	for (int i = 0; i < 50; i++) {
		before = thread_switches();
		usleep(200000);
		if (thread_switches() - before < 5)
			return true;
	}
	return false;
}

/* Without descriptors the thread waits and recovers, without spinning. */
CASE(works_without_free_descriptors)
{
	struct rlimit old, tight;
	struct rnic_cm_event ev;
	unsigned long before;
	struct cm_side s;
	uint16_t port;
	int fd, probe;

	port = cm_listen(&s, AF_INET, 0);
	before = thread_switches();
	fd = socket(AF_INET, SOCK_STREAM, 0);
	probe = dup(fd);
	close(probe);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	tight = old;
	tight.rlim_cur = (rlim_t)probe;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	{
		struct sockaddr_storage ss = cm_loopback(AF_INET, port);

		assert_int_equal(connect(fd, (struct sockaddr *)&ss,
					 sizeof(struct sockaddr_in)),
				 0);
	}
	cm_say(fd, cm_mpa_request, sizeof(cm_mpa_request));
	assert_false(cm_is_readable(s.chan, 250));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_true(thread_switches() - before < 20);
	cm_expect(s.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	close(fd);
	cm_side_close(&s);
}

CASE(idle_thread_sleeps)
{
	uint64_t end_ns = util_now_ns() + CM_LIMIT_MS * NS_PER_MS;
	unsigned long before;
	struct cm_side s;
	int fd;

	fd = cm_rawpeer(cm_listen(&s, AF_INET, 0));
	cm_say(fd, cm_mpa_request, sizeof(cm_mpa_request));
	assert_true(cm_is_readable(s.chan, CM_LIMIT_MS));
	cm_wait_none_unowned();
	/* It wakes once more a tenth of a second after the last connection.
	 * After that there are three periods without a wake-up. */
	do {
		assert_true(util_now_ns() < end_ns);
		before = thread_switches();
		usleep(300000);
	} while (thread_switches() != before);
	close(fd);
	cm_side_close(&s);
}

/* Each round calls @look, for what neither a socket nor a timer reports. The
 * next round comes at the time that it returns. */
static _Atomic uint32_t look_cnt;
static _Atomic bool look_again;

static uint64_t look(uint64_t now_ns)
{
	look_cnt++;
	return look_again ? now_ns + NS_PER_MS : UINT64_MAX;
}

static void loop_set_ops(const struct rnic_loop_ops *ops)
{
	util_lock(&rnic_loop.lock);
	rnic_loop.ops = ops;
	util_unlock(&rnic_loop.lock);
}

CASE(each_round_calls_look)
{
	const struct rnic_loop_ops *real = rnic_loop.ops;
	struct rnic_loop_ops ops = *real;
	uint32_t before;
	struct cm_side s;

	cm_listen(&s, AF_INET, 0);
	ops.look = look;
	loop_set_ops(&ops);
	for (int i = 0; i < 3; i++) {
		before = look_cnt;
		rnic_loop_wake();
		wait_until(look_cnt != before);
	}
	look_again = true;
	rnic_loop_wake();
	before = look_cnt;
	wait_until(look_cnt - before > 10);
	loop_set_ops(real);
	cm_side_close(&s);
}

/* Replaces the descriptor and waits until the thread notices. Otherwise it
 * might first use the set for a connection, which would fail with EINVAL. */
static void epoll_break(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	util_lock(&rnic_loop.lock);
	assert_int_equal(dup2(fd, rnic_loop.epoll_fd), rnic_loop.epoll_fd);
	close(fd);
	rnic_loop_deadline(0);
	util_unlock(&rnic_loop.lock);
}

/* The last test, because this cannot be undone. */
CASE(a_thread_that_cannot_wait_reports_it)
{
	struct rnic_cm_conn_param param;
	struct cm_pair standing, asked;
	struct cm_side active, late;
	struct rnic_cm_event ev;
	unsigned long before;
	struct cm_qp qp;
	uint16_t port;
	int fd = cm_rawpeer_listen(&port);

	cm_pair_open(&standing, AF_INET);
	cm_pair_accept(&standing);
	cm_pair_open(&asked, AF_INET);
	cm_qp_open(&qp);
	cm_dial(&active, &qp, port, "");
	epoll_break();
	/* Connections in the making end; */
	cm_expect(active.chan, RNIC_CM_CONNECT_ERROR, -EIO, &ev);
	cm_expect(asked.active.chan, RNIC_CM_CONNECT_ERROR, -EIO, &ev);
	cm_param(&param, &asked.passive_qp, "");
	assert_int_equal(
		rnic_cm_accept(asked.listener.chan, asked.child, &param),
		-ECONNRESET);
	/* established ones continue, and their end is reported; */
	assert_int_equal(rnic_qp_state(standing.active_qp.qp), RNIC_QPS_RTS);
	assert_int_equal(
		rnic_cm_disconnect(standing.active.chan, standing.active.id),
		0);
	cm_expect(standing.active.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	cm_expect(standing.listener.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	/* nothing new begins, and no thread spins. */
	cm_side_open(&late, 1);
	assert_int_equal(rnic_cm_listen(late.chan, late.id, 1), -EIO);
	assert_true(becomes_quiet());
	before = thread_switches();
	/* Without the descriptor for notes it checks periodically. */
	util_lock(
		&rnic_loop.lock); /* the thread reads it with this lock held */
	assert_int_equal(close(rnic_loop.wake_fd), 0);
	util_unlock(&rnic_loop.lock);
	usleep(200000);
	assert_true(thread_switches() - before < 100);
	close(fd);
	cm_side_close(&late);
	cm_side_close(&active);
	cm_qp_close(&qp);
	cm_pair_close(&asked);
	cm_pair_close(&standing);
}

BEFORE_CASES()
{
	/* Before the settings are read for the first time. */
	setenv("USIW_START_MS", "1000", 1);
	setenv("USIW_DRAIN_MS", "300", 1);
}

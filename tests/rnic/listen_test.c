/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Listeners and what strangers may do to them. */
#include "cm-fixture.h"

#include "../../abi/usiw-abi.h"
#include "cm-internal.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>

#define HALF_OPEN_MAX 8
#define START_MS 400

/* ---- what the manager counts and does, seen from inside ------------------ */

static uint32_t half_open_cnt(const struct cm_side *s)
{
	struct cm_id *id;
	uint32_t cnt;

	assert_int_equal(cm_id_lock(s->chan, s->id, &id), 0);
	cnt = id->listener.half_open_cnt;
	util_unlock(&cm.lock);
	return cnt;
}

static uint32_t starting_cnt(void)
{
	struct cm_conn *conn;
	uint32_t cnt = 0;

	util_lock(&cm.lock);
	TAILQ_FOREACH(conn, &cm.starting, link)
	cnt++;
	TAILQ_FOREACH(conn, &cm.closing, link)
	cnt++;
	util_unlock(&cm.lock);
	return cnt;
}

static uint64_t now_ms(void)
{
	return cm_now_ns() / 1000000;
}

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

/* ---- tests ----------------------------------------------------------------
 */

static void garbage_is_closed(void **state)
{
	struct cm_side s;
	uint8_t buf[64];
	int fd;

	(void)state;
	fd = cm_stranger(cm_listen(&s, AF_INET, 0));
	memset(buf, 0x5a, sizeof(buf));
	cm_say(fd, buf, sizeof(buf));
	assert_true(cm_read_to_end(fd, buf, sizeof(buf)) >= 0);
	close(fd);
	assert_false(cm_is_readable(s.chan, 0));
	cm_side_close(&s);
}

/* Every prefix of a Request, then silence: closed after the time, not before;
 * a whole one waits for the application. */
static void half_a_request_times_out(void **state)
{
	static const size_t cuts[] = { 0, 1, 15, 16, 17, 19 };
	const size_t cnt = sizeof(cuts) / sizeof(cuts[0]);
	uint64_t begin = now_ms();
	int fd[sizeof(cuts) / sizeof(cuts[0])];
	struct cm_side s;
	uint8_t buf[8];
	uint16_t port;

	(void)state;
	port = cm_listen(&s, AF_INET, 0);
	for (size_t i = 0; i < cnt; i++) {
		fd[i] = cm_stranger(port);
		if (cuts[i])
			cm_say(fd[i], cm_mpa_request, cuts[i]);
	}
	for (size_t i = 0; i < cnt; i++) {
		assert_int_equal(cm_read_to_end(fd[i], buf, sizeof(buf)), 0);
		close(fd[i]);
	}
	assert_true(now_ms() - begin >= START_MS);
	assert_int_equal(half_open_cnt(&s), 0);
	assert_false(cm_is_readable(s.chan, 0));
	cm_side_close(&s);
}

static void rst_at_each_octet_leaves_nothing(void **state)
{
	struct rnic_cm_event ev;
	struct cm_side s;
	uint32_t cnt;
	uint16_t port;

	(void)state;
	port = cm_listen(&s, AF_INET, 0);
	for (size_t cut = 0; cut < sizeof(cm_mpa_request); cut++) {
		int fd = cm_stranger(port);

		if (cut)
			cm_say(fd, cm_mpa_request, cut);
		cm_slam(fd);
	}
	/* Whoever is last is served after all of them. */
	{
		int fd = cm_stranger(port);

		cm_say(fd, cm_mpa_request, sizeof(cm_mpa_request));
		cm_expect(s.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
		cm_slam(fd);
	}
	assert_int_equal(rnic_cm_destroy(s.chan, ev.id, &cnt), 0);
	assert_false(cm_is_readable(s.chan, 50));
	assert_int_equal(half_open_cnt(&s), 0);
	cm_side_close(&s);
}

static void half_open_connections_are_bounded(void **state)
{
	enum { CROWD = 200 };
	int fd[CROWD];
	struct cm_side s;
	uint8_t buf[8];
	uint16_t port;
	int closed = 0;

	(void)state;
	port = cm_listen(&s, AF_INET, 0);
	for (int i = 0; i < CROWD; i++) {
		fd[i] = cm_stranger(port);
		assert_true(half_open_cnt(&s) <= HALF_OPEN_MAX);
	}
	for (int i = 0; i < CROWD; i++) {
		assert_int_equal(cm_read_to_end(fd[i], buf, sizeof(buf)), 0);
		closed++;
		close(fd[i]);
	}
	assert_int_equal(closed, CROWD);
	assert_int_equal(half_open_cnt(&s), 0);
	cm_side_close(&s);
}

static void backlog_bounds_unfetched_requests(void **state)
{
	struct rnic_cm_event ev;
	uint8_t reply[64];
	struct cm_side s;
	uint16_t port;
	int first, second, third;

	(void)state;
	port = cm_listen(&s, AF_INET, 1);
	first = cm_stranger(port);
	cm_say(first, cm_mpa_request, sizeof(cm_mpa_request));
	assert_true(cm_is_readable(s.chan, CM_PATIENCE_MS));
	second = cm_stranger(port);
	cm_say(second, cm_mpa_request, sizeof(cm_mpa_request));
	/* A Reply with R=1, then FIN. */
	assert_int_equal(cm_read_to_end(second, reply, sizeof(reply)), 20);
	assert_memory_equal(reply, "MPA ID Rep Frame", 16);
	assert_true(reply[16] & 0x20);
	cm_expect(s.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	/* Fetched: there is room again. */
	third = cm_stranger(port);
	cm_say(third, cm_mpa_request, sizeof(cm_mpa_request));
	cm_expect(s.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	close(first);
	close(second);
	close(third);
	cm_side_close(&s);
}

static void two_live_listeners_never_share_a_port(void **state)
{
	struct sockaddr_storage ss;
	struct cm_side s, t;
	uint16_t port;

	(void)state;
	port = cm_listen(&s, AF_INET, 0);
	ss = cm_loopback(AF_INET, port);
	cm_side_open(&t, 1);
	assert_int_equal(rnic_cm_bind(t.chan, t.id, (struct sockaddr *)&ss),
			 -EADDRINUSE);
	cm_side_close(&t);
	cm_side_close(&s);

	/* Bound is enough, it need not listen. */
	ss = cm_loopback(AF_INET, 0);
	cm_side_open(&s, 1);
	assert_int_equal(rnic_cm_bind(s.chan, s.id, (struct sockaddr *)&ss), 0);
	{
		struct rnic_cm_info info;

		assert_int_equal(rnic_cm_query(s.chan, s.id, &info), 0);
		ss = info.local;
	}
	cm_side_open(&t, 1);
	assert_int_equal(rnic_cm_bind(t.chan, t.id, (struct sockaddr *)&ss),
			 -EADDRINUSE);
	assert_int_equal(rnic_cm_listen(s.chan, s.id, 0), 0);
	assert_int_equal(rnic_cm_listen(s.chan, s.id, 0), -EINVAL);
	cm_side_close(&t);
	cm_side_close(&s);
}

/* Connections that we closed first linger in TIME_WAIT on the port. */
static void port_in_time_wait_may_be_bound_again(void **state)
{
	struct sockaddr_storage ss;
	struct rnic_cm_event ev;
	uint8_t buf[64];
	struct cm_side s;
	uint16_t port;
	int fd;

	(void)state;
	port = cm_listen(&s, AF_INET, 0);
	fd = cm_stranger(port);
	cm_say(fd, cm_mpa_request, sizeof(cm_mpa_request));
	cm_expect(s.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	assert_int_equal(rnic_cm_reject(s.chan, ev.id, NULL, 0), 0);
	assert_int_equal(cm_read_to_end(fd, buf, sizeof(buf)), 20);
	close(fd);
	while (starting_cnt() > 0)
		usleep(1000);
	cm_side_close(&s);
	ss = cm_loopback(AF_INET, port);
	cm_side_open(&s, 1);
	assert_int_equal(rnic_cm_bind(s.chan, s.id, (struct sockaddr *)&ss), 0);
	assert_int_equal(rnic_cm_listen(s.chan, s.id, 0), 0);
	close(cm_stranger(port));
	cm_side_close(&s);
}

static uint16_t listen_any6(struct cm_side *s, bool is_afonly)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6 };
	struct rnic_cm_info info;

	cm_side_open(s, 1);
	assert_int_equal(rnic_cm_bind(s->chan, s->id, (struct sockaddr *)&any),
			 0);
	if (is_afonly)
		assert_int_equal(rnic_cm_set_option(s->chan, s->id,
						    RNIC_CM_OPT_AFONLY, 1),
				 0);
	assert_int_equal(rnic_cm_listen(s->chan, s->id, 0), 0);
	assert_int_equal(rnic_cm_query(s->chan, s->id, &info), 0);
	assert_null(info.dev);
	return cm_port(&info.local);
}

static void any6_takes_ipv4_unless_told_otherwise(void **state)
{
	struct sockaddr_storage ss;
	struct rnic_cm_event ev;
	struct rnic_cm_info info;
	struct cm_side s;
	uint16_t port;
	int fd;

	(void)state;
	port = listen_any6(&s, false);
	fd = cm_stranger(port);
	cm_say(fd, cm_mpa_request, sizeof(cm_mpa_request));
	cm_expect(s.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	assert_int_equal(rnic_cm_query(s.chan, ev.id, &info), 0);
	assert_int_equal(info.local.ss_family, AF_INET);
	assert_non_null(info.dev);
	close(fd);
	cm_side_close(&s);

	port = listen_any6(&s, true);
	ss = cm_loopback(AF_INET, port);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(
		connect(fd, (struct sockaddr *)&ss, sizeof(struct sockaddr_in)),
		-1);
	assert_int_equal(errno, ECONNREFUSED);
	close(fd);
	cm_side_close(&s);
}

/* Out of descriptors the thread waits and comes back, without spinning. */
static void want_of_descriptors_is_survived(void **state)
{
	struct rlimit old, tight;
	struct rnic_cm_event ev;
	unsigned long before;
	struct cm_side s;
	uint16_t port;
	int fd, probe;

	(void)state;
	port = cm_listen(&s, AF_INET, 0);
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
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	before = thread_switches();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	assert_false(cm_is_readable(s.chan, 250));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_true(thread_switches() - before < 20);
	cm_expect(s.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	close(fd);
	cm_side_close(&s);
}

static void idle_thread_sleeps(void **state)
{
	unsigned long before;
	struct cm_side s;
	int fd;

	(void)state;
	fd = cm_stranger(cm_listen(&s, AF_INET, 0));
	cm_say(fd, cm_mpa_request, sizeof(cm_mpa_request));
	assert_true(cm_is_readable(s.chan, CM_PATIENCE_MS));
	while (starting_cnt() > 0)
		usleep(1000);
	usleep(20000);
	before = thread_switches();
	usleep(300000);
	assert_int_equal(thread_switches() - before, 0);
	close(fd);
	cm_side_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(garbage_is_closed),
		cmocka_unit_test(half_a_request_times_out),
		cmocka_unit_test(rst_at_each_octet_leaves_nothing),
		cmocka_unit_test(half_open_connections_are_bounded),
		cmocka_unit_test(backlog_bounds_unfetched_requests),
		cmocka_unit_test(two_live_listeners_never_share_a_port),
		cmocka_unit_test(port_in_time_wait_may_be_bound_again),
		cmocka_unit_test(any6_takes_ipv4_unless_told_otherwise),
		cmocka_unit_test(want_of_descriptors_is_survived),
		cmocka_unit_test(idle_thread_sleeps),
	};

	/* Before the settings are read for the first time. */
	setenv("USIW_START_MS", "400", 1);
	setenv("USIW_DRAIN_MS", "300", 1);
	setenv("USIW_HALF_OPEN_MAX", "8", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

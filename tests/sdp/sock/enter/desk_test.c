/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The desk: one listener, and a thread for each connection. */
#include "sock-fixture.h"

#include <netinet/in.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "loopback.h"
#include "until.h"
#include "sock/enter/desk.h"

#define MANY 80
#define SERVED_MAX 64

static _Atomic int served_cnt, outside_cnt;
static sem_t go;

static _Atomic bool is_expected = true;

static bool expects(const union sdp_addr *from)
{
	union sdp_addr loopback = {
		.in = { .sin_family = AF_INET,
			.sin_addr = { htonl(INADDR_LOOPBACK) } }
	};

	must(sdp_addr_is_same_host(from, &loopback));
	return atomic_load(&is_expected);
}

static void serve(int fd)
{
	if (!sdp_inside() || sdp_fd_kind(fd) != SDP_FD_PRIVATE)
		atomic_fetch_add(&outside_cnt, 1);
	atomic_fetch_add(&served_cnt, 1);
	sem_wait(&go);
	sdp_private_close(fd);
}

static int join(int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = test_tcp_socket();

	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* Return: whether one more is served. */
static bool is_served(int port)
{
	int fd = join(port);
	char octet;

	assert_true(recv(fd, &octet, 1, 0) <= 0);
	close(fd);
	return atomic_load(&served_cnt) > SERVED_MAX;
}

/* Each that comes has a thread, up to a limit. Those beyond it are closed at
 * once. */
CASE(serves_a_limited_number_at_a_time)
{
	int port = sdp_desk_open(expects, serve), fds[MANY];
	char octet;

	assert_in_range(port, 1, 65535);
	assert_int_equal(sdp_desk_open(expects, serve), port);
	for (int i = 0; i < SERVED_MAX; i++)
		fds[i] = join(port);
	wait_until(atomic_load(&served_cnt) == SERVED_MAX);
	for (int i = SERVED_MAX; i < MANY; i++) {
		fds[i] = join(port);
		assert_true(recv(fds[i], &octet, 1, 0) <= 0);
	}
	for (int i = 0; i < SERVED_MAX; i++)
		sem_post(&go);
	for (int i = 0; i < MANY; i++) {
		assert_true(recv(fds[i], &octet, 1, 0) <= 0);
		close(fds[i]);
	}
	assert_int_equal(atomic_load(&served_cnt), SERVED_MAX);
	assert_int_equal(atomic_load(&outside_cnt), 0);
	/* The threads have gone a little later. */
	sem_post(&go);
	wait_until(is_served(port));
}

/* Others have no thread. */
CASE(serves_who_is_expected)
{
	int fd, port = sdp_desk_open(expects, serve), before = served_cnt;
	char octet;

	atomic_store(&is_expected, false);
	fd = join(port);
	assert_true(recv(fd, &octet, 1, 0) <= 0);
	close(fd);
	assert_int_equal(atomic_load(&served_cnt), before);
	atomic_store(&is_expected, true);
}

CASE(a_forked_child_has_none)
{
	int port = sdp_desk_open(expects, serve), status = 0;
	pid_t pid;

#ifdef __SANITIZE_THREAD__
	skip_because("no threads after a fork under TSan");
#endif
	pid = fork();
	if (pid == 0) {
		sdp_table_fork_child();
		sdp_desk_fork_child();
		port -= sdp_desk_open(expects, serve);
		_exit(port == 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

BEFORE_CASES()
{
	sem_init(&go, 0, 0);
}

ALL_CASES_WITH(table_start, NULL);

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The registry of SDP listeners: which listener an address selects, how long an
 * announcement exists, and which processes may make one.
 */
#define _GNU_SOURCE
#include "addr.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pm/registry.h"

#define SDP_PORT 4242

/* A TCP socket bound to any port. Return: -1: the machine lacks the family. */
static int bound_socket(const char *text, bool is_v6only, uint16_t *ret_port)
{
	struct sockaddr_storage addr = test_addr(text, 0);
	socklen_t len = sizeof(addr);
	int fd, one = is_v6only;

	fd = socket(addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (addr.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&addr,
		 addr.ss_family == AF_INET ? sizeof(struct sockaddr_in)
					   : sizeof(struct sockaddr_in6)) < 0) {
		close(fd);
		return -1;
	}
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	*ret_port = ntohs(((struct sockaddr_in *)(void *)&addr)->sin_port);
	return fd;
}

/* is_cm of the last answer. */
static bool is_found_cm;

/* A listener with its announcement. */
static int listener(const char *text, uint16_t *ret_port, int *ret_announce)
{
	int fd = bound_socket(text, false, ret_port);

	assert_true(fd >= 0);
	*ret_announce = sdp_registry_announce(fd, SDP_PORT, false);
	assert_true(*ret_announce >= 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static int find(const char *text, uint16_t port, uint16_t *ret_sdp_port)
{
	struct sockaddr_storage addr = test_addr(text, port);

	return sdp_registry_find((struct sockaddr *)&addr, ret_sdp_port,
				 &is_found_cm);
}

/* Empties the cache, then searches. */
static int find_anew(const char *text, uint16_t port)
{
	uint16_t sdp_port = 0;
	int ret;

	sdp_registry_fork_child();
	ret = find(text, port, &sdp_port);
	assert_true(ret < 0 || sdp_port == SDP_PORT);
	return ret;
}

CASE(finds_the_listener_that_tcp_finds)
{
	static const struct {
		const char *name, *bound, *dst;
		bool is_v6only;
		int want;
	} rows[] = {
		{ "same address", "127.0.0.1", "127.0.0.1", false, 0 },
		{ "other address", "127.0.0.1", "127.0.0.2", false,
		  -ECONNREFUSED },
		{ "wildcard", "0.0.0.0", "127.0.0.1", false, 0 },
		{ "wildcard, other loopback", "0.0.0.0", "127.9.8.7", false,
		  0 },
		{ "wildcard, to any", "0.0.0.0", "0.0.0.0", false, 0 },
		{ "IPv4 wildcard, IPv6", "0.0.0.0", "::1", false,
		  -ECONNREFUSED },
		{ "IPv4 wildcard, mapped", "0.0.0.0", "::ffff:127.0.0.1", false,
		  0 },
		{ "IPv6", "::1", "::1", false, 0 },
		{ "IPv6, IPv4", "::1", "127.0.0.1", false, -ECONNREFUSED },
		{ "dual stack, IPv6", "::", "::1", false, 0 },
		{ "dual stack, IPv4", "::", "127.0.0.1", false, 0 },
		{ "dual stack, mapped", "::", "::ffff:127.0.0.1", false, 0 },
		{ "dual stack, to any", "::", "::", false, 0 },
		{ "IPv6 only, IPv6", "::", "::1", true, 0 },
		{ "IPv6 only, IPv4", "::", "127.0.0.1", true, -ECONNREFUSED },
		{ "mapped listener", "::ffff:127.0.0.1", "127.0.0.1", false,
		  0 },
		{ "another host", "0.0.0.0", "192.0.2.1", false,
		  -EADDRNOTAVAIL },
		{ "another host, IPv6", "::", "2001:db8::1", false,
		  -EADDRNOTAVAIL },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint16_t port, sdp_port = 0;
		int fd = bound_socket(rows[i].bound, rows[i].is_v6only, &port);
		int announce, ret;

		if (fd < 0) {
			print_message("skipped: %s: no such address here\n",
				      rows[i].name);
			continue;
		}
		announce = sdp_registry_announce(fd, SDP_PORT, false);
		assert_row(rows[i].name, announce >= 0);
		assert_row(rows[i].name, listen(fd, 1) == 0);
		ret = find(rows[i].dst, port, &sdp_port);
		/* This machine may have no route to other hosts. */
		if (ret == -ENETUNREACH)
			ret = -EADDRNOTAVAIL;
		if (ret != rows[i].want)
			fail_msg("%s: %d, not %d", rows[i].name, ret,
				 rows[i].want);
		assert_row(rows[i].name, sdp_port == (ret == 0 ? SDP_PORT : 0));
		close(announce);
		close(fd);
	}
}

CASE(prefers_the_specific_listener)
{
	int any, special, announce_any, announce_special, one = 1;
	struct sockaddr_storage addr;
	uint16_t port, sdp_port;

	any = bound_socket("0.0.0.0", false, &port);
	special = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(any, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	setsockopt(special, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	addr = test_addr("127.0.0.3", port);
	assert_int_equal(bind(special, (struct sockaddr *)&addr,
			      sizeof(struct sockaddr_in)),
			 0);
	announce_any = sdp_registry_announce(any, 1001, false);
	announce_special = sdp_registry_announce(special, 1002, false);
	assert_int_equal(listen(any, 1), 0);
	assert_int_equal(listen(special, 1), 0);
	assert_int_equal(find("127.0.0.3", port, &sdp_port), 0);
	assert_int_equal(sdp_port, 1002);
	assert_int_equal(find("127.0.0.1", port, &sdp_port), 0);
	assert_int_equal(sdp_port, 1001);
	close(announce_any);
	close(announce_special);
	close(any);
	close(special);
}

CASE(tells_listeners_without_an_announcement)
{
	uint16_t port, sdp_port = 0;
	int fd = bound_socket("127.0.0.1", false, &port);

	/* Bound, but not listening. */
	assert_int_equal(find("127.0.0.1", port, &sdp_port), -ECONNREFUSED);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(find("127.0.0.1", port, &sdp_port), -ENOENT);
	close(fd);
	assert_int_equal(find("127.0.0.1", port, &sdp_port), -ECONNREFUSED);
	assert_int_equal(sdp_port, 0);
}

CASE(refuses_what_is_no_listener)
{
	struct sockaddr addr = { .sa_family = AF_UNIX };
	int fds[2];
	uint16_t port;

	assert_int_equal(pipe(fds), 0);
	errno = 77;
	assert_int_equal(sdp_registry_announce(fds[0], 1, false), -ENOTSOCK);
	assert_int_equal(sdp_registry_announce(fds[0], 0, false), -EINVAL);
	close(fds[0]);
	assert_int_equal(sdp_registry_announce(fds[0], 1, false), -EBADF);
	assert_int_equal(sdp_registry_find(&addr, &port, &is_found_cm),
			 -EAFNOSUPPORT);
	assert_int_equal(errno, 77);
	close(fds[1]);
}

CASE(ends_with_the_last_descriptor)
{
	int announce, fd, ready[2];
	char octet;
	uint16_t port;
	pid_t child;

	fd = listener("127.0.0.1", &port, &announce);
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		close(ready[0]);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &octet, 1), 1);
	close(announce);
	assert_int_equal(find_anew("127.0.0.1", port), 0);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(find_anew("127.0.0.1", port), -ENOENT);
	close(ready[0]);
	close(ready[1]);
	close(fd);
}

CASE(follows_the_listener_over_exec)
{
	int announce, fd;
	uint16_t port;

	fd = listener("127.0.0.1", &port, &announce);
	assert_true(fcntl(announce, F_GETFD) & FD_CLOEXEC);
	close(announce);
	assert_int_equal(fcntl(fd, F_SETFD, 0), 0);
	announce = sdp_registry_announce(fd, SDP_PORT, false);
	assert_false(fcntl(announce, F_GETFD) & FD_CLOEXEC);
	close(announce);
	close(fd);
}

/* A result is stored for a limited time. */
CASE(forgets_what_it_found)
{
	uint16_t port, sdp_port;
	int announce, fd, ret;

	fd = listener("127.0.0.1", &port, &announce);
	assert_int_equal(find("127.0.0.1", port, &sdp_port), 0);
	close(announce);
	do {
		ret = find("127.0.0.1", port, &sdp_port);
		assert_true(ret == 0 || ret == -ENOENT);
	} while (ret == 0);
	announce = sdp_registry_announce(fd, SDP_PORT, false);
	assert_true(announce >= 0);
	do
		ret = find("127.0.0.1", port, &sdp_port);
	while (ret == -ENOENT);
	assert_int_equal(ret, 0);
	close(announce);
	close(fd);
}

static int name_bind(const char *name)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	size_t len = strlen(name);

	assert_true(fd >= 0);
	memcpy(addr.sun_path + 1, name, len);
	assert_int_equal(
		bind(fd, (struct sockaddr *)&addr,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				 len)),
		0);
	return fd;
}

/* Names that are not an announcement of this listener, followed by a valid one:
 * the dump takes several answers of the kernel. */
CASE(reads_good_names_only)
{
	static const char *const bad[] = {
		"usiw-sdp/1/",
		"usiw-sdp/1/%lu",
		"usiw-sdp/1/%lu/",
		"usiw-sdp/1/%lu/4242",
		"usiw-sdp/1/%lu/0/1",
		"usiw-sdp/1/%lu/65536/1",
		"usiw-sdp/1/%lu/-1/1",
		"usiw-sdp/1/%lu/18446744073709555858/1",
		"usiw-sdp/1/%lu/4242x/1",
		"usiw-sdp/2/%lu/4242/1",
		"usiw-sdp/1/4294967296%lu/4242/1",
		"usiw-sdp/1//4242/1",
	};
	int fds[ARRAY_LEN(bad) + 300];
	uint16_t port;
	struct stat st;
	char name[128];
	int fd, announce;
	size_t cnt = 0;

	fd = bound_socket("127.0.0.1", false, &port);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(listen(fd, 1), 0);
	for (; cnt < ARRAY_LEN(bad); cnt++) {
		/* A format from the table, with or without the inode. */
		const char *mark = strstr(bad[cnt], "%lu");

		snprintf(name, sizeof(name), "%.*s",
			 mark ? (int)(mark - bad[cnt]) : 100, bad[cnt]);
		if (mark)
			snprintf(name + strlen(name),
				 sizeof(name) - strlen(name), "%lu%s",
				 (unsigned long)st.st_ino, mark + 3);
		fds[cnt] = name_bind(name);
		if (find_anew("127.0.0.1", port) != -ENOENT)
			fail_msg("%s was taken", name);
	}
	for (; cnt < ARRAY_LEN(fds); cnt++) {
		snprintf(name, sizeof(name), "usiw-sdp/1/1/%d/%zu", getpid(),
			 cnt);
		fds[cnt] = name_bind(name);
	}
	assert_int_equal(find_anew("127.0.0.1", port), -ENOENT);
	announce = sdp_registry_announce(fd, SDP_PORT, false);
	assert_int_equal(find_anew("127.0.0.1", port), 0);
	close(announce);
	while (cnt)
		close(fds[--cnt]);
	close(fd);
}

/* A descriptor of the announcement that another process made as @uid. */
static pid_t announce_as(uid_t uid, int listen_fd, int *ret_hold)
{
	int ready[2], hold[2];
	char octet;
	pid_t child;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(hold), 0);
	child = fork();
	if (child == 0) {
		close(hold[1]);
		if (setresuid(uid, uid, uid) == 0 &&
		    sdp_registry_announce(listen_fd, SDP_PORT, false) >= 0 &&
		    write(ready[1], "", 1) == 1 && read(hold[0], &octet, 1) < 0)
			_exit(1);
		_exit(0);
	}
	close(ready[1]);
	close(hold[0]);
	assert_int_equal(read(ready[0], &octet, 1), 1);
	close(ready[0]);
	*ret_hold = hold[1];
	return child;
}

CASE(believes_the_listeners_user_and_root_only)
{
	int fd, hold, one = 1;
	uint16_t port;
	pid_t child;

	if (geteuid() != 0)
		skip_because("only root has another user announce");
	fd = bound_socket("127.0.0.1", false, &port);
	assert_int_equal(listen(fd, 1), 0);
	child = announce_as(65534, fd, &hold);
	assert_int_equal(find_anew("127.0.0.1", port), -EPERM);
	one = sdp_registry_announce(fd, SDP_PORT, false);
	assert_int_equal(find_anew("127.0.0.1", port), 0);
	close(one);
	assert_int_equal(fchown(fd, 65534, (gid_t)-1), 0);
	assert_int_equal(find_anew("127.0.0.1", port), 0);
	close(hold);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(find_anew("127.0.0.1", port), -ENOENT);
	one = sdp_registry_announce(fd, SDP_PORT, false);
	assert_int_equal(find_anew("127.0.0.1", port), 0);
	close(one);
	close(fd);
}

CASE(tells_ports_of_rdma_cm_apart)
{
	int fd, announce;
	uint16_t port;

	fd = bound_socket("127.0.0.1", false, &port);
	assert_int_equal(listen(fd, 1), 0);
	for (int is_cm = 0; is_cm <= 1; is_cm++) {
		announce = sdp_registry_announce(fd, SDP_PORT, is_cm);
		assert_int_equal(find_anew("127.0.0.1", port), 0);
		assert_int_equal(is_found_cm, is_cm);
		/* Also what is in the cache. */
		is_found_cm = !is_cm;
		assert_int_equal(find("127.0.0.1", port, &(uint16_t){ 0 }), 0);
		assert_int_equal(is_found_cm, is_cm);
		close(announce);
	}
	close(fd);
}

/* Each end of a connection is announced for itself, and not as its listener. */
CASE(finds_the_other_end_of_a_connection)
{
	struct sockaddr_storage name[3]; /* connecting, accepted, no one's */
	int fd[2], announce, note[2], of_listener;
	socklen_t len = sizeof(name[0]);
	uint16_t port, found = 0;

	of_listener = listener("127.0.0.1", &port, &announce);
	fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	name[1] = test_addr("127.0.0.1", port);
	assert_int_equal(connect(fd[0], (struct sockaddr *)&name[1],
				 sizeof(struct sockaddr_in)),
			 0);
	assert_int_equal(getsockname(fd[0], (struct sockaddr *)&name[0], &len),
			 0);
	fd[1] = accept4(of_listener, NULL, NULL, SOCK_CLOEXEC);
	name[2] = test_addr("127.0.0.1", 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(sdp_registry_find_end(
					 (struct sockaddr *)&name[!i],
					 (struct sockaddr *)&name[i], &found),
				 -ENOENT);
		note[i] = sdp_registry_announce(fd[i], (uint16_t)(100 + i),
						false);
		assert_true(note[i] >= 0);
		assert_int_equal(sdp_registry_find_end(
					 (struct sockaddr *)&name[!i],
					 (struct sockaddr *)&name[i], &found),
				 0);
		assert_int_equal(found, 100 + i);
		assert_int_equal(sdp_registry_find_end(
					 (struct sockaddr *)&name[2],
					 (struct sockaddr *)&name[i], &found),
				 -ENOTCONN);
	}
	for (int i = 0; i < 2; i++) {
		close(note[i]);
		close(fd[i]);
	}
	close(announce);
	close(of_listener);
}

CASE(takes_no_datagram)
{
	struct sockaddr_un addr;
	socklen_t len = sizeof(addr);
	int announce, fd, sender;
	uint16_t port;

	fd = listener("127.0.0.1", &port, &announce);
	assert_int_equal(getsockname(announce, (struct sockaddr *)&addr, &len),
			 0);
	sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(sendto(sender, "x", 1, MSG_NOSIGNAL,
			   (struct sockaddr *)&addr, len) < 0);
	assert_int_equal(errno, EPIPE);
	close(sender);
	close(announce);
	close(fd);
}

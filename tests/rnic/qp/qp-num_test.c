/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* QP numbers: their owners, their reuse, their ports. */
#define _GNU_SOURCE /* unshare */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../harness/test.h"
#include "engine/engine.h"
#include "../netns-fixture.h"
#include "qp/qp-num.h"
#include "os/tcp.h"

#define MANY 1000

static int dial(int family, uint16_t port)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(port),
				    .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in in4 = { .sin_family = AF_INET,
				   .sin_port = htons(port),
				   .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc, err;

	if (family == AF_INET6)
		rc = connect(fd, (struct sockaddr *)&in6, sizeof(in6));
	else
		rc = connect(fd, (struct sockaddr *)&in4, sizeof(in4));
	err = errno;
	close(fd);
	return rc < 0 ? -err : 0;
}

static uint32_t draw(void)
{
	uint32_t num = 0;

	assert_int_equal(rnic_qp_num_draw(&num), 0);
	assert_int_equal(num & ~RNIC_QP_NUM_MASK, 0);
	return num;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

CASE(numbers_are_unlike_and_name_few_ports)
{
	uint32_t num[MANY];
	unsigned int port_cnt = 1;

	for (int i = 0; i < MANY; i++)
		num[i] = draw();
	qsort(num, MANY, sizeof(num[0]), compare);
	for (int i = 1; i < MANY; i++) {
		assert_true(num[i] != num[i - 1]);
		port_cnt += rnic_qp_num_port(num[i]) !=
			    rnic_qp_num_port(num[i - 1]);
	}
	assert_in_range(port_cnt, (MANY + 255) / 256, (MANY + 255) / 256 + 1);
	for (int i = 0; i < MANY; i++)
		rnic_qp_num_release(num[i], false);
}

/* Creating and destroying QPs repeatedly uses no more ports. */
CASE(unused_numbers_are_reused)
{
	uint32_t alive = draw(), first = draw(), again;

	rnic_qp_num_release(first, false);
	for (int i = 0; i < 10 * MANY; i++) {
		again = draw();
		assert_int_equal(again, first);
		rnic_qp_num_release(again, false);
	}
	rnic_qp_num_release(alive, false);
}

CASE(releasing_a_number_closes_its_port)
{
	uint32_t num = draw();
	bool is_new;

	assert_true(rnic_qp_num_listen(num, &is_new) >= 0);
	rnic_qp_num_release(num, false);
	assert_int_equal(dial(AF_INET, rnic_qp_num_port(num)), -ECONNREFUSED);
	assert_int_equal(rnic_qp_num_listen(num, &is_new), -EADDRNOTAVAIL);
}

CASE(announced_numbers_are_not_reused_soon)
{
	uint32_t told[300], num;

	for (int i = 0; i < 300; i++) {
		told[i] = draw();
		rnic_qp_num_release(told[i], true);
	}
	for (int i = 0; i < MANY; i++) {
		num = draw();
		for (int j = 0; j < 300; j++)
			assert_true(num != told[j]);
		rnic_qp_num_release(num, false);
	}
}

CASE(a_port_accepts_once_it_is_wanted)
{
	uint32_t num = draw();
	bool is_new = false;
	int fd;

	assert_int_equal(dial(AF_INET, rnic_qp_num_port(num)), -ECONNREFUSED);
	fd = rnic_qp_num_listen(num, &is_new);
	assert_true(fd >= 0);
	assert_true(is_new);
	assert_int_equal(dial(AF_INET, rnic_qp_num_port(num)), 0);
	assert_int_equal(dial(AF_INET6, rnic_qp_num_port(num)), 0);
	assert_int_equal(rnic_qp_num_listen(num, &is_new), fd);
	assert_false(is_new);
	rnic_qp_num_release(num, false);
}

CASE(next_listener_returns_each_once)
{
	uint32_t num[MANY], at = 0, found = 0;
	bool is_new;
	int fd;

	for (int i = 0; i < MANY; i++)
		num[i] = draw();
	for (int i = 0; i < MANY; i += 300)
		assert_true(rnic_qp_num_listen(num[i], &is_new) >= 0);
	while ((fd = rnic_qp_num_next_listener(&at)) >= 0) {
		assert_int_equal(rnic_qp_num_listen(at, &is_new), fd);
		assert_false(is_new);
		found++;
	}
	assert_int_equal(fd, -ENOENT);
	/* Others may be left from before. */
	assert_true(found >= 4);
	for (int i = 0; i < MANY; i++)
		rnic_qp_num_release(num[i], false);
}

/* ---- in other processes ---- */

#define must(cond)                                                             \
	do {                                                                   \
		if (!(cond)) {                                                 \
			fprintf(stderr, "%s does not hold\n", #cond);          \
			_exit(1);                                              \
		}                                                              \
	} while (0)

/* A process that has no ports yet. */
static void in_child(void (*body)(void))
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		rnic_qp_num_fork_child();
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- without sockets ---- */

static int no_socket(int family, int type, int protocol)
{
	(void)family;
	(void)type;
	(void)protocol;
	errno = EMFILE;
	return -1;
}

static void numbers_without_a_port(void)
{
	struct rnic_tcp_ops ops = *rnic_tcp();
	uint32_t num;
	bool is_new;

	ops.socket = no_socket;
	rnic_tcp_replace(&ops);
	for (int i = 0; i < MANY; i++) {
		must(rnic_qp_num_draw(&num) == 0);
		must(rnic_qp_num_port(num) >= 1);
		must(rnic_qp_num_port(num) <= 1023);
		must(rnic_qp_num_listen(num, &is_new) == -EADDRNOTAVAIL);
	}
	/* When there are ports again the next QP has one, although numbers
	 * without a port are left. */
	rnic_tcp_replace(NULL);
	must(rnic_qp_num_draw(&num) == 0);
	must(rnic_qp_num_listen(num, &is_new) >= 0);
}

static bool write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool is_done = fd >= 0 &&
		       write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return is_done;
}

/* A network namespace with only two ports for this purpose. */
static void numbers_without_ports_left(void)
{
	static const char range[] = "/proc/sys/net/ipv4/ip_local_port_range";
	uint32_t num;
	bool is_new;

	if (!netns_enter())
		return;
	must(write_to(range, "40000 40001"));
	for (int i = 0; i < 2 * 256; i++) {
		must(rnic_qp_num_draw(&num) == 0);
		must(rnic_qp_num_port(num) >> 1 == 40000 >> 1);
	}
	for (int i = 0; i < 300; i++) {
		must(rnic_qp_num_draw(&num) == 0);
		must(rnic_qp_num_port(num) <= 1023);
		must(rnic_qp_num_listen(num, &is_new) == -EADDRNOTAVAIL);
	}
	must(write_to(range, "40000 40009"));
	must(rnic_qp_num_draw(&num) == 0);
	must(rnic_qp_num_listen(num, &is_new) >= 0);
}

CASE(exhausted_ports_come_back)
{
	in_child(numbers_without_ports_left);
}

CASE(without_a_port_there_are_numbers_all_the_same)
{
	in_child(numbers_without_a_port);
}

static int no_family6(int family, int type, int protocol)
{
	if (family == AF_INET6) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	return socket(family, type, protocol);
}

static void ports_without_ipv6(void)
{
	struct rnic_tcp_ops ops = *rnic_tcp();
	uint32_t num;
	bool is_new;

	ops.socket = no_family6;
	rnic_tcp_replace(&ops);
	must(rnic_qp_num_draw(&num) == 0);
	must(rnic_qp_num_listen(num, &is_new) >= 0);
	must(dial(AF_INET, rnic_qp_num_port(num)) == 0);
}

CASE(a_host_without_ipv6_has_ports)
{
	in_child(ports_without_ipv6);
}

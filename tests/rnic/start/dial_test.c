/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Dialling: how connect() ends, at once or when the socket is ready. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include "must.h"
#include "test.h"
#include "os/addr.h"
#include "os/fd.h"
#include "start/dial.h"

#define LIMIT_MS 10000

static struct sockaddr_storage loopback(int family, uint16_t port)
{
	struct sockaddr_storage ss = { .ss_family = (sa_family_t)family };

	if (family == AF_INET)
		((struct sockaddr_in *)&ss)->sin_addr.s_addr =
			htonl(INADDR_LOOPBACK);
	else
		((struct sockaddr_in6 *)&ss)->sin6_addr = in6addr_loopback;
	rnic_addr_set_port_be(&ss, htons(port));
	return ss;
}

/* A bound socket with its own port, which listens or may be shared. */
static int server(int family, bool listens, struct sockaddr_storage *ret_addr)
{
	socklen_t len = sizeof(*ret_addr);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret_addr = loopback(family, 0);
	must(fd >= 0);
	must(!bind(fd, (struct sockaddr *)ret_addr,
		   rnic_addr_len((struct sockaddr *)ret_addr)));
	must(!getsockname(fd, (struct sockaddr *)ret_addr, &len));
	if (listens)
		must(!listen(fd, 8));
	else
		rnic_sock_set_flag(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	return fd;
}

static int dial(struct rnic_start *start, const struct sockaddr_storage *from,
		const struct sockaddr_storage *to)
{
	struct pollfd pfd = { .events = POLLOUT };
	int ret;

	*start = (struct rnic_start){ .fd = rnic_dial_open(from, 0) };
	must(start->fd >= 0);
	ret = rnic_dial_connect(start->fd, to);
	if (ret == 0)
		ret = rnic_dial_result(start);
	if (ret != 0)
		return ret;
	pfd.fd = start->fd;
	must(poll(&pfd, 1, LIMIT_MS) == 1);
	return rnic_dial_result(start);
}

static const int families[] = { AF_INET, AF_INET6 };

CASE(connects_and_knows_both_names)
{
	for (int i = 0; i < 2; i++) {
		struct sockaddr_storage from = loopback(families[i], 0), to;
		struct rnic_start start;
		int fd = server(families[i], true, &to);

		assert_int_equal(dial(&start, &from, &to), 1);
		assert_true(rnic_start_is_connected(&start));
		assert_true(rnic_addr_equal(&start.peer, &to));
		assert_true(rnic_addr_is_same_host(&start.local, &from));
		assert_int_not_equal(
			rnic_addr_port_be((struct sockaddr *)&start.local), 0);
		rnic_fd_close(start.fd);
		close(fd);
	}
}

CASE(a_port_without_listener_refuses)
{
	for (int i = 0; i < 2; i++) {
		struct sockaddr_storage from = loopback(families[i], 0), to;
		struct rnic_start start;
		int fd = server(families[i], false, &to);

		assert_int_equal(dial(&start, &from, &to), -ECONNREFUSED);
		assert_false(rnic_start_is_connected(&start));
		rnic_fd_close(start.fd);
		close(fd);
	}
}

/* TCP's simultaneous open of a socket with itself. */
CASE(its_own_port_refuses)
{
	struct sockaddr_storage own;
	struct rnic_start start;
	int fd = server(AF_INET, false, &own);

	assert_int_equal(dial(&start, &own, &own), -ECONNREFUSED);
	rnic_fd_close(start.fd);
	close(fd);
}

/* The next attempt uses the same port, although the first one may be in
 * TIME_WAIT. */
CASE(a_port_is_bound_again)
{
	struct sockaddr_storage from, to;
	struct rnic_start start;
	int own = server(AF_INET, false, &from);
	int fd = server(AF_INET, true, &to);

	for (int i = 0; i < 2; i++) {
		int peer;

		assert_int_equal(dial(&start, &from, &to), 1);
		assert_true(rnic_addr_equal(&start.local, &from));
		peer = accept(fd, NULL, NULL);
		must(peer >= 0);
		/* This end closes first, so it gets TIME_WAIT. */
		must(!shutdown(start.fd, SHUT_WR));
		must(read(peer, &(char){ 0 }, 1) == 0);
		close(peer);
		must(read(start.fd, &(char){ 0 }, 1) <= 0);
		rnic_fd_close(start.fd);
		/* The same port, to another destination. */
		close(fd);
		fd = server(AF_INET, true, &to);
	}
	close(fd);
	close(own);
}

CASE(an_address_of_another_host_cannot_be_bound)
{
	struct sockaddr_storage from = loopback(AF_INET, 0);

	/* TEST-NET-1 */
	((struct sockaddr_in *)&from)->sin_addr.s_addr = htonl(0xc0000201);
	assert_int_equal(rnic_dial_open(&from, 0), -EADDRNOTAVAIL);
}

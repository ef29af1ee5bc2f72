/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Descriptor numbers of the program: creation, duplication, close, flags. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sock/listen/acceptor.h"
#include "sock/share/end.h"
#include "sock/show/epoll.h"
#include "sock/io/fd.h"
#include "sock/listen/listen.h"
#include "sock/base/option.h"
#include "sock/show/ready.h"
#include "sock/base/real.h"
#include "sock/share/share.h"
#include "sock/base/signals.h"
#include "sock/start/start.h"
#include "stat/sdp-stat.h"

#include "fake-sock.h"
#include "sock-fixture.h"

/* ---- the rest of the layer ---- */

static int accept_fd;
static bool accept_is_sdp;
static struct sdp_link *accept_link; /* made by rdma_cm */
static struct sdp_link *put_back;
static int accepted_ret;

int sdp_listen_accept(struct sdp_sock *sock, struct sockaddr *addr,
		      socklen_t *len, int flags, struct sdp_came *ret_came)
{
	(void)sock;
	(void)addr;
	(void)len;
	(void)flags;
	*ret_came = (struct sdp_came){ .is_sdp = accept_is_sdp,
				       .link = accept_link };
	return accept_fd;
}

int sdp_start_accepted(struct sdp_sock *sock, int fd, struct sdp_link *link)
{
	(void)fd;
	assert_ptr_equal(link, accept_link);
	sock->peer.in.sin_family = AF_INET;
	return accepted_ret;
}

void sdp_acceptor_put_back(struct sdp_acceptor *acceptor, struct sdp_link *link)
{
	(void)acceptor;
	put_back = link;
}

int sdp_name_put(const union sdp_addr *name, struct sockaddr *addr,
		 socklen_t *len)
{
	if (*len < sizeof(*addr))
		return -EFAULT; /* invalid memory */
	addr->sa_family = name->sa.sa_family;
	return 0;
}

/* ---- fixture ---- */

static int fd;
static struct sdp_sock *sock;

static int begin(void **state)
{
	fake_reset();
	fake.sdp_signals_go_on.ret = true;
	fake.sdp_stat_fd_take.ret = -1;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	sdp_fd_socket(fd, AF_INET, SOCK_STREAM, &fake.sdp_sock_close.cnt);
	sock = sdp_sock_get(fd);
	if (!sock)
		return 1;
	sdp_sock_put(sock);
	return 0;
}

static int end(void **state)
{
	program_close(fd);
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, begin, end)

static bool is_open(int number)
{
	return fcntl(number, F_GETFD) >= 0;
}

/* A descriptor of the library. */
static int private_new(void)
{
	int made = sdp_private_add(open("/dev/null", O_RDONLY));

	assert_true(made >= 0);
	return made;
}

/* ---- made ---- */

FILE_CASE(a_socket_of_the_program_has_an_entry)
{
	assert_int_equal(sdp_fd_kind(fd), SDP_FD_SOCK);
	assert_int_equal(sock->family, AF_INET);
	assert_false(sock->is_nonblock);
}

FILE_CASE(the_librarys_own_has_none)
{
	int own = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool old = sdp_inside_enter();

	errno = ERANGE;
	sdp_fd_socket(own, AF_INET, SOCK_STREAM, &fake.sdp_sock_close.cnt);
	assert_int_equal(errno, ERANGE);
	sdp_inside_leave(old);
	assert_int_equal(sdp_fd_kind(own), SDP_FD_NONE);
	close(own);
}

FILE_CASE(an_accepted_one_has_an_entry)
{
	static const struct {
		bool is_sdp;
		int flags;
		enum sdp_sock_state state;
	} rows[] = {
		{ false, 0, SDP_SOCK_TCP },
		{ true, 0, SDP_SOCK_PENDING },
		{ true, SOCK_NONBLOCK | SOCK_CLOEXEC, SDP_SOCK_PENDING },
	};
	struct sdp_sock *peer;

	sock->port = 4711;
	sdp_sock_become(sock, SDP_SOCK_LISTENING);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		accept_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		accept_is_sdp = rows[i].is_sdp;
		assert_int_equal(
			sdp_fd_accept(sock, fd, NULL, NULL, rows[i].flags),
			accept_fd);
		peer = sdp_sock_get(accept_fd);
		assert_non_null(peer);
		assert_int_equal(sdp_sock_state(peer), rows[i].state);
		assert_int_equal(peer->is_accepting, rows[i].is_sdp);
		assert_int_equal(peer->port, rows[i].is_sdp ? 4711 : 0);
		assert_int_equal(peer->is_nonblock,
				 (rows[i].flags & SOCK_NONBLOCK) != 0);
		sdp_sock_become(peer, SDP_SOCK_TCP);
		sdp_sock_put(peer);
		assert_int_equal(sdp_fd_close(accept_fd), 0);
	}
	accept_fd = -EAGAIN;
	assert_int_equal(sdp_fd_accept(sock, fd, NULL, NULL, 0), -EAGAIN);
	/* The kernel's accept() returns its error too. */
	sdp_sock_become(sock, SDP_SOCK_TCP);
	assert_int_equal(sdp_fd_accept(sock, fd, NULL, NULL, 0), -EINVAL);
}

/* A connection by rdma_cm is established at once. Without space for it, it
 * keeps waiting. */
FILE_CASE(a_link_is_accepted_or_waits_on)
{
	static const struct {
		int ret;
		socklen_t len; /* 0: not requested */
		int want;      /* 0: the descriptor */
		bool is_back;
	} rows[] = {
		{ 0, 0, 0, false },
		{ 0, 16, 0, false },
		{ 0, 1, -EFAULT, false },
		{ -EMFILE, 0, -EMFILE, true },
	};
	static char place;

	accept_is_sdp = true;
	accept_link = (struct sdp_link *)(void *)&place;
	sdp_sock_become(sock, SDP_SOCK_LISTENING);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sockaddr addr = { 0 };
		socklen_t len = rows[i].len;
		int ret;

		put_back = NULL;
		accepted_ret = rows[i].ret;
		accept_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		ret = sdp_fd_accept(sock, fd, len ? &addr : NULL, &len, 0);
		assert_int_equal(ret, rows[i].want ? rows[i].want : accept_fd);
		assert_ptr_equal(put_back,
				 rows[i].is_back ? accept_link : NULL);
		if (ret >= 0)
			assert_int_equal(sdp_fd_close(ret), 0);
		assert_false(is_open(accept_fd));
	}
	accept_link = NULL;
	sdp_sock_become(sock, SDP_SOCK_TCP);
}

/* ---- closed ---- */

FILE_CASE(close_takes_the_entry_along)
{
	assert_int_equal(sdp_fd_close(fd), 0);
	assert_int_equal(sdp_fd_kind(fd), SDP_FD_NONE);
	assert_false(is_open(fd));
	assert_int_equal(fake.sdp_sock_close.cnt, 1);
	assert_int_equal(fake.sdp_sock_end.cnt, 1);
	assert_int_equal(sdp_fd_close(fd), -EBADF);
}

/* fclose(): the kernel's descriptor is closed behind it. */
FILE_CASE(what_libc_closes_is_forgotten)
{
	int own = private_new();

	sdp_fd_forget(fd);
	assert_int_equal(sdp_fd_kind(fd), SDP_FD_NONE);
	assert_true(is_open(fd));
	assert_int_equal(fake.sdp_sock_end.cnt, 1);
	close(fd);
	sdp_fd_forget(own);
	assert_int_equal(sdp_fd_kind(own), SDP_FD_PRIVATE);
	sdp_fd_forget(-1);
	sdp_private_close(own);
}

FILE_CASE(close_passes_over_the_librarys_own)
{
	int own = private_new();

	assert_int_equal(sdp_fd_close(own), -EBADF);
	assert_true(is_open(own));
	sdp_private_close(own);
}

FILE_CASE(a_range_passes_over_the_librarys_own)
{
	int low = fcntl(fd, F_DUPFD_CLOEXEC, 600), own, high;

	own = sdp_private_add(fcntl(fd, F_DUPFD_CLOEXEC, low + 1));
	assert_true(own > 0);
	high = fcntl(fd, F_DUPFD_CLOEXEC, (own > low ? own : low) + 1);
	assert_int_equal(sdp_sock_add_fd(sock, high), 0);
	assert_int_equal(sdp_fd_close_range(512, ~0u, 0), 0);
	assert_false(is_open(low));
	assert_false(is_open(high));
	assert_int_equal(sdp_fd_kind(high), SDP_FD_NONE);
	assert_true(is_open(own));
	assert_true(is_open(fd));
	assert_int_equal(fake.sdp_sock_end.cnt, 0);
	sdp_private_close(own);
}

FILE_CASE(a_bad_range_closes_nothing)
{
	assert_int_equal(
		sdp_fd_close_range((unsigned int)fd, (unsigned int)fd - 1, 0),
		-EINVAL);
	assert_int_equal(
		sdp_fd_close_range((unsigned int)fd, (unsigned int)fd, 1 << 30),
		-EINVAL);
	assert_int_equal(sdp_fd_kind(fd), SDP_FD_SOCK);
	assert_true(is_open(fd));
}

/* ---- duplicates ---- */

FILE_CASE(a_duplicate_is_the_same_socket)
{
	int plain = sdp_fd_dup(fd, 0, false), high = sdp_fd_dup(fd, 200, true);

	assert_true(sdp_sock_has_fd(sock, plain));
	assert_true(sdp_sock_has_fd(sock, high));
	assert_true(high >= 200);
	assert_false(fcntl(plain, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(high, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(sdp_fd_close(fd), 0);
	assert_int_equal(sdp_fd_close(plain), 0);
	assert_int_equal(fake.sdp_sock_close.cnt, 0);
	assert_int_equal(sdp_fd_close(high), 0);
	assert_int_equal(fake.sdp_sock_close.cnt, 1);
	assert_int_equal(sdp_fd_dup(fd, 0, false), -EBADF);
}

static int covering_fd;

/* Another thread starts SDP before it returns. */
static int covered_fcntl(int of, int cmd, ...)
{
	int ret = fcntl(of, cmd, 0);

	sdp_sock_cover(sock, covering_fd);
	return ret;
}

static bool is_one_file(int one, int other)
{
	struct stat a, b;

	return fstat(one, &a) == 0 && fstat(other, &b) == 0 &&
	       a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

FILE_CASE(a_duplicate_is_covered_as_well)
{
	struct sdp_reals *reals = sdp_real_table.pointers;
	int copy;

	covering_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_non_null(sdp_real());
	reals->fcntl = covered_fcntl;
	copy = sdp_fd_dup(fd, 0, true);
	reals->fcntl = fcntl;
	assert_true(sdp_sock_has_fd(sock, copy));
	assert_true(is_one_file(fd, covering_fd));
	assert_true(is_one_file(copy, covering_fd));
	assert_true(fcntl(copy, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(sdp_fd_close(copy), 0);
	close(covering_fd);
}

FILE_CASE(a_duplicate_takes_a_number_over)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int number = sdp_fd_dup3(fd, null, O_CLOEXEC);

	assert_int_equal(number, null);
	assert_true(sdp_sock_has_fd(sock, null));
	assert_true(fcntl(null, F_GETFD) & FD_CLOEXEC);
	/* And a file replaces the socket. */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_int_equal(sdp_fd_dup3(null, number, 0), number);
	assert_int_equal(sdp_fd_kind(number), SDP_FD_NONE);
	assert_true(is_open(number));
	assert_int_equal(fake.sdp_sock_close.cnt, 0);
	close(number);
	close(null);
}

static int busy_cnt;

/* Another thread opens a descriptor. */
static int busy_dup3(int of, int number, int flags)
{
	if (busy_cnt-- > 0) {
		errno = EBUSY;
		return -1;
	}
	return dup3(of, number, flags);
}

FILE_CASE(a_number_that_the_kernel_gives_out_is_waited_for)
{
	struct sdp_reals *reals = sdp_real_table.pointers;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	assert_non_null(sdp_real());
	reals->dup3 = busy_dup3;
	busy_cnt = 5;
	assert_int_equal(sdp_fd_dup3(fd, null, O_CLOEXEC), null);
	assert_true(sdp_sock_has_fd(sock, null));
	assert_int_equal(sdp_fd_close(null), 0);
	/* One that a thread of the program waits for in accept(), say. */
	busy_cnt = INT_MAX;
	assert_int_equal(sdp_fd_dup3(fd, null, O_CLOEXEC), -EBUSY);
	reals->dup3 = dup3;
}

FILE_CASE(a_bad_duplicate_costs_nothing)
{
	int own = private_new();

	assert_int_equal(sdp_fd_dup3(fd, fd, 0), -EINVAL);
	assert_int_equal(sdp_fd_dup3(fd, own, O_NONBLOCK), -EINVAL);
	assert_int_equal(sdp_fd_dup3(-1, fd, 0), -EBADF);
	assert_int_equal(sdp_fd_dup3(fd, own, 0), -EBUSY);
	assert_int_equal(sdp_fd_dup3(fd, -1, 0), -EBADF);
	assert_int_equal(sdp_fd_kind(fd), SDP_FD_SOCK);
	assert_int_equal(sdp_fd_kind(own), SDP_FD_PRIVATE);
	assert_int_equal(fake.sdp_sock_end.cnt, 0);
	sdp_private_close(own);
}

/* ---- flags ---- */

FILE_CASE(flags_are_noted)
{
	int below = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	sock->tcp_fd = below;
	sdp_fd_nonblock(sock, true);
	assert_true(sock->is_nonblock);
	sdp_fd_nonblock(sock, false);
	assert_false(sock->is_nonblock);
	/* For a socket that belongs to the kernel nothing else is done. */
	sdp_fd_async(sock, fd, true);
	assert_true(sock->is_async);
	sdp_fd_own(sock, F_SETOWN, (void *)(intptr_t)getpid());
	assert_int_equal(fake.sdp_sock_watch.cnt, 0);
	assert_int_equal(fcntl(below, F_GETOWN), 0);
	sdp_sock_become(sock, SDP_SOCK_STREAM);
	sdp_fd_async(sock, fd, true);
	sdp_fd_own(sock, F_SETOWN, (void *)(intptr_t)getpid());
	assert_int_equal(fake.sdp_sock_watch.cnt, 1);
	assert_int_equal(fcntl(below, F_GETOWN), getpid());
	sock->tcp_fd = -1;
	close(below);
}

/* ---- a family for both ---- */

static int domain_of(int number)
{
	int domain = -1;
	socklen_t len = sizeof(domain);

	getsockopt(number, SOL_SOCKET, SO_DOMAIN, &domain, &len);
	return domain;
}

FILE_CASE(a_socket_of_sdps_family_takes_both)
{
	struct sockaddr_in6 addr = { .sin6_family = AF_INET6,
				     .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	const struct sockaddr *any = (const struct sockaddr *)(void *)&addr;
	int one = 1, value = 0, second;
	socklen_t len = sizeof(value);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK);
	/* A socket of another family is not changed. */
	sdp_fd_suit(fd, any, sizeof(addr));
	assert_int_equal(domain_of(fd), AF_INET);
	sock->family = SDP_AF_INET_SDP;
	sdp_fd_suit(fd, any, 1);
	sdp_fd_suit(fd, NULL, sizeof(addr));
	assert_int_equal(domain_of(fd), AF_INET);
	second = sdp_fd_dup(fd, 0, false);
	sdp_fd_suit(fd, any, sizeof(addr));
	assert_int_equal(domain_of(fd), AF_INET6);
	assert_int_equal(domain_of(second), AF_INET6);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_false(fcntl(second, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &value, &len),
			 0);
	assert_int_equal(value, 1);
	assert_int_equal(sdp_fd_close(second), 0);
}

ALL_CASES_WITH(table_start, NULL);

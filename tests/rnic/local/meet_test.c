/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* meet.c: the ends of one TCP connection find each other, and nobody else. */
#define _GNU_SOURCE
#include "../../harness/child.h"
#include "../../harness/deny.h"
#include "../../harness/descriptors.h"
#include "../../harness/must.h"
#include "../../harness/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lingering.h"
#include "maps.h"
#include "local/local.h"
#include "local/meet.h"
#include "local/memory.h"
#include "netns-fixture.h"
#include "os/fd.h"
#include "os/stranger.h"
#include "os/tcp.h"
#include "rnicpair.h"

/* A TCP connection; 0 is the active side. */
struct tcp {
	int fd[2];
};

static void tcp_open(struct tcp *t)
{
	rnicpair_sockets(0, t->fd);
}

static void tcp_close(struct tcp *t)
{
	rnic_fd_close(t->fd[0]);
	rnic_fd_close(t->fd[1]);
}

CASE(ends_of_one_connection_meet)
{
	struct rnic_local *active, *passive;
	char out[8] = "";
	struct iovec in_iov = { (void *)(uintptr_t)"octets", 7 };
	struct iovec out_iov = { out, sizeof(out) };
	uint64_t tcp_octets;
	struct tcp t;
	int fd;

	tcp_open(&t);
	fd = rnic_meet_listen(t.fd[0]);
	assert_true(fd >= 0);
	assert_int_equal(rnic_meet_offer(t.fd[1], &passive), 0);
	assert_int_equal(rnic_meet_take(fd, &active), 0);
	rnic_fd_close(fd);
	assert_false(rnic_local_sends(active) || rnic_local_sends(passive));
	assert_int_equal(rnic_local_rx_begin(passive, &tcp_octets), 0);
	assert_int_equal(rnic_local_tx_begin(active, 20), 0);
	assert_true(rnic_local_sends(active));
	assert_int_equal(rnic_local_rx_begin(passive, &tcp_octets), 1);
	assert_int_equal(tcp_octets, 20);
	assert_int_equal(rnic_local_send(active, &in_iov, 1), 7);
	assert_int_equal(rnic_local_recv(passive, &out_iov, 1), 7);
	assert_string_equal(out, "octets");
	assert_int_equal(rnic_local_tx_begin(passive, 0), 0);
	assert_int_equal(rnic_local_rx_begin(active, &tcp_octets), 1);
	assert_int_equal(rnic_local_send(passive, &in_iov, 1), 7);
	assert_int_equal(rnic_local_recv(active, &out_iov, 1), 7);
	rnic_local_free(active);
	rnic_local_free(passive);
	tcp_close(&t);
}

/* Two versions of usiw have to agree on it. */
CASE(the_name_says_which_connection)
{
	struct sockaddr_un sun;
	struct sockaddr_in from, to;
	socklen_t len = sizeof(from), sun_len = sizeof(sun);
	char name[100];
	struct tcp t;
	int fd;

	tcp_open(&t);
	must(!getsockname(t.fd[0], (struct sockaddr *)&from, &len));
	must(!getpeername(t.fd[0], (struct sockaddr *)&to, &len));
	must(from.sin_family == AF_INET);
	snprintf(name, sizeof(name), "usiw-local/3/7f000001.%u-7f000001.%u",
		 ntohs(from.sin_port), ntohs(to.sin_port));
	fd = rnic_meet_listen(t.fd[0]);
	must(!getsockname(fd, (struct sockaddr *)&sun, &sun_len));
	assert_int_equal(sun_len - offsetof(struct sockaddr_un, sun_path),
			 1 + strlen(name));
	assert_int_equal(sun.sun_path[0], 0);
	assert_memory_equal(sun.sun_path + 1, name, strlen(name));
	rnic_fd_close(fd);
	tcp_close(&t);
}

/* Nobody waits for anybody. */
CASE(says_that_the_other_end_is_not_there)
{
	struct rnic_local *local;
	struct tcp t, other;
	int fd;

	tcp_open(&t);
	tcp_open(&other);
	assert_int_equal(rnic_meet_offer(t.fd[1], &local), -ECONNREFUSED);
	fd = rnic_meet_listen(t.fd[0]);
	assert_int_equal(rnic_meet_take(fd, &local), -EAGAIN);
	/* Another connection, and the same one the wrong way round. */
	assert_int_equal(rnic_meet_offer(other.fd[1], &local), -ECONNREFUSED);
	assert_int_equal(rnic_meet_offer(t.fd[0], &local), -ECONNREFUSED);
	/* The name is in use. */
	assert_int_equal(rnic_meet_listen(t.fd[0]), -EADDRINUSE);
	rnic_fd_close(fd);
	assert_int_equal(rnic_meet_offer(t.fd[1], &local), -ECONNREFUSED);
	tcp_close(&other);
	tcp_close(&t);
}

/* The addresses may be another connection's by then. */
CASE(offers_nothing_on_a_connection_that_has_ended)
{
	struct rnic_local *local;
	struct tcp t;
	int fd;

	tcp_open(&t);
	fd = rnic_meet_listen(t.fd[0]);
	assert_int_equal(shutdown(t.fd[0], SHUT_RDWR), 0);
	wait_until(rnic_meet_offer(t.fd[1], &local) == -ENOTCONN);
	rnic_fd_close(fd);
	tcp_close(&t);
}

/* ---- others at the name ---- */

/* The address at which @fd listens. */
static int connect_to(int fd)
{
	struct sockaddr_un sun;
	socklen_t len = sizeof(sun);
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(!getsockname(fd, (struct sockaddr *)&sun, &len));
	must(!connect(s, (struct sockaddr *)&sun, len));
	return s;
}

static int memory_of(long size, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	must(fd >= 0);
	must(!ftruncate(fd, size));
	must(!seals || !fcntl(fd, F_ADD_SEALS, seals));
	return fd;
}

static int fd_of_nothing(void)
{
	return -1;
}

static int fd_good(void)
{
	return rnic_local_memory_new();
}

static int fd_not_sealed(void)
{
	return memory_of(RNIC_LOCAL_MEMORY_SIZE, 0);
}

static int fd_short(void)
{
	return memory_of(4096, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

static int fd_file(void)
{
	return open("/dev/zero", O_RDWR | O_CLOEXEC);
}

static const struct {
	const char *name;
	int (*fd)(void);
	int fd_cnt;
	uint32_t magic, version;
	uint64_t size;
	size_t len;
} offers[] = {
	{ "a good one", fd_good, 1, 0x7573774c, 3, RNIC_LOCAL_MEMORY_SIZE, 16 },
	{ "nothing is sent", fd_of_nothing, 0, 0, 0, 0, 0 },
	{ "without memory", fd_of_nothing, 0, 0x7573774c, 3,
	  RNIC_LOCAL_MEMORY_SIZE, 16 },
	{ "memory that may shrink", fd_not_sealed, 1, 0x7573774c, 3,
	  RNIC_LOCAL_MEMORY_SIZE, 16 },
	{ "memory that is short", fd_short, 1, 0x7573774c, 3,
	  RNIC_LOCAL_MEMORY_SIZE, 16 },
	{ "a device", fd_file, 1, 0x7573774c, 3, RNIC_LOCAL_MEMORY_SIZE, 16 },
	{ "another magic", fd_good, 1, 0x7573774d, 3, RNIC_LOCAL_MEMORY_SIZE,
	  16 },
	{ "another version", fd_good, 1, 0x7573774c, 2, RNIC_LOCAL_MEMORY_SIZE,
	  16 },
	{ "another size", fd_good, 1, 0x7573774c, 3, 4096, 16 },
	{ "half of it", fd_good, 1, 0x7573774c, 3, RNIC_LOCAL_MEMORY_SIZE, 8 },
};

static void send_offer(int s, size_t row)
{
	struct {
		uint32_t magic, version;
		uint64_t size;
	} offer = { offers[row].magic, offers[row].version, offers[row].size };
	_Alignas(struct cmsghdr) uint8_t control[64] = { 0 };
	struct iovec iov = { &offer, offers[row].len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fd = offers[row].fd();

	if (offers[row].len == 0)
		return;
	if (offers[row].fd_cnt) {
		struct cmsghdr *cmsg = (struct cmsghdr *)control;

		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int));
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	}
	must(sendmsg(s, &msg, 0) == (ssize_t)offers[row].len);
	if (fd >= 0)
		close(fd);
}

/* The octets of these offers are right, so it is the rest that is refused. */
CASE(takes_a_good_offer)
{
	struct rnic_local *active;
	struct tcp t;
	int fd, s;

	tcp_open(&t);
	fd = rnic_meet_listen(t.fd[0]);
	s = connect_to(fd);
	send_offer(s, 0);
	assert_int_equal(rnic_meet_take(fd, &active), 0);
	rnic_local_free(active);
	close(s);
	rnic_fd_close(fd);
	tcp_close(&t);
}

/* Whoever comes first with something else keeps out nobody, and leaves nothing
 * behind. */
CASE(looks_past_what_is_no_offer)
{
	for (size_t i = 1; i < ARRAY_LEN(offers); i++) {
		struct rnic_local *active, *passive;
		int before = test_fd_cnt();
		struct tcp t;
		int fd, s;

		tcp_open(&t);
		fd = rnic_meet_listen(t.fd[0]);
		s = connect_to(fd);
		send_offer(s, i);
		assert_int_equal(rnic_meet_offer(t.fd[1], &passive), 0);
		assert_row(offers[i].name, rnic_meet_take(fd, &active) == 0);
		rnic_local_free(active);
		rnic_local_free(passive);

		rnic_fd_close(fd);
		fd = rnic_meet_listen(t.fd[0]);
		close(s);
		s = connect_to(fd);
		send_offer(s, i);
		assert_row(offers[i].name,
			   rnic_meet_take(fd, &active) ==
				   (offers[i].len ? -EPROTO : -EAGAIN));
		close(s);
		rnic_fd_close(fd);
		tcp_close(&t);
		/* What is unknown is closed by another thread. */
		wait_until(test_fd_cnt() == before);
	}
}

/* As many as the queue takes before the other end comes. */
CASE(looks_past_all_that_wait)
{
	struct rnic_local *active, *passive;
	int before = test_fd_cnt();
	struct tcp t;
	int fd, s[8];

	tcp_open(&t);
	fd = rnic_meet_listen(t.fd[0]);
	for (size_t i = 0; i < ARRAY_LEN(s); i++)
		s[i] = connect_to(fd);
	assert_int_equal(rnic_meet_offer(t.fd[1], &passive), 0);
	assert_int_equal(rnic_meet_take(fd, &active), 0);
	rnic_local_free(active);
	rnic_local_free(passive);
	for (size_t i = 0; i < ARRAY_LEN(s); i++)
		close(s[i]);
	rnic_fd_close(fd);
	tcp_close(&t);
	wait_until(test_fd_cnt() == before);
}

/* Nor does it keep up anybody: the first one passes a socket whose close()
 * takes long. */
CASE(does_not_wait_for_what_is_passed)
{
	struct rnic_local *active, *passive;
	int fd, s, lingering, peer, rc = 0;
	struct tcp t;

	tcp_open(&t);
	fd = rnic_meet_listen(t.fd[0]);
	s = connect_to(fd);
	lingering = lingering_new(&peer);
	pass_descriptors(s, "0123456789abcdef", 16, &lingering, 1);
	assert_int_equal(rnic_meet_offer(t.fd[1], &passive), 0);
	assert_at_once(rc = rnic_meet_take(fd, &active));
	assert_int_equal(rc, 0);
	rnic_local_free(active);
	rnic_local_free(passive);
	close(peer);
	close(s);
	rnic_fd_close(fd);
	tcp_close(&t);
}

/* ---- who may ---- */

#define OTHER_UID 12345

/* Each end is refused by the other one, which runs as another user. */
static int other_user_is_refused(void)
{
	struct rnic_local *local;
	struct tcp t;
	int fd;

	tcp_open(&t);
	fd = rnic_meet_listen(t.fd[0]); /* as root */
	CHECK(fd >= 0);
	CHECK(seteuid(OTHER_UID) == 0);
	CHECK(rnic_meet_offer(t.fd[1], &local) == -EACCES);
	rnic_fd_close(fd);
	fd = rnic_meet_listen(t.fd[0]);
	CHECK(seteuid(0) == 0);
	CHECK(rnic_meet_offer(t.fd[1], &local) == -EACCES);
	rnic_fd_close(fd);
	fd = rnic_meet_listen(t.fd[0]);
	CHECK(rnic_meet_offer(t.fd[1], &local) == 0);
	CHECK(seteuid(OTHER_UID) == 0);
	CHECK(rnic_meet_take(fd, &local) == -EACCES);
	return 0;
}

static int other_user_is_welcome(void)
{
	struct rnic_local *local;
	struct tcp t;
	int fd;

	setenv("USIW_LOCAL", "any", 1);
	tcp_open(&t);
	fd = rnic_meet_listen(t.fd[0]);
	CHECK(fd >= 0);
	CHECK(seteuid(OTHER_UID) == 0);
	CHECK(rnic_meet_offer(t.fd[1], &local) == 0);
	CHECK(seteuid(0) == 0);
	CHECK(rnic_meet_take(fd, &local) == 0);
	return 0;
}

static int off_is_off(void)
{
	struct rnic_local *local;
	struct tcp t;

	setenv("USIW_LOCAL", "off", 1);
	tcp_open(&t);
	CHECK(rnic_meet_listen(t.fd[0]) == -EOPNOTSUPP);
	CHECK(rnic_meet_offer(t.fd[1], &local) == -EOPNOTSUPP);
	return 0;
}

/* Before anything in this process has read the settings. */
static int group_setup(void **state)
{
	assert_int_equal(in_child(off_is_off), 0);
	if (geteuid() == 0)
		assert_int_equal(in_child(other_user_is_welcome), 0);
	setenv("USIW_LOCAL", "auto", 1);
	return 0;
}

CASE(serves_the_same_user_only)
{
	if (geteuid() != 0)
		skip_because("only root can become another user");
	assert_int_equal(in_child(other_user_is_refused), 0);
}

/* ---- where ---- */

static void lo_add(const struct in6_addr *addr)
{
	struct {
		struct in6_addr addr;
		uint32_t prefix_len;
		int ifindex;
	} req = { *addr, 64, (int)if_nametoindex("lo") };
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	must(ioctl(fd, SIOCSIFADDR, &req) == 0 || errno == EEXIST);
	close(fd);
}

/* Return: 77: there is no network namespace, or no IPv6. */
static int meets_at(const char *text, int listen_rc, int offer_rc)
{
	struct sockaddr_in6 addr = { .sin6_family = AF_INET6 };
	int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(addr);
	struct rnic_local *local;
	int fd[2], rc;

	if (listener < 0 || !netns_enter())
		return 77;
	close(listener); /* of the other namespace */
	netns_lo_set_up(true);
	must(inet_pton(AF_INET6, text, &addr.sin6_addr) == 1);
	lo_add(&addr.sin6_addr);
	addr.sin6_scope_id = if_nametoindex("lo");
	listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fd[0] = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* The kernel takes a moment to make it usable. */
	wait_until(bind(listener, (struct sockaddr *)&addr, len) == 0);
	must(!listen(listener, 1));
	must(!getsockname(listener, (struct sockaddr *)&addr, &len));
	must(!connect(fd[0], (struct sockaddr *)&addr, len));
	fd[1] = accept(listener, NULL, NULL);
	rc = rnic_meet_listen(fd[0]);
	CHECK(listen_rc ? rc == listen_rc : rc >= 0);
	CHECK(rnic_meet_offer(fd[1], &local) == offer_rc);
	return 0;
}

static int link_local(void)
{
	return meets_at("fe80::1", -EREMOTE, -EREMOTE);
}

static int global(void)
{
	return meets_at("2001:db8::1", 0, 0);
}

/* Another interface may have the same address. */
CASE(link_local_addresses_do_not_meet)
{
	int code = in_child(global);

	if (code == 77)
		skip_because("no network namespace, or no IPv6");
	assert_int_equal(code, 0);
	assert_int_equal(in_child(link_local), 0);
}

/* ---- an offer that cannot be sent ---- */

static int close_cnt;

void __wrap_rnic_stranger_close(int fd);
void __real_rnic_stranger_close(int fd);

void __wrap_rnic_stranger_close(int fd)
{
	close_cnt += fd >= 0;
	__real_rnic_stranger_close(fd);
}

static ssize_t no_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	(void)fd;
	(void)msg;
	(void)flags;
	errno = ENOBUFS;
	return -1;
}

/* A second close() would be that of another thread's descriptor. */
CASE(closes_its_socket_once)
{
	struct rnic_tcp_ops ops = *rnic_tcp();
	struct rnic_local *local;
	struct tcp t;
	int fd;

	tcp_open(&t);
	fd = rnic_meet_listen(t.fd[0]);
	ops.sendmsg = no_sendmsg;
	rnic_tcp_replace(&ops);
	close_cnt = 0;
	assert_int_equal(rnic_meet_offer(t.fd[1], &local), -ENOBUFS);
	assert_int_equal(close_cnt, 1);
	rnic_tcp_replace(NULL);
	rnic_fd_close(fd);
	tcp_close(&t);
}

/* ---- no memory ---- */

static bool has_no_mapping, has_no_memory;

void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off);
void *__real_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off);

void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off)
{
	if (!has_no_mapping)
		return __real_mmap(at, len, prot, flags, fd, off);
	errno = EPERM;
	return MAP_FAILED;
}

void *__wrap_aligned_alloc(size_t line, size_t size);
void *__real_aligned_alloc(size_t line, size_t size);

void *__wrap_aligned_alloc(size_t line, size_t size)
{
	return has_no_memory ? NULL : __real_aligned_alloc(line, size);
}

/* Either end says so, and leaves nothing behind. */
CASE(needs_memory)
{
	struct rnic_local *active = NULL, *passive = NULL;
	int before = test_fd_cnt();

	for (int i = 0; i < 4; i++) {
		bool *flag = i % 2 ? &has_no_mapping : &has_no_memory;
		int rc = i % 2 ? -EPERM : -ENOMEM;
		struct tcp t;
		int fd;

		tcp_open(&t);
		fd = rnic_meet_listen(t.fd[0]);
		*flag = i < 2;
		assert_int_equal(rnic_meet_offer(t.fd[1], &passive),
				 i < 2 ? rc : 0);
		*flag = i >= 2;
		if (i >= 2) {
			assert_int_equal(rnic_meet_take(fd, &active), rc);
			rnic_local_free(passive);
		}
		*flag = false;
		assert_null(active);
		assert_int_equal(maps_cnt("usiw-local"), 0);
		rnic_fd_close(fd);
		tcp_close(&t);
		wait_until(test_fd_cnt() == before);
	}
}

/* ---- what is denied ---- */

static int without_memfd(void)
{
	struct rnic_local *local;
	struct tcp t;
	int fd;

	tcp_open(&t);
	fd = rnic_meet_listen(t.fd[0]);
	if (!deny_call(SYS_memfd_create, EPERM))
		return 77;
	CHECK(rnic_meet_offer(t.fd[1], &local) == -EPERM);
	/* The other end sees someone who has left. */
	CHECK(rnic_meet_take(fd, &local) == -EPROTO);
	return 0;
}

static int without_unix_sockets(void)
{
	struct rnic_local *local;
	struct tcp t;

	tcp_open(&t);
	if (!deny_call(SYS_socket, EAFNOSUPPORT))
		return 77;
	CHECK(rnic_meet_listen(t.fd[0]) == -EAFNOSUPPORT);
	CHECK(rnic_meet_offer(t.fd[1], &local) < 0);
	return 0;
}

CASE(stays_out_of_a_sandbox)
{
	assert_in_filtered_child(without_memfd);
	assert_in_filtered_child(without_unix_sockets);
}

/* One descriptor after the other is missing: each call says so, and leaves
 * nothing open. */
static int with_few_descriptors(void)
{
	struct rnic_local *active, *passive;
	struct tcp t;
	int fd, rc;

	tcp_open(&t);
	for (rlim_t cnt = 3;; cnt++) {
		struct rlimit limit;
		int open_cnt = test_fd_cnt();

		CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
		limit.rlim_cur = cnt;
		CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
		fd = rnic_meet_listen(t.fd[0]);
		rc = rnic_meet_offer(t.fd[1], &passive);
		CHECK(fd >= 0 || fd == -EMFILE);
		CHECK(rc == 0 || rc == -EMFILE || rc == -ECONNREFUSED);
		if (fd >= 0 && rc == 0) {
			rc = rnic_meet_take(fd, &active);
			CHECK(rc == 0 || rc == -EMFILE || rc == -EPROTO);
			rnic_local_free(passive);
			if (rc == 0) {
				rnic_local_free(active);
				return 0;
			}
		}
		if (fd >= 0)
			rnic_fd_close(fd);
		/* What is left unread is closed by another thread. */
		wait_until(test_fd_cnt() == open_cnt);
		CHECK(cnt < 1000);
	}
}

CASE(needs_descriptors)
{
	assert_int_equal(in_child(with_few_descriptors), 0);
}

ALL_CASES_WITH(group_setup, NULL);

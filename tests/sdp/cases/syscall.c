/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* System calls by syscall(), by the instruction itself, and by io_uring. */
#include "cases.h"

#include <linux/io_uring.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static void wrapped(void)
{
	struct address address = address_loopback(fixture_family);
	int listener, client, server;
	char text[20] = "";

	listener = (int)syscall(SYS_socket, fixture_family, SOCK_STREAM, 0);
	NEED(listener >= 0);
	SHOW("bind", syscall(SYS_bind, listener, &address.any, address.len));
	SHOW("listen", syscall(SYS_listen, listener, 1));
	address.len = sizeof(address.storage);
	SHOW("getsockname",
	     syscall(SYS_getsockname, listener, &address.any, &address.len));
	client = (int)syscall(SYS_socket, fixture_family, SOCK_STREAM, 0);
	SHOW("connect",
	     syscall(SYS_connect, client, &address.any, address.len));
	server = (int)syscall(SYS_accept4, listener, NULL, NULL, 0);
	NEED(server >= 0);
	SHOW("sendto", syscall(SYS_sendto, client, "hello", 5, 0, NULL, 0));
	SHOW("recvfrom",
	     syscall(SYS_recvfrom, server, text, 20, 0, NULL, NULL));
	say("%s", text);
	SHOW("write", syscall(SYS_write, server, "back", 4));
	SHOW("read", syscall(SYS_read, client, text, 20));
	say("%.4s", text);
	SHOW("shutdown", syscall(SYS_shutdown, client, SHUT_WR));
	SHOW("read", syscall(SYS_read, server, text, 20));
	SHOW("close", syscall(SYS_close, client));
	SHOW("close", syscall(SYS_close, server));
}

static void wrapped_vectors(void)
{
	struct pair pair = pair_used();
	char text[20] = "";
	struct iovec out = { "vector", 6 }, in = { text, 19 };
	struct msghdr message = { .msg_iov = &out, .msg_iovlen = 1 };

	SHOW("writev", syscall(SYS_writev, pair.client, &out, 1));
	SHOW("readv", syscall(SYS_readv, pair.server, &in, 1));
	say("%s", text);
	SHOW("sendmsg", syscall(SYS_sendmsg, pair.server, &message, 0));
	message.msg_iov = &in;
	SHOW("recvmsg", syscall(SYS_recvmsg, pair.client, &message, 0));
	say("%s", text);
}

static void wrapped_mixed(void)
{
	struct pair pair = pair_used();
	char text[20] = "";

	send_text(pair.client, "abc");
	SHOW("syscall read", syscall(SYS_read, pair.server, text, 2));
	show_recv("recv of the rest", pair.server, 10, 0);
	SHOW("syscall write", syscall(SYS_write, pair.server, "def", 3));
	send_text(pair.server, "ghi");
	wait_octets(pair.client, 6);
	show_recv("recv", pair.client, 10, 0);
}

static void wrapped_options(void)
{
	struct pair pair = pair_used();
	int value = 1;
	socklen_t len = sizeof(value);

	SHOW("setsockopt", syscall(SYS_setsockopt, pair.client, SOL_TCP,
				   TCP_NODELAY, &value, len));
	value = 0;
	SHOW("getsockopt", syscall(SYS_getsockopt, pair.client, SOL_TCP,
				   TCP_NODELAY, &value, &len));
	say("TCP_NODELAY %d", value);
	SHOW("SO_TYPE", syscall(SYS_getsockopt, pair.client, SOL_SOCKET,
				SO_TYPE, &value, &len));
	say("%d", value);
}

static void wrapped_waiting(void)
{
	struct pair pair = pair_used();
	struct epoll_event event = { .events = EPOLLIN };
	struct pollfd look = { .fd = pair.server, .events = POLLIN };
	struct timespec none = { 0 };
	int set = (int)syscall(SYS_epoll_create1, 0);

	NEED(set >= 0);
	SHOW("epoll_ctl",
	     syscall(SYS_epoll_ctl, set, EPOLL_CTL_ADD, pair.server, &event));
	SHOW("epoll_pwait",
	     syscall(SYS_epoll_pwait, set, &event, 1, 0, NULL, 8));
	SHOW("ppoll", syscall(SYS_ppoll, &look, 1, &none, NULL, 8));
	send_text(pair.client, "x");
	SHOW("ppoll", syscall(SYS_ppoll, &look, 1, NULL, NULL, 8));
	SHOW("epoll_pwait",
	     syscall(SYS_epoll_pwait, set, &event, 1, -1, NULL, 8));
	say("%s", events_name(event.events));
}

static void wrapped_descriptors(void)
{
	struct pair pair = pair_used();
	int copy = (int)syscall(SYS_dup, pair.client);

	NEED(copy >= 0);
	SHOW("close", syscall(SYS_close, pair.client));
	send_text(copy, "by a dup");
	show_recv("recv", pair.server, 20, 0);
	say("dup3: %d", (int)syscall(SYS_dup3, copy, 70, 0) == 70);
	SHOW("close", syscall(SYS_close, copy));
	send_text(70, "by a dup3");
	show_recv("recv", pair.server, 20, 0);
	SHOW("close", syscall(SYS_close, 70));
	show_recv("recv", pair.server, 20, 0);
}

/* As in a program that does not use libc. */
static long raw(long number, long a, long b, long c)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long result __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	__asm__ volatile("svc 0"
			 : "+r"(result)
			 : "r"(x8), "r"(x1), "r"(x2)
			 : "memory");
#else
	long result = syscall(number, a, b, c);

	if (result < 0)
		result = -errno;
#endif
	return result;
}

/* Sends and receives by the instruction on one end, by libc on the other. */
/* The numbers of a library's own are above. */
#define OTHERS_FIRST 512
#define OTHERS_END 700

/* As a program does that starts another one. */
static void closes(int fd)
{
	(void)close(fd);
}

static void replaces(int fd)
{
	(void)dup2(0, fd);
}

static void closes_by_syscall(int fd)
{
	syscall(SYS_close, fd);
}

static void replaces_by_syscall(int fd)
{
	syscall(SYS_dup3, 0, fd, O_CLOEXEC);
}

static void closes_range(int fd)
{
	syscall(SYS_close_range, fd, fd, 0);
}

static void others(void (*run)(int fd))
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	/* Nothing of the library's is on its way to such a number. */
	sleeper_start_asleep(&sleeper, sleeping_recv, &pair.server);
	for (int fd = OTHERS_FIRST; fd < OTHERS_END; fd++)
		run(fd);
	send_text(pair.client, "there");
	sleeper_end(&sleeper);
	sleeper_start_asleep(&sleeper, sleeping_recv, &pair.client);
	send_text(pair.server, "and back");
	sleeper_end(&sleeper);
	pair = pair_used();
	say("and another connection");
}

static void closes_others(void)
{
	others(closes);
	others(closes_by_syscall);
	others(closes_range);
}

static void replaces_others(void)
{
	others(replaces);
	others(replaces_by_syscall);
}

static void raw_exchange(struct pair pair)
{
	static const char out[] = "raw write";
	char text[20] = "";

	say("write: %ld", raw(SYS_write, pair.client, (long)(intptr_t)out, 9));
	show_recv("recv", pair.server, 20, 0);
	send_text(pair.server, "to a raw read");
	say("read: %ld", raw(SYS_read, pair.client, (long)(intptr_t)text, 19));
	say("%s", text);
	say("close: %ld", raw(SYS_close, pair.client, 0, 0));
	show_recv("the end", pair.server, 20, 0);
}

static void raw_unused(void)
{
	raw_exchange(pair_new());
}

static void raw_used(void)
{
	raw_exchange(pair_used());
}

/* ---- io_uring ---- */

struct ring {
	int fd;
	struct io_uring_params params;
	unsigned char *queue;
	struct io_uring_sqe *sqes;
};

static bool ring_open(struct ring *ring)
{
	size_t size;

	memset(ring, 0, sizeof(*ring));
	ring->fd = (int)syscall(SYS_io_uring_setup, 4, &ring->params);
	if (ring->fd < 0)
		return false;
	size = ring->params.cq_off.cqes +
	       ring->params.cq_entries * sizeof(struct io_uring_cqe);
	ring->queue = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
			   ring->fd, IORING_OFF_SQ_RING);
	ring->sqes = mmap(NULL, 4 * sizeof(struct io_uring_sqe),
			  PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
			  IORING_OFF_SQES);
	NEED(ring->params.features & IORING_FEAT_SINGLE_MMAP);
	NEED(ring->queue != MAP_FAILED && ring->sqes != MAP_FAILED);
	return true;
}

static void *ring_at(const struct ring *ring, uint32_t offset)
{
	return ring->queue + offset;
}

/* Runs one operation and returns its result. */
static int ring_run(struct ring *ring, int what, int fd, void *octets,
		    unsigned len)
{
	unsigned *tail = ring_at(ring, ring->params.sq_off.tail);
	unsigned *head = ring_at(ring, ring->params.cq_off.head);
	unsigned *array = ring_at(ring, ring->params.sq_off.array);
	struct io_uring_cqe *cqes = ring_at(ring, ring->params.cq_off.cqes);
	unsigned slot = *tail & (ring->params.sq_entries - 1);
	struct io_uring_sqe *sqe = &ring->sqes[slot];
	int result;

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = (uint8_t)what;
	sqe->fd = fd;
	sqe->addr = (uint64_t)(uintptr_t)octets;
	sqe->len = len;
	array[slot] = slot;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	NEED(syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS,
		     NULL, 0) == 1);
	result = cqes[*head & (ring->params.cq_entries - 1)].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return result;
}

/* A program without io_uring uses the ordinary calls. */
static void uring(void)
{
	struct pair pair = pair_used();
	char out[] = "by whichever way", in[20] = "";
	unsigned len = sizeof(out) - 1;
	struct ring ring;
	ssize_t got;

	if (ring_open(&ring)) {
		NEED(ring_run(&ring, IORING_OP_SEND, pair.client, out, len) ==
		     (int)len);
		got = ring_run(&ring, IORING_OP_RECV, pair.server, in,
			       sizeof(in));
	} else {
		NEED(errno == ENOSYS || errno == EPERM);
		NEED(send(pair.client, out, len, 0) == (ssize_t)len);
		got = recv(pair.server, in, sizeof(in), 0);
	}
	NEED(got == (ssize_t)len);
	say("arrived: %s", in);
}

static void uring_setup(void)
{
	struct ring ring;

	say("io_uring_setup: %s",
	    ring_open(&ring) ? "works" : error_name(errno));
}

const struct sock_case syscall_cases[] = {
	{ "syscall.wrapped", wrapped },
	{ "syscall.wrapped-vectors", wrapped_vectors },
	{ "syscall.wrapped-mixed", wrapped_mixed },
	{ "syscall.wrapped-options", wrapped_options },
	{ "syscall.wrapped-waiting", wrapped_waiting },
	{ "syscall.wrapped-descriptors", wrapped_descriptors },
	{ "syscall.closes-others", closes_others },
	{ "syscall.replaces-others", replaces_others },
	{ "syscall.raw-unused", raw_unused },
	{ "syscall.raw-used", raw_used },
	{ "syscall.uring", uring },
	{ "syscall.uring-setup", uring_setup },
	{ NULL, NULL },
};

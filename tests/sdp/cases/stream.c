/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Data through a connection, by every call that transfers it. */
#include "cases.h"

#include <sys/mman.h>

static void send_and_recv(void)
{
	struct pair pair = pair_new();

	show_send("client", pair.client, "from the client", 0);
	show_send("server", pair.server, "from the server", 0);
	show_recv("server", pair.server, 99, 0);
	show_recv("client", pair.client, 99, 0);
}

static void read_and_write(void)
{
	struct pair pair = pair_new();
	char text[20] = "";

	SHOW("write", write(pair.client, "hello", 5));
	SHOW("read", read(pair.server, text, sizeof(text)));
	say("\"%s\"", text);
	SHOW("write", write(pair.server, "back", 4));
	SHOW("read", read(pair.client, text, 2));
	SHOW("read", read(pair.client, text + 2, 10));
	say("\"%s\"", text);
}

static void vectors(void)
{
	struct pair pair = pair_new();
	char a[4] = "", b[3] = "", c[20] = "";
	struct iovec out[] = {
		{ "one", 3 }, { "", 0 }, { "two", 3 }, { "three", 5 }
	};
	struct iovec in[] = { { a, 3 }, { b, 2 }, { NULL, 0 }, { c, 19 } };

	SHOW("writev", writev(pair.client, out, 4));
	wait_octets(pair.server, 11);
	SHOW("readv", readv(pair.server, in, 4));
	say("\"%s\" \"%s\" \"%s\"", a, b, c);
	SHOW("writev of nothing", writev(pair.client, out, 0));
	SHOW("writev of an empty vector", writev(pair.client, out + 1, 1));
	set_nonblocking(pair.server, true);
	SHOW("readv of nothing", readv(pair.server, in, 0));
	SHOW("readv", readv(pair.server, in, 4));
}

static void vector_limits(void)
{
	static struct iovec many[1025];
	struct pair pair = pair_new();
	struct msghdr message = { .msg_iov = many, .msg_iovlen = 1025 };
	volatile int negative = -1;
	char octet = 'x';

	for (size_t i = 0; i < 1025; i++)
		many[i] = (struct iovec){ &octet, 1 };
	SHOW("writev of 1024", writev(pair.client, many, 1024));
	SHOW("writev of 1025", writev(pair.client, many, 1025));
	SHOW("sendmsg of 1025", sendmsg(pair.client, &message, 0));
	SHOW("recvmsg of 1025", recvmsg(pair.server, &message, 0));
	SHOW("writev of -1", writev(pair.client, many, negative));
	many[0].iov_len = SIZE_MAX;
	SHOW("writev of a length of -1", writev(pair.client, many, 2));
	wait_octets(pair.server, 1024);
	many[0].iov_len = 1;
	SHOW("readv of 1024", readv(pair.server, many, 1024));
}

static void messages(void)
{
	struct pair pair = pair_new();
	char a[6] = "", b[20] = "";
	struct sockaddr_storage name;
	struct iovec out[] = { { "scatter", 7 }, { "gather", 6 } };
	struct iovec in[] = { { a, 5 }, { b, 19 } };
	struct msghdr message = { .msg_iov = out, .msg_iovlen = 2 };

	SHOW("sendmsg", sendmsg(pair.client, &message, 0));
	wait_octets(pair.server, 13);
	message = (struct msghdr){ .msg_iov = in,
				   .msg_iovlen = 2,
				   .msg_name = &name,
				   .msg_namelen = sizeof(name),
				   .msg_flags = -1 };
	SHOW("recvmsg", recvmsg(pair.server, &message, 0));
	say("\"%s\" \"%s\", name of %u octets, flags %d", a, b,
	    message.msg_namelen, message.msg_flags);
}

static void many_messages(void)
{
	struct pair pair = pair_new();
	char text[3][5] = { "", "", "" };
	struct iovec out[3] = { { "one", 3 }, { "two", 3 }, { "three", 5 } };
	struct iovec in[3] = { { text[0], 4 }, { text[1], 4 }, { text[2], 4 } };
	struct mmsghdr list[3] = { 0 };

	for (int i = 0; i < 3; i++) {
		list[i].msg_hdr.msg_iov = &out[i];
		list[i].msg_hdr.msg_iovlen = 1;
	}
	SHOW("sendmmsg", sendmmsg(pair.client, list, 3, 0));
	say("lengths %u %u %u", list[0].msg_len, list[1].msg_len,
	    list[2].msg_len);
	wait_octets(pair.server, 11);
	for (int i = 0; i < 3; i++)
		list[i].msg_hdr.msg_iov = &in[i];
	SHOW("recvmmsg", recvmmsg(pair.server, list, 3, 0, NULL));
	say("lengths %u %u %u: \"%s\" \"%s\" \"%s\"", list[0].msg_len,
	    list[1].msg_len, list[2].msg_len, text[0], text[1], text[2]);
	SHOW("recvmmsg, nothing there",
	     recvmmsg(pair.server, list, 3, MSG_DONTWAIT, NULL));
	send_text(pair.client, "x");
	wait_octets(pair.server, 1);
	SHOW("recvmmsg, MSG_WAITFORONE",
	     recvmmsg(pair.server, list, 3, MSG_WAITFORONE, NULL));
	SHOW("sendmmsg of none", sendmmsg(pair.client, list, 0, 0));
}

static void addresses_ignored(void)
{
	struct address nowhere = address_loopback(fixture_family), from;
	struct pair pair = pair_new();
	char text[10] = "";

	nowhere.in.sin_port = htons(9);
	SHOW("sendto with another address",
	     sendto(pair.client, "abc", 3, 0, &nowhere.any, nowhere.len));
	from.len = sizeof(from.storage);
	SHOW("recvfrom",
	     recvfrom(pair.server, text, 9, 0, &from.any, &from.len));
	say("\"%s\", address of %u octets", text, from.len);
	SHOW("sendto with a bad pointer",
	     sendto(pair.client, "abc", 3, 0, (void *)16, 16));
	SHOW("sendto with length -1",
	     sendto(pair.client, "abc", 3, 0, &nowhere.any, (socklen_t)-1));
}

static void positions(void)
{
	struct pair pair = pair_new();
	struct iovec vec = { "abcdef", 6 };
	char text[10] = "";

	SHOW("pwritev2 at -1", pwritev2(pair.client, &vec, 1, -1, 0));
	vec = (struct iovec){ text, 9 };
	SHOW("preadv2 at -1", preadv2(pair.server, &vec, 1, -1, 0));
	say("\"%s\"", text);
	SHOW("preadv2 at 0", preadv2(pair.server, &vec, 1, 0, 0));
	SHOW("preadv2 without waiting",
	     preadv2(pair.server, &vec, 1, -1, RWF_NOWAIT));
	SHOW("pread", pread(pair.server, text, 1, 0));
	SHOW("pwrite", pwrite(pair.client, text, 1, 0));
	SHOW("preadv", preadv(pair.server, &vec, 1, 0));
	SHOW("lseek", lseek(pair.client, 0, SEEK_CUR));
}

static void length_zero(void)
{
	struct pair pair = pair_new();
	char octet;

	SHOW("read of none", read(pair.server, &octet, 0));
	set_nonblocking(pair.server, true);
	SHOW("recv of none, nothing there", recv(pair.server, &octet, 0, 0));
	SHOW("send of none", send(pair.client, "", 0, 0));
	SHOW("write of none", write(pair.client, "", 0));
	send_text(pair.client, "x");
	wait_octets(pair.server, 1);
	SHOW("recv of none, something there", recv(pair.server, &octet, 0, 0));
	show_recv("it is all there", pair.server, 10, 0);
	set_nonblocking(pair.server, false);
	set_timeout(pair.server, SO_RCVTIMEO, 20);
	SHOW("recv of none, with a time", recv(pair.server, &octet, 0, 0));
}

static void recv_none_main(void *arg)
{
	char octet;

	SHOW("recv of none", recv(*(int *)arg, &octet, 0, 0));
}

static void length_zero_waits(void)
{
	struct pair pair = pair_new();
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, recv_none_main, &pair.server);
	say("it waits");
	send_text(pair.client, "x");
	sleeper_end(&sleeper);
	show_recv("recv", pair.server, 10, 0);
}

static void joined(void)
{
	struct pair pair = pair_new();

	send_text(pair.client, "one ");
	send_text(pair.client, "two ");
	send_text(pair.client, "three");
	wait_octets(pair.server, 13);
	show_recv("recv", pair.server, 99, 0);
}

static void split(void)
{
	struct pair pair = pair_new();

	send_text(pair.client, "0123456789");
	wait_octets(pair.server, 10);
	for (int i = 0; i < 4; i++)
		show_recv("recv of 3", pair.server, 3, 0);
}

static void octet_by_octet(void)
{
	struct pair pair = pair_new();
	int right = 0;

	for (int i = 0; i < 2000; i++) {
		unsigned char out = (unsigned char)i, in = 0;

		NEED(send(pair.client, &out, 1, 0) == 1);
		NEED(recv(pair.server, &in, 1, 0) == 1);
		right += in == out;
	}
	say("%d octets, each alone", right);
}

static void queued_octets(void)
{
	struct pair pair = pair_new();

	set_int(pair.client, SOL_TCP, TCP_NODELAY, 1);
	for (int i = 0; i < 2000; i++)
		send_pattern(pair.client, 1, (size_t)i);
	recv_pattern(pair.server, 2000, 0);
	say("2000 sends of one octet are there");
}

static void sizes_child(int fd)
{
	size_t offset = 0;

	for (size_t size = 1; size < 200000; size = size * 3 / 2 + 1) {
		send_pattern(fd, size, offset);
		offset += size;
	}
}

static void sizes(void)
{
	size_t offset = 0, turns = 0;
	pid_t pid;
	int fd = child_dial(sizes_child, &pid);

	for (size_t size = 1; size < 200000; size = size * 3 / 2 + 1) {
		recv_pattern(fd, size, offset);
		offset += size;
		turns++;
	}
	show_recv("end", fd, 10, 0);
	child_end(pid);
	say("%zu sizes, %zu octets", turns, offset);
}

#define MEGABYTES 8
#define LARGE ((size_t)MEGABYTES << 20)

static void one_call_child(int fd)
{
	char *octets = malloc(LARGE);

	NEED(octets);
	pattern_make(octets, LARGE, 0);
	say("one blocking send of %d megabytes is whole: %d", MEGABYTES,
	    send(fd, octets, LARGE, 0) == (ssize_t)LARGE);
	free(octets);
}

static void one_call(void)
{
	char *octets = malloc(LARGE);
	pid_t pid;
	int fd = child_dial(one_call_child, &pid);

	NEED(octets);
	NEED(recv(fd, octets, LARGE, MSG_WAITALL) == (ssize_t)LARGE);
	child_end(pid);
	say("what came is right: %d", pattern_is_right(octets, LARGE, 0));
	show_recv("end", fd, 10, 0);
}

static void large_vectors_child(int fd)
{
	enum { PARTS = 100 };
	char *octets = malloc(LARGE);
	struct iovec parts[PARTS];
	size_t at = 0;

	NEED(octets);
	pattern_make(octets, LARGE, 0);
	for (size_t i = 0; i < PARTS; i++) {
		size_t len = i == PARTS - 1 ? LARGE - at : 101 * i * i / 7;

		parts[i] = (struct iovec){ octets + at, len };
		at += len;
	}
	say("one writev of %d megabytes is whole: %d", MEGABYTES,
	    writev(fd, parts, PARTS) == (ssize_t)LARGE);
	free(octets);
}

static void large_vectors(void)
{
	pid_t pid;
	int fd = child_dial(large_vectors_child, &pid);

	recv_pattern(fd, LARGE, 0);
	child_end(pid);
	show_recv("end", fd, 10, 0);
}

static void echo_large_send(void *arg)
{
	send_pattern(*(int *)arg, LARGE, 0);
	NEED(shutdown(*(int *)arg, SHUT_WR) == 0);
}

static void echo_large(void)
{
	struct sleeper sender;
	pid_t pid;
	int fd = child_accept(echo, &pid);

	sleeper_start(&sender, echo_large_send, &fd);
	say("%zu octets came back", recv_pattern_all(fd, 0));
	sleeper_end(&sender);
	child_end(pid);
}

/* One thread, non-blocking, in both directions of one connection. */
static void both_ways_run(int fd)
{
	const size_t size = 3 << 20;
	unsigned char octets[30000];
	size_t in = 0, out = 0;

	set_nonblocking(fd, true);
	while (in < size || out < size) {
		struct pollfd look = { .fd = fd };
		ssize_t got;

		look.events = (short)((in < size ? POLLIN : 0) |
				      (out < size ? POLLOUT : 0));
		NEED(poll(&look, 1, -1) == 1);
		if (in < size && look.revents & POLLIN) {
			got = recv(fd, octets, sizeof(octets), 0);
			NEED(got > 0);
			NEED(pattern_is_right(octets, (size_t)got, in));
			in += (size_t)got;
		}
		if (out < size && look.revents & POLLOUT) {
			size_t part = sizeof(octets);

			part = part < size - out ? part : size - out;
			pattern_make(octets, part, out);
			got = send(fd, octets, part, 0);
			NEED(got > 0);
			out += (size_t)got;
		}
	}
	set_nonblocking(fd, false);
}

static void both_ways(void)
{
	pid_t pid;
	int fd = child_dial(both_ways_run, &pid);

	both_ways_run(fd);
	child_end(pid);
	say("3 megabytes went each way at once");
}

static void both_ways_dial(void *arg)
{
	const struct address *address = arg;
	int fd = socket_new();

	set_int(fd, SOL_SOCKET, SO_RCVBUF, 4096);
	NEED(connect(fd, &address->any, address->len) == 0);
	both_ways_run(fd);
}

/* The same with the smallest buffers at both ends. */
static void both_ways_small(void)
{
	int listener = bound_new(), fd;
	struct address address;
	pid_t pid;

	set_int(listener, SOL_SOCKET, SO_RCVBUF, 4096);
	NEED(listen(listener, 1) == 0);
	address = address_of(listener);
	pid = child_start(both_ways_dial, &address);
	fd = take_connection(listener);
	both_ways_run(fd);
	child_end(pid);
	say("3 megabytes went each way at once");
}

static void ping_pong(void)
{
	int right = 0;
	pid_t pid;
	int fd = child_accept(echo, &pid);

	for (int i = 0; i < 1000; i++) {
		size_t len = (size_t)(i * 7 % 400) + 1;

		send_pattern(fd, len, (size_t)i);
		recv_pattern(fd, len, (size_t)i);
		right++;
	}
	close(fd);
	child_end(pid);
	say("%d turns", right);
}

static void fill_and_drain(void)
{
	struct pair pair = pair_new();
	size_t count = fill(pair.client);

	say("much goes in before EAGAIN: %d", count >= 65536);
	recv_pattern(pair.server, count, 0);
	wait_poll(pair.client, POLLOUT);
	show_poll("drained", pair.client, POLLIN | POLLOUT);
	set_nonblocking(pair.server, true);
	show_recv("no octet too many", pair.server, 10, 0);
	send_text(pair.client, "on");
	wait_octets(pair.server, 2);
	show_recv("it goes on", pair.server, 10, 0);
}

/* Zeros, which use no memory until they are written to. */
static char *zeros(size_t size)
{
	char *octets = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(octets != MAP_FAILED);
	return octets;
}

static void partial_send(void)
{
	const size_t size = 64 << 20;
	struct pair pair = pair_new();
	char *octets = zeros(size);
	ssize_t sent;

	set_nonblocking(pair.client, true);
	sent = send(pair.client, octets, size, 0);
	say("64 megabytes go in part: %d", sent > 0 && (size_t)sent < size);
	NEED(shutdown(pair.client, SHUT_WR) == 0);
	for (ssize_t got = 0, part; got < sent; got += part) {
		part = recv(pair.server, octets, 1 << 20, 0);
		NEED(part > 0);
	}
	show_recv("that part comes out", pair.server, 10, 0);
}

/* Return: the error.  After one there may be space again: TCP probes its peer's
 * window, and that grows. */
static const char *send_until_full(int fd, const char *octets, size_t size)
{
	while (send(fd, octets, size, 0) > 0)
		continue;
	return error_name(errno);
}

static void send_timeout(void)
{
	const size_t size = 64 << 20;
	struct pair pair = pair_new();
	char *octets = zeros(size);
	ssize_t sent;

	set_timeout(pair.client, SO_SNDTIMEO, 50);
	sent = send(pair.client, octets, size, 0);
	say("64 megabytes go in part: %d", sent > 0 && (size_t)sent < size);
	say("then: %s", send_until_full(pair.client, octets, 1 << 20));
	/* Otherwise exit() waits for a reader, for ten seconds. */
	close(pair.server);
}

/* Like send_timeout(), on a connection that was used. */
static void send_timeout_used(void)
{
	const size_t size = 1 << 20;
	struct pair pair = pair_used();
	char *octets = zeros(size);

	set_timeout(pair.client, SO_SNDTIMEO, 50);
	say("large ones: %s", send_until_full(pair.client, octets, size));
	say("small ones: %s", send_until_full(pair.client, octets, 1000));
	say("large ones: %s", send_until_full(pair.client, octets, size));
}

static void recv_timeout(void)
{
	struct pair pair = pair_new();

	set_timeout(pair.server, SO_RCVTIMEO, 20);
	show_recv("nothing comes", pair.server, 10, 0);
	send_text(pair.client, "abc");
	wait_octets(pair.server, 3);
	show_recv("something is there", pair.server, 10, 0);
	show_recv("nothing comes", pair.server, 10, 0);
}

static void recv_sleeps(void)
{
	struct pair pair = pair_new();
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, sleeping_recv, &pair.server);
	send_text(pair.client, "wake");
	sleeper_end(&sleeper);
}

static void recv_sleeps_eof(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, sleeping_recv, &pair.server);
	close(pair.client);
	sleeper_end(&sleeper);
}

static void send_sleeps(void)
{
	struct pair pair = pair_new();
	struct sleeper sleeper;
	size_t count = fill(pair.client);

	sleeper_start_asleep(&sleeper, sleeping_send, &pair.client);
	recv_pattern(pair.server, count, 0);
	recv_pattern(pair.server, SLEEPING_SEND_LEN, 0);
	sleeper_end(&sleeper);
}

static void unconnected(void)
{
	struct address nowhere = address_loopback(fixture_family);
	int fd = socket_new();
	char octet;

	signal(SIGPIPE, SIG_IGN);
	nowhere.in.sin_port = htons(9);
	show_send("send", fd, "x", 0);
	SHOW("write", write(fd, "x", 1));
	SHOW("sendto", sendto(fd, "x", 1, 0, &nowhere.any, nowhere.len));
	show_recv("recv", fd, 1, 0);
	SHOW("read", read(fd, &octet, 1));
	SHOW("read of none", read(fd, &octet, 0));
	show_recv("recv of none", fd, 0, 0);
	show_so_error("SO_ERROR", fd);
}

static void on_listener(void)
{
	int fd = listen_new(1);

	show_send("send", fd, "x", MSG_NOSIGNAL);
	show_recv("recv", fd, 1, 0);
}

static void memory_shared(void)
{
	struct pair pair = pair_new();
	char *octets = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	NEED(octets != MAP_FAILED);
	pattern_make(octets, 8192, 0);
	NEED(send(pair.client, octets, 8192, 0) == 8192);
	NEED(munmap(octets, 8192) == 0);
	recv_pattern(pair.server, 8192, 0);
	say("the sender's memory may go after send");
}

static void change_main(void *arg)
{
	enum { SIZE = 200000 };
	char *octets = malloc(SIZE);

	NEED(octets);
	pattern_make(octets, SIZE, 0);
	NEED(send(*(int *)arg, octets, SIZE, 0) == SIZE);
	memset(octets, 0, SIZE);
	free(octets);
}

static void memory_changes(void)
{
	struct pair pair = pair_new();
	struct sleeper sleeper;

	sleeper_start(&sleeper, change_main, &pair.client);
	recv_pattern(pair.server, 200000, 0);
	sleeper_end(&sleeper);
	say("the sender's memory may change after send");
}

static void memory_read_only(void)
{
	const size_t size = SLEEPING_SEND_LEN;
	int file = memfd_create("octets", 0);
	char *octets = malloc(size);
	struct sleeper sleeper;
	struct pair pair = pair_new();

	NEED(octets && file >= 0);
	pattern_make(octets, size, 0);
	NEED(write(file, octets, size) == (ssize_t)size);
	free(octets);
	octets = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
	NEED(octets != MAP_FAILED);
	/* The other end sends too, so that both directions are in use. */
	sleeper_start(&sleeper, sleeping_send, &pair.server);
	set_nonblocking(pair.client, true);
	for (size_t out = 0, in = 0; out < size || in < size;) {
		char part[4096];
		ssize_t got = send(pair.client, octets + out, size - out, 0);

		out += got > 0 ? (size_t)got : 0;
		got = recv(pair.client, part, sizeof(part), 0);
		if (got > 0)
			NEED(pattern_is_right(part, (size_t)got, in));
		in += got > 0 ? (size_t)got : 0;
		got = recv(pair.server, part, sizeof(part), MSG_DONTWAIT);
		NEED(got != 0);
	}
	sleeper_end(&sleeper);
	say("octets of a read-only mapping went");
}

const struct sock_case stream_cases[] = {
	{ "stream.send-and-recv", send_and_recv },
	{ "stream.read-and-write", read_and_write },
	{ "stream.vectors", vectors },
	{ "stream.vector-limits", vector_limits },
	{ "stream.messages", messages },
	{ "stream.many-messages", many_messages },
	{ "stream.addresses-ignored", addresses_ignored },
	{ "stream.positions", positions },
	{ "stream.length-zero", length_zero },
	{ "stream.length-zero-waits", length_zero_waits },
	{ "stream.joined", joined },
	{ "stream.split", split },
	{ "stream.octet-by-octet", octet_by_octet },
	{ "stream.queued-octets", queued_octets },
	{ "stream.sizes", sizes },
	{ "stream.one-call", one_call },
	{ "stream.large-vectors", large_vectors },
	{ "stream.echo-large", echo_large },
	{ "stream.both-ways", both_ways },
	{ "stream.both-ways-small", both_ways_small },
	{ "stream.ping-pong", ping_pong },
	{ "stream.fill-and-drain", fill_and_drain },
	{ "stream.partial-send", partial_send },
	{ "stream.send-timeout", send_timeout },
	{ "stream.send-timeout-used", send_timeout_used },
	{ "stream.recv-timeout", recv_timeout },
	{ "stream.recv-sleeps", recv_sleeps },
	{ "stream.recv-sleeps-eof", recv_sleeps_eof },
	{ "stream.send-sleeps", send_sleeps },
	{ "stream.unconnected", unconnected },
	{ "stream.on-listener", on_listener },
	{ "stream.memory-shared", memory_shared },
	{ "stream.memory-changes", memory_changes },
	{ "stream.memory-read-only", memory_read_only },
	{ NULL, NULL },
};

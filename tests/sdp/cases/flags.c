/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The flags of send() and recv(), except for urgent data. */
#include "cases.h"

static void peek(void)
{
	struct pair pair = pair_new();

	send_text(pair.client, "0123456789");
	wait_octets(pair.server, 10);
	show_recv("peek", pair.server, 4, MSG_PEEK);
	show_recv("peek again", pair.server, 99, MSG_PEEK);
	show_recv("recv", pair.server, 3, 0);
	show_recv("peek", pair.server, 3, MSG_PEEK);
	send_text(pair.client, "abc");
	wait_octets(pair.server, 10);
	show_recv("peek across two sends", pair.server, 99, MSG_PEEK);
	show_recv("recv", pair.server, 99, 0);
	show_recv("peek at nothing", pair.server, 9, MSG_PEEK | MSG_DONTWAIT);
	close(pair.client);
	show_recv("peek at the end", pair.server, 9, MSG_PEEK);
	show_recv("recv at the end", pair.server, 9, 0);
}

static void recv_main(void *arg)
{
	show_recv("the sleeping peek", *(int *)arg, 99, MSG_PEEK);
}

static void peek_sleeps(void)
{
	struct pair pair = pair_new();
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, recv_main, &pair.server);
	send_text(pair.client, "abc");
	sleeper_end(&sleeper);
	show_recv("recv", pair.server, 99, 0);
}

static void peek_message(void)
{
	struct pair pair = pair_new();
	char a[3] = "", b[20] = "";
	struct iovec in[] = { { a, 2 }, { b, 19 } };
	struct msghdr message = { .msg_iov = in, .msg_iovlen = 2 };

	send_text(pair.client, "abcdefg");
	wait_octets(pair.server, 7);
	SHOW("recvmsg", recvmsg(pair.server, &message, MSG_PEEK));
	say("\"%s\" \"%s\"", a, b);
	SHOW("recvfrom", recvfrom(pair.server, b, 19, MSG_PEEK, NULL, NULL));
	show_recv("recv", pair.server, 99, 0);
}

static void peek_large(void)
{
	enum { SIZE = 30000 };
	struct pair pair = pair_used();
	char *octets = malloc(SIZE);

	NEED(octets);
	send_pattern(pair.client, SIZE, 0);
	wait_octets(pair.server, SIZE);
	SHOW("peek", recv(pair.server, octets, SIZE, MSG_PEEK | MSG_WAITALL));
	say("right: %d", pattern_is_right(octets, SIZE, 0));
	recv_pattern(pair.server, SIZE, 0);
	say("recv has the same");
	free(octets);
}

static void wait_all_main(void *arg)
{
	show_recv("recv of 10 with MSG_WAITALL", *(int *)arg, 10, MSG_WAITALL);
}

static void wait_all(void)
{
	struct pair pair = pair_new();
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, wait_all_main, &pair.server);
	send_text(pair.client, "012");
	sleeper_wait(&sleeper);
	send_text(pair.client, "345");
	sleeper_wait(&sleeper);
	send_text(pair.client, "6789abc");
	sleeper_end(&sleeper);
	show_recv("the rest", pair.server, 10, 0);
}

static void wait_all_end(void)
{
	struct pair pair = pair_new();
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, wait_all_main, &pair.server);
	send_text(pair.client, "012");
	sleeper_wait(&sleeper);
	close(pair.client);
	sleeper_end(&sleeper);
	show_recv("then", pair.server, 10, MSG_WAITALL);
}

static void wait_all_reset(void)
{
	struct linger linger = { .l_onoff = 1 };
	struct pair pair = pair_new();
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, wait_all_main, &pair.server);
	send_text(pair.client, "012");
	sleeper_wait(&sleeper);
	NEED(!setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &linger,
			 sizeof(linger)));
	close(pair.client);
	sleeper_end(&sleeper);
	show_recv("then", pair.server, 10, MSG_WAITALL);
	show_recv("then", pair.server, 10, MSG_WAITALL);
}

static void wait_all_nonblocking(void)
{
	struct pair pair = pair_new();

	send_text(pair.client, "abc");
	wait_octets(pair.server, 3);
	show_recv("with MSG_DONTWAIT", pair.server, 10,
		  MSG_WAITALL | MSG_DONTWAIT);
	show_recv("nothing there", pair.server, 10, MSG_WAITALL | MSG_DONTWAIT);
	send_text(pair.client, "def");
	wait_octets(pair.server, 3);
	set_nonblocking(pair.server, true);
	show_recv("with O_NONBLOCK", pair.server, 10, MSG_WAITALL);
}

static void wait_all_timeout(void)
{
	struct pair pair = pair_new();

	set_timeout(pair.server, SO_RCVTIMEO, 50);
	send_text(pair.client, "abc");
	wait_octets(pair.server, 3);
	show_recv("some there", pair.server, 10, MSG_WAITALL);
	show_recv("nothing there", pair.server, 10, MSG_WAITALL);
}

static void wait_all_large_child(int fd)
{
	for (size_t i = 0; i < 100; i++)
		send_pattern(fd, 5000, i * 5000);
}

static void wait_all_large(void)
{
	static char octets[500000];
	pid_t pid;
	int fd = child_dial(wait_all_large_child, &pid);

	SHOW("recv", recv(fd, octets, sizeof(octets), MSG_WAITALL));
	say("right: %d", pattern_is_right(octets, sizeof(octets), 0));
	child_end(pid);
}

static void wait_all_vectors(void)
{
	struct pair pair = pair_new();
	char a[5] = "", b[5] = "";
	struct iovec in[] = { { a, 4 }, { b, 4 } };
	struct msghdr message = { .msg_iov = in, .msg_iovlen = 2 };

	send_text(pair.client, "012345");
	send_text(pair.client, "6789");
	SHOW("recvmsg", recvmsg(pair.server, &message, MSG_WAITALL));
	say("\"%s\" \"%s\"", a, b);
}

static void wait_all_peek(void)
{
	struct pair pair = pair_new();
	struct sleeper sleeper;

	send_text(pair.client, "01234");
	wait_octets(pair.server, 5);
	sleeper_start_asleep(&sleeper, wait_all_main, &pair.server);
	send_text(pair.client, "56789xyz");
	sleeper_end(&sleeper);
	wait_octets(pair.server, 3);
	show_recv("peek with MSG_WAITALL of what is there", pair.server, 3,
		  MSG_PEEK | MSG_WAITALL);
}

static void dont_wait(void)
{
	struct pair pair = pair_new();
	size_t count;

	show_recv("nothing there", pair.server, 10, MSG_DONTWAIT);
	send_text(pair.client, "abc");
	wait_octets(pair.server, 3);
	show_recv("something there", pair.server, 10, MSG_DONTWAIT);
	count = fill(pair.client);
	say("sends until EAGAIN");
	recv_pattern(pair.server, count, 0);
	wait_poll(pair.client, POLLOUT);
	show_send("drained", pair.client, "x", MSG_DONTWAIT);
	say("O_NONBLOCK is off: %d",
	    !(fcntl(pair.client, F_GETFL) & O_NONBLOCK));
}

static void no_signal(void)
{
	struct pair pair = pair_used();

	catch_signal(SIGPIPE, 0);
	NEED(shutdown(pair.client, SHUT_WR) == 0);
	show_send("send with MSG_NOSIGNAL", pair.client, "x", MSG_NOSIGNAL);
	say("%d SIGPIPE", caught[SIGPIPE]);
	show_send("send", pair.client, "x", 0);
	say("%d SIGPIPE", caught[SIGPIPE]);
	SHOW("write", write(pair.client, "x", 1));
	say("%d SIGPIPE", caught[SIGPIPE]);
}

static void more(void)
{
	struct pair pair = pair_new();

	show_send("send with MSG_MORE", pair.client, "one ", MSG_MORE);
	show_send("send with MSG_MORE", pair.client, "two ", MSG_MORE);
	show_send("send", pair.client, "three", 0);
	wait_octets(pair.server, 13);
	show_recv("recv", pair.server, 99, 0);
}

static void more_then_end(void)
{
	struct pair pair = pair_new();

	show_send("send with MSG_MORE", pair.client, "held", MSG_MORE);
	NEED(shutdown(pair.client, SHUT_WR) == 0);
	show_recv("recv", pair.server, 99, 0);
	show_recv("recv", pair.server, 99, 0);
}

static void more_alone(void)
{
	struct pair pair = pair_new();

	show_send("send with MSG_MORE", pair.client, "held", MSG_MORE);
	show_recv("it comes without a further send", pair.server, 99, 0);
}

static void truncate_octets(void)
{
	struct pair pair = pair_new();
	char text[10] = "----";

	send_text(pair.client, "0123456789");
	wait_octets(pair.server, 10);
	SHOW("recv with MSG_TRUNC", recv(pair.server, text, 4, MSG_TRUNC));
	say("the buffer is as it was: \"%s\"", text);
	show_recv("the rest", pair.server, 99, 0);
	send_text(pair.client, "abcdef");
	wait_octets(pair.server, 6);
	SHOW("without a buffer", recv(pair.server, NULL, 4, MSG_TRUNC));
	show_recv("the rest", pair.server, 99, 0);
}

static void error_queue(void)
{
	struct pair pair = pair_new();
	char text[10], control[100];
	struct iovec in = { text, 10 };
	struct msghdr message = { .msg_iov = &in,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };

	show_recv("recv", pair.server, 10, MSG_ERRQUEUE);
	SHOW("recvmsg", recvmsg(pair.server, &message, MSG_ERRQUEUE));
	send_text(pair.client, "abc");
	wait_octets(pair.server, 3);
	show_recv("recv with data there", pair.server, 10, MSG_ERRQUEUE);
	show_recv("recv", pair.server, 10, 0);
}

static void control_empty(void)
{
	struct pair pair = pair_new();
	char text[10], control[100];
	struct iovec in = { text, 10 };
	struct msghdr message = { .msg_iov = &in,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };

	send_text(pair.client, "abc");
	SHOW("recvmsg", recvmsg(pair.server, &message, 0));
	say("control of %zu octets, flags %d", message.msg_controllen,
	    message.msg_flags);
}

static void control_of_send(void)
{
	static const struct {
		size_t len, room;
		int level, type;
	} rows[] = {
		{ CMSG_LEN(4), CMSG_SPACE(4), SOL_SOCKET, SCM_RIGHTS },
		{ CMSG_LEN(4), CMSG_SPACE(4), SOL_SOCKET, 9999 },
		{ CMSG_LEN(4), CMSG_SPACE(4), IPPROTO_UDP, 9999 },
		{ 3, CMSG_SPACE(4), SOL_SOCKET, SCM_RIGHTS },
		{ CMSG_LEN(64), CMSG_SPACE(4), SOL_SOCKET, SCM_RIGHTS },
		{ 0, 4, SOL_SOCKET, SCM_RIGHTS },
	};

	for (int i = 0; i < 12; i++) {
		struct pair pair = i % 2 ? pair_used() : pair_new();
		union {
			struct cmsghdr hdr;
			char room[CMSG_SPACE(4)];
		} control = { .hdr = { .cmsg_len = rows[i / 2].len,
				       .cmsg_level = rows[i / 2].level,
				       .cmsg_type = rows[i / 2].type } };
		struct iovec in = { (char *)"abc", 3 };
		struct msghdr message = { .msg_iov = &in,
					  .msg_iovlen = 1,
					  .msg_control = &control,
					  .msg_controllen = rows[i / 2].room };

		SHOW("sendmsg with control", sendmsg(pair.client, &message, 0));
		SHOW("sendmsg without", send(pair.client, "d", 1, 0));
		show_recv("recv", pair.server, 1, 0);
	}
}

/* Without an address its length is ignored. */
static void no_name(void)
{
	struct pair pair = pair_new();
	char text[10];
	struct iovec piece = { text, 3 };
	struct msghdr message = { .msg_namelen = 77,
				  .msg_iov = &piece,
				  .msg_iovlen = 1 };

	send_text(pair.client, "abcdef");
	SHOW("recvmsg", recvmsg(pair.server, &message, 0));
	say("length %d", (int)message.msg_namelen);
	message.msg_namelen = (socklen_t)-1;
	SHOW("recvmsg of length -1", recvmsg(pair.server, &message, 0));
	say("length %d", (int)message.msg_namelen);
	SHOW("sendmsg of length -1", sendmsg(pair.server, &message, 0));
	message.msg_name = text;
	SHOW("with an address", sendmsg(pair.server, &message, 0));
	SHOW("recvmsg with an address", recvmsg(pair.server, &message, 0));
}

static void cloexec_flag(void)
{
	struct pair pair = pair_new();
	char text[10];
	struct iovec in = { text, 10 };
	struct msghdr message = { .msg_iov = &in, .msg_iovlen = 1 };

	send_text(pair.client, "abc");
	SHOW("recvmsg with MSG_CMSG_CLOEXEC",
	     recvmsg(pair.server, &message, MSG_CMSG_CLOEXEC));
	say("flags are MSG_CMSG_CLOEXEC or none: %d",
	    !(message.msg_flags & ~MSG_CMSG_CLOEXEC));
}

static void accepted_flags(void)
{
	struct pair pair = pair_new();

	show_send("MSG_EOR", pair.client, "a", MSG_EOR);
	show_send("MSG_DONTROUTE", pair.client, "b", MSG_DONTROUTE);
	show_send("MSG_CONFIRM", pair.client, "c", MSG_CONFIRM);
	wait_octets(pair.server, 3);
	show_recv("recv", pair.server, 10, 0);
}

static void zero_copy(void)
{
	struct pair pair = pair_new();

	show_send("MSG_ZEROCOPY without SO_ZEROCOPY", pair.client, "abc",
		  MSG_ZEROCOPY);
	show_recv("recv", pair.server, 10, 0);
}

static void many_partly(void)
{
	struct pair pair = pair_new();
	struct iovec out = { "abc", 3 };
	struct iovec bad = { (void *)16, 3 };
	struct mmsghdr list[2] = { 0 };

	list[0].msg_hdr.msg_iov = &out;
	list[1].msg_hdr.msg_iov = &bad;
	list[0].msg_hdr.msg_iovlen = list[1].msg_hdr.msg_iovlen = 1;
	SHOW("sendmmsg with a bad second", sendmmsg(pair.client, list, 2, 0));
	show_recv("recv", pair.server, 10, 0);
	SHOW("sendmmsg with a bad first",
	     sendmmsg(pair.client, list + 1, 1, 0));
}

const struct sock_case flags_cases[] = {
	{ "flags.peek", peek },
	{ "flags.peek-sleeps", peek_sleeps },
	{ "flags.peek-message", peek_message },
	{ "flags.peek-large", peek_large },
	{ "flags.wait-all", wait_all },
	{ "flags.wait-all-end", wait_all_end },
	{ "flags.wait-all-reset", wait_all_reset },
	{ "flags.wait-all-nonblocking", wait_all_nonblocking },
	{ "flags.wait-all-timeout", wait_all_timeout },
	{ "flags.wait-all-large", wait_all_large },
	{ "flags.wait-all-vectors", wait_all_vectors },
	{ "flags.wait-all-peek", wait_all_peek },
	{ "flags.dont-wait", dont_wait },
	{ "flags.no-signal", no_signal },
	{ "flags.more", more },
	{ "flags.more-then-end", more_then_end },
	{ "flags.more-alone", more_alone },
	{ "flags.truncate", truncate_octets },
	{ "flags.error-queue", error_queue },
	{ "flags.control-empty", control_empty },
	{ "flags.control-of-send", control_of_send },
	{ "flags.no-name", no_name },
	{ "flags.cloexec", cloexec_flag },
	{ "flags.accepted", accepted_flags },
	{ "flags.zero-copy", zero_copy },
	{ "flags.many-partly", many_partly },
	{ NULL, NULL },
};

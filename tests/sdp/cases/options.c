/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* getsockopt() and setsockopt(). */
#include "cases.h"

struct option {
	const char *name;
	int level, number;
};

#define OPTION(level, name) #name, level, name

/* Options whose value on a new socket does not depend on the machine's
 * settings. */
static const struct option plain[] = {
	{ OPTION(SOL_SOCKET, SO_TYPE) },
	{ OPTION(SOL_SOCKET, SO_PROTOCOL) },
	{ OPTION(SOL_SOCKET, SO_ACCEPTCONN) },
	{ OPTION(SOL_SOCKET, SO_ERROR) },
	{ OPTION(SOL_SOCKET, SO_REUSEADDR) },
	{ OPTION(SOL_SOCKET, SO_REUSEPORT) },
	{ OPTION(SOL_SOCKET, SO_KEEPALIVE) },
	{ OPTION(SOL_SOCKET, SO_OOBINLINE) },
	{ OPTION(SOL_SOCKET, SO_BROADCAST) },
	{ OPTION(SOL_SOCKET, SO_DONTROUTE) },
	{ OPTION(SOL_SOCKET, SO_RCVLOWAT) },
	{ OPTION(SOL_TCP, TCP_NOTSENT_LOWAT) },
	{ OPTION(SOL_SOCKET, SO_SNDLOWAT) },
	{ OPTION(SOL_SOCKET, SO_TIMESTAMP) },
	{ OPTION(SOL_SOCKET, SO_ZEROCOPY) },
	{ OPTION(SOL_TCP, TCP_NODELAY) },
	{ OPTION(SOL_TCP, TCP_CORK) },
	{ OPTION(SOL_TCP, TCP_KEEPIDLE) },
	{ OPTION(SOL_TCP, TCP_KEEPINTVL) },
	{ OPTION(SOL_TCP, TCP_KEEPCNT) },
	{ OPTION(SOL_TCP, TCP_USER_TIMEOUT) },
	{ OPTION(SOL_TCP, TCP_DEFER_ACCEPT) },
};

static void show_all(int fd)
{
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		show_option(plain[i].name, fd, plain[i].level, plain[i].number);
}

static void fresh(void)
{
	show_all(socket_new());
}

static void connected(void)
{
	show_all(pair_used().client);
}

static void accepted(void)
{
	show_all(pair_used().server);
}

static void listening(void)
{
	show_all(listen_new(1));
}

static void domain(void)
{
	struct pair pair = pair_used();
	int value = 0;
	socklen_t len = sizeof(value);

	NEED(!getsockopt(pair.client, SOL_SOCKET, SO_DOMAIN, &value, &len));
	say("SO_DOMAIN of a connected socket is its family: %d",
	    value == fixture_family);
	NEED(!getsockopt(pair.server, SOL_SOCKET, SO_DOMAIN, &value, &len));
	say("SO_DOMAIN of an accepted socket is its family: %d",
	    value == fixture_family);
}

static const struct {
	struct option option;
	int value;
} settable[] = {
	{ { OPTION(SOL_SOCKET, SO_REUSEADDR) }, 1 },
	{ { OPTION(SOL_SOCKET, SO_REUSEADDR) }, 0 },
	{ { OPTION(SOL_SOCKET, SO_REUSEPORT) }, 1 },
	{ { OPTION(SOL_SOCKET, SO_KEEPALIVE) }, 1 },
	{ { OPTION(SOL_SOCKET, SO_KEEPALIVE) }, 77 },
	{ { OPTION(SOL_SOCKET, SO_OOBINLINE) }, 1 },
	{ { OPTION(SOL_SOCKET, SO_RCVLOWAT) }, 100 },
	{ { OPTION(SOL_SOCKET, SO_RCVLOWAT) }, 0 },
	{ { OPTION(SOL_SOCKET, SO_SNDLOWAT) }, 5 },
	{ { OPTION(SOL_SOCKET, SO_TYPE) }, 1 },
	{ { OPTION(SOL_SOCKET, SO_ERROR) }, 1 },
	{ { OPTION(SOL_SOCKET, SO_ACCEPTCONN) }, 1 },
	{ { OPTION(SOL_TCP, TCP_NODELAY) }, 1 },
	{ { OPTION(SOL_TCP, TCP_NODELAY) }, 55 },
	{ { OPTION(SOL_TCP, TCP_CORK) }, 1 },
	{ { OPTION(SOL_TCP, TCP_CORK) }, 0 },
	{ { OPTION(SOL_TCP, TCP_KEEPIDLE) }, 33 },
	{ { OPTION(SOL_TCP, TCP_KEEPIDLE) }, 0 },
	{ { OPTION(SOL_TCP, TCP_KEEPINTVL) }, 11 },
	{ { OPTION(SOL_TCP, TCP_KEEPCNT) }, 4 },
	{ { OPTION(SOL_TCP, TCP_KEEPCNT) }, 1000 },
	{ { OPTION(SOL_TCP, TCP_USER_TIMEOUT) }, 4321 },
	{ { OPTION(SOL_TCP, TCP_USER_TIMEOUT) }, -1 },
	{ { OPTION(SOL_TCP, TCP_QUICKACK) }, 1 },
	{ { OPTION(SOL_TCP, TCP_LINGER2) }, 7 },
	{ { OPTION(SOL_TCP, TCP_SYNCNT) }, 3 },
};

static void set_all(int fd)
{
	for (size_t i = 0; i < sizeof(settable) / sizeof(settable[0]); i++) {
		const struct option *option = &settable[i].option;
		int value = settable[i].value, now = -1;
		socklen_t len = sizeof(now);
		int error;

		error = setsockopt(fd, option->level, option->number, &value,
				   sizeof(value))
				? errno
				: 0;
		NEED(!getsockopt(fd, option->level, option->number, &now,
				 &len));
		say("%s to %d: %s, is %d", option->name, value,
		    error ? error_name(error) : "0", now);
	}
}

static void set_fresh(void)
{
	set_all(socket_new());
}

static void set_connected(void)
{
	set_all(pair_used().client);
}

static void set_accepted(void)
{
	set_all(pair_used().server);
}

static void kept_by_connect(void)
{
	int listener = listen_new(1), fd = socket_new();
	struct address address = address_of(listener);

	set_int(fd, SOL_TCP, TCP_NODELAY, 1);
	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_int(fd, SOL_TCP, TCP_KEEPIDLE, 44);
	set_int(fd, SOL_SOCKET, SO_RCVLOWAT, 2);
	set_int(fd, SOL_TCP, TCP_USER_TIMEOUT, 999);
	set_timeout(fd, SO_RCVTIMEO, 40);
	NEED(connect(fd, &address.any, address.len) == 0);
	send_text(fd, "x");
	show_recv("recv", take_connection(listener), 10, 0);
	show_option("TCP_NODELAY", fd, SOL_TCP, TCP_NODELAY);
	show_option("SO_KEEPALIVE", fd, SOL_SOCKET, SO_KEEPALIVE);
	show_option("TCP_KEEPIDLE", fd, SOL_TCP, TCP_KEEPIDLE);
	show_option("SO_RCVLOWAT", fd, SOL_SOCKET, SO_RCVLOWAT);
	show_option("TCP_USER_TIMEOUT", fd, SOL_TCP, TCP_USER_TIMEOUT);
	show_recv("SO_RCVTIMEO", fd, 10, 0);
}

static void set_some(int fd)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 7 };

	set_int(fd, SOL_TCP, TCP_NODELAY, 1);
	set_int(fd, SOL_TCP, TCP_CORK, 1);
	set_int(fd, SOL_TCP, TCP_KEEPIDLE, 44);
	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_int(fd, SOL_SOCKET, SO_OOBINLINE, 1);
	set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	set_int(fd, SOL_SOCKET, SO_RCVLOWAT, 2);
	set_timeout(fd, SO_RCVTIMEO, 400);
	set_timeout(fd, SO_SNDTIMEO, 1600);
	NEED(!setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
}

static void show_some(int fd)
{
	struct linger linger;
	struct timeval in, out;
	socklen_t len = sizeof(linger);

	show_option("TCP_NODELAY", fd, SOL_TCP, TCP_NODELAY);
	show_option("TCP_CORK", fd, SOL_TCP, TCP_CORK);
	show_option("TCP_KEEPIDLE", fd, SOL_TCP, TCP_KEEPIDLE);
	show_option("SO_KEEPALIVE", fd, SOL_SOCKET, SO_KEEPALIVE);
	show_option("SO_OOBINLINE", fd, SOL_SOCKET, SO_OOBINLINE);
	show_option("SO_REUSEADDR", fd, SOL_SOCKET, SO_REUSEADDR);
	show_option("SO_RCVLOWAT", fd, SOL_SOCKET, SO_RCVLOWAT);
	NEED(!getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &len));
	say("SO_LINGER: %d s", linger.l_onoff ? linger.l_linger : -1);
	len = sizeof(in);
	NEED(!getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &in, &len));
	NEED(!getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &out, &len));
	say("times: %ld ms, %ld ms", in.tv_sec * 1000 + in.tv_usec / 1000,
	    out.tv_sec * 1000 + out.tv_usec / 1000);
}

/* What was set before the connection, and on it. */
static void kept_by_disconnect(void)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	int listener = listen_new(2), fd = socket_new();
	struct address address = address_of(listener);
	struct linger off = { .l_onoff = 0 };

	set_some(fd);
	NEED(connect(fd, &address.any, address.len) == 0);
	send_text(fd, "x");
	show_recv("recv", take_connection(listener), 10, 0);
	SHOW("connect to no address", connect(fd, &none, sizeof(none)));
	show_some(fd);
	NEED(connect(fd, &address.any, address.len) == 0);
	send_text(fd, "x");
	show_recv("recv", take_connection(listener), 10, 0);
	show_some(fd);
	set_int(fd, SOL_TCP, TCP_NODELAY, 0);
	set_int(fd, SOL_SOCKET, SO_RCVLOWAT, 3);
	set_timeout(fd, SO_RCVTIMEO, 0);
	NEED(!setsockopt(fd, SOL_SOCKET, SO_LINGER, &off, sizeof(off)));
	SHOW("connect to no address", connect(fd, &none, sizeof(none)));
	show_some(fd);
}

static void buffers(void)
{
	struct pair pair = pair_used();
	int before, after;
	socklen_t len = sizeof(int);

	for (int name = SO_SNDBUF; name <= SO_RCVBUF; name++) {
		NEED(!getsockopt(pair.client, SOL_SOCKET, name, &before, &len));
		set_int(pair.client, SOL_SOCKET, name, 65536);
		NEED(!getsockopt(pair.client, SOL_SOCKET, name, &after, &len));
		say("%s is positive: %d, at least what was asked for: %d",
		    name == SO_SNDBUF ? "SO_SNDBUF" : "SO_RCVBUF", before > 0,
		    after >= 65536);
	}
	send_pattern(pair.client, 30000, 0);
	recv_pattern(pair.server, 30000, 0);
	say("30000 octets are right");
}

static void small_buffer(void)
{
	struct pair pair = pair_used();
	size_t count;

	set_int(pair.client, SOL_SOCKET, SO_SNDBUF, 1);
	count = fill(pair.client);
	say("some octets go in: %d", count > 0);
	recv_pattern(pair.server, count, 0);
	send_text(pair.server, "x");
	show_recv("the other way", pair.client, 10, 0);
}

static void linger(void)
{
	struct pair pair = pair_used();
	struct linger linger = { -1, -1 };
	socklen_t len = sizeof(linger);

	NEED(!getsockopt(pair.client, SOL_SOCKET, SO_LINGER, &linger, &len));
	say("%d, %d s, %u octets", linger.l_onoff, linger.l_linger, len);
	linger = (struct linger){ 1, 5 };
	SHOW("set",
	     setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &linger, len));
	NEED(!getsockopt(pair.client, SOL_SOCKET, SO_LINGER, &linger, &len));
	say("%d, %d s", linger.l_onoff, linger.l_linger);
	linger = (struct linger){ 0, 9 };
	SHOW("set off",
	     setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &linger, len));
	NEED(!getsockopt(pair.client, SOL_SOCKET, SO_LINGER, &linger, &len));
	say("on: %d", linger.l_onoff);
	SHOW("set with a short length",
	     setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &linger, 4));
}

static void timeouts(void)
{
	struct pair pair = pair_used();
	struct timeval limit = { -1, -1 };
	socklen_t len = sizeof(limit);

	NEED(!getsockopt(pair.client, SOL_SOCKET, SO_RCVTIMEO, &limit, &len));
	say("SO_RCVTIMEO %ld s %ld us, %u octets", (long)limit.tv_sec,
	    (long)limit.tv_usec, len);
	limit = (struct timeval){ 3, 500000 };
	SHOW("set",
	     setsockopt(pair.client, SOL_SOCKET, SO_RCVTIMEO, &limit, len));
	limit = (struct timeval){ 4, 500000 };
	SHOW("set SO_SNDTIMEO",
	     setsockopt(pair.client, SOL_SOCKET, SO_SNDTIMEO, &limit, len));
	NEED(!getsockopt(pair.client, SOL_SOCKET, SO_RCVTIMEO, &limit, &len));
	say("SO_RCVTIMEO %ld s %ld us", (long)limit.tv_sec,
	    (long)limit.tv_usec);
	NEED(!getsockopt(pair.client, SOL_SOCKET, SO_SNDTIMEO, &limit, &len));
	say("SO_SNDTIMEO %ld s %ld us", (long)limit.tv_sec,
	    (long)limit.tv_usec);
	limit = (struct timeval){ 0, 1000000 };
	SHOW("set a bad time",
	     setsockopt(pair.client, SOL_SOCKET, SO_RCVTIMEO, &limit, len));
	SHOW("set a short length",
	     setsockopt(pair.client, SOL_SOCKET, SO_RCVTIMEO, &limit, 4));
	limit = (struct timeval){ -1, 0 };
	SHOW("set a negative time",
	     setsockopt(pair.client, SOL_SOCKET, SO_RCVTIMEO, &limit, len));
	show_recv("which is no time", pair.client, 10, 0);
}

static void lengths(void)
{
	struct pair pair = pair_used();
	int value = 1;
	socklen_t len;

	SHOW("set with length 2",
	     setsockopt(pair.client, SOL_TCP, TCP_NODELAY, &value, 2));
	SHOW("set with length 0",
	     setsockopt(pair.client, SOL_SOCKET, SO_KEEPALIVE, &value, 0));
	SHOW("set with length 8",
	     setsockopt(pair.client, SOL_SOCKET, SO_KEEPALIVE,
			&(int[2]){ 1, 0 }, 8));
	SHOW("set with length -1",
	     setsockopt(pair.client, SOL_SOCKET, SO_KEEPALIVE, &value,
			(socklen_t)-1));
	SHOW("set with a bad pointer",
	     setsockopt(pair.client, SOL_TCP, TCP_NODELAY, (void *)16, 4));
	value = 0x55555555;
	len = 1;
	SHOW("get with length 1",
	     getsockopt(pair.client, SOL_SOCKET, SO_KEEPALIVE, &value, &len));
	say("length %u, value %x", len, (unsigned)value);
	len = 100;
	SHOW("get with length 100",
	     getsockopt(pair.client, SOL_TCP, TCP_NODELAY, &value, &len));
	say("length %u, value %x", len, (unsigned)value);
	len = (socklen_t)-1;
	SHOW("get with length -1",
	     getsockopt(pair.client, SOL_SOCKET, SO_TYPE, &value, &len));
	len = 4;
	SHOW("get with a bad pointer",
	     getsockopt(pair.client, SOL_SOCKET, SO_TYPE, (void *)16, &len));
	SHOW("get with a bad length pointer",
	     getsockopt(pair.client, SOL_SOCKET, SO_TYPE, &value, (void *)16));
}

static void unknown(void)
{
	struct pair pair = pair_used();
	int value = 1, pipes[2];
	socklen_t len = sizeof(value);

	NEED(pipe(pipes) == 0);
	SHOW("get an unknown option of the socket",
	     getsockopt(pair.client, SOL_SOCKET, 9999, &value, &len));
	SHOW("set it", setsockopt(pair.client, SOL_SOCKET, 9999, &value, len));
	SHOW("get an unknown option of TCP",
	     getsockopt(pair.client, SOL_TCP, 9999, &value, &len));
	SHOW("set it", setsockopt(pair.client, SOL_TCP, 9999, &value, len));
	SHOW("get at an unknown level",
	     getsockopt(pair.client, 999, 1, &value, &len));
	SHOW("set at it", setsockopt(pair.client, 999, 1, &value, len));
	SHOW("of a pipe",
	     getsockopt(pipes[0], SOL_SOCKET, SO_TYPE, &value, &len));
	SHOW("of no descriptor",
	     getsockopt(-1, SOL_SOCKET, SO_TYPE, &value, &len));
	SHOW("set of no descriptor",
	     setsockopt(-1, SOL_SOCKET, SO_KEEPALIVE, &value, len));
}

static void show_state(const char *what, int fd)
{
	static const char *const states[] = {
		"0",	      "ESTABLISHED", "SYN_SENT",  "SYN_RECV",
		"FIN_WAIT1",  "FIN_WAIT2",   "TIME_WAIT", "CLOSE",
		"CLOSE_WAIT", "LAST_ACK",    "LISTEN",	  "CLOSING",
	};
	struct tcp_info info = { .tcpi_state = 99 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, SOL_TCP, TCP_INFO, &info, &len))
		say("%s: %s", what, error_name(errno));
	else
		say("%s: %s", what,
		    info.tcpi_state < 12 ? states[info.tcpi_state] : "?");
}

static void info(void)
{
	struct pair pair = pair_used();

	show_state("fresh", socket_new());
	show_state("listening", listen_new(1));
	show_state("connected", pair.client);
	show_state("accepted", pair.server);
	NEED(shutdown(pair.client, SHUT_WR) == 0);
	wait_poll(pair.server, POLLRDHUP);
	show_state("the peer ended its side", pair.server);
	show_state("reset", reset_new());
}

static void cork(void)
{
	struct pair pair = pair_used();

	set_int(pair.client, SOL_TCP, TCP_CORK, 1);
	show_send("send", pair.client, "one ", 0);
	show_send("send", pair.client, "two ", 0);
	show_send("send", pair.client, "three", 0);
	set_int(pair.client, SOL_TCP, TCP_CORK, 0);
	wait_octets(pair.server, 13);
	show_recv("recv", pair.server, 99, 0);
	set_int(pair.client, SOL_TCP, TCP_CORK, 1);
	send_text(pair.client, "alone");
	show_recv("it comes with the cork in", pair.server, 99, 0);
	send_text(pair.client, "last");
	close(pair.client);
	show_recv("it comes with the end", pair.server, 99, 0);
	show_recv("recv", pair.server, 99, 0);
}

static void no_delay(void)
{
	struct pair pair = pair_used();

	set_int(pair.client, SOL_TCP, TCP_NODELAY, 1);
	for (int i = 0; i < 10; i++)
		send_text(pair.client, "0");
	wait_octets(pair.server, 10);
	show_recv("recv", pair.server, 99, 0);
	set_int(pair.client, SOL_TCP, TCP_NODELAY, 0);
	for (int i = 0; i < 10; i++)
		send_text(pair.client, "1");
	wait_octets(pair.server, 10);
	show_recv("recv", pair.server, 99, 0);
}

static void peer_credentials(void)
{
	struct pair pair = pair_used();
	struct {
		int pid, uid, gid;
	} who = { -2, -2, -2 };
	socklen_t len = sizeof(who);

	/* Only for AF_UNIX; other sockets have no peer process. */
	SHOW("SO_PEERCRED",
	     getsockopt(pair.client, SOL_SOCKET, SO_PEERCRED, &who, &len));
	say("pid %d, uid %d, gid %d", who.pid, who.uid, who.gid);
}

static void low_water(void)
{
	struct pair pair = pair_used();

	set_int(pair.server, SOL_SOCKET, SO_RCVLOWAT, 4);
	set_timeout(pair.server, SO_RCVTIMEO, 50);
	send_text(pair.client, "ab");
	wait_octets(pair.server, 2);
	show_recv("2 of 4, with a limit", pair.server, 10, 0);
	send_text(pair.client, "abcd");
	wait_octets(pair.server, 4);
	show_recv("4 of 4", pair.server, 10, 0);
	send_text(pair.client, "ab");
	close(pair.client);
	wait_poll(pair.server, POLLRDHUP);
	show_recv("2 of 4 and the end", pair.server, 10, 0);
	show_recv("the end", pair.server, 10, 0);
}

static void show_inq(const char *what, int fd, size_t len, size_t space)
{
	char octets[16], control[128];
	struct iovec iov = { octets, len };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = space ? control : NULL,
			      .msg_controllen = space };
	const struct cmsghdr *head = (void *)control;
	ssize_t ret;
	int inq = -1;

	memset(control, 0x55, sizeof(control));
	ret = recvmsg(fd, &msg, 0);
	if (ret >= 0 && msg.msg_controllen >= CMSG_LEN(sizeof(int)))
		memcpy(&inq, CMSG_DATA(head), sizeof(inq));
	say("%s: %zd, %s, %zu octets of control data", what, ret,
	    msg.msg_flags & MSG_CTRUNC ? "cut" : "whole", msg.msg_controllen);
	if (msg.msg_controllen >= sizeof(*head))
		say("level %d type %d length %zu: %d", head->cmsg_level,
		    head->cmsg_type, (size_t)head->cmsg_len, inq);
}

static void show_set(const char *what, int fd, int value)
{
	SHOW(what, setsockopt(fd, SOL_TCP, TCP_INQ, &value, sizeof(value)));
}

static void inq(void)
{
	struct pair pair = pair_used();
	size_t head = sizeof(struct cmsghdr);

	show_set("2", pair.server, 2);
	show_set("-1", pair.server, -1);
	show_set("1", pair.server, 1);
	show_option("TCP_INQ", pair.server, SOL_TCP, TCP_INQ);
	send_text(pair.client, "abcdefghijkl");
	wait_octets(pair.server, 12);
	show_inq("2 of 12", pair.server, 2, 128);
	show_inq("without a buffer", pair.server, 1, 0);
	show_inq("no space", pair.server, 1, head - 1);
	show_inq("a part", pair.server, 1, head);
	show_inq("a larger part", pair.server, 1, head + 2);
	show_inq("exactly", pair.server, 1, CMSG_LEN(sizeof(int)));
	close(pair.client);
	wait_poll(pair.server, POLLRDHUP);
	show_inq("more is left", pair.server, 1, 128);
	show_inq("the last ones", pair.server, 16, 128);
	show_inq("the end", pair.server, 16, 128);
	show_set("0", pair.server, 0);
	show_inq("off", pair.server, 16, 128);
}

static void so_error(void)
{
	struct pair pair = pair_used();
	int fd = reset_new();

	show_so_error("connected", pair.client);
	show_so_error("listening", listen_new(1));
	show_so_error("reset", fd);
	show_so_error("reset, again", fd);
}

static void ip_options(void)
{
	struct pair pair = pair_used();
	int level = fixture_family == AF_INET ? SOL_IP : SOL_IPV6;
	int tos = fixture_family == AF_INET ? IP_TOS : IPV6_TCLASS;
	int ttl = fixture_family == AF_INET ? IP_TTL : IPV6_UNICAST_HOPS;

	set_int(pair.client, level, tos, 0x10);
	show_option("type of service", pair.client, level, tos);
	set_int(pair.client, level, ttl, 33);
	show_option("hops", pair.client, level, ttl);
	set_int(pair.client, SOL_SOCKET, SO_PRIORITY, 5);
	show_option("SO_PRIORITY", pair.client, SOL_SOCKET, SO_PRIORITY);
}

const struct sock_case options_cases[] = {
	{ "options.fresh", fresh },
	{ "options.connected", connected },
	{ "options.accepted", accepted },
	{ "options.listening", listening },
	{ "options.domain", domain },
	{ "options.set-fresh", set_fresh },
	{ "options.set-connected", set_connected },
	{ "options.set-accepted", set_accepted },
	{ "options.kept-by-connect", kept_by_connect },
	{ "options.kept-by-disconnect", kept_by_disconnect },
	{ "options.buffers", buffers },
	{ "options.small-buffer", small_buffer },
	{ "options.linger", linger },
	{ "options.timeouts", timeouts },
	{ "options.lengths", lengths },
	{ "options.unknown", unknown },
	{ "options.info", info },
	{ "options.inq", inq },
	{ "options.cork", cork },
	{ "options.no-delay", no_delay },
	{ "options.peer-credentials", peer_credentials },
	{ "options.low-water", low_water },
	{ "options.so-error", so_error },
	{ "options.ip", ip_options },
	{ NULL, NULL },
};

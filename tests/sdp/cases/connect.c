/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* connect(): blocking and non-blocking, refused, interrupted, repeated. */
#include "cases.h"

static int connect_to(int fd, const struct address *address)
{
	return connect(fd, &address->any, address->len);
}

/* A non-blocking socket that has begun to connect. */
static int connect_begin(const struct address *address)
{
	int fd = socket_new();

	set_nonblocking(fd, true);
	SHOW("connect", connect_to(fd, address));
	return fd;
}

static void blocking(void)
{
	int listener = listen_new(1);
	struct address address = address_of(listener), peer;
	int fd = socket_new();

	SHOW("connect", connect_to(fd, &address));
	peer = address_of_peer(fd);
	say("the peer's name is the listener's: %d",
	    address_is_same(&peer, &address));
	say("our address has the family of the listener's: %d",
	    address_of(fd).any.sa_family == address.any.sa_family);
	show_so_error("SO_ERROR", fd);
	show_poll("poll", fd, POLLIN | POLLOUT);
}

static void twice(void)
{
	int listener = listen_new(1);
	struct address address = address_of(listener);
	int fd = socket_new();

	SHOW("connect", connect_to(fd, &address));
	SHOW("connect again", connect_to(fd, &address));
	SHOW("and again", connect_to(fd, &address));
}

static void refused(void)
{
	int bound = bound_new();
	struct address address = address_of(bound);
	int fd = socket_new();

	SHOW("connect", connect_to(fd, &address));
	show_so_error("SO_ERROR", fd);
	SHOW("connect again", connect_to(fd, &address));
	NEED(listen(bound, 1) == 0);
	SHOW("connect to a listener", connect_to(fd, &address));
	send_text(fd, "late");
	show_recv("the listener's end", take_connection(bound), 10, 0);
}

static void refused_so_error(void)
{
	int bound = bound_new();
	struct address address = address_of(bound);
	int fd = connect_begin(&address);

	wait_poll(fd, POLLERR);
	show_poll("poll", fd, POLLIN | POLLOUT | POLLRDHUP);
	show_so_error("SO_ERROR", fd);
	show_so_error("SO_ERROR again", fd);
	show_poll("poll afterwards", fd, POLLIN | POLLOUT | POLLRDHUP);
	SHOW("connect again", connect_to(fd, &address));
	NEED(listen(bound, 1) == 0);
	SHOW("connect to a listener", connect_to(fd, &address));
	wait_poll(fd, POLLOUT);
	show_so_error("SO_ERROR of it", fd);
}

static void refused_connect(void)
{
	int bound = bound_new();
	struct address address = address_of(bound);
	int fd = connect_begin(&address);

	wait_poll(fd, POLLERR);
	SHOW("connect takes the error", connect_to(fd, &address));
	show_so_error("SO_ERROR", fd);
	SHOW("connect starts again", connect_to(fd, &address));
	wait_poll(fd, POLLERR);
	show_so_error("SO_ERROR", fd);
}

static void refused_recv(void)
{
	int bound = bound_new();
	struct address address = address_of(bound);
	int fd = connect_begin(&address);

	wait_poll(fd, POLLERR);
	show_recv("recv", fd, 10, 0);
	show_recv("recv again", fd, 10, 0);
	show_send("send", fd, "x", MSG_NOSIGNAL);
}

static void nonblocking(void)
{
	int listener = listen_new(1);
	struct address address = address_of(listener);
	int fd = connect_begin(&address);

	wait_poll(fd, POLLOUT);
	show_poll("poll", fd, POLLIN | POLLOUT | POLLRDHUP);
	show_so_error("SO_ERROR", fd);
	SHOW("connect again", connect_to(fd, &address));
	SHOW("and again", connect_to(fd, &address));
	SHOW("data", send(fd, "abc", 3, 0));
	show_recv("arrive", take_connection(listener), 10, 0);
}

static void nonblocking_no_second(void)
{
	int listener = listen_new(1);
	struct address address = address_of(listener);
	int fd = connect_begin(&address);

	wait_poll(fd, POLLOUT);
	show_send("send without a second connect", fd, "abc", 0);
	SHOW("the second connect", connect_to(fd, &address));
}

static void already(void)
{
	struct full_listener full = full_listener_new();
	int fd = connect_begin(&full.address);

	SHOW("connect again", connect_to(fd, &full.address));
	show_poll("poll", fd, POLLIN | POLLOUT);
	show_so_error("SO_ERROR", fd);
	show_send("send", fd, "x", MSG_NOSIGNAL);
	show_recv("recv", fd, 1, 0);
	take_connection(full.listener);
	wait_poll(fd, POLLOUT);
	SHOW("connect after an accept", connect_to(fd, &full.address));
}

static void pending_proceeds(void)
{
	struct full_listener full = full_listener_new();
	int fd = connect_begin(&full.address), first, second;

	send_text(full.waiting, "first");
	first = take_connection(full.listener);
	show_recv("the connection that waited", first, 10, 0);
	second = take_connection(full.listener);
	wait_poll(fd, POLLOUT);
	show_so_error("SO_ERROR", fd);
	send_text(fd, "second");
	show_recv("the connection that was pending", second, 10, 0);
}

/* A thread that waits in connect(). */
struct dialling {
	struct full_listener full;
	int fd;
	struct sleeper sleeper;
};

static void dialling_main(void *arg)
{
	struct dialling *d = arg;

	SHOW("the connect that waited", connect_to(d->fd, &d->full.address));
}

static void dialling_start(struct dialling *d)
{
	d->full = full_listener_new();
	d->fd = socket_new();
	sleeper_start_asleep(&d->sleeper, dialling_main, d);
}

/* The call returns with EINTR. */
static void dialling_interrupt(struct dialling *d)
{
	catch_signal(SIGUSR1, 0);
	dialling_start(d);
	sleeper_interrupt(&d->sleeper, SIGUSR1);
}

static void blocking_waits(void)
{
	struct dialling d;

	dialling_start(&d);
	say("it waits");
	take_connection(d.full.listener);
	sleeper_end(&d.sleeper);
	send_text(d.fd, "abc");
	show_recv("data", take_connection(d.full.listener), 10, 0);
}

static void send_timeout(void)
{
	struct full_listener full = full_listener_new();
	int fd = socket_new();

	set_timeout(fd, SO_SNDTIMEO, 30);
	SHOW("connect", connect_to(fd, &full.address));
	SHOW("connect again", connect_to(fd, &full.address));
	set_timeout(fd, SO_SNDTIMEO, 0);
	take_connection(full.listener);
	SHOW("connect without a limit", connect_to(fd, &full.address));
}

static void interrupted(void)
{
	struct dialling d;

	dialling_interrupt(&d);
	take_connection(d.full.listener);
	SHOW("the next connect", connect_to(d.fd, &d.full.address));
	SHOW("the one after it", connect_to(d.fd, &d.full.address));
}

/* As interpreters do: the connection continues, and poll() reports it. */
static void interrupted_poll(void)
{
	struct dialling d;

	dialling_interrupt(&d);
	take_connection(d.full.listener);
	wait_poll(d.fd, POLLOUT);
	show_so_error("SO_ERROR", d.fd);
	show_send("send", d.fd, "abc", 0);
	show_recv("data", take_connection(d.full.listener), 10, 0);
}

static void interrupted_send(void)
{
	struct dialling d;

	dialling_interrupt(&d);
	show_send("send at once", d.fd, "x", MSG_DONTWAIT);
	take_connection(d.full.listener);
	show_send("send waits", d.fd, "abc", 0);
	show_recv("data", take_connection(d.full.listener), 10, 0);
}

static void restarted(void)
{
	struct dialling d;

	catch_signal(SIGUSR1, SA_RESTART);
	dialling_start(&d);
	pthread_kill(d.sleeper.thread, SIGUSR1);
	UNTIL(caught[SIGUSR1]);
	sleeper_wait(&d.sleeper);
	take_connection(d.full.listener);
	sleeper_end(&d.sleeper);
}

static void unspec(void)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct pair pair = pair_used();
	int listener = listen_new(1);
	struct address address = address_of(listener);

	SHOW("connect to no address",
	     connect(pair.client, &none, sizeof(none)));
	SHOW("getpeername",
	     getpeername(pair.client, &address.any, &address.len));
	wait_poll(pair.server, POLLHUP);
	show_recv("the peer", pair.server, 10, 0);
	address = address_of(listener);
	SHOW("connect elsewhere", connect_to(pair.client, &address));
	send_text(pair.client, "new");
	show_recv("the new peer", take_connection(listener), 10, 0);
}

struct hammer {
	pthread_t target;
	_Atomic bool is_over;
};

static void *hammer_main(void *arg)
{
	struct hammer *hammer = arg;

	while (!atomic_load(&hammer->is_over))
		pthread_kill(hammer->target, SIGUSR1);
	return NULL;
}

/* The connection is not accepted yet, so the start of SDP is in progress. */
static void unspec_interrupted(void)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	int listener = listen_new(1), right = 0;
	struct address address = address_of(listener);

	catch_signal(SIGUSR1, 0);
	for (int i = 0; i < 30; i++) {
		struct hammer hammer = { .target = pthread_self() };
		int fd = dial(&address), ret;
		pthread_t thread;

		send_text(fd, "x");
		NEED(pthread_create(&thread, NULL, hammer_main, &hammer) == 0);
		ret = connect(fd, &none, sizeof(none));
		atomic_store(&hammer.is_over, true);
		NEED(pthread_join(thread, NULL) == 0);
		close(take_connection(listener));
		right += ret == 0 && connect_to(fd, &address) == 0;
		close(take_connection(listener));
		close(fd);
	}
	say("%d of 30 connections were broken off", right);
}

static void unspec_fresh(void)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	int fd = socket_new();

	SHOW("connect to no address", connect(fd, &none, sizeof(none)));
	show_poll("poll", fd, POLLIN | POLLOUT);
}

static void listening(void)
{
	int listener = listen_new(1), other = listen_new(1);
	struct address address = address_of(other);

	SHOW("connect a listener", connect_to(listener, &address));
	address = address_of(listener);
	dial(&address);
	say("it still listens");
	take_connection(listener);
}

static void bad_address(void)
{
	int listener = listen_new(1);
	struct address address = address_of(listener);
	int fd = socket_new(), pipes[2];

	NEED(pipe(pipes) == 0);
	SHOW("short length", connect(fd, &address.any, 4));
	SHOW("length 0", connect(fd, &address.any, 0));
	SHOW("length -1", connect(fd, &address.any, (socklen_t)-1));
	SHOW("bad pointer", connect(fd, (void *)16, address.len));
	address.any.sa_family = 77;
	SHOW("unknown family", connect_to(fd, &address));
	address.any.sa_family = (sa_family_t)fixture_family;
	SHOW("descriptor -1", connect_to(-1, &address));
	SHOW("a pipe", connect_to(pipes[0], &address));
	SHOW("after all that", connect_to(fd, &address));
}

static void to_itself(void)
{
	int fd = bound_new();
	struct address address = address_of(fd);

	SHOW("connect", connect_to(fd, &address));
	show_send("send", fd, "abc", 0);
	show_recv("recv", fd, 10, 0);
	SHOW("shutdown", shutdown(fd, SHUT_WR));
	show_recv("recv", fd, 10, 0);
}

static void to_any(void)
{
	struct address any = { .len = sizeof(any.in) };
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd;

	any.in.sin_family = AF_INET;
	NEED(bind(listener, &any.any, any.len) == 0);
	NEED(listen(listener, 1) == 0);
	any = address_of(listener);
	say("listens on %s", address_name(&any));
	fd = dial(&any);
	any = address_of_peer(fd);
	say("is connected to %s", address_name(&any));
	any = address_of(take_connection(listener));
	say("was accepted at %s", address_name(&any));
}

static void bound_first(void)
{
	int listener = listen_new(1), fd = bound_new();
	struct address there = address_of(listener), here = address_of(fd);
	struct address now, seen;

	SHOW("connect", connect_to(fd, &there));
	now = address_of(fd);
	say("the address is the one it was bound to: %d",
	    address_is_same(&here, &now));
	seen = address_of_peer(take_connection(listener));
	say("the peer sees it: %d", address_is_same(&here, &seen));
}

static void same_tuple(void)
{
	struct address here = address_loopback(fixture_family), there;
	int listener = listen_new(2), first = socket_new(),
	    second = socket_new();

	there = address_of(listener);
	set_int(first, SOL_SOCKET, SO_REUSEADDR, 1);
	set_int(second, SOL_SOCKET, SO_REUSEADDR, 1);
	NEED(bind(first, &here.any, here.len) == 0);
	here = address_of(first);
	SHOW("bind both to one port", bind(second, &here.any, here.len));
	SHOW("connect the first", connect_to(first, &there));
	SHOW("connect the second", connect_to(second, &there));
}

static void closed_pending(void)
{
	struct full_listener full = full_listener_new();
	int fd = connect_begin(&full.address);

	SHOW("close", close(fd));
	take_connection(full.listener);
	set_nonblocking(full.listener, true);
	SHOW("a second accept", accept(full.listener, NULL, NULL));
}

static void shutdown_pending(void)
{
	struct full_listener full = full_listener_new();
	int fd = connect_begin(&full.address);

	SHOW("shutdown", shutdown(fd, SHUT_RDWR));
	show_poll("poll", fd, POLLIN | POLLOUT | POLLRDHUP);
	show_recv("recv", fd, 10, 0);
	show_send("send", fd, "x", MSG_NOSIGNAL);
}

static void send_waits_main(void *arg)
{
	show_send("send", *(int *)arg, "abc", MSG_NOSIGNAL);
}

static void send_waits(void)
{
	struct full_listener full = full_listener_new();
	struct sleeper sleeper;
	int fd = connect_begin(&full.address);

	set_nonblocking(fd, false);
	sleeper_start_asleep(&sleeper, send_waits_main, &fd);
	say("send waits for the connection");
	take_connection(full.listener);
	sleeper_end(&sleeper);
	show_recv("arrives", take_connection(full.listener), 10, 0);
}

/* Two threads and one socket: one waits in connect(), one calls @run. */
static void meanwhile(struct dialling *d, void (*run)(void *fd))
{
	struct sleeper sleeper;

	sleeper_start(&sleeper, run, &d->fd);
	sleeper_wait(&sleeper);
	say("it waits");
	take_connection(d->full.listener);
	sleeper_end(&sleeper);
	sleeper_end(&d->sleeper);
}

static void send_main(void *arg)
{
	send_text(*(int *)arg, "abc");
}

static void send_meanwhile(void)
{
	struct dialling d;

	dialling_start(&d);
	show_send("send at once", d.fd, "x", MSG_DONTWAIT);
	meanwhile(&d, send_main);
	show_recv("data", take_connection(d.full.listener), 10, 0);
}

static void answer_main(void *arg)
{
	const struct dialling *d = arg;

	take_connection(d->full.listener);
	send_text(take_connection(d->full.listener), "abc");
}

static void recv_meanwhile(void)
{
	struct dialling d;
	struct sleeper answer;
	char octet = 0;

	dialling_start(&d);
	show_recv("recv at once", d.fd, 10, MSG_DONTWAIT);
	sleeper_start(&answer, answer_main, &d);
	NEED(recv(d.fd, &octet, 1, 0) == 1 && octet == 'a');
	sleeper_end(&answer);
	sleeper_end(&d.sleeper);
	show_recv("the rest", d.fd, 10, 0);
}

static void shutdown_meanwhile(void)
{
	struct dialling d;
	int ret;

	dialling_start(&d);
	ret = shutdown(d.fd, SHUT_RDWR);
	sleeper_end(&d.sleeper); /* after the output of its thread */
	SHOW("shutdown", ret);
	show_send("send", d.fd, "x", MSG_NOSIGNAL);
}

static void unspec_pending(void)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct full_listener full = full_listener_new();
	int fd = connect_begin(&full.address);

	SHOW("connect to no address", connect(fd, &none, sizeof(none)));
	show_poll("poll", fd, POLLIN | POLLOUT);
	show_send("send", fd, "x", MSG_NOSIGNAL);
}

static void send_waits_limited(void)
{
	struct full_listener full = full_listener_new();
	int fd = connect_begin(&full.address);

	set_nonblocking(fd, false);
	set_timeout(fd, SO_SNDTIMEO, 30);
	show_send("send", fd, "x", 0);
	set_timeout(fd, SO_SNDTIMEO, 0);
	set_timeout(fd, SO_RCVTIMEO, 30);
	show_recv("recv", fd, 10, 0);
}

static void closed_before_accept(void)
{
	int listener = listen_new(1), fd;
	struct address address = address_of(listener);

	fd = dial(&address);
	send_text(fd, "was here");
	close(fd);
	fd = take_connection(listener);
	show_recv("recv", fd, 20, 0);
	show_recv("recv", fd, 20, 0);
}

static void many(void)
{
	int listener = listen_new(4), right = 0;
	struct address address = address_of(listener);

	for (int i = 0; i < 100; i++) {
		int fd = dial(&address), other;
		char text[12], got[12] = "";

		other = take_connection(listener);
		snprintf(text, sizeof(text), "%d", i);
		send_text(fd, text);
		shutdown(fd, SHUT_WR);
		recv(other, got, sizeof(got), MSG_WAITALL);
		right += !strcmp(text, got);
		close(other);
		close(fd);
	}
	say("%d of 100 connections one after the other were right", right);
}

static void many_at_once(void)
{
	enum { COUNT = 100 };
	int listener = listen_new(COUNT), right = 0;
	struct address address = address_of(listener);
	int fds[COUNT], others[COUNT];

	for (int i = 0; i < COUNT; i++) {
		fds[i] = dial(&address);
		send_pattern(fds[i], 100, (size_t)i);
	}
	for (int i = 0; i < COUNT; i++)
		others[i] = take_connection(listener);
	for (int i = COUNT; i-- > 0;) {
		recv_pattern(others[i], 100, (size_t)i);
		send_pattern(others[i], 50, (size_t)i);
	}
	for (int i = 0; i < COUNT; i++) {
		recv_pattern(fds[i], 50, (size_t)i);
		right++;
	}
	say("%d connections at once were right", right);
}

static void made_nonblocking(void)
{
	int fd = socket(fixture_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int listener = listen_new(1);
	struct address address = address_of(listener);

	SHOW("connect", connect_to(fd, &address));
	wait_poll(fd, POLLOUT);
	show_so_error("SO_ERROR", fd);
	show_recv("recv", fd, 10, 0);
	say("O_NONBLOCK is on: %d", !!(fcntl(fd, F_GETFL) & O_NONBLOCK));
}

static void after_failure(void)
{
	struct address other = address_loopback(
		fixture_family == AF_INET ? AF_INET6 : AF_INET);
	int listener = listen_new(1);
	struct address address = address_of(listener);
	int fd = socket_new();

	/* An IPv6 socket refuses an IPv4 address too. */
	other.in.sin_port = address.in.sin_port;
	SHOW("connect to the other family", connect_to(fd, &other));
	SHOW("connect to its own", connect_to(fd, &address));
}

static int tcp_state(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	NEED(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0);
	return info.tcpi_state;
}

/* The client waits for a while, and closes before the server sends anything.
 * The server's first send has no receiver, and succeeds nevertheless. */
static void closed_unanswered(void)
{
	struct pair pair = pair_new();

	set_timeout(pair.client, SO_RCVTIMEO, 50);
	show_recv("the client", pair.client, 10, 0);
	close(pair.client);
	UNTIL(tcp_state(pair.server) == TCP_CLOSE_WAIT);
	show_send("the server's first send", pair.server, "done!", 0);
	show_recv("the server", pair.server, 10, 0);
	show_recv("again", pair.server, 10, 0);
}

const struct sock_case connect_cases[] = {
	{ "connect.blocking", blocking },
	{ "connect.twice", twice },
	{ "connect.refused", refused },
	{ "connect.refused-so-error", refused_so_error },
	{ "connect.refused-connect", refused_connect },
	{ "connect.refused-recv", refused_recv },
	{ "connect.nonblocking", nonblocking },
	{ "connect.nonblocking-no-second", nonblocking_no_second },
	{ "connect.already", already },
	{ "connect.pending-proceeds", pending_proceeds },
	{ "connect.blocking-waits", blocking_waits },
	{ "connect.send-timeout", send_timeout },
	{ "connect.interrupted", interrupted },
	{ "connect.interrupted-poll", interrupted_poll },
	{ "connect.interrupted-send", interrupted_send },
	{ "connect.restarted", restarted },
	{ "connect.unspec", unspec },
	{ "connect.unspec-interrupted", unspec_interrupted },
	{ "connect.unspec-fresh", unspec_fresh },
	{ "connect.unspec-pending", unspec_pending },
	{ "connect.listening", listening },
	{ "connect.bad-address", bad_address },
	{ "connect.to-itself", to_itself },
	{ "connect.to-any", to_any },
	{ "connect.bound-first", bound_first },
	{ "connect.same-tuple", same_tuple },
	{ "connect.closed-pending", closed_pending },
	{ "connect.shutdown-pending", shutdown_pending },
	{ "connect.send-waits", send_waits },
	{ "connect.send-waits-limited", send_waits_limited },
	{ "connect.send-meanwhile", send_meanwhile },
	{ "connect.recv-meanwhile", recv_meanwhile },
	{ "connect.shutdown-meanwhile", shutdown_meanwhile },
	{ "connect.closed-before-accept", closed_before_accept },
	{ "connect.many", many },
	{ "connect.many-at-once", many_at_once },
	{ "connect.made-nonblocking", made_nonblocking },
	{ "connect.after-failure", after_failure },
	{ "connect.closed-unanswered", closed_unanswered },
	{ NULL, NULL },
};

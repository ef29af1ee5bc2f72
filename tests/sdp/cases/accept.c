/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* listen() and accept(): what is accepted and inherited, and waiting. */
#include "cases.h"

#include <sys/epoll.h>

static void names(void)
{
	int listener = listen_new(1), fd, client;
	struct address address = address_of(listener), seen, here;

	client = dial(&address);
	seen.len = sizeof(seen.storage);
	fd = accept(listener, &seen.any, &seen.len);
	NEED(fd >= 0);
	here = address_of(client);
	say("the address is the client's: %d", address_is_same(&seen, &here));
	here = address_of_peer(fd);
	say("getpeername says the same: %d", address_is_same(&seen, &here));
	here = address_of(fd);
	say("its own address is the listener's: %d",
	    address_is_same(&address, &here));
	say("the address is %s", address_name(&seen));
}

static void short_address(void)
{
	int listener = listen_new(1);
	struct address address = address_of(listener);
	unsigned char octets[sizeof(address.storage)];
	socklen_t len = 3;

	dial(&address);
	memset(octets, 0x55, sizeof(octets));
	NEED(accept(listener, (struct sockaddr *)octets, &len) >= 0);
	say("the length is the address's: %d", len == address.len);
	say("the fourth octet is as it was: %d", octets[3] == 0x55);
}

static void no_length(void)
{
	int listener = listen_new(1);
	struct address address = address_of(listener), seen;

	dial(&address);
	say("accepts: %d", accept(listener, NULL, &seen.len) >= 0);
}

static void empty(void)
{
	int listener = listen_new(1);
	struct address address = address_of(listener);

	set_nonblocking(listener, true);
	SHOW("accept", accept(listener, NULL, NULL));
	dial(&address);
	wait_poll(listener, POLLIN);
	say("then accepts: %d", accept(listener, NULL, NULL) >= 0);
	SHOW("accept", accept(listener, NULL, NULL));
}

/* A failed accept() that loses its connection. */
static void lost(const char *what, void *octets, socklen_t *len)
{
	int listener = listen_new(1), client;
	struct address address = address_of(listener);

	client = dial(&address);
	wait_poll(listener, POLLIN);
	SHOW(what, accept(listener, octets, len));
	set_nonblocking(listener, true);
	SHOW("the next accept", accept(listener, NULL, NULL));
	show_recv("the client", client, 10, 0);
}

static void bad_pointer(void)
{
	socklen_t len = sizeof(struct sockaddr_storage);

	lost("accept with a bad pointer", (void *)16, &len);
}

static void bad_length(void)
{
	struct sockaddr_storage octets;
	socklen_t len = (socklen_t)-1;

	lost("accept with length -1", &octets, &len);
}

static void bad_length_pointer(void)
{
	struct sockaddr_storage octets;

	lost("accept with a bad length pointer", &octets, (void *)16);
}

static void not_listening(void)
{
	struct pair pair = pair_new();
	int pipes[2];

	NEED(pipe(pipes) == 0);
	SHOW("a fresh socket", accept(socket_new(), NULL, NULL));
	SHOW("a bound socket", accept(bound_new(), NULL, NULL));
	SHOW("a connected socket", accept(pair.client, NULL, NULL));
	SHOW("an accepted socket", accept(pair.server, NULL, NULL));
	SHOW("a pipe", accept(pipes[0], NULL, NULL));
	SHOW("no descriptor", accept(-1, NULL, NULL));
}

static void show_flags(const char *what, int fd)
{
	NEED(fd >= 0);
	say("%s: O_NONBLOCK %d, FD_CLOEXEC %d", what,
	    !!(fcntl(fd, F_GETFL) & O_NONBLOCK),
	    !!(fcntl(fd, F_GETFD) & FD_CLOEXEC));
}

static void flags(void)
{
	int listener = listen_new(4);
	struct address address = address_of(listener);

	for (int i = 0; i < 4; i++)
		dial(&address);
	show_flags("none", accept4(listener, NULL, NULL, 0));
	show_flags("SOCK_NONBLOCK",
		   accept4(listener, NULL, NULL, SOCK_NONBLOCK));
	show_flags("SOCK_CLOEXEC", accept4(listener, NULL, NULL, SOCK_CLOEXEC));
	SHOW("unknown flags", accept4(listener, NULL, NULL, 3));
	show_flags("both",
		   accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

static void flags_not_inherited(void)
{
	int listener = listen_new(1);
	struct address address = address_of(listener);

	dial(&address);
	wait_poll(listener, POLLIN);
	set_nonblocking(listener, true);
	NEED(fcntl(listener, F_SETFD, FD_CLOEXEC) == 0);
	show_flags("of the listener", listener);
	show_flags("of the accepted", accept(listener, NULL, NULL));
}

static void options_inherited(void)
{
	static const struct {
		const char *what;
		int level, name, value;
	} options[] = {
		{ "TCP_NODELAY", SOL_TCP, TCP_NODELAY, 1 },
		{ "SO_KEEPALIVE", SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ "TCP_KEEPIDLE", SOL_TCP, TCP_KEEPIDLE, 77 },
		{ "TCP_KEEPINTVL", SOL_TCP, TCP_KEEPINTVL, 7 },
		{ "TCP_KEEPCNT", SOL_TCP, TCP_KEEPCNT, 5 },
		{ "SO_RCVLOWAT", SOL_SOCKET, SO_RCVLOWAT, 3 },
		{ "SO_OOBINLINE", SOL_SOCKET, SO_OOBINLINE, 1 },
		{ "TCP_USER_TIMEOUT", SOL_TCP, TCP_USER_TIMEOUT, 12345 },
	};
	int listener = listen_new(1), fd;
	struct address address = address_of(listener);

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		set_int(listener, options[i].level, options[i].name,
			options[i].value);
	dial(&address);
	fd = take_connection(listener);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		show_option(options[i].what, fd, options[i].level,
			    options[i].name);
}

static void linger_inherited(void)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 9 };
	int listener = listen_new(1), fd;
	struct address address = address_of(listener);
	socklen_t len = sizeof(linger);

	NEED(!setsockopt(listener, SOL_SOCKET, SO_LINGER, &linger, len));
	dial(&address);
	fd = take_connection(listener);
	memset(&linger, 0, sizeof(linger));
	NEED(!getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &len));
	say("SO_LINGER: %d, %d s", linger.l_onoff, linger.l_linger);
}

static void show_timeout(const char *what, int fd, int name)
{
	struct timeval limit = { .tv_sec = 5 };
	socklen_t len = sizeof(limit);

	NEED(!getsockopt(fd, SOL_SOCKET, name, &limit, &len));
	say("%s is inherited: %d", what,
	    limit.tv_sec == 0 && limit.tv_usec >= 20000);
}

static void timeouts_inherited(void)
{
	int listener = listen_new(1), fd;
	struct address address = address_of(listener);

	set_timeout(listener, SO_RCVTIMEO, 20);
	set_timeout(listener, SO_SNDTIMEO, 30);
	dial(&address);
	wait_poll(listener, POLLIN);
	fd = take_connection(listener);
	show_timeout("SO_RCVTIMEO", fd, SO_RCVTIMEO);
	show_timeout("SO_SNDTIMEO", fd, SO_SNDTIMEO);
	show_recv("recv", fd, 10, 0);
}

static void buffers_inherited(void)
{
	int listener = listen_new(1), fd, of_listener = 0, of_fd = 0;
	struct address address = address_of(listener);
	socklen_t len = sizeof(int);

	set_int(listener, SOL_SOCKET, SO_RCVBUF, 50000);
	dial(&address);
	fd = take_connection(listener);
	NEED(!getsockopt(listener, SOL_SOCKET, SO_RCVBUF, &of_listener, &len));
	NEED(!getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &of_fd, &len));
	say("SO_RCVBUF is the listener's: %d", of_listener == of_fd);
}

static void order(void)
{
	int listener = listen_new(3);
	struct address address = address_of(listener);

	send_text(dial(&address), "first");
	send_text(dial(&address), "second");
	send_text(dial(&address), "third");
	show_recv("accepted", take_connection(listener), 10, 0);
	show_recv("accepted", take_connection(listener), 10, 0);
	show_recv("accepted", take_connection(listener), 10, 0);
}

static void timeout(void)
{
	int listener = listen_new(1);
	struct address address = address_of(listener);

	set_timeout(listener, SO_RCVTIMEO, 20);
	SHOW("accept", accept(listener, NULL, NULL));
	dial(&address);
	wait_poll(listener, POLLIN);
	say("accepts what is there: %d", accept(listener, NULL, NULL) >= 0);
}

static void accept_main(void *arg)
{
	int fd = accept(*(int *)arg, NULL, NULL);

	if (fd < 0)
		say("the sleeping accept: %s", error_name(errno));
	else
		show_recv("the sleeping accept has a connection that says", fd,
			  10, 0);
}

static void sleeps(void)
{
	int listener = listen_new(1);
	struct address address = address_of(listener);
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, accept_main, &listener);
	send_text(dial(&address), "hello");
	sleeper_end(&sleeper);
}

static void shutdown_wakes(void)
{
	int listener = listen_new(1);
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, accept_main, &listener);
	NEED(shutdown(listener, SHUT_RD) == 0);
	sleeper_end(&sleeper);
	SHOW("accept", accept(listener, NULL, NULL));
	show_poll("poll", listener, POLLIN | POLLOUT);
	SHOW("listen again", listen(listener, 1));
	set_nonblocking(listener, true);
	SHOW("accept", accept(listener, NULL, NULL));
}

static void shutdown_write(void)
{
	int listener = listen_new(1);
	struct address address = address_of(listener);

	SHOW("shutdown of the sending side", shutdown(listener, SHUT_WR));
	send_text(dial(&address), "hello");
	show_recv("accepts as before", take_connection(listener), 10, 0);
}

static void close_does_not_wake(void)
{
	int listener = listen_new(1), number = listener;
	struct address address = address_of(listener);
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, accept_main, &listener);
	SHOW("close", close(number));
	sleeper_wait(&sleeper);
	say("accept sleeps on");
	send_text(dial(&address), "hello");
	sleeper_end(&sleeper);
}

static void with_signal(int flags)
{
	int listener = listen_new(1);
	struct address address = address_of(listener);
	struct sleeper sleeper;

	catch_signal(SIGUSR1, flags);
	sleeper_start_asleep(&sleeper, accept_main, &listener);
	pthread_kill(sleeper.thread, SIGUSR1);
	UNTIL(caught[SIGUSR1]);
	if (flags & SA_RESTART) {
		sleeper_wait(&sleeper);
		send_text(dial(&address), "hello");
	}
	sleeper_end(&sleeper);
}

static void interrupted(void)
{
	with_signal(0);
}

static void restarted(void)
{
	with_signal(SA_RESTART);
}

static void listener_closed(void)
{
	int listener = listen_new(1), client;
	struct address address = address_of(listener);

	client = dial(&address);
	wait_poll(listener, POLLIN);
	close(listener);
	wait_poll(client, POLLHUP);
	show_poll("the client", client, POLLIN | POLLOUT | POLLRDHUP);
	show_recv("the client", client, 10, 0);
	show_recv("the client", client, 10, 0);
	SHOW("a new connection",
	     connect(socket_new(), &address.any, address.len));
}

static void listener_closed_sleeping(void)
{
	int listener = listen_new(1), client;
	struct address address = address_of(listener);
	struct sleeper sleeper;

	client = dial(&address);
	wait_poll(listener, POLLIN);
	sleeper_start_asleep(&sleeper, sleeping_recv, &client);
	close(listener);
	sleeper_end(&sleeper);
}

static void listen_again(void)
{
	int listener = listen_new(1);
	struct address address = address_of(listener);

	SHOW("listen again", listen(listener, 5));
	dial(&address);
	say("accepts: %d", accept(listener, NULL, NULL) >= 0);
	SHOW("listen with a negative backlog", listen(listener, -1));
	dial(&address);
	say("accepts: %d", accept(listener, NULL, NULL) >= 0);
}

static void listen_unbound(void)
{
	int fd = socket_new();
	struct address address = address_of(fd);

	say("before: %s", address_name(&address));
	SHOW("listen", listen(fd, 1));
	address = address_of(fd);
	say("after: %s", address_name(&address));
	dial(&address);
	say("accepts: %d", accept(fd, NULL, NULL) >= 0);
}

static void listen_connected(void)
{
	struct pair pair = pair_used();

	SHOW("listen, client", listen(pair.client, 1));
	SHOW("listen, server", listen(pair.server, 1));
	send_text(pair.client, "still");
	show_recv("the connection is as it was", pair.server, 10, 0);
}

static void listen_bad(void)
{
	int pipes[2];

	NEED(pipe(pipes) == 0);
	SHOW("a pipe", listen(pipes[0], 1));
	SHOW("no descriptor", listen(-1, 1));
	SHOW("a datagram socket", listen(socket(AF_INET, SOCK_DGRAM, 0), 1));
}

static void dup_of_listener(void)
{
	int listener = listen_new(2), copy;
	struct address address = address_of(listener);

	copy = dup(listener);
	close(listener);
	send_text(dial(&address), "by the dup");
	show_recv("accepted", take_connection(copy), 20, 0);
	close(copy);
	SHOW("connect", connect(socket_new(), &address.any, address.len));
}

static void readiness(void)
{
	int listener = listen_new(2);
	struct address address = address_of(listener);

	show_poll("none", listener, POLLIN | POLLOUT | POLLRDHUP);
	dial(&address);
	wait_poll(listener, POLLIN);
	show_poll("one waits", listener, POLLIN | POLLOUT | POLLRDHUP);
	take_connection(listener);
	show_poll("none waits", listener, POLLIN | POLLOUT | POLLRDHUP);
}

static void edge(void)
{
	int listener = listen_new(3), set = epoll_create1(0);
	struct address address = address_of(listener);
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET };

	NEED(!epoll_ctl(set, EPOLL_CTL_ADD, listener, &event));
	SHOW("none", epoll_wait(set, &event, 1, 0));
	dial(&address);
	NEED(epoll_wait(set, &event, 1, -1) == 1);
	say("one: %s", events_name(event.events));
	SHOW("again", epoll_wait(set, &event, 1, 0));
	dial(&address);
	NEED(epoll_wait(set, &event, 1, -1) == 1);
	say("a second: %s", events_name(event.events));
	take_connection(listener);
	SHOW("one left", epoll_wait(set, &event, 1, 0));
	take_connection(listener);
	dial(&address);
	NEED(epoll_wait(set, &event, 1, -1) == 1);
	say("a third: %s", events_name(event.events));
}

static void data_first(void)
{
	int listener = listen_new(1), fd;
	struct address address = address_of(listener);

	send_text(dial(&address), "early");
	fd = take_connection(listener);
	show_recv("recv", fd, 10, 0);
}

static void server_first(void)
{
	int listener = listen_new(1), client;
	struct address address = address_of(listener);

	client = dial(&address);
	send_text(take_connection(listener), "220 ready");
	show_recv("the client", client, 20, 0);
}

static void never_taken(void)
{
	int listener = listen_new(2), client;
	struct address address = address_of(listener);

	client = dial(&address);
	show_send("send before accept", client, "abc", 0);
	show_poll("poll", client, POLLIN | POLLOUT);
	SHOW("shutdown", shutdown(client, SHUT_WR));
	client = take_connection(listener);
	show_recv("then accepted", client, 10, 0);
	show_recv("then accepted", client, 10, 0);
}

const struct sock_case accept_cases[] = {
	{ "accept.names", names },
	{ "accept.short-address", short_address },
	{ "accept.no-length", no_length },
	{ "accept.empty", empty },
	{ "accept.bad-pointer", bad_pointer },
	{ "accept.bad-length", bad_length },
	{ "accept.bad-length-pointer", bad_length_pointer },
	{ "accept.not-listening", not_listening },
	{ "accept.flags", flags },
	{ "accept.flags-not-inherited", flags_not_inherited },
	{ "accept.options-inherited", options_inherited },
	{ "accept.linger-inherited", linger_inherited },
	{ "accept.timeouts-inherited", timeouts_inherited },
	{ "accept.buffers-inherited", buffers_inherited },
	{ "accept.order", order },
	{ "accept.timeout", timeout },
	{ "accept.sleeps", sleeps },
	{ "accept.shutdown-wakes", shutdown_wakes },
	{ "accept.shutdown-write", shutdown_write },
	{ "accept.close-does-not-wake", close_does_not_wake },
	{ "accept.interrupted", interrupted },
	{ "accept.restarted", restarted },
	{ "accept.listener-closed", listener_closed },
	{ "accept.listener-closed-sleeping", listener_closed_sleeping },
	{ "accept.listen-again", listen_again },
	{ "accept.listen-unbound", listen_unbound },
	{ "accept.listen-connected", listen_connected },
	{ "accept.listen-bad", listen_bad },
	{ "accept.dup-of-listener", dup_of_listener },
	{ "accept.readiness", readiness },
	{ "accept.edge", edge },
	{ "accept.data-first", data_first },
	{ "accept.server-first", server_first },
	{ "accept.never-taken", never_taken },
	{ NULL, NULL },
};

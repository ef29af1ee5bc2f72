/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* socket(), bind() and names, for IPv4, IPv6 and dual stack. */
#include "cases.h"

static int bind_to(int fd, const struct address *address)
{
	return bind(fd, &address->any, address->len);
}

static void creation(void)
{
	int pair[2];

	SHOW("an unknown family", socket(99, SOCK_STREAM, 0));
	SHOW("an unknown type", socket(fixture_family, 99, 0));
	SHOW("an unknown protocol", socket(fixture_family, SOCK_STREAM, 99));
	SHOW("a datagram protocol",
	     socket(fixture_family, SOCK_STREAM, IPPROTO_UDP));
	say("TCP by name: %d",
	    socket(fixture_family, SOCK_STREAM, IPPROTO_TCP) >= 0);
	SHOW("socketpair", socketpair(fixture_family, SOCK_STREAM, 0, pair));
}

static void creation_flags(void)
{
	int fd = socket(fixture_family,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	say("FD_CLOEXEC %d, O_NONBLOCK %d", fcntl(fd, F_GETFD) & FD_CLOEXEC,
	    !!(fcntl(fd, F_GETFL) & O_NONBLOCK));
}

static void fresh_names(void)
{
	struct address address = { .len = sizeof(address.storage) };
	int fd = socket_new();

	SHOW("getsockname", getsockname(fd, &address.any, &address.len));
	say("%s", address_name(&address));
	SHOW("getpeername", getpeername(fd, &address.any, &address.len));
	SHOW("getpeername of a listener",
	     getpeername(listen_new(1), &address.any, &address.len));
}

static void short_names(void)
{
	struct pair pair = pair_used();
	unsigned char octets[64];
	socklen_t len = 2;

	memset(octets, 0x55, sizeof(octets));
	SHOW("getsockname to 2 octets",
	     getsockname(pair.client, (struct sockaddr *)octets, &len));
	say("the length is the address's: %d, the third octet is as it was: %d",
	    len == address_of(pair.client).len, octets[2] == 0x55);
	len = 0;
	SHOW("getpeername to none",
	     getpeername(pair.client, (struct sockaddr *)octets, &len));
	len = (socklen_t)-1;
	SHOW("getsockname, length -1",
	     getsockname(pair.client, (struct sockaddr *)octets, &len));
	SHOW("getpeername, length -1",
	     getpeername(pair.client, (struct sockaddr *)octets, &len));
	len = 64;
	SHOW("getsockname to a bad pointer",
	     getsockname(pair.client, (void *)16, &len));
	SHOW("getpeername to a bad pointer",
	     getpeername(pair.client, (void *)16, &len));
	SHOW("getsockname of no descriptor",
	     getsockname(-1, (struct sockaddr *)octets, &len));
}

static void names_agree(void)
{
	struct pair pair = pair_used();
	struct address client = address_of(pair.client),
		       server = address_of(pair.server), peer;

	peer = address_of_peer(pair.client);
	say("the client's peer is the server: %d",
	    address_is_same(&peer, &server));
	peer = address_of_peer(pair.server);
	say("the server's peer is the client: %d",
	    address_is_same(&peer, &client));
	say("both are %s", address_name(&client));
}

static void names_at_the_end(void)
{
	struct pair pair = pair_used();
	struct address address = { .len = sizeof(address.storage) };

	close(pair.client);
	wait_poll(pair.server, POLLRDHUP);
	SHOW("getpeername after the peer's end",
	     getpeername(pair.server, &address.any, &address.len));
	NEED(shutdown(pair.server, SHUT_WR) == 0);
	SHOW("getsockname after both",
	     getsockname(pair.server, &address.any, &address.len));
}

static void bind_errors(void)
{
	struct address address = address_loopback(fixture_family), other;
	int fd = socket_new(), bound = bound_new(), listener = listen_new(1);

	SHOW("a short length", bind(fd, &address.any, 4));
	SHOW("a bad pointer", bind(fd, (void *)16, address.len));
	SHOW("no descriptor", bind_to(-1, &address));
	other = address_loopback(fixture_family == AF_INET ? AF_INET6
							   : AF_INET);
	other.any.sa_family = AF_UNIX;
	SHOW("another family", bind_to(fd, &other));
	other = address_of(listener);
	SHOW("the port of a listener", bind_to(fd, &other));
	other = address_of(bound);
	SHOW("the port of a bound socket", bind_to(fd, &other));
	if (fixture_family == AF_INET)
		inet_pton(AF_INET, "192.0.2.1", &address.in.sin_addr);
	else
		inet_pton(AF_INET6, "2001:db8::1", &address.in6.sin6_addr);
	SHOW("an address that is not ours", bind_to(fd, &address));
	address = address_loopback(fixture_family);
	SHOW("a free port", bind_to(fd, &address));
	SHOW("bind again", bind_to(fd, &address));
}

static void reuse_address(void)
{
	struct address address = address_loopback(fixture_family);
	struct pair pair;
	int listener = socket_new(), fd;

	set_int(listener, SOL_SOCKET, SO_REUSEADDR, 1);
	NEED(bind_to(listener, &address) == 0 && listen(listener, 1) == 0);
	address = address_of(listener);
	pair.client = dial(&address);
	pair.server = take_connection(listener);
	close(listener);
	/* The server's end is closed first, so its port stays in TIME_WAIT. */
	close(pair.server);
	show_recv("recv", pair.client, 10, 0);
	close(pair.client);
	fd = socket_new();
	set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	SHOW("bind with SO_REUSEADDR", bind_to(fd, &address));
	SHOW("listen", listen(fd, 1));
	send_text(dial(&address), "again");
	show_recv("recv", take_connection(fd), 10, 0);
}

static void reuse_two_listeners(void)
{
	struct address address;
	int first = bound_new(), second = socket_new();

	address = address_of(first);
	SHOW("a second bind", bind_to(second, &address));
	set_int(first, SOL_SOCKET, SO_REUSEADDR, 1);
	set_int(second, SOL_SOCKET, SO_REUSEADDR, 1);
	SHOW("with SO_REUSEADDR", bind_to(second, &address));
	SHOW("listen", listen(first, 1));
	SHOW("listen on the second", listen(second, 1));
}

static void reuse_port(void)
{
	struct address address = address_loopback(fixture_family);
	int first = socket_new(), second = socket_new(), taken = 0;

	set_int(first, SOL_SOCKET, SO_REUSEPORT, 1);
	set_int(second, SOL_SOCKET, SO_REUSEPORT, 1);
	NEED(bind_to(first, &address) == 0);
	address = address_of(first);
	SHOW("a second bind", bind_to(second, &address));
	SHOW("listen", listen(first, 20));
	SHOW("listen on the second", listen(second, 20));
	for (int i = 0; i < 20; i++)
		send_text(dial(&address), "x");
	while (taken < 20) {
		struct pollfd list[2] = { { .fd = first, .events = POLLIN },
					  { .fd = second, .events = POLLIN } };
		char octet;

		NEED(poll(list, 2, -1) > 0);
		for (int i = 0; i < 2; i++)
			if (list[i].revents & POLLIN)
				taken += recv(take_connection(list[i].fd),
					      &octet, 1, 0) == 1;
	}
	say("%d connections by two listeners", taken);
}

static void any_listener(void)
{
	struct address any = address_loopback(fixture_family), address;
	int listener = socket_new(), fd;

	if (fixture_family == AF_INET)
		any.in.sin_addr.s_addr = INADDR_ANY;
	else
		any.in6.sin6_addr = in6addr_any;
	SHOW("bind", bind_to(listener, &any));
	SHOW("listen", listen(listener, 1));
	any = address_of(listener);
	address = address_loopback(fixture_family);
	address.in.sin_port = any.in.sin_port;
	send_text(dial(&address), "x");
	fd = take_connection(listener);
	show_recv("recv", fd, 10, 0);
	any = address_of(fd);
	say("accepted at %s", address_name(&any));
}

static void both_families(void)
{
	struct address address = address_loopback(AF_INET6);
	int listener = socket(AF_INET6, SOCK_STREAM, 0), fd, client;

	set_int(listener, SOL_IPV6, IPV6_V6ONLY, 0);
	address.in6.sin6_addr = in6addr_any;
	NEED(bind_to(listener, &address) == 0 && listen(listener, 2) == 0);
	address.in6.sin6_port = address_of(listener).in6.sin6_port;
	address.in6.sin6_addr = in6addr_loopback;
	send_text(dial(&address), "by IPv6");
	fd = take_connection(listener);
	show_recv("recv", fd, 10, 0);
	address = address_of_peer(fd);
	say("from %s", address_name(&address));
	address.in6.sin6_port = address_of(listener).in6.sin6_port;
	inet_pton(AF_INET6, "::ffff:127.0.0.1", &address.in6.sin6_addr);
	client = dial(&address);
	send_text(client, "by mapped");
	fd = take_connection(listener);
	show_recv("recv", fd, 10, 0);
	address = address_of_peer(fd);
	say("from %s", address_name(&address));
	address = address_of(client);
	say("the client is at %s", address_name(&address));
}

static void by_ipv4(void)
{
	struct address address = address_loopback(AF_INET6);
	int listener = socket(AF_INET6, SOCK_STREAM, 0), fd, client;
	in_port_t port;

	set_int(listener, SOL_IPV6, IPV6_V6ONLY, 0);
	address.in6.sin6_addr = in6addr_any;
	NEED(bind_to(listener, &address) == 0 && listen(listener, 2) == 0);
	port = address_of(listener).in6.sin6_port;
	address = address_loopback(AF_INET);
	address.in.sin_port = port;
	client = dial(&address);
	send_text(client, "by IPv4");
	fd = take_connection(listener);
	show_recv("recv", fd, 10, 0);
	send_text(fd, "answer");
	show_recv("recv", client, 10, 0);
	address = address_of_peer(fd);
	say("from %s", address_name(&address));
	address = address_of(client);
	say("the client is at %s", address_name(&address));
}

static void only_ipv6(void)
{
	struct address address = address_loopback(AF_INET6);
	int listener = socket(AF_INET6, SOCK_STREAM, 0), client;
	in_port_t port;

	set_int(listener, SOL_IPV6, IPV6_V6ONLY, 1);
	address.in6.sin6_addr = in6addr_any;
	NEED(bind_to(listener, &address) == 0 && listen(listener, 2) == 0);
	show_option("IPV6_V6ONLY", listener, SOL_IPV6, IPV6_V6ONLY);
	port = address_of(listener).in6.sin6_port;
	address = address_loopback(AF_INET);
	address.in.sin_port = port;
	client = socket(AF_INET, SOCK_STREAM, 0);
	SHOW("connect by IPv4", connect(client, &address.any, address.len));
}

static void mapped_listener(void)
{
	struct address address = address_loopback(AF_INET6);
	int listener = socket(AF_INET6, SOCK_STREAM, 0), fd;
	in_port_t port;

	inet_pton(AF_INET6, "::ffff:127.0.0.1", &address.in6.sin6_addr);
	SHOW("bind", bind_to(listener, &address));
	SHOW("listen", listen(listener, 1));
	port = address_of(listener).in6.sin6_port;
	address = address_loopback(AF_INET);
	address.in.sin_port = port;
	fd = dial(&address);
	send_text(take_connection(listener), "x");
	show_recv("recv", fd, 10, 0);
}

static void other_loopback(void)
{
	struct address address = address_loopback(AF_INET);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int client = socket(AF_INET, SOCK_STREAM, 0);

	inet_pton(AF_INET, "127.0.0.2", &address.in.sin_addr);
	NEED(bind_to(listener, &address) == 0 && listen(listener, 1) == 0);
	address = address_loopback(AF_INET);
	inet_pton(AF_INET, "127.0.0.3", &address.in.sin_addr);
	NEED(bind_to(client, &address) == 0);
	address = address_of(listener);
	NEED(connect(client, &address.any, address.len) == 0);
	send_text(client, "x");
	client = take_connection(listener);
	show_recv("recv", client, 10, 0);
	address = address_of_peer(client);
	say("from %s", address_name(&address));
	address = address_of(client);
	say("to %s", address_name(&address));
}

const struct sock_case address_cases[] = {
	{ "address.creation", creation },
	{ "address.creation-flags", creation_flags },
	{ "address.fresh-names", fresh_names },
	{ "address.short-names", short_names },
	{ "address.names-agree", names_agree },
	{ "address.names-at-the-end", names_at_the_end },
	{ "address.bind-errors", bind_errors },
	{ "address.reuse-address", reuse_address },
	{ "address.reuse-two-listeners", reuse_two_listeners },
	{ "address.reuse-port", reuse_port },
	{ "address.any-listener", any_listener },
	{ "address.both-families", both_families },
	{ "address.by-ipv4", by_ipv4 },
	{ "address.only-ipv6", only_ipv6 },
	{ "address.mapped-listener", mapped_listener },
	{ "address.other-loopback", other_loopback },
	{ NULL, NULL },
};

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fork() around a connection, and sockets passed to another process. */
#include "cases.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>

static void echo_child(void *arg)
{
	echo(*(int *)arg);
}

static void exchange(int fd, size_t count)
{
	send_pattern(fd, count, 0);
	NEED(shutdown(fd, SHUT_WR) == 0);
	say("%zu octets came back", recv_pattern_all(fd, 0));
	close(fd);
}

/* A server that forks for each connection. */
struct serving {
	int listener;
	int count;
};

static void serve_each(void *arg)
{
	const struct serving *serving = arg;

	for (int i = 0; i < serving->count; i++) {
		int fd = take_connection(serving->listener);
		pid_t pid = fork();

		NEED(pid >= 0);
		if (pid == 0) {
			close(serving->listener);
			echo(fd);
			exit(0);
		}
		close(fd);
	}
	for (int i = 0; i < serving->count; i++) {
		int status;

		NEED(wait(&status) > 0 && status == 0);
	}
}

static void per_connection(void)
{
	struct serving serving = { .listener = listen_new(5), .count = 5 };
	struct address address = address_of(serving.listener);
	pid_t pid = child_start(serve_each, &serving);

	close(serving.listener);
	for (int i = 0; i < 5; i++)
		exchange(dial(&address), 10000);
	child_end(pid);
}

static void per_connection_at_once(void)
{
	struct serving serving = { .listener = listen_new(5), .count = 5 };
	struct address address = address_of(serving.listener);
	pid_t pid = child_start(serve_each, &serving);
	int fds[5];

	close(serving.listener);
	for (int i = 0; i < 5; i++)
		fds[i] = dial(&address);
	for (int i = 0; i < 5; i++)
		send_pattern(fds[i], 100, 0);
	for (int i = 0; i < 5; i++)
		recv_pattern(fds[i], 100, 0);
	for (int i = 0; i < 5; i++)
		exchange(fds[i], 1000);
	child_end(pid);
}

static void serve_some(void *arg)
{
	const struct serving *serving = arg;

	for (int i = 0; i < serving->count; i++) {
		int fd = take_connection(serving->listener);

		echo(fd);
		close(fd);
	}
}

/* Children that accept from one listener. */
static void prefork(void)
{
	struct serving serving = { .listener = listen_new(9), .count = 3 };
	struct address address = address_of(serving.listener);
	pid_t pids[3];

	for (int i = 0; i < 3; i++)
		pids[i] = child_start(serve_some, &serving);
	close(serving.listener);
	for (int i = 0; i < 9; i++)
		exchange(dial(&address), 5000);
	for (int i = 0; i < 3; i++)
		child_end(pids[i]);
}

static void serve_epoll(void *arg)
{
	const struct serving *serving = arg;
	struct epoll_event event = { .events = EPOLLIN | EPOLLEXCLUSIVE };
	int set = epoll_create1(0), done = 0;

	set_nonblocking(serving->listener, true);
	NEED(!epoll_ctl(set, EPOLL_CTL_ADD, serving->listener, &event));
	while (done < serving->count) {
		int fd;

		NEED(epoll_wait(set, &event, 1, -1) == 1);
		fd = accept(serving->listener, NULL, NULL);
		if (fd < 0) {
			NEED(errno == EAGAIN);
			continue;
		}
		echo(fd);
		close(fd);
		done++;
	}
}

static void prefork_epoll(void)
{
	struct serving serving = { .listener = listen_new(6), .count = 3 };
	struct address address = address_of(serving.listener);
	pid_t pids[2];

	for (int i = 0; i < 2; i++)
		pids[i] = child_start(serve_epoll, &serving);
	close(serving.listener);
	for (int i = 0; i < 6; i++)
		exchange(dial(&address), 5000);
	for (int i = 0; i < 2; i++)
		child_end(pids[i]);
}

/* The parent connects, and the child uses the connection. */
static void handed_over(struct pair pair)
{
	pid_t pid = child_start(echo_child, &pair.server);

	close(pair.server);
	exchange(pair.client, 20000);
	child_end(pid);
}

static void unused_to_child(void)
{
	handed_over(pair_new());
}

static void used_to_child(void)
{
	handed_over(pair_used());
}

static void child_writes(void *arg)
{
	send_text(*(int *)arg, "from the child");
}

static void child_then_parent(void)
{
	struct pair pair = pair_used();

	send_text(pair.client, "from the parent");
	show_recv("recv", pair.server, 30, 0);
	child_end(child_start(child_writes, &pair.client));
	show_recv("recv", pair.server, 30, 0);
	send_text(pair.client, "from the parent");
	show_recv("recv", pair.server, 30, 0);
	show_send("the other way", pair.server, "to the parent", 0);
	show_recv("recv", pair.client, 30, 0);
	close(pair.client);
	show_recv("recv", pair.server, 30, 0);
}

static void child_reads_some(void *arg)
{
	show_recv("the child", *(int *)arg, 4, 0);
}

static void reads_shared(void)
{
	struct pair pair = pair_used();

	send_text(pair.client, "0123456789");
	wait_octets(pair.server, 10);
	show_recv("the parent", pair.server, 3, 0);
	child_end(child_start(child_reads_some, &pair.server));
	show_recv("the parent", pair.server, 30, 0);
}

struct gate {
	int fd;
	int go[2];
};

static void child_waits(void *arg)
{
	struct gate *gate = arg;
	char octet;

	close(gate->go[1]);
	NEED(read(gate->go[0], &octet, 1) == 0);
}

/* The stream ends when the last process has closed it. */
static void end_by_last(void)
{
	struct pair pair = pair_used();
	struct gate gate = { .fd = pair.client };
	pid_t pid;

	NEED(pipe(gate.go) == 0);
	pid = child_start(child_waits, &gate);
	close(pair.client);
	send_text(pair.server, "x");
	show_recv("the child still holds it", pair.server, 10, MSG_DONTWAIT);
	close(gate.go[1]);
	child_end(pid);
	wait_poll(pair.server, POLLRDHUP);
	say("the end comes with the child's");
}

static void parent_first_child(void *arg)
{
	struct gate *gate = arg;
	char octet;

	/* The process between this one and the case ends first. */
	if (fork() != 0)
		_exit(0);
	close(gate->go[1]);
	NEED(read(gate->go[0], &octet, 1) == 0);
	send_text(gate->fd, "from the grandchild");
	show_recv("the grandchild", gate->fd, 20, 0);
}

/* As a daemon does. */
static void parent_ends_first(void)
{
	struct pair pair = pair_used();
	struct gate gate = { .fd = pair.client };

	NEED(pipe(gate.go) == 0);
	child_end(child_start(parent_first_child, &gate));
	close(pair.client);
	close(gate.go[1]);
	show_recv("recv", pair.server, 30, 0);
	send_text(pair.server, "answer");
	show_recv("the end", pair.server, 30, 0);
}

struct killed {
	struct gate gate;
	struct address address;
};

static void parent_killed_child(void *arg)
{
	struct killed *killed = arg;
	int fd = dial(&killed->address);
	char octet;

	NEED(recv(fd, &octet, 1, 0) == 1);
	if (fork() != 0) {
		for (;;)
			pause();
	}
	close(killed->gate.go[1]);
	send_text(fd, "before");
	NEED(read(killed->gate.go[0], &octet, 1) == 0);
	(void)send(fd, "behind", 6, MSG_NOSIGNAL);
}

/* A process ends whose child uses its connection. */
static void parent_killed(void)
{
	int listener = listen_new(1), fd, status;
	struct killed killed = { .address = address_of(listener) };
	pid_t pid;

	NEED(pipe(killed.gate.go) == 0);
	pid = child_start(parent_killed_child, &killed);
	fd = take_connection(listener);
	send_text(fd, "x");
	show_recv("recv", fd, 6, MSG_WAITALL);
	NEED(kill(pid, SIGKILL) == 0);
	NEED(waitpid(pid, &status, 0) == pid);
	close(killed.gate.go[1]);
	show_recv("recv", fd, 6, MSG_WAITALL);
}

static void timeouts_child(void *arg)
{
	struct pair *pair = arg;

	show_recv("the child", pair->server, 10, 0);
	set_timeout(pair->client, SO_RCVTIMEO, 50);
	show_recv("a time that the child sets", pair->client, 10, 0);
}

/* Set before the fork, and by the child. */
static void timeouts(void)
{
	struct pair pair = pair_used();

	set_timeout(pair.server, SO_RCVTIMEO, 50);
	child_end(child_start(timeouts_child, &pair));
	show_recv("the parent", pair.client, 10, 0);
}

static void domain_child(void *arg)
{
	const struct pair *pair = arg;
	int domain = 0;
	socklen_t len = sizeof(domain);

	NEED(getsockopt(pair->client, SOL_SOCKET, SO_DOMAIN, &domain, &len) ==
	     0);
	say("SO_DOMAIN is the family: %d", domain == fixture_family);
	show_option("SO_PROTOCOL", pair->client, SOL_SOCKET, SO_PROTOCOL);
	show_option("SO_ACCEPTCONN", pair->client, SOL_SOCKET, SO_ACCEPTCONN);
}

static void domain(void)
{
	struct pair pair = pair_used();

	child_end(child_start(domain_child, &pair));
}

static void shutdown_child(void *arg)
{
	NEED(shutdown(*(int *)arg, SHUT_WR) == 0);
}

static void shutdown_by_child(void)
{
	struct pair pair = pair_used();

	child_end(child_start(shutdown_child, &pair.client));
	show_recv("the peer", pair.server, 10, 0);
	show_send("the parent sends", pair.client, "x", MSG_NOSIGNAL);
}

static void large_child(void *arg)
{
	send_pattern(*(int *)arg, 2 << 20, 0);
}

static void large_by_child(void)
{
	struct pair pair = pair_used();
	pid_t pid = child_start(large_child, &pair.client);

	close(pair.client);
	say("%zu octets came", recv_pattern_all(pair.server, 0));
	child_end(pid);
}

static void new_in_child_main(void *arg)
{
	struct pair pair = pair_used();

	(void)arg;
	send_text(pair.client, "new");
	show_recv("a connection in the child", pair.server, 10, 0);
}

static void new_in_child(void)
{
	struct pair pair = pair_used();

	child_end(child_start(new_in_child_main, NULL));
	send_text(pair.client, "old");
	show_recv("the parent's connection", pair.server, 10, 0);
}

static void unrelated_child(void *arg)
{
	(void)arg;
}

static void unrelated(void)
{
	struct pair pair = pair_used();

	for (int i = 0; i < 5; i++)
		child_end(child_start(unrelated_child, NULL));
	send_text(pair.client, "here");
	show_recv("children that do nothing; recv", pair.server, 10, 0);
	send_pattern(pair.client, 30000, 0);
	recv_pattern(pair.server, 30000, 0);
}

static void both_ends_child(void *arg)
{
	struct pair *pair = arg;

	send_text(pair->client, "abc");
	show_recv("both ends in the child", pair->server, 10, 0);
	send_text(pair->server, "def");
	show_recv("both ends in the child", pair->client, 10, 0);
}

static void both_ends(void)
{
	struct pair pair = pair_used();

	child_end(child_start(both_ends_child, &pair));
	both_ends_child(&pair);
}

/* A program is started, which inherits the socket, while a thread sleeps in
 * recv(). */
static void beside_a_recv(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, sleeping_recv, &pair.server);
	say("system: %d", system("true"));
	send_text(pair.client, "later");
	sleeper_end(&sleeper);
}

static void busy_recv_main(void *arg)
{
	recv_pattern(*(int *)arg, 20000000, 0);
	say("all octets in their order");
}

static void busy_send_main(void *arg)
{
	send_pattern(*(int *)arg, 20000000, 0);
}

/* ... and while data is transferred. */
static void busy_recv(void)
{
	struct pair pair = pair_used();
	struct sleeper receiver, sender;

	sleeper_start(&receiver, busy_recv_main, &pair.server);
	sleeper_start(&sender, busy_send_main, &pair.client);
	NEED(system("true") == 0);
	sleeper_end(&receiver);
	sleeper_end(&sender);
}

static void name_child(void *arg)
{
	struct pair *pair = arg;
	struct address peer = address_of_peer(pair->client);
	struct address server = address_of(pair->server);

	say("the names agree: %d", address_is_same(&peer, &server));
	show_option("SO_TYPE", pair->client, SOL_SOCKET, SO_TYPE);
	show_option("TCP_NODELAY", pair->client, SOL_TCP, TCP_NODELAY);
}

static void names(void)
{
	struct pair pair = pair_used();

	set_int(pair.client, SOL_TCP, TCP_NODELAY, 1);
	child_end(child_start(name_child, &pair));
}

/* ---- passing ---- */

static void pass(int by, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec out = { "p", 1 };
	struct msghdr message = { .msg_iov = &out,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&message);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	NEED(sendmsg(by, &message, 0) == 1);
}

static int passed(int by)
{
	char control[CMSG_SPACE(sizeof(int))], octet;
	struct iovec in = { &octet, 1 };
	struct msghdr message = { .msg_iov = &in,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg;
	int fd;

	NEED(recvmsg(by, &message, 0) == 1);
	cmsg = CMSG_FIRSTHDR(&message);
	NEED(cmsg && cmsg->cmsg_type == SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	return fd;
}

static void pass_child(void *arg)
{
	echo(passed(*(int *)arg));
}

/* The child was started before the socket was made. */
static void pass_pair(bool is_used)
{
	struct pair pair;
	int ways[2];
	pid_t pid;

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, ways) == 0);
	pid = child_start(pass_child, &ways[1]);
	pair = is_used ? pair_used() : pair_new();
	pass(ways[0], pair.server);
	close(pair.server);
	exchange(pair.client, 20000);
	child_end(pid);
}

static void pass_unused(void)
{
	pass_pair(false);
}

static void pass_used(void)
{
	pass_pair(true);
}

/* The same with the calls for several messages. */
static void many_child(void *arg)
{
	char control[CMSG_SPACE(sizeof(int))], octet;
	struct iovec in = { &octet, 1 };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &in,
						.msg_iovlen = 1,
						.msg_control = control,
						.msg_controllen =
							sizeof(control) } };
	int fd;

	NEED(recvmmsg(*(int *)arg, &message, 1, 0, NULL) == 1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message.msg_hdr)), sizeof(fd));
	echo(fd);
}

static void pass_many_pair(bool is_used)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec out = { "x", 1 };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &out,
						.msg_iovlen = 1,
						.msg_control = control,
						.msg_controllen =
							sizeof(control) } };
	struct cmsghdr *part = CMSG_FIRSTHDR(&message.msg_hdr);
	struct pair pair;
	int ways[2];
	pid_t pid;

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, ways) == 0);
	pid = child_start(many_child, &ways[1]);
	pair = is_used ? pair_used() : pair_new();
	part->cmsg_level = SOL_SOCKET;
	part->cmsg_type = SCM_RIGHTS;
	part->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(part), &pair.server, sizeof(int));
	NEED(sendmmsg(ways[0], &message, 1, 0) == 1);
	close(pair.server);
	exchange(pair.client, 20000);
	child_end(pid);
}

static void pass_many(void)
{
	pass_many_pair(false);
	pass_many_pair(true);
}

static void pass_itself(void)
{
	struct pair pair = pair_used();
	int ways[2], fd;

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, ways) == 0);
	pass(ways[0], pair.client);
	fd = passed(ways[1]);
	close(pair.client);
	send_text(fd, "by the passed one");
	show_recv("recv", pair.server, 20, 0);
	send_text(pair.server, "answer");
	show_recv("recv", fd, 20, 0);
	close(fd);
	show_recv("recv", pair.server, 20, 0);
}

static void pass_listener_child(void *arg)
{
	echo(take_connection(passed(*(int *)arg)));
}

static void pass_listener(void)
{
	int ways[2], listener;
	struct address address;
	pid_t pid;

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, ways) == 0);
	pid = child_start(pass_listener_child, &ways[1]);
	listener = listen_new(1);
	address = address_of(listener);
	pass(ways[0], listener);
	close(listener);
	exchange(dial(&address), 3000);
	child_end(pid);
}

/* No process has the descriptor while it is passed. Data in transit is kept. */
static void pass_in_flight(void)
{
	struct pair pair = pair_used();
	int ways[2], fd;

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, ways) == 0);
	pass(ways[0], pair.server);
	close(pair.server);
	send_text(pair.client, "while it is on its way");
	fd = passed(ways[1]);
	show_recv("recv", fd, 30, 0);
}

static void recv_all_main(void *arg)
{
	show_recv("the recv of 10 with MSG_WAITALL", *(int *)arg, 10,
		  MSG_WAITALL);
}

/* Passed while a thread sleeps in recv(), which has received a part. */
static void pass_partial_recv(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;
	int ways[2];

	send_text(pair.client, "01234");
	wait_octets(pair.server, 5);
	sleeper_start_asleep(&sleeper, recv_all_main, &pair.server);
	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, ways) == 0);
	pass(ways[0], pair.server);
	send_text(pair.client, "56789");
	sleeper_end(&sleeper);
}

/* ... in send(). Then only this call holds the socket, because all numbers are
 * closed. */
static void pass_sending(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;
	size_t count = fill(pair.client);
	int ways[2];

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, ways) == 0);
	set_nonblocking(pair.client, false);
	sleeper_start_asleep(&sleeper, sleeping_send, &pair.client);
	pass(ways[0], pair.client);
	SHOW("close", close(pair.client));
	close(passed(ways[1]));
	recv_pattern(pair.server, count, 0);
	recv_pattern(pair.server, SLEEPING_SEND_LEN, 0);
	sleeper_end(&sleeper);
	show_recv("the peer", pair.server, 10, 0);
}

/* A thread that forks while another makes the process's first connection. */
static void *fork_main(void *arg)
{
	_Atomic bool *is_over = arg;

	while (!atomic_load(is_over)) {
		pid_t pid = fork();

		NEED(pid >= 0);
		if (pid == 0)
			_exit(0);
		NEED(waitpid(pid, NULL, 0) == pid);
	}
	return NULL;
}

static void connect_first(void *arg)
{
	_Atomic bool is_over = false;
	pthread_t thread;
	struct pair pair;

	(void)arg;
	NEED(pthread_create(&thread, NULL, fork_main, &is_over) == 0);
	pair = pair_used();
	send_pattern(pair.client, 10000, 0);
	recv_pattern(pair.server, 10000, 0);
	atomic_store(&is_over, true);
	NEED(pthread_join(thread, NULL) == 0);
	close(pair.client);
	close(pair.server);
}

/* All at once: on a loaded machine each spends its time in waiting for a
 * processor, some 200 times. */
static void beside_first(void)
{
	pid_t pids[BESIDE_FIRST_CNT];

	for (int i = 0; i < BESIDE_FIRST_CNT; i++)
		pids[i] = child_start(connect_first, NULL);
	for (int i = 0; i < BESIDE_FIRST_CNT; i++)
		child_end(pids[i]);
	say("%d processes have ended", BESIDE_FIRST_CNT);
}

const struct sock_case fork_cases[] = {
	{ "fork.per-connection", per_connection },
	{ "fork.per-connection-at-once", per_connection_at_once },
	{ "fork.prefork", prefork },
	{ "fork.prefork-epoll", prefork_epoll },
	{ "fork.unused-to-child", unused_to_child },
	{ "fork.used-to-child", used_to_child },
	{ "fork.child-then-parent", child_then_parent },
	{ "fork.reads-shared", reads_shared },
	{ "fork.end-by-last", end_by_last },
	{ "fork.parent-ends-first", parent_ends_first },
	{ "fork.parent-killed", parent_killed },
	{ "fork.timeouts", timeouts },
	{ "fork.domain", domain },
	{ "fork.shutdown-by-child", shutdown_by_child },
	{ "fork.large-by-child", large_by_child },
	{ "fork.new-in-child", new_in_child },
	{ "fork.unrelated", unrelated },
	{ "fork.both-ends", both_ends },
	{ "fork.sleeping-recv", beside_a_recv },
	{ "fork.busy-recv", busy_recv },
	{ "fork.names", names },
	{ "fork.pass-unused", pass_unused },
	{ "fork.pass-used", pass_used },
	{ "fork.pass-many", pass_many },
	{ "fork.pass-itself", pass_itself },
	{ "fork.pass-listener", pass_listener },
	{ "fork.pass-in-flight", pass_in_flight },
	{ "fork.pass-partial-recv", pass_partial_recv },
	{ "fork.pass-sending", pass_sending },
	{ "fork.beside-first", beside_first },
	{ NULL, NULL },
};

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The Port Mapper's client against a scripted server in a thread of the test,
 * on loopback.
 */
#define _GNU_SOURCE
#include "addr.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "util/env.h"
#include "pm/pm-client.h"
#include "pm/pm-msg.h"

#define LOCAL_PORT 40000
#define SDP_PORT 4242
/* Longer than any test takes. */
#define NEVER_MS 600000

enum behaviour { SILENT, ACCEPT, DENY, UNEXPECTED, SIGNAL };

static struct {
	int fd, stop[2];
	uint16_t port;
	enum behaviour behaviour;
	uint8_t time; /* PmTime */
	_Atomic unsigned int reqs, acks;
	uint8_t first[SDP_PM_SIZE]; /* the last PMReq */
	bool is_same;		    /* all PMReqs of a query were the same */
	pthread_t thread, client;   /* SIGNAL: where SIGALRM goes */
} server;

static void reply_send(const struct sdp_pm_msg *req,
		       const struct sockaddr_storage *to, socklen_t to_len)
{
	struct sdp_pm_msg reply = *req;
	uint8_t out[SDP_PM_SIZE];
	int fd = server.fd;

	reply.type = server.behaviour == DENY ? SDP_PM_DENY : SDP_PM_ACCEPT;
	reply.time = server.time;
	if (server.behaviour != DENY)
		reply.ap_port = SDP_PORT;
	sdp_pm_msg_encode(&reply, out);
	if (server.behaviour == UNEXPECTED)
		fd = socket(to->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sendto(fd, out, sizeof(out), 0, (const struct sockaddr *)to,
		   to_len) != sizeof(out))
		abort();
	if (fd != server.fd)
		close(fd);
}

static void datagram_take(void)
{
	struct sockaddr_storage from;
	socklen_t from_len = sizeof(from);
	uint8_t buf[100];
	struct sdp_pm_msg msg;
	ssize_t len;

	len = recvfrom(server.fd, buf, sizeof(buf), 0, (struct sockaddr *)&from,
		       &from_len);
	if (len < 0 || sdp_pm_msg_decode(buf, (size_t)len, &msg) < 0)
		return;
	if (msg.type == SDP_PM_ACK) {
		server.acks++;
		return;
	}
	if (server.reqs == 0)
		memcpy(server.first, buf, sizeof(server.first));
	server.is_same = memcmp(server.first, buf, sizeof(server.first)) == 0;
	server.reqs++;
	if (server.behaviour == SIGNAL)
		pthread_kill(server.client, SIGALRM);
	else if (server.behaviour != SILENT)
		reply_send(&msg, &from, from_len);
}

static void *server_run(void *arg)
{
	struct pollfd fds[2] = { { .fd = server.fd, .events = POLLIN },
				 { .fd = server.stop[0], .events = POLLIN } };

	(void)arg;
	/* Reads what is in the socket before it ends. */
	while (poll(fds, 2, -1) > 0) {
		if (fds[0].revents)
			datagram_take();
		else if (fds[1].revents)
			break;
	}
	return NULL;
}

static void server_start(const char *addr, enum behaviour behaviour,
			 uint8_t pm_time)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_storage bound;
	socklen_t len = sizeof(bound);
	bool is_v6 = strchr(addr, ':');

	sdp_pm_fork_child(); /* empties the cache */
	memset(&server, 0, sizeof(server));
	server.behaviour = behaviour;
	server.client = pthread_self();
	server.time = pm_time;
	inet_pton(AF_INET6, addr, &in6.sin6_addr);
	inet_pton(AF_INET, addr, &in.sin_addr);
	server.fd = socket(is_v6 ? AF_INET6 : AF_INET,
			   SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(server.fd,
			      is_v6 ? (void *)&in6 : (struct sockaddr *)&in,
			      is_v6 ? sizeof(in6) : sizeof(in)),
			 0);
	assert_int_equal(
		getsockname(server.fd, (struct sockaddr *)&bound, &len), 0);
	server.port = ntohs(((struct sockaddr_in *)(void *)&bound)->sin_port);
	assert_int_equal(pipe(server.stop), 0);
	assert_int_equal(pthread_create(&server.thread, NULL, server_run, NULL),
			 0);
}

static void server_stop(void)
{
	assert_int_equal(write(server.stop[1], "", 1), 1);
	assert_int_equal(pthread_join(server.thread, NULL), 0);
	close(server.fd);
	close(server.stop[0]);
	close(server.stop[1]);
}

static int query(const char *peer_text, uint16_t port, const char *local_text,
		 uint32_t timeout_ms, int stop_fd, struct sdp_pm_result *result)
{
	struct sdp_pm_options options = { .udp_port = server.port,
					  .timeout_ms = timeout_ms,
					  .send_cnt = 2,
					  .negative_ms = NEVER_MS };
	struct sockaddr_storage peer = test_addr(peer_text, port);
	struct sockaddr_storage local = test_addr(local_text, LOCAL_PORT);

	return sdp_pm_query((struct sockaddr *)&peer, (struct sockaddr *)&local,
			    &options, stop_fd, result);
}

static void check_addr(const struct sockaddr_storage *got, const char *text,
		       uint16_t port)
{
	struct sockaddr_storage want = test_addr(text, port);

	assert_memory_equal(got, &want, sizeof(struct sockaddr_in6));
}

/* SDP-252, SDP-254: a wildcard is replaced by the source address of the
 * route. */
CASE(finds_the_sdp_address)
{
	static const struct {
		const char *server, *peer, *local, *want_local, *want_sdp;
	} rows[] = {
		{ "127.0.0.1", "127.0.0.1", "0.0.0.0", "127.0.0.1",
		  "127.0.0.1" },
		{ "127.0.0.1", "127.0.0.1", "127.0.0.5", "127.0.0.5",
		  "127.0.0.1" },
		{ "127.0.0.1", "::ffff:127.0.0.1", "::", "127.0.0.1",
		  "127.0.0.1" },
		{ "127.0.0.1", "::ffff:127.0.0.1", "::ffff:127.0.0.5",
		  "127.0.0.5", "127.0.0.1" },
		{ "::1", "::1", "::", "::1", "::1" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sdp_pm_result result;
		struct sdp_pm_msg req;

		server_start(rows[i].server, ACCEPT, 0);
		errno = 77;
		assert_int_equal(query(rows[i].peer, 80, rows[i].local,
				       NEVER_MS, -1, &result),
				 0);
		assert_int_equal(errno, 77);
		assert_int_equal(result.outcome, SDP_PM_MAPPED);
		check_addr(&result.sdp, rows[i].want_sdp, SDP_PORT);
		check_addr(&result.local, rows[i].want_local, LOCAL_PORT);
		server_stop();
		assert_int_equal(server.reqs, 1);
		assert_int_equal(server.acks, 1);
		assert_int_equal(
			sdp_pm_msg_decode(server.first, SDP_PM_SIZE, &req), 0);
		assert_int_equal(req.ap_port, 80);
		assert_int_equal(req.cp_port, LOCAL_PORT);
	}
}

/* T91 */
CASE(remembers_as_long_as_it_may)
{
	struct sockaddr_storage peer = test_addr("127.0.0.1", 80);
	struct sdp_pm_result result;

	server_start("127.0.0.1", ACCEPT, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(query("127.0.0.1", 80, "0.0.0.0", NEVER_MS, -1,
				       &result),
				 0);
	server_stop();
	assert_int_equal(server.reqs, 3);
	/* SDP-261, SDP-262: each query has another AssocHandle. */
	assert_false(server.is_same);
	assert_false(sdp_pm_known((struct sockaddr *)&peer, &result));
	server_start("127.0.0.1", ACCEPT, 255);
	for (int i = 0; i < 3; i++) {
		memset(&result, 0, sizeof(result));
		assert_int_equal(query("127.0.0.1", 80, "0.0.0.0", NEVER_MS, -1,
				       &result),
				 0);
		assert_int_equal(result.outcome, SDP_PM_MAPPED);
		check_addr(&result.sdp, "127.0.0.1", SDP_PORT);
	}
	memset(&result, 0, sizeof(result));
	assert_true(sdp_pm_known((struct sockaddr *)&peer, &result));
	assert_int_equal(result.outcome, SDP_PM_MAPPED);
	check_addr(&result.sdp, "127.0.0.1", SDP_PORT);
	server_stop();
	assert_int_equal(server.reqs, 1);
}

/* SDP-250 */
CASE(asks_at_port_3935)
{
	unsetenv("USIW_SDP_PM_PORT");
	assert_int_equal(util_settings()->sdp_pm_port, SDP_PM_UDP_PORT);
	assert_int_equal(SDP_PM_UDP_PORT, 3935);
}

/* T89 */
CASE(takes_a_deny_and_remembers_it)
{
	struct sdp_pm_result result;

	server_start("127.0.0.1", DENY, 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(query("127.0.0.1", 80, "0.0.0.0", NEVER_MS, -1,
				       &result),
				 0);
		assert_int_equal(result.outcome, SDP_PM_DENIED);
	}
	/* Another port may be mapped. */
	assert_int_equal(
		query("127.0.0.1", 81, "0.0.0.0", NEVER_MS, -1, &result), 0);
	server_stop();
	assert_int_equal(server.reqs, 2);
	assert_int_equal(server.acks, 0);
}

/* T86, SDP-263; with a signal now and then. */
CASE(gives_up_and_remembers_it)
{
	const struct itimerval often = { .it_interval = { 0, 5000 },
					 .it_value = { 0, 5000 } };
	const struct itimerval never = { .it_value = { 0, 0 } };
	struct sdp_pm_result result;

	server_start("127.0.0.1", SILENT, 0);
	setitimer(ITIMER_REAL, &often, NULL);
	assert_int_equal(query("127.0.0.1", 80, "0.0.0.0", 30, -1, &result), 0);
	setitimer(ITIMER_REAL, &never, NULL);
	assert_int_equal(result.outcome, SDP_PM_NO_ANSWER);
	/* At once, for every port. */
	assert_int_equal(
		query("127.0.0.1", 80, "0.0.0.0", NEVER_MS, -1, &result), 0);
	assert_int_equal(
		query("127.0.0.1", 81, "0.0.0.0", NEVER_MS, -1, &result), 0);
	assert_int_equal(result.outcome, SDP_PM_NO_ANSWER);
	server_stop();
	assert_int_equal(server.reqs, 2);
	assert_true(server.is_same);
}

/* What a connection is told holds for no other one, but silence does. */
CASE(remembers_silence_alone_of_connections)
{
	static const struct {
		enum behaviour behaviour;
		enum sdp_pm_outcome outcome;
		unsigned int want_reqs;
	} rows[] = {
		{ ACCEPT, SDP_PM_MAPPED, 2 },
		{ DENY, SDP_PM_DENIED, 2 },
		{ SILENT, SDP_PM_NO_ANSWER, 1 },
	};
	struct sockaddr_storage peer = test_addr("127.0.0.1", 80);
	struct sockaddr_storage own = test_addr("127.0.0.1", LOCAL_PORT);
	struct sdp_pm_options options = { .send_cnt = 1,
					  .negative_ms = NEVER_MS,
					  .is_connection = true };
	struct sdp_pm_result result;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		server_start("127.0.0.1", rows[i].behaviour, 255);
		options.udp_port = server.port;
		options.timeout_ms = rows[i].behaviour == SILENT ? 1 : NEVER_MS;
		for (int n = 0; n < 2; n++) {
			assert_int_equal(sdp_pm_query((struct sockaddr *)&peer,
						      (struct sockaddr *)&own,
						      &options, -1, &result),
					 0);
			assert_int_equal(result.outcome, rows[i].outcome);
		}
		/* Of the listener nothing is known. */
		assert_int_equal(
			sdp_pm_known((struct sockaddr *)&peer, &result),
			rows[i].behaviour == SILENT);
		server_stop();
		assert_int_equal(server.reqs, rows[i].want_reqs);
	}
}

CASE(does_not_wait_without_a_listener)
{
	struct sdp_pm_result result;

	server_start("127.0.0.1", SILENT, 0);
	server_stop(); /* its port is closed now */
	assert_int_equal(
		query("127.0.0.1", 80, "0.0.0.0", NEVER_MS, -1, &result), 0);
	assert_int_equal(result.outcome, SDP_PM_NO_ANSWER);
}

CASE(ends_when_it_is_told)
{
	struct sdp_pm_result result;
	int stop[2];

	server_start("127.0.0.1", SILENT, 0);
	assert_int_equal(pipe(stop), 0);
	assert_int_equal(write(stop[1], "", 1), 1);
	assert_int_equal(
		query("127.0.0.1", 80, "0.0.0.0", NEVER_MS, stop[0], &result),
		-ECANCELED);
	server_stop();
	/* Nothing was stored: the next query asks. */
	server_start("127.0.0.1", ACCEPT, 0);
	assert_int_equal(
		query("127.0.0.1", 80, "0.0.0.0", NEVER_MS, -1, &result), 0);
	assert_int_equal(result.outcome, SDP_PM_MAPPED);
	server_stop();
	close(stop[0]);
	close(stop[1]);
}

static sigjmp_buf out_of_query;

static void on_alarm_jump(int sig)
{
	(void)sig;
	siglongjmp(out_of_query, 1);
}

/* Not inlined: otherwise its variables would be in the frame of sigsetjmp(). */
__attribute__((noinline)) static int open_cnt(void)
{
	int cnt = 0;

	for (int fd = 0; fd < 256; fd++)
		cnt += fcntl(fd, F_GETFD) >= 0;
	return cnt;
}

/* A handler jumps out of the wait: no descriptor stays open, and the thread can
 * be cancelled as before. */
CASE(leaves_nothing_to_a_jump)
{
	struct sigaction old, sa = { .sa_handler = on_alarm_jump };
	struct sdp_pm_result result;
	int before = open_cnt(), cancel_state;

	sigaction(SIGALRM, &sa, &old);
	server_start("127.0.0.1", SIGNAL, 0);
	if (!sigsetjmp(out_of_query, 1)) {
		(void)query("127.0.0.1", 80, "0.0.0.0", NEVER_MS, -1, &result);
		fail_msg("no answer has come");
	}
	server_stop();
	assert_int_equal(open_cnt(), before);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancel_state);
	assert_int_equal(cancel_state, PTHREAD_CANCEL_ENABLE);
	assert_int_equal(server.reqs, 1);
	sigaction(SIGALRM, &old, NULL);
}

CASE(ignores_datagrams_of_others)
{
	struct sdp_pm_result result;

	server_start("127.0.0.1", UNEXPECTED, 0);
	assert_int_equal(query("127.0.0.1", 80, "0.0.0.0", 20, -1, &result), 0);
	assert_int_equal(result.outcome, SDP_PM_NO_ANSWER);
	server_stop();
	assert_int_equal(server.reqs, 2);
}

/* T90, SDP-264 */
CASE(denies_what_was_rejected)
{
	const struct sdp_pm_options options = { .negative_ms = NEVER_MS };
	struct sockaddr_storage peer = test_addr("127.0.0.1", 80);
	struct sdp_pm_result result;

	server_start("127.0.0.1", ACCEPT, 255);
	assert_int_equal(
		query("127.0.0.1", 80, "0.0.0.0", NEVER_MS, -1, &result), 0);
	sdp_pm_reject((struct sockaddr *)&peer, &options);
	assert_int_equal(
		query("127.0.0.1", 80, "0.0.0.0", NEVER_MS, -1, &result), 0);
	assert_int_equal(result.outcome, SDP_PM_DENIED);
	server_stop();
	assert_int_equal(server.reqs, 1);
}

CASE(refuses_wrong_addresses)
{
	struct sockaddr unix_addr = { .sa_family = AF_UNIX };
	struct sockaddr_storage addr = test_addr("127.0.0.1", 80);
	struct sdp_pm_result result;

	sdp_pm_fork_child(); /* empties the cache */
	server.port = 1;
	assert_int_equal(query("127.0.0.1", 0, "0.0.0.0", 1, -1, &result),
			 -EINVAL);
	assert_int_equal(query("0.0.0.0", 80, "0.0.0.0", 1, -1, &result),
			 -EINVAL);
	assert_int_equal(query("127.0.0.1", 80, "::1", 1, -1, &result),
			 -EAFNOSUPPORT);
	assert_int_equal(sdp_pm_query(&unix_addr, (struct sockaddr *)&addr,
				      NULL, -1, &result),
			 -EAFNOSUPPORT);
	/* Not an address of this host. */
	assert_int_equal(query("127.0.0.1", 80, "192.0.2.1", 1, -1, &result),
			 -EADDRNOTAVAIL);
}

struct client {
	pthread_t thread;
	uint16_t port;
	int ret;
	struct sdp_pm_result result;
};

static void *client_run(void *arg)
{
	struct client *client = arg;

	client->ret = query("127.0.0.1", client->port, "0.0.0.0", NEVER_MS, -1,
			    &client->result);
	return NULL;
}

CASE(serves_many_threads)
{
	struct client clients[16];

	server_start("127.0.0.1", ACCEPT, 40);
	for (unsigned int i = 0; i < ARRAY_LEN(clients); i++) {
		clients[i].port = (uint16_t)(80 + i % 4);
		assert_int_equal(pthread_create(&clients[i].thread, NULL,
						client_run, &clients[i]),
				 0);
	}
	for (unsigned int i = 0; i < ARRAY_LEN(clients); i++) {
		assert_int_equal(pthread_join(clients[i].thread, NULL), 0);
		assert_int_equal(clients[i].ret, 0);
		assert_int_equal(clients[i].result.outcome, SDP_PM_MAPPED);
	}
	server_stop();
	assert_true(server.reqs >= 4);
}

static void on_alarm(int sig)
{
	(void)sig;
}

BEFORE_CASES()
{
	const struct sigaction action = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &action, NULL);
}

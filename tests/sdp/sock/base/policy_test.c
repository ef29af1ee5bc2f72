/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The destination of a connection: by the registry, by the Port Mapper, or
 * TCP. */
#include "addr.h"
#include "test.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../../util/child.h"
#include "pm/pm-client.h"
#include "pm/registry.h"
#include "rules/rules.h"
#include "fake-sock.h"
#include "sock/base/policy.h"
#include "verbs/sdp-link.h"

/* ---- a scripted registry and Port Mapper ---- */

static int registry_ret, query_ret, query_cnt;
static uint16_t registry_port;
static bool is_known, registry_is_cm;
static struct sdp_pm_result mapper_says;
static struct sockaddr_storage asked_local;

uint64_t sdp_now_ns(void)
{
	static uint64_t now;

	return ++now;
}

enum sdp_way sdp_verbs_way(void)
{
	return sdp_inside() ? SDP_WAY_CM : SDP_WAY_NONE;
}

int sdp_registry_find(const struct sockaddr *dst, uint16_t *ret_sdp_port,
		      bool *ret_is_cm)
{
	(void)dst;
	*ret_sdp_port = registry_port;
	*ret_is_cm = registry_is_cm;
	return registry_ret;
}

int sdp_pm_query(const struct sockaddr *peer, const struct sockaddr *local,
		 const struct sdp_pm_options *options, int stop_fd,
		 struct sdp_pm_result *ret_result)
{
	(void)peer;
	(void)options;
	(void)stop_fd;
	query_cnt++;
	memcpy(&asked_local, local,
	       local->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					    : sizeof(struct sockaddr_in));
	*ret_result = mapper_says;
	return query_ret;
}

bool sdp_pm_known(const struct sockaddr *peer, struct sdp_pm_result *ret_result)
{
	(void)peer;
	*ret_result = mapper_says;
	return is_known;
}

/* ---- fixture ---- */

static int fd;

static int begin(void **state)
{
	registry_ret = query_ret = query_cnt = 0;
	fake_reset();
	registry_port = 7777;
	is_known = registry_is_cm = false;
	memset(&mapper_says, 0, sizeof(mapper_says));
	memset(&asked_local, 0, sizeof(asked_local));
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd < 0;
}

static int end(void **state)
{
	return close(fd);
}

#define FILE_CASE(name) CASE_WITH(name, begin, end)

static union sdp_addr addr_make(const char *text, uint16_t port)
{
	struct sockaddr_storage storage = test_addr(text, port);
	union sdp_addr addr;

	memcpy(&addr, &storage, sizeof(addr));
	return addr;
}

static void mapper_maps(const char *text, uint16_t port)
{
	union sdp_addr addr = addr_make(text, port);

	mapper_says.outcome = SDP_PM_MAPPED;
	memcpy(&mapper_says.sdp, &addr, sizeof(addr));
}

static void assert_addr(const union sdp_addr *addr, const char *text,
			uint16_t port)
{
	union sdp_addr want = addr_make(text, port);

	assert_int_equal(addr->sa.sa_family, want.sa.sa_family);
	if (want.sa.sa_family == AF_INET6)
		assert_memory_equal(&addr->in6, &want.in6, sizeof(want.in6));
	else
		assert_memory_equal(&addr->in, &want.in, sizeof(want.in));
}

/* As a connect() that may wait. */
static int find(int of, const union sdp_addr *dst,
		struct sdp_target *ret_target)
{
	int ret = sdp_policy_find(dst, ret_target);

	return ret == -EINPROGRESS ? sdp_policy_ask(of, dst, -1, ret_target)
				   : ret;
}

/* ---- this host ---- */

FILE_CASE(a_listener_here_has_the_registrys_port)
{
	static const char *const texts[] = { "127.0.0.1", "::1",
					     "::ffff:127.0.0.1" };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		union sdp_addr dst = addr_make(texts[i], 80);
		struct sdp_target sdp;

		assert_int_equal(find(fd, &dst, &sdp), 0);
		assert_addr(&sdp.addr, texts[i], 7777);
	}
	assert_int_equal(query_cnt, 0);
}

FILE_CASE(without_one_the_port_mapper_is_not_asked)
{
	static const int rets[] = { -ENOENT, -EPERM, -ECONNREFUSED,
				    -EOPNOTSUPP };
	union sdp_addr dst = addr_make("127.0.0.1", 80);
	struct sdp_target sdp;

	for (size_t i = 0; i < ARRAY_LEN(rets); i++) {
		registry_ret = rets[i];
		assert_int_equal(find(fd, &dst, &sdp), rets[i]);
	}
	assert_int_equal(query_cnt, 0);
}

/* A raw Hello is sent only to ports that are known to accept it. */
FILE_CASE(begins_with_a_request_where_a_hello_may_be_refused)
{
	union sdp_addr dst = addr_make("127.0.0.1", 80);
	struct sdp_target sdp;

	assert_int_equal(find(fd, &dst, &sdp), 0);
	assert_false(sdp.is_request);
	registry_is_cm = true;
	assert_int_equal(find(fd, &dst, &sdp), 0);
	assert_true(sdp.is_request);
	registry_is_cm = false;
	registry_ret = -EADDRNOTAVAIL;
	mapper_maps("127.0.0.1", 9999);
	assert_int_equal(find(fd, &dst, &sdp), 0);
	assert_true(sdp.is_request);
	is_known = true;
	assert_int_equal(sdp_policy_find(&dst, &sdp), 0);
	assert_true(sdp.is_request);
}

/* ---- another host ---- */

FILE_CASE(another_host_is_asked)
{
	static const struct {
		const char *dst, *says, *want;
	} rows[] = {
		{ "192.0.2.1", "192.0.2.9", "192.0.2.9" },
		{ "2001:db8::1", "2001:db8::9", "2001:db8::9" },
		/* The address in the family of the socket. */
		{ "::ffff:192.0.2.1", "192.0.2.9", "::ffff:192.0.2.9" },
	};
	int fd6 = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	registry_ret = -EADDRNOTAVAIL;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		union sdp_addr dst = addr_make(rows[i].dst, 80);
		struct sdp_target sdp;
		int asker = dst.sa.sa_family == AF_INET6 ? fd6 : fd;

		mapper_maps(rows[i].says, 9999);
		assert_int_equal(find(asker, &dst, &sdp), 0);
		assert_addr(&sdp.addr, rows[i].want, 9999);
		assert_int_equal(query_cnt, i + 1);
	}
	close(fd6);
}

/* The query names the port of the socket that will connect. */
FILE_CASE(the_socket_is_bound_before_the_question)
{
	union sdp_addr dst = addr_make("192.0.2.1", 80), local;
	struct sdp_target sdp;
	const struct sockaddr_in *asked = (const void *)&asked_local;
	socklen_t len = sizeof(local);

	registry_ret = -EADDRNOTAVAIL;
	mapper_maps("192.0.2.1", 1);
	assert_int_equal(find(fd, &dst, &sdp), 0);
	assert_int_equal(getsockname(fd, &local.sa, &len), 0);
	assert_int_not_equal(asked->sin_port, 0);
	assert_int_equal(asked->sin_port, local.in.sin_port);
	/* A second query does not change that. */
	assert_int_equal(find(fd, &dst, &sdp), 0);
	assert_int_equal(asked->sin_port, local.in.sin_port);
	assert_int_equal(find(-1, &dst, &sdp), -EBADF);
}

FILE_CASE(what_the_port_mapper_says_is_told)
{
	union sdp_addr dst = addr_make("192.0.2.1", 80);
	struct sdp_target sdp;

	registry_ret = -EADDRNOTAVAIL;
	mapper_says.outcome = SDP_PM_DENIED;
	assert_int_equal(find(fd, &dst, &sdp), -EACCES);
	mapper_says.outcome = SDP_PM_NO_ANSWER;
	assert_int_equal(find(fd, &dst, &sdp), -EADDRNOTAVAIL);
	query_ret = -ECANCELED;
	assert_int_equal(find(fd, &dst, &sdp), -ECANCELED);
}

FILE_CASE(a_nonblocking_connect_gets_the_cached_answer)
{
	union sdp_addr dst = addr_make("192.0.2.1", 80);
	struct sdp_target sdp;

	registry_ret = -EADDRNOTAVAIL;
	assert_int_equal(sdp_policy_find(&dst, &sdp), -EINPROGRESS);
	is_known = true;
	mapper_says.outcome = SDP_PM_DENIED;
	assert_int_equal(sdp_policy_find(&dst, &sdp), -EACCES);
	mapper_maps("192.0.2.9", 9999);
	assert_int_equal(sdp_policy_find(&dst, &sdp), 0);
	assert_addr(&sdp.addr, "192.0.2.9", 9999);
	assert_int_equal(query_cnt, 0);
}

/* ---- ports where a start failed ---- */

FILE_CASE(a_bad_port_is_left_alone)
{
	union sdp_addr bad = addr_make("127.0.0.1", 1000);
	struct sdp_target sdp;
	union sdp_addr port = addr_make("127.0.0.1", 1001);
	union sdp_addr host = addr_make("127.0.0.2", 1000);

	sdp_policy_avoid(&bad.sa);
	assert_int_equal(fake.sdp_pm_reject.cnt, 1);
	assert_int_equal(find(fd, &bad, &sdp), -ECONNREFUSED);
	assert_int_equal(find(fd, &port, &sdp), 0);
	assert_int_equal(find(fd, &host, &sdp), 0);
}

/* Sixteen are stored, and the oldest is dropped. */
FILE_CASE(the_latest_bad_ports_are_remembered)
{
	union sdp_addr dst;
	struct sdp_target sdp;

	for (uint16_t i = 0; i < 17; i++) {
		dst = addr_make("::1", (uint16_t)(2000 + i));
		sdp_policy_avoid(&dst.sa);
	}
	dst = addr_make("::1", 2000);
	assert_int_equal(find(fd, &dst, &sdp), 0);
	for (uint16_t i = 1; i < 17; i++) {
		dst = addr_make("::1", (uint16_t)(2000 + i));
		assert_int_equal(find(fd, &dst, &sdp), -ECONNREFUSED);
	}
}

/* ---- rules ---- */

FILE_CASE(the_device_is_looked_for_as_the_librarys_own)
{
	assert_false(sdp_inside());
	assert_int_equal(sdp_policy_way(), SDP_WAY_CM);
	assert_false(sdp_inside());
}

static char conf_path[] = "/tmp/usiw-policy-test.XXXXXX";

static void conf_write(const char *text)
{
	FILE *file = fopen(conf_path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static int conf_begin(void **state)
{
	int file = mkstemp(conf_path);

	if (file < 0 || close(file) < 0)
		return -1;
	setenv(SDP_RULES_ENV, conf_path, 1);
	return begin(state);
}

static int conf_end(void **state)
{
	unlink(conf_path);
	memcpy(conf_path + strlen(conf_path) - 6, "XXXXXX", 6);
	return end(state);
}

#define CONF_CASE(name) CASE_WITH(name, conf_begin, conf_end)

static enum sdp_use server(const struct sockaddr *addr)
{
	struct sdp_sock sock = { .family = AF_INET };

	return sdp_policy_use(&sock, SDP_RULE_SERVER, addr);
}

static enum sdp_use client(const struct sockaddr *addr)
{
	struct sdp_sock sock = { .family = AF_INET };

	return sdp_policy_use(&sock, SDP_RULE_CLIENT, addr);
}

CONF_CASE(rules_say_what_is_used)
{
	struct sdp_sock by_name = { .family = SDP_AF_INET_SDP };
	union sdp_addr addr = addr_make("10.0.0.1", 80);
	union sdp_addr other = addr_make("10.0.0.1", 81);

	assert_int_equal(server(&addr.sa), SDP_USE_BOTH);
	assert_int_equal(client(&addr.sa), SDP_USE_BOTH);
	conf_write("use tcp server * *:80\nuse sdp client * *:80\n");
	assert_true(sdp_policy_start());
	assert_int_equal(server(&addr.sa), SDP_USE_TCP);
	assert_int_equal(client(&addr.sa), SDP_USE_SDP);
	assert_int_equal(server(&other.sa), SDP_USE_BOTH);
	assert_int_equal(sdp_policy_use(&by_name, SDP_RULE_SERVER, &addr.sa),
			 SDP_USE_SDP);
}

static int rules_ask(void *arg)
{
	union sdp_addr addr = addr_make("10.0.0.1", 80);
	union sdp_addr other = addr_make("2001:db8::1", 81);

	(void)arg;
	if (!sdp_policy_start())
		return 1;
	server(&addr.sa);
	client(&other.sa);
	return 0;
}

CONF_CASE(the_rule_that_decides_is_logged)
{
	char log[1000];

	conf_write("# for one port\nuse tcp server * *:80\nlog min-level 4\n");
	assert_int_equal(child_run(rules_ask, NULL, log, sizeof(log)), 0);
	assert_non_null(strstr(log, "server, 10.0.0.1 port 80: tcp, "
				    "rule in line 2\n"));
	assert_non_null(strstr(log, "client, 2001:db8::1 port 81: both, "
				    "no rule\n"));
	conf_write("use tcp server * *:80\nlog min-level 5\n");
	assert_int_equal(child_run(rules_ask, NULL, log, sizeof(log)), 0);
	assert_string_equal(log, "");
}

CONF_CASE(a_program_without_rules_or_with_bad_ones_has_none)
{
	conf_write("use tcp server * *:*\nuse tcp client * *:*\n");
	assert_false(sdp_policy_start());
	conf_write("use nothing\n");
	assert_false(sdp_policy_start());
}

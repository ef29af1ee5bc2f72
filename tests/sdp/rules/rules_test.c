/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The rules file: which rule matches first, which errors are reported where,
 * which file is read.
 */
#define _GNU_SOURCE
#include "addr.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rules/rules.h"

static struct sdp_rules *parse(const char *text)
{
	struct sdp_rules *rules = NULL;
	char error[256] = "";

	if (sdp_rules_parse(text, strlen(text), "conf", &rules, error,
			    sizeof(error)))
		fail_msg("%s: refused: %s", text, error);
	return rules;
}

CASE(finds_the_first_rule_that_matches)
{
	static const struct {
		const char *text;
		enum sdp_rule_role role;
		const char *program, *addr;
		uint16_t port;
		enum sdp_use want;
		unsigned int line;
	} rows[] = {
		{ "", SDP_RULE_SERVER, "p", "10.0.0.1", 80, SDP_USE_BOTH, 0 },
		{ "use tcp server * *:*", SDP_RULE_SERVER, "p", "10.0.0.1", 80,
		  SDP_USE_TCP, 1 },
		{ "use tcp server * *:*", SDP_RULE_SERVER, "p", "::1", 80,
		  SDP_USE_TCP, 1 },
		{ "use tcp server * *:*", SDP_RULE_CLIENT, "p", "10.0.0.1", 80,
		  SDP_USE_BOTH, 0 },
		{ "use tcp listen * *:*", SDP_RULE_SERVER, "p", "10.0.0.1", 80,
		  SDP_USE_TCP, 1 },
		{ "use sdp connect * *:*", SDP_RULE_CLIENT, "p", "10.0.0.1", 80,
		  SDP_USE_SDP, 1 },
		{ "use tcp client *:*", SDP_RULE_CLIENT, "p", "10.0.0.1", 80,
		  SDP_USE_TCP, 1 },
		/* The first one applies. */
		{ "use sdp client * *:80\nuse tcp client * *:*\n",
		  SDP_RULE_CLIENT, "p", "10.0.0.1", 80, SDP_USE_SDP, 1 },
		{ "use sdp client * *:80\nuse tcp client * *:*\n",
		  SDP_RULE_CLIENT, "p", "10.0.0.1", 81, SDP_USE_TCP, 2 },
		/* Program */
		{ "use tcp client db2* *:*", SDP_RULE_CLIENT, "db2sync",
		  "10.0.0.1", 1, SDP_USE_TCP, 1 },
		{ "use tcp client db2* *:*", SDP_RULE_CLIENT, "adb2",
		  "10.0.0.1", 1, SDP_USE_BOTH, 0 },
		{ "use tcp client t?cp *:*", SDP_RULE_CLIENT, "ttcp",
		  "10.0.0.1", 1, SDP_USE_TCP, 1 },
		{ "use tcp client t?cp *:*", SDP_RULE_CLIENT, "tcp", "10.0.0.1",
		  1, SDP_USE_BOTH, 0 },
		/* Ports */
		{ "use tcp client * *:10-20", SDP_RULE_CLIENT, "p", "10.0.0.1",
		  9, SDP_USE_BOTH, 0 },
		{ "use tcp client * *:10-20", SDP_RULE_CLIENT, "p", "10.0.0.1",
		  10, SDP_USE_TCP, 1 },
		{ "use tcp client * *:10-20", SDP_RULE_CLIENT, "p", "10.0.0.1",
		  20, SDP_USE_TCP, 1 },
		{ "use tcp client * *:10-20", SDP_RULE_CLIENT, "p", "10.0.0.1",
		  21, SDP_USE_BOTH, 0 },
		{ "use tcp client * *:65535", SDP_RULE_CLIENT, "p", "10.0.0.1",
		  65535, SDP_USE_TCP, 1 },
		{ "use tcp client * *:*", SDP_RULE_CLIENT, "p", "10.0.0.1", 0,
		  SDP_USE_TCP, 1 },
		/* Addresses */
		{ "use tcp client * 10.0.0.1:*", SDP_RULE_CLIENT, "p",
		  "10.0.0.1", 1, SDP_USE_TCP, 1 },
		{ "use tcp client * 10.0.0.1:*", SDP_RULE_CLIENT, "p",
		  "10.0.0.2", 1, SDP_USE_BOTH, 0 },
		{ "use tcp client * 10.1.2.3/9:*", SDP_RULE_CLIENT, "p",
		  "10.127.255.255", 1, SDP_USE_TCP, 1 },
		{ "use tcp client * 10.1.2.3/9:*", SDP_RULE_CLIENT, "p",
		  "10.128.0.0", 1, SDP_USE_BOTH, 0 },
		{ "use tcp client * 10.0.0.0/0:*", SDP_RULE_CLIENT, "p",
		  "192.0.2.1", 1, SDP_USE_TCP, 1 },
		{ "use tcp client * 10.0.0.0/0:*", SDP_RULE_CLIENT, "p", "::1",
		  1, SDP_USE_BOTH, 0 },
		{ "use tcp client * 10.0.0.0/8:*", SDP_RULE_CLIENT, "p",
		  "::ffff:10.9.9.9", 1, SDP_USE_TCP, 1 },
		{ "use tcp client * [2001:db8::]/33:1-9", SDP_RULE_CLIENT, "p",
		  "2001:db8:7fff::1", 9, SDP_USE_TCP, 1 },
		{ "use tcp client * [2001:db8::]/33:1-9", SDP_RULE_CLIENT, "p",
		  "2001:db8:8000::1", 9, SDP_USE_BOTH, 0 },
		{ "use tcp client * [::1]:*", SDP_RULE_CLIENT, "p", "::1", 9,
		  SDP_USE_TCP, 1 },
		{ "use tcp client * [::1]:*", SDP_RULE_CLIENT, "p", "0.0.0.1",
		  9, SDP_USE_BOTH, 0 },
		/* Layout */
		{ "# a\n\n \t use\ttcp  client * *:* # b\r\n", SDP_RULE_CLIENT,
		  "p", "10.0.0.1", 1, SDP_USE_TCP, 3 },
		{ "use tcp client * *:*#b", SDP_RULE_CLIENT, "p", "10.0.0.1", 1,
		  SDP_USE_TCP, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sdp_rules *rules = parse(rows[i].text);
		struct sockaddr_storage addr =
			test_addr(rows[i].addr, rows[i].port);
		unsigned int line = 99;
		enum sdp_use use =
			sdp_rules_find(rules, rows[i].role, rows[i].program,
				       (struct sockaddr *)&addr, &line);

		if (use != rows[i].want || line != rows[i].line)
			fail_msg("row %zu, %s: %d by line %u", i, rows[i].text,
				 use, line);
		sdp_rules_free(rules);
	}
}

CASE(leaves_other_families_to_tcp)
{
	struct sockaddr addr = { .sa_family = AF_UNIX };
	unsigned int line = 9;

	assert_int_equal(sdp_rules_find(sdp_rules_default(), SDP_RULE_CLIENT,
					"p", &addr, &line),
			 SDP_USE_TCP);
	assert_int_equal(line, 0);
}

CASE(names_file_line_and_remedy)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ "match *",
		  "conf:1: 'match' is not a statement: a line begins "
		  "with use, log or #" },
		{ "\n\nuse", "conf:3: write: use sdp|tcp|both server|client" },
		{ "use tcp server * * *:*", "conf:1: write: use sdp|tcp" },
		{ "use udp server * *:*",
		  "conf:1: 'udp' is not a protocol: write "
		  "sdp, tcp or both" },
		{ "use tcp peer * *:*", "conf:1: 'peer' is not a role: write "
					"server" },
		{ "use tcp server * *", "conf:1: '*' has no port: write" },
		{ "use tcp server * 10.0.0.1", "'10.0.0.1' has no port" },
		{ "use tcp server * 10.0.0.1:",
		  "'' is not a port: write one of" },
		{ "use tcp server * *:0", "'0' is not a port" },
		{ "use tcp server * *:65536", "'65536' is not a port" },
		{ "use tcp server * *:9-8", "'9-8' is not a port" },
		{ "use tcp server * *:1-", "'1-' is not a port" },
		{ "use tcp server * *:1-2-3", "'1-2-3' is not a port" },
		{ "use tcp server * *:-1", "'-1' is not a port" },
		{ "use tcp server * *:99999999999", "is not a port" },
		{ "use tcp server * 10.0.0:*",
		  "'10.0.0' is not an address: write "
		  "IPv4 as 192.0.2.1" },
		{ "use tcp server * 10.0.0.256:*", "is not an address" },
		{ "use tcp server * host:*", "'host' is not an address" },
		{ "use tcp server * :*", "'' is not an address" },
		{ "use tcp server * 10.0.0.1/33:*", "'/33' is not a prefix "
						    "length: write 0 to 32" },
		{ "use tcp server * 10.0.0.1/:*", "'/' is not a prefix" },
		{ "use tcp server * */8:*", "'*' is not an address" },
		{ "use tcp server * ::1:80", "is not a port" },
		{ "use tcp server * [::1]/129:*",
		  "'/129' is not a prefix length: "
		  "write 0 to 128" },
		{ "use tcp server * [::1:*", "'[::1:*' has no ]" },
		{ "use tcp server * [::1]", "has no port" },
		{ "use tcp server * [::1]/64", "has no port" },
		{ "use tcp server * [::1]x:1", "has no port" },
		{ "use tcp server * [10.0.0.1]:1",
		  "'10.0.0.1' is not an address" },
		{ "use tcp server * [:1", "has no ]" },
		{ "log", "conf:1: write: log [min-level 1-9]" },
		{ "log loud", "conf:1: write: log [min-level 1-9]" },
		{ "log min-level", "write: min-level 1 to 9" },
		{ "log min-level 0", "write: min-level 1 to 9" },
		{ "log min-level 10", "write: min-level 1 to 9" },
		{ "log destination", "write: destination stderr" },
		{ "log destination file", "write: destination stderr" },
		{ "log destination printer", "write: destination stderr" },
		{ "log min-level 1 min-level 2 min-level 3 min-level 4",
		  "write: log" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sdp_rules *rules = (void *)&rules;
		size_t len = strlen(rows[i].text);
		char error[256] = "", small[10];
		/* Not null-terminated: ASan detects a read beyond the end. */
		char *text = malloc(len);

		memcpy(text, rows[i].text, len);
		assert_row(rows[i].text,
			   sdp_rules_parse(text, len, "conf", &rules, error,
					   sizeof(error)) == -EINVAL);
		if (!strstr(error, rows[i].error))
			fail_msg("%s: %s", rows[i].text, error);
		assert_row(rows[i].text, rules == (void *)&rules);
		assert_row(rows[i].text,
			   sdp_rules_parse(text, len, "conf", &rules, small,
					   sizeof(small)) == -EINVAL);
		assert_row(rows[i].text, strlen(small) < sizeof(small));
		assert_row(rows[i].text,
			   sdp_rules_parse(text, len, "conf", &rules, NULL,
					   0) == -EINVAL);
		free(text);
	}
}

CASE(refuses_binary_files)
{
	struct sdp_rules *rules;
	char error[256];

	assert_int_equal(sdp_rules_parse("#\n#\0", 4, "conf", &rules, error,
					 sizeof(error)),
			 -EINVAL);
	assert_non_null(strstr(error, "conf:2: it contains an octet 0"));
}

CASE(takes_the_log_line)
{
	static const struct {
		const char *text;
		enum sdp_log_destination destination;
		unsigned int min_level;
		const char *file;
	} rows[] = {
		{ "", SDP_LOG_UNSET, 9, NULL },
		{ "log min-level 1", SDP_LOG_UNSET, 1, NULL },
		{ "log destination stderr", SDP_LOG_STDERR, 9, NULL },
		{ "log destination syslog min-level 7", SDP_LOG_SYSLOG, 7,
		  NULL },
		{ "log min-level 9 destination file libsdp.log", SDP_LOG_FILE,
		  9, "libsdp.log" },
		{ "log destination file /tmp/a min-level 2\n"
		  "log destination file /tmp/b",
		  SDP_LOG_FILE, 2, "/tmp/b" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sdp_rules *rules = parse(rows[i].text);
		const struct sdp_log_rule *log = sdp_rules_log(rules);

		assert_row(rows[i].text,
			   log->destination == rows[i].destination);
		assert_row(rows[i].text, log->min_level == rows[i].min_level);
		if (rows[i].file)
			assert_string_equal(log->file, rows[i].file);
		sdp_rules_free(rules);
	}
	assert_int_equal(sdp_rules_log(sdp_rules_default())->min_level, 9);
}

CASE(matches_rules_to_programs)
{
	static const struct {
		const char *text, *program;
		bool want;
	} rows[] = {
		{ "", "p", true },
		{ "use tcp server * *:*\nuse tcp client * *:*", "p", false },
		{ "use tcp server * *:*", "p", true },
		{ "use tcp server * *:1-65535\nuse tcp client * *:*", "p",
		  true },
		{ "use tcp server * 0.0.0.0/0:*\nuse tcp client * *:*", "p",
		  true },
		{ "use tcp server p *:*\nuse tcp client p *:*", "p", false },
		{ "use tcp server p *:*\nuse tcp client p *:*", "q", true },
		{ "use both client p *:80\nuse tcp server * *:*\n"
		  "use tcp client * *:*",
		  "p", true },
		{ "use both client p *:80\nuse tcp server * *:*\n"
		  "use tcp client * *:*",
		  "q", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sdp_rules *rules = parse(rows[i].text);

		assert_row(rows[i].text,
			   sdp_rules_concern(rules, rows[i].program) ==
				   rows[i].want);
		sdp_rules_free(rules);
	}
	assert_true(sdp_rules_concern(sdp_rules_default(), "p"));
}

CASE(takes_many_rules)
{
	struct sockaddr_storage addr = test_addr("10.0.0.1", 999);
	struct sdp_rules *rules;
	char text[1000 * 32];
	unsigned int line;
	size_t len = 0;

	for (int i = 1; i <= 1000; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"use tcp client p%d *:%d\n", i % 7, i);
	rules = parse(text);
	assert_int_equal(sdp_rules_find(rules, SDP_RULE_CLIENT, "p5",
					(struct sockaddr *)&addr, &line),
			 SDP_USE_TCP);
	assert_int_equal(line, 999);
	sdp_rules_free(rules);
}

static void file_write(const char *path, const char *text, size_t len)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

CASE(loads_the_file_of_the_variable)
{
	struct sockaddr_storage addr = test_addr("10.0.0.1", 80);
	static const char text[] = "use tcp client * *:80\n";
	char dir[] = "/tmp/sdp_rules_test.XXXXXX", path[64], error[256] = "";
	size_t big_len = (1u << 20) + 1;
	struct sdp_rules *rules = NULL;
	char *big;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/conf", dir);
	setenv(SDP_RULES_ENV, path, 1);
	assert_int_equal(sdp_rules_load(&rules, error, sizeof(error)), -ENOENT);
	assert_non_null(strstr(error, path));
	assert_non_null(strstr(error, SDP_RULES_ENV " names it"));
	assert_int_equal(sdp_rules_load(&rules, NULL, 0), -ENOENT);

	file_write(path, text, sizeof(text) - 1);
	assert_int_equal(sdp_rules_load(&rules, error, sizeof(error)), 0);
	assert_int_equal(sdp_rules_find(rules, SDP_RULE_CLIENT, "p",
					(struct sockaddr *)&addr, NULL),
			 SDP_USE_TCP);
	sdp_rules_free(rules);

	file_write(path, "use", 3);
	assert_int_equal(sdp_rules_load(&rules, error, sizeof(error)), -EINVAL);
	assert_ptr_equal(strstr(error, path), error);

	/* Larger than a rules file may be. */
	big = malloc(big_len);
	assert_non_null(big);
	memset(big, '\n', big_len);
	file_write(path, big, big_len);
	assert_int_equal(sdp_rules_load(&rules, error, sizeof(error)), -EFBIG);
	assert_non_null(strstr(error, "1 MiB"));
	big_len = 5000;
	memset(big, '#', big_len);
	file_write(path, big, big_len);
	assert_int_equal(sdp_rules_load(&rules, error, sizeof(error)), 0);
	sdp_rules_free(rules);
	free(big);

	setenv(SDP_RULES_ENV, dir, 1);
	assert_int_equal(sdp_rules_load(&rules, error, sizeof(error)), -EISDIR);
	unsetenv(SDP_RULES_ENV);
	unlink(path);
	rmdir(dir);
}

/* The test's build of rules.c has another path for the default file. */
CASE(works_without_the_default_file)
{
	struct sdp_rules *rules = NULL;
	char error[256] = "";

	unsetenv(SDP_RULES_ENV);
	assert_int_equal(sdp_rules_load(&rules, error, sizeof(error)), 0);
	assert_true(sdp_rules_concern(rules, "p"));
	sdp_rules_free(rules);
	sdp_rules_free(NULL);
}

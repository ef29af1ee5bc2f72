/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The destination and the level of the log. Each case runs in a child, because
 * a process has one route. */
#define _GNU_SOURCE /* setresuid */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../util/child.h"
#include "util/log.h"
#include "rules/rules.h"

static int print_all(void *arg)
{
	setenv("USIW_LOG", "none", 1);
	if (sdp_log_start(arg) != 0)
		return 1;
	util_err("sdp", "1");
	util_warn("sdp", "2");
	util_info("sdp", "3");
	util_debug("sdp", "4");
	util_err("cm", "5");
	return 0;
}

/* The numbers of the lines, in order. */
static void numbers_of(const char *text, char ret_numbers[16])
{
	size_t cnt = 0;

	for (const char *c = text; *c && cnt < 15; c++)
		if (*c >= '1' && *c <= '5' && c[1] == '\n')
			ret_numbers[cnt++] = *c;
	ret_numbers[cnt] = '\0';
}

CASE(prints_as_much_as_it_is_told)
{
	static const struct {
		struct sdp_log_rule log;
		const char *want;
	} rows[] = {
		{ { SDP_LOG_UNSET, 9, NULL }, "" },
		{ { SDP_LOG_UNSET, 8, NULL }, "12" },
		{ { SDP_LOG_STDERR, 9, NULL }, "1" },
		{ { SDP_LOG_STDERR, 8, NULL }, "12" },
		{ { SDP_LOG_STDERR, 7, NULL }, "123" },
		{ { SDP_LOG_STDERR, 5, NULL }, "123" },
		{ { SDP_LOG_STDERR, 4, NULL }, "1234" },
		{ { SDP_LOG_STDERR, 1, NULL }, "1234" },
		{ { SDP_LOG_SYSLOG, 1, NULL }, "" },
	};
	char err[512], numbers[16];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(child_run(print_all,
					   (void *)(uintptr_t)&rows[i].log, err,
					   sizeof(err)),
				 0);
		numbers_of(err, numbers);
		assert_string_equal(numbers, rows[i].want);
	}
}

CASE(writes_to_a_file_of_the_user)
{
	char name[64], path[128], text[512] = "", err[512], numbers[16];
	struct sdp_log_rule log = { SDP_LOG_FILE, 8, name };
	int fd;

	snprintf(name, sizeof(name), "/tmp/sdp-log-test-%d", (int)getpid());
	if (geteuid() == 0)
		snprintf(path, sizeof(path), "%s", name);
	else
		snprintf(path, sizeof(path), "%s.%u", name,
			 (unsigned int)geteuid());
	for (int i = 0; i < 2; i++) {
		assert_int_equal(child_run(print_all, &log, err, sizeof(err)),
				 0);
		assert_string_equal(err, "");
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	unlink(path);
	numbers_of(text, numbers);
	assert_string_equal(numbers, "1212");
}

static int print_as_other(void *arg)
{
	if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
		return 2;
	return print_all(arg);
}

/* Without a directory, as a user who cannot write to /var/log. */
CASE(writes_to_tmp_for_others)
{
	unsigned int uid = geteuid() == 0 ? 65534 : geteuid();
	char name[64], path[128], err[512];
	struct sdp_log_rule log = { SDP_LOG_FILE, 9, name };

	snprintf(name, sizeof(name), "sdp-log-test-%d", (int)getpid());
	snprintf(path, sizeof(path), "/tmp/%s.%u", name, uid);
	assert_int_equal(child_run(print_as_other, &log, err, sizeof(err)), 0);
	assert_string_equal(err, "");
	assert_int_equal(unlink(path), 0);
}

static int start_long(void *arg)
{
	return sdp_log_start(arg) == -ENAMETOOLONG ? 0 : 1;
}

CASE(refuses_a_name_that_is_too_long)
{
	char name[400], err[64];
	struct sdp_log_rule log = { SDP_LOG_FILE, 9, name };

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(child_run(start_long, &log, err, sizeof(err)), 0);
}

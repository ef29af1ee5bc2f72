/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Log lines: what is printed and how, and that errno is preserved. */
#include "test.h"

#include <fcntl.h>
#include <sys/resource.h>

#include "child.h"
#include "util/log.h"

static int print_four(void *spec)
{
	setenv("USIW_LOG", spec, 1);
	errno = EXDEV;
	util_err("cm", "id %d: %s", 7, "went");
	util_warn("cm", "w");
	util_info("rnic", "i");
	util_debug("rnic", "d");
	return errno == EXDEV ? 0 : 1;
}

CASE(prints_what_level_and_part_ask_for)
{
	static const struct {
		const char *spec, *out;
	} cases[] = {
		{ "none", "" },
		{ "error", "usiw: cm: error: id 7: went\n" },
		{ "warn", "usiw: cm: error: id 7: went\nusiw: cm: warn: w\n" },
		{ "debug:rnic", "usiw: rnic: info: i\nusiw: rnic: debug: d\n" },
		{ "info:rnic", "usiw: rnic: info: i\n" },
		{ "debug:mpa", "" },
	};
	char err[512];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(child_run(print_four,
					   (void *)(uintptr_t)cases[i].spec,
					   err, sizeof(err)),
				 0);
		assert_string_equal(err, cases[i].out);
	}
}

static int print_long(void *arg)
{
	char text[2000];

	(void)arg;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	util_log_print(UTIL_LOG_ERROR, "mpa", "%s", text);
	return 0;
}

CASE(cuts_long_lines_and_ends_them)
{
	char err[4096];

	assert_int_equal(child_run(print_long, NULL, err, sizeof(err)), 0);
	assert_int_equal(strlen(err), 511);
	assert_int_equal(err[510], '\n');
	assert_int_equal(err[509], 'x');
}

static char log_path[64];
static char log_target[80];

struct routed {
	enum util_log_level level;
	enum util_log_destination destination;
	const char *path;
};

static int print_routed(void *arg)
{
	const struct routed *routed = arg;

	setenv("USIW_LOG", "warn", 1);
	if (util_log_route("sdp", routed->level, routed->destination,
			   routed->path) != 0)
		return 2;
	errno = EXDEV;
	util_err("sdp", "e");
	util_info("sdp", "i");
	util_debug("sdp", "d");
	util_warn("cm", "w");
	util_info("cm", "i");
	return errno == EXDEV ? 0 : 1;
}

static void file_read(char *ret_text, size_t size)
{
	int fd = open(log_path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, ret_text, size - 1);

	ret_text[len > 0 ? len : 0] = '\0';
	close(fd);
}

#define SDP_E "usiw: sdp: error: e\n"
#define SDP_I "usiw: sdp: info: i\n"
#define CM_W "usiw: cm: warn: w\n"

CASE(follows_a_route)
{
	const struct {
		struct routed routed;
		const char *err, *file;
	} cases[] = {
		{ { UTIL_LOG_INFO, UTIL_LOG_STDERR, NULL },
		  SDP_E SDP_I CM_W,
		  "" },
		/* USIW_LOG requests errors and warnings of every part. */
		{ { UTIL_LOG_NONE, UTIL_LOG_STDERR, NULL }, SDP_E CM_W, "" },
		{ { UTIL_LOG_INFO, UTIL_LOG_FILE, log_path },
		  CM_W,
		  SDP_E SDP_I },
		{ { UTIL_LOG_INFO, UTIL_LOG_FILE, "/nonexistent/log" },
		  SDP_E SDP_I CM_W,
		  "" },
		{ { UTIL_LOG_INFO, UTIL_LOG_FILE, "/dev/null" },
		  SDP_E SDP_I CM_W,
		  "" },
		{ { UTIL_LOG_INFO, UTIL_LOG_SYSLOG, NULL }, CM_W, "" },
	};
	char err[512], file[512];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		unlink(log_path);
		assert_int_equal(child_run(print_routed,
					   (void *)(uintptr_t)&cases[i].routed,
					   err, sizeof(err)),
				 0);
		assert_string_equal(err, cases[i].err);
		file_read(file, sizeof(file));
		assert_string_equal(file, cases[i].file);
	}
	unlink(log_path);
}

/* The second line would make the file larger than RLIMIT_FSIZE, and end the
 * program. */
static int print_within_limit(void *arg)
{
	const struct rlimit limit = { strlen(SDP_E), RLIM_INFINITY };

	(void)arg;
	if (setrlimit(RLIMIT_FSIZE, &limit) != 0 ||
	    util_log_route("sdp", UTIL_LOG_ERROR, UTIL_LOG_FILE, log_path) != 0)
		return 2;
	util_err("sdp", "e");
	util_err("sdp", "e");
	return 0;
}

CASE(keeps_the_file_limit)
{
	char err[512], file[512];

	unlink(log_path);
	assert_int_equal(child_run(print_within_limit, NULL, err, sizeof(err)),
			 0);
	file_read(file, sizeof(file));
	assert_string_equal(file, SDP_E);
	unlink(log_path);
}

/* In a shared directory an attacker may have made the name a link. */
CASE(does_not_follow_links)
{
	struct routed routed = { UTIL_LOG_ERROR, UTIL_LOG_FILE, log_path };
	char err[512], file[512];

	unlink(log_path);
	assert_int_equal(symlink(log_target, log_path), 0);
	assert_int_equal(child_run(print_routed, &routed, err, sizeof(err)), 0);
	assert_string_equal(err, SDP_E CM_W);
	file_read(file, sizeof(file));
	assert_string_equal(file, "");
	unlink(log_path);
}

static int route_wrong(void *arg)
{
	char path[300];

	(void)arg;
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	if (util_log_route("nowhere", UTIL_LOG_ERROR, UTIL_LOG_STDERR, NULL) !=
	    -ENOENT)
		return 1;
	return util_log_route("sdp", UTIL_LOG_ERROR, UTIL_LOG_FILE, path) !=
	       -ENAMETOOLONG;
}

CASE(refuses_invalid_routes)
{
	char err[64];

	assert_int_equal(child_run(route_wrong, NULL, err, sizeof(err)), 0);
}

BEFORE_CASES()
{
	snprintf(log_path, sizeof(log_path), "/tmp/util-log-test.%d",
		 (int)getpid());
	snprintf(log_target, sizeof(log_target), "%s.target", log_path);
}

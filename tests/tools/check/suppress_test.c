/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Suppressions: which findings they match. */
#include "test.h"
#include "case.h"
#include "suppress.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char finding[] =
	"{\"rule\": \"leaked\", \"stacks\": [{\"frames\": ["
	"{\"function\": \"main\", \"module\": \"/bin/app\"},"
	"{\"function\": \"pool_get\", \"module\": \"/lib/libucp.so.0\","
	" \"file\": \"pool.c\"}]}]}";

static const struct {
	const char *line;
	int ret;
	bool is_match;
} rows[] = {
	{ "", 0, false },
	{ "# leaked", 0, false },
	{ "leaked", 0, true },
	{ "leak*", 0, true },
	{ "*", 0, true },
	{ "cq-small", 0, false },
	{ "leaked function=pool_*", 0, true },
	{ "leaked function=put", 0, false },
	{ "leaked function=pool_get module=*/libucp.so*", 0, true },
	/* All of it in one frame. */
	{ "leaked function=main module=*/libucp.so*", 0, false },
	{ "leaked file=pool.c", 0, true },
	{ "leaked file=main.c", 0, false },
	{ "leaked where=main", -1, false },
};

CASE(lines_match_rules_and_frames)
{
	json_t *json = json_loads(finding, 0, NULL);

	assert_non_null(json);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char path[] = "/tmp/usiw-suppress.XXXXXX";
		struct suppressions *all = suppressions_new();
		int fd = mkstemp(path);

		assert_true(all && fd >= 0);
		dprintf(fd, "%s\n", rows[i].line);
		close(fd);
		assert_int_equal(suppressions_read(all, path), rows[i].ret);
		assert_int_equal(suppressions_match(all, json),
				 rows[i].is_match);
		suppressions_free(all);
		unlink(path);
	}
	json_decref(json);
}

CASE(a_file_that_is_missing_is_an_error)
{
	struct suppressions *all = suppressions_new();

	assert_int_equal(suppressions_read(all, "/nonexistent"), -1);
	suppressions_free(all);
}

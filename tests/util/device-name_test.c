/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Names of devices, with and without a pattern. */
#include "util/device-name.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../harness/test.h"

static const struct row {
	const char *pattern; /* NULL: not set */
	const char *name;    /* of number 12 on eth0 */
	const char *others[4];
} rows[] = {
	{ NULL, "usiw_eth0", { "usiw", "rxe0", "mlx5_0", "" } },
	{ "", "usiw_eth0", { "usiw", "rxe0" } },
	{ "rxe%d", "rxe12", { "rxe", "rxe1x", "xrxe1", "usiw_eth0" } },
	{ "a-%d.b", "a-12.b", { "a-12", "a-.b", "a-1.bb" } },
	/* refused: the default */
	{ "%d%d", "usiw_eth0", { "11" } },
	{ "rxe%s", "usiw_eth0", { "rxe0" } },
	{ "rxe", "usiw_eth0", { "rxe" } },
	{ "a/%d", "usiw_eth0", { "a/0" } },
	{ "%", "usiw_eth0", { "%" } },
};

/* The settings are read once, so each row has a process. */
static int row_holds(const struct row *row)
{
	char name[64], small[4];

	if (row->pattern)
		setenv("USIW_NAME", row->pattern, 1);
	else
		unsetenv("USIW_NAME");
	util_device_name("eth0", 12, name, sizeof(name));
	util_device_name("eth0", 12, small, sizeof(small));
	if (strcmp(name, row->name) != 0 || strlen(small) != 3 ||
	    !util_device_name_is_ours(name))
		return 1;
	for (size_t i = 0; i < ARRAY_LEN(row->others); i++)
		if (row->others[i] && util_device_name_is_ours(row->others[i]))
			return 2;
	return 0;
}

CASE(a_pattern_names_devices)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			_exit(row_holds(&rows[i]));
		assert_true(pid > 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (status)
			fail_msg("row %zu: %x", i, (unsigned int)status);
	}
}

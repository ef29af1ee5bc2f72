/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See setting.h. */
#define _GNU_SOURCE /* environ */
#include "setting.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/env.h"

#define PREFIX "USIW_"

static void name_warn(const char *name, size_t len)
{
	const char *near = util_setting_near(name, len);

	if (near)
		fprintf(stderr,
			"usiw: environment: %.*s is not a setting and has no "
			"effect; is %s meant?\n",
			(int)len, name, near);
}

void setting_warn_mistyped(void)
{
	for (char **entry = environ; *entry; entry++)
		if (strncmp(*entry, PREFIX, strlen(PREFIX)) == 0)
			name_warn(*entry, strcspn(*entry, "="));
}

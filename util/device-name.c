/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See device-name.h. */
#include "device-name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "env.h"

#define PREFIX "usiw_"
/* In USIW_NAME, which has it once. */
#define NUMBER "%d"

void util_device_name(const char *ifname, uint32_t number, char *ret_name,
		      size_t size)
{
	const char *pattern = util_settings()->name;
	const char *mark = pattern ? strstr(pattern, NUMBER) : NULL;

	if (mark)
		snprintf(ret_name, size, "%.*s%u%s", (int)(mark - pattern),
			 pattern, number, mark + strlen(NUMBER));
	else
		snprintf(ret_name, size, PREFIX "%s", ifname);
}

bool util_device_name_is_ours(const char *name)
{
	const char *pattern = util_settings()->name;
	const char *mark = pattern ? strstr(pattern, NUMBER) : NULL;
	size_t len = 0;

	if (!mark)
		return strncmp(name, PREFIX, strlen(PREFIX)) == 0;
	if (strncmp(name, pattern, (size_t)(mark - pattern)) != 0)
		return false;
	name += mark - pattern;
	while (isdigit((unsigned char)name[len]))
		len++;
	return len > 0 && strcmp(name + len, mark + strlen(NUMBER)) == 0;
}

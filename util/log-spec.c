/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See log-spec.h. */
#include "log-spec.h"

#include <stddef.h>
#include <string.h>

static const char *const level_names[] = {
	[UTIL_LOG_NONE] = "none",   [UTIL_LOG_ERROR] = "error",
	[UTIL_LOG_WARN] = "warn",   [UTIL_LOG_INFO] = "info",
	[UTIL_LOG_DEBUG] = "debug",
};

static const char *const part_names[] = {
	"mpa", "rnic", "cm", "verbs", "kabi", "sdp", "tool",
};

#define LEVEL_CNT (sizeof(level_names) / sizeof(level_names[0]))
#define PART_CNT (sizeof(part_names) / sizeof(part_names[0]))

_Static_assert(PART_CNT <= UTIL_LOG_PART_MAX, "parts");

/* Index of the word [@word, @word + @len) in @names, or -1. */
static int name_find(const char *const *names, size_t name_cnt,
		     const char *word, size_t len)
{
	for (size_t i = 0; i < name_cnt; i++)
		if (strlen(names[i]) == len &&
		    strncmp(names[i], word, len) == 0)
			return (int)i;
	return -1;
}

bool util_log_spec_parse(const char *text, struct util_log_spec *ret_spec)
{
	size_t len = strcspn(text, ":");
	int level = name_find(level_names, LEVEL_CNT, text, len);
	uint32_t parts = 0;
	int part;

	if (level < 0)
		return false;
	if (text[len] == '\0')
		parts = (1u << PART_CNT) - 1;
	while (text[len] != '\0') {
		text += len + 1;
		len = strcspn(text, ",");
		part = name_find(part_names, PART_CNT, text, len);
		if (part < 0)
			return false;
		parts |= 1u << part;
	}
	*ret_spec = (struct util_log_spec){ (enum util_log_level)level, parts };
	return true;
}

int util_log_part(const char *name)
{
	return name_find(part_names, PART_CNT, name, strlen(name));
}

const char *util_log_level_name(enum util_log_level level)
{
	return (size_t)level < LEVEL_CNT ? level_names[level] : "?";
}

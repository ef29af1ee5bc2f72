/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The syntax of USIW_LOG: level[:part,...]. */
#ifndef UTIL_LOG_SPEC_H
#define UTIL_LOG_SPEC_H

#include <stdbool.h>
#include <stdint.h>

enum util_log_level {
	UTIL_LOG_NONE,
	UTIL_LOG_ERROR,
	UTIL_LOG_WARN,
	UTIL_LOG_INFO,
	UTIL_LOG_DEBUG,
};

#define UTIL_LOG_PART_MAX 16

struct util_log_spec {
	enum util_log_level level;
	uint32_t parts; /* a bit for each, by util_log_part() */
};

/* Return: false: @text is not level[:part,...] with known words; *ret_spec is
 * unchanged. */
bool util_log_spec_parse(const char *text, struct util_log_spec *ret_spec);

/* Return: the part's number, below UTIL_LOG_PART_MAX; -1: no such part. */
int util_log_part(const char *name);

/* Return: its word; "?": no such level. */
const char *util_log_level_name(enum util_log_level level);

#endif

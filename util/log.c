/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Log lines on stderr, by level and part. */
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cancel.h"
#include "env.h"

#define LOG_LINE_MAX 512

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

/* The specification in one word: ready bit, level, a bit per part. */
#define STATE_READY (1u << 31)
#define STATE_LEVEL_SHIFT 16
#define STATE_LEVEL (7u << STATE_LEVEL_SHIFT)
#define STATE_PARTS ((1u << PART_CNT) - 1)

static _Atomic uint32_t log_state;

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

static bool spec_parse(const char *spec, uint32_t *ret_state)
{
	size_t len = strcspn(spec, ":");
	int level = name_find(level_names, LEVEL_CNT, spec, len);
	uint32_t parts = 0;
	int part;

	if (level < 0)
		return false;
	if (spec[len] == '\0')
		parts = STATE_PARTS;
	while (spec[len] != '\0') {
		spec += len + 1;
		len = strcspn(spec, ",");
		part = name_find(part_names, PART_CNT, spec, len);
		if (part < 0)
			return false;
		parts |= 1u << part;
	}
	*ret_state = STATE_READY | (uint32_t)level << STATE_LEVEL_SHIFT | parts;
	return true;
}

bool util_log_spec_is_valid(const char *spec)
{
	uint32_t state;

	return spec_parse(spec, &state);
}

static uint32_t state_get(void)
{
	uint32_t state = atomic_load_explicit(&log_state, memory_order_relaxed);
	const char *spec;

	if (state & STATE_READY)
		return state;
	/* NULL only when memory ran out at start: stay silent then. */
	spec = util_settings()->log;
	if (!spec || !spec_parse(spec, &state))
		state = STATE_READY;
	atomic_store_explicit(&log_state, state, memory_order_relaxed);
	return state;
}

int util_log_enabled(enum util_log_level level, const char *part)
{
	uint32_t state = state_get();
	int idx;

	if (level == UTIL_LOG_NONE ||
	    level > (state & STATE_LEVEL) >> STATE_LEVEL_SHIFT)
		return 0;
	idx = name_find(part_names, PART_CNT, part, strlen(part));
	return idx >= 0 && (state >> idx & 1);
}

void util_log_print(enum util_log_level level, const char *part,
		    const char *fmt, ...)
{
	int saved_errno = errno;
	char line[LOG_LINE_MAX];
	size_t room = sizeof(line) - 1; /* for the newline */
	size_t len;
	va_list args;
	int ret;

	ret = snprintf(line, room, "usiw: %s: %s: ", part,
		       (size_t)level < LEVEL_CNT ? level_names[level] : "?");
	len = ret < 0 ? 0 : (size_t)ret;
	if (len >= room)
		len = room - 1;
	va_start(args, fmt);
	ret = vsnprintf(line + len, room - len, fmt, args);
	va_end(args);
	if (ret > 0)
		len += (size_t)ret;
	if (len >= room)
		len = room - 1;
	line[len++] = '\n';
	/* One write(): lines of several threads do not mix.  Nobody could be
	 * told that stderr is gone. */
	if (util_sys_write(STDERR_FILENO, line, len) < 0)
		errno = 0;
	errno = saved_errno;
}

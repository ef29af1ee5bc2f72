/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Log lines by level and part: on stderr, or at the destination of a route. */
#define _GNU_SOURCE
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "cancel.h"
#include "env.h"
#include "fsize.h"
#include "keep-errno.h"

#define LOG_LINE_MAX 512

/* The specification in one word: ready bit, level, a bit per part. */
#define STATE_READY (1u << 31)
#define STATE_LEVEL_SHIFT UTIL_LOG_PART_MAX
#define STATE_LEVEL (7u << STATE_LEVEL_SHIFT)

static _Atomic uint32_t log_state;

static uint32_t state_get(void)
{
	uint32_t state = atomic_load_explicit(&log_state, memory_order_relaxed);
	struct util_log_spec spec = { UTIL_LOG_NONE, 0 };
	const char *text;

	if (state & STATE_READY)
		return state;
	/* NULL only if memory ran out at start.  Then nothing is logged. */
	text = util_settings()->log;
	if (text)
		(void)util_log_spec_parse(text, &spec);
	state = STATE_READY | (uint32_t)spec.level << STATE_LEVEL_SHIFT |
		spec.parts;
	atomic_store_explicit(&log_state, state, memory_order_relaxed);
	return state;
}

static struct {
	_Atomic uint32_t part; /* of the table, from 1 on; 0: no route */
	enum util_log_level level;
	enum util_log_destination destination;
	char path[256];
} route;

int util_log_route(const char *part, enum util_log_level level,
		   enum util_log_destination destination, const char *path)
{
	int idx = util_log_part(part);
	size_t len = path ? strlen(path) : 0;

	if (idx < 0)
		return -ENOENT;
	if (len >= sizeof(route.path))
		return -ENAMETOOLONG;
	if (path)
		memcpy(route.path, path, len + 1);
	route.level = level;
	route.destination = destination;
	/* release: pairs with the acquire in is_routed() */
	atomic_store_explicit(&route.part, (uint32_t)idx + 1,
			      memory_order_release);
	return 0;
}

/* @idx: of the part's name, from 0 on. */
static bool is_routed(int idx)
{
	/* acquire: pairs with the release in util_log_route() */
	return idx >= 0 &&
	       atomic_load_explicit(&route.part, memory_order_acquire) ==
		       (uint32_t)idx + 1;
}

int util_log_enabled(enum util_log_level level, const char *part)
{
	uint32_t state = state_get();
	bool is_spec = level <= (state & STATE_LEVEL) >> STATE_LEVEL_SHIFT;
	int idx;

	/* Most lines end here. */
	if (level == UTIL_LOG_NONE ||
	    (!is_spec &&
	     !atomic_load_explicit(&route.part, memory_order_relaxed)))
		return 0;
	idx = util_log_part(part);
	if (idx >= 0 && is_spec && (state >> idx & 1))
		return 1;
	return is_routed(idx) && level <= route.level;
}

/* Return: the file of the route; that of stderr: it cannot be opened, or
 * another user owns it. */
static int route_open(void)
{
	struct stat st;
	int fd;

	fd = (int)syscall(SYS_openat, AT_FDCWD, route.path,
			  O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW |
				  O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
			  0600);
	if (fd < 0)
		return STDERR_FILENO;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid())
		return fd;
	util_sys_close(fd);
	return STDERR_FILENO;
}

/* A program must not end because a line of the log makes its file too large. */
static bool line_fits(int fd, size_t len)
{
	struct stat st;

	return util_fsize_allows(INT64_MAX) || fstat(fd, &st) < 0 ||
	       !S_ISREG(st.st_mode) ||
	       util_fsize_allows((uint64_t)st.st_size + len);
}

/* One write() per line, so that lines of several threads do not mix.  There is
 * no place to report that it failed. */
static void line_write(enum util_log_level level, bool has_route, char *line,
		       size_t len)
{
	static const int priorities[] = {
		[UTIL_LOG_NONE] = LOG_DEBUG,   [UTIL_LOG_ERROR] = LOG_ERR,
		[UTIL_LOG_WARN] = LOG_WARNING, [UTIL_LOG_INFO] = LOG_INFO,
		[UTIL_LOG_DEBUG] = LOG_DEBUG,
	};
	int fd = STDERR_FILENO;

	if (has_route && route.destination == UTIL_LOG_SYSLOG) {
		UTIL_CANCEL_OFF();

		line[len - 1] = '\0'; /* the newline */
		syslog(priorities[level], "%s", line);
		return;
	}
	if (has_route && route.destination == UTIL_LOG_FILE)
		fd = route_open();
	if (line_fits(fd, len) && util_sys_write(fd, line, len) < 0)
		errno = 0;
	if (fd != STDERR_FILENO)
		util_sys_close(fd);
}

void util_log_print(enum util_log_level level, const char *part,
		    const char *fmt, ...)
{
	UTIL_KEEP_ERRNO();
	char line[LOG_LINE_MAX];
	size_t room = sizeof(line) - 1; /* for the newline */
	size_t len;
	va_list args;
	int ret;

	ret = snprintf(line, room, "usiw: %s: %s: ", part,
		       util_log_level_name(level));
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
	line_write(level, is_routed(util_log_part(part)), line, len);
}

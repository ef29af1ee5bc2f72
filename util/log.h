/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Log lines, controlled by USIW_LOG=level[:part,...].  Each event is one line
 * on stderr with part, object, event and value.  The parts are mpa, rnic, cm,
 * verbs, kabi, sdp and tool.  The default level is error, so a process without
 * errors prints nothing.  Logging keeps errno.  The data path does not log; it
 * has counters.
 */
#ifndef UTIL_LOG_H
#define UTIL_LOG_H

#include "log-spec.h"

/* True when a line of @level for @part would be printed. */
int util_log_enabled(enum util_log_level level, const char *part);

enum util_log_destination {
	UTIL_LOG_STDERR,
	UTIL_LOG_SYSLOG,
	UTIL_LOG_FILE, /* appended to; opened for each line */
};

/**
 * util_log_route - set the destination for the lines of one part
 * @level: these lines are printed, and those that USIW_LOG asks for.
 * @path: for UTIL_LOG_FILE, else NULL.  If the file is not a plain file of the
 *   process's user, the lines go to stderr.
 *
 * Call it once, before other threads log.
 * Return: 0; -ENOENT: no such part; -ENAMETOOLONG.
 */
int util_log_route(const char *part, enum util_log_level level,
		   enum util_log_destination destination, const char *path)
	__attribute__((warn_unused_result));

void util_log_print(enum util_log_level level, const char *part,
		    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#define util_log(level, part, ...)                                             \
	do {                                                                   \
		if (util_log_enabled(level, part))                             \
			util_log_print(level, part, __VA_ARGS__);              \
	} while (0)

#define util_err(part, ...) util_log(UTIL_LOG_ERROR, part, __VA_ARGS__)
#define util_warn(part, ...) util_log(UTIL_LOG_WARN, part, __VA_ARGS__)
#define util_info(part, ...) util_log(UTIL_LOG_INFO, part, __VA_ARGS__)
#define util_debug(part, ...) util_log(UTIL_LOG_DEBUG, part, __VA_ARGS__)

#endif

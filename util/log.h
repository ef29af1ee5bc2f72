/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * USIW_LOG=level[:part,...]: one line per event on stderr: part, object,
 * what, value.  Parts are the directories: mpa rnic cm verbs kabi sdp tool.
 * Default level: error... nothing is printed by a healthy process.
 * Keeps errno.  Never used in the data path: that counts instead.
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
 * util_log_route - lines of one part go to a place of their own
 * @level: these lines are printed, and those that USIW_LOG asks for.
 * @path: of UTIL_LOG_FILE, else NULL.  A file that is not a plain one of the
 *   process's user is not written to; its lines go to stderr.
 *
 * Once, before other threads log.  Return: 0; -ENOENT: no such part;
 *   -ENAMETOOLONG.
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

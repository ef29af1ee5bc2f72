/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See reason.h. */
#define _GNU_SOURCE
#include "reason.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "keep-errno.h"
#include "log.h"

#define REASON_MAX 384

static void (*_Atomic watcher)(const char *reason);

void util_reason_watch(void (*fn)(const char *reason))
{
	atomic_store_explicit(&watcher, fn, memory_order_relaxed);
}

void util_reason_say(enum util_log_level level, const char *part, int err,
		     const char *call, const char *fmt, ...)
{
	UTIL_KEEP_ERRNO();
	char reason[REASON_MAX];
	void (*fn)(const char *reason);
	const char *name;
	va_list args;

	/* relaxed: it is set before the program calls */
	fn = atomic_load_explicit(&watcher, memory_order_relaxed);
	if (!fn && !util_log_enabled(level, part))
		return;
	va_start(args, fmt);
	vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
	if (fn)
		fn(reason);
	name = strerrorname_np(err);
	util_log(level, part, "%s: %s: %s", call, name ? name : "?", reason);
}

void util_say_no_datagrams(const char *part, const char *call)
{
	static atomic_flag is_said = ATOMIC_FLAG_INIT;
	enum util_log_level level = UTIL_LOG_DEBUG;

	/* relaxed: once is enough, and once more is no harm */
	if (!atomic_flag_test_and_set_explicit(&is_said, memory_order_relaxed))
		level = UTIL_LOG_ERROR;
	util_reason_say(level, part, EOPNOTSUPP, call,
			"an iWARP device has no datagrams and no multicast: "
			"run the program by \"usiw run --persona ca\"");
}

int util_check_range(const char *part, const char *call, const char *arg,
		     uint64_t value, uint64_t min, uint64_t max)
{
	if (value >= min && value <= max)
		return 0;
	return util_refuse(part, EINVAL, call,
			   "%s is %" PRIu64 ", not %" PRIu64 " to %" PRIu64,
			   arg, value, min, max);
}

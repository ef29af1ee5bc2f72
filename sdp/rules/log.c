/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Implements the log line of libsdp.conf(5) with util/log.h. */
#include "rules/rules.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "util/log.h"

static enum util_log_level level_of(unsigned int min_level)
{
	if (min_level >= 9)
		return UTIL_LOG_ERROR;
	if (min_level >= 8)
		return UTIL_LOG_WARN;
	return min_level >= 5 ? UTIL_LOG_INFO : UTIL_LOG_DEBUG;
}

int sdp_log_start(const struct sdp_log_rule *log)
{
	enum util_log_level level = level_of(log->min_level);
	bool is_root = geteuid() == 0;
	char path[256], uid[16] = "";
	int len;

	switch (log->destination) {
	case SDP_LOG_UNSET:
		if (log->min_level == SDP_LOG_LEVEL_MAX)
			return 0;
		return util_log_route("sdp", level, UTIL_LOG_STDERR, NULL);
	case SDP_LOG_STDERR:
		return util_log_route("sdp", level, UTIL_LOG_STDERR, NULL);
	case SDP_LOG_SYSLOG:
		return util_log_route("sdp", level, UTIL_LOG_SYSLOG, NULL);
	case SDP_LOG_FILE:
		break;
	}
	if (!is_root)
		snprintf(uid, sizeof(uid), ".%u", (unsigned int)geteuid());
	len = snprintf(path, sizeof(path), "%s%s%s",
		       log->file[0] == '/' ? ""
		       : is_root	   ? "/var/log/"
					   : "/tmp/",
		       log->file, uid);
	if (len < 0 || (size_t)len >= sizeof(path))
		return -ENAMETOOLONG;
	return util_log_route("sdp", level, UTIL_LOG_FILE, path);
}

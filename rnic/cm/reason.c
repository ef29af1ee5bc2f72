/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See reason.h. */
#include "reason.h"

#include <stdarg.h>
#include <stdio.h>

#include "util/addr-text.h"
#include "util/keep-errno.h"

#define REASON_MAX 160

const char *cm_id_name(const struct cm_id *id, char buf[CM_ID_NAME_LEN])
{
	snprintf(buf, CM_ID_NAME_LEN, "id %u%s", cm_id_num(id),
		 UTIL_ADDR_PAIR_TEXT(&id->local, &id->peer));
	return buf;
}

int cm_refuse(const struct cm_id *id, int err, const char *call,
	      const char *fmt, ...)
{
	UTIL_KEEP_ERRNO();
	char reason[REASON_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
	return util_refuse("cm", err, call, "%s; %s", reason, CM_ID_NAME(id));
}

int cm_refuse_state(const struct cm_id *id, const char *call,
		    const char *wanted)
{
	static const char *const names[] = {
		[RNIC_CM_S_IDLE] = "IDLE",
		[RNIC_CM_S_BOUND] = "BOUND",
		[RNIC_CM_S_ADDR] = "ADDR",
		[RNIC_CM_S_ROUTE] = "ROUTE",
		[RNIC_CM_S_LISTEN] = "LISTEN",
		[RNIC_CM_S_CONNECT] = "CONNECT",
		[RNIC_CM_S_REQUEST] = "REQUEST",
		[RNIC_CM_S_ESTABLISHED] = "ESTABLISHED",
		[RNIC_CM_S_DISCONNECT] = "DISCONNECT",
	};

	return cm_refuse(id, EINVAL, call, "the state is %s, not %s",
			 names[id->state], wanted);
}

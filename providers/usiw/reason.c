/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See reason.h. */
#include "reason.h"

#include <stdbool.h>
#include <stdio.h>

#define NAMES_MAX 320

static const char *const mask_names[] = {
	"STATE",
	"CUR_STATE",
	"EN_SQD_ASYNC_NOTIFY",
	"ACCESS_FLAGS",
	"PKEY_INDEX",
	"PORT",
	"QKEY",
	"AV",
	"PATH_MTU",
	"TIMEOUT",
	"RETRY_CNT",
	"RNR_RETRY",
	"RQ_PSN",
	"MAX_QP_RD_ATOMIC",
	"ALT_PATH",
	"MIN_RNR_TIMER",
	"SQ_PSN",
	"MAX_DEST_RD_ATOMIC",
	"PATH_MIG_STATE",
	"CAP",
	"DEST_QPN",
};

int usiw_check_mask(enum ibv_qp_state next, int mask, int must)
{
	int missing = must & ~mask;
	char names[NAMES_MAX] = "";
	size_t len = 0;

	if (!missing)
		return 0;
	for (size_t i = 0; i < sizeof(mask_names) / sizeof(mask_names[0]); i++)
		if (missing & 1 << i && len < sizeof(names))
			len += (size_t)snprintf(names + len,
						sizeof(names) - len,
						" IBV_QP_%s", mask_names[i]);
	return usiw_refuse(EINVAL, "ibv_modify_qp", "%s needs%s in attr_mask",
			   usiw_state_name(next), names);
}

int usiw_refuse_move(enum ibv_qp_state now, enum ibv_qp_state next)
{
	int err = next == IBV_QPS_SQD ? EOPNOTSUPP : EINVAL;
	bool is_early = next == IBV_QPS_RTS &&
			(now == IBV_QPS_RESET || now == IBV_QPS_INIT);

	return usiw_refuse(err, "ibv_modify_qp", "a QP in %s cannot go to %s%s",
			   usiw_state_name(now), usiw_state_name(next),
			   is_early ? "; RTR comes before" : "");
}

const char *usiw_state_name(enum ibv_qp_state state)
{
	static const char *const names[] = {
		[IBV_QPS_RESET] = "RESET", [IBV_QPS_INIT] = "INIT",
		[IBV_QPS_RTR] = "RTR",	   [IBV_QPS_RTS] = "RTS",
		[IBV_QPS_SQD] = "SQD",	   [IBV_QPS_SQE] = "SQE",
		[IBV_QPS_ERR] = "ERR",
	};

	return (unsigned int)state < sizeof(names) / sizeof(names[0])
		       ? names[state]
		       : "an unknown state";
}

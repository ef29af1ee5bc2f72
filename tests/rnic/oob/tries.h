/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Number of times that a QP has dialled its peer. */
#ifndef TEST_OOB_TRIES_H
#define TEST_OOB_TRIES_H

#include "loop/loop.h"
#include "oob/wait.h"
#include "qp/object.h"
#include "rnicpair.h"

/* Including the current attempt. UINT32_MAX: it does not dial, or no longer
 * waits. */
static inline uint32_t oob_tries(uint32_t num)
{
	const struct oob *oob;
	uint32_t cnt = UINT32_MAX;

	util_lock(&rnic_loop.lock);
	oob = oob_find(num);
	if (oob && oob->is_dialler)
		cnt = oob->try_cnt + (oob->link != NULL);
	util_unlock(&rnic_loop.lock);
	return cnt;
}

/* Waits until it has dialled for the first time, if it is the side that
 * dials. */
static inline void wait_dialled(struct rnic_qp *qp)
{
	wait_until(oob_tries(rnic_qp_num(qp)) > 0);
}

#endif

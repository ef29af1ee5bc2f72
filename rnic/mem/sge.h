/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Lists of scatter/gather elements, as work requests have them. */
#ifndef RNIC_SGE_H
#define RNIC_SGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "object.h"

/*
 * Where octets [@off, @off + @len) of an SGE list lie, each piece checked for
 * @pd.  Return: iovecs; -EFAULT: an SGE that may not be used so.  Under the
 * lead.
 */
int rnic_sge_resolve(const struct rnic_pd *pd, const struct usiw_sge *sge,
		     uint32_t sge_cnt, uint32_t off, uint32_t len,
		     uint32_t access, struct iovec *iov);

/* Does the list name that STag, for any octet? */
bool rnic_sge_names(const struct usiw_sge *sge, uint32_t cnt, uint32_t stag);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* SGE lists. */
#include "sge.h"

#include <errno.h>

#include "util/log.h"
#include "access.h"

static void sge_log(const struct usiw_sge *sge, uint32_t access,
		    enum rnic_access_check check)
{
	util_info(
		"rnic",
		"an SGE cannot be %s: lkey 0x%08x, address 0x%llx, %u octets: "
		"%s",
		access ? "written (IBV_ACCESS_LOCAL_WRITE)" : "read", sge->lkey,
		(unsigned long long)sge->addr, sge->len,
		rnic_access_str(check));
}

int rnic_sge_resolve(const struct rnic_pd *pd, const struct usiw_sge *sge,
		     uint32_t sge_cnt, uint32_t off, uint32_t len,
		     uint32_t access, struct iovec *iov)
{
	int cnt = 0;

	for (uint32_t i = 0; i < sge_cnt && len; i++) {
		uint32_t piece = sge[i].len;
		enum rnic_access_check check;
		void *ptr;

		if (off >= piece) {
			off -= piece;
			continue;
		}
		piece -= off;
		if (piece > len)
			piece = len;
		check = rnic_mr_resolve(&pd->ctx->mrs, pd, sge[i].lkey,
					sge[i].addr + off, piece, access, &ptr);
		if (check) {
			sge_log(&sge[i], access, check);
			return -EFAULT;
		}
		iov[cnt].iov_base = ptr;
		iov[cnt].iov_len = piece;
		cnt++;
		len -= piece;
		off = 0;
	}
	return len ? -EFAULT : cnt;
}

bool rnic_sge_names(const struct usiw_sge *sge, uint32_t cnt, uint32_t stag)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (sge[i].lkey == stag && sge[i].len)
			return true;
	return false;
}

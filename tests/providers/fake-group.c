/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The RNIC that transfers nothing: multicast groups. */
#include "test.h"

#include <string.h>

#include "fake-rnic.h"

int rnic_qp_attach(struct rnic_qp *qp, const uint8_t mgid[16])
{
	int err = fake_result_of(__func__);

	assert_non_null(qp);
	if (err)
		return err;
	fake.ud.group_cnt++;
	memcpy(fake.ud.mgid, mgid, sizeof(fake.ud.mgid));
	return 0;
}

int rnic_qp_detach(struct rnic_qp *qp, const uint8_t mgid[16])
{
	int err = fake_result_of(__func__);

	assert_non_null(qp);
	if (err)
		return err;
	fake.ud.group_cnt--;
	memcpy(fake.ud.mgid, mgid, sizeof(fake.ud.mgid));
	return 0;
}

bool rnic_qp_is_attached(const struct rnic_qp *qp)
{
	assert_non_null(qp);
	return fake.ud.group_cnt != 0;
}

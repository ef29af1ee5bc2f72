/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The RNIC's functions for commands that observe, and for faults: see
 * fake-rnic.h. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "fake-rnic.h"
#include "rnic/os/rnic-observer.h"
#include "rnic/qp/rnic-fault.h"

/* Numbers that commands show. */
#define FAKE_NUM(kind)                                                         \
	uint32_t rnic_##kind##_num(const struct rnic_##kind *object)           \
	{                                                                      \
		static uint32_t last;                                          \
                                                                               \
		(void)object;                                                  \
		return ++last;                                                 \
	}

FAKE_NUM(pd)
FAKE_NUM(cq)
FAKE_NUM(srq)

const _Atomic uint32_t *rnic_observed_word(void)
{
	return &fake.observed;
}

bool rnic_observer_begin(enum usiw_observe kind, uint16_t record_kind,
			 uint32_t len, struct rnic_observer_record *ret_record)
{
	struct usiw_record *record = fake.record;

	if (kind != USIW_OBSERVE_CALLS || !record ||
	    fake.observer_end_cnt >= fake.record_max)
		return false;
	record = (void *)((char *)record +
			  fake.observer_end_cnt * FAKE_RECORD_SIZE);
	assert_true(sizeof(*record) + len <= FAKE_RECORD_SIZE);
	record->kind = record_kind;
	*ret_record = (struct rnic_observer_record){
		.record = record,
		.payload = record + 1,
		.len = len,
	};
	return true;
}

void rnic_observer_end(enum usiw_observe kind,
		       const struct rnic_observer_record *record)
{
	assert_int_equal(kind, USIW_OBSERVE_CALLS);
	usiw_record_end(record->record, record->len);
	fake.observer_end_cnt++;
}

int rnic_guard_copy(void *dst, const void *src, size_t len)
{
	fake.copy_cnt++;
	if (fake.no_guard)
		return -ENOSYS;
	if ((uintptr_t)src < 4096)
		return -EFAULT;
	memcpy(dst, src, len);
	return 0;
}

int rnic_fault_call(const char *name, const struct rnic_qp *qp)
{
	fake.fault_qp = qp;
	return fake.fault_name && strcmp(name, fake.fault_name) == 0
		       ? fake.fault_err
		       : 0;
}

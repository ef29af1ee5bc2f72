/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Texts for faults.
 */
#include "test.h"

#include <string.h>

#include "siw-ib.h"

CASE(names_field_and_reason)
{
	unsigned int i = 0;

	for (; strcmp(sib_fault_str(i), "fault: unknown"); i++) {
		assert_non_null(strstr(sib_fault_str(i), ": "));
		for (unsigned int j = 0; j < i; j++)
			assert_string_not_equal(sib_fault_str(i),
						sib_fault_str(j));
	}
	assert_true(i > SIB_F_IP_CM_IPV);
}

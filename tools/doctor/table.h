/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The table of checks. */
#ifndef DOCTOR_TABLE_H
#define DOCTOR_TABLE_H

#include "doctor/check.h"

struct check {
	const char *name;
	check_fn *run;
	const char *what; /* it looks at */
};

extern const struct check doctor_checks[];
extern const size_t doctor_check_cnt;

#endif

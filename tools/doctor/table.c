/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See table.h. */
#include "doctor/table.h"

const struct check doctor_checks[] = {
#define CHECK(name, what) { #name, check_##name, what },
#include "doctor/checks.def"
#undef CHECK
};

const size_t doctor_check_cnt =
	sizeof(doctor_checks) / sizeof(doctor_checks[0]);

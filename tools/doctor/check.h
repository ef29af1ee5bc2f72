/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a check of usiw doctor is. */
#ifndef DOCTOR_CHECK_H
#define DOCTOR_CHECK_H

#include <stdbool.h>

#include "doctor/inside.h"
#include "doctor/links.h"
#include "doctor/report.h"
#include "program.h"

/* What the checks look at.  It is found before the first of them runs. */
struct subject {
	char *const *command; /* NULL: none */
	struct program program;
	struct links links;   /* of the program */
	bool wants_sdp;	      /* --sdp, here or of usiw run */
	bool is_ca;	      /* persona ca, here or of usiw run */
	struct inside inside; /* a process that usiw run starts */
};

/*
 * A check reports what it finds, in one or several findings, of which one is
 * worse than OK, or one OK.  If it does not apply it reports nothing.  It
 * changes nothing outside, and nothing of the subject except that it claims
 * lines of the process inside.
 */
typedef void check_fn(struct subject *subject, struct report *report);

#define CHECK(name, what) check_fn check_##name;
#include "doctor/checks.def"
#undef CHECK

#endif

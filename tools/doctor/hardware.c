/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Check of the RDMA devices of the kernel: hardware, siw, rdma_rxe. */
#include "doctor/check.h"

#include <stdio.h>

#include "util/device-name.h"
#include "util/env.h"
#include "doctor/file.h"
#include "doctor/names.h"

#define CLASS_DIR "/sys/class/infiniband"

struct found {
	struct names names;
	char clash[64]; /* a name that usiw's devices have, too */
};

static void found_add(const char *name, void *arg)
{
	struct found *found = arg;

	names_add(&found->names, name);
	if (util_device_name_is_ours(name))
		snprintf(found->clash, sizeof(found->clash), "%s", name);
}

void check_hardware(struct subject *subject, struct report *report)
{
	bool is_beside = util_settings()->devices == UTIL_DEVICES_BESIDE;
	struct found found = { .names.cnt = 0 };

	(void)subject;
	if (file_entries(CLASS_DIR, found_add, &found) <= 0) {
		report_ok(report, "none");
	} else if (*found.clash && is_beside) {
		report_wrong(report,
			     "%s is a device of the kernel, and has "
			     "the name of a device of usiw",
			     found.clash);
		report_repair(report, "unset USIW_NAME, or choose another "
				      "name");
	} else if (is_beside) {
		report_ok(report, "%s, beside usiw's", found.names.text);
	} else {
		report_note(report, "%s: programs under usiw run do not see it",
			    found.names.text);
		report_repair(report, "USIW_DEVICES=beside, if they are to see "
				      "both");
	}
}

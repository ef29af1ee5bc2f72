/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Prints the table of settings, for the comparison with usiw(7). */
#include "util/env.h"

#include <stdio.h>

int main(void)
{
	for (size_t i = 0; i < util_setting_cnt; i++) {
		const struct util_setting_doc *doc = &util_setting_docs[i];

		printf("%s\t%s\t%s\t%s\n", doc->name, doc->values,
		       doc->default_value, doc->what);
	}
	return 0;
}

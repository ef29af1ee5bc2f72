/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A list of names for a line.  What does not fit is left out. */
#ifndef DOCTOR_NAMES_H
#define DOCTOR_NAMES_H

#include <stddef.h>
#include <stdio.h>

struct names {
	char text[512];
	size_t cnt;
	size_t len;
};

static inline void names_add(struct names *names, const char *name)
{
	int len = snprintf(names->text + names->len,
			   sizeof(names->text) - names->len, "%s%s",
			   names->cnt++ ? ", " : "", name);

	if (len > 0 && names->len + (size_t)len < sizeof(names->text))
		names->len += (size_t)len;
	else
		names->text[names->len] = '\0';
}

#endif

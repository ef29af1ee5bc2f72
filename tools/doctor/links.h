/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The libraries that a program loads when usiw run starts it, as the dynamic
 * linker lists them.  The program is not run. */
#ifndef DOCTOR_LINKS_H
#define DOCTOR_LINKS_H

#include <stddef.h>

struct link {
	const char *name; /* as the program asks for it */
	const char *path;
};

struct links {
	char *octets;	   /* the list points into it */
	struct link *list; /* in the order of their loading */
	size_t cnt;
	const char
		*error; /* why the dynamic linker lists none; NULL: it does */
};

/* @path: of an ELF file of the own C library.  Without a list, ->cnt is 0. */
void links_look(struct links *ret_links, const char *path);
void links_free(struct links *links);

/* The first whose file name begins with @prefix.  NULL: none. */
const struct link *links_find(const struct links *links, const char *prefix);

#endif

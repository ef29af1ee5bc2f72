/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A condition that the rest of the program needs: if it is false, the program
 * prints it and exits.
 */
#ifndef NEEDS_H
#define NEEDS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEEDS(what)                                                            \
	do {                                                                   \
		if (!(what)) {                                                 \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, \
				#what, strerror(errno));                       \
			exit(1);                                               \
		}                                                              \
	} while (0)

#endif

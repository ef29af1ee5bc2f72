/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The destination of a case's output, for the program that runs the cases. */
#ifndef SDP_CASES_SHOW_H
#define SDP_CASES_SHOW_H

/* From here on, lines belong to the case @name and go to @fd. */
void show_begin(const char *name, int fd);

#endif

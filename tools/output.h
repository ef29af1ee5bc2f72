/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a command prints on standard output reaches its reader, or the command
 * fails. */
#ifndef OUTPUT_H
#define OUTPUT_H

/* Call it before a descriptor is opened, which would take the number of one
 * that is closed.  Return: 0; 1: there is none, which stderr says. */
int output_begin(const char *command);

/* Return: 0; 1: not all of it could be written, which stderr says. */
int output_end(const char *command);

#endif

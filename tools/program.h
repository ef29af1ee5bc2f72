/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which programs cannot be preloaded, and why. */
#ifndef PROGRAM_H
#define PROGRAM_H

/*
 * One line on stderr when @name, looked up as execvp() does, cannot see usiw's
 * devices: statically linked, of another word size, or gaining rights.
 */
void program_warn(const char *name);

#endif

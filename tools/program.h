/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Programs that cannot be preloaded. */
#ifndef PROGRAM_H
#define PROGRAM_H

/*
 * Prints one line on stderr if @name, looked up like by execvp(), cannot see
 * usiw's devices: it is statically linked, has another word size, or gains
 * rights.
 */
void program_warn(const char *name);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Programs that cannot be preloaded, or start others that are not. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>

/* True if execvp() would find a program for @name. */
bool program_is_there(const char *name);

/*
 * Prints one line on stderr if the program of @argv, looked up like by
 * execvp(), cannot see usiw's devices (it is statically linked, has another
 * word size, or gains rights), or starts others without the environment.
 */
void program_warn(char *const *argv);

#endif

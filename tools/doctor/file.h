/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Small files of the kernel, past the preload library if this process has
 * it. */
#ifndef DOCTOR_FILE_H
#define DOCTOR_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* The first line.  Return: false: there is none; "" is in @ret_text. */
bool file_line(const char *path, char *ret_text, size_t size);

/*
 * Calls @each for each entry of a directory of the kernel's, without those that
 * begin with a dot.
 * Return: the number of entries; -1: it cannot be read.
 */
int file_entries(const char *path, void (*each)(const char *name, void *arg),
		 void *arg);

#endif

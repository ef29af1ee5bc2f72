/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What commands print for scripts: JSON, by jansson. */
#ifndef JSON_H
#define JSON_H

#include <jansson.h>

/* A string of JSON.  Octets of @text that are not UTF-8, as file names may
 * have, become U+FFFD.  Return: NULL: @text is NULL, or out of memory;
 * jansson's functions take it as an error. */
json_t *json_of_text(const char *text);

/*
 * Prints @root on standard output, and frees it.  NULL: what made it ran out of
 * memory.
 * Return: the exit code: 0; 1: the reason is on stderr.
 */
int json_print(const char *command, json_t *root);

#endif

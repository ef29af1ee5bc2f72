/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which known word a mistyped one may mean. */
#ifndef UTIL_NEAR_H
#define UTIL_NEAR_H

#include <stddef.h>

/*
 * The word that differs from @word, of @len octets, by a letter or two.
 * @name: the known words, by their number below @cnt; NULL: no word has that
 *   number.
 * Return: NULL: none is so near, or @word is one of them.
 */
const char *util_near(const char *word, size_t len,
		      const char *(*name)(size_t num), size_t cnt);

#endif

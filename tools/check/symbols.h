/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Names of addresses in files: function, source file and line, by libdw. */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include <stdint.h>

struct symbol {
	const char *function; /* NULL: not known */
	const char *file;     /* NULL: no debug information */
	int line;
};

struct symbols;

/* NULL: no memory. */
struct symbols *symbols_new(void);
void symbols_free(struct symbols *symbols);

/*
 * @module: path of the file.
 * @offset: from where the file is mapped in the process.
 * What *ret_symbol points to stays until symbols_free().
 */
void symbols_find(struct symbols *symbols, const char *module, uint64_t offset,
		  struct symbol *ret_symbol);

#endif

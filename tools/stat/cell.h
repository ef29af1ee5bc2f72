/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A value of a resource, for a table and for JSON. */
#ifndef STAT_CELL_H
#define STAT_CELL_H

#include <stdbool.h>
#include <stdint.h>

#include "util/stat-read.h"

enum cell_type {
	CELL_NONE, /* there is no such value: "-", null */
	CELL_NUMBER,
	CELL_HEX,   /* a number; in tables "0x00001a" */
	CELL_COUNT, /* a number that may be long; in tables "12.3M" */
	CELL_TEXT,
	CELL_BOOL,
	CELL_TIME, /* ns since 1970; in tables how long ago */
};

struct cell {
	enum cell_type type;
	uint64_t number;
	char text[96]; /* CELL_TEXT, printable ASCII */
};

/* What a table shows of it.  Return: @buf. */
#define CELL_TEXT_LEN 96
const char *cell_text(const struct cell *cell, char buf[CELL_TEXT_LEN]);

/* "999", "12.3k", "4.5M", "678G".  Return: @buf. */
const char *cell_count_text(uint64_t count, char buf[CELL_TEXT_LEN]);

/* "5s", "3m20s", "4h05m", "12d".  Return: @buf. */
const char *cell_age_text(uint64_t ns, char buf[CELL_TEXT_LEN]);

/* Right-aligned in tables. */
bool cell_is_number(enum cell_type type);

/* CELL_NONE for NULL. */
void cell_set_text(struct cell *cell, const char *text);

/* "192.0.2.1:80", "[fe80::1%2]:80"; CELL_NONE for no address. */
void cell_set_addr(struct cell *cell, const struct usiw_res_addr *addr);

/* Which order?  As strcmp(). */
int cell_compare(const struct cell *a, const struct cell *b);

#endif

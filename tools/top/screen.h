/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The screen of usiw top, by ncurses: a headline, a table, a line for keys. */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include "model.h"

/* Return: 0; -1: there is no terminal, or one of an unknown type; stderr says
 * which. */
int screen_open(void);
void screen_close(void);

/* What the user has chosen; of each level. */
struct screen_state {
	size_t column; /* sorted by it */
	bool is_reverse;
	char filter[32];
	uint64_t selected; /* id of the row */
	size_t first;	   /* at the top */
};

/* What is under the table. */
enum screen_mode { SCREEN_TABLE, SCREEN_FILTER, SCREEN_HELP };

/* @note: NULL: none. */
void screen_draw(struct top_model *model, struct screen_state *state,
		 enum screen_mode mode, const char *note);

/* Rows of the table that the screen has room for, at least 1. */
size_t screen_rows(void);

enum screen_key {
	SCREEN_NOTHING, /* the time is over */
	SCREEN_GONE,	/* so is the terminal */
	SCREEN_UP,
	SCREEN_DOWN,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_FIRST,
	SCREEN_LAST,
	SCREEN_OPEN,
	SCREEN_BACK,
	SCREEN_REDRAW,
	SCREEN_ERASE,
	SCREEN_CHARACTER, /* *ret_character */
};

enum screen_key screen_key(int timeout_ms, char *ret_character);

#endif

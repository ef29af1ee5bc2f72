/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The options that commands have in common with usiw run, and values of
 * others. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define OPTIONS_USAGE "[--persona rnic|ca] [--sdp]"

struct options {
	bool wants_sdp;
	bool is_checked;     /* set by usiw check */
	const char *persona; /* NULL: not given */
};

enum option_outcome { OPTION_TAKEN, OPTION_OTHER, OPTION_WRONG };

/*
 * Takes the option at @argv[*@at], and moves *@at behind it and its value.
 * @ret_wrong: for OPTION_WRONG, the word at fault and what is wrong with it.
 */
enum option_outcome options_take(char **argv, int *at, struct options *options,
				 const char *ret_wrong[2]);

/*
 * Takes the option @name at @argv[*@at], "NAME VALUE" or "NAME=VALUE".  *@at is
 * behind its value then.  OPTION_WRONG: the value is missing, and *@ret_value
 * is NULL.
 */
enum option_outcome options_value(char **argv, int *at, const char *name,
				  const char **ret_value);

/* Return: whether @text is a number from @min to @max, as "12" or "0x1a". */
bool options_number(const char *text, uint64_t min, uint64_t max,
		    uint64_t *ret_number);

/* Sets USIW_PERSONA.  Return: 0; -1: the reason is on stderr. */
int options_set(const struct options *options);

#endif

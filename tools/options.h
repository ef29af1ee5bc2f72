/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The options that commands have in common with usiw run. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>

#define OPTIONS_USAGE "[--persona rnic|ca] [--sdp]"

struct options {
	bool wants_sdp;
	const char *persona; /* NULL: not given */
};

enum option_outcome { OPTION_TAKEN, OPTION_OTHER, OPTION_WRONG };

/*
 * Takes the option at @argv[*@at], and moves *@at behind it and its value.
 * @ret_wrong: for OPTION_WRONG, the word at fault and what is wrong with it.
 */
enum option_outcome options_take(char **argv, int *at, struct options *options,
				 const char *ret_wrong[2]);

/* Sets USIW_PERSONA.  Return: 0; -1: the reason is on stderr. */
int options_set(const struct options *options);

#endif

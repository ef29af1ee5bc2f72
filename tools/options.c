/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See options.h. */
#include "options.h"

#include <stddef.h>
#include <string.h>

#include "environment.h"

#define PERSONA_OPTION "--persona"
#define SDP_OPTION "--sdp"

static enum option_outcome wrong(const char *ret_wrong[2], const char *word,
				 const char *what)
{
	ret_wrong[0] = word;
	ret_wrong[1] = what;
	return OPTION_WRONG;
}

enum option_outcome options_take(char **argv, int *at, struct options *options,
				 const char *ret_wrong[2])
{
	const char *word = argv[*at], *value;

	if (strcmp(word, SDP_OPTION) == 0) {
		options->wants_sdp = true;
		*at += 1;
		return OPTION_TAKEN;
	}
	if (strcmp(word, PERSONA_OPTION) == 0)
		value = argv[*at + 1];
	else if (strncmp(word, PERSONA_OPTION "=", sizeof(PERSONA_OPTION)) == 0)
		value = word + sizeof(PERSONA_OPTION);
	else
		return OPTION_OTHER;
	if (!value)
		return wrong(ret_wrong, PERSONA_OPTION,
			     "value missing: rnic or ca");
	if (strcmp(value, "rnic") != 0 && strcmp(value, "ca") != 0)
		return wrong(ret_wrong, value,
			     "no such persona: use rnic or ca");
	options->persona = value;
	*at += value == argv[*at + 1] ? 2 : 1;
	return OPTION_TAKEN;
}

int options_set(const struct options *options)
{
	return options->persona
		       ? environment_put("USIW_PERSONA", options->persona, true)
		       : 0;
}

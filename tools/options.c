/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See options.h. */
#include "options.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
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
	enum option_outcome outcome;
	const char *value;

	if (strcmp(argv[*at], SDP_OPTION) == 0) {
		options->wants_sdp = true;
		*at += 1;
		return OPTION_TAKEN;
	}
	outcome = options_value(argv, at, PERSONA_OPTION, &value);
	if (outcome == OPTION_OTHER)
		return outcome;
	if (outcome == OPTION_WRONG)
		return wrong(ret_wrong, PERSONA_OPTION,
			     "value missing: rnic or ca");
	if (strcmp(value, "rnic") != 0 && strcmp(value, "ca") != 0)
		return wrong(ret_wrong, value,
			     "no such persona: use rnic or ca");
	options->persona = value;
	return OPTION_TAKEN;
}

enum option_outcome options_value(char **argv, int *at, const char *name,
				  const char **ret_value)
{
	const char *word = argv[*at];
	size_t len = strlen(name);

	if (strncmp(word, name, len) != 0 || (word[len] && word[len] != '='))
		return OPTION_OTHER;
	*ret_value = word[len] ? word + len + 1 : argv[*at + 1];
	if (!*ret_value)
		return OPTION_WRONG;
	*at += word[len] ? 1 : 2;
	return OPTION_TAKEN;
}

bool options_number(const char *text, uint64_t min, uint64_t max,
		    uint64_t *ret_number)
{
	bool is_hex = strncmp(text, "0x", 2) == 0;
	char *end;

	errno = 0;
	*ret_number = strtoull(text, &end, is_hex ? 16 : 10);
	return *text >= '0' && *text <= '9' && !*end && !errno &&
	       *ret_number >= min && *ret_number <= max;
}

int options_set(const struct options *options)
{
	return options->persona
		       ? environment_put("USIW_PERSONA", options->persona, true)
		       : 0;
}

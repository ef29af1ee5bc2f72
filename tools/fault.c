/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See fault.h. */
#define _GNU_SOURCE /* asprintf */
#include "fault.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos.h"
#include "cmd.h"
#include "environment.h"
#include "options.h"
#include "util/env.h"
#include "util/fault-spec.h"
#include "util/log-spec.h"

#define FAULT_VARIABLE "USIW_FAULT"

/* Options add to each other, and replace what the caller's environment says. */
static bool has_rules;

static int rules_refuse(const char *text, const struct util_fault_error *error)
{
	char lines[UTIL_FAULT_SHOWN_MAX];

	util_fault_error_show(text, error, lines);
	fprintf(stderr, "usiw: run: --fault: %s; see usiw-fault(7)\n%s",
		error->what, lines);
	return USAGE_EXIT;
}

/* Injected faults are logged at the level warn. */
static int log_raise(void)
{
	struct util_log_spec spec;

	if (getenv("USIW_LOG") ||
	    (util_settings()->log &&
	     util_log_spec_parse(util_settings()->log, &spec) &&
	     spec.level >= UTIL_LOG_WARN))
		return 0;
	return environment_put("USIW_LOG", "warn", true) < 0 ? 1 : 0;
}

static int rules_take(const char *value)
{
	const char *old = has_rules ? getenv(FAULT_VARIABLE) : NULL;
	struct util_fault_error error;
	struct util_fault_spec spec;
	char *text;
	int ret;

	if (!value) {
		fputs("usiw: run: --fault: rules are missing; see "
		      "usiw-fault(7)\n",
		      stderr);
		return USAGE_EXIT;
	}
	if (!util_fault_spec_parse(value, &spec, &error))
		return rules_refuse(value, &error);
	if (asprintf(&text, "%s%s%s", old ? old : "", old ? ";" : "", value) <
	    0) {
		fputs("usiw: out of memory\n", stderr);
		return 1;
	}
	/* Together there may be too many, or one key twice. */
	if (!util_fault_spec_parse(text, &spec, &error))
		ret = rules_refuse(text, &error);
	else
		ret = environment_put(FAULT_VARIABLE, text, true) < 0 ? 1 : 0;
	free(text);
	has_rules = true;
	return ret ? ret : log_raise();
}

/* SEED, or SEED,hard. */
static bool chaos_parse(const char *value, uint64_t *ret_seed, bool *ret_hard)
{
	unsigned long long seed;
	char *end;

	if (!isdigit((unsigned char)*value))
		return false;
	errno = 0;
	seed = strtoull(value, &end, 10);
	*ret_seed = seed;
	*ret_hard = strcmp(end, ",hard") == 0;
	return !errno && (!*end || *ret_hard);
}

static int chaos_take(const char *value)
{
	char rules[CHAOS_MAX];
	uint64_t seed;
	bool is_hard;

	if (!value || !chaos_parse(value, &seed, &is_hard)) {
		fprintf(stderr,
			"usiw: run: --chaos%s%s: use a number, the seed, or "
			"SEED,hard; see usiw-fault(7)\n",
			value ? ": " : "", value ? value : "");
		return USAGE_EXIT;
	}
	chaos_draw(seed, is_hard, rules);
	fprintf(stderr, "usiw: run: --chaos %s is --fault '%s'\n", value,
		rules);
	return rules_take(rules);
}

static const struct {
	const char *name;
	int (*take)(const char *value); /* NULL: it is missing */
} taken[] = {
	{ "--fault", rules_take },
	{ "--chaos", chaos_take },
};

int fault_take(char **argv, int *at)
{
	const char *value;

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (options_value(argv, at, taken[i].name, &value) !=
		    OPTION_OTHER)
			return taken[i].take(value);
	return -1;
}

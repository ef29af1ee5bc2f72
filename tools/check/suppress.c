/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See suppress.h. */
#include "suppress.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

static const char *const keys[] = { "function", "module", "file" };
#define KEY_CNT (sizeof(keys) / sizeof(keys[0]))

struct suppression {
	SLIST_ENTRY(suppression) link;
	char *line; /* of the file, cut into words */
	const char *rule;
	const char *patterns[KEY_CNT]; /* NULL: any */
};

struct suppressions {
	SLIST_HEAD(, suppression) all;
};

struct suppressions *suppressions_new(void)
{
	return calloc(1, sizeof(struct suppressions));
}

static void suppression_free(struct suppression *one)
{
	if (one)
		free(one->line);
	free(one);
}

void suppressions_free(struct suppressions *suppressions)
{
	struct suppression *one;

	if (!suppressions)
		return;
	while ((one = SLIST_FIRST(&suppressions->all))) {
		SLIST_REMOVE_HEAD(&suppressions->all, link);
		suppression_free(one);
	}
	free(suppressions);
}

/* Return: false: the word is none of KEY=PATTERN. */
static bool word_take(struct suppression *one, const char *word)
{
	for (size_t i = 0; i < KEY_CNT; i++) {
		size_t len = strlen(keys[i]);

		if (strncmp(word, keys[i], len) == 0 && word[len] == '=') {
			one->patterns[i] = word + len + 1;
			return true;
		}
	}
	return false;
}

/* Return: 0; -1: the line is none. */
static int line_take(struct suppressions *suppressions, const char *text)
{
	struct suppression *one = calloc(1, sizeof(*one));
	char *save, *word;

	if (!one || !(one->line = strdup(text)))
		goto refuse;
	one->rule = strtok_r(one->line, " \t\n", &save);
	if (!one->rule || one->rule[0] == '#') {
		suppression_free(one);
		return 0;
	}
	while ((word = strtok_r(NULL, " \t\n", &save)))
		if (!word_take(one, word))
			goto refuse;
	SLIST_INSERT_HEAD(&suppressions->all, one, link);
	return 0;
refuse:
	suppression_free(one);
	return -1;
}

int suppressions_read(struct suppressions *suppressions, const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned int number = 0;
	char *line = NULL;
	size_t size = 0;
	int ret = 0;

	if (!file) {
		fprintf(stderr, "usiw: check: %s: %s\n", path, strerror(errno));
		return -1;
	}
	while (!ret && getline(&line, &size, file) >= 0) {
		number++;
		ret = line_take(suppressions, line);
	}
	if (ret)
		fprintf(stderr,
			"usiw: check: %s:%u: a line is RULE "
			"[function=PATTERN] [module=PATTERN] [file=PATTERN]\n",
			path, number);
	free(line);
	fclose(file);
	return ret;
}

static bool frame_matches(const struct suppression *one, const json_t *frame)
{
	for (size_t i = 0; i < KEY_CNT; i++) {
		const char *text =
			json_string_value(json_object_get(frame, keys[i]));

		if (one->patterns[i] &&
		    fnmatch(one->patterns[i], text ? text : "", 0))
			return false;
	}
	return true;
}

static bool one_matches(const struct suppression *one, const json_t *finding)
{
	const char *rule = json_string_value(json_object_get(finding, "rule"));
	bool is_for_all = true;
	json_t *stack, *frame;
	size_t i, j;

	if (!rule || fnmatch(one->rule, rule, 0))
		return false;
	for (i = 0; i < KEY_CNT; i++)
		is_for_all = is_for_all && !one->patterns[i];
	if (is_for_all)
		return true;
	json_array_foreach(json_object_get(finding, "stacks"), i, stack)
		json_array_foreach(
			json_object_get(stack, "frames"), j,
			frame) if (frame_matches(one, frame)) return true;
	return false;
}

bool suppressions_match(const struct suppressions *suppressions,
			const json_t *finding)
{
	const struct suppression *one;

	SLIST_FOREACH(one, &suppressions->all, link)
	if (one_matches(one, finding))
		return true;
	return false;
}

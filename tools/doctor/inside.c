/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See inside.h. */
#define _GNU_SOURCE
#include "doctor/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor/child.h"
#include "environment.h"

/* A host with many interfaces takes seconds if no octet gets through. */
#define HANG_MS 60000

struct start {
	const char *libibverbs;
	bool wants_sdp;
};

/* In the child. */
static int start(const void *arg)
{
	const struct start *how = arg;

	/* The lines say why an interface is no device. */
	if (environment_put("USIW_LOG", "info", true) < 0 ||
	    environment_set(how->wants_sdp, false) < 0)
		return 1;
	execl("/proc/self/exe", "usiw", "doctor", INSIDE_WORD, how->libibverbs,
	      (char *)NULL);
	return 1;
}

static int lines_split(struct inside *inside)
{
	char *rest = inside->octets, *text;

	while ((text = strsep(&rest, "\n"))) {
		struct inside_line *lines, line = { .text = text };

		if (!*text)
			continue;
		if (*text == INSIDE_MARK) {
			line.name = text + 1;
			line.text = strchrnul(text, ' ');
			if (*line.text)
				*line.text++ = '\0';
		}
		lines = realloc(inside->lines,
				(inside->cnt + 1) * sizeof(*lines));
		if (!lines)
			return -ENOMEM;
		inside->lines = lines;
		lines[inside->cnt++] = line;
	}
	return 0;
}

void inside_look(struct inside *ret_inside, const char *libibverbs,
		 bool wants_sdp)
{
	const struct start how = { libibverbs, wants_sdp };
	struct child child;

	child_run(&child, start, &how, HANG_MS);
	*ret_inside = (struct inside){ .octets = child.octets,
				       .err = child.err,
				       .is_hung = child.is_hung,
				       .signal = child.signal };
	if (child.octets && lines_split(ret_inside) < 0)
		ret_inside->err = ENOMEM;
}

void inside_free(struct inside *inside)
{
	free(inside->lines);
	free(inside->octets);
}

const char *inside_next(const struct inside *inside, const char *name,
			size_t *at)
{
	while (*at < inside->cnt) {
		const struct inside_line *line = &inside->lines[(*at)++];

		if (line->name && strcmp(line->name, name) == 0)
			return line->text;
	}
	return NULL;
}

const char *inside_get(const struct inside *inside, const char *name)
{
	size_t at = 0;

	return inside_next(inside, name, &at);
}

const char *inside_claim(struct inside *inside, const char *part)
{
	for (size_t i = 0; i < inside->cnt; i++) {
		struct inside_line *line = &inside->lines[i];

		if (line->name || line->is_claimed || !strstr(line->text, part))
			continue;
		line->is_claimed = true;
		return line->text;
	}
	return NULL;
}

const char *inside_said(const char *line)
{
	static const char *const levels[] = { ": error: ", ": warn: ",
					      ": info: " };

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		const char *level = strstr(line, levels[i]);

		if (level)
			return level + strlen(levels[i]);
	}
	return strncmp(line, "usiw: ", strlen("usiw: ")) == 0
		       ? line + strlen("usiw: ")
		       : line;
}

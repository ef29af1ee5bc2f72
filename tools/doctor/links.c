/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See links.h. */
#define _GNU_SOURCE
#include "doctor/links.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "doctor/child.h"
#include "environment.h"

#define LIMIT_MS 20000
#define ARROW " => "
#define FAILED "error while loading shared libraries: "

/* In the child. */
static int start(const void *arg)
{
	/* NOLINTNEXTLINE: the auxiliary vector has addresses as numbers */
	void *base = (void *)getauxval(AT_BASE);
	Dl_info linker;

	if (!base || !dladdr(base, &linker) || !linker.dli_fname ||
	    environment_set(false, false) < 0)
		return 1;
	execl(linker.dli_fname, linker.dli_fname, "--list", arg, (char *)NULL);
	return 1;
}

/* "libx.so.1 => /lib/libx.so.1 (0x1)", or "/lib/libx.so.1 (0x1)".
 * Return: false: another line. */
static bool line_parse(char *line, struct link *ret_link)
{
	char *arrow = strstr(line, ARROW), *at = strstr(line, " (0x");

	if (*line != '\t' || !at)
		return false;
	*at = '\0';
	ret_link->name = line + 1;
	ret_link->path = arrow ? arrow + strlen(ARROW) : line + 1;
	if (arrow)
		*arrow = '\0';
	return true;
}

static void lines_parse(struct links *links)
{
	char *rest = links->octets, *line;

	while (rest && (line = strsep(&rest, "\n"))) {
		struct link link, *list;

		if (!line_parse(line, &link)) {
			if (strstr(line, FAILED))
				links->error =
					strstr(line, FAILED) + strlen(FAILED);
			continue;
		}
		list = realloc(links->list, (links->cnt + 1) * sizeof(*list));
		if (!list)
			return;
		links->list = list;
		list[links->cnt++] = link;
	}
}

void links_look(struct links *ret_links, const char *path)
{
	struct child child;

	memset(ret_links, 0, sizeof(*ret_links));
	child_run(&child, start, path, LIMIT_MS);
	ret_links->octets = child.octets;
	lines_parse(ret_links);
}

void links_free(struct links *links)
{
	free(links->list);
	free(links->octets);
}

static bool begins_with(const char *path, const char *prefix)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, prefix, strlen(prefix)) == 0;
}

const struct link *links_find(const struct links *links, const char *prefix)
{
	for (size_t i = 0; i < links->cnt; i++)
		if (begins_with(links->list[i].name, prefix))
			return &links->list[i];
	return NULL;
}

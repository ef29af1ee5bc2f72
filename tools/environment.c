/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See environment.h. */
#define _GNU_SOURCE
#include "environment.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SDP_NAME "libsdp.so"
#define CHECK_NAME "libusiw-check.so"
/* The dynamic linker replaces $ORIGIN and $LIB. */
#define PRELOAD_NOT "space, colon or dollar sign"
#define ASAN_ALLOW "verify_asan_link_order=0"

/*
 * Directories of the libraries, relative to the directory of this program: in a
 * build tree, and installed.  The provider's name is the value for
 * RDMAV_DRIVERS, to which libibverbs appends -rdmavNN.so.
 */
static const struct layout {
	const char *lib_dir;
	const char *provider;
} layouts[] = {
	{ "../lib", "../lib/libusiw" },
	{ USIW_BIN_TO_LIB "/usiw", USIW_BIN_TO_LIB "/libibverbs/libusiw" },
};

static int join(char ret_path[PATH_MAX], const char *a, const char *b,
		const char *c)
{
	int len = snprintf(ret_path, PATH_MAX, "%s/%s%s%s", a, b, *c ? "/" : "",
			   c);

	if (len >= 0 && len < PATH_MAX)
		return 0;
	fprintf(stderr, "usiw: path too long: %s/%s\n", a, b);
	return -1;
}

static int own_dir(char ret_dir[PATH_MAX])
{
	ssize_t len = readlink("/proc/self/exe", ret_dir, PATH_MAX - 1);
	char *slash;

	if (len > 0) {
		ret_dir[len] = '\0';
		slash = strrchr(ret_dir, '/');
		if (slash) {
			*slash = '\0';
			return 0;
		}
	}
	fprintf(stderr,
		"usiw: cannot read /proc/self/exe: %s; "
		"is /proc mounted?\n",
		strerror(errno));
	return -1;
}

/* The first layout with a preload library.  @ret_path: its path. */
static const struct layout *layout_find(const char *dir,
					char ret_path[PATH_MAX])
{
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (join(path, dir, layouts[i].lib_dir, ENVIRONMENT_PRELOAD) <
		    0)
			return NULL;
		if (realpath(path, ret_path))
			return &layouts[i];
	}
	fprintf(stderr,
		"usiw: " ENVIRONMENT_PRELOAD
		" is neither in %s/%s nor in %s/%s: "
		"build it or install it\n",
		dir, layouts[0].lib_dir, dir, layouts[1].lib_dir);
	return NULL;
}

/* True if @list, separated by colons or blanks, contains @item. */
static bool list_has(const char *list, const char *item)
{
	size_t len;

	for (; *list; list += len + (list[len] != '\0')) {
		len = strcspn(list, ": ");
		if (len == strlen(item) && strncmp(list, item, len) == 0)
			return true;
	}
	return false;
}

int environment_put(const char *name, const char *value, bool is_override)
{
	if (setenv(name, value, is_override) == 0)
		return 0;
	fprintf(stderr, "usiw: cannot set %s: %s\n", name, strerror(errno));
	return -1;
}

/*
 * The list in @variable cannot name a @path with one of its @separators,
 * because it has no quoting.  Return: 0; -1: the error was printed.
 */
static int listable_check(const char *path, const char *variable,
			  const char *separators, const char *which)
{
	if (!strpbrk(path, separators))
		return 0;
	fprintf(stderr,
		"usiw: %s: %s cannot name a path with a %s in it: "
		"install or build usiw in another directory\n",
		path, variable, which);
	return -1;
}

/* True if @item, of @len octets, has the file name of @path and another
 * directory: it belongs to another installation. */
static bool is_others(const char *item, size_t len, const char *path)
{
	const char *name = strrchr(path, '/');
	size_t name_len = strlen(name);

	return len >= name_len &&
	       strncmp(item + len - name_len, name, name_len) == 0 &&
	       (len != strlen(path) || strncmp(item, path, len) != 0);
}

/*
 * If this usiw run was started by the usiw run of another installation, removes
 * the libraries of that installation from the list @variable.  They do not work
 * together with the library at @path.
 */
static int others_drop(const char *variable, const char *separators,
		       const char *path)
{
	const char *item = getenv(variable);
	char *list, *end;
	size_t len;
	int ret;

	if (!item)
		return 0;
	list = end = calloc(1, strlen(item) + 1);
	if (!list) {
		fputs("usiw: out of memory\n", stderr);
		return -1;
	}
	for (; *item; item += len + (item[len] != '\0')) {
		len = strcspn(item, separators);
		if (!len || is_others(item, len, path))
			continue;
		if (end != list)
			*end++ = ':';
		end = mempcpy(end, item, len);
	}
	ret = *list ? environment_put(variable, list, true)
		    : unsetenv(variable);
	free(list);
	return ret;
}

/* Puts @path to the front once, even if usiw run starts usiw run. */
static int preload_prepend(const char *path)
{
	const char *old;
	char *list;
	int ret;

	if (others_drop("LD_PRELOAD", " :", path) < 0)
		return -1;
	old = getenv("LD_PRELOAD");
	if (old && list_has(old, path))
		return 0;
	if (asprintf(&list, "%s%s%s", path, old && *old ? ":" : "",
		     old ? old : "") < 0) {
		fputs("usiw: out of memory\n", stderr);
		return -1;
	}
	ret = environment_put("LD_PRELOAD", list, true);
	free(list);
	return ret;
}

/*
 * Always set, even where libibverbs would find a provider by itself.  It looks
 * in its own directory and may find the provider of another installation there.
 */
static int provider_set(const struct layout *layout, const char *dir)
{
	char path[PATH_MAX], place[PATH_MAX];
	char *slash;

	/* The prefix is not a file, so its directory is resolved. */
	if (join(path, dir, layout->provider, "") < 0)
		return -1;
	slash = strrchr(path, '/');
	*slash = '\0';
	if (!realpath(path, place)) {
		fprintf(stderr,
			"usiw: no directory %s for the provider: "
			"%s\n",
			path, strerror(errno));
		return -1;
	}
	if (join(path, place, "libusiw", "") < 0 ||
	    listable_check(path, "RDMAV_DRIVERS", ":;", "colon or semicolon") <
		    0)
		return -1;
	if (others_drop("RDMAV_DRIVERS", ":;", path) < 0)
		return -1;
	return environment_put("RDMAV_DRIVERS", path, false);
}

/*
 * A program that was built with ASan ends if its runtime is not the first
 * library, so that ASan sees all calls.  The functions that usiw wraps pass
 * them on to the runtime, as they do to libc.
 */
static int asan_allow(void)
{
	const char *old = getenv("ASAN_OPTIONS");
	char *list;
	int ret;

	if (old && strstr(old, "verify_asan_link_order"))
		return 0;
	if (asprintf(&list, "%s%s" ASAN_ALLOW, old ? old : "",
		     old && *old ? ":" : "") < 0) {
		fputs("usiw: out of memory\n", stderr);
		return -1;
	}
	ret = environment_put("ASAN_OPTIONS", list, true);
	free(list);
	return ret;
}

/* In a build with sanitizers their runtime precedes the RNIC's library.  That
 * of TSan would wait a second at the end of each process, and clear a long
 * history at the start of each thread. */
static int sanitizer_set(void)
{
	if (!*USIW_SANITIZER_RUNTIME)
		return asan_allow();
	if (environment_put("ASAN_OPTIONS", ASAN_ALLOW ":detect_leaks=0",
			    false) < 0 ||
	    environment_put("TSAN_OPTIONS",
			    "ignore_noninstrumented_modules=1:"
			    "atexit_sleep_ms=0:history_size=1",
			    false) < 0)
		return -1;
	return preload_prepend(USIW_SANITIZER_RUNTIME);
}

/*
 * libsdp.so comes before the other library, so that its calls reach the RNIC's
 * devices.  It also comes before a sanitizer's runtime, which wraps socket()
 * and similar calls, because it distinguishes the program's calls from the
 * RNIC's by the object file of the caller.  libusiw-check.so comes before such
 * a runtime, too, which passes no free() on.
 */
static int first_set(const struct layout *layout, const char *dir,
		     const char *name, const char *package)
{
	char path[PATH_MAX], real[PATH_MAX];

	if (join(path, dir, layout->lib_dir, name) < 0)
		return -1;
	if (!realpath(path, real)) {
		fprintf(stderr,
			"usiw: no %s: %s; build it or install it "
			"(Debian: %s)\n",
			path, strerror(errno), package);
		return -1;
	}
	if (listable_check(real, "LD_PRELOAD", " :$", PRELOAD_NOT) < 0)
		return -1;
	return preload_prepend(real);
}

int environment_set(bool wants_sdp, bool is_checked)
{
	char dir[PATH_MAX], preload[PATH_MAX];
	const struct layout *layout;

	if (own_dir(dir) < 0)
		return -1;
	layout = layout_find(dir, preload);
	if (!layout ||
	    listable_check(preload, "LD_PRELOAD", " :$", PRELOAD_NOT) < 0 ||
	    preload_prepend(preload) < 0)
		return -1;
	if (provider_set(layout, dir) < 0)
		return -1;
	if (sanitizer_set() < 0)
		return -1;
	if (wants_sdp && first_set(layout, dir, SDP_NAME, "usiw-sdp") < 0)
		return -1;
	return is_checked ? first_set(layout, dir, CHECK_NAME, "usiw") : 0;
}

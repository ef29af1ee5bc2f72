/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See stack.h. */
#define _GNU_SOURCE
#include "stack.h"

#include <execinfo.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/text.h"
#include "json-text.h"

void usiw_check_stack_take(struct usiw_check_stack *ret_stack)
{
	int cnt = backtrace(ret_stack->pc, USIW_CHECK_FRAMES);

	ret_stack->cnt = cnt > 0 ? (uint32_t)cnt : 0;
}

void usiw_check_stack_init(void)
{
	struct usiw_check_stack stack;

	usiw_check_stack_take(&stack);
}

/* ---- modules ----------------------------------------------------------- */

/* Where an address belongs. */
struct place {
	uintptr_t pc;
	uintptr_t base; /* of the first octet of the file; 0: not found */
	char path[PATH_MAX];
};

static void path_set(struct place *place, const char *name)
{
	ssize_t len;

	if (*name) {
		snprintf(place->path, sizeof(place->path), "%s", name);
		return;
	}
	/* The program itself. */
	len = readlink("/proc/self/exe", place->path, sizeof(place->path) - 1);
	place->path[len > 0 ? len : 0] = '\0';
}

static int module_look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct place *place = arg;
	uintptr_t low = UINTPTR_MAX;
	bool is_here = false;

	(void)size;
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type != PT_LOAD)
			continue;
		if (start < low)
			low = start;
		if (place->pc >= start && place->pc - start < phdr->p_memsz)
			is_here = true;
	}
	if (!is_here)
		return 0;
	place->base = low & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
	path_set(place, info->dlpi_name);
	return 1;
}

/*
 * dladdr() takes the lock that dlopen() holds over constructors, which may call
 * verbs.  This takes another one.
 */
static bool place_find(struct place *place, void *pc)
{
	/* The call is before the address to which it returns. */
	place->pc = (uintptr_t)pc - 1;
	place->base = 0;
	(void)dl_iterate_phdr(module_look, place);
	return place->base;
}

/* Is it a library of usiw?  A sanitizer's is between it and libc. */
static bool is_own(const struct place *place)
{
	const char *slash = strrchr(place->path, '/');
	const char *name = slash ? slash + 1 : place->path;

	return strncmp(name, "libusiw", 7) == 0 ||
	       strncmp(name, "libasan", 7) == 0 ||
	       strncmp(name, "libtsan", 7) == 0;
}

/* Under the lock of shadow.h, as the callers are. */
static struct place now;

/* The first frame outside of usiw. */
static uint32_t first_find(const struct usiw_check_stack *stack)
{
	uint32_t i = 0;

	while (i < stack->cnt && place_find(&now, stack->pc[i]) && is_own(&now))
		i++;
	return i;
}

/* ---- text -------------------------------------------------------------- */

void usiw_check_stack_print(const struct usiw_check_stack *stack,
			    struct util_text *text)
{
	const char *comma = "";

	util_text_add(text, "[");
	for (uint32_t i = first_find(stack); i < stack->cnt; i++) {
		if (!place_find(&now, stack->pc[i]))
			continue;
		util_text_add(text, "%s[", comma);
		usiw_json_text_string(text, now.path);
		util_text_add(text, ",%zu]", (size_t)(now.pc - now.base));
		comma = ",";
	}
	util_text_add(text, "]");
}

bool usiw_check_stack_is_by(const struct usiw_check_stack *stack,
			    const char *name)
{
	for (uint32_t i = first_find(stack); i < stack->cnt; i++)
		if (place_find(&now, stack->pc[i]) &&
		    !strstr(now.path, "libibverbs"))
			return strstr(now.path, name) != NULL;
	return false;
}

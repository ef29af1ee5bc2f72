/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See report.h. */
#define _GNU_SOURCE
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/keep-errno.h"
#include "util/log.h"
#include "util/text.h"
#include "hash.h"
#include "json-text.h"

#define LINE_MAX_LEN 16384
#define WHAT_MAX 512
/* Different findings of a process; the rest is not reported. */
#define KEY_MAX 4096

enum level { FINDING, NOTE };

static const struct {
	const char *name;
	enum level level;
	const char *advice;
} rules[] = {
#define RULE(id, name, level, advice)                                          \
	[USIW_CHECK_##id] = { name, level, advice },
#include "rules.def"
};

static char *path;
static struct {
	uint64_t key, cnt, told_cnt;
} seen[KEY_MAX];
static size_t seen_cnt;

bool usiw_check_report_open(void)
{
	const char *value = secure_getenv("USIW_CHECK");

	path = value && *value ? strdup(value) : NULL;
	return path != NULL;
}

/* The descriptor is not kept, since programs close what they do not know. */
static void line_write(const char *line, size_t len)
{
	static bool is_told;
	UTIL_CANCEL_OFF();
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path,
			      O_WRONLY | O_APPEND | O_CLOEXEC);

	if (fd < 0 || util_sys_write(fd, line, len) != (ssize_t)len) {
		if (!is_told)
			util_err("check",
				 "%s: %s: findings of this process are lost",
				 path, strerror(errno));
		is_told = true;
	}
	if (fd >= 0)
		(void)util_sys_close(fd);
}

static void count_write(size_t i)
{
	char line[128];
	int len = snprintf(line, sizeof(line),
			   "{\"key\":\"%016" PRIx64
			   "\",\"pid\":%d,\"count\":%" PRIu64 "}\n",
			   seen[i].key, (int)getpid(), seen[i].cnt);

	line_write(line, (size_t)len);
	seen[i].told_cnt = seen[i].cnt;
}

static uint64_t key_of(enum usiw_check_rule rule,
		       const struct usiw_check_place *place)
{
	uint64_t key = usiw_check_hash(0, &rule, sizeof(rule));

	for (; place->label; place++)
		key = usiw_check_hash(key, place->stack->pc,
				      place->stack->cnt * sizeof(void *));
	return key;
}

/* Return: true: it is new. */
static bool key_add(uint64_t key)
{
	for (size_t i = 0; i < seen_cnt; i++) {
		if (seen[i].key != key)
			continue;
		seen[i].cnt++;
		/* A program that is killed tells the rest never. */
		if ((seen[i].cnt & (seen[i].cnt - 1)) == 0)
			count_write(i);
		return false;
	}
	if (seen_cnt == KEY_MAX)
		return false;
	seen[seen_cnt].key = key;
	seen[seen_cnt].cnt = seen[seen_cnt].told_cnt = 1;
	seen_cnt++;
	return true;
}

static void places_print(struct util_text *text,
			 const struct usiw_check_place *place)
{
	const char *comma = "";

	for (; place->label; place++) {
		if (!place->stack->cnt)
			continue;
		util_text_add(text, "%s{\"of\":\"%s\",\"frames\":", comma,
			      place->label);
		usiw_check_stack_print(place->stack, text);
		util_text_add(text, "}");
		comma = ",";
	}
}

void usiw_check_report(enum usiw_check_rule rule,
		       const struct usiw_check_place *places, const char *fmt,
		       ...)
{
	static char line[LINE_MAX_LEN];
	struct util_text out = { .buf = line, .size = sizeof(line) };
	uint64_t key = key_of(rule, places);
	char what[WHAT_MAX];
	UTIL_KEEP_ERRNO();
	va_list args;

	if (!key_add(key))
		return;
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	util_text_add(&out,
		      "{\"key\":\"%016" PRIx64 "\",\"pid\":%d,"
		      "\"rule\":\"%s\",\"level\":\"%s\",\"what\":",
		      key, (int)getpid(), rules[rule].name,
		      rules[rule].level == FINDING ? "finding" : "note");
	usiw_json_text_string(&out, what);
	util_text_add(&out, ",\"do\":");
	usiw_json_text_string(&out, rules[rule].advice);
	util_text_add(&out, ",\"stacks\":[");
	places_print(&out, places);
	util_text_add(&out, "]}\n");
	if (out.is_cut)
		util_err("check", "%s: a finding is too long",
			 rules[rule].name);
	else
		line_write(line, out.len);
}

void usiw_check_report_forget(void)
{
	seen_cnt = 0;
}

void usiw_check_report_close(void)
{
	for (size_t i = 0; i < seen_cnt; i++)
		if (seen[i].told_cnt != seen[i].cnt)
			count_write(i);
}

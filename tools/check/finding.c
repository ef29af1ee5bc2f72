/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See finding.h. */
#include "finding.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "suppress.h"
#include "symbols.h"

struct finding {
	STAILQ_ENTRY(finding) link;
	char *identity; /* rule and frames: the same in all processes */
	json_t *json;
	bool is_note;
	bool is_suppressed;
	json_int_t cnt; /* of processes that have ended their count */
};

/* The count of a finding in one process. */
struct tally {
	STAILQ_ENTRY(tally) link;
	char *key;
	json_int_t pid, cnt;
	struct finding *finding;
};

struct findings {
	FILE *out;
	struct symbols *symbols;
	struct suppressions *suppressions;
	STAILQ_HEAD(, finding) all;
	STAILQ_HEAD(, tally) tallies;
};

struct findings *findings_new(void)
{
	struct findings *findings = calloc(1, sizeof(*findings));

	if (!findings)
		return NULL;
	findings->symbols = symbols_new();
	findings->suppressions = suppressions_new();
	STAILQ_INIT(&findings->all);
	STAILQ_INIT(&findings->tallies);
	if (findings->symbols && findings->suppressions)
		return findings;
	findings_free(findings);
	return NULL;
}

void findings_free(struct findings *findings)
{
	struct finding *finding;
	struct tally *tally;

	while ((tally = STAILQ_FIRST(&findings->tallies))) {
		STAILQ_REMOVE_HEAD(&findings->tallies, link);
		free(tally->key);
		free(tally);
	}
	while ((finding = STAILQ_FIRST(&findings->all))) {
		STAILQ_REMOVE_HEAD(&findings->all, link);
		free(finding->identity);
		json_decref(finding->json);
		free(finding);
	}
	symbols_free(findings->symbols);
	suppressions_free(findings->suppressions);
	free(findings);
}

void findings_print_to(struct findings *findings, FILE *out)
{
	findings->out = out;
}

int findings_suppress(struct findings *findings, const char *path)
{
	return suppressions_read(findings->suppressions, path);
}

/* ---- reading ----------------------------------------------------------- */

/* ["MODULE",OFFSET] becomes an object with what is known. */
static json_t *frame_of(struct findings *findings, json_t *raw)
{
	const char *module = json_string_value(json_array_get(raw, 0));
	json_int_t offset = json_integer_value(json_array_get(raw, 1));
	struct symbol symbol;
	json_t *frame;

	if (!module)
		return NULL;
	symbols_find(findings->symbols, module, (uint64_t)offset, &symbol);
	frame = json_pack("{s:s, s:I, s:s}", "module", module, "offset", offset,
			  "function", symbol.function ? symbol.function : "");
	if (frame && symbol.file) {
		json_object_set_new(frame, "file", json_string(symbol.file));
		json_object_set_new(frame, "line", json_integer(symbol.line));
	}
	return frame;
}

/* Replaces the frames of each stack.  Return: false: they are broken. */
static bool frames_name(struct findings *findings, json_t *json)
{
	json_t *stack, *raw, *frames;
	size_t i, j;

	json_array_foreach(json_object_get(json, "stacks"), i, stack)
	{
		if (!json_string_value(json_object_get(stack, "of")))
			return false;
		frames = json_array();
		json_array_foreach(json_object_get(stack, "frames"), j, raw)
		{
			if (json_array_append_new(frames,
						  frame_of(findings, raw)) < 0)
				goto broken;
		}
		json_object_set_new(stack, "frames", frames);
	}
	return true;
broken:
	json_decref(frames);
	return false;
}

static const char *text_of(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? text : "";
}

static struct finding *identity_find(const struct findings *findings,
				     const char *identity)
{
	struct finding *finding;

	STAILQ_FOREACH(finding, &findings->all, link)
	if (strcmp(finding->identity, identity) == 0)
		return finding;
	return NULL;
}

static char *identity_of(json_t *json)
{
	json_t *parts = json_pack("[O, O]", json_object_get(json, "rule"),
				  json_object_get(json, "stacks"));
	char *identity = parts ? json_dumps(parts, JSON_COMPACT) : NULL;

	json_decref(parts);
	return identity;
}

static void tally_add(struct findings *findings, struct finding *finding,
		      const json_t *json)
{
	struct tally *tally = calloc(1, sizeof(*tally));

	if (!tally || !(tally->key = strdup(text_of(json, "key")))) {
		free(tally);
		return;
	}
	tally->pid = json_integer_value(json_object_get(json, "pid"));
	tally->cnt = 1;
	tally->finding = finding;
	STAILQ_INSERT_TAIL(&findings->tallies, tally, link);
}

static void finding_print(const struct finding *finding, FILE *out);

static void finding_add(struct findings *findings, json_t *json)
{
	struct finding *finding;
	char *identity;

	if (!*text_of(json, "rule") || !*text_of(json, "what") ||
	    !frames_name(findings, json))
		return;
	identity = identity_of(json);
	finding = identity ? identity_find(findings, identity) : NULL;
	if (finding || !identity) {
		free(identity);
	} else {
		finding = calloc(1, sizeof(*finding));
		if (!finding) {
			free(identity);
			return;
		}
		finding->identity = identity;
		finding->json = json_incref(json);
		finding->is_note = strcmp(text_of(json, "level"), "note") == 0;
		finding->is_suppressed =
			suppressions_match(findings->suppressions, json);
		STAILQ_INSERT_TAIL(&findings->all, finding, link);
		if (findings->out && !finding->is_suppressed)
			finding_print(finding, findings->out);
	}
	if (finding)
		tally_add(findings, finding, json);
}

static void count_take(struct findings *findings, const json_t *json)
{
	json_int_t pid = json_integer_value(json_object_get(json, "pid"));
	json_int_t cnt = json_integer_value(json_object_get(json, "count"));
	const char *key = text_of(json, "key");
	struct tally *tally;

	STAILQ_FOREACH(tally, &findings->tallies, link)
	if (tally->pid == pid && strcmp(tally->key, key) == 0)
		tally->cnt = cnt;
}

void findings_take(struct findings *findings, const char *line, size_t len)
{
	json_t *json = json_loadb(line, len, 0, NULL);

	if (json_object_get(json, "count"))
		count_take(findings, json);
	else if (json)
		finding_add(findings, json);
	json_decref(json);
}

/* ---- printing ---------------------------------------------------------- */

static void frame_print(const json_t *frame, const char *by, FILE *out)
{
	const char *module = text_of(frame, "module");
	const char *slash = strrchr(module, '/');
	const char *function = text_of(frame, "function");
	const char *file = text_of(frame, "file");
	json_int_t line = json_integer_value(json_object_get(frame, "line"));
	json_int_t offset =
		json_integer_value(json_object_get(frame, "offset"));

	fprintf(out, "    %s %s (", by, *function ? function : "?");
	if (*file) {
		const char *name = strrchr(file, '/');

		fprintf(out, "%s:%" JSON_INTEGER_FORMAT ")\n",
			name ? name + 1 : file, line);
	} else {
		fprintf(out, "%s+0x%" PRIx64 ")\n", slash ? slash + 1 : module,
			(uint64_t)offset);
	}
}

static void finding_print(const struct finding *finding, FILE *out)
{
	json_t *stack, *frame;
	size_t i, j;

	fprintf(out, "usiw: check: [%" JSON_INTEGER_FORMAT "] %s%s: %s\n",
		json_integer_value(json_object_get(finding->json, "pid")),
		finding->is_note ? "note: " : "",
		text_of(finding->json, "rule"), text_of(finding->json, "what"));
	json_array_foreach(json_object_get(finding->json, "stacks"), i, stack)
	{
		fprintf(out, "  %s\n", text_of(stack, "of"));
		json_array_foreach(json_object_get(stack, "frames"), j, frame)
		{
			frame_print(frame, j ? "by" : "at", out);
			if (strcmp(text_of(frame, "function"), "main") == 0)
				break;
		}
	}
	fprintf(out, "  to do: %s\n\n", text_of(finding->json, "do"));
	fflush(out);
}

size_t findings_cnt(const struct findings *findings)
{
	const struct finding *finding;
	size_t cnt = 0;

	STAILQ_FOREACH(finding, &findings->all, link)
	cnt += !finding->is_note && !finding->is_suppressed;
	return cnt;
}

static json_int_t count_of(const struct findings *findings,
			   const struct finding *finding)
{
	const struct tally *tally;
	json_int_t cnt = 0;

	STAILQ_FOREACH(tally, &findings->tallies, link)
	if (tally->finding == finding)
		cnt += tally->cnt;
	return cnt;
}

void findings_end(const struct findings *findings, FILE *out)
{
	size_t note_cnt = 0, suppressed_cnt = 0;
	const struct finding *finding;

	STAILQ_FOREACH(finding, &findings->all, link)
	{
		json_int_t cnt = count_of(findings, finding);

		suppressed_cnt += finding->is_suppressed;
		note_cnt += finding->is_note && !finding->is_suppressed;
		if (cnt > 1 && !finding->is_suppressed)
			fprintf(out,
				"usiw: check: %s: %" JSON_INTEGER_FORMAT
				" times: %s\n",
				text_of(finding->json, "rule"), cnt,
				text_of(finding->json, "what"));
	}
	fprintf(out, "usiw: check: %zu findings, %zu notes, %zu suppressed\n",
		findings_cnt(findings), note_cnt, suppressed_cnt);
}

json_t *findings_json(const struct findings *findings)
{
	json_t *all = json_array(), *one;
	const struct finding *finding;

	STAILQ_FOREACH(finding, &findings->all, link)
	{
		if (finding->is_suppressed)
			continue;
		one = json_copy(finding->json);
		json_object_del(one, "key");
		json_object_set_new(one, "count",
				    json_integer(count_of(findings, finding)));
		json_array_append_new(all, one);
	}
	return json_pack("{s:o, s:I}", "findings", all, "count",
			 (json_int_t)findings_cnt(findings));
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See filter.h. */
#include "filter.h"

#include <string.h>

bool filter_is_narrow(const struct filter *filter)
{
	bool is_narrow = filter->device || filter->state || filter->peer ||
			 filter->has_qp || filter->wants_sdp ||
			 filter->wants_counters;

	for (size_t i = 0; i < FIELDS_KIND_CNT; i++)
		is_narrow |= filter->is_selected[i];
	return is_narrow;
}

static bool has_field(const struct kind *kind, const char *name)
{
	return fields_find(kind, name) != NULL;
}

/* A device has a name where others refer to it. */
static const char *device_field(const struct kind *kind)
{
	return kind->kind == USIW_RES_DEVICE ? "name" : "device";
}

bool filter_has_kind(const struct filter *filter, const struct kind *kind)
{
	bool is_any_selected = filter->wants_sdp || filter->wants_counters;

	for (size_t i = 0; i < FIELDS_KIND_CNT; i++)
		is_any_selected |= filter->is_selected[i];
	if (is_any_selected && !filter->is_selected[kind - fields_kinds])
		return false;
	return !(filter->state && !has_field(kind, "state")) &&
	       !(filter->peer && !has_field(kind, "peer")) &&
	       !(filter->has_qp && !has_field(kind, "qp"));
}

/* "192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]:80" */
bool filter_takes_peer(const struct filter *filter, const char *text)
{
	const char *peer = filter->peer;
	size_t len = strlen(peer);

	if (strcmp(text, peer) == 0)
		return true;
	if (*text == '[' && *peer != '[')
		text++;
	if (strncmp(text, peer, len) != 0)
		return false;
	/* An address, and the port or scope of the text follows. */
	return text[len] == ']' || text[len] == '%' ||
	       (text[len] == ':' && !strchr(text + len + 1, ':'));
}

static struct cell value_of(const struct kind *kind, const char *field,
			    const struct view *view, const void *resource)
{
	struct cell cell = { .type = CELL_NONE };

	fields_find(kind, field)->get(view, resource, &cell);
	return cell;
}

static bool has_text(const struct cell *cell, const char *text)
{
	return cell->type == CELL_TEXT && strcmp(cell->text, text) == 0;
}

bool filter_takes(const struct filter *filter, const struct kind *kind,
		  const struct view *view, const void *resource)
{
	struct cell cell;

	if (filter->device) {
		cell = value_of(kind, device_field(kind), view, resource);
		if (!has_text(&cell, filter->device))
			return false;
	}
	if (filter->state) {
		cell = value_of(kind, "state", view, resource);
		if (!has_text(&cell, filter->state))
			return false;
	}
	if (filter->peer) {
		cell = value_of(kind, "peer", view, resource);
		if (cell.type != CELL_TEXT ||
		    !filter_takes_peer(filter, cell.text))
			return false;
	}
	if (filter->has_qp) {
		cell = value_of(kind, "qp", view, resource);
		return cell.type != CELL_NONE && cell.number == filter->qp;
	}
	return true;
}

void filter_rows(const struct filter *filter, const struct view *view,
		 struct rows *rows)
{
	const struct kind *kind = fields_of(rows->kind);
	size_t kept = 0;

	for (size_t i = 0; i < rows->cnt; i++)
		if (filter_takes(filter, kind, view, rows->at[i].head))
			rows->at[kept++] = rows->at[i];
	rows->cnt = kept;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See cell.h. */
#include "cell.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "util/clock.h"

const char *cell_count_text(uint64_t count, char buf[CELL_TEXT_LEN])
{
	static const char units[] = "kMGTPE";
	double value = (double)count;
	size_t unit = 0;

	if (count < 10000) {
		snprintf(buf, CELL_TEXT_LEN, "%" PRIu64, count);
		return buf;
	}
	for (value /= 1000; value >= 999.5 && units[unit + 1]; unit++)
		value /= 1000;
	snprintf(buf, CELL_TEXT_LEN, value < 99.95 ? "%.1f%c" : "%.0f%c", value,
		 units[unit]);
	return buf;
}

const char *cell_age_text(uint64_t ns, char buf[CELL_TEXT_LEN])
{
	uint64_t s = ns / NS_PER_S;

	if (s < 60)
		snprintf(buf, CELL_TEXT_LEN, "%" PRIu64 "s", s);
	else if (s < 3600)
		snprintf(buf, CELL_TEXT_LEN, "%" PRIu64 "m%02" PRIu64 "s",
			 s / 60, s % 60);
	else if (s < 86400)
		snprintf(buf, CELL_TEXT_LEN, "%" PRIu64 "h%02" PRIu64 "m",
			 s / 3600, s / 60 % 60);
	else
		snprintf(buf, CELL_TEXT_LEN, "%" PRIu64 "d", s / 86400);
	return buf;
}

/* The clock may have been set, and the number may be nonsense. */
static const char *time_text(uint64_t ns, char buf[CELL_TEXT_LEN])
{
	uint64_t now = util_clock_ns(CLOCK_REALTIME);

	return cell_age_text(now > ns ? now - ns : 0, buf);
}

const char *cell_text(const struct cell *cell, char buf[CELL_TEXT_LEN])
{
	switch (cell->type) {
	case CELL_NONE:
		return "-";
	case CELL_NUMBER:
		snprintf(buf, CELL_TEXT_LEN, "%" PRIu64, cell->number);
		return buf;
	case CELL_HEX:
		snprintf(buf, CELL_TEXT_LEN, "0x%06" PRIx64, cell->number);
		return buf;
	case CELL_COUNT:
		return cell_count_text(cell->number, buf);
	case CELL_TEXT:
		return cell->text;
	case CELL_BOOL:
		return cell->number ? "yes" : "no";
	case CELL_TIME:
		return time_text(cell->number, buf);
	}
	return "?";
}

bool cell_is_number(enum cell_type type)
{
	return type == CELL_NUMBER || type == CELL_COUNT || type == CELL_HEX ||
	       type == CELL_TIME;
}

void cell_set_text(struct cell *cell, const char *text)
{
	*cell = (struct cell){ .type = text ? CELL_TEXT : CELL_NONE };
	snprintf(cell->text, sizeof(cell->text), "%s", text ? text : "");
}

void cell_set_addr(struct cell *cell, const struct usiw_res_addr *addr)
{
	char ip[INET6_ADDRSTRLEN];

	*cell = (struct cell){ .type = CELL_NONE };
	if (addr->family == AF_INET) {
		inet_ntop(AF_INET, addr->addr, ip, sizeof(ip));
		snprintf(cell->text, sizeof(cell->text), "%s:%u", ip,
			 addr->port);
	} else if (addr->family == AF_INET6) {
		inet_ntop(AF_INET6, addr->addr, ip, sizeof(ip));
		if (addr->scope)
			snprintf(cell->text, sizeof(cell->text), "[%s%%%u]:%u",
				 ip, addr->scope, addr->port);
		else
			snprintf(cell->text, sizeof(cell->text), "[%s]:%u", ip,
				 addr->port);
	} else {
		return;
	}
	cell->type = CELL_TEXT;
}

int cell_compare(const struct cell *a, const struct cell *b)
{
	if (a->type == CELL_TEXT && b->type == CELL_TEXT)
		return strcmp(a->text, b->text);
	if (a->type == CELL_NONE || b->type == CELL_NONE)
		return (a->type != CELL_NONE) - (b->type != CELL_NONE);
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return 0;
}

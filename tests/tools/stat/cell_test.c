/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Values of resources as texts. */
#include "test.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

#include "stat/cell.h"

CASE(long_numbers_are_rounded)
{
	static const struct {
		uint64_t count;
		const char *text;
	} rows[] = {
		{ 0, "0" },
		{ 9999, "9999" },
		{ 10000, "10.0k" },
		{ 99949, "99.9k" },
		{ 99951, "100k" },
		{ 999499, "999k" },
		{ 999500, "1.0M" },
		{ 1000000, "1.0M" },
		{ 4670000000, "4.7G" },
		{ 999999999999999, "1.0P" },
		{ UINT64_MAX, "18.4E" },
	};
	char buf[CELL_TEXT_LEN];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(cell_count_text(rows[i].count, buf),
				    rows[i].text);
}

CASE(times_are_how_long_ago)
{
	static const struct {
		uint64_t s;
		const char *text;
	} rows[] = {
		{ 0, "0s" },	   { 59, "59s" },
		{ 60, "1m00s" },   { 3599, "59m59s" },
		{ 3600, "1h00m" }, { 86399, "23h59m" },
		{ 86400, "1d" },   { 18446744073, "213503d" },
	};
	const struct cell never = { .type = CELL_TIME, .number = UINT64_MAX };
	char buf[CELL_TEXT_LEN];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(cell_age_text(rows[i].s * 1000000000, buf),
				    rows[i].text);
	/* A moment that has not come: the clock was set, or nonsense. */
	assert_string_equal(cell_text(&never, buf), "0s");
}

CASE(addresses_have_ports_and_scopes)
{
	struct usiw_res_addr addr = { .family = 0, .port = 80 };
	struct cell cell;

	cell_set_addr(&cell, &addr);
	assert_int_equal(cell.type, CELL_NONE);
	addr.family = 77;
	cell_set_addr(&cell, &addr);
	assert_int_equal(cell.type, CELL_NONE);
	addr.family = AF_INET;
	memcpy(addr.addr, "\xc0\x00\x02\x01", 4);
	cell_set_addr(&cell, &addr);
	assert_string_equal(cell.text, "192.0.2.1:80");
	addr.family = AF_INET6;
	inet_pton(AF_INET6, "2001:db8::1", addr.addr);
	cell_set_addr(&cell, &addr);
	assert_string_equal(cell.text, "[2001:db8::1]:80");
	addr.scope = 3;
	cell_set_addr(&cell, &addr);
	assert_string_equal(cell.text, "[2001:db8::1%3]:80");
}

CASE(orders_numbers_and_texts)
{
	const struct cell none = { .type = CELL_NONE },
			  one = { .type = CELL_COUNT, .number = 1 },
			  max = { .type = CELL_HEX, .number = UINT64_MAX },
			  a = { .type = CELL_TEXT, .text = "a" },
			  b = { .type = CELL_TEXT, .text = "b" };

	assert_true(cell_compare(&one, &max) < 0);
	assert_true(cell_compare(&max, &one) > 0);
	assert_int_equal(cell_compare(&one, &one), 0);
	assert_true(cell_compare(&a, &b) < 0);
	assert_true(cell_compare(&none, &a) < 0);
	assert_true(cell_compare(&one, &none) > 0);
	assert_int_equal(cell_compare(&none, &none), 0);
}

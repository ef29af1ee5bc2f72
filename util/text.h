/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A text that is put together in a buffer, and ends with "..." where that is
 * too short. */
#ifndef UTIL_TEXT_H
#define UTIL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct util_text {
	char *buf;
	size_t size; /* 0: nothing is written */
	size_t len;
	bool is_cut;
};

void util_text_add(struct util_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Of a list that ends with a name of NULL. */
struct util_text_name {
	uint64_t value;
	const char *name;
};

/* The name of @value; NULL: it has none. */
const char *util_text_name(const struct util_text_name *names, uint64_t value);

/* The same; without one its number. */
void util_text_add_name(struct util_text *text,
			const struct util_text_name *names, uint64_t value);

/* The names of its bits, as A|B|0x100; 0 without any. */
void util_text_add_flags(struct util_text *text,
			 const struct util_text_name *names, uint64_t value);

#endif

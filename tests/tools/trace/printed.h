/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Records of calls, and what is printed of them. */
#ifndef PRINTED_H
#define PRINTED_H

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/trace/show.h"

struct text_record {
	struct usiw_call_record head;
	char text[USIW_CALL_TEXT_MAX];
};

static inline struct trace_call record_of(struct text_record *record,
					  const char *name, const char *args,
					  const char *made, uint64_t took_ns,
					  uint32_t cnt, int32_t result)
{
	struct trace_call call;

	*record = (struct text_record){
		.head = { .took_ns = took_ns, .cnt = cnt, .result = result }
	};
	usiw_call_record_set_text(&record->head, name, (uint32_t)strlen(name),
				  args, (uint32_t)strlen(args), made,
				  (uint32_t)strlen(made));
	assert_true(trace_call_read(&call, record, sizeof(*record)));
	return call;
}

/* What is printed between the two. */
static inline FILE *printed_begin(char **ret_text)
{
	static size_t len;

	return open_memstream(ret_text, &len);
}

#define EXPECT_PRINTED(print, expected)                                        \
	do {                                                                   \
		char *text_ = NULL;                                            \
		FILE *out = printed_begin(&text_);                             \
                                                                               \
		print;                                                         \
		fclose(out);                                                   \
		assert_string_equal(text_, expected);                          \
		free(text_);                                                   \
	} while (0)

#endif

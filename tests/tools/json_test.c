/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Texts of any octets become strings of JSON. */
#include "test.h"

#include "case.h"

#include "tools/json.h"

static const struct {
	const char *text, *json;
} vectors[] = {
	{ "", "\"\"" },
	{ "usiw_lo", "\"usiw_lo\"" },
	{ "a \"b\" \\ \n\x01", "\"a \\\"b\\\" \\\\ \\n\\u0001\"" },
	{ "\xc3\xa9 \xe2\x82\xac \xf0\x9d\x84\x9e",
	  "\"\xc3\xa9 \xe2\x82\xac \xf0\x9d\x84\x9e\"" },
	/* Not UTF-8: alone, cut, too long, a surrogate, too large. */
	{ "a\xff"
	  "b",
	  "\"a\xef\xbf\xbd"
	  "b\"" },
	{ "\x80\xc3", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
	{ "\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
	{ "\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
	{ "\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
	{ "\xf5\x80\x80\x80",
	  "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
};

CASE(texts_become_strings)
{
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		json_t *string = json_of_text(vectors[i].text);
		char *text;

		assert_non_null(string);
		text = json_dumps(string, JSON_ENCODE_ANY);
		assert_non_null(text);
		assert_string_equal(text, vectors[i].json);
		free(text);
		json_decref(string);
	}
}

CASE(no_text_is_no_string)
{
	assert_null(json_of_text(NULL));
}

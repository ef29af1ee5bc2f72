/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which known word a mistyped one is taken for. */
#include "test.h"

#include <string.h>

#include "util/near.h"

static const char *const words[] = {
	"send",	   NULL, /* no word has this number */
	"receive", "completion", "complexion",
};

static const char *word(size_t num)
{
	return words[num];
}

static const char *near_to(const char *text)
{
	return util_near(text, strlen(text), word, ARRAY_LEN(words));
}

CASE(finds_the_word_that_is_nearest)
{
	static const struct {
		const char *text, *near;
	} cases[] = {
		{ "sned", NULL }, /* two edits of a short word */
		{ "sen", "send" },
		{ "sendx", "send" },
		{ "zend", "send" },
		{ "rceeive", NULL },
		{ "receivve", "receive" },
		{ "completoin", "completion" },
		{ "complexions", "complexion" },
		{ "", NULL },
		{ "something", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *near = near_to(cases[i].text);

		if (cases[i].near)
			assert_string_equal(near, cases[i].near);
		else
			assert_null(near);
	}
}

CASE(a_known_word_is_no_mistake)
{
	assert_null(near_to("send"));
	assert_null(near_to("completion"));
}

CASE(looks_at_as_many_octets_as_it_is_told)
{
	assert_string_equal(util_near("sendgarbage", 5, word, ARRAY_LEN(words)),
			    "send");
}

CASE(a_word_longer_than_all_is_near_to_none)
{
	char text[100];

	memset(text, 's', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_null(near_to(text));
}

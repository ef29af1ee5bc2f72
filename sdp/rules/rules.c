/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* libsdp.conf(5): parses the lines, and finds the first rule that matches. */
#define _GNU_SOURCE /* secure_getenv */
#include "rules/rules.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/cancel.h"

#ifndef SDP_RULES_CONF_PATH
#define SDP_RULES_CONF_PATH SDP_RULES_PATH
#endif

/* Far more than a rules file needs. The wrong file is reported early. */
#define FILE_SIZE_MAX (1u << 20)
#define WORD_MAX 8u

struct rule {
	enum sdp_use use;
	enum sdp_rule_role role;
	char *program; /* pattern; NULL: every program */
	int family;    /* AF_UNSPEC: every address */
	uint8_t addr[16];
	unsigned int prefix_len; /* significant bits of addr */
	uint16_t port_first;
	uint16_t port_last;
	unsigned int line;
};

struct sdp_rules {
	struct sdp_log_rule log;
	char *log_file;
	struct rule *rule;
	size_t cnt;
};

static const struct sdp_rules default_rules = {
	.log = { .min_level = SDP_LOG_LEVEL_MAX },
};

/* A part of the file's text. */
struct word {
	const char *at;
	size_t len;
};

struct parser {
	struct sdp_rules *rules;
	const char *name;
	unsigned int line;
	char *error;
	size_t error_size;
};

#define WORD_FMT(w) (int)((w)->len < 64 ? (w)->len : 64), (w)->at

static int fail(const struct parser *parser, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int fail(const struct parser *parser, const char *fmt, ...)
{
	int len;
	va_list args;

	if (!parser->error_size)
		return -EINVAL;
	len = snprintf(parser->error, parser->error_size,
		       "%s:%u: ", parser->name, parser->line);
	if (len >= 0 && (size_t)len < parser->error_size) {
		va_start(args, fmt);
		vsnprintf(parser->error + len, parser->error_size - (size_t)len,
			  fmt, args);
		va_end(args);
	}
	return -EINVAL;
}

static bool is_word(const struct word *word, const char *text)
{
	return word->len == strlen(text) && !memcmp(word->at, text, word->len);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* Splits [@at, @end) into words, up to a comment. Return: their number; at most
 * WORD_MAX of them are in @ret_words. */
static size_t words_split(const char *at, const char *end,
			  struct word ret_words[WORD_MAX])
{
	size_t cnt = 0;

	for (;;) {
		const char *start;

		while (at < end && is_blank(*at))
			at++;
		if (at == end || *at == '#')
			return cnt;
		for (start = at; at < end && !is_blank(*at) && *at != '#';)
			at++;
		if (cnt < WORD_MAX)
			ret_words[cnt] =
				(struct word){ .at = start,
					       .len = (size_t)(at - start) };
		cnt++;
	}
}

static bool number_take(const struct word *word, unsigned int max,
			unsigned int *ret_value)
{
	unsigned int value = 0;

	if (word->len == 0 || word->len > 5)
		return false;
	for (size_t i = 0; i < word->len; i++) {
		if (word->at[i] < '0' || word->at[i] > '9')
			return false;
		value = 10 * value + (unsigned int)(word->at[i] - '0');
	}
	if (value > max)
		return false;
	*ret_value = value;
	return true;
}

/* Cuts @word at the first @c. @ret_rest is what follows @c. */
static bool word_cut(const struct word *word, char c, struct word *ret_first,
		     struct word *ret_rest)
{
	const char *at = memchr(word->at, c, word->len);

	if (!at)
		return false;
	*ret_rest = (struct word){
		.at = at + 1, .len = (size_t)(word->at + word->len - (at + 1))
	};
	*ret_first =
		(struct word){ .at = word->at, .len = (size_t)(at - word->at) };
	return true;
}

static int ports_parse(const struct parser *parser, const struct word *word,
		       struct rule *rule)
{
	struct word first = *word, last = *word;
	unsigned int lo, hi;

	rule->port_first = 0;
	rule->port_last = UINT16_MAX;
	if (is_word(word, "*"))
		return 0;
	word_cut(word, '-', &first, &last);
	if (!number_take(&first, UINT16_MAX, &lo) ||
	    !number_take(&last, UINT16_MAX, &hi) || lo > hi || hi == 0)
		return fail(parser,
			    "'%.*s' is not a port: write one of 1 to 65535, a "
			    "range FIRST-LAST, or *",
			    WORD_FMT(word));
	rule->port_first = (uint16_t)lo;
	rule->port_last = (uint16_t)hi;
	return 0;
}

/* @word: address[/prefix] without brackets. */
static int addr_parse(const struct parser *parser, const struct word *word,
		      const struct word *prefix, int family, struct rule *rule)
{
	char text[INET6_ADDRSTRLEN];
	unsigned int bits = family == AF_INET ? 32 : 128;

	if (word->len >= sizeof(text))
		goto bad;
	memcpy(text, word->at, word->len);
	text[word->len] = '\0';
	if (inet_pton(family, text, rule->addr) != 1)
		goto bad;
	rule->family = family;
	rule->prefix_len = bits;
	if (prefix && !number_take(prefix, bits, &rule->prefix_len))
		return fail(parser,
			    "'/%.*s' is not a prefix length: write 0 to %u",
			    WORD_FMT(prefix), bits);
	return 0;
bad:
	return fail(
		parser,
		"'%.*s' is not an address: write IPv4 as 192.0.2.1, IPv6 in "
		"brackets as [2001:db8::1], or *",
		WORD_FMT(word));
}

/* "*:PORTS", "ADDR[/PREFIX]:PORTS", "[ADDR][/PREFIX]:PORTS" */
static int place_parse(const struct parser *parser, const struct word *word,
		       struct rule *rule)
{
	struct word addr = *word, rest, ports, prefix;
	struct word inner = { .at = word->at + 1, .len = word->len - 1 };
	bool is_v6 = word->at[0] == '[', has_prefix = false;
	int ret;

	if (is_v6) {
		if (!word_cut(&inner, ']', &addr, &rest))
			return fail(parser, "'%.*s' has no ]", WORD_FMT(word));
		if (rest.len && rest.at[0] == '/') {
			inner = (struct word){ rest.at + 1, rest.len - 1 };
			has_prefix = true;
			if (!word_cut(&inner, ':', &prefix, &ports))
				goto no_port;
		} else if (rest.len && rest.at[0] == ':') {
			ports = (struct word){ rest.at + 1, rest.len - 1 };
		} else {
			goto no_port;
		}
	} else {
		if (!word_cut(word, ':', &addr, &ports))
			goto no_port;
		rest = addr;
		has_prefix = word_cut(&rest, '/', &addr, &prefix);
	}
	ret = ports_parse(parser, &ports, rule);
	if (ret < 0)
		return ret;
	if (!is_v6 && !has_prefix && is_word(&addr, "*"))
		return 0;
	return addr_parse(parser, &addr, has_prefix ? &prefix : NULL,
			  is_v6 ? AF_INET6 : AF_INET, rule);
no_port:
	return fail(parser,
		    "'%.*s' has no port: write ADDRESS:PORT, ADDRESS:* for "
		    "every port, *:* for everything",
		    WORD_FMT(word));
}

static int rule_append(struct sdp_rules *rules, const struct rule *rule)
{
	struct rule *bigger;

	/* By doubling: room for 1, 2, 4, ... */
	if ((rules->cnt & (rules->cnt - 1)) == 0) {
		bigger =
			realloc(rules->rule, (rules->cnt ? 2 * rules->cnt : 1) *
						     sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		rules->rule = bigger;
	}
	rules->rule[rules->cnt++] = *rule;
	return 0;
}

static int use_parse(struct parser *parser, const struct word *words,
		     size_t cnt)
{
	struct rule rule = { .line = parser->line };
	const struct word *program = cnt == 5 ? &words[3] : NULL;
	int ret;

	if (cnt < 4 || cnt > 5)
		return fail(parser, "write: use sdp|tcp|both server|client "
				    "[PROGRAM] ADDRESS[/PREFIX]:PORT[-PORT]");
	if (is_word(&words[1], "sdp"))
		rule.use = SDP_USE_SDP;
	else if (is_word(&words[1], "tcp"))
		rule.use = SDP_USE_TCP;
	else if (is_word(&words[1], "both"))
		rule.use = SDP_USE_BOTH;
	else
		return fail(parser,
			    "'%.*s' is not a protocol: write sdp, tcp or both",
			    WORD_FMT(&words[1]));
	if (is_word(&words[2], "server") || is_word(&words[2], "listen"))
		rule.role = SDP_RULE_SERVER;
	else if (is_word(&words[2], "client") || is_word(&words[2], "connect"))
		rule.role = SDP_RULE_CLIENT;
	else
		return fail(parser,
			    "'%.*s' is not a role: write server (or listen), "
			    "client (or connect)",
			    WORD_FMT(&words[2]));
	ret = place_parse(parser, &words[cnt - 1], &rule);
	if (ret < 0)
		return ret;
	if (program && !is_word(program, "*")) {
		rule.program = strndup(program->at, program->len);
		if (!rule.program)
			return -ENOMEM;
	}
	ret = rule_append(parser->rules, &rule);
	if (ret < 0)
		free(rule.program);
	return ret;
}

/* Parses "stderr", "syslog" or "file NAME" at @words. Return: number of words
 * used. */
static int destination_parse(struct parser *parser, const struct word *words,
			     size_t cnt)
{
	struct sdp_rules *rules = parser->rules;
	char *file;

	if (cnt >= 1 &&
	    (is_word(&words[0], "stderr") || is_word(&words[0], "syslog"))) {
		rules->log.destination = is_word(&words[0], "stderr")
						 ? SDP_LOG_STDERR
						 : SDP_LOG_SYSLOG;
		rules->log.file = NULL;
		return 1;
	}
	if (cnt < 2 || !is_word(&words[0], "file"))
		return fail(parser, "write: destination stderr, destination "
				    "syslog, or destination file NAME");
	file = strndup(words[1].at, words[1].len);
	if (!file)
		return -ENOMEM;
	free(rules->log_file);
	rules->log_file = file;
	rules->log.destination = SDP_LOG_FILE;
	rules->log.file = file;
	return 2;
}

static int log_parse(struct parser *parser, const struct word *words,
		     size_t cnt)
{
	struct sdp_log_rule *log = &parser->rules->log;
	size_t at = 1;
	int ret;

	if (cnt > WORD_MAX)
		cnt = WORD_MAX + 1;
	while (at < cnt && cnt <= WORD_MAX) {
		if (is_word(&words[at], "destination")) {
			ret = destination_parse(parser, words + at + 1,
						cnt - at - 1);
			if (ret < 0)
				return ret;
			at += 1 + (size_t)ret;
		} else if (is_word(&words[at], "min-level")) {
			if (at + 1 == cnt ||
			    !number_take(&words[at + 1], SDP_LOG_LEVEL_MAX,
					 &log->min_level) ||
			    log->min_level < SDP_LOG_LEVEL_MIN)
				return fail(parser, "write: min-level 1 to 9");
			at += 2;
		} else {
			break;
		}
	}
	if (cnt < 2 || at < cnt)
		return fail(parser, "write: log [min-level 1-9] [destination "
				    "stderr|syslog|file NAME]");
	return 0;
}

static int line_parse(struct parser *parser, const char *at, const char *end)
{
	struct word words[WORD_MAX];
	size_t cnt;

	if (memchr(at, '\0', (size_t)(end - at)))
		return fail(parser, "it contains an octet 0: is this a text "
				    "file?");
	cnt = words_split(at, end, words);
	if (cnt == 0)
		return 0;
	if (is_word(&words[0], "use"))
		return use_parse(parser, words, cnt);
	if (is_word(&words[0], "log"))
		return log_parse(parser, words, cnt);
	return fail(
		parser,
		"'%.*s' is not a statement: a line begins with use, log or #",
		WORD_FMT(&words[0]));
}

int sdp_rules_parse(const char *text, size_t len, const char *name,
		    struct sdp_rules **ret_rules, char *ret_error,
		    size_t error_size)
{
	const char *at = text, *end = text + len, *newline;
	struct parser parser = {
		.name = name,
		.error = ret_error,
		.error_size = error_size,
	};
	int ret = 0;

	parser.rules = calloc(1, sizeof(*parser.rules));
	if (!parser.rules)
		return -ENOMEM;
	parser.rules->log.min_level = SDP_LOG_LEVEL_MAX;
	while (ret == 0 && at < end) {
		parser.line++;
		newline = memchr(at, '\n', (size_t)(end - at));
		ret = line_parse(&parser, at, newline ? newline : end);
		at = newline ? newline + 1 : end;
	}
	if (ret < 0) {
		sdp_rules_free(parser.rules);
		return ret;
	}
	*ret_rules = parser.rules;
	return 0;
}

/* Return: 0, and the caller frees *ret_text; negative errno. */
static int file_read(int fd, char **ret_text, size_t *ret_len)
{
	size_t size = 4096, len = 0;
	char *text = malloc(size), *bigger;
	ssize_t got;
	int err;

	if (!text)
		return -ENOMEM;
	for (;;) {
		got = util_sys_read(fd, text + len, size - len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		len += (size_t)got;
		if (len < size)
			continue;
		got = -1;
		errno = EFBIG;
		if (size >= FILE_SIZE_MAX)
			break;
		errno = ENOMEM;
		bigger = realloc(text, 2 * size);
		if (!bigger)
			break;
		text = bigger;
		size *= 2;
	}
	if (got < 0) {
		err = errno;
		free(text);
		return -err;
	}
	*ret_text = text;
	*ret_len = len;
	return 0;
}

int sdp_rules_load(struct sdp_rules **ret_rules, char *ret_error,
		   size_t error_size)
{
	UTIL_CANCEL_OFF();
	const char *name = secure_getenv(SDP_RULES_ENV);
	const char *path = name ? name : SDP_RULES_CONF_PATH;
	char *text = NULL;
	size_t len = 0;
	int fd, ret;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 && errno == ENOENT && !name)
		return sdp_rules_parse("", 0, path, ret_rules, ret_error,
				       error_size);
	ret = fd < 0 ? -errno : file_read(fd, &text, &len);
	if (fd >= 0)
		util_sys_close(fd);
	if (ret == 0) {
		ret = sdp_rules_parse(text, len, path, ret_rules, ret_error,
				      error_size);
		free(text);
	} else if (error_size) {
		snprintf(ret_error, error_size, "%s: %s%s%s", path,
			 strerror(-ret),
			 name ? "; " SDP_RULES_ENV " names it" : "",
			 ret == -EFBIG ? "; a rules file has at most 1 MiB"
				       : "");
	}
	return ret;
}

const struct sdp_rules *sdp_rules_default(void)
{
	return &default_rules;
}

/* The octets of the address, and its port. Return: family; AF_INET for an
 * IPv4-mapped address; AF_UNSPEC for others. */
static int addr_take(const struct sockaddr *addr, const uint8_t **ret_octets,
		     uint16_t *ret_port)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;

	if (addr->sa_family == AF_INET) {
		*ret_octets = (const void *)&in->sin_addr;
		*ret_port = ntohs(in->sin_port);
		return AF_INET;
	}
	if (addr->sa_family != AF_INET6)
		return AF_UNSPEC;
	*ret_port = ntohs(in6->sin6_port);
	*ret_octets = in6->sin6_addr.s6_addr;
	if (!IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		return AF_INET6;
	*ret_octets += 12;
	return AF_INET;
}

static bool prefix_is_same(const uint8_t *a, const uint8_t *b,
			   unsigned int prefix_len)
{
	unsigned int whole = prefix_len / 8, bits = prefix_len % 8;

	if (memcmp(a, b, whole))
		return false;
	return bits == 0 || ((a[whole] ^ b[whole]) >> (8 - bits)) == 0;
}

static bool is_for(const struct rule *rule, enum sdp_rule_role role,
		   const char *program)
{
	return rule->role == role &&
	       (!rule->program || fnmatch(rule->program, program, 0) == 0);
}

enum sdp_use sdp_rules_find(const struct sdp_rules *rules,
			    enum sdp_rule_role role, const char *program,
			    const struct sockaddr *addr, unsigned int *ret_line)
{
	const uint8_t *octets = NULL;
	uint16_t port = 0;
	int family = addr_take(addr, &octets, &port);

	if (ret_line)
		*ret_line = 0;
	if (family == AF_UNSPEC)
		return SDP_USE_TCP;
	for (size_t i = 0; i < rules->cnt; i++) {
		const struct rule *rule = &rules->rule[i];

		if (port < rule->port_first || port > rule->port_last ||
		    !is_for(rule, role, program))
			continue;
		if (rule->family != AF_UNSPEC &&
		    (rule->family != family ||
		     !prefix_is_same(rule->addr, octets, rule->prefix_len)))
			continue;
		if (ret_line)
			*ret_line = rule->line;
		return rule->use;
	}
	return SDP_USE_BOTH;
}

static bool role_concerns(const struct sdp_rules *rules,
			  enum sdp_rule_role role, const char *program)
{
	for (size_t i = 0; i < rules->cnt; i++) {
		const struct rule *rule = &rules->rule[i];

		if (!is_for(rule, role, program))
			continue;
		if (rule->use != SDP_USE_TCP)
			return true;
		if (rule->family == AF_UNSPEC && rule->port_first == 0 &&
		    rule->port_last == UINT16_MAX)
			return false;
	}
	return true;
}

bool sdp_rules_concern(const struct sdp_rules *rules, const char *program)
{
	return role_concerns(rules, SDP_RULE_SERVER, program) ||
	       role_concerns(rules, SDP_RULE_CLIENT, program);
}

const struct sdp_log_rule *sdp_rules_log(const struct sdp_rules *rules)
{
	return &rules->log;
}

void sdp_rules_free(struct sdp_rules *rules)
{
	if (!rules || rules == &default_rules)
		return;
	for (size_t i = 0; i < rules->cnt; i++)
		free(rules->rule[i].program);
	free(rules->rule);
	free(rules->log_file);
	free(rules);
}

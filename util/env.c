/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The table of settings: one row gives parser, default and documentation. */
#define _GNU_SOURCE /* secure_getenv */
#include "env.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cancel.h"
#include "keep-errno.h"
#include "log-spec.h"
#include "near.h"

#ifndef UTIL_CONF_PATH
#define UTIL_CONF_PATH "/etc/usiw.conf"
#endif

#define CONF_LINE_MAX 1024
/* Octets that a message shows of what it was given. */
#define SHOWN_MAX 40
/* A device's name has 63 octets, and ten of them may be the number. */
#define NAME_PATTERN_MAX 50

/*
 * X(name, parser, field, lowest, highest, values, default, what).  A keyword
 * setting takes the words of @values; the position of the word is the enum
 * value.
 */
#define SETTINGS(X)                                                            \
	X("USIW_LOG", LOG, log, 0, 0, "none|error|warn|info|debug[:part,...]", \
	  "error",                                                             \
	  "what to print on stderr; parts: mpa rnic cm verbs kabi sdp tool")   \
	X("USIW_CRC", WORD, crc, 0, 0, "on|off|auto", "on",                    \
	  "MPA CRC; auto: off towards addresses of this machine")              \
	X("USIW_LOCAL", WORD, local, 0, 0, "auto|off|any", "auto",             \
	  "shared memory towards peers on this host: with the same user, "     \
	  "never, or with any user")                                           \
	X("USIW_LOCAL_AFTER", NUM, local_after, 0, 65536, "0..65536", "32",    \
	  "FPDUs that a connection carries before it changes to shared "       \
	  "memory")                                                            \
	X("USIW_DEVICES", WORD, devices, 0, 0, "only|beside", "only",          \
	  "show usiw devices only, or beside the machine's RDMA hardware")     \
	X("USIW_PERSONA", WORD, persona, 0, 0, "rnic|ca", "rnic",              \
	  "what devices say they are: an iWARP RNIC, or an InfiniBand-style "  \
	  "channel adapter on Ethernet")                                       \
	X("USIW_PORT_SPACE", WORD, port_space, 0, 0, "apart|shared", "apart",  \
	  "ports of rdma_cm: apart from TCP's, or shared with them")           \
	X("USIW_NAME", NAME, name, 0, 0, "NAME%d", "",                         \
	  "names of devices, for programs that look for names they know")      \
	X("USIW_INTERFACES", TEXT, interfaces, 0, 0, "NAME[,NAME...]", "",     \
	  "network interfaces that become devices; empty: all usable ones")    \
	X("USIW_STAT_DIR", TEXT, stat_dir, 0, 0, "DIRECTORY", "",              \
	  "where the counter page of the process is put; empty: nowhere")      \
	X("USIW_MPA_REV", NUM, mpa_rev, 1, 2, "1|2", "2",                      \
	  "highest MPA revision that connection set-up offers")                \
	X("USIW_START_MS", NUM, start_ms, 1, 3600000, "1..3600000", "10000",   \
	  "time limit of an MPA start exchange, milliseconds")                 \
	X("USIW_DRAIN_MS", NUM, drain_ms, 0, 3600000, "0..3600000", "2000",    \
	  "time a closing stream may take to drain, milliseconds")             \
	X("USIW_STALL_MS", NUM, stall_ms, 0, 86400000, "0..86400000",          \
	  "300000",                                                            \
	  "time the rest of an FPDU may take to come, milliseconds; 0: any")   \
	X("USIW_RETRY_MS", NUM, retry_ms, 0, 3600000, "0..3600000", "30000",   \
	  "time a peer of rdma_cm may acknowledge nothing, milliseconds; 0: "  \
	  "TCP's own")                                                         \
	X("USIW_HALF_OPEN_MAX", NUM, half_open_max, 1, 65536, "1..65536",      \
	  "512", "connections per listener that have not finished starting")   \
	X("USIW_IRD", NUM, ird, 0, 128, "0..128", "128",                       \
	  "inbound RDMA READs outstanding per connection, at most")            \
	X("USIW_ORD", NUM, ord, 0, 128, "0..128", "128",                       \
	  "outbound RDMA READs outstanding per connection, at most")           \
	X("USIW_ENGINES", NUM, engines, 0, 16, "0..16", "0",                   \
	  "engines of a context, at most; 0: one for two CPUs, up to 8")       \
	X("USIW_SPIN_US", NUM, spin_us, 0, 1000000, "0..1000000", "30",        \
	  "time the completion thread looks for more before it sleeps, if a "  \
	  "CPU is idle, microseconds")                                         \
	X("USIW_EVENT_SPIN_US", NUM, event_spin_us, 0, 1000000, "0..1000000",  \
	  "40",                                                                \
	  "time a thread that waits for a CQ's event polls before it sleeps, " \
	  "microseconds")                                                      \
	X("USIW_NICE", NUM, nice, -20, 19, "-20..19", "0",                     \
	  "added to the nice value of the program, for the completion "        \
	  "thread")                                                            \
	X("USIW_STAGING_KIB", NUM, staging_kib, 64, 65536, "64..65536", "256", \
	  "receive staging per stream, KiB")                                   \
	X("USIW_RNR_MS", NUM, rnr_ms, 0, 3600000, "0..3600000", "1000",        \
	  "time a Send waits for a receive to be posted, milliseconds")        \
	X("USIW_RTR", FLAG, rtr, 0, 0, "on|off", "on",                         \
	  "offer the ready-to-receive frame of RFC 6581")                      \
	X("USIW_MPA_REV0", WORD, mpa_rev0, 0, 0, "refuse|permissive",          \
	  "refuse", "peers of MPA revision 0, the RDMA Consortium's")          \
	X("USIW_MARKERS", FLAG, markers, 0, 0, "on|off", "off",                \
	  "ask peers for MPA markers towards us")                              \
	X("USIW_FAULT", TEXT, fault, 0, 0, "RULE[;RULE...]", "",               \
	  "faults to inject, for tests of programs")                           \
	X("USIW_SDP_CARRIER", WORD, sdp_carrier, 0, 0, "auto|cm", "auto",      \
	  "how SDP connections of sockets begin; auto: on TCP connections, "   \
	  "which change to SDP; cm: by rdma_cm, as on other devices")          \
	X("USIW_SDP_AFTER", NUM, sdp_after, 0, 1073741824, "0..1073741824",    \
	  "65536",                                                             \
	  "octets that a connection carries by TCP in one direction, without " \
	  "a turn, before SDP enters it; 0: SDP begins with the first octet")  \
	X("USIW_SDP_REPLY_MS", NUM, sdp_reply_ms, 1, 3600000, "1..3600000",    \
	  "60000",                                                             \
	  "time a peer may take to answer the MPA Request of an SDP "          \
	  "connection before TCP is used, milliseconds")                       \
	X("USIW_SDP_PM_PORT", NUM, sdp_pm_port, 1, 65535, "1..65535", "3935",  \
	  "UDP port of the SDP Port Mapper, here and on other hosts")          \
	X("USIW_SDP_PM_MS", NUM, sdp_pm_ms, 1, 60000, "1..60000", "250",       \
	  "time a Port Mapper may take before it is asked again, "             \
	  "milliseconds; doubled each time")                                   \
	X("USIW_SDP_PM_SENDS", NUM, sdp_pm_sends, 1, 16, "1..16", "4",         \
	  "how often a Port Mapper is asked before TCP is used")               \
	X("USIW_SDP_PM_NEGATIVE_MS", NUM, sdp_pm_negative_ms, 1, 3600000,      \
	  "1..3600000", "10000",                                               \
	  "time that a Port Mapper's denial or silence is remembered, "        \
	  "milliseconds")

enum setting_kind {
	KIND_TEXT,
	KIND_NAME,
	KIND_LOG,
	KIND_WORD,
	KIND_FLAG,
	KIND_NUM,
};

struct setting {
	size_t offset;
	enum setting_kind kind;
	int64_t lowest, highest;
};

#define SETTING_DOC(n, k, f, lo, hi, v, d, w)                                  \
	{ .name = (n), .values = (v), .default_value = (d), .what = (w) },
#define SETTING_ROW(n, k, f, lo, hi, v, d, w)                                  \
	{ .offset = offsetof(struct util_settings, f),                         \
	  .kind = KIND_##k,                                                    \
	  .lowest = (lo),                                                      \
	  .highest = (hi) },

const struct util_setting_doc util_setting_docs[] = { SETTINGS(SETTING_DOC) };
static const struct setting setting_rows[] = { SETTINGS(SETTING_ROW) };

#define SETTING_CNT (sizeof(setting_rows) / sizeof(setting_rows[0]))

const size_t util_setting_cnt = SETTING_CNT;

/* A word's position, and a number, are stored in 32 bits. */
#define SETTING_CHECK(n, k, f, lo, hi, v, d, w)                                \
	_Static_assert(                                                        \
		sizeof(((struct util_settings *)0)->f) == 4 ||                 \
			(KIND_##k != KIND_WORD && KIND_##k != KIND_NUM),       \
		#f);
SETTINGS(SETTING_CHECK)

static struct util_settings settings;
static pthread_once_t settings_once = PTHREAD_ONCE_INIT;
static bool settings_are_quiet;
/* USIW_LOG of the environment, which has precedence; NULL: none, or invalid. */
static const char *environment_log;

static const char *setting_name(size_t num)
{
	return util_setting_docs[num].name;
}

const char *util_setting_near(const char *name, size_t len)
{
	return util_near(name, len, setting_name, SETTING_CNT);
}

/* Position of @value among the words of @words ("a|b|c"), or -1. */
static int word_find(const char *words, const char *value)
{
	size_t len = strcspn(value, "|");
	const char *word = words;

	if (value[len] != '\0')
		return -1;
	for (int pos = 0; word && len; pos++) {
		if (strncmp(word, value, len) == 0 &&
		    (word[len] == '|' || word[len] == '\0'))
			return pos;
		word = strchr(word, '|');
		word = word ? word + 1 : NULL;
	}
	return -1;
}

static bool num_parse(const char *value, const struct setting *row,
		      int64_t *ret_num)
{
	bool is_negative = row->lowest < 0 && value[0] == '-';
	long long num;
	char *end;

	if (!isdigit((unsigned char)value[is_negative]))
		return false;
	errno = 0;
	num = strtoll(value, &end, 10);
	if (errno || *end || num < row->lowest || num > row->highest)
		return false;
	*ret_num = num;
	return true;
}

static bool text_store(const char *value, const char **ret_text)
{
	char *copy = NULL;

	if (*value) {
		copy = strdup(value);
		if (!copy)
			return false;
	}
	/* The former value, if any, is from the file, which is read first. */
	free((void *)(uintptr_t)*ret_text);
	*ret_text = copy;
	return true;
}

/* Empty, or a name with %d once. */
static bool name_is_valid(const char *value)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz"
				      "0123456789_.-";
	size_t head = strspn(value, allowed);

	if (!*value)
		return true;
	if (strlen(value) > NAME_PATTERN_MAX ||
	    strncmp(value + head, "%d", 2) != 0)
		return false;
	value += head + 2;
	return value[strspn(value, allowed)] == '\0';
}

/* Return: false: @value is invalid, and nothing has changed. */
static bool setting_store(size_t idx, const char *value)
{
	const struct setting *row = &setting_rows[idx];
	void *field = (char *)&settings + row->offset;
	struct util_log_spec spec;
	int64_t num = 0;

	switch (row->kind) {
	case KIND_LOG:
		if (!util_log_spec_parse(value, &spec))
			return false;
		return text_store(value, field);
	case KIND_TEXT:
		return text_store(value, field);
	case KIND_NAME:
		return name_is_valid(value) && text_store(value, field);
	case KIND_WORD:
	case KIND_FLAG:
		num = word_find(util_setting_docs[idx].values, value);
		if (num < 0)
			return false;
		break;
	case KIND_NUM:
		if (!num_parse(value, row, &num))
			return false;
		break;
	}
	if (row->kind == KIND_FLAG)
		*(bool *)field = num == 0;
	else
		*(uint32_t *)field = (uint32_t)num;
	return true;
}

/* Return: false: errors in settings are not to be printed. */
static bool may_report(void)
{
	const char *log = environment_log ? environment_log : settings.log;

	return !settings_are_quiet &&
	       !(log && strncmp(log, "none", strlen("none")) == 0);
}

static void setting_take(size_t idx, const char *value, const char *origin)
{
	const struct util_setting_doc *doc = &util_setting_docs[idx];

	/* NAME= sets nothing, except for texts, which may be empty. */
	if (*value == '\0' && setting_rows[idx].kind != KIND_TEXT &&
	    setting_rows[idx].kind != KIND_NAME)
		return;
	if (setting_store(idx, value) || !may_report())
		return;
	fprintf(stderr,
		"usiw: %s: %s=%.*s%s: invalid value: use %s; "
		"using %s\n",
		origin, doc->name, SHOWN_MAX, value,
		strlen(value) > SHOWN_MAX ? "..." : "", doc->values,
		*doc->default_value ? doc->default_value : "the default");
}

static char *blank_trim(char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	return text;
}

/* The file may be anything. */
static void printable_make(char *text)
{
	for (; *text; text++)
		if (!isprint((unsigned char)*text))
			*text = '?';
}

static void conf_name_complain(char *name)
{
	size_t len = strlen(name);
	const char *near = util_setting_near(name, len);

	if (!may_report())
		return;
	printable_make(name);
	fprintf(stderr, "usiw: %s: %.*s%s: not a setting; %s%s%s\n",
		UTIL_CONF_PATH, SHOWN_MAX, name, len > SHOWN_MAX ? "..." : "",
		near ? "is " : "lines are NAME=value, ",
		near ? near : "usiw(7) lists the names", near ? " meant?" : "");
}

static void conf_take_line(char *line)
{
	char *name = blank_trim(line);
	char *value;

	if (*name == '\0' || *name == '#')
		return;
	value = strchr(name, '=');
	if (value) {
		*value++ = '\0';
		name = blank_trim(name);
		value = blank_trim(value);
		for (size_t i = 0; i < SETTING_CNT; i++) {
			if (strcmp(name, util_setting_docs[i].name) == 0) {
				setting_take(i, value, UTIL_CONF_PATH);
				return;
			}
		}
	}
	conf_name_complain(name);
}

static void conf_complain(int err)
{
	if (may_report())
		fprintf(stderr,
			"usiw: %s: %s: its settings are not used; make it "
			"readable, or remove it\n",
			UTIL_CONF_PATH, strerror(err));
}

static void conf_read(void)
{
	char line[CONF_LINE_MAX];
	FILE *file = fopen(UTIL_CONF_PATH, "re");

	if (!file) {
		if (errno != ENOENT && errno != ENOTDIR)
			conf_complain(errno);
		return;
	}
	while (fgets(line, sizeof(line), file))
		conf_take_line(line);
	if (ferror(file))
		conf_complain(errno);
	fclose(file);
}

static const char *environment_log_get(void)
{
	const char *log = secure_getenv("USIW_LOG");
	struct util_log_spec spec;

	return log && util_log_spec_parse(log, &spec) ? log : NULL;
}

static void settings_load(void)
{
	UTIL_CANCEL_OFF();
	UTIL_KEEP_ERRNO();
	const char *value;

	for (size_t i = 0; i < SETTING_CNT; i++)
		setting_store(i, util_setting_docs[i].default_value);
	environment_log = environment_log_get();
	conf_read();
	for (size_t i = 0; i < SETTING_CNT; i++) {
		/* secure: a set-user-ID program ignores the environment of its
		 * caller */
		value = secure_getenv(util_setting_docs[i].name);
		if (value)
			setting_take(i, value, "environment");
	}
	environment_log = NULL; /* the program may change it */
}

void util_settings_set_quiet(void)
{
	settings_are_quiet = true;
}

const struct util_settings *util_settings(void)
{
	pthread_once(&settings_once, settings_load);
	return &settings;
}

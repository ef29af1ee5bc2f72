/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Settings: defaults, precedence of environment over file, error messages. */
#include "test.h"

#include <sys/stat.h>

#include "child.h"
#include "util/env.h"

struct setting_case {
	const char *conf;	  /* NULL: no file */
	const char *name, *value; /* environment; NULL: nothing */
	int (*check)(const struct util_settings *settings);
	const char *err; /* expected part of stderr; NULL: stderr is empty */
};

static int has_defaults(const struct util_settings *s)
{
	return strcmp(s->log, "error") == 0 && s->crc == UTIL_CRC_ON &&
	       s->devices == UTIL_DEVICES_ONLY &&
	       s->persona == UTIL_PERSONA_RNIC && !s->interfaces &&
	       !s->stat_dir && s->mpa_rev == 2 && s->start_ms == 10000 &&
	       s->drain_ms == 2000 && s->retry_ms == 30000 &&
	       s->half_open_max == 512 && s->ird == 128 && s->ord == 128 &&
	       s->spin_us == 30 && s->event_spin_us == 40 && s->nice == 0 &&
	       s->staging_kib == 256 && s->rtr &&
	       s->mpa_rev0 == UTIL_MPA_REV0_REFUSE && !s->markers;
}

static int crc_is_auto(const struct util_settings *s)
{
	return s->crc == UTIL_CRC_AUTO;
}

static int crc_is_off(const struct util_settings *s)
{
	return s->crc == UTIL_CRC_OFF;
}

static int shows_beside(const struct util_settings *s)
{
	return s->devices == UTIL_DEVICES_BESIDE;
}

static int rtr_is_off(const struct util_settings *s)
{
	return !s->rtr;
}

static int is_permissive(const struct util_settings *s)
{
	return s->mpa_rev0 == UTIL_MPA_REV0_PERMISSIVE;
}

static int wants_markers(const struct util_settings *s)
{
	return s->markers;
}

static int is_urgent(const struct util_settings *s)
{
	return s->nice == -20;
}

static int is_ca(const struct util_settings *s)
{
	return s->persona == UTIL_PERSONA_CA;
}

static int takes_eth(const struct util_settings *s)
{
	return s->interfaces && strcmp(s->interfaces, "eth0,eth1") == 0;
}

static int rev_is_1(const struct util_settings *s)
{
	return s->mpa_rev == 1;
}

static int file_then_rest(const struct util_settings *s)
{
	return s->ird == 16 && s->crc == UTIL_CRC_OFF && s->ord == 128;
}

static int logs_none(const struct util_settings *s)
{
	return strcmp(s->log, "none") == 0 && s->crc == UTIL_CRC_ON;
}

static const struct setting_case cases[] = {
	{ NULL, NULL, NULL, has_defaults, NULL },
	{ NULL, "USIW_CRC", "auto", crc_is_auto, NULL },
	{ NULL, "USIW_CRC", "off", crc_is_off, NULL },
	{ NULL, "USIW_CRC", "", has_defaults, NULL },
	{ NULL, "USIW_CRC", "maybe", has_defaults,
	  "environment: USIW_CRC=maybe: invalid value: use "
	  "on|off|auto; using on" },
	{ NULL, "USIW_CRC", "on|off", has_defaults, "USIW_CRC=on|off" },
	{ NULL, "USIW_DEVICES", "beside", shows_beside, NULL },
	{ NULL, "USIW_PERSONA", "ca", is_ca, NULL },
	{ NULL, "USIW_PERSONA", "rnic", has_defaults, NULL },
	{ NULL, "USIW_PERSONA", "hca", has_defaults, "rnic|ca; using rnic" },
	{ "USIW_PERSONA=ca\n", NULL, NULL, is_ca, NULL },
	{ NULL, "USIW_RTR", "off", rtr_is_off, NULL },
	{ NULL, "USIW_MPA_REV0", "refuse", has_defaults, NULL },
	{ NULL, "USIW_MPA_REV0", "permissive", is_permissive, NULL },
	{ NULL, "USIW_MPA_REV0", "off", has_defaults, "refuse|permissive" },
	{ NULL, "USIW_MARKERS", "on", wants_markers, NULL },
	{ NULL, "USIW_MARKERS", "1", has_defaults, "USIW_MARKERS=1" },
	{ NULL, "USIW_INTERFACES", "eth0,eth1", takes_eth, NULL },
	{ NULL, "USIW_INTERFACES", "", has_defaults, NULL },
	{ NULL, "USIW_MPA_REV", "1", rev_is_1, NULL },
	{ NULL, "USIW_MPA_REV", "0", has_defaults, "USIW_MPA_REV=0" },
	{ NULL, "USIW_MPA_REV", "3", has_defaults, "1|2" },
	{ NULL, "USIW_IRD", "-1", has_defaults, "USIW_IRD=-1" },
	{ NULL, "USIW_IRD", "12x", has_defaults, "USIW_IRD=12x" },
	{ NULL, "USIW_IRD", " 1", has_defaults, "USIW_IRD= 1" },
	{ NULL, "USIW_IRD", "99999999999999999999", has_defaults, "0..128" },
	{ NULL, "USIW_NICE", "-20", is_urgent, NULL },
	{ NULL, "USIW_NICE", "-21", has_defaults, "USIW_NICE=-21" },
	{ NULL, "USIW_NICE", "20", has_defaults, "-20..19; using 0" },
	{ NULL, "USIW_NICE", "-", has_defaults, "USIW_NICE=-:" },
	{ NULL, "USIW_NICE", "--1", has_defaults, "USIW_NICE=--1" },
	{ NULL, "USIW_LOG", "loud", has_defaults, "USIW_LOG=loud" },
	{ "USIW_CRC=off\n", NULL, NULL, crc_is_off, NULL },
	{ "# USIW_CRC=off\n\n", NULL, NULL, has_defaults, NULL },
	{ "USIW_CRC=off\n", "USIW_CRC", "auto", crc_is_auto, NULL },
	{ " USIW_CRC = off \n USIW_IRD=16", NULL, NULL, file_then_rest, NULL },
	{ "USIW_CRC=off\nUSIW_IRD=16\nUSIW_ORD=1000\n", NULL, NULL,
	  file_then_rest, "env_test.conf: USIW_ORD=1000" },
	{ "USIW_TYPO=1\n", NULL, NULL, has_defaults,
	  "env_test.conf: USIW_TYPO: not a setting" },
	{ "nonsense\n", NULL, NULL, has_defaults,
	  "nonsense: not a setting; lines are NAME=value" },
	{ "USIW_CRCC=off\n", NULL, NULL, has_defaults,
	  "USIW_CRCC: not a setting; is USIW_CRC meant?" },
	/* A line that is no text is not printed as it is, nor whole. */
	{ "\033[2J\001garbage garbage garbage garbage garbage\n", NULL, NULL,
	  has_defaults, "?[2J?garbage garbage garbage garbage gar...: not" },
	{ NULL, "USIW_IRD", "99999999999999999999999999999999999999999999",
	  has_defaults,
	  "USIW_IRD=9999999999999999999999999999999999999999...: invalid" },
	/* No log at all, not even errors. */
	{ "USIW_TYPO=1\nUSIW_CRC=maybe\n", "USIW_LOG", "none", logs_none,
	  NULL },
	{ "USIW_LOG=none\nUSIW_TYPO=1\n", NULL, NULL, logs_none, NULL },
	{ "USIW_LOG=none\n", "USIW_CRC", "maybe", logs_none, NULL },
	{ "USIW_LOG=none\nUSIW_TYPO=1\n", "USIW_LOG", "error", has_defaults,
	  "USIW_TYPO: not a setting" },
};

static int case_run(void *arg)
{
	const struct setting_case *c = arg;

	if (c->name)
		setenv(c->name, c->value, 1);
	errno = EXDEV;
	if (!c->check(util_settings()) || errno != EXDEV)
		return 1;
	return util_settings() == util_settings() ? 0 : 2;
}

static void conf_write(const char *text)
{
	FILE *file;

	unlink(UTIL_CONF_PATH);
	if (!text)
		return;
	file = fopen(UTIL_CONF_PATH, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	fclose(file);
}

CASE(reads_environment_and_file)
{
	char err[1024];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		conf_write(cases[i].conf);
		if (child_run(case_run, (void *)(uintptr_t)&cases[i], err,
			      sizeof(err)) != 0)
			fail_msg("case %zu", i);
		if (cases[i].err ? !strstr(err, cases[i].err) : *err != '\0')
			fail_msg("case %zu says: %s", i, err);
	}
	conf_write(NULL);
}

static int unreadable_run(void *arg)
{
	(void)arg;
	return util_settings()->crc == UTIL_CRC_ON ? 0 : 1;
}

/* Root can read every file, but not a directory or a symbolic link to
 * itself. */
CASE(reports_an_unreadable_file)
{
	char err[1024];

	assert_int_equal(mkdir(UTIL_CONF_PATH, 0700), 0);
	assert_int_equal(child_run(unreadable_run, NULL, err, sizeof(err)), 0);
	assert_int_equal(rmdir(UTIL_CONF_PATH), 0);
	assert_non_null(strstr(err, "env_test.conf: Is a directory: its "
				    "settings are not used"));
	assert_int_equal(symlink(UTIL_CONF_PATH, UTIL_CONF_PATH), 0);
	assert_int_equal(child_run(unreadable_run, NULL, err, sizeof(err)), 0);
	assert_int_equal(unlink(UTIL_CONF_PATH), 0);
	assert_non_null(strstr(err, "env_test.conf: Too many levels"));
}

static int quiet_run(void *arg)
{
	(void)arg;
	setenv("USIW_CRC", "maybe", 1);
	util_settings_set_quiet();
	return util_settings()->crc == UTIL_CRC_ON ? 0 : 1;
}

CASE(quiet_copy_reports_nothing)
{
	char err[1024];

	assert_int_equal(child_run(quiet_run, NULL, err, sizeof(err)), 0);
	assert_string_equal(err, "");
}

CASE(documents_every_setting)
{
	assert_true(util_setting_cnt >= 14);
	for (size_t i = 0; i < util_setting_cnt; i++) {
		const struct util_setting_doc *doc = &util_setting_docs[i];

		assert_int_equal(strncmp(doc->name, "USIW_", 5), 0);
		assert_true(*doc->values && *doc->what);
	}
}

BEFORE_CASES()
{
	for (size_t i = 0; i < util_setting_cnt; i++)
		unsetenv(util_setting_docs[i].name);
}

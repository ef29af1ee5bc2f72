/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Checks of what the user sets: variables, /etc/usiw.conf, rules of SDP. */
#define _GNU_SOURCE
#include "doctor/check.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sdp/rules/rules.h"
#include "util/env.h"
#include "util/log-spec.h"
#include "environment.h"

#define PREFIX "USIW_"
#define CONF_PATH "/etc/usiw.conf"

/* ---- settings ----------------------------------------------------------- */

static void names_check(struct report *report)
{
	for (char **entry = environ; *entry; entry++) {
		size_t len = strcspn(*entry, "=");
		const char *near;

		if (strncmp(*entry, PREFIX, strlen(PREFIX)) != 0)
			continue;
		near = util_setting_near(*entry, len);
		if (!near)
			continue;
		report_wrong(report, "%.*s is not a setting and has no effect",
			     (int)len, *entry);
		report_repair(report, "%s%s", near, *entry + len);
	}
}

/* "usiw: environment: NAME=VALUE: invalid value: use VALUES; using DEFAULT" */
static void value_tell(const char *line, struct report *report)
{
	const char *name = strstr(line, PREFIX), *use = strstr(line, "use ");
	bool is_file = strstr(line, CONF_PATH) != NULL;
	size_t len = name ? strcspn(name, "=") : 0;

	report_wrong(report, "%s", inside_said(line));
	if (name && use)
		report_repair(report, "%.*s=%.*s%s%s", (int)len, name,
			      (int)strcspn(use + strlen("use "), ";"),
			      use + strlen("use "), is_file ? ", in " : "",
			      is_file ? CONF_PATH : "");
}

static void directory_check(struct inside *inside, struct report *report)
{
	const char *directory = util_settings()->stat_dir;

	if (!directory || access(directory, W_OK | X_OK) == 0)
		return;
	(void)inside_claim(inside, "no counter file in");
	report_wrong(report,
		     "USIW_STAT_DIR=%s: no counter page can be made "
		     "there: %s",
		     directory, strerror(errno));
	report_repair(report, "mkdir -m 1777 %s", directory);
}

/* The process inside has another value. */
static void log_check(struct report *report)
{
	const char *value = getenv("USIW_LOG");
	struct util_log_spec spec;

	if (!value || !*value || util_log_spec_parse(value, &spec))
		return;
	report_wrong(report, "USIW_LOG=%s: invalid value", value);
	report_repair(report, "USIW_LOG=none|error|warn|info|debug[:part,...]");
}

/* What it says wrong, the process inside says, too. */
static void fault_check(struct report *report)
{
	const char *spec = getenv("USIW_FAULT");

	if (!spec || !*spec)
		return;
	report_note(report, "USIW_FAULT=%s: things fail on purpose", spec);
	report_repair(report, "unset USIW_FAULT");
}

void check_settings(struct subject *subject, struct report *report)
{
	size_t cnt = report->cnt;
	const char *line;

	names_check(report);
	log_check(report);
	fault_check(report);
	while ((line = inside_claim(&subject->inside, ": invalid value: ")))
		value_tell(line, report);
	while ((line = inside_claim(&subject->inside, "usiw: " CONF_PATH))) {
		report_wrong(report, "%s", inside_said(line));
		report_repair(report, "edit " CONF_PATH "; usiw(7) describes "
				      "it");
	}
	directory_check(&subject->inside, report);
	if (report->cnt == cnt)
		report_ok(report, "valid%s",
			  access(CONF_PATH, F_OK) == 0 ? "; " CONF_PATH
							 " is used"
						       : "");
}

/* ---- SDP ---------------------------------------------------------------- */

/* Behind the other library, its sockets reach no device. */
static void order_check(struct report *report)
{
	const char *list = getenv("LD_PRELOAD");
	const char *sdp = list ? strstr(list, "/libsdp.so") : NULL;
	const char *kabi = list ? strstr(list, "/" ENVIRONMENT_PRELOAD) : NULL;

	if (!sdp || (kabi && sdp < kabi))
		return;
	report_wrong(
		report,
		"LD_PRELOAD=%s: libsdp.so has to be before " ENVIRONMENT_PRELOAD,
		list);
	report_repair(report, "unset LD_PRELOAD, and start programs by usiw "
			      "run --sdp");
}

static const char *program_name(const struct subject *subject)
{
	const char *path = subject->program.path;
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Port Mapper: without one, programs of other hosts find no SDP here. */
static bool mapper_runs(void)
{
	FILE *file = fopen("/proc/net/udp", "re");
	char line[512], port[16];
	bool is_there = false;

	snprintf(port, sizeof(port), ":%04X ", util_settings()->sdp_pm_port);
	while (file && !is_there && fgets(line, sizeof(line), file))
		is_there = strstr(line, port) != NULL;
	if (file)
		fclose(file);
	return is_there;
}

static void sdp_use_check(struct subject *subject, struct sdp_rules *rules,
			  struct report *report)
{
	if (subject->command && *subject->program.path &&
	    !sdp_rules_concern(rules, program_name(subject))) {
		report_note(report, "the rules keep the sockets of %s on TCP",
			    program_name(subject));
		report_repair(report, "a line in %s: use both client %s *:*",
			      getenv(SDP_RULES_ENV) ? getenv(SDP_RULES_ENV)
						    : SDP_RULES_PATH,
			      program_name(subject));
	}
	if (!mapper_runs()) {
		report_note(report, "no Port Mapper runs: connections with "
				    "other hosts stay on TCP");
		report_repair(report, "systemctl enable --now sdp-pmd");
	}
}

void check_sdp(struct subject *subject, struct report *report)
{
	struct sdp_rules *rules = NULL;
	size_t cnt = report->cnt;
	char why[512];
	int ret = sdp_rules_load(&rules, why, sizeof(why));

	order_check(report);
	if (ret < 0) {
		report_wrong(report, "%s: all sockets use TCP",
			     ret == -ENOMEM ? "out of memory" : why);
		report_repair(report, "correct the line; libsdp.conf(5) "
				      "describes the rules");
	}
	if (subject->wants_sdp && ret == 0)
		sdp_use_check(subject, rules, report);
	if (report->cnt == cnt)
		report_ok(report, "%s",
			  subject->wants_sdp ? "libsdp.so and its rules"
					     : "the rules are valid");
	sdp_rules_free(rules);
}

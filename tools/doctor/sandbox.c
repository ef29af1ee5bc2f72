/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Checks of AppArmor and SELinux: they may take LD_PRELOAD away when they start
 * a program, or keep it from usiw's files. */
#define _GNU_SOURCE
#include "doctor/check.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "doctor/file.h"

#define PROFILES "/etc/apparmor.d"

/* The profile of a program: AppArmor's files have its path, with dots for
 * slashes, as their name.  Return: false: none. */
static bool profile_of(const char *program, char ret_path[PATH_MAX])
{
	char name[PATH_MAX];

	if (!realpath(program, name))
		return false;
	for (char *slash = name; (slash = strchr(slash, '/'));)
		*slash = '.';
	return snprintf(ret_path, PATH_MAX, PROFILES "/%s", name + 1) <
		       PATH_MAX &&
	       access(ret_path, F_OK) == 0;
}

static void label_read(char ret_label[256])
{
	if (!file_line("/proc/self/attr/apparmor/current", ret_label, 256) &&
	    !file_line("/proc/self/attr/current", ret_label, 256))
		strcpy(ret_label, "unknown");
}

void check_apparmor(struct subject *subject, struct report *report)
{
	char profile[PATH_MAX], label[256], text[8];

	if (!file_line("/sys/module/apparmor/parameters/enabled", text,
		       sizeof(text)) ||
	    *text != 'Y') {
		report_ok(report, "not in use");
		return;
	}
	label_read(label);
	if (*subject->program.path &&
	    profile_of(subject->program.path, profile)) {
		report_note(report,
			    "%s confines %s: it may not read usiw's libraries, "
			    "use sockets, or keep LD_PRELOAD",
			    profile, subject->program.path);
		report_repair(report,
			      "aa-complain %s, then see what dmesg "
			      "says about it",
			      profile);
	} else if (strstr(label, "(enforce)") &&
		   !inside_get(&subject->inside, "end")) {
		report_wrong(report, "this process is confined: %s", label);
		report_repair(report, "aa-complain the profile, or allow "
				      "usiw's libraries in it");
	} else {
		report_ok(report, "%s", label);
	}
}

void check_selinux(struct subject *subject, struct report *report)
{
	const char *program = subject->program.path;
	char text[8], label[256] = "";
	ssize_t len;

	if (!file_line("/sys/fs/selinux/enforce", text, sizeof(text)) ||
	    *text != '1') {
		report_ok(report, "not in use");
		return;
	}
	len = *program ? getxattr(program, "security.selinux", label,
				  sizeof(label) - 1)
		       : 0;
	label[len > 0 ? len : 0] = '\0';
	if (strstr(label, "_exec_t")) {
		report_note(report,
			    "%s is labelled %s: a start in a domain of its own "
			    "takes LD_PRELOAD away",
			    program, label);
		report_repair(report,
			      "start it in the caller's domain: runcon "
			      "$(cat /proc/self/attr/current) usiw run "
			      "-- %s",
			      program);
		return;
	}
	label_read(label);
	report_ok(report, "%s", label);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Checks of what is installed: the parts of usiw, libibverbs, librdmacm. */
#define _GNU_SOURCE
#include "doctor/check.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "environment.h"

/* Limit of the search for other providers. */
#define NUMBER_MAX 255

#define INSTALL_AGAIN                                                          \
	"install usiw again (Debian: apt-get install --reinstall usiw "        \
	"ibverbs-provider-usiw)"

/* libibverbs.so.1.14.44.0 is of rdma-core 44.0. */
static const char *release_of(const char *path)
{
	const char *dot = path ? strstr(path, ".so.") : NULL;

	for (int i = 0; dot && i < 2; i++)
		dot = strchr(dot + (i ? 1 : strlen(".so.")), '.');
	return dot ? dot + 1 : "?";
}

void check_versions(struct subject *subject, struct report *report)
{
	const char *interface = inside_get(&subject->inside, "interface");
	const char *version = inside_get(&subject->inside, "version");
	struct utsname kernel;

	if (uname(&kernel) < 0)
		strcpy(kernel.release, "?");
	if (interface && strcmp(interface, USIW_INTERFACE) != 0) {
		report_wrong(report,
			     "%s is of another build of usiw (%s) than this "
			     "command (%s)",
			     inside_get(&subject->inside, "preload"), interface,
			     USIW_INTERFACE);
		report_repair(report, INSTALL_AGAIN);
	} else if (version && strcmp(version, USIW_VERSION) != 0) {
		report_wrong(report, "%s is of usiw %s, and this command of %s",
			     inside_get(&subject->inside, "preload"), version,
			     USIW_VERSION);
		report_repair(report, INSTALL_AGAIN);
	} else {
		report_ok(report,
			  "usiw " USIW_VERSION " (" USIW_INTERFACE
			  "), rdma-core %s, Linux %s",
			  release_of(inside_get(&subject->inside, "verbs")),
			  kernel.release);
	}
}

void check_proc(struct subject *subject, struct report *report)
{
	struct statfs fs;

	(void)subject;
	if (statfs("/proc", &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC &&
	    access("/proc/self/exe", R_OK) == 0) {
		report_ok(report, "mounted");
		return;
	}
	report_wrong(report, "/proc is not mounted: usiw finds its libraries "
			     "by /proc/self/exe");
	report_repair(report, "mount -t proc proc /proc");
}

/* LD_PRELOAD as it is without usiw run: somebody may have set it by hand. */
static void list_check(struct report *report)
{
	const char *list = getenv("LD_PRELOAD");
	char path[PATH_MAX];
	const char *slash;
	size_t len;

	for (; list && *list; list += len + (list[len] != '\0')) {
		len = strcspn(list, ": ");
		snprintf(path, sizeof(path), "%.*s", (int)len, list);
		slash = strrchr(path, '/');
		if (strcmp(slash ? slash + 1 : path, ENVIRONMENT_PRELOAD) != 0)
			continue;
		if (slash && access(path, R_OK) == 0)
			continue;
		report_wrong(report, "LD_PRELOAD names %s: %s", path,
			     slash ? strerror(errno)
				   : "the dynamic linker does not find it "
				     "without a directory");
		report_repair(report,
			      "unset LD_PRELOAD, and start programs by usiw "
			      "run");
	}
}

static void start_tell(const struct inside *inside, struct report *report)
{
	if (inside->err)
		report_wrong(report, "no process can be started: %s",
			     strerror(inside->err));
	else if (inside->is_hung)
		report_wrong(report, "a process below the preload library "
				     "hangs");
	else if (inside->signal)
		report_wrong(report,
			     "a process below the preload library dies: %s",
			     strsignal(inside->signal));
	else
		return;
	report_repair(report, "start a program by usiw run with "
			      "USIW_LOG=debug, and see what it says last");
}

/* Why the environment could not be set.  Return: false: it was. */
static bool environment_tell(struct inside *inside, struct report *report)
{
	const char *line = inside_claim(inside, "/proc/self/exe");

	if (line) {
		report_skip(report, "see above");
		return true;
	}
	line = inside_claim(inside, "usiw: ");
	if (!line)
		return false;
	report_wrong(report, "%s", inside_said(line));
	if (strstr(line, "libsdp.so"))
		report_repair(report, "apt-get install usiw-sdp (Fedora: dnf "
				      "install usiw-sdp)");
	else if (!strstr(line, "another directory"))
		report_repair(report, INSTALL_AGAIN);
	return true;
}

void check_preload(struct subject *subject, struct report *report)
{
	const char *path = inside_get(&subject->inside, "preload");
	size_t cnt = report->cnt;
	const char *line;

	list_check(report);
	start_tell(&subject->inside, report);
	if (path) {
		if (report->cnt == cnt)
			report_ok(report, "%s", path);
		return;
	}
	/* The first fact that such a process tells. */
	if (!inside_get(&subject->inside, "drivers")) {
		if (!environment_tell(&subject->inside, report) &&
		    report->cnt == cnt)
			report_wrong(report, "/proc/self/exe cannot be "
					     "executed");
		return;
	}
	line = inside_claim(&subject->inside, ENVIRONMENT_PRELOAD);
	report_wrong(report, "%s",
		     line ? inside_said(line)
			  : "the dynamic linker loads no " ENVIRONMENT_PRELOAD
			    ": LD_PRELOAD is taken away");
	report_repair(report, INSTALL_AGAIN);
}

/* The provider for @number: the file that RDMAV_DRIVERS names. */
static void provider_path(const struct inside *inside, const char *number,
			  char ret_path[PATH_MAX])
{
	const char *drivers = inside_get(inside, "drivers");

	snprintf(ret_path, PATH_MAX, "%s-rdmav%s.so", drivers ? drivers : "",
		 number);
}

/* Return: whether usiw has a provider for any number. */
static bool has_providers(const struct inside *inside)
{
	char path[PATH_MAX], number[16];

	for (unsigned i = 1; i <= NUMBER_MAX; i++) {
		snprintf(number, sizeof(number), "%u", i);
		provider_path(inside, number, path);
		if (access(path, R_OK) == 0)
			return true;
	}
	return false;
}

void check_abi(struct subject *subject, struct report *report)
{
	const char *verbs = inside_get(&subject->inside, "verbs");
	const char *number = inside_get(&subject->inside, "number");
	const char *error = inside_get(&subject->inside, "verbs-error");
	char path[PATH_MAX] = "";

	if (!verbs && error) {
		report_wrong(report, "%s", error);
		report_repair(
			report,
			"apt-get install libibverbs1 (Fedora: dnf install "
			"libibverbs)");
		return;
	}
	if (!verbs)
		return; /* there was no process */
	if (number)
		provider_path(&subject->inside, number, path);
	if (number && !error &&
	    (access(path, R_OK) == 0 || !has_providers(&subject->inside))) {
		report_ok(report, "%s, private interface %s", verbs, number);
		return;
	}
	(void)inside_claim(&subject->inside, "this libibverbs asks for");
	report_wrong(report,
		     "%s: usiw has no provider for its private interface %s",
		     verbs, number ? number : "(none)");
	report_repair(report, "install a newer usiw, or the rdma-core of the "
			      "distribution; LD_LIBRARY_PATH may name another "
			      "one");
}

static bool drivers_are_own(const char *drivers)
{
	const char *name = drivers ? strrchr(drivers, '/') : NULL;

	return name && strncmp(name, "/libusiw", strlen("/libusiw")) == 0;
}

void check_provider(struct subject *subject, struct report *report)
{
	const char *provider = inside_get(&subject->inside, "provider");
	const char *number = inside_get(&subject->inside, "number");
	const char *set = getenv("RDMAV_DRIVERS");
	const char *line = inside_claim(&subject->inside, "two builds");
	char path[PATH_MAX];

	if (line) {
		report_wrong(report, "%s", inside_said(line));
		report_repair(report, INSTALL_AGAIN);
	} else if (provider) {
		report_ok(report, "%s", provider);
	} else if (!number || !inside_get(&subject->inside, "preload")) {
		report_skip(report, "see above");
	} else if (set && !drivers_are_own(set)) {
		(void)inside_claim(&subject->inside, "RDMAV_DRIVERS");
		(void)inside_claim(&subject->inside, "couldn't load driver");
		report_wrong(report, "RDMAV_DRIVERS=%s names another one", set);
		report_repair(report, "unset RDMAV_DRIVERS");
	} else {
		provider_path(&subject->inside, number, path);
		if (access(path, R_OK) == 0) {
			report_ok(report, "%s, not loaded without a device",
				  path);
			return;
		}
		(void)inside_claim(&subject->inside, "the provider of usiw");
		(void)inside_claim(&subject->inside, "couldn't load driver");
		if (has_providers(&subject->inside)) {
			report_skip(report, "see above");
			return;
		}
		report_wrong(report, "there is no %s", path);
		report_repair(report, INSTALL_AGAIN);
	}
}

void check_rdmacm(struct subject *subject, struct report *report)
{
	const char *path = inside_get(&subject->inside, "rdmacm");
	const char *error = inside_get(&subject->inside, "rdmacm-error");

	if (path) {
		report_ok(report, "%s", path);
	} else if (error) {
		report_note(report,
			    "%s: programs that connect by rdma_cm do "
			    "not start",
			    error);
		report_repair(report, "apt-get install librdmacm1 (Fedora: dnf "
				      "install librdmacm)");
	}
}

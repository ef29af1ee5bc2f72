/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See probe.h. */
#define _GNU_SOURCE
#include "doctor/probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/env.h"
#include "doctor/inside.h"
#include "doctor/traffic.h"
#include "verbs.h"

#define RDMACM_LIBRARY "librdmacm.so.1"
/* Limit of the search for the number of the private interface. */
#define NUMBER_MAX 255
/* A device that moves nothing takes seconds.  So many tell enough. */
#define FAILED_MAX 4

static void fact(const char *name, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void fact(const char *name, const char *fmt, ...)
{
	va_list args;

	printf("%c%s ", INSIDE_MARK, name);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout); /* lines of the log come between */
}

/* The file of the object that has @addr. */
static void file_tell(const char *name, const void *addr)
{
	char path[PATH_MAX];
	Dl_info info;

	if (dladdr(addr, &info) && info.dli_fname &&
	    realpath(info.dli_fname, path))
		fact(name, "%s", path);
}

/* Return: whether it is there. */
static bool preload_tell(void)
{
	const char *interface = dlsym(RTLD_DEFAULT, "usiw_interface");

	if (!interface)
		return false;
	fact("interface", "%s", interface);
	file_tell("preload", interface);
	return true;
}

/* Tells what the library is, which may lack functions that are called below. */
static void library_tell(const char *libibverbs)
{
	void *lib = dlopen(libibverbs, RTLD_NOW);
	void *call = lib ? dlsym(lib, "ibv_get_device_list") : NULL;
	char name[sizeof("verbs_register_driver_255")];

	if (call)
		file_tell("verbs", call);
	for (unsigned number = 1; lib && number <= NUMBER_MAX; number++) {
		snprintf(name, sizeof(name), "verbs_register_driver_%u",
			 number);
		if (dlsym(lib, name))
			fact("number", "%u", number);
	}
}

static int object_tell(struct dl_phdr_info *object, size_t size, void *arg)
{
	const char *path = object->dlpi_name ? object->dlpi_name : "";
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	(void)size;
	(void)arg;
	if (strncmp(name, "libusiw-rdmav", strlen("libusiw-rdmav")) == 0)
		fact("provider", "%s", path);
	if (strncmp(name, "libusiw-rnic", strlen("libusiw-rnic")) == 0)
		fact("rnic", "%s", path);
	return 0;
}

/* The content of a file of the device, in one line.  "": it has none. */
static void attribute_read(const char *device, const char *name,
			   char ret_text[64])
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), VERBS_CLASS_DIR "/%s/%s", device, name);
	file = fopen(path, "re");
	if (!file || !fgets(ret_text, 64, file))
		ret_text[0] = '\0';
	if (file)
		fclose(file);
	ret_text[strcspn(ret_text, "\n")] = '\0';
}

static void device_use(struct ibv_device *dev, const char *name,
		       unsigned *failed_cnt)
{
	struct ibv_context *ctx = verbs.ibv_open_device(dev);
	struct ibv_port_attr port;
	char ifname[VERBS_INTERFACE_MAX], why[256];
	int err = errno;

	memset(&port, 0, sizeof(port));
	if (ctx &&
	    verbs.ibv_query_port(ctx, 1, (struct _compat_ibv_port_attr *)&port))
		port.state = IBV_PORT_NOP;
	verbs_interface(name, ifname);
	fact("device", "%s %s %s %s", name, ifname, verbs_persona(dev),
	     verbs_state(port.state));
	if (!ctx) {
		fact("open-error", "%s: %s", name, strerror(err));
		return;
	}
	fact("open", "%s", name);
	if (port.state == IBV_PORT_ACTIVE && *failed_cnt < FAILED_MAX) {
		if (traffic_try(ctx, why, sizeof(why)) == 0) {
			fact("moved", "%s", name);
		} else {
			fact("traffic-error", "%s: %s", name, why);
			*failed_cnt += 1;
		}
	}
	verbs.ibv_close_device(ctx);
}

static void devices_tell(void)
{
	struct ibv_device **list;
	char type[64], version[64];
	unsigned failed_cnt = 0;
	int cnt = 0;

	list = verbs.ibv_get_device_list(&cnt);
	dl_iterate_phdr(object_tell, NULL);
	for (int i = 0; list && i < cnt; i++) {
		const char *name = verbs.ibv_get_device_name(list[i]);

		attribute_read(name, "hca_type", type);
		if (strcmp(type, "usiw") != 0)
			continue; /* hardware */
		attribute_read(name, "fw_ver", version);
		fact("version", "%s", version);
		device_use(list[i], name, &failed_cnt);
	}
	if (list)
		verbs.ibv_free_device_list(list);
}

static void rdmacm_tell(void)
{
	void *lib = dlopen(RDMACM_LIBRARY, RTLD_NOW);
	void *call = lib ? dlsym(lib, "rdma_create_id") : NULL;

	if (call)
		file_tell("rdmacm", call);
	else
		fact("rdmacm-error", "%s", dlerror());
}

int probe_run(const char *libibverbs)
{
	const char *drivers = getenv("RDMAV_DRIVERS");
	char why[512];

	fact("drivers", "%s", drivers ? drivers : "");
	if (preload_tell())
		util_settings_set_quiet(); /* the RNIC's library reports */
	(void)util_settings();
	library_tell(libibverbs);
	if (verbs_load(libibverbs, why, sizeof(why)) < 0)
		fact("verbs-error", "%s", why);
	else
		devices_tell();
	rdmacm_tell();
	fact("end", "%s", "");
	return 0;
}

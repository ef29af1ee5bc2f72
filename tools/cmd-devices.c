/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * usiw devices: the table of devices as a verbs program sees them, through
 * libibverbs and under the preload library.
 */
#define _GNU_SOURCE
#include "cmd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/env.h"
#include "util/v4-mapped.h"
#include "environment.h"
#include "output.h"
#include "setting.h"
#include "verbs.h"

/* The second half of the command, which runs under the preload library. */
#define INSIDE "--inside"

static unsigned long mtu_read(const char *ifname)
{
	unsigned long mtu = 0;
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/net/%s/mtu", ifname);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%lu", &mtu) != 1)
		mtu = 0;
	fclose(file);
	return mtu;
}

static void gid_print(const union ibv_gid *gid, bool is_first)
{
	char text[INET6_ADDRSTRLEN];
	bool is_v4 = util_v4_is_mapped(gid->raw);

	inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? gid->raw + 12 : gid->raw,
		  text, sizeof(text));
	printf("%s%s", is_first ? "" : " ", text);
}

static void gids_print(struct ibv_context *ctx, int gid_cnt)
{
	static const union ibv_gid none;
	union ibv_gid gid;
	bool is_first = true;

	for (int i = 0; i < gid_cnt; i++) {
		if (verbs.ibv_query_gid(ctx, 1, i, &gid) ||
		    memcmp(&gid, &none, sizeof(gid)) == 0)
			continue;
		gid_print(&gid, is_first);
		is_first = false;
	}
	puts(is_first ? "-" : "");
}

/* USIW_LOCAL of programs with this environment. */
static const char *local_name(void)
{
	static const char *const names[] = { [UTIL_LOCAL_AUTO] = "auto",
					     [UTIL_LOCAL_OFF] = "off",
					     [UTIL_LOCAL_ANY] = "any" };

	return names[util_settings()->local];
}

#define ROW "%-18s %-16s %-7s %-5s %-7s %6lu  %016llx  "
#define HEAD "%-18s %-16s %-7s %-5s %-7s %6s  %-16s  %s\n"

static void device_print(struct ibv_device *dev)
{
	const char *name = verbs.ibv_get_device_name(dev);
	unsigned long long guid = be64toh(verbs.ibv_get_device_guid(dev));
	struct ibv_context *ctx = verbs.ibv_open_device(dev);
	struct ibv_port_attr port;
	char ifname[VERBS_INTERFACE_MAX];

	memset(&port, 0, sizeof(port));
	verbs_interface(name, ifname);
	if (!ctx) {
		printf(ROW "cannot be opened: %s\n", name, ifname,
		       verbs_persona(dev), local_name(), "-", mtu_read(ifname),
		       guid, strerror(errno));
		return;
	}
	if (verbs.ibv_query_port(ctx, 1, (struct _compat_ibv_port_attr *)&port))
		port.state = IBV_PORT_NOP;
	printf(ROW, name, ifname, verbs_persona(dev), local_name(),
	       verbs_state(port.state), mtu_read(ifname), guid);
	gids_print(ctx, port.gid_tbl_len);
	verbs.ibv_close_device(ctx);
}

/* Prints why no device was found, if the library does not. */
static int none_explain(int err)
{
	char name[256];
	int ret = verbs_first_entry(VERBS_CLASS_DIR, name, sizeof(name));

	if (ret < 0 && ret != -ENODATA && ret != -ENOENT)
		printf("no device: usiw's " VERBS_CLASS_DIR
		       " cannot be read: %s\n",
		       strerror(-ret));
	else if (ret == 0 && err)
		printf("no device: libibverbs: %s\n", strerror(err));
	else
		puts("no device: the library that usiw preloads says why "
		     "(USIW_LOG=error)");
	return 1;
}

static int devices_inside(void)
{
	struct ibv_device **list;
	char why[512];
	int cnt = 0;

	if (verbs_load(VERBS_LIBRARY, why, sizeof(why)) < 0) {
		printf("no device: %s\n", why);
		return 1;
	}
	list = verbs.ibv_get_device_list(&cnt);
	if (!list)
		return none_explain(errno);
	if (cnt == 0) {
		verbs.ibv_free_device_list(list);
		return none_explain(0);
	}
	printf(HEAD, "DEVICE", "INTERFACE", "PERSONA", "LOCAL", "STATE", "MTU",
	       "GUID", "ADDRESSES");
	for (int i = 0; i < cnt; i++)
		device_print(list[i]);
	verbs.ibv_free_device_list(list);
	return output_end("devices");
}

static void devices_usage(FILE *out)
{
	fputs("Usage: usiw devices\n"
	      "Lists the RDMA devices that a program under usiw run sees.\n"
	      "Exit code: 0; 1 no device, and why; 2 wrong usage.\n",
	      out);
}

int cmd_devices(int argc, char **argv)
{
	if (argc > 1 && cmd_is_help(argv[1])) {
		devices_usage(stdout);
		return fflush(stdout) ? 1 : 0;
	}
	if (argc == 2 && strcmp(argv[1], INSIDE) == 0) {
		util_settings_set_quiet(); /* the RNIC's library reports */
		return devices_inside();
	}
	if (argc > 1) {
		fprintf(stderr, "usiw: devices: %s: not understood\n", argv[1]);
		devices_usage(stderr);
		return USAGE_EXIT;
	}
	if (output_begin("devices"))
		return 1;
	/* Warnings say why an interface is no device. */
	if (environment_set(false, false) < 0 ||
	    setenv("USIW_LOG", "warn", 0) < 0)
		return 1;
	setting_warn_mistyped();
	execl("/proc/self/exe", "usiw", "devices", INSIDE, (char *)NULL);
	fprintf(stderr, "usiw: devices: cannot execute /proc/self/exe: %s\n",
		strerror(errno));
	return 1;
}

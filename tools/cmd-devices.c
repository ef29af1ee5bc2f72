/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * usiw devices: the table of devices as a verbs program sees them, through
 * libibverbs and under the preload library.
 */
#define _GNU_SOURCE
#include "util/v4-mapped.h"
#include "cmd.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/env.h"
#include "environment.h"
#include "setting.h"

/* The second half of the command, which runs under the preload library. */
#define INSIDE "--inside"

#define VERBS_LIBRARY "libibverbs.so.1"
#define CLASS_DIR "/sys/class/infiniband"

#undef ibv_query_port /* the symbol, not the inline function */

/* Only this command needs libibverbs, so it is loaded at run time. */
#define VERBS_CALLS(X)                                                         \
	X(ibv_get_device_list)                                                 \
	X(ibv_free_device_list)                                                \
	X(ibv_get_device_name)                                                 \
	X(ibv_get_device_guid)                                                 \
	X(ibv_open_device)                                                     \
	X(ibv_close_device)                                                    \
	X(ibv_query_port)                                                      \
	X(ibv_query_gid)

static struct verbs {
#define VERBS_FIELD(call) __typeof__(&call) call;
	VERBS_CALLS(VERBS_FIELD)
} verbs;

static int verbs_load(void)
{
	static const char *const names[] = {
#define VERBS_NAME(call) #call,
		VERBS_CALLS(VERBS_NAME)
	};
	void *lib = dlopen(VERBS_LIBRARY, RTLD_NOW);

	_Static_assert(sizeof(verbs) == sizeof(names),
		       "nothing but pointers, in the order of the names");
	if (!lib) {
		printf("no device: %s; install libibverbs (Debian: "
		       "libibverbs1)\n",
		       dlerror());
		return -1;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *sym = dlsym(lib, names[i]);

		if (!sym) {
			printf("no device: " VERBS_LIBRARY " has no %s\n",
			       names[i]);
			return -1;
		}
		memcpy((char *)&verbs + i * sizeof(sym), &sym, sizeof(sym));
	}
	return 0;
}

/* First entry of a directory.  Return: 0; -ENODATA: it is empty; -errno. */
static int first_entry(const char *path, char *ret_name, size_t size)
{
	const struct dirent *entry;
	int ret = -ENODATA;
	DIR *dir = opendir(path);

	if (!dir)
		return -errno;
	while (ret < 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(ret_name, size, "%s", entry->d_name);
		ret = 0;
	}
	closedir(dir);
	return ret;
}

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

static const char *state_name(int state)
{
	switch (state) {
	case IBV_PORT_ACTIVE:
		return "active";
	case IBV_PORT_DOWN:
		return "down";
	case IBV_PORT_INIT:
		return "init";
	case IBV_PORT_ARMED:
		return "armed";
	default:
		return "unknown";
	}
}

/* The persona, as libibverbs sees it. */
static const char *persona_name(const struct ibv_device *dev)
{
	return dev->transport_type == IBV_TRANSPORT_IWARP ? "rnic" : "ca";
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
	char path[256], ifname[256] = "-";

	memset(&port, 0, sizeof(port));
	snprintf(path, sizeof(path), CLASS_DIR "/%s/device/net", name);
	(void)first_entry(path, ifname, sizeof(ifname));
	if (!ctx) {
		printf(ROW "cannot be opened: %s\n", name, ifname,
		       persona_name(dev), local_name(), "-", mtu_read(ifname),
		       guid, strerror(errno));
		return;
	}
	if (verbs.ibv_query_port(ctx, 1, (struct _compat_ibv_port_attr *)&port))
		port.state = IBV_PORT_NOP;
	printf(ROW, name, ifname, persona_name(dev), local_name(),
	       state_name(port.state), mtu_read(ifname), guid);
	gids_print(ctx, port.gid_tbl_len);
	verbs.ibv_close_device(ctx);
}

/* Prints why no device was found, if the library does not. */
static int none_explain(int err)
{
	char name[256];
	int ret = first_entry(CLASS_DIR, name, sizeof(name));

	if (ret < 0 && ret != -ENODATA && ret != -ENOENT)
		printf("no device: usiw's " CLASS_DIR " cannot be read: %s\n",
		       strerror(-ret));
	else if (ret == 0 && err)
		printf("no device: libibverbs: %s\n", strerror(err));
	else
		puts("no device: the library that usiw preloads says why "
		     "(USIW_LOG=error)");
	return 1;
}

/* Return: 0; 1: the output could not be written; the error was printed. */
static int output_end(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	fprintf(stderr, "usiw: devices: standard output: %s\n",
		strerror(errno));
	return 1;
}

static int devices_inside(void)
{
	struct ibv_device **list;
	int cnt = 0;

	if (verbs_load() < 0)
		return 1;
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
	return output_end();
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
	/* Otherwise the first descriptor that is opened would replace it. */
	if (fcntl(STDOUT_FILENO, F_GETFD) < 0) {
		fprintf(stderr, "usiw: devices: standard output: %s\n",
			strerror(errno));
		return 1;
	}
	/* Warnings say why an interface is no device. */
	if (environment_set(false) < 0 || setenv("USIW_LOG", "warn", 0) < 0)
		return 1;
	setting_warn_mistyped();
	execl("/proc/self/exe", "usiw", "devices", INSIDE, (char *)NULL);
	fprintf(stderr, "usiw: devices: cannot execute /proc/self/exe: %s\n",
		strerror(errno));
	return 1;
}

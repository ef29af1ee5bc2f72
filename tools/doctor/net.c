/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Checks of namespaces, interfaces, and the UDP port of datagrams. */
#define _GNU_SOURCE
#include "doctor/check.h"

#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/env.h"
#include "doctor/file.h"
#include "doctor/names.h"

/* Of RoCEv2. */
#define UDP_PORT 4791
/* Less has no IPv6, and cuts messages into small pieces. */
#define MTU_MIN 1280

/* ---- namespaces --------------------------------------------------------- */

/* The kernel's first user namespace maps every identity to itself. */
static bool is_first_user_namespace(void)
{
	unsigned first, outside, cnt;
	char text[128];

	return file_line("/proc/self/uid_map", text, sizeof(text)) &&
	       sscanf(text, "%u %u %u", &first, &outside, &cnt) == 3 &&
	       first == 0 && outside == 0 && cnt == UINT32_MAX;
}

static void interfaces_list(struct names *ret_names)
{
	struct if_nameindex *list = if_nameindex();

	*ret_names = (struct names){ .cnt = 0 };
	for (size_t i = 0; list && list[i].if_index; i++)
		names_add(ret_names, list[i].if_name);
	if (list)
		if_freenameindex(list);
}

void check_namespaces(struct subject *subject, struct report *report)
{
	const char *user = is_first_user_namespace()
				   ? "the first user namespace"
				   : "a user namespace";
	struct names names;

	(void)subject;
	interfaces_list(&names);
	if (names.cnt > 1)
		report_ok(report, "%s, interfaces %s", user, names.text);
	else if (!names.cnt)
		report_skip(report, "interfaces cannot be listed");
	if (names.cnt != 1)
		return;
	report_note(report,
		    "%s, and the network namespace has %s only: programs of "
		    "it reach each other, and no other host",
		    user, names.text);
	report_repair(report, "start both sides in one network namespace, or "
			      "join it to others: ip link add type veth");
}

/* ---- interfaces --------------------------------------------------------- */

static void flag_check(const char *ifname, struct report *report)
{
	struct ifreq request;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	memset(&request, 0, sizeof(request));
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", ifname);
	if (ioctl(fd, SIOCGIFFLAGS, &request) == 0 &&
	    !(request.ifr_flags & IFF_UP)) {
		report_wrong(report, "%s is down", ifname);
		report_repair(report, "ip link set %s up", ifname);
	} else if (ioctl(fd, SIOCGIFMTU, &request) == 0 &&
		   request.ifr_mtu < MTU_MIN) {
		report_note(report,
			    "%s has an MTU of %d: there is no IPv6, "
			    "and messages go in small pieces",
			    ifname, request.ifr_mtu);
		report_repair(report, "ip link set %s mtu 1500", ifname);
	}
	close(fd);
}

/* "interface X is no device: it is down": X was asked for if it is a warning.
 * Return: X is not. */
static bool skipped_tell(const char *line, struct report *report,
			 char ret_name[IFNAMSIZ])
{
	line = inside_said(line);
	if (sscanf(line, "interface %15s", ret_name) != 1)
		strcpy(ret_name, "?");
	if (!util_settings()->interfaces)
		return true;
	report_wrong(report, "%s, and USIW_INTERFACES names it", line);
	if (strstr(line, "it is down"))
		report_repair(report, "ip link set %s up", ret_name);
	else
		report_repair(report, "ip addr add ADDRESS/LENGTH dev %s",
			      ret_name);
	return false;
}

static void asked_check(struct inside *inside, struct report *report)
{
	struct names names;
	const char *line;

	while ((line = inside_claim(inside, "USIW_INTERFACES names"))) {
		interfaces_list(&names);
		report_wrong(report, "%s", inside_said(line));
		report_repair(report,
			      "unset USIW_INTERFACES, or name some of %s",
			      names.text);
	}
}

void check_interfaces(struct subject *subject, struct report *report)
{
	struct names used = { .cnt = 0 }, skipped = { .cnt = 0 };
	size_t cnt = report->cnt, at = 0;
	char name[IFNAMSIZ];
	const char *line;

	asked_check(&subject->inside, report);
	/* As the user wants it. */
	while (inside_claim(&subject->inside, "USIW_INTERFACES does not name"))
		;
	while ((line = inside_claim(&subject->inside, " is no device: ")))
		if (skipped_tell(line, report, name))
			names_add(&skipped, name);
	while ((line = inside_next(&subject->inside, "device", &at))) {
		if (sscanf(line, "%*s %15s", name) != 1)
			continue;
		flag_check(name, report);
		names_add(&used, name);
	}
	if (report->cnt > cnt)
		return;
	if (used.cnt)
		report_ok(report, "%s%s%s", used.text,
			  skipped.cnt ? "; down or without address: " : "",
			  skipped.text);
	else
		report_skip(report, "no device, see below");
}

/* ---- the UDP port ------------------------------------------------------- */

struct holder {
	bool is_there;
	bool is_kernel; /* no process has it */
	unsigned uid;
};

/* Looks in a table of the kernel's sockets; binding the port would take it from
 * a program that starts. */
static void holder_find(const char *table, struct holder *holder)
{
	FILE *file = fopen(table, "re");
	unsigned long inode;
	char line[512];
	unsigned port, uid;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line,
			   "%*s %*[0-9A-F]:%4x %*s %*s %*s %*s %*s %u %*s %lu",
			   &port, &uid, &inode) != 3 ||
		    port != UDP_PORT)
			continue;
		holder->is_there = true;
		holder->is_kernel = inode == 0;
		holder->uid = uid;
	}
	if (file)
		fclose(file);
}

/* Processes of usiw of one user share the port, and have such a socket. */
static bool port_is_shared(void)
{
	FILE *file = fopen("/proc/net/unix", "re");
	bool is_there = false;
	char line[512], name[64];

	snprintf(name, sizeof(name), "@usiw-udp/1/%u", geteuid());
	while (file && !is_there && fgets(line, sizeof(line), file))
		is_there = strstr(line, name) != NULL;
	if (file)
		fclose(file);
	return is_there;
}

void check_udp(struct subject *subject, struct report *report)
{
	struct holder holder = { 0 };

	if (!subject->is_ca) {
		report_ok(report, "not used: persona rnic has no datagrams");
		return;
	}
	holder_find("/proc/net/udp", &holder);
	holder_find("/proc/net/udp6", &holder);
	if (!holder.is_there) {
		report_ok(report, "%d is free", UDP_PORT);
	} else if (holder.uid == geteuid() && port_is_shared()) {
		report_ok(report, "%d is shared by this user's programs",
			  UDP_PORT);
	} else if (holder.is_kernel) {
		report_wrong(report,
			     "the kernel's rdma_rxe has UDP port %d: no "
			     "datagrams come from other hosts",
			     UDP_PORT);
		report_repair(report, "modprobe -r rdma_rxe");
	} else {
		report_wrong(report,
			     "a process of user %u has UDP port %d: no "
			     "datagrams come from other hosts",
			     holder.uid, UDP_PORT);
		report_repair(report, "end it; ss -ulpn 'sport = :%d' names it",
			      UDP_PORT);
	}
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The tree of a kernel with usiw's devices, built from one table. */
#include "tree/sysfs.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "abi/usiw-abi.h"
#include "util/env.h"
#include "util/log.h"
#include "tree/pci.h"
#include "base/provider.h"
#include "base/rnic-dl.h"
#include "base/totals.h"

#define TREE_PATH_MAX 256

#define INO_BASE 0x75736977u /* "usiw" */

typedef int (*show_fn)(const struct rnic_device_attr *attr,
		       const struct kabi_node *node, char *buf, size_t size);

/*
 * One row is one node; missing parents are made.  %d: one node per device, its
 * name; %u: its uverbs name; %i: its interface; %n: one node per GID index; %p:
 * the directory of its PCI device; %e: that directory, or a link to the real
 * one, before whose nodes ours stand.
 */
struct tree_row {
	const char *path;
	enum kabi_node_type type;
	const char *text; /* file: fixed contents; link: target */
	show_fn show;
	bool is_merged;
};

static struct kabi_node tree_root = {
	.name = (char[]){ "" },
	.type = KABI_PASS,
	.parent = &tree_root,
	.ino = INO_BASE,
};
static ino_t tree_last_ino = INO_BASE;
static struct timespec tree_time;

/* ---- contents ----------------------------------------------------------- */

static int show_ibdev(const struct rnic_device_attr *attr,
		      const struct kabi_node *node, char *buf, size_t size)
{
	(void)node;
	return snprintf(buf, size, "%s\n", attr->name);
}

/* libibverbs derives the transport from it: iWARP or InfiniBand. */
static int show_node_type(const struct rnic_device_attr *attr,
			  const struct kabi_node *node, char *buf, size_t size)
{
	(void)node;
	return snprintf(buf, size,
			attr->persona == RNIC_PERSONA_CA ? "1: CA\n"
							 : "4: RNIC\n");
}

static int show_guid(const struct rnic_device_attr *attr,
		     const struct kabi_node *node, char *buf, size_t size)
{
	uint8_t o[8];

	(void)node;
	memcpy(o, &attr->guid_be, sizeof(o));
	return snprintf(buf, size, "%02x%02x:%02x%02x:%02x%02x:%02x%02x\n",
			o[0], o[1], o[2], o[3], o[4], o[5], o[6], o[7]);
}

static int show_state(const struct rnic_device_attr *attr,
		      const struct kabi_node *node, char *buf, size_t size)
{
	(void)node;
	return snprintf(buf, size, attr->is_up ? "4: ACTIVE\n" : "1: DOWN\n");
}

static int show_phys_state(const struct rnic_device_attr *attr,
			   const struct kabi_node *node, char *buf, size_t size)
{
	(void)node;
	return snprintf(buf, size,
			attr->is_up ? "5: LinkUp\n" : "3: Disabled\n");
}

static int show_hw_rev(const struct rnic_device_attr *attr,
		       const struct kabi_node *node, char *buf, size_t size)
{
	(void)attr;
	(void)node;
	return snprintf(buf, size, "%x\n", kabi_rnic()->limits()->hw_ver);
}

/* Like the provider's query_port: the highest rate that is not above. */
static int show_rate(const struct rnic_device_attr *attr,
		     const struct kabi_node *node, char *buf, size_t size)
{
	static const struct {
		long mbps;
		const char *text;
	} rates[] = {
		{ 400000, "400 Gb/sec (4X NDR)" },
		{ 200000, "200 Gb/sec (4X HDR)" },
		{ 100000, "100 Gb/sec (4X EDR)" },
		{ 40000, "40 Gb/sec (4X FDR10)" },
		{ 25000, "25 Gb/sec (1X EDR)" },
		{ 10000, "10 Gb/sec (1X FDR10)" },
		{ LONG_MIN, "2.5 Gb/sec (1X SDR)" },
	};
	char path[64];
	long mbps = 0;
	FILE *file;
	size_t i = 0;

	(void)node;
	snprintf(path, sizeof(path), "/sys/class/net/%s/speed", attr->ifname);
	file = fopen(path, "re");
	if (file) {
		if (fscanf(file, "%ld", &mbps) != 1)
			mbps = 0;
		fclose(file);
	}
	while (mbps < rates[i].mbps)
		i++;
	return snprintf(buf, size, "%s\n", rates[i].text);
}

static bool gid_is_there(const struct rnic_device_attr *attr, uint32_t idx)
{
	static const uint8_t zero[16];

	return idx < attr->gid_cnt &&
	       memcmp(attr->gid[idx], zero, sizeof(zero)) != 0;
}

/* Every CPU is as near as the others. */
static int show_cpus(const struct rnic_device_attr *attr,
		     const struct kabi_node *node, char *buf, size_t size)
{
	FILE *file = fopen("/sys/devices/system/cpu/online", "re");
	char text[KABI_CONTENT_MAX] = "0\n";

	(void)attr;
	(void)node;
	if (file) {
		if (!fgets(text, sizeof(text), file))
			text[0] = '\0';
		fclose(file);
	}
	return snprintf(buf, size, "%s", text);
}

/* Every index has a GID; an unused one is all zero. */
static int show_gid(const struct rnic_device_attr *attr,
		    const struct kabi_node *node, char *buf, size_t size)
{
	static const uint8_t zero[16];
	const uint8_t *gid = node->idx < attr->gid_cnt ? attr->gid[node->idx]
						       : zero;
	size_t at = 0;

	if (size < 41)
		return -ENOSPC;
	for (size_t i = 0; i < 16; i += 2)
		at += (size_t)snprintf(buf + at, size - at, "%02x%02x%c",
				       gid[i], gid[i + 1], i < 14 ? ':' : '\n');
	return (int)at;
}

/*
 * For an unused index the kernel fails with EINVAL.  libibverbs reads that as
 * "type v1", and ENOENT as a failure.  GIDs are IP addresses that can be
 * routed, as programs that look for "RoCE v2" expect.  Some accept no other
 * type.
 */
static int show_gid_type(const struct rnic_device_attr *attr,
			 const struct kabi_node *node, char *buf, size_t size)
{
	if (!gid_is_there(attr, node->idx))
		return -EINVAL;
	return snprintf(buf, size, "RoCE v2\n");
}

static int show_gid_ndev(const struct rnic_device_attr *attr,
			 const struct kabi_node *node, char *buf, size_t size)
{
	if (!gid_is_there(attr, node->idx))
		return -EINVAL;
	return snprintf(buf, size, "%s\n", attr->ifname);
}

static int show_lid(const struct rnic_device_attr *attr,
		    const struct kabi_node *node, char *buf, size_t size)
{
	uint32_t gid_idx;

	(void)node;
	return snprintf(buf, size, "0x%x\n", rnic_device_lid(attr, &gid_idx));
}

static int show_dev(const struct rnic_device_attr *attr,
		    const struct kabi_node *node, char *buf, size_t size)
{
	(void)node;
	return snprintf(buf, size, "%u:%u\n", KABI_UVERBS_MAJOR,
			KABI_UVERBS_MINOR_BASE + attr->uverbs_num);
}

/*
 * InfiniBand's counters count data in words of four octets.  There is no
 * multicast, and nothing is discarded: octets wait until TCP takes them.
 */
#define COUNTERS(X)                                                            \
	X(xmit_data, (stats.tx_inplace + stats.tx_copied) / 4)                 \
	X(rcv_data, (stats.rx_direct + stats.rx_staged) / 4)                   \
	X(xmit_packets, stats.tx_fpdu)                                         \
	X(rcv_packets, stats.rx_fpdu)                                          \
	X(rcv_errors, stats.rx_crc_bad)

#define SHOW_COUNTER(name, value)                                              \
	static int show_##name(const struct rnic_device_attr *attr,            \
			       const struct kabi_node *node, char *buf,        \
			       size_t size)                                    \
	{                                                                      \
		struct rnic_device_stats stats;                                \
                                                                               \
		kabi_totals(node->dev, attr->ifindex, &stats);                 \
		return snprintf(buf, size, "%" PRIu64 "\n",                    \
				(uint64_t)(value));                            \
	}

COUNTERS(SHOW_COUNTER)

#define SHOW_HW_COUNTER(name, field) SHOW_COUNTER(hw_##name, stats.field)
KABI_HW_COUNTERS(SHOW_HW_COUNTER)

/*
 * No provider matches by it.  libibverbs reads it for the first provider that
 * it asks about a device, which is when all providers are loaded.
 */
static int show_modalias(const struct rnic_device_attr *attr,
			 const struct kabi_node *node, char *buf, size_t size)
{
	(void)attr;
	(void)node;
	kabi_provider_check_first();
	return snprintf(buf, size, "usiw:" USIW_INTERFACE "\n");
}

bool kabi_node_is_fixed(const struct kabi_node *node)
{
	return node->row->text;
}

int kabi_node_content(const struct kabi_node *node,
		      char ret_text[KABI_CONTENT_MAX])
{
	struct rnic_device_attr attr;
	int ret;

	if (node->row->text)
		return snprintf(ret_text, KABI_CONTENT_MAX, "%s",
				node->row->text);
	ret = kabi_rnic()->device_query(node->dev, &attr);
	if (ret < 0)
		return ret;
	return node->row->show(&attr, node, ret_text, KABI_CONTENT_MAX);
}

/* ---- the table ---------------------------------------------------------- */

#define STRING(x) STRING_(x)
#define STRING_(x) #x

#define IBDEV "/sys/class/infiniband/%d/"
#define IBPORT IBDEV "ports/1/"
#define COUNTER IBPORT "counters/"
/* Only a PCI device of ours has these. */
#define PCI "%p/"
#define UVERBS "/sys/class/infiniband_verbs/%u/"
#define UCM "/sys/class/misc/rdma_cm/"

#define NODE(p, t) { .path = (p), .type = (t) }
#define MERGED(p) { .path = (p), .type = KABI_DIR, .is_merged = true }
#define TEXT(p, t) { .path = (p), .type = KABI_FILE, .text = (t) }
#define SHOW(p, s) { .path = (p), .type = KABI_FILE, .show = (s) }
#define LINK(p, t) { .path = (p), .type = KABI_LINK, .text = (t) }

static const struct tree_row tree_rows[] = {
	NODE("/sys/class/misc", KABI_PASS),
	NODE("/dev", KABI_PASS),

	NODE("/sys/devices", KABI_PASS),

	MERGED("/sys/class/infiniband"),
	SHOW(IBDEV "node_type", show_node_type),
	SHOW(IBDEV "node_guid", show_guid),
	SHOW(IBDEV "sys_image_guid", show_guid),
	SHOW(IBDEV "node_desc", show_ibdev),
	TEXT(IBDEV "fw_ver", KABI_VERSION "\n"),
	SHOW(IBDEV "hw_rev", show_hw_rev),
	TEXT(IBDEV "hca_type", "usiw\n"),
	TEXT(IBDEV "board_id", "usiw\n"),
	LINK(IBDEV "device", "%p"),
	TEXT(PCI "vendor", "0x7573\n"),
	TEXT(PCI "device", "0x7769\n"),
	TEXT(PCI "subsystem_vendor", "0x7573\n"),
	TEXT(PCI "subsystem_device", "0x7769\n"),
	TEXT(PCI "revision", "0x00\n"),
	TEXT(PCI "class", "0x020000\n"),
	TEXT(PCI "numa_node", "-1\n"),
	SHOW(PCI "local_cpulist", show_cpus),
	SHOW("%e/modalias", show_modalias),
	LINK("%e/infiniband/%d", "/sys/class/infiniband/%d"),
	LINK("%e/infiniband_verbs/%u", "/sys/class/infiniband_verbs/%u"),
	LINK("%e/net/%i", "/sys/class/net/%i"),

	SHOW(IBPORT "state", show_state),
	SHOW(IBPORT "phys_state", show_phys_state),
	TEXT(IBPORT "link_layer", "Ethernet\n"),
	SHOW(IBPORT "rate", show_rate),
	SHOW(IBPORT "lid", show_lid),
	TEXT(IBPORT "lid_mask_count", "0\n"),
	TEXT(IBPORT "sm_lid", "0x0\n"),
	TEXT(IBPORT "sm_sl", "0\n"),
	TEXT(IBPORT "cap_mask", "0x04010000\n"),
	TEXT(IBPORT "pkeys/0", "0xffff\n"),
	SHOW(IBPORT "gids/%n", show_gid),
	SHOW(IBPORT "gid_attrs/types/%n", show_gid_type),
	SHOW(IBPORT "gid_attrs/ndevs/%n", show_gid_ndev),
	SHOW(COUNTER "port_xmit_data", show_xmit_data),
	SHOW(COUNTER "port_rcv_data", show_rcv_data),
	SHOW(COUNTER "port_xmit_packets", show_xmit_packets),
	SHOW(COUNTER "port_rcv_packets", show_rcv_packets),
	SHOW(COUNTER "unicast_xmit_packets", show_xmit_packets),
	SHOW(COUNTER "unicast_rcv_packets", show_rcv_packets),
	TEXT(COUNTER "multicast_xmit_packets", "0\n"),
	TEXT(COUNTER "multicast_rcv_packets", "0\n"),
	SHOW(COUNTER "port_rcv_errors", show_rcv_errors),
	TEXT(COUNTER "port_xmit_discards", "0\n"),
#define HW_COUNTER_ROW(name, field)                                            \
	SHOW(IBPORT "hw_counters/" #name, show_hw_##name),
	KABI_HW_COUNTERS(HW_COUNTER_ROW) TEXT(IBPORT "hw_counters/lifespan",
					      STRING(KABI_LIFESPAN_MS) "\n"),

	MERGED("/sys/class/infiniband_verbs"),
	TEXT("/sys/class/infiniband_verbs/abi_version", "6\n"),
	SHOW(UVERBS "ibdev", show_ibdev),
	SHOW(UVERBS "dev", show_dev),
	TEXT(UVERBS "abi_version", STRING(USIW_UVERBS_ABI) "\n"),
	LINK(UVERBS "device", IBDEV "device"),

	TEXT(UCM "abi_version", STRING(KABI_UCM_ABI) "\n"),
	TEXT(UCM "dev",
	     STRING(KABI_MISC_MAJOR) ":" STRING(KABI_UCM_MINOR) "\n"),

	MERGED("/dev/infiniband"),
	NODE("/dev/infiniband/rdma_cm", KABI_UCM),
	NODE("/dev/infiniband/%u", KABI_UVERBS),
};

#define TREE_ROW_CNT (sizeof(tree_rows) / sizeof(tree_rows[0]))

/* ---- nodes -------------------------------------------------------------- */

struct kabi_node *kabi_tree_root(void)
{
	return &tree_root;
}

struct timespec kabi_tree_time(void)
{
	return tree_time;
}

struct kabi_node *kabi_node_child(const struct kabi_node *node,
				  const char *name, size_t len)
{
	struct kabi_node *child;

	for (child = node->child; child; child = child->next)
		if (strncmp(child->name, name, len) == 0 &&
		    child->name[len] == '\0')
			return child;
	return NULL;
}

int kabi_node_path(const struct kabi_node *node, char *ret_path, size_t size)
{
	size_t len = strlen(node->name);
	int at = 0;

	if (node->parent != node) {
		at = kabi_node_path(node->parent, ret_path, size);
		if (at < 0)
			return at;
		if ((size_t)at + 1 >= size)
			return -ENAMETOOLONG;
		ret_path[at++] = '/';
	}
	if ((size_t)at + len >= size)
		return -ENAMETOOLONG;
	memcpy(ret_path + at, node->name, len + 1);
	return at + (int)len;
}

static struct kabi_node *node_add(struct kabi_node *parent, const char *name,
				  size_t len, enum kabi_node_type type)
{
	struct kabi_node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->name = strndup(name, len);
	if (!node->name) {
		free(node);
		return NULL;
	}
	node->type = type;
	node->parent = parent;
	node->ino = ++tree_last_ino;
	if (parent->last_child)
		parent->last_child->next = node;
	else
		parent->child = node;
	parent->last_child = node;
	parent->child_cnt++;
	if (type == KABI_DIR)
		parent->dir_cnt++;
	return node;
}

/* Makes the node at @path, with its parents.  A parent inside the tree is a
 * directory; one above it stands for the real directory.  NULL: ENOMEM. */
static struct kabi_node *node_make(const char *path, enum kabi_node_type type)
{
	struct kabi_node *node = &tree_root;
	struct kabi_node *child;
	size_t len;
	bool is_ours;

	while (*path == '/') {
		path++;
		len = strcspn(path, "/");
		child = kabi_node_child(node, path, len);
		if (!child) {
			is_ours = node->type == KABI_DIR ||
				  node->type == KABI_LINK ||
				  strcmp(node->name, "misc") == 0 ||
				  strcmp(node->name, "devices") == 0;
			child = node_add(node, path, len,
					 path[len] == '\0' ? type
					 : is_ours	   ? KABI_DIR
							   : KABI_PASS);
		}
		if (!child)
			return NULL;
		node = child;
		path += len;
	}
	return node;
}

/* ---- building the tree --------------------------------------------------- */

/* What templates need of a device. */
struct growing {
	const struct rnic_device *dev;
	struct rnic_device_attr attr;
	char pci[TREE_PATH_MAX]; /* a directory */
	bool is_pci_real;
};

/* What stands for %@kind.  Return: as snprintf(). */
static int template_part(char kind, const struct growing *g, uint32_t idx,
			 char *out, size_t room)
{
	switch (kind) {
	case 'd':
		return snprintf(out, room, "%s", g->attr.name);
	case 'u':
		return snprintf(out, room, "uverbs%u", g->attr.uverbs_num);
	case 'i':
		return snprintf(out, room, "%s", g->attr.ifname);
	case 'e':
		if (g->is_pci_real)
			return snprintf(out, room,
					"/sys/class/infiniband/%s/device",
					g->attr.name);
		return snprintf(out, room, "%s", g->pci);
	case 'p':
		return snprintf(out, room, "%s", g->pci);
	default:
		return snprintf(out, room, "%u", idx);
	}
}

/* Return: 0; -ENAMETOOLONG. */
static int template_expand(const char *template, const struct growing *g,
			   uint32_t idx, char ret_path[TREE_PATH_MAX])
{
	size_t at = 0;
	int len;

	for (; *template; template ++) {
		size_t room = TREE_PATH_MAX - at;
		char *out = ret_path + at;

		if (*template != '%')
			len = snprintf(out, room, "%c", *template);
		else
			len = template_part(*++template, g, idx, out, room);
		if (len < 0 || (size_t)len >= room)
			return -ENAMETOOLONG;
		at += (size_t)len;
	}
	return 0;
}

static int row_grow_one(const struct tree_row *row, const struct growing *g,
			uint32_t idx)
{
	char path[TREE_PATH_MAX];
	struct kabi_node *node;
	int ret;

	ret = template_expand(row->path, g, idx, path);
	if (ret < 0)
		return ret;
	node = node_make(path, row->type);
	if (!node)
		return -ENOMEM;
	node->row = row;
	node->dev = g->dev;
	node->idx = idx;
	node->is_merged = row->is_merged &&
			  util_settings()->devices == UTIL_DEVICES_BESIDE;
	if (row->type == KABI_UVERBS)
		node->rdev =
			makedev(KABI_UVERBS_MAJOR,
				KABI_UVERBS_MINOR_BASE + g->attr.uverbs_num);
	if (row->type == KABI_UCM)
		node->rdev = makedev(KABI_MISC_MAJOR, KABI_UCM_MINOR);
	if (row->type == KABI_LINK) {
		ret = template_expand(row->text, g, idx, path);
		if (ret < 0)
			return ret;
		node->target = strdup(path);
		if (!node->target)
			return -ENOMEM;
	}
	return 0;
}

static int device_grow(const struct kabi_rnic *rnic,
		       const struct rnic_device *dev)
{
	struct growing g = { .dev = dev };
	int ret;

	ret = rnic->device_query(dev, &g.attr);
	if (ret < 0)
		return ret;
	g.is_pci_real =
		kabi_pci_of_interface(g.attr.ifname, g.pci, sizeof(g.pci));
	if (!g.is_pci_real)
		kabi_pci_of_number(g.attr.uverbs_num, g.pci, sizeof(g.pci));
	for (size_t r = 0; ret >= 0 && r < TREE_ROW_CNT; r++) {
		const struct tree_row *row = &tree_rows[r];
		uint32_t cnt = strstr(row->path, "%n") ? RNIC_GID_MAX : 1;

		if (!strchr(row->path, '%') ||
		    (g.is_pci_real && strncmp(row->path, "%p", 2) == 0))
			continue;
		for (uint32_t i = 0; ret >= 0 && i < cnt; i++)
			ret = row_grow_one(row, &g, i);
	}
	return ret;
}

int kabi_tree_build(const struct kabi_rnic *rnic)
{
	static const struct growing none;
	struct rnic_device *const *list = NULL;
	int ret, cnt;

	clock_gettime(CLOCK_REALTIME, &tree_time);
	for (size_t r = 0; r < TREE_ROW_CNT; r++) {
		if (strchr(tree_rows[r].path, '%'))
			continue;
		ret = row_grow_one(&tree_rows[r], &none, 0);
		if (ret < 0)
			return ret;
	}
	cnt = rnic->device_list(&list);
	if (cnt < 0) {
		util_err("kabi", "cannot list the devices: %s", strerror(-cnt));
		return cnt;
	}
	for (int i = 0; i < cnt; i++) {
		ret = device_grow(rnic, list[i]);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The tree that a kernel with usiw's devices would show.  Its nodes are in
 * memory, built once from one table, and never changed.  The contents of a file
 * are made when it is opened.  No file system holds the tree, so a process
 * leaves nothing behind.
 */
#ifndef KABI_SYSFS_H
#define KABI_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Numbers of the kernel's RDMA character devices.  usiw's uverbs minors are far
 * above those of hardware (192 to 223), and its rdma_cm is above misc's. */
#define KABI_UVERBS_MAJOR 231
#define KABI_UVERBS_MINOR_BASE 192
#define KABI_MISC_MAJOR 10
#define KABI_UCM_MINOR 1000192

/* Revision of the interface of rdma_cm; uverbs: USIW_UVERBS_ABI. */
#define KABI_UCM_ABI 4

enum kabi_node_type {
	KABI_PASS, /* a real parent directory: /, /sys, /sys/class, /dev */
	KABI_DIR,
	KABI_FILE,
	KABI_LINK,   /* it may have nodes, which hide those of its target */
	KABI_UVERBS, /* character devices */
	KABI_UCM,
};

#define KABI_CONTENT_MAX 256

struct rnic_device;
struct tree_row;

struct kabi_node {
	char *name;
	enum kabi_node_type type;
	struct kabi_node *parent; /* of the root: the root */
	struct kabi_node *child, *last_child, *next;
	uint32_t child_cnt, dir_cnt;
	ino_t ino;
	dev_t rdev;	/* KABI_UVERBS, KABI_UCM */
	char *target;	/* KABI_LINK: absolute */
	bool is_merged; /* real entries are shown beside the tree's */
	const struct tree_row *row;
	const struct rnic_device *dev; /* NULL: of no device */
	uint32_t idx;		       /* GID index */
};

struct kabi_rnic;

/* Called during the first touch with the loaded library.  Return: 0; -errno. */
int kabi_tree_build(const struct kabi_rnic *rnic);

struct kabi_node *kabi_tree_root(void);
struct timespec kabi_tree_time(void);

/* The child of that name, @len octets; NULL: none. */
struct kabi_node *kabi_node_child(const struct kabi_node *node,
				  const char *name, size_t len);

/* Path of a node, NUL-terminated.  Return: its length; -ENAMETOOLONG. */
int kabi_node_path(const struct kabi_node *node, char *ret_path, size_t size);

/* True if the contents of a KABI_FILE never change. */
bool kabi_node_is_fixed(const struct kabi_node *node);

/* The current contents of a KABI_FILE.  Return: octets; -errno. */
int kabi_node_content(const struct kabi_node *node,
		      char ret_text[KABI_CONTENT_MAX]);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The tree that a kernel with our devices would show: nodes in memory, grown
 * once from one table, never changed after.  Contents are made when a file is
 * opened.  No file system holds any of it, so nothing can be left behind.
 */
#ifndef KABI_SYSFS_H
#define KABI_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Numbers of the kernel's RDMA character devices; our uverbs minors start far
 * above those of the hardware (192 to 223), our rdma_cm above misc's. */
#define KABI_UVERBS_MAJOR 231
#define KABI_UVERBS_MINOR_BASE 192
#define KABI_MISC_MAJOR 10
#define KABI_UCM_MINOR 1000192

/* Revisions of the interfaces behind those devices. */
#define KABI_UVERBS_ABI 1
#define KABI_UCM_ABI 4

enum kabi_node_type {
	KABI_PASS, /* a real directory above ours: /, /sys, /sys/class, /dev */
	KABI_DIR,
	KABI_FILE,
	KABI_LINK,
	KABI_UVERBS, /* character devices */
	KABI_UCM,
};

#define KABI_CONTENT_MAX 256

struct rnic_device;
struct tree_row;

struct kabi_node {
	char *name;
	enum kabi_node_type type;
	struct kabi_node *parent; /* the root is its own */
	struct kabi_node *child, *last_child, *next;
	uint32_t child_cnt, dir_cnt;
	ino_t ino;
	dev_t rdev;	/* KABI_UVERBS, KABI_UCM */
	char *target;	/* KABI_LINK: absolute */
	bool is_merged; /* real entries may stand beside ours */
	const struct tree_row *row;
	const struct rnic_device *dev; /* NULL: of no device */
	uint32_t idx;		       /* GID index */
};

struct kabi_rnic;

/* During the first touch; @rnic: the table as far as it stands.  Return: 0;
 * -errno. */
int kabi_tree_build(const struct kabi_rnic *rnic);

struct kabi_node *kabi_tree_root(void);
struct timespec kabi_tree_time(void);

/* The child of that name, @len octets; NULL: none. */
struct kabi_node *kabi_node_child(const struct kabi_node *node,
				  const char *name, size_t len);

/* Path of a node, NUL-terminated.  Return: its length; -ENAMETOOLONG. */
int kabi_node_path(const struct kabi_node *node, char *ret_path, size_t size);

/* Does a KABI_FILE say the same for ever? */
bool kabi_node_is_fixed(const struct kabi_node *node);

/* What a KABI_FILE says now.  Return: octets; -errno. */
int kabi_node_content(const struct kabi_node *node,
		      char ret_text[KABI_CONTENT_MAX]);

#endif

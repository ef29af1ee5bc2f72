/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The interface between libibverbs and a provider, which no installed header
 * describes.
 *
 * The names are those of libibverbs.  Nothing here depends on the library that
 * is installed where the provider is built.  One binary serves every library of
 * the table, and library.c finds out at load which one it is.
 *
 *   layout   rdma-core   number   operations   verbs_context grew by
 *     34     v34         34       73
 *     35     v35         34       75
 *     36     v36 to v56  34       76
 *     36     v57, v58    57       76
 *     59     v59 to v61  59       79           3 pointers
 *     62     v62, v63    59       81           4
 *     64     v64         64       83           6
 *     65     after v64   65       93           6
 *
 * The number is part of the name of the provider's file and of the symbols'
 * version.  struct verbs_qp changed under number 34 as well (v44, v45): see
 * struct usiw_library.
 */
#ifndef USIW_VERBS_ABI_H
#define USIW_VERBS_ABI_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Argument types that only later rdma-core versions have. */
struct ibv_buf;
struct ibv_comp_cntr;
struct ibv_comp_cntr_caps;
struct ibv_comp_cntr_init_attr;
struct ibv_dmah;
struct ibv_dmah_init_attr;
struct ibv_mr_init_attr;
struct ibv_qp_attach_comp_cntr_attr;

/*
 * IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC, since 65: the
 * program allows memory that a confidential guest shares with its host, as
 * devices without access to private memory need it.  usiw needs none: only
 * the CPU moves octets.
 */
#define USIW_PARENT_DOMAIN_ALLOW_CC_UNPROTECTED (1u << 2)

/* Link of the library's lists; the provider only reserves its space. */
struct verbs_list_node {
	void *next, *prev;
};

/* A device as found below /sys/class/infiniband_verbs. */
struct verbs_sysfs_dev {
	struct verbs_list_node entry;
	void *provider_data;
	const void *match;
	unsigned int flags;
	char sysfs_name[IBV_SYSFS_NAME_MAX];
	dev_t sysfs_cdev;
	char ibdev_name[IBV_SYSFS_NAME_MAX];
	char ibdev_path[IBV_SYSFS_PATH_MAX];
	char modalias[512];
	uint64_t node_guid;
	uint32_t driver_id;
	uint32_t node_type; /* enum ibv_node_type */
	int ibdev_idx;
	uint32_t num_ports;
	uint32_t abi_ver;
	struct timespec time_created;
};

/* The provider's table has only the end, because a usiw device has neither
 * modalias nor driver id.  libibverbs looks for the driver ID of hardware in
 * every provider's table. */
struct verbs_match_ent {
	void *driver_data;
	uint64_t id;
	uint16_t vendor;
	uint16_t device;
	uint8_t kind; /* 0: the end */
};
struct verbs_device;

struct verbs_device_ops {
	const char *name;
	uint32_t match_min_abi_version;
	uint32_t match_max_abi_version;
	const struct verbs_match_ent *match_table;
	const struct verbs_device_ops **static_providers;
	bool (*match_device)(struct verbs_sysfs_dev *sysfs_dev);
	struct verbs_context *(*alloc_context)(struct ibv_device *device,
					       int cmd_fd, void *private_data);
	struct verbs_context *(*import_context)(struct ibv_device *device,
						int cmd_fd);
	struct verbs_device *(*alloc_device)(struct verbs_sysfs_dev *sysfs_dev);
	void (*uninit_device)(struct verbs_device *device);
};

struct verbs_device {
	struct ibv_device device; /* first: the library casts */
	const struct verbs_device_ops *ops;
	_Atomic int refcount;
	struct verbs_list_node entry;
	struct verbs_sysfs_dev *sysfs;
	uint64_t core_support;
};

/* The part that ibv_dereg_mr() and ibv_rereg_mr() read beside struct ibv_mr. */
enum verbs_mr_type {
	VERBS_MR_TYPE_MR = 0,
	/* these cannot be registered anew */
	VERBS_MR_TYPE_NULL_MR = 1,
	VERBS_MR_TYPE_DMABUF_MR = 3,
};

struct verbs_mr {
	struct ibv_mr ibv_mr;
	uint32_t mr_type; /* enum verbs_mr_type */
	int access;
};

/*
 * ibv_qp_to_qp_ex() reads a mask after struct ibv_qp_ex.  That structure has
 * grown, so the library's may be longer or shorter than the header's.
 */
enum verbs_qp_mask { VERBS_QP_EX = 1 << 1 };

struct verbs_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex qp_ex;
	};
	uint64_t rest[16];
};

/* Every operation of every layout.  A library has the rows of its layout. */
#define VERBS_ROW(since, kind, ret, name, params, args) ret(*name) params;
struct verbs_ops {
#include "verbs-ops.def"
};
#define VERBS_OP_CNT (sizeof(struct verbs_ops) / sizeof(void (*)(void)))

/* struct verbs_context ends with struct ibv_context, and grows at its start. */
#define VERBS_CONTEXT(grown)                                                   \
	struct verbs_context_##grown {                                         \
		void (*ops[38 + (grown)])(void);                               \
		uint64_t placeholder;                                          \
		size_t sz;                                                     \
		struct ibv_context context;                                    \
	}
VERBS_CONTEXT(0);
VERBS_CONTEXT(3);
VERBS_CONTEXT(4);
VERBS_CONTEXT(6);
/* Octets before the struct ibv_context. */
#define VERBS_CONTEXT_HEAD(grown)                                              \
	offsetof(struct verbs_context_##grown, context)
#define VERBS_CONTEXT_HEAD_MAX VERBS_CONTEXT_HEAD(6)

/* The library's functions, in the symbol node IBVERBS_PRIVATE_<number> except
 * for the last one.  Only the library reads its struct verbs_context. */
struct verbs_library {
	/* verbs_register_driver_<number>() */
	void (*register_driver)(const struct verbs_device_ops *ops);

	/*
	 * Allocates @alloc_size zeroed octets with a struct verbs_context in it
	 * at @context_offset, and initialises that.  It takes over @cmd_fd,
	 * even when it fails (NULL and errno).
	 */
	void *(*init_and_alloc_context)(struct ibv_device *device, int cmd_fd,
					size_t alloc_size,
					struct verbs_context *context_offset,
					uint32_t driver_id);

	/* Closes cmd_fd and async_fd (unless -1), drops the device. */
	void (*uninit_context)(struct verbs_context *context);

	/* @ops: as many pointers as the layout has operations. */
	void (*set_ops)(struct verbs_context *context, const void *ops);

	/* ibv_fork_init(); NULL: the library has none */
	int (*fork_init)(void);
};

_Static_assert(offsetof(struct verbs_device, device) == 0, "verbs_device");

#if defined(__LP64__)
_Static_assert(offsetof(struct verbs_sysfs_dev, sysfs_name) == 36, "sysfs_dev");
_Static_assert(offsetof(struct verbs_sysfs_dev, sysfs_cdev) == 104,
	       "sysfs_dev");
_Static_assert(offsetof(struct verbs_sysfs_dev, ibdev_name) == 112,
	       "sysfs_dev");
_Static_assert(offsetof(struct verbs_sysfs_dev, modalias) == 432, "sysfs_dev");
_Static_assert(offsetof(struct verbs_sysfs_dev, node_guid) == 944, "sysfs_dev");
_Static_assert(offsetof(struct verbs_sysfs_dev, abi_ver) == 968, "sysfs_dev");
_Static_assert(sizeof(struct verbs_sysfs_dev) == 992, "sysfs_dev");
_Static_assert(sizeof(struct verbs_match_ent) == 24, "verbs_match_ent");
_Static_assert(offsetof(struct verbs_match_ent, kind) == 20, "verbs_match_ent");
_Static_assert(sizeof(struct verbs_device_ops) == 72, "verbs_device_ops");
_Static_assert(offsetof(struct verbs_device_ops, match_device) == 32,
	       "verbs_device_ops");
_Static_assert(offsetof(struct verbs_device, ops) == sizeof(struct ibv_device),
	       "verbs_device");
_Static_assert(offsetof(struct verbs_device, sysfs) ==
		       sizeof(struct ibv_device) + 32,
	       "verbs_device");
_Static_assert(offsetof(struct verbs_mr, mr_type) == sizeof(struct ibv_mr),
	       "verbs_mr");
_Static_assert(VERBS_CONTEXT_HEAD(0) == 320, "verbs_context");
#endif

/* If the number of the installed library is known, its header must match the
 * table. */
#ifdef USIW_VERBS_INSTALLED_GROWN
_Static_assert(offsetof(struct verbs_context, context) ==
		       VERBS_CONTEXT_HEAD(0) +
			       USIW_VERBS_INSTALLED_GROWN * sizeof(void *),
	       "verbs_context of the installed libibverbs");
#endif

#endif

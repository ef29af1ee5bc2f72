/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What libibverbs and a provider agree on, which no installed header says.
 *
 * The names are libibverbs' own, so that whoever knows it finds his way.  The
 * layouts hold for the PABI numbers in the table below; the build passes
 *   USIW_VERBS_PABI    the number that the installed libibverbs exports, part
 *                      of the name of symbols and of the provider's file;
 *   USIW_VERBS_LAYOUT  which rows of verbs-ops.def that library has:
 *
 *   layout   rdma-core   PABI   operations
 *     34     v36 to v56   34       76
 *     34     v57, v58     57       76
 *     59     v59 to v61   59       79
 *     62     v62, v63     59       81
 *     64     v64          64       83
 *     65     after v64    65       93
 *
 * The provider was built and run with a library of each.  Of the layouts that
 * are not the installed library's, tests check the count of rows and their
 * order.
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

#if !defined(USIW_VERBS_PABI) || !defined(USIW_VERBS_LAYOUT)
#error "USIW_VERBS_PABI and USIW_VERBS_LAYOUT come from CMakeLists.txt"
#endif

/* Argument types that only later rdma-core versions have. */
struct ibv_buf;
struct ibv_comp_cntr;
struct ibv_comp_cntr_caps;
struct ibv_comp_cntr_init_attr;
struct ibv_dmah;
struct ibv_dmah_init_attr;
struct ibv_mr_init_attr;
struct ibv_qp_attach_comp_cntr_attr;

/* Link of the library's lists; ours to keep room for. */
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

/* No entry of ours but the end: a usiw device has neither modalias nor driver
 * id.  libibverbs looks for hardware's driver id in every provider's table. */
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

/* What ibv_dereg_mr() and ibv_rereg_mr() look at beside struct ibv_mr. */
enum verbs_mr_type {
	VERBS_MR_TYPE_MR = 0,
	VERBS_MR_TYPE_NULL_MR = 1, /* cannot be registered anew */
};

struct verbs_mr {
	struct ibv_mr ibv_mr;
	uint32_t mr_type; /* enum verbs_mr_type */
	int access;
};

/* ibv_qp_to_qp_ex() looks at @comp_mask; no bit: no extended QP. */
enum verbs_qp_mask { VERBS_QP_EX = 1 << 1 };

struct verbs_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex qp_ex;
	};
	uint32_t comp_mask;
	void *xrcd;
};

/* Rows of the table that the layout has. */
#define VERBS_SINCE_34(...) __VA_ARGS__
#if USIW_VERBS_LAYOUT >= 59
#define VERBS_SINCE_59(...) __VA_ARGS__
#else
#define VERBS_SINCE_59(...)
#endif
#if USIW_VERBS_LAYOUT >= 62
#define VERBS_SINCE_62(...) __VA_ARGS__
#else
#define VERBS_SINCE_62(...)
#endif
#if USIW_VERBS_LAYOUT >= 64
#define VERBS_SINCE_64(...) __VA_ARGS__
#else
#define VERBS_SINCE_64(...)
#endif
#if USIW_VERBS_LAYOUT >= 65
#define VERBS_SINCE_65(...) __VA_ARGS__
#else
#define VERBS_SINCE_65(...)
#endif

/* struct verbs_context_ops out of the table. */
#define VERBS_ROW(kind, ret, name, params) ret(*name) params;
struct verbs_context_ops {
#include "verbs-ops.def"
};

/* The library's side; all of it in symbol node IBVERBS_PRIVATE_<PABI>. */
#define VERBS_PASTE_(a, b) a##b
#define VERBS_PASTE(a, b) VERBS_PASTE_(a, b)
#define verbs_register_driver                                                  \
	VERBS_PASTE(verbs_register_driver_, USIW_VERBS_PABI)

void verbs_register_driver(const struct verbs_device_ops *ops);

/*
 * Allocates @alloc_size zeroed octets with a struct verbs_context in it at
 * @context_offset, and initialises that.  Takes @cmd_fd over, also when it
 * fails (NULL and errno).
 */
void *_verbs_init_and_alloc_context(struct ibv_device *device, int cmd_fd,
				    size_t alloc_size,
				    struct verbs_context *context_offset,
				    uint32_t driver_id);

/* Closes cmd_fd and async_fd (unless -1), drops the device. */
void verbs_uninit_context(struct verbs_context *context);

void verbs_set_ops(struct verbs_context *context,
		   const struct verbs_context_ops *ops);

void verbs_init_cq(struct ibv_cq *cq, struct ibv_context *context,
		   struct ibv_comp_channel *channel, void *cq_context);

#if USIW_VERBS_LAYOUT == 34
#define VERBS_OP_CNT 76
#elif USIW_VERBS_LAYOUT == 59
#define VERBS_OP_CNT 79
#elif USIW_VERBS_LAYOUT == 62
#define VERBS_OP_CNT 81
#elif USIW_VERBS_LAYOUT == 64
#define VERBS_OP_CNT 83
#elif USIW_VERBS_LAYOUT == 65
#define VERBS_OP_CNT 93
#else
#error "unknown layout of struct verbs_context_ops"
#endif

_Static_assert(sizeof(struct verbs_context_ops) ==
		       VERBS_OP_CNT * sizeof(void (*)(void)),
	       "verbs_context_ops layout");
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
_Static_assert(offsetof(struct verbs_qp, comp_mask) == sizeof(struct ibv_qp_ex),
	       "verbs_qp");
#endif

#endif

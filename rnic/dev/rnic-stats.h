/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a device has counted: a part of rnic.h, for kernel-abi/. */
#ifndef RNIC_STATS_H
#define RNIC_STATS_H

#include "rnic/rnic.h"

/* Traffic of one device in this process, since it began or was forked: the part
 * of the counter page for streams and datagrams, by device.
 * X(name): the first three count FPDUs and datagrams, the others octets of
 * payload. */
#define RNIC_DEVICE_STAT_LIST(X)                                               \
	X(tx_fpdu)                                                             \
	X(rx_fpdu)                                                             \
	X(rx_crc_bad)                                                          \
	X(rx_direct)                                                           \
	X(rx_staged)                                                           \
	X(tx_inplace)                                                          \
	X(tx_copied)

struct rnic_device_stats {
#define RNIC_FIELD(name) uint64_t name;
	RNIC_DEVICE_STAT_LIST(RNIC_FIELD)
#undef RNIC_FIELD
};

/* Any thread. The figures may be of different moments. */
RNIC_EXPORT void rnic_device_stats(const struct rnic_device *dev,
				   struct rnic_device_stats *ret_stats);

#endif

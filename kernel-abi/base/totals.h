/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a device has counted, in all processes. */
#ifndef KABI_TOTALS_H
#define KABI_TOTALS_H

#include <stdint.h>

/*
 * X(name, field of struct rnic_device_stats): the files of hw_counters.  The
 * first two have the names of the kernel's rxe, the others are usiw's.
 */
#define KABI_HW_COUNTERS(X)                                                    \
	X(sent_pkts, tx_fpdu)                                                  \
	X(rcvd_pkts, rx_fpdu)                                                  \
	X(rx_crc_bad, rx_crc_bad)                                              \
	X(rx_direct, rx_direct)                                                \
	X(rx_staged, rx_staged)                                                \
	X(tx_inplace, tx_inplace)                                              \
	X(tx_copied, tx_copied)

struct rnic_device;
struct rnic_device_stats;

/* How long the counters of other processes may be reported: the file lifespan
 * of hw_counters.  The same as the kernel's default. */
#define KABI_LIFESPAN_MS 10

/*
 * The traffic of a device: of this process, of the others that it may see, of
 * those that it has seen before, and of those that have left their pages in
 * USIW_STAT_DIR.  It does not fall.
 * @ifindex: of its interface.
 * Context: any thread, without a lock.
 */
void kabi_totals(const struct rnic_device *dev, uint32_t ifindex,
		 struct rnic_device_stats *ret_stats);

#endif

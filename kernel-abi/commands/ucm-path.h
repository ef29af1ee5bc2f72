/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The path of an identity as InfiniBand describes it. */
#ifndef KABI_UCM_PATH_H
#define KABI_UCM_PATH_H

#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <stdint.h>

#include "commands/ucm-file.h"

struct rnic_cm_info;
struct rnic_device;
struct rnic_device_attr;

/* Fixed values, as InfiniBand's manager returns them. */
#define KABI_UCM_HOP_LIMIT 64
#define KABI_UCM_PORT 1
#define KABI_UCM_TIMEOUT 20 /* four seconds */

/* As in the device's GID table: IPv6, or IPv4 mapped; else zeros. */
void kabi_ucm_gid(const struct sockaddr_storage *addr, void *gid);
/* InfiniBand's number for the largest MTU that fits into @octets of the
 * interface's MTU. */
uint32_t kabi_ucm_mtu(uint32_t octets);
/* The service ID of InfiniBand's manager for the port of an address.
 * @ud_ps: of datagrams; 0: RDMA_PS_TCP. */
uint64_t kabi_ucm_sid_be(const struct sockaddr_storage *addr, uint16_t ud_ps);
/* The way from a device's address to another. */
void kabi_ucm_ah(struct ib_uverbs_ah_attr *ah, const uint8_t dgid[16],
		 uint8_t gid_idx, uint8_t tclass);
/* rnic_device_query().  Return: 0; -errno. */
int kabi_ucm_device(const struct kabi_ucm_call *call,
		    const struct rnic_device *dev,
		    struct rnic_device_attr *ret_attr);
/* The route of an identity that has a device: GIDs, or the path record.
 * Return: 0; -errno. */
int kabi_ucm_route(const struct kabi_ucm_call *call,
		   const struct rnic_cm_info *info,
		   struct rdma_ucm_query_route_resp *resp);
int kabi_ucm_query_path(const struct rnic_cm_info *info,
			const struct kabi_ucm_call *call);

#endif

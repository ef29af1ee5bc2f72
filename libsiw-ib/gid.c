/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * GIDs and MGIDs, and the IP addresses that they are (A17).
 */
#include <errno.h>
#include <string.h>

#include "include/siw-ib.h"

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

int sib_gid_from_ip(const uint8_t *addr, size_t len, struct sib_gid *ret)
{
	if (len != 4 && len != sizeof(ret->raw))
		return -EINVAL;
	memcpy(ret->raw, mapped, sizeof(mapped));
	memcpy(ret->raw + sizeof(ret->raw) - len, addr, len);
	return 0;
}

bool sib_gid_is_ipv4(const struct sib_gid *gid)
{
	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

size_t sib_gid_to_ip(const struct sib_gid *gid, uint8_t *addr)
{
	size_t len = sib_gid_is_ipv4(gid) ? 4 : sizeof(gid->raw);

	memcpy(addr, gid->raw + sizeof(gid->raw) - len, len);
	return len;
}

bool sib_gid_is_multicast(const struct sib_gid *gid)
{
	if (sib_gid_is_ipv4(gid))
		return gid->raw[12] >> 4 == 0xe;
	return gid->raw[0] == 0xff;
}

int sib_mgid_from_ip(const uint8_t *addr, size_t len, struct sib_gid *ret)
{
	struct sib_gid gid;

	if (sib_gid_from_ip(addr, len, &gid) || !sib_gid_is_multicast(&gid))
		return -EINVAL;
	*ret = gid;
	return 0;
}

int sib_mgid_to_ip(const struct sib_gid *mgid, uint8_t *addr)
{
	if (!sib_gid_is_multicast(mgid))
		return -EINVAL;
	return (int)sib_gid_to_ip(mgid, addr);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Loopback if lo is not a device: as in the kernel, its address belongs to
 * every device. */
#include "fixture.h"

CASE(loopback_is_bound_without_a_device)
{
	static const int families[] = { AF_INET, AF_INET6 };

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		struct rnic_cm_info info;
		struct cm_side s;

		cm_listen(&s, families[i], 0);
		assert_int_equal(rnic_cm_query(s.chan, s.id, &info), 0);
		assert_null(info.dev);
		assert_int_equal(info.state, RNIC_CM_S_LISTEN);
		cm_side_close(&s);
	}
}

/* No usiw device could serve it. */
CASE(a_loopback_connection_is_dropped)
{
	struct cm_side s;
	uint8_t octet;
	int fd;

	fd = cm_rawpeer(cm_listen(&s, AF_INET, 0));
	assert_int_equal(cm_read_to_end(fd, &octet, 1), 0);
	close(fd);
	assert_false(cm_is_readable(s.chan, 0));
	cm_side_close(&s);
}

BEFORE_CASES()
{
	/* Before the settings are read for the first time. */
	setenv("USIW_INTERFACES", "none-such", 1);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The preload library and the provider: of the same build, or of different
 * ones. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "fake-rnic.h"
#include "providers/usiw/interface.h"
#include "said.h"

/* What the provider prints on stderr for this interface. */
static bool asked(const char *interface, uint32_t abi_version, char *ret_text,
		  size_t size)
{
	bool fits;

	memcpy(usiw_interface, interface, sizeof(usiw_interface));
	said_begin();
	fits = usiw_interface_fits(abi_version);
	snprintf(ret_text, size, "%s", said_end());
	return fits;
}

CASE(same_build_fits_without_a_word)
{
	char text[1024];

	assert_true(asked(USIW_INTERFACE, USIW_UVERBS_ABI, text, sizeof(text)));
	assert_string_equal(text, "");
}

CASE(another_build_is_refused_and_reported_once)
{
	struct verbs_sysfs_dev dev = { .ibdev_name = "usiw_lo",
				       .abi_ver = USIW_UVERBS_ABI };
	char text[1024];

	assert_false(asked("otherone", USIW_UVERBS_ABI, text, sizeof(text)));
	assert_non_null(strstr(text, "are of two builds of usiw"));
	assert_non_null(strstr(text, "interface_test"));
	assert_false(usiw_device_ops.match_device(&dev));
	assert_false(asked("otherone", USIW_UVERBS_ABI, text, sizeof(text)));
	assert_string_equal(text, "");
	assert_true(asked(USIW_INTERFACE, USIW_UVERBS_ABI, text, sizeof(text)));
	assert_true(usiw_device_ops.match_device(&dev));
}

/* A device of usiw 0.1.0, although a preload library of this build is loaded
 * too. */
CASE(device_of_another_abi_is_refused)
{
	struct verbs_sysfs_dev dev = { .ibdev_name = "usiw_lo" };
	char text[1024];

	assert_false(asked(USIW_INTERFACE, 1, text, sizeof(text)));
	for (uint32_t abi = 0; abi < 4; abi++) {
		dev.abi_ver = abi;
		assert_int_equal(usiw_device_ops.match_device(&dev),
				 abi == USIW_UVERBS_ABI);
	}
}

/* rdma-core 34 has no num_ports, and abi_ver is in its place. */
CASE(rdma_core_34_has_the_abi_elsewhere)
{
	static const struct usiw_library_layout v34 = { .layout = 34 };
	const struct usiw_library_layout *was = usiw_library.layout;
	struct verbs_sysfs_dev dev = { .ibdev_name = "usiw_lo",
				       .num_ports = USIW_UVERBS_ABI };

	assert_false(usiw_device_ops.match_device(&dev));
	usiw_library.layout = &v34;
	assert_true(usiw_device_ops.match_device(&dev));
	usiw_library.layout = was;
}

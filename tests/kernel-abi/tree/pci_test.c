/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which PCI device stands behind an interface. */
#include "kernel-abi/tree/pci.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static const struct row {
	const char *path, *pci; /* NULL: none */
} rows[] = {
	{ "/sys/devices/pci0000:00/0000:00:1f.6",
	  "/sys/devices/pci0000:00/0000:00:1f.6" },
	{ "/sys/devices/pci0000:00/0000:00:03.0/virtio2",
	  "/sys/devices/pci0000:00/0000:00:03.0" },
	{ "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.1",
	  "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.1" },
	{ "/sys/devices/pci10000:e0/10000:e0:06.0/x",
	  "/sys/devices/pci10000:e0/10000:e0:06.0" },
	{ "/sys/devices/platform/soc/1000000.ethernet", NULL },
	{ "/sys/devices/pci0000:00", NULL },
	{ "/sys/devices/0000:00:1f.8", NULL },
	{ "/sys/devices/0000:00:1f.66", NULL },
	{ "/sys/devices/000:00:1f.6", NULL },
	{ "", NULL },
};

/* In place of libc's: what "/sys/class/net/NAME/device" leads to. */
static const char *device_of_eth0;

char *realpath(const char *path, char *resolved)
{
	if (!device_of_eth0 || strcmp(path, "/sys/class/net/eth0/device") != 0)
		return NULL;
	return strcpy(resolved, device_of_eth0);
}

CASE(the_last_address_of_a_path_counts)
{
	char path[128], small[8];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		strcpy(path, rows[i].path);
		assert_int_equal(kabi_pci_cut(path), rows[i].pci != NULL);
		if (rows[i].pci)
			assert_string_equal(path, rows[i].pci);
		device_of_eth0 = rows[i].path;
		assert_int_equal(
			kabi_pci_of_interface("eth0", path, sizeof(path)),
			rows[i].pci != NULL);
		assert_false(
			kabi_pci_of_interface("eth0", small, sizeof(small)));
		assert_false(kabi_pci_of_interface("lo", path, sizeof(path)));
	}
}

CASE(others_have_an_address_of_their_own)
{
	char path[64], other[64];

	kabi_pci_of_number(1000, path, sizeof(path));
	assert_string_equal(path, KABI_PCI_ROOT "/7573:03:1d.0");
	kabi_pci_of_number(1001, other, sizeof(other));
	assert_string_not_equal(path, other);
	assert_true(kabi_pci_cut(path));
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The RNIC library of old_provider.c. It has no devices. */
int rnic_device_list(void);

int rnic_device_list(void)
{
	return 0;
}

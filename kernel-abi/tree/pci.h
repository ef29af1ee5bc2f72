/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The PCI device behind an RDMA device: that of its interface, or one that only
 * usiw's tree has.
 */
#ifndef KABI_PCI_H
#define KABI_PCI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A domain that no machine has: made of "us". */
#define KABI_PCI_ROOT "/sys/devices/pci7573:00"

/* Cuts @path behind its last PCI address.  Return: false: it has none. */
bool kabi_pci_cut(char *path);

/* The directory of @ifname's PCI device.  Return: false: it has none. */
bool kabi_pci_of_interface(const char *ifname, char *ret_path, size_t size);

/* The directory, within usiw's tree, of the device with that number. */
void kabi_pci_of_number(uint32_t number, char *ret_path, size_t size);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The half of usiw doctor that runs below the preload library. */
#ifndef DOCTOR_PROBE_H
#define DOCTOR_PROBE_H

/*
 * Prints facts, a line each: INSIDE_MARK, name, value (inside.h).
 * preload, interface: the preload library, and its usiw_interface.
 * drivers: RDMAV_DRIVERS.  verbs, rdmacm: the library's file.  number: that of
 * libibverbs' private interface.  provider, rnic: files of usiw that are loaded
 * afterwards.
 * device: name, interface, persona, state.  version: that of the device.
 * open, moved: a device could be opened, has moved octets.
 * verbs-error, rdmacm-error, open-error, traffic-error: why not.
 * end: it came to the end.
 *
 * Return: the exit code.
 */
int probe_run(const char *libibverbs);

#endif

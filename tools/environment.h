/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The environment of a program that sees usiw's devices. */
#ifndef ENVIRONMENT_H
#define ENVIRONMENT_H

#include <stdbool.h>

#define ENVIRONMENT_PRELOAD "libusiw-kabi.so"

/*
 * Sets LD_PRELOAD and RDMAV_DRIVERS, so that the next program sees usiw
 * devices.
 * @wants_sdp: its stream sockets use SDP.
 * @is_checked: by the library of usiw check.
 * Return: 0; -1: the reason is on stderr.
 */
int environment_set(bool wants_sdp, bool is_checked);

/* As setenv(3).  Return: 0; -1: the reason is on stderr. */
int environment_put(const char *name, const char *value, bool is_override);

#endif

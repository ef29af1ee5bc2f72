/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Whether octets get from one queue pair of a device to another one. */
#ifndef DOCTOR_TRAFFIC_H
#define DOCTOR_TRAFFIC_H

#include <stddef.h>

struct ibv_context;

/* Messages that are written: more than a connection carries before it changes
 * to shared memory by default. */
#define TRAFFIC_MESSAGES 64

/*
 * Makes two queue pairs, connects them with the address of the port, writes,
 * and compares.  verbs_load() has succeeded. Return: 0; -1: @ret_why has the
 * verb that failed, and why.
 */
int traffic_try(struct ibv_context *ctx, char *ret_why, size_t size);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The names of calls, statuses and errnos in a fault specification. */
#ifndef UTIL_FAULT_NAMES_H
#define UTIL_FAULT_NAMES_H

#include <stddef.h>
#include <stdint.h>

/*
 * A list of names, each with a number.
 * @name: that of a place in the list, below @cnt; NULL: the place is empty.
 * @number: of the same place.
 * @what, @hint: for messages, as "errno" and "use a name such as ENOMEM".
 */
struct util_fault_names {
	const char *what, *hint;
	const char *(*name)(size_t place);
	uint32_t (*number)(size_t place);
	size_t cnt;
};

/* Calls that may fail: verbs without "ibv_", and those of rdma_cm.  The numbers
 * are below UTIL_FAULT_CALL_MAX. */
extern const struct util_fault_names util_fault_calls;
#define UTIL_FAULT_CALL_MAX 96

/* Statuses of completions, numerically equal to enum ibv_wc_status. */
extern const struct util_fault_names util_fault_statuses;

/* Errnos of this system. */
extern const struct util_fault_names util_fault_errnos;

/* Signals that end a process, or stop it. */
extern const struct util_fault_names util_fault_signals;

/* Return: the place of @name, of @len octets; -1: it is not in the list. */
int util_fault_name_find(const struct util_fault_names *names, const char *name,
			 size_t len);

/* The number of a call; -1: no fault can be asked of it. */
int util_fault_call(const char *name);

#endif

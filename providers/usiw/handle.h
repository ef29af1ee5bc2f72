/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which objects exist, by their address, and the number that each shows as its
 * handle.  A kernel looks an object up by its handle; usiw looks at both, so
 * that one that was destroyed already or altered is refused, not used.
 */
#ifndef USIW_HANDLE_H
#define USIW_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

/* In each object.  It is not accessed before it is found in the table. */
struct usiw_handle {
	struct usiw_handle *next; /* in the table */
	const uint32_t *shown;	  /* the application's; NULL: none */
	uint32_t number;	  /* as it was shown first */
};

/* Called once, before the first object exists.  Return: 0; -errno. */
int usiw_handle_init(void);

/* A number for *@shown of an object that has none of its own. */
uint32_t usiw_handle_next(void);

/* The object exists from now on, with the number that it shows. */
void usiw_handle_add(struct usiw_handle *handle, const uint32_t *shown);

/* It shows another number from now on. */
void usiw_handle_renumber(struct usiw_handle *handle);

/* It does not exist any more. */
void usiw_handle_remove(struct usiw_handle *handle);

/* Does the object exist?  Nothing is said if not. */
bool usiw_handle_is_there(const struct usiw_handle *handle);

/*
 * Before a verb that a kernel would do uses the object.  @call is for the log.
 * Return: 0; -ENOENT: no such object, or it shows another number.
 */
int usiw_handle_check(const struct usiw_handle *handle, const char *call);

#endif

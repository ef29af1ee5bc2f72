/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The door: a negative errno from inside becomes what the man page of the
 * verb promises.  Nobody else in the provider touches errno.
 *
 * errno is set as well where the value is returned: many programs print it
 * with perror() whichever way they learned of the failure.
 */
#ifndef USIW_DOOR_H
#define USIW_DOOR_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <stddef.h>

/* Largest errno of any Linux ABI; beyond it a value is a bug of ours. */
#define USIW_ERRNO_MAX 4095

/*
 * The errno for @err, in errno too; 0 for success and for counts.  A value
 * that is no errno becomes EIO rather than a success.
 */
static inline int usiw_door_int(int err)
{
	if (err >= 0)
		return 0;
	errno = err >= -USIW_ERRNO_MAX ? -err : EIO;
	return errno;
}

/* Verbs that make something: NULL, and errno says why. */
static inline void *usiw_door_null(int err)
{
	(void)usiw_door_int(err);
	return NULL;
}

/* ibv_poll_cq(), and verbs that answer an fd: -1 for any failure. */
static inline int usiw_door_minus(int err)
{
	return usiw_door_int(err) ? -1 : err;
}

/* ibv_rereg_mr(): a code of its own; the old region stays valid. */
static inline int usiw_door_rereg(int err)
{
	return usiw_door_int(err) ? IBV_REREG_MR_ERR_INPUT : 0;
}

#endif

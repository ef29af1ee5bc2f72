/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Results of verbs: a negative errno from inside becomes the result that the
 * man page of the verb promises.  Only these functions set errno.
 *
 * errno is set even where the verb returns the error, because many programs
 * print it with perror() in either case.
 */
#ifndef USIW_RESULT_H
#define USIW_RESULT_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <stddef.h>

/* Largest errno of any Linux ABI.  A larger value is a bug of usiw. */
#define USIW_ERRNO_MAX 4095

/*
 * The errno for @err, which is also stored in errno; 0 for success and for
 * counts.  A value that is no errno becomes EIO, not a success.
 */
static inline int usiw_result_int(int err)
{
	if (err >= 0)
		return 0;
	errno = err >= -USIW_ERRNO_MAX ? -err : EIO;
	return errno;
}

/* For verbs that make an object: NULL, with the reason in errno. */
static inline void *usiw_result_null(int err)
{
	(void)usiw_result_int(err);
	return NULL;
}

/* For ibv_poll_cq(), and verbs that return an fd: -1 for any failure. */
static inline int usiw_result_minus(int err)
{
	return usiw_result_int(err) ? -1 : err;
}

/* For ibv_rereg_mr(), which has its own code; the old region stays valid. */
static inline int usiw_result_rereg(int err)
{
	return usiw_result_int(err) ? IBV_REREG_MR_ERR_INPUT : 0;
}

#endif

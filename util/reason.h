/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Why a call of the program is refused: one line at USIW_LOG=debug, with the
 * argument, its value, and what would be right:
 *
 *   usiw: verbs: debug: ibv_create_qp: EINVAL: max_send_wr is 70000, not 0 to
 *   65536
 *
 * The part is what the program has called (verbs; cm for rdma_cm), whichever
 * layer finds the reason.  The place that finds it says it, and no other.
 */
#ifndef UTIL_REASON_H
#define UTIL_REASON_H

#include <errno.h>
#include <stdint.h>

#include "log-spec.h"

/* @err: EINVAL or the like.  @call: as the program names it.  What follows is a
 * format and its values.  Return: -@err. */
#define util_refuse(part, err, call, ...)                                      \
	(util_reason_say(UTIL_LOG_DEBUG, part, err, call, __VA_ARGS__), -(err))

void util_reason_say(enum util_log_level level, const char *part, int err,
		     const char *call, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/*
 * @fn sees each reason from now on, as in the line, in the thread that is
 * refused; NULL: nobody.  Each library has its own.
 */
void util_reason_watch(void (*fn)(const char *reason));

/* The system has no memory for the process. */
#define util_refuse_memory(part, call)                                         \
	util_refuse(part, ENOMEM, call,                                        \
		    "the process gets no more memory (ulimit -v, cgroup)")

/* Names the persona that has datagrams.  The first time it is an error: some
 * programs (mckey) end without a word of their own.  Return: -EOPNOTSUPP. */
#define util_refuse_datagrams(part, call)                                      \
	(util_say_no_datagrams(part, call), -EOPNOTSUPP)

void util_say_no_datagrams(const char *part, const char *call);

/* Return: 0: @value, of the argument @arg, is from @min to @max; -EINVAL. */
int util_check_range(const char *part, const char *call, const char *arg,
		     uint64_t value, uint64_t min, uint64_t max);

#endif

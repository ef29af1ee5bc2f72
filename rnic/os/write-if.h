/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A write to a file that another process can forbid until the moment in which
 * the system call begins.
 *
 * A thread that looks at a word in shared memory and then makes a system call
 * may lose its CPU in between, or be stopped there by SIGSTOP or a debugger,
 * for any time.  Here the look and the call are a restartable sequence
 * (rseq(2)): the kernel moves a thread that was interrupted between the two to
 * a place behind the call.  So when the word has changed, a call has begun
 * already, or does not begin any more.
 */
#ifndef RNIC_WRITE_IF_H
#define RNIC_WRITE_IF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Can this thread do so?  false: another CPU than x86-64, another libc than
 * glibc 2.35, or the kernel or the user has turned rseq off. */
bool rnic_write_if_works(void);

/*
 * pwritev(@fd, @iov, @cnt, @off) if *@word is @value.
 * Return: octets; -ECANCELED: the word differs; -EAGAIN: the thread was
 *   interrupted; nothing is written in both cases; other -errno: pwritev()'s.
 * Context: any thread in which rnic_write_if_works().
 */
long rnic_write_if(int fd, const struct iovec *iov, int cnt, uint64_t off,
		   const _Atomic uint32_t *word, uint32_t value);

#endif

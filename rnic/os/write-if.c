/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A write to a file that another process can forbid. */
#include "write-if.h"

#include <errno.h>
#include <sys/syscall.h>

#if defined(__x86_64__) && defined(__has_include)
#if __has_include(<sys/rseq.h>)
#define HAS_RSEQ 1
#include <sys/rseq.h>
#endif
#endif

#ifdef HAS_RSEQ

/* What a thread has registered with the kernel, at its start, by libc. */
static struct rseq *rseq_of_thread(void)
{
	return (struct rseq *)((char *)__builtin_thread_pointer() +
			       __rseq_offset);
}

bool rnic_write_if_works(void)
{
	/* An id below zero: libc's registration has failed. */
	return __rseq_size != 0 && (int32_t)rseq_of_thread()->cpu_id >= 0;
}

/*
 * The sequence is 1 to 2, and its last instruction is the system call.  A
 * thread that is interrupted before that goes on at 4, which the signature of
 * rseq has to precede (the octets before it make it an instruction, ud1).  The
 * kernel looks at the address when the thread returns to user space; behind a
 * call that is 2, which is outside.
 */
long rnic_write_if(int fd, const struct iovec *iov, int cnt, uint64_t off,
		   const _Atomic uint32_t *word, uint32_t value)
{
	/* The offset is in two halves, of which 64 bits need one. */
	register uint64_t off_low __asm__("r10") = off;
	register uint64_t off_high __asm__("r8") = 0;
	long rc = SYS_pwritev;

	__asm__ volatile(
		".pushsection __rseq_cs, \"aw\"\n\t"
		".balign 32\n\t"
		"3:\n\t"
		".long 0, 0\n\t"
		".quad 1f, 2f - 1f, 4f\n\t"
		".popsection\n\t"
		"leaq 3b(%%rip), %%r11\n\t"
		"movq %%r11, %[sequence]\n\t"
		"1:\n\t"
		"cmpl %[value], %[word]\n\t"
		"jne 5f\n\t"
		"syscall\n\t"
		"2:\n\t"
		"jmp 6f\n\t"
		".byte 0x0f, 0xb9, 0x3d\n\t"
		".long %c[signature]\n\t"
		"4:\n\t"
		"movq %[eagain], %[rc]\n\t"
		"jmp 6f\n\t"
		"5:\n\t"
		"movq %[ecanceled], %[rc]\n\t"
		"6:\n\t"
		: [rc] "+a"(rc), [sequence] "=m"(rseq_of_thread()->rseq_cs)
		: "D"(fd), "S"(iov), "d"(cnt), "r"(off_low),
		  "r"(off_high), [word] "m"(*word), [value] "r"(value),
		  [signature] "i"(RSEQ_SIG), [eagain] "i"(-EAGAIN),
		  [ecanceled] "i"(-ECANCELED)
		: "rcx", "r11", "memory", "cc");
	return rc;
}

#else

bool rnic_write_if_works(void)
{
	return false;
}

long rnic_write_if(int fd, const struct iovec *iov, int cnt, uint64_t off,
		   const _Atomic uint32_t *word, uint32_t value)
{
	(void)fd;
	(void)iov;
	(void)cnt;
	(void)off;
	(void)word;
	(void)value;
	return -ENOSYS;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The calls on signals, from when the RNIC catches faults on registered memory.
 * The application's handlers for SIGSEGV and SIGBUS run after those of usiw.
 * The two signals cannot be blocked, because a fault under a blocked signal
 * ends the process.
 *
 * Before that, and for all other signals, the calls go to libc only.  All
 * functions are async-signal-safe, like the calls themselves.
 */
#ifndef KABI_SIG_H
#define KABI_SIG_H

#include <signal.h>
#include <stdbool.h>

typedef void (*kabi_sighandler)(int sig);

/* True if the RNIC catches the signal in this process.  It keeps errno, and
 * makes a system call only for the two signals. */
bool kabi_sig_is_guarded(int sig);

/* sigaction(2).  Return: 0; -EINVAL. */
int kabi_sig_action(int sig, const struct sigaction *act,
		    struct sigaction *ret_old);

/* signal(2) and similar calls, which differ in @flags and in whether the signal
 * is in the mask of its own handler.  Return: the former handler. */
kabi_sighandler kabi_sig_signal(int sig, kabi_sighandler handler, int flags);

/* sigset(3): an action and the mask at once. */
kabi_sighandler kabi_sig_set(int sig, kabi_sighandler handler);

/* siginterrupt(3).  Return: 0. */
int kabi_sig_interrupt(int sig, int is_interrupting);

/*
 * The signals of @set that may be blocked.  Return: @set itself, or @buf with
 * the rest of it; NULL for NULL.
 */
const sigset_t *kabi_sig_blockable(int how, const sigset_t *set, sigset_t *buf);

/* The same for the masks of sigblock(3): signals 1 to 32 as bits. */
int kabi_sig_blockable_bits(int bits);

#endif

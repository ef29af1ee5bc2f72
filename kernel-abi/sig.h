/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the calls on signals do once the RNIC catches faults on registered
 * memory: the application's handlers for SIGSEGV and SIGBUS stand behind ours,
 * and the two cannot be blocked, since a fault under a blocked signal kills.
 *
 * Before that, and for all other signals, libc alone is asked.  All of it is
 * async-signal-safe, as the calls themselves.
 */
#ifndef KABI_SIG_H
#define KABI_SIG_H

#include <signal.h>
#include <stdbool.h>

typedef void (*kabi_sighandler)(int sig);

/* Does the RNIC catch it in this process?  No error, no system call but for
 * the two signals. */
bool kabi_sig_is_guarded(int sig);

/* sigaction(2).  Return: 0; -EINVAL. */
int kabi_sig_action(int sig, const struct sigaction *act,
		    struct sigaction *ret_old);

/* signal(2) and its like, which differ in @flags and in whether the signal is
 * in its own handler's mask.  Return: what was there. */
kabi_sighandler kabi_sig_signal(int sig, kabi_sighandler handler, int flags);

/* sigset(3): an action and the mask at once. */
kabi_sighandler kabi_sig_set(int sig, kabi_sighandler handler);

/* siginterrupt(3).  Return: 0. */
int kabi_sig_interrupt(int sig, int is_interrupting);

/*
 * What of @set may be blocked.  Return: @set as it is, or @buf with what is
 * left of it; NULL stays NULL.
 */
const sigset_t *kabi_sig_blockable(int how, const sigset_t *set, sigset_t *buf);

/* The same for the masks of sigblock(3): signals 1 to 32 as bits. */
int kabi_sig_blockable_bits(int bits);

#endif

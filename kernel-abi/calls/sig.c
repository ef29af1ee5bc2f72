/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The calls on signals, for the two that the RNIC catches. */
#include "calls/sig.h"

#include <errno.h>
#include <string.h>

#include "base/process.h"
#include "base/rnic-dl.h"

static bool is_on(void)
{
	return kabi_is_touched() && kabi_rnic()->guard_is_on();
}

bool kabi_sig_is_guarded(int sig)
{
	/* A vforked child shares the memory, but has handlers of its own. */
	return (sig == SIGSEGV || sig == SIGBUS) && is_on() && kabi_is_owner();
}

int kabi_sig_action(int sig, const struct sigaction *act,
		    struct sigaction *ret_old)
{
	return kabi_rnic()->guard_sigaction(sig, act, ret_old);
}

kabi_sighandler kabi_sig_signal(int sig, kabi_sighandler handler, int flags)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = flags };
	struct sigaction old;
	int ret = -EINVAL;

	if (handler != SIG_ERR)
		ret = kabi_sig_action(sig, &act, &old);
	if (ret < 0) {
		errno = -ret;
		return SIG_ERR;
	}
	return old.sa_handler;
}

kabi_sighandler kabi_sig_set(int sig, kabi_sighandler handler)
{
	struct sigaction old;

	if (handler != SIG_HOLD)
		return kabi_sig_signal(sig, handler, 0);
	/* The signal cannot be blocked; nothing changes. */
	return kabi_sig_action(sig, NULL, &old) < 0 ? SIG_ERR : old.sa_handler;
}

int kabi_sig_interrupt(int sig, int is_interrupting)
{
	struct sigaction act;
	int ret = kabi_sig_action(sig, NULL, &act);

	if (ret < 0)
		return ret;
	if (is_interrupting)
		act.sa_flags &= ~SA_RESTART;
	else
		act.sa_flags |= SA_RESTART;
	return kabi_sig_action(sig, &act, NULL);
}

const sigset_t *kabi_sig_blockable(int how, const sigset_t *set, sigset_t *buf)
{
	if (!set || how == SIG_UNBLOCK || !is_on())
		return set;
	memcpy(buf, set, sizeof(*buf));
	sigdelset(buf, SIGSEGV);
	sigdelset(buf, SIGBUS);
	return buf;
}

int kabi_sig_blockable_bits(int bits)
{
	const int ours = 1 << (SIGSEGV - 1) | 1 << (SIGBUS - 1);

	return is_on() ? bits & ~ours : bits;
}

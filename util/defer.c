/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See defer.h. */
#include "defer.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "keep-errno.h"

/* Flags that the handler here has or does itself. */
#define OWN_FLAGS (SA_SIGINFO | SA_RESETHAND)

typedef void handler_fn(int sig, siginfo_t *info, void *context);

_Thread_local struct util_defer util_defer_me;

/* The program's handlers. A handler without SA_SIGINFO does not look at its
 * other arguments. */
static struct {
	_Atomic(handler_fn *) handler;
	_Atomic int flags; /* of OWN_FLAGS */
} actions[_NSIG];

static _Atomic(util_sigaction_fn *) next;

void util_defer_deliver(void)
{
	UTIL_KEEP_ERRNO();
	struct util_defer *me = &util_defer_me;
	siginfo_t info;
	unsigned int cnt;

	while ((cnt = atomic_load_explicit(&me->kept_cnt,
					   memory_order_relaxed)) > 0) {
		/* Outside, no handler adds one. */
		info = me->kept[0];
		memmove(me->kept, me->kept + 1, (cnt - 1) * sizeof(info));
		atomic_store_explicit(&me->kept_cnt, cnt - 1,
				      memory_order_relaxed);
		atomic_signal_fence(memory_order_seq_cst);
		syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid),
			info.si_signo, &info);
	}
}

/* A handler of another signal may interrupt this one. Return: false: there is
 * no place. */
static bool keep(int sig, const siginfo_t *info)
{
	struct util_defer *me = &util_defer_me;
	unsigned int cnt =
		atomic_load_explicit(&me->kept_cnt, memory_order_relaxed);

	for (unsigned int i = 0; i < cnt && sig < SIGRTMIN; i++)
		if (me->kept[i].si_signo == sig)
			return true;
	cnt = atomic_fetch_add_explicit(&me->kept_cnt, 1, memory_order_relaxed);
	if (cnt < UTIL_DEFER_MAX) {
		me->kept[cnt] = *info;
		return true;
	}
	atomic_fetch_sub_explicit(&me->kept_cnt, 1, memory_order_relaxed);
	return false;
}

static void front(int sig, siginfo_t *info, void *context)
{
	static const struct sigaction none = { .sa_handler = SIG_DFL };
	UTIL_KEEP_ERRNO();
	handler_fn *handler;

	if (util_defer_me.depth > 0 && keep(sig, info))
		return;
	util_defer_me.has_run = true;
	/* acquire: pairs with action_put() */
	handler = atomic_load_explicit(&actions[sig].handler,
				       memory_order_acquire);
	if (atomic_load_explicit(&actions[sig].flags, memory_order_relaxed) &
	    (int)SA_RESETHAND)
		atomic_load_explicit(&next, memory_order_relaxed)(sig, &none,
								  NULL);
	handler(sig, info, context);
}

static bool is_front(const struct sigaction *action)
{
	return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == front;
}

/* Whether the program's action is a handler that may wait. */
static bool is_for_front(int sig, const struct sigaction *action)
{
	/* A thread could not go on without the handler of a fault. */
	return sig > 0 && sig < _NSIG && !util_signal_is_fault(sig) &&
	       action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN &&
	       !is_front(action);
}

static void action_put(int sig, handler_fn *handler, int flags)
{
	atomic_store_explicit(&actions[sig].flags, flags & (int)OWN_FLAGS,
			      memory_order_relaxed);
	/* release: pairs with front() */
	atomic_store_explicit(&actions[sig].handler, handler,
			      memory_order_release);
}

/* What the program has installed. */
static void action_show(struct sigaction *action, handler_fn *handler,
			int flags)
{
	if (!is_front(action))
		return;
	action->sa_sigaction = handler;
	action->sa_flags = (action->sa_flags & ~(int)OWN_FLAGS) | flags;
}

int util_defer_sigaction(util_sigaction_fn *real, bool may_wrap, int sig,
			 const struct sigaction *action,
			 struct sigaction *ret_old)
{
	struct sigaction own, old;
	handler_fn *old_handler = NULL;
	int old_flags = 0, ret;

	atomic_store_explicit(&next, real, memory_order_relaxed);
	if (sig > 0 && sig < _NSIG) {
		old_handler = atomic_load_explicit(&actions[sig].handler,
						   memory_order_relaxed);
		old_flags = atomic_load_explicit(&actions[sig].flags,
						 memory_order_relaxed);
	}
	if (may_wrap && action && is_for_front(sig, action)) {
		own = *action;
		own.sa_sigaction = front;
		own.sa_flags = (action->sa_flags & ~(int)OWN_FLAGS) |
			       (int)SA_SIGINFO;
		action_put(sig, action->sa_sigaction, action->sa_flags);
		action = &own;
	}
	ret = real(sig, action, &old);
	if (ret == 0 && ret_old) {
		*ret_old = old;
		action_show(ret_old, old_handler, old_flags);
	}
	return ret;
}

util_sighandler util_defer_installed(util_sigaction_fn *real, bool may_wrap,
				     int sig, util_sighandler old)
{
	handler_fn *old_handler = NULL;
	struct sigaction action;
	union {
		handler_fn *info;
		util_sighandler plain;
	} as;

	if (old == SIG_ERR || sig <= 0 || sig >= _NSIG)
		return old;
	old_handler = atomic_load_explicit(&actions[sig].handler,
					   memory_order_relaxed);
	as.info = front;
	if (old == as.plain) {
		as.info = old_handler;
		old = as.plain;
	}
	if (may_wrap && real(sig, NULL, &action) == 0 &&
	    is_for_front(sig, &action))
		util_defer_sigaction(real, true, sig, &action, NULL);
	return old;
}

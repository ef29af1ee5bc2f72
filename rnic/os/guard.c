/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Faults of guarded accesses, and the application's own handlers behind. */
#define _GNU_SOURCE
#include "guard.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* In the handler the first look at thread-local memory must not allocate. */
#define GUARD_TLS _Thread_local __attribute__((tls_model("initial-exec")))

/* Octets below the stack pointer that the interrupted function may use. */
#define RED_ZONE 128

/* TSan keeps a stack of its own, which only libc's pair puts back. */
#ifdef __SANITIZE_THREAD__
#include <setjmp.h>
#define GUARD_SETJMP(frame) _setjmp((frame)->jump)
#define GUARD_LONGJMP(frame) longjmp((frame)->jump, 1)
typedef jmp_buf guard_jump;
#else
#define GUARD_SETJMP(frame) __builtin_setjmp((frame)->jump)
#define GUARD_LONGJMP(frame) __builtin_longjmp((frame)->jump, 1)
typedef void *guard_jump[5];
#endif

struct guard_frame {
	struct guard_frame *outer;
	guard_jump jump;
};

static GUARD_TLS struct guard_frame *guard_top;
static GUARD_TLS bool is_thread_ready;

static const int guard_signals[] = { SIGSEGV, SIGBUS };

#define GUARD_SIGNAL_CNT (sizeof(guard_signals) / sizeof(guard_signals[0]))
#define ACTION_WORD_CNT (sizeof(struct sigaction) / sizeof(uint64_t))

_Static_assert(sizeof(struct sigaction) % sizeof(uint64_t) == 0,
	       "copied by words");

/*
 * What the application has installed.  Read in signal handlers, beside a
 * writer: a change goes into the copy that is not in use, then @gen says so.
 */
struct guard_action {
	_Atomic uint32_t gen;
	_Atomic uint64_t copy[2][ACTION_WORD_CNT];
};

static struct guard_action guard_actions[GUARD_SIGNAL_CNT];
static atomic_flag guard_busy = ATOMIC_FLAG_INIT;
static _Atomic bool guard_is_on;

/* libc's own: the names are the preload library's, or a sanitizer's. */
static int (*real_sigaction)(int sig, const struct sigaction *act,
			     struct sigaction *old);
static int (*real_sigmask)(int how, const sigset_t *set, sigset_t *old);

static pthread_once_t guard_once = PTHREAD_ONCE_INIT;

/* ---- the application's actions ------------------------------------------ */

static int signal_slot(int sig)
{
	for (size_t i = 0; i < GUARD_SIGNAL_CNT; i++)
		if (guard_signals[i] == sig)
			return (int)i;
	return -1;
}

static void action_load(struct guard_action *action, struct sigaction *ret_act)
{
	uint64_t words[ACTION_WORD_CNT];
	uint32_t gen;

	do {
		/* acquire: pairs with the release in action_store() */
		gen = atomic_load_explicit(&action->gen, memory_order_acquire);
		for (size_t i = 0; i < ACTION_WORD_CNT; i++)
			words[i] =
				atomic_load_explicit(&action->copy[gen % 2][i],
						     memory_order_relaxed);
		/* Orders the copy before the second look. */
		atomic_thread_fence(memory_order_acquire);
	} while (atomic_load_explicit(&action->gen, memory_order_relaxed) !=
		 gen);
	memcpy(ret_act, words, sizeof(*ret_act));
}

/* Between guard_lock() and guard_unlock(). */
static void action_store(struct guard_action *action,
			 const struct sigaction *act)
{
	uint64_t words[ACTION_WORD_CNT];
	uint32_t gen = atomic_load_explicit(&action->gen, memory_order_relaxed);

	memcpy(words, act, sizeof(words));
	/* A reader that meets a word of this sees the last change of gen, and
	 * looks again; pairs with the fence in action_load(). */
	atomic_thread_fence(memory_order_release);
	for (size_t i = 0; i < ACTION_WORD_CNT; i++)
		atomic_store_explicit(&action->copy[(gen + 1) % 2][i], words[i],
				      memory_order_relaxed);
	/* release: pairs with the acquire in action_load() */
	atomic_store_explicit(&action->gen, gen + 1, memory_order_release);
}

/* Signals are kept out: a handler may call sigaction(), too. */
static void guard_lock(sigset_t *ret_mask)
{
	sigset_t all;

	sigfillset(&all);
	real_sigmask(SIG_SETMASK, &all, ret_mask);
	/* acquire: pairs with guard_unlock() */
	while (atomic_flag_test_and_set_explicit(&guard_busy,
						 memory_order_acquire))
		sched_yield();
}

static void guard_unlock(const sigset_t *mask)
{
	atomic_flag_clear_explicit(&guard_busy, memory_order_release);
	real_sigmask(SIG_SETMASK, mask, NULL);
}

void rnic_guard_fork_child(void)
{
	atomic_flag_clear_explicit(&guard_busy, memory_order_relaxed);
}

/* ---- handler ------------------------------------------------------------ */

/* A fault is delivered even when the signal is blocked or ignored; all other
 * signals were sent by a process. */
static bool is_fault(int sig, const siginfo_t *info)
{
	if (sig == SIGBUS && info->si_code == BUS_MCEERR_AO)
		return false; /* bad memory that is not being accessed */
	return info->si_code > 0;
}

static __attribute__((noinline, noreturn)) void
guard_land(struct guard_frame *frame)
{
#ifdef __SANITIZE_ADDRESS__
	extern void __asan_handle_no_return(void);

	__asan_handle_no_return();
#endif
	GUARD_LONGJMP(frame);
}

/*
 * The interrupted access goes on in guard_land().  By way of sigreturn, so
 * that the kernel puts back what a handler starts without: floating point
 * modes, the alternate stack.  Elsewhere the signal mask is as it should be,
 * since ours has none.
 */
static void guard_divert(struct guard_frame *frame, ucontext_t *uc)
{
#if defined(__x86_64__)
	const greg_t direction = 0x400;
	greg_t *reg = uc->uc_mcontext.gregs;

	/* As just after a call: 8 below a multiple of 16. */
	reg[REG_RSP] = ((reg[REG_RSP] - RED_ZONE) & ~(greg_t)15) - 8;
	reg[REG_RDI] = (greg_t)(uintptr_t)frame;
	reg[REG_RIP] = (greg_t)(uintptr_t)guard_land;
	reg[REG_EFL] &= ~direction;
#else
	(void)uc;
	guard_land(frame);
#endif
}

/* What the default action does, with a core that shows the fault itself. */
static void default_action(int sig, siginfo_t *info)
{
	const struct sigaction by_default = { .sa_handler = SIG_DFL };

	real_sigaction(sig, &by_default, NULL);
	if (is_fault(sig, info))
		return; /* it comes again */
	syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), sig,
		info);
}

static void action_reset(struct guard_action *action)
{
	const struct sigaction by_default = { .sa_handler = SIG_DFL };
	sigset_t mask;

	guard_lock(&mask);
	action_store(action, &by_default);
	guard_unlock(&mask);
}

/* Not ours: what would happen without us. */
static void guard_chain(int sig, siginfo_t *info, void *uc)
{
	struct guard_action *action = &guard_actions[signal_slot(sig)];
	int saved_errno = errno;
	struct sigaction act;
	sigset_t mask;

	action_load(action, &act);
	if (act.sa_handler == SIG_IGN && !is_fault(sig, info))
		return;
	if (act.sa_handler == SIG_IGN || act.sa_handler == SIG_DFL) {
		default_action(sig, info);
		errno = saved_errno;
		return;
	}
	if (act.sa_flags & (int)SA_RESETHAND)
		action_reset(action);
	mask = act.sa_mask;
	if (!(act.sa_flags & SA_NODEFER))
		sigaddset(&mask, sig);
	/* sigreturn takes it back, or whatever the handler does instead. */
	real_sigmask(SIG_BLOCK, &mask, NULL);
	errno = saved_errno;
	/* The kernel, too, passes all three to any handler. */
	act.sa_sigaction(sig, info, uc);
}

static void guard_handler(int sig, siginfo_t *info, void *uc)
{
	struct guard_frame *frame = guard_top;

	if (frame && is_fault(sig, info))
		guard_divert(frame, uc);
	else
		guard_chain(sig, info, uc);
}

/* Ours in front of @act: its stack, and whether it interrupts system calls. */
static void guard_front(int sig, const struct sigaction *act)
{
	struct sigaction ours = {
		.sa_sigaction = guard_handler,
		.sa_flags = SA_SIGINFO | SA_NODEFER,
	};

	if (act->sa_handler == SIG_DFL)
		ours.sa_flags |= SA_ONSTACK;
	else if (act->sa_handler == SIG_IGN)
		ours.sa_flags |= SA_ONSTACK | SA_RESTART;
	else
		ours.sa_flags |= act->sa_flags & (SA_ONSTACK | SA_RESTART);
	real_sigaction(sig, &ours, NULL);
}

/* ---- life --------------------------------------------------------------- */

static void guard_start(void)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	struct sigaction act;
	void *sym[2];
	sigset_t mask;

	if (!libc)
		return;
	sym[0] = dlsym(libc, "sigaction");
	sym[1] = dlsym(libc, "pthread_sigmask");
	if (!sym[0] || !sym[1])
		return;
	real_sigaction = (__typeof__(real_sigaction))sym[0];
	real_sigmask = (__typeof__(real_sigmask))sym[1];
	guard_lock(&mask);
	for (size_t i = 0; i < GUARD_SIGNAL_CNT; i++) {
		real_sigaction(guard_signals[i], NULL, &act);
		action_store(&guard_actions[i], &act);
		guard_front(guard_signals[i], &act);
	}
	/* release: pairs with rnic_guard_is_on() */
	atomic_store_explicit(&guard_is_on, true, memory_order_release);
	guard_unlock(&mask);
}

int rnic_guard_install(void)
{
	pthread_once(&guard_once, guard_start);
	return rnic_guard_is_on() ? 0 : -ENOSYS;
}

bool rnic_guard_is_on(void)
{
	return atomic_load_explicit(&guard_is_on, memory_order_acquire);
}

int rnic_guard_sigaction(int sig, const struct sigaction *act,
			 struct sigaction *ret_old)
{
	int slot = signal_slot(sig);
	struct sigaction wanted, old;
	sigset_t mask;

	if (slot < 0 || !rnic_guard_is_on())
		return -ENOENT;
	if (act)
		wanted = *act;
	guard_lock(&mask);
	action_load(&guard_actions[slot], &old);
	if (act) {
		action_store(&guard_actions[slot], &wanted);
		guard_front(sig, &wanted);
	}
	guard_unlock(&mask);
	if (ret_old)
		*ret_old = old;
	return 0;
}

void rnic_guard_thread(void)
{
	sigset_t set;

	if (is_thread_ready || !rnic_guard_is_on())
		return;
	sigemptyset(&set);
	for (size_t i = 0; i < GUARD_SIGNAL_CNT; i++)
		sigaddset(&set, guard_signals[i]);
	real_sigmask(SIG_UNBLOCK, &set, NULL);
	is_thread_ready = true;
}

/* ---- access ------------------------------------------------------------- */

int rnic_guard(void (*access)(void *arg), void *arg)
{
	struct guard_frame frame;

	frame.outer = guard_top;
	if (GUARD_SETJMP(&frame)) {
		guard_top = frame.outer;
		return -EFAULT;
	}
	guard_top = &frame;
	/* The handler of this very thread looks at it. */
	atomic_signal_fence(memory_order_seq_cst);
	access(arg);
	atomic_signal_fence(memory_order_seq_cst);
	guard_top = frame.outer;
	return 0;
}

struct guard_copy {
	void *dst;
	const void *src;
	size_t len;
};

/* Not by memcpy(), which sanitizers replace by one that ends the program over
 * a bad pointer, the very thing that is to be found out here. */
__attribute__((no_sanitize("address", "undefined"))) static void
copy_access(void *arg)
{
	const struct guard_copy *copy = arg;
	const volatile uint8_t *src = copy->src;
	volatile uint8_t *dst = copy->dst;

	for (size_t i = 0; i < copy->len; i++)
		dst[i] = src[i];
}

int rnic_guard_copy(void *dst, const void *src, size_t len)
{
	struct guard_copy copy = { .dst = dst, .src = src, .len = len };

	if (!rnic_guard_is_on())
		return -ENOSYS;
	rnic_guard_thread();
	return rnic_guard(copy_access, &copy);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Calls that concern signals. They go to libc until the RNIC catches faults.
 * Then the application's actions for SIGSEGV and SIGBUS go to the RNIC, and the
 * two signals cannot be blocked.
 */
#define _GNU_SOURCE
#include "preloaded.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* For the masks of sigblock(3). */
#define BIT(sig) ((1 << (sig)) >> 1)

typedef void (*handler_fn)(int sig);

static void handler_a(int sig)
{
	(void)sig;
}

static void handler_b(int sig)
{
	(void)sig;
}

/* The RNIC library is loaded, and does or does not catch faults. */
static void guard_set(bool is_on)
{
	void (*set)(bool is_on);
	void *lib, *sym;

	assert_int_equal(access(UVERBS, F_OK), 0);
	lib = dlopen(KABI_TEST_RNIC, RTLD_NOW | RTLD_NOLOAD);
	assert_non_null(lib);
	sym = dlsym(lib, "fake_guard_set");
	assert_non_null(sym);
	memcpy(&set, &sym, sizeof(set));
	set(is_on);
}

/* The kernel's own result. Its first member is the handler. */
static handler_fn kernel_handler(int sig)
{
	struct {
		handler_fn handler;
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} act = { .handler = SIG_ERR };

	assert_int_equal(
		syscall(SYS_rt_sigaction, sig, NULL, &act, sizeof(act.mask)),
		0);
	return act.handler;
}

static uint64_t kernel_mask(void)
{
	uint64_t mask = 0;

	assert_int_equal(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask,
				 sizeof(mask)),
			 0);
	return mask;
}

static bool is_blocked(int sig)
{
	return kernel_mask() >> (sig - 1) & 1;
}

static void set_all_free(void)
{
	sigset_t none;

	sigemptyset(&none);
	assert_int_equal(sigprocmask(SIG_SETMASK, &none, NULL), 0);
}

static handler_fn call_named(const char *name, int sig, handler_fn handler)
{
	handler_fn (*call)(int sig, handler_fn handler);
	void *found = dlsym(RTLD_DEFAULT, name);

	if (!found)
		fail_msg("no %s", name);
	memcpy(&call, &found, sizeof(call));
	return call(sig, handler);
}

/* Must run first: it needs a process that has not used a device. */
CASE(leaves_an_untouched_process_alone)
{
	struct sigaction act = { .sa_handler = handler_a };
	sigset_t all;

	assert_false(is_touched());
	sigfillset(&all);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &all, NULL), 0);
	assert_true(is_blocked(SIGSEGV) && is_blocked(SIGBUS));
	set_all_free();
	assert_int_equal(sigaction(SIGBUS, &act, NULL), 0);
	assert_ptr_equal(kernel_handler(SIGBUS), handler_a);
	assert_ptr_equal(signal(SIGBUS, SIG_DFL), handler_a);
	assert_ptr_equal(kernel_handler(SIGBUS), SIG_DFL);
	assert_false(is_touched());
}

CASE(asks_libc_while_nothing_is_guarded)
{
	handler_fn before = kernel_handler(SIGBUS);
	sigset_t all;

	guard_set(false);
	assert_true(is_touched());
	assert_ptr_equal(signal(SIGBUS, handler_b), before);
	assert_ptr_equal(kernel_handler(SIGBUS), handler_b);
	assert_ptr_equal(signal(SIGBUS, SIG_DFL), handler_b);
	sigfillset(&all);
	assert_int_equal(sigprocmask(SIG_SETMASK, &all, NULL), 0);
	assert_true(is_blocked(SIGSEGV) && is_blocked(SIGBUS));
	set_all_free();
}

/* The flags that each call stores. */
static const struct {
	const char *name;
	int flags;
} signal_rows[] = {
	{ "signal", SA_RESTART },
	{ "bsd_signal", SA_RESTART },
	{ "ssignal", SA_RESTART },
	{ "sysv_signal", (int)SA_RESETHAND | SA_NODEFER },
	{ "__sysv_signal", (int)SA_RESETHAND | SA_NODEFER },
	{ "sigset", 0 },
};

CASE(stores_actions_for_the_guard)
{
	static const int sigs[] = { SIGSEGV, SIGBUS };
	struct sigaction act = { .sa_handler = handler_a,
				 .sa_flags = SA_ONSTACK };
	struct sigaction old;

	guard_set(true);
	for (size_t i = 0; i < ARRAY_LEN(sigs) * ARRAY_LEN(signal_rows); i++) {
		int sig = sigs[i % 2];
		const char *name = signal_rows[i / 2].name;
		handler_fn before = kernel_handler(sig);

		assert_int_equal(sigaction(sig, &act, NULL), 0);
		assert_int_equal(sigaction(sig, NULL, &old), 0);
		assert_ptr_equal(old.sa_handler, handler_a);
		assert_int_equal(old.sa_flags, SA_ONSTACK);
		assert_ptr_equal(call_named(name, sig, handler_b), handler_a);
		assert_int_equal(sigaction(sig, NULL, &old), 0);
		assert_ptr_equal(old.sa_handler, handler_b);
		if (old.sa_flags != signal_rows[i / 2].flags)
			fail_msg("%s: flags 0x%x", name, old.sa_flags);
		errno = 0;
		assert_ptr_equal(call_named(name, sig, SIG_ERR), SIG_ERR);
		assert_int_equal(errno, EINVAL);
		assert_ptr_equal(kernel_handler(sig), before);
	}
	guard_set(false);
}

CASE(stores_what_the_old_calls_say)
{
	struct sigaction old;

	guard_set(true);
	signal(SIGSEGV, handler_a);
	assert_int_equal(siginterrupt(SIGSEGV, 1), 0);
	sigaction(SIGSEGV, NULL, &old);
	assert_int_equal(old.sa_flags & SA_RESTART, 0);
	assert_int_equal(siginterrupt(SIGSEGV, 0), 0);
	sigaction(SIGSEGV, NULL, &old);
	assert_int_equal(old.sa_flags & SA_RESTART, SA_RESTART);
	assert_int_equal(sighold(SIGSEGV), 0);
	assert_ptr_equal(sigset(SIGSEGV, SIG_HOLD), handler_a);
	assert_false(is_blocked(SIGSEGV));
	assert_int_equal(sigignore(SIGSEGV), 0);
	sigaction(SIGSEGV, NULL, &old);
	assert_ptr_equal(old.sa_handler, SIG_IGN);
	assert_ptr_equal(kernel_handler(SIGSEGV) == SIG_IGN, false);
	guard_set(false);
}

CASE(leaves_other_signals_to_libc)
{
	struct sigaction old;

	guard_set(true);
	assert_ptr_equal(signal(SIGUSR1, handler_a), SIG_DFL);
	assert_ptr_equal(kernel_handler(SIGUSR1), handler_a);
	assert_int_equal(sighold(SIGUSR1), 0);
	assert_true(is_blocked(SIGUSR1));
	assert_ptr_equal(sigset(SIGUSR1, handler_b), SIG_HOLD);
	assert_false(is_blocked(SIGUSR1));
	assert_int_equal(sigignore(SIGUSR1), 0);
	assert_ptr_equal(kernel_handler(SIGUSR1), SIG_IGN);
	assert_int_equal(siginterrupt(SIGUSR1, 1), 0);
	assert_int_equal(sigaction(SIGUSR1, NULL, &old), 0);
	assert_ptr_equal(old.sa_handler, SIG_IGN);
	errno = 0;
	assert_int_equal(sigaction(SIGKILL, &old, NULL), -1);
	assert_int_equal(errno, EINVAL);
	assert_ptr_equal(signal(9999, handler_a), SIG_ERR);
	signal(SIGUSR1, SIG_DFL);
	guard_set(false);
}

CASE(keeps_the_two_out_of_masks)
{
	sigset_t all, old;

	guard_set(true);
	sigfillset(&all);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &all, NULL), 0);
	assert_false(is_blocked(SIGSEGV) || is_blocked(SIGBUS));
	assert_true(is_blocked(SIGTERM) && is_blocked(SIGFPE));
	assert_true(sigismember(
		&all,
		SIGSEGV)); /* belongs to the caller, and must not change */
	assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &old), 0);
	assert_true(sigismember(&old, SIGTERM));
	set_all_free();
	assert_int_equal(kernel_mask(), 0);
	assert_int_equal(sigprocmask(SIG_BLOCK, &all, NULL), 0);
	assert_false(is_blocked(SIGSEGV) || is_blocked(SIGBUS));
	assert_true(is_blocked(SIGTERM));
	set_all_free();
	assert_int_equal(sigblock(BIT(SIGSEGV) | BIT(SIGHUP)), 0);
	assert_false(is_blocked(SIGSEGV));
	assert_true(is_blocked(SIGHUP));
	assert_int_equal(sigsetmask(BIT(SIGBUS) | BIT(SIGINT)), BIT(SIGHUP));
	assert_int_equal(kernel_mask(), 1u << (SIGINT - 1));
	/* Blocked before the guard is set, and unblocked afterwards. */
	guard_set(false);
	sigprocmask(SIG_SETMASK, &all, NULL);
	guard_set(true);
	assert_int_equal(sigprocmask(SIG_UNBLOCK, &all, NULL), 0);
	assert_int_equal(kernel_mask(), 0);
	errno = 0;
	assert_int_equal(sigprocmask(99, &all, NULL), -1);
	assert_int_equal(errno, EINVAL);
	guard_set(false);
}

/* The child shares the memory of the parent, but not its handlers. */
CASE(leaves_a_vforked_child_alone)
{
	struct sigaction act = { .sa_handler = SIG_IGN };
	struct sigaction old;
	int status;
	pid_t pid;

	guard_set(true);
	signal(SIGSEGV, handler_a);
	pid = vfork();
	if (pid == 0) {
		sigaction(SIGSEGV, &act, NULL);
		_exit(kernel_handler(SIGSEGV) == SIG_IGN ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(sigaction(SIGSEGV, NULL, &old), 0);
	assert_ptr_equal(old.sa_handler, handler_a);
	guard_set(false);
}

static int forked(void)
{
	struct sigaction old;

	signal(SIGSEGV, handler_b);
	if (sigaction(SIGSEGV, NULL, &old) < 0)
		return 1;
	return old.sa_handler == handler_b &&
			       kernel_handler(SIGSEGV) != handler_b
		       ? 0
		       : 2;
}

CASE(goes_on_in_a_forked_child)
{
	guard_set(true);
	assert_int_equal(in_child(forked), 0);
	guard_set(false);
}

BEFORE_CASES()
{
	run_under_preload(argv);
}

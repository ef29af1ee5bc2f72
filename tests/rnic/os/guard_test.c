/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * guard.c: a guarded access that faults returns -EFAULT. All other faults and
 * signals go to the application, as without the guard.
 *
 * Each case is a child process, because cmocka has handlers of its own in the
 * parent.
 */
#define _GNU_SOURCE
#include "../../harness/child.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../../util/child.h"
#include "os/guard.h"

#define PAGE ((size_t)4096)

/* Never mapped. A compiler or sanitizer cannot recognise it as NULL. */
static volatile uintptr_t nowhere = 64;

/* SSE control word: all exceptions masked, rounding upwards. */
#define ROUND_UP 0x5f80u

static void run(int (*fn)(void *arg), void *arg, int expected)
{
	char err[2048];
	int ret = child_run(fn, arg, err, sizeof(err));

	if (ret != expected)
		fail_msg("%d, not %d: %s", ret, expected, err);
}

/* ---- inaccessible memory ---- */

static void read_one(void *arg)
{
	(void)*(volatile const uint8_t *)arg;
}

static void write_one(void *arg)
{
	*(volatile uint8_t *)arg = 1;
}

static void copy_from(void *arg)
{
	uint8_t to[2 * PAGE];

	memcpy(to, (uint8_t *)arg - PAGE, sizeof(to));
	__asm__ volatile(
		""
		:
		: "r"(to)
		: "memory"); /* so that the read is not optimised away */
}

static void copy_to(void *arg)
{
	static const uint8_t from[2 * PAGE];

	memcpy((uint8_t *)arg - PAGE, from, sizeof(from));
}

/* Two pages. @kind describes the second. */
enum kind { FINE, UNMAPPED, NONE, READ_ONLY, TRUNCATED, HUGE_RESERVE };

static uint8_t *second_page(enum kind kind)
{
	int fd = memfd_create("guard", 0);
	uint8_t *mem;

	if (fd < 0 || ftruncate(fd, 2 * PAGE) < 0)
		abort();
	mem = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
		   kind == HUGE_RESERVE
			   ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
			   : MAP_SHARED,
		   kind == HUGE_RESERVE ? -1 : fd, 0);
	if (mem == MAP_FAILED)
		abort();
	memset(mem, 1, PAGE);
	if (kind == UNMAPPED)
		munmap(mem + PAGE, PAGE);
	if (kind == NONE)
		mprotect(mem + PAGE, PAGE, PROT_NONE);
	if (kind == READ_ONLY)
		mprotect(mem + PAGE, PAGE, PROT_READ);
	if (kind == TRUNCATED && ftruncate(fd, PAGE) < 0)
		abort();
	close(fd);
	return mem + PAGE;
}

struct access_row {
	const char *name;
	enum kind kind;
	bool can_read, can_write;
};

static const struct access_row access_rows[] = {
	{ "fine", FINE, true, true },
	{ "unmapped", UNMAPPED, false, false },
	{ "PROT_NONE", NONE, false, false },
	{ "PROT_READ", READ_ONLY, true, false },
	{ "truncated", TRUNCATED, false, false },
	{ "MAP_NORESERVE", HUGE_RESERVE, true, true },
};

static int child_access(void *arg)
{
	const struct access_row *row = arg;
	int read_ret = row->can_read ? 0 : -EFAULT;
	int write_ret = row->can_write ? 0 : -EFAULT;
	uint8_t own[2 * PAGE] = { 0 };

	CHECK(rnic_guard_copy(own, own, 1) == -ENOSYS);
	CHECK(rnic_guard_install() == 0);
	for (int i = 0; i < 3; i++) { /* it works more than once */
		CHECK(rnic_guard(read_one, second_page(row->kind)) == read_ret);
		CHECK(rnic_guard(copy_from, second_page(row->kind)) ==
		      read_ret);
		CHECK(rnic_guard(write_one, second_page(row->kind)) ==
		      write_ret);
		CHECK(rnic_guard(copy_to, second_page(row->kind)) == write_ret);
		memset(own, 0, sizeof(own));
		CHECK(rnic_guard_copy(own, second_page(row->kind) - PAGE,
				      sizeof(own)) == read_ret);
		CHECK(read_ret < 0 || own[PAGE - 1] == 1);
		CHECK(rnic_guard_copy(second_page(row->kind) - PAGE, own,
				      sizeof(own)) == write_ret);
	}
	return 0;
}

CASE(answers_efault_for_memory_that_is_gone)
{
	for (size_t i = 0; i < ARRAY_LEN(access_rows); i++)
		run(child_access, (void *)(uintptr_t)&access_rows[i], 0);
}

static int child_wild(void *arg)
{
	/* The first page; the kernel's half; an invalid address, which causes
	 * another trap. */
	const uintptr_t wild[] = { nowhere, UINTPTR_MAX - 4095,
				   0x00dead0000000000u };

	(void)arg;
	CHECK(rnic_guard_install() == 0);
	CHECK(rnic_guard_copy(&arg, NULL, 1) == -EFAULT);
	CHECK(rnic_guard_copy(NULL, &arg, 1) == -EFAULT);
	for (size_t i = 0; i < ARRAY_LEN(wild); i++) {
		CHECK(rnic_guard(read_one, (void *)wild[i]) == -EFAULT);
		CHECK(rnic_guard(write_one, (void *)wild[i]) == -EFAULT);
	}
	return 0;
}

CASE(answers_efault_for_wild_addresses)
{
	run(child_wild, NULL, 0);
}

static int inner_ret;

static void nested(void *arg)
{
	inner_ret = rnic_guard(read_one, (void *)nowhere);
	if (arg)
		read_one(second_page(UNMAPPED));
}

static int child_nested(void *arg)
{
	(void)arg;
	CHECK(rnic_guard_install() == 0);
	CHECK(rnic_guard(nested, NULL) == 0);
	CHECK(inner_ret == -EFAULT);
	CHECK(rnic_guard(nested, &inner_ret) == -EFAULT);
	return 0;
}

CASE(nests)
{
	run(child_nested, NULL, 0);
}

static void *fault_often(void *arg)
{
	uint8_t *gone = second_page(UNMAPPED);
	uint8_t *cut = second_page(TRUNCATED);

	for (int i = 0; i < 2000; i++)
		if (rnic_guard(copy_from, gone) != -EFAULT ||
		    rnic_guard(write_one, cut) != -EFAULT ||
		    rnic_guard(read_one, &i) != 0)
			return arg;
	return NULL;
}

static int child_threads(void *arg)
{
	pthread_t thread[2];
	void *failed = NULL;

	(void)arg;
	CHECK(rnic_guard_install() == 0);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&thread[i], NULL, fault_often, thread) ==
		      0);
	for (int i = 0; i < 2; i++) {
		CHECK(pthread_join(thread[i], &failed) == 0);
		CHECK(!failed);
	}
	return 0;
}

CASE(serves_threads_that_fault_at_once)
{
	run(child_threads, NULL, 0);
}

/* ---- state of the interrupted thread ---- */

static int child_keeps(void *arg)
{
	sigset_t before, after;

	(void)arg;
	CHECK(rnic_guard_install() == 0);
	sigemptyset(&before);
	sigaddset(&before, SIGUSR1);
	sigprocmask(SIG_SETMASK, &before, NULL);
#ifdef __x86_64__
	__builtin_ia32_ldmxcsr(ROUND_UP);
#endif
	errno = EDOM;
	CHECK(rnic_guard(copy_from, second_page(NONE)) == -EFAULT);
	CHECK(errno == EDOM);
	sigprocmask(SIG_SETMASK, NULL, &after);
	CHECK(sigismember(&after, SIGUSR1) == 1);
	CHECK(sigismember(&after, SIGSEGV) == 0);
	CHECK(sigismember(&after, SIGBUS) == 0);
#ifdef __x86_64__
	CHECK((__builtin_ia32_stmxcsr() & ROUND_UP) == ROUND_UP);
#endif
	return 0;
}

CASE(keeps_mask_errno_and_rounding)
{
	run(child_keeps, NULL, 0);
}

static int child_blocked(void *arg)
{
	sigset_t all;

	(void)arg;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	rnic_guard_thread(); /* too early: no effect */
	CHECK(rnic_guard_install() == 0);
	rnic_guard_thread();
	CHECK(rnic_guard(read_one, second_page(UNMAPPED)) == -EFAULT);
	CHECK(rnic_guard(read_one, second_page(TRUNCATED)) == -EFAULT);
	pthread_sigmask(SIG_SETMASK, NULL, &all);
	CHECK(sigismember(&all, SIGTERM) == 1);
	return 0;
}

CASE(unblocks_the_two_signals)
{
	run(child_blocked, NULL, 0);
}

/* ---- the application's own handlers ---- */

static void *volatile seen_addr;
static volatile int seen_sig, seen_code, seen_cnt;
static volatile bool was_blocked, was_usr1_blocked, was_on_altstack;
static sigjmp_buf app_jump;
static uint8_t alt_stack[64 * 1024];

static void app_handler(int sig, siginfo_t *info, void *uc)
{
	uint8_t here;
	sigset_t now;

	(void)uc;
	seen_sig = sig;
	seen_addr = info->si_addr;
	seen_code = info->si_code;
	seen_cnt++;
	sigprocmask(SIG_SETMASK, NULL, &now);
	was_blocked = sigismember(&now, sig) == 1;
	was_usr1_blocked = sigismember(&now, SIGUSR1) == 1;
	was_on_altstack = (uintptr_t)&here - (uintptr_t)alt_stack <
			  sizeof(alt_stack);
	if (info->si_code > 0)
		siglongjmp(app_jump, 1);
}

/* As in a program without sanitizer: TSan's sigaction() installs another
 * handler first, and stores the program's. */
static int plain_sigaction(int sig, const struct sigaction *act)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	void *sym = dlsym(libc, "sigaction");

	return ((int (*)(int, const struct sigaction *, void *))sym)(sig, act,
								     NULL);
}

static void app_install(int sig, int flags)
{
	struct sigaction act = { .sa_sigaction = app_handler,
				 .sa_flags = flags };

	sigemptyset(&act.sa_mask);
	sigaddset(&act.sa_mask, SIGUSR1);
	if (rnic_guard_sigaction(sig, &act, NULL) < 0 &&
	    plain_sigaction(sig, &act) < 0)
		abort();
}

/* s390x may report only the page of an address. */
static bool is_told(uint8_t *at)
{
#ifdef __s390x__
	return (uintptr_t)seen_addr / 4096 == (uintptr_t)at / 4096;
#else
	return seen_addr == at;
#endif
}

static int expect_own_fault(uint8_t *at, int sig)
{
	int cnt = seen_cnt;

	if (sigsetjmp(app_jump, 1) == 0)
		write_one(at + 7);
	CHECK(seen_cnt == cnt + 1);
	CHECK(seen_sig == sig);
	CHECK(is_told(at + 7));
	CHECK(seen_code > 0);
	CHECK(was_usr1_blocked);
	return 0;
}

/* The handler is installed before the guard, or after it. */
static int child_own_faults(void *arg)
{
	bool is_early = arg != NULL;

	if (!is_early)
		CHECK(rnic_guard_install() == 0);
	app_install(SIGSEGV, SA_SIGINFO);
	app_install(SIGBUS, SA_SIGINFO | SA_NODEFER);
	CHECK(rnic_guard_install() == 0);
	for (int i = 0; i < 2; i++) {
		CHECK(expect_own_fault(second_page(NONE), SIGSEGV) == 0);
		CHECK(was_blocked);
		CHECK(expect_own_fault(second_page(TRUNCATED), SIGBUS) == 0);
		CHECK(!was_blocked);
		CHECK(rnic_guard(read_one, second_page(NONE)) == -EFAULT);
		CHECK(rnic_guard(read_one, second_page(TRUNCATED)) == -EFAULT);
	}
	CHECK(seen_cnt == 4);
	return 0;
}

CASE(hands_own_faults_to_the_application)
{
	static int early;

	run(child_own_faults, NULL, 0);
	run(child_own_faults, &early, 0);
}

static int child_stack(void *arg)
{
	const stack_t stack = { .ss_sp = alt_stack,
				.ss_size = sizeof(alt_stack) };

	(void)arg;
	CHECK(sigaltstack(&stack, NULL) == 0);
	CHECK(rnic_guard_install() == 0);
	for (int i = 0; i < 2; i++) {
		app_install(SIGSEGV, SA_SIGINFO);
		CHECK(expect_own_fault(second_page(NONE), SIGSEGV) == 0);
		CHECK(!was_on_altstack);
		CHECK(rnic_guard(copy_to, second_page(NONE)) == -EFAULT);
		app_install(SIGSEGV, SA_SIGINFO | SA_ONSTACK);
		CHECK(expect_own_fault(second_page(NONE), SIGSEGV) == 0);
		CHECK(was_on_altstack);
		CHECK(rnic_guard(copy_to, second_page(NONE)) == -EFAULT);
	}
	return 0;
}

CASE(runs_handlers_on_the_stack_they_want)
{
	run(child_stack, NULL, 0);
}

static int child_answers(void *arg)
{
	struct sigaction act = { .sa_handler = SIG_IGN };
	struct sigaction old;

	(void)arg;
	CHECK(rnic_guard_sigaction(SIGSEGV, &act, &old) == -ENOENT);
	app_install(SIGSEGV, SA_SIGINFO | SA_RESETHAND);
	CHECK(rnic_guard_install() == 0);
	CHECK(rnic_guard_is_on());
	CHECK(rnic_guard_sigaction(SIGUSR1, &act, &old) == -ENOENT);
	CHECK(rnic_guard_sigaction(SIGSEGV, NULL, &old) == 0);
	CHECK(old.sa_sigaction == app_handler);
	CHECK((old.sa_flags & (SA_SIGINFO | (int)SA_RESETHAND)) ==
	      (SA_SIGINFO | (int)SA_RESETHAND));
	CHECK(sigismember(&old.sa_mask, SIGUSR1) == 1);
	CHECK(expect_own_fault(second_page(NONE), SIGSEGV) == 0);
	CHECK(rnic_guard_sigaction(SIGSEGV, &act, &old) == 0);
	CHECK(old.sa_handler == SIG_DFL); /* SA_RESETHAND */
	CHECK(rnic_guard_sigaction(SIGSEGV, NULL, &act) == 0);
	CHECK(act.sa_handler == SIG_IGN);
	CHECK(rnic_guard_sigaction(SIGBUS, NULL, &old) == 0);
	return 0;
}

CASE(answers_what_was_installed)
{
	run(child_answers, NULL, 0);
}

/* ---- end of links ---- */

enum end { BY_FAULT, BY_KILL };

struct end_row {
	const char *name;
	int sig;
	void (*handler)(int sig);
	enum end end;
	int expected;
};

static void bare_handler(int sig)
{
	/* Without SA_NODEFER a fault in here kills the process. */
	(void)sig;
	read_one((void *)nowhere);
	_exit(3);
}

static void leave(int sig)
{
	_exit(sig == SIGSEGV ? 42 : 43);
}

static const struct end_row end_rows[] = {
	{ "default, fault", SIGSEGV, SIG_DFL, BY_FAULT, -SIGSEGV },
	{ "default, bus fault", SIGBUS, SIG_DFL, BY_FAULT, -SIGBUS },
	{ "default, kill", SIGSEGV, SIG_DFL, BY_KILL, -SIGSEGV },
	{ "default, kill", SIGBUS, SIG_DFL, BY_KILL, -SIGBUS },
	{ "ignored, fault", SIGSEGV, SIG_IGN, BY_FAULT, -SIGSEGV },
	{ "ignored, kill", SIGSEGV, SIG_IGN, BY_KILL, 0 },
	{ "ignored, kill", SIGBUS, SIG_IGN, BY_KILL, 0 },
	{ "handler that faults", SIGSEGV, bare_handler, BY_FAULT, -SIGSEGV },
	{ "handler, kill", SIGSEGV, leave, BY_KILL, 42 },
	{ "handler, fault", SIGBUS, leave, BY_FAULT, 43 },
};

static int child_end(void *arg)
{
	const struct end_row *row = arg;
	struct sigaction act = { .sa_handler = row->handler };

	/* A sanitizer's handler would interfere. */
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	CHECK(rnic_guard_install() == 0);
	CHECK(rnic_guard_sigaction(row->sig, &act, NULL) == 0);
	CHECK(rnic_guard(read_one, second_page(NONE)) == -EFAULT);
	if (row->end == BY_KILL)
		kill(getpid(), row->sig);
	else if (row->sig == SIGBUS)
		read_one(second_page(TRUNCATED));
	else
		read_one(second_page(NONE));
	return row->end == BY_FAULT ? 2 : 0;
}

CASE(ends_as_without_the_guard)
{
	for (size_t i = 0; i < ARRAY_LEN(end_rows); i++) {
		print_message("%s\n", end_rows[i].name);
		run(child_end, (void *)(uintptr_t)&end_rows[i],
		    end_rows[i].expected);
	}
}

static int child_grandchild(void *arg)
{
	int status;
	pid_t pid;

	(void)arg;
	CHECK(rnic_guard_install() == 0);
	pid = fork();
	if (pid == 0) {
		rnic_guard_fork_child();
		app_install(SIGSEGV, SA_SIGINFO);
		CHECK(rnic_guard(read_one, second_page(NONE)) == -EFAULT);
		_exit(expect_own_fault(second_page(NONE), SIGSEGV));
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return 0;
}

CASE(works_in_a_forked_child)
{
	run(child_grandchild, NULL, 0);
}

/* One thread changes the action while another faults: the handler is never half
 * old, half new. */
static _Atomic bool is_over;

static void *change_often(void *arg)
{
	while (!is_over) {
		app_install(SIGSEGV, SA_SIGINFO);
		app_install(SIGSEGV, SA_SIGINFO | SA_NODEFER | SA_RESTART);
	}
	return arg;
}

static int child_changes(void *arg)
{
	uint8_t *gone = second_page(NONE);
	pthread_t thread;

	(void)arg;
	CHECK(rnic_guard_install() == 0);
	app_install(SIGSEGV, SA_SIGINFO);
	CHECK(pthread_create(&thread, NULL, change_often, NULL) == 0);
	for (int i = 0; i < 2000; i++)
		CHECK(expect_own_fault(gone, SIGSEGV) == 0);
	is_over = true;
	return pthread_join(thread, NULL);
}

CASE(reads_an_action_whole_while_it_changes)
{
	run(child_changes, NULL, 0);
}

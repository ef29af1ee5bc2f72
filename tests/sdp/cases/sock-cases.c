/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sock-cases - prints what programs see of stream sockets, case by case.
 *
 *	sock-cases [--ipv6] [--cold] [-j COUNT] [--limit SECONDS] [NAME...]
 *	sock-cases --list
 *
 * A NAME is that of a case or of a theme. Each case runs in its own process, up
 * to COUNT at a time; the output is in the order of the table. A case that
 * exceeds the limit is stopped, and its last line is "NAME: hangs". The exit
 * code is 1 if a case failed, died or hung. With --cold no connection was used
 * before its case begins.
 */
#include "cases.h"
#include "show.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

static const struct sock_case *const themes[] = {
	accept_cases,	address_cases, answer_cases,	 chk_cases,
	close_cases,	connect_cases, descriptor_cases, epoll_cases,
	error_cases,	exec_cases,    flags_cases,	 fork_cases,
	jump_cases,	limit_cases,   lost_cases,	 oob_cases,
	options_cases,	poll_cases,    reset_cases,	 select_cases,
	shutdown_cases, signal_cases,  splice_cases,	 stdio_cases,
	stream_cases,	syscall_cases, thread_cases,
};

#define CASES_MAX 600

enum state { WAITS, RUNS, ENDED };

struct run {
	const struct sock_case *what;
	enum state state;
	pid_t pid;
	int text_fd;
	uint64_t deadline_ms;
	bool is_late;
	int status;
};

static struct run runs[CASES_MAX];
static int run_cnt;
static int jobs = 1;
static unsigned limit_s = 20;

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool is_wanted(const char *name, char **words)
{
	if (!*words)
		return true;
	for (; *words; words++) {
		size_t len = strlen(*words);

		if (strncmp(name, *words, len) == 0 &&
		    (name[len] == 0 || name[len] == '.'))
			return true;
	}
	return false;
}

static void choose(char **words)
{
	for (size_t i = 0; i < sizeof(themes) / sizeof(themes[0]); i++) {
		for (const struct sock_case *c = themes[i]; c->name; c++) {
			if (!is_wanted(c->name, words))
				continue;
			NEED(run_cnt < CASES_MAX);
			runs[run_cnt].text_fd = -1;
			runs[run_cnt++].what = c;
		}
	}
}

/* Runs in the process of the case. Standard input and output are /dev/null, and
 * the descriptor of the output is above the numbers that a case may use. */
static void case_main(const struct run *run, const sigset_t *mask)
{
	int null = open("/dev/null", O_RDWR);
	int fd = fcntl(run->text_fd, F_DUPFD_CLOEXEC, 500);

	NEED(null >= 0 && fd >= 0);
	for (int i = 0; i < run_cnt; i++)
		if (runs[i].text_fd >= 0)
			close(runs[i].text_fd);
	NEED(dup2(null, 0) == 0 && dup2(null, 1) == 1);
	close(null);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	show_begin(run->what->name, fd);
	run->what->run();
	exit(0);
}

static void run_start(struct run *run, const sigset_t *mask)
{
	run->text_fd = memfd_create("sock-cases", MFD_CLOEXEC);
	NEED(run->text_fd >= 0);
	/* If two threads write lines at once, none is lost. */
	NEED(fcntl(run->text_fd, F_SETFL, O_APPEND) == 0);
	fflush(stdout);
	run->pid = fork();
	NEED(run->pid >= 0);
	if (run->pid == 0)
		case_main(run, mask);
	setpgid(run->pid, run->pid);
	run->state = RUNS;
	run->deadline_ms = now_ms() + limit_s * 1000;
}

static void runs_reap(void)
{
	for (int i = 0; i < run_cnt; i++) {
		struct run *run = &runs[i];

		if (run->state != RUNS)
			continue;
		if (!run->is_late && now_ms() >= run->deadline_ms) {
			run->is_late = true;
			kill(-run->pid, SIGKILL);
		}
		if (waitpid(run->pid, &run->status, WNOHANG) != run->pid)
			continue;
		/* Ends processes that the case has left. */
		kill(-run->pid, SIGKILL);
		run->state = ENDED;
	}
}

/* Prints the output of a case that has ended. Return: whether it succeeded. */
static bool run_print(struct run *run)
{
	char text[4096];
	ssize_t got;
	off_t at = 0;

	while ((got = pread(run->text_fd, text, sizeof(text), at)) > 0) {
		fwrite(text, 1, (size_t)got, stdout);
		at += got;
	}
	close(run->text_fd);
	run->text_fd = -1;
	if (run->is_late)
		printf("%s: hangs\n", run->what->name);
	else if (WIFSIGNALED(run->status))
		printf("%s: dies of SIG%s\n", run->what->name,
		       sigabbrev_np(WTERMSIG(run->status)));
	else if (at == 0)
		printf("%s: says nothing\n", run->what->name);
	fflush(stdout);
	return !run->is_late && run->status == 0 && at > 0;
}

/* Return: exit code of the program. */
static int run_all(void)
{
	struct timespec tick = { .tv_nsec = 50000000 };
	sigset_t child, mask;
	int started = 0, printed = 0, code = 0;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &mask);
	while (printed < run_cnt) {
		int running = 0;

		runs_reap();
		for (int i = printed; i < started; i++)
			running += runs[i].state == RUNS;
		while (started < run_cnt && running < jobs) {
			run_start(&runs[started++], &mask);
			running++;
		}
		while (printed < started && runs[printed].state == ENDED)
			if (!run_print(&runs[printed++]))
				code = 1;
		if (running)
			sigtimedwait(&child, NULL, &tick);
	}
	return code;
}

static void usage(void)
{
	fputs("Usage: sock-cases [--ipv6] [--cold] [-j COUNT] "
	      "[--limit SECONDS] [NAME...]\n       sock-cases --list\n",
	      stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	bool is_list = false;
	int i = 1;

	if (argc == 3 && !strcmp(argv[1], "--echo")) {
		echo(atoi(argv[2]));
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "--names")) {
		struct address peer = address_of_peer(0);

		return write(1, &peer, sizeof(peer)) != sizeof(peer);
	}
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--ipv6"))
			fixture_family = AF_INET6;
		else if (!strcmp(argv[i], "--cold"))
			fixture_is_cold = true;
		else if (!strcmp(argv[i], "--list"))
			is_list = true;
		else if (!strcmp(argv[i], "-j") && i + 1 < argc)
			jobs = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--limit") && i + 1 < argc)
			limit_s = (unsigned)atoi(argv[++i]);
		else
			usage();
	}
	choose(argv + i);
	if (!run_cnt || jobs < 1)
		usage();
	if (!is_list)
		return run_all();
	for (i = 0; i < run_cnt; i++)
		puts(runs[i].what->name);
	return 0;
}

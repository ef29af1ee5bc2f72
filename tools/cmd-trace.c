/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* usiw trace: a line for each verb and call of rdma_cm, completion, event. */
#include "cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "observer.h"
#include "options.h"
#include "trace/filter.h"
#include "trace/posts.h"
#include "trace/show.h"
#include "trace/sum.h"

#define RING_SIZE (1u << 24)
#define WAIT_MS 10
/* Records between two looks at everything else. */
#define TAKE_MAX 4096

struct session {
	struct observer *obs;
	struct trace_filter filter;
	struct trace_posts *posts;
	struct trace_sum *sum; /* NULL: neither -c nor -C */
	bool shows_lines;
	const char *path; /* -o */
	FILE *out;
	pid_t pids[USIW_OBSERVER_SLOTS];
	uint32_t pid_cnt;
	uint64_t bad_cnt; /* records that make no sense */
	struct options run;
	struct launched child;
};

static void trace_usage(FILE *out)
{
	fputs("Usage: usiw trace [-c | -C] [-e FILTER] [-o FILE] " OPTIONS_USAGE
	      "\n"
	      "                  [--] COMMAND [ARGUMENTS]\n"
	      "       usiw trace [-c | -C] [-e FILTER] [-o FILE] PID [PID "
	      "...]\n"
	      "Prints a line for each verb and call of rdma_cm that a program "
	      "makes, and for each\n"
	      "completion and event that it gets.\n"
	      "\nOptions, those of strace(1) where they are the same:\n"
	      "  -e FILTER   only these, separated by commas: verbs, cm, "
	      "completions, events,\n"
	      "              calls as post_send and rdma_connect; !X: all but "
	      "X\n"
	      "  -c          a table at the end, and no lines\n"
	      "  -C          both\n"
	      "  -o FILE     to a file instead of standard error\n"
	      "  -p PID      a process that runs\n"
	      "  --persona, --sdp   as usiw run\n"
	      "\nExamples:\n"
	      "  usiw trace -e cm,events -- rping -c -a 192.0.2.1\n"
	      "  usiw trace -e '!poll_cq' 4711\n"
	      "  usiw trace -c -- ib_write_bw -R 192.0.2.1\n"
	      "\nExit code: that of COMMAND; 0; 1 failure; 2 wrong usage.\n",
	      out);
}

/* ---- records ------------------------------------------------------------- */

static struct trace_who who_of(const struct observer_record *rec)
{
	return (struct trace_who){ rec->pid, rec->head->tid };
}

static void call_take(struct session *s, const struct observer_record *rec)
{
	struct trace_call call;

	if (!trace_call_read(&call, rec->payload, rec->len)) {
		s->bad_cnt++;
		return;
	}
	if (rec->head->kind == USIW_RECORD_EVENT) {
		if (s->filter.events && s->shows_lines)
			trace_event_show(s->out, who_of(rec), &call);
		return;
	}
	if (!trace_filter_has_call(&s->filter, call.name,
				   call.record->name_len))
		return;
	if (s->sum)
		trace_sum_add_call(s->sum, &call);
	if (s->shows_lines)
		trace_call_show(s->out, who_of(rec), &call);
}

static void completion_take(struct session *s,
			    const struct observer_record *rec)
{
	const struct usiw_completion_record *completion = rec->payload;
	uint64_t posted_ns, took_ns = 0;

	/* The clock may be set meanwhile. */
	if (trace_posts_take(s->posts, rec->source, completion, &posted_ns) &&
	    posted_ns < rec->head->ns)
		took_ns = rec->head->ns - posted_ns;
	if (!s->filter.completions)
		return;
	if (s->sum)
		trace_sum_add_completion(s->sum, completion, took_ns);
	if (s->shows_lines)
		trace_completion_show(s->out, who_of(rec), completion, took_ns);
}

static void record_take(struct session *s, const struct observer_record *rec)
{
	uint32_t kind = rec->head->kind;

	if (kind == USIW_RECORD_CALL || kind == USIW_RECORD_EVENT)
		call_take(s, rec);
	else if (kind == USIW_RECORD_POST &&
		 rec->len == sizeof(struct usiw_post_record))
		trace_posts_add(s->posts, rec->source, rec->head->ns,
				rec->payload);
	else if (kind == USIW_RECORD_COMPLETION &&
		 rec->len == sizeof(struct usiw_completion_record))
		completion_take(s, rec);
	else
		s->bad_cnt++;
}

/* Return: whether there were some. */
static bool records_take(struct session *s)
{
	struct observer_record rec;
	uint32_t cnt = 0;

	while (cnt < TAKE_MAX && observer_next(s->obs, &rec)) {
		record_take(s, &rec);
		cnt++;
	}
	if (cnt < TAKE_MAX)
		fflush(s->out);
	return cnt > 0;
}

static int trace_run(struct session *s)
{
	bool is_last = false, has_some;

	for (;;) {
		has_some = records_take(s);
		/* Without a reader only the child is waited for. */
		if (observer_is_stopped() || (is_last && !has_some) ||
		    (ferror(s->out) && !launched_lives(&s->child)))
			break;
		/* What a process wrote before it ended is taken once more. */
		if (!has_some)
			is_last = !launched_lives(&s->child) &&
				  !observer_live_cnt(s->obs);
		if (!is_last)
			observer_wait(s->obs, has_some ? 0 : WAIT_MS);
	}
	return launched_exit_code(&s->child);
}

/* Return: @ret; 1: not all of it was written. */
static int trace_end(struct session *s, int ret)
{
	uint64_t lost = observer_lost(s->obs);
	bool has_failed = ferror(s->out);

	if (s->sum)
		trace_sum_show(s->sum, s->out);
	if (lost || s->bad_cnt)
		fprintf(s->out,
			"usiw: trace: %llu records are missing, because the "
			"program was faster than this command; %llu were "
			"unreadable\n",
			(unsigned long long)lost,
			(unsigned long long)s->bad_cnt);
	has_failed = fclose(s->out) != 0 || has_failed;
	if (has_failed && s->path)
		fprintf(stderr, "usiw: trace: %s: not all of it was written\n",
			s->path);
	return has_failed && ret == 0 ? 1 : ret;
}

/* ---- the command line ---------------------------------------------------- */

static int wrong(const char *which, const char *what)
{
	fprintf(stderr, "usiw: trace: %s: %s\n", which, what);
	return USAGE_EXIT;
}

static int pid_add(struct session *s, const char *text)
{
	uint64_t pid;

	if (!options_number(text, 1, INT32_MAX, &pid))
		return wrong(text, "is no process ID");
	if (s->pid_cnt == USIW_OBSERVER_SLOTS)
		return wrong(text, "is one process too many");
	s->pids[s->pid_cnt++] = (pid_t)pid;
	return 0;
}

static int option_take(struct session *s, int option, char **argv)
{
	switch (option) {
	case 'c':
	case 'C':
		s->shows_lines = option == 'C';
		s->sum = s->sum ? s->sum : trace_sum_new();
		return s->sum ? 0 : 1;
	case 'e':
		return trace_filter_add(&s->filter, optarg) < 0 ? USAGE_EXIT
								: 0;
	case 'o':
		s->path = optarg;
		return 0;
	case 'p':
		return pid_add(s, optarg);
	case ':':
		return wrong(argv[optind - 1], "value missing");
	default:
		return wrong(argv[optind - 1], "no such option");
	}
}

/* Return: 0; USAGE_EXIT or 1: the reason was printed. */
static int options_read(struct session *s, int argc, char **argv)
{
	const char *why[2];
	int option, ret = 0;
	uint64_t pid;

	opterr = 0;
	while (ret == 0 && argv[optind]) {
		enum option_outcome outcome =
			options_take(argv, &optind, &s->run, why);

		if (outcome == OPTION_WRONG)
			return wrong(why[0], why[1]);
		if (outcome == OPTION_TAKEN)
			continue;
		option = getopt(argc, argv, "+:cCe:o:p:");
		if (option == -1)
			break;
		ret = option_take(s, option, argv);
	}
	if (ret || strcmp(argv[optind - 1], "--") == 0)
		return ret;
	for (; ret == 0 && argv[optind] &&
	       options_number(argv[optind], 1, INT32_MAX, &pid);
	     optind++)
		ret = pid_add(s, argv[optind]);
	return ret;
}

/* ---- start and end ------------------------------------------------------- */

static int out_open(struct session *s)
{
	/* Standard error itself stays unbuffered, for messages. */
	int fd = s->path ? -1 : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	s->out = s->path ? fopen(s->path, "we") : fdopen(fd, "w");
	if (s->out) {
		setvbuf(s->out, NULL, _IOFBF, 1u << 16);
		return 0;
	}
	fprintf(stderr, "usiw: trace: %s: %s\n",
		s->path ? s->path : "standard error", strerror(errno));
	return 1;
}

static int session_run(struct session *s, char **argv)
{
	int ret;

	/* Before anything is attached, which is to be left then. */
	observer_signals_set(SA_RESTART);
	s->posts = trace_posts_new();
	s->obs = s->posts ? observer_new("trace", USIW_OBSERVE_CALLS, RING_SIZE,
					 0)
			  : NULL;
	if (!s->obs)
		return 1;
	ret = out_open(s);
	for (uint32_t i = 0; ret == 0 && i < s->pid_cnt; i++) {
		ret = observer_attach(s->obs, s->pids[i]) < 0;
		if (ret == 0)
			fprintf(stderr, "usiw: trace: process %d attached\n",
				(int)s->pids[i]);
	}
	if (ret == 0 && argv[0])
		ret = observer_spawn(s->obs, &s->run, argv, &s->child) < 0;
	if (ret == 0)
		ret = trace_end(s, trace_run(s));
	observer_free(s->obs);
	return ret;
}

int cmd_trace(int argc, char **argv)
{
	static struct session s = { .shows_lines = true };
	int ret;

	if (argc > 1 && cmd_is_help(argv[1])) {
		trace_usage(stdout);
		return fflush(stdout) ? 1 : 0;
	}
	trace_filter_init(&s.filter);
	ret = options_read(&s, argc, argv);
	if (ret == 0 && !s.pid_cnt == !argv[optind])
		ret = wrong(argv[optind] ? argv[optind] : "what is traced",
			    "either a command, or process IDs");
	if (ret)
		trace_usage(stderr);
	else
		ret = session_run(&s, argv + optind);
	trace_posts_free(s.posts);
	trace_sum_free(s.sum);
	return ret;
}

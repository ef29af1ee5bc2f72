/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* usiw capture: what processes send and receive, for Wireshark. */
#include "cmd.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/capture.h"
#include "capture/request.h"
#include "capture/writer.h"
#include "observer.h"
#include "util/clock.h"

#define WAIT_MS 10
/* Records between two looks at everything else. */
#define TAKE_MAX 256

struct session {
	const struct capture_request *request;
	struct observer *obs;
	struct capture *cap;
	struct writer *out;
	/* Numbers for the capture, by source; -1: it is not known yet. */
	int process[OBSERVER_SOURCES];
	struct launched child;
};

/* ---- records ------------------------------------------------------------- */

static void process_name(uint32_t pid, char ret_name[64])
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	file = fopen(path, "re");
	if (!file || !fgets(ret_name, 64, file))
		snprintf(ret_name, 64, "ended");
	ret_name[strcspn(ret_name, "\n")] = '\0';
	if (file)
		fclose(file);
}

/* Return: the process's number for the capture; -ENOMEM. */
static int process_of(struct session *s, const struct observer_record *record)
{
	int *process = &s->process[record->source];
	char name[64];

	if (*process < 0) {
		process_name(record->pid, name);
		*process = capture_add_process(s->cap, record->pid, name);
	}
	return *process;
}

static bool is_over(const struct session *s)
{
	const struct capture_request *request = s->request;

	return observer_is_stopped() || writer_is_over(s->out) ||
	       (request->end_packets &&
		capture_counts(s->cap)->written >= request->end_packets) ||
	       (request->end_octets &&
		writer_octets(s->out) >= request->end_octets);
}

/* Return: whether there were some. */
static bool records_take(struct session *s)
{
	struct observer_record record;
	int process, cnt = 0;

	while (cnt < TAKE_MAX && !is_over(s) &&
	       observer_next(s->obs, &record)) {
		process = process_of(s, &record);
		if (process >= 0)
			capture_take(
				s->cap, process, record.head,
				sizeof(*record.head) + record.len,
				observer_source_lost(s->obs, record.source),
				writer_blocks(s->out));
		writer_pump(s->out, false);
		cnt++;
	}
	if (cnt < TAKE_MAX)
		writer_pump(s->out, true);
	return cnt > 0;
}

/* Until all processes have ended, or it is to end before. */
static void capture_run(struct session *s)
{
	uint64_t end_ns = s->request->end_ns, now = util_now_ns(), busy_ns = 0;
	bool is_last = false, has_some;

	end_ns = end_ns ? now + end_ns : UINT64_MAX;
	while (!is_over(s) && now < end_ns) {
		has_some = records_take(s);
		now = util_now_ns();
		if (has_some) {
			busy_ns = now;
			observer_wait(s->obs, 0);
			continue;
		}
		if (is_last)
			break;
		/* What a process wrote before it ended is taken once more. */
		is_last = !launched_lives(&s->child) &&
			  !observer_live_cnt(s->obs);
		if (!is_last)
			observer_wait(s->obs,
				      now - busy_ns < NS_PER_S ? 1 : WAIT_MS);
	}
}

/* A power of 2. */
static uint32_t ring_size(const struct capture_request *request)
{
	uint32_t size = 1u << 20;

	while (size < request->ring_mib << 20)
		size <<= 1;
	return size;
}

/* ---- the command --------------------------------------------------------- */

static int counts_print(struct session *s, int ret)
{
	const struct capture_counts *counts = capture_counts(s->cap);

	fprintf(stderr,
		"usiw: capture: %llu packets captured, %llu dropped (ring "
		"full), %llu dropped (output)\n",
		(unsigned long long)counts->written,
		(unsigned long long)counts->lost,
		(unsigned long long)counts->dropped);
	if (counts->bad)
		fprintf(stderr,
			"usiw: capture: %llu records of processes were "
			"unreadable\n",
			(unsigned long long)counts->bad);
	return ret;
}

/* The program goes on without the capture. */
static int child_status(struct session *s)
{
	struct launched *child = &s->child;

	while (child->pid && !observer_is_stopped())
		if (waitpid(child->pid, &child->status, 0) == child->pid ||
		    errno != EINTR)
			child->pid = 0;
	return child->pid ? 0 : launched_exit_code(child);
}

static int session_end(struct session *s)
{
	int ret;

	for (uint32_t i = 0; i < OBSERVER_SOURCES; i++)
		if (s->process[i] >= 0)
			capture_end_process(s->cap, s->process[i],
					    observer_source_lost(s->obs, i),
					    writer_blocks(s->out));
	ret = writer_close(s->out) < 0 ? 1 : 0;
	return counts_print(s, ret);
}

/* The output comes second: what is refused leaves no file.  Return: 0; 1: the
 * reason was printed. */
static int session_begin(struct session *s, char **argv)
{
	const struct capture_request *request = s->request;

	for (uint32_t i = 0; i < request->pid_cnt; i++)
		if (observer_attach(s->obs, request->pids[i]) < 0)
			return 1;
	s->out = writer_open(&request->output, s->cap);
	if (!s->out)
		return 1;
	if (request->pid_cnt) {
		fputs("usiw: capture: attached\n", stderr);
		return 0;
	}
	/* Standard output has the packets: the program writes elsewhere. */
	if (strcmp(request->output.path, "-") == 0 &&
	    dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return 1;
	return observer_spawn(s->obs, &request->run, argv, &s->child) < 0 ? 1
									  : 0;
}

static int session_run(const struct capture_request *request, char **argv)
{
	struct session s = { .request = request };
	int ret = 1;

	for (uint32_t i = 0; i < OBSERVER_SOURCES; i++)
		s.process[i] = -1;
	s.cap = capture_new(request->snap_len, &request->filter);
	s.obs = s.cap ? observer_new("capture", USIW_OBSERVE_PACKETS,
				     ring_size(request), request->snap_len)
		      : NULL;
	if (s.obs)
		ret = session_begin(&s, argv);
	if (ret == 0) {
		capture_run(&s);
		ret = session_end(&s);
	} else if (s.out) {
		(void)writer_close(s.out);
	}
	if (s.obs)
		observer_free(s.obs);
	if (ret == 0)
		ret = child_status(&s);
	capture_free(s.cap);
	return ret;
}

int cmd_capture(int argc, char **argv)
{
	struct capture_request request = CAPTURE_REQUEST_INIT;
	int first, ret;

	if (argc > 1 && cmd_is_help(argv[1])) {
		capture_request_usage(stdout);
		return fflush(stdout) ? 1 : 0;
	}
	ret = capture_request_take(&request, argc, argv, &first);
	if (ret) {
		capture_request_usage(stderr);
		return ret;
	}
	if (strcmp(request.output.path, "-") == 0 && isatty(STDOUT_FILENO)) {
		fputs("usiw: capture: standard output is a terminal; name a "
		      "file, or a pipe to tshark -r -\n",
		      stderr);
		return USAGE_EXIT;
	}
	/* Without SA_RESTART: the open of a FIFO waits for its reader. */
	observer_signals_set(0);
	return session_run(&request, argv + first);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The command line of usiw capture. */
#include "test.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/request.h"
#include "cmd.h"
#include "environment.h"
#include "util/v4-mapped.h"

/* Of the link only. */
int environment_put(const char *name, const char *value, bool is_override)
{
	(void)name;
	(void)value;
	(void)is_override;
	return -1;
}

static struct capture_request request;
static int first;
static int word_cnt;

/* Complaints are expected.  Return: what stderr was. */
static int stderr_to(int fd)
{
	int old = dup(STDERR_FILENO);

	assert_true(dup2(fd, STDERR_FILENO) == STDERR_FILENO);
	close(fd);
	return old;
}

/* The words after usiw. */
static int parse(const char *line)
{
	const struct capture_request init = CAPTURE_REQUEST_INIT;
	static char text[512];
	static char *argv[128];
	char *at = text, *word;
	int old, ret;

	snprintf(text, sizeof(text), "%s", line);
	word_cnt = 0;
	while ((word = strsep(&at, " ")))
		argv[word_cnt++] = word;
	argv[word_cnt] = NULL;
	request = init;
	optind = 1;
	old = stderr_to(open("/dev/null", O_WRONLY));
	ret = capture_request_take(&request, word_cnt, argv, &first);
	close(stderr_to(old));
	return ret;
}

CASE(reads_a_command)
{
	assert_int_equal(parse("capture -o f ls -l"), 0);
	assert_string_equal(request.output.path, "f");
	assert_int_equal(first, 3);
	assert_int_equal(parse("capture -w - -- 123 4"), 0);
	assert_string_equal(request.output.path, "-");
	assert_int_equal(first, 4);
	assert_int_equal(request.pid_cnt, 0);
	assert_int_equal(request.snap_len, 262144);
	assert_int_equal(request.ring_mib, 16);
	assert_null(request.filter.text);
}

CASE(reads_what_usiw_run_reads)
{
	assert_int_equal(parse("capture --sdp -o f --persona ca -s 128 x"), 0);
	assert_true(request.run.wants_sdp);
	assert_string_equal(request.run.persona, "ca");
	assert_int_equal(request.snap_len, 128);
	assert_int_equal(first, 8);
	assert_int_equal(parse("capture -o f x --sdp"), 0);
	assert_false(request.run.wants_sdp);
}

CASE(reads_process_ids)
{
	assert_int_equal(parse("capture -o f -p 12 -p 34 56"), 0);
	assert_int_equal(request.pid_cnt, 3);
	assert_int_equal(request.pids[0], 12);
	assert_int_equal(request.pids[1], 34);
	assert_int_equal(request.pids[2], 56);
	assert_int_equal(first, word_cnt);
}

CASE(reads_what_dumpcap_reads)
{
	assert_int_equal(parse("capture -o f -s 128 -c 9 -B 32 -a duration:3 "
			       "-a filesize:7 -a packets:8 -a files:2 "
			       "-b duration:4 -b filesize:10 -b packets:11 "
			       "-b files:5 x"),
			 0);
	assert_int_equal(request.snap_len, 128);
	assert_int_equal(request.ring_mib, 32);
	assert_int_equal(request.end_ns, 3000000000);
	assert_int_equal(request.end_octets, 7000);
	assert_int_equal(request.end_packets, 8);
	assert_int_equal(request.output.end_files, 2);
	assert_int_equal(request.output.ns, 4000000000);
	assert_int_equal(request.output.octets, 10000);
	assert_int_equal(request.output.packets, 11);
	assert_int_equal(request.output.files, 5);
	assert_int_equal(parse("capture -o f -c 9 x"), 0);
	assert_int_equal(request.end_packets, 9);
}

CASE(reads_filters)
{
	uint8_t addr[16];

	assert_int_equal(parse("capture -o f --qp 0x11 --port 5000 "
			       "--peer=192.0.2.1 x"),
			 0);
	assert_int_equal(request.filter.qp_num, 17);
	assert_int_equal(request.filter.port, 5000);
	assert_true(request.filter.has_peer);
	util_v4_map(addr, (const uint8_t[]){ 192, 0, 2, 1 });
	assert_memory_equal(request.filter.peer, addr, 16);
	assert_string_equal(request.filter.text,
			    "qp 0x11 and port 5000 and peer 192.0.2.1");
	assert_int_equal(parse("capture -o f --peer fe80::1 x"), 0);
	assert_int_equal(request.filter.peer[0], 0xfe);
	assert_int_equal(request.filter.peer[15], 1);
}

CASE(refuses_what_is_wrong)
{
	static const char *const lines[] = {
		"capture ls",
		"capture -o f",
		"capture -o",
		"capture -o f -p 12 ls",
		"capture -o f 12 ls",
		"capture -o f -p x",
		"capture -o f -p 0",
		"capture -o f -p 99999999999",
		"capture -o f -x ls",
		"capture -o f --nonsense ls",
		"capture -o f -s 127 ls",
		"capture -o f -s 262145 ls",
		"capture -o f -s 1k ls",
		"capture -o f -c 0 ls",
		"capture -o f -c -1 ls",
		"capture -o f -B 257 ls",
		"capture -o f -a 5 ls",
		"capture -o f -a duration: ls",
		"capture -o f -a duration:x ls",
		"capture -o f -b size:5 ls",
		"capture -o f -b files:5 ls",
		"capture -o f -a files:5 ls",
		"capture -o - -b packets:5 ls",
		"capture -o f --qp 0 ls",
		"capture -o f --qp 0x1000000 ls",
		"capture -o f --port 65536 ls",
		"capture -o f --peer 1.2.3 ls",
		"capture -o f --peer localhost ls",
		"capture -o f --persona none ls",
		"capture -o f --persona",
	};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		assert_row(lines[i], parse(lines[i]) == USAGE_EXIT);
}

CASE(refuses_more_processes_than_it_can_watch)
{
	char line[512] = "capture -o f";

	for (int i = 0; i < 65; i++)
		strcat(line, " 12");
	assert_int_equal(parse(line), USAGE_EXIT);
	line[strlen(line) - 3] = '\0';
	assert_int_equal(parse(line), 0);
	assert_int_equal(request.pid_cnt, 64);
}

CASE(explains_itself)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	capture_request_usage(out);
	fclose(out);
	assert_non_null(strstr(text, "Usage: usiw capture -o FILE"));
	free(text);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Files, rings of files, pipes; full disks, and readers that are slow or
 * gone. */
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/writer.h"
#include "pcapng-read.h"

#define FILE_MAX (32u << 20)

static char dir[64];
static char path[128];
static struct capture *cap;
static struct capture_filter filter;
static struct writer *out;
static int real_stdout = -1;
static uint64_t at;

static void handler(int sig)
{
	(void)sig;
}

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/usiw-output-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a.b.pcapng", dir);
	cap = capture_new(CAPTURE_SNAP_MAX, &filter);
	assert_int_equal(capture_add_process(cap, 1, "x"), 0);
	signal(SIGPIPE, handler);
	signal(SIGXFSZ, handler);
	at = 0;
	return 0;
}

/* Names of the files, sorted. */
static int files(char names[8][256])
{
	struct dirent **list;
	int cnt = scandir(dir, &list, NULL, alphasort), found = 0;

	for (int i = 0; i < cnt; i++) {
		if (list[i]->d_name[0] != '.' && found < 8)
			snprintf(names[found++], 256, "%s", list[i]->d_name);
		free(list[i]);
	}
	free(list);
	return found;
}

static int teardown(void **state)
{
	char names[8][256], name[400];
	int cnt = files(names);

	(void)state;
	if (real_stdout >= 0) {
		dup2(real_stdout, STDOUT_FILENO);
		close(real_stdout);
		real_stdout = -1;
	}
	capture_free(cap);
	for (int i = 0; i < cnt; i++) {
		snprintf(name, sizeof(name), "%s/%s", dir, names[i]);
		unlink(name);
	}
	return rmdir(dir);
}

#define WRITER_CASE(name) CASE_WITH(name, setup, teardown)

/* One packet of a stream, after 5 that begin it. */
static void add(uint32_t len)
{
	struct {
		struct usiw_record record;
		struct usiw_packet packet;
		uint8_t octets[65000];
	} *whole = calloc(1, sizeof(*whole));

	whole->record.ns = 1700000000000000000;
	whole->packet.at = 1000 + at;
	whole->packet.len = len;
	at += len;
	capture_take(cap, 0, &whole->record,
		     sizeof(whole->record) + sizeof(whole->packet) + len, 0,
		     writer_blocks(out));
	free(whole);
	writer_pump(out, false);
}

/* Packets of whole blocks. */
static size_t packets_of(const uint8_t *octets, size_t len)
{
	const struct pcapng file = { (uint8_t *)(uintptr_t)octets, len, len };
	struct read_block block;
	size_t pos = 0, cnt = 0;

	assert_true(read_next(&file, &pos, &block));
	assert_int_equal(block.type, READ_SECTION);
	while (read_next(&file, &pos, &block))
		cnt += block.type == READ_PACKET;
	return cnt;
}

static size_t packets_in(const char *name)
{
	uint8_t *octets = malloc(FILE_MAX);
	FILE *file = fopen(name, "rb");
	size_t len, cnt;

	assert_non_null(file);
	len = fread(octets, 1, FILE_MAX, file);
	fclose(file);
	cnt = packets_of(octets, len);
	free(octets);
	return cnt;
}

static void open_out(struct writer_options options)
{
	if (!options.path)
		options.path = path;
	out = writer_open(&options, cap);
	assert_non_null(out);
}

WRITER_CASE(writes_a_file_for_its_owner_only)
{
	struct stat st;

	open_out((struct writer_options){ 0 });
	for (int i = 0; i < 1000; i++)
		add(5000);
	writer_pump(out, true);
	assert_false(writer_is_over(out));
	assert_true(writer_octets(out) > 5000000);
	assert_int_equal(writer_close(out), 0);
	assert_int_equal(packets_in(path), 1005);
	assert_int_equal(capture_counts(cap)->written, 1005);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

WRITER_CASE(writes_at_once_when_there_is_nothing_to_add)
{
	open_out((struct writer_options){ 0 });
	add(50);
	writer_pump(out, true);
	assert_int_equal(packets_in(path), 6);
	assert_int_equal(writer_close(out), 0);
}

WRITER_CASE(keeps_the_last_files)
{
	char names[8][256], name[400];

	open_out((struct writer_options){ .packets = 10, .files = 3 });
	for (int i = 0; i < 33; i++)
		add(50);
	assert_int_equal(writer_close(out), 0);
	assert_int_equal(files(names), 3);
	/* 5 more in each: 7 files. */
	for (int i = 0; i < 3; i++) {
		int num;

		assert_int_equal(sscanf(names[i], "a.b_%5d_", &num), 1);
		assert_int_equal(num, 5 + i);
		assert_string_equal(strrchr(names[i], '.'), ".pcapng");
		snprintf(name, sizeof(name), "%s/%s", dir, names[i]);
		assert_int_equal(packets_in(name), i < 2 ? 10 : 8);
	}
}

WRITER_CASE(ends_with_the_last_file)
{
	char names[8][256];
	int cnt = 0;

	open_out((struct writer_options){ .packets = 10, .end_files = 2 });
	for (; cnt < 50 && !writer_is_over(out); cnt++)
		add(50);
	assert_int_equal(cnt, 10);
	assert_int_equal(writer_close(out), 0);
	assert_int_equal(files(names), 2);
	assert_int_equal(capture_counts(cap)->written, 20);
}

WRITER_CASE(begins_another_file_by_size)
{
	char names[8][256];

	open_out((struct writer_options){ .octets = 100000 });
	for (int i = 0; i < 5; i++)
		add(50000);
	assert_int_equal(writer_close(out), 0);
	assert_int_equal(files(names), 3);
}

WRITER_CASE(says_why_there_is_no_file)
{
	struct writer_options options = { .path = "/nonexistent/x" };

	assert_null(writer_open(&options, cap));
	options.path = dir;
	assert_null(writer_open(&options, cap));
}

/* The file's limit is that of a full disk. */
WRITER_CASE(drops_and_counts_what_a_full_disk_does_not_take)
{
	struct rlimit old, limit;

	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 1000003;
	open_out((struct writer_options){ 0 });
	setrlimit(RLIMIT_FSIZE, &limit);
	for (int i = 0; i < 1000; i++)
		add(20000);
	assert_true(capture_counts(cap)->dropped > 500);
	assert_false(writer_is_over(out));
	assert_int_equal(writer_close(out), -1);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(packets_in(path), capture_counts(cap)->written);
	assert_int_equal(capture_counts(cap)->written +
				 capture_counts(cap)->dropped,
			 1005);
	assert_true(capture_counts(cap)->written > 40);
}

WRITER_CASE(goes_on_when_the_disk_has_room_again)
{
	struct rlimit old, limit;

	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 1000003;
	open_out((struct writer_options){ 0 });
	setrlimit(RLIMIT_FSIZE, &limit);
	for (int i = 0; i < 1000; i++)
		add(20000);
	setrlimit(RLIMIT_FSIZE, &old);
	usleep(150000); /* until it tries again */
	writer_pump(out, true);
	for (int i = 0; i < 10; i++)
		add(20000);
	assert_int_equal(writer_close(out), 0);
	assert_int_equal(packets_in(path), capture_counts(cap)->written);
	assert_int_equal(capture_counts(cap)->written +
				 capture_counts(cap)->dropped,
			 1015);
}

/* Standard output becomes one end; the other one is returned. */
static int stdout_to(int pair[2])
{
	fflush(stdout);
	real_stdout = dup(STDOUT_FILENO);
	assert_true(dup2(pair[1], STDOUT_FILENO) == STDOUT_FILENO);
	close(pair[1]);
	open_out((struct writer_options){ .path = "-" });
	dup2(real_stdout, STDOUT_FILENO);
	return pair[0];
}

static size_t read_some(int fd, uint8_t *octets, size_t len, size_t max)
{
	ssize_t got = read(fd, octets + len, max - len);

	return got > 0 ? len + (size_t)got : len;
}

static void check_slow_reader(int pair[2])
{
	uint8_t *octets = malloc(FILE_MAX);
	int fd = stdout_to(pair);
	size_t len = 0, before;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	/* Nobody reads; nothing waits. */
	for (int i = 0; i < 1000; i++)
		add(20000);
	writer_pump(out, true);
	assert_true(capture_counts(cap)->dropped > 100);
	assert_false(writer_is_over(out));
	/* It reads all there is. */
	do {
		before = len;
		len = read_some(fd, octets, len, FILE_MAX);
		writer_pump(out, true);
	} while (len > before);
	assert_int_equal(writer_close(out), 0);
	len = read_some(fd, octets, len, FILE_MAX);
	assert_int_equal(packets_of(octets, len), capture_counts(cap)->written);
	assert_int_equal(capture_counts(cap)->written +
				 capture_counts(cap)->dropped,
			 1005);
	close(fd);
	free(octets);
}

WRITER_CASE(a_slow_reader_of_a_pipe_loses_packets)
{
	int pair[2];

	assert_int_equal(pipe(pair), 0);
	check_slow_reader(pair);
}

WRITER_CASE(a_slow_reader_of_a_socket_loses_packets)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	check_slow_reader(pair);
}

WRITER_CASE(ends_when_the_reader_has_gone)
{
	int pair[2];

	assert_int_equal(pipe(pair), 0);
	close(stdout_to(pair));
	for (int i = 0; i < 30 && !writer_is_over(out); i++)
		add(20000);
	assert_true(writer_is_over(out));
	assert_int_equal(writer_close(out), 0);
	assert_int_equal(capture_counts(cap)->written, 0);
}

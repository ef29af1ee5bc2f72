/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The files of a capture. */
#define _GNU_SOURCE
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"

/* What waits at most, and what is worth a write. */
#define BUFFER_SIZE (8u << 20)
#define WRITE_MIN (256u << 10)
/* A write that has failed is tried again. */
#define RETRY_NS (100 * NS_PER_MS)
#define CLOSE_NS NS_PER_S
#define BLOCK_PACKET 6u /* of pcapng */

enum writer_kind {
	WRITER_FILE, /* or a device */
	WRITER_PIPE,
	WRITER_SOCKET,
};

struct writer {
	struct writer_options options;
	struct capture *cap;
	char path[PATH_MAX]; /* of the file that is written */
	char **old;	     /* paths of a ring of files, the oldest first */
	uint32_t old_cnt;
	int fd;
	enum writer_kind kind;
	bool is_regular;
	bool is_broken; /* nobody reads the pipe */
	bool is_failed; /* there is no next file */
	bool is_ended;	/* there is to be none */
	int error;	/* of the last write; 0 */
	uint64_t retry_ns;
	uint32_t file_cnt;
	uint64_t begin_ns;	/* of this file */
	uint64_t packets_begin; /* when it began */
	uint64_t written;	/* octets of this file */
	uint64_t written_before;
	/* Whole blocks; the first `done` octets are written. */
	struct pcapng blocks;
	size_t done;
};

static void complain(const struct writer *out, int err, const char *what)
{
	fprintf(stderr, "usiw: capture: %s: %s%s\n", out->path, strerror(err),
		what);
}

/* ---- blocks -------------------------------------------------------------- */

static uint32_t block_word(const struct writer *out, size_t at)
{
	uint32_t word;

	memcpy(&word, out->blocks.octets + at, sizeof(word));
	return word;
}

/* The begin of the block in which octet @at is. */
static size_t block_begin(const struct writer *out, size_t at)
{
	size_t begin = 0, len;

	while (begin < out->blocks.len) {
		len = block_word(out, begin + 4);
		if (at - begin < len)
			break;
		begin += len;
	}
	return begin;
}

/* Drops what is written, but keeps the begin of a block that is not. */
static void blocks_compact(struct writer *out)
{
	size_t begin = block_begin(out, out->done);

	memmove(out->blocks.octets, out->blocks.octets + begin,
		out->blocks.len - begin);
	out->blocks.len -= begin;
	out->done -= begin;
}

/* What is not written never will be. */
static void blocks_drop(struct writer *out)
{
	uint64_t cnt = 0;

	for (size_t at = 0; at < out->blocks.len; at += block_word(out, at + 4))
		cnt += block_word(out, at) == BLOCK_PACKET;
	capture_uncount(out->cap, cnt);
	out->blocks.len = 0;
	out->done = 0;
}

/* ---- writing ------------------------------------------------------------- */

/* Return: octets; 0: not now; -errno. */
static ssize_t fd_write(const struct writer *out, const void *octets,
			size_t len)
{
	struct pollfd ready = { .fd = out->fd, .events = POLLOUT };
	ssize_t ret;

	if (out->kind == WRITER_SOCKET) {
		ret = send(out->fd, octets, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	} else {
		/* A pipe that is ready takes PIPE_BUF octets at once.  Another
		 * process may use it, too, so that O_NONBLOCK is not set. */
		if (out->kind == WRITER_PIPE && poll(&ready, 1, 0) <= 0)
			return 0;
		if (out->kind == WRITER_PIPE && len > PIPE_BUF)
			len = PIPE_BUF;
		ret = write(out->fd, octets, len);
	}
	if (ret < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	return ret;
}

static void write_failed(struct writer *out, int err)
{
	out->retry_ns = util_now_ns() + RETRY_NS;
	if (err == EPIPE || err == ECONNRESET) {
		out->is_broken = true;
		return;
	}
	if (err != out->error)
		complain(out, err, "; packets are dropped while it is so");
	out->error = err;
}

/* Return: whether anything was written. */
static bool blocks_write(struct writer *out)
{
	size_t before = out->done;
	ssize_t len;

	if (out->is_broken || (out->error && util_now_ns() < out->retry_ns))
		return false;
	while (out->done < out->blocks.len) {
		len = fd_write(out, out->blocks.octets + out->done,
			       out->blocks.len - out->done);
		if (len < 0)
			write_failed(out, (int)-len);
		if (len <= 0)
			break;
		out->error = 0;
		out->done += (size_t)len;
		out->written += (uint64_t)len;
	}
	if (out->done == before)
		return false;
	blocks_compact(out);
	return true;
}

/* ---- files --------------------------------------------------------------- */

static bool has_ring(const struct writer *out)
{
	return out->options.octets || out->options.ns || out->options.packets;
}

/* As dumpcap names them: FILE_00001_20261129134950.pcapng. */
static int file_name(struct writer *out)
{
	const char *path = out->options.path;
	const char *base = strrchr(path, '/'), *dot;
	time_t now = time(NULL);
	char stamp[32];
	struct tm tm;
	int len;

	base = base ? base + 1 : path;
	dot = strrchr(base, '.');
	if (!dot || dot == base)
		dot = base + strlen(base);
	localtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", &tm);
	len = has_ring(out)
		      ? snprintf(out->path, sizeof(out->path), "%.*s_%05u_%s%s",
				 (int)(dot - path), path, out->file_cnt + 1,
				 stamp, dot)
		      : snprintf(out->path, sizeof(out->path), "%s", path);
	return len < (int)sizeof(out->path) ? 0 : -ENAMETOOLONG;
}

/* The oldest ones make room. */
static void ring_add(struct writer *out)
{
	char *path;

	if (!out->options.files || !has_ring(out))
		return;
	path = strdup(out->path);
	if (!path)
		return;
	if (out->old_cnt == out->options.files) {
		(void)unlink(out->old[0]);
		free(out->old[0]);
		out->old_cnt--;
		memmove(out->old, out->old + 1,
			out->old_cnt * sizeof(out->old[0]));
	}
	out->old[out->old_cnt++] = path;
}

static int file_open(struct writer *out)
{
	struct stat st;
	int ret = file_name(out);

	if (ret < 0)
		return ret;
	/* Payload is nobody else's business. */
	out->fd = strcmp(out->options.path, "-") == 0
			  ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
			  : open(out->path,
				 O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
				 0600);
	if (out->fd < 0 || fstat(out->fd, &st) < 0)
		return -errno;
	out->kind = S_ISFIFO(st.st_mode)   ? WRITER_PIPE
		    : S_ISSOCK(st.st_mode) ? WRITER_SOCKET
					   : WRITER_FILE;
	out->is_regular = S_ISREG(st.st_mode);
	ring_add(out);
	out->file_cnt++;
	out->error = 0;
	out->written_before += out->written;
	out->written = 0;
	out->begin_ns = util_now_ns();
	out->packets_begin = capture_counts(out->cap)->written;
	return capture_begin_file(out->cap, &out->blocks);
}

/* Writes the rest, for as long as some of it is taken. */
static void blocks_flush(struct writer *out)
{
	uint64_t end_ns = util_now_ns() + CLOSE_NS;
	const struct timespec pause = { .tv_nsec = 1000000 };

	while (out->done < out->blocks.len && !out->is_broken) {
		if (blocks_write(out))
			end_ns = util_now_ns() + CLOSE_NS;
		else if (util_now_ns() >= end_ns || out->kind == WRITER_FILE)
			break;
		else
			(void)nanosleep(&pause, NULL);
	}
}

/* A block in part would make the file unreadable. */
static int file_truncate(const struct writer *out)
{
	off_t end = lseek(out->fd, 0, SEEK_CUR);

	return end < 0 || ftruncate(out->fd, end - (off_t)out->done) < 0
		       ? -errno
		       : 0;
}

/* Return: 0; -errno: it lacks its end. */
static int file_close(struct writer *out)
{
	int ret = 0;

	capture_end_file(out->cap, util_clock_ns(CLOCK_REALTIME), &out->blocks);
	out->retry_ns = 0;
	blocks_flush(out);
	if (out->done < out->blocks.len)
		ret = -out->error;
	if (out->done && out->is_regular)
		(void)file_truncate(out);
	blocks_drop(out);
	if (close(out->fd) < 0 && ret == 0)
		ret = -errno;
	out->fd = -1;
	return ret;
}

static void writer_free(struct writer *out)
{
	for (uint32_t i = 0; i < out->old_cnt; i++)
		free(out->old[i]);
	free(out->old);
	free(out->blocks.octets);
	free(out);
}

struct writer *writer_open(const struct writer_options *options,
			   struct capture *cap)
{
	struct writer *out = calloc(1, sizeof(*out));
	int ret = -ENOMEM;

	if (!out) {
		fputs("usiw: capture: no memory\n", stderr);
		return NULL;
	}
	out->options = *options;
	out->cap = cap;
	out->blocks.size = BUFFER_SIZE;
	out->blocks.octets = malloc(BUFFER_SIZE);
	out->old = calloc(options->files ? options->files : 1,
			  sizeof(out->old[0]));
	snprintf(out->path, sizeof(out->path), "%s", options->path);
	if (out->blocks.octets && out->old)
		ret = file_open(out);
	if (ret == 0)
		return out;
	complain(out, -ret, "");
	writer_free(out);
	return NULL;
}

struct pcapng *writer_blocks(struct writer *out)
{
	return &out->blocks;
}

bool writer_is_over(const struct writer *out)
{
	return out->is_broken || out->is_failed || out->is_ended;
}

static bool file_is_over(const struct writer *out)
{
	const struct writer_options *options = &out->options;
	uint64_t packets =
		capture_counts(out->cap)->written - out->packets_begin;

	return (options->octets && out->written + out->blocks.len - out->done >=
					   options->octets) ||
	       (options->packets && packets >= options->packets) ||
	       (options->ns && util_now_ns() - out->begin_ns >= options->ns);
}

static void file_next(struct writer *out)
{
	int ret;

	if (out->file_cnt == out->options.end_files) {
		out->is_ended = true;
		return;
	}
	(void)file_close(out); /* what is lost is counted */
	ret = file_open(out);
	if (ret == 0)
		return;
	complain(out, -ret, "");
	out->is_failed = true;
}

void writer_pump(struct writer *out, bool is_idle)
{
	if (writer_is_over(out))
		return;
	if (file_is_over(out))
		file_next(out);
	if (is_idle || out->blocks.len - out->done >= WRITE_MIN)
		(void)blocks_write(out);
}

uint64_t writer_octets(const struct writer *out)
{
	return out->written_before + out->written + out->blocks.len - out->done;
}

int writer_close(struct writer *out)
{
	int ret = out->fd < 0 ? 0 : file_close(out);

	if (ret < 0)
		complain(out, -ret, "; the end is missing");
	if (out->is_failed)
		ret = -1;
	writer_free(out);
	return ret < 0 ? -1 : 0;
}

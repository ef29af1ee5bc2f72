/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The speed of TCP alone, the peer of most rows of the benchmark.
 *
 *  bench-raw-tcp [OPTION]... pingpong|stream PORT SIZE [HOST]
 *
 *  -w MS   the window of the measurement (300)
 *  -s      spin: send and receive without blocking
 *  -b N    use N buffers in turn on each side (1)
 *  -f      stream: in frames of 64 KiB, as MPA has them: one for each call that
 *          receives, 16 for each that sends
 *  -d      stream: the sender writes to the data, and the receiver reads it
 *
 * Without HOST it serves one connection. The client of pingpong prints p50, p99
 * and p99.9 of half a round trip in microseconds. The client of stream prints
 * the rate in MiB/s. Both sides print the CPU seconds that they used in that
 * time.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure.h"

#define TIMES_MAX 1000000u
#define MIB 1048576.0
/* The first part of a window is for warming up caches and TCP's buffers. */
#define WARM_DIVISOR 5

struct job {
	uint16_t port;
	size_t size;
	size_t buf_cnt;
	uint64_t window_ns;
	const char *host; /* NULL: serve */
	int flags;	  /* of calls that move octets */
	bool is_framed, is_touched;
	char *buf;
};

#define FRAME 65536u
#define FRAMES 16u

static int sock_open(const struct job *job)
{
	int conn = bench_tcp_open(job->host, job->port), one = 1;

	setsockopt(conn, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return conn;
}

/* Return: false: the other side has ended the stream. */
static bool sock_get(int fd, const struct job *job, char *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		size_t want = len - done;
		ssize_t n;

		if (job->is_framed && want > FRAME)
			want = FRAME;
		n = recv(fd, buf + done, want, job->flags);
		if (n == 0)
			return false;
		NEEDS(n > 0 || errno == EAGAIN || errno == EINTR);
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static void sock_put(int fd, const struct job *job, const char *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		size_t want = len - done;
		ssize_t n;

		if (job->is_framed && want > FRAMES * FRAME)
			want = FRAMES * FRAME;
		n = send(fd, buf + done, want, job->flags | MSG_NOSIGNAL);
		NEEDS(n > 0 || errno == EAGAIN || errno == EINTR);
		done += n > 0 ? (size_t)n : 0;
	}
}

static char *next_buf(const struct job *job, size_t turn)
{
	return job->buf + turn % job->buf_cnt * job->size;
}

static void pingpong(const struct job *job, int fd)
{
	struct bench_times times;
	uint64_t now, end, trips = 0;

	if (!job->host) {
		while (sock_get(fd, job, job->buf, job->size))
			sock_put(fd, job, job->buf, job->size);
		return;
	}
	bench_times_init(&times, TIMES_MAX);
	now = bench_now_ns();
	end = now + job->window_ns;
	while (now < end) {
		uint64_t start = now;

		sock_put(fd, job, job->buf, job->size);
		NEEDS(sock_get(fd, job, job->buf, job->size));
		now = bench_now_ns();
		bench_times_add(&times, now - start);
		trips++;
	}
	bench_print("trips", (double)trips);
	bench_times_print(&times, 2);
	bench_times_fini(&times);
}

static void stream_put(const struct job *job, int fd, size_t turn)
{
	char *buf = next_buf(job, turn);

	if (job->is_touched)
		bench_lines_write(buf, job->size, turn);
	sock_put(fd, job, buf, job->size);
}

static bool stream_get(const struct job *job, int fd, size_t turn)
{
	char *buf = next_buf(job, turn);

	if (!sock_get(fd, job, buf, job->size))
		return false;
	if (job->is_touched)
		bench_lines_read(buf, job->size);
	return true;
}

static void stream(const struct job *job, int fd)
{
	uint64_t start = bench_now_ns(), end;
	size_t turn = 0, warm;
	double rate;

	if (!job->host) {
		while (stream_get(job, fd, turn))
			turn++;
		sock_put(fd, job, job->buf, 1);
		return;
	}
	end = start + job->window_ns / WARM_DIVISOR;
	while (bench_now_ns() < end)
		stream_put(job, fd, turn++);
	warm = turn;
	start = bench_now_ns();
	end = start + job->window_ns;
	while (bench_now_ns() < end)
		stream_put(job, fd, turn++);
	/* All of it has arrived when the answer comes. */
	NEEDS(!shutdown(fd, SHUT_WR));
	NEEDS(sock_get(fd, job, job->buf, 1));
	end = bench_now_ns();
	rate = (double)(turn - warm) / ((double)(end - start) / 1e9);
	bench_print("MiB/s", rate * (double)job->size / MIB);
	bench_print("M/s", rate / 1e6);
	bench_print("GB", (double)job->size * (double)turn / 1e9);
}

static int usage(void)
{
	fprintf(stderr, "usage: bench-raw-tcp [-w MS] [-s] [-b N] [-f] [-d] "
			"pingpong|stream PORT SIZE [HOST]\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct job job = { .buf_cnt = 1, .window_ns = 300 * NS_PER_MS };
	uint64_t cpu_ns;
	int fd, opt;

	while ((opt = getopt(argc, argv, "w:sb:fd")) != -1) {
		if (opt == 'w')
			job.window_ns = strtoul(optarg, NULL, 10) * NS_PER_MS;
		else if (opt == 's')
			job.flags = MSG_DONTWAIT;
		else if (opt == 'f')
			job.is_framed = true;
		else if (opt == 'd')
			job.is_touched = true;
		else if (opt == 'b')
			job.buf_cnt = strtoul(optarg, NULL, 10);
		else
			return usage();
	}
	if (argc - optind < 3)
		return usage();
	job.port = (uint16_t)atoi(argv[optind + 1]);
	job.size = strtoul(argv[optind + 2], NULL, 10);
	job.host = argv[optind + 3];
	if (!job.size || !job.buf_cnt || !job.window_ns)
		return usage();
	NEEDS(job.buf = malloc(job.size * job.buf_cnt));
	memset(job.buf, 1, job.size * job.buf_cnt);
	fd = sock_open(&job);
	cpu_ns = bench_cpu_ns();
	if (strcmp(argv[optind], "pingpong") == 0)
		pingpong(&job, fd);
	else
		stream(&job, fd);
	bench_print("CPU s", (double)(bench_cpu_ns() - cpu_ns) / 1e9);
	close(fd);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What TCP itself can do, as the yardstick of the benchmarks.
 *
 *	bench-raw-tcp pingpong PORT SIZE COUNT [spin] [HOST]
 *	bench-raw-tcp stream PORT SIZE COUNT [HOST]
 *
 * Without HOST it serves one connection.  pingpong prints the median of half
 * the round trip in microseconds, stream the throughput in MiB/s; spin reads
 * without blocking until something is there.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct job {
	uint16_t port;
	size_t size;
	size_t count;
	const char *host; /* NULL: serve */
	int recv_flags;
	char *buf;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int sock_open(const struct job *job)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(job->port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1, conn = fd;

	if (fd < 0)
		die("socket");
	if (job->host) {
		if (inet_pton(AF_INET, job->host, &addr.sin_addr) != 1)
			die(job->host);
		if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
			die("connect");
	} else {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
		    listen(fd, 1))
			die("listen");
		conn = accept(fd, NULL, NULL);
		if (conn < 0)
			die("accept");
		close(fd);
	}
	setsockopt(conn, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return conn;
}

/* Return: false: the other side has closed. */
static bool sock_get(int fd, const struct job *job, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n =
			recv(fd, job->buf + done, len - done, job->recv_flags);

		if (n == 0)
			return false;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			die("recv");
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static void sock_put(int fd, const struct job *job, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = send(fd, job->buf + done, len - done, 0);

		if (n < 0)
			die("send");
		done += (size_t)n;
	}
}

static int compare_u64(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void pingpong(const struct job *job, int fd)
{
	uint64_t *took = calloc(job->count, sizeof(*took));

	if (!took)
		die("calloc");
	for (size_t i = 0; i < job->count; i++) {
		uint64_t start = now_ns();

		if (job->host)
			sock_put(fd, job, job->size);
		if (!sock_get(fd, job, job->size))
			die("the other side left");
		if (!job->host)
			sock_put(fd, job, job->size);
		took[i] = now_ns() - start;
	}
	qsort(took, job->count, sizeof(*took), compare_u64);
	printf("%.3f\n", (double)took[job->count / 2] / 2000.0);
	free(took);
}

static void stream(const struct job *job, int fd)
{
	uint64_t start = now_ns();
	size_t total = 0;

	if (!job->host) {
		while (total < job->count && sock_get(fd, job, job->size))
			total++;
		sock_put(fd, job, 1);
		return;
	}
	for (; total < job->count; total++)
		sock_put(fd, job, job->size);
	if (!sock_get(fd, job, 1)) /* all of it has arrived */
		die("the other side left");
	printf("%.2f\n", (double)job->size * (double)job->count / 1048576.0 /
				 ((double)(now_ns() - start) / 1e9));
}

int main(int argc, char **argv)
{
	struct job job = { 0 };
	int fd, at = 5;

	if (argc < 5) {
		fprintf(stderr, "usage: bench-raw-tcp pingpong|stream PORT "
				"SIZE COUNT [spin] [HOST]\n");
		return 2;
	}
	job.port = (uint16_t)atoi(argv[2]);
	job.size = strtoul(argv[3], NULL, 10);
	job.count = strtoul(argv[4], NULL, 10);
	if (argc > at && strcmp(argv[at], "spin") == 0) {
		job.recv_flags = MSG_DONTWAIT;
		at++;
	}
	job.host = argc > at ? argv[at] : NULL;
	job.buf = calloc(1, job.size ? job.size : 1);
	if (!job.buf || job.size == 0 || job.count == 0)
		die("arguments");
	fd = sock_open(&job);
	if (strcmp(argv[1], "pingpong") == 0)
		pingpong(&job, fd);
	else
		stream(&job, fd);
	close(fd);
	return 0;
}

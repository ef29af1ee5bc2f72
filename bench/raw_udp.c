/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The speed of UDP alone, the peer of the rows of datagrams.
 *
 *  bench-raw-udp [-w MS] pingpong|rate PORT SIZE [HOST]
 *
 *  -w MS   the window of the measurement (300)
 *
 * Both sides spin.  Without HOST it serves: pingpong answers each datagram,
 * rate counts them; a datagram of no octets ends it.  The client of pingpong
 * prints p50, p99 and p99.9 of half a round trip in microseconds.  The client
 * of rate sends lists of 32 by sendmmsg(), and prints the rate in millions per
 * second at which they have left.
 */
#define _GNU_SOURCE /* sendmmsg */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure.h"

#define TIMES_MAX 1000000u
#define LIST 32
#define SIZE_MAX_UDP 65507u
#define TRY_NS (100 * (uint64_t)NS_PER_MS)

struct job {
	uint64_t window_ns;
	size_t size;
	char *buf;
	struct sockaddr_in peer;
};

static int sock_open(const char *host, uint16_t port, struct sockaddr_in *peer)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	NEEDS(fd >= 0);
	peer->sin_family = AF_INET;
	peer->sin_port = htons(port);
	if (host) {
		NEEDS(inet_pton(AF_INET, host, &peer->sin_addr) == 1);
		NEEDS(!connect(fd, (struct sockaddr *)peer, sizeof(*peer)));
	} else {
		NEEDS(!bind(fd, (struct sockaddr *)peer, sizeof(*peer)));
	}
	return fd;
}

/* Answers, or only counts.  Return: when a datagram has no octets. */
static void serve(struct job *job, int fd, int is_answered)
{
	for (;;) {
		struct sockaddr_in from;
		socklen_t from_len = sizeof(from);
		ssize_t len = recvfrom(fd, job->buf, SIZE_MAX_UDP, MSG_DONTWAIT,
				       (struct sockaddr *)&from, &from_len);

		NEEDS(len >= 0 || errno == EAGAIN);
		if (len == 0)
			return;
		if (len > 0 && is_answered)
			NEEDS(sendto(fd, job->buf, (size_t)len, 0,
				     (struct sockaddr *)&from, from_len) > 0);
	}
}

/* One trip.  A datagram that is lost is sent again. */
static void trip(struct job *job, int fd)
{
	uint64_t end = 0;
	ssize_t len;

	do {
		if (bench_now_ns() >= end) {
			NEEDS(send(fd, job->buf, job->size, 0) > 0 ||
			      errno == ECONNREFUSED);
			end = bench_now_ns() + TRY_NS;
		}
		len = recv(fd, job->buf, job->size, MSG_DONTWAIT);
		NEEDS(len > 0 || errno == EAGAIN || errno == ECONNREFUSED);
	} while (len <= 0);
}

static void pingpong(struct job *job, int fd)
{
	struct bench_times times;
	uint64_t now, end;

	bench_times_init(&times, TIMES_MAX);
	trip(job, fd);
	now = bench_now_ns();
	end = now + job->window_ns;
	while (now < end) {
		uint64_t start = now;

		trip(job, fd);
		now = bench_now_ns();
		bench_times_add(&times, now - start);
	}
	bench_times_print(&times, 2);
	bench_times_fini(&times);
}

static void rate(struct job *job, int fd)
{
	struct iovec iov = { job->buf, job->size };
	struct mmsghdr list[LIST];
	uint64_t start, end, cnt = 0;

	memset(list, 0, sizeof(list));
	for (int i = 0; i < LIST; i++) {
		list[i].msg_hdr.msg_iov = &iov;
		list[i].msg_hdr.msg_iovlen = 1;
	}
	start = bench_now_ns();
	end = start + job->window_ns;
	while (bench_now_ns() < end) {
		int sent = sendmmsg(fd, list, LIST, 0);

		NEEDS(sent > 0 || errno == ECONNREFUSED);
		cnt += sent > 0 ? (uint64_t)sent : 0;
	}
	end = bench_now_ns();
	bench_print("M/s", (double)cnt / ((double)(end - start) / 1e3));
}

/* A datagram may be lost. Until the server has gone, none is refused. */
static void stop(int fd)
{
	while (send(fd, "", 0, 0) == 0)
		usleep(10000);
	NEEDS(errno == ECONNREFUSED);
}

static int usage(void)
{
	fprintf(stderr, "usage: bench-raw-udp [-w MS] pingpong|rate PORT SIZE "
			"[HOST]\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct job job = { .window_ns = 300 * NS_PER_MS };
	int fd, opt, is_pingpong;
	const char *host;

	while ((opt = getopt(argc, argv, "w:")) != -1) {
		if (opt != 'w')
			return usage();
		job.window_ns = strtoul(optarg, NULL, 10) * NS_PER_MS;
	}
	if (argc - optind < 3)
		return usage();
	is_pingpong = strcmp(argv[optind], "pingpong") == 0;
	job.size = strtoul(argv[optind + 2], NULL, 10);
	host = argv[optind + 3];
	if (!job.size || job.size > SIZE_MAX_UDP || !job.window_ns)
		return usage();
	NEEDS(job.buf = calloc(1, SIZE_MAX_UDP));
	fd = sock_open(host, (uint16_t)atoi(argv[optind + 1]), &job.peer);
	if (!host)
		serve(&job, fd, is_pingpong);
	else if (is_pingpong)
		pingpong(&job, fd);
	else
		rate(&job, fd);
	if (host)
		stop(fd);
	close(fd);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sdp_link - an SDP link, compared with plain TCP in the same run.
 *
 *  usiw run -- sdp_link [SECONDS]
 *
 * Two processes over loopback: a ping-pong of one octet, and a stream of 64 KiB
 * writes, both sides blocking. Prints one line for each.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verbs/sdp-link.h"

#define PIECE_MAX (4u << 20)

/* One of the two. */
struct end {
	int fd;
	struct sdp_link *link;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static ssize_t put(struct end *e, const void *buf, size_t len)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	if (!e->link)
		return send(e->fd, buf, len, MSG_NOSIGNAL);
	return sdp_link_send_wait(e->link, &iov, 1, 0, SDP_NEVER);
}

static ssize_t get(struct end *e, void *buf, size_t len)
{
	struct iovec iov = { buf, len };

	if (!e->link)
		return recv(e->fd, buf, len, 0);
	return sdp_link_recv_wait(e->link, &iov, 1, 0, 0, SDP_NEVER);
}

static void upgrade(struct end *e, bool is_server)
{
	struct sdp_link_options opt = SDP_LINK_OPTIONS_INIT;
	struct sdp_outcome outcome;
	uint64_t end = sdp_now_ns() + 10000000000u;
	const char *threshold = getenv("SDP_ZCOPY");
	int ret;

	opt.is_nodelay = true;
	if (threshold)
		opt.conn.src_threshold = (uint32_t)atoi(threshold);
	ret = is_server
		      ? sdp_link_accept_fd(&e->link, e->fd, &opt, end, &outcome)
		      : sdp_link_connect_fd(&e->link, e->fd, &opt, end,
					    &outcome);
	if (ret) {
		fprintf(stderr, "%s\n", outcome.text);
		exit(1);
	}
	close(e->fd);
}

/* Serves commands: 'p' echoes each octet, 's' reads everything. */
static void serve(struct end *e)
{
	char *buf = malloc(PIECE_MAX), kind;
	ssize_t n;

	if (get(e, &kind, 1) != 1)
		die("server");
	while ((n = get(e, buf, kind == 'p' ? 1 : PIECE_MAX)) > 0) {
		if (kind == 'p' && put(e, buf, 1) != 1)
			die("server: send");
	}
	_exit(0);
}

static double seconds_since(uint64_t start)
{
	return (double)(sdp_now_ns() - start) / 1e9;
}

static void pingpong(struct end *e, double seconds, const char *name)
{
	uint64_t start, cnt = 0;
	char c = 'p';

	put(e, &c, 1);
	start = sdp_now_ns();
	while (seconds_since(start) < seconds) {
		if (put(e, &c, 1) != 1 || get(e, &c, 1) != 1)
			die("ping-pong");
		cnt++;
	}
	printf("%-4s ping-pong 1 octet     %8.2f us round trip\n", name,
	       seconds_since(start) * 1e6 / (double)cnt);
}

static void stream(struct end *e, double seconds, const char *name, size_t len)
{
	char *buf = calloc(1, len);
	uint64_t start, total = 0;

	put(e, "s", 1);
	start = sdp_now_ns();
	while (seconds_since(start) < seconds) {
		ssize_t n = put(e, buf, len);

		if (n <= 0)
			die("stream");
		total += (uint64_t)n;
	}
	printf("%-4s stream %7zu octets  %8.0f MB/s\n", name, len,
	       (double)total / 1e6 / seconds_since(start));
	if (e->link && getenv("SDP_STATS")) {
		struct sdp_link_stats s;

		sdp_link_get_stats(e->link, &s);
		printf("     bcopy %llu read %llu write %llu msgs %llu/%llu "
		       "mode %d\n",
		       (unsigned long long)s.tx_bcopy,
		       (unsigned long long)s.tx_read,
		       (unsigned long long)s.tx_write,
		       (unsigned long long)s.tx_msgs,
		       (unsigned long long)s.rx_msgs, s.send_mode);
	}
	free(buf);
}

static void run(bool is_sdp, char kind, double seconds, size_t len)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t addr_len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	struct end e = { 0 };
	pid_t pid;

	if (bind(listener, (struct sockaddr *)&addr, sizeof(addr)) ||
	    listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&addr, &addr_len))
		die("listen");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		e.fd = accept(listener, NULL, NULL);
		setsockopt(e.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (is_sdp)
			upgrade(&e, true);
		serve(&e);
	}
	if (!fork()) {
		e.fd = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(e.fd, (struct sockaddr *)&addr, sizeof(addr)))
			die("connect");
		setsockopt(e.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (is_sdp)
			upgrade(&e, false);
		if (kind == 'p')
			pingpong(&e, seconds, is_sdp ? "SDP" : "TCP");
		else
			stream(&e, seconds, is_sdp ? "SDP" : "TCP", len);
		fflush(stdout);
		_exit(0);
	}
	close(listener);
	while (wait(NULL) > 0)
		;
}

int main(int argc, char **argv)
{
	static const size_t lens[] = { 4096,   16384,	65536,	262144,
				       524288, 1048576, 4194304 };
	double seconds = argc > 1 ? atof(argv[1]) : 1;

	for (int is_sdp = 0; is_sdp < 2; is_sdp++)
		run(is_sdp, 'p', seconds, 0);
	if (argc > 2)
		return 0;
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		for (int is_sdp = 0; is_sdp < 2; is_sdp++)
			run(is_sdp, 's', seconds, lens[i]);
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Two ends of a link, in one process or in two. */
#include "pair.h"
#include "verbs/dev/dev.h"
#include "verbs/link/links.h"

#include <arpa/inet.h>
#include <poll.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void place_open(struct place *p, enum sdp_carrier carrier,
		const struct sockaddr_in *addr)
{
	socklen_t len = sizeof(p->addr);
	int one = 1;

	p->fd = -1;
	p->cm = NULL;
	p->addr = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	if (addr && addr->sin_family)
		p->addr = *addr;
	if (carrier != SDP_STREAM) {
		struct sockaddr_storage name;

		must(!sdp_listener_new(&p->cm, (struct sockaddr *)&p->addr, 8));
		sdp_listener_name(p->cm, &name);
		memcpy(&p->addr, &name, sizeof(p->addr));
		return;
	}
	p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* Another case used the port. */
	must(!setsockopt(p->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	must(!bind(p->fd, (struct sockaddr *)&p->addr, len));
	must(!listen(p->fd, 8));
	must(!getsockname(p->fd, (struct sockaddr *)&p->addr, &len));
}

static enum sdp_carrier listen_by(const struct pair *pair)
{
	return pair->is_port ? SDP_STREAM : pair->carrier;
}

void place_close(struct place *p)
{
	if (p->fd >= 0)
		close(p->fd);
	sdp_listener_free(p->cm);
	p->fd = -1;
	p->cm = NULL;
}

/* Return: 0; -errno. */
static int link_try(const struct sockaddr_in *addr, const struct pair *pair,
		    struct sdp_link **ret_link, struct sdp_outcome *ret_outcome)
{
	struct sdp_link_options opt = pair->opt[0];
	int ret, fd;

	if (pair->carrier != SDP_STREAM && !pair->is_request) {
		return sdp_link_connect_cm(ret_link,
					   (const struct sockaddr *)addr, -1,
					   &pair->opt[0], soon(), ret_outcome);
	}
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) < 0) {
		ret = -errno;
		close(fd);
		return ret;
	}
	opt.conn.carrier = pair->carrier;
	ret = sdp_link_connect_fd(ret_link, fd, &opt, soon(), ret_outcome);
	close(fd);
	return ret;
}

/* A listener in a separate program may be between two cases. */
static bool is_too_early(const struct pair *pair, int ret)
{
	return pair->place == PAIR_CONNECT &&
	       (ret == -ECONNREFUSED || ret == -ECONNRESET);
}

static struct sdp_link *link_connect(const struct sockaddr_in *addr,
				     const struct pair *pair)
{
	struct timespec nap = { .tv_nsec = 20000000 };
	struct sdp_outcome outcome;
	struct sdp_link *link = NULL;
	uint64_t limit = soon();
	int ret;

	while ((ret = link_try(addr, pair, &link, &outcome)) != 0 &&
	       is_too_early(pair, ret) && sdp_now_ns() < limit)
		nanosleep(&nap, NULL);
	if (ret)
		fprintf(stderr, "connect: %s\n", outcome.text);
	must(!ret && outcome.reason == SDP_REASON_NONE);
	return link;
}

static struct sdp_request *request_take(struct sdp_listener *listener)
{
	struct pollfd pfd = { .fd = sdp_listener_fd(listener),
			      .events = POLLIN };
	struct sdp_request *request = NULL;
	int ret;

	while ((ret = sdp_listener_take(listener, &request)) == -EAGAIN)
		must(poll(&pfd, 1, -1) == 1);
	must(!ret);
	return request;
}

struct sdp_link *place_accept(struct place *p,
			      const struct sdp_link_options *opt)
{
	struct sdp_outcome outcome;
	struct sdp_link *link = NULL;
	int ret, fd;

	if (p->cm) {
		ret = sdp_request_accept(&link, request_take(p->cm), opt,
					 soon(), &outcome);
	} else {
		fd = accept(p->fd, NULL, NULL);
		must(fd >= 0);
		ret = sdp_link_accept_fd(&link, fd, opt, soon(), &outcome);
		close(fd);
	}
	if (ret)
		fprintf(stderr, "accept: %s\n", outcome.text);
	must(!ret);
	return link;
}

static struct sdp_link *link_accept(struct place *p, const struct pair *pair)
{
	struct sdp_link_options opt = pair->opt[1];

	opt.conn.carrier = pair->carrier;
	return place_accept(p, &opt);
}

struct accepting {
	struct place place;
	const struct pair *pair;
	struct sdp_link *link;
	pair_fn *side;
};

static void *accept_thread(void *arg)
{
	struct accepting *a = arg;

	a->link = link_accept(&a->place, a->pair);
	if (a->side)
		a->side(a->link);
	return NULL;
}

void pair_make(const struct pair *pair, struct sdp_link *ret_links[2])
{
	struct accepting a = { .pair = pair };
	pthread_t thread;

	place_open(&a.place, listen_by(pair), &pair->addr);
	must(!pthread_create(&thread, NULL, accept_thread, &a));
	ret_links[0] = link_connect(&a.place.addr, pair);
	pthread_join(thread, NULL);
	ret_links[1] = a.link;
	place_close(&a.place);
}

static void run_threads(const struct pair *pair, pair_fn *const side[2])
{
	struct accepting a = { .pair = pair, .side = side[1] };
	pthread_t thread;

	place_open(&a.place, listen_by(pair), &pair->addr);
	must(!pthread_create(&thread, NULL, accept_thread, &a));
	side[0](link_connect(&a.place.addr, pair));
	pthread_join(thread, NULL);
	place_close(&a.place);
}

/* Each opens its devices itself: forked before any of them is opened. */
static void run_processes(const struct pair *pair, pair_fn *const side[2])
{
	struct place p;
	int pipefd[2], status;
	pid_t pid;

	must(!pipe(pipefd));
	fflush(NULL);
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		place_open(&p, listen_by(pair), &pair->addr);
		must(write(pipefd[1], &p.addr, sizeof(p.addr)) ==
		     sizeof(p.addr));
		side[1](link_accept(&p, pair));
		drain_links();
		exit(0);
	}
	must(read(pipefd[0], &p.addr, sizeof(p.addr)) == sizeof(p.addr));
	side[0](link_connect(&p.addr, pair));
	must(waitpid(pid, &status, 0) == pid);
	must(WIFEXITED(status) ? !WEXITSTATUS(status)
			       : WTERMSIG(status) == SIGKILL);
	close(pipefd[0]);
	close(pipefd[1]);
}

static void run_listen(const struct pair *pair, pair_fn *const side[2])
{
	struct sdp_link *link;
	struct place p;

	place_open(&p, listen_by(pair), &pair->addr);
	link = link_accept(&p, pair);
	place_close(&p); /* the next connection belongs to another process */
	side[1](link);
}

void pair_run(const struct pair *pair, pair_fn *const side[2])
{
	switch (pair->place) {
	case PAIR_THREADS:
		run_threads(pair, side);
		break;
	case PAIR_PROCESSES:
		run_processes(pair, side);
		break;
	case PAIR_CONNECT:
		side[0](link_connect(&pair->addr, pair));
		break;
	case PAIR_LISTEN:
		run_listen(pair, side);
		break;
	}
	drain_links();
}

void pair_tcp(int ret_fds[2])
{
	struct place p;

	place_open(&p, SDP_STREAM, NULL);
	ret_fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(!connect(ret_fds[0], (struct sockaddr *)&p.addr, sizeof(p.addr)));
	ret_fds[1] = accept(p.fd, NULL, NULL);
	must(ret_fds[1] >= 0);
	place_close(&p);
}

void put(struct sdp_link *link, const void *buf, size_t len)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	ssize_t n = sdp_link_send_wait(link, &iov, 1, 0, soon());

	if (n != (ssize_t)len)
		fprintf(stderr, "put: %zd of %zu\n", n, len);
	must(n == (ssize_t)len);
}

void get(struct sdp_link *link, void *buf, size_t len)
{
	struct iovec iov = { buf, len };
	ssize_t n =
		sdp_link_recv_wait(link, &iov, 1, SDP_RECV_WAITALL, 0, soon());

	if (n != (ssize_t)len)
		fprintf(stderr, "get: %zd of %zu\n", n, len);
	must(n == (ssize_t)len);
}

void get_eof(struct sdp_link *link)
{
	char c;
	struct iovec iov = { &c, 1 };
	ssize_t n = sdp_link_recv_wait(link, &iov, 1, 0, 0, soon());

	if (n)
		fprintf(stderr, "get_eof: %zd\n", n);
	must(n == 0);
}

void drain_links(void)
{
	uint64_t end = soon();

	while (sdp_verbs_drain(end))
		must(sdp_now_ns() < end);
}

struct sdp_link_stats stats_of(struct sdp_link *link)
{
	struct sdp_link_stats stats;

	sdp_link_get_stats(link, &stats);
	return stats;
}

struct held held_now(void)
{
	struct held held = { 0 };
	uint32_t closing;

	for (struct sdp_dev *dev = sdp_dev_first(); dev; dev = dev->next) {
		util_lock(&dev->pool.lock);
		held.pool_used += dev->pool.used;
		util_unlock(&dev->pool.lock);
	}
	sdp_links_count(&held.links, &closing);
	return held;
}

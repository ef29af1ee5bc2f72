/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * link_process CASE - links and their process: fork, signals, limits, threads
 * that sleep in poll(), peers that stall
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <malloc.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flow/credit.h"
#include "pair.h"
#include "verbs/wait/progress.h"

static void make(struct sdp_link *links[2])
{
	struct pair pair = { .carrier = SDP_STREAM };

	pair.opt[0] = pair.opt[1] = SDP_LINK_OPTIONS_INIT;
	pair_make(&pair, links);
}

static void unmake(struct sdp_link *links[2])
{
	sdp_link_close(links[0], soon());
	sdp_link_close(links[1], soon());
	drain_links();
}

static void exchange(struct sdp_link *links[2])
{
	char c = 0;

	put(links[0], "a", 1);
	get(links[1], &c, 1);
	must(c == 'a');
	put(links[1], "b", 1);
	get(links[0], &c, 1);
	must(c == 'b');
}

/* ---- fork ---- */

static void child_of_fork(struct sdp_link *links[2])
{
	struct sdp_link *own[2];
	struct iovec iov = { (char[1]){ 'x' }, 1 };

	must(sdp_link_state(links[0]) & SDP_LINK_CLOSED);
	must(sdp_link_send(links[0], &iov, 1, 0) == -ECONNRESET);
	must(sdp_link_send(links[0], &iov, 1, 0) == -EPIPE);
	must(sdp_link_recv(links[1], &iov, 1, 0) == -ECONNRESET);
	must(sdp_link_recv(links[1], &iov, 1, 0) == 0);
	sdp_link_close(links[0], soon());
	sdp_link_close(links[1], 0);
	make(own);
	exchange(own);
	unmake(own);
	_exit(0);
}

static void case_fork(void)
{
	struct sdp_link *links[2];
	int status;
	pid_t pid;

	make(links);
	exchange(links);
	fflush(NULL);
	sdp_verbs_fork_prepare();
	pid = fork();
	if (!pid) {
		sdp_verbs_after_fork();
		child_of_fork(links);
	}
	sdp_verbs_fork_parent();
	must(waitpid(pid, &status, 0) == pid && !status);
	exchange(links); /* the child's end had no effect on them */
	unmake(links);
}

/* ---- signals ---- */

static void on_signal(int sig)
{
	(void)sig;
}

static void *interrupt(void *arg)
{
	_Atomic pthread_t *target = arg;
	pthread_t thread = atomic_exchange(target, 0);

	/* Repeats until it was seen, because it may come before the thread
	 * sleeps. */
	while (atomic_load(target) == 0) {
		pthread_kill(thread, SIGUSR1);
		sched_yield();
	}
	return NULL;
}

static void case_signal(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct iovec iov = { (char[1]){ 'x' }, 1 };
	_Atomic pthread_t target = pthread_self();
	struct sdp_link *links[2];
	pthread_t thread;

	make(links);
	sigaction(SIGUSR1, &sa, NULL);
	must(!pthread_create(&thread, NULL, interrupt, &target));
	must(sdp_link_recv_wait(links[0], &iov, 1, 0, 0, soon()) == -EINTR);
	atomic_store(&target, thread);
	pthread_join(thread, NULL);
	must(sdp_link_recv_wait(links[0], &iov, 1, 0, 0, sdp_now_ns() + 1) ==
	     -EAGAIN);
	exchange(links);
	unmake(links);
}

/* ---- threads in poll() ---- */

struct watcher {
	struct sdp_link *link;
	int fd; /* an eventfd, in place of the socket layer's shadow */
	_Atomic unsigned int state, news, calls;
};

static void on_notice(void *arg, unsigned int state, unsigned int news)
{
	struct watcher *w = arg;

	atomic_store(&w->state, state);
	atomic_fetch_or(&w->news, news);
	atomic_fetch_add(&w->calls, 1);
	(void)!write(w->fd, &(uint64_t){ 1 }, 8);
}

static void wait_notice(const struct watcher *w)
{
	struct pollfd pfd = { .fd = w->fd, .events = POLLIN };
	uint64_t cleared;

	must(poll(&pfd, 1, 60000) == 1);
	must(read(w->fd, &cleared, 8) == 8);
}

static void sleep_until_in(struct watcher *w)
{
	uint64_t end = soon();

	while (!(sdp_link_state(w->link) & SDP_LINK_IN)) {
		struct pollfd pfd[SDP_SLEEP_FDS + 1];
		uint64_t cleared;
		int cnt;

		must(sdp_now_ns() < end);
		sdp_progress();
		cnt = sdp_sleep_begin(pfd, SDP_SLEEP_FDS);
		if (cnt < 0)
			continue;
		/* None if another thread serves the device. Then on_notice()
		 * reports. */
		pfd[cnt] = (struct pollfd){ .fd = w->fd, .events = POLLIN };
		if (!(sdp_link_state(w->link) & SDP_LINK_IN))
			must(poll(pfd, (nfds_t)cnt + 1, 60000) != 0);
		(void)!read(w->fd, &cleared, 8);
		sdp_sleep_end(pfd, cnt);
	}
}

static void *answer(void *arg)
{
	struct sdp_link *link = arg;
	char c;

	for (int i = 0; i < 50; i++) {
		get(link, &c, 1);
		put(link, &c, 1);
	}
	return NULL;
}

static void case_poll(void)
{
	struct watcher w = { .fd = eventfd(0, EFD_NONBLOCK) };
	struct sdp_link *links[2];
	pthread_t thread;

	make(links);
	w.link = links[0];
	sdp_link_set_notify(links[0], on_notice, &w);
	must(atomic_load(&w.calls) == 1);
	must(atomic_load(&w.state) & SDP_LINK_OUT);
	must(!pthread_create(&thread, NULL, answer, links[1]));
	for (int i = 0; i < 50; i++) {
		char c = (char)i;

		atomic_store(&w.news, 0);
		put(links[0], &c, 1);
		sleep_until_in(&w);
		get(links[0], &c, 1);
		must(c == (char)i);
		/* The state is set before the notice. Both are under the link's
		 * lock, which get() takes. */
		must(atomic_load(&w.news) & SDP_LINK_IN);
		must(!(sdp_link_state(links[0]) & SDP_LINK_IN));
	}
	pthread_join(thread, NULL);
	sdp_link_set_notify(links[0], NULL, NULL);
	unmake(links);
}

/* No thread of the program waits: the progress thread reports. */
static void case_notice(void)
{
	struct watcher w = { .fd = eventfd(0, EFD_NONBLOCK) };
	struct sdp_link *links[2];
	char c;

	make(links);
	sdp_link_set_notify(links[0], on_notice, &w);
	atomic_store(&w.news, 0);
	must(sdp_link_send(links[1], &(struct iovec){ "x", 1 }, 1, 0) == 1);
	while (!(atomic_load(&w.news) & SDP_LINK_IN))
		wait_notice(&w);
	get(links[0], &c, 1);
	atomic_store(&w.news, 0);
	sdp_link_close(links[1], soon());
	while (!(atomic_load(&w.state) & SDP_LINK_RDHUP))
		wait_notice(&w);
	get_eof(links[0]);
	sdp_link_close(links[0], soon());
	drain_links();
}

/* Nothing happens, so there is no wake-up. Only additional ones would be an
 * error. */
struct held_notice {
	sem_t begins, goes_on;
	atomic_bool has_ended;
};

static void hold_notice(void *arg, unsigned int state, unsigned int news)
{
	struct held_notice *held = arg;

	(void)state;
	if (!(news & SDP_LINK_IN))
		return;
	sem_post(&held->begins);
	while (sem_wait(&held->goes_on))
		;
	atomic_store(&held->has_ended, true);
}

static void *go_on(void *arg)
{
	struct held_notice *held = arg;

	sem_post(&held->goes_on);
	return NULL;
}

/* The state is visible before its notice has been given: a caller that finds
 * nothing else can wait for the notice. */
static void case_settle(void)
{
	struct held_notice held = { .has_ended = false };
	struct sdp_link *links[2];
	pthread_t thread;
	char c;

	must(!sem_init(&held.begins, 0, 0) && !sem_init(&held.goes_on, 0, 0));
	make(links);
	sdp_link_set_notify(links[0], hold_notice, &held);
	must(sdp_link_send(links[1], &(struct iovec){ "x", 1 }, 1, 0) == 1);
	while (sem_wait(&held.begins)) /* by the progress thread */
		;
	must(sdp_link_state(links[0]) & SDP_LINK_IN);
	must(sdp_progress());
	must(!pthread_create(&thread, NULL, go_on, &held));
	sdp_progress_settle();
	must(atomic_load(&held.has_ended));
	pthread_join(thread, NULL);
	sdp_link_set_notify(links[0], NULL, NULL);
	get(links[0], &c, 1);
	unmake(links);
}

static void case_idle(void)
{
	uint64_t before, end = soon();
	struct sdp_link *links[2];

	make(links);
	exchange(links);
	do { /* until the last short sleep is over */
		before = sdp_progress_wakeups();
		usleep(300000);
		must(sdp_now_ns() < end);
	} while (sdp_progress_wakeups() != before);
	unmake(links);
}

/* ---- what ends a wait ---- */

/* That an octet has gone ends no wait of a receiver. */
static void case_sent_octet(void)
{
	struct sdp_seen all, rx, peer;
	struct sdp_link *links[2];

	make(links);
	exchange(links);
	must(sdp_link_wait(links[0], SDP_LINK_DRAINED, soon()) > 0);
	all = sdp_see(&links[0]->change_cnt);
	rx = sdp_see(&links[0]->rx_change_cnt);
	peer = sdp_see(&links[1]->rx_change_cnt);
	put(links[0], "a", 1);
	must(sdp_link_wait(links[0], SDP_LINK_DRAINED, soon()) > 0);
	must(sdp_wait(links[0], 0, &rx, sdp_now_ns()) == -ETIMEDOUT);
	must(sdp_wait(links[0], 0, &all, soon()) == 0);
	must(sdp_wait(links[1], 0, &peer, soon()) == 0);
	unmake(links);
}

/* ---- small sends ---- */

/* Which sends are gathered: seen by what was posted. */
static void case_gather(void)
{
	struct iovec iov = { (char[1]){ 'x' }, 1 };
	struct sdp_link *links[2];
	char buf[4];

	make(links);
	must(sdp_link_send(links[0], &iov, 1, 0) == 1);
	must(stats_of(links[0]).tx_bcopy == 1); /* no message was in flight */
	must(sdp_link_send(links[0], &iov, 1, SDP_SEND_MORE) == 1);
	must(stats_of(links[0]).tx_bcopy == 1);
	must(sdp_link_outq(links[0]) > 0);
	must(sdp_link_send(links[0], &iov, 1, 0) == 1);
	get(links[1], buf, 3);
	must(!sdp_link_set(links[0], SDP_LINK_CORK, 1));
	must(sdp_link_send(links[0], &iov, 1, 0) == 1);
	must(stats_of(links[0]).tx_bcopy == 3);
	must(!sdp_link_set(links[0], SDP_LINK_CORK, 0));
	get(links[1], buf, 1);
	must(stats_of(links[0]).tx_bcopy == 4);
	unmake(links);
}

/* ---- a peer that stalls ---- */

static void case_stall(void)
{
	struct sdp_link *links[2];
	char *buf = calloc(1, 65536);
	struct iovec iov = { buf, 65536 };
	ssize_t n;
	int ret;

	make(links);
	do {
		n = sdp_link_send_wait(links[0], &iov, 1, 0,
				       sdp_now_ns() + 50000000);
	} while (n > 0);
	must(n == -EAGAIN);
	must(!(sdp_link_state(links[0]) & SDP_LINK_OUT));
	must(sdp_link_outq(links[0]) > 0);
	ret = sdp_link_linger(links[0], sdp_now_ns() + 50000000);
	must(ret == -ETIMEDOUT);
	sdp_link_close(links[0], sdp_now_ns() + 50000000);
	drain_links();
	/* The data it has received is there, then the reset. */
	do {
		n = sdp_link_recv_wait(links[1], &iov, 1, 0, 0, soon());
	} while (n > 0);
	must(n == -ECONNRESET);
	sdp_link_close(links[1], 0);
	drain_links();
	free(buf);
}

/* Without any message, and without the end of its process: SIGSTOP. */
static void case_stopped(void)
{
	struct sdp_link *links[2];
	struct iovec iov = { (char[1]){ 'x' }, 1 };

	make(links);
	must(sdp_link_recv_wait(links[0], &iov, 1, 0, 0,
				sdp_now_ns() + 20000000) == -EAGAIN);
	must(sdp_link_linger(links[0], soon()) == 0);
	sdp_link_close(links[0], sdp_now_ns() + 50000000);
	/* links[1] never closes: the other ends nevertheless. */
	get_eof(links[1]);
	sdp_link_close(links[1], 0);
	drain_links();
}

static void tell_pid(struct sdp_link *link)
{
	pid_t pid = getpid();
	char c;

	put(link, &pid, sizeof(pid));
	get(link, &c, 1);
	get_eof(link);
	sdp_link_close(link, soon());
}

static void wait_stopped(pid_t pid)
{
	char path[64], line[512], state;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	do {
		FILE *file = fopen(path, "re");

		must(file && fgets(line, sizeof(line), file));
		fclose(file);
		must(sscanf(strrchr(line, ')'), ") %c", &state) == 1);
	} while (state != 'T');
}

/* The host has sent the octet, and the peer has not received it. */
static void confirm_to_stopped(struct sdp_link *link)
{
	pid_t pid;

	get(link, &pid, sizeof(pid));
	must(sdp_verbs_confirm(soon()) == 0);
	must(!kill(pid, SIGSTOP));
	wait_stopped(pid);
	put(link, "x", 1);
	must(sdp_link_wait(link, SDP_LINK_DRAINED, soon()) > 0);
	must(sdp_verbs_confirm(sdp_now_ns() + 50000000) == 1);
	must(!kill(pid, SIGCONT));
	must(sdp_verbs_confirm(soon()) == 0);
	sdp_link_close(link, soon());
}

static void case_confirm(void)
{
	struct pair pair = { .carrier = SDP_STREAM, .place = PAIR_PROCESSES };

	pair.opt[0] = pair.opt[1] = SDP_LINK_OPTIONS_INIT;
	pair_run(&pair, (pair_fn *const[]){ confirm_to_stopped, tell_pid });
}

/* ---- memory that cannot be registered ---- */

/* Which regions are refused. The library's are registered on demand. */
static _Atomic enum { REFUSE_NONE, REFUSE_PROGRAMS, REFUSE_ALL } refused;

static bool is_refused(int access)
{
	errno = ENOMEM;
	return atomic_load(&refused) == REFUSE_ALL ||
	       (atomic_load(&refused) == REFUSE_PROGRAMS &&
		!(access & IBV_ACCESS_ON_DEMAND));
}

#undef ibv_reg_mr
/* Replaces libibverbs' function for the objects of this program. */
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	struct ibv_mr *(*next)(struct ibv_pd *, void *, size_t, int);

	/* dlsym() would find the oldest version. */
	*(void **)&next = dlvsym(RTLD_NEXT, "ibv_reg_mr", "IBVERBS_1.1");
	return is_refused(access) ? NULL : next(pd, addr, len, access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t len,
				uint64_t iova, unsigned int access)
{
	struct ibv_mr *(*next)(struct ibv_pd *, void *, size_t, uint64_t,
			       unsigned int);

	*(void **)&next = dlsym(RTLD_NEXT, "ibv_reg_mr_iova2");
	return is_refused((int)access) ? NULL
				       : next(pd, addr, len, iova, access);
}

struct much {
	struct sdp_link *link;
	uint8_t *buf;
};

#define MUCH (8u << 20)

static void *get_much(void *arg)
{
	struct much *m = arg;

	get(m->link, m->buf, MUCH);
	return NULL;
}

/* Memory that cannot be registered is copied. */
static void send_unregistered(struct sdp_link *links[2])
{
	struct much m = { links[1], malloc(MUCH) };
	uint8_t *buf = malloc(MUCH);
	pthread_t thread;

	memset(buf, 'u', MUCH);
	atomic_store(&refused, REFUSE_PROGRAMS);
	must(!pthread_create(&thread, NULL, get_much, &m));
	put(links[0], buf, MUCH);
	pthread_join(thread, NULL);
	atomic_store(&refused, REFUSE_NONE);
	must(!memcmp(buf, m.buf, MUCH));
	must(stats_of(links[0]).tx_read == 0);
	free(buf);
	free(m.buf);
}

static void case_unregistered(void)
{
	struct sdp_outcome outcome;
	struct sdp_link *links[2];
	int fds[2];

	/* The first buffers of a device are missing. */
	pair_tcp(fds);
	atomic_store(&refused, REFUSE_ALL);
	must(sdp_link_connect_fd(&links[0], fds[0], NULL, soon(), &outcome) ==
	     -ENOMEM);
	must(outcome.reason == SDP_REASON_RESOURCE && !outcome.has_sent);
	atomic_store(&refused, REFUSE_NONE);
	close(fds[0]);
	close(fds[1]);
	make(links);
	send_unregistered(links);
	exchange(links);
	unmake(links);
}

/* ---- descriptors ---- */

static unsigned int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int cnt = 0;

	while (readdir(dir))
		cnt++;
	closedir(dir);
	return cnt;
}

static int connect_with(unsigned int spare)
{
	struct sdp_outcome outcome[2];
	struct sdp_link *link;
	struct rlimit limit;
	int fds[2], ret;

	pair_tcp(fds);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = open_fds() + spare;
	must(!setrlimit(RLIMIT_NOFILE, &limit));
	ret = sdp_link_connect_fd(&link, fds[0], NULL, sdp_now_ns() + 300000000,
				  &outcome[0]);
	must(ret);
	must(outcome[0].reason != SDP_REASON_NONE && outcome[0].text[0]);
	printf("%u spare: %s\n", spare, outcome[0].text);
	return ret;
}

static void case_descriptors(void)
{
	for (unsigned int spare = 0; spare < 12; spare++) {
		int status;
		pid_t pid = fork();

		if (!pid) {
			connect_with(spare);
			drain_links();
			fflush(NULL);
			_exit(0);
		}
		must(waitpid(pid, &status, 0) == pid && !status);
	}
}

/* Numbers below the library's own. */
static unsigned int low_fds(void)
{
	unsigned int cnt = 0;

	for (int fd = 0; fd < 512; fd++)
		cnt += fcntl(fd, F_GETFD) >= 0;
	return cnt;
}

/* A program may dup2() over any number that it has not opened. */
static void case_numbers(void)
{
	unsigned int before = low_fds();
	struct rlimit limit;
	struct sdp_link *links[2];

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < 600) {
		limit.rlim_cur = limit.rlim_max < 600 ? limit.rlim_max : 600;
		must(limit.rlim_cur == 600 &&
		     !setrlimit(RLIMIT_NOFILE, &limit));
	}
	make(links);
	exchange(links);
	printf("%u low numbers before, %u after\n", before, low_fds());
	must(low_fds() == before);
	unmake(links);
}

/* ---- connections by the thousand ---- */

#ifndef CYCLES
#define CYCLES 5000
#endif

struct amounts {
	unsigned int fds, threads, mappings;
	uint64_t pool_used, heap;
};

static unsigned int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned int cnt = 0;

	must(dir);
	while (readdir(dir))
		cnt++;
	closedir(dir);
	return cnt;
}

static unsigned int count_lines(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned int cnt = 0;
	int c;

	must(f);
	while ((c = getc(f)) != EOF)
		cnt += c == '\n';
	fclose(f);
	return cnt;
}

static struct amounts look(void)
{
	struct held stats;
	struct amounts a = {
		.fds = count_entries("/proc/self/fd"),
		.threads = count_entries("/proc/self/task"),
		.mappings = count_lines("/proc/self/maps"),
		.heap = mallinfo2().uordblks,
	};

	stats = held_now();
	must(!stats.links);
	a.pool_used = stats.pool_used;
	return a;
}

/* What the pool has lent with more links than case_cycles() has at a time: the
 * receives posted for them are returned one by one. */
static uint64_t pool_at_rest(void)
{
	struct sdp_link *links[4];

	make(links);
	make(links + 2);
	for (int i = 0; i < 4; i++)
		sdp_link_close(links[i], soon());
	drain_links();
	return look().pool_used;
}

/* The RNIC closes the sockets of a connection later than the link ends: after
 * the peer's FIN. */
static struct amounts look_closed(unsigned int fds)
{
	uint64_t end = soon();
	struct amounts a;

	do
		a = look();
	while (a.fds > fds && sdp_now_ns() < end);
	return a;
}

/* ---- memory of connections that have little to say ---- */

#define IDLE_CNT 200
#define IDLE_KIB 100 /* both ends */

static unsigned long anon_kib(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long kib = 0;
	char line[128];

	must(f);
	while (!kib && fgets(line, sizeof(line), f))
		(void)sscanf(line, "RssAnon: %lu kB", &kib);
	fclose(f);
	must(kib);
	return kib;
}

/* A buffer that no octet came into takes no memory. */
static void case_memory(void)
{
	static struct sdp_link *links[IDLE_CNT + 1][2];
	unsigned long before = 0, after;

	for (int i = 0; i <= IDLE_CNT; i++) {
		make(links[i]);
		exchange(links[i]);
		if (i == 0)
			before = anon_kib();
	}
	after = anon_kib();
	printf("%lu KiB for each connection\n", (after - before) / IDLE_CNT);
	must(after - before < (unsigned long)IDLE_CNT * IDLE_KIB);
	for (int i = 0; i <= IDLE_CNT; i++)
		unmake(links[i]);
}

/* T110: nothing of a connection is left. */
static void case_cycles(void)
{
	struct amounts before = { .fds = 0 }, after;
	uint64_t pool_most = pool_at_rest();

	/* The first hundred allocate what stays: devices, pools, threads. */
	for (int i = 0; i < 100 + CYCLES; i++) {
		struct sdp_link *links[2];

		if (i == 100)
			before = look();
		make(links);
		if (i % 10 == 0)
			exchange(links);
		unmake(links);
	}
	after = look_closed(before.fds);
	printf("fds %u %u, threads %u %u, mappings %u %u, pool %lu %lu %lu, "
	       "heap %lu %lu\n",
	       before.fds, after.fds, before.threads, after.threads,
	       before.mappings, after.mappings, (unsigned long)pool_most,
	       (unsigned long)before.pool_used, (unsigned long)after.pool_used,
	       (unsigned long)before.heap, (unsigned long)after.heap);
	must(after.fds <= before.fds);
	must(after.threads <= before.threads);
	must(after.pool_used <= pool_most);
	/* What caches keep does not grow with each cycle. */
	must(after.mappings <= before.mappings + 16);
	must(after.heap < before.heap + 8 * (uint64_t)CYCLES);
}

/* ---- urgent data ---- */

/* The receives that may hold payload are used up. So the announcement arrives,
 * and the octet only when the reader has read (SDP-116, SDP-118). */
static void case_urgent(void)
{
	struct pair pair = { .carrier = SDP_STREAM };
	struct watcher w = { .fd = eventfd(0, EFD_NONBLOCK) };
	struct iovec iov = { (char[3]){ "bc!" }, 3 },
		     one = { (char[1]){ 0 }, 1 };
	struct sdp_link *links[2];
	char buf[3];

	pair.opt[0] = pair.opt[1] = SDP_LINK_OPTIONS_INIT;
	pair.opt[1].conn.bufs = SDP_BUFS_MIN;
	pair_make(&pair, links);
	put(links[0], "a", 1);
	must(sdp_link_wait(links[1], SDP_LINK_IN, soon()) > 0);
	sdp_link_set_notify(links[1], on_notice, &w);
	must(sdp_link_recv(links[1], &one, 1, SDP_RECV_OOB) == -EINVAL);
	must(sdp_link_send(links[0], &iov, 1, SDP_SEND_OOB) == 3);
	while (!(atomic_load(&w.state) & SDP_LINK_URGENT))
		wait_notice(&w);
	must(!(sdp_link_state(links[1]) & SDP_LINK_PRI));
	must(sdp_link_recv(links[1], &one, 1, SDP_RECV_OOB) == -EAGAIN);
	must(sdp_link_inq(links[1]) == 1);
	atomic_store(&w.news, 0);
	get(links[1], buf, 3);
	must(!memcmp(buf, "abc", 3));
	while (!(atomic_load(&w.state) & SDP_LINK_PRI))
		wait_notice(&w);
	must(!(atomic_load(&w.news) & SDP_LINK_URGENT));
	must(sdp_link_recv(links[1], &one, 1, SDP_RECV_OOB) == 1);
	must(*(char *)one.iov_base == '!');
	must(!(atomic_load(&w.state) & (SDP_LINK_URGENT | SDP_LINK_PRI)));
	sdp_link_set_notify(links[1], NULL, NULL);
	unmake(links);
}

/* ---- the next event ---- */

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "fork", case_fork },
	{ "signal", case_signal },
	{ "gather", case_gather },
	{ "poll", case_poll },
	{ "notice", case_notice },
	{ "settle", case_settle },
	{ "urgent", case_urgent },
	{ "idle", case_idle },
	{ "sent-octet", case_sent_octet },
	{ "stall", case_stall },
	{ "stopped", case_stopped },
	{ "confirm", case_confirm },
	{ "unregistered", case_unregistered },
	{ "descriptors", case_descriptors },
	{ "numbers", case_numbers },
	{ "memory", case_memory },
	{ "cycles", case_cycles },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (argc > 1 && !strcmp(argv[1], cases[i].name)) {
			cases[i].run();
			return 0;
		}
	}
	fprintf(stderr, "no such case\n");
	return 2;
}

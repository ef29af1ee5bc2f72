/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Each order in which the two ends of the local path can meet: one end is
 * stopped before each use of the memory, and the other one acts there.
 */
#define _GNU_SOURCE
#include "../../harness/must.h"
#include "../../harness/test.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include "local/local.h"
#include "local/memory.h"
#include "local/ring.h"
#include "os/fd.h"

#define FEW 8u

static struct {
	struct rnic_local *writer, *reader;
	void *mem;
	size_t written, read; /* octets */
	bool is_good;	      /* what has been read */
	bool has_slept, is_woken;
} w;

static uint8_t source[RNIC_RING_SIZE + FEW], sink[RNIC_RING_SIZE];

static ssize_t put(size_t len)
{
	struct iovec iov = { source + w.written, len };
	ssize_t done = rnic_local_send(w.writer, &iov, 1);

	if (done > 0)
		w.written += (size_t)done;
	return done;
}

static ssize_t get(size_t len)
{
	struct iovec iov = { sink, len };
	ssize_t done = rnic_local_recv(w.reader, &iov, 1);

	if (done > 0) {
		w.is_good &= !memcmp(sink, source + w.read, (size_t)done);
		w.read += (size_t)done;
	}
	return done;
}

/* ---- what an end does, and what holds at the end ---- */

static void write_few(void)
{
	put(FEW);
}

static void write_and_leave(void)
{
	put(FEW);
	rnic_local_leave_tx(w.writer);
}

static void writer_sleeps(void)
{
	w.has_slept = rnic_local_sleep(w.writer, false, true);
}

static void read_few(void)
{
	get(FEW);
}

static void read_all(void)
{
	while (get(RNIC_RING_SIZE) > 0)
		continue;
}

static void throw_away(void)
{
	(void)rnic_local_recv(w.reader, NULL, 0);
}

static void reader_sleeps(void)
{
	if (get(FEW) < 0)
		w.has_slept = rnic_local_sleep(w.reader, true, false);
}

static void reader_leaves(void)
{
	rnic_local_leave_rx(w.reader);
	read_all();
}

static void look_for_wake(const struct rnic_local *local)
{
	struct pollfd pfd = { .fd = local->wake_fd, .events = POLLIN };

	w.is_woken = poll(&pfd, 1, 0) == 1;
}

static void look_at_reader(void)
{
	look_for_wake(w.reader);
}

static void look_at_writer(void)
{
	look_for_wake(w.writer);
}

static void nothing(void)
{
}

static bool all_is_read(void)
{
	return w.read == w.written;
}

static bool sleeper_is_woken(void)
{
	return !w.has_slept || w.is_woken;
}

/* What the reader has not found is followed by octets on TCP. */
static bool is_read_or_left(void)
{
	return w.read == w.written || w.writer->has_left_tx;
}

/*
 * @stopped: one end, before each of whose accesses @beside is tried.
 * @then: when both have returned.
 */
static const struct scene {
	const char *name;
	bool has_few, is_full; /* the ring, before */
	void (*stopped)(void);
	void (*beside)(void);
	void (*then)(void);
	bool (*holds)(void);
} scenes[] = {
	{ "few octets are read, more come", true, false, read_few, write_few,
	  read_all, all_is_read },
	{ "few octets come, those before are read", true, false, write_few,
	  read_few, read_all, all_is_read },
	{ "a full ring is read, more come", false, true, read_few, write_few,
	  read_all, all_is_read },
	{ "more come to a full ring, which is read", false, true, write_few,
	  read_few, read_all, all_is_read },
	{ "the reader falls asleep, octets come", false, false, reader_sleeps,
	  write_few, look_at_reader, sleeper_is_woken },
	{ "octets come, the reader falls asleep", false, false, write_few,
	  reader_sleeps, look_at_reader, sleeper_is_woken },
	{ "the writer falls asleep, room comes", false, true, writer_sleeps,
	  throw_away, look_at_writer, sleeper_is_woken },
	{ "room comes, the writer falls asleep", false, true, throw_away,
	  writer_sleeps, look_at_writer, sleeper_is_woken },
	{ "the ring is read, the writer leaves", false, false, read_few,
	  write_and_leave, read_all, all_is_read },
	{ "the writer leaves, the ring is read", false, false, write_and_leave,
	  read_all, read_all, all_is_read },
	{ "the reader leaves, octets come", false, false, reader_leaves,
	  write_few, nothing, is_read_or_left },
	{ "octets come, the reader leaves", false, false, write_few,
	  reader_leaves, nothing, is_read_or_left },
};

/* ---- one access after the other ---- */

#define TRAP_FLAG 0x100 /* of EFLAGS: SIGTRAP behind the next instruction */

static const struct scene *scene;
static int access_cnt, access_max;

static void protect(int prot)
{
	must(!mprotect(w.mem, RNIC_LOCAL_MEMORY_SIZE, prot));
}

static void trap_next(void *context, bool is_on)
{
	greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];

	*flags = is_on ? *flags | TRAP_FLAG : *flags & ~TRAP_FLAG;
}

/* SIGSEGV: an instruction is about to use the memory. */
static void before_access(int sig, siginfo_t *info, void *context)
{
	size_t at = (size_t)((uint8_t *)info->si_addr - (uint8_t *)w.mem);

	if (at >= RNIC_LOCAL_MEMORY_SIZE)
		abort();
	protect(PROT_READ | PROT_WRITE);
	if (access_cnt++ == access_max)
		scene->beside();
	else
		trap_next(context, true);
}

/* SIGTRAP: it has done so. */
static void behind_access(int sig, siginfo_t *info, void *context)
{
	trap_next(context, false);
	protect(PROT_NONE);
}

static void handle(int sig, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction act = { .sa_sigaction = handler,
				 .sa_flags = SA_SIGINFO };

	must(!sigaction(sig, &act, NULL));
}

static void world_open(void)
{
	uint64_t tcp_octets;
	int fd[2];

	memset(&w, 0, sizeof(w));
	w.is_good = true;
	w.mem = mmap(NULL, RNIC_LOCAL_MEMORY_SIZE, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(w.mem != MAP_FAILED);
	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
			 fd));
	w.writer = rnic_local_new(w.mem, rnic_fd_own(fd[0]), true);
	w.reader = rnic_local_new(w.mem, rnic_fd_own(fd[1]), false);
	must(w.writer && w.reader);
	must(!rnic_local_tx_begin(w.writer, 0));
	must(rnic_local_rx_begin(w.reader, &tcp_octets) == 1);
	must(rnic_local_woken(w.reader));
	rnic_local_stay_awake(w.reader);
}

/* Not as rnic_local_free() does: both ends have one mapping. */
static void world_close(void)
{
	rnic_fd_close(w.writer->wake_fd);
	rnic_fd_close(w.reader->wake_fd);
	free(w.writer);
	free(w.reader);
	must(!munmap(w.mem, RNIC_LOCAL_MEMORY_SIZE));
}

/* The other end acts behind so many accesses.  Return: whether there are
 * more. */
static bool run(int at)
{
	world_open();
	if (scene->is_full)
		must(put(RNIC_RING_SIZE) == RNIC_RING_SIZE);
	else if (scene->has_few)
		must(put(FEW) == FEW);
	access_cnt = 0;
	access_max = at;
	protect(PROT_NONE);
	scene->stopped();
	protect(PROT_READ | PROT_WRITE);
	if (access_cnt <= at)
		scene->beside();
	scene->then();
	if (!w.is_good || !scene->holds())
		fail_msg("%s: behind %d accesses", scene->name, at);
	world_close();
	return access_cnt > at;
}

CASE(any_order_of_both_ends_is_good)
{
	for (size_t i = 0; i < sizeof(source); i++)
		source[i] = (uint8_t)(1 + i % 251);
	handle(SIGSEGV, before_access);
	handle(SIGTRAP, behind_access);
	for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
		int at = 0;

		scene = &scenes[i];
		while (run(at))
			at++;
	}
}

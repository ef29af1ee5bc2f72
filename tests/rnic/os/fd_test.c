/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fd.c: what a forked child finds, without an effect on the parent. */
#include "os/fd.h"

#include "os/chan.h"
#include "util/fdtab.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int spare_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Runs @check in a forked child. Return: the first check that failed. */
static int in_child(int (*check)(void *arg), void *arg)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(check(arg));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

int __real_pthread_atfork(void (*prepare)(void), void (*parent)(void),
			  void (*child)(void));
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void),
			  void (*child)(void));

/* TSan's pthread_once() does not restart in a child. */
#ifdef __SANITIZE_THREAD__
#define STARTS_ANEW false
#else
#define STARTS_ANEW true
#endif

static bool is_running; /* main() has begun: constructors watch forks, too */
static int watched_cnt;
static int during_start =
	-1; /* result of the child that was forked inside the start */

static int check_second_start(void *arg)
{
	(void)arg;
	return rnic_fdtab() ? watched_cnt : 0;
}

/* Forks where another thread may fork: inside the start of the table. */
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void),
			  void (*child)(void))
{
	int err = __real_pthread_atfork(prepare, parent, child);

	if (!is_running)
		return err;
	watched_cnt++;
	if (STARTS_ANEW && watched_cnt == 1)
		during_start = in_child(check_second_start, NULL);
	return err;
}

/* The child starts again, and its forks are watched once. */
CASE(a_fork_during_the_start_is_watched_once)
{
	assert_non_null(rnic_fdtab());
	assert_int_equal(watched_cnt, 1);
	if (!STARTS_ANEW)
		skip_because("no new start in a child under TSan");
	assert_int_equal(during_start, 1);
}

CASE(registers_and_closes)
{
	int fd = rnic_fd_own(spare_fd());

	assert_true(fd >= 0);
	assert_int_equal(util_fdtab_lookup(rnic_fdtab(), fd, NULL),
			 RNIC_FD_INTERNAL);
	rnic_fd_close(fd);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(util_fdtab_lookup(rnic_fdtab(), fd, NULL),
			 RNIC_FD_NONE);
	rnic_fd_close(-1);
}

/* A descriptor that cannot be owned is closed. The error of a failed call is
 * returned. */
CASE(a_failure_leaves_no_descriptor)
{
	int spare = spare_fd();
	int fd = fcntl(spare, F_DUPFD_CLOEXEC, (int)UTIL_FD_MAX);

	close(spare);
	if (fd >= 0) { /* only if the limit allows it */
		assert_int_equal(rnic_fd_own(fd), -EMFILE);
		assert_int_equal(fcntl(fd, F_GETFD), -1);
	} else {
		assert_int_equal(rnic_fd_own((int)UTIL_FD_MAX), -EMFILE);
	}
	errno = ENFILE;
	assert_int_equal(rnic_fd_own(-1), -ENFILE);
}

/* Programs use low numbers with dup2(), so these must stay free. */
CASE(leaves_low_numbers_free)
{
	struct rlimit old, now;
	int low = spare_fd(), fd = rnic_fd_own(low);

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	assert_true(fd >= (old.rlim_cur < 1024 ? (int)old.rlim_cur / 2 : 512));
	assert_int_equal(fcntl(low, F_GETFD), -1);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	rnic_fd_close(fd);
	/* No high number is free. */
	low = spare_fd();
	now = old;
	now.rlim_cur = (rlim_t)low + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	while (fcntl(low, F_DUPFD, low / 2) >= 0)
		;
	fd = rnic_fd_own(low);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(fd, low);
	rnic_fd_close(fd);
}

struct inherited {
	int internal, uverbs, plain;
	struct rnic_chan *chan;
	int chan_fd;
};

static int check_inherited(void *arg)
{
	const struct inherited *in = arg;
	struct util_fdtab *tab = rnic_fdtab();
	uint64_t value;

	if (rnic_fork_gen() != 1)
		return 1;
	if (fcntl(in->internal, F_GETFD) != -1 ||
	    util_fdtab_lookup(tab, in->internal, NULL) != RNIC_FD_NONE)
		return 2;
	if (fcntl(in->uverbs, F_GETFD) == -1 ||
	    util_fdtab_lookup(tab, in->uverbs, NULL) != RNIC_FD_UVERBS)
		return 3;
	if (util_fdtab_lookup(tab, in->chan_fd, NULL) != RNIC_FD_DEAD ||
	    rnic_chan_get_fd(in->chan_fd))
		return 4;
	if (fcntl(in->plain, F_GETFD) == -1)
		return 5;
	if (rnic_chan_read(in->chan, &value, sizeof(value)) != -ENODEV)
		return 6;
	/* Removing events here must not take the parent's token. */
	rnic_chan_purge(in->chan, &(struct rnic_chan_node){ 0 });
	rnic_chan_close(in->chan);
	return fcntl(in->chan_fd, F_GETFD) == -1 ? 0 : 7;
}

CASE(child_loses_internal_fds_and_keeps_dead_ones)
{
	struct inherited in;
	struct rnic_chan_node node = { 0 };
	uint64_t value = 3;
	int marker;

	in.internal = rnic_fd_own(spare_fd());
	in.uverbs = spare_fd();
	in.plain = spare_fd();
	assert_true(in.internal >= 0);
	assert_int_equal(util_fdtab_add(rnic_fdtab(), in.uverbs, RNIC_FD_UVERBS,
					&marker),
			 0);
	assert_int_equal(rnic_chan_new(8, &in.chan), 0);
	in.chan_fd = rnic_chan_fd(in.chan);
	rnic_chan_post(in.chan, &node, &value, 8);

	assert_int_equal(in_child(check_inherited, &in), 0);

	assert_int_equal(rnic_fork_gen(), 0);
	assert_true(fcntl(in.internal, F_GETFD) != -1);
	assert_int_equal(util_fdtab_lookup(rnic_fdtab(), in.uverbs, NULL),
			 RNIC_FD_UVERBS);
	value = 0;
	assert_int_equal(rnic_chan_read(in.chan, &value, 8), 8);
	assert_int_equal(value, 3);
	rnic_chan_close(in.chan);
	util_fdtab_remove(rnic_fdtab(), in.uverbs);
	rnic_fd_close(in.internal);
	close(in.uverbs);
	close(in.plain);
}

static int check_new_channel(void *arg)
{
	struct rnic_chan_node node = { 0 };
	struct rnic_chan *chan;
	uint64_t value = 11;

	(void)arg;
	if (rnic_chan_new(8, &chan) != 0)
		return 1;
	rnic_chan_post(chan, &node, &value, 8);
	value = 0;
	if (rnic_chan_read(chan, &value, 8) != 8 || value != 11)
		return 2;
	rnic_chan_close(chan);
	return 0;
}

CASE(child_can_make_channels_of_its_own)
{
	assert_int_equal(in_child(check_new_channel, NULL), 0);
}

static int check_grandchild(void *arg)
{
	int status;
	pid_t pid;

	(void)arg;
	pid = fork();
	if (pid == 0)
		_exit(rnic_fork_gen() == 2 ? 0 : 1);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		return 1;
	return rnic_fork_gen() == 1 ? 0 : 2;
}

CASE(counts_generations)
{
	assert_int_equal(in_child(check_grandchild, NULL), 0);
}

CASE(unexpected_peers_share_a_quarter)
{
	static const struct {
		rlim_t limit;
		uint32_t max, share;
	} rows[] = {
		{ 400, 1000, 100 }, { 400, 100, 100 }, { 400, 99, 99 },
		{ 40, 512, 10 },    { 0, 512, 1 },
	};
	struct rlimit old, now;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint32_t share;

		now = old;
		now.rlim_cur = rows[i].limit;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
		share = rnic_fd_share(rows[i].max);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
		assert_int_equal(share, rows[i].share);
	}
}

CASE(a_quarter_is_left_to_the_application)
{
	struct rlimit old, now;
	int fd, spare;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	fd = rnic_fd_own(dup(0));
	assert_true(fd > 3);
	now = old;
	now.rlim_cur = (rlim_t)fd * 2;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	assert_int_equal(rnic_fd_spare(fd), fd);
	now.rlim_cur = (rlim_t)fd + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	spare = rnic_fd_spare(fd);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(spare, -EMFILE);
	assert_int_equal(fcntl(fd, F_GETFD), -1); /* it is closed */
	assert_int_equal(rnic_fd_spare(-ENFILE), -ENFILE);
}

BEFORE_CASES()
{
	is_running = true;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The fd table of the process, and the forked child's first steps. */
#include "fd.h"

#include "util/fd-high.h"
#include "util/fdtab.h"
#include "util/lock.h"
#include "util/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_once_t fd_once = PTHREAD_ONCE_INIT;
static struct util_fdtab *fd_table;
static _Atomic uint32_t fork_gen;
static const struct rnic_fork *on_fork; /* written before there are threads */
static bool is_watched; /* the handlers of a fork are registered */

/* Not close(): that is the preload library's, which would ask the table. */
static void fd_close_raw(int fd)
{
	syscall(SYS_close, fd);
}

static void fd_disown(struct util_fdtab *tab, int fd, unsigned int kind,
		      void *object)
{
	(void)object;
	switch ((enum rnic_fd_kind)kind) {
	case RNIC_FD_INTERNAL:
		util_fdtab_remove(tab, fd);
		fd_close_raw(fd);
		return;
	case RNIC_FD_UVERBS:
	case RNIC_FD_UCM:
		return; /* used here, it makes anew what it needs */
	case RNIC_FD_CHAN:
		/* The number stays the application's until it closes it.
		 * Cannot fail: the table has a place for this fd. */
		(void)util_fdtab_add(tab, fd, RNIC_FD_DEAD, NULL);
		return;
	case RNIC_FD_NONE:
	case RNIC_FD_DEAD:
		return;
	}
}

/*
 * One thread is left, and any lock of the parent's may be held by another.
 * Inherited sockets go first: as long as one is open here, the parent's
 * peers would not notice its death.
 */
static void fork_child(void)
{
	util_lock_fork_child();
	atomic_fetch_add_explicit(&fork_gen, 1, memory_order_relaxed);
	is_watched = true; /* also if the parent was inside fd_init() */
	if (fd_table) {
		util_fdtab_fork_child(fd_table);
		on_fork->keep(fd_table);
		util_fdtab_each(fd_table, fd_disown);
	}
	on_fork->child(fd_table);
}

/* Runs again in a child whose parent was inside it. */
static void fd_init(void)
{
	/* Without the handler a child would keep streams alive: no table, so
	 * that nothing is ever opened. */
	if (!is_watched &&
	    pthread_atfork(on_fork->prepare, on_fork->parent, fork_child) != 0)
		return;
	is_watched = true;
	if (!fd_table)
		fd_table = util_fdtab_new();
}

void rnic_fd_on_fork(const struct rnic_fork *fork)
{
	on_fork = fork;
}

struct util_fdtab *rnic_fdtab(void)
{
	pthread_once(&fd_once, fd_init);
	return fd_table;
}

uint32_t rnic_fork_gen(void)
{
	/* relaxed: changes only while one thread exists */
	return atomic_load_explicit(&fork_gen, memory_order_relaxed);
}

/* Once: what fails for it may be tried again and again. */
static void fd_complain(void)
{
	static atomic_flag is_said = ATOMIC_FLAG_INIT;
	struct rlimit limit;

	if (atomic_flag_test_and_set(&is_said) ||
	    getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	util_err("rnic",
		 "no file descriptor is left: RLIMIT_NOFILE is %llu; raise it "
		 "(ulimit -n)",
		 (unsigned long long)limit.rlim_cur);
}

int rnic_fd_own(int fd)
{
	struct util_fdtab *tab;
	int ret, err = errno;

	if (fd < 0) {
		if (err == EMFILE)
			fd_complain();
		return -err;
	}
	tab = rnic_fdtab();
	fd = util_fd_high_move(fd, NULL, NULL);
	ret = tab ? util_fdtab_add(tab, fd, RNIC_FD_INTERNAL, NULL) : -ENOMEM;
	if (ret == 0)
		return fd;
	fd_close_raw(fd);
	return ret;
}

void rnic_fd_close(int fd)
{
	struct util_fdtab *tab = rnic_fdtab();

	if (fd < 0)
		return;
	/* Before close(): then the number may be somebody else's. */
	if (tab)
		util_fdtab_remove(tab, fd);
	fd_close_raw(fd);
}

bool rnic_fd_is_spare(int fd)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
	       (rlim_t)fd < limit.rlim_cur - limit.rlim_cur / 4;
}

int rnic_fd_spare(int fd)
{
	if (fd < 0 || rnic_fd_is_spare(fd))
		return fd;
	rnic_fd_close(fd);
	return -EMFILE;
}

uint32_t rnic_fd_share(uint32_t max)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / 4 >= max)
		return max;
	return limit.rlim_cur < 4 ? 1 : (uint32_t)(limit.rlim_cur / 4);
}

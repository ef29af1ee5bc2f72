/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The current directory, when it is in the tree. */
#include "cwd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "fd.h"
#include "kabi.h"
#include "path.h"
#include "real.h"
#include "sysfs.h"

/* Where the kernel believes us to be: nobody can make a file there. */
static const char *const outsides[] = { "/sys/class", "/sys", "/proc" };

#define OUTSIDE_CNT (sizeof(outsides) / sizeof(outsides[0]))

/* Stands for what PWD says, until somebody wants to know. */
static const struct kabi_node unknown;

_Atomic(const struct kabi_node *) kabi_cwd_now;

static void cwd_set(const struct kabi_node *node)
{
	/* release: pairs with the acquire of who reads it */
	atomic_store_explicit(&kabi_cwd_now, node, memory_order_release);
}

void kabi_cwd_start(void)
{
	const char *pwd = getenv("PWD");

	if (pwd && *pwd == '/' && kabi_path_is_near(AT_FDCWD, pwd))
		cwd_set(&unknown);
}

static bool is_outside(void)
{
	char path[PATH_MAX];

	if (!kabi_real()->getcwd(path, sizeof(path)))
		return false;
	for (size_t i = 0; i < OUTSIDE_CNT; i++)
		if (strcmp(path, outsides[i]) == 0)
			return true;
	return false;
}

/* The node that PWD names; NULL: none, or too early to tell. */
static const struct kabi_node *inherited_find(void)
{
	const char *pwd = getenv("PWD");
	struct kabi_spot spot;

	if (!pwd || *pwd != '/' || !kabi_path_find(AT_FDCWD, &pwd, true, &spot))
		return NULL;
	return !spot.err && spot.node->type == KABI_DIR ? spot.node : NULL;
}

const struct kabi_node *kabi_cwd(void)
{
	const struct kabi_node *node =
		atomic_load_explicit(&kabi_cwd_now, memory_order_acquire);
	int saved_errno = errno;

	if (node != &unknown)
		return node;
	node = is_outside() ? inherited_find() : NULL;
	if (kabi_is_touched() || !node)
		cwd_set(node);
	errno = saved_errno;
	return node;
}

/*
 * Programs that we start look there; a shell sets it by itself.  Where it is
 * not set it stays so: the list of the environment must not move under a
 * thread that reads it.
 */
static void pwd_set(const char *path)
{
	if (getenv("PWD"))
		(void)setenv("PWD", path, 1);
}

static int cwd_enter(const struct kabi_node *node)
{
	char path[PATH_MAX];
	int ret;

	if (node->type != KABI_DIR)
		return -ENOTDIR;
	/* It shares our memory, but not our current directory. */
	if (!kabi_is_owner())
		return -ENOENT;
	ret = kabi_node_path(node, path, sizeof(path));
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < OUTSIDE_CNT; i++) {
		if (kabi_real()->chdir(outsides[i]) < 0) {
			ret = -errno;
			continue;
		}
		cwd_set(node);
		pwd_set(path);
		return 0;
	}
	return ret;
}

/* The kernel has changed it to somewhere else. */
static int cwd_left(void)
{
	char path[PATH_MAX];

	if (!kabi_cwd_is_near() || !kabi_is_owner())
		return 0;
	cwd_set(NULL);
	if (kabi_real()->getcwd(path, sizeof(path)))
		pwd_set(path);
	return 0;
}

int kabi_cwd_change(const char *path)
{
	struct kabi_spot spot;

	(void)kabi_cwd(); /* while PWD and the kernel agree */
	if (kabi_path_is_near(AT_FDCWD, path) &&
	    kabi_path_find(AT_FDCWD, &path, true, &spot))
		return spot.err ? spot.err : cwd_enter(spot.node);
	return kabi_real()->chdir(path) < 0 ? -errno : cwd_left();
}

int kabi_cwd_change_fd(int fd, const struct kabi_node *node)
{
	(void)kabi_cwd();
	if (node)
		return cwd_enter(node);
	return kabi_real()->fchdir(fd) < 0 ? -errno : cwd_left();
}

char *kabi_cwd_get(const struct kabi_node *node, char *buf, size_t size)
{
	char path[PATH_MAX];
	int len = kabi_node_path(node, path, sizeof(path));
	char *out = buf;

	if (len < 0) {
		errno = -len;
		return NULL;
	}
	if (buf && size == 0) {
		errno = EINVAL;
		return NULL;
	}
	if (size == 0)
		size = (size_t)len + 1;
	if (size <= (size_t)len) {
		errno = ERANGE;
		return NULL;
	}
	if (!out)
		out = malloc(size);
	if (out)
		memcpy(out, path, (size_t)len + 1);
	return out;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The current directory, when it is in the tree. */
#include "tree/cwd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "base/real.h"
#include "tree/sysfs.h"

/* The kernel's current directory meanwhile.  No file can be made there. */
static const char *const outsides[] = { "/sys/class", "/sys", "/proc" };

#define OUTSIDE_CNT (sizeof(outsides) / sizeof(outsides[0]))

const struct kabi_node kabi_cwd_unknown;

_Atomic(const struct kabi_node *) kabi_cwd_now;

void kabi_cwd_set(const struct kabi_node *node)
{
	/* release: pairs with the acquire of the readers */
	atomic_store_explicit(&kabi_cwd_now, node, memory_order_release);
}

bool kabi_cwd_is_outside(void)
{
	char path[PATH_MAX];

	if (!kabi_real()->getcwd(path, sizeof(path)))
		return false;
	for (size_t i = 0; i < OUTSIDE_CNT; i++)
		if (strcmp(path, outsides[i]) == 0)
			return true;
	return false;
}

/*
 * Programs that this process starts look there; a shell sets PWD itself.  If
 * PWD is not set, it is not added, because the list of the environment must not
 * move while another thread reads it.
 */
static void pwd_set(const char *path)
{
	if (getenv("PWD"))
		(void)setenv("PWD", path, 1);
}

int kabi_cwd_enter(const struct kabi_node *node)
{
	char path[PATH_MAX];
	int ret;

	if (node->type != KABI_DIR)
		return -ENOTDIR;
	/* A vforked child shares the memory, but not the current directory. */
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
		kabi_cwd_set(node);
		pwd_set(path);
		return 0;
	}
	return ret;
}

int kabi_cwd_left(void)
{
	char path[PATH_MAX];

	if (!kabi_cwd_is_near() || !kabi_is_owner())
		return 0;
	kabi_cwd_set(NULL);
	if (kabi_real()->getcwd(path, sizeof(path)))
		pwd_set(path);
	return 0;
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

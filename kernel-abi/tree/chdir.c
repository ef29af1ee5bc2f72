/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See chdir.h. */
#include "tree/chdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "tree/cwd.h"
#include "tree/path.h"
#include "base/real.h"

void kabi_chdir_start(void)
{
	const char *pwd = getenv("PWD");

	if (pwd && *pwd == '/' && kabi_path_is_near(AT_FDCWD, pwd))
		kabi_cwd_set(&kabi_cwd_unknown);
}

int kabi_chdir(const char *path)
{
	struct kabi_spot spot;

	(void)kabi_path_cwd(); /* while PWD and the kernel agree */
	if (kabi_path_is_near(AT_FDCWD, path) &&
	    kabi_path_find(AT_FDCWD, &path, true, &spot))
		return spot.err ? spot.err : kabi_cwd_enter(spot.node);
	return kabi_real()->chdir(path) < 0 ? -errno : kabi_cwd_left();
}

int kabi_fchdir(int fd, const struct kabi_node *node)
{
	(void)kabi_path_cwd();
	if (node)
		return kabi_cwd_enter(node);
	return kabi_real()->fchdir(fd) < 0 ? -errno : kabi_cwd_left();
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* open, stat, access and readlink of a node of the tree. */
#include "tree/node.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "util/cancel.h"
#include "util/fsize.h"
#include "util/keep-errno.h"
#include "util/log.h"
#include "tree/node-fd.h"
#include "base/real.h"
#include "tree/sysfs.h"
#include "commands/ucm.h"
#include "commands/uverbs.h"

/* Like sysfs: a page, whatever the length of the contents. */
#define FILE_SIZE 4096

#define MEMFD_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* ---- stat --------------------------------------------------------------- */

static mode_t node_mode(const struct kabi_node *node)
{
	switch (node->type) {
	case KABI_PASS:
	case KABI_DIR:
		return S_IFDIR | 0755;
	case KABI_FILE:
		return S_IFREG | 0444;
	case KABI_LINK:
		return S_IFLNK | 0777;
	case KABI_UVERBS:
	case KABI_UCM:
		return S_IFCHR | 0666;
	}
	return 0;
}

int kabi_node_stat(const struct kabi_node *node, struct stat *ret_stat)
{
	struct stat st = {
		.st_dev = makedev(0, 0xfffff), /* of no mount */
		.st_ino = node->ino,
		.st_mode = node_mode(node),
		.st_nlink = node->type == KABI_DIR ? 2 + node->dir_cnt : 1,
		.st_rdev = node->rdev,
		.st_size = node->type == KABI_FILE ? FILE_SIZE
			   : node->type == KABI_LINK
				   ? (off_t)strlen(node->target)
				   : 0,
		.st_blksize = FILE_SIZE,
		/* no holes: cp would write zeroes up to the size */
		.st_blocks = node->type == KABI_FILE ? FILE_SIZE / 512 : 0,
		.st_atim = kabi_tree_time(),
		.st_mtim = kabi_tree_time(),
		.st_ctim = kabi_tree_time(),
	};

	*ret_stat = st;
	return 0;
}

static struct statx_timestamp statx_time(struct timespec time)
{
	return (struct statx_timestamp){ .tv_sec = time.tv_sec,
					 .tv_nsec = (uint32_t)time.tv_nsec };
}

int kabi_node_statx(const struct kabi_node *node, struct statx *ret_statx)
{
	struct stat st;

	kabi_node_stat(node, &st);
	*ret_statx = (struct statx){
		.stx_mask = STATX_BASIC_STATS,
		.stx_blksize = (uint32_t)st.st_blksize,
		.stx_nlink = (uint32_t)st.st_nlink,
		.stx_mode = (uint16_t)st.st_mode,
		.stx_ino = st.st_ino,
		.stx_size = (uint64_t)st.st_size,
		.stx_blocks = (uint64_t)st.st_blocks,
		.stx_atime = statx_time(st.st_atim),
		.stx_mtime = statx_time(st.st_mtim),
		.stx_ctime = statx_time(st.st_ctim),
		.stx_rdev_major = major(st.st_rdev),
		.stx_rdev_minor = minor(st.st_rdev),
		.stx_dev_major = major(st.st_dev),
		.stx_dev_minor = minor(st.st_dev),
	};
	return 0;
}

int kabi_node_access(const struct kabi_node *node, int mode)
{
	bool is_device = node->type == KABI_UVERBS || node->type == KABI_UCM;

	if (mode & ~(R_OK | W_OK | X_OK))
		return -EINVAL;
	if ((mode & W_OK) && !is_device)
		return -EACCES;
	if ((mode & X_OK) && node->type != KABI_DIR)
		return -EACCES;
	return 0;
}

ssize_t kabi_node_readlink(const struct kabi_node *node, char *buf, size_t len)
{
	size_t have;

	if (node->type != KABI_LINK || len == 0)
		return -EINVAL;
	have = strlen(node->target);
	if (have > len)
		have = len;
	memcpy(buf, node->target, have);
	return (ssize_t)have;
}

char *kabi_node_realpath(const struct kabi_node *node, char *resolved)
{
	char *out = resolved ? resolved : malloc(PATH_MAX);
	int len;

	if (!out)
		return NULL;
	len = kabi_node_path(node, out, PATH_MAX);
	if (len >= 0)
		return out;
	if (!resolved)
		free(out);
	errno = -len;
	return NULL;
}

/* ---- open --------------------------------------------------------------- */

#define ALLOW_CALL "allow this call to the program"

/* Reports once that the memfd or directory behind a node cannot be made.
 * Return: -errno. */
static int stand_in_refused(const char *what, const char *remedy)
{
	static _Atomic bool is_told;
	int err = errno;

	if (err == EMFILE)
		remedy = "raise RLIMIT_NOFILE (ulimit -n)";
	/* relaxed: it guards nothing */
	if (err != ENFILE &&
	    !atomic_exchange_explicit(&is_told, true, memory_order_relaxed))
		util_err("kabi",
			 "%s: %s: usiw's /sys/class/infiniband cannot be read; "
			 "%s",
			 what, strerror(err), remedy);
	return -err;
}

/* Makes an fd that only the stubs can use.  Any other call on it, including
 * *at() calls, fails with EBADF or ENOTDIR. */
static int dir_open(int flags)
{
	int fd;

	if ((flags & O_ACCMODE) != O_RDONLY && !(flags & O_PATH))
		return -EISDIR;
	fd = kabi_real()->open("/dev/null", O_PATH | (flags & O_CLOEXEC));
	return fd < 0 ? stand_in_refused("/dev/null cannot be opened",
					 ALLOW_CALL)
		      : fd;
}

/* Opens the memfd again, read-only and with its own position, at the same
 * number: open() returns the lowest free number. */
static int memfd_reopen(int fd, int flags)
{
	const int keep = O_CLOEXEC | O_NONBLOCK;
	char path[32];
	int again, ret;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = kabi_real()->open(path, O_RDONLY | (flags & keep));
	if (again < 0 && errno == ENOENT)
		return fd; /* no /proc; the seals forbid writing, too */
	ret = again < 0 ? stand_in_refused(path, ALLOW_CALL) : 0;
	if (ret == 0 && kabi_real()->dup3(again, fd, flags & O_CLOEXEC) < 0)
		ret = -errno;
	if (again >= 0)
		kabi_real()->close(again);
	if (ret < 0)
		kabi_real()->close(fd);
	return ret < 0 ? ret : fd;
}

static int file_open(const struct kabi_node *node, int flags)
{
	char text[KABI_CONTENT_MAX];
	int len, fd, err;

	if ((flags & O_ACCMODE) != O_RDONLY)
		return -EACCES;
	len = kabi_node_content(node, text);
	if (len < 0)
		return len;
	if (!util_fsize_allows((uint64_t)len)) {
		errno = EFBIG;
		return stand_in_refused("RLIMIT_FSIZE is below its files' size",
					"raise it (ulimit -f)");
	}
	fd = memfd_create(node->name, MFD_ALLOW_SEALING | MFD_CLOEXEC);
	if (fd < 0)
		return stand_in_refused("memfd_create() fails", ALLOW_CALL);
	if (kabi_real()->write(fd, text, (size_t)len) != len ||
	    lseek(fd, 0, SEEK_SET) != 0 ||
	    fchmod(fd, KABI_NODE_MEMFD_MODE) != 0 ||
	    kabi_real()->fcntl(fd, F_ADD_SEALS, MEMFD_SEALS) != 0) {
		err = -errno;
		kabi_real()->close(fd);
		return err;
	}
	return memfd_reopen(fd, flags);
}

int kabi_node_open(const struct kabi_node *node, int flags)
{
	UTIL_CANCEL_OFF();
	int fd;

	if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
		return -EEXIST;
	if ((flags & O_DIRECTORY) && node->type != KABI_DIR)
		return -ENOTDIR;
	switch (node->type) {
	case KABI_PASS:
		return -ENOENT;
	case KABI_LINK:
		return -ELOOP; /* O_NOFOLLOW */
	case KABI_UVERBS:
		return kabi_uverbs_open(node, flags);
	case KABI_UCM:
		return kabi_ucm_open(flags);
	case KABI_DIR:
		fd = dir_open(flags);
		break;
	case KABI_FILE:
		fd = file_open(node, flags);
		break;
	default:
		return -EINVAL;
	}
	if (fd >= 0)
		kabi_fd_node_add(fd, node);
	return fd;
}

/* Its contents may change. */
static bool is_live(const struct kabi_node *node)
{
	return node->type == KABI_FILE && !kabi_node_is_fixed(node);
}

/* Puts another memfd at the number, because the old one is sealed. */
void kabi_node_refresh(const struct kabi_node *node, int fd)
{
	UTIL_CANCEL_OFF();
	UTIL_KEEP_ERRNO();
	char now[KABI_CONTENT_MAX], old[KABI_CONTENT_MAX];
	int len, fresh, flags;
	ssize_t had;

	if (!is_live(node) || lseek(fd, 0, SEEK_CUR) != 0)
		return;
	len = kabi_node_content(node, now);
	had = kabi_real()->read(fd, old, sizeof(old));
	if (had < 0 || lseek(fd, 0, SEEK_SET) != 0 || len < 0 ||
	    (had == len && memcmp(now, old, (size_t)len) == 0))
		return;
	flags = kabi_real()->fcntl(fd, F_GETFD) & FD_CLOEXEC ? O_CLOEXEC : 0;
	flags |= kabi_real()->fcntl(fd, F_GETFL) & O_NONBLOCK;
	fresh = file_open(node, flags);
	if (fresh < 0)
		return;
	(void)kabi_real()->dup3(fresh, fd, flags & O_CLOEXEC);
	kabi_real()->close(fresh);
}

/* ---- stdio -------------------------------------------------------------- */

FILE *kabi_node_fopen(const struct kabi_node *node, const char *mode, FILE *old)
{
	UTIL_CANCEL_OFF();
	char path[32];
	FILE *file;
	int fd;

	if (mode[0] != 'r' || strchr(mode, '+')) {
		errno = EACCES;
		return NULL;
	}
	/* The fd is not recorded, because fclose() closes it inside libc. */
	fd = node->type == KABI_FILE
		     ? file_open(node, strchr(mode, 'e') ? O_CLOEXEC : 0)
		     : -EACCES;
	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	if (old) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		file = kabi_real()->freopen(path, mode, old);
	} else {
		file = fdopen(fd, mode);
	}
	if (old || !file)
		kabi_real()->close(fd);
	return file;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The stubs only: one line each, by shape.
 *
 * A path stub checks the first octets of the path.  An fd stub costs one load
 * and, after the first touch, one table entry.  Other paths and descriptors go
 * to libc unchanged.  Those that may be usiw's go to the _near half of the
 * stub, so that other calls do not pay for its buffers.
 *
 * libc's aliases with two underscores (__read, __close, ...) have no stub.
 * Programs do not use them, and the RNIC library uses some of them to bypass
 * the stubs.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/netlink.h>
#include <limits.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdarg.h>
#include <string.h>

#include "tree/chdir.h"
#include "tree/cwd.h"
#include "calls/dir.h"
#include "calls/fd.h"
#include "netlink/netlink.h"
#include "tree/node.h"
#include "tree/node-fd.h"
#include "tree/path.h"
#include "base/process.h"
#include "base/real.h"
#include "calls/sig.h"
#include "tree/sysfs.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* readdir_r */

#define EXPORT __attribute__((visibility("default")))

_Static_assert(sizeof(struct stat) == sizeof(struct stat64),
	       "LP64: stat and stat64 are one");

/* ---- shapes ------------------------------------------------------------- */

/*
 * @at, @path: the path; @follow: follow a link at the end; @ours: the call on
 * spot.node; @args: the stub's arguments, for libc.
 */
#define STUB_PATH(type, name, params, at, path, follow, ours, args)            \
	static __attribute__((noinline)) type name##_near params               \
	{                                                                      \
		struct kabi_spot spot;                                         \
		if (!kabi_path_find(at, &path, follow, &spot))                 \
			return kabi_real()->name args;                         \
		return (type)UTIL_RESULT(spot.err ? spot.err : (ours));        \
	}                                                                      \
	EXPORT type name params                                                \
	{                                                                      \
		if (!kabi_path_is_near(at, path))                              \
			return kabi_real()->name args;                         \
		return name##_near args;                                       \
	}

/* The same for calls that return a pointer; @ours sets errno itself. */
#define STUB_PATH_PTR(type, name, params, path, ours, args)                    \
	static __attribute__((noinline)) type *name##_near params              \
	{                                                                      \
		struct kabi_spot spot;                                         \
		if (!kabi_path_find(AT_FDCWD, &path, true, &spot))             \
			return kabi_real()->name args;                         \
		if (spot.err) {                                                \
			errno = -spot.err;                                     \
			return NULL;                                           \
		}                                                              \
		return ours;                                                   \
	}                                                                      \
	EXPORT type *name params                                               \
	{                                                                      \
		if (!kabi_path_is_near(AT_FDCWD, path))                        \
			return kabi_real()->name args;                         \
		return name##_near args;                                       \
	}

/* open(2) and similar calls, which have the mode only with some flags.  @where:
 * at, or AT_FDCWD. */
#define STUB_OPEN(name, params, where, args)                                   \
	static __attribute__((noinline)) int name##_near(                      \
		int at, const char *path, int flags, mode_t mode)              \
	{                                                                      \
		struct kabi_spot spot;                                         \
		bool follow = !(flags & O_NOFOLLOW);                           \
		if (!kabi_path_find(at, &path, follow, &spot))                 \
			return kabi_real()->name args;                         \
		return (int)UTIL_RESULT(                                       \
			spot.err ? spot.err                                    \
				 : kabi_node_open(spot.node, flags));          \
	}                                                                      \
	EXPORT int name params                                                 \
	{                                                                      \
		mode_t mode = 0;                                               \
		va_list ap;                                                    \
		if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) {   \
			va_start(ap, flags);                                   \
			mode = va_arg(ap, mode_t);                             \
			va_end(ap);                                            \
		}                                                              \
		if (!kabi_path_is_near(where, path))                           \
			return kabi_real()->name args;                         \
		return name##_near(where, path, flags, mode);                  \
	}

/* fstatat(2) and similar calls; with AT_EMPTY_PATH they are fstat(). */
#define STUB_STATAT(name, params, ours, args)                                  \
	static __attribute__((noinline)) int name##_near params                \
	{                                                                      \
		struct kabi_spot spot;                                         \
		bool follow = !(flags & AT_SYMLINK_NOFOLLOW);                  \
		const struct kabi_node *node;                                  \
		if (!kabi_path_find(at, &path, follow, &spot))                 \
			return kabi_real()->name args;                         \
		node = spot.node;                                              \
		return (int)UTIL_RESULT(spot.err ? spot.err : (ours));         \
	}                                                                      \
	EXPORT int name params                                                 \
	{                                                                      \
		const struct kabi_node *node = NULL;                           \
		if (flags & AT_EMPTY_PATH)                                     \
			node = kabi_fd_empty_path(at, path);                   \
		if (node)                                                      \
			return (int)UTIL_RESULT(ours);                         \
		if (!kabi_path_is_near(at, path))                              \
			return kabi_real()->name args;                         \
		return name##_near args;                                       \
	}

/* fstat(2) and similar calls. */
#define STUB_FSTAT(name, params, fd, buf, args)                                \
	EXPORT int name params                                                 \
	{                                                                      \
		const struct kabi_node *node = kabi_fd_stat_node(fd);          \
		if (!node)                                                     \
			return kabi_real()->name args;                         \
		return (int)UTIL_RESULT(kabi_node_stat(node, (void *)buf));    \
	}

/* Calls on a DIR *; @ours: the call on a stream over the tree. */
#define STUB_DIR(type, name, params, ours, args)                               \
	EXPORT type name params                                                \
	{                                                                      \
		struct kabi_dir *ours_dir = kabi_dir_of(dir);                  \
		if (!ours_dir)                                                 \
			return kabi_real()->name args;                         \
		return ours;                                                   \
	}

/* ---- open --------------------------------------------------------------- */

STUB_OPEN(open, (const char *path, int flags, ...), AT_FDCWD,
	  (path, flags, mode))
STUB_OPEN(open64, (const char *path, int flags, ...), AT_FDCWD,
	  (path, flags, mode))
STUB_OPEN(openat, (int at, const char *path, int flags, ...), at,
	  (at, path, flags, mode))
STUB_OPEN(openat64, (int at, const char *path, int flags, ...), at,
	  (at, path, flags, mode))

#define OPEN_2(name, params, where, args)                                      \
	STUB_PATH(int, name, params, where, path, !(flags & O_NOFOLLOW),       \
		  kabi_node_open(spot.node, flags), args)

OPEN_2(__open_2, (const char *path, int flags), AT_FDCWD, (path, flags))
OPEN_2(__open64_2, (const char *path, int flags), AT_FDCWD, (path, flags))
OPEN_2(__openat_2, (int at, const char *path, int flags), at, (at, path, flags))
OPEN_2(__openat64_2, (int at, const char *path, int flags), at,
       (at, path, flags))

STUB_PATH_PTR(FILE, fopen, (const char *path, const char *mode), path,
	      kabi_node_fopen(spot.node, mode, NULL), (path, mode))
STUB_PATH_PTR(FILE, fopen64, (const char *path, const char *mode), path,
	      kabi_node_fopen(spot.node, mode, NULL), (path, mode))
STUB_PATH_PTR(FILE, freopen, (const char *path, const char *mode, FILE *file),
	      path, kabi_node_fopen(spot.node, mode, file), (path, mode, file))
STUB_PATH_PTR(FILE, freopen64, (const char *path, const char *mode, FILE *file),
	      path, kabi_node_fopen(spot.node, mode, file), (path, mode, file))

/* ---- stat --------------------------------------------------------------- */

#define STAT(name, params, follow, args)                                       \
	STUB_PATH(int, name, params, AT_FDCWD, path, follow,                   \
		  kabi_node_stat(spot.node, (void *)buf), args)

STAT(stat, (const char *path, struct stat *buf), true, (path, buf))
STAT(stat64, (const char *path, struct stat64 *buf), true, (path, buf))
STAT(lstat, (const char *path, struct stat *buf), false, (path, buf))
STAT(lstat64, (const char *path, struct stat64 *buf), false, (path, buf))
STAT(__xstat, (int ver, const char *path, struct stat *buf), true,
     (ver, path, buf))
STAT(__xstat64, (int ver, const char *path, struct stat64 *buf), true,
     (ver, path, buf))
STAT(__lxstat, (int ver, const char *path, struct stat *buf), false,
     (ver, path, buf))
STAT(__lxstat64, (int ver, const char *path, struct stat64 *buf), false,
     (ver, path, buf))

STUB_FSTAT(fstat, (int fd, struct stat *buf), fd, buf, (fd, buf))
STUB_FSTAT(fstat64, (int fd, struct stat64 *buf), fd, buf, (fd, buf))
STUB_FSTAT(__fxstat, (int ver, int fd, struct stat *buf), fd, buf,
	   (ver, fd, buf))
STUB_FSTAT(__fxstat64, (int ver, int fd, struct stat64 *buf), fd, buf,
	   (ver, fd, buf))

STUB_STATAT(fstatat, (int at, const char *path, struct stat *buf, int flags),
	    kabi_node_stat(node, buf), (at, path, buf, flags))
STUB_STATAT(fstatat64,
	    (int at, const char *path, struct stat64 *buf, int flags),
	    kabi_node_stat(node, (void *)buf), (at, path, buf, flags))
STUB_STATAT(__fxstatat,
	    (int ver, int at, const char *path, struct stat *buf, int flags),
	    kabi_node_stat(node, buf), (ver, at, path, buf, flags))
STUB_STATAT(__fxstatat64,
	    (int ver, int at, const char *path, struct stat64 *buf, int flags),
	    kabi_node_stat(node, (void *)buf), (ver, at, path, buf, flags))
STUB_STATAT(statx,
	    (int at, const char *path, int flags, unsigned int mask,
	     struct statx *buf),
	    kabi_node_statx(node, buf), (at, path, flags, mask, buf))

/* ---- access, links, attributes ------------------------------------------ */

#define ACCESS(name, params, where, follow, args)                              \
	STUB_PATH(int, name, params, where, path, follow,                      \
		  kabi_node_access(spot.node, mode), args)

ACCESS(access, (const char *path, int mode), AT_FDCWD, true, (path, mode))
ACCESS(eaccess, (const char *path, int mode), AT_FDCWD, true, (path, mode))
ACCESS(euidaccess, (const char *path, int mode), AT_FDCWD, true, (path, mode))
ACCESS(faccessat, (int at, const char *path, int mode, int flags), at,
       !(flags & AT_SYMLINK_NOFOLLOW), (at, path, mode, flags))

#define READLINK(name, params, where, args)                                    \
	STUB_PATH(ssize_t, name, params, where, path, false,                   \
		  kabi_node_readlink(spot.node, buf, len), args)

READLINK(readlink, (const char *path, char *buf, size_t len), AT_FDCWD,
	 (path, buf, len))
READLINK(readlinkat, (int at, const char *path, char *buf, size_t len), at,
	 (at, path, buf, len))
READLINK(__readlink_chk, (const char *path, char *buf, size_t len, size_t size),
	 AT_FDCWD, (path, buf, len, size))
READLINK(__readlinkat_chk,
	 (int at, const char *path, char *buf, size_t len, size_t size), at,
	 (at, path, buf, len, size))

STUB_PATH_PTR(char, realpath, (const char *path, char *resolved), path,
	      kabi_node_realpath(spot.node, resolved), (path, resolved))
STUB_PATH_PTR(char, __realpath_chk,
	      (const char *path, char *resolved, size_t size), path,
	      kabi_node_realpath(spot.node, resolved), (path, resolved, size))
STUB_PATH_PTR(char, canonicalize_file_name, (const char *path), path,
	      kabi_node_realpath(spot.node, NULL), (path))

/* Like sysfs without security labels; ls -l asks for them. */
#define XATTR(name, params, follow, args)                                      \
	STUB_PATH(ssize_t, name, params, AT_FDCWD, path, follow, -ENOTSUP, args)

XATTR(getxattr, (const char *path, const char *key, void *value, size_t len),
      true, (path, key, value, len))
XATTR(lgetxattr, (const char *path, const char *key, void *value, size_t len),
      false, (path, key, value, len))
XATTR(listxattr, (const char *path, char *list, size_t len), true,
      (path, list, len))
XATTR(llistxattr, (const char *path, char *list, size_t len), false,
      (path, list, len))

/* ---- directories -------------------------------------------------------- */

STUB_PATH_PTR(DIR, opendir, (const char *path), path, kabi_dir_open(spot.node),
	      (path))

EXPORT DIR *fdopendir(int fd)
{
	const struct kabi_node *node = kabi_fd_node(fd);

	return node ? kabi_dir_open_fd(node, fd) : kabi_real()->fdopendir(fd);
}

STUB_DIR(struct dirent *, readdir, (DIR * dir), (void *)kabi_dir_read(ours_dir),
	 (dir))
STUB_DIR(struct dirent64 *, readdir64, (DIR * dir), kabi_dir_read(ours_dir),
	 (dir))
STUB_DIR(int, readdir_r, (DIR * dir, struct dirent *entry, struct dirent **ret),
	 kabi_dir_read_r(ours_dir, (void *)entry, (void *)ret),
	 (dir, entry, ret))
STUB_DIR(int, readdir64_r,
	 (DIR * dir, struct dirent64 *entry, struct dirent64 **ret),
	 kabi_dir_read_r(ours_dir, entry, ret), (dir, entry, ret))
STUB_DIR(int, closedir, (DIR * dir), (int)UTIL_RESULT(kabi_dir_close(ours_dir)),
	 (dir))
STUB_DIR(void, rewinddir, (DIR * dir), kabi_dir_seek(ours_dir, 0), (dir))
STUB_DIR(void, seekdir, (DIR * dir, long pos), kabi_dir_seek(ours_dir, pos),
	 (dir, pos))
STUB_DIR(long, telldir, (DIR * dir), ours_dir->pos, (dir))
STUB_DIR(int, dirfd, (DIR * dir), ours_dir->fd, (dir))

#define SCANDIR(name, entry, where, params, args)                              \
	STUB_PATH(int, name, params, where, path, true,                        \
		  kabi_dir_scan(spot.node, (void *)list, (void *)filter,       \
				(void *)compar),                               \
		  args)

SCANDIR(scandir, dirent, AT_FDCWD,
	(const char *path, struct dirent ***list,
	 int (*filter)(const struct dirent *),
	 int (*compar)(const struct dirent **, const struct dirent **)),
	(path, list, filter, compar))
SCANDIR(scandir64, dirent64, AT_FDCWD,
	(const char *path, struct dirent64 ***list,
	 int (*filter)(const struct dirent64 *),
	 int (*compar)(const struct dirent64 **, const struct dirent64 **)),
	(path, list, filter, compar))
SCANDIR(scandirat, dirent, at,
	(int at, const char *path, struct dirent ***list,
	 int (*filter)(const struct dirent *),
	 int (*compar)(const struct dirent **, const struct dirent **)),
	(at, path, list, filter, compar))
SCANDIR(scandirat64, dirent64, at,
	(int at, const char *path, struct dirent64 ***list,
	 int (*filter)(const struct dirent64 *),
	 int (*compar)(const struct dirent64 **, const struct dirent64 **)),
	(at, path, list, filter, compar))

#define STUB_GLOB(name, type)                                                  \
	EXPORT int name(const char *pattern, int flags,                        \
			int (*errfunc)(const char *path, int err),             \
			type *found)                                           \
	{                                                                      \
		if ((flags & GLOB_ALTDIRFUNC) ||                               \
		    !kabi_path_is_near(AT_FDCWD, pattern))                     \
			return kabi_real()->name(pattern, flags, errfunc,      \
						 found);                       \
		return kabi_dir_glob(pattern, flags, errfunc, (void *)found);  \
	}

STUB_GLOB(glob, glob_t)
STUB_GLOB(glob64, glob64_t)

/* ---- the current directory ----------------------------------------------- */

EXPORT int chdir(const char *path)
{
	if (!kabi_cwd_is_near() && !kabi_path_is_near(AT_FDCWD, path))
		return kabi_real()->chdir(path);
	return (int)UTIL_RESULT(kabi_chdir(path));
}

EXPORT int fchdir(int fd)
{
	const struct kabi_node *node = kabi_fd_node(fd);

	if (!kabi_cwd_is_near() && !node)
		return kabi_real()->fchdir(fd);
	return (int)UTIL_RESULT(kabi_fchdir(fd, node));
}

#define STUB_GETCWD(name, params, buf, size, args)                             \
	EXPORT char *name params                                               \
	{                                                                      \
		const struct kabi_node *node = NULL;                           \
		if (kabi_cwd_is_near())                                        \
			node = kabi_path_cwd();                                \
		if (!node)                                                     \
			return kabi_real()->name args;                         \
		return kabi_cwd_get(node, buf, size);                          \
	}

STUB_GETCWD(getcwd, (char *buf, size_t size), buf, size, (buf, size))
STUB_GETCWD(__getcwd_chk, (char *buf, size_t size, size_t buf_size), buf, size,
	    (buf, size, buf_size))
STUB_GETCWD(getwd, (char *buf), buf, PATH_MAX, (buf))
STUB_GETCWD(__getwd_chk, (char *buf, size_t buf_size), buf, buf_size,
	    (buf, buf_size))
STUB_GETCWD(get_current_dir_name, (void), NULL, 0, ())

/* ---- descriptors -------------------------------------------------------- */

#define STUB_READ(name, params, args)                                          \
	EXPORT ssize_t name params                                             \
	{                                                                      \
		enum rnic_fd_kind kind = kabi_fd_kind(fd);                     \
		ssize_t ret;                                                   \
		if (kind != RNIC_FD_NONE)                                      \
			return UTIL_RESULT(kabi_fd_read(fd, kind, buf, len));  \
		kabi_fd_refresh(fd);                                           \
		ret = kabi_real()->name args;                                  \
		if (ret < 0 && errno == EBADF && kabi_fd_node(fd))             \
			errno = EISDIR; /* not EBADF */                        \
		return ret;                                                    \
	}

STUB_READ(read, (int fd, void *buf, size_t len), (fd, buf, len))
STUB_READ(__read_chk, (int fd, void *buf, size_t len, size_t size),
	  (fd, buf, len, size))

EXPORT ssize_t write(int fd, const void *buf, size_t len)
{
	enum rnic_fd_kind kind = kabi_fd_kind(fd);
	struct kabi_netlink *nl;

	if (kind != RNIC_FD_NONE)
		return UTIL_RESULT(kabi_fd_write(fd, kind, buf, len));
	nl = kabi_netlink_is_near(fd) ? kabi_netlink_get(fd) : NULL;
	if (nl)
		return UTIL_RESULT(
			kabi_netlink_send(nl, fd, buf, len, NULL, 0));
	return kabi_real()->write(fd, buf, len);
}

/*
 * RDMA's requests fail as in a kernel without them, so that libibverbs uses
 * write() and sysfs.  They do not reach the eventfd behind the descriptor,
 * because a sandbox or an emulator may return another errno.  All other
 * requests go to the eventfd.  Descriptors inherited over fork answer none.
 */
EXPORT int ioctl(int fd, unsigned long request, ...)
{
	enum rnic_fd_kind kind = kabi_fd_kind(fd);
	void *arg;
	va_list ap;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (kind == RNIC_FD_DEAD)
		return (int)UTIL_RESULT(-ENODEV);
	if (kind != RNIC_FD_NONE && _IOC_TYPE(request) == RDMA_IOCTL_MAGIC)
		return (int)UTIL_RESULT(-ENOTTY);
	return kabi_real()->ioctl(fd, request, arg);
}

#define STUB_ANY_FD(name, params, is_plain, ours, args)                        \
	EXPORT int name params                                                 \
	{                                                                      \
		if (!kabi_is_touched() || (is_plain))                          \
			return kabi_real()->name args;                         \
		return (int)UTIL_RESULT(ours);                                 \
	}

STUB_ANY_FD(close, (int fd), false, kabi_fd_close(fd), (fd))
STUB_ANY_FD(close_range, (unsigned int first, unsigned int last, int flags),
	    false, kabi_fd_close_range(first, last, flags),
	    (first, last, flags))
STUB_ANY_FD(dup, (int fd), false, kabi_fd_dup(fd, 0, false), (fd))
STUB_ANY_FD(dup2, (int fd, int new_fd), fd == new_fd,
	    kabi_fd_dup3(fd, new_fd, 0), (fd, new_fd))
STUB_ANY_FD(dup3, (int fd, int new_fd, int flags), fd == new_fd,
	    kabi_fd_dup3(fd, new_fd, flags), (fd, new_fd, flags))

EXPORT void closefrom(int lowest)
{
	if (kabi_is_touched())
		kabi_fd_close_from(lowest < 0 ? 0 : (unsigned int)lowest);
	else
		kabi_real()->closefrom(lowest);
}

#define STUB_FCNTL(name)                                                       \
	EXPORT int name(int fd, int cmd, ...)                                  \
	{                                                                      \
		void *arg;                                                     \
		va_list ap;                                                    \
		va_start(ap, cmd);                                             \
		arg = va_arg(ap, void *);                                      \
		va_end(ap);                                                    \
		if ((cmd != F_DUPFD && cmd != F_DUPFD_CLOEXEC) ||              \
		    !kabi_is_touched())                                        \
			return kabi_real()->name(fd, cmd, arg);                \
		return (int)UTIL_RESULT(kabi_fd_dup(fd, (int)(intptr_t)arg,    \
						    cmd == F_DUPFD_CLOEXEC));  \
	}

STUB_FCNTL(fcntl)
STUB_FCNTL(fcntl64)

/* ---- sockets: those of NETLINK_RDMA -------------------------------------- */

EXPORT int socket(int domain, int type, int protocol)
{
	if (domain == AF_NETLINK && protocol == NETLINK_RDMA)
		return (int)UTIL_RESULT(kabi_netlink_socket(type));
	return kabi_real()->socket(domain, type, protocol);
}

/* @ours drops the reference @nl. */
#define STUB_NETLINK(type, name, params, ours, args)                           \
	EXPORT type name params                                                \
	{                                                                      \
		struct kabi_netlink *nl = NULL;                                \
		if (kabi_netlink_is_near(fd))                                  \
			nl = kabi_netlink_get(fd);                             \
		if (!nl)                                                       \
			return kabi_real()->name args;                         \
		return (type)UTIL_RESULT(ours);                                \
	}

STUB_NETLINK(ssize_t, send, (int fd, const void *buf, size_t len, int flags),
	     kabi_netlink_send(nl, fd, buf, len, NULL, 0),
	     (fd, buf, len, flags))
STUB_NETLINK(ssize_t, sendto,
	     (int fd, const void *buf, size_t len, int flags,
	      const struct sockaddr *addr, socklen_t addr_len),
	     kabi_netlink_send(nl, fd, buf, len, addr, addr_len),
	     (fd, buf, len, flags, addr, addr_len))
STUB_NETLINK(ssize_t, sendmsg, (int fd, const struct msghdr *msg, int flags),
	     kabi_netlink_sendmsg(nl, fd, msg), (fd, msg, flags))
STUB_NETLINK(int, sendmmsg,
	     (int fd, struct mmsghdr *msgs, unsigned int cnt, int flags),
	     kabi_netlink_sendmmsg(nl, fd, msgs, cnt), (fd, msgs, cnt, flags))
STUB_NETLINK(ssize_t, writev, (int fd, const struct iovec *iov, int cnt),
	     kabi_netlink_writev(nl, fd, iov, cnt), (fd, iov, cnt))

STUB_NETLINK(ssize_t, recvfrom,
	     (int fd, void *buf, size_t len, int flags, struct sockaddr *addr,
	      socklen_t *addr_len),
	     kabi_netlink_recvfrom(nl, fd, buf, len, flags, addr, addr_len),
	     (fd, buf, len, flags, addr, addr_len))
STUB_NETLINK(ssize_t, __recvfrom_chk,
	     (int fd, void *buf, size_t len, size_t size, int flags,
	      struct sockaddr *addr, socklen_t *addr_len),
	     kabi_netlink_recvfrom(nl, fd, buf, len, flags, addr, addr_len),
	     (fd, buf, len, size, flags, addr, addr_len))
STUB_NETLINK(ssize_t, recvmsg, (int fd, struct msghdr *msg, int flags),
	     kabi_netlink_recvmsg(nl, fd, msg, flags), (fd, msg, flags))
STUB_NETLINK(int, recvmmsg,
	     (int fd, struct mmsghdr *msgs, unsigned int cnt, int flags,
	      struct timespec *limit),
	     kabi_netlink_recvmmsg(nl, fd, msgs, cnt, flags, limit),
	     (fd, msgs, cnt, flags, limit))

STUB_NETLINK(int, connect, (int fd, const struct sockaddr *addr, socklen_t len),
	     kabi_netlink_connect(nl, addr, len), (fd, addr, len))
STUB_NETLINK(int, getsockname, (int fd, struct sockaddr *addr, socklen_t *len),
	     kabi_netlink_getsockname(nl, addr, len), (fd, addr, len))
STUB_NETLINK(int, getpeername, (int fd, struct sockaddr *addr, socklen_t *len),
	     kabi_netlink_getpeername(nl, addr, len), (fd, addr, len))
STUB_NETLINK(int, setsockopt,
	     (int fd, int level, int name, const void *value, socklen_t len),
	     kabi_netlink_setsockopt(nl, fd, level, name, value, len),
	     (fd, level, name, value, len))
STUB_NETLINK(int, getsockopt,
	     (int fd, int level, int name, void *value, socklen_t *len),
	     kabi_netlink_getsockopt(nl, fd, level, name, value, len),
	     (fd, level, name, value, len))

/* ---- sockets: TCP ports -------------------------------------------------- */

/*
 * A TCP port that an identity of rdma_cm holds is given to a TCP socket of the
 * program, because under a kernel with RoCE or InfiniBand the two ports are
 * independent.  A call that succeeds costs one comparison.
 */
EXPORT int bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct kabi_netlink *nl = NULL;
	int ret;

	if (kabi_netlink_is_near(fd))
		nl = kabi_netlink_get(fd);
	if (nl)
		return (int)UTIL_RESULT(kabi_netlink_bind(nl, addr, len));
	ret = kabi_real()->bind(fd, addr, len);
	if (ret < 0 && errno == EADDRINUSE && kabi_is_touched() &&
	    kabi_fd_make_way(fd, addr, len))
		ret = kabi_real()->bind(fd, addr, len);
	return ret;
}

EXPORT int listen(int fd, int backlog)
{
	int ret = kabi_real()->listen(fd, backlog);

	if (ret < 0 && errno == EADDRINUSE && kabi_is_touched() &&
	    kabi_fd_make_way(fd, NULL, 0))
		ret = kabi_real()->listen(fd, backlog);
	return ret;
}

/* ---- signals ------------------------------------------------------------ */

/* Calls that install an action; @ours: the call for the signals that the RNIC
 * catches. */
#define STUB_SIGNAL(type, name, params, ours, args)                            \
	EXPORT type name params                                                \
	{                                                                      \
		if (!kabi_sig_is_guarded(sig))                                 \
			return kabi_real()->name args;                         \
		return ours;                                                   \
	}

STUB_SIGNAL(int, sigaction,
	    (int sig, const struct sigaction *act, struct sigaction *old),
	    (int)UTIL_RESULT(kabi_sig_action(sig, act, old)), (sig, act, old))

#define SIGNAL(name, flags)                                                    \
	STUB_SIGNAL(kabi_sighandler, name, (int sig, kabi_sighandler handler), \
		    kabi_sig_signal(sig, handler, flags), (sig, handler))

SIGNAL(signal, SA_RESTART)
SIGNAL(bsd_signal, SA_RESTART)
SIGNAL(ssignal, SA_RESTART)
SIGNAL(sysv_signal, (int)SA_RESETHAND | SA_NODEFER)
SIGNAL(__sysv_signal, (int)SA_RESETHAND | SA_NODEFER)
STUB_SIGNAL(kabi_sighandler, sigset, (int sig, kabi_sighandler handler),
	    kabi_sig_set(sig, handler), (sig, handler))
STUB_SIGNAL(int, sigignore, (int sig),
	    kabi_sig_signal(sig, SIG_IGN, 0) == SIG_ERR ? -1 : 0, (sig))
STUB_SIGNAL(int, sighold, (int sig), 0, (sig))
STUB_SIGNAL(int, siginterrupt, (int sig, int flag),
	    (int)UTIL_RESULT(kabi_sig_interrupt(sig, flag)), (sig, flag))

#define STUB_SIGMASK(name)                                                     \
	EXPORT int name(int how, const sigset_t *set, sigset_t *old)           \
	{                                                                      \
		sigset_t buf;                                                  \
		return kabi_real()->name(                                      \
			how, kabi_sig_blockable(how, set, &buf), old);         \
	}

STUB_SIGMASK(pthread_sigmask)
STUB_SIGMASK(sigprocmask)

#define STUB_SIGBITS(name)                                                     \
	EXPORT int name(int bits)                                              \
	{                                                                      \
		return kabi_real()->name(kabi_sig_blockable_bits(bits));       \
	}

STUB_SIGBITS(sigblock)
STUB_SIGBITS(sigsetmask)

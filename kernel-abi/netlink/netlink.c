/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sockets of NETLINK_RDMA: creation, names, options, receiving. */
#include "netlink/netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/cancel.h"
#include "base/process.h"
#include "base/provider.h"
#include "base/real.h"
#include "tree/touch.h"
#include "base/user.h"

/* Limit of unread replies; the kernel applies its limit for all sockets. */
#define QUEUE_OCTETS (1 << 20)

/* The kernel first tries the process ID as the port, then these numbers. */
#define PORT_AUTO 0xfffff000u

/* The only kind of the table. */
enum { FD_NETLINK = UTIL_FD_NONE + 1 };

_Atomic(struct util_fdtab *) kabi_netlink_fds;

static struct kabi_netlink *sockets; /* under kabi_lock */

/* ---- the table ---------------------------------------------------------- */

static struct util_fdtab *netlink_start(void)
{
	struct util_fdtab *fds;

	util_lock(&kabi_lock);
	fds = atomic_load_explicit(&kabi_netlink_fds, memory_order_relaxed);
	if (!fds) {
		fds = util_fdtab_new();
		/* release: the table before its pointer */
		atomic_store_explicit(&kabi_netlink_fds, fds,
				      memory_order_release);
	}
	util_unlock(&kabi_lock);
	return fds;
}

/* The inode of the socket that @fd is; 0: it is none. */
static ino_t socket_ino(int fd)
{
	struct stat st;

	if (kabi_real()->fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode))
		return 0;
	return st.st_ino;
}

static void netlink_put_locked(struct kabi_netlink *nl)
{
	struct kabi_netlink **where = &sockets;

	util_lock_assert_held(&kabi_lock);
	if (--nl->ref_cnt > 0)
		return;
	while (*where != nl)
		where = &(*where)->next;
	*where = nl->next;
	free(nl);
}

void kabi_netlink_put(struct kabi_netlink *nl)
{
	util_lock(&kabi_lock);
	netlink_put_locked(nl);
	util_unlock(&kabi_lock);
}

/* Drops the table's reference to the socket at @fd. */
static void fd_forget_locked(struct util_fdtab *fds, int fd)
{
	void *object = NULL;

	if (util_fdtab_lookup(fds, fd, &object) == UTIL_FD_NONE)
		return;
	util_fdtab_remove(fds, fd);
	netlink_put_locked(object);
}

struct kabi_netlink *kabi_netlink_get(int fd)
{
	struct util_fdtab *fds =
		atomic_load_explicit(&kabi_netlink_fds, memory_order_acquire);
	struct kabi_netlink *nl = NULL;
	int saved_errno = errno;
	ino_t ino = socket_ino(fd);
	void *object = NULL;

	errno = saved_errno;
	util_lock(&kabi_lock);
	if (util_fdtab_lookup(fds, fd, &object) != UTIL_FD_NONE) {
		nl = object;
		if (nl->ino == ino) {
			nl->ref_cnt++;
		} else {
			nl = NULL;
			if (kabi_is_owner())
				fd_forget_locked(fds, fd);
		}
	}
	util_unlock(&kabi_lock);
	return nl;
}

void kabi_netlink_fd_close(int fd)
{
	if (!kabi_netlink_is_near(fd) || !kabi_is_owner())
		return;
	util_lock(&kabi_lock);
	fd_forget_locked(
		atomic_load_explicit(&kabi_netlink_fds, memory_order_relaxed),
		fd);
	util_unlock(&kabi_lock);
}

void kabi_netlink_fd_dup(int fd, int new_fd)
{
	struct kabi_netlink *nl;

	kabi_netlink_fd_close(new_fd);
	nl = kabi_netlink_is_near(fd) ? kabi_netlink_get(fd) : NULL;
	if (!nl)
		return;
	/* The table takes over the reference. */
	if (util_fdtab_add(atomic_load_explicit(&kabi_netlink_fds,
						memory_order_relaxed),
			   new_fd, FD_NETLINK, nl) < 0)
		kabi_netlink_put(nl);
}

/* ---- socket ------------------------------------------------------------- */

/*
 * A socket needs a name to be connected to.  Between bind and connect any
 * process may send to that name; such datagrams are removed.
 */
static int connect_to_itself(int fd)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(addr);
	int size = QUEUE_OCTETS;
	char octet;

	if (kabi_real()->bind(fd, (struct sockaddr *)&addr,
			      sizeof(addr.sun_family)) < 0 ||
	    kabi_real()->getsockname(fd, (struct sockaddr *)&addr, &len) < 0 ||
	    kabi_real()->connect(fd, (struct sockaddr *)&addr, len) < 0)
		return -errno;
	while (kabi_real()->recvfrom(fd, &octet, sizeof(octet), MSG_DONTWAIT,
				     NULL, NULL) >= 0)
		;
	(void)kabi_real()->setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size,
				      sizeof(size));
	return 0;
}

/* Return: the socket, in the list, with one reference; NULL: no memory. */
static struct kabi_netlink *netlink_new(int fd, int type)
{
	struct kabi_netlink *nl = calloc(1, sizeof(*nl));

	if (!nl)
		return NULL;
	nl->ino = socket_ino(fd);
	nl->type = type;
	nl->ref_cnt = 1;
	util_lock(&kabi_lock);
	nl->next = sockets;
	sockets = nl;
	util_unlock(&kabi_lock);
	return nl;
}

int kabi_netlink_socket(int type)
{
	UTIL_CANCEL_OFF();
	const int flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
	struct kabi_netlink *nl;
	struct util_fdtab *fds;
	int fd, ret;

	if ((type & ~flags) != SOCK_RAW && (type & ~flags) != SOCK_DGRAM)
		return -ESOCKTNOSUPPORT;
	if (!kabi_touch())
		return -EPROTONOSUPPORT; /* no device could be shown */
	/* A libibverbs looks for devices, perhaps one that was loaded late. */
	kabi_provider_check_libraries();
	fds = netlink_start();
	if (!fds)
		return -ENOMEM;
	fd = kabi_real()->socket(AF_UNIX, SOCK_DGRAM | (type & flags), 0);
	if (fd < 0)
		return -errno;
	ret = connect_to_itself(fd);
	if (ret < 0)
		goto close_fd;
	ret = -ENOMEM;
	nl = netlink_new(fd, type & ~flags);
	if (!nl)
		goto close_fd;
	kabi_netlink_fd_close(fd); /* a stale entry of that number */
	ret = util_fdtab_add(fds, fd, FD_NETLINK, nl);
	if (ret < 0)
		goto put_nl;
	return fd;

put_nl:
	kabi_netlink_put(nl);
close_fd:
	kabi_real()->close(fd);
	return ret;
}

/* ---- names -------------------------------------------------------------- */

/* Return: 0; -EADDRINUSE. */
static int port_take_locked(struct kabi_netlink *nl, uint32_t portid)
{
	struct kabi_netlink *other;

	util_lock_assert_held(&kabi_lock);
	for (other = sockets; other; other = other->next)
		if (atomic_load_explicit(&other->portid,
					 memory_order_relaxed) == portid)
			return -EADDRINUSE;
	atomic_store_explicit(&nl->portid, portid, memory_order_relaxed);
	return 0;
}

void kabi_netlink_autobind(struct kabi_netlink *nl)
{
	uint32_t portid = (uint32_t)getpid(), next = PORT_AUTO;

	util_lock(&kabi_lock);
	if (!atomic_load_explicit(&nl->portid, memory_order_relaxed))
		while (port_take_locked(nl, portid) < 0)
			portid = --next;
	util_unlock(&kabi_lock);
}

/* The kernel's own address is all zeroes except the family. */
static int name_get(const struct sockaddr *addr, socklen_t len,
		    struct sockaddr_nl *ret_name)
{
	int ret;

	if (len < sizeof(*ret_name))
		return -EINVAL;
	ret = kabi_user_get(ret_name, (uintptr_t)addr, sizeof(*ret_name));
	if (ret < 0)
		return ret;
	return ret_name->nl_family == AF_NETLINK ? 0 : -EINVAL;
}

/* Copies as much as fits, and returns the whole length. */
static int name_put(uint32_t portid, struct sockaddr *addr, socklen_t *len)
{
	struct sockaddr_nl name = { .nl_family = AF_NETLINK, .nl_pid = portid };
	socklen_t size, whole = sizeof(name);
	int ret = kabi_user_get(&size, (uintptr_t)len, sizeof(size));

	if (ret < 0)
		return ret;
	if ((int)size < 0)
		return -EINVAL;
	ret = kabi_user_put((uintptr_t)addr, &name,
			    size < whole ? size : whole);
	if (ret < 0)
		return ret;
	return kabi_user_put((uintptr_t)len, &whole, sizeof(whole));
}

int kabi_netlink_bind(struct kabi_netlink *nl, const struct sockaddr *addr,
		      socklen_t len)
{
	struct sockaddr_nl name;
	uint32_t now;
	int ret = name_get(addr, len, &name);

	if (ret == 0 && name.nl_pid == 0)
		kabi_netlink_autobind(nl);
	if (ret == 0 && name.nl_pid != 0) {
		util_lock(&kabi_lock);
		now = atomic_load_explicit(&nl->portid, memory_order_relaxed);
		if (now)
			ret = now == name.nl_pid ? 0 : -EINVAL;
		else
			ret = port_take_locked(nl, name.nl_pid);
		util_unlock(&kabi_lock);
	}
	kabi_netlink_put(nl);
	return ret;
}

/* The only possible peer is the kernel. */
int kabi_netlink_connect(struct kabi_netlink *nl, const struct sockaddr *addr,
			 socklen_t len)
{
	struct sockaddr_nl name;
	int ret = name_get(addr, len, &name);

	if (ret == 0 && (name.nl_pid || name.nl_groups))
		ret = -EPERM;
	if (ret == 0)
		kabi_netlink_autobind(nl);
	kabi_netlink_put(nl);
	return ret;
}

int kabi_netlink_getsockname(struct kabi_netlink *nl, struct sockaddr *addr,
			     socklen_t *len)
{
	uint32_t portid =
		atomic_load_explicit(&nl->portid, memory_order_relaxed);

	kabi_netlink_put(nl);
	return name_put(portid, addr, len);
}

int kabi_netlink_getpeername(struct kabi_netlink *nl, struct sockaddr *addr,
			     socklen_t *len)
{
	kabi_netlink_put(nl);
	return name_put(0, addr, len);
}

/* ---- options ------------------------------------------------------------ */

bool kabi_netlink_option(const struct kabi_netlink *nl, int name)
{
	return atomic_load_explicit(&nl->options, memory_order_relaxed) &
	       1u << name;
}

static int option_set(struct kabi_netlink *nl, int name, const void *value,
		      socklen_t len)
{
	int on, ret;

	if (len < sizeof(on))
		return -EINVAL;
	ret = kabi_user_get(&on, (uintptr_t)value, sizeof(on));
	if (ret < 0)
		return ret;
	switch (name) {
	case NETLINK_ADD_MEMBERSHIP:
	case NETLINK_DROP_MEMBERSHIP:
		/* Multicast groups, in which no message is ever sent. */
		return on > 0 && on <= 32 ? 0 : -EINVAL;
	case NETLINK_PKTINFO:
	case NETLINK_BROADCAST_ERROR:
	case NETLINK_NO_ENOBUFS:
	case NETLINK_CAP_ACK:
	case NETLINK_EXT_ACK:
	case NETLINK_GET_STRICT_CHK:
		break;
	default:
		return -ENOPROTOOPT;
	}
	if (on)
		atomic_fetch_or_explicit(&nl->options, 1u << name,
					 memory_order_relaxed);
	else
		atomic_fetch_and_explicit(&nl->options, ~(1u << name),
					  memory_order_relaxed);
	return 0;
}

int kabi_netlink_setsockopt(struct kabi_netlink *nl, int fd, int level,
			    int name, const void *value, socklen_t len)
{
	int ret = 0;

	if (level == SOL_NETLINK) {
		ret = option_set(nl, name, value, len);
	} else if (level != SOL_SOCKET ||
		   (name != SO_SNDBUF && name != SO_SNDBUFFORCE)) {
		/* The send buffer, which has requests in the kernel, has the
		 * replies here.  Its size is not changed. */
		ret = kabi_real()->setsockopt(fd, level, name, value, len);
		ret = ret < 0 ? -errno : 0;
	}
	kabi_netlink_put(nl);
	return ret;
}

static int int_put(int value, void *out, socklen_t *len)
{
	socklen_t size, whole = sizeof(value);
	int ret = kabi_user_get(&size, (uintptr_t)len, sizeof(size));

	if (ret < 0)
		return ret;
	if ((int)size < 0)
		return -EINVAL;
	if (size < whole)
		whole = size;
	ret = kabi_user_put((uintptr_t)out, &value, whole);
	if (ret < 0)
		return ret;
	return kabi_user_put((uintptr_t)len, &whole, sizeof(whole));
}

int kabi_netlink_getsockopt(struct kabi_netlink *nl, int fd, int level,
			    int name, void *value, socklen_t *len)
{
	int answer = -1, ret;

	if (level == SOL_NETLINK)
		answer = name > 0 && name < 32 ? kabi_netlink_option(nl, name)
					       : -1;
	else if (level == SOL_SOCKET && name == SO_DOMAIN)
		answer = AF_NETLINK;
	else if (level == SOL_SOCKET && name == SO_PROTOCOL)
		answer = NETLINK_RDMA;
	else if (level == SOL_SOCKET && name == SO_TYPE)
		answer = nl->type;
	kabi_netlink_put(nl);
	if (answer >= 0)
		return int_put(answer, value, len);
	ret = kabi_real()->getsockopt(fd, level, name, value, len);
	return ret < 0 ? -errno : 0;
}

/* ---- receiving, with the sender's name replaced ------------------------- */

/* @size: of the buffer for the name. */
static int sender_put(struct msghdr *msg, socklen_t size)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	if (!msg->msg_name)
		return 0;
	msg->msg_namelen = sizeof(kernel);
	return kabi_user_put((uintptr_t)msg->msg_name, &kernel,
			     size < sizeof(kernel) ? size : sizeof(kernel));
}

ssize_t kabi_netlink_recvmsg(struct kabi_netlink *nl, int fd,
			     struct msghdr *msg, int flags)
{
	struct msghdr before;
	ssize_t len;
	int ret;

	kabi_netlink_put(nl); /* a thread may be cancelled below */
	ret = kabi_user_get(&before, (uintptr_t)msg, sizeof(before));
	if (ret < 0)
		return ret;
	len = kabi_real()->recvmsg(fd, msg, flags);
	if (len < 0)
		return -errno;
	ret = sender_put(msg, before.msg_namelen);
	return ret < 0 ? ret : len;
}

/* One by one, because each needs the size of its buffer for the name. */
int kabi_netlink_recvmmsg(struct kabi_netlink *nl, int fd, struct mmsghdr *msgs,
			  unsigned int cnt, int flags, struct timespec *limit)
{
	socklen_t size;
	int got = 0, ret = 1;

	kabi_netlink_put(nl);
	while (ret == 1 && (unsigned int)got < cnt) {
		size = msgs[got].msg_hdr.msg_namelen;
		ret = kabi_real()->recvmmsg(fd, &msgs[got], 1,
					    flags & ~MSG_WAITFORONE, limit);
		if (ret < 0)
			ret = -errno;
		else if (ret == 1)
			ret = sender_put(&msgs[got].msg_hdr, size) < 0 ? -EFAULT
								       : 1;
		if (ret == 1)
			got++;
		if (flags & MSG_WAITFORONE)
			flags |= MSG_DONTWAIT;
	}
	return got ? got : ret;
}

ssize_t kabi_netlink_recvfrom(struct kabi_netlink *nl, int fd, void *buf,
			      size_t len, int flags, struct sockaddr *addr,
			      socklen_t *addr_len)
{
	ssize_t got;
	int ret;

	kabi_netlink_put(nl);
	got = kabi_real()->recvfrom(fd, buf, len, flags, NULL, NULL);
	if (got < 0)
		return -errno;
	if (!addr)
		return got;
	ret = name_put(0, addr, addr_len);
	return ret < 0 ? ret : got;
}

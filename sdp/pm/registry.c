/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The registry: abstract names usiw-sdp/1/INODE/PORT/NONCE.  INODE is that of
 * the TCP listener, PORT its SDP port, both decimal.  NONCE is random, so that
 * no process can take the name beforehand and prevent the announcement.
 * With "cm/" before NONCE the port is one of rdma_cm.
 */
#define _GNU_SOURCE
#include "pm/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/cancel.h"
#include "util/keep-errno.h"
#include "util/lock.h"
#include "pm/sock-diag.h"

#define NAME_PREFIX "usiw-sdp/1/"
#define NAME_CM "cm/"
#define NAME_CM_LEN (sizeof(NAME_CM) - 1)
#define BIND_TRIES 8

/* The cache of results. A dump of all names for each of a thousand connections
 * would take noticeable time. */
#define CACHE_SIZE 64u
#define CACHE_NS 500000000ull

struct cache_entry {
	uint32_t inode;
	uint32_t port; /* 0: none */
	bool is_cm;
	int err;
	uint64_t until_ns; /* 0: empty */
};

static struct cache_entry cache[CACHE_SIZE];
static struct util_lock cache_lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF);

/* snprintf() is not async-signal-safe; listen() is. */
static char *put_number(char *out, uint32_t value)
{
	char digits[10];
	size_t cnt = 0;

	do
		digits[cnt++] = (char)('0' + value % 10);
	while (value /= 10);
	while (cnt)
		*out++ = digits[--cnt];
	return out;
}

static int name_bind(int fd, uint32_t inode, uint16_t sdp_port, bool is_cm)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	uint32_t nonce;
	char *end;

	for (int i = 0; i < BIND_TRIES; i++) {
		if (getrandom(&nonce, sizeof(nonce), GRND_NONBLOCK) < 0)
			nonce = (uint32_t)getpid() + (uint32_t)i;
		end = addr.sun_path + 1;
		memcpy(end, NAME_PREFIX, sizeof(NAME_PREFIX) - 1);
		end = put_number(end + sizeof(NAME_PREFIX) - 1, inode);
		*end++ = '/';
		end = put_number(end, sdp_port);
		*end++ = '/';
		if (is_cm) {
			memcpy(end, NAME_CM, NAME_CM_LEN);
			end += NAME_CM_LEN;
		}
		end = put_number(end, nonce);
		if (bind(fd, (const struct sockaddr *)&addr,
			 (socklen_t)(end - (char *)&addr)) == 0)
			return 0;
		if (errno != EADDRINUSE)
			break;
	}
	return -errno;
}

int sdp_registry_announce(int listen_fd, uint16_t sdp_port, bool is_cm)
{
	UTIL_KEEP_ERRNO();
	struct stat st;
	int fd = -1, flags, ret;

	if (sdp_port == 0)
		return -EINVAL;
	flags = fcntl(listen_fd, F_GETFD);
	if (flags < 0 || fstat(listen_fd, &st) < 0)
		goto fail;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		goto fail;
	/* Sends to the socket are refused. */
	if (shutdown(fd, SHUT_RD) < 0)
		goto fail;
	if (!(flags & FD_CLOEXEC) && fcntl(fd, F_SETFD, 0) < 0)
		goto fail;
	ret = name_bind(fd, (uint32_t)st.st_ino, sdp_port, is_cm);
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
fail:
	ret = -errno;
	if (fd >= 0)
		close(fd);
	return ret;
}

/* Parses a decimal number without sign, at most @max, that ends with '/'. */
static bool take_number(const char **at, const char *end, uint64_t max,
			uint32_t *ret_value)
{
	const char *p = *at;
	uint64_t value = 0;

	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		value = 10 * value + (uint64_t)(*p - '0');
		if (value > max)
			return false;
	}
	if (p == *at || p == end || *p != '/')
		return false;
	*at = p + 1;
	*ret_value = (uint32_t)value;
	return true;
}

static bool name_read(const struct sdp_diag_name *name, uint32_t *ret_inode,
		      uint32_t *ret_port, bool *ret_is_cm)
{
	const char *at = name->name, *end = name->name + name->len;
	size_t prefix_len = sizeof(NAME_PREFIX) - 1;

	if (name->len < prefix_len || memcmp(at, NAME_PREFIX, prefix_len))
		return false;
	at += prefix_len;
	if (!take_number(&at, end, UINT32_MAX, ret_inode) ||
	    !take_number(&at, end, UINT16_MAX, ret_port) || !*ret_port)
		return false;
	*ret_is_cm = (size_t)(end - at) >= NAME_CM_LEN &&
		     !memcmp(at, NAME_CM, NAME_CM_LEN);
	return true;
}

/* The user of the listener and root may announce it. */
static bool is_trusted(uid_t uid, const struct sdp_diag_tcp *listener)
{
	return uid == listener->uid || uid == 0;
}

/* Return: 0; -ENOENT, -EPERM as sdp_registry_find(); an error of the walk. */
static int names_search(const struct sdp_diag_tcp *listener, uint32_t *ret_port,
			bool *ret_is_cm)
{
	struct sdp_diag_names names;
	struct sdp_diag_name name;
	uint32_t inode, port;
	int ret, found = -ENOENT;
	bool is_cm;

	ret = sdp_diag_names_start(&names);
	if (ret < 0)
		return ret;
	while (found != 0) {
		ret = sdp_diag_names_next(&names, &name);
		if (ret <= 0)
			break;
		if (!name_read(&name, &inode, &port, &is_cm) ||
		    inode != listener->inode)
			continue;
		if (!is_trusted(name.uid, listener)) {
			found = -EPERM;
			continue;
		}
		*ret_port = port;
		*ret_is_cm = is_cm;
		found = 0;
	}
	sdp_diag_names_stop(&names);
	return ret < 0 ? ret : found;
}

/* Return: true: *ret_entry is the stored result. */
static bool cache_get(uint32_t inode, struct cache_entry *ret_entry)
{
	const struct cache_entry *entry = &cache[inode % CACHE_SIZE];
	bool is_known;

	util_lock(&cache_lock);
	is_known = entry->inode == inode &&
		   entry->until_ns > util_clock_ns(CLOCK_MONOTONIC_COARSE);
	if (is_known)
		*ret_entry = *entry;
	util_unlock(&cache_lock);
	return is_known;
}

static void cache_put(const struct cache_entry *entry)
{
	util_lock(&cache_lock);
	cache[entry->inode % CACHE_SIZE] = *entry;
	util_unlock(&cache_lock);
}

/* The address that TCP would use; AF_INET for an IPv4-mapped address. */
static int dst_plain(const struct sockaddr *dst,
		     struct sockaddr_storage *ret_dst)
{
	const struct sockaddr_in6 *in6 = (const void *)dst;
	struct sockaddr_in *plain = (void *)ret_dst;
	struct sockaddr_in6 *plain6 = (void *)ret_dst;

	memset(ret_dst, 0, sizeof(*ret_dst));
	if (dst->sa_family == AF_INET6 &&
	    !IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		memcpy(plain6, in6, sizeof(*in6));
		if (IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr))
			plain6->sin6_addr = in6addr_loopback;
		return 0;
	}
	if (dst->sa_family == AF_INET6) {
		plain->sin_family = AF_INET;
		plain->sin_port = in6->sin6_port;
		memcpy(&plain->sin_addr, in6->sin6_addr.s6_addr + 12, 4);
	} else if (dst->sa_family == AF_INET) {
		memcpy(plain, dst, sizeof(*plain));
	} else {
		return -EAFNOSUPPORT;
	}
	if (plain->sin_addr.s_addr == htonl(INADDR_ANY))
		plain->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return 0;
}

int sdp_registry_find(const struct sockaddr *dst, uint16_t *ret_sdp_port,
		      bool *ret_is_cm)
{
	UTIL_CANCEL_OFF();
	UTIL_KEEP_ERRNO();
	struct sdp_diag_tcp listener;
	struct cache_entry entry;
	struct sockaddr_storage plain;
	const struct sockaddr *addr = (const struct sockaddr *)&plain;
	int ret;

	ret = dst_plain(dst, &plain);
	if (ret == 0)
		ret = sdp_diag_local(addr);
	if (ret == 0)
		ret = sdp_diag_listener(addr, &listener);
	if (ret < 0)
		return ret;
	if (!cache_get(listener.inode, &entry)) {
		entry = (struct cache_entry){
			.inode = listener.inode,
			.until_ns = util_clock_ns(CLOCK_MONOTONIC_COARSE) +
				    CACHE_NS,
		};
		entry.err = names_search(&listener, &entry.port, &entry.is_cm);
		if (entry.err == 0 || entry.err == -ENOENT ||
		    entry.err == -EPERM)
			cache_put(&entry);
	}
	ret = entry.err;
	if (ret == 0) {
		*ret_sdp_port = (uint16_t)entry.port;
		*ret_is_cm = entry.is_cm;
	}
	return ret;
}

static int end_find(const struct sockaddr *own, const struct sockaddr *peer,
		    struct sdp_diag_tcp *ret_end)
{
	struct sockaddr_storage plain[2];
	int ret = dst_plain(own, &plain[0]);

	if (ret == 0)
		ret = dst_plain(peer, &plain[1]);
	if (ret == 0)
		ret = sdp_diag_connected((const struct sockaddr *)&plain[1],
					 (const struct sockaddr *)&plain[0],
					 ret_end);
	return ret == -ENOENT ? -ENOTCONN : ret;
}

int sdp_registry_find_end(const struct sockaddr *own,
			  const struct sockaddr *peer, uint16_t *ret_sdp_port)
{
	UTIL_CANCEL_OFF();
	UTIL_KEEP_ERRNO();
	struct sdp_diag_tcp end;
	uint32_t port;
	bool is_cm;
	int ret = end_find(own, peer, &end);

	if (ret == 0)
		ret = names_search(&end, &port, &is_cm);
	if (ret == 0)
		*ret_sdp_port = (uint16_t)port;
	return ret;
}

void sdp_registry_fork_child(void)
{
	util_lock_init(&cache_lock, UTIL_RANK_LEAF);
	memset(cache, 0, sizeof(cache));
}

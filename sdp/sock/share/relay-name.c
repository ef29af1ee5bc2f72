/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See relay-name.h. */
#include "relay-name.h"

#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define PREFIX "usiw-sdp/relay/"
#define PREFIX_LEN (sizeof(PREFIX) - 1)

/* The name behind its first octet, which is 0. */
struct name {
	char prefix[PREFIX_LEN];
	union sdp_addr local, peer;
	uint64_t unique;
} __attribute__((packed));

#define NAME_LEN                                                               \
	(offsetof(struct sockaddr_un, sun_path) + 1 + sizeof(struct name))

static bool is_of_tcp(const union sdp_addr *local, const union sdp_addr *peer)
{
	return local->sa.sa_family == peer->sa.sa_family &&
	       (local->sa.sa_family == AF_INET ||
		local->sa.sa_family == AF_INET6);
}

void sdp_relay_name_put(int lib_fd, const union sdp_addr *local,
			const union sdp_addr *peer)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct name name = { .prefix = PREFIX, .local = *local, .peer = *peer };
	struct stat st;

	if (!is_of_tcp(local, peer) || fstat(lib_fd, &st) < 0)
		return;
	name.unique = st.st_ino;
	memcpy(addr.sun_path + 1, &name, sizeof(name));
	syscall(SYS_bind, lib_fd, &addr, NAME_LEN);
}

bool sdp_relay_name_get(int fd, union sdp_addr *ret_local,
			union sdp_addr *ret_peer)
{
	struct sockaddr_un addr = { 0 };
	socklen_t len = sizeof(addr);
	struct name name;

	if (syscall(SYS_getpeername, fd, &addr, &len) < 0 ||
	    addr.sun_family != AF_UNIX || len != NAME_LEN || addr.sun_path[0])
		return false;
	memcpy(&name, addr.sun_path + 1, sizeof(name));
	*ret_local = name.local;
	*ret_peer = name.peer;
	return memcmp(name.prefix, PREFIX, PREFIX_LEN) == 0 &&
	       is_of_tcp(ret_local, ret_peer);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See relay-name.h. */
#include "relay-name.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* Each address becomes port and octets in hexadecimal. A unique number
 * follows. */
#define PREFIX "usiw-sdp/relay/"
#define PREFIX_LEN (sizeof(PREFIX) - 1)
#define V4_LEN (4 + 8)
#define V6_LEN (4 + 32)

static size_t addr_encode(char *text, const union sdp_addr *addr)
{
	bool is_6 = addr->sa.sa_family == AF_INET6;
	const uint8_t *octets = is_6 ? addr->in6.sin6_addr.s6_addr
				     : (const uint8_t *)&addr->in.sin_addr;
	int at = sprintf(text, "%04x", sdp_addr_port(addr));

	for (int i = 0; i < (is_6 ? 16 : 4); i++)
		at += sprintf(text + at, "%02x", octets[i]);
	return (size_t)at;
}

static int digit_decode(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static bool addr_decode(const char *text, size_t len, union sdp_addr *ret_addr)
{
	uint8_t octets[V6_LEN / 2];

	for (size_t i = 0; i < len / 2; i++) {
		int high = digit_decode(text[2 * i]);
		int low = digit_decode(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		octets[i] = (uint8_t)(high << 4 | low);
	}
	memset(ret_addr, 0, sizeof(*ret_addr));
	if (len == V6_LEN) {
		ret_addr->in6.sin6_family = AF_INET6;
		memcpy(&ret_addr->in6.sin6_port, octets, 2);
		memcpy(&ret_addr->in6.sin6_addr, octets + 2, 16);
	} else {
		ret_addr->in.sin_family = AF_INET;
		memcpy(&ret_addr->in.sin_port, octets, 2);
		memcpy(&ret_addr->in.sin_addr, octets + 2, 4);
	}
	return true;
}

void sdp_relay_name_put(int lib_fd, const union sdp_addr *local,
			const union sdp_addr *peer)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	char *text = name.sun_path + 1;
	size_t len = PREFIX_LEN;
	struct stat st;

	if (local->sa.sa_family != peer->sa.sa_family ||
	    (local->sa.sa_family != AF_INET &&
	     local->sa.sa_family != AF_INET6) ||
	    fstat(lib_fd, &st) < 0)
		return;
	memcpy(text, PREFIX, PREFIX_LEN);
	len += addr_encode(text + len, local);
	len += addr_encode(text + len, peer);
	len += (size_t)sprintf(text + len, "/%" PRIx64, (uint64_t)st.st_ino);
	syscall(SYS_bind, lib_fd, &name,
		offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

bool sdp_relay_name_get(int fd, union sdp_addr *ret_local,
			union sdp_addr *ret_peer)
{
	struct sockaddr_un name = { 0 };
	socklen_t len = sizeof(name);
	const char *text = name.sun_path + 1, *end;
	size_t addrs;

	if (syscall(SYS_getpeername, fd, &name, &len) < 0 ||
	    name.sun_family != AF_UNIX || len > sizeof(name) ||
	    name.sun_path[0] || strncmp(text, PREFIX, PREFIX_LEN) != 0)
		return false;
	text += PREFIX_LEN;
	end = memchr(text, '/', sizeof(name.sun_path) - 1 - PREFIX_LEN);
	addrs = end ? (size_t)(end - text) : 0;
	if (addrs != 2 * V4_LEN && addrs != 2 * V6_LEN)
		return false;
	return addr_decode(text, addrs / 2, ret_local) &&
	       addr_decode(text + addrs / 2, addrs / 2, ret_peer);
}

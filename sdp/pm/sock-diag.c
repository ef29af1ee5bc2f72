/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The requests of NETLINK_ROUTE and NETLINK_SOCK_DIAG that the registry
 * needs. */
#define _GNU_SOURCE
#include "pm/sock-diag.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* Socket states of the kernel. <netinet/tcp.h> and <linux/tcp.h> cannot be
 * included together. */
#define STATE_ESTABLISHED 1
#define STATE_UNCONNECTED 7
#define STATE_LISTEN 10

/* The kernel answers inside send(), so nothing here waits. */
static int ask(int protocol, const void *request, size_t len)
{
	static const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	int fd, err;

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	if (fd < 0)
		return errno == EPROTONOSUPPORT ? -EOPNOTSUPP : -errno;
	if (sendto(fd, request, len, 0, (const struct sockaddr *)&kernel,
		   sizeof(kernel)) == (ssize_t)len)
		return fd;
	err = errno;
	close(fd);
	return -err;
}

/* Reads one answer into @buf. Return: its length; -EIO: none, or a truncated
 * one. */
static ssize_t answer(int fd, void *buf, size_t size)
{
	ssize_t len;

	do
		len = recv(fd, buf, size, MSG_DONTWAIT | MSG_TRUNC);
	while (len < 0 && errno == EINTR);
	return len < 0 || (size_t)len > size ? -EIO : len;
}

/*
 * Sends a request that has one answer, of @type. Return: octets after the
 * netlink header, moved to the front of @buf; the kernel's error.
 */
static ssize_t ask_one(int protocol, const void *request, size_t len,
		       uint16_t type, void *buf, size_t size)
{
	const struct nlmsghdr *hdr = buf;
	const struct nlmsgerr *error;
	ssize_t got;
	int fd;

	fd = ask(protocol, request, len);
	if (fd < 0)
		return fd;
	got = answer(fd, buf, size);
	close(fd);
	if (got < 0)
		return got;
	if (!NLMSG_OK(hdr, (size_t)got))
		return -EIO;
	if (hdr->nlmsg_type == NLMSG_ERROR &&
	    hdr->nlmsg_len >= NLMSG_LENGTH(sizeof(*error))) {
		error = NLMSG_DATA(hdr);
		return error->error < 0 ? error->error : -EIO;
	}
	if (hdr->nlmsg_type != type)
		return -EIO;
	got = (ssize_t)hdr->nlmsg_len - NLMSG_HDRLEN;
	memmove(buf, NLMSG_DATA(hdr), (size_t)got);
	return got;
}

struct route_request {
	struct nlmsghdr hdr;
	struct rtmsg msg;
	struct rtattr attr;
	uint8_t addr[16];
	struct rtattr oif_attr;
	uint32_t oif;
};

/* The scope id of a link-local address; 0 for other addresses. */
static uint32_t scope_of(const struct sockaddr *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;

	return addr->sa_family == AF_INET6 &&
			       IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr)
		       ? in6->sin6_scope_id
		       : 0;
}

int sdp_diag_local(const struct sockaddr *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	struct route_request request = {
		.hdr = { .nlmsg_type = RTM_GETROUTE,
			 .nlmsg_flags = NLM_F_REQUEST },
		.msg = { .rtm_family = (uint8_t)addr->sa_family },
		.attr = { .rta_type = RTA_DST },
		.oif_attr = { .rta_type = RTA_OIF,
			      .rta_len = RTA_LENGTH(sizeof(uint32_t)) },
		.oif = scope_of(addr),
	};
	size_t len = sizeof(request);
	union {
		struct nlmsghdr hdr;
		struct rtmsg msg;
		uint8_t octets[4096];
	} reply;
	ssize_t got;

	if (addr->sa_family == AF_INET) {
		/* The attribute ends before the scope id. */
		memcpy(request.addr, &in->sin_addr, sizeof(in->sin_addr));
		request.attr.rta_len = RTA_LENGTH(sizeof(in->sin_addr));
		len = offsetof(struct route_request, addr) + 4;
	} else {
		memcpy(request.addr, &in6->sin6_addr, sizeof(in6->sin6_addr));
		request.attr.rta_len = RTA_LENGTH(sizeof(in6->sin6_addr));
		if (!request.oif)
			len = offsetof(struct route_request, oif_attr);
	}
	request.msg.rtm_dst_len = (uint8_t)(8 * RTA_PAYLOAD(&request.attr));
	request.hdr.nlmsg_len = (uint32_t)len;
	got = ask_one(NETLINK_ROUTE, &request, len, RTM_NEWROUTE, &reply,
		      sizeof(reply));
	switch (got) {
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
	case -ENETUNREACH:
	case -EHOSTUNREACH:
		return (int)got;
	default:
		break;
	}
	if (got < (ssize_t)sizeof(reply.msg) || reply.msg.rtm_type != RTN_LOCAL)
		return -EADDRNOTAVAIL;
	return 0;
}

struct tcp_request {
	struct nlmsghdr hdr;
	struct inet_diag_req_v2 req;
};

static void tcp_request_fill(struct tcp_request *request,
			     const struct sockaddr *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	struct inet_diag_sockid *id = &request->req.id;

	request->hdr.nlmsg_len = sizeof(*request);
	request->hdr.nlmsg_type = SOCK_DIAG_BY_FAMILY;
	request->hdr.nlmsg_flags = NLM_F_REQUEST;
	request->req.sdiag_family = (uint8_t)addr->sa_family;
	request->req.sdiag_protocol = IPPROTO_TCP;
	request->req.idiag_states = 1u << STATE_LISTEN;
	/* "src" is the side to look for: the listener's. */
	if (addr->sa_family == AF_INET) {
		id->idiag_sport = in->sin_port;
		memcpy(id->idiag_src, &in->sin_addr, sizeof(in->sin_addr));
	} else {
		id->idiag_sport = in6->sin6_port;
		memcpy(id->idiag_src, &in6->sin6_addr, sizeof(in6->sin6_addr));
		id->idiag_if = scope_of(addr);
	}
	id->idiag_cookie[0] = INET_DIAG_NOCOOKIE;
	id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
}

/* "dst" is its peer. */
static void tcp_request_name_peer(struct tcp_request *request,
				  const struct sockaddr *peer)
{
	const struct sockaddr_in6 *in6 = (const void *)peer;
	const struct sockaddr_in *in = (const void *)peer;
	struct inet_diag_sockid *id = &request->req.id;

	request->req.idiag_states = 1u << STATE_ESTABLISHED;
	if (peer->sa_family == AF_INET) {
		id->idiag_dport = in->sin_port;
		memcpy(id->idiag_dst, &in->sin_addr, sizeof(in->sin_addr));
	} else {
		id->idiag_dport = in6->sin6_port;
		memcpy(id->idiag_dst, &in6->sin6_addr, sizeof(in6->sin6_addr));
	}
}

/* A kernel without the module also returns "not found". A dump that matches
 * nothing tells whether the module exists. */
static bool has_inet_diag(struct tcp_request *request)
{
	union {
		struct nlmsghdr hdr;
		uint8_t octets[4096];
	} reply;

	request->hdr.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	request->req.idiag_states = 0;
	return ask_one(NETLINK_SOCK_DIAG, request, sizeof(*request), NLMSG_DONE,
		       &reply, sizeof(reply)) >= 0;
}

/* Return: 0; -ENOENT: there is none in @state; the kernel's error. */
static int tcp_ask(const struct tcp_request *request, uint8_t state,
		   struct sdp_diag_tcp *ret_socket)
{
	union {
		struct nlmsghdr hdr;
		struct inet_diag_msg msg;
		uint8_t octets[4096];
	} reply;
	ssize_t got = ask_one(NETLINK_SOCK_DIAG, request, sizeof(*request),
			      SOCK_DIAG_BY_FAMILY, &reply, sizeof(reply));

	if (got < 0)
		return (int)got;
	if (got < (ssize_t)sizeof(reply.msg))
		return -EIO;
	if (reply.msg.idiag_state != state)
		return -ECONNREFUSED;
	ret_socket->inode = reply.msg.idiag_inode;
	ret_socket->uid = reply.msg.idiag_uid;
	return 0;
}

int sdp_diag_listener(const struct sockaddr *addr,
		      struct sdp_diag_tcp *ret_listener)
{
	struct tcp_request request = { .req.sdiag_protocol = 0 };
	int ret;

	tcp_request_fill(&request, addr);
	ret = tcp_ask(&request, STATE_LISTEN, ret_listener);
	if (ret == -ENOENT)
		ret = has_inet_diag(&request) ? -ECONNREFUSED : -EOPNOTSUPP;
	return ret;
}

int sdp_diag_connected(const struct sockaddr *own, const struct sockaddr *peer,
		       struct sdp_diag_tcp *ret_socket)
{
	struct tcp_request request = { .req.sdiag_protocol = 0 };
	int ret;

	tcp_request_fill(&request, own);
	tcp_request_name_peer(&request, peer);
	ret = tcp_ask(&request, STATE_ESTABLISHED, ret_socket);
	return ret == -ECONNREFUSED ? -ENOENT : ret;
}

int sdp_diag_names_start(struct sdp_diag_names *names)
{
	struct {
		struct nlmsghdr hdr;
		struct unix_diag_req req;
	} request = {
		.hdr = { .nlmsg_len = sizeof(request),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.req = { .sdiag_family = AF_UNIX,
			 .udiag_states = 1u << STATE_UNCONNECTED,
			 .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_UID },
	};

	names->len = names->at = 0;
	names->fd = ask(NETLINK_SOCK_DIAG, &request, sizeof(request));
	return names->fd < 0 ? names->fd : 0;
}

/* Return: true: @hdr has an abstract name of a datagram socket, and its
 *   owner. */
static bool name_take(const struct nlmsghdr *hdr,
		      struct sdp_diag_name *ret_name)
{
	const struct unix_diag_msg *msg = NLMSG_DATA(hdr);
	const struct rtattr *attr;
	const char *name = NULL;
	bool has_uid = false;
	uint32_t uid = 0, name_len = 0;
	unsigned int left;

	if (hdr->nlmsg_len < NLMSG_LENGTH(sizeof(*msg)) ||
	    msg->udiag_type != SOCK_DGRAM)
		return false;
	left = hdr->nlmsg_len - NLMSG_LENGTH(sizeof(*msg));
	for (attr = (const void *)(msg + 1); RTA_OK(attr, left);
	     attr = RTA_NEXT(attr, left)) {
		if (attr->rta_type == UNIX_DIAG_NAME) {
			name = RTA_DATA(attr);
			name_len = (uint32_t)RTA_PAYLOAD(attr);
		} else if (attr->rta_type == UNIX_DIAG_UID &&
			   RTA_PAYLOAD(attr) == sizeof(uid)) {
			memcpy(&uid, RTA_DATA(attr), sizeof(uid));
			has_uid = true;
		}
	}
	if (!has_uid || name_len < 2 || name[0] != '\0')
		return false;
	ret_name->name = name + 1;
	ret_name->len = name_len - 1;
	ret_name->uid = uid;
	return true;
}

int sdp_diag_names_next(struct sdp_diag_names *names,
			struct sdp_diag_name *ret_name)
{
	const struct nlmsghdr *hdr;
	ssize_t got;

	for (;;) {
		if (names->at == names->len) {
			got = answer(names->fd, names->buf, sizeof(names->buf));
			if (got < 0)
				return (int)got;
			names->len = (uint32_t)got;
			names->at = 0;
		}
		hdr = (const void *)(names->buf + names->at);
		if (!NLMSG_OK(hdr, names->len - names->at))
			return -EIO;
		if (hdr->nlmsg_type == NLMSG_DONE)
			return 0;
		if (hdr->nlmsg_type != SOCK_DIAG_BY_FAMILY)
			return -EOPNOTSUPP;
		names->at += NLMSG_ALIGN(hdr->nlmsg_len);
		if (names->at > names->len)
			names->at = names->len;
		if (name_take(hdr, ret_name))
			return 1;
	}
}

void sdp_diag_names_stop(struct sdp_diag_names *names)
{
	close(names->fd);
}

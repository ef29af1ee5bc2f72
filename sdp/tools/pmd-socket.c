/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* UDP sockets that report the local address of each datagram. */
#define _GNU_SOURCE /* struct in_pktinfo, in6_pktinfo */
#include "tools/pmd-socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#define CONTROL_SIZE                                                           \
	(CMSG_SPACE(sizeof(struct in_pktinfo)) +                               \
	 CMSG_SPACE(sizeof(struct in6_pktinfo)))

union control {
	struct cmsghdr hdr;
	uint8_t octets[CONTROL_SIZE];
};

int pmd_socket_open(const struct sockaddr *addr)
{
	bool is_v6 = addr->sa_family == AF_INET6;
	int fd, ret, one = 1;

	fd = socket(addr->sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		    0);
	if (fd < 0)
		return -errno;
	/* A separate socket serves IPv4. */
	if (is_v6)
		ret = setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one,
				 sizeof(one)) ||
		      setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &one,
				 sizeof(one));
	else
		ret = setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &one, sizeof(one));
	if (ret == 0)
		ret = bind(fd, addr,
			   is_v6 ? sizeof(struct sockaddr_in6)
				 : sizeof(struct sockaddr_in));
	if (ret == 0)
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

static void pktinfo_take(struct msghdr *msg, struct pmd_datagram *datagram)
{
	struct sockaddr_in6 *in6 = (void *)&datagram->to;
	struct sockaddr_in *in = (void *)&datagram->to;
	struct in6_pktinfo info6;
	struct in_pktinfo info;
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			memcpy(&info, CMSG_DATA(c), sizeof(info));
			in->sin_family = AF_INET;
			in->sin_addr = info.ipi_addr;
			datagram->ifindex = (unsigned int)info.ipi_ifindex;
		} else if (c->cmsg_level == IPPROTO_IPV6 &&
			   c->cmsg_type == IPV6_PKTINFO) {
			memcpy(&info6, CMSG_DATA(c), sizeof(info6));
			in6->sin6_family = AF_INET6;
			in6->sin6_addr = info6.ipi6_addr;
			datagram->ifindex = info6.ipi6_ifindex;
		}
	}
}

int pmd_socket_recv(int fd, struct pmd_datagram *ret_datagram)
{
	struct iovec iov = { .iov_base = ret_datagram->octets,
			     .iov_len = sizeof(ret_datagram->octets) };
	union control control;
	struct msghdr msg = {
		.msg_name = &ret_datagram->from,
		.msg_namelen = sizeof(ret_datagram->from),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t len;

	memset(&ret_datagram->to, 0, sizeof(ret_datagram->to));
	ret_datagram->ifindex = 0;
	len = recvmsg(fd, &msg, MSG_DONTWAIT);
	if (len < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	ret_datagram->from_len = msg.msg_namelen;
	ret_datagram->len = (size_t)len;
	pktinfo_take(&msg, ret_datagram);
	return 1;
}

int pmd_socket_reply(int fd, const struct pmd_datagram *request,
		     const uint8_t *octets, size_t len)
{
	const struct sockaddr_in6 *to6 = (const void *)&request->to;
	const struct sockaddr_in *to = (const void *)&request->to;
	struct sockaddr_storage from = request->from;
	uint8_t copy[sizeof(request->octets)];
	struct iovec iov = { .iov_base = copy, .iov_len = len };
	struct in6_pktinfo info6 = { .ipi6_addr = to6->sin6_addr };
	struct in_pktinfo info = { .ipi_spec_dst = to->sin_addr };
	union control control = { .octets = { 0 } };
	struct msghdr msg = {
		.msg_name = &from,
		.msg_namelen = request->from_len,
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
	};
	struct cmsghdr *c = &control.hdr;

	memcpy(copy, octets, len);
	if (request->to.ss_family == AF_INET) {
		c->cmsg_level = IPPROTO_IP;
		c->cmsg_type = IP_PKTINFO;
		c->cmsg_len = CMSG_LEN(sizeof(info));
		memcpy(CMSG_DATA(c), &info, sizeof(info));
		msg.msg_controllen = CMSG_SPACE(sizeof(info));
	} else if (request->to.ss_family == AF_INET6) {
		/* A link-local address needs its interface. */
		if (IN6_IS_ADDR_LINKLOCAL(&to6->sin6_addr))
			info6.ipi6_ifindex = request->ifindex;
		c->cmsg_level = IPPROTO_IPV6;
		c->cmsg_type = IPV6_PKTINFO;
		c->cmsg_len = CMSG_LEN(sizeof(info6));
		memcpy(CMSG_DATA(c), &info6, sizeof(info6));
		msg.msg_controllen = CMSG_SPACE(sizeof(info6));
	}
	return sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

bool pmd_datagram_is_local(const struct pmd_datagram *datagram)
{
	const struct sockaddr_in6 *in6 = (const void *)&datagram->to;
	const struct sockaddr_in *in = (const void *)&datagram->to;

	if (datagram->to.ss_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> 24 == 127;
	return datagram->to.ss_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

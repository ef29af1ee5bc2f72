/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See message.h. */
#include "message.h"

#include <errno.h>
#include <limits.h>

#include "stream.h"

static bool iov_is_valid(const struct iovec *iov, size_t cnt)
{
	size_t sum = 0;

	for (size_t i = 0; i < cnt; i++) {
		if (iov[i].iov_len > SSIZE_MAX - sum)
			return false;
		sum += iov[i].iov_len;
	}
	return true;
}

static bool iov_is_empty(const struct iovec *iov, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (iov[i].iov_len > 0)
			return false;
	return true;
}

static int rwf_to_msg(int rwf_flags)
{
	return rwf_flags & RWF_NOWAIT ? MSG_DONTWAIT : 0;
}

ssize_t sdp_message_readv(struct sdp_sock *sock, int fd,
			  const struct iovec *iov, int cnt, int rwf_flags)
{
	if (cnt < 0 || cnt > IOV_MAX || !iov_is_valid(iov, (size_t)cnt))
		return -EINVAL;
	if (iov_is_empty(iov, (size_t)cnt))
		return 0;
	return sdp_stream_recv(sock, fd, iov, (size_t)cnt,
			       rwf_to_msg(rwf_flags));
}

ssize_t sdp_message_writev(struct sdp_sock *sock, int fd,
			   const struct iovec *iov, int cnt, int rwf_flags)
{
	if (cnt < 0 || cnt > IOV_MAX || !iov_is_valid(iov, (size_t)cnt))
		return -EINVAL;
	return sdp_stream_send(sock, fd, iov, (size_t)cnt,
			       rwf_to_msg(rwf_flags));
}

ssize_t sdp_message_recv(struct sdp_sock *sock, int fd, struct msghdr *msg,
			 int flags)
{
	ssize_t ret;

	if (msg->msg_iovlen > IOV_MAX)
		return -EMSGSIZE;
	if (!iov_is_valid(msg->msg_iov, msg->msg_iovlen))
		return -EINVAL;
	ret = sdp_stream_recv(sock, fd, msg->msg_iov, msg->msg_iovlen, flags);
	if (ret < 0)
		return ret;
	msg->msg_namelen = 0;
	msg->msg_controllen = 0;
	msg->msg_flags = flags & MSG_OOB ? MSG_OOB : 0;
	return ret;
}

ssize_t sdp_message_send(struct sdp_sock *sock, int fd,
			 const struct msghdr *msg, int flags)
{
	if (msg->msg_iovlen > IOV_MAX)
		return -EMSGSIZE;
	if (!iov_is_valid(msg->msg_iov, msg->msg_iovlen))
		return -EINVAL;
	return sdp_stream_send(sock, fd, msg->msg_iov, msg->msg_iovlen, flags);
}

int sdp_message_recv_many(struct sdp_sock *sock, int fd, struct mmsghdr *msgs,
			  unsigned int cnt, int flags)
{
	unsigned int done = 0;
	ssize_t ret = 0;

	for (; done < cnt; done++) {
		ret = sdp_message_recv(sock, fd, &msgs[done].msg_hdr,
				       flags & ~MSG_WAITFORONE);
		if (ret < 0)
			break;
		msgs[done].msg_len = (unsigned int)ret;
		if (flags & MSG_WAITFORONE)
			flags |= MSG_DONTWAIT;
	}
	return done > 0 ? (int)done : (int)ret;
}

int sdp_message_send_many(struct sdp_sock *sock, int fd, struct mmsghdr *msgs,
			  unsigned int cnt, int flags)
{
	unsigned int done = 0;
	ssize_t ret = 0;

	for (; done < cnt; done++) {
		ret = sdp_message_send(sock, fd, &msgs[done].msg_hdr, flags);
		if (ret < 0)
			break;
		msgs[done].msg_len = (unsigned int)ret;
	}
	return done > 0 ? (int)done : (int)ret;
}

ssize_t sdp_message_no_name(socklen_t *len, bool is_wanted, ssize_t ret)
{
	if (ret >= 0 && is_wanted && len)
		*len = 0;
	return ret;
}

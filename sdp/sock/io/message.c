/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See message.h. */
#include "message.h"

#include <errno.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/user.h"
#include "stream.h"

/* Return: 0; -errno. */
static int iov_check(const struct iovec *iov, size_t cnt)
{
	size_t sum = 0;

	if (!util_user_is_readable(iov, cnt * sizeof(*iov)))
		return -EFAULT;
	for (size_t i = 0; i < cnt; i++) {
		if (iov[i].iov_len > SSIZE_MAX - sum)
			return -EINVAL;
		sum += iov[i].iov_len;
	}
	return 0;
}

/* Checks for readv() and similar functions. */
static int vector_check(const struct iovec *iov, int cnt)
{
	return cnt < 0 || cnt > IOV_MAX ? -EINVAL : iov_check(iov, (size_t)cnt);
}

/* Checks for recvmsg() and similar functions. */
static int message_check(const struct msghdr *msg)
{
	if (!util_user_is_readable(msg, sizeof(*msg)))
		return -EFAULT;
	if (msg->msg_name && (int)msg->msg_namelen < 0)
		return -EINVAL;
	if (msg->msg_iovlen > IOV_MAX)
		return -EMSGSIZE;
	return iov_check(msg->msg_iov, msg->msg_iovlen);
}

int sdp_message_check_name(const struct sockaddr *addr, socklen_t len)
{
	if (!addr)
		return 0;
	if (len > sizeof(struct sockaddr_storage))
		return -EINVAL;
	return util_user_is_readable(addr, len) ? 0 : -EFAULT;
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
	int ret = vector_check(iov, cnt);

	if (ret < 0)
		return ret;
	if (iov_is_empty(iov, (size_t)cnt))
		return 0;
	return sdp_stream_recv(sock, fd, iov, (size_t)cnt,
			       rwf_to_msg(rwf_flags));
}

ssize_t sdp_message_writev(struct sdp_sock *sock, int fd,
			   const struct iovec *iov, int cnt, int rwf_flags)
{
	int ret = vector_check(iov, cnt);

	if (ret < 0)
		return ret;
	return sdp_stream_send(sock, fd, iov, (size_t)cnt,
			       rwf_to_msg(rwf_flags));
}

/* TCP_INQ: one control message.  A buffer that is too short gets a part. */
static int inq_put(struct msghdr *answer, int inq)
{
	union {
		struct cmsghdr head;
		char octets[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_level = SOL_TCP,
				.cmsg_type = TCP_CM_INQ,
				.cmsg_len = CMSG_LEN(sizeof(int)) } };
	size_t space = answer->msg_control ? answer->msg_controllen : 0;

	answer->msg_controllen = 0;
	if (space < CMSG_LEN(sizeof(int)))
		answer->msg_flags |= MSG_CTRUNC;
	if (space < sizeof(struct cmsghdr))
		return 0;
	if (space < control.head.cmsg_len)
		control.head.cmsg_len = space;
	if (space > sizeof(control))
		space = sizeof(control);
	memcpy(CMSG_DATA(&control.head), &inq, sizeof(inq));
	answer->msg_controllen = space;
	return util_user_put(answer->msg_control, &control,
			     control.head.cmsg_len);
}

ssize_t sdp_message_recv(struct sdp_sock *sock, int fd, struct msghdr *msg,
			 int flags)
{
	ssize_t ret = message_check(msg);
	struct msghdr answer;
	int inq;

	if (ret < 0)
		return ret;
	answer = *msg;
	ret = sdp_stream_recv(sock, fd, msg->msg_iov, msg->msg_iovlen, flags);
	if (ret < 0)
		return ret;
	if (answer.msg_name)
		answer.msg_namelen = 0;
	answer.msg_flags = flags & MSG_OOB ? MSG_OOB : 0;
	inq = sdp_stream_inq(sock, fd);
	if (inq < 0 || flags & MSG_OOB)
		answer.msg_controllen = 0;
	else if (inq_put(&answer, inq) < 0)
		return -EFAULT;
	return util_user_put(msg, &answer, sizeof(answer)) < 0 ? -EFAULT : ret;
}

/* The socket below takes no octets, and says what is wrong with it.  A socket
 * that another process has believes it. */
static int control_check(const struct sdp_sock *sock, const struct msghdr *msg)
{
	struct msghdr empty = { .msg_control = msg->msg_control,
				.msg_controllen = msg->msg_controllen };

	if (!msg->msg_controllen || sock->tcp_fd < 0 ||
	    syscall(SYS_sendmsg, sock->tcp_fd, &empty,
		    MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ||
	    errno == EPIPE)
		return 0;
	return -errno;
}

ssize_t sdp_message_send(struct sdp_sock *sock, int fd,
			 const struct msghdr *msg, int flags)
{
	int ret = message_check(msg);

	if (ret < 0)
		return ret;
	if (msg->msg_name &&
	    !util_user_is_readable(msg->msg_name, msg->msg_namelen))
		return -EFAULT;
	ret = control_check(sock, msg);
	if (ret < 0)
		return ret;
	return sdp_stream_send(sock, fd, msg->msg_iov, msg->msg_iovlen, flags);
}

static int length_put(struct mmsghdr *msg, ssize_t len)
{
	unsigned int value = (unsigned int)len;

	return util_user_put(&msg->msg_len, &value, sizeof(value));
}

int sdp_message_recv_many(struct sdp_sock *sock, int fd, struct mmsghdr *msgs,
			  unsigned int cnt, int flags)
{
	unsigned int done = 0;
	ssize_t ret = 0;

	for (; done < cnt; done++) {
		ret = sdp_message_recv(sock, fd, &msgs[done].msg_hdr,
				       flags & ~MSG_WAITFORONE);
		if (ret >= 0)
			ret = length_put(&msgs[done], ret);
		if (ret < 0)
			break;
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
		if (ret >= 0)
			ret = length_put(&msgs[done], ret);
		if (ret < 0)
			break;
	}
	return done > 0 ? (int)done : (int)ret;
}

ssize_t sdp_message_no_name(socklen_t *len, bool is_wanted, ssize_t ret)
{
	socklen_t space;

	if (ret < 0 || !is_wanted)
		return ret;
	if (util_user_get(&space, len, sizeof(space)) < 0)
		return -EFAULT;
	if (space > INT_MAX)
		return -EINVAL;
	space = 0;
	return util_user_put(len, &space, sizeof(space)) < 0 ? -EFAULT : ret;
}

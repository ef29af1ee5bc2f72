/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Vectors and messages: what is refused before any octet is sent, and what is
 * returned afterwards. */
#include "test.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sock/io/message.h"
#include "sock/io/stream.h"

/* ---- a stream that records its calls ---- */

#define CALLS 8

static struct call {
	bool is_send;
	const struct iovec *iov;
	size_t cnt;
	int flags;
} calls[CALLS];
static size_t call_cnt;
static ssize_t answers[CALLS];

static ssize_t answer(bool is_send, const struct iovec *iov, size_t cnt,
		      int flags)
{
	assert_true(call_cnt < CALLS);
	calls[call_cnt] = (struct call){ is_send, iov, cnt, flags };
	return answers[call_cnt++];
}

ssize_t sdp_stream_recv(struct sdp_sock *sock, int fd, const struct iovec *iov,
			size_t cnt, int flags)
{
	assert_null(sock);
	assert_int_equal(fd, 7);
	return answer(false, iov, cnt, flags);
}

ssize_t sdp_stream_send(struct sdp_sock *sock, int fd, const struct iovec *iov,
			size_t cnt, int flags)
{
	assert_null(sock);
	assert_int_equal(fd, 7);
	return answer(true, iov, cnt, flags);
}

static int inq;

int sdp_stream_inq(const struct sdp_sock *sock, int fd)
{
	assert_null(sock);
	assert_int_equal(fd, 7);
	return inq;
}

static int begin(void **state)
{
	call_cnt = 0;
	inq = -1;
	memset(answers, 0, sizeof(answers));
	return 0;
}

/* Inaccessible memory after accessible memory. */
static char *edge;

static int start(void **state)
{
	char *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return -1;
	edge = at + 4096;
	return mprotect(edge, 4096, PROT_NONE);
}

#define BAD ((void *)(uintptr_t)edge)

/* ---- vectors ---- */

static char octets[64];

CASE_WITH(vectors_are_checked, begin, NULL)
{
	static const struct iovec large[] = { { octets, SSIZE_MAX },
					      { octets, 1 } },
				  largest[] = { { octets, SSIZE_MAX - 1 },
						{ octets, 1 } };
	const struct {
		const char *name;
		const struct iovec *iov;
		int cnt;
		int want; /* 1: the stream is called */
	} rows[] = {
		{ "a negative count", large, -1, -EINVAL },
		{ "too many pieces", large, IOV_MAX + 1, -EINVAL },
		{ "a sum above SSIZE_MAX", large, 2, -EINVAL },
		{ "a sum of SSIZE_MAX", largest, 2, 1 },
		{ "a bad array", BAD, 1, -EFAULT },
		{ "a bad end of the array",
		  (void *)(edge - sizeof(struct iovec)), 2, -EFAULT },
		{ "nothing of nowhere", BAD, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (int is_send = 0; is_send < 2; is_send++) {
			ssize_t ret;

			begin(NULL);
			answers[0] = 1;
			ret = is_send ? sdp_message_writev(NULL, 7, rows[i].iov,
							   rows[i].cnt, 0)
				      : sdp_message_readv(NULL, 7, rows[i].iov,
							  rows[i].cnt, 0);
			/* The stream checks a send of length 0. */
			if (rows[i].want == 0 && is_send)
				assert_row(rows[i].name, call_cnt == 1);
			else
				assert_row(rows[i].name, ret == rows[i].want);
		}
	}
}

/* A read of length 0 does not wait. */
CASE_WITH(a_read_of_length_0_succeeds, begin, NULL)
{
	static const struct iovec empty[] = { { octets, 0 }, { NULL, 0 } };

	answers[0] = -EAGAIN;
	assert_int_equal(sdp_message_readv(NULL, 7, empty, 2, 0), 0);
	assert_int_equal(call_cnt, 0);
}

CASE_WITH(flags_of_files_become_those_of_sockets, begin, NULL)
{
	static const struct iovec iov = { octets, 4 };

	sdp_message_readv(NULL, 7, &iov, 1, 0);
	sdp_message_readv(NULL, 7, &iov, 1, RWF_NOWAIT);
	sdp_message_writev(NULL, 7, &iov, 1, RWF_NOWAIT | RWF_DSYNC);
	assert_int_equal(calls[0].flags, 0);
	assert_int_equal(calls[1].flags, MSG_DONTWAIT);
	assert_int_equal(calls[2].flags, MSG_DONTWAIT);
	assert_true(calls[2].is_send);
}

/* ---- messages ---- */

CASE_WITH(messages_are_checked, begin, NULL)
{
	struct iovec iov = { octets, 4 };
	const struct {
		const char *name;
		struct msghdr msg;
		int want_recv, want_send; /* 4: the stream is called */
	} rows[] = {
		{ "plain", { .msg_iov = &iov, .msg_iovlen = 1 }, 4, 4 },
		{ "a negative length of the name",
		  { .msg_iov = &iov,
		    .msg_iovlen = 1,
		    .msg_name = octets,
		    .msg_namelen = (socklen_t)-1 },
		  -EINVAL,
		  -EINVAL },
		{ "a length without a name",
		  { .msg_iov = &iov,
		    .msg_iovlen = 1,
		    .msg_namelen = (socklen_t)-1 },
		  4,
		  4 },
		{ "too many pieces",
		  { .msg_iov = &iov, .msg_iovlen = IOV_MAX + 1 },
		  -EMSGSIZE,
		  -EMSGSIZE },
		{ "a bad vector",
		  { .msg_iov = BAD, .msg_iovlen = 1 },
		  -EFAULT,
		  -EFAULT },
		{ "a bad name",
		  { .msg_iov = &iov,
		    .msg_iovlen = 1,
		    .msg_name = BAD,
		    .msg_namelen = 16 },
		  4,
		  -EFAULT },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct msghdr msg = rows[i].msg;

		begin(NULL);
		answers[0] = answers[1] = 4;
		assert_row(rows[i].name,
			   sdp_message_send(NULL, 7, &msg, MSG_MORE) ==
				   rows[i].want_send);
		assert_row(rows[i].name, sdp_message_recv(NULL, 7, &msg, 0) ==
						 rows[i].want_recv);
	}
	assert_int_equal(sdp_message_recv(NULL, 7, BAD, 0), -EFAULT);
	assert_int_equal(sdp_message_send(NULL, 7, BAD, 0), -EFAULT);
}

/* A stream returns no address and no control messages. */
CASE_WITH(a_receive_returns_no_name_and_no_control, begin, NULL)
{
	struct iovec iov = { octets, 4 };
	char control[64];
	struct sockaddr_in name;
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_name = &name,
			      .msg_namelen = sizeof(name),
			      .msg_control = control,
			      .msg_controllen = sizeof(control),
			      .msg_flags = MSG_TRUNC };
	struct msghdr again = msg;

	answers[0] = 3;
	assert_int_equal(sdp_message_recv(NULL, 7, &msg, 0), 3);
	assert_int_equal(msg.msg_namelen, 0);
	assert_int_equal(msg.msg_controllen, 0);
	assert_int_equal(msg.msg_flags, 0);
	assert_ptr_equal(msg.msg_name, &name);
	assert_ptr_equal(msg.msg_control, control);
	answers[1] = 1;
	assert_int_equal(sdp_message_recv(NULL, 7, &msg, MSG_OOB), 1);
	assert_int_equal(msg.msg_flags, MSG_OOB);
	/* Nothing has changed after an error. */
	answers[2] = -EAGAIN;
	assert_int_equal(sdp_message_recv(NULL, 7, &again, 0), -EAGAIN);
	assert_int_equal(again.msg_namelen, sizeof(name));
	assert_int_equal(again.msg_flags, MSG_TRUNC);
	/* If no name is requested, its length is not set. */
	again.msg_name = NULL;
	answers[3] = 3;
	assert_int_equal(sdp_message_recv(NULL, 7, &again, 0), 3);
	assert_int_equal(again.msg_namelen, sizeof(name));
}

/* ---- names ---- */

CASE(names_of_receives_are_empty)
{
	socklen_t len = 16, large = (socklen_t)-1;

	assert_int_equal(sdp_message_no_name(&len, true, 5), 5);
	assert_int_equal(len, 0);
	assert_int_equal(sdp_message_no_name(&large, true, 5), -EINVAL);
	assert_int_equal(sdp_message_no_name(BAD, true, 5), -EFAULT);
	assert_int_equal(sdp_message_no_name(BAD, false, 5), 5);
	assert_int_equal(sdp_message_no_name(BAD, true, -EAGAIN), -EAGAIN);
}

CASE(names_of_sends_are_read)
{
	struct sockaddr_storage name = { .ss_family = AF_INET };
	struct sockaddr *any = (struct sockaddr *)(void *)&name;

	assert_int_equal(sdp_message_check_name(NULL, 99999), 0);
	assert_int_equal(sdp_message_check_name(any, sizeof(name)), 0);
	assert_int_equal(sdp_message_check_name(any, sizeof(name) + 1),
			 -EINVAL);
	assert_int_equal(sdp_message_check_name(BAD, 16), -EFAULT);
	assert_int_equal(sdp_message_check_name(BAD, 0), 0);
}

ALL_CASES_WITH(start, NULL);

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sendfile() and splice() if one side transfers less than requested. */
#include "descriptors.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fake-sock.h"
#include "sock/io/copy.h"
#include "sock/base/signals.h"
#include "sock/io/stream.h"

/* ---- the socket ---- */

#define MANY 8

static struct sdp_sock sock;
static ssize_t answers[MANY]; /* results of sends and receives; 0: everything */
static size_t call_cnt;
static size_t asked; /* size of the last receive */
static char sent[64];
static size_t sent_len;

static ssize_t answer(const struct sdp_sock *asked_sock,
		      const struct iovec *iov, size_t cnt, int flags)
{
	ssize_t ret;

	assert_ptr_equal(asked_sock, &sock);
	assert_int_equal(cnt, 1);
	assert_int_equal(flags, 0);
	assert_true(call_cnt < MANY);
	ret = answers[call_cnt++];
	return ret ? ret : (ssize_t)iov->iov_len;
}

ssize_t sdp_stream_send(struct sdp_sock *to, int fd, const struct iovec *iov,
			size_t cnt, int flags)
{
	ssize_t ret = answer(to, iov, cnt, flags);

	(void)fd;
	for (ssize_t i = 0; i < ret && sent_len < sizeof(sent); i++)
		sent[sent_len++] = ((const char *)iov->iov_base)[i];
	return ret;
}

ssize_t sdp_stream_recv(struct sdp_sock *from, int fd, const struct iovec *iov,
			size_t cnt, int flags)
{
	ssize_t ret = answer(from, iov, cnt, flags);

	(void)fd;
	asked = iov->iov_len;
	if (ret > 0)
		memset(iov->iov_base, 'r', (size_t)ret);
	return ret;
}

static int begin(void **state)
{
	memset(answers, 0, sizeof(answers));
	memset(sent, 0, sizeof(sent));
	call_cnt = asked = sent_len = 0;
	fake_reset();
	fake.sock = &sock;
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, begin, NULL)

/* ---- files and pipes of the program's ---- */

static void pipe_new(int *fds)
{
	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
}

static void pipe_end(const int *fds)
{
	close(fds[0]);
	close(fds[1]);
}

static int file_new(void)
{
	int fd = memfd_create("copy_test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "0123456789", 10), 10);
	assert_int_equal(lseek(fd, 2, SEEK_SET), 2);
	return fd;
}

/* ---- files ---- */

FILE_CASE(file_offset_counts_what_was_sent)
{
	static const struct {
		const char *name;
		size_t len;
		ssize_t answer, ret;
		off_t own; /* the file's offset afterwards */
	} rows[] = {
		{ "all", 5, 0, 5, 7 },
		{ "a part", 5, 3, 3, 5 },
		{ "up to the end", 100, 0, 8, 10 },
		{ "none", 5, -EAGAIN, -EAGAIN, 2 },
		{ "an error", 5, -EPIPE, -EPIPE, 2 },
		{ "nothing", 0, 0, 0, 2 },
	};

	/* With an offset of the caller the file's own does not change. */
	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		size_t row = i / 2;
		bool has_offset = i % 2;
		off_t offset = 2;
		int fd = file_new();

		begin(state);
		answers[0] = rows[row].answer;
		assert_row(rows[row].name,
			   sdp_copy_file(&sock, 5, fd,
					 has_offset ? &offset : NULL,
					 rows[row].len) == rows[row].ret);
		assert_row(rows[row].name,
			   lseek(fd, 0, SEEK_CUR) ==
				   (has_offset ? 2 : rows[row].own));
		assert_row(rows[row].name,
			   offset == (has_offset ? rows[row].own : 2));
		close(fd);
	}
}

FILE_CASE(file_that_is_none_sends_nothing)
{
	int fds[2], fd = file_new();
	off_t negative = -1, begin = 0;

	pipe_new(fds);
	assert_int_equal(sdp_copy_file(&sock, 5, -1, NULL, 1), -EBADF);
	assert_int_equal(sdp_copy_file(&sock, 5, fds[0], NULL, 1), -EINVAL);
	assert_int_equal(sdp_copy_file(&sock, 5, fds[0], &begin, 1), -ESPIPE);
	assert_int_equal(sdp_copy_file(&sock, 5, fd, (off_t *)8, 1), -EFAULT);
	errno = 0; /* no call fails */
	assert_int_equal(sdp_copy_file(&sock, 5, fd, &negative, 1), -EINVAL);
	assert_int_equal(call_cnt, 0);
	pipe_end(fds);
	close(fd);
}

/* ---- pipes ---- */

/* The request to the socket always fits into the pipe. */
FILE_CASE(pipe_is_never_overrun)
{
	char page[4096] = "";
	int fds[2], size;

	pipe_new(fds);
	size = fcntl(fds[0], F_GETPIPE_SZ);
	assert_int_equal(sdp_copy_to_pipe(&sock, 5, fds[1], (size_t)1 << 30, 0),
			 size);
	assert_int_equal(asked, size);
	/* Full: the socket is not read. */
	assert_int_equal(
		sdp_copy_to_pipe(&sock, 5, fds[1], 10, SPLICE_F_NONBLOCK),
		-EAGAIN);
	assert_int_equal(call_cnt, 1);
	/* One page is free. */
	assert_int_equal(read(fds[0], page, sizeof(page)), sizeof(page));
	assert_int_equal(sdp_copy_to_pipe(&sock, 5, fds[1], (size_t)1 << 30,
					  SPLICE_F_NONBLOCK),
			 4096);
	assert_int_equal(asked, 4096);
	begin(state);
	assert_int_equal(read(fds[0], page, sizeof(page)), sizeof(page));
	answers[0] = -ECONNRESET;
	assert_int_equal(sdp_copy_to_pipe(&sock, 5, fds[1], 10, 0),
			 -ECONNRESET);
	pipe_end(fds);
}

/* As splice(2): the socket keeps its octets. */
FILE_CASE(pipe_without_reader_takes_nothing)
{
	int fds[2];

	pipe_new(fds);
	close(fds[0]);
	assert_int_equal(sdp_copy_to_pipe(&sock, 5, fds[1], 10, 0), -EPIPE);
	assert_int_equal(call_cnt, 0);
	assert_int_equal(fake.sdp_signals_pipe.cnt, 1);
	close(fds[1]);
}

/* What was taken from the pipe is sent. */
FILE_CASE(pipe_loses_nothing)
{
	int fds[2];

	pipe_new(fds);
	assert_int_equal(
		sdp_copy_from_pipe(&sock, 5, fds[0], 10, SPLICE_F_NONBLOCK),
		-EAGAIN);
	assert_int_equal(write(fds[1], "abcdef", 6), 6);
	answers[0] = 2;
	answers[1] = -EAGAIN;
	answers[2] = 1;
	assert_int_equal(sdp_copy_from_pipe(&sock, 5, fds[0], 5, 0), 5);
	assert_int_equal(fake.sdp_stream_wait_out.cnt, 1);
	assert_string_equal(sent, "abcde");
	close(fds[1]);
	assert_int_equal(sdp_copy_from_pipe(&sock, 5, fds[0], 5, 0), 1);
	assert_string_equal(sent, "abcdef");
	/* No process writes any more. */
	assert_int_equal(sdp_copy_from_pipe(&sock, 5, fds[0], 5, 0), 0);
	close(fds[0]);
}

static void assert_pipe_has(const int *fds, const char *text)
{
	char got[16] = "";

	assert_int_equal(read(fds[0], got, sizeof(got) - 1), strlen(text));
	assert_string_equal(got, text);
}

/* What was not sent is still in the pipe. */
FILE_CASE(pipe_tells_how_far_it_got)
{
	int fds[2];

	pipe_new(fds);
	assert_int_equal(write(fds[1], "abcdef", 6), 6);
	answers[0] = 2;
	answers[1] = -EPIPE;
	assert_int_equal(sdp_copy_from_pipe(&sock, 5, fds[0], 4, 0), 2);
	begin(state);
	answers[0] = 1;
	answers[1] = -EAGAIN;
	fake.sdp_stream_wait_out.ret = -EINTR;
	assert_int_equal(sdp_copy_from_pipe(&sock, 5, fds[0], 4, 0), 1);
	begin(state);
	answers[0] = -EAGAIN;
	fake.sdp_stream_wait_out.ret = -EINTR;
	assert_int_equal(sdp_copy_from_pipe(&sock, 5, fds[0], 4, 0), -EINTR);
	assert_pipe_has(fds, "def");
	pipe_end(fds);
}

/* What a non-blocking socket has no space for stays in the pipe. */
FILE_CASE(pipe_keeps_what_has_no_space)
{
	int fds[2];

	pipe_new(fds);
	assert_int_equal(write(fds[1], "abcdef", 6), 6);
	atomic_store(&sock.is_nonblock, true);
	answers[0] = -EAGAIN;
	assert_int_equal(sdp_copy_from_pipe(&sock, 5, fds[0], 6, 0), -EAGAIN);
	begin(state);
	answers[0] = 2;
	answers[1] = -EAGAIN;
	assert_int_equal(sdp_copy_from_pipe(&sock, 5, fds[0], 5, 0), 2);
	assert_string_equal(sent, "ab");
	assert_int_equal(fake.sdp_stream_wait_out.cnt, 0);
	atomic_store(&sock.is_nonblock, false);
	assert_pipe_has(fds, "cdef");
	pipe_end(fds);
}

/* splice() reports a lack of descriptors as a lack of memory, and leaks
 * none. */
FILE_CASE(pipe_without_descriptors_is_left_alone)
{
	struct rlimit old;
	int fds[2], next;

	pipe_new(fds);
	assert_int_equal(write(fds[1], "abc", 3), 3);
	next = test_fd_next();
	old = test_fd_leave(1);
	assert_int_equal(sdp_copy_from_pipe(&sock, 5, fds[0], 3, 0), -ENOMEM);
	test_fd_restore(old);
	assert_int_equal(call_cnt, 0);
	assert_int_equal(sdp_copy_from_pipe(&sock, 5, fds[0], 3, 0), 3);
	assert_int_equal(test_fd_next(), next);
	pipe_end(fds);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the kernel tells of a connection: octets written and read. */
#include "loopback.h"
#include "test.h"

#include "sock/enter/tcp-count.h"

CASE(counts_what_was_written_and_read)
{
	static const struct {
		const char *name;
		size_t written, read;
	} rows[] = {
		{ "nothing", 0, 0 },
		{ "all is read", 1000, 1000 },
		{ "some is unread", 1000, 1 },
		{ "nothing is read", 1000, 0 },
		{ "more than the peer's buffer", 600000, 0 },
	};
	static char octets[600000];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sdp_tcp_count writer, reader;
		int fds[2], size = 1 << 20;
		size_t done = 0;
		ssize_t n;

		test_tcp_pair(fds);
		setsockopt(fds[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
		/* The accepting end writes: its SYN is not counted. */
		while (done < rows[i].written &&
		       (n = send(fds[1], octets, rows[i].written - done,
				 MSG_DONTWAIT)) > 0)
			done += (size_t)n;
		if (rows[i].read > 0)
			assert_int_equal(
				recv(fds[0], octets, rows[i].read, MSG_WAITALL),
				rows[i].read);
		assert_true(sdp_tcp_count(fds[1], &writer));
		assert_true(sdp_tcp_count(fds[0], &reader));
		assert_row(rows[i].name, writer.tx == done);
		assert_row(rows[i].name, writer.rx == 0);
		assert_row(rows[i].name, reader.rx == rows[i].read);
		/* The SYN of the connecting end. */
		assert_row(rows[i].name, reader.tx == 1);
		close(fds[0]);
		close(fds[1]);
	}
}

CASE(counts_only_what_is_established)
{
	struct sdp_tcp_count count;
	int fds[2], other = test_tcp_socket();

	assert_false(sdp_tcp_count(other, &count));
	close(other);
	assert_false(sdp_tcp_count(-1, &count));
	for (int end = 0; end < 2; end++) {
		test_tcp_pair(fds);
		assert_int_equal(shutdown(fds[end], SHUT_WR), 0);
		assert_eof(fds[!end]);
		assert_false(sdp_tcp_count(fds[0], &count));
		assert_false(sdp_tcp_count(fds[1], &count));
		close(fds[0]);
		close(fds[1]);
	}
}

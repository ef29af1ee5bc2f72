/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* early.c: what a start stores, and the pieces in which it is sent. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loopback.h"
#include "sock/base/events.h"
#include "sock/start/early.h"

static struct sdp_sock sock;

static int end(void **state)
{
	sdp_early_drop(&sock);
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, NULL, end)

static ssize_t add(const char *text, bool is_urgent)
{
	struct iovec iov = { (void *)(uintptr_t)text, strlen(text) };

	return sdp_early_add(&sock, &iov, 1, 1, is_urgent);
}

/* Return: the octets, with each urgent one in brackets. */
static const char *pieces(void)
{
	static char text[64];
	size_t at = 0, len = 0;

	while (at < sdp_sock_early_len(&sock)) {
		bool is_urgent;
		struct iovec piece = sdp_early_piece(&sock, at, &is_urgent);

		assert_in_range(piece.iov_len, 1, sizeof(text) / 2);
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					is_urgent ? "[%.*s]" : "%.*s",
					(int)piece.iov_len,
					(char *)piece.iov_base);
		at += piece.iov_len;
	}
	text[len] = 0;
	return text;
}

FILE_CASE(the_last_urgent_octet_stays_urgent)
{
	static const struct {
		const char *name, *texts[4]; /* "!": its last octet is urgent */
		const char *want;
	} rows[] = {
		{ "nothing", { NULL }, "" },
		{ "none", { "ab", "cd" }, "abcd" },
		{ "the first", { "!", "abc" }, "[!]abc" },
		{ "behind data of one send", { "ab!", "cd" }, "ab[!]cd" },
		{ "the last", { "ab", "cd!" }, "abcd[!]" },
		{ "two", { "ab!", "cd", "!", "e" }, "ab!cd[!]e" },
		{ "two in a row", { "!", "!" }, "![!]" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t t = 0; t < 4 && rows[i].texts[t]; t++) {
			const char *text = rows[i].texts[t];

			assert_int_equal(add(text, strchr(text, '!')),
					 strlen(text));
		}
		assert_row(rows[i].name, !strcmp(pieces(), rows[i].want));
		end(state);
		assert_row(rows[i].name, !sdp_sock_early_len(&sock));
	}
}

FILE_CASE(takes_what_there_is_room_for)
{
	static char much[SDP_EARLY_MAX + 1];
	struct iovec iov[2] = { { much, 40000 }, { much, 40000 } };
	bool is_urgent;

	assert_int_equal(sdp_early_add(&sock, iov, 2, SDP_EARLY_MAX + 1, true),
			 -EAGAIN);
	assert_int_equal(sdp_sock_early_len(&sock), 0);
	/* A part of an urgent send has no urgent octet. */
	assert_int_equal(sdp_early_add(&sock, iov, 2, 1, true), SDP_EARLY_MAX);
	assert_int_equal(sdp_early_piece(&sock, 0, &is_urgent).iov_len,
			 SDP_EARLY_MAX);
	assert_false(is_urgent);
	assert_int_equal(add("x", false), -EAGAIN);
	assert_int_equal(sdp_sock_early_len(&sock), SDP_EARLY_MAX);
}

FILE_CASE(bad_memory_is_efault)
{
	char ok[] = "ok";
	struct iovec iov[2] = { { ok, 2 }, { (void *)16, 5 } };

	assert_int_equal(sdp_early_add(&sock, iov + 1, 1, 1, false), -EFAULT);
	assert_int_equal(sdp_early_add(&sock, iov, 2, 1, true), 2);
	assert_string_equal(pieces(), "ok");
}

static void *read_all(void *arg)
{
	const int *fd = arg;
	static char octets[65536];
	size_t *len = calloc(1, sizeof(*len));
	ssize_t n;

	while ((n = recv(*fd, octets, sizeof(octets), 0)) > 0)
		*len += (size_t)n;
	return len;
}

/* A socket whose buffer is full, and which the program has set O_NONBLOCK. */
FILE_CASE(all_goes_by_tcp_where_there_is_no_room)
{
	static char octets[65536];
	pthread_t reader;
	size_t sent = 0;
	void *got;
	ssize_t n;
	int fds[2];

	test_tcp_pair(fds);
	assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
	while ((n = send(fds[0], octets, sizeof(octets), 0)) > 0)
		sent += (size_t)n;
	util_lock_init(&sock.lock, UTIL_RANK_SDP_SOCK);
	assert_int_equal(add("stored", false), 6);
	assert_int_equal(pthread_create(&reader, NULL, read_all, &fds[1]), 0);
	util_lock(&sock.lock);
	assert_int_equal(sdp_early_send(&sock, fds[0]), 0);
	util_unlock(&sock.lock);
	close(fds[0]);
	pthread_join(reader, &got);
	assert_int_equal(*(size_t *)got, sent + 6);
	free(got);
	close(fds[1]);
}

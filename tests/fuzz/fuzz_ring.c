/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The local path with a hostile other end: between the calls of this end it
 * writes what it likes to the memory that both share, this end's own words
 * included.
 *
 * Whatever it writes, this end stays inside its buffers and inside the ring,
 * never takes more than it asked for, and keeps its own indices.
 */
#include "fuzz.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "local/local.h"
#include "local/memory.h"
#include "local/ring.h"
#include "os/fd.h"

enum op { OP_RECV, OP_SEND, OP_SLEEP, OP_WOKEN, OP_WORD, OP_OCTETS, OP_MORE };

struct input {
	const uint8_t *data;
	size_t left;
};

static uint64_t take(struct input *in, size_t len)
{
	uint64_t value = 0;

	if (len > in->left)
		len = in->left;
	memcpy(&value, in->data, len);
	in->data += len;
	in->left -= len;
	return value;
}

/* Indices near those of this end are of more interest than others. */
static uint64_t take_index(struct input *in, uint64_t own)
{
	switch (take(in, 1) % 4) {
	case 0:
		return own + take(in, 1);
	case 1:
		return own + take(in, 4) % (2 * RNIC_RING_SIZE);
	case 2:
		return own - take(in, 4) % (2 * RNIC_RING_SIZE);
	}
	return take(in, 8);
}

static void hostile_word(struct input *in, struct rnic_local *local)
{
	struct rnic_ring_shared *rx = local->rx.shared;
	struct rnic_ring_shared *tx = local->tx.shared;

	switch (take(in, 1) % 10) {
	case 0:
		rx->head = take_index(in, local->rx.own);
		break;
	case 1:
		tx->tail = take_index(in, local->tx.own);
		break;
	case 2:
		rx->has_left = (uint32_t)take(in, 1);
		break;
	case 3:
		rx->writer_waits = (uint32_t)take(in, 1);
		break;
	case 4:
		tx->reader = (uint32_t)take(in, 1);
		break;
	case 5: /* what this end alone should write */
		rx->tail = take(in, 8);
		break;
	case 6:
		tx->head = take(in, 8);
		break;
	case 7:
		rx->reader = (uint32_t)take(in, 4);
		break;
	case 8:
		rx->inline_from = take_index(in, local->rx.own) + 1;
		break;
	case 9:
		rx->inline_octets[take(in, 1) % RNIC_RING_INLINE_WORDS] =
			take(in, 8);
		break;
	}
}

static void hostile_octets(struct input *in, struct rnic_local *local)
{
	size_t at = take(in, 4) % RNIC_RING_SIZE;
	size_t len = take(in, 1);

	for (size_t i = 0; i < len; i++)
		local->rx.data[(at + i) % RNIC_RING_SIZE] = (uint8_t)i;
}

/* Buffers of their own, so that a sanitizer sees both ends of each. */
static void move(struct input *in, struct rnic_local *local, bool is_send)
{
	struct rnic_ring *ring = is_send ? &local->tx : &local->rx;
	uint64_t own = ring->own;
	struct iovec iov[3];
	size_t want = 0;
	ssize_t len;

	for (int i = 0; i < 3; i++) {
		iov[i].iov_len = take(in, 3) % (RNIC_RING_SIZE + 100);
		iov[i].iov_base = calloc(1, iov[i].iov_len + 1);
		fuzz_assert(iov[i].iov_base);
		want += iov[i].iov_len;
	}
	len = is_send ? rnic_local_send(local, iov, 3)
		      : rnic_local_recv(local, iov, 3);
	fuzz_assert(len > 0 || len == -EAGAIN || len == -EPIPE ||
		    len == -EPROTO);
	fuzz_assert(len < 0 || (size_t)len <= want);
	fuzz_assert(ring->own - own == (len > 0 ? (uint64_t)len : 0));
	for (int i = 0; i < 3; i++)
		free(iov[i].iov_base);
}

static void one(struct input *in, struct rnic_local *local, int other_fd)
{
	char octets[300] = "";

	while (in->left > 0) {
		switch (take(in, 1) % OP_MORE) {
		case OP_RECV:
			move(in, local, false);
			break;
		case OP_SEND:
			move(in, local, true);
			break;
		case OP_SLEEP:
			(void)rnic_local_sleep(local, take(in, 1) & 1,
					       take(in, 1) & 1);
			break;
		case OP_WOKEN:
			/* More wake-ups than this end reads at once. */
			(void)!write(other_fd, octets, take(in, 1));
			(void)rnic_local_woken(local);
			break;
		case OP_WORD:
			hostile_word(in, local);
			break;
		case OP_OCTETS:
			hostile_octets(in, local);
			break;
		}
		fuzz_assert(local->rx.peer - local->rx.own <= RNIC_RING_SIZE);
		fuzz_assert(local->tx.own - local->tx.peer <= RNIC_RING_SIZE);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct rnic_local *local;
	int fd = rnic_local_memory_new(), wake[2];
	void *mem;

	fuzz_assert(fd >= 0);
	fuzz_assert(!rnic_local_memory_map(fd, &mem));
	close(fd);
	fuzz_assert(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, wake));
	wake[0] = rnic_fd_own(wake[0]);
	fuzz_assert(wake[0] >= 0);
	local = rnic_local_new(mem, wake[0], take(&in, 1) & 1);
	fuzz_assert(local);
	one(&in, local, wake[1]);
	rnic_local_free(local);
	close(wake[1]);
	return 0;
}

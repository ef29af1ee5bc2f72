/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* QP numbers: blocks of 256 per port; numbers are drawn, given back, and
 * rest. */

#include "qp-num.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "util/cancel.h"
#include "object.h"
#include "os/addr.h"
#include "util/clock.h"
#include "os/fd.h"
#include "os/tcp.h"

#define BLOCK_SLOTS 256u
/* As many as there are ports. */
#define BLOCK_MAX 65536u
/* While numbers rest, there may be so many blocks.  With more, the number that
 * has rested longest is drawn. */
#define BLOCK_RESTING_MAX 64u
/* To listen below it takes privilege: ports of numbers that are not
 * reachable. */
#define PORT_PRIVILEGED 1024u

/*
 * Free slots are in a ring.  A slot that may be drawn at once is put at the
 * head, one that has to rest at the tail.
 */
struct num_block {
	uint16_t port;
	bool is_listening;
	int fd; /* -1: unreachable */
	uint16_t head, free_cnt;
	uint8_t slot[BLOCK_SLOTS];
	uint64_t usable_ns[BLOCK_SLOTS]; /* by slot */
	uint64_t rest_ns;		 /* the last of them */
};

static struct util_lock num_lock = UTIL_LOCK_INIT(UTIL_RANK_MR_TABLE);
/* Guarded by num_lock. */
static struct num_block **blocks;
static uint32_t block_cnt, block_max, block_turn;

static uint8_t ring_pos(const struct num_block *block, unsigned int off)
{
	return (uint8_t)(block->head + off);
}

static void block_push_front(struct num_block *block, uint8_t slot)
{
	block->head = ring_pos(block, BLOCK_SLOTS - 1);
	block->slot[block->head] = slot;
	block->free_cnt++;
}

static void block_push_back(struct num_block *block, uint8_t slot)
{
	block->slot[ring_pos(block, block->free_cnt)] = slot;
	block->free_cnt++;
}

static uint32_t block_pop(struct num_block *block)
{
	uint8_t slot = block->slot[block->head];

	block->head = ring_pos(block, 1);
	block->free_cnt--;
	return (uint32_t)block->port << 8 | slot;
}

/* When its first free slot may be drawn; UINT64_MAX: none is free. */
static uint64_t block_usable_ns(const struct num_block *block)
{
	return block->free_cnt ? block->usable_ns[block->slot[block->head]]
			       : UINT64_MAX;
}

/* ---- ports -------------------------------------------------------------- */

static int port_bind(int family, const struct sockaddr *any, socklen_t len,
		     uint16_t *ret_port)
{
	struct sockaddr_storage bound = { 0 };
	socklen_t bound_len = sizeof(bound);
	int fd = rnic_sock_open(family, SOCK_STREAM);
	int off = 0, ret;

	if (fd < 0)
		return fd;
	if (family == AF_INET6 &&
	    rnic_tcp()->setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off,
				   sizeof(off)) < 0)
		goto close_errno;
	if (rnic_tcp()->bind(fd, any, len) < 0 ||
	    rnic_tcp()->getsockname(fd, (struct sockaddr *)&bound, &bound_len) <
		    0)
		goto close_errno;
	*ret_port = ntohs(rnic_addr_port_be(&bound));
	return fd;
close_errno:
	ret = -errno;
	rnic_fd_close(fd);
	return ret;
}

static int port_open(uint16_t *ret_port)
{
	const struct sockaddr_in6 any6 = { .sin6_family = AF_INET6 };
	const struct sockaddr_in any4 = { .sin_family = AF_INET };
	int fd = port_bind(AF_INET6, (const struct sockaddr *)&any6,
			   sizeof(any6), ret_port);

	/* A host without IPv6 has no ::. */
	if (fd < 0)
		fd = port_bind(AF_INET, (const struct sockaddr *)&any4,
			       sizeof(any4), ret_port);
	return fd;
}

/* ---- blocks ------------------------------------------------------------- */

static bool port_is_taken(uint16_t port)
{
	for (uint32_t i = 0; i < block_cnt; i++)
		if (blocks[i]->port == port)
			return true;
	return false;
}

static int blocks_grow(void)
{
	uint32_t max = block_max ? 2 * block_max : 16;
	struct num_block **grown;

	if (block_cnt < block_max)
		return 0;
	if (block_cnt == BLOCK_MAX)
		return -EMFILE;
	grown = realloc(blocks, max * sizeof(struct num_block *));
	if (!grown)
		return -ENOMEM;
	blocks = grown;
	block_max = max;
	return 0;
}

/* @must_listen: a block without a port is of no use. */
static struct num_block *block_new(bool must_listen)
{
	struct num_block *block;
	uint8_t first = 0;

	if (blocks_grow() < 0)
		return NULL;
	block = calloc(1, sizeof(*block));
	if (!block)
		return NULL;
	block->fd = port_open(&block->port);
	for (uint16_t port = 1; block->fd < 0 && !block->port; port++) {
		if (must_listen || port == PORT_PRIVILEGED) {
			free(block);
			return NULL;
		}
		if (!port_is_taken(port))
			block->port = port;
	}
	/* The numbers of a program that was restarted differ from before. */
	if (util_sys_getrandom(&first, sizeof(first)) != sizeof(first))
		first = 0;
	for (unsigned int i = 0; i < BLOCK_SLOTS; i++)
		block_push_back(block, (uint8_t)(first + i));
	blocks[block_cnt++] = block;
	return block;
}

/*
 * The block to draw from: one with a port and a slot that does not rest.  If
 * there is none, a new one, up to BLOCK_RESTING_MAX.  If that fails as well,
 * the block whose rest ends first.  A block without a port is used only if no
 * port can be had now.
 */
static struct num_block *block_find(uint64_t now_ns)
{
	struct num_block *best = NULL, *spare = NULL, *made;
	uint64_t best_ns = UINT64_MAX;

	for (uint32_t i = 0; i < block_cnt; i++) {
		struct num_block *block = blocks[(block_turn + i) % block_cnt];
		uint64_t usable_ns = block_usable_ns(block);

		if (usable_ns <= now_ns && block->fd >= 0) {
			block_turn = (block_turn + i) % block_cnt;
			return block;
		}
		if (usable_ns <= now_ns) {
			spare = block;
		} else if (usable_ns < best_ns) {
			best_ns = usable_ns;
			best = block;
		}
	}
	if (spare) {
		made = block_new(true);
		return made ? made : spare;
	}
	if (best && block_cnt >= BLOCK_RESTING_MAX)
		return best;
	made = block_new(false);
	return made ? made : best;
}

static struct num_block *block_of(uint32_t num)
{
	for (uint32_t i = 0; i < block_cnt; i++)
		if (blocks[i]->port == rnic_qp_num_port(num))
			return blocks[i];
	return NULL;
}

/* Close the ports of blocks that have no number in use or at rest. */
static void blocks_sweep(uint64_t now_ns)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < block_cnt; i++) {
		struct num_block *block = blocks[i];

		if (block->free_cnt < BLOCK_SLOTS || block->rest_ns > now_ns) {
			blocks[kept++] = block;
			continue;
		}
		rnic_fd_close(block->fd);
		free(block);
	}
	block_cnt = kept;
}

/* ---- numbers ------------------------------------------------------------ */

int rnic_qp_num_draw(uint32_t *ret_num)
{
	UTIL_LOCKED(&num_lock);
	struct num_block *block = block_find(util_now_ns());

	if (!block)
		return -EMFILE;
	*ret_num = block_pop(block);
	return 0;
}

void rnic_qp_num_release(uint32_t num, bool was_told)
{
	uint64_t now_ns = util_now_ns();
	uint8_t slot = (uint8_t)num;
	struct num_block *block;

	util_lock(&num_lock);
	block = block_of(num);
	if (block && was_told) {
		block->rest_ns = now_ns + RNIC_QP_NUM_REST_NS;
		block->usable_ns[slot] = block->rest_ns;
		block_push_back(block, slot);
	} else if (block) {
		block->usable_ns[slot] = 0;
		block_push_front(block, slot);
	}
	blocks_sweep(now_ns);
	util_unlock(&num_lock);
}

int rnic_qp_num_listen(uint32_t num, bool *ret_is_new)
{
	UTIL_LOCKED(&num_lock);
	struct num_block *block = block_of(num);

	if (!block || block->fd < 0)
		return -EADDRNOTAVAIL;
	*ret_is_new = !block->is_listening;
	if (*ret_is_new && rnic_tcp()->listen(block->fd, SOMAXCONN) < 0)
		return -errno;
	block->is_listening = true;
	return block->fd;
}

int rnic_qp_num_next_listener(uint32_t *num)
{
	UTIL_LOCKED(&num_lock);
	const struct num_block *next = NULL;

	for (uint32_t i = 0; i < block_cnt; i++) {
		const struct num_block *block = blocks[i];

		if (block->is_listening &&
		    block->port > rnic_qp_num_port(*num) &&
		    (!next || block->port < next->port))
			next = block;
	}
	if (!next)
		return -ENOENT;
	*num = (uint32_t)next->port << 8;
	return next->fd;
}

void rnic_qp_num_fork_child(void)
{
	util_lock_init(&num_lock, UTIL_RANK_MR_TABLE);
	/* The fd table closes the sockets.  The memory is a copy of the
	 * parent's, which may have been changing it. */
	blocks = NULL;
	block_cnt = 0;
	block_max = 0;
	block_turn = 0;
}

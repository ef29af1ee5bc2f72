/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Records of packets, as usiw capture takes them from this process. A part of
 * one test program.
 */
#ifndef TEST_CAPTURED_H
#define TEST_CAPTURED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/usiw-packet.h"
#include "must.h"
#include "os/observer.h"
#include "os/stat.h"

#define CAPTURED_RING (1u << 24)

static struct usiw_observer_place *captured_place;

struct captured {
	struct usiw_record record;
	struct usiw_packet packet;
	uint8_t octets[65536];
	size_t kept;
};

static inline void captured_map(int fd, uint64_t at, uint32_t snap_len,
				uint32_t ring_size)
{
	size_t len = USIW_OBSERVER_DATA_AT + ring_size;

	/* It can only grow. */
	must(lseek(fd, 0, SEEK_END) >= (off_t)(at + len) ||
	     !ftruncate(fd, (off_t)(at + len)));
	captured_place = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			      (off_t)at);
	must(captured_place != MAP_FAILED);
	memset(captured_place, 0, len);
	captured_place->version = USIW_OBSERVER_VERSION;
	captured_place->kind = USIW_OBSERVE_PACKETS;
	captured_place->ring_size = ring_size;
	captured_place->slot_cnt = 1;
	captured_place->snap_len = snap_len;
	captured_place->magic = USIW_OBSERVER_MAGIC;
}

/* The process is observed from now on. Its counter page is there. */
static inline void captured_begin(uint32_t snap_len, uint32_t ring_size)
{
	struct usiw_observed *observed = &rnic_stat_memory.page.observed;

	rnic_observer_start();
	captured_map(rnic_stat_fd(), USIW_OBSERVER_AT(USIW_OBSERVE_PACKETS),
		     snap_len, ring_size);
	observed->request[USIW_OBSERVE_PACKETS].owner = (uint32_t)getpid();
	atomic_fetch_add(&observed->request[USIW_OBSERVE_PACKETS].serial, 1);
	atomic_fetch_or(&observed->wanted, 1u << USIW_OBSERVE_PACKETS);
	/* While one thread attaches, records of others are lost. */
	must(rnic_observer_snap_len(USIW_OBSERVE_PACKETS) == snap_len);
}

static inline void captured_end(void)
{
	atomic_store(&rnic_stat_memory.page.observed.wanted, 0);
	munmap(captured_place,
	       USIW_OBSERVER_DATA_AT + captured_place->ring_size);
}

static inline uint64_t captured_lost(void)
{
	return atomic_load(&captured_place->slot[0].ring.lost);
}

/* Return: false: there is none. */
static inline bool captured_take(struct captured *ret)
{
	static union {
		struct usiw_record record;
		uint8_t octets[66 * 1024];
	} taken;
	const size_t head = sizeof(ret->record) + sizeof(ret->packet);
	int64_t len = usiw_record_take(
		&captured_place->slot[0].ring,
		(char *)captured_place + USIW_OBSERVER_DATA_AT,
		captured_place->ring_size, &taken, sizeof(taken));

	must(len >= 0);
	if (!len)
		return false;
	must((size_t)len >= head && (size_t)len - head <= sizeof(ret->octets));
	ret->record = taken.record;
	memcpy(&ret->packet, taken.octets + sizeof(taken.record),
	       sizeof(ret->packet));
	ret->kept = (size_t)len - head;
	memcpy(ret->octets, taken.octets + head, ret->kept);
	return true;
}

#endif

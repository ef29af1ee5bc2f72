/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Records of what processes send and receive (abi/usiw-packet.h) become packets
 * of a capture.  A process is an interface of the file.
 *
 * Nothing in a record is trusted: nonsense costs the records of its process.
 */
#ifndef CAPTURE_H
#define CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/usiw-observer.h"
#include "abi/usiw-packet.h"
#include "pcapng.h"

/* Least snap_len: all headers, IPv6 and iWARP. */
#define CAPTURE_SNAP_MIN 128u
#define CAPTURE_SNAP_MAX 262144u

/* What is to be written; 0: all. */
struct capture_filter {
	uint32_t qp_num;
	uint16_t port; /* of either end */
	bool has_peer;
	uint8_t peer[16];
	const char *text; /* of all of them, for the file */
};

struct capture_counts {
	uint64_t written; /* packets, in files */
	uint64_t lost;	  /* records: the ring was full */
	uint64_t dropped; /* packets: there was no room in the output */
	uint64_t bad;	  /* records: nonsense */
};

struct capture;

/* @filter: stays the caller's, until capture_free().  Return: NULL: no
 * memory. */
struct capture *capture_new(uint32_t snap_len,
			    const struct capture_filter *filter);
void capture_free(struct capture *cap);

const struct capture_counts *capture_counts(const struct capture *cap);
/* These packets are not written after all. */
void capture_uncount(struct capture *cap, uint64_t cnt);

/* A process has come.  @name: copied.  Return: its number; -ENOMEM. */
int capture_add_process(struct capture *cap, uint32_t pid, const char *name);

/* All packets go to another file from now on.  Adds its head.  Return: 0;
 * -ENOSPC. */
int capture_begin_file(struct capture *cap, struct pcapng *to);

/*
 * Adds what a record says.
 * @record: @len octets, the header included; its fields may be anything.
 * @lost: how many records the process has lost so far.
 */
void capture_take(struct capture *cap, int process,
		  const struct usiw_record *record, size_t len, uint64_t lost,
		  struct pcapng *to);

/* The process tells nothing more: what it has told in part is added. */
void capture_end_process(struct capture *cap, int process, uint64_t lost,
			 struct pcapng *to);

/* The file ends: adds how many packets each process has lost. */
void capture_end_file(struct capture *cap, uint64_t ns, struct pcapng *to);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Processes that a command observes, and the records that they write
 * (abi/usiw-observer.h).  Errors are printed on stderr.  One thread.
 */
#ifndef OBSERVER_H
#define OBSERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/usiw-observer.h"
#include "launch.h"

/* Octets of a record that observer_next() shows; the rest is cut off.  More
 * than the longest FPDU has (usiw-packet.h). */
#define OBSERVER_RECORD_MAX (66u * 1024)

/* Processes that are observed, at most. */
#define OBSERVER_SOURCES (2 * USIW_OBSERVER_SLOTS)

struct observer;

/**
 * observer_new - prepare to observe
 * @command: its name, for errors: "trace".
 * @kind: what is observed.
 * @ring_size: octets for the records of each process, a power of 2.
 * @snap_len: PACKETS: octets of payload in a record, at most.
 * Return: NULL: the reason was printed.
 */
struct observer *observer_new(const char *command, enum usiw_observe kind,
			      uint32_t ring_size, uint32_t snap_len);

/* Processes end the observation when they end, others by this call. */
void observer_free(struct observer *obs);

/* Begins with a process that runs.  Return: 0; -1: the reason was printed. */
int observer_attach(struct observer *obs, pid_t pid);

/*
 * Starts @argv as usiw run does.  It is observed from its start, as are the
 * processes that it starts.
 * Return: 0; -1: the reason was printed.
 */
int observer_spawn(struct observer *obs, const struct options *options,
		   char *const *argv, struct launched *ret_program);

/*
 * From now on SIGINT and SIGTERM set what observer_is_stopped() returns, and
 * SIGPIPE and SIGXFSZ are left to the error of write(2).  Not by SIG_IGN, which
 * a program that is started would keep.
 * @flags: of sigaction(2), for the first two.
 */
void observer_signals_set(int flags);
bool observer_is_stopped(void);

struct observer_record {
	uint32_t pid;
	/* Below OBSERVER_SOURCES; a process that executes another program has
	 * another one. */
	uint32_t source;
	const struct usiw_record *head; /* the payload follows */
	const void *payload;
	uint32_t len; /* of the payload */
};

/*
 * The oldest record.  It is valid until the next call.
 * Return: false: there is none now.
 */
bool observer_next(struct observer *obs, struct observer_record *ret_record);

/* Waits up to @ms for records, a signal, or the end of a process. */
void observer_wait(struct observer *obs, int ms);

/* Processes that are observed and have not ended.  One that was attached ends
 * when it executes another program. */
uint32_t observer_live_cnt(struct observer *obs);

/* Records that found no room, and processes that were one too many. */
uint64_t observer_lost(const struct observer *obs);
uint64_t observer_source_lost(const struct observer *obs, uint32_t source);

#endif

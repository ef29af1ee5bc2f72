/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Records for commands that observe the process (abi/usiw-observer.h): a part
 * of rnic.h, for all that has hooks.
 */
#ifndef RNIC_OBSERVER_RECORD_H
#define RNIC_OBSERVER_RECORD_H

#include "abi/usiw-observer.h"
#include "rnic/rnic.h"

/*
 * A hook asks for its bit, 1 << enum usiw_observe, of this word first: it never
 * moves, and is rarely written.  A record that finds no room is lost and
 * counted; no hook waits for a command.
 */
RNIC_EXPORT const _Atomic uint32_t *rnic_observed_word(void);

/* A record that is being written. */
struct rnic_observer_record {
	struct usiw_record *record;
	void *payload;
	uint32_t len; /* of the payload */
};

/*
 * Reserves a record; the first call after a command has asked opens and maps a
 * file.  Any locks may be held.  @record_kind: what the payload is; the command
 * knows.  @len: octets of payload.
 * Return: true: fill the payload and call rnic_observer_end() soon.
 */
RNIC_EXPORT bool rnic_observer_begin(enum usiw_observe kind,
				     uint16_t record_kind, uint32_t len,
				     struct rnic_observer_record *ret_record);
RNIC_EXPORT void rnic_observer_end(enum usiw_observe kind,
				   const struct rnic_observer_record *record);

#endif

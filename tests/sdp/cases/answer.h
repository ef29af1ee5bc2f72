/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The states of a connection, and the calls of a program in each of them. */
#ifndef SDP_CASES_ANSWER_H
#define SDP_CASES_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "tcp-answer.h"

/* A state that a socket can be brought into. */
struct answer_state {
	const char *name;
	int (*make)(void);    /* Return: a socket in that state */
	unsigned int holds;   /* SDP_HOLDS_... */
	enum sdp_cause cause; /* of SDP_HOLDS_ERROR */
	enum sdp_phase phase;
	short events; /* POLLIN, POLLOUT, POLLRDHUP, POLLHUP, POLLERR */
	/* The peer's kernel answers for a peer whose program is silent, so it
	 * is silent only to TCP, whose window is closed. */
	bool is_of_tcp;
};

extern const struct answer_state answer_states[];
extern const size_t answer_state_cnt;

/* A call, and what it returns if the state does not stand in its way. */
struct answer_call {
	const char *name;
	enum sdp_call call;
	long (*run)(int fd); /* Return: -1 with errno, or its value */
	long value;
};

extern const struct answer_call answer_calls[];
extern const size_t answer_call_cnt;

/* Makes the call in a socket of that state, and compares what it answers with
 * the table. A call that takes the error is made twice. */
void answer_check(const struct answer_state *state,
		  const struct answer_call *call);

/* Compares the events of poll(). */
void answer_check_events(const struct answer_state *state);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See tcp-answer.h. */
#include "tcp-answer.h"

#include <errno.h>
#include <stddef.h>

/* The row says nothing about the call. */
#define NEXT 3
#define GO SDP_ANSWER_GO
#define ERR SDP_ANSWER_ERROR

/*
 * The first row that holds and says something about the call. The rows are in
 * the order of the checks in Linux: tcp_sendmsg_locked(), tcp_recvmsg_locked(),
 * inet_shutdown(), inet_getname(), sock_error().
 *
 * - The peer's end remains the answer to a receive, whatever comes after it. An
 *   error then waits for a send or for SO_ERROR.
 * - An error is reported once, by the first call that can, and comes before
 *   "broken pipe" also after SHUT_WR.
 * - A connection that has ended has no peer: neither a name nor something to
 *   shut down.
 * - A send before connect() is "broken pipe" too: that socket has not been
 *   connected. All other calls say so.
 */
static const struct {
	unsigned int holds;
	int answers[SDP_CALL_CNT];
} rows[] = {
	/* send, receive, shutdown, getpeername, SO_ERROR */
	{ SDP_HOLDS_PEER_END, { NEXT, 0, NEXT, NEXT, NEXT } },
	{ SDP_HOLDS_ERROR, { ERR, ERR, NEXT, NEXT, ERR } },
	{ SDP_HOLDS_WR_SHUT, { -EPIPE, NEXT, NEXT, NEXT, NEXT } },
	{ SDP_HOLDS_RD_SHUT, { NEXT, 0, NEXT, NEXT, NEXT } },
	{ SDP_HOLDS_OVER, { -EPIPE, 0, -ENOTCONN, -ENOTCONN, 0 } },
	{ SDP_HOLDS_NEW, { -EPIPE, -ENOTCONN, -ENOTCONN, -ENOTCONN, 0 } },
	{ 0, { GO, -EAGAIN, 0, 0, 0 } },
};

int sdp_answer_of(enum sdp_call call, unsigned int holds)
{
	/* Mostly nothing holds. */
	size_t i = holds ? 0 : sizeof(rows) / sizeof(rows[0]) - 1;

	while ((rows[i].holds & holds) != rows[i].holds ||
	       rows[i].answers[call] == NEXT)
		i++;
	return rows[i].answers[call];
}

/*
 * tcp_reset(): a connection that is refused, that is reset, and that is reset
 * after the peer's FIN. tcp_write_err(): the peer has not answered. A peer that
 * does not come back after a move has left the connection.
 */
static const int errors[SDP_CAUSE_CNT][SDP_PHASE_CNT] = {
	/* start, open, peer's end, move */
	[SDP_CAUSE_RESET] = { ECONNREFUSED, ECONNRESET, EPIPE, ECONNRESET },
	[SDP_CAUSE_SILENCE] = { ETIMEDOUT, ETIMEDOUT, ETIMEDOUT, ECONNRESET },
};

int sdp_answer_error(enum sdp_cause cause, enum sdp_phase phase)
{
	return errors[cause][phase];
}

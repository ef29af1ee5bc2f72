/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the calls of a program answer in each state of a connection, and with
 * which error a connection ends: as Linux's TCP does. tests/sdp/cases/answer.c
 * compares both.
 */
#ifndef SDP_TCP_ANSWER_H
#define SDP_TCP_ANSWER_H

/* ---- calls ---- */

enum sdp_call {
	SDP_CALL_SEND,
	SDP_CALL_RECV, /* that has found no octets */
	SDP_CALL_SHUTDOWN,
	SDP_CALL_PEER_NAME, /* getpeername() */
	SDP_CALL_SO_ERROR,
	SDP_CALL_CNT,
};

/* What holds of a connection; several may at once. */
#define SDP_HOLDS_ERROR 0x01u	 /* it was not reported yet: sk_err */
#define SDP_HOLDS_PEER_END 0x02u /* the peer sends no more: SOCK_DONE */
#define SDP_HOLDS_WR_SHUT 0x04u	 /* SHUT_WR: SEND_SHUTDOWN */
#define SDP_HOLDS_RD_SHUT 0x08u	 /* SHUT_RD: RCV_SHUTDOWN */
#define SDP_HOLDS_OVER 0x10u	 /* ended in both directions: TCP_CLOSE */
#define SDP_HOLDS_NEW 0x20u	 /* was not connected yet: TCP_CLOSE too */

/* The state does not stand in the way of the call. */
#define SDP_ANSWER_GO 1
/* The error that was not reported yet. The call takes it. */
#define SDP_ANSWER_ERROR 2

/* Return: 0; -errno; SDP_ANSWER_GO; SDP_ANSWER_ERROR. */
int sdp_answer_of(enum sdp_call call, unsigned int holds);

/* ---- errors ---- */

/* Why a connection has ended. If the timers of TCP or the network have ended
 * it, their own error counts (sdp_link_is_lost()). */
enum sdp_cause {
	SDP_CAUSE_RESET,   /* by the peer, or the carrier has ended */
	SDP_CAUSE_SILENCE, /* the peer did not answer in time */
	SDP_CAUSE_CNT,
};

/* How far it had come. */
enum sdp_phase {
	SDP_PHASE_START,    /* not established: SYN_SENT */
	SDP_PHASE_OPEN,	    /* established */
	SDP_PHASE_PEER_END, /* the peer's end was received: CLOSE_WAIT */
	SDP_PHASE_MOVE,	    /* between two carriers, which TCP does not have */
	SDP_PHASE_CNT,
};

/* Return: errno. */
int sdp_answer_error(enum sdp_cause cause, enum sdp_phase phase);

#endif

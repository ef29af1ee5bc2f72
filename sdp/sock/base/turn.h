/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Turns at a listener, of threads and of the processes that fork() makes.
 *
 * O_NONBLOCK belongs to the open file, which they share. If one of them changes
 * it for a call, another one takes it back in the midst of its own, and sleeps
 * in a call that must not.
 */
#ifndef SDP_TURN_H
#define SDP_TURN_H

struct sdp_turn;

/* NULL: no memory. The functions below do nothing then. */
struct sdp_turn *sdp_turn_new(void);
/* Of this process only. Nobody here has the turn. */
void sdp_turn_free(struct sdp_turn *turn);

/* Waits until no other thread or process has the turn. Its holder must not
 * sleep, and must not take it again, not in a signal handler either. A holder
 * that ends gives it back; one that is stopped keeps it. */
void sdp_turn_take(struct sdp_turn *turn);
void sdp_turn_leave(struct sdp_turn *turn);

#endif

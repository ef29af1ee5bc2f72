/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The poll events of a socket over SDP. */
#ifndef SDP_SOCK_EVENTS_H
#define SDP_SOCK_EVENTS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "table.h"
#include "tcp-answer.h"

/* Octets that are accepted before the link is established. */
#define SDP_EARLY_MAX 65536u

/* STARTING, STREAM: the events of poll(2): POLLIN, POLLOUT, POLLPRI, POLLRDHUP,
 * POLLHUP, POLLERR. */
short sdp_sock_events(const struct sdp_sock *sock);

/* STARTING: octets that TCP has while SDP enters it. */
size_t sdp_sock_entering_len(const struct sdp_sock *sock);

/* Corresponds to TCP's state CLOSE: there is no peer any more. */
bool sdp_sock_is_over(const struct sdp_sock *sock);

/* What holds of the connection: SDP_HOLDS_..., but for the peer's end and a
 * connection that is not made yet. */
unsigned int sdp_sock_holds(const struct sdp_sock *sock);

/* What the call answers in that state (tcp-answer.h). Takes the error if that
 * is the answer. Return: 0; -errno; SDP_ANSWER_GO. */
int sdp_sock_answer(struct sdp_sock *sock, enum sdp_call call);

/* A call that got @error reports something else: the next one gets it again if
 * it is the end of the connection. */
void sdp_sock_tell_again(struct sdp_sock *sock, int error);

/* Translates state bits of a link into events of poll(2). */
short sdp_events_of(unsigned int state);

/* Adds the other names of POLLIN and POLLOUT, which programs may ask for. */
static inline short sdp_events_norm(short events)
{
	if (events & POLLIN)
		events |= POLLRDNORM;
	if (events & POLLOUT)
		events |= POLLWRNORM;
	return events;
}

#endif

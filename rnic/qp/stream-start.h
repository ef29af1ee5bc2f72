/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A stream joins one TCP socket, one smpa connection and, once connected,
 * one QP.
 *
 * Before rnic_qp_attach_stream() it belongs to what makes the connection, which
 * walks it through the MPA start exchange by these calls; after it to the QP's
 * engine, under the lead.
 */
#ifndef RNIC_STREAM_START_H
#define RNIC_STREAM_START_H

#include "object.h"

/*
 * Takes over @fd (connected, non-blocking TCP socket, in the fd table as
 * UTIL_FD_INTERNAL); on failure it stays the caller's.  Sets TCP_NODELAY.
 * @opt: role, rev, no_crc, rtr, ird, ord as wished; mulpdu follows
 * from the socket's MSS.
 */
int rnic_stream_new(int fd, const struct smpa_options *opt,
		    struct rnic_stream **ret_stream);

int rnic_stream_fd(const struct rnic_stream *stream);
struct smpa_conn *rnic_stream_conn(struct rnic_stream *stream);

/*
 * One step of the start exchange; call when the socket is ready, after
 * smpa_conn_start(), _accept() and _reject().  Never blocks.
 * Return: 1: *ret_ev (REQUEST, ESTABLISHED, REJECTED, FAULT, CLOSED) came up;
 *   0: nothing yet, see rnic_stream_start_wants(); -errno: the socket failed.
 */
int rnic_stream_start_step(struct rnic_stream *stream,
			   struct smpa_event *ret_ev);

/* What the settings say about a start exchange with that peer: CRC, markers,
 * revision 0, RTR. */
void rnic_stream_start_options(const struct sockaddr_storage *peer,
			       struct smpa_options *opt);

/* Depths of IRD and ORD are octets in struct rdma_conn_param. */
static inline uint8_t rnic_stream_depth_min(uint32_t a, uint32_t b)
{
	uint32_t min = a < b ? a : b;

	return min < UINT8_MAX ? (uint8_t)min : UINT8_MAX;
}

/* Octets read so far: none but the peer's start frame's. */
size_t rnic_stream_start_taken(const struct rnic_stream *stream);

/* ESTABLISHED: the RTR, where there is no QP that would send it.  Return: 0;
 * -errno. */
int rnic_stream_start_flush(struct rnic_stream *stream);

/*
 * ESTABLISHED, Responder: has the peer sent anything behind the start frames,
 * its RTR?  Nothing is taken.
 * Return: 1: yes; 0: not yet; -ECONNRESET: it has left, however.
 */
int rnic_stream_start_is_heard(const struct rnic_stream *stream);

/* EPOLLIN, or EPOLLIN | EPOLLOUT while octets wait to be sent. */
uint32_t rnic_stream_start_wants(const struct rnic_stream *stream);

/* Closes the socket and frees; only for streams not attached to a QP. */
void rnic_stream_free(struct rnic_stream *stream);

#endif

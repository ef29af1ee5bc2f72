/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Streams in the start phase.  Until rnic_qp_attach_stream() a stream belongs
 * to what makes the connection (rdma_cm, out of band), which takes it through
 * the MPA start exchange by these calls.
 */
#ifndef RNIC_STREAM_START_H
#define RNIC_STREAM_START_H

#include "object.h"

/*
 * @fd: a connected, non-blocking TCP socket, in the fd table as
 *   RNIC_FD_INTERNAL.  The stream owns it, but not after a failure.
 *   TCP_NODELAY is set.
 * @opt: what the caller wants: role, rev, no_crc, rtr, ird, ord.  mulpdu
 *   follows from the socket's MSS.
 */
int rnic_stream_new(int fd, const struct smpa_options *opt,
		    struct rnic_stream **ret_stream);

/*
 * One step of the start exchange.  Call it when the socket is ready, and after
 * smpa_conn_start(), _accept() and _reject().  Never blocks.
 * Return: 1: *ret_ev is REQUEST, ESTABLISHED, REJECTED, FAULT or CLOSED;
 *   0: nothing yet, see rnic_stream_start_wants(); -errno: the socket failed.
 */
int rnic_stream_start_step(struct rnic_stream *stream,
			   struct smpa_event *ret_ev);

/* Take from the settings, for this peer: CRC, markers, revision 0, RTR, and the
 * limit of IRD. */
void rnic_stream_start_options(const struct sockaddr_storage *peer,
			       struct smpa_options *opt);

/* IRD and ORD have eight bits in struct rdma_conn_param. */
static inline uint8_t rnic_stream_depth_min(uint32_t a, uint32_t b)
{
	uint32_t min = a < b ? a : b;

	return min < UINT8_MAX ? (uint8_t)min : UINT8_MAX;
}

/* ESTABLISHED, without a QP: send the RTR.  Return: 0; -errno. */
int rnic_stream_start_flush(struct rnic_stream *stream);

/*
 * Responder: has the peer sent anything behind its start frame,
 * such as the RTR?  Nothing is read.
 * Return: 1: yes; 0: not yet; -ECONNRESET: the connection has ended.
 */
int rnic_stream_start_is_heard(const struct rnic_stream *stream);

/* EPOLLIN, or EPOLLIN | EPOLLOUT while octets wait to be sent. */
uint32_t rnic_stream_start_wants(const struct rnic_stream *stream);

/* Close the socket and free; for a stream without a QP.  NULL: nothing. */
void rnic_stream_free(struct rnic_stream *stream);

#endif

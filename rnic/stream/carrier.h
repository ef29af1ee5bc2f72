/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What carries a stream's octets: a table of functions.  A stream begins with
 * TCP (tcp.h); memory that both ends share may follow, beside TCP (ring.h).
 *
 * All is under the lead; in START it is the stream's owner that calls.  No
 * function waits, or frees the stream.  What a carrier needs is in fields of
 * struct rnic_stream that only its file knows.
 */
#ifndef RNIC_STREAM_CARRIER_H
#define RNIC_STREAM_CARRIER_H

#include <sys/types.h>
#include <sys/uio.h>

#include "object.h"
#include "os/probe.h"

struct rnic_carrier {
	enum rnic_probe_carrier kind; /* for probes */
	/*
	 * Return: octets; 0 from recv: the peer's FIN; -EAGAIN: none, or no
	 *   room; -EFAULT: the memory; other -errno: the carrier has failed.
	 * @flags: MSG_EOR, or 0.  @cnt 0: the octets are thrown away.
	 */
	ssize_t (*send)(struct rnic_stream *stream, const struct iovec *iov,
			int cnt, int flags);
	ssize_t (*recv)(struct rnic_stream *stream, const struct iovec *iov,
			int cnt);
	/* No octets follow those that were sent. */
	void (*fin)(struct rnic_stream *stream);
	/* The engine shall look for octets, and for room if is_tx_blocked.
	 * Return: the events of the socket that it waits for. */
	uint32_t (*watch)(struct rnic_stream *stream, bool wants_in);
	/* The stream has left its engine, and its socket is closed. */
	void (*close)(struct rnic_stream *stream);

	/* Why it has failed, if no call has said so: negative errno. */
	int (*error)(const struct rnic_stream *stream);
	/* Octets that travel together. */
	uint32_t (*emss)(const struct rnic_stream *stream);
	/* How many the peer has taken, since some time. */
	uint64_t (*acked)(const struct rnic_stream *stream);

	/* What is not read now is read later at no greater cost. */
	bool keeps_octets;

	/* With memory beside the socket: as in struct rnic_source_ops. */
	void (*look)(struct rnic_stream *stream, bool is_woken);
	bool (*sleep)(struct rnic_stream *stream);
	void (*stay_awake)(struct rnic_stream *stream);
	void (*unwakeable)(struct rnic_stream *stream);
	bool (*handover)(struct rnic_stream *stream,
			 struct rnic_handover *ret_handover);
};

/* Every octet leaves the stream by the first call, and enters it by the
 * second.  They are the carrier's send() and recv(). */
ssize_t rnic_stream_send(struct rnic_stream *stream, const struct iovec *iov,
			 int cnt, int flags);
ssize_t rnic_stream_recv(struct rnic_stream *stream, const struct iovec *iov,
			 int cnt);

/* Throw away what is there.  Return: 1: the peer's FIN has come; 0: not yet;
 * -errno: the carrier has failed. */
int rnic_stream_discard(struct rnic_stream *stream);

/* What carries octets to the peer from now on, for observers of the QP. */
void rnic_stream_show(const struct rnic_stream *stream,
		      enum usiw_res_carrier carrier);

#endif

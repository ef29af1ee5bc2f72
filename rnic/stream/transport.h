/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The transports of RC and UC: iWARP, by a stream. */
#ifndef RNIC_STREAM_TRANSPORT_H
#define RNIC_STREAM_TRANSPORT_H

#include "qp/transport.h"

/* The link of a QP is its struct rnic_stream. */
extern const struct rnic_transport rnic_stream_transport;
extern const struct rnic_transport rnic_stream_lossy_transport;

#endif

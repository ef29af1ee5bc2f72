/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The transport of UD: each WR is one datagram. */
#ifndef RNIC_UD_H
#define RNIC_UD_H

#include "qp/transport.h"

extern const struct rnic_transport rnic_ud_transport;

#endif

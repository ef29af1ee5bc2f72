/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The engine as the host of event channels: threads that wait for an event of a
 * CQ do its work in the meantime. A thread may outlast its CQ, the context and
 * so the engine (visit.h).
 */
#ifndef RNIC_ENGINE_ATTEND_H
#define RNIC_ENGINE_ATTEND_H

#include "object.h"

extern const struct rnic_chan_host_ops rnic_engine_host_ops;

#endif

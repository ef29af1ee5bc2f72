/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the engine calls for the streams of its context. */
#ifndef RNIC_STREAM_SERVE_H
#define RNIC_STREAM_SERVE_H

#include "engine/object.h"

extern const struct rnic_engine_ops rnic_stream_ops;

#endif

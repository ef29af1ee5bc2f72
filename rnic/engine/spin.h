/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The completion thread looks for more octets before it sleeps: sched/spin.h
 * says when. */
#ifndef RNIC_ENGINE_SPIN_H
#define RNIC_ENGINE_SPIN_H

#include <sys/epoll.h>

#include "engine.h"

#define RNIC_SPIN_NEWS (ENGINE_EVENT_MAX + 1)

/*
 * Looks for USIW_SPIN_US at most.  Without the lead.
 * Return: events of epoll in @ev; RNIC_SPIN_NEWS: a source with memory has
 * news; 0: neither.
 */
int rnic_spin(struct rnic_engine *engine, struct epoll_event *ev);

#endif

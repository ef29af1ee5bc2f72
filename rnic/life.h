/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * All contexts of the process at once.  What an application calls is declared
 * in rnic.h.
 */
#ifndef RNIC_LIFE_H
#define RNIC_LIFE_H

/* Forked child: the parent's contexts are not ours to close. */
void rnic_contexts_fork_child(void);

/* Process exit: streams end in order, within their limit. */
void rnic_contexts_drain(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the RNIC tells a checker of the program (usiw check): a part of rnic.h,
 * for the provider.
 */
#ifndef RNIC_WATCH_PUBLIC_H
#define RNIC_WATCH_PUBLIC_H

#include "rnic/rnic.h"

/* A peer's access to memory that was refused. */
struct rnic_access_refused {
	uint32_t qp_num; /* of this side */
	uint32_t rkey;
	uint64_t addr, len;
	uint32_t access; /* the right that it needs, enum rnic_access */
	const char *why; /* constant */
};

/* The TERMINATE of a peer. */
struct rnic_terminated {
	uint32_t qp_num;     /* of this side */
	uint16_t code;	     /* layer, type and code */
	const char *name;    /* of the code; constant */
	const char *message; /* what the peer refused; constant; NULL: it does
				not say */
	bool has_target;     /* the remote memory of the message: */
	uint32_t rkey;
	uint64_t addr;
};

/*
 * Is told of what no result of a call says.  The functions are short and take
 * no lock that is held over a call of the RNIC, since locks of the RNIC are
 * held.
 */
struct rnic_watcher {
	void (*access_refused)(const struct rnic_access_refused *what);
	/* Comes before the completions that it causes. */
	void (*terminated)(const struct rnic_terminated *what);
	/* A Send came, and there is no receive for it, or a READ is ahead. */
	void (*send_held)(uint32_t qp_num);
	/* A call of this thread is refused: util_reason_watch(). */
	void (*reason)(const char *reason);
	/* rnic_chan_read() begins. */
	void (*chan_read)(const struct rnic_chan *chan);
};

/* From now on; called before there is a context.  NULL: nobody is told. */
RNIC_EXPORT void rnic_watch(const struct rnic_watcher *watcher);

#endif

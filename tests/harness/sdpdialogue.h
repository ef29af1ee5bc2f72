/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Dialogues of one SDP connection with a scripted peer: tables of what the peer
 * sends and of what the connection must send, octet for octet.
 */
#ifndef TEST_SDPDIALOGUE_H
#define TEST_SDPDIALOGUE_H

#include "sdpscript.h"

enum dialogue_act {
	ACT_IN,	   /* the peer sends these octets */
	ACT_OUT,   /* this message is sent; payload is not compared */
	ACT_READ,  /* an RDMA Read of this many octets is posted */
	ACT_WRITE, /* an RDMA Write */
	ACT_QUIET, /* nothing is sent */
	ACT_DONE,  /* everything posted has completed */
	ACT_SEND,  /* the ULP sends a buffer: cookie, length, flags */
	ACT_POST,  /* the ULP receives into a buffer */
	ACT_CONSUME,
	ACT_CANCEL_SEND, /* cookie */
	ACT_CANCEL_RECV,
	ACT_MODE, /* of the sending half */
	ACT_LEAVE_BUFFERED,
	ACT_ASK_SIZE,
	ACT_GRANT_SIZE,
	ACT_SHUT,
	ACT_ABORT,
	ACT_SUSPEND,
	ACT_SENT,     /* this buffer comes back: cookie, octets */
	ACT_RECEIVED, /* the same for a receive buffer */
	ACT_KEPT,     /* no receive buffer comes back */
	ACT_THERE,    /* this many octets can be read in place */
	ACT_COPIES,   /* takes all events; the ULP copies */
	ACT_END,
};

struct step {
	enum dialogue_act act;
	const char *octets;
	uint32_t a, b;
	uint8_t flags;
};

/* clang-format off */
#define STEP(what, x, y, z)                                                    \
	{                                                                      \
		.act = ACT_##what, .a = (x), .b = (y), .flags = (z)            \
	}
#define OCTETS(what, hex)                                                      \
	{                                                                      \
		.act = ACT_##what, .octets = (hex)                             \
	}
/* clang-format on */
#define IN(hex) OCTETS(IN, hex)
#define OUT(hex) OCTETS(OUT, hex)
#define READ(x) STEP(READ, x, 0, 0)
#define WRITE(x) STEP(WRITE, x, 0, 0)
#define QUIET STEP(QUIET, 0, 0, 0)
#define DONE STEP(DONE, 0, 0, 0)
#define SEND(cookie, len, flags) STEP(SEND, cookie, len, flags)
#define POST(cookie, len, flags) STEP(POST, cookie, len, flags)
#define CONSUME(x) STEP(CONSUME, x, 0, 0)
#define CANCEL_SEND(x) STEP(CANCEL_SEND, x, 0, 0)
#define CANCEL_RECV(x) STEP(CANCEL_RECV, x, 0, 0)
#define MODE(x) STEP(MODE, x, 0, 0)
#define LEAVE_BUFFERED STEP(LEAVE_BUFFERED, 0, 0, 0)
#define ASK_SIZE(x) STEP(ASK_SIZE, x, 0, 0)
#define GRANT_SIZE(x) STEP(GRANT_SIZE, x, 0, 0)
#define SHUT STEP(SHUT, 0, 0, 0)
#define ABORT STEP(ABORT, 0, 0, 0)
#define SUSPEND(x) STEP(SUSPEND, x, 0, 0)
#define SENT(cookie, len) STEP(SENT, cookie, len, 0)
#define RECEIVED(cookie, len) STEP(RECEIVED, cookie, len, 0)
#define KEPT STEP(KEPT, 0, 0, 0)
#define THERE(x) STEP(THERE, x, 0, 0)
#define COPIES STEP(COPIES, 0, 0, 0)
#define END STEP(END, 0, 0, 0)

#define RDMA SDP_BUF_RDMA

struct dialogue {
	struct script s;
	uint32_t mseq, work_id;	   /* of the next message and work */
	uint8_t req_pipe;	   /* expected in completions */
	uint32_t mids[256], flags; /* messages sent */
};

/* Runs the steps with a new connection that requests @req_pipe in its
 * completions. @name: for messages. Adds what is sent to mids and flags. */
void dialogue_run(struct dialogue *d, const char *name,
		  const struct step *steps, enum sdp_req_pipe req_pipe);

/* Runs one table with a connection that requests Combined. */
#define DIALOGUE(steps)                                                        \
	dialogue_run(&(struct dialogue){ .flags = 0 }, #steps, steps,          \
		     SDP_REQ_PIPE_NEVER)

#endif

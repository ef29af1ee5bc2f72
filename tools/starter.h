/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Programs that start another one, such as sudo and nice: which one, and
 * whether it still gets what usiw run puts into the environment.
 */
#ifndef STARTER_H
#define STARTER_H

#include <stdbool.h>

/* More of them in one command line are passed, and not remembered. */
#define STARTER_MAX 8

#define STARTER_REMOVES "removes LD_PRELOAD from its environment"

/* Where a command line leads to.  Text and words belong to the command line. */
struct starter_way {
	/* The words of the program at its end.  NULL: it runs elsewhere, or is
	 * a shell's text. */
	char *const *program;
	/* The last that takes LD_PRELOAD away, its name and what it does with
	 * it.  NULL: none, or usiw run is behind it. */
	const char *remover;
	const char *why;
	bool is_client; /* of sockets, and may use SDP */
	/* Those that were passed behind the last usiw run. */
	const char *passed[STARTER_MAX];
	unsigned passed_cnt;
	/* Of usiw run on the way. */
	bool has_run;
	bool wants_sdp;
	const char *persona; /* NULL: not said */
};

/* Follows @argv to the end.  *ret_way is filled in any case. */
void starter_follow(char *const *argv, struct starter_way *ret_way);

/* The same from the point on that @way has reached: for the words of a
 * script. */
void starter_follow_on(char *const *argv, struct starter_way *way);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Programs that cannot be preloaded, or start others that are not. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <limits.h>
#include <stdbool.h>

#include "starter.h"

/* A script's interpreter may be a script.  The kernel allows a few. */
#define PROGRAM_SCRIPT_MAX 4
#define PROGRAM_SCRIPT_WORDS 10

/* Why a program cannot see usiw's devices. */
enum program_fault {
	PROGRAM_FITS,
	PROGRAM_STATIC,
	PROGRAM_WORD_SIZE,
	PROGRAM_OTHER_LIBC,
	PROGRAM_SETUID,
	PROGRAM_SETGID,
	PROGRAM_CAPABILITIES,
};

struct program_script {
	char path[PATH_MAX];
	char line[256];			   /* its first one, cut into words */
	char *words[PROGRAM_SCRIPT_WORDS]; /* what the kernel executes */
};

/* What a command line starts at last.  It points into itself. */
struct program {
	struct starter_way way;
	char path[PATH_MAX]; /* of the program; "": it runs elsewhere */
	bool is_missing;     /* exec would not find it */
	enum program_fault fault;
	unsigned script_cnt;
	struct program_script scripts[PROGRAM_SCRIPT_MAX];
};

/* True if execvp() would find a program for @name. */
bool program_is_there(const char *name);

/* Looks programs up like execvp(), and executes none. */
void program_examine(char *const *argv, struct program *ret_program);

/* A sentence; NULL: PROGRAM_FITS. */
const char *program_fault_text(enum program_fault fault);

/* Prints one line on stderr if what @argv starts cannot see usiw's devices.
 * @wants_sdp: a starter that is a client of sockets is what is meant. */
void program_warn(char *const *argv, bool wants_sdp);

#endif

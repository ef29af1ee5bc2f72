/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A process that usiw run starts, as usiw doctor sees it: this program again,
 * below the preload library.  It prints facts (probe.c), and the libraries of
 * usiw in it print lines of their log.
 */
#ifndef DOCTOR_INSIDE_H
#define DOCTOR_INSIDE_H

#include <stdbool.h>
#include <stddef.h>

/* The word after "usiw doctor" with which it starts itself. */
#define INSIDE_WORD "--inside"
/* The first octet of a fact: "name value". */
#define INSIDE_MARK '\x1e'

struct inside_line {
	const char *name; /* of a fact; NULL: a line of the log */
	char *text;	  /* of the fact or the line */
	bool is_claimed;  /* a finding tells it */
};

struct inside {
	char *octets; /* all that it printed; the lines point into it */
	struct inside_line *lines;
	size_t cnt;
	int err;      /* it could not be started */
	bool is_hung; /* it was ended */
	int signal;   /* that ended it; 0: none */
};

/*
 * Starts it, and waits for its end.
 * @libibverbs: the library to load.
 * @wants_sdp: as usiw run --sdp.
 * On failure, fields of @ret_inside say so.
 */
void inside_look(struct inside *ret_inside, const char *libibverbs,
		 bool wants_sdp);
void inside_free(struct inside *inside);

/* The value of the first fact @name.  NULL: there is none. */
const char *inside_get(const struct inside *inside, const char *name);

/* The next fact @name from line *@at on, which moves behind it.  NULL: no
 * more. */
const char *inside_next(const struct inside *inside, const char *name,
			size_t *at);

/* The next unclaimed line of the log that has @part in it: claimed from then
 * on.  NULL: no more. */
const char *inside_claim(struct inside *inside, const char *part);

/* What a line of the log says, behind "usiw: part: level: ". */
const char *inside_said(const char *line);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Runs a function in a child, and takes what it prints. */
#ifndef DOCTOR_CHILD_H
#define DOCTOR_CHILD_H

#include <stdbool.h>

struct child {
	char *octets; /* standard output and error, up to the end; the caller
		       * frees them; NULL: @err */
	int err;      /* it could not be started, or memory ran out */
	bool is_hung; /* it did not end in time, and was ended */
	int signal;   /* that ended it; 0: none */
	int code;     /* its exit code */
};

/* @body: in the child; its return value is the exit code. */
void child_run(struct child *ret_child, int (*body)(const void *arg),
	       const void *arg, int limit_ms);

#endif

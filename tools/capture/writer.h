/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The files of a capture: a file, a pipe, or a ring of files.  What cannot be
 * written waits in memory, up to a limit; there is no room for packets then.
 * Nothing waits for a reader.  Errors are printed on stderr.
 */
#ifndef WRITER_H
#define WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "capture.h"
#include "pcapng.h"

struct writer_options {
	const char *path; /* "-": standard output */
	/* A file ends then, and another one follows; 0: never. */
	uint64_t octets, ns, packets;
	uint32_t files;	    /* the oldest ones are removed; 0: all stay */
	uint32_t end_files; /* no other one follows so many; 0: always */
};

struct writer;

/*
 * Opens the first file.
 * @cap: whose packets they are; stays the caller's.
 * Return: NULL: the reason was printed.
 */
struct writer *writer_open(const struct writer_options *options,
			   struct capture *cap);

/* Where blocks are to be added. */
struct pcapng *writer_blocks(struct writer *out);

/*
 * Writes what can be written now, and begins another file if it is time.
 * @is_idle: nothing more is to be added at present, so all is written.
 */
void writer_pump(struct writer *out, bool is_idle);

/* Nothing is to be added any more: nobody reads the pipe, the next file cannot
 * be opened, or is one too many. */
bool writer_is_over(const struct writer *out);
uint64_t writer_octets(const struct writer *out); /* of all files */

/*
 * Writes the end, as far as it is taken within a second.  Files have whole
 * blocks.  Frees all.
 * Return: 0; -1: a file lacks its end; the reason was printed.  That a reader
 *   has gone, or is slow, is no error.
 */
int writer_close(struct writer *out);

#endif

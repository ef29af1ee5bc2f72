/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Every process writes into the memory of every other one, which compares it,
 * and all of them add to one counter.  For any OpenSHMEM (ud_mpi_test.py). */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK (1 << 18)
#define TURNS 5
#define ADDS 100

static unsigned char octet(int from, int to, int turn)
{
	return (unsigned char)(16 * from + to + turn);
}

static void fail(const char *what)
{
	fprintf(stderr, "process %d: %s\n", shmem_my_pe(), what);
	shmem_global_exit(1);
}

static void exchange(unsigned char *out, unsigned char *in, int turn)
{
	int me = shmem_my_pe(), size = shmem_n_pes();

	for (int peer = 0; peer < size; peer++) {
		memset(out, octet(me, peer, turn), BLOCK);
		shmem_putmem(in + (size_t)me * BLOCK, out, BLOCK, peer);
	}
	shmem_barrier_all();
	for (int peer = 0; peer < size; peer++)
		for (int i = 0; i < BLOCK; i++)
			if (in[(size_t)peer * BLOCK + (size_t)i] !=
			    octet(peer, me, turn))
				fail("an octet differs");
	shmem_barrier_all();
}

int main(void)
{
	unsigned char *out, *in;
	long *count;

	shmem_init();
	out = malloc(BLOCK);
	in = shmem_malloc((size_t)shmem_n_pes() * BLOCK);
	count = shmem_calloc(1, sizeof(*count));
	if (!out || !in || !count)
		fail("no memory");
	for (int turn = 0; turn < TURNS; turn++)
		exchange(out, in, turn);
	for (int i = 0; i < ADDS; i++)
		shmem_long_atomic_add(count, 1, 0);
	shmem_barrier_all();
	if (shmem_my_pe() == 0) {
		if (*count != (long)ADDS * shmem_n_pes())
			fail("the count differs");
		printf("good %d\n", shmem_n_pes());
	}
	free(out);
	shmem_finalize();
	return 0;
}

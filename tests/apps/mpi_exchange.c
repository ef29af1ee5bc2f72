/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Every rank sends to every other one, and compares what comes; then two ranks
 * measure the latency.  For any MPI (ud_mpi_test.py). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK (1 << 18)
#define TURNS 5
#define PINGS 1000

static int rank, size;

static unsigned char octet(int from, int to, int turn)
{
	return (unsigned char)(16 * from + to + turn);
}

static void fail(const char *what)
{
	fprintf(stderr, "rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void exchange(unsigned char *out, unsigned char *in, int turn)
{
	int sum;

	for (int peer = 0; peer < size; peer++)
		memset(out + (size_t)peer * BLOCK, octet(rank, peer, turn),
		       BLOCK);
	MPI_Alltoall(out, BLOCK, MPI_BYTE, in, BLOCK, MPI_BYTE, MPI_COMM_WORLD);
	for (int peer = 0; peer < size; peer++)
		for (int i = 0; i < BLOCK; i++)
			if (in[(size_t)peer * BLOCK + (size_t)i] !=
			    octet(peer, rank, turn))
				fail("an octet differs");
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (sum != size * (size - 1) / 2)
		fail("the sum differs");
}

static double half_round_trip_us(void)
{
	double begin = MPI_Wtime();
	char word[8] = { 0 };

	for (int i = 0; i < PINGS; i++) {
		if (rank == 0)
			MPI_Send(word, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
		MPI_Recv(word, 8, MPI_BYTE, !rank, 0, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		if (rank == 1)
			MPI_Send(word, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
	}
	return (MPI_Wtime() - begin) / PINGS / 2 * 1e6;
}

int main(int argc, char **argv)
{
	unsigned char *out, *in;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	out = malloc((size_t)size * BLOCK);
	in = malloc((size_t)size * BLOCK);
	if (!out || !in)
		fail("no memory");
	for (int turn = 0; turn < TURNS; turn++)
		exchange(out, in, turn);
	if (rank < 2) {
		double us = half_round_trip_us();

		if (rank == 0)
			printf("good %d, half a round trip %.2f us\n", size,
			       us);
	}
	free(out);
	free(in);
	MPI_Finalize();
	return 0;
}

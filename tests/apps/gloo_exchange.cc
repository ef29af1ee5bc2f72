/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* gloo_exchange DEVICE RANK SIZE DIRECTORY: the processes find each other by
 * files, add up a vector by gloo's ibverbs transport, and compare the sum.
 * (verbs_library_test.py) */
#include <gloo/allreduce_ring.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

int main(int argc, char **argv)
{
	constexpr int count = 1 << 18, turns = 5;

	if (argc != 5)
		return 2;
	const int rank = atoi(argv[2]), size = atoi(argv[3]);
	gloo::transport::ibverbs::attr attr = { argv[1], 1, 0 };
	auto device = gloo::transport::ibverbs::CreateDevice(attr);
	gloo::rendezvous::FileStore store(argv[4]);
	auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
	context->connectFullMesh(store, device);

	std::vector<int> vector(count);
	gloo::AllreduceRing<int> allreduce(context, { vector.data() }, count);
	for (int turn = 0; turn < turns; turn++) {
		for (int i = 0; i < count; i++)
			vector[i] = i * (rank + 1) + turn;
		allreduce.run();
		for (int i = 0; i < count; i++)
			if (vector[i] !=
			    i * (size * (size + 1) / 2) + size * turn) {
				fprintf(stderr, "element %d differs\n", i);
				return 1;
			}
	}
	puts("good");
	fflush(stdout);
	/* Gloo ends a process whose last send is not complete when its buffer
	 * is destroyed. So nothing is, and none ends before all have the sum.
	 */
	std::vector<std::string> all;
	for (int other = 0; other < size; other++)
		all.push_back("good-" + std::to_string(other));
	store.set(all[rank], { 1 });
	store.wait(all);
	_exit(0);
}

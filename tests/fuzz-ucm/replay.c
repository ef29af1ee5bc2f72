/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The corpus without libFuzzer: each file as it is, and every shorter one, of
 * long ones some.
 * usage: replay FILE...
 */
#include <stdint.h>
#include <stdio.h>

#define ALL 128
#define STRIDE 97

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
	static uint8_t buf[1 << 16];

	if (argc < 2) {
		fprintf(stderr, "no corpus\n");
		return 1;
	}
	for (int i = 1; i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");
		size_t size;

		if (!file) {
			perror(argv[i]);
			return 1;
		}
		size = fread(buf, 1, sizeof(buf), file);
		fclose(file);
		LLVMFuzzerTestOneInput(buf, size);
		for (size_t len = 0; len < size; len += len < ALL ? 1 : STRIDE)
			LLVMFuzzerTestOneInput(buf, len);
	}
	printf("%d inputs\n", argc - 1);
	return 0;
}

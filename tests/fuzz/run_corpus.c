/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * main() for fuzz targets without libFuzzer. It runs every named file, and
 * every file in named directories: completely, and truncated after each octet.
 * For long files it uses only some lengths.
 */
#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

#define SEED_MAX (1u << 20)
/* Runs each prefix up to ALL octets, then one per STRIDE octets. */
#define ALL 128
#define STRIDE 97

/* The allocation has exactly this size, so that ASan sees a read beyond the
 * end. */
static void run_input(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len);

	must(copy || !len);
	if (len)
		memcpy(copy, data, len);
	LLVMFuzzerTestOneInput(copy, len);
	free(copy);
}

static int run_file(const char *path)
{
	uint8_t *buf = malloc(SEED_MAX);
	FILE *f = fopen(path, "rb");
	size_t len;
	int ret = 1;

	if (!buf || !f) {
		fprintf(stderr, "%s: cannot be read\n", path);
		goto out;
	}
	len = fread(buf, 1, SEED_MAX, f);
	run_input(buf, len);
	for (size_t cut = 0; cut < len; cut += cut < ALL ? 1 : STRIDE)
		run_input(buf, cut);
	ret = 0;
out:
	if (f)
		fclose(f);
	free(buf);
	return ret;
}

static int run_dir(const char *path, unsigned int *runs)
{
	char name[PATH_MAX];
	struct dirent *d;
	DIR *dir = opendir(path);
	int ret = 0;

	if (!dir) {
		fprintf(stderr, "%s: cannot be opened\n", path);
		return 1;
	}
	while ((d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, d->d_name);
		ret |= run_file(name);
		++*runs;
	}
	closedir(dir);
	return ret;
}

int main(int argc, char **argv)
{
	unsigned int runs = 0;
	struct stat st;
	int ret = 0;

	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-')
			continue; /* an option of libFuzzer */
		if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode)) {
			ret |= run_dir(argv[i], &runs);
		} else {
			ret |= run_file(argv[i]);
			runs++;
		}
	}
	printf("%u inputs\n", runs);
	return ret || runs == 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See rnic-dl.h. */
#include "base/rnic-dl.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "util/interpose.h"
#include "util/log.h"
#include "base/real.h"

#define RNIC_LIBRARY "libusiw-rnic-" USIW_INTERFACE ".so"

_Atomic(struct util_fdtab *) kabi_fds;

/* The provider that may take the devices of this library: providers/usiw. */
__attribute__((visibility("default"))) extern const char usiw_interface[];
const char usiw_interface[] = USIW_INTERFACE;

static struct kabi_rnic rnic_calls;

/*
 * An installation on a full disk may leave a truncated file, with which the
 * dynamic linker would end the program by SIGBUS.  The section headers are at
 * the end of the file.
 */
static bool file_is_whole(const char *path)
{
	int fd = kabi_real()->open(path, O_RDONLY | O_CLOEXEC);
	const ElfW(Ehdr) *header = MAP_FAILED;
	bool is_whole = true; /* otherwise dlopen() says what is wrong */
	struct stat st;

	if (fd < 0)
		return true;
	if (fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof(*header))
		header = mmap(NULL, sizeof(*header), PROT_READ, MAP_PRIVATE, fd,
			      0);
	if (header != MAP_FAILED) {
		is_whole = (uint64_t)st.st_size >=
			   header->e_shoff + (uint64_t)header->e_shnum *
						     header->e_shentsize;
		munmap((void *)(uintptr_t)header, sizeof(*header));
	}
	kabi_real()->close(fd);
	return is_whole;
}

static void *rnic_open(void)
{
	char path[PATH_MAX];
	size_t len;
	void *lib;
	int ret;

	ret = util_object_dir(&rnic_calls, path,
			      sizeof(path) - sizeof("/" RNIC_LIBRARY));
	if (ret < 0) {
		util_err("kabi", "cannot find this library's directory: %s",
			 strerror(-ret));
		return NULL;
	}
	len = strlen(path);
	memcpy(path + len, "/" RNIC_LIBRARY, sizeof("/" RNIC_LIBRARY));
	if (!file_is_whole(path)) {
		util_err("kabi",
			 "cannot load the RNIC library: %s is truncated; "
			 "install usiw again",
			 path);
		return NULL;
	}
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!lib)
		util_err("kabi",
			 "cannot load the RNIC library: %s; install usiw again",
			 dlerror());
	return lib;
}

static int rnic_resolve(void *lib)
{
	static const char *const names[] = {
#define KABI_RNIC_NAME(call) "rnic_" #call,
		KABI_RNIC_CALLS(KABI_RNIC_NAME)
	};
	char *slot = (char *)&rnic_calls;

	_Static_assert(sizeof(rnic_calls) == sizeof(names),
		       "nothing but pointers, in the order of the names");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *sym = dlsym(lib, names[i]);

		if (!sym) {
			util_err("kabi",
				 "%s has no %s: libraries of two "
				 "builds are mixed; install usiw again",
				 RNIC_LIBRARY, names[i]);
			return -1;
		}
		memcpy(slot + i * sizeof(sym), &sym, sizeof(sym));
	}
	return 0;
}

const struct kabi_rnic *kabi_rnic_load(void)
{
	void *lib = rnic_open();

	return lib && rnic_resolve(lib) == 0 ? &rnic_calls : NULL;
}

const struct kabi_rnic *kabi_rnic(void)
{
	return kabi_is_touched() ? &rnic_calls : NULL;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See program.h. */
#define _GNU_SOURCE
#include "program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SEGMENT_MAX 128 /* programs have fewer */

#if __SIZEOF_POINTER__ == 8
#define OWN_CLASS ELFCLASS64
typedef Elf64_Ehdr elf_header;
typedef Elf64_Phdr elf_segment;
typedef Elf64_Dyn elf_dynamic;
#else
#define OWN_CLASS ELFCLASS32
typedef Elf32_Ehdr elf_header;
typedef Elf32_Phdr elf_segment;
typedef Elf32_Dyn elf_dynamic;
#endif

static bool is_program(const char *path, struct stat *ret_st)
{
	return stat(path, ret_st) == 0 && S_ISREG(ret_st->st_mode) &&
	       access(path, X_OK) == 0;
}

/* Searches like execvp(), which skips files that are no programs. */
static bool program_find(const char *name, char ret_path[PATH_MAX],
			 struct stat *ret_st)
{
	const char *list = getenv("PATH");

	if (!list)
		list = "/bin:/usr/bin"; /* execvp(3) */
	if (strchr(name, '/')) {
		snprintf(ret_path, PATH_MAX, "%s", name);
		return is_program(ret_path, ret_st);
	}
	for (;;) {
		int dir_len = (int)strcspn(list, ":");
		int len = snprintf(ret_path, PATH_MAX, "%.*s%s%s", dir_len,
				   list, dir_len ? "/" : "", name);

		if (len > 0 && len < PATH_MAX && is_program(ret_path, ret_st))
			return true;
		if (!list[dir_len])
			return false;
		list += dir_len + 1;
	}
}

/* True for the dynamic linker itself, which has no interpreter, either.  A
 * program without interpreter has the flag of a program. */
static bool is_dynamic_linker(int fd, const elf_segment *dynamic)
{
	elf_dynamic entry;

	for (size_t at = 0; at < dynamic->p_filesz; at += sizeof(entry)) {
		if (pread(fd, &entry, sizeof(entry),
			  (off_t)(dynamic->p_offset + at)) != sizeof(entry) ||
		    entry.d_tag == DT_NULL)
			return true;
		if (entry.d_tag == DT_FLAGS_1 && entry.d_un.d_val & DF_1_PIE)
			return false;
	}
	return true;
}

/* Why an ELF file cannot be preloaded; NULL: it can. */
static const char *elf_why_not(int fd)
{
	elf_segment segment;
	elf_header header;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return NULL; /* a script: its interpreter is not looked at */
	if (header.e_ident[EI_CLASS] != OWN_CLASS)
		return "a program of another word size cannot load the "
		       "library that usiw preloads";
	if (header.e_phentsize != sizeof(segment) ||
	    header.e_phnum > SEGMENT_MAX)
		return NULL;
	for (unsigned i = 0; i < header.e_phnum; i++) {
		off_t at = (off_t)(header.e_phoff + i * sizeof(segment));

		if (pread(fd, &segment, sizeof(segment), at) !=
		    (ssize_t)sizeof(segment))
			return NULL;
		if (segment.p_type == PT_INTERP ||
		    (segment.p_type == PT_DYNAMIC &&
		     is_dynamic_linker(fd, &segment)))
			return NULL;
	}
	return "a statically linked program loads no library, and usiw's has "
	       "to be preloaded";
}

/* The dynamic linker ignores LD_PRELOAD if the program gains rights. */
static const char *rights_why_not(const char *path, const struct stat *st)
{
	if ((st->st_mode & S_ISUID) && st->st_uid != geteuid())
		return "the dynamic linker preloads nothing into a set-user-ID "
		       "program";
	if ((st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
	    st->st_gid != getegid())
		return "the dynamic linker preloads nothing into a "
		       "set-group-ID program";
	if (geteuid() != 0 &&
	    getxattr(path, "security.capability", NULL, 0) > 0)
		return "the dynamic linker preloads nothing into a program "
		       "with file capabilities";
	return NULL;
}

bool program_is_there(const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	return program_find(name, path, &st);
}

/* Programs that start others without LD_PRELOAD. */
static const struct starter {
	const char *name;
	const char *letters; /* options that make it do so; NULL: always */
	const char *option;  /* the same as a word; a "-" means it as well */
	bool has_user;	     /* other words may come before the option */
} starters[] = {
	{ "sudo", NULL, NULL, false },
	{ "doas", NULL, NULL, false },
	{ "pkexec", NULL, NULL, false },
	{ "su", "l", "--login", true },
	{ "runuser", "l", "--login", true },
	{ "env", "i", "--ignore-environment", false },
};

static bool starter_is_asked(const struct starter *starter, char *const *argv)
{
	if (!starter->letters)
		return true;
	for (; *++argv && strcmp(*argv, "--") != 0;) {
		const char *word = *argv;

		if (strcmp(word, "-") == 0 ||
		    strcmp(word, starter->option) == 0 ||
		    (word[0] == '-' && word[1] != '-' &&
		     strpbrk(word, starter->letters)))
			return true;
		if (word[0] != '-' && !starter->has_user)
			return false;
	}
	return false;
}

static bool starter_warn(char *const *argv)
{
	const char *slash = strrchr(argv[0], '/');
	const char *name = slash ? slash + 1 : argv[0];

	for (size_t i = 0; i < sizeof(starters) / sizeof(starters[0]); i++) {
		if (strcmp(name, starters[i].name) != 0 ||
		    !starter_is_asked(&starters[i], argv))
			continue;
		fprintf(stderr,
			"usiw: run: what %s starts sees no device of usiw: "
			"%s removes LD_PRELOAD from its environment; put usiw "
			"run behind it: %s ... usiw run -- PROGRAM\n",
			name, name, name);
		return true;
	}
	return false;
}

void program_warn(char *const *argv)
{
	char path[PATH_MAX];
	const char *why;
	struct stat st;
	int fd;

	if (!program_find(argv[0], path, &st))
		return; /* exec reports the error */
	if (starter_warn(argv))
		return;
	why = rights_why_not(path, &st);
	fd = why ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		why = elf_why_not(fd);
		close(fd);
	}
	if (why)
		fprintf(stderr, "usiw: run: %s sees no device of usiw: %s\n",
			path, why);
}

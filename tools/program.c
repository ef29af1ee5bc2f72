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
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
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

/* The file name of the program interpreter; "": it has none. */
static void interp_name(int fd, const elf_segment *segment,
			char ret_name[NAME_MAX + 1])
{
	char path[PATH_MAX] = "";
	const char *slash;

	if (segment->p_filesz >= sizeof(path) ||
	    pread(fd, path, segment->p_filesz, (off_t)segment->p_offset) < 0)
		path[0] = '\0';
	slash = strrchr(path, '/');
	snprintf(ret_name, NAME_MAX + 1, "%.*s", NAME_MAX,
		 slash ? slash + 1 : path);
}

/* @ret_interp: as above, if the file can be preloaded. */
static enum program_fault elf_fault(int fd, char ret_interp[NAME_MAX + 1])
{
	elf_segment segment;
	elf_header header;

	ret_interp[0] = '\0';
	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return PROGRAM_FITS; /* exec reports the error */
	if (header.e_ident[EI_CLASS] != OWN_CLASS)
		return PROGRAM_WORD_SIZE;
	if (header.e_phentsize != sizeof(segment) ||
	    header.e_phnum > SEGMENT_MAX)
		return PROGRAM_FITS;
	for (unsigned i = 0; i < header.e_phnum; i++) {
		off_t at = (off_t)(header.e_phoff + i * sizeof(segment));

		if (pread(fd, &segment, sizeof(segment), at) !=
		    (ssize_t)sizeof(segment))
			return PROGRAM_FITS;
		if (segment.p_type == PT_INTERP) {
			interp_name(fd, &segment, ret_interp);
			return PROGRAM_FITS;
		}
		if (segment.p_type == PT_DYNAMIC &&
		    is_dynamic_linker(fd, &segment))
			return PROGRAM_FITS;
	}
	return PROGRAM_STATIC;
}

static enum program_fault file_fault(const char *path)
{
	char interp[NAME_MAX + 1], own[NAME_MAX + 1] = "";
	enum program_fault fault;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return PROGRAM_FITS; /* perhaps it may only be executed */
	fault = elf_fault(fd, interp);
	close(fd);
	fd = *interp ? open("/proc/self/exe", O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return fault;
	(void)elf_fault(fd, own);
	close(fd);
	return *own && strcmp(interp, own) != 0 ? PROGRAM_OTHER_LIBC : fault;
}

/* The dynamic linker ignores LD_PRELOAD if the program gains rights. */
static enum program_fault rights_fault(const char *path, const struct stat *st)
{
	struct statvfs fs;

	if (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOSUID))
		return PROGRAM_FITS;
	if (geteuid() != 0 &&
	    getxattr(path, "security.capability", NULL, 0) > 0)
		return PROGRAM_CAPABILITIES;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return PROGRAM_FITS;
	if ((st->st_mode & S_ISUID) && st->st_uid != geteuid())
		return PROGRAM_SETUID;
	if ((st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
	    st->st_gid != getegid())
		return PROGRAM_SETGID;
	return PROGRAM_FITS;
}

const char *program_fault_text(enum program_fault fault)
{
	static const char *const texts[] = {
		[PROGRAM_STATIC] =
			"a statically linked program loads no library, and "
			"usiw's has to be preloaded",
		[PROGRAM_WORD_SIZE] =
			"a program of another word size cannot load the "
			"library that usiw preloads",
		[PROGRAM_OTHER_LIBC] =
			"a program of another C library cannot load the "
			"library that usiw preloads",
		[PROGRAM_SETUID] = "the dynamic linker preloads nothing into a "
				   "set-user-ID program",
		[PROGRAM_SETGID] = "the dynamic linker preloads nothing into a "
				   "set-group-ID program",
		[PROGRAM_CAPABILITIES] =
			"the dynamic linker preloads nothing into a program "
			"with file capabilities",
	};

	return fault == PROGRAM_FITS ? NULL : texts[fault];
}

bool program_is_there(const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	return program_find(name, path, &st);
}

/* Splits @text at blanks.  Return: the number of words. */
static size_t words_split(char *text, char **ret_words, size_t max)
{
	char *rest = text, *word;
	size_t cnt = 0;

	while (cnt < max && (word = strsep(&rest, " \t")))
		if (*word)
			ret_words[cnt++] = word;
	return cnt;
}

/* Reads the first line of a script: its interpreter, and at most one argument.
 * That of env -S is several words.  Return: false: it is no script. */
static bool script_read(const char *path, struct program_script *ret_script)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t cnt, max = PROGRAM_SCRIPT_WORDS - 2;
	char *line = ret_script->line;
	ssize_t len;

	if (fd < 0)
		return false;
	len = pread(fd, line, sizeof(ret_script->line) - 1, 0);
	close(fd);
	if (len < 3 || memcmp(line, "#!", 2) != 0)
		return false;
	line[len] = '\0';
	line[strcspn(line, "\n")] = '\0';
	snprintf(ret_script->path, sizeof(ret_script->path), "%s", path);
	cnt = words_split(line + 2, ret_script->words, max);
	if (cnt == 0)
		return false;
	if (cnt > 1 && strcmp(ret_script->words[1], "-S") == 0) {
		memmove(&ret_script->words[1], &ret_script->words[2],
			(cnt - 2) * sizeof(ret_script->words[0]));
		cnt--;
	}
	ret_script->words[cnt] = ret_script->path;
	ret_script->words[cnt + 1] = NULL;
	return true;
}

/* A starter that gains rights gets no LD_PRELOAD, and has none to pass on. */
static void passed_examine(struct starter_way *way)
{
	char path[PATH_MAX];
	struct stat st;

	for (unsigned i = 0; i < way->passed_cnt && !way->remover; i++) {
		const char *slash = strrchr(way->passed[i], '/');

		if (!program_find(way->passed[i], path, &st) ||
		    rights_fault(path, &st) == PROGRAM_FITS)
			continue;
		way->remover = slash ? slash + 1 : way->passed[i];
		way->why = STARTER_REMOVES;
	}
}

void program_examine(char *const *argv, struct program *ret_program)
{
	struct starter_way *way = &ret_program->way;
	struct stat st;

	memset(ret_program, 0, sizeof(*ret_program));
	starter_follow(argv, way);
	for (unsigned i = 0; way->program; i++) {
		if (!program_find(*way->program, ret_program->path, &st)) {
			ret_program->is_missing = true;
			return; /* exec reports the error */
		}
		if (i == PROGRAM_SCRIPT_MAX ||
		    !script_read(ret_program->path, &ret_program->scripts[i]))
			break;
		ret_program->script_cnt = i + 1;
		starter_follow_on(ret_program->scripts[i].words, way);
	}
	passed_examine(way);
	if (!way->program)
		return;
	ret_program->fault = rights_fault(ret_program->path, &st);
	if (ret_program->fault == PROGRAM_FITS)
		ret_program->fault = file_fault(ret_program->path);
}

void program_warn(char *const *argv, bool wants_sdp)
{
	struct program program;
	const char *why;

	if (!program_is_there(argv[0]))
		return; /* exec reports the error */
	program_examine(argv, &program);
	why = program_fault_text(program.fault);
	if (program.way.remover && program.way.is_client && wants_sdp)
		return;
	if (program.way.remover)
		fprintf(stderr,
			"usiw: run: what %s starts sees no device of usiw: "
			"%s %s; put usiw run behind it: %s ... usiw run -- "
			"PROGRAM\n",
			program.way.remover, program.way.remover,
			program.way.why, program.way.remover);
	else if (why)
		fprintf(stderr, "usiw: run: %s sees no device of usiw: %s\n",
			program.path, why);
}

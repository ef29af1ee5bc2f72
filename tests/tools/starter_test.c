/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which program a command line starts at last, and what becomes of the
 * environment. */
#include "test.h"

#include <string.h>

#include "case.h"

#include "tools/starter.h"

#define WORDS_MAX 16

/* A command line; the program that is found, NULL: none; who removes the
 * environment. */
static const struct {
	const char *line, *program, *remover;
} vectors[] = {
	{ "rping -s", "rping", NULL },
	{ "./sudo rping", "rping", "sudo" },
	{ "sudo -u root -E A=b rping", "rping", "sudo" },
	{ "sudo -nu root rping", "rping", "sudo" },
	{ "sudo -uroot -- rping", "rping", "sudo" },
	{ "sudo --user=root rping", "rping", "sudo" },
	{ "sudo", NULL, "sudo" },
	{ "sudo usiw run -- rping", "rping", NULL },
	{ "sudo usiw devices", "usiw", "sudo" },
	{ "sudo usiw trace -- rping", "rping", NULL },
	{ "sudo usiw check -- rping", "rping", NULL },
	{ "sudo usiw capture -o x rping", "rping", NULL },
	{ "usiw run --fault verb=all --chaos=1 rping -c", "rping", NULL },
	{ "usiw trace -c -e cm -ox rping", "rping", NULL },
	{ "usiw check --json --error-exitcode 3 rping", "rping", NULL },
	{ "usiw capture -c 5 --qp 1 --port=2 -- rping", "rping", NULL },
	{ "usiw", "usiw", NULL },
	{ "usiw run sudo rping", "rping", "sudo" },
	{ "usiw run --persona ca --sdp -- nice rping", "rping", NULL },
	{ "env rping", "rping", NULL },
	{ "env A=b -i", "-i", NULL },
	{ "env -i rping", "rping", "env" },
	{ "env -vi rping", "rping", "env" },
	{ "env - rping", "rping", "env" },
	{ "env -u A rping", "rping", NULL },
	{ "env -u LD_PRELOAD rping", "rping", "env" },
	{ "env -uLD_PRELOAD rping", "rping", "env" },
	{ "env --unset=LD_PRELOAD rping", "rping", "env" },
	{ "env LD_PRELOAD=x.so rping", "rping", "env" },
	{ "env", "env", NULL },
	{ "env -i nice sudo -u a usiw run rping", "rping", NULL },
	{ "su - me", NULL, "su" },
	{ "su me -l", NULL, "su" },
	{ "su me -- -l", NULL, NULL },
	{ "runuser -l me", NULL, "runuser" },
	{ "setpriv --reuid 1 --clear-groups rping", "rping", NULL },
	{ "setpriv --reset-env --reuid=1 rping", "rping", "setpriv" },
	{ "chroot /x rping", NULL, "chroot" },
	{ "docker run -it image rping", NULL, "docker" },
	{ "ssh host usiw run rping", NULL, "ssh" },
	{ "mpirun -np 2 --mca pml ucx rping", "rping", NULL },
	{ "mpirun -prefix rping", "rping", NULL },
	{ "mpirun -np 2 -H a,b rping", "rping", "mpirun" },
	{ "mpirun --host a usiw run rping", "rping", NULL },
	{ "nice -n 5 rping", "rping", NULL },
	{ "nice -n5 rping", "rping", NULL },
	{ "nice -5 rping", "rping", NULL },
	{ "timeout -s KILL -k 3 5 rping", "rping", NULL },
	{ "timeout 5", "timeout", NULL },
	{ "taskset -c 1 rping -c", "rping", NULL },
	{ "strace -ff -o x -e trace=all rping", "rping", NULL },
	{ "perf stat -e cycles -- rping", "rping", NULL },
	{ "nohup setsid stdbuf -oL rping", "rping", NULL },
};

static void follow(const char *line, char *copy, char **words,
		   struct starter_way *ret_way)
{
	size_t cnt = 0;

	strcpy(copy, line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
		assert_true(cnt < WORDS_MAX - 1);
		words[cnt++] = word;
	}
	words[cnt] = NULL;
	starter_follow(words, ret_way);
}

static void same(const char *line, const char *found, const char *wanted)
{
	if (found ? wanted && strcmp(found, wanted) == 0 : !wanted)
		return;
	fail_msg("%s: %s, not %s", line, found ? found : "none",
		 wanted ? wanted : "none");
}

CASE(finds_the_program_and_who_removes_its_environment)
{
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		char copy[128], *words[WORDS_MAX];
		struct starter_way way;

		follow(vectors[i].line, copy, words, &way);
		same(vectors[i].line, way.program ? *way.program : NULL,
		     vectors[i].program);
		same(vectors[i].line, way.remover, vectors[i].remover);
		assert_true(!way.remover == !way.why);
	}
}

CASE(takes_the_options_of_usiw_run)
{
	char copy[128], *words[WORDS_MAX];
	struct starter_way way;

	follow("nice usiw run --persona=ca --sdp rping", copy, words, &way);
	assert_true(way.has_run && way.wants_sdp);
	assert_string_equal(way.persona, "ca");
	follow("usiw run --persona rnic rping --sdp", copy, words, &way);
	assert_true(way.has_run && !way.wants_sdp);
	assert_string_equal(way.persona, "rnic");
	follow("usiw run env -i rping", copy, words, &way);
	assert_false(way.has_run);
}

CASE(remembers_whom_it_passed_behind_usiw_run)
{
	char copy[128], *words[WORDS_MAX];
	struct starter_way way;

	follow("nice usiw run /bin/env nohup rping", copy, words, &way);
	assert_int_equal(way.passed_cnt, 2);
	assert_string_equal(way.passed[0], "/bin/env");
	assert_string_equal(way.passed[1], "nohup");
}

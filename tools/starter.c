/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See starter.h. */
#define _GNU_SOURCE
#include "starter.h"

#include <string.h>

#define SDP_OPTION "--sdp"
#define PERSONA_OPTION "--persona"

enum starter_flag {
	/* NAME=VALUE words come before the program. */
	HAS_ASSIGNMENTS = 1 << 0,
	/* An option of several letters may begin with one dash. */
	HAS_LONG_DASH = 1 << 1,
	/* What it starts is on no other word of the command line, or it runs
	 * on another system. */
	IS_END = 1 << 2,
	IS_USIW = 1 << 3,
	/* It reaches the other system by a socket of its own. */
	IS_CLIENT = 1 << 4,
};

static const struct starter {
	const char *name;
	/* What it does with the environment, if it takes it away at all. */
	const char *why;
	/* Options that make it do so, separated by blanks.  NULL: always. */
	const char *when;
	/* Options with a value, or with two after "/2". */
	const char *valued;
	unsigned operand_cnt; /* words before the program */
	unsigned flags;
} starters[] = {
#define ELSEWHERE "starts it on another host, or in a new environment"
#define ROOT "gives it other files, and perhaps none of usiw"
#define MPI_VALUED                                                             \
	"-n -np -c -N -npernode -ppn -H -host --host -hosts -hostfile "        \
	"--hostfile -machinefile --machinefile -f -x -wdir --wdir --map-by "   \
	"-map-by --bind-to -bind-to --rank-by -rank-by --timeout "             \
	"--mca/2 -mca/2 --gmca/2 -gmca/2 -env/2 -genv/2 --report-bindings/0"
#define MPI_REMOTE                                                             \
	"-H -host --host -hosts -hostfile --hostfile -machinefile "            \
	"--machinefile -f"
	{ "sudo", STARTER_REMOVES, NULL,
	  "-u -g -h -p -C -D -R -T -U -r -t --user --group --host --prompt "
	  "--chdir --chroot",
	  0, HAS_ASSIGNMENTS },
	{ "doas", STARTER_REMOVES, NULL, "-u -C", 0, 0 },
	{ "pkexec", STARTER_REMOVES, NULL, "--user", 0, 0 },
	{ "su", STARTER_REMOVES, "-l --login -", NULL, 0, IS_END },
	{ "runuser", STARTER_REMOVES, "-l --login -", NULL, 0, IS_END },
	{ "env", STARTER_REMOVES,
	  "-i --ignore-environment - -uLD_PRELOAD "
	  "--unset=LD_PRELOAD",
	  "-u -C --unset --chdir", 0, HAS_ASSIGNMENTS },
	{ "setpriv", STARTER_REMOVES, "--reset-env",
	  "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set "
	  "--securebits --pdeathsig --selinux-label --apparmor-profile",
	  0, 0 },
	{ "systemd-run", STARTER_REMOVES, NULL, NULL, 0, IS_END },
	{ "ssh", ELSEWHERE, NULL, NULL, 0, IS_END | IS_CLIENT },
	{ "docker", ROOT, NULL, NULL, 0, IS_END },
	{ "podman", ROOT, NULL, NULL, 0, IS_END },
	{ "chroot", ROOT, NULL, NULL, 1, IS_END },
	{ "mpirun", ELSEWHERE, MPI_REMOTE, MPI_VALUED, 0, HAS_LONG_DASH },
	{ "mpiexec", ELSEWHERE, MPI_REMOTE, MPI_VALUED, 0, HAS_LONG_DASH },
	{ "oshrun", ELSEWHERE, MPI_REMOTE, MPI_VALUED, 0, HAS_LONG_DASH },
	{ "usiw", NULL, NULL, NULL, 0, IS_USIW },
	{ "nice", NULL, NULL, "-n --adjustment", 0, 0 },
	{ "ionice", NULL, NULL, "-c -n --class --classdata", 0, 0 },
	{ "chrt", NULL, NULL, "-T -P -D", 1, 0 },
	{ "taskset", NULL, NULL, NULL, 1, 0 },
	{ "numactl", NULL, NULL,
	  "-N -m -i -p -C --cpunodebind --membind --interleave --preferred "
	  "--physcpubind",
	  0, 0 },
	{ "prlimit", NULL, NULL, NULL, 0, 0 },
	{ "timeout", NULL, NULL, "-s -k --signal --kill-after", 1, 0 },
	{ "time", NULL, NULL, "-f -o --format --output", 0, 0 },
	{ "nohup", NULL, NULL, NULL, 0, 0 },
	{ "setsid", NULL, NULL, NULL, 0, 0 },
	{ "stdbuf", NULL, NULL, "-i -o -e --input --output --error", 0, 0 },
	{ "unshare", NULL, NULL, "-S -G -R -w", 0, 0 },
	{ "strace", NULL, NULL, "-e -o -p -s -u -a -E -I -O -S -b -X", 0, 0 },
	{ "ltrace", NULL, NULL, "-e -o -p -s -u -a -l -x -n -A -D", 0, 0 },
	{ "valgrind", NULL, NULL, NULL, 0, 0 },
	{ "gdb", NULL, NULL, "-x -ex -iex", 0, HAS_LONG_DASH },
	{ "perf", NULL, NULL, "-e -o -F -c -C -r -t -I --event --output", 1,
	  0 },
};

/* The commands of usiw that start a program as usiw run does. */
static const struct starter runs[] = {
	{ "run", NULL, NULL, PERSONA_OPTION " --fault --chaos", 0, IS_USIW },
	{ "trace", NULL, NULL, PERSONA_OPTION " -e -o -p", 0, IS_USIW },
	{ "check", NULL, NULL,
	  PERSONA_OPTION " --error-exitcode --suppressions", 0, IS_USIW },
	{ "capture", NULL, NULL,
	  PERSONA_OPTION " -o -w -s -c -a -b -B -p --qp --peer --port", 0,
	  IS_USIW },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct starter *name_find(const struct starter *list, size_t cnt,
				       const char *name)
{
	for (size_t i = 0; i < cnt; i++)
		if (strcmp(name, list[i].name) == 0)
			return &list[i];
	return NULL;
}

/* The number of values of an option; -1: it is not in the list. */
static int list_values(const char *list, const char *option, size_t len)
{
	while (list && *list) {
		size_t size = strcspn(list, " ");
		const char *slash = memchr(list, '/', size);
		size_t word = slash ? (size_t)(slash - list) : size;

		if (word == len && strncmp(list, option, len) == 0)
			return slash ? slash[1] - '0' : 1;
		list += size + (list[size] == ' ');
	}
	return -1;
}

/* The number of words that follow the option @word as its values. */
static int option_values(const struct starter *starter, const char *word)
{
	int cnt = list_values(starter->valued, word, strlen(word));

	if (cnt >= 0)
		return cnt;
	if (word[1] == '-' || (starter->flags & HAS_LONG_DASH))
		return 0;
	/* Letters in one word, as getopt(3) takes them: the value of one is the
	 * rest, or the next word. */
	for (const char *letter = word + 1; *letter; letter++) {
		const char option[] = { '-', *letter };

		if (list_values(starter->valued, option, sizeof(option)) > 0)
			return letter[1] == '\0';
	}
	return 0;
}

/* True if the option @word is one of those that matter, also inside "-vi". */
static bool option_matters(const struct starter *starter, const char *word)
{
	if (list_values(starter->when, word, strlen(word)) >= 0)
		return true;
	if (word[1] == '-' || (starter->flags & HAS_LONG_DASH))
		return false;
	for (const char *letter = word + 1; *letter; letter++) {
		const char option[] = { '-', *letter };

		if (list_values(starter->when, option, sizeof(option)) >= 0)
			return true;
	}
	return false;
}

static bool is_assignment(const char *word)
{
	const char *equal = strchr(word, '=');

	return equal && equal != word;
}

struct walk {
	const struct starter *starter;
	bool takes; /* the environment away */
	struct starter_way *way;
};

static void removal_note(struct walk *walk, const char *word, const char *next)
{
	const char *when = walk->starter->when;

	if (when && option_matters(walk->starter, word))
		walk->takes = true;
	/* env -u LD_PRELOAD, in two words */
	if (when && next && strcmp(next, "LD_PRELOAD") == 0 &&
	    (strcmp(word, "-u") == 0 || strcmp(word, "--unset") == 0))
		walk->takes = true;
}

static void run_note(struct walk *walk, const char *word, const char *next)
{
	size_t len = strlen(PERSONA_OPTION);

	if (strcmp(word, SDP_OPTION) == 0)
		walk->way->wants_sdp = true;
	else if (strcmp(word, PERSONA_OPTION) == 0)
		walk->way->persona = next;
	else if (strncmp(word, PERSONA_OPTION "=", len + 1) == 0)
		walk->way->persona = word + len + 1;
}

/* Return: the first word that is no option. */
static char *const *options_pass(struct walk *walk, char *const *argv)
{
	bool has_user = walk->starter->flags & IS_END;

	while (*argv && strcmp(*argv, "--") != 0) {
		const char *word = *argv;
		int cnt;

		if (word[0] != '-' && !has_user)
			break;
		argv++;
		if (word[0] != '-')
			continue; /* su USER -l */
		removal_note(walk, word, *argv);
		if (walk->starter->flags & IS_USIW)
			run_note(walk, word, *argv);
		for (cnt = option_values(walk->starter, word); cnt && *argv;
		     cnt--)
			argv++;
	}
	if (*argv && strcmp(*argv, "--") == 0)
		argv++;
	return argv;
}

static char *const *assignments_pass(struct walk *walk, char *const *argv)
{
	for (; *argv && is_assignment(*argv); argv++)
		if (strncmp(*argv, "LD_PRELOAD=", strlen("LD_PRELOAD=")) == 0 &&
		    walk->starter->when)
			walk->takes = true;
	return argv;
}

/* Return: the words of what it starts; NULL: they are none of these. */
static char *const *words_pass(struct walk *walk, char *const *argv)
{
	const struct starter *starter = walk->starter, *run;

	argv = options_pass(walk, argv + 1);
	if (starter->flags & HAS_ASSIGNMENTS)
		argv = assignments_pass(walk, argv);
	if (starter->flags & IS_USIW) {
		run = *argv ? name_find(runs, COUNT(runs), *argv) : NULL;
		if (!run)
			return NULL;
		walk->starter = run;
		argv = options_pass(walk, argv + 1);
	}
	for (unsigned i = 0; i < starter->operand_cnt && *argv; i++)
		argv = options_pass(walk, argv + 1);
	return starter->flags & IS_END || !*argv ? NULL : argv;
}

static const struct starter *starter_find(const char *path)
{
	const char *slash = strrchr(path, '/');

	return name_find(starters, COUNT(starters), slash ? slash + 1 : path);
}

/* Return: false: @walk's starter starts nothing. */
static bool step_note(const struct walk *walk, bool has_next)
{
	struct starter_way *way = walk->way;

	if (!walk->takes && !has_next && !(walk->starter->flags & IS_END))
		return false;
	if (walk->starter->flags & IS_USIW) {
		way->has_run = true;
		way->remover = way->why = NULL;
		way->passed_cnt = 0;
	} else if (way->passed_cnt < STARTER_MAX) {
		way->passed[way->passed_cnt++] = *way->program;
	}
	if (walk->takes) {
		way->has_run = false;
		way->remover = walk->starter->name;
		way->why = walk->starter->why;
		way->is_client = walk->starter->flags & IS_CLIENT;
	}
	return true;
}

void starter_follow_on(char *const *argv, struct starter_way *way)
{
	way->program = argv;
	while (way->program) {
		struct walk walk = { .starter = starter_find(*way->program),
				     .way = way };
		char *const *next;

		if (!walk.starter)
			return;
		/* Without an option that matters, it always does. */
		walk.takes = walk.starter->why && !walk.starter->when;
		next = words_pass(&walk, way->program);
		if (!step_note(&walk, next))
			return; /* it is the program */
		way->program = next;
	}
}

void starter_follow(char *const *argv, struct starter_way *ret_way)
{
	memset(ret_way, 0, sizeof(*ret_way));
	starter_follow_on(argv, ret_way);
}

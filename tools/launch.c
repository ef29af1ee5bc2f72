/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See launch.h. */
#include "launch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "environment.h"
#include "program.h"
#include "setting.h"

int launch_prepare(const struct options *options, char *const *argv)
{
	if (options_set(options) < 0 ||
	    environment_set(options->wants_sdp, options->is_checked) < 0)
		return -1;
	setting_warn_mistyped();
	program_warn(argv, options->wants_sdp);
	return 0;
}

int launch_exec(const char *command, char *const *argv)
{
	int err;

	execvp(argv[0], argv);
	err = errno;
	fprintf(stderr, "usiw: %s: %s: %s\n", command, argv[0],
		err == ENOENT ? "command not found" : strerror(err));
	return err == ENOENT ? 127 : 126;
}

int launch_spawn(struct launched *ret_program, const char *command,
		 char *const *argv)
{
	struct sigaction usual = { .sa_handler = SIG_DFL }, inherited;
	pid_t pid;

	/* Ignored, it would leave no status.  The program inherits it. */
	(void)sigaction(SIGCHLD, &usual, &inherited);
	pid = fork();
	if (pid == 0) {
		(void)sigaction(SIGCHLD, &inherited, NULL);
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		_exit(launch_exec(command, argv));
	}
	if (pid < 0) {
		fprintf(stderr, "usiw: %s: %s: %s\n", command, argv[0],
			strerror(errno));
		return -1;
	}
	*ret_program = (struct launched){ .pid = pid };
	return 0;
}

bool launched_lives(struct launched *program)
{
	if (program->pid &&
	    waitpid(program->pid, &program->status, WNOHANG) == program->pid)
		program->pid = 0;
	return program->pid;
}

int launched_exit_code(const struct launched *program)
{
	if (WIFSIGNALED(program->status))
		return 128 + WTERMSIG(program->status);
	return WEXITSTATUS(program->status);
}

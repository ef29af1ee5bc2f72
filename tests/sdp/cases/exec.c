/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* exec: other programs with the socket as their input and output. */
#include "cases.h"

#include <spawn.h>
#include <sys/resource.h>

extern char **environ;

static void unclosed(int fd)
{
	NEED(fcntl(fd, F_SETFD, 0) == 0);
}

/* As inetd does: the program has the socket as 0 and 1. */
static pid_t run_on(int fd, char *const words[])
{
	pid_t pid = fork();

	NEED(pid >= 0);
	if (pid == 0) {
		if (dup2(fd, 0) == 0 && dup2(fd, 1) == 1)
			execvp(words[0], words);
		_exit(127);
	}
	return pid;
}

static void cat_on(struct pair pair, size_t count)
{
	char *words[] = { "cat", NULL };
	pid_t pid = run_on(pair.server, words);

	close(pair.server);
	if (count < 1000) {
		send_text(pair.client, "hello");
		show_recv("cat", pair.client, 5, MSG_WAITALL);
	}
	send_pattern(pair.client, count, 0);
	NEED(shutdown(pair.client, SHUT_WR) == 0);
	say("%zu octets came back", recv_pattern_all(pair.client, 0));
	child_end(pid);
}

static void cat_unused(void)
{
	cat_on(pair_new(), 20);
}

static void cat_used(void)
{
	cat_on(pair_used(), 20);
}

static void cat_large(void)
{
	cat_on(pair_new(), 30000);
}

static void cat_used_large(void)
{
	cat_on(pair_used(), 30000);
}

static void cat_of_client(void)
{
	char *words[] = { "cat", NULL };
	struct pair pair = pair_used();
	pid_t pid = run_on(pair.client, words);

	close(pair.client);
	send_text(pair.server, "hello");
	show_recv("cat", pair.server, 5, MSG_WAITALL);
	NEED(shutdown(pair.server, SHUT_WR) == 0);
	show_recv("the end", pair.server, 5, 0);
	child_end(pid);
}

static void shell(void)
{
	char *words[] = { "sh", "-c",
			  "read a; echo got $a; read b; echo and $b", NULL };
	struct pair pair = pair_new();
	pid_t pid = run_on(pair.server, words);

	close(pair.server);
	send_text(pair.client, "one\n");
	show_recv("the shell", pair.client, 8, MSG_WAITALL);
	send_text(pair.client, "two\n");
	show_recv("the shell", pair.client, 8, MSG_WAITALL);
	show_recv("the end", pair.client, 8, 0);
	child_end(pid);
}

static void shell_speaks_first(void)
{
	char *words[] = { "echo", "220 ready", NULL };
	struct pair pair = pair_new();
	pid_t pid = run_on(pair.server, words);

	close(pair.server);
	show_recv("the program", pair.client, 10, MSG_WAITALL);
	show_recv("the end", pair.client, 10, 0);
	child_end(pid);
}

/* The program reads a part, and the rest stays for this process. */
static void partly_read(void)
{
	char *words[] = { "dd",		 "bs=1",	 "count=4",
			  "status=none", "of=/dev/null", NULL };
	struct pair pair = pair_used();

	send_text(pair.client, "0123456789");
	wait_octets(pair.server, 10);
	child_end(run_on(pair.server, words));
	show_recv("the rest", pair.server, 20, 0);
	send_text(pair.server, "still both ways");
	show_recv("recv", pair.client, 20, 0);
}

/* Several programs in sequence in one process. */
static void chain(void)
{
	char *words[] = { "sh", "-c", "exec sh -c 'echo 220; exec cat'", NULL };
	struct pair pair = pair_new();
	pid_t pid = run_on(pair.server, words);

	close(pair.server);
	show_recv("greeting", pair.client, 4, MSG_WAITALL);
	send_text(pair.client, "hello");
	show_recv("cat", pair.client, 5, MSG_WAITALL);
	NEED(shutdown(pair.client, SHUT_WR) == 0);
	show_recv("the end", pair.client, 5, 0);
	child_end(pid);
}

/* The program that answers outlives the one that was started. */
static void left_behind(void)
{
	char *words[] = { "sh", "-c",
			  "exec 3<&0; (read a <&3; echo got $a) & exit 0",
			  NULL };
	struct pair pair = pair_new();
	pid_t pid = run_on(pair.server, words);

	close(pair.server);
	child_end(pid);
	send_text(pair.client, "one\n");
	show_recv("the one behind", pair.client, 8, MSG_WAITALL);
	show_recv("the end", pair.client, 8, 0);
}

/* The names of the connection, whether SDP has started on it or not. */
static void asks_names(struct pair pair)
{
	char path[256];
	char *words[] = { path, "--names", NULL };
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	struct address client = address_of(pair.client), peer;
	pid_t pid;

	NEED(len > 0);
	path[len] = 0;
	pid = run_on(pair.server, words);
	close(pair.server);
	NEED(recv(pair.client, &peer, sizeof(peer), MSG_WAITALL) ==
	     (ssize_t)sizeof(peer));
	say("the program's peer is us: %d", address_is_same(&peer, &client));
	child_end(pid);
}

static void names_unused(void)
{
	asks_names(pair_new());
}

static void names_used(void)
{
	asks_names(pair_used());
}

static void closed_on_exec(void)
{
	char *words[] = { "sleep", "100", NULL };
	struct pair pair = pair_used();
	pid_t pid;

	NEED(fcntl(pair.client, F_SETFD, FD_CLOEXEC) == 0);
	NEED(fcntl(pair.server, F_SETFD, FD_CLOEXEC) == 0);
	NEED(posix_spawnp(&pid, "sleep", NULL, NULL, words, environ) == 0);
	close(pair.client);
	show_recv("the program did not get it; recv", pair.server, 10, 0);
	kill(pid, SIGKILL);
	NEED(waitpid(pid, NULL, 0) == pid);
}

static void spawned(void)
{
	char *words[] = { "cat", NULL };
	posix_spawn_file_actions_t actions;
	struct pair pair = pair_new();
	pid_t pid;

	NEED(fcntl(pair.client, F_SETFD, FD_CLOEXEC) == 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pair.server, 0);
	posix_spawn_file_actions_adddup2(&actions, pair.server, 1);
	posix_spawn_file_actions_addclose(&actions, pair.server);
	NEED(posix_spawnp(&pid, "cat", &actions, NULL, words, environ) == 0);
	close(pair.server);
	send_text(pair.client, "hello");
	NEED(shutdown(pair.client, SHUT_WR) == 0);
	show_recv("cat", pair.client, 5, MSG_WAITALL);
	show_recv("the end", pair.client, 5, 0);
	child_end(pid);
}

static void by_system(void)
{
	struct pair pair = pair_used();
	char command[64];

	NEED(dup2(pair.client, 9) == 9);
	unclosed(9);
	snprintf(command, sizeof(command), "echo by system >&9");
	say("system: %d", system(command));
	show_recv("recv", pair.server, 20, 0);
	send_text(pair.server, "a line\n");
	snprintf(command, sizeof(command),
		 "read line <&9; test \"$line\" = \"a line\"");
	say("system: %d", system(command));
	send_text(9, "still ours");
	show_recv("recv", pair.server, 20, 0);
}

static void to_command(void)
{
	struct pair pair = pair_used();
	FILE *command;

	NEED(dup2(pair.client, 1) == 1);
	command = popen("cat", "w");
	NEED(command);
	NEED(fputs("through a command\n", command) >= 0);
	say("pclose: %d", pclose(command));
	show_recv("recv", pair.server, 30, 0);
}

/* Executes this program again, with a descriptor to use. */
static pid_t again_on(int fd)
{
	char number[16], path[256];
	char *words[] = { path, "--echo", number, NULL };
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	pid_t pid;

	NEED(len > 0);
	path[len] = 0;
	snprintf(number, sizeof(number), "%d", fd);
	pid = fork();
	NEED(pid >= 0);
	if (pid == 0) {
		execv(path, words);
		_exit(127);
	}
	return pid;
}

static void again(struct pair pair)
{
	pid_t pid;

	NEED(fcntl(pair.client, F_SETFD, FD_CLOEXEC) == 0);
	pid = again_on(pair.server);
	close(pair.server);
	send_pattern(pair.client, 30000, 0);
	NEED(shutdown(pair.client, SHUT_WR) == 0);
	say("%zu octets came back", recv_pattern_all(pair.client, 0));
	child_end(pid);
}

static void again_unused(void)
{
	again(pair_new());
}

static void again_used(void)
{
	again(pair_used());
}

static void again_nonblocking(void)
{
	struct pair pair = pair_new();

	set_nonblocking(pair.client, true);
	set_nonblocking(pair.client, false);
	again(pair);
}

static void replaced_child(int fd)
{
	char number[16], path[256];
	char *words[] = { path, "--echo", number, NULL };
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char octet = 0;

	NEED(len > 0);
	path[len] = 0;
	NEED(recv(fd, &octet, 1, 0) == 1 && octet == 'x');
	send_text(fd, "y");
	snprintf(number, sizeof(number), "%d", fd);
	execv(path, words);
	NEED(!"execv");
}

/* The process that has the connection executes another program. */
static void replaced(void)
{
	pid_t pid;
	int fd = child_dial(replaced_child, &pid);

	send_text(fd, "x");
	show_recv("before exec", fd, 1, 0);
	send_pattern(fd, 10000, 0);
	NEED(shutdown(fd, SHUT_WR) == 0);
	say("%zu octets came back", recv_pattern_all(fd, 0));
	child_end(pid);
}

#define OPEN_LEN (2 << 20)

/* Nothing but exec closes it. */
static void open_child(int fd)
{
	char *words[] = { "true", NULL };

	NEED(fcntl(fd, F_SETFD, FD_CLOEXEC) == 0);
	send_pattern(fd, OPEN_LEN, 0);
	execvp(words[0], words);
	NEED(!"execvp");
}

/* How it ends is another matter; see exec.replaced. */
static size_t octets_before_end(int fd)
{
	unsigned char octets[65536];
	size_t count = 0;
	ssize_t got;

	while ((got = recv(fd, octets, sizeof(octets), 0)) > 0) {
		NEED(pattern_is_right(octets, (size_t)got, count));
		count += (size_t)got;
	}
	NEED(got == 0 || errno == ECONNRESET);
	return count;
}

/* What was written before exec arrives. */
static void open_at_exec(int (*start)(void (*run)(int fd), pid_t *ret_pid))
{
	pid_t pid;
	int fd = start(open_child, &pid);

	say("%zu octets came", octets_before_end(fd));
	child_end(pid);
}

static void open_connected(void)
{
	open_at_exec(child_dial);
}

static void open_accepted(void)
{
	open_at_exec(child_accept);
}

static char *relay_octets;

/* Passed on by threads of the library, because stdio has the socket. */
static void stdio_child(int fd)
{
	char *words[] = { "true", NULL };
	FILE *stream = fdopen(fd, "w");

	NEED(stream && fwrite(relay_octets, OPEN_LEN, 1, stream) == 1);
	NEED(fclose(stream) == 0);
	execvp(words[0], words);
	NEED(!"execvp");
}

static void by_stdio(void)
{
	pid_t pid;
	int fd;

	relay_octets = malloc(OPEN_LEN);
	NEED(relay_octets);
	pattern_make(relay_octets, OPEN_LEN, 0);
	fd = child_dial(stdio_child, &pid);
	say("%zu octets came, then the end", recv_pattern_all(fd, 0));
	child_end(pid);
	free(relay_octets);
}

static void failed(void)
{
	struct pair pair = pair_used();
	char *words[] = { "/nonexistent", NULL };
	pid_t pid = fork();
	int status;

	NEED(pid >= 0);
	if (pid == 0) {
		execv(words[0], words);
		send_text(pair.client, "exec failed");
		_exit(4);
	}
	NEED(waitpid(pid, &status, 0) == pid);
	show_recv("recv", pair.server, 20, 0);
	send_text(pair.client, "parent");
	show_recv("recv", pair.server, 20, 0);
}

/* What exec waited for has not ended anything. */
static void failed_here(void)
{
	struct pair pair = pair_used(), closed = pair_used();
	char *words[] = { "/nonexistent", NULL };

	send_text(closed.client, "closed");
	close(closed.client);
	send_text(pair.client, "before");
	SHOW("execv", execv(words[0], words));
	send_text(pair.client, ", after");
	wait_octets(pair.server, 13);
	show_recv("recv", pair.server, 20, 0);
	send_text(pair.server, "answer");
	show_recv("recv", pair.client, 20, 0);
	show_recv("of who has closed", closed.server, 20, 0);
	show_recv("the end", closed.server, 20, 0);
}

const struct sock_case exec_cases[] = {
	{ "exec.cat-unused", cat_unused },
	{ "exec.cat-used", cat_used },
	{ "exec.cat-large", cat_large },
	{ "exec.cat-used-large", cat_used_large },
	{ "exec.cat-of-client", cat_of_client },
	{ "exec.shell", shell },
	{ "exec.shell-speaks-first", shell_speaks_first },
	{ "exec.partly-read", partly_read },
	{ "exec.chain", chain },
	{ "exec.left-behind", left_behind },
	{ "exec.names-unused", names_unused },
	{ "exec.names-used", names_used },
	{ "exec.closed-on-exec", closed_on_exec },
	{ "exec.spawned", spawned },
	{ "exec.by-system", by_system },
	{ "exec.to-command", to_command },
	{ "exec.again-unused", again_unused },
	{ "exec.again-used", again_used },
	{ "exec.again-nonblocking", again_nonblocking },
	{ "exec.replaced", replaced },
	{ "exec.open-connected", open_connected },
	{ "exec.open-accepted", open_accepted },
	{ "exec.stdio-closed", by_stdio },
	{ "exec.failed", failed },
	{ "exec.failed-here", failed_here },
	{ NULL, NULL },
};

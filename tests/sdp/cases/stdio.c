/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* stdio on sockets: the C library's own reads and writes. */
#include "cases.h"

static FILE *stream_of(int fd, const char *mode)
{
	FILE *f = fdopen(fd, mode);

	NEED(f);
	return f;
}

static void lines(void)
{
	struct pair pair = pair_new();
	FILE *out = stream_of(pair.client, "w");
	FILE *in = stream_of(pair.server, "r");
	char line[50];

	for (int i = 0; i < 3; i++)
		NEED(fprintf(out, "line %d of %s\n", i, "three") > 0);
	say("fclose: %d", fclose(out));
	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = 0;
		say("fgets: %s", line);
	}
	say("feof %d, ferror %d", !!feof(in), !!ferror(in));
	say("fclose: %d", fclose(in));
}

static void used(void)
{
	struct pair pair = pair_used();
	FILE *out = stream_of(pair.client, "w");
	FILE *in = stream_of(pair.server, "r");
	char line[50] = "";

	NEED(fputs("by stdio\n", out) >= 0 && fflush(out) == 0);
	NEED(fgets(line, sizeof(line), in));
	say("fgets: %zu octets", strlen(line));
	send_text(pair.client, "by send\n");
	NEED(fgets(line, sizeof(line), in));
	say("fgets: %zu octets", strlen(line));
}

static void sent(void)
{
	struct pair pair = pair_used();
	FILE *out = stream_of(pair.client, "w");

	NEED(fputs("by stdio\n", out) >= 0 && fflush(out) == 0);
	wait_octets(pair.server, 9);
	wait_sent(pair.client);
	say("nothing is on the way");
	show_recv("recv", pair.server, 20, 0);
}

static void dialogue_child(int fd)
{
	FILE *in = stream_of(fd, "r"), *out = stream_of(dup(fd), "w");
	char line[50];

	fprintf(out, "220 ready\n");
	fflush(out);
	while (fgets(line, sizeof(line), in)) {
		fprintf(out, "250 %s", line);
		fflush(out);
	}
	fprintf(out, "221 bye\n");
	fclose(out);
}

static void dialogue(void)
{
	pid_t pid;
	int fd = child_accept(dialogue_child, &pid);

	show_recv("greeting", fd, 10, MSG_WAITALL);
	send_text(fd, "hello\n");
	show_recv("answer", fd, 10, MSG_WAITALL);
	send_text(fd, "more\n");
	show_recv("answer", fd, 9, MSG_WAITALL);
	NEED(shutdown(fd, SHUT_WR) == 0);
	wait_octets(fd, 8);
	show_recv("farewell", fd, 20, MSG_WAITALL);
	child_end(pid);
}

static void one_stream(void)
{
	struct pair pair = pair_new();
	FILE *both = stream_of(pair.client, "r+");
	char line[50] = "";

	NEED(fputs("question\n", both) >= 0 && fflush(both) == 0);
	show_recv("recv", pair.server, 20, 0);
	send_text(pair.server, "answer\n");
	NEED(fgets(line, sizeof(line), both));
	say("fgets: %zu octets", strlen(line));
	say("fclose: %d", fclose(both));
	show_recv("recv", pair.server, 20, 0);
}

static void unbuffered(void)
{
	struct pair pair = pair_new();
	FILE *out = stream_of(pair.client, "w");

	setvbuf(out, NULL, _IONBF, 0);
	fputc('a', out);
	fputs("bc", out);
	wait_octets(pair.server, 3);
	show_recv("unbuffered", pair.server, 10, 0);
	setvbuf(out, NULL, _IOLBF, 100);
	fputs("line\nrest", out);
	wait_octets(pair.server, 5);
	show_recv("by lines", pair.server, 5, 0);
	fflush(out);
	show_recv("the rest", pair.server, 10, 0);
}

static void blocks_child(int fd)
{
	FILE *out = stream_of(dup(fd), "w");
	static unsigned char octets[300000];

	pattern_make(octets, sizeof(octets), 0);
	for (size_t at = 0; at < sizeof(octets); at += 10000)
		NEED(fwrite(octets + at, 1, 10000, out) == 10000);
	fclose(out);
}

static void blocks(void)
{
	static unsigned char octets[300000];
	pid_t pid;
	int fd = child_dial(blocks_child, &pid);
	FILE *in = stream_of(fd, "r");

	say("fread: %zu", fread(octets, 1, sizeof(octets), in));
	say("right: %d", pattern_is_right(octets, sizeof(octets), 0));
	say("fgetc at the end: %d", fgetc(in));
	child_end(pid);
}

static void characters(void)
{
	struct pair pair = pair_new();
	FILE *in = stream_of(pair.server, "r");
	char word[20] = "";
	int number = 0;

	send_text(pair.client, "xyz 42 word\nlast");
	NEED(shutdown(pair.client, SHUT_WR) == 0);
	say("fgetc: %c", fgetc(in));
	say("ungetc: %c", ungetc('X', in));
	NEED(fread(word, 1, 3, in) == 3);
	say("fread: %s", word);
	say("fscanf: %d", fscanf(in, "%d %19s\n", &number, word));
	say("%d %s", number, word);
	say("fgetc: %c", fgetc(in));
}

static void get_line(void)
{
	struct pair pair = pair_used();
	FILE *in = stream_of(pair.server, "r");
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	send_text(pair.client, "short\n");
	for (int i = 0; i < 50; i++)
		send_text(pair.client, "a long line without end, ");
	NEED(shutdown(pair.client, SHUT_WR) == 0);
	while ((len = getline(&line, &size, in)) > 0)
		say("getline: %zd", len);
	free(line);
}

static void print_to_descriptor(void)
{
	struct pair pair = pair_new();

	say("dprintf: %d", dprintf(pair.client, "%s %d", "value", 7));
	show_recv("recv", pair.server, 20, 0);
}

static void standard_output(void)
{
	struct pair pair = pair_used();

	NEED(dup2(pair.client, 1) == 1);
	printf("printf to a socket\n");
	NEED(fflush(stdout) == 0);
	show_recv("recv", pair.server, 30, 0);
	puts("puts to a socket");
	NEED(fflush(stdout) == 0);
	show_recv("recv", pair.server, 30, 0);
}

/* Nothing was sent on the connection before. */
static void standard_unused(void)
{
	struct pair pair = pair_new();
	char line[50] = "";

	NEED(dup2(pair.server, 0) == 0 && dup2(pair.server, 1) == 1);
	close(pair.server);
	printf("220 by printf\n");
	NEED(fflush(stdout) == 0);
	show_recv("recv", pair.client, 30, 0);
	send_text(pair.client, "answer\n");
	NEED(fgets(line, sizeof(line), stdin));
	say("fgets: %zu octets", strlen(line));
}

static void exit_child(int fd)
{
	NEED(dup2(fd, 1) == 1);
	printf("written by exit()");
}

static void at_exit(void)
{
	pid_t pid;
	int fd = child_accept(exit_child, &pid);

	show_recv("recv", fd, 30, MSG_WAITALL);
	child_end(pid);
}

static void standard_input(void)
{
	struct pair pair = pair_used();
	char line[50] = "";

	NEED(dup2(pair.server, 0) == 0);
	send_text(pair.client, "a line\n7");
	NEED(shutdown(pair.client, SHUT_WR) == 0);
	NEED(fgets(line, sizeof(line), stdin));
	say("fgets: %zu octets", strlen(line));
	say("getchar: %c", getchar());
	say("getchar: %d", getchar());
}

static void broken(void)
{
	struct pair pair = pair_used();
	FILE *out = stream_of(pair.client, "w");

	signal(SIGPIPE, SIG_IGN);
	NEED(shutdown(pair.client, SHUT_WR) == 0);
	fputs("x", out);
	SHOW("fflush", fflush(out));
	say("ferror %d", !!ferror(out));
}

static void nonblocking(void)
{
	struct pair pair = pair_used();
	FILE *in = stream_of(pair.server, "r");

	set_nonblocking(pair.server, true);
	SHOW("fgetc", fgetc(in));
	clearerr(in);
	send_text(pair.client, "x");
	wait_octets(pair.server, 1);
	say("fgetc: %c", fgetc(in));
}

static void in_child(void)
{
	struct pair pair = pair_used();
	FILE *out = stream_of(pair.client, "w");
	pid_t pid;

	fflush(out);
	pid = fork();
	NEED(pid >= 0);
	if (pid == 0) {
		fputs("from the child\n", out);
		/* exit() flushes it. */
		exit(0);
	}
	child_end(pid);
	show_recv("recv", pair.server, 30, 0);
}

static void mixed(void)
{
	struct pair pair = pair_used();
	FILE *in = stream_of(pair.server, "r");
	char line[20];

	setvbuf(in, NULL, _IONBF, 0);
	send_text(pair.client, "line\nrest");
	wait_octets(pair.server, 9);
	NEED(fgets(line, sizeof(line), in));
	say("fgets: %zu octets", strlen(line));
	show_recv("recv of the rest", fileno(in), 20, 0);
}

static void killed_child(int fd)
{
	FILE *stream = fdopen(fd, "w");

	NEED(stream && fputs("last words", stream) >= 0);
	NEED(fflush(stream) == 0);
	raise(SIGKILL);
}

/* It dies before its peer looks: an end must not hide octets that are lost. */
static void killed(void)
{
	int count = 0, status;
	char octet;
	ssize_t got;
	pid_t pid;
	int fd = child_dial(killed_child, &pid);

	NEED(waitpid(pid, &status, 0) == pid);
	while ((got = recv(fd, &octet, 1, 0)) > 0)
		count++;
	say("all came, or an error: %d", count == 10 || got < 0);
}

const struct sock_case stdio_cases[] = {
	{ "stdio.lines", lines },
	{ "stdio.used", used },
	{ "stdio.sent", sent },
	{ "stdio.dialogue", dialogue },
	{ "stdio.one-stream", one_stream },
	{ "stdio.unbuffered", unbuffered },
	{ "stdio.blocks", blocks },
	{ "stdio.characters", characters },
	{ "stdio.get-line", get_line },
	{ "stdio.print-to-descriptor", print_to_descriptor },
	{ "stdio.standard-output", standard_output },
	{ "stdio.standard-unused", standard_unused },
	{ "stdio.at-exit", at_exit },
	{ "stdio.standard-input", standard_input },
	{ "stdio.broken", broken },
	{ "stdio.nonblocking", nonblocking },
	{ "stdio.in-child", in_child },
	{ "stdio.mixed", mixed },
	{ "stdio.killed", killed },
	{ NULL, NULL },
};

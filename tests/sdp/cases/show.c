/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The output of the cases: each line is one write() of printable characters. */
#include "cases.h"
#include "show.h"

#include <stdarg.h>
#include <ctype.h>

static const char *case_name = "none";
static int report_fd = 1;

void show_begin(const char *name, int fd)
{
	case_name = name;
	report_fd = fd;
}

void say(const char *format, ...)
{
	char line[1024];
	size_t len;
	va_list args;

	len = (size_t)snprintf(line, sizeof(line), "%s: ", case_name);
	va_start(args, format);
	vsnprintf(line + len, sizeof(line) - len - 1, format, args);
	va_end(args);
	for (len = 0; line[len]; len++)
		if (!isprint((unsigned char)line[len]))
			line[len] = '?';
	line[len++] = '\n';
	if (write(report_fd, line, len) != (ssize_t)len)
		_exit(3);
}

const char *error_name(int error)
{
	const char *name = strerrorname_np(error);

	return name ? name : "an unknown error";
}

long show_value(const char *what, long value, int error)
{
	if (value == -1)
		say("%s: %s", what, error_name(error));
	else
		say("%s: %ld", what, value);
	return value;
}

const char *events_name(unsigned events)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = {
		{ POLLIN, "IN" },	  { POLLPRI, "PRI" },
		{ POLLOUT, "OUT" },	  { POLLRDNORM, "RDNORM" },
		{ POLLRDBAND, "RDBAND" }, { POLLWRNORM, "WRNORM" },
		{ POLLWRBAND, "WRBAND" }, { 0x2000 /* RDHUP */, "RDHUP" },
		{ POLLERR, "ERR" },	  { POLLHUP, "HUP" },
		{ POLLNVAL, "NVAL" },
	};
	static char text[4][96];
	static int turn;
	char *name = text[turn = (turn + 1) % 4];

	name[0] = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(events & names[i].bit))
			continue;
		if (name[0])
			strcat(name, "|");
		strcat(name, names[i].name);
	}
	return name[0] ? name : "none";
}

void need_failed(const char *condition, const char *file, int line)
{
	int error = errno;
	const char *base = strrchr(file, '/');

	say("fails at %s:%d: %s (%s)", base ? base + 1 : file, line, condition,
	    error_name(error));
	_exit(2);
}

ssize_t show_recv(const char *what, int fd, size_t size, int flags)
{
	char text[257] = "";
	ssize_t got;

	NEED(size < sizeof(text));
	errno = 0;
	got = recv(fd, text, size, flags);
	if (got < 0) {
		say("%s: %s", what, error_name(errno));
		return got;
	}
	/* An octet of zero would end the line. */
	for (ssize_t i = 0; i < got; i++)
		text[i] = text[i] ? text[i] : '?';
	text[got] = 0;
	if (got)
		say("%s: %zd \"%s\"", what, got, text);
	else
		say("%s: 0", what);
	return got;
}

ssize_t show_send(const char *what, int fd, const char *text, int flags)
{
	return SHOW(what, send(fd, text, strlen(text), flags));
}

void show_poll(const char *what, int fd, short events)
{
	struct pollfd look = { .fd = fd, .events = events };
	int count = poll(&look, 1, 0);

	if (count < 0)
		say("%s: %s", what, error_name(errno));
	else
		say("%s: %s", what, events_name((unsigned)look.revents));
}

void show_so_error(const char *what, int fd)
{
	int error = -1;
	socklen_t len = sizeof(error);

	NEED(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0);
	say("%s: %s", what, error ? error_name(error) : "0");
}

void show_option(const char *what, int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	if (getsockopt(fd, level, name, &value, &len) < 0)
		say("%s: %s", what, error_name(errno));
	else
		say("%s: %d", what, value);
}

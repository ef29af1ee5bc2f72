/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fcntl(), ioctl(), fstat(): a socket as a descriptor. */
#include "cases.h"

#include <linux/sockios.h>
#include <sys/stat.h>

static void status_flags(void)
{
	struct pair pair = pair_used();

	say("F_GETFL is O_RDWR: %d", fcntl(pair.client, F_GETFL) == O_RDWR);
	SHOW("F_SETFL O_NONBLOCK",
	     fcntl(pair.client, F_SETFL, O_RDWR | O_NONBLOCK));
	say("F_GETFL: %d",
	    fcntl(pair.client, F_GETFL) == (O_RDWR | O_NONBLOCK));
	show_recv("recv", pair.client, 10, 0);
	SHOW("F_SETFL 0", fcntl(pair.client, F_SETFL, 0));
	say("F_GETFL: %d", fcntl(pair.client, F_GETFL) == O_RDWR);
	say("the peer's is O_RDWR: %d", fcntl(pair.server, F_GETFL) == O_RDWR);
}

static void ioctl_nonblocking(void)
{
	struct pair pair = pair_used();
	int value = 1;

	SHOW("FIONBIO", ioctl(pair.client, FIONBIO, &value));
	say("O_NONBLOCK: %d", !!(fcntl(pair.client, F_GETFL) & O_NONBLOCK));
	show_recv("recv", pair.client, 10, 0);
	value = 0;
	SHOW("FIONBIO off", ioctl(pair.client, FIONBIO, &value));
	say("O_NONBLOCK: %d", !!(fcntl(pair.client, F_GETFL) & O_NONBLOCK));
}

static void flags_of_dups(void)
{
	struct pair pair = pair_used();
	int copy = dup(pair.client);

	set_nonblocking(copy, true);
	show_recv("O_NONBLOCK is of both", pair.client, 10, 0);
	NEED(fcntl(copy, F_SETFD, FD_CLOEXEC) == 0);
	say("FD_CLOEXEC is of one: %d %d", fcntl(copy, F_GETFD) & FD_CLOEXEC,
	    fcntl(pair.client, F_GETFD) & FD_CLOEXEC);
}

static void flags_kept(void)
{
	int fd = socket(fixture_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int listener = listen_new(1), other;
	struct address address = address_of(listener);

	SHOW("connect", connect(fd, &address.any, address.len));
	wait_poll(fd, POLLOUT);
	other = take_connection(listener);
	send_text(fd, "x");
	show_recv("recv", other, 10, 0);
	say("O_NONBLOCK %d, FD_CLOEXEC %d", !!(fcntl(fd, F_GETFL) & O_NONBLOCK),
	    fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void duplicate(void)
{
	struct pair pair = pair_used();
	int copy;

	say("F_DUPFD from 90: %d", fcntl(pair.client, F_DUPFD, 90) == 90);
	copy = fcntl(pair.client, F_DUPFD_CLOEXEC, 90);
	say("F_DUPFD_CLOEXEC from 90: %d, FD_CLOEXEC %d", copy == 91,
	    fcntl(copy, F_GETFD) & FD_CLOEXEC);
	send_text(90, "one");
	show_recv("recv", pair.server, 10, 0);
	send_text(pair.server, "two");
	show_recv("recv", 91, 10, 0);
	close(pair.client);
	close(90);
	send_text(91, "three");
	show_recv("recv", pair.server, 10, 0);
	close(91);
	show_recv("recv", pair.server, 10, 0);
}

static void octets_there(void)
{
	struct pair pair = pair_used();
	int count = -1;

	SHOW("FIONREAD", ioctl(pair.server, FIONREAD, &count));
	say("%d", count);
	send_text(pair.client, "0123456789");
	wait_octets(pair.server, 10);
	NEED(!ioctl(pair.server, FIONREAD, &count));
	say("%d", count);
	show_recv("recv", pair.server, 4, 0);
	NEED(!ioctl(pair.server, FIONREAD, &count));
	say("%d", count);
	show_recv("peek", pair.server, 10, MSG_PEEK);
	NEED(!ioctl(pair.server, FIONREAD, &count));
	say("%d", count);
	close(pair.client);
	wait_poll(pair.server, POLLRDHUP);
	NEED(!ioctl(pair.server, FIONREAD, &count));
	say("%d with the end", count);
	show_recv("recv", pair.server, 10, 0);
	NEED(!ioctl(pair.server, FIONREAD, &count));
	say("%d at the end", count);
}

static void octets_of_others(void)
{
	int count = -1;

	SHOW("FIONREAD of a fresh socket",
	     ioctl(socket_new(), FIONREAD, &count));
	say("%d", count);
	SHOW("FIONREAD of a listener", ioctl(listen_new(1), FIONREAD, &count));
	SHOW("SIOCOUTQ of a listener", ioctl(listen_new(1), SIOCOUTQ, &count));
	SHOW("an unknown ioctl", ioctl(pair_used().client, 0x12345, &count));
	SHOW("FIONREAD to a bad pointer",
	     ioctl(pair_used().client, FIONREAD, (void *)16));
	SHOW("FIONREAD of no descriptor", ioctl(-1, FIONREAD, &count));
}

static void octets_unsent(void)
{
	struct pair pair = pair_used();
	int count = -1;
	size_t filled;

	wait_sent(pair.client);
	say("all has gone");
	filled = fill(pair.client);
	SHOW("SIOCOUTQ", ioctl(pair.client, SIOCOUTQ, &count));
	say("some wait: %d", count > 0 && (size_t)count <= filled);
	recv_pattern(pair.server, filled, 0);
	wait_sent(pair.client);
	say("all has gone");
}

static void is_socket(void)
{
	struct pair pair = pair_used();
	char path[64], text[64];
	struct stat stat;
	ssize_t len;

	NEED(fstat(pair.client, &stat) == 0);
	say("it is a socket: %d, of %ld octets", S_ISSOCK(stat.st_mode),
	    (long)stat.st_size);
	SHOW("isatty", isatty(pair.client) - 1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", pair.client);
	len = readlink(path, text, sizeof(text) - 1);
	NEED(len > 7);
	text[7] = 0;
	say("its link begins with %s", text);
}

static void not_a_file(void)
{
	struct pair pair = pair_used();

	SHOW("ftruncate", ftruncate(pair.client, 0));
	SHOW("fsync", fsync(pair.client));
	SHOW("lseek", lseek(pair.client, 0, SEEK_END));
	SHOW("fchmod", fchmod(pair.client, 0600));
}

static void signal_io(void)
{
	struct pair pair = pair_used();
	sigset_t io;
	siginfo_t got;

	sigemptyset(&io);
	sigaddset(&io, SIGRTMIN);
	NEED(sigprocmask(SIG_BLOCK, &io, NULL) == 0);
	SHOW("F_SETOWN", fcntl(pair.server, F_SETOWN, getpid()));
	say("F_GETOWN is us: %d", fcntl(pair.server, F_GETOWN) == getpid());
	SHOW("F_SETSIG", fcntl(pair.server, F_SETSIG, SIGRTMIN));
	SHOW("O_ASYNC", fcntl(pair.server, F_SETFL, O_ASYNC));
	send_text(pair.client, "x");
	NEED(sigwaitinfo(&io, &got) == SIGRTMIN);
	say("a signal for the socket: %d", got.si_fd == pair.server);
	show_recv("recv", pair.server, 10, 0);
}

static void signal_io_plain(void)
{
	struct pair pair = pair_used();

	catch_signal(SIGIO, 0);
	NEED(fcntl(pair.server, F_SETOWN, getpid()) == 0);
	NEED(fcntl(pair.server, F_SETFL, O_ASYNC) == 0);
	send_text(pair.client, "x");
	UNTIL(caught[SIGIO] > 0);
	say("SIGIO came");
	show_recv("recv", pair.server, 10, 0);
}

static void toggled(void)
{
	struct pair pair = pair_used();
	int right = 0;

	for (int i = 0; i < 50; i++) {
		char octet;

		set_nonblocking(pair.server, true);
		right += recv(pair.server, &octet, 1, 0) < 0 && errno == EAGAIN;
		set_nonblocking(pair.server, false);
		send_text(pair.client, "x");
		right += recv(pair.server, &octet, 1, 0) == 1;
	}
	say("%d of 100 were right", right);
}

static void by_path(void)
{
	struct pair pair = pair_used();
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", pair.client);
	SHOW("open by its path", open(path, O_RDWR));
}

const struct sock_case descriptor_cases[] = {
	{ "descriptor.status-flags", status_flags },
	{ "descriptor.ioctl-nonblocking", ioctl_nonblocking },
	{ "descriptor.flags-of-dups", flags_of_dups },
	{ "descriptor.flags-kept", flags_kept },
	{ "descriptor.duplicate", duplicate },
	{ "descriptor.octets-there", octets_there },
	{ "descriptor.octets-of-others", octets_of_others },
	{ "descriptor.octets-unsent", octets_unsent },
	{ "descriptor.is-socket", is_socket },
	{ "descriptor.not-a-file", not_a_file },
	{ "descriptor.signal-io", signal_io },
	{ "descriptor.signal-io-plain", signal_io_plain },
	{ "descriptor.toggled", toggled },
	{ "descriptor.by-path", by_path },
	{ NULL, NULL },
};

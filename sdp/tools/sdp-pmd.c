/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sdp-pmd(8): the Port Mapper of this host.  It answers PMReqs of other hosts
 * from the registry of SDP listeners.  It needs no privilege.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/env.h"
#include "pm/pm-server.h"
#include "pm/registry.h"
#include "tools/pmd-socket.h"

#define SOCKET_MAX 16
#define USAGE_EXIT 2
/* Maximum number of datagrams read from one socket before the other sockets are
 * served. */
#define BATCH 64
/* The largest PmTime in quarters of a second (SDP-258). */
#define PM_TIME_QUARTERS_MAX 127
#define ALARM_MS 60000u

static struct {
	struct sockaddr_storage addr[SOCKET_MAX];
	int addr_cnt;
	uint16_t port;
	uint8_t pm_time;
	bool is_syslog;
	int level; /* of syslog(3); higher levels are not printed */
} config = { .level = LOG_NOTICE };

static void say(int level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void say(int level, const char *fmt, ...)
{
	char line[512];
	va_list args;

	if (level > config.level)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (config.is_syslog)
		syslog(level, "%s", line);
	else
		fprintf(stderr, "sdp-pmd: %s\n", line);
}

static uint64_t now_ms(void)
{
	return util_now_ns() / NS_PER_MS;
}

static const char *addr_text(const struct sockaddr_storage *addr, char *buf,
			     size_t size)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	const void *octets = addr->ss_family == AF_INET
				     ? (const void *)&in->sin_addr
				     : (const void *)&in6->sin6_addr;

	return inet_ntop(addr->ss_family, octets, buf, (socklen_t)size) ? buf
									: "?";
}

static void addr_make(uint8_t ipv, const uint8_t *octets, uint16_t port,
		      unsigned int ifindex, struct sockaddr_storage *ret_addr)
{
	struct sockaddr_in6 *in6 = (void *)ret_addr;
	struct sockaddr_in *in = (void *)ret_addr;

	memset(ret_addr, 0, sizeof(*ret_addr));
	if (ipv == 4) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, octets, 4);
		return;
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	memcpy(&in6->sin6_addr, octets, 16);
	in6->sin6_scope_id = ifindex;
}

/* The Conventional Address in a PMReq. */
static void wanted_addr(const struct sdp_pm_msg *req, unsigned int ifindex,
			struct sockaddr_storage *ret_addr)
{
	addr_make(req->ipv, req->ap_addr, req->ap_port, ifindex, ret_addr);
}

/* Listeners on loopback addresses are not announced to other hosts. */
static bool is_out_of_reach(const struct sdp_pm_msg *req,
			    const struct pmd_datagram *datagram)
{
	struct pmd_datagram wanted = { .len = 0 };
	const uint8_t zeros[16] = { 0 };

	wanted_addr(req, 0, &wanted.to);
	if (!memcmp(req->ap_addr, zeros, sizeof(zeros)))
		return true;
	return pmd_datagram_is_local(&wanted) &&
	       !pmd_datagram_is_local(datagram);
}

static void source_from(const struct pmd_datagram *datagram,
			struct sdp_pm_source *ret_source)
{
	const struct sockaddr_in6 *in6 = (const void *)&datagram->from;
	const struct sockaddr_in *in = (const void *)&datagram->from;

	memset(ret_source, 0, sizeof(*ret_source));
	if (datagram->from.ss_family == AF_INET)
		memcpy(ret_source->addr, &in->sin_addr, 4);
	else
		memcpy(ret_source->addr, &in6->sin6_addr, 16);
}

/*
 * The two addresses of a PMReq may be the ends of a TCP connection that stands:
 * the client has the one, and SDP may enter at the other, whatever the listener
 * announces. Return: -ENOTCONN: they are not; others as
 * sdp_registry_find_end().
 */
static int connection_find(const struct sdp_pm_msg *req,
			   const struct pmd_datagram *datagram,
			   const struct sockaddr_storage *wanted,
			   uint16_t *ret_port)
{
	struct sockaddr_storage client;
	struct sdp_pm_source from;

	source_from(datagram, &from);
	if (req->cp_port == 0 ||
	    memcmp(from.addr, req->cp_addr, sizeof(req->cp_addr)))
		return -ENOTCONN;
	addr_make(req->ipv, req->cp_addr, req->cp_port, datagram->ifindex,
		  &client);
	return sdp_registry_find_end((struct sockaddr *)&client,
				     (const struct sockaddr *)wanted, ret_port);
}

/* Return: 0, and *ret_port is 0 if the answer is PMDeny; negative errno: no
 *   answer is possible now, and the client will ask again. */
static int mapping_find(const struct sdp_pm_msg *req,
			const struct pmd_datagram *datagram, uint16_t *ret_port)
{
	struct sockaddr_storage wanted;
	bool is_cm; /* a reply cannot express it */
	int ret;

	*ret_port = 0;
	if (is_out_of_reach(req, datagram))
		return 0;
	wanted_addr(req, datagram->ifindex, &wanted);
	ret = connection_find(req, datagram, &wanted, ret_port);
	if (ret == -ENOTCONN)
		ret = sdp_registry_find((struct sockaddr *)&wanted, ret_port,
					&is_cm);
	switch (ret) {
	case -EADDRNOTAVAIL:
	case -ENETUNREACH:
	case -EHOSTUNREACH:
	case -ECONNREFUSED:
	case -ENOENT:
	case -EPERM:
	case -EAFNOSUPPORT:
		return 0;
	default:
		return ret;
	}
}

static void datagram_serve(struct sdp_pm_server *server, int fd,
			   const struct pmd_datagram *datagram)
{
	char from[INET6_ADDRSTRLEN], wanted_text[INET6_ADDRSTRLEN];
	struct sockaddr_storage wanted;
	struct sdp_pm_source source;
	uint8_t out[SDP_PM_SIZE];
	struct sdp_pm_msg req;
	uint16_t port;
	int ret;

	source_from(datagram, &source);
	if (!sdp_pm_server_receive(server, now_ms(), &source, datagram->octets,
				   datagram->len, &req))
		return;
	addr_text(&datagram->from, from, sizeof(from));
	wanted_addr(&req, 0, &wanted);
	addr_text(&wanted, wanted_text, sizeof(wanted_text));
	ret = mapping_find(&req, datagram, &port);
	if (ret < 0) {
		say(LOG_ERR,
		    "%s asks for %s port %u: cannot search the registry: %s",
		    from, wanted_text, req.ap_port, strerror(-ret));
		return;
	}
	sdp_pm_server_answer(server, now_ms(), &source, &req, port, out);
	say(LOG_DEBUG, "%s asks for %s port %u: %s %u", from, wanted_text,
	    req.ap_port, port ? "SDP port" : "denied", port);
	ret = pmd_socket_reply(fd, datagram, out, sizeof(out));
	if (ret < 0)
		say(LOG_INFO, "cannot reply to %s: %s", from, strerror(-ret));
}

static void socket_serve(struct sdp_pm_server *server, int fd)
{
	struct pmd_datagram datagram;
	int ret = 1;

	for (int i = 0; i < BATCH && ret > 0; i++) {
		ret = pmd_socket_recv(fd, &datagram);
		if (ret > 0)
			datagram_serve(server, fd, &datagram);
	}
	if (ret < 0)
		say(LOG_INFO, "cannot receive a datagram: %s", strerror(-ret));
}

static void counts_say(const struct sdp_pm_server *server)
{
	const struct sdp_pm_server_counts *c = sdp_pm_server_counts(server);

	say(LOG_NOTICE,
	    "accepted %llu, denied %llu, repeated %llu, acknowledged %llu, "
	    "not acknowledged %llu, not yet %llu, pushed out %llu, above the rate %llu, "
	    "malformed %llu, unexpected %llu",
	    (unsigned long long)c->accepted, (unsigned long long)c->denied,
	    (unsigned long long)c->duplicates, (unsigned long long)c->acked,
	    (unsigned long long)c->expired, (unsigned long long)c->pending,
	    (unsigned long long)c->evicted, (unsigned long long)c->over_rate,
	    (unsigned long long)c->malformed,
	    (unsigned long long)c->unexpected);
}

/* Reports a flood once a minute while it lasts. */
static void alarm_check(const struct sdp_pm_server *server)
{
	static uint64_t told_ms, told_cnt;
	const struct sdp_pm_server_counts *c = sdp_pm_server_counts(server);
	uint64_t cnt = c->over_rate + c->evicted;

	if (cnt == told_cnt || (told_ms && now_ms() - told_ms < ALARM_MS))
		return;
	say(LOG_WARNING,
	    "many requests: %llu were not answered or forgotten early",
	    (unsigned long long)(cnt - told_cnt));
	told_ms = now_ms();
	told_cnt = cnt;
}

/* Notifies systemd, if it started this process and expects it. */
static void notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (len < 2 || len >= sizeof(addr.sun_path))
		return;
	memcpy(addr.sun_path, path, len);
	if (addr.sun_path[0] == '@')
		addr.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL,
		   (struct sockaddr *)&addr,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) <
	    0)
		say(LOG_WARNING, "cannot notify %s: %s", path, strerror(errno));
	close(fd);
}

/* Return: true: stop. */
static bool signal_take(int fd, const struct sdp_pm_server *server)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return false;
	if (info.ssi_signo == SIGUSR1) {
		counts_say(server);
		return false;
	}
	return true;
}

static int wait_ms(const struct sdp_pm_server *server)
{
	uint64_t due_ms = sdp_pm_server_due_ms(server), now = now_ms();

	if (due_ms == UINT64_MAX)
		return -1;
	return due_ms > now ? (int)(due_ms - now) : 0;
}

/* @fds: the signal descriptor, then the sockets. */
static int serve(struct sdp_pm_server *server, struct pollfd *fds, nfds_t cnt)
{
	for (;;) {
		if (poll(fds, cnt, wait_ms(server)) < 0 && errno != EINTR) {
			say(LOG_ERR, "poll: %s", strerror(errno));
			return 1;
		}
		sdp_pm_server_expire(server, now_ms());
		if (fds[0].revents && signal_take(fds[0].fd, server))
			return 0;
		for (nfds_t i = 1; i < cnt; i++)
			if (fds[i].revents)
				socket_serve(server, fds[i].fd);
		alarm_check(server);
	}
}

/* Return: descriptor of the signals that end the process or request the
 *   counts. */
static int signals_open(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGHUP, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The port that @fd is bound to. With port 0 the kernel has chosen it. */
static uint16_t port_of(int fd)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);

	if (getsockname(fd, (struct sockaddr *)&addr, &len) < 0)
		return 0;
	return ntohs(((struct sockaddr_in *)(void *)&addr)->sin_port);
}

/* Return: number of sockets, from @fds[0] on; -1: failed, and the error was
 *   printed. */
static int sockets_open(struct pollfd *fds, bool is_default)
{
	char text[INET6_ADDRSTRLEN];
	int cnt = 0, fd;

	for (int i = 0; i < config.addr_cnt; i++) {
		struct sockaddr_storage *addr = &config.addr[i];

		/* sin6_port is at the same offset. */
		((struct sockaddr_in *)(void *)addr)->sin_port =
			htons(config.port);
		addr_text(addr, text, sizeof(text));
		fd = pmd_socket_open((struct sockaddr *)addr);
		if (fd == -EAFNOSUPPORT && is_default) {
			say(LOG_INFO, "cannot answer on %s: %s", text,
			    strerror(-fd));
			continue;
		}
		if (fd < 0) {
			say(LOG_ERR, "UDP port %u of %s: %s%s", config.port,
			    text, strerror(-fd),
			    fd == -EADDRINUSE
				    ? "; is another Port Mapper (sdp-pmd, iwpmd) "
				      "running? --port takes another port"
				    : "");
			return -1;
		}
		config.port = port_of(fd);
		say(LOG_NOTICE, "answering on UDP port %u of %s", config.port,
		    text);
		fds[cnt++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	}
	if (!cnt)
		say(LOG_ERR, "no address to answer on");
	return cnt ? cnt : -1;
}

static void usage_print(FILE *out)
{
	fputs("Usage: sdp-pmd [OPTIONS]\n"
	      "Port Mapper for the Sockets Direct Protocol: tells other hosts "
	      "the SDP ports\n"
	      "of programs that run here under usiw run --sdp.\n\n"
	      "  -a, --address ADDRESS  answer on this local address only; may "
	      "be repeated\n"
	      "  -p, --port PORT        UDP port [USIW_SDP_PM_PORT, 3935]; 0: "
	      "any\n"
	      "  -c, --cache SECONDS    how long clients may keep an answer, 0 "
	      "to 254 [0]\n"
	      "  -s, --syslog           log to syslog, not to stderr\n"
	      "  -q, --quiet            log errors only\n"
	      "  -v, --verbose          log each request\n"
	      "      --help             this text\n"
	      "      --version          print the version\n\n"
	      "It stays in the foreground.  SIGTERM and SIGINT end it, SIGUSR1 "
	      "logs counts.\n"
	      "Exit code: 0 ended by a signal; 1 failed; 2 wrong usage.\n",
	      out);
}

static int wrong(const char *what, const char *which)
{
	fprintf(stderr, "sdp-pmd: %s: %s\n", which, what);
	usage_print(stderr);
	return USAGE_EXIT;
}

static bool number_take(const char *text, unsigned long max,
			unsigned long *ret_value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret_value = strtoul(text, &end, 10);
	return !errno && !*end && *ret_value <= max;
}

static bool address_add(const char *text)
{
	struct sockaddr_storage *addr = &config.addr[config.addr_cnt];
	struct sockaddr_in6 *in6 = (void *)addr;
	struct sockaddr_in *in = (void *)addr;

	memset(addr, 0, sizeof(*addr));
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1)
		addr->ss_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1)
		addr->ss_family = AF_INET6;
	else
		return false;
	config.addr_cnt++;
	return true;
}

/* The largest PmTime that does not exceed @seconds (SDP-258). */
static uint8_t pm_time_make(unsigned long seconds)
{
	if (seconds > PM_TIME_QUARTERS_MAX)
		return (uint8_t)seconds;
	seconds *= 4;
	return (uint8_t)(seconds > PM_TIME_QUARTERS_MAX ? PM_TIME_QUARTERS_MAX
							: seconds);
}

/* Return: 0; USAGE_EXIT, after an error message; -1: exit now with success. */
static int option_take(int option)
{
	unsigned long value;

	switch (option) {
	case 'a':
		if (config.addr_cnt == SOCKET_MAX)
			return wrong("too many addresses", optarg);
		return address_add(optarg) ? 0
					   : wrong("not an IP address", optarg);
	case 'p':
		if (!number_take(optarg, UINT16_MAX, &value))
			return wrong("not a port, 0 to 65535", optarg);
		config.port = (uint16_t)value;
		return 0;
	case 'c':
		if (!number_take(optarg, 254, &value))
			return wrong("not a time, 0 to 254 seconds", optarg);
		config.pm_time = pm_time_make(value);
		return 0;
	case 's':
		config.is_syslog = true;
		return 0;
	case 'q':
		config.level = LOG_ERR;
		return 0;
	case 'v':
		config.level = LOG_DEBUG;
		return 0;
	case 'h':
		usage_print(stdout);
		return -1;
	case 'V':
		puts("sdp-pmd " USIW_VERSION);
		return -1;
	default:
		usage_print(stderr);
		return USAGE_EXIT;
	}
}

static int options_take(int argc, char **argv)
{
	static const struct option options[] = {
		{ "address", required_argument, NULL, 'a' },
		{ "port", required_argument, NULL, 'p' },
		{ "cache", required_argument, NULL, 'c' },
		{ "syslog", no_argument, NULL, 's' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int option, ret = 0;

	while (ret == 0 && (option = getopt_long(argc, argv, "a:p:c:sqv",
						 options, NULL)) != -1)
		ret = option_take(option);
	if (ret == 0 && argv[optind])
		return wrong("not understood", argv[optind]);
	return ret;
}

static struct sdp_pm_server *server_make(void)
{
	struct sdp_pm_server_options options = { .time = config.pm_time };
	struct sdp_pm_server *server;

	if (getrandom(&options.secret, sizeof(options.secret), 0) < 0)
		options.secret = now_ms();
	server = sdp_pm_server_new(&options);
	if (!server)
		say(LOG_ERR, "out of memory");
	return server;
}

int main(int argc, char **argv)
{
	struct pollfd fds[1 + SOCKET_MAX];
	struct sdp_pm_server *server;
	bool is_default;
	int ret, cnt;

	config.port = (uint16_t)util_settings()->sdp_pm_port;
	ret = options_take(argc, argv);
	if (ret < 0)
		return fflush(stdout) ? 1 : 0;
	if (ret > 0)
		return ret;
	is_default = config.addr_cnt == 0;
	if (is_default && (!address_add("0.0.0.0") || !address_add("::")))
		return 1;
	if (config.is_syslog)
		openlog("sdp-pmd", LOG_PID, LOG_DAEMON);
	fds[0] = (struct pollfd){ .fd = signals_open(), .events = POLLIN };
	server = server_make();
	cnt = server ? sockets_open(fds + 1, is_default) : -1;
	ret = 1;
	if (cnt > 0 && fds[0].fd >= 0) {
		notify("READY=1");
		ret = serve(server, fds, (nfds_t)cnt + 1);
		notify("STOPPING=1");
		counts_say(server);
	}
	sdp_pm_server_free(server);
	return ret;
}

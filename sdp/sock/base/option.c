/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See option.h. */
#include "option.h"

#include <errno.h>
#include <limits.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/sockopt.h"
#include "util/user.h"
#include "mark.h"
#include "events.h"
#include "verbs/sdp-link.h"

static int kernel_get(int fd, int level, int name, void *value, socklen_t *len)
{
	return syscall(SYS_getsockopt, fd, level, name, value, len) < 0 ? -errno
									: 0;
}

static int kernel_set(int fd, int level, int name, const void *value,
		      socklen_t len)
{
	return syscall(SYS_setsockopt, fd, level, name, value, len) < 0 ? -errno
									: 0;
}

/* ---- times ---- */

/* For negative seconds, which the kernel treats as a time of zero. */
#define AT_ONCE_NS 1

/* Return: 0: none. A time that does not fit gives 0 too, as in the kernel. */
static uint64_t ns_of(const struct timeval *tv)
{
	if (tv->tv_sec >= INT64_MAX / (int64_t)NS_PER_S)
		return 0;
	return (uint64_t)tv->tv_sec * NS_PER_S +
	       (uint64_t)tv->tv_usec * NS_PER_US;
}

static struct timeval time_of(uint64_t ns)
{
	return (struct timeval){
		.tv_sec = (time_t)(ns / NS_PER_S),
		.tv_usec = (suseconds_t)(ns % NS_PER_S / NS_PER_US),
	};
}

/* SO_RCVTIMEO or SO_SNDTIMEO of the kernel's socket; 0: none. */
static uint64_t kernel_time(int fd, int name)
{
	struct timeval tv = { 0 };
	socklen_t len = sizeof(tv);

	return kernel_get(fd, SOL_SOCKET, name, &tv, &len) < 0 ? 0 : ns_of(&tv);
}

/* The time, wherever it is stored. */
static uint64_t sock_time(struct sdp_sock *sock, int name)
{
	const struct sdp_sock_options *opt = &sock->options;

	if (sdp_sock_is_asking(sock))
		return kernel_time(sock->tcp_fd, name);
	return name == SO_RCVTIMEO ? opt->rcvtimeo_ns : opt->sndtimeo_ns;
}

uint64_t sdp_option_deadline(struct sdp_sock *sock, int name)
{
	uint64_t ns = sock_time(sock, name);

	return ns ? sdp_now_ns() + ns : SDP_NEVER;
}

int sdp_option_time_ms(const struct sdp_sock *sock, int fd, int name)
{
	const struct sdp_sock_options *opt = &sock->options;
	uint64_t ms = (kernel_time(fd, name) + NS_PER_MS - 1) / NS_PER_MS;

	if (name == SO_RCVTIMEO ? opt->is_rcv_at_once : opt->is_snd_at_once)
		return 0;
	return ms > 0 && ms <= INT_MAX ? (int)ms : -1;
}

/* ---- names ---- */

/* Return: 0; -errno. */
static int name_ask(const struct sdp_sock *sock, int fd, bool is_peer,
		    union sdp_addr *ret_name)
{
	int ret = sdp_addr_get(fd, is_peer, ret_name);

	if (ret < 0)
		return ret;
	if (is_peer && !sock->is_accepting)
		sdp_addr_set_port(ret_name, sdp_addr_port(&sock->peer));
	else if (!is_peer && sock->is_accepting)
		sdp_addr_set_port(ret_name, sock->port);
	return 0;
}

/* Names are stored, because the connection may end before the socket does. */
static void names_take(struct sdp_sock *sock, int fd)
{
	union sdp_addr name;

	if (name_ask(sock, fd, true, &name) == 0)
		sock->peer = name;
	if (name_ask(sock, fd, false, &name) == 0)
		sock->local = name;
}

static struct linger linger_of(const struct sdp_sock_options *opt)
{
	return (struct linger){ .l_onoff = opt->linger_s >= 0,
				.l_linger = opt->linger_s >= 0 ? opt->linger_s
							       : 0 };
}

static void linger_take(struct sdp_sock *sock, int fd)
{
	struct linger linger = { 0 };
	socklen_t len = sizeof(linger);

	sock->options.linger_s = -1;
	if (kernel_get(fd, SOL_SOCKET, SO_LINGER, &linger, &len) < 0 ||
	    !linger.l_onoff)
		return;
	sock->options.linger_s = linger.l_linger;
	linger.l_onoff = 0;
	kernel_set(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

void sdp_options_take(struct sdp_sock *sock, int fd)
{
	struct sdp_sock_options *opt = &sock->options;

	names_take(sock, fd);
	if (opt->is_taken)
		return;
	opt->is_taken = true;
	opt->rcvtimeo_ns = opt->is_rcv_at_once ? AT_ONCE_NS
					       : kernel_time(fd, SO_RCVTIMEO);
	opt->sndtimeo_ns = opt->is_snd_at_once ? AT_ONCE_NS
					       : kernel_time(fd, SO_SNDTIMEO);
	opt->has_nodelay = util_sockopt_get(fd, IPPROTO_TCP, TCP_NODELAY);
	opt->has_oobinline = util_sockopt_get(fd, SOL_SOCKET, SO_OOBINLINE);
	/* A link that can move sets the option on its new TCP connection. */
	opt->has_reuseaddr = util_sockopt_get(fd, SOL_SOCKET, SO_REUSEADDR);
	opt->rcvlowat = util_sockopt_get(fd, SOL_SOCKET, SO_RCVLOWAT);
	if (opt->rcvlowat != 1)
		util_sockopt_set(fd, SOL_SOCKET, SO_RCVLOWAT, 1);
	opt->has_cork = util_sockopt_get(fd, IPPROTO_TCP, TCP_CORK);
	if (opt->has_cork)
		util_sockopt_set(fd, IPPROTO_TCP, TCP_CORK, 0);
	opt->has_inq = util_sockopt_get(fd, IPPROTO_TCP, TCP_INQ);
	linger_take(sock, fd);
}

void sdp_options_copy(int from_fd, int to_fd)
{
	static const struct {
		int level, name;
	} ints[] = {
		{ SOL_SOCKET, SO_KEEPALIVE },
		{ SOL_SOCKET, SO_OOBINLINE },
		{ SOL_SOCKET, SO_RCVLOWAT },
		{ SOL_SOCKET, SO_PRIORITY },
		{ IPPROTO_TCP, TCP_NODELAY },
		{ IPPROTO_TCP, TCP_KEEPIDLE },
		{ IPPROTO_TCP, TCP_KEEPINTVL },
		{ IPPROTO_TCP, TCP_KEEPCNT },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT },
		{ IPPROTO_TCP, TCP_DEFER_ACCEPT },
	};
	static const int blobs[] = { SO_LINGER, SO_RCVTIMEO, SO_SNDTIMEO };
	char blob[64];
	socklen_t len;
	int value;

	for (size_t i = 0; i < sizeof(ints) / sizeof(ints[0]); i++) {
		value = util_sockopt_get(from_fd, ints[i].level, ints[i].name);
		if (value !=
		    util_sockopt_get(to_fd, ints[i].level, ints[i].name))
			util_sockopt_set(to_fd, ints[i].level, ints[i].name,
					 value);
	}
	for (size_t i = 0; i < sizeof(blobs) / sizeof(blobs[0]); i++) {
		len = sizeof(blob);
		if (kernel_get(from_fd, SOL_SOCKET, blobs[i], blob, &len) == 0)
			kernel_set(to_fd, SOL_SOCKET, blobs[i], blob, len);
	}
	/* The kernel doubles the value that is set. */
	value = util_sockopt_get(from_fd, SOL_SOCKET, SO_RCVBUF);
	if (value != util_sockopt_get(to_fd, SOL_SOCKET, SO_RCVBUF))
		util_sockopt_set(to_fd, SOL_SOCKET, SO_RCVBUF, value / 2);
}

static void times_put(int fd, const struct sdp_sock_options *opt)
{
	struct timeval in = time_of(opt->rcvtimeo_ns);
	struct timeval out = time_of(opt->sndtimeo_ns);

	if (opt->rcvtimeo_ns == AT_ONCE_NS)
		in.tv_sec = -1;
	if (opt->sndtimeo_ns == AT_ONCE_NS)
		out.tv_sec = -1;

	kernel_set(fd, SOL_SOCKET, SO_RCVTIMEO, &in, sizeof(in));
	kernel_set(fd, SOL_SOCKET, SO_SNDTIMEO, &out, sizeof(out));
}

void sdp_options_renew(const struct sdp_sock *sock, int fd)
{
	const struct sdp_sock_options *opt = &sock->options;
	struct linger linger = linger_of(opt);

	sdp_options_copy(sock->tcp_fd, fd);
	if (!opt->is_taken)
		return;
	times_put(fd, opt);
	kernel_set(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	util_sockopt_set(fd, SOL_SOCKET, SO_RCVLOWAT, opt->rcvlowat);
	util_sockopt_set(fd, SOL_SOCKET, SO_OOBINLINE, opt->has_oobinline);
	util_sockopt_set(fd, SOL_SOCKET, SO_REUSEADDR, opt->has_reuseaddr);
	util_sockopt_set(fd, IPPROTO_TCP, TCP_NODELAY, opt->has_nodelay);
	util_sockopt_set(fd, IPPROTO_TCP, TCP_CORK, opt->has_cork);
	util_sockopt_set(fd, IPPROTO_TCP, TCP_INQ, opt->has_inq);
}

/* ---- setsockopt ---- */

static int time_set(uint64_t *ns, const void *value, socklen_t len)
{
	struct timeval tv;

	if (len < sizeof(tv))
		return -EINVAL;
	if (util_user_get(&tv, value, sizeof(tv)) < 0)
		return -EFAULT;
	if (tv.tv_usec < 0 || tv.tv_usec >= 1000000)
		return -EDOM;
	*ns = tv.tv_sec < 0 ? AT_ONCE_NS : ns_of(&tv);
	return 0;
}

void sdp_option_note(struct sdp_sock *sock, int level, int name,
		     const void *value, socklen_t len)
{
	struct sdp_sock_options *opt = &sock->options;
	uint64_t ns;

	if (level != SOL_SOCKET ||
	    (name != SO_RCVTIMEO && name != SO_SNDTIMEO) ||
	    time_set(&ns, value, len) < 0)
		return;
	if (name == SO_RCVTIMEO)
		opt->is_rcv_at_once = ns == AT_ONCE_NS;
	else
		opt->is_snd_at_once = ns == AT_ONCE_NS;
}

void sdp_options_relay(struct sdp_sock *sock)
{
	times_put(sdp_sock_any_fd(sock), &sock->options);
}

static int linger_set(struct sdp_sock *sock, const void *value, socklen_t len)
{
	struct linger linger;

	if (len < sizeof(linger))
		return -EINVAL;
	if (util_user_get(&linger, value, sizeof(linger)) < 0)
		return -EFAULT;
	sock->options.linger_s = linger.l_onoff ? linger.l_linger : -1;
	return 0;
}

static void link_set(struct sdp_sock *sock, enum sdp_link_setting setting,
		     uint32_t value)
{
	struct sdp_link *link = sdp_sock_link(sock);

	if (link)
		(void)sdp_link_set(link, setting, value);
}

/* Sets options that are numbers. Return: whether it is one, and valid. */
static bool number_set(struct sdp_sock *sock, int level, int name,
		       const void *value, socklen_t len)
{
	struct sdp_sock_options *opt = &sock->options;
	int number;

	if (len < sizeof(number) ||
	    util_user_get(&number, value, sizeof(number)) < 0)
		return false;
	if (level == SOL_SOCKET && name == SO_RCVLOWAT) {
		opt->rcvlowat = number > 0   ? number
				: number < 0 ? INT32_MAX
					     : 1;
		link_set(sock, SDP_LINK_RCVLOWAT, (uint32_t)opt->rcvlowat);
	} else if (level == SOL_SOCKET && name == SO_OOBINLINE) {
		opt->has_oobinline = number != 0;
		link_set(sock, SDP_LINK_OOBINLINE, number != 0);
	} else if (level == SOL_SOCKET && name == SO_REUSEADDR) {
		opt->has_reuseaddr = number != 0;
	} else if (level == IPPROTO_TCP && name == TCP_NODELAY) {
		opt->has_nodelay = number != 0;
		link_set(sock, SDP_LINK_NODELAY, number != 0);
	} else if (level == IPPROTO_TCP && name == TCP_CORK) {
		opt->has_cork = number != 0;
		link_set(sock, SDP_LINK_CORK, number != 0);
	} else if (level == IPPROTO_TCP && name == TCP_INQ &&
		   number == !!number) {
		opt->has_inq = number;
	} else {
		return false;
	}
	return true;
}

/*
 * The socket below.  RELAY: another process has the connection, and a new
 * socket of the kind tells what the option is: its value, its length, or an
 * error. Return: -errno: no descriptor is left.
 */
static int below_open(const struct sdp_sock *sock)
{
	int fd;

	if (sock->tcp_fd >= 0)
		return sock->tcp_fd;
	fd = (int)syscall(SYS_socket, sock->local.sa.sa_family,
			  SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

static void below_close(const struct sdp_sock *sock, int fd)
{
	if (fd >= 0 && fd != sock->tcp_fd)
		syscall(SYS_close, fd);
}

static int below_set(const struct sdp_sock *sock, int level, int name,
		     const void *value, socklen_t len)
{
	int fd = below_open(sock);
	int ret = fd < 0 ? fd : kernel_set(fd, level, name, value, len);

	below_close(sock, fd);
	return ret;
}

int sdp_option_set(struct sdp_sock *sock, int level, int name,
		   const void *value, socklen_t len)
{
	int ret;

	/* The socket may become TCP again. */
	if (sdp_sock_is_asking(sock))
		return kernel_set(sock->tcp_fd, level, name, value, len);
	if (number_set(sock, level, name, value, len))
		return 0;
	if (level == SOL_SOCKET &&
	    (name == SO_RCVTIMEO || name == SO_SNDTIMEO)) {
		ret = time_set(name == SO_RCVTIMEO ? &sock->options.rcvtimeo_ns
						   : &sock->options.sndtimeo_ns,
			       value, len);
		if (ret == 0 && sock->relay.is_on)
			sdp_options_relay(sock);
		return ret;
	}
	if (level == SOL_SOCKET && name == SO_LINGER)
		return linger_set(sock, value, len);
	/* The kernel's, or it tells what is wrong. */
	return below_set(sock, level, name, value, len);
}

/* ---- getsockopt ---- */

static int value_put(const void *from, size_t size, void *value, socklen_t *len)
{
	socklen_t space;

	if (util_user_get(&space, len, sizeof(space)) < 0)
		return -EFAULT;
	if (space > INT32_MAX)
		return -EINVAL;
	if (space > size)
		space = (socklen_t)size;
	if (util_user_put(value, from, space) < 0)
		return -EFAULT;
	return util_user_put(len, &space, sizeof(space));
}

static int int_put(int number, void *value, socklen_t *len)
{
	return value_put(&number, sizeof(number), value, len);
}

static int time_put(uint64_t ns, void *value, socklen_t *len)
{
	struct timeval tv = time_of(ns);

	return value_put(&tv, sizeof(tv), value, len);
}

static int linger_put(const struct sdp_sock *sock, void *value, socklen_t *len)
{
	struct linger linger = linger_of(&sock->options);

	return value_put(&linger, sizeof(linger), value, len);
}

static int below_get(const struct sdp_sock *sock, int level, int name,
		     void *value, socklen_t *len)
{
	int fd = below_open(sock);
	int ret = fd < 0 ? fd : kernel_get(fd, level, name, value, len);

	below_close(sock, fd);
	return ret;
}

static int socket_get(struct sdp_sock *sock, int name, void *value,
		      socklen_t *len)
{
	const struct sdp_sock_options *opt = &sock->options;

	switch (name) {
	case SO_ERROR:
		return int_put(-sdp_sock_answer(sock, SDP_CALL_SO_ERROR), value,
			       len);
	case SO_RCVTIMEO:
		return time_put(opt->rcvtimeo_ns, value, len);
	case SO_SNDTIMEO:
		return time_put(opt->sndtimeo_ns, value, len);
	case SO_LINGER:
		return linger_put(sock, value, len);
	case SO_RCVLOWAT:
		return int_put(opt->rcvlowat, value, len);
	case SO_OOBINLINE:
		return int_put(opt->has_oobinline, value, len);
	case SO_REUSEADDR:
		return int_put(opt->has_reuseaddr, value, len);
	default:
		return below_get(sock, SOL_SOCKET, name, value, len);
	}
}

/* The TCP connection below is established until SDP has ended it in both
 * directions. */
static uint8_t tcp_state(const struct sdp_sock *sock)
{
	const struct sdp_link *link = sdp_sock_link(sock);
	bool has_peer_ended = !sdp_sock_is_rd_shut(sock) && link &&
			      (sdp_link_state(link) & SDP_LINK_RDHUP);

	if (sdp_sock_is_over(sock))
		return TCP_CLOSE;
	if (has_peer_ended)
		return TCP_CLOSE_WAIT;
	return sdp_sock_is_wr_shut(sock) ? TCP_FIN_WAIT2 : TCP_ESTABLISHED;
}

static int info_get(const struct sdp_sock *sock, void *value, socklen_t *len)
{
	struct {
		struct tcp_info info;
		char newer[256]; /* fields that this header does not have */
	} all = { .info.tcpi_state = 0 };
	socklen_t size = sizeof(all);
	int ret = kernel_get(sock->tcp_fd, IPPROTO_TCP, TCP_INFO, &all, &size);

	if (ret < 0)
		return ret;
	all.info.tcpi_state = tcp_state(sock);
	return value_put(&all, size, value, len);
}

/* The program has not set what the library put there. */
static bool is_mark(int fd, int level, int name)
{
	struct sdp_mark mark;

	return level == IPPROTO_TCP && name == TCP_NOTSENT_LOWAT && fd >= 0 &&
	       sdp_mark_get(fd, &mark);
}

void sdp_option_hide(int fd, int level, int name, void *value,
		     const socklen_t *len)
{
	if (sdp_fd_kind(fd) == SDP_FD_SOCK && is_mark(fd, level, name))
		memset(value, 0, *len);
}

int sdp_option_get(struct sdp_sock *sock, int level, int name, void *value,
		   socklen_t *len)
{
	if (is_mark(sock->tcp_fd, level, name))
		return int_put(0, value, len);
	if (sdp_sock_is_asking(sock) &&
	    (level != SOL_SOCKET || name != SO_ERROR))
		return kernel_get(sock->tcp_fd, level, name, value, len);
	if (level == SOL_SOCKET)
		return socket_get(sock, name, value, len);
	if (level == IPPROTO_TCP && name == TCP_NODELAY)
		return int_put(sock->options.has_nodelay, value, len);
	if (level == IPPROTO_TCP && name == TCP_CORK)
		return int_put(sock->options.has_cork, value, len);
	if (level == IPPROTO_TCP && name == TCP_INQ)
		return int_put(sock->options.has_inq, value, len);
	if (level == IPPROTO_TCP && name == TCP_INFO && sock->tcp_fd >= 0)
		return info_get(sock, value, len);
	return below_get(sock, level, name, value, len);
}

int sdp_name_put(const union sdp_addr *name, struct sockaddr *addr,
		 socklen_t *len)
{
	socklen_t name_len, space;

	if (util_user_get(&space, len, sizeof(space)) < 0)
		return -EFAULT;
	if (space > INT32_MAX)
		return -EINVAL;
	name_len = sdp_addr_len(name);
	if (util_user_put(addr, name, space < name_len ? space : name_len) < 0)
		return -EFAULT;
	return util_user_put(len, &name_len, sizeof(name_len));
}

int sdp_name_get(struct sdp_sock *sock, int fd, bool is_peer,
		 struct sockaddr *addr, socklen_t *len)
{
	union sdp_addr name;
	int ret = 0;

	if (is_peer)
		ret = sdp_answer_of(SDP_CALL_PEER_NAME,
				    sdp_sock_is_asking(sock)
					    ? SDP_HOLDS_NEW
					    : sdp_sock_holds(sock));
	if (ret < 0)
		return ret;
	if (sdp_sock_is_asking(sock))
		ret = name_ask(sock, sock->tcp_fd, false, &name);
	else if (sdp_sock_is_stream(sock) || sock->relay.is_on)
		name = is_peer ? sock->peer : sock->local;
	else
		ret = name_ask(sock, fd, is_peer, &name);
	return ret < 0 ? ret : sdp_name_put(&name, addr, len);
}

/* Those of sockets and interfaces, which a shadow does not know.  Who gets
 * SIGIO and SIGURG is a matter of the program's descriptor. */
static bool ioctl_is_below(unsigned long request)
{
	switch (request) {
	case FIOSETOWN:
	case FIOGETOWN:
	case SIOCSPGRP:
	case SIOCGPGRP:
	case SIOCATMARK:
		return false;
	default:
		return (request & ~0xfful) == (SIOCADDRT & ~0xfful);
	}
}

static int below_ioctl(const struct sdp_sock *sock, unsigned long request,
		       void *arg)
{
	int fd, ret;

	if (!ioctl_is_below(request))
		return -ENOTTY;
	ret = fd = below_open(sock);
	if (fd >= 0)
		ret = syscall(SYS_ioctl, fd, request, arg) < 0 ? -errno : 0;
	below_close(sock, fd);
	return ret;
}

/* Octets that have not left: those that the relay has not taken, but for what
 * stays in the pair, and those of the link. */
static int relay_outq(struct sdp_sock *sock, struct sdp_link *link)
{
	int len = 0;

	util_lock(&sock->shadow.lock);
	syscall(SYS_ioctl, sock->shadow.lib_fd, FIONREAD, &len);
	util_unlock(&sock->shadow.lock);
	return (len > 0 ? len - SDP_RELAY_STAY : 0) + (int)sdp_link_outq(link);
}

int sdp_option_ioctl(struct sdp_sock *sock, unsigned long request, void *arg)
{
	struct sdp_link *link = sdp_sock_link(sock);
	int value;

	if (sock->relay.is_on && link && request == SIOCOUTQ) {
		value = relay_outq(sock, link);
		return util_user_put(arg, &value, sizeof(value));
	}
	if (sock->relay.is_on)
		return below_ioctl(sock, request, arg);
	if (link)
		sdp_progress();
	switch (request) {
	case FIONREAD:
		value = link ? (int)sdp_link_inq(link)
			     : (int)sdp_sock_entering_len(sock);
		break;
	case SIOCOUTQ:
	case SIOCOUTQNSD:
		value = link ? (int)sdp_link_outq(link)
			     : (int)sdp_sock_early_len(sock);
		break;
	case SIOCATMARK:
		value = link ? sdp_link_at_mark(link) : 0;
		break;
	default:
		return below_ioctl(sock, request, arg);
	}
	return util_user_put(arg, &value, sizeof(value));
}

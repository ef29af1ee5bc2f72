/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Options and names of a socket over SDP: those that the library stores, and
 * those of the TCP socket below. */
#include "loopback.h"
#include "test.h"

#include <errno.h>
#include <limits.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "fake-sock.h"
#include "sock/base/option.h"
#include "sock/show/ready.h"
#include "verbs/sdp-link.h"

/* ---- a link that records its calls ---- */

static int link_fault, set_cnt;
static uint32_t settings[SDP_LINK_RCV_SIZE + 1];

int sdp_link_set(struct sdp_link *link, enum sdp_link_setting setting,
		 uint32_t value)
{
	(void)link;
	set_cnt++;
	settings[setting] = value;
	return 0;
}

int sdp_link_error(struct sdp_link *link)
{
	int fault = link_fault;

	(void)link;
	link_fault = 0;
	fake.sdp_link_state.ret &= ~SDP_LINK_ERR;
	return fault;
}

size_t sdp_link_inq(struct sdp_link *link)
{
	(void)link;
	return 11;
}

size_t sdp_link_outq(struct sdp_link *link)
{
	(void)link;
	return 22;
}

bool sdp_link_at_mark(struct sdp_link *link)
{
	(void)link;
	return true;
}

#define NOW 1000u

uint64_t sdp_now_ns(void)
{
	return NOW;
}

#define LINK FAKE_LINK

/* ---- fixture ---- */

static struct sdp_sock sock;
static int client, server;
static char *bad;

static int start(void **state)
{
	bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return bad == MAP_FAILED ? -1 : sdp_table_start();
}

/* The connecting side of a stream. */
static int begin(void **state)
{
	int pair[2];

	test_tcp_pair(pair);
	client = pair[0];
	server = pair[1];
	sock = (struct sdp_sock){ .tcp_fd = client,
				  .link = LINK,
				  .options = { .linger_s = -1, .rcvlowat = 1 },
				  .state = SDP_SOCK_STREAM };
	fake.sdp_link_state.ret = 0;
	link_fault = set_cnt = 0;
	memset(settings, 0xff, sizeof(settings));
	return 0;
}

static int end(void **state)
{
	close(client);
	close(server);
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, begin, end)

static int int_get(int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(sdp_option_get(&sock, level, name, &value, &len), 0);
	assert_int_equal(len, sizeof(value));
	return value;
}

static int int_set(int level, int name, int value)
{
	return sdp_option_set(&sock, level, name, &value, sizeof(value));
}

static int kernel_int(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

/* ---- numbers ---- */

FILE_CASE(numbers_are_kept)
{
	static const struct {
		const char *name;
		int level, option, value, want;
		enum sdp_link_setting setting;
	} rows[] = {
		{ "nodelay", IPPROTO_TCP, TCP_NODELAY, 5, 1, SDP_LINK_NODELAY },
		{ "no nodelay", IPPROTO_TCP, TCP_NODELAY, 0, 0,
		  SDP_LINK_NODELAY },
		{ "cork", IPPROTO_TCP, TCP_CORK, 1, 1, SDP_LINK_CORK },
		{ "no cork", IPPROTO_TCP, TCP_CORK, 0, 0, SDP_LINK_CORK },
		{ "inline", SOL_SOCKET, SO_OOBINLINE, 7, 1,
		  SDP_LINK_OOBINLINE },
		{ "lowat", SOL_SOCKET, SO_RCVLOWAT, 100, 100,
		  SDP_LINK_RCVLOWAT },
		{ "no lowat", SOL_SOCKET, SO_RCVLOWAT, 0, 1,
		  SDP_LINK_RCVLOWAT },
		{ "a negative lowat", SOL_SOCKET, SO_RCVLOWAT, -1, INT32_MAX,
		  SDP_LINK_RCVLOWAT },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int below = kernel_int(client, rows[i].level, rows[i].option);

		set_cnt = 0;
		assert_row(rows[i].name, int_set(rows[i].level, rows[i].option,
						 rows[i].value) == 0);
		assert_row(rows[i].name,
			   int_get(rows[i].level, rows[i].option) ==
				   rows[i].want);
		assert_row(rows[i].name, set_cnt == 1);
		assert_row(rows[i].name,
			   settings[rows[i].setting] == (uint32_t)rows[i].want);
		/* Options that would disturb the RNIC are not set on its
		 * socket. */
		assert_row(rows[i].name, kernel_int(client, rows[i].level,
						    rows[i].option) == below);
	}
}

FILE_CASE(others_are_the_tcp_sockets)
{
	assert_int_equal(int_set(SOL_SOCKET, SO_KEEPALIVE, 1), 0);
	assert_int_equal(kernel_int(client, SOL_SOCKET, SO_KEEPALIVE), 1);
	assert_int_equal(int_get(SOL_SOCKET, SO_KEEPALIVE), 1);
	assert_int_equal(int_get(SOL_SOCKET, SO_TYPE), SOCK_STREAM);
	assert_int_equal(int_set(IPPROTO_TCP, 9999, 1), -ENOPROTOOPT);
	/* A socket that other processes have too has no TCP socket below. */
	sock.tcp_fd = -1;
	sock.local.sa.sa_family = AF_INET6;
	assert_int_equal(int_set(SOL_SOCKET, SO_KEEPALIVE, 1), 0);
	assert_int_equal(int_get(SOL_SOCKET, SO_TYPE), SOCK_STREAM);
	assert_int_equal(int_get(SOL_SOCKET, SO_DOMAIN), AF_INET6);
	assert_int_equal(int_get(SOL_SOCKET, SO_PROTOCOL), IPPROTO_TCP);
	assert_int_equal(int_get(SOL_SOCKET, SO_KEEPALIVE), 0);
}

/* sshd refuses a connection whose IP options have a length. */
FILE_CASE(a_relay_has_the_kernels_options)
{
	socklen_t len = 44;
	char value[44];

	sock.tcp_fd = -1;
	sock.local.sa.sa_family = AF_INET;
	assert_int_equal(
		sdp_option_get(&sock, IPPROTO_IP, IP_OPTIONS, value, &len), 0);
	assert_int_equal(len, 0);
	len = sizeof(value);
	assert_int_equal(
		sdp_option_get(&sock, IPPROTO_TCP, TCP_CONGESTION, value, &len),
		0);
	assert_true(value[0] && len > sizeof(int));
	assert_true(int_get(IPPROTO_IP, IP_TTL) > 0);
	len = sizeof(value);
	assert_int_equal(sdp_option_get(&sock, IPPROTO_TCP, 9999, value, &len),
			 -ENOPROTOOPT);
	assert_int_equal(int_set(IPPROTO_TCP, 9999, 1), -ENOPROTOOPT);
	assert_int_equal(int_set(IPPROTO_IP, IP_TOS, IPTOS_LOWDELAY), 0);
}

FILE_CASE(bad_memory_and_lengths_are_refused)
{
	static const struct {
		int level, name;
		socklen_t len; /* minimum length */
	} rows[] = {
		{ IPPROTO_TCP, TCP_NODELAY, sizeof(int) },
		{ IPPROTO_TCP, TCP_CORK, sizeof(int) },
		{ SOL_SOCKET, SO_OOBINLINE, sizeof(int) },
		{ SOL_SOCKET, SO_RCVLOWAT, sizeof(int) },
		{ SOL_SOCKET, SO_RCVTIMEO, sizeof(struct timeval) },
		{ SOL_SOCKET, SO_SNDTIMEO, sizeof(struct timeval) },
		{ SOL_SOCKET, SO_LINGER, sizeof(struct linger) },
	};
	struct sdp_sock_options before = sock.options;
	char value[64] = { 1 };
	socklen_t len;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(sdp_option_set(&sock, rows[i].level,
						rows[i].name, value,
						rows[i].len - 1),
				 -EINVAL);
		assert_int_equal(sdp_option_set(&sock, rows[i].level,
						rows[i].name, bad, rows[i].len),
				 -EFAULT);
		len = rows[i].len;
		assert_int_equal(sdp_option_get(&sock, rows[i].level,
						rows[i].name, bad, &len),
				 -EFAULT);
		assert_int_equal(sdp_option_get(&sock, rows[i].level,
						rows[i].name, value,
						(socklen_t *)(void *)bad),
				 -EFAULT);
		len = (socklen_t)-1;
		assert_int_equal(sdp_option_get(&sock, rows[i].level,
						rows[i].name, value, &len),
				 -EINVAL);
	}
	assert_memory_equal(&sock.options, &before, sizeof(before));
	assert_int_equal(set_cnt, 0);
}

FILE_CASE(an_answer_is_cut_to_its_space)
{
	unsigned char value[8] = { 9, 9, 9, 9, 9, 9, 9, 9 };
	socklen_t len = 2;

	sock.options.rcvlowat = 0x01020304;
	assert_int_equal(
		sdp_option_get(&sock, SOL_SOCKET, SO_RCVLOWAT, value, &len), 0);
	assert_int_equal(len, 2);
	assert_memory_equal(value, &sock.options.rcvlowat, 2);
	assert_int_equal(value[2], 9);
	len = 8;
	assert_int_equal(
		sdp_option_get(&sock, SOL_SOCKET, SO_RCVLOWAT, value, &len), 0);
	assert_int_equal(len, 4);
	assert_int_equal(value[4], 9);
}

/* ---- times, linger ---- */

FILE_CASE(times_are_kept)
{
	static const struct {
		const char *name;
		struct timeval tv;
		int want;
		uint64_t ns;
	} rows[] = {
		{ "none", { 0, 0 }, 0, 0 },
		{ "a microsecond", { 0, 1 }, 0, 1000 },
		{ "both parts", { 2, 500000 }, 0, 2500000000u },
		{ "at once", { -1, 0 }, 0, 1 },
		{ "too many microseconds", { 0, 1000000 }, -EDOM, 77 },
		{ "negative microseconds", { 0, -1 }, -EDOM, 77 },
	};
	struct timeval tv;
	socklen_t len;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		sock.options.rcvtimeo_ns = sock.options.sndtimeo_ns = 77;
		assert_row(rows[i].name,
			   sdp_option_set(&sock, SOL_SOCKET, SO_RCVTIMEO,
					  &rows[i].tv,
					  sizeof(rows[i].tv)) == rows[i].want);
		assert_row(rows[i].name,
			   sock.options.rcvtimeo_ns == rows[i].ns);
		assert_row(rows[i].name, sock.options.sndtimeo_ns == 77);
		assert_row(rows[i].name,
			   sdp_option_set(&sock, SOL_SOCKET, SO_SNDTIMEO,
					  &rows[i].tv,
					  sizeof(rows[i].tv)) == rows[i].want);
		assert_row(rows[i].name,
			   sock.options.sndtimeo_ns == rows[i].ns);
		len = sizeof(tv);
		assert_int_equal(sdp_option_get(&sock, SOL_SOCKET, SO_RCVTIMEO,
						&tv, &len),
				 0);
		if (rows[i].want == 0 && rows[i].tv.tv_sec >= 0)
			assert_row(rows[i].name,
				   tv.tv_sec == rows[i].tv.tv_sec &&
					   tv.tv_usec == rows[i].tv.tv_usec);
	}
}

/* The longest time that a program can set: the kernel treats it as no limit. */
FILE_CASE(a_time_without_end_is_no_limit)
{
	static const int names[] = { SO_RCVTIMEO, SO_SNDTIMEO };
	struct timeval tv, kernels;
	socklen_t len = sizeof(tv);

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		tv = (struct timeval){ .tv_sec = LONG_MAX, .tv_usec = 999999 };
		assert_int_equal(setsockopt(client, SOL_SOCKET, names[i], &tv,
					    sizeof(tv)),
				 0);
		assert_int_equal(getsockopt(client, SOL_SOCKET, names[i],
					    &kernels, &len),
				 0);
		assert_int_equal(sdp_option_set(&sock, SOL_SOCKET, names[i],
						&tv, sizeof(tv)),
				 0);
		assert_int_equal(
			sdp_option_get(&sock, SOL_SOCKET, names[i], &tv, &len),
			0);
		assert_memory_equal(&tv, &kernels, sizeof(tv));
	}
	assert_int_equal(sock.options.rcvtimeo_ns, 0);
	assert_int_equal(sock.options.sndtimeo_ns, 0);
}

FILE_CASE(the_kernels_times_are_read)
{
	static const struct {
		const char *name;
		struct timeval tv;
		uint64_t ns;
		int ms;
	} rows[] = {
		{ "none", { 0, 0 }, 0, -1 },
		{ "both parts", { 2, 500000 }, 2500000000u, 2500 },
		{ "days", { 86400, 0 }, 86400000000000u, 86400000 },
		{ "more than poll() takes",
		  { 10000000, 0 },
		  10000000000000000u,
		  -1 },
		{ "for ever", { LONG_MAX, 0 }, 0, -1 },
	};

	/* Not taken over yet: it may become TCP again. */
	util_lock_init(&sock.lock, UTIL_RANK_SDP_SOCK);
	sdp_sock_asking_put(&sock, true);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &rows[i].tv,
			   sizeof(rows[i].tv));
		assert_row(rows[i].name,
			   sdp_option_deadline(&sock, SO_SNDTIMEO) ==
				   (rows[i].ns ? NOW + rows[i].ns : SDP_NEVER));
		assert_row(rows[i].name,
			   sdp_option_time_ms(&sock, client, SO_SNDTIMEO) ==
				   rows[i].ms);
		assert_true(sdp_option_deadline(&sock, SO_RCVTIMEO) ==
			    SDP_NEVER);
	}
	assert_int_equal(sdp_option_time_ms(&sock, -1, SO_SNDTIMEO), -1);
}

FILE_CASE(calls_end_in_time)
{
	assert_true(sdp_option_deadline(&sock, SO_RCVTIMEO) == SDP_NEVER);
	sock.options.rcvtimeo_ns = 7;
	assert_int_equal(sdp_option_deadline(&sock, SO_RCVTIMEO), NOW + 7);
	assert_true(sdp_option_deadline(&sock, SO_SNDTIMEO) == SDP_NEVER);
}

FILE_CASE(lingering_is_kept)
{
	static const struct linger rows[] = {
		{ 1, 5 }, { 1, 0 }, { 0, 0 }, { 0, 5 }, { 7, 3 },
	};
	struct linger linger;
	socklen_t len;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int want = rows[i].l_onoff ? rows[i].l_linger : -1;

		assert_int_equal(sdp_option_set(&sock, SOL_SOCKET, SO_LINGER,
						&rows[i], sizeof(rows[i])),
				 0);
		assert_int_equal(sock.options.linger_s, want);
		len = sizeof(linger);
		assert_int_equal(sdp_option_get(&sock, SOL_SOCKET, SO_LINGER,
						&linger, &len),
				 0);
		assert_int_equal(linger.l_onoff, want >= 0);
		assert_int_equal(linger.l_linger, want >= 0 ? want : 0);
	}
}

/* ---- the start takes what was set ---- */

static void kernel_set(int level, int name, int value)
{
	assert_int_equal(setsockopt(client, level, name, &value, sizeof(value)),
			 0);
}

/* Options that the program sets before the start. */
static void set_before(void)
{
	struct timeval tv = { .tv_sec = 3 };
	struct linger linger = { 1, 4 };

	setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(client, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	kernel_set(SOL_SOCKET, SO_RCVLOWAT, 100);
	kernel_set(SOL_SOCKET, SO_OOBINLINE, 1);
	kernel_set(IPPROTO_TCP, TCP_NODELAY, 1);
	kernel_set(IPPROTO_TCP, TCP_CORK, 1);
}

static struct linger kernel_linger(int fd)
{
	struct linger linger;
	socklen_t len = sizeof(linger);

	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &len),
			 0);
	return linger;
}

FILE_CASE(the_start_takes_what_the_program_has_set)
{
	set_before();
	sdp_options_take(&sock, sock.tcp_fd);
	assert_int_equal(sock.options.rcvtimeo_ns, 3000000000u);
	assert_int_equal(sock.options.sndtimeo_ns, 0);
	assert_int_equal(sock.options.linger_s, 4);
	assert_int_equal(sock.options.rcvlowat, 100);
	assert_true(sock.options.has_oobinline);
	assert_true(sock.options.has_nodelay);
	assert_true(sock.options.has_cork);
	/* The RNIC's socket has no option that delays its data. */
	assert_int_equal(kernel_int(client, SOL_SOCKET, SO_RCVLOWAT), 1);
	assert_int_equal(kernel_int(client, IPPROTO_TCP, TCP_CORK), 0);
	assert_int_equal(kernel_linger(client).l_onoff, 0);
	/* So nothing is taken a second time. */
	sdp_options_take(&sock, sock.tcp_fd);
	assert_int_equal(sock.options.linger_s, 4);
	assert_int_equal(sock.options.rcvlowat, 100);
	assert_true(sock.options.has_cork);
}

/* The socket that replaces it after connect() with AF_UNSPEC, or after the fall
 * back to TCP. */
FILE_CASE(a_new_tcp_socket_has_what_the_program_has_set)
{
	static const struct timeval at_once = { .tv_sec = -1 };
	int to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int never = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	set_before();
	/* Not taken: the TCP socket below has them. */
	sdp_options_renew(&sock, never);
	assert_int_equal(kernel_linger(never).l_linger, 4);
	assert_int_equal(kernel_int(never, SOL_SOCKET, SO_RCVLOWAT), 100);
	sdp_options_take(&sock, sock.tcp_fd);
	/* And after the start. */
	assert_int_equal(int_set(IPPROTO_TCP, TCP_NODELAY, 0), 0);
	assert_int_equal(int_set(SOL_SOCKET, SO_REUSEADDR, 1), 0);
	assert_int_equal(sdp_option_set(&sock, SOL_SOCKET, SO_RCVTIMEO,
					&at_once, sizeof(at_once)),
			 0);
	sdp_options_renew(&sock, to);
	assert_int_equal(kernel_linger(to).l_onoff, 1);
	assert_int_equal(kernel_linger(to).l_linger, 4);
	assert_int_equal(kernel_int(to, SOL_SOCKET, SO_RCVLOWAT), 100);
	assert_int_equal(kernel_int(to, SOL_SOCKET, SO_OOBINLINE), 1);
	assert_int_equal(kernel_int(to, SOL_SOCKET, SO_REUSEADDR), 1);
	assert_int_equal(kernel_int(to, IPPROTO_TCP, TCP_NODELAY), 0);
	assert_int_equal(kernel_int(to, IPPROTO_TCP, TCP_CORK), 1);
	close(to);
	close(never);
}

FILE_CASE(a_copy_has_what_the_original_has)
{
	struct timeval tv = { .tv_sec = 3 }, copied = { 0 };
	int one = 1, size = 50000, to = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(copied);

	setsockopt(client, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(client, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	sdp_options_copy(client, to);
	assert_int_equal(kernel_int(to, SOL_SOCKET, SO_KEEPALIVE), 1);
	assert_int_equal(kernel_int(to, IPPROTO_TCP, TCP_NODELAY), 1);
	assert_int_equal(kernel_int(to, SOL_SOCKET, SO_RCVBUF),
			 kernel_int(client, SOL_SOCKET, SO_RCVBUF));
	assert_int_equal(getsockopt(to, SOL_SOCKET, SO_RCVTIMEO, &copied, &len),
			 0);
	assert_int_equal(copied.tv_sec, 3);
	close(to);
}

/* ---- errors, states ---- */

FILE_CASE(an_error_is_told_once)
{
	assert_int_equal(int_get(SOL_SOCKET, SO_ERROR), 0);
	sock.error = ETIMEDOUT;
	assert_int_equal(int_get(SOL_SOCKET, SO_ERROR), ETIMEDOUT);
	assert_int_equal(int_get(SOL_SOCKET, SO_ERROR), 0);
	link_fault = ECONNRESET;
	fake.sdp_link_state.ret = SDP_LINK_ERR;
	assert_int_equal(int_get(SOL_SOCKET, SO_ERROR), ECONNRESET);
	assert_int_equal(int_get(SOL_SOCKET, SO_ERROR), 0);
}

FILE_CASE(the_state_is_the_streams)
{
	static const struct {
		unsigned int bits;
		bool is_rd_shut, is_wr_shut;
		uint8_t want;
	} rows[] = {
		{ 0, false, false, TCP_ESTABLISHED },
		{ 0, false, true, TCP_FIN_WAIT2 },
		{ SDP_LINK_RDHUP, false, false, TCP_CLOSE_WAIT },
		{ SDP_LINK_RDHUP, true, false, TCP_ESTABLISHED },
		{ SDP_LINK_HUP, false, true, TCP_CLOSE },
		{ SDP_LINK_ERR, false, false, TCP_CLOSE },
	};
	struct tcp_info info;
	socklen_t len;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		fake.sdp_link_state.ret = rows[i].bits;
		sock.is_rd_shut = rows[i].is_rd_shut;
		sock.is_wr_shut = rows[i].is_wr_shut;
		len = sizeof(info);
		assert_int_equal(sdp_option_get(&sock, IPPROTO_TCP, TCP_INFO,
						&info, &len),
				 0);
		assert_int_equal(info.tcpi_state, rows[i].want);
	}
}

/* ---- names ---- */

static uint16_t port_of(int fd, bool is_peer)
{
	struct sockaddr_in addr;
	struct sockaddr *any = (struct sockaddr *)(void *)&addr;
	socklen_t len = sizeof(addr);

	assert_int_equal(is_peer ? getpeername(fd, any, &len)
				 : getsockname(fd, any, &len),
			 0);
	return ntohs(addr.sin_port);
}

static uint16_t port_told(bool is_peer)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	assert_int_equal(sdp_name_get(&sock, client, is_peer,
				      (struct sockaddr *)(void *)&addr, &len),
			 0);
	assert_int_equal(len, sizeof(addr));
	assert_int_equal(addr.sin_family, AF_INET);
	assert_int_equal(addr.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	return ntohs(addr.sin_port);
}

/* The program connected to the TCP port, and the socket to the SDP port. */
FILE_CASE(ports_are_those_of_the_programs_view)
{
	sock.peer.in = (struct sockaddr_in){ .sin_family = AF_INET,
					     .sin_port = htons(80) };
	sdp_options_take(&sock, client);
	assert_int_equal(port_told(true), 80);
	assert_int_equal(port_told(false), port_of(client, false));
	sock.is_accepting = true;
	sock.port = 81;
	sdp_options_take(&sock, client);
	assert_int_equal(port_told(false), 81);
	assert_int_equal(port_told(true), port_of(client, true));
}

FILE_CASE(a_name_is_told_as_the_kernel_tells_it)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct sockaddr *any = (struct sockaddr *)(void *)&addr;
	unsigned char little[4] = { 9, 9, 9, 9 };
	socklen_t len = 2;

	sdp_options_take(&sock, client);
	assert_int_equal(sdp_name_get(&sock, client, false,
				      (struct sockaddr *)(void *)little, &len),
			 0);
	assert_int_equal(len, sizeof(addr));
	assert_int_equal(little[2], 9);
	len = (socklen_t)-1;
	assert_int_equal(sdp_name_get(&sock, client, false, any, &len),
			 -EINVAL);
	len = sizeof(addr);
	assert_int_equal(sdp_name_get(&sock, client, false,
				      (struct sockaddr *)(void *)bad, &len),
			 -EFAULT);
	assert_int_equal(sdp_name_get(&sock, client, false, any,
				      (socklen_t *)(void *)bad),
			 -EFAULT);
	fake.sdp_link_state.ret = SDP_LINK_ERR;
	assert_int_equal(sdp_name_get(&sock, client, true, any, &len),
			 -ENOTCONN);
	assert_int_equal(sdp_name_get(&sock, client, false, any, &len), 0);
}

/* ---- ioctl ---- */

FILE_CASE(ioctls_tell_of_the_stream)
{
	static const struct {
		unsigned long request;
		int with_link, without;
	} rows[] = {
		{ FIONREAD, 11, 0 },
		{ SIOCOUTQ, 22, 33 },
		{ SIOCATMARK, 1, 0 },
	};

	sock.start.early_len = 33;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int value = -1;

		sock.link = LINK;
		assert_int_equal(
			sdp_option_ioctl(&sock, rows[i].request, &value), 0);
		assert_int_equal(value, rows[i].with_link);
		assert_int_equal(sdp_option_ioctl(&sock, rows[i].request, bad),
				 -EFAULT);
		sock.link = NULL;
		assert_int_equal(
			sdp_option_ioctl(&sock, rows[i].request, &value), 0);
		assert_int_equal(value, rows[i].without);
		sock.relay.is_on = true;
		assert_int_equal(
			sdp_option_ioctl(&sock, rows[i].request, &value),
			-ENOTTY);
		sock.relay.is_on = false;
	}
	assert_int_equal(sdp_option_ioctl(&sock, FIONBIO, bad), -ENOTTY);
}

/* A shadow answers them as what it is. */
FILE_CASE(ioctls_of_interfaces_are_the_tcp_sockets)
{
	static const struct {
		unsigned long request;
		const char *name;
		int ret;
	} rows[] = {
		{ SIOCGIFADDR, "lo", 0 },   { SIOCGIFNETMASK, "lo", 0 },
		{ SIOCGIFINDEX, "lo", 0 },  { SIOCGIFADDR, "no-such", -ENODEV },
		{ SIOCGPGRP, "", -ENOTTY }, { FIOSETOWN, "", -ENOTTY },
	};

	sock.local.sa.sa_family = AF_INET;
	for (size_t i = 0; i < 3 * ARRAY_LEN(rows); i++) {
		struct ifreq ifr = { 0 };
		size_t row = i / 3;

		/* Below; in no process; a relay. */
		sock.tcp_fd = i % 3 ? -1 : client;
		sock.relay.is_on = i % 3 == 2;
		strcpy(ifr.ifr_name, rows[row].name);
		assert_int_equal(
			sdp_option_ioctl(&sock, rows[row].request, &ifr),
			rows[row].ret);
	}
}

/* What is sent and what is acknowledged are not told apart. */
FILE_CASE(unsent_octets_are_those_in_the_queue)
{
	int value = -1;

	sock.link = LINK;
	assert_int_equal(sdp_option_ioctl(&sock, SIOCOUTQNSD, &value), 0);
	assert_int_equal(value, 22);
}

ALL_CASES_WITH(start, NULL);

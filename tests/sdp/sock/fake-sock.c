/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See fake-sock.h. A definition of the test or of the library goes before each
 * of these. */
#include <time.h>

#include "fake-sock.h"

#include "pm/pm-client.h"
#include "pm/registry.h"
#include "sock/base/count.h"
#include "sock/base/limit.h"
#include "sock/base/mark.h"
#include "sock/base/option.h"
#include "sock/base/policy.h"
#include "sock/base/signals.h"
#include "sock/enter/enter.h"
#include "sock/io/stream.h"
#include "sock/listen/acceptor.h"
#include "sock/listen/listen.h"
#include "sock/share/end.h"
#include "sock/share/relay.h"
#include "sock/share/share.h"
#include "sock/show/epoll.h"
#include "sock/show/ready.h"
#include "sock/start/connect.h"
#include "sock/start/owed.h"
#include "sock/start/start.h"
#include "stat/sdp-stat.h"
#include "stat/sdp-stat.h"
#include "verbs/sdp-link.h"

struct fake fake;

static bool is_sock(const struct sdp_sock *sock)
{
	return !fake.sock || sock == fake.sock;
}

/* Counts the call and returns what the test has set. FAKE_OF also looks at an
 * argument. */
#define FAKE(type, name, ...) FAKE_OF(type, name, true, __VA_ARGS__)
#define FAKE_OF(type, name, check, ...)                                        \
	__attribute__((weak)) type name(__VA_ARGS__)                           \
	{                                                                      \
		assert_true(check);                                            \
		fake.name.cnt++;                                               \
		return (type)fake.name.ret;                                    \
	}                                                                      \
	_Static_assert(true, "")

/* pm/pm-client.h */
FAKE(void, sdp_pm_reject, const struct sockaddr *peer,
     const struct sdp_pm_options *options);
FAKE(void, sdp_pm_fork_child, void);

/* pm/registry.h */
FAKE(void, sdp_registry_fork_child, void);

/* sock/base/count.h */
FAKE_OF(void, sdp_count_close, is_sock(sock), struct sdp_sock *sock);
FAKE_OF(void, sdp_count_open, fd >= 0, struct sdp_sock *sock, int fd);

/* sock/base/limit.h */
FAKE(bool, sdp_limit_begin, int fd);
FAKE(void, sdp_limit_end, bool is_raised);
FAKE(bool, sdp_limit_is_enough, int fd);

/* sock/base/mark.h */
FAKE_OF(void, sdp_mark_remove, fd >= 0, int fd);

/* sock/base/option.h */
FAKE(uint64_t, sdp_option_deadline, struct sdp_sock *sock, int name);
FAKE(int, sdp_option_time_ms, const struct sdp_sock *sock, int fd, int name);
FAKE(void, sdp_options_copy, int from_fd, int to_fd);
FAKE(void, sdp_options_take, struct sdp_sock *sock, int fd);
FAKE_OF(void, sdp_options_renew, fd >= 0, const struct sdp_sock *sock, int fd);

/* sock/base/policy.h */
FAKE(enum sdp_way, sdp_policy_way, void);

/* sock/base/signals.h */
FAKE_OF(bool, sdp_signals_go_on, fd >= 0, int fd, int flags);
FAKE(void, sdp_signals_pipe, void);
FAKE(bool, sdp_signals_restart, void);

/* sock/enter/enter.h */
FAKE(void, sdp_enter_never, struct sdp_sock *sock);
FAKE(void, sdp_enter_end, struct sdp_sock *sock);

/* sock/io/stream.h */
FAKE_OF(int, sdp_stream_wait_out, is_sock(sock), struct sdp_sock *sock);

/* sock/listen/acceptor.h */
FAKE_OF(void, sdp_acceptor_stop, acceptor == FAKE_ACCEPTOR,
	struct sdp_acceptor *acceptor);
FAKE_OF(void, sdp_acceptor_forget, acceptor == FAKE_ACCEPTOR,
	struct sdp_acceptor *acceptor);

/* sock/listen/listen.h */
FAKE_OF(void, sdp_listen_end, is_sock(sock), struct sdp_sock *sock);
FAKE(void, sdp_listen_fork, struct sdp_sock *sock);
FAKE(void, sdp_listen_fork_child, struct sdp_sock *sock);

/* sock/share/end.h */
FAKE(void, sdp_sock_close, struct util_file *file);
FAKE(void, sdp_sock_end, struct sdp_sock *sock);

/* sock/share/relay.h */
FAKE_OF(bool, sdp_relay_keeps, is_sock(sock), struct sdp_sock *sock);
FAKE(void, sdp_relay_fork_child, void);

/* sock/share/share.h */
FAKE(void, sdp_share_close, int fd);
FAKE(void, sdp_share_ask, struct sdp_sock *sock);

/* sock/show/epoll.h */
FAKE(void, sdp_watch_leave, struct sdp_sock *sock);
FAKE(void, sdp_watch_return, struct sdp_sock *sock);
FAKE(void, sdp_watch_give, struct sdp_sock *sock);

/* sock/show/ready.h */
FAKE_OF(void, sdp_sock_watch, fd >= 0, struct sdp_sock *sock, int fd);
FAKE(void, sdp_sock_show, struct sdp_sock *sock, int fd, short arrival);
FAKE(void, sdp_sock_tell, struct sdp_sock *sock, int fd, short news);
FAKE(void, sdp_sock_wake, struct sdp_sock *sock);
FAKE(void, sdp_sock_notify, void *arg, unsigned int state, unsigned int news);

/* sock/start/connect.h */
FAKE(bool, sdp_connect_is_sdp_only, const struct sdp_sock *sock);

/* sock/start/owed.h */
FAKE(void, sdp_owed_begin, struct sdp_sock *sock);
FAKE(int, sdp_owed_cnt, void);

/* sock/start/start.h */
FAKE_OF(bool, sdp_start_abandon, is_sock(sock), struct sdp_sock *sock);
FAKE_OF(int, sdp_start_undo, is_sock(sock), struct sdp_sock *sock);

/* verbs/sdp-link.h */
FAKE_OF(unsigned int, sdp_link_state, link == FAKE_LINK,
	const struct sdp_link *link);
FAKE(bool, sdp_progress, void);
FAKE(size_t, sdp_link_inq, struct sdp_link *link);
FAKE(int, sdp_point_enter, void);
FAKE(void, sdp_point_leave, void);
FAKE(bool, sdp_point_is_cancelled, void);
FAKE(int, sdp_listener_fd, const struct sdp_listener *listener);
FAKE(void, sdp_verbs_end, void);
FAKE_OF(void, sdp_link_relay, link == FAKE_LINK, struct sdp_link *link);
FAKE(int, sdp_link_error, struct sdp_link *link);
FAKE(void, sdp_link_tell_again, struct sdp_link *link, int error);
FAKE_OF(int, sdp_link_shutdown, link == FAKE_LINK, struct sdp_link *link);
FAKE_OF(void, sdp_link_shutdown_read, link == FAKE_LINK, struct sdp_link *link);
FAKE_OF(void, sdp_link_abort, link == FAKE_LINK, struct sdp_link *link);

/* stat/sdp-stat.h */
FAKE(int, sdp_stat_fd_take, void);

/* The time of the test, or the real one. */
__attribute__((weak)) uint64_t sdp_now_ns(void)
{
	struct timespec ts;

	if (fake.sdp_now_ns.ret)
		return (uint64_t)fake.sdp_now_ns.ret;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

__attribute__((weak)) void sdp_verbs_own_thread(void)
{
}

__attribute__((weak)) const char *sdp_reason_str(enum sdp_reason reason)
{
	(void)reason;
	return "a reason";
}

__attribute__((weak)) void sdp_stat_fell_back(struct sdp_stat_sock *stat,
					      enum sdp_stat_fallback reason)
{
	(void)stat;
	assert_int_equal(fake.fallback, FAKE_NO_FALLBACK);
	fake.fallback = (int)reason;
}

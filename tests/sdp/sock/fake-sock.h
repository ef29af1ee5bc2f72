/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Stand-ins for the functions of sdp/ that a file of sdp/sock calls and that
 * its test does not link. Each counts its calls and returns what the test has
 * set. A test that needs more of one of them defines that function.
 */
#ifndef FAKE_SOCK_H
#define FAKE_SOCK_H

#include "test.h"

#include <string.h>

#include "sock/base/table.h"

/* The only link and the only acceptor. */
#define FAKE_LINK ((struct sdp_link *)(void *)&fake.link)
#define FAKE_ACCEPTOR ((struct sdp_acceptor *)(void *)&fake.acceptor)
#define FAKE_NO_FALLBACK (-1)

struct fake_call {
	_Atomic int cnt;
	_Atomic long ret;
};

struct fake {
	char link, acceptor;
	const struct sdp_sock *sock; /* the only socket; NULL: any */
	_Atomic int fallback;	     /* the reason that was told */
	struct fake_call sdp_acceptor_forget, sdp_acceptor_stop,
		sdp_connect_is_sdp_only, sdp_count_close, sdp_count_open,
		sdp_enter_end, sdp_enter_never, sdp_limit_begin, sdp_limit_end,
		sdp_limit_is_enough, sdp_link_abort, sdp_link_error,
		sdp_link_inq, sdp_link_relay, sdp_link_shutdown,
		sdp_link_shutdown_read, sdp_link_state, sdp_link_tell_again,
		sdp_listen_end, sdp_listen_fork, sdp_listen_fork_child,
		sdp_listener_fd, sdp_mark_remove, sdp_now_ns,
		sdp_option_deadline, sdp_option_time_ms, sdp_options_copy,
		sdp_options_renew, sdp_options_take, sdp_owed_begin,
		sdp_owed_cnt, sdp_pm_fork_child, sdp_pm_reject, sdp_point_enter,
		sdp_point_is_cancelled, sdp_point_leave, sdp_policy_way,
		sdp_progress, sdp_registry_fork_child, sdp_relay_fork_child,
		sdp_relay_keeps, sdp_share_ask, sdp_share_close,
		sdp_signals_go_on, sdp_signals_pipe, sdp_signals_restart,
		sdp_sock_close, sdp_sock_end, sdp_sock_notify, sdp_sock_show,
		sdp_sock_tell, sdp_sock_wake, sdp_sock_watch, sdp_start_abandon,
		sdp_start_undo, sdp_stat_fd_take, sdp_stream_wait_out,
		sdp_verbs_end, sdp_watch_give, sdp_watch_leave,
		sdp_watch_return;
};

extern struct fake fake;

/* Before each case. */
static inline void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.fallback = FAKE_NO_FALLBACK;
}

#endif

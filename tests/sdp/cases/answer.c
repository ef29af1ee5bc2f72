/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What each call answers in each state of a connection. A case prints it, and
 * compares it with the table of sdp/tcp-answer.c: over TCP the table is checked
 * against the kernel, and over SDP the library against the table.
 */
#include "answer.h"

#include "cases.h"

#define ASKED (POLLIN | POLLOUT | POLLRDHUP)
#define ENDED (ASKED | POLLHUP)

/* ---- states ---- */

static int open_new(void)
{
	return pair_used().server;
}

/* The peer's end was received; @ret_peer can still receive. */
static int ended_new(int *ret_peer)
{
	struct pair pair = pair_used();

	NEED(shutdown(pair.client, SHUT_WR) == 0);
	wait_poll(pair.server, POLLRDHUP);
	*ret_peer = pair.client;
	return pair.server;
}

static int peer_end_new(void)
{
	int peer;

	return ended_new(&peer);
}

static int shut_new(int how, int *ret_peer)
{
	struct pair pair = pair_used();

	NEED(shutdown(pair.server, how) == 0);
	if (how != SHUT_RD)
		wait_poll(pair.client, POLLRDHUP);
	*ret_peer = pair.client;
	return pair.server;
}

static int rd_shut_new(void)
{
	int peer;

	return shut_new(SHUT_RD, &peer);
}

static int wr_shut_new(void)
{
	int peer;

	return shut_new(SHUT_WR, &peer);
}

static int both_shut_new(void)
{
	int peer;

	return shut_new(SHUT_RDWR, &peer);
}

/* The end that was first has nothing to wait for. */
static int both_ends_new(void)
{
	int peer, fd = shut_new(SHUT_WR, &peer);

	NEED(shutdown(peer, SHUT_WR) == 0);
	wait_poll(fd, POLLHUP);
	return fd;
}

static int reset_by(int peer, int fd)
{
	struct linger at_once = { .l_onoff = 1 };

	NEED(setsockopt(peer, SOL_SOCKET, SO_LINGER, &at_once,
			sizeof(at_once)) == 0);
	NEED(close(peer) == 0);
	wait_poll(fd, POLLERR | POLLHUP);
	return fd;
}

static int reset_rd_shut_new(void)
{
	int peer, fd = shut_new(SHUT_RD, &peer);

	return reset_by(peer, fd);
}

static int reset_wr_shut_new(void)
{
	int peer, fd = shut_new(SHUT_WR, &peer);

	return reset_by(peer, fd);
}

static int reset_after_end_new(void)
{
	int peer, fd = ended_new(&peer);

	return reset_by(peer, fd);
}

static int refused_new(void)
{
	int bound = bound_new(), fd = socket_new();
	struct address address = address_of(bound);

	set_nonblocking(fd, true);
	NEED(connect(fd, &address.any, address.len) == -1 &&
	     errno == EINPROGRESS);
	wait_poll(fd, POLLERR | POLLHUP);
	return fd;
}

/* The peer's window stays closed. The kernel sets the error before the rest. */
static int silent_new(void)
{
	int fd = open_new();

	fill(fd);
	set_int(fd, SOL_TCP, TCP_USER_TIMEOUT, 1);
	wait_poll(fd, POLLERR | POLLHUP);
	return fd;
}

const struct answer_state answer_states[] = {
	{ "open", open_new, 0, .events = POLLOUT },
	{ "the peer's end", peer_end_new, SDP_HOLDS_PEER_END, .events = ASKED },
	{ "SHUT_RD", rd_shut_new, SDP_HOLDS_RD_SHUT, .events = ASKED },
	{ "SHUT_WR", wr_shut_new, SDP_HOLDS_WR_SHUT, .events = POLLOUT },
	{ "SHUT_RDWR", both_shut_new, SDP_HOLDS_RD_SHUT | SDP_HOLDS_WR_SHUT,
	  .events = ENDED },
	{ "both ends", both_ends_new,
	  SDP_HOLDS_PEER_END | SDP_HOLDS_WR_SHUT | SDP_HOLDS_OVER,
	  .events = ENDED },
	{ "reset", reset_new, SDP_HOLDS_ERROR | SDP_HOLDS_OVER, SDP_CAUSE_RESET,
	  SDP_PHASE_OPEN, ENDED | POLLERR, false },
	{ "reset after SHUT_RD", reset_rd_shut_new,
	  SDP_HOLDS_ERROR | SDP_HOLDS_OVER | SDP_HOLDS_RD_SHUT, SDP_CAUSE_RESET,
	  SDP_PHASE_OPEN, ENDED | POLLERR, false },
	{ "reset after SHUT_WR", reset_wr_shut_new,
	  SDP_HOLDS_ERROR | SDP_HOLDS_OVER | SDP_HOLDS_WR_SHUT, SDP_CAUSE_RESET,
	  SDP_PHASE_OPEN, ENDED | POLLERR, false },
	{ "reset after the peer's end", reset_after_end_new,
	  SDP_HOLDS_ERROR | SDP_HOLDS_OVER | SDP_HOLDS_PEER_END,
	  SDP_CAUSE_RESET, SDP_PHASE_PEER_END, ENDED | POLLERR, false },
	{ "silent", silent_new, SDP_HOLDS_ERROR | SDP_HOLDS_OVER,
	  SDP_CAUSE_SILENCE, SDP_PHASE_OPEN, ENDED | POLLERR, true },
	{ "refused", refused_new, SDP_HOLDS_ERROR | SDP_HOLDS_OVER,
	  SDP_CAUSE_RESET, SDP_PHASE_START, ENDED | POLLERR, false },
	{ "not connected", socket_new, SDP_HOLDS_NEW,
	  .events = POLLOUT | POLLHUP },
};
const size_t answer_state_cnt = sizeof(answer_states) / sizeof(*answer_states);

/* ---- calls ---- */

static long send_one(int fd)
{
	return send(fd, "x", 1, MSG_DONTWAIT);
}

static long send_none(int fd)
{
	return send(fd, "", 0, MSG_DONTWAIT);
}

static long recv_one(int fd)
{
	return recv(fd, (char[1]){ 0 }, 1, MSG_DONTWAIT);
}

static long recv_none(int fd)
{
	return recv(fd, (char[1]){ 0 }, 0, MSG_DONTWAIT);
}

static long shut(int fd)
{
	return shutdown(fd, SHUT_WR);
}

static long peer_name(int fd)
{
	struct address address = { .len = sizeof(address.storage) };

	return getpeername(fd, &address.any, &address.len);
}

static long so_error(int fd)
{
	socklen_t len = sizeof(int);
	int error = 0;

	NEED(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0);
	errno = error;
	return error ? -1 : 0;
}

const struct answer_call answer_calls[] = {
	{ "send", SDP_CALL_SEND, send_one, 1 },
	{ "send of nothing", SDP_CALL_SEND, send_none, 0 },
	{ "recv", SDP_CALL_RECV, recv_one, 0 },
	{ "recv of nothing", SDP_CALL_RECV, recv_none, 0 },
	{ "shutdown", SDP_CALL_SHUTDOWN, shut, 0 },
	{ "getpeername", SDP_CALL_PEER_NAME, peer_name, 0 },
	{ "SO_ERROR", SDP_CALL_SO_ERROR, so_error, 0 },
};
const size_t answer_call_cnt = sizeof(answer_calls) / sizeof(*answer_calls);

static void call_check(const struct answer_state *state,
		       const struct answer_call *call, int fd,
		       unsigned int holds)
{
	int want = sdp_answer_of(call->call, holds);
	int pipes = caught[SIGPIPE];
	long got;

	if (want == SDP_ANSWER_ERROR)
		want = -sdp_answer_error(state->cause, state->phase);
	errno = 0;
	got = call->run(fd);
	got = got == -1 ? -errno : got;
	say("%s, %s: %s", state->name, call->name,
	    got < 0 ? error_name((int)-got)
	    : got   ? "some"
		    : "0");
	NEED(got == (want == SDP_ANSWER_GO ? call->value : want));
	/* A broken pipe, and nothing else, is a signal too. */
	NEED(caught[SIGPIPE] - pipes ==
	     (call->call == SDP_CALL_SEND && got == -EPIPE));
}

static void events_check(const struct answer_state *state, int fd, short want)
{
	struct pollfd look = { .fd = fd, .events = ASKED };

	NEED(poll(&look, 1, 0) >= 0);
	say("%s, poll: %s", state->name, events_name((unsigned)look.revents));
	NEED(look.revents == want);
}

void answer_check(const struct answer_state *state,
		  const struct answer_call *call)
{
	int fd = state->make();

	catch_signal(SIGPIPE, 0);
	call_check(state, call, fd, state->holds);
	if (sdp_answer_of(call->call, state->holds) != SDP_ANSWER_ERROR)
		return;
	events_check(state, fd, state->events & ~POLLERR);
	call_check(state, call, fd, state->holds & ~SDP_HOLDS_ERROR);
}

void answer_check_events(const struct answer_state *state)
{
	events_check(state, state->make(), state->events);
}

/* ---- cases ---- */

/* A case of its own, because SDP that starts only now differs. */
static bool is_apart(const struct answer_state *state)
{
	return state->make == reset_rd_shut_new;
}

/* The calls of that kind in all states. */
static void check_all(enum sdp_call call)
{
	for (size_t i = 0; i < answer_state_cnt; i++)
		for (size_t j = 0; j < answer_call_cnt; j++)
			if (answer_calls[j].call == call &&
			    !answer_states[i].is_of_tcp &&
			    !is_apart(&answer_states[i]))
				answer_check(&answer_states[i],
					     &answer_calls[j]);
}

static void after_reset_shut(void)
{
	for (size_t i = 0; i < answer_state_cnt; i++)
		for (size_t j = 0; j < answer_call_cnt; j++)
			if (is_apart(&answer_states[i]))
				answer_check(&answer_states[i],
					     &answer_calls[j]);
}

static void to_send(void)
{
	check_all(SDP_CALL_SEND);
}

static void to_recv(void)
{
	check_all(SDP_CALL_RECV);
}

static void to_shutdown(void)
{
	check_all(SDP_CALL_SHUTDOWN);
}

static void to_getpeername(void)
{
	check_all(SDP_CALL_PEER_NAME);
}

static void to_so_error(void)
{
	check_all(SDP_CALL_SO_ERROR);
}

static void to_poll(void)
{
	for (size_t i = 0; i < answer_state_cnt; i++)
		if (!answer_states[i].is_of_tcp)
			answer_check_events(&answer_states[i]);
}

const struct sock_case answer_cases[] = {
	{ "answer.send", to_send },
	{ "answer.recv", to_recv },
	{ "answer.shutdown", to_shutdown },
	{ "answer.getpeername", to_getpeername },
	{ "answer.so-error", to_so_error },
	{ "answer.poll", to_poll },
	{ "answer.reset-after-shut-rd", after_reset_shut },
	{ NULL, NULL },
};

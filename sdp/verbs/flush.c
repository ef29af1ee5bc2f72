/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Before the process ends: sends what closed links still have although the
 * peer's program does not receive, and waits until peers have what was sent.
 *
 * The peer has as many receives as it has advertised, and its unread messages
 * fill them. On another carrier it has new ones, because a move leaves unread
 * octets out of the count (SDP-36). So the link moves to a port of this same
 * process, once. The new receives take all that sdp_link_send() accepts.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cancel.h"
#include "verbs/dev/high.h"
#include "verbs/stream/life.h"
#include "verbs/link/links.h"
#include "verbs/wait/fd.h"
#include "verbs/wait/poll.h"
#include "util/log.h"

/* As the socket layer gives a close(). */
#define CLOSE_NS (60000 * NS_PER_MS)
/* A peer has this at least, if there are many. */
#define PEER_NS (1000 * NS_PER_MS)

/* Only the peer of @link may connect. Return: descriptor; -errno. */
static int listen_at(const struct sdp_link *link, uint16_t *ret_port)
{
	struct sockaddr_storage name = link->names[0];
	socklen_t len = link_name_len((struct sockaddr *)&name);
	int fd = (int)syscall(SYS_socket, name.ss_family,
			      SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int ret;

	if (fd < 0)
		return -errno;
	sdp_high_move(&fd);
	link_name_set_port(&name, 0);
	if (syscall(SYS_bind, fd, &name, len) < 0 ||
	    syscall(SYS_listen, fd, 1) < 0 ||
	    syscall(SYS_getsockname, fd, &name, &len) < 0) {
		ret = -errno;
		util_sys_close(fd);
		return ret;
	}
	*ret_port = ntohs(name.ss_family == AF_INET6
				  ? ((struct sockaddr_in6 *)&name)->sin6_port
				  : ((struct sockaddr_in *)&name)->sin_port);
	return fd;
}

/* Return: descriptor; -errno. */
static int accept_until(int listener, uint64_t deadline)
{
	int fd, ret;

	for (;;) {
		fd = (int)syscall(SYS_accept4, listener, NULL, NULL,
				  SOCK_CLOEXEC);
		if (fd >= 0) {
			sdp_high_move(&fd);
			return fd;
		}
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			return -errno;
		ret = sdp_wait_fd(listener, POLLIN, -1, deadline);
		if (ret)
			return ret;
	}
}

/* The next link has the octets, and ends when they are sent. */
static int accept_next(int listener, const void *octets, size_t len,
		       uint64_t deadline)
{
	struct sdp_link_options opt = SDP_LINK_OPTIONS_INIT;
	struct sdp_outcome outcome;
	struct sdp_link *next;
	int fd, ret;

	opt.from = octets;
	opt.from_len = len;
	do {
		fd = accept_until(listener, deadline);
		if (fd < 0)
			return fd;
		ret = sdp_link_accept_fd(&next, fd, &opt, deadline, &outcome);
		util_sys_close(fd);
	} while (ret == -EPERM);
	if (!ret)
		sdp_link_close(next, sdp_now_ns() + CLOSE_NS);
	return ret;
}

static void flush(struct sdp_link *link, uint64_t deadline)
{
	uint16_t port = 0;
	int listener = listen_at(link, &port);
	void *octets = NULL;
	size_t len;
	int ret = listener < 0 ? listener : 0;

	if (!ret)
		ret = sdp_link_suspend(link, port, deadline);
	if (!ret)
		ret = sdp_link_hand_over(link, &octets, &len);
	if (!ret)
		ret = accept_next(listener, octets, len, deadline);
	if (ret)
		util_info("sdp",
			  "qp 0x%06x: the peer has no room for what is left",
			  link->qp_num);
	free(octets);
	if (listener >= 0)
		util_sys_close(listener);
}

/* A peer that does not answer must not use up the time of the others. */
static uint64_t share_end(uint64_t deadline, uint32_t link_cnt)
{
	uint64_t now = sdp_now_ns(), end;

	if (now >= deadline)
		return deadline;
	end = now + (deadline - now) / link_cnt;
	if (end < now + PEER_NS)
		end = now + PEER_NS;
	return end < deadline ? end : deadline;
}

int sdp_verbs_flush(uint64_t deadline)
{
	uint32_t cnt = sdp_links_owing();
	struct sdp_link **links = cnt ? calloc(cnt, sizeof(links[0])) : NULL;

	if (!links)
		return (int)cnt;
	cnt = sdp_links_take_owing(links, cnt);
	for (uint32_t i = 0; i < cnt; i++) {
		if (!links[i]->cm)
			flush(links[i], share_end(deadline, cnt - i));
		if (sdp_links_let_go(links[i]))
			sdp_poll_free_memory(links[i]);
	}
	free(links);
	return (int)cnt;
}

int sdp_verbs_confirm(uint64_t deadline)
{
	struct sdp_link **links;
	uint32_t cnt, closed;
	int left = 0;

	sdp_links_count(&cnt, &closed);
	links = cnt ? calloc(cnt, sizeof(links[0])) : NULL;
	if (!links)
		return (int)cnt;
	cnt = sdp_links_take_live(links, cnt);
	for (uint32_t i = 0; i < cnt; i++)
		sdp_link_confirm_begin(links[i]);
	for (uint32_t i = 0; i < cnt; i++) {
		left += sdp_link_confirm_end(links[i], deadline) < 0;
		if (sdp_links_let_go(links[i]))
			sdp_poll_free_memory(links[i]);
	}
	free(links);
	return left;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The socket of a query. It is connected, so it receives ICMP errors, and no
 * replies of other hosts.
 */
#define _GNU_SOURCE
#include "pm/pm-client.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/cancel.h"
#include "util/env.h"
#include "util/keep-errno.h"
#include "util/lock.h"
#include "pm/pm-cache.h"
#include "pm/pm-msg.h"
#include "pm/pm-query.h"
#include "util/unwind.h"

/* An address in the form of the Port Mapper, with its port. */
struct place {
	uint8_t ipv;
	uint16_t port;
	uint8_t addr[16];
	uint32_t scope;
	bool is_any;
};

static struct sdp_pm_cache cache;
static struct util_lock cache_lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF);

static uint64_t now_ms(void)
{
	return util_now_ns() / NS_PER_MS;
}

/* An IPv4-mapped address is an IPv4 address.  Return: 0; -EAFNOSUPPORT. */
static int place_from(const struct sockaddr *addr, struct place *ret_place)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	struct place place = { .ipv = 4 };

	if (addr->sa_family == AF_INET) {
		place.port = ntohs(in->sin_port);
		memcpy(place.addr, &in->sin_addr, 4);
		place.is_any = in->sin_addr.s_addr == htonl(INADDR_ANY);
	} else if (addr->sa_family == AF_INET6) {
		place.port = ntohs(in6->sin6_port);
		place.is_any = IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);
		if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
			memcpy(place.addr, in6->sin6_addr.s6_addr + 12, 4);
		} else {
			place.ipv = 6;
			memcpy(place.addr, &in6->sin6_addr, 16);
			place.scope = in6->sin6_scope_id;
		}
	} else {
		return -EAFNOSUPPORT;
	}
	*ret_place = place;
	return 0;
}

/* Return: the length of the address. */
static socklen_t place_to(const struct place *place, uint16_t port,
			  struct sockaddr_storage *ret_addr)
{
	struct sockaddr_in6 *in6 = (void *)ret_addr;
	struct sockaddr_in *in = (void *)ret_addr;

	memset(ret_addr, 0, sizeof(*ret_addr));
	if (place->ipv == 4) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, place->addr, 4);
		return sizeof(*in);
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	memcpy(&in6->sin6_addr, place->addr, 16);
	in6->sin6_scope_id = place->scope;
	return sizeof(*in6);
}

static struct sdp_pm_key key_of(const struct place *peer)
{
	struct sdp_pm_key key = { .ipv = peer->ipv, .port = peer->port };

	memcpy(key.addr, peer->addr, sizeof(key.addr));
	return key;
}

static void options_fill(const struct sdp_pm_options *options,
			 struct sdp_pm_options *ret_options)
{
	const struct util_settings *settings = util_settings();
	struct sdp_pm_options o = { 0 };

	if (options)
		o = *options;
	if (!o.udp_port)
		o.udp_port = (uint16_t)settings->sdp_pm_port;
	if (!o.send_cnt)
		o.send_cnt = (uint16_t)settings->sdp_pm_sends;
	if (!o.timeout_ms)
		o.timeout_ms = settings->sdp_pm_ms;
	if (!o.negative_ms)
		o.negative_ms = settings->sdp_pm_negative_ms;
	*ret_options = o;
}

/*
 * Opens the socket, bound to @local's address if it has one. Otherwise sets
 * @local to the source address of the route to @peer. Return: the descriptor;
 * negative errno.
 */
static int socket_open(const struct place *peer, struct place *local,
		       uint16_t udp_port)
{
	uint16_t tcp_port = local->port;
	struct sockaddr_storage addr;
	socklen_t len;
	int fd, err;

	fd = socket(peer->ipv == 4 ? AF_INET : AF_INET6,
		    SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	len = place_to(local, 0, &addr);
	if (!local->is_any && bind(fd, (struct sockaddr *)&addr, len) < 0)
		goto fail;
	len = place_to(peer, udp_port, &addr);
	if (connect(fd, (struct sockaddr *)&addr, len) < 0)
		goto fail;
	len = sizeof(addr);
	if (getsockname(fd, (struct sockaddr *)&addr, &len) < 0 ||
	    place_from((struct sockaddr *)&addr, local) < 0)
		goto fail;
	local->port = tcp_port;
	return fd;
fail:
	err = errno;
	util_sys_close(fd);
	return -err;
}

/* SDP-261, SDP-262: random each time, so processes need not know the handles of
 * other processes. This also holds for a child and its parent. */
static uint64_t handle_make(void)
{
	static _Atomic uint64_t last;
	uint64_t handle;

	if (getrandom(&handle, sizeof(handle), GRND_NONBLOCK) == sizeof(handle))
		return handle;
	/* Shortly after the boot the kernel may have no random numbers yet. */
	return (uint64_t)getpid() << 48 ^ now_ms() << 16 ^
	       atomic_fetch_add_explicit(&last, 1, memory_order_relaxed);
}

/* ICMP reported a closed port: do not ask again. */
static bool is_unreachable(int err)
{
	return err == ECONNREFUSED || err == EHOSTUNREACH ||
	       err == ENETUNREACH || err == EHOSTDOWN || err == ENETDOWN;
}

static void datagram_send(int fd, const uint8_t *buf, size_t len,
			  bool *ret_is_gone)
{
	/* A datagram that could not be sent is treated as lost and is sent
	 * again later. */
	if (send(fd, buf, len, MSG_NOSIGNAL) < 0 && is_unreachable(errno))
		*ret_is_gone = true;
}

static void datagrams_take(int fd, struct sdp_pm_query *query,
			   bool *ret_is_gone)
{
	uint8_t buf[SDP_PM_SIZE + 1];
	ssize_t len;

	for (;;) {
		len = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (len >= 0) {
			sdp_pm_query_receive(query, buf, (size_t)len);
			continue;
		}
		if (errno == EINTR)
			continue;
		if (is_unreachable(errno))
			*ret_is_gone = true;
		return;
	}
}

/* Return: 0: look again; -ECANCELED. */
static int event_wait(int fd, int stop_fd, uint64_t due_ms)
{
	struct pollfd fds[2] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = stop_fd, .events = POLLIN }, /* -1: none */
	};
	uint64_t now = now_ms(), left = due_ms > now ? due_ms - now : 0;

	if (left > INT32_MAX)
		left = INT32_MAX;
	if (util_sys_poll(fds, 2, (int)left) > 0 && fds[1].revents)
		return -ECANCELED;
	return 0;
}

/* Asks until there is an answer, or the query times out. Return: 0;
 * -ECANCELED. */
static int query_run(struct sdp_pm_query *query, int fd, int stop_fd)
{
	uint8_t out[SDP_PM_SIZE];
	bool is_gone = false;
	int ret;

	for (;;) {
		while (sdp_pm_query_next(query, now_ms(), out))
			datagram_send(fd, out, sizeof(out), &is_gone);
		if (query->state != SDP_PM_QUERY_ASKING || is_gone)
			return 0;
		ret = event_wait(fd, stop_fd, sdp_pm_query_due_ms(query));
		if (ret < 0)
			return ret;
		datagrams_take(fd, query, &is_gone);
		/* An answer that came before the error counts. */
		if (is_gone && query->state == SDP_PM_QUERY_ASKING)
			return 0;
	}
}

static void remember(const struct sdp_pm_cache_entry *entry)
{
	util_lock(&cache_lock);
	sdp_pm_cache_put(&cache, now_ms(), entry);
	util_unlock(&cache_lock);
}

static uint64_t time_after(uint64_t ms)
{
	uint64_t now = now_ms();

	return ms > UINT64_MAX - now ? UINT64_MAX : now + ms;
}

static void result_make(const struct place *peer, const struct place *local,
			const struct sdp_pm_cache_entry *entry,
			struct sdp_pm_result *ret_result)
{
	struct place sdp = { .ipv = peer->ipv, .scope = peer->scope };

	memset(ret_result, 0, sizeof(*ret_result));
	if (local)
		place_to(local, local->port, &ret_result->local);
	ret_result->outcome = entry->what;
	if (entry->what != SDP_PM_MAPPED)
		return;
	memcpy(sdp.addr, entry->ap_addr, sizeof(sdp.addr));
	place_to(&sdp, entry->ap_port, &ret_result->sdp);
}

/* The result of a query, and how long it is valid. */
static struct sdp_pm_cache_entry entry_make(const struct place *peer,
					    const struct sdp_pm_query *query,
					    uint32_t negative_ms)
{
	struct sdp_pm_cache_entry entry = {
		.key = key_of(peer),
		.what = SDP_PM_NO_ANSWER,
		.until_ms = time_after(negative_ms),
	};

	if (query->state == SDP_PM_QUERY_DENIED) {
		entry.what = SDP_PM_DENIED;
	} else if (query->state == SDP_PM_QUERY_ACCEPTED) {
		entry.what = SDP_PM_MAPPED;
		entry.ap_port = query->answer.ap_port;
		memcpy(entry.ap_addr, query->answer.ap_addr,
		       sizeof(entry.ap_addr));
		/* SDP-258; 0: must not be stored */
		entry.until_ms =
			query->answer.time
				? time_after(sdp_pm_time_ms(query->answer.time))
				: 0;
	}
	return entry;
}

/* What must be undone if a signal handler jumps out of the wait. */
struct held {
	int fd;
	int cancel_state;
};

static void held_left(void *arg)
{
	const struct held *held = arg;

	util_sys_close(held->fd);
	util_cancel_restore(&held->cancel_state);
}

/* Called with cancellation disabled; @cancel_state: the previous state. */
static int ask(const struct place *peer, struct place *local,
	       const struct sdp_pm_options *options, int stop_fd,
	       int cancel_state, struct sdp_pm_cache_entry *ret_entry)
{
	struct sdp_pm_query query;
	struct sdp_pm_msg req = {
		.ipv = peer->ipv,
		.ap_port = peer->port,
		.cp_port = local->port,
		.handle = handle_make(),
	};
	struct held held = { .cancel_state = cancel_state };
	struct util_unwind unwind;
	int ret;

	held.fd = socket_open(peer, local, options->udp_port);
	if (held.fd < 0)
		return held.fd;
	util_unwind_push(&unwind, held_left, &held);
	memcpy(req.ap_addr, peer->addr, sizeof(req.ap_addr));
	memcpy(req.cp_addr, local->addr, sizeof(req.cp_addr));
	sdp_pm_query_start(&query, now_ms(), &req, options->timeout_ms,
			   options->send_cnt);
	ret = query_run(&query, held.fd, stop_fd);
	util_unwind_pop(&unwind);
	util_sys_close(held.fd);
	if (ret < 0)
		return ret;
	*ret_entry = entry_make(peer, &query, options->negative_ms);
	if (!options->is_connection || ret_entry->what == SDP_PM_NO_ANSWER)
		remember(ret_entry);
	return 0;
}

/* Return: 0; -EINVAL, -EAFNOSUPPORT. */
static int places_take(const struct sockaddr *peer_addr,
		       const struct sockaddr *local_addr,
		       struct place *ret_peer, struct place *ret_local)
{
	int ret = place_from(peer_addr, ret_peer);

	if (ret == 0)
		ret = place_from(local_addr, ret_local);
	if (ret < 0)
		return ret;
	if (!ret_peer->port || !ret_local->port || ret_peer->is_any)
		return -EINVAL;
	if (ret_local->ipv == ret_peer->ipv)
		return 0;
	/* The wildcard address of a dual-stack socket. */
	if (!ret_local->is_any)
		return -EAFNOSUPPORT;
	ret_local->ipv = ret_peer->ipv;
	return 0;
}

static bool entry_get(const struct place *peer, bool is_connection,
		      struct sdp_pm_cache_entry *ret_entry)
{
	struct sdp_pm_key key = key_of(peer);
	bool is_known;

	if (is_connection)
		key.port = 0; /* what is known of the host */
	util_lock(&cache_lock);
	is_known = sdp_pm_cache_get(&cache, now_ms(), &key, ret_entry);
	util_unlock(&cache_lock);
	return is_known;
}

int sdp_pm_query(const struct sockaddr *peer_addr,
		 const struct sockaddr *local_addr,
		 const struct sdp_pm_options *options, int stop_fd,
		 struct sdp_pm_result *ret_result)
{
	UTIL_CANCEL_OFF();
	UTIL_KEEP_ERRNO();
	struct sdp_pm_cache_entry entry;
	struct sdp_pm_options filled;
	struct place peer, local;
	int ret;

	ret = places_take(peer_addr, local_addr, &peer, &local);
	if (ret < 0)
		return ret;
	options_fill(options, &filled);
	if (!entry_get(&peer, filled.is_connection, &entry))
		ret = ask(&peer, &local, &filled, stop_fd,
			  util_old_cancel_state, &entry);
	if (ret == 0)
		result_make(&peer, &local, &entry, ret_result);
	return ret;
}

bool sdp_pm_known(const struct sockaddr *peer_addr,
		  struct sdp_pm_result *ret_result)
{
	struct sdp_pm_cache_entry entry;
	struct place peer;

	if (place_from(peer_addr, &peer) < 0 ||
	    !entry_get(&peer, false, &entry))
		return false;
	result_make(&peer, NULL, &entry, ret_result);
	return true;
}

void sdp_pm_reject(const struct sockaddr *peer_addr,
		   const struct sdp_pm_options *options)
{
	struct sdp_pm_cache_entry entry = { .what = SDP_PM_DENIED };
	struct sdp_pm_options filled;
	struct place peer;

	if (place_from(peer_addr, &peer) < 0)
		return;
	options_fill(options, &filled);
	entry.key = key_of(&peer);
	entry.until_ms = time_after(filled.negative_ms); /* SDP-264 */
	remember(&entry);
}

void sdp_pm_fork_child(void)
{
	util_lock_init(&cache_lock, UTIL_RANK_LEAF);
	memset(&cache, 0, sizeof(cache));
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See policy.h. */
#include "policy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/lock.h"
#include "util/log.h"
#include "pm/pm-client.h"
#include "pm/registry.h"
#include "rules/rules.h"
#include "table.h"
#include "verbs/sdp-link.h"

/* Number of destinations to remember whose announced SDP port did not work. */
#define AVOID_CNT 16
#define AVOID_NS (10 * NS_PER_S)

static struct util_lock avoid_lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF);
static struct {
	struct sockaddr_in6 addr;
	uint64_t until;
} avoid[AVOID_CNT];

static struct sdp_rules *rules;

enum sdp_way sdp_policy_way(void)
{
	bool old = sdp_inside_enter();
	enum sdp_way way = sdp_verbs_way();

	sdp_inside_leave(old);
	return way;
}

static const struct sdp_rules *rules_get(void)
{
	return rules ? rules : sdp_rules_default();
}

bool sdp_policy_start(void)
{
	char error[256] = "";
	int ret;

	/* Tests call this function again. */
	sdp_rules_free(rules);
	rules = NULL;
	ret = sdp_rules_load(&rules, error, sizeof(error));
	if (ret < 0) {
		util_err("sdp", "%s: this program uses TCP only",
			 *error ? error : strerror(-ret));
		return false;
	}
	ret = sdp_log_start(sdp_rules_log(rules_get()));
	if (ret < 0)
		util_err("sdp", "cannot open the log of the rules file: %s",
			 strerror(-ret));
	return sdp_rules_concern(rules_get(), program_invocation_short_name);
}

static void rule_say(enum sdp_rule_role role, const struct sockaddr *addr,
		     enum sdp_use use, unsigned int line)
{
	static const char *const uses[] = {
		[SDP_USE_SDP] = "sdp",
		[SDP_USE_TCP] = "tcp",
		[SDP_USE_BOTH] = "both",
	};
	char text[INET6_ADDRSTRLEN] = "?", rule[32] = "no rule";
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	bool is_v6 = addr->sa_family == AF_INET6;

	inet_ntop(addr->sa_family,
		  is_v6 ? (const void *)&in6->sin6_addr
			: (const void *)&in->sin_addr,
		  text, sizeof(text));
	if (line > 0)
		snprintf(rule, sizeof(rule), "rule in line %u", line);
	/* sin6_port is at the same offset. */
	util_debug("sdp", "%s, %s port %u: %s, %s",
		   role == SDP_RULE_SERVER ? "server" : "client", text,
		   ntohs(in->sin_port), uses[use], rule);
}

enum sdp_use sdp_policy_use(const struct sdp_sock *sock,
			    enum sdp_rule_role role,
			    const struct sockaddr *addr)
{
	unsigned int line;
	enum sdp_use use;

	if (sock->family == SDP_AF_INET_SDP)
		return SDP_USE_SDP;
	use = sdp_rules_find(rules_get(), role, program_invocation_short_name,
			     addr, &line);
	if (util_log_enabled(UTIL_LOG_DEBUG, "sdp"))
		rule_say(role, addr, use, line);
	return use;
}

static void key_of(const struct sockaddr *addr, struct sockaddr_in6 *ret_key)
{
	memset(ret_key, 0, sizeof(*ret_key));
	memcpy(ret_key, addr,
	       addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					   : sizeof(struct sockaddr_in));
}

static bool is_avoided(const struct sockaddr *dst)
{
	struct sockaddr_in6 key;
	uint64_t now = sdp_now_ns();
	bool is = false;

	key_of(dst, &key);
	util_lock(&avoid_lock);
	for (int i = 0; i < AVOID_CNT && !is; i++)
		is = avoid[i].until > now &&
		     memcmp(&avoid[i].addr, &key, sizeof(key)) == 0;
	util_unlock(&avoid_lock);
	return is;
}

void sdp_policy_avoid(const struct sockaddr *dst)
{
	int oldest = 0;

	util_lock(&avoid_lock);
	for (int i = 1; i < AVOID_CNT; i++)
		if (avoid[i].until < avoid[oldest].until)
			oldest = i;
	key_of(dst, &avoid[oldest].addr);
	avoid[oldest].until = sdp_now_ns() + AVOID_NS;
	util_unlock(&avoid_lock);
	sdp_pm_reject(dst, NULL); /* SDP-264 */
}

/* The address that the socket is bound to. Binds the socket if it has no port
 * yet. */
static int local_take(int fd, sa_family_t family, union sdp_addr *ret_local)
{
	union sdp_addr any = { .sa.sa_family = family };
	int ret = sdp_addr_get(fd, false, ret_local);

	if (ret < 0 || sdp_addr_port(ret_local) != 0)
		return ret;
	if (syscall(SYS_bind, fd, &any, sdp_addr_len(&any)) < 0)
		return -errno;
	return sdp_addr_get(fd, false, ret_local);
}

/* The Port Mapper's address in the family of @dst. */
static union sdp_addr mapped_of(const union sdp_addr *dst,
				const struct sockaddr_storage *from)
{
	union sdp_addr addr = sdp_addr_of(from);

	if (dst->sa.sa_family == AF_INET6)
		sdp_addr_map(&addr);
	return addr;
}

/* Return: 0; -errno: there is no SDP Address, or no answer. */
static int mapped_get(const union sdp_addr *dst,
		      const struct sdp_pm_result *result,
		      struct sdp_target *ret_target)
{
	switch (result->outcome) {
	case SDP_PM_MAPPED:
		ret_target->addr = mapped_of(dst, &result->sdp);
		ret_target->is_request = true;
		return 0;
	case SDP_PM_DENIED:
		return -EACCES;
	case SDP_PM_NO_ANSWER:
		break;
	}
	return -EADDRNOTAVAIL;
}

int sdp_policy_ask(int fd, const union sdp_addr *dst, int stop_fd,
		   struct sdp_target *ret_target)
{
	struct sdp_pm_result result;
	union sdp_addr local;
	int ret = local_take(fd, dst->sa.sa_family, &local);

	if (ret == 0)
		ret = sdp_pm_query(&dst->sa, &local.sa, NULL, stop_fd, &result);
	return ret < 0 ? ret : mapped_get(dst, &result, ret_target);
}

int sdp_policy_find(const union sdp_addr *dst, struct sdp_target *ret_target)
{
	struct sdp_pm_result result;
	bool is_request;
	uint16_t port;
	int ret;

	if (is_avoided(&dst->sa))
		return -ECONNREFUSED;
	ret = sdp_registry_find(&dst->sa, &port, &is_request);
	if (ret == -EADDRNOTAVAIL) {
		return sdp_pm_known(&dst->sa, &result)
			       ? mapped_get(dst, &result, ret_target)
			       : -EINPROGRESS;
	}
	if (ret == 0) {
		ret_target->addr = *dst;
		ret_target->is_request = is_request;
		sdp_addr_set_port(&ret_target->addr, port);
	}
	return ret;
}

void sdp_policy_fork_child(void)
{
	util_lock_init(&avoid_lock, UTIL_RANK_LEAF);
	sdp_registry_fork_child();
	sdp_pm_fork_child();
}

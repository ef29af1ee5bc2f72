/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See policy.h. */
#include "policy.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "../../util/lock.h"
#include "../../util/log.h"
#include "pm/registry.h"
#include "rules/rules.h"

/* Destinations whose SDP port did not hold what was promised. */
#define AVOID_CNT 16
#define AVOID_NS (10 * 1000000000ull)

static struct util_lock avoid_lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF);
static struct {
	struct sockaddr_in6 addr;
	uint64_t until;
} avoid[AVOID_CNT];

static struct sdp_rules *rules;

static const struct sdp_rules *rules_get(void)
{
	return rules ? rules : sdp_rules_default();
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

bool sdp_policy_start(void)
{
	char error[256] = "";
	int ret = sdp_rules_load(&rules, error, sizeof(error));

	if (ret < 0) {
		util_err("sdp", "%s: this program uses TCP only",
			 *error ? error : strerror(-ret));
		return false;
	}
	ret = sdp_log_start(sdp_rules_log(rules_get()));
	if (ret < 0)
		util_err("sdp", "the log line of the rules file: %s",
			 strerror(-ret));
	return sdp_rules_concern(rules_get(), program_invocation_short_name);
}

static enum sdp_policy policy_of(enum sdp_rule_role role,
				 const struct sockaddr *addr)
{
	switch (sdp_rules_find(rules_get(), role, program_invocation_short_name,
			       addr, NULL)) {
	case SDP_USE_TCP:
		return SDP_POLICY_TCP;
	case SDP_USE_SDP:
		return SDP_POLICY_SDP;
	case SDP_USE_BOTH:
		break;
	}
	return SDP_POLICY_BOTH;
}

enum sdp_policy sdp_policy_server(const struct sockaddr *addr)
{
	return policy_of(SDP_RULE_SERVER, addr);
}

enum sdp_policy sdp_policy_client(const struct sockaddr *addr)
{
	return policy_of(SDP_RULE_CLIENT, addr);
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
	uint64_t now = now_ns();
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
	avoid[oldest].until = now_ns() + AVOID_NS;
	util_unlock(&avoid_lock);
}

int sdp_policy_find(const struct sockaddr *dst, uint16_t *ret_port)
{
	if (is_avoided(dst))
		return -ECONNREFUSED;
	return sdp_registry_find(dst, ret_port);
}

void sdp_policy_fork_child(void)
{
	util_lock_init(&avoid_lock, UTIL_RANK_LEAF);
	sdp_registry_fork_child();
}

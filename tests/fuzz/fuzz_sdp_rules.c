/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Rules files: any text is either parsed or refused with a line number, and
 * parsed rules can be queried.
 */
#include "fuzz.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "rules/rules.h"

static void ask(const struct sdp_rules *rules, enum sdp_rule_role role)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(80) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_addr = in6addr_loopback };
	unsigned int line;
	enum sdp_use use;

	in.sin_addr.s_addr = htonl(0x0a000001);
	use = sdp_rules_find(rules, role, "program", (struct sockaddr *)&in,
			     &line);
	fuzz_assert(use == SDP_USE_BOTH || line);
	use = sdp_rules_find(rules, role, "program", (struct sockaddr *)&in6,
			     &line);
	fuzz_assert(use == SDP_USE_BOTH || line);
	if (use != SDP_USE_TCP)
		fuzz_assert(sdp_rules_concern(rules, "program"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sdp_rules *rules;
	char error[128] = "";
	char *text = malloc(size ? size : 1);
	int ret;

	fuzz_assert(text);
	memcpy(text, data, size);
	ret = sdp_rules_parse(text, size, "conf", &rules, error, sizeof(error));
	free(text);
	if (ret < 0) {
		fuzz_assert(ret == -EINVAL);
		fuzz_assert(!strncmp(error, "conf:", 5));
		fuzz_assert(strlen(error) < sizeof(error));
		return 0;
	}
	ask(rules, SDP_RULE_SERVER);
	ask(rules, SDP_RULE_CLIENT);
	fuzz_assert(sdp_rules_log(rules)->min_level >= SDP_LOG_LEVEL_MIN);
	fuzz_assert(sdp_rules_log(rules)->min_level <= SDP_LOG_LEVEL_MAX);
	fuzz_assert((sdp_rules_log(rules)->destination == SDP_LOG_FILE) ==
		    (sdp_rules_log(rules)->file != NULL));
	sdp_rules_free(rules);
	return 0;
}

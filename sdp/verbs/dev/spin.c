/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See spin.h. */
#include "spin.h"

#define SPIN_NS_FIRST 20000u
#define SPIN_NS_STEP 2000u
/* Minimum duration of one poll. A shorter budget means no polling. */
#define SPIN_NS_LOOK 500u
/* What remains of the longest time after one failure. */
#define SPIN_NS_LONG (SDP_SPIN_NS_MAX - SDP_SPIN_NS_MAX / 4)
/* A rest follows closely if the time since the last rest is at most this many
 * times that rest's length. */
#define REST_CLOSE 4

static uint32_t load32(const _Atomic uint32_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static void store32(_Atomic uint32_t *word, uint32_t value)
{
	atomic_store_explicit(word, value, memory_order_relaxed);
}

void sdp_budget_init(struct sdp_budget *budget, int cpu_cnt)
{
	budget->ns_max = cpu_cnt > 1 ? SDP_SPIN_NS_MAX : 0;
	atomic_init(&budget->ns, cpu_cnt > 1 ? SPIN_NS_FIRST : 0);
	atomic_init(&budget->rest_ns, 0);
	atomic_init(&budget->rest_end, 0);
}

void sdp_budget_begin(struct sdp_spin *spin, uint64_t now)
{
	spin->start = spin->last = now;
}

bool sdp_budget_goes_on(struct sdp_budget *budget, struct sdp_spin *spin,
			uint64_t now)
{
	bool is_interrupted = now - spin->last > SDP_SPIN_NS_GAP;
	uint32_t ns = load32(&budget->ns);

	spin->last = now;
	if (now - spin->start < ns && !is_interrupted)
		return true;
	ns -= ns / 8;
	store32(&budget->ns, is_interrupted || ns < SPIN_NS_LOOK ? 0 : ns);
	return false;
}

static void rest(struct sdp_budget *budget, uint64_t last_end, uint64_t now)
{
	uint32_t ns = load32(&budget->rest_ns);
	bool is_close = now - last_end <= (uint64_t)REST_CLOSE * ns;

	ns = is_close ? 2 * ns : SDP_SPIN_REST_NS_MIN;
	if (ns > SDP_SPIN_REST_NS_MAX)
		ns = SDP_SPIN_REST_NS_MAX;
	store32(&budget->rest_ns, ns);
	atomic_store_explicit(&budget->rest_end, now + ns,
			      memory_order_relaxed);
	store32(&budget->ns, 0);
}

void sdp_budget_slept(struct sdp_budget *budget, uint64_t slept_ns,
		      uint64_t now)
{
	uint64_t rest_end =
		atomic_load_explicit(&budget->rest_end, memory_order_relaxed);
	uint32_t ns = load32(&budget->ns);

	if (slept_ns > 2 * SDP_SPIN_NS_MAX || now < rest_end)
		return;
	if (ns > SPIN_NS_LONG) {
		rest(budget, rest_end, now);
		return;
	}
	ns = 2 * ns + SPIN_NS_STEP;
	store32(&budget->ns, ns < budget->ns_max ? ns : budget->ns_max);
}

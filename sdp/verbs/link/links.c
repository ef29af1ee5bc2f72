/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The list of all links, and what a forked child does with it.
 */
#include "links.h"

static struct util_lock lock = UTIL_LOCK_INIT(UTIL_RANK_SDP_POOL);
static struct sdp_link *all;

void sdp_links_add(struct sdp_link *link)
{
	util_lock(&lock);
	link->all_prev = NULL;
	link->all_next = all;
	if (all)
		all->all_prev = link;
	all = link;
	util_unlock(&lock);
}

bool sdp_links_remove(struct sdp_link *link)
{
	bool is_taken;

	util_lock(&lock);
	if (link->all_prev)
		link->all_prev->all_next = link->all_next;
	else
		all = link->all_next;
	if (link->all_next)
		link->all_next->all_prev = link->all_prev;
	link->is_removed = true;
	is_taken = link->is_taken;
	util_unlock(&lock);
	return !is_taken;
}

void sdp_links_count(uint32_t *ret_all, uint32_t *ret_released)
{
	*ret_all = *ret_released = 0;
	util_lock(&lock);
	for (struct sdp_link *link = all; link; link = link->all_next) {
		++*ret_all;
		*ret_released += atomic_load_explicit(&link->end.is_closing,
						      memory_order_relaxed);
	}
	util_unlock(&lock);
}

static bool is_owing(const struct sdp_link *link)
{
	const unsigned int gone = SDP_LINK_DRAINED | LINK_SHUT;
	unsigned int state =
		atomic_load_explicit(&link->state, memory_order_relaxed);

	return atomic_load_explicit(&link->end.is_closing,
				    memory_order_relaxed) &&
	       !(state & SDP_LINK_CLOSED) && (state & gone) != gone;
}

uint32_t sdp_links_owing(void)
{
	uint32_t found = 0;

	util_lock(&lock);
	for (struct sdp_link *link = all; link; link = link->all_next)
		found += is_owing(link);
	util_unlock(&lock);
	return found;
}

static bool is_live(const struct sdp_link *link)
{
	return !(atomic_load_explicit(&link->state, memory_order_relaxed) &
		 SDP_LINK_CLOSED);
}

static uint32_t take(bool (*is_wanted)(const struct sdp_link *link),
		     struct sdp_link **ret_links, uint32_t cnt)
{
	uint32_t found = 0;

	util_lock(&lock);
	for (struct sdp_link *link = all; link && found < cnt;
	     link = link->all_next) {
		if (link->is_taken || !is_wanted(link))
			continue;
		link->is_taken = true;
		ret_links[found++] = link;
	}
	util_unlock(&lock);
	return found;
}

uint32_t sdp_links_take_owing(struct sdp_link **ret_links, uint32_t cnt)
{
	return take(is_owing, ret_links, cnt);
}

uint32_t sdp_links_take_live(struct sdp_link **ret_links, uint32_t cnt)
{
	return take(is_live, ret_links, cnt);
}

bool sdp_links_let_go(struct sdp_link *link)
{
	bool is_removed;

	util_lock(&lock);
	link->is_taken = false;
	is_removed = link->is_removed;
	util_unlock(&lock);
	return is_removed;
}

void sdp_links_lock(void)
{
	util_lock(&lock);
}

void sdp_links_unlock(void)
{
	util_unlock(&lock);
}

void sdp_links_orphan(void)
{
	util_lock_init(&lock, UTIL_RANK_SDP_POOL);
	for (struct sdp_link *link = all; link; link = link->all_next) {
		util_lock_init(&link->lock, UTIL_RANK_SDP_LINK);
		link->is_foreign = true;
		link->is_taken = false;
		atomic_store_explicit(&link->is_sending, false,
				      memory_order_relaxed);
		link->end.is_failed = true;
		link->end.is_conn_down = true;
		link->notify = NULL;
		link->end.error =
			sdp_answer_error(SDP_CAUSE_RESET, SDP_PHASE_OPEN);
		atomic_store_explicit(&link->is_zcopy_off, true,
				      memory_order_relaxed);
		atomic_store_explicit(&link->state,
				      SDP_LINK_IN | LINK_OCTETS | SDP_LINK_OUT |
					      SDP_LINK_RDHUP | SDP_LINK_HUP |
					      SDP_LINK_ERR | SDP_LINK_CLOSED |
					      LINK_STANDS | LINK_ZDONE |
					      LINK_RDONE | LINK_SHUT | LINK_UP,
				      memory_order_release);
	}
}

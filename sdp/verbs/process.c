/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Operations on all devices and links: fork, exit.
 */
#include "verbs/wait/cm-chan.h"
#include "verbs/dev/dev.h"
#include "verbs/link/links.h"
#include "verbs/link/notice.h"
#include "verbs/wait/point.h"
#include "verbs/dev/probe.h"
#include "verbs/wait/progress.h"

/* Takes the locks in rising rank. Locks of links are not taken: the child uses
 * only the memory of a link. */
void sdp_verbs_fork_prepare(void)
{
	util_lock(sdp_dev_process_lock());
	sdp_links_lock();
}

void sdp_verbs_fork_parent(void)
{
	sdp_links_unlock();
	util_unlock(sdp_dev_process_lock());
}

void sdp_verbs_after_fork(void)
{
	util_lock_fork_child();
	sdp_links_orphan();
	sdp_dev_forget();
	sdp_cm_chan_forget();
	sdp_notice_forget();
	sdp_progress_forget();
	sdp_point_forget();
	sdp_probe_fork_child();
}

/* How long to wait for the peer's DisConn. A peer that closes too has sent it
 * within this time. */
#define DISCON_NS (50 * NS_PER_MS)

int sdp_verbs_drain(uint64_t deadline)
{
	uint64_t sent_at = 0;

	for (;;) {
		uint32_t all, closing;
		struct sdp_dev *dev = sdp_dev_first();
		uint64_t now = sdp_now_ns();

		sdp_links_count(&all, &closing);
		if (!closing || now >= deadline || !dev)
			return (int)closing;
		if (sdp_links_owing())
			sent_at = 0;
		else if (!sent_at)
			sent_at = now;
		else if (now - sent_at > DISCON_NS)
			return (int)closing;
		sdp_progress_nap(deadline < now + NS_PER_MS ? deadline
							    : now + NS_PER_MS);
	}
}

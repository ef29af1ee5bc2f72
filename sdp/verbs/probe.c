/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Is there any device at all? */
#include <infiniband/verbs.h>
#include <pthread.h>

#include "sdp-link.h"

static pthread_once_t probe_once = PTHREAD_ONCE_INIT;
static bool has_device;

static void probe(void)
{
	struct ibv_device **list;
	int cnt = 0;

	list = ibv_get_device_list(&cnt);
	has_device = list && cnt > 0;
	if (list)
		ibv_free_device_list(list);
}

bool sdp_verbs_probe(void)
{
	pthread_once(&probe_once, probe);
	return has_device;
}

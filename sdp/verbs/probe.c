/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Is there any device that a TCP connection can go over to? */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "direct.h"
#include "sdp-link.h"

static pthread_once_t probe_once = PTHREAD_ONCE_INIT;
static bool has_device;

/* The first call loads the drivers, whatever they are. */
static void probe(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	bool is_any = false;

	if (!list)
		return;
	for (int i = 0; list[i]; i++)
		is_any |= sdp_direct_is_device(ibv_get_device_name(list[i]));
	ibv_free_device_list(list);
	has_device = is_any && sdp_direct_symbol("usiwdv_qp_attach_fd");
}

bool sdp_verbs_probe(void)
{
	pthread_once(&probe_once, probe);
	return has_device;
}

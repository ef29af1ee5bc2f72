/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The provider's functions for libibverbs: registration, matching of devices,
 * opening and closing.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/clock.h"
#include "util/device-name.h"
#include "util/env.h"
#include "util/log.h"
#include "interface.h"
#include "rnic/os/rnic-observer.h"
#include "check/check.h"
#include "call.h"
#include "objects.h"
#include "result.h"

/* rdma-core 35 put num_ports before it. */
static uint32_t abi_version(const struct verbs_sysfs_dev *sysfs_dev)
{
	return usiw_library.layout->layout < 35 ? sysfs_dev->num_ports
						: sysfs_dev->abi_ver;
}

/*
 * Matches by name: no kernel driver names its devices usiw_*, and USIW_NAME is
 * the user's choice.  The devices belong to the RNIC library that the preload
 * library loaded, which must be the provider's.
 */
static bool device_match(struct verbs_sysfs_dev *sysfs_dev)
{
	return util_device_name_is_ours(sysfs_dev->ibdev_name) &&
	       usiw_interface_fits(abi_version(sysfs_dev));
}

static struct verbs_device *device_alloc(struct verbs_sysfs_dev *sysfs_dev)
{
	struct verbs_device *vdev = calloc(1, sizeof(*vdev));

	(void)sysfs_dev;
	return vdev ? vdev
		    : usiw_result_null(
			      usiw_refuse_memory("ibv_get_device_list"));
}

static void device_uninit(struct verbs_device *vdev)
{
	free(vdev);
}

/* Takes over @cmd_fd, even on failure. */
static struct verbs_context *context_make(struct ibv_device *device, int cmd_fd)
{
	struct rnic_device *dev = rnic_device_by_name(device->name);
	UTIL_CANCEL_OFF();
	struct usiw_context *ctx;
	struct verbs_ops ops; /* of the library's layout: at most as many */
	int err;

	if (!dev) {
		util_err("verbs", "%s: the RNIC has no such device",
			 device->name);
		close(cmd_fd);
		return usiw_result_null(-ENODEV);
	}
	ctx = usiw_library.fn.init_and_alloc_context(
		device, cmd_fd, sizeof(*ctx),
		(struct verbs_context *)(offsetof(struct usiw_context,
						  context) -
					 usiw_library.layout->head),
		0);
	if (!ctx)
		return usiw_result_null(usiw_refuse_memory("ibv_open_device"));
	if (!usiw_library_is_context(&ctx->context)) {
		/* Its members are elsewhere, so it cannot be freed either. */
		util_err("verbs",
			 "%s: this libibverbs (provider ABI %u) has another "
			 "struct verbs_context than released ones: install a "
			 "newer usiw",
			 device->name, usiw_library.number);
		close(cmd_fd);
		return usiw_result_null(-EPROTONOSUPPORT);
	}
	err = rnic_context_open(dev, &ctx->rnic);
	if (err) {
		util_err("verbs", "%s: open: %s", device->name, strerror(-err));
		goto uninit;
	}
	atomic_store_explicit(&usiw_observed_word, rnic_observed_word(),
			      memory_order_relaxed);
	ctx->dev = dev;
	ctx->is_ca = rnic_device_persona(dev) == RNIC_PERSONA_CA;
	ctx->context.async_fd = rnic_context_async_fd(ctx->rnic);
	ctx->context.num_comp_vectors = USIW_COMP_VECTORS;
	(void)usiw_ops_of(usiw_library.layout->layout, &ops);
	usiw_library.fn.set_ops(usiw_library_context(&ctx->context), &ops);
	return usiw_library_context(&ctx->context);

uninit:
	usiw_library.fn.uninit_context(usiw_library_context(&ctx->context));
	free(ctx);
	return usiw_result_null(err);
}

/* The first context is where observing begins. */
static struct verbs_context *context_alloc(struct ibv_device *device,
					   int cmd_fd, void *private_data)
{
	uint64_t began_ns = util_now_ns();
	struct verbs_context *made = context_make(device, cmd_fd);
	struct usiw_call call;

	(void)private_data;
	if (!usiw_calls_are_observed())
		return made;
	usiw_call_begin(&call, "ibv_open_device");
	call.began_ns = began_ns;
	usiw_call_return(&call);
	util_text_add(&call.text, "device=%s", device->name);
	usiw_call_args_end(&call);
	util_text_add(&call.text, made ? "context" : "NULL");
	usiw_call_end(&call, made ? 0 : -call.saved_errno);
	return made;
}

void usiw_free_context(struct ibv_context *context)
{
	UTIL_CANCEL_OFF();
	struct usiw_context *ctx = usiw_context(context);

	/* The RNIC owns the channel behind async_fd and closes it.  In a forked
	 * child it is only an fd, which the library closes. */
	if (!rnic_context_is_forked(ctx->rnic)) {
		rnic_context_close(ctx->rnic);
		context->async_fd = -1;
	}
	usiw_library.fn.uninit_context(usiw_library_context(context));
	free(ctx);
}

/* Nothing to do: the RNIC counts the events that the application has read. */
void usiw_async_event(struct ibv_context *context,
		      struct ibv_async_event *event)
{
	(void)context;
	(void)event;
}

void usiw_wait_acks(pthread_mutex_t *mutex, pthread_cond_t *cond,
		    const uint32_t *completed, uint32_t event_cnt)
{
	UTIL_CANCEL_OFF();

	pthread_mutex_lock(mutex);
	while (*completed != event_cnt)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}

static const struct verbs_match_ent match_end[1];

const struct verbs_device_ops usiw_device_ops = {
	.name = "usiw",
	.match_min_abi_version = USIW_UVERBS_ABI,
	.match_max_abi_version = USIW_UVERBS_ABI,
	.match_table = match_end,
	.match_device = device_match,
	.alloc_context = context_alloc,
	.alloc_device = device_alloc,
	.uninit_device = device_uninit,
};

/* With an unknown library the program runs without usiw devices. */
static __attribute__((constructor)) void provider_register(void)
{
	util_settings_set_quiet(); /* the RNIC's library reports */
	if (usiw_library_find() == 0 && usiw_handle_init() == 0) {
		usiw_offered_ops = usiw_check_start(&usiw_context_ops);
		usiw_library.fn.register_driver(&usiw_device_ops);
	}
}

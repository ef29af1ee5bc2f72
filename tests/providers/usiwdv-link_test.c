/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* libusiw.so finds the provider of a QP, or reports that it belongs to another
 * provider. */
#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/usiwdv.h>

typedef int post_send_fn(struct ibv_qp *qp, struct ibv_send_wr *wr,
			 struct ibv_send_wr **bad);

static int own_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
			 struct ibv_send_wr **bad)
{
	(void)qp;
	*bad = wr;
	return 0;
}

static int attach_with(post_send_fn *post_send)
{
	struct ibv_context context = { 0 };
	struct ibv_qp qp = { .context = &context, .qp_num = 100 };
	struct usiwdv_attach_attr attr = { .size = sizeof(attr),
					   .timeout_ms = 3 };

	context.ops.post_send = post_send;
	errno = 0;
	return usiwdv_qp_attach_fd(&qp, 20, &attr);
}

static void *plugin_open(int more)
{
	return dlopen(getenv("USIW_FAKE_PLUGIN"), RTLD_NOW | more);
}

static post_send_fn *plugin_post_send(void *plugin)
{
	void *post_send = dlsym(plugin, "fake_post_send");

	assert_non_null(post_send);
	return (post_send_fn *)post_send;
}

CASE(calls_the_module_that_posts)
{
	struct ibv_context context = { 0 };
	struct ibv_qp qp = { .context = &context, .qp_num = 100 };
	struct ibv_cq cq = { .context = &context, .cqe = 7 };
	void *plugin = plugin_open(0);

	assert_non_null(plugin);
	context.ops.post_send = plugin_post_send(plugin);
	assert_int_equal(attach_with(context.ops.post_send), 123);
	assert_int_equal(usiwdv_qp_error(&qp), 101);
	assert_int_equal(usiwdv_cq_sleep_begin(&cq), 8);
	usiwdv_cq_sleep_end(&cq);
	assert_int_equal(cq.cqe, 0);
	dlclose(plugin);
}

/* Another thread may call it until the process ends; see usiwdv-link.c. */
CASE(what_was_called_stays_loaded)
{
	void *plugin = plugin_open(0);

	assert_non_null(plugin);
	assert_int_equal(attach_with(plugin_post_send(plugin)), 123);
	dlclose(plugin);
	plugin = plugin_open(RTLD_NOLOAD);
	assert_non_null(plugin);
	dlclose(plugin);
}

CASE(refuses_those_of_others)
{
	/* A module without the symbols, the program itself, and not a
	 * module. */
	post_send_fn *const others[] = {
		(post_send_fn *)dlsym(RTLD_DEFAULT, "strlen"),
		own_post_send,
		NULL,
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct ibv_context context = { .ops.post_send = others[i] };
		struct ibv_qp qp = { .context = &context };
		struct ibv_cq cq = { .context = &context, .cqe = 7 };

		assert_int_equal(attach_with(others[i]), EOPNOTSUPP);
		assert_int_equal(errno, EOPNOTSUPP);
		assert_int_equal(usiwdv_qp_error(&qp), 0);
		errno = 0;
		assert_int_equal(usiwdv_cq_sleep_begin(&cq), -1);
		assert_int_equal(errno, EOPNOTSUPP);
		usiwdv_cq_sleep_end(&cq);
		assert_int_equal(cq.cqe, 7);
	}
}

CASE(refuses_no_qp)
{
	struct usiwdv_attach_attr attr = { .size = sizeof(attr) };

	assert_int_equal(usiwdv_qp_attach_fd(NULL, 0, &attr), EINVAL);
	assert_int_equal(errno, EINVAL);
}

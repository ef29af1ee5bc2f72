/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* libusiw.so finds the provider of a QP, or says that it is another's. */
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

static void calls_the_module_that_posts(void **state)
{
	void *plugin = dlopen(getenv("USIW_FAKE_PLUGIN"), RTLD_NOW);
	void *post_send;

	assert_non_null(plugin);
	post_send = dlsym(plugin, "fake_post_send");
	assert_non_null(post_send);
	assert_int_equal(attach_with((post_send_fn *)post_send), 123);
	dlclose(plugin);
}

static void refuses_qps_of_others(void **state)
{
	/* A module without the symbol, the program, and no module. */
	void *libc = dlsym(RTLD_DEFAULT, "strlen");

	assert_int_equal(attach_with((post_send_fn *)libc), EOPNOTSUPP);
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(attach_with(own_post_send), EOPNOTSUPP);
	assert_int_equal(attach_with(NULL), EOPNOTSUPP);
}

static void refuses_no_qp(void **state)
{
	struct usiwdv_attach_attr attr = { .size = sizeof(attr) };

	assert_int_equal(usiwdv_qp_attach_fd(NULL, 0, &attr), EINVAL);
	assert_int_equal(errno, EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_the_module_that_posts),
		cmocka_unit_test(refuses_qps_of_others),
		cmocka_unit_test(refuses_no_qp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

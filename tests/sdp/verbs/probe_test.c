/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which devices sockets can use, with libibverbs and libusiw played here.  Each
 * case is a process: what was found holds for good.
 */
#include "test.h"

#include <infiniband/verbs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verbs/direct.h"
#include "verbs/sdp-link.h"

static const char *names[3];
static struct ibv_device devices[2], *list[3];
static bool has_symbol;

struct ibv_device **ibv_get_device_list(int *ret_cnt)
{
	int cnt = 0;

	for (; names[cnt]; cnt++)
		list[cnt] = &devices[cnt];
	list[cnt] = NULL;
	if (ret_cnt)
		*ret_cnt = cnt;
	return list;
}

void ibv_free_device_list(struct ibv_device **freed)
{
	assert_ptr_equal(freed, list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return names[device - devices];
}

void *sdp_direct_symbol(const char *name)
{
	assert_string_equal(name, "usiwdv_qp_attach_fd");
	return has_symbol ? &has_symbol : NULL;
}

static bool probe_in_child(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(sdp_verbs_probe());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* A port that is announced has to be one that Hello is taken at. */
static void finds_devices_with_the_direct_verb(void **state)
{
	static const struct {
		const char *names[2];
		bool has_symbol, is_found;
	} cases[] = {
		{ { NULL }, true, false },
		{ { "siw0" }, true, false },
		{ { "mlx5_0", "siw0" }, true, false },
		{ { "usiw_lo" }, true, true },
		{ { "usiw_lo" }, false, false },
		{ { "siw0", "usiw_eth0" }, true, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		names[0] = cases[i].names[0];
		names[1] = cases[i].names[1];
		has_symbol = cases[i].has_symbol;
		assert_int_equal(probe_in_child(), cases[i].is_found);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_devices_with_the_direct_verb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

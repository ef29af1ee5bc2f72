/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which devices sockets can use, with simulated libibverbs and libusiw. Each
 * case is a process, because the result is kept.
 */
#include "test.h"

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verbs/dev/usiwdv.h"
#include "verbs/dev/probe.h"
#include "verbs/way.h"

static const char *names[3];
static struct ibv_device devices[2], *list[3];
static bool has_symbol;

/* The calls made during a fork of this process, in order. */
static char calls[8];
static bool is_loaded;

static void note(char call)
{
	size_t len = strlen(calls);

	assert_true(len + 1 < sizeof(calls));
	calls[len] = call;
}

static void driver_prepare(void)
{
	note('d');
}

static void driver_parent(void)
{
	note('D');
}

static void user_prepare(void)
{
	note('u');
}

static void user_parent(void)
{
	note('U');
}

struct ibv_device **ibv_get_device_list(int *ret_cnt)
{
	int cnt = 0;

	for (; names[cnt]; cnt++)
		list[cnt] = &devices[cnt];
	list[cnt] = NULL;
	if (!is_loaded)
		assert_int_equal(
			pthread_atfork(driver_prepare, driver_parent, NULL), 0);
	is_loaded = true;
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

void *sdp_usiwdv_symbol(const char *name)
{
	assert_string_equal(name, "usiwdv_qp_attach_fd");
	return has_symbol ? &has_symbol : NULL;
}

/* In a program, or in a child of one that has used rdma_cm. */
static enum sdp_way way_in_child(const char *carrier, bool is_forked)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		setenv("USIW_SDP_CARRIER", carrier, 1);
		(void)sdp_verbs_way();
		if (is_forked) {
			sdp_probe_use_cm();
			sdp_probe_fork_child();
		}
		_exit((int)sdp_verbs_way());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return (enum sdp_way)WEXITSTATUS(status);
}

enum kind { NONE, SIW, MLX5, USIW, USIW_CA };

static const struct {
	const char *name;
	enum ibv_transport_type transport;
} kinds[] = {
	[SIW] = { "siw0", IBV_TRANSPORT_IWARP },
	[MLX5] = { "mlx5_0", IBV_TRANSPORT_IB },
	[USIW] = { "usiw_eth0", IBV_TRANSPORT_IWARP },
	[USIW_CA] = { "usiw_eth0", IBV_TRANSPORT_IB }, /* with that persona */
};

/* An announced port must be one where connections can be made. */
CASE(chooses_the_carrier_by_the_devices)
{
	static const struct {
		enum kind devices[2];
		const char *carrier;
		bool has_symbol;
		enum sdp_way way;
	} cases[] = {
		{ { NONE }, "auto", true, SDP_WAY_NONE },
		{ { SIW }, "auto", true, SDP_WAY_CM },
		{ { SIW }, "cm", true, SDP_WAY_CM },
		{ { MLX5 }, "auto", true, SDP_WAY_NONE },
		{ { MLX5 }, "cm", true, SDP_WAY_NONE },
		{ { MLX5, SIW }, "auto", true, SDP_WAY_CM },
		{ { USIW }, "auto", true, SDP_WAY_FD },
		{ { USIW_CA }, "auto", true, SDP_WAY_FD },
		{ { USIW }, "cm", true, SDP_WAY_CM },
		{ { USIW_CA }, "cm", true, SDP_WAY_CM },
		{ { USIW }, "auto", false, SDP_WAY_NONE },
		{ { SIW, USIW }, "auto", true, SDP_WAY_FD },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (size_t d = 0; d < 2; d++) {
			enum kind kind = cases[i].devices[d];

			names[d] = kinds[kind].name;
			devices[d].transport_type = kinds[kind].transport;
		}
		has_symbol = cases[i].has_symbol;
		assert_int_equal(way_in_child(cases[i].carrier, false),
				 cases[i].way);
		/* Objects of its parent do not work in a child. */
		assert_int_equal(way_in_child(cases[i].carrier, true),
				 cases[i].way == SDP_WAY_CM ? SDP_WAY_NONE
							    : cases[i].way);
	}
}

static void fork_and_wait(void)
{
	pid_t pid;

	memset(calls, 0, sizeof(calls));
	pid = fork();
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* A thread that holds a lock of the user may wait for one of the driver. A fork
 * that holds the driver's lock must not wait for the user's. */
CASE(forks_with_the_locks_of_the_user_first)
{
	sdp_verbs_at_fork(user_prepare, user_parent);
	fork_and_wait();
	assert_string_equal(calls, "");
	(void)sdp_verbs_way();
	fork_and_wait();
	assert_string_equal(calls, "udDU");
}

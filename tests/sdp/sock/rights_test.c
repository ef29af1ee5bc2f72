/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Descriptors in control data, also in bad control data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sock/rights.h"

static int found[16];
static size_t found_cnt;
static _Alignas(struct cmsghdr) char control[256];
static struct msghdr message;

static void note(int fd)
{
	assert_true(found_cnt < 16);
	found[found_cnt++] = fd;
}

static int begin(void **state)
{
	(void)state;
	memset(control, 0, sizeof(control));
	message = (struct msghdr){ .msg_control = control };
	found_cnt = 0;
	return 0;
}

/* One more part behind those that are there. */
static struct cmsghdr *part_add(int level, int type, const int *fds, size_t cnt)
{
	struct cmsghdr *part =
		(struct cmsghdr *)(void *)(control + message.msg_controllen);

	part->cmsg_level = level;
	part->cmsg_type = type;
	part->cmsg_len = CMSG_LEN(cnt * sizeof(int));
	memcpy(CMSG_DATA(part), fds, cnt * sizeof(int));
	message.msg_controllen += CMSG_SPACE(cnt * sizeof(int));
	return part;
}

static void finds_all_of_all_parts(void **state)
{
	(void)state;
	part_add(SOL_SOCKET, SCM_RIGHTS, (int[]){ 4, 5, 6 }, 3);
	part_add(SOL_SOCKET, SCM_CREDENTIALS, (int[]){ 1, 2, 3 }, 3);
	part_add(SOL_SOCKET + 1, SCM_RIGHTS, (int[]){ 8 }, 1);
	part_add(SOL_SOCKET, SCM_RIGHTS, (int[]){ 7 }, 1);
	sdp_rights_each(&message, note);
	assert_int_equal(found_cnt, 4);
	assert_memory_equal(found, ((int[]){ 4, 5, 6, 7 }), 4 * sizeof(int));
}

static void finds_none_without_control_data(void **state)
{
	(void)state;
	message.msg_control = NULL;
	sdp_rights_each(&message, note);
	assert_int_equal(found_cnt, 0);
}

static void bad_lengths_end_the_walk(void **state)
{
	static const size_t lengths[] = { 0, 1, CMSG_LEN(0) - 1, 1000,
					  SIZE_MAX };
	struct cmsghdr *part;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		begin(state);
		part_add(SOL_SOCKET, SCM_RIGHTS, (int[]){ 4 }, 1);
		part = part_add(SOL_SOCKET, SCM_RIGHTS, (int[]){ 5 }, 1);
		part->cmsg_len = lengths[i];
		sdp_rights_each(&message, note);
		assert_int_equal(found_cnt, 1);
		assert_int_equal(found[0], 4);
	}
}

static void half_a_descriptor_is_none(void **state)
{
	struct cmsghdr *part;

	(void)state;
	part = part_add(SOL_SOCKET, SCM_RIGHTS, (int[]){ 4, 5 }, 2);
	part->cmsg_len -= 2;
	sdp_rights_each(&message, note);
	assert_int_equal(found_cnt, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(finds_all_of_all_parts, begin),
		cmocka_unit_test_setup(finds_none_without_control_data, begin),
		cmocka_unit_test_setup(bad_lengths_end_the_walk, begin),
		cmocka_unit_test_setup(half_a_descriptor_is_none, begin),
	};

	return cmocka_run_group_tests_name("sdp_sock_rights", tests, NULL,
					   NULL);
}

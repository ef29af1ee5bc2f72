/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The preload library beside the provider: of the same build or of another. */
#include "test.h"

#include <string.h>
#include <unistd.h>

#include "fake-rnic.h"
#include "../../providers/usiw/interface.h"

/* What the provider says on stderr while it is asked. */
static bool asked(const char *interface, char *ret_text, size_t size)
{
	int pipe_fd[2], saved = dup(STDERR_FILENO);
	bool fits;
	ssize_t len;

	memcpy(usiw_interface, interface, sizeof(usiw_interface));
	assert_int_equal(pipe(pipe_fd), 0);
	assert_true(dup2(pipe_fd[1], STDERR_FILENO) >= 0);
	close(pipe_fd[1]);
	fits = usiw_interface_fits();
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
	len = read(pipe_fd[0], ret_text, size - 1);
	close(pipe_fd[0]);
	assert_true(len >= 0);
	ret_text[len] = '\0';
	return fits;
}

static void same_build_fits_without_a_word(void **state)
{
	char text[1024];

	assert_true(asked(USIW_INTERFACE, text, sizeof(text)));
	assert_string_equal(text, "");
}

static void another_build_is_refused_and_told_once(void **state)
{
	struct verbs_sysfs_dev dev = { .ibdev_name = "usiw_lo" };
	char text[1024];

	assert_false(asked("otherone", text, sizeof(text)));
	assert_non_null(strstr(text, "are of two builds of usiw"));
	assert_non_null(strstr(text, "interface_test"));
	assert_false(usiw_device_ops.match_device(&dev));
	assert_false(asked("otherone", text, sizeof(text)));
	assert_string_equal(text, "");
	assert_true(asked(USIW_INTERFACE, text, sizeof(text)));
	assert_true(usiw_device_ops.match_device(&dev));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_build_fits_without_a_word),
		cmocka_unit_test(another_build_is_refused_and_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

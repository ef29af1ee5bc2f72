/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* netif-cache.c: the kernel is queried when something has changed, and only
 * then. */
#define _GNU_SOURCE /* unshare */
#include "os/netif-cache.h"
#include "test.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fd.h"
#include "../netns-fixture.h"

static int asked_cnt, watch_fd;
static bool is_short_of_fds, has_change_while_asking;

int __real_rnic_netif_table_new(struct rnic_netif_table **ret_table);
int __wrap_rnic_netif_table_new(struct rnic_netif_table **ret_table);
int __wrap_rnic_netif_table_new(struct rnic_netif_table **ret_table)
{
	const struct rnic_netif_table *other;
	int rc = __real_rnic_netif_table_new(ret_table);

	asked_cnt++;
	if (has_change_while_asking) {
		has_change_while_asking = false;
		netns_lo_set_up(true);
		/* Another thread reads the message, and drops the table. */
		assert_int_equal(rnic_netif_table_get(&other), 0);
		rnic_netif_table_put(other);
	}
	return rc;
}

int __real_rnic_netif_watch_open(void);
int __wrap_rnic_netif_watch_open(void);
int __wrap_rnic_netif_watch_open(void)
{
	if (is_short_of_fds)
		return -EMFILE;
	watch_fd = __real_rnic_netif_watch_open();
	return watch_fd;
}

static int setup(void **state)
{
	is_short_of_fds = false;
	rnic_netif_cache_drop();
	asked_cnt = 0;
	return 0;
}

/* Return: number of queries of the kernel. */
static int ask(bool *ret_is_up)
{
	const struct rnic_netif_table *table;
	int before = asked_cnt;

	assert_int_equal(rnic_netif_table_get(&table), 0);
	*ret_is_up = rnic_netif_by_index(table, 1)->is_up;
	rnic_netif_table_put(table);
	return asked_cnt - before;
}

static void asks_once(void **state)
{
	bool is_up;

	assert_int_equal(ask(&is_up), 1);
	for (int i = 0; i < 10; i++)
		assert_int_equal(ask(&is_up), 0);
}

static void asks_when_dropped(void **state)
{
	const struct rnic_netif_table *kept, *table;

	assert_int_equal(rnic_netif_table_get(&kept), 0);
	rnic_netif_cache_drop();
	assert_int_equal(rnic_netif_table_get(&table), 0);
	assert_int_equal(asked_cnt, 2);
	/* The former table stays valid for its users. */
	assert_string_equal(kept->netifs[0].name, table->netifs[0].name);
	rnic_netif_table_put(kept);
	rnic_netif_table_put(table);
	rnic_netif_table_put(NULL);
}

/* The application has closed a descriptor of the library. */
static void survives_its_socket(void **state)
{
	bool is_up;

	assert_int_equal(ask(&is_up), 1);
	assert_int_equal(close(watch_fd), 0);
	assert_int_equal(ask(&is_up), 1);
	assert_int_equal(ask(&is_up), 0);
}

static void asks_each_time_without_socket(void **state)
{
	bool is_up;

	assert_int_equal(ask(&is_up), 1);
	assert_int_equal(close(watch_fd), 0);
	is_short_of_fds = true;
	for (int i = 0; i < 3; i++)
		assert_int_equal(ask(&is_up), 1);
	is_short_of_fds = false;
	assert_int_equal(ask(&is_up), 1);
	assert_int_equal(ask(&is_up), 0);
}

static void asks_anew_in_a_child(void **state)
{
	bool is_up;
	int status;
	pid_t pid;

	ask(&is_up);
	pid = fork();
	if (pid == 0)
		_exit(ask(&is_up) == 1 && ask(&is_up) == 0 ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(ask(&is_up), 0);
}

/* ---- changes in a separate network namespace ---- */

static void asks_when_something_changes(void **state)
{
	bool is_up;

	for (int i = 0; i < 6; i++) {
		netns_lo_set_up(i % 2 == 0);
		assert_int_equal(ask(&is_up), 1);
		assert_int_equal(is_up, i % 2 == 0);
		assert_int_equal(ask(&is_up), 0);
	}
}

/* After lost messages the changed interface is not known. */
static void asks_when_messages_were_lost(void **state)
{
	bool is_up;
	int little = 1;

	ask(&is_up);
	assert_int_equal(setsockopt(watch_fd, SOL_SOCKET, SO_RCVBUF, &little,
				    sizeof(little)),
			 0);
	for (int i = 0; i < 20; i++)
		netns_lo_set_up(i % 2 == 0);
	assert_int_equal(ask(&is_up), 1);
	assert_false(is_up);
	assert_int_equal(ask(&is_up), 0);
}

/* The answer may be out of date when it arrives. */
static void discards_an_answer_that_is_out_of_date(void **state)
{
	bool is_up;

	netns_lo_set_up(false);
	ask(&is_up);
	rnic_netif_cache_drop();
	has_change_while_asking = true;
	/* The table of the other thread is kept, and this one is not. */
	assert_int_equal(ask(&is_up), 2);
	assert_false(is_up);
	assert_int_equal(ask(&is_up), 0);
	assert_true(is_up);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(asks_once, setup),
		cmocka_unit_test_setup(asks_when_dropped, setup),
		cmocka_unit_test_setup(survives_its_socket, setup),
		cmocka_unit_test_setup(asks_each_time_without_socket, setup),
		cmocka_unit_test_setup(asks_anew_in_a_child, setup),
	};
	const struct CMUnitTest changes[] = {
		cmocka_unit_test_setup(asks_when_something_changes, setup),
		cmocka_unit_test_setup(asks_when_messages_were_lost, setup),
		cmocka_unit_test_setup(discards_an_answer_that_is_out_of_date,
				       setup),
	};
	/* First of all, because the first query decides which network is
	 * watched. */
	bool is_alone = netns_enter();
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	if (!is_alone)
		return failed;
	return failed + cmocka_run_group_tests(changes, NULL, NULL);
}

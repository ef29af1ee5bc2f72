/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The fd table: numbers at its limits, and a kind never read with the object of
 * another entry. */
#include "test.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "util/fdtab.h"

/* Kinds of an owner. */
enum { PLAIN = 1, OTHER_PLAIN = 0x7f, FILE_A = UTIL_FD_FILE, FILE_B, FILE_C };

static int objects[4];

/* Tables live until exit, so leak checkers must find them. */
static struct util_fdtab *table_new(void)
{
	static struct util_fdtab *tables[16];
	static size_t cnt;

	assert_true(cnt < ARRAY_LEN(tables));
	tables[cnt] = util_fdtab_new();
	assert_non_null(tables[cnt]);
	return tables[cnt++];
}

CASE(returns_none_for_unknown_numbers)
{
	static const int numbers[] = {
		INT_MIN,	 -1,	      0,      1, 1023, 1024,
		UTIL_FD_MAX - 1, UTIL_FD_MAX, INT_MAX
	};
	struct util_fdtab *tab = table_new();
	void *object = &objects[3];

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		assert_int_equal(util_fdtab_lookup(tab, numbers[i], &object),
				 UTIL_FD_NONE);
		assert_int_equal(util_fdtab_remove(tab, numbers[i]),
				 UTIL_FD_NONE);
	}
	/* outputs are set only on success */
	assert_ptr_equal(object, &objects[3]);
}

CASE(returns_what_was_added_until_removed)
{
	static const int numbers[] = { 0, 1023, 1024, UTIL_FD_MAX - 1 };
	struct util_fdtab *tab = table_new();
	void *object;

	for (size_t i = 0; i < 4; i++)
		assert_int_equal(
			util_fdtab_add(tab, numbers[i], FILE_A, &objects[i]),
			0);
	for (size_t i = 0; i < 4; i++) {
		object = NULL;
		assert_int_equal(util_fdtab_lookup(tab, numbers[i], &object),
				 FILE_A);
		assert_ptr_equal(object, &objects[i]);
		assert_int_equal(util_fdtab_lookup(tab, numbers[i], NULL),
				 FILE_A);
		assert_int_equal(util_fdtab_remove(tab, numbers[i]), FILE_A);
		assert_int_equal(util_fdtab_lookup(tab, numbers[i], &object),
				 UTIL_FD_NONE);
	}
}

CASE(refuses_numbers_out_of_range)
{
	struct util_fdtab *tab = table_new();

	assert_int_equal(util_fdtab_add(tab, -1, FILE_A, NULL), -EMFILE);
	assert_int_equal(util_fdtab_add(tab, UTIL_FD_MAX, FILE_A, NULL),
			 -EMFILE);
}

CASE(replaces_a_stale_entry)
{
	struct util_fdtab *tab = table_new();
	void *object = NULL;

	assert_int_equal(util_fdtab_add(tab, 5, FILE_C, &objects[0]), 0);
	assert_int_equal(util_fdtab_add(tab, 5, OTHER_PLAIN, NULL), 0);
	assert_int_equal(util_fdtab_lookup(tab, 5, &object), OTHER_PLAIN);
	assert_null(object);
}

static int each_cnt;

static void each_remove(struct util_fdtab *tab, int fd, unsigned int kind,
			void *object)
{
	assert_int_equal(kind, fd == 3 ? FILE_B : PLAIN);
	assert_ptr_equal(object, fd == 3 ? &objects[0] : NULL);
	assert_int_equal(util_fdtab_remove(tab, fd), kind);
	each_cnt++;
}

CASE(each_visits_all_and_may_remove)
{
	struct util_fdtab *tab = table_new();

	util_fdtab_add(tab, 3, FILE_B, &objects[0]);
	util_fdtab_add(tab, 70000, PLAIN, NULL);
	util_fdtab_each(tab, each_remove);
	assert_int_equal(each_cnt, 2);
	util_fdtab_each(tab, each_remove);
	assert_int_equal(each_cnt, 2);
}

/* One thread replaces kind and object in turn. The other thread must see only
 * pairs that were added. */
static _Atomic int is_done;

static void *replace_pairs(void *tab)
{
	for (int i = 0; i < 200000; i++) {
		util_fdtab_add(tab, 9, FILE_A, &objects[0]);
		util_fdtab_add(tab, 9, FILE_C, &objects[1]);
		util_fdtab_remove(tab, 9);
	}
	atomic_store(&is_done, 1);
	return NULL;
}

CASE(reader_sees_whole_pairs)
{
	struct util_fdtab *tab = table_new();
	unsigned int kind;
	pthread_t thread;
	void *object;

	assert_int_equal(pthread_create(&thread, NULL, replace_pairs, tab), 0);
	while (!atomic_load(&is_done)) {
		object = NULL;
		kind = util_fdtab_lookup(tab, 9, &object);
		if (kind != UTIL_FD_NONE)
			assert_ptr_equal(object, kind == FILE_A ? &objects[0]
								: &objects[1]);
	}
	pthread_join(thread, NULL);
}

struct counted {
	struct util_file file;
	int close_cnt, free_cnt;
};

static void count_close(struct util_file *file)
{
	((struct counted *)file)->close_cnt++;
}

static void count_free(struct util_file *file)
{
	((struct counted *)file)->free_cnt++;
}

CASE(a_file_ends_with_its_last_number_and_user)
{
	struct util_fdtab *tab = table_new();
	struct counted c = { .close_cnt = 0 }, other = { .close_cnt = 0 };

	util_file_init(&c.file, count_close, count_free);
	util_file_init(&other.file, count_close, count_free);
	assert_int_equal(util_fdtab_install(tab, -1, FILE_A, &c.file), -EMFILE);
	assert_int_equal(util_fdtab_install(tab, 7, FILE_A, &c.file), 0);
	assert_int_equal(util_fdtab_install(tab, 8, FILE_A, &c.file), 0);
	util_file_put(&c.file); /* the reference of its maker */
	assert_null(util_fdtab_get(tab, 7, FILE_C));
	assert_null(util_fdtab_get(tab, 9, FILE_A));
	assert_ptr_equal(util_fdtab_get(tab, 8, FILE_A), &c.file);
	assert_int_equal(util_fdtab_uninstall(tab, 7, &other.file),
			 UTIL_FD_NONE);
	assert_int_equal(util_fdtab_uninstall(tab, 7, &c.file), FILE_A);
	assert_int_equal(util_fdtab_uninstall(tab, 7, NULL), UTIL_FD_NONE);
	assert_int_equal(c.close_cnt, 0);
	assert_int_equal(util_fdtab_uninstall(tab, 8, NULL), FILE_A);
	assert_int_equal(c.close_cnt, 1);
	assert_int_equal(c.free_cnt, 0); /* a call is in progress */
	util_file_put(&c.file);
	assert_int_equal(c.free_cnt, 1);
	/* An entry without a file. */
	assert_int_equal(util_fdtab_add(tab, 7, OTHER_PLAIN, NULL), 0);
	assert_int_equal(util_fdtab_uninstall(tab, 7, NULL), OTHER_PLAIN);
}

/* A pin keeps the file when its number stands for another one, and is dropped
 * where it is held. */
CASE(a_pin_outlasts_its_number)
{
	struct util_fdtab *tab = table_new();
	struct counted a = { .close_cnt = 0 }, b = { .close_cnt = 0 };
	struct util_fd_pin pins[3];

	util_file_init(&a.file, count_close, count_free);
	util_file_init(&b.file, count_close, count_free);
	assert_false(util_fdtab_pin(tab, -1, FILE_A, &pins[0]));
	assert_false(util_fdtab_pin(tab, 7, FILE_A, &pins[0]));
	assert_int_equal(util_fdtab_install(tab, 7, FILE_A, &a.file), 0);
	util_file_put(&a.file);
	assert_false(util_fdtab_pin(tab, 7, FILE_C, &pins[0]));
	for (int i = 0; i < 3; i++) {
		assert_true(util_fdtab_pin(tab, 7, FILE_A, &pins[i]));
		assert_ptr_equal(pins[i].file, &a.file);
	}
	util_fdtab_unpin(&pins[0]);
	assert_int_equal(util_fdtab_uninstall(tab, 7, NULL), FILE_A);
	assert_int_equal(a.close_cnt, 1);
	assert_int_equal(util_fdtab_install(tab, 7, FILE_A, &b.file), 0);
	util_file_put(&b.file);
	util_fdtab_unpin(&pins[1]);
	assert_int_equal(a.free_cnt, 0);
	util_fdtab_unpin(&pins[2]);
	assert_int_equal(a.free_cnt, 1);
	assert_int_equal(util_fdtab_uninstall(tab, 7, NULL), FILE_A);
	assert_int_equal(b.free_cnt, 1);
}

#define PIN_TURNS 20000

static struct util_fdtab *pin_table;
static _Atomic bool pin_is_over;
static _Atomic int made_cnt, freed_cnt;

static void made_free(struct util_file *file)
{
	freed_cnt++;
	/* TSan and ASan see who uses it now. */
	free(file);
}

static void made_close(struct util_file *file)
{
	assert_int_equal(file->fd_cnt, 0);
}

static void *pinner(void *arg)
{
	struct util_fd_pin pin;

	(void)arg;
	while (!pin_is_over) {
		if (!util_fdtab_pin(pin_table, 5, FILE_A, &pin))
			continue;
		assert_true(pin.file->free == made_free);
		util_fdtab_unpin(&pin);
	}
	return NULL;
}

CASE(threads_pin_what_another_one_replaces)
{
	pthread_t threads[2];
	struct util_file *file;

	pin_table = table_new();
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, pinner, NULL), 0);
	for (int i = 0; i < PIN_TURNS; i++) {
		file = malloc(sizeof(*file));
		assert_non_null(file);
		util_file_init(file, made_close, made_free);
		made_cnt++;
		assert_int_equal(util_fdtab_install(pin_table, 5, FILE_A, file),
				 0);
		util_file_put(file);
		assert_int_equal(util_fdtab_uninstall(pin_table, 5, NULL),
				 FILE_A);
	}
	pin_is_over = true;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(freed_cnt, made_cnt);
}

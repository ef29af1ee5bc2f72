/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See shadow.h. */
#include "shadow.h"

#include <pthread.h>
#include <stdlib.h>

#include "taken.h"

#define BUCKET_CNT 1024
#define GONE_CNT 512

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct usiw_check_objects by_ptr[BUCKET_CNT], by_num[BUCKET_CNT];

static struct gone {
	const struct ibv_context *context;
	uint32_t lkey;
	struct usiw_check_stack stack;
} gone[GONE_CNT];
static size_t gone_idx;

void usiw_check_lock(void)
{
	usiw_check_inside(1);
	pthread_mutex_lock(&lock);
}

void usiw_check_unlock(void)
{
	pthread_mutex_unlock(&lock);
	usiw_check_inside(-1);
}

void usiw_check_shadow_forget(void)
{
	for (size_t i = 0; i < BUCKET_CNT; i++) {
		LIST_INIT(&by_ptr[i]);
		LIST_INIT(&by_num[i]);
	}
	/* A thread that the child does not have may have held it. */
	pthread_mutex_init(&lock, NULL);
}

static struct usiw_check_objects *ptr_bucket(const void *ptr)
{
	return &by_ptr[((uintptr_t)ptr >> 4 ^ (uintptr_t)ptr >> 14) %
		       BUCKET_CNT];
}

static struct usiw_check_objects *num_bucket(uint32_t num)
{
	return &by_num[(num ^ num >> 8) % BUCKET_CNT];
}

void usiw_check_put(struct usiw_check_object *obj)
{
	LIST_INSERT_HEAD(ptr_bucket(obj->ptr), obj, by_ptr);
	LIST_INSERT_HEAD(num_bucket(obj->num), obj, by_num);
	obj->is_there = true;
}

void usiw_check_remove(struct usiw_check_object *obj)
{
	LIST_REMOVE(obj, by_ptr);
	LIST_REMOVE(obj, by_num);
	obj->is_there = false;
}

void usiw_check_renumber(struct usiw_check_object *obj, uint32_t num)
{
	usiw_check_remove(obj);
	obj->num = num;
	usiw_check_put(obj);
}

void *usiw_check_add(enum usiw_check_kind kind, size_t size, const void *ptr,
		     const struct ibv_context *context, uint32_t num)
{
	struct usiw_check_object *obj = calloc(1, size);

	if (!obj)
		return NULL;
	obj->kind = kind;
	obj->ptr = ptr;
	obj->context = context;
	obj->num = num;
	usiw_check_stack_take(&obj->made);
	usiw_check_put(obj);
	return obj;
}

void *usiw_check_find(enum usiw_check_kind kind, const void *ptr)
{
	struct usiw_check_object *obj;

	LIST_FOREACH(obj, ptr_bucket(ptr), by_ptr)
	if (obj->ptr == ptr && obj->kind == kind)
		return obj;
	return NULL;
}

void *usiw_check_find_num(enum usiw_check_kind kind,
			  const struct ibv_context *context, uint32_t num)
{
	struct usiw_check_object *obj;

	LIST_FOREACH(obj, num_bucket(num), by_num)
	if (obj->num == num && obj->kind == kind &&
	    (!context || obj->context == context))
		return obj;
	return NULL;
}

void *usiw_check_begin_end(enum usiw_check_kind kind, const void *ptr)
{
	struct usiw_check_object *obj;

	usiw_check_lock();
	obj = usiw_check_find(kind, ptr);
	if (obj)
		usiw_check_remove(obj);
	usiw_check_unlock();
	return obj;
}

void usiw_check_end(struct usiw_check_object *obj, int err)
{
	if (!obj)
		return;
	if (!err) {
		free(obj);
		return;
	}
	usiw_check_lock();
	usiw_check_put(obj);
	usiw_check_unlock();
}

void usiw_check_each(void (*fn)(struct usiw_check_object *obj))
{
	struct usiw_check_object *obj;

	for (size_t i = 0; i < BUCKET_CNT; i++)
		LIST_FOREACH(obj, &by_ptr[i], by_ptr)
	fn(obj);
}

void usiw_check_mr_gone(const struct usiw_check_mr *mr,
			const struct usiw_check_stack *stack)
{
	gone[gone_idx++ % GONE_CNT] = (struct gone){
		.context = mr->obj.context,
		.lkey = mr->obj.num,
		.stack = *stack,
	};
}

const struct usiw_check_stack *
usiw_check_mr_find_gone(const struct ibv_context *context, uint32_t lkey)
{
	for (size_t i = 0; i < GONE_CNT; i++)
		if (gone[i].context == context && gone[i].lkey == lkey)
			return &gone[i].stack;
	return NULL;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See threads.h. */
#include "threads.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "must.h"

int threads_left = INT_MAX;

static int running_cnt;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

struct run {
	void *(*fn)(void *arg);
	void *arg;
};

static void running_add(int cnt)
{
	pthread_mutex_lock(&mutex);
	running_cnt += cnt;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static void *run_main(void *arg)
{
	struct run run = *(struct run *)arg;

	free(arg);
	run.fn(run.arg);
	running_add(-1);
	return NULL;
}

int __real_util_thread_run(void *(*fn)(void *arg), void *arg, size_t size);
int __wrap_util_thread_run(void *(*fn)(void *arg), void *arg, size_t size);

int __wrap_util_thread_run(void *(*fn)(void *arg), void *arg, size_t size)
{
	struct run *run;

	if (threads_left == 0)
		return -EAGAIN;
	threads_left--;
	run = malloc(sizeof(*run));
	must(run);
	*run = (struct run){ fn, arg };
	running_add(1);
	return __real_util_thread_run(run_main, run, size);
}

void threads_wait(void)
{
	pthread_mutex_lock(&mutex);
	while (running_cnt > 0)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
}

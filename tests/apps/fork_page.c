/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * After ibv_fork_init() a child uses data that shares pages with regions of its
 * parent, and the regions themselves, which are copies there.
 */
#define _GNU_SOURCE
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "needs.h"

#define PAGE_CNT 8

static size_t page;
static char *memory;

/* In a child: writes to each page.  Return: its exit status. */
static int child_writes(void)
{
	pid_t pid = fork();
	int status;

	NEEDS(pid >= 0);
	if (pid == 0) {
		for (size_t i = 0; i < PAGE_CNT; i++)
			memory[i * page + 8]++;
		_exit(0);
	}
	NEEDS(waitpid(pid, &status, 0) == pid);
	return status;
}

int main(void)
{
	struct ibv_context *context;
	struct ibv_device **list;
	struct ibv_mr *whole, *part;
	struct ibv_pd *pd;

	page = (size_t)sysconf(_SC_PAGESIZE);
	memory = mmap(NULL, PAGE_CNT * page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEEDS(memory != MAP_FAILED);
	NEEDS(ibv_fork_init() == 0);
	list = ibv_get_device_list(NULL);
	NEEDS(list && list[0]);
	context = ibv_open_device(list[0]);
	NEEDS(context);
	pd = ibv_alloc_pd(context);
	NEEDS(pd);
	whole = ibv_reg_mr(pd, memory, 2 * page, IBV_ACCESS_LOCAL_WRITE);
	part = ibv_reg_mr(pd, memory + 3 * page + page / 2, page,
			  IBV_ACCESS_LOCAL_WRITE);
	NEEDS(whole && part);
	NEEDS(child_writes() == 0);
	NEEDS(ibv_rereg_mr(part, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
			   memory + 5 * page + page / 2, page, 0) == 0);
	NEEDS(child_writes() == 0);
	NEEDS(ibv_dereg_mr(whole) == 0 && ibv_dereg_mr(part) == 0);
	NEEDS(child_writes() == 0);
	NEEDS(memory[8] == 0);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fork_exec CMD...: uses verbs and rdma_cm, then runs CMD in a child, as a
 * launcher of MPI ranks does. Exit code: that of CMD.
 */
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static char memory[8192];

/* Makes threads, descriptors and mappings. */
static int use_verbs(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct ibv_comp_channel *comp;
	int cnt = 0;
	struct ibv_context **list = rdma_get_devices(&cnt);
	struct rdma_cm_id *id;
	struct ibv_pd *pd;

	if (!channel || !list || cnt == 0)
		return -1;
	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		return -1;
	comp = ibv_create_comp_channel(list[0]);
	pd = ibv_alloc_pd(list[0]);
	if (!comp || !pd || !ibv_create_cq(list[0], 16, NULL, comp, 0))
		return -1;
	return ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE)
		       ? 0
		       : -1;
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc < 2)
		return 2;
	if (use_verbs()) {
		perror("fork_exec: verbs");
		return 2;
	}
	pid = fork();
	if (pid == 0) {
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 2;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * No octet lands after ibv_dereg_mr() has returned, wherever the peer is held:
 * at an instruction of its post (ptrace), in a page fault of its source
 * (userfaultfd), stopped in the middle of a long Write (SIGSTOP). The target
 * deregisters then, uses the memory for something else, and lets the peer go
 * on. Runs alone under `usiw run`; the peer is its child.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "endpoint.h"

#define LEN ((size_t)1 << 20)
#define PAGE 4096u
#define SHORT_LEN 256u
/* More FPDUs than a connection needs to leave TCP. */
#define WARM_CNT 50
/* Instructions of a post, and between two places where it is held. */
#define STEPS_MAX 4000
#define STEPS_GAP 401

enum how { STEP, PAGE_FAULT, STOP };

/* What both processes see. */
static struct shared {
	struct where where;
	char port[8];
	enum how how;
	_Atomic int turn; /* of the peer: 1: it waits for go; 2: it has ended */
	_Atomic int go;
	_Atomic int is_faulting;
} *shared;

static int shared_fd;

static void await(_Atomic int *word, int value)
{
	time_t end = time(NULL) + 60;

	while (atomic_load(word) != value)
		NEEDS(time(NULL) < end);
}

static struct ibv_wc take(struct ibv_cq *cq)
{
	time_t end = time(NULL) + 60;
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) == 0)
		NEEDS(time(NULL) < end);
	return wc;
}

/* ---- the peer ------------------------------------------------------------ */

static struct rdma_cm_id *id;
static uint8_t *source;
static struct ibv_mr *source_mr;
static int fault_fd = -1;

static void post(enum ibv_wr_opcode opcode, size_t off, size_t len)
{
	struct ibv_sge sge = { (uintptr_t)source + off, (uint32_t)len,
			       source_mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = len > 0,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
	};

	wr.wr.rdma.remote_addr = shared->where.addr;
	wr.wr.rdma.rkey = shared->where.rkey;
	NEEDS(ibv_post_send(id->qp, &wr, &bad) == 0);
}

/* The page comes when the target has deregistered. */
static void *fault_thread(void *arg)
{
	static uint8_t page[PAGE];
	struct uffd_msg msg;

	(void)arg;
	memset(page, 0x42, sizeof(page));
	if (read(fault_fd, &msg, sizeof(msg)) == (ssize_t)sizeof(msg)) {
		struct uffdio_copy copy = {
			.dst = (uintptr_t)source + LEN - PAGE,
			.src = (uintptr_t)page,
			.len = PAGE,
		};

		atomic_store(&shared->is_faulting, 1);
		await(&shared->go, 2);
		ioctl(fault_fd, UFFDIO_COPY, &copy);
	}
	return NULL;
}

/* The last page of the source is not there. */
static void fault_begin(pthread_t *ret_thread)
{
	struct uffdio_register range = {
		.range = { (uintptr_t)source + LEN - PAGE, PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	NEEDS(madvise(source + LEN - PAGE, PAGE, MADV_DONTNEED) == 0);
	NEEDS(ioctl(fault_fd, UFFDIO_REGISTER, &range) == 0);
	NEEDS(pthread_create(ret_thread, NULL, fault_thread, NULL) == 0);
}

static void peer_run(void)
{
	struct ibv_qp_init_attr attr = endpoint_attr(16, 16);
	bool is_fault = shared->how == PAGE_FAULT;
	pthread_t thread;

	id = endpoint(shared->port, &attr);
	NEEDS(rdma_connect(id, NULL) == 0);
	source = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEEDS(source != MAP_FAILED);
	memset(source, 0x42, LEN);
	source_mr = rdma_reg_msgs(id, source, LEN);
	NEEDS(source_mr);
	for (int i = 0; i < WARM_CNT; i++) {
		post(IBV_WR_RDMA_WRITE, 0, SHORT_LEN);
		NEEDS(take(id->send_cq).status == IBV_WC_SUCCESS);
	}
	if (is_fault)
		fault_begin(&thread);
	atomic_store(&shared->turn, 1);
	while (!atomic_load(&shared->go))
		continue;
	if (shared->how == STOP)
		post(IBV_WR_RDMA_WRITE, 0, LEN);
	else
		post(IBV_WR_RDMA_WRITE, LEN - SHORT_LEN, SHORT_LEN);
	/* It comes behind the Write, or is flushed. */
	post(IBV_WR_SEND, 0, 0);
	take(id->send_cq);
	take(id->send_cq);
	if (is_fault)
		pthread_join(thread, NULL);
	atomic_store(&shared->turn, 2);
	pause();
}

/* Return: false: this user may not wait for faults of the kernel. */
static bool fault_open(void)
{
	struct uffdio_api api = { .api = UFFD_API };

	fault_fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	return fault_fd >= 0 && ioctl(fault_fd, UFFDIO_API, &api) == 0;
}

static pid_t peer_start(enum how how)
{
	char fd[16];
	pid_t pid;

	atomic_store(&shared->turn, 0);
	atomic_store(&shared->go, 0);
	atomic_store(&shared->is_faulting, 0);
	shared->how = how;
	snprintf(fd, sizeof(fd), "%d", shared_fd);
	pid = fork();
	NEEDS(pid >= 0);
	if (pid == 0) {
		execl("/proc/self/exe", "late-write", fd, NULL);
		_exit(1);
	}
	return pid;
}

/* ---- the target ---------------------------------------------------------- */

struct target {
	struct rdma_cm_id *listener, *id;
	struct ibv_mr *mr;
	uint8_t *buf;
};

static void hold_at_step(pid_t pid, int steps)
{
	int status;

	NEEDS(ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0);
	NEEDS(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0);
	NEEDS(waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status));
	atomic_store(&shared->go, 1);
	for (int i = 0; i < steps; i++) {
		NEEDS(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0);
		NEEDS(waitpid(pid, &status, __WALL) == pid &&
		      WIFSTOPPED(status));
	}
}

/* As soon as octets come. */
static void hold_in_write(const struct target *t, pid_t pid, int round)
{
	const volatile uint8_t *octet = t->buf + (size_t)round * LEN / 8;

	atomic_store(&shared->go, 1);
	while (*octet != 0x42)
		continue;
	NEEDS(kill(pid, SIGSTOP) == 0);
}

static void let_go(pid_t pid)
{
	switch (shared->how) {
	case STEP:
		NEEDS(ptrace(PTRACE_DETACH, pid, NULL, NULL) == 0);
		break;
	case PAGE_FAULT:
		atomic_store(&shared->go, 2);
		break;
	case STOP:
		NEEDS(kill(pid, SIGCONT) == 0);
		break;
	}
}

static void target_accept(struct target *t)
{
	struct ibv_qp_init_attr attr = endpoint_attr(16, 16);
	struct ibv_recv_wr wr = { .num_sge = 0 }, *bad;

	NEEDS(rdma_get_request(t->listener, &t->id) == 0);
	NEEDS(rdma_create_qp(t->id, NULL, &attr) == 0);
	NEEDS(ibv_post_recv(t->id->qp, &wr, &bad) == 0);
	t->mr = rdma_reg_write(t->id, t->buf, LEN);
	NEEDS(t->mr);
	/* The peer writes as soon as it is accepted. */
	shared->where = (struct where){ (uintptr_t)t->buf, t->mr->rkey };
	NEEDS(rdma_accept(t->id, NULL) == 0);
}

static void is_untouched(const struct target *t, int n)
{
	for (size_t i = 0; i < LEN; i++) {
		if (t->buf[i] == 0xee)
			continue;
		printf("FAILED %s %d: octet %zu changed after ibv_dereg_mr()\n",
		       (const char *[]){ "step", "fault", "stop" }[shared->how],
		       n, i);
		exit(1);
	}
}

static void hold(const struct target *t, pid_t pid, int n)
{
	switch (shared->how) {
	case STEP:
		hold_at_step(pid, n);
		break;
	case PAGE_FAULT:
		atomic_store(&shared->go, 1);
		await(&shared->is_faulting, 1);
		break;
	case STOP:
		hold_in_write(t, pid, n);
		break;
	}
}

static void try_at(struct target *t, enum how how, int n)
{
	pid_t pid = peer_start(how);

	memset(t->buf, 0, LEN);
	target_accept(t);
	await(&shared->turn, 1);
	hold(t, pid, n);
	NEEDS(ibv_dereg_mr(t->mr) == 0);
	memset(t->buf, 0xee, LEN);
	let_go(pid);
	take(t->id->recv_cq);
	await(&shared->turn, 2);
	is_untouched(t, n);
	kill(pid, SIGKILL);
	NEEDS(waitpid(pid, NULL, 0) == pid);
	rdma_destroy_ep(t->id);
}

static void *shared_map(void)
{
	void *mem = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED, shared_fd, 0);

	NEEDS(mem != MAP_FAILED);
	return mem;
}

int main(int argc, char **argv)
{
	struct target t;

	if (argc > 1) {
		shared_fd = atoi(argv[1]);
		shared = shared_map();
		if (shared->how == PAGE_FAULT)
			NEEDS(fault_open());
		peer_run();
	}
	shared_fd = memfd_create("late-write", 0);
	NEEDS(shared_fd >= 0 && ftruncate(shared_fd, sizeof(*shared)) == 0);
	shared = shared_map();
	t.buf = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEEDS(t.buf != MAP_FAILED);
	t.listener = endpoint_listen(8, shared->port);
	for (int steps = 0; steps < STEPS_MAX; steps += STEPS_GAP)
		try_at(&t, STEP, steps);
	for (int round = 0; round < 8; round += 2)
		try_at(&t, STOP, round);
	if (fault_open())
		try_at(&t, PAGE_FAULT, 0);
	else
		printf("skipped page-fault: userfaultfd(2): %s\n",
		       strerror(errno));
	return 0;
}

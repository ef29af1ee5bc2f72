/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a hundred hostile peers of one host cost an honest one: its messages are
 * answered all the time, and each answer takes the server a registration and a
 * deregistration. The others pass sockets whose close() takes long, write to
 * the memory that they share with the server, are stopped, or killed. Runs
 * alone under `usiw run`; all of them are its children.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "endpoint.h"

#define HOSTILE_CNT 25 /* connections of each of them */
#define MESSAGE 64
#define RECV_CNT 1024
/* More FPDUs than a connection needs to leave TCP. */
#define WARM_CNT 40
#define LINGER_S 20
/* A machine beside other load has its own delays. */
#define STEP_LIMIT_MS 5000
#define LIMIT_S 60

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* ---- the server ---------------------------------------------------------- */

static struct {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct ibv_comp_channel *comp;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	uint8_t memory[RECV_CNT * MESSAGE];
	uint8_t scratch[4096];
	struct rdma_cm_id *ids[8 * HOSTILE_CNT];
	uint32_t id_cnt;
} server;

static void server_post(uint64_t slot)
{
	struct ibv_sge sge = { (uintptr_t)server.memory + slot * MESSAGE,
			       MESSAGE, server.mr->lkey };
	struct ibv_recv_wr *bad,
		wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 };

	NEEDS(ibv_post_srq_recv(server.srq, &wr, &bad) == 0);
}

static void server_open(struct ibv_context *verbs)
{
	struct ibv_srq_init_attr attr = { .attr = { RECV_CNT, 1, 0 } };

	server.pd = ibv_alloc_pd(verbs);
	server.comp = ibv_create_comp_channel(verbs);
	NEEDS(server.pd && server.comp);
	server.cq = ibv_create_cq(verbs, 8192, NULL, server.comp, 0);
	server.srq = ibv_create_srq(server.pd, &attr);
	server.mr = ibv_reg_mr(server.pd, server.memory, sizeof(server.memory),
			       IBV_ACCESS_LOCAL_WRITE);
	NEEDS(server.cq && server.srq && server.mr);
	for (uint64_t i = 0; i < RECV_CNT; i++)
		server_post(i);
	NEEDS(ibv_req_notify_cq(server.cq, 0) == 0);
}

static void server_accept(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = endpoint_attr(128, 0);

	if (!server.pd)
		server_open(id->verbs);
	attr.send_cq = server.cq;
	attr.recv_cq = server.cq;
	attr.srq = server.srq;
	attr.cap.max_inline_data = MESSAGE;
	NEEDS(server.id_cnt < sizeof(server.ids) / sizeof(server.ids[0]));
	NEEDS(rdma_create_qp(id, server.pd, &attr) == 0);
	if (rdma_accept(id, NULL) == 0)
		server.ids[server.id_cnt++] = id;
}

static void server_event(void)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;

	if (rdma_get_cm_event(server.channel, &event) != 0)
		return;
	type = event->event;
	id = event->id;
	rdma_ack_cm_event(event);
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		server_accept(id);
	else if (type == RDMA_CM_EVENT_DISCONNECTED)
		rdma_destroy_qp(id);
}

static void server_answer(const struct ibv_wc *wc)
{
	struct ibv_sge sge = { (uintptr_t)server.scratch, MESSAGE, 0 };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_INLINE };
	struct ibv_mr *mr = ibv_reg_mr(server.pd, server.scratch,
				       sizeof(server.scratch), 0);

	NEEDS(mr && ibv_dereg_mr(mr) == 0);
	for (uint32_t i = 0; i < server.id_cnt; i++) {
		struct ibv_qp *qp = server.ids[i]->qp;

		/* It fails where the peer has ended. */
		if (qp && qp->qp_num == wc->qp_num)
			(void)ibv_post_send(qp, &wr, &bad);
	}
}

static void server_completions(void)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	NEEDS(ibv_get_cq_event(server.comp, &cq, &context) == 0);
	ibv_ack_cq_events(cq, 1);
	NEEDS(ibv_req_notify_cq(cq, 0) == 0);
	while (ibv_poll_cq(cq, 1, &wc) > 0) {
		if (!(wc.opcode & IBV_WC_RECV))
			continue;
		if (wc.status == IBV_WC_SUCCESS)
			server_answer(&wc);
		server_post(wc.wr_id);
	}
}

static void server_run(const char *port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons((uint16_t)atoi(port)) };

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server.channel = rdma_create_event_channel();
	NEEDS(server.channel);
	NEEDS(!rdma_create_id(server.channel, &server.listener, NULL,
			      RDMA_PS_TCP));
	NEEDS(!rdma_bind_addr(server.listener, (struct sockaddr *)&addr));
	NEEDS(!rdma_listen(server.listener, 128));
	printf("%u\n", ntohs(rdma_get_src_port(server.listener)));
	fflush(stdout);
	for (;;) {
		struct pollfd fds[2] = {
			{ .fd = server.channel->fd, .events = POLLIN },
			{ .fd = server.comp ? server.comp->fd : -1,
			  .events = POLLIN },
		};

		NEEDS(poll(fds, 2, -1) > 0 || errno == EINTR);
		if (fds[0].revents)
			server_event();
		if (fds[1].revents)
			server_completions();
	}
}

/* ---- clients ------------------------------------------------------------- */

struct client {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	uint8_t in[MESSAGE], out[MESSAGE];
};

static void client_open(struct client *c, const char *port)
{
	struct ibv_qp_init_attr attr = endpoint_attr(64, 4);

	c->id = endpoint(port, &attr);
	NEEDS(rdma_connect(c->id, NULL) == 0);
	c->mr = rdma_reg_msgs(c->id, c, sizeof(*c));
	NEEDS(c->mr);
}

static void completion_take(struct ibv_cq *cq)
{
	uint64_t end_ms = now_ms() + LIMIT_S * 1000;
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) == 0)
		NEEDS(now_ms() < end_ms);
	NEEDS(wc.status == IBV_WC_SUCCESS);
}

static void client_ask(struct client *c)
{
	NEEDS(!rdma_post_recv(c->id, NULL, c->in, MESSAGE, c->mr));
	NEEDS(!rdma_post_send(c->id, NULL, c->out, MESSAGE, c->mr, 0));
	completion_take(c->id->recv_cq);
	completion_take(c->id->send_cq);
}

static _Atomic int is_over;

static void on_term(int number)
{
	(void)number;
	atomic_store(&is_over, 1);
}

/* Until it is told to end.  Exit code 1: it had to wait. */
static void honest_run(const char *port)
{
	static struct client c;
	uint64_t worst_ms = 0, cnt = 0;

	signal(SIGTERM, on_term);
	client_open(&c, port);
	while (!atomic_load(&is_over)) {
		uint64_t begin_ms = now_ms();

		client_ask(&c);
		if (now_ms() - begin_ms > worst_ms)
			worst_ms = now_ms() - begin_ms;
		cnt++;
	}
	printf("honest: %llu answers, the longest took %llu ms\n",
	       (unsigned long long)cnt, (unsigned long long)worst_ms);
	fflush(stdout);
	_exit(cnt < WARM_CNT || worst_ms > STEP_LIMIT_MS);
}

/* A socket whose close() waits for a peer that does not read. */
static int lingering(void)
{
	static const uint8_t octets[65536];
	const struct linger linger = { 1, LINGER_S };
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	NEEDS(!bind(listener, (struct sockaddr *)&addr, len));
	NEEDS(!listen(listener, 1));
	NEEDS(!getsockname(listener, (struct sockaddr *)&addr, &len));
	NEEDS(!connect(fd, (struct sockaddr *)&addr, len));
	NEEDS(!setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	while (send(fd, octets, sizeof(octets), MSG_DONTWAIT) > 0)
		continue;
	return fd;
}

static void pass(int to, int fd)
{
	union {
		struct cmsghdr hdr;
		uint8_t room[CMSG_SPACE(sizeof(int))];
	} control = { .room = { 0 } };
	struct iovec iov = { (void *)(uintptr_t)"x", 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control.room) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	(void)!sendmsg(to, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Sockets that usiw has with the server. */
static void pass_to_server(void)
{
	struct rlimit files;

	NEEDS(!getrlimit(RLIMIT_NOFILE, &files));
	for (int fd = 3; fd < (int)files.rlim_cur && fd < 65536; fd++) {
		struct ucred cred;
		int domain = 0;
		socklen_t len = sizeof(domain);

		if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 ||
		    domain != AF_UNIX)
			continue;
		len = sizeof(cred);
		if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) &&
		    cred.pid > 0 && cred.pid != getpid()) {
			int what = lingering();

			pass(fd, what);
			close(what);
		}
	}
}

/* The library may unmap the memory meanwhile: then nothing is written. */
static void scribble(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	unsigned long begin, end;
	uint64_t page[512];
	char line[512];

	NEEDS(maps && mem >= 0);
	while (fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "usiw-local") ||
		    sscanf(line, "%lx-%lx", &begin, &end) != 2)
			continue;
		for (unsigned long at = begin; at < end; at += sizeof(page)) {
			for (int i = 0; i < 512; i++)
				page[i] = (uint64_t)random() << 32 |
					  (uint64_t)random();
			(void)!pwrite(mem, page, sizeof(page), (off_t)at);
		}
	}
	close(mem);
	fclose(maps);
}

/* @turn: what it does when its connections have left TCP. */
static void hostile_run(const char *port, int turn)
{
	static struct client clients[HOSTILE_CNT];
	char go[4];

	for (int i = 0; i < HOSTILE_CNT; i++) {
		client_open(&clients[i], port);
		for (int k = 0; k < WARM_CNT; k++)
			client_ask(&clients[i]);
	}
	for (int i = 0; i < HOSTILE_CNT; i++)
		for (int k = 0; k < 20; k++)
			(void)rdma_post_send(clients[i].id, NULL,
					     clients[i].out, MESSAGE,
					     clients[i].mr, 0);
	printf("ready\n");
	fflush(stdout);
	NEEDS(fgets(go, sizeof(go), stdin));
	switch (turn) {
	case 0:
		pass_to_server();
		break;
	case 1:
		scribble();
		break;
	case 2:
		raise(SIGSTOP);
		break;
	default:
		raise(SIGKILL);
	}
	printf("done\n");
	fflush(stdout);
	pause();
}

/* ---- all of them --------------------------------------------------------- */

struct role {
	pid_t pid;
	FILE *input, *output;
};

static struct role start(const char *role, const char *port, const char *turn)
{
	struct role r;
	int in[2], out[2];

	NEEDS(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	r.pid = fork();
	NEEDS(r.pid >= 0);
	if (r.pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl("/proc/self/exe", "hostile", role, port, turn, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	r.input = fdopen(in[1], "w");
	r.output = fdopen(out[0], "r");
	NEEDS(r.input && r.output);
	return r;
}

static void end(const struct role *r)
{
	kill(r->pid, SIGKILL);
	NEEDS(waitpid(r->pid, NULL, 0) == r->pid);
}

static int all_run(void)
{
	static const char *const turns[] = { "0", "1", "2", "3" };
	struct role serving = start("server", "0", ""), honest, hostile[4];
	char port[16], line[128];
	int status;

	NEEDS(fgets(port, sizeof(port), serving.output));
	port[strcspn(port, "\n")] = '\0';
	honest = start("honest", port, "");
	for (int i = 0; i < 4; i++)
		hostile[i] = start("hostile", port, turns[i]);
	for (int i = 0; i < 4; i++)
		NEEDS(fgets(line, sizeof(line), hostile[i].output));
	for (int i = 0; i < 4; i++) {
		fputs("go\n", hostile[i].input);
		fflush(hostile[i].input);
		/* One is stopped, and one is killed: these do not answer. */
		if (i < 2)
			NEEDS(fgets(line, sizeof(line), hostile[i].output));
		/* What it has done takes effect, and its end does. */
		sleep(1);
		end(&hostile[i]);
	}
	NEEDS(kill(honest.pid, SIGTERM) == 0);
	while (fgets(line, sizeof(line), honest.output))
		fputs(line, stdout);
	NEEDS(waitpid(honest.pid, &status, 0) == honest.pid);
	end(&serving);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return all_run();
	alarm(LIMIT_S);
	if (!strcmp(argv[1], "server"))
		server_run(argv[2]);
	else if (!strcmp(argv[1], "honest"))
		honest_run(argv[2]);
	else
		hostile_run(argv[2], atoi(argv[3]));
	return 1;
}

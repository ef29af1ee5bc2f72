/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A process with a live connection forks; its child outlives it.
 *
 *	fork_stream -s PORT	wait for the peer's end, say so, exit 0
 *	fork_stream -d PORT	the same, as a daemon once it listens
 *	fork_stream -w PORT	the same, in a child of a process that has used
 *				rdma_cm
 *	fork_stream -p PORT	a daemon that waits by poll() before it asks for
 *				its first event
 *	fork_stream -e PORT	the same by epoll
 *	fork_stream -l PORT	the same; it has made the channel before it
 *				became a daemon, and listens after
 *	fork_stream -c PORT	connect, fork; parent and child wait for ever
 *
 * The child first checks that inherited objects do not work, and that verbs
 * work on new objects.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

static char message[64];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void endpoint(struct rdma_cm_id **id, const char *port, int is_server)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP };
	struct ibv_qp_init_attr attr = { .sq_sig_all = 1 };
	struct rdma_addrinfo *res;

	hints.ai_flags = is_server ? RAI_PASSIVE : 0;
	attr.cap.max_send_wr = attr.cap.max_recv_wr = 4;
	attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
	if (rdma_getaddrinfo("127.0.0.1", port, &hints, &res))
		die("rdma_getaddrinfo");
	if (rdma_create_ep(id, res, NULL, &attr))
		die("rdma_create_ep");
	rdma_freeaddrinfo(res);
}

/* The child inherits librdmacm's objects: the device and its domain. */
static void use_and_fork(void)
{
	struct rdma_cm_id *id;
	int status;
	pid_t pid;

	endpoint(&id, "0", 1);
	rdma_destroy_ep(id);
	endpoint(&id, "0", 1);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0)
		return;
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128);
}

static int serve(const char *port, char mode)
{
	struct rdma_cm_id *listener, *id;
	struct rdma_cm_event *event;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	if (mode == 'w')
		use_and_fork();
	endpoint(&listener, port, 1);
	if (rdma_listen(listener, 0))
		die("rdma_listen");
	if (mode == 'd' && daemon(1, 1))
		die("daemon");
	if (rdma_get_request(listener, &id))
		die("rdma_get_request");
	mr = rdma_reg_msgs(id, message, sizeof(message));
	if (!mr)
		die("rdma_reg_msgs");
	for (int i = 0; i < 2; i++) {
		if (rdma_post_recv(id, NULL, message, sizeof(message), mr))
			die("rdma_post_recv");
	}
	if (rdma_accept(id, NULL))
		die("rdma_accept");
	if (rdma_get_recv_comp(id, &wc) != 1 || wc.status != IBV_WC_SUCCESS)
		die("first receive");
	printf("received\n");
	fflush(stdout);
	/* The second receive is flushed when the peer has ended. */
	if (rdma_get_recv_comp(id, &wc) != 1)
		die("second receive");
	printf("flushed %d\n", wc.status);
	if (rdma_get_cm_event(id->channel, &event))
		die("rdma_get_cm_event");
	printf("gone %s\n", rdma_event_str(event->event));
	return wc.status == IBV_WC_WR_FLUSH_ERR &&
			       event->event == RDMA_CM_EVENT_DISCONNECTED
		       ? 0
		       : 2;
}

/* ---- a daemon that waits for events like an event loop ---- */

struct loop {
	struct rdma_event_channel *chan;
	struct rdma_cm_id *listener;
	int set; /* -1: poll() */
};

static void loop_listen(struct loop *loop, const char *port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons((uint16_t)atoi(port)) };

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (rdma_create_id(loop->chan, &loop->listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(loop->listener, (struct sockaddr *)&addr) ||
	    rdma_listen(loop->listener, 0))
		die("listen");
}

static void loop_begin(struct loop *loop, const char *port, char mode)
{
	struct epoll_event ev = { .events = EPOLLIN };

	loop->set = -1;
	loop->chan = rdma_create_event_channel();
	if (!loop->chan || fcntl(loop->chan->fd, F_SETFL, O_NONBLOCK) < 0)
		die("rdma_create_event_channel");
	if (mode != 'l')
		loop_listen(loop, port);
	if (daemon(1, 1))
		die("daemon");
	if (mode != 'p') {
		loop->set = epoll_create1(0);
		if (loop->set < 0 || epoll_ctl(loop->set, EPOLL_CTL_ADD,
					       loop->chan->fd, &ev) < 0)
			die("epoll");
	}
	if (mode == 'l')
		loop_listen(loop, port);
}

static struct rdma_cm_id *loop_expect(const struct loop *loop,
				      enum rdma_cm_event_type type)
{
	struct pollfd pfd = { .fd = loop->chan->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	struct epoll_event ev;
	struct rdma_cm_id *id;
	int ret;

	do {
		if (loop->set < 0 ? poll(&pfd, 1, -1) < 0
				  : epoll_wait(loop->set, &ev, 1, -1) < 0)
			die("wait");
		ret = rdma_get_cm_event(loop->chan, &event);
	} while (ret && errno == EAGAIN);
	if (ret)
		die("rdma_get_cm_event");
	if (event->event != type) {
		printf("event %s\n", rdma_event_str(event->event));
		exit(2);
	}
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static int serve_loop(const char *port, char mode)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct loop loop;

	attr.cap.max_send_wr = attr.cap.max_recv_wr = 4;
	attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
	loop_begin(&loop, port, mode);
	id = loop_expect(&loop, RDMA_CM_EVENT_CONNECT_REQUEST);
	if (rdma_create_qp(id, NULL, &attr))
		die("rdma_create_qp");
	mr = rdma_reg_msgs(id, message, sizeof(message));
	if (!mr || rdma_post_recv(id, NULL, message, sizeof(message), mr) ||
	    rdma_accept(id, NULL))
		die("accept");
	(void)loop_expect(&loop, RDMA_CM_EVENT_ESTABLISHED);
	(void)loop_expect(&loop, RDMA_CM_EVENT_DISCONNECTED);
	printf("gone %s\n", rdma_event_str(RDMA_CM_EVENT_DISCONNECTED));
	return 0;
}

/* ---- a child beside its parent ---- */

/* Inherited objects must refuse work and can be destroyed, without a crash. */
static void child_checks(struct rdma_cm_id *id, struct ibv_mr *mr)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_context **list;
	struct ibv_mr *again;
	struct ibv_wc wc;
	int cnt = 0;

	printf("post %d\n", ibv_post_send(id->qp, &wr, &bad) != 0);
	printf("poll %d\n", ibv_poll_cq(id->send_cq, 1, &wc) <= 0);
	/* The context and the domain are replaced in the child. */
	again = ibv_reg_mr(id->pd, message, 8, 0);
	printf("reg %d\n", again && ibv_dereg_mr(again) == 0);
	printf("disconnect %d\n", rdma_disconnect(id) != 0);
	(void)ibv_dereg_mr(mr);
	list = rdma_get_devices(&cnt);
	printf("devices %d\n", list != NULL && cnt > 0);
}

static void child_fresh(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;
	struct ibv_mr *mr;
	struct ibv_pd *pd;

	if (!list || !list[0])
		die("ibv_get_device_list");
	ctx = ibv_open_device(list[0]);
	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	mr = pd ? ibv_reg_mr(pd, message, sizeof(message),
			     IBV_ACCESS_LOCAL_WRITE)
		: NULL;
	printf("fresh %d\n", mr != NULL && ibv_dereg_mr(mr) == 0 &&
				     ibv_dealloc_pd(pd) == 0 &&
				     ibv_close_device(ctx) == 0);
}

static _Noreturn void connect_and_fork(const char *port)
{
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	pid_t pid;

	endpoint(&id, port, 0);
	mr = rdma_reg_msgs(id, message, sizeof(message));
	if (!mr)
		die("rdma_reg_msgs");
	if (rdma_connect(id, NULL))
		die("rdma_connect");
	if (rdma_post_send(id, NULL, message, sizeof(message), mr, 0))
		die("rdma_post_send");
	if (rdma_get_send_comp(id, &wc) != 1 || wc.status != IBV_WC_SUCCESS)
		die("send");
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		child_checks(id, mr);
		child_fresh();
		printf("child %d\n", getpid());
		fflush(stdout);
	}
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	if (argc == 3 && strlen(argv[1]) == 2 && strchr("sdw", argv[1][1]))
		return serve(argv[2], argv[1][1]);
	if (argc == 3 && strlen(argv[1]) == 2 && strchr("pel", argv[1][1]))
		return serve_loop(argv[2], argv[1][1]);
	if (argc == 3 && strcmp(argv[1], "-c") == 0)
		connect_and_fork(argv[2]);
	fprintf(stderr, "usage: fork_stream -s|-d|-w|-p|-e|-l|-c PORT\n");
	return 2;
}

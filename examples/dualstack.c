/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dualstack.c - text lines first, then verbs, on one TCP connection.
 *
 * The example has two processes.  The client asks in plain text whether the
 * server supports RDMA.  The server's last line confirms it.  From then on the
 * same connection is an RDMA stream: the client sends a message, and the server
 * sends it back.
 *
 *	cc dualstack.c $(pkg-config --cflags --libs libusiw)
 *	usiw run -- ./a.out
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/usiwdv.h>

#define DEVICE "usiw_lo"
#define MESSAGE_MAX 64

struct end {
	const char *name;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char buf[2][MESSAGE_MAX]; /* to send, received */
};

static void die(const char *who, const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", who, what, strerror(errno));
	exit(1);
}

/* ---- text --------------------------------------------------------------- */

static void line_send(int fd, const char *line)
{
	if (send(fd, line, strlen(line), MSG_NOSIGNAL) != (ssize_t)strlen(line))
		die("text", "send");
}

/*
 * Reads one line and no octet beyond it.  MPA follows the last line, so a
 * reader that reads ahead, like stdio, cannot be used.
 */
static void line_receive(int fd, char *line, size_t size)
{
	size_t len = 0;

	do {
		if (len + 1 >= size || recv(fd, line + len, 1, 0) != 1)
			die("text", "receive");
	} while (line[len++] != '\n');
	line[len] = '\0';
}

/* ---- verbs -------------------------------------------------------------- */

static void end_open(struct end *e, const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 4,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	e->name = name;
	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), DEVICE))
			e->context = ibv_open_device(list[i]);
	if (!e->context)
		die(name, DEVICE " (start me by: usiw run --)");
	ibv_free_device_list(list);
	e->pd = ibv_alloc_pd(e->context);
	e->cq = ibv_create_cq(e->context, 8, NULL, NULL, 0);
	if (!e->pd || !e->cq)
		die(name, "PD and CQ");
	e->mr = ibv_reg_mr(e->pd, e->buf, sizeof(e->buf),
			   IBV_ACCESS_LOCAL_WRITE);
	attr.send_cq = e->cq;
	attr.recv_cq = e->cq;
	e->qp = ibv_create_qp(e->pd, &attr);
	if (!e->mr || !e->qp)
		die(name, "MR and QP");
}

static void end_close(struct end *e)
{
	if (ibv_destroy_qp(e->qp) || ibv_dereg_mr(e->mr) ||
	    ibv_destroy_cq(e->cq) || ibv_dealloc_pd(e->pd) ||
	    ibv_close_device(e->context))
		die(e->name, "close");
}

static struct ibv_sge end_sge(struct end *e, int which)
{
	return (struct ibv_sge){ .addr = (uintptr_t)e->buf[which],
				 .length = MESSAGE_MAX,
				 .lkey = e->mr->lkey };
}

/* Call it before the switch, so that no message arrives before its receive. */
static void end_post_recv(struct end *e)
{
	struct ibv_sge sge = end_sge(e, 1);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(e->qp, &wr, &bad))
		die(e->name, "ibv_post_recv");
}

static void end_send(struct end *e, const char *text)
{
	struct ibv_sge sge = end_sge(e, 0);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge,
				  .num_sge = 1 },
			   *bad;

	snprintf(e->buf[0], MESSAGE_MAX, "%s", text);
	if (ibv_post_send(e->qp, &wr, &bad))
		die(e->name, "ibv_post_send");
}

/* Waits for a completion of @kind, and skips those of the other kind. */
static void end_wait(struct end *e, enum ibv_wc_opcode kind)
{
	struct ibv_wc wc;
	int cnt;

	do {
		while ((cnt = ibv_poll_cq(e->cq, 1, &wc)) == 0)
			;
		if (cnt < 0)
			die(e->name, "ibv_poll_cq");
		if (wc.status != IBV_WC_SUCCESS) {
			fprintf(stderr, "%s: %s\n", e->name,
				ibv_wc_status_str(wc.status));
			exit(1);
		}
	} while (wc.opcode != kind);
}

static void end_switch(struct end *e, int fd, struct usiwdv_attach_attr *attr)
{
	struct usiwdv_attach_result result;

	attr->size = sizeof(*attr);
	attr->result = &result;
	if (usiwdv_qp_attach_fd(e->qp, fd, attr))
		die(e->name, "usiwdv_qp_attach_fd");
	close(fd); /* usiw has its own descriptor of the socket */
	printf("%s: RDMA, MPA revision %u, CRC %s\n", e->name, result.mpa_rev,
	       result.has_crc ? "on" : "off");
}

/* ---- client and server --------------------------------------------------- */

static int server(int fd)
{
	static const char last[] = "200 switching to RDMA\n";
	struct usiwdv_attach_attr attr = { .role = USIWDV_RESPONDER,
					   .last_msg = last,
					   .last_msg_len = sizeof(last) - 1 };
	char line[MESSAGE_MAX];
	struct end e = { 0 };

	line_receive(fd, line, sizeof(line));
	printf("server: the client says %s", line);
	line_send(fd, "100 yes\n");
	line_receive(fd, line, sizeof(line));
	end_open(&e, "server");
	end_post_recv(&e);
	/* The call sends the last line, because MPA follows it. */
	end_switch(&e, fd, &attr);
	end_wait(&e, IBV_WC_RECV);
	printf("server: got \"%s\"\n", e.buf[1]);
	end_send(&e, e.buf[1]);
	end_wait(&e, IBV_WC_SEND);
	end_close(&e);
	return 0;
}

static int client(int fd)
{
	struct usiwdv_attach_attr attr = { .role = USIWDV_INITIATOR };
	char line[MESSAGE_MAX];
	struct end e = { 0 };

	line_send(fd, "do you speak RDMA?\n");
	line_receive(fd, line, sizeof(line));
	printf("client: the server says %s", line);
	line_send(fd, "switch\n");
	line_receive(fd, line, sizeof(line)); /* the last line */
	printf("client: the server says %s", line);
	end_open(&e, "client");
	end_post_recv(&e);
	end_switch(&e, fd, &attr);
	end_send(&e, "hello by verbs");
	end_wait(&e, IBV_WC_RECV);
	printf("client: got \"%s\"\n", e.buf[1]);
	end_close(&e);
	return strcmp(e.buf[1], "hello by verbs") != 0;
}

int main(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int fd, status = 0, rc;
	pid_t child;

	setvbuf(stdout, NULL, _IOLBF, 0);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (listener < 0 ||
	    bind(listener, (struct sockaddr *)&addr, sizeof(addr)) ||
	    listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&addr, &len))
		die("main", "listen");
	child = fork();
	if (child < 0)
		die("main", "fork");
	if (child == 0) {
		fd = accept(listener, NULL, NULL);
		if (fd < 0)
			die("server", "accept");
		close(listener);
		return server(fd);
	}
	close(listener);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		die("client", "connect");
	rc = client(fd);
	if (waitpid(child, &status, 0) != child || status)
		rc = 1;
	return rc;
}

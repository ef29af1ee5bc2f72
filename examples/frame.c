/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * frame.c - the protocol engine of libsiw-mpa over a socketpair.
 *
 * The two ends of an RDMAP stream are in one thread.  The Initiator sends a
 *line as an RDMA Send, and the Responder sends it back in capitals.  The
 *example shows all duties of an owner: lend staging memory, move octets between
 *the engine and the socket, and answer each event.
 *
 *	cc frame.c $(pkg-config --cflags --libs libsiw-mpa)
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <siw-mpa.h>

#define MESSAGE_MAX 256

struct end {
	const char *name;
	int fd;
	struct smpa_conn *conn;
	void *rx, *tx;		   /* staging, lent to conn */
	char message[MESSAGE_MAX]; /* where a Send of the peer goes */
	char reply[MESSAGE_MAX];
	struct iovec iov; /* of the message being sent; valid until SENT */
	bool is_responder, is_done;
};

static void die(const char *what, int ret)
{
	fprintf(stderr, "frame: %s: %s\n", what, strerror(-ret));
	exit(1);
}

static void end_open(struct end *e, const char *name, int fd,
		     enum smpa_role role)
{
	struct smpa_options opt = SMPA_OPTIONS_INIT;
	int ret;

	e->name = name;
	e->fd = fd;
	e->is_responder = role == SMPA_RESPONDER;
	opt.role = role;
	ret = smpa_conn_new(&e->conn, &opt);
	if (ret < 0)
		die("smpa_conn_new", ret);
	/* Lent while the connection is open.  An owner of many connections
	 * takes it back when a connection is idle. */
	e->rx = malloc(SMPA_RX_STAGING_MIN);
	e->tx = aligned_alloc(16, SMPA_TX_STAGING_MIN);
	if (!e->rx || !e->tx)
		die("staging", -ENOMEM);
	ret = smpa_conn_rx_lend(e->conn, e->rx, SMPA_RX_STAGING_MIN);
	if (ret == 0)
		ret = smpa_conn_tx_lend(e->conn, e->tx, SMPA_TX_STAGING_MIN);
	if (ret == 0) /* queues the MPA Request, or waits for it */
		ret = smpa_conn_start(e->conn, NULL, 0);
	if (ret < 0)
		die("start", ret);
}

static void end_send(struct end *e, char *text)
{
	struct smpa_msg msg = { .opcode = SMPA_OP_SEND,
				.iov = &e->iov,
				.iovcnt = 1 };
	int ret;

	e->iov.iov_base = text;
	e->iov.iov_len = strlen(text);
	msg.len = (uint32_t)e->iov.iov_len;
	ret = smpa_conn_submit(e->conn, &msg);
	if (ret < 0)
		die("smpa_conn_submit", ret);
}

/* Gives memory for the payload of a segment, or refuses the segment. */
static void end_place(struct end *e, const struct smpa_event *ev)
{
	struct iovec sink = { e->message, ev->seg.len };

	if (ev->seg.is_tagged) { /* this example registers no memory */
		smpa_conn_refuse(e->conn, SMPA_FAULT(1, 1, 0));
		return;
	}
	if (ev->seg.mo >= MESSAGE_MAX ||
	    ev->seg.len >= MESSAGE_MAX - ev->seg.mo) {
		smpa_conn_refuse(e->conn, SMPA_FAULT(1, 2, 5)); /* too long */
		return;
	}
	sink.iov_base = e->message + ev->seg.mo;
	smpa_conn_sink(e->conn, &sink, 1);
}

static void end_event(struct end *e, const struct smpa_event *ev)
{
	switch (ev->type) {
	case SMPA_EV_REQUEST: /* Responder: may read private data here */
		smpa_conn_accept(e->conn, NULL, 0, 0, 0);
		break;
	case SMPA_EV_ESTABLISHED:
		printf("%s: revision %u, CRC %s\n", e->name, ev->start.rev,
		       ev->start.has_crc ? "on" : "off");
		if (!e->is_responder)
			end_send(e, strcpy(e->reply, "hello, world"));
		break;
	case SMPA_EV_SEGMENT:
		end_place(e, ev);
		break;
	case SMPA_EV_MESSAGE:
		e->message[ev->msg.len] = '\0';
		printf("%s: got \"%s\"\n", e->name, e->message);
		e->is_done = true;
		if (!e->is_responder)
			break;
		for (size_t i = 0; i <= ev->msg.len; i++)
			e->reply[i] =
				(char)toupper((unsigned char)e->message[i]);
		end_send(e, e->reply);
		break;
	case SMPA_EV_SENT: /* e->reply may be used again */
		break;
	case SMPA_EV_FAULT:
		fprintf(stderr, "%s: %s\n", e->name,
			smpa_fault_str(ev->fault.fault));
		exit(1);
	default: /* no reads, no atomics, no rejection in this example */
		fprintf(stderr, "%s: event %d\n", e->name, (int)ev->type);
		exit(1);
	}
}

/* One pass: sends pending octets, receives octets and handles events. */
static void end_pass(struct end *e)
{
	struct iovec in[SMPA_IOV_MAX + 1];
	const struct iovec *out;
	struct smpa_event ev;
	ssize_t len;
	int cnt;

	while ((cnt = smpa_conn_tx_prepare(e->conn, &out)) > 0) {
		len = writev(e->fd, out, cnt);
		if (len < 0)
			die("writev", -errno);
		smpa_conn_tx_commit(e->conn, (size_t)len);
	}
	cnt = smpa_conn_rx_prepare(e->conn, in, SMPA_IOV_MAX + 1);
	len = cnt > 0 ? readv(e->fd, in, cnt) : -1;
	if (len > 0)
		smpa_conn_rx_commit(e->conn, (size_t)len);
	else if (cnt > 0 && (len == 0 || errno != EAGAIN))
		die("readv", len == 0 ? -ECONNRESET : -errno);
	while (smpa_conn_next_event(e->conn, &ev))
		end_event(e, &ev);
}

static void end_close(struct end *e)
{
	smpa_conn_free(e->conn);
	free(e->rx); /* lent memory still belongs to the owner */
	free(e->tx);
	close(e->fd);
}

int main(void)
{
	struct end a = { 0 }, b = { 0 };
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) < 0)
		die("socketpair", -errno);
	end_open(&a, "initiator", fds[0], SMPA_INITIATOR);
	end_open(&b, "responder", fds[1], SMPA_RESPONDER);
	while (!a.is_done) {
		end_pass(&a);
		end_pass(&b);
	}
	end_close(&a);
	end_close(&b);
	return strcmp(a.message, "HELLO, WORLD") != 0;
}

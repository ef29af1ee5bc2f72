/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The order of events over all identities of a channel.  Two processes connect
 * again and again.  Each step of one is begun by an event of the other, so
 * there is one right order.
 *
 * order WHO CNT: connection k is made while k - 1 stands.  "nobody": all stay.
 * "client": then the client disconnects k - 1.  "server": the server
 * disconnects k - 1 before it accepts k.
 */
#include "rdmacm.h"

#include <sys/wait.h>

enum who { NOBODY, CLIENT, SERVER };
static const char *const who_words[] = { "nobody", "client", "server" };

static struct rdma_event_channel *chan;
static struct rdma_cm_id *listener;
/* An event that came before the one that was its turn. */
static struct rdma_cm_event *early;
static int wrong_cnt;

static struct rdma_cm_event *event_next(void)
{
	struct rdma_cm_event *event;

	MUST(rdma_get_cm_event(chan, &event) == 0);
	while (event->event == RDMA_CM_EVENT_TIMEWAIT_EXIT) {
		rdma_ack_cm_event(event);
		MUST(rdma_get_cm_event(chan, &event) == 0);
	}
	return event;
}

/* @id: NULL: a new one.  Return: the identity. */
static struct rdma_cm_id *take(struct rdma_cm_id *id,
			       enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = early ? early : event_next();

	early = NULL;
	if (event->event != type) {
		early = event;
		event = event_next();
		if (wrong_cnt++ == 0)
			fprintf(stderr, "%s before %s\n",
				rdma_event_str(early->event),
				rdma_event_str(event->event));
	}
	MUST(event->event == type && (!id || event->id == id));
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static void leave(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	MUST(rdma_destroy_id(id) == 0);
}

static void end(struct rdma_cm_id *id, bool is_ours)
{
	if (is_ours)
		MUST(rdma_disconnect(id) == 0);
	take(id, RDMA_CM_EVENT_DISCONNECTED);
	leave(id);
}

static int serve(enum who who, int cnt)
{
	struct rdma_conn_param param = { 0 };
	struct rdma_cm_id *id, *last = NULL;

	for (int i = 0; i < cnt; i++) {
		id = take(NULL, RDMA_CM_EVENT_CONNECT_REQUEST);
		qp_new(id);
		if (last && who == SERVER)
			end(last, true);
		MUST(rdma_accept(id, &param) == 0);
		take(id, RDMA_CM_EVENT_ESTABLISHED);
		if (last && who == CLIENT)
			end(last, false);
		last = id;
	}
	if (who != NOBODY)
		end(last, false);
	return wrong_cnt;
}

static int dial(enum who who, int cnt, uint16_t port_be)
{
	struct rdma_cm_id *id, *last = NULL;

	for (int i = 0; i < cnt; i++) {
		id = id_new(chan, NULL);
		id_route(id, "127.0.0.1", port_be);
		qp_new(id);
		id_connect(id, NULL, 0);
		if (last && who == SERVER)
			end(last, false);
		take(id, RDMA_CM_EVENT_ESTABLISHED);
		if (last && who == CLIENT)
			end(last, true);
		last = id;
	}
	if (who != NOBODY)
		end(last, true);
	return wrong_cnt;
}

int main(int argc, char **argv)
{
	int cnt = argc == 3 ? atoi(argv[2]) : 0, pipes[2], status, wrong;
	enum who who = NOBODY;
	uint16_t port_be;
	pid_t pid;

	MUST(cnt > 0 && pipe(pipes) == 0);
	while (strcmp(argv[1], who_words[who]) != 0)
		MUST(++who <= SERVER);
	pid = fork();
	MUST(pid >= 0);
	chan = rdma_create_event_channel();
	MUST(chan);
	if (pid == 0) {
		MUST(read(pipes[0], &port_be, 2) == 2);
		wrong = dial(who, cnt, port_be);
		printf("client: %d of %d in the wrong order\n", wrong, cnt);
		return wrong != 0;
	}
	listener = listener_new(chan, "127.0.0.1", &port_be);
	MUST(write(pipes[1], &port_be, 2) == 2);
	wrong = serve(who, cnt);
	MUST(waitpid(pid, &status, 0) == pid);
	printf("server: %d of %d in the wrong order\n", wrong, cnt);
	return wrong != 0 || status != 0;
}

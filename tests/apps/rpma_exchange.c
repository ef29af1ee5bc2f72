/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* rpma_exchange server|client ADDRESS PORT: the client writes to the server's
 * memory by librpma, flushes, reads it back and compares; the server compares
 * what is in its memory at the end. (verbs_library_test.py) */
#include <librpma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK ((size_t)1 << 16)
#define BLOCKS 16
#define SIZE (BLOCK * BLOCKS)

static struct rpma_peer *peer;
static struct rpma_mr_local *local;
static unsigned char *memory;

static void must(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "%s: %s\n", what, rpma_err_2str(error));
	exit(1);
}

static unsigned char octet(size_t at)
{
	return (unsigned char)(at * 7 + at / BLOCK + 1);
}

static void compare(const unsigned char *octets)
{
	for (size_t at = 0; at < SIZE; at++)
		if (octets[at] != octet(at)) {
			fprintf(stderr, "octet %zu differs\n", at);
			exit(1);
		}
}

static void start(const char *address, enum rpma_util_ibv_context_type type,
		  size_t size, int usage)
{
	struct ibv_context *context;

	must(rpma_utils_get_ibv_context(address, type, &context), "context");
	must(rpma_peer_new(context, &peer), "peer");
	memory = aligned_alloc(BLOCK, size);
	if (!memory)
		exit(1);
	memset(memory, 0, size);
	must(rpma_mr_reg(peer, memory, size, usage, &local), "region");
}

static void expect(struct rpma_conn *conn, enum rpma_conn_event wanted)
{
	enum rpma_conn_event event;

	must(rpma_conn_next_event(conn, &event), "event");
	if (event != wanted) {
		fprintf(stderr, "event: %s\n",
			rpma_utils_conn_event_2str(event));
		exit(1);
	}
}

static void complete(struct rpma_conn *conn)
{
	struct rpma_cq *cq;
	struct ibv_wc wc;

	must(rpma_conn_get_cq(conn, &cq), "CQ");
	must(rpma_cq_wait(cq), "wait");
	must(rpma_cq_get_wc(cq, 1, &wc, NULL), "completion");
	if (wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "status %d\n", wc.status);
		exit(1);
	}
}

static void serve(const char *address, const char *port)
{
	struct rpma_conn_private_data data;
	struct rpma_conn_req *request;
	struct rpma_conn *conn;
	struct rpma_ep *endpoint;
	char descriptor[64];
	size_t length;

	start(address, RPMA_UTIL_IBV_CONTEXT_LOCAL, SIZE,
	      RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_READ_SRC |
		      RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY);
	must(rpma_mr_get_descriptor_size(local, &length), "size");
	must(rpma_mr_get_descriptor(local, descriptor), "descriptor");
	data.ptr = descriptor;
	data.len = (uint8_t)length;
	must(rpma_ep_listen(peer, address, port, &endpoint), "listen");
	must(rpma_ep_next_conn_req(endpoint, NULL, &request), "request");
	must(rpma_conn_req_connect(&request, &data, &conn), "accept");
	expect(conn, RPMA_CONN_ESTABLISHED);
	expect(conn, RPMA_CONN_CLOSED);
	compare(memory);
	must(rpma_conn_disconnect(conn), "disconnect");
	must(rpma_conn_delete(&conn), "delete");
	must(rpma_ep_shutdown(&endpoint), "shutdown");
}

static void request(const char *address, const char *port)
{
	struct rpma_conn_private_data data;
	struct rpma_conn_req *request;
	struct rpma_mr_remote *remote;
	struct rpma_conn *conn;

	start(address, RPMA_UTIL_IBV_CONTEXT_REMOTE, 2 * SIZE,
	      RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_READ_DST);
	for (size_t at = 0; at < SIZE; at++)
		memory[at] = octet(at);
	must(rpma_conn_req_new(peer, address, port, NULL, &request), "request");
	must(rpma_conn_req_connect(&request, NULL, &conn), "connect");
	expect(conn, RPMA_CONN_ESTABLISHED);
	must(rpma_conn_get_private_data(conn, &data), "private data");
	must(rpma_mr_remote_from_descriptor(data.ptr, data.len, &remote),
	     "remote region");
	for (size_t at = 0; at < SIZE; at += BLOCK) {
		must(rpma_write(conn, remote, at, local, at, BLOCK,
				RPMA_F_COMPLETION_ALWAYS, NULL),
		     "write");
		complete(conn);
	}
	must(rpma_flush(conn, remote, 0, SIZE, RPMA_FLUSH_TYPE_VISIBILITY,
			RPMA_F_COMPLETION_ALWAYS, NULL),
	     "flush");
	complete(conn);
	must(rpma_read(conn, local, SIZE, remote, 0, SIZE,
		       RPMA_F_COMPLETION_ALWAYS, NULL),
	     "read");
	complete(conn);
	compare(memory + SIZE);
	must(rpma_conn_disconnect(conn), "disconnect");
	expect(conn, RPMA_CONN_CLOSED);
	must(rpma_mr_remote_delete(&remote), "remote region");
	must(rpma_conn_delete(&conn), "delete");
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	if (!strcmp(argv[1], "server"))
		serve(argv[2], argv[3]);
	else
		request(argv[2], argv[3]);
	must(rpma_mr_dereg(&local), "deregister");
	must(rpma_peer_delete(&peer), "peer");
	free(memory);
	puts("good");
	return 0;
}

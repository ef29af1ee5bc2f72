/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Commands of the rdma_cm file. The input is a series of records (command,
 * kind, lengths, octets), written to two files.
 *
 * An address that usiw writes to is replaced by a scratch buffer or by one of
 * the bad addresses, so an input alone cannot cause a crash. The kind can also
 * select values that differ in each process, so that connections can be made:
 * the port of the last listener, or a queue pair.
 */
#include "../kernel-abi/ucm-direct.h"
#include "fuzz.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RECORD_HEAD 6
#define RECORDS_MAX 64
#define PAYLOAD_MAX 1024
#define QP_CNT 2
/* Maximum time that a pending event may take. */
#define EVENT_MS 5

/* Bits of a record's kind. The lowest two select the destination of the
 * answer. */
enum {
	KIND_EDGE = 1 << 2, /* ... the scratch buffer: only 4 octets of it */
	KIND_CUT = 1 << 3,  /* the end of the command is not accessible */
	/* Addresses are the last listener's. MIGRATE: from a file that is not
	 * usiw's. */
	KIND_PEER = 1 << 4,
	/* Numbers are a QP's, and events are awaited. MIGRATE: from a file that
	 * is not open. */
	KIND_QP = 1 << 5,
	KIND_FILE = 1 << 6, /* the second file */
	KIND_FROM = 1 << 7, /* MIGRATE: from the second file; otherwise: QP */
};

struct record {
	uint8_t cmd, kind;
	uint16_t in, out;
};

enum { KIND_SCRATCH, KIND_NULL, KIND_UNMAPPED, KIND_TOP, KIND_CNT };

static uint16_t listen_port_be;
static struct rnic_qp *qps[QP_CNT];
static uint8_t *edge; /* memory from here on is not accessible */

/* Offset of the answer's address in the command; -1: none. */
static int response_offset(uint8_t cmd)
{
	switch (cmd) {
	case RDMA_USER_CM_CMD_CREATE_ID:
		return offsetof(struct rdma_ucm_create_id, response);
	case RDMA_USER_CM_CMD_DESTROY_ID:
	case RDMA_USER_CM_CMD_BIND_IP:
	case RDMA_USER_CM_CMD_QUERY_ROUTE:
	case RDMA_USER_CM_CMD_INIT_QP_ATTR:
	case RDMA_USER_CM_CMD_GET_EVENT:
	case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
	case RDMA_USER_CM_CMD_LEAVE_MCAST:
	case RDMA_USER_CM_CMD_MIGRATE_ID:
	case RDMA_USER_CM_CMD_QUERY:
	case RDMA_USER_CM_CMD_JOIN_MCAST:
		return 0;
	default:
		return -1;
	}
}

static uint64_t pointer_of(uint8_t kind)
{
	static uint8_t scratch[PAYLOAD_MAX];

	switch (kind % KIND_CNT) {
	case KIND_NULL:
		return 0;
	case KIND_UNMAPPED:
		return UINT64_C(0xdead000000000000);
	case KIND_TOP:
		return UINT64_MAX - 3;
	default:
		return (uintptr_t)(kind & KIND_EDGE ? edge - 4 : scratch);
	}
}

/* ---- what is this process's own ---- */

static void world_open(void)
{
	struct rnic_qp_options opt = { .max_send_wr = 1,
				       .max_recv_wr = 1,
				       .max_send_sge = 1,
				       .max_recv_sge = 1 };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct rnic_context *ctx;
	struct rnic_pd *pd;
	struct rnic_cq *cq;

	if (edge)
		return;
	must(!rnic_context_open(rnic_device_by_name("usiw_lo"), &ctx));
	must(!rnic_pd_alloc(ctx, &pd));
	must(!rnic_cq_create(ctx, 16, NULL, 0, NULL, &cq));
	opt.send_cq = opt.recv_cq = cq;
	for (int i = 0; i < QP_CNT; i++)
		must(!rnic_qp_create(pd, &opt, &qps[i]));
	edge = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(edge != MAP_FAILED);
	edge += page;
	must(!mprotect(edge, page, PROT_NONE));
}

static void qps_reset(void)
{
	for (int i = 0; i < QP_CNT; i++) {
		if (rnic_qp_state(qps[i]) == RNIC_QPS_IDLE)
			continue;
		must(!rnic_qp_modify(qps[i], RNIC_QPS_ERROR));
		must(!rnic_qp_modify(qps[i], RNIC_QPS_IDLE));
	}
}

static void put(uint8_t *cmd, size_t len, size_t offset, const void *value,
		size_t size)
{
	if (offset + size <= len)
		memcpy(cmd + offset, value, size);
}

static void put_peer(uint8_t cmd_nr, uint8_t *cmd, size_t len)
{
	const struct sockaddr_in in = {
		.sin_family = AF_INET,
		.sin_port = listen_port_be,
		.sin_addr = { htonl(INADDR_LOOPBACK) },
	};

	if (cmd_nr == RDMA_USER_CM_CMD_RESOLVE_IP)
		put(cmd, len, offsetof(struct rdma_ucm_resolve_ip, dst_addr),
		    &in, sizeof(in));
	if (cmd_nr == RDMA_USER_CM_CMD_RESOLVE_ADDR)
		put(cmd, len, offsetof(struct rdma_ucm_resolve_addr, dst_addr),
		    &in, sizeof(in));
	if (cmd_nr == RDMA_USER_CM_CMD_BIND_IP)
		put(cmd, len, offsetof(struct rdma_ucm_bind_ip, addr), &in,
		    sizeof(in));
}

static void put_qp(uint8_t cmd_nr, uint8_t *cmd, size_t len, bool is_second)
{
	uint32_t num = rnic_qp_num(qps[is_second]);

	if (cmd_nr == RDMA_USER_CM_CMD_CONNECT)
		put(cmd, len,
		    offsetof(struct rdma_ucm_connect, conn_param.qp_num), &num,
		    sizeof(num));
	if (cmd_nr == RDMA_USER_CM_CMD_ACCEPT)
		put(cmd, len,
		    offsetof(struct rdma_ucm_accept, conn_param.qp_num), &num,
		    sizeof(num));
}

static void note_listener(const struct kabi_ucm *file, const uint8_t *cmd)
{
	struct rdma_ucm_listen listen;
	struct rnic_cm_info info;

	memcpy(&listen, cmd, sizeof(listen));
	if (!rnic_cm_query(file->chan, listen.id, &info) &&
	    info.local.ss_family == AF_INET)
		listen_port_be = ((struct sockaddr_in *)&info.local)->sin_port;
}

/* ---- records ---- */

/* Longer commands are not read completely. */
#define COMMAND_MAX 512

/* Writes the memory that the caller has, possibly less than it claims. */
static ssize_t command_write(struct util_file *file, const uint8_t *buf,
			     size_t len, bool is_cut)
{
	size_t there = len - len / 4;
	ssize_t rc;

	if (!is_cut)
		return kabi_ucm_write(file, buf, len);
	memcpy(edge - there, buf, there);
	rc = kabi_ucm_write(file, edge - there, len);
	/* A command that cannot be read was not executed. It may end before the
	 * octets that were written. */
	must(rc < 0 || len > COMMAND_MAX ||
	     ((const struct rdma_ucm_cmd_hdr *)(const void *)buf)->in + 8u <=
		     there);
	return rc;
}

static void record_run(struct util_file *const file[2], const int fd[2],
		       const struct record *rec, const uint8_t *payload,
		       size_t len)
{
	struct rdma_ucm_cmd_hdr hdr = { .cmd = rec->cmd,
					.in = rec->in,
					.out = rec->out };
	struct pollfd pfd = { .fd = fd[!!(rec->kind & KIND_FILE)],
			      .events = POLLIN };
	struct util_file *to = file[!!(rec->kind & KIND_FILE)];
	uint64_t pointer = pointer_of(rec->kind);
	uint32_t from = (uint32_t)fd[!!(rec->kind & KIND_FROM)];
	int offset = response_offset(rec->cmd);
	uint8_t buf[8 + PAYLOAD_MAX] __attribute__((aligned(8)));
	ssize_t rc;

	memcpy(buf, &hdr, sizeof(hdr));
	memcpy(buf + 8, payload, len);
	if (offset >= 0)
		put(buf + 8, len, (size_t)offset, &pointer, sizeof(pointer));
	if (rec->kind & KIND_PEER) {
		put_peer(rec->cmd, buf + 8, len);
		from = 0;
	}
	if (rec->kind & KIND_QP) {
		put_qp(rec->cmd, buf + 8, len, rec->kind & KIND_FROM);
		from = 12345;
	}
	if (rec->cmd == RDMA_USER_CM_CMD_MIGRATE_ID)
		put(buf + 8, len, offsetof(struct rdma_ucm_migrate_id, fd),
		    &from, sizeof(from));
	if (rec->kind & KIND_QP && rec->cmd == RDMA_USER_CM_CMD_GET_EVENT)
		(void)poll(&pfd, 1, EVENT_MS);
	rc = command_write(to, buf, len + 8, rec->kind & KIND_CUT);
	must(rc == (ssize_t)len + 8 || (rc < 0 && rc >= -4095));
	if (rc > 0 && rec->cmd == RDMA_USER_CM_CMD_LISTEN)
		note_listener((struct kabi_ucm *)to, buf + 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct util_file *file[2];
	int fd[2];

	world_open();
	listen_port_be = htons(1);
	for (int i = 0; i < 2; i++) {
		fd[i] = kabi_ucm_open(O_RDWR | O_NONBLOCK | O_CLOEXEC);
		must(fd[i] >= 0);
		file[i] = ucm_object(fd[i]);
	}
	for (int i = 0; i < RECORDS_MAX && size >= RECORD_HEAD; i++) {
		struct record rec = { .cmd = data[0], .kind = data[1] };
		size_t len;

		memcpy(&rec.in, data + 2, 2);
		memcpy(&rec.out, data + 4, 2);
		data += RECORD_HEAD;
		size -= RECORD_HEAD;
		len = rec.in < size ? rec.in : size;
		len = len < PAYLOAD_MAX ? len : PAYLOAD_MAX;
		record_run(file, fd, &rec, data, len);
		data += len;
		size -= len;
	}
	for (int i = 0; i < 2; i++)
		ucm_number_close(fd[i]);
	qps_reset();
	return 0;
}

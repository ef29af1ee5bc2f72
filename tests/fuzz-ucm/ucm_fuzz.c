/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Commands of the rdma_cm file from a stranger's hand: input is a series of
 * records (command, pointer kind, lengths, octets), written to two files.
 *
 * Addresses that are written to are replaced, so that a finding is a fault of
 * ours and not of the input: by a scratch buffer, or one of the bad ones.
 * There is no QP, so that nothing is ever connected.
 */
#include "../kernel-abi/ucm-direct.h"

#include <fcntl.h>
#include <string.h>

#define RECORD_HEAD 6
#define RECORDS_MAX 64

struct record {
	uint8_t cmd, kind;
	uint16_t in, out;
};

enum { KIND_SCRATCH, KIND_NULL, KIND_UNMAPPED, KIND_TOP, KIND_CNT };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where in the command the answer's address stands; -1: nowhere. */
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
	static uint8_t scratch[1024];

	switch (kind % KIND_CNT) {
	case KIND_NULL:
		return 0;
	case KIND_UNMAPPED:
		return UINT64_C(0xdead000000000000);
	case KIND_TOP:
		return UINT64_MAX - 3;
	default:
		return (uintptr_t)scratch;
	}
}

static void record_run(void *const file[2], const int fd[2],
		       const struct record *rec, const uint8_t *payload,
		       size_t len)
{
	struct rdma_ucm_cmd_hdr hdr = { .cmd = rec->cmd,
					.in = rec->in,
					.out = rec->out };
	uint64_t pointer = pointer_of(rec->kind);
	uint32_t from = (uint32_t)fd[rec->kind >> 7];
	int offset = response_offset(rec->cmd);
	uint8_t buf[8 + 1024];

	memcpy(buf, &hdr, sizeof(hdr));
	memcpy(buf + 8, payload, len);
	if (offset >= 0 && (size_t)offset + 8 <= len)
		memcpy(buf + 8 + offset, &pointer, 8);
	if (rec->cmd == RDMA_USER_CM_CMD_MIGRATE_ID && len >= 16)
		memcpy(buf + 8 + offsetof(struct rdma_ucm_migrate_id, fd),
		       &from, 4);
	(void)kabi_ucm_write(file[rec->kind >> 6 & 1], buf, len + 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *file[2];
	int fd[2];

	for (int i = 0; i < 2; i++) {
		fd[i] = kabi_ucm_open(O_RDWR | O_NONBLOCK | O_CLOEXEC);
		if (fd[i] < 0)
			__builtin_trap();
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
		len = len < 1024 ? len : 1024;
		record_run(file, fd, &rec, data, len);
		data += len;
		size -= len;
	}
	for (int i = 0; i < 2; i++)
		kabi_ucm_close(file[i]);
	return 0;
}

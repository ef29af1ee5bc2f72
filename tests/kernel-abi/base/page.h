/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The counter page of a process, with resources, as others read it. */
#ifndef TEST_PAGE_H
#define TEST_PAGE_H

#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "abi/usiw-res.h"

#define PAGE_LO 1 /* interfaces */
#define PAGE_ETH 7

struct page {
	struct usiw_stat_file file;
	struct usiw_res_device device[2];
	struct usiw_res_context context[2];
	struct usiw_res_pd pd[2];
	struct usiw_res_cq cq[2];
	struct usiw_res_srq srq[1];
	struct usiw_res_qp qp[3];
	struct usiw_res_mr mr[2];
	struct usiw_res_id id[2];
};

/* Slots from @first on; the numbers fall. */
#define PAGE_CHUNK(page, kind_, array)                                         \
	do {                                                                   \
		struct usiw_res_dir *dir_ = &(page)->file.res;                 \
		size_t cnt_ = ARRAY_LEN((page)->array);                        \
                                                                               \
		dir_->chunk[dir_->chunk_cnt++] = (struct usiw_res_chunk){      \
			.offset = offsetof(struct page, array),                \
			.slot_cnt = (uint32_t)cnt_,                            \
			.kind = (kind_),                                       \
			.slot_size = sizeof((page)->array[0]),                 \
		};                                                             \
		for (size_t i_ = 0; i_ < cnt_; i_++) {                         \
			(page)->array[i_].head.seq = 2;                        \
			(page)->array[i_].head.id = (uint32_t)(cnt_ - i_);     \
		}                                                              \
	} while (0)

/*
 * Device 2 is lo, device 1 eth0; context 2 is of eth0, context 1 of lo.  Two
 * queue pairs are of PD 1 and CQ 2, the third one is of nothing that exists.
 */
static inline void page_fill(struct page *page, uint32_t pid)
{
	memset(page, 0, sizeof(*page));
	page->file.page.version = USIW_STAT_VERSION;
	page->file.page.pid = pid;
	page->file.page.magic = USIW_STAT_MAGIC;
	PAGE_CHUNK(page, USIW_RES_DEVICE, device);
	PAGE_CHUNK(page, USIW_RES_CONTEXT, context);
	PAGE_CHUNK(page, USIW_RES_PD, pd);
	PAGE_CHUNK(page, USIW_RES_CQ, cq);
	PAGE_CHUNK(page, USIW_RES_SRQ, srq);
	PAGE_CHUNK(page, USIW_RES_QP, qp);
	PAGE_CHUNK(page, USIW_RES_MR, mr);
	PAGE_CHUNK(page, USIW_RES_ID, id);
	page->device[0].ifindex = PAGE_LO;
	page->device[1].ifindex = PAGE_ETH;
	page->device[0].count[0].tx_fpdu = 100;
	page->device[0].count[USIW_STAT_PARTS].tx_fpdu = 20;
	page->device[1].count[0].rx_staged = 3;
	page->context[0].device = 1;
	page->context[1].device = 2;
	page->pd[0].context = 2;
	page->pd[1].context = 1;
	page->cq[0].context = 1;
	page->cq[1].context = 2;
	page->srq[0].context = 1;
	page->srq[0].pd = 1;
	for (int i = 0; i < 2; i++) {
		page->qp[i].context = 1;
		page->qp[i].pd = 1;
		page->qp[i].send_cq = 2;
		page->qp[i].recv_cq = 2;
	}
	page->qp[2].context = 77;
	page->mr[0].pd = 2;
	page->mr[1].pd = 1;
	page->id[0].device = 2;
}

/* Writes it to the file of process @pid in @dir.  Return: its descriptor. */
static inline int page_put(const struct page *page, const char *dir, int pid)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/usiw.%d", dir, pid);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, page, sizeof(*page)), sizeof(*page));
	return fd;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * For usiw check: a program that does one thing wrong, or nearly.  It is its
 * own peer, without rdma_cm.
 *
 * usage: apps-check-cases NAME
 *	see the table at the end; tests/tools/check_test.py has what is found
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "check_pair.h"

static void event_get(void)
{
	struct ibv_cq *event_cq;
	void *cookie;

	NEEDS(!ibv_get_cq_event(channel, &event_cq, &cookie));
}

/* ---- buffers ----------------------------------------------------------- */

/* As Mooncake's issue 1567: a buffer goes back to its pool before the
 * completion. */
static void source_changed(void)
{
	usual();
	write_now();
	buf[17]++;
	wcs_wait(1);
}

static void source_changed_unsignaled(void)
{
	struct want want = WANT_USUAL;

	want.is_all_signaled = false;
	pair_make(&want);
	pair_connect();
	write_now();
	buf[17]++;
	NEEDS(!send_post(0, IBV_WR_RDMA_WRITE, 0, IBV_SEND_SIGNALED, 2));
	wcs_wait(1);
}

static void killed(void)
{
	source_changed();
	kill(getpid(), SIGKILL);
}

/* One of the values arrives. */
static void word_changed(void)
{
	usual();
	NEEDS(!send_post(0, IBV_WR_RDMA_WRITE, 4, 0, 1));
	buf[0]++;
	wcs_wait(1);
}

static void source_kept(void)
{
	usual();
	write_now();
	wcs_wait(1);
	buf[17]++;
	write_now();
	wcs_wait(1);
}

static void source_inline(void)
{
	struct want want = WANT_USUAL;

	want.inline_len = 64;
	pair_make(&want);
	pair_connect();
	NEEDS(!send_post(0, IBV_WR_RDMA_WRITE, 64, IBV_SEND_INLINE, 1));
	buf[17]++;
	wcs_wait(1);
}

/* A READ brings what the next Write sends. */
static void read_then_write(unsigned int flags)
{
	usual();
	memset(buf + LEN, 1, LEN);
	NEEDS(!send_post(0, IBV_WR_RDMA_READ, LEN, 0, 1));
	NEEDS(!send_post(0, IBV_WR_RDMA_WRITE, LEN, flags, 2));
	wcs_wait(2);
}

static void buffer_in_use(void)
{
	read_then_write(0);
}

static void buffer_fenced(void)
{
	read_then_write(IBV_SEND_FENCE);
}

static void recv_buffer_read_into(void)
{
	usual();
	NEEDS(!recv_post(0, 1));
	NEEDS(!send_post(0, IBV_WR_RDMA_READ, LEN, 0, 2));
	wcs_wait(1);
}

static void recv_buffer_sent(void)
{
	usual();
	NEEDS(!recv_post(0, 1));
	write_now();
	wcs_wait(1);
}

/* ---- regions ----------------------------------------------------------- */

static void bad_lkey(void)
{
	struct ibv_mr *old;

	usual();
	old = ibv_reg_mr(pd, buf, LEN, 0);
	NEEDS(old);
	mr->lkey ^= old->lkey;
	old->lkey ^= mr->lkey;
	mr->lkey ^= old->lkey;
	/* The WR has the key of a region that is gone. */
	struct ibv_sge sge = sge_of(0, LEN);
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND },
			   *bad;

	mr->lkey ^= old->lkey;
	old->lkey ^= mr->lkey;
	mr->lkey ^= old->lkey;
	NEEDS(!ibv_dereg_mr(old));
	NEEDS(!ibv_post_send(qp[0], &wr, &bad));
	NEEDS(wc_wait() == IBV_WC_LOC_PROT_ERR);
}

/* The region is of the base. */
static void parent_domain(void)
{
	const struct want want = WANT_USUAL;
	struct ibv_pd *base = pd;
	struct ibv_parent_domain_init_attr attr = { .pd = base };

	pd = ibv_alloc_parent_domain(context, &attr);
	NEEDS(pd);
	pair_make(&want);
	NEEDS(!ibv_dereg_mr(mr));
	mr = ibv_reg_mr(base, buf, (size_t)2 * LEN, want.access);
	NEEDS(mr);
	pair_connect();
	write_now();
	wcs_wait(1);
	for (int i = 0; i < 2; i++) {
		NEEDS(!ibv_destroy_qp(qp[i]));
		qp[i] = NULL;
	}
	NEEDS(!ibv_dealloc_pd(pd));
	pd = base;
}

static void out_of_region(void)
{
	usual();
	NEEDS(!send_post(1, IBV_WR_RDMA_WRITE, LEN + 1, 0, 1));
	NEEDS(wc_wait() == IBV_WC_LOC_PROT_ERR);
}

static void no_local_write(void)
{
	struct want want = WANT_USUAL;

	want.access = IBV_ACCESS_REMOTE_READ;
	pair_make(&want);
	pair_connect();
	NEEDS(!send_post(0, IBV_WR_RDMA_READ, LEN, 0, 1));
	NEEDS(wc_wait() == IBV_WC_LOC_PROT_ERR);
}

/* The peer is not there yet. */
static void dereg_in_use(void)
{
	const struct want want = WANT_USUAL;

	pair_make(&want);
	for (int i = 0; i < 2; i++)
		to_init(qp[i]);
	to_rts(qp[0], qp[1]);
	write_now();
	NEEDS(!ibv_dereg_mr(mr));
	mr = NULL;
}

static void dereg_receives(void)
{
	usual();
	NEEDS(!recv_post(0, 1));
	NEEDS(!ibv_dereg_mr(mr));
	mr = NULL;
}

static void dereg_after(void)
{
	usual();
	write_now();
	wcs_wait(1);
	NEEDS(!ibv_dereg_mr(mr));
	mr = NULL;
}

static void unmapped_in_use(void)
{
	usual();
	write_now();
	/* Not munmap(): the next mapping of any thread may take the place. */
	NEEDS(mmap(buf, LEN, PROT_NONE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0) == buf);
	wc_wait();
}

/* The memory is there again when the completion is polled. */
static void unmapped_for_a_time(void)
{
	struct want want = WANT_USUAL;

	want.has_channel = true;
	pair_make(&want);
	for (int i = 0; i < 2; i++)
		to_init(qp[i]);
	to_rts(qp[0], qp[1]);
	NEEDS(!ibv_req_notify_cq(cq, 0));
	write_now();
	NEEDS(!mprotect(buf, LEN, PROT_NONE));
	to_rts(qp[1], qp[0]);
	event_get();
	ibv_ack_cq_events(cq, 1);
	NEEDS(!mprotect(buf, LEN, PROT_READ | PROT_WRITE));
	NEEDS(wc_wait() == IBV_WC_LOC_PROT_ERR);
}

/* ---- queues ------------------------------------------------------------ */

/* As TransferBench's issue 239: the CQ has room for one of its QPs. */
static void cq_overrun(void)
{
	struct want want = WANT_USUAL;

	want.cqe = DEPTH;
	pair_make(&want);
	pair_connect();
	for (uint64_t i = 0; i < DEPTH; i++)
		for (int side = 0; side < 2; side++)
			NEEDS(!send_post(side, IBV_WR_RDMA_WRITE, 8, 0, i));
}

static void cq_small(void)
{
	struct want want = WANT_USUAL;

	want.cqe = DEPTH;
	pair_make(&want);
	pair_connect();
	write_now();
	wcs_wait(1);
}

/* The same with receives of an SRQ, which may all complete. */
static void srq_fill(int cqe)
{
	struct want want = WANT_USUAL;
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	want.cqe = cqe;
	want.has_srq = true;
	pair_make(&want);
	pair_connect();
	sge = sge_of(1, LEN);
	for (wr.wr_id = 0; wr.wr_id < 2 * DEPTH; wr.wr_id++)
		NEEDS(!ibv_post_srq_recv(srq, &wr, &bad));
}

static void srq_overrun(void)
{
	srq_fill(DEPTH);
}

/* Send queues of two QPs and the SRQ. */
static void srq_fits(void)
{
	srq_fill(4 * DEPTH);
}

static void never_signaled(void)
{
	struct want want = WANT_USUAL;

	want.is_all_signaled = false;
	pair_make(&want);
	pair_connect();
	/* The last one finds room or not: usiw may be done with the others. */
	for (uint32_t i = 0; i < DEPTH; i++)
		NEEDS(!send_post(0, IBV_WR_RDMA_WRITE, 8, 0, i));
	(void)send_post(0, IBV_WR_RDMA_WRITE, 8, 0, DEPTH);
}

static void last_signaled(void)
{
	struct want want = WANT_USUAL;

	want.is_all_signaled = false;
	pair_make(&want);
	pair_connect();
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 1; i < DEPTH; i++)
			NEEDS(!send_post(0, IBV_WR_RDMA_WRITE, 8, 0, i));
		NEEDS(!send_post(0, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED,
				 0));
		wcs_wait(1);
	}
}

/* A WR finds room because usiw is done with one, though nothing is polled. */
static void sq_overfull(void)
{
	time_t end = time(NULL) + LIMIT_S;
	int err;

	usual();
	for (uint64_t i = 0; i <= DEPTH; i++) {
		while ((err = send_post(0, IBV_WR_RDMA_WRITE, 8, 0, i)) ==
			       ENOMEM &&
		       time(NULL) < end)
			usleep(1000);
		NEEDS(!err);
	}
}

/* The peer is not there yet, so that nothing is done. */
static void queue_fill(void)
{
	const struct want want = WANT_USUAL;

	pair_make(&want);
	for (int i = 0; i < 2; i++)
		to_init(qp[i]);
	to_rts(qp[0], qp[1]);
	for (uint64_t i = 0; i < DEPTH; i++)
		NEEDS(!send_post(0, IBV_WR_RDMA_WRITE, 8, 0, i));
	NEEDS(send_post(0, IBV_WR_RDMA_WRITE, 8, 0, DEPTH) == ENOMEM);
}

static void full_ignored(void)
{
	queue_fill();
	/* Another buffer, as if the one before were posted. */
	at = 64;
	NEEDS(send_post(0, IBV_WR_RDMA_WRITE, 8, 0, DEPTH + 1) == ENOMEM);
	to_rts(qp[1], qp[0]);
	wcs_wait(DEPTH);
}

static void full_repeated(void)
{
	queue_fill();
	to_rts(qp[1], qp[0]);
	wcs_wait(DEPTH);
	NEEDS(!send_post(0, IBV_WR_RDMA_WRITE, 8, 0, DEPTH));
	wcs_wait(1);
}

static void inline_long(void)
{
	struct want want = WANT_USUAL;

	want.inline_len = 64;
	pair_make(&want);
	pair_connect();
	NEEDS(send_post(0, IBV_WR_RDMA_WRITE, LEN, IBV_SEND_INLINE, 1) ==
	      EINVAL);
}

static void post_refused(void)
{
	const struct want want = WANT_USUAL;

	pair_make(&want);
	for (int i = 0; i < 2; i++)
		to_init(qp[i]);
	NEEDS(send_post(0, IBV_WR_SEND, 8, 0, 1) == EINVAL);
}

/* ---- states ------------------------------------------------------------ */

static void bad_transition(void)
{
	const struct want want = WANT_USUAL;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	pair_make(&want);
	to_init(qp[0]);
	NEEDS(ibv_modify_qp(qp[0], &attr, IBV_QP_STATE) == EINVAL);
}

static void mask_missing(void)
{
	const struct want want = WANT_USUAL;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.ah_attr = { .is_global = 1, .grh.dgid = gid, .port_num = 1 }
	};

	pair_make(&want);
	to_init(qp[0]);
	NEEDS(ibv_modify_qp(qp[0], &attr, IBV_QP_STATE | IBV_QP_AV) == EINVAL);
}

/* A QP of a pool is used again. */
static void reset_again(bool is_reposted)
{
	usual();
	NEEDS(!recv_post(1, 1));
	for (int i = 0; i < 2; i++)
		to_reset(qp[i]);
	for (int i = 0; i < 2; i++)
		to_init(qp[i]);
	if (is_reposted)
		NEEDS(!recv_post(1, 2));
	for (int i = 0; i < 2; i++)
		to_rts(qp[i], qp[1 - i]);
	write_now();
	wcs_wait(1);
}

static void recv_not_reposted(void)
{
	reset_again(false);
}

/* The program waits for a message that has no receive. */
static void recv_not_reposted_waits(void)
{
	reset_again(false);
	NEEDS(!send_post(0, IBV_WR_SEND, 8, 0, 3));
	usleep(300000);
	_exit(0);
}

static void recv_reposted(void)
{
	reset_again(true);
}

/* ---- events ------------------------------------------------------------ */

static void with_channel(void)
{
	struct want want = WANT_USUAL;

	want.has_channel = true;
	pair_make(&want);
	pair_connect();
	NEEDS(!ibv_req_notify_cq(cq, 0));
	write_now();
}

static void time_over(int sig)
{
	(void)sig;
	_exit(0);
}

/* The completion is there, is not polled, and is none that comes. */
static void armed_late(void)
{
	with_channel();
	event_get();
	ibv_ack_cq_events(cq, 1);
	NEEDS(!ibv_req_notify_cq(cq, 0));
}

static void channel_poll(void)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };

	NEEDS(poll(&fd, 1, -1) == 1);
}

/* The event does not come from usiw, either. */
static void armed_late_hangs(void)
{
	armed_late();
	signal(SIGALRM, time_over);
	alarm(3);
}

static void lost_wakeup(void)
{
	armed_late_hangs();
	event_get();
}

static void lost_wakeup_poll(void)
{
	armed_late_hangs();
	channel_poll();
}

static void lost_wakeup_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epfd = epoll_create1(0);

	armed_late_hangs();
	NEEDS(!epoll_ctl(epfd, EPOLL_CTL_ADD, channel->fd, &event));
	(void)epoll_wait(epfd, &event, 1, -1);
}

static void lost_wakeup_select(void)
{
	fd_set set;

	armed_late_hangs();
	FD_ZERO(&set);
	FD_SET(channel->fd, &set);
	(void)select(channel->fd + 1, &set, NULL, NULL, NULL);
}

/* Comes back, and polls. */
static void wakeup_timed(void)
{
	struct pollfd fd = { .events = POLLIN };

	armed_late();
	fd.fd = channel->fd;
	NEEDS(poll(&fd, 1, 1500) == 0);
	wcs_wait(1);
}

/* Polls once more after it has armed. */
static void wakeup_kept(void)
{
	with_channel();
	event_get();
	ibv_ack_cq_events(cq, 1);
	NEEDS(!ibv_req_notify_cq(cq, 0));
	wcs_wait(1);
	write_now();
	channel_poll();
	event_get();
	ibv_ack_cq_events(cq, 1);
	wcs_wait(1);
}

static double seconds(void)
{
	struct timespec now;

	NEEDS(!clock_gettime(CLOCK_MONOTONIC, &now));
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* No thread can make it good: it is told at once, where acknowledgements that
 * are missing have a second.  The QPs keep the CQ. */
static void event_acked_twice(void)
{
	double begin;

	with_channel();
	event_get();
	ibv_ack_cq_events(cq, 2);
	wcs_wait(1);
	begin = seconds();
	NEEDS(ibv_destroy_cq(cq) == EBUSY);
	NEEDS(seconds() - begin < 1);
	exit(0);
}

/* The destruction of the CQ would wait for ever. */
static void event_not_acked(void)
{
	with_channel();
	event_get();
	wcs_wait(1);
	signal(SIGALRM, time_over);
	alarm(3);
	pair_end();
}

/* The peer's Write is refused; the same for the QP. */
static void async_read(bool is_acked)
{
	struct want want = WANT_USUAL;
	struct ibv_async_event event;

	want.access = IBV_ACCESS_LOCAL_WRITE;
	pair_make(&want);
	pair_connect();
	write_now();
	do {
		NEEDS(!ibv_get_async_event(context, &event));
		if (is_acked)
			ibv_ack_async_event(&event);
	} while (event.event_type != IBV_EVENT_QP_ACCESS_ERR);
}

static void async_not_acked(void)
{
	async_read(false);
	signal(SIGALRM, time_over);
	alarm(3);
	pair_end();
}

static void async_acked(void)
{
	async_read(true);
}

static void event_acked(void)
{
	with_channel();
	event_get();
	ibv_ack_cq_events(cq, 1);
	wcs_wait(1);
}

/* ---- peers ------------------------------------------------------------- */

static void access_refused(void)
{
	struct want want = WANT_USUAL;

	want.access = IBV_ACCESS_LOCAL_WRITE;
	pair_make(&want);
	pair_connect();
	write_now();
	NEEDS(wc_wait() == IBV_WC_REM_ACCESS_ERR);
}

/* The window has not the right that its region has. */
static void window_refused(void)
{
	struct want want = WANT_USUAL;
	struct ibv_mw_bind bind = { .wr_id = 1,
				    .send_flags = IBV_SEND_SIGNALED };
	struct ibv_mw *mw;

	want.access |= IBV_ACCESS_MW_BIND;
	pair_make(&want);
	pair_connect();
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	NEEDS(mw);
	bind.bind_info = (struct ibv_mw_bind_info){
		.mr = mr,
		.addr = (uintptr_t)buf,
		.length = 2L * LEN,
		.mw_access_flags = IBV_ACCESS_REMOTE_READ,
	};
	NEEDS(!ibv_bind_mw(qp[1], mw, &bind));
	wcs_wait(1);
	NEEDS(!write_post(0, mw->rkey));
	NEEDS(wc_wait() == IBV_WC_REM_ACCESS_ERR);
	NEEDS(!ibv_dealloc_mw(mw));
}

static void leaked(void)
{
	usual();
	write_now();
	wcs_wait(1);
	exit(0);
}

/* ---- the table --------------------------------------------------------- */

static const struct check_case fault_cases[] = {
	CHECK_CASE(source_changed),
	CHECK_CASE(source_changed_unsignaled),
	CHECK_CASE(killed),
	CHECK_CASE(word_changed),
	CHECK_CASE(source_kept),
	CHECK_CASE(source_inline),
	CHECK_CASE(buffer_in_use),
	CHECK_CASE(buffer_fenced),
	CHECK_CASE(recv_buffer_read_into),
	CHECK_CASE(recv_buffer_sent),
	CHECK_CASE(bad_lkey),
	CHECK_CASE(parent_domain),
	CHECK_CASE(out_of_region),
	CHECK_CASE(no_local_write),
	CHECK_CASE(dereg_in_use),
	CHECK_CASE(dereg_receives),
	CHECK_CASE(dereg_after),
	CHECK_CASE(unmapped_in_use),
	CHECK_CASE(unmapped_for_a_time),
	CHECK_CASE(cq_overrun),
	CHECK_CASE(cq_small),
	CHECK_CASE(srq_overrun),
	CHECK_CASE(srq_fits),
	CHECK_CASE(never_signaled),
	CHECK_CASE(last_signaled),
	CHECK_CASE(sq_overfull),
	CHECK_CASE(full_ignored),
	CHECK_CASE(full_repeated),
	CHECK_CASE(inline_long),
	CHECK_CASE(post_refused),
	CHECK_CASE(bad_transition),
	CHECK_CASE(mask_missing),
	CHECK_CASE(recv_not_reposted),
	CHECK_CASE(recv_not_reposted_waits),
	CHECK_CASE(recv_reposted),
	CHECK_CASE(event_acked_twice),
	CHECK_CASE(lost_wakeup),
	CHECK_CASE(lost_wakeup_poll),
	CHECK_CASE(lost_wakeup_epoll),
	CHECK_CASE(lost_wakeup_select),
	CHECK_CASE(wakeup_timed),
	CHECK_CASE(wakeup_kept),
	CHECK_CASE(event_not_acked),
	CHECK_CASE(event_acked),
	CHECK_CASE(async_not_acked),
	CHECK_CASE(async_acked),
	CHECK_CASE(access_refused),
	CHECK_CASE(window_refused),
	CHECK_CASE(leaked),
	CHECK_CASE(datagram_changed),
	CHECK_CASE(datagram_unacked),
	{ NULL, NULL },
};

static void (*case_find(const char *name))(void)
{
	const struct check_case *const tables[] = { fault_cases, near_cases,
						    memory_cases };
	const struct check_case *one;

	for (int i = 0; i < 3; i++)
		for (one = tables[i]; one->name; one++)
			if (strcmp(one->name, name) == 0)
				return one->run;
	return NULL;
}

int main(int argc, char **argv)
{
	void (*run)(void) = argc == 2 ? case_find(argv[1]) : NULL;

	if (!run) {
		fputs("usage: apps-check-cases NAME\n", stderr);
		return 2;
	}
	device_open();
	run();
	pair_end();
	NEEDS(!ibv_dealloc_pd(pd));
	NEEDS(!ibv_close_device(context));
	return 0;
}

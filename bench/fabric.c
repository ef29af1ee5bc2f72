/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A stream of messages by libfabric. Debian does not package libfabric's own
 * bandwidth tests.
 *
 *  bench-fabric [-w MS] PROVIDER PORT SIZE [HOST]
 *
 * PROVIDER is as in fi_info, for example "tcp;ofi_rxm" or shm. The sides
 * exchange their addresses over a TCP connection on PORT. Without HOST it
 * serves one client. Both poll. The client prints the rate in MiB/s and in
 * millions of messages per second.
 */
#include <errno.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure.h"

#define MIB 1048576.0
#define DEPTH_MAX 128u
#define OUTSTANDING_MAX (16u << 20) /* octets */
#define NAME_MAX_LEN 256
/* The first part of a window is for warming up. */
#define WARM_DIVISOR 5

#define FI_NEEDS(call)                                                         \
	do {                                                                   \
		long fi_ret = (call);                                          \
		if (fi_ret) {                                                  \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, \
				#call, fi_strerror((int)-fi_ret));             \
			exit(2);                                               \
		}                                                              \
	} while (0)

struct end {
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	struct fid_mr *mr;
	struct fi_info *info;
	fi_addr_t peer;
	int control; /* the TCP connection */
	char *buf;
	size_t size, depth;
	uint64_t posted, done;
	struct fi_context2 context[DEPTH_MAX];
};

static void end_open(struct end *e, const char *provider)
{
	struct fi_info *hints = fi_allocinfo();
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_CONTEXT,
				      .size = 2 * DEPTH_MAX };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	bool is_shm = strcmp(provider, "shm") == 0;

	NEEDS(hints);
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->domain_attr->mr_mode = FI_MR_LOCAL;
	hints->fabric_attr->prov_name = strdup(provider);
	FI_NEEDS(fi_getinfo(FI_VERSION(1, 11), is_shm ? NULL : "127.0.0.1",
			    NULL, is_shm ? 0 : FI_SOURCE, hints, &e->info));
	fi_freeinfo(hints);
	FI_NEEDS(fi_fabric(e->info->fabric_attr, &e->fabric, NULL));
	FI_NEEDS(fi_domain(e->fabric, e->info, &e->domain, NULL));
	FI_NEEDS(fi_cq_open(e->domain, &cq_attr, &e->cq, NULL));
	FI_NEEDS(fi_av_open(e->domain, &av_attr, &e->av, NULL));
	FI_NEEDS(fi_endpoint(e->domain, e->info, &e->ep, NULL));
	FI_NEEDS(fi_ep_bind(e->ep, &e->cq->fid, FI_TRANSMIT | FI_RECV));
	FI_NEEDS(fi_ep_bind(e->ep, &e->av->fid, 0));
	FI_NEEDS(fi_enable(e->ep));
	NEEDS(e->buf = aligned_alloc(4096, (e->size + 4095) / 4096 * 4096));
	memset(e->buf, 1, e->size);
	if (e->info->domain_attr->mr_mode & FI_MR_LOCAL)
		FI_NEEDS(fi_mr_reg(e->domain, e->buf, e->size,
				   FI_SEND | FI_RECV, 0, 0, 0, &e->mr, NULL));
}

/* The sides exchange their addresses. */
static void names_exchange(struct end *e)
{
	char own[NAME_MAX_LEN] = { 0 }, other[NAME_MAX_LEN];
	size_t len = sizeof(own);

	FI_NEEDS(fi_getname(&e->ep->fid, own, &len));
	NEEDS(send(e->control, own, sizeof(own), 0) == sizeof(own));
	NEEDS(recv(e->control, other, sizeof(other), MSG_WAITALL) ==
	      sizeof(other));
	NEEDS(fi_av_insert(e->av, other, 1, &e->peer, 0, NULL) == 1);
}

static void end_close(struct end *e)
{
	FI_NEEDS(fi_close(&e->ep->fid));
	if (e->mr)
		FI_NEEDS(fi_close(&e->mr->fid));
	FI_NEEDS(fi_close(&e->av->fid));
	FI_NEEDS(fi_close(&e->cq->fid));
	FI_NEEDS(fi_close(&e->domain->fid));
	FI_NEEDS(fi_close(&e->fabric->fid));
	fi_freeinfo(e->info);
	close(e->control);
	free(e->buf);
}

/* Posts one more send or receive, if the provider accepts it. */
static bool end_post(struct end *e, bool is_send)
{
	void *context = &e->context[e->posted % e->depth];
	void *desc = e->mr ? fi_mr_desc(e->mr) : NULL;
	ssize_t ret;

	if (is_send)
		ret = fi_send(e->ep, e->buf, e->size, desc, e->peer, context);
	else
		ret = fi_recv(e->ep, e->buf, e->size, desc, FI_ADDR_UNSPEC,
			      context);
	if (ret == -FI_EAGAIN)
		return false;
	FI_NEEDS(ret);
	e->posted++;
	return true;
}

/* Completions come in the order of the posts: one endpoint, one size. */
static void end_reap(struct end *e)
{
	struct fi_cq_entry entry[32];
	ssize_t cnt = fi_cq_read(e->cq, entry, 32);

	if (cnt == -FI_EAGAIN)
		return;
	if (cnt < 0)
		FI_NEEDS(cnt);
	e->done += (uint64_t)cnt;
}

static void send_until(struct end *e, uint64_t end_ns)
{
	while (bench_now_ns() < end_ns) {
		while (e->posted - e->done < e->depth && end_post(e, true))
			;
		end_reap(e);
	}
}

/* Sends the measured messages, and waits until the other side has received all
 * of them. */
static void client_run(struct end *e, uint64_t window_ns)
{
	uint64_t start = bench_now_ns(), warm;
	double rate;
	char octet;

	send_until(e, start + window_ns / WARM_DIVISOR);
	warm = e->posted;
	start = bench_now_ns();
	send_until(e, start + window_ns);
	while (e->done < e->posted)
		end_reap(e);
	NEEDS(send(e->control, &e->posted, sizeof(e->posted), 0) ==
	      sizeof(e->posted));
	/* Some providers move octets only during calls. */
	while (recv(e->control, &octet, 1, MSG_DONTWAIT) != 1)
		end_reap(e);
	rate = (double)(e->posted - warm) /
	       ((double)(bench_now_ns() - start) / 1e9);
	bench_print("MiB/s", rate * (double)e->size / MIB);
	bench_print("M/s", rate / 1e6);
}

static void server_run(struct end *e)
{
	uint64_t total = UINT64_MAX, turn = 0;

	while (e->done < total) {
		while (e->posted - e->done < e->depth && end_post(e, false))
			;
		end_reap(e);
		if (total == UINT64_MAX && ++turn % 256 == 0 &&
		    recv(e->control, &total, sizeof(total), MSG_DONTWAIT) < 0)
			NEEDS(errno == EAGAIN);
	}
	NEEDS(send(e->control, "x", 1, 0) == 1);
	/* The client closes first. */
	NEEDS(recv(e->control, &total, 1, 0) == 0);
}

static int usage(void)
{
	fprintf(stderr,
		"usage: bench-fabric [-w MS] PROVIDER PORT SIZE [HOST]\n");
	return 2;
}

int main(int argc, char **argv)
{
	uint64_t window_ns = 300 * NS_PER_MS;
	static struct end e;
	const char *host;
	int opt;

	while ((opt = getopt(argc, argv, "w:")) != -1) {
		if (opt != 'w')
			return usage();
		window_ns = strtoul(optarg, NULL, 10) * NS_PER_MS;
	}
	if (argc - optind < 3)
		return usage();
	host = argv[optind + 3];
	e.size = strtoul(argv[optind + 2], NULL, 10);
	if (!e.size || !window_ns)
		return usage();
	e.depth = OUTSTANDING_MAX / e.size;
	e.depth = e.depth > DEPTH_MAX ? DEPTH_MAX : e.depth < 2 ? 2 : e.depth;
	e.control = bench_tcp_open(host, (uint16_t)atoi(argv[optind + 1]));
	end_open(&e, argv[optind]);
	names_exchange(&e);
	if (host)
		client_run(&e, window_ns);
	else
		server_run(&e);
	end_close(&e);
	return 0;
}

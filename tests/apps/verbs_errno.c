/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Every verb of a provider, called with wrong arguments through stock
 * libibverbs: objects of another context, values over the limits, wrong sizes
 * and states, and unsupported features. Each call must return the errno of its
 * man page and change nothing: the state of the objects is compared after each
 * call, and at the end every object can be destroyed.  At USIW_LOG=debug:verbs
 * a refused call has exactly one line, with the verb and the errno.
 *
 * The rows of verbs-ops.def are the list of verbs: a row that no check calls is
 * a failure. Runs alone under `usiw run`, and connects to itself.
 *
 * usage: apps-verbs-errno [device]
 */
#define _GNU_SOURCE
#include "verbs_errno.h"

#include <sys/mman.h>
#include <unistd.h>

/* The verbs.h of Debian 12 lacks rows after layout 36: they cannot be
 * called. */
#define VERBS_ROW(since, kind, ret, name, params, args) { #name, (since) > 36 },
static struct {
	const char *name;
	bool is_called;
} verbs[] = {
#include "providers/usiw/verbs-ops.def"
};
#define VERB_CNT (sizeof(verbs) / sizeof(verbs[0]))

struct objects w;

/* ---- what is said ---- */

static int said_fd, stderr_fd;
static off_t said_at; /* checked up to here */

/* What was said is shown, if the program ends early. */
static void said_show(void)
{
	char text[4096];
	ssize_t len;

	fflush(stdout);
	while ((len = pread(said_fd, text, sizeof(text), said_at)) > 0)
		said_at += write(stderr_fd, text, (size_t)len);
}

static void said_begin(void)
{
	const char *log = getenv("USIW_LOG");

	NEEDS(log && strcmp(log, "debug:verbs") == 0);
	NEEDS((stderr_fd = dup(STDERR_FILENO)) >= 0);
	NEEDS((said_fd = memfd_create("said", MFD_CLOEXEC)) >= 0);
	NEEDS(dup2(said_fd, STDERR_FILENO) >= 0);
	atexit(said_show);
}

/* Since the last call. */
static void said_next(char *ret_text, size_t size)
{
	ssize_t len = pread(said_fd, ret_text, size - 1, said_at);

	NEEDS(len >= 0);
	ret_text[len] = '\0';
	said_at += len;
}

/* An extended verb may be named as the plain one.  Return: NULL; what is wrong
 * with the line of a call that has failed with @err. */
static const char *line_wrong(const char *verb, int err, const char *text)
{
	size_t len = strlen(verb);
	char call[64], name[32];

	if (!*text)
		return "no line";
	if (strchr(text, '\n') != text + strlen(text) - 1)
		return "not one line";
	if (len > 3 && strcmp(verb + len - 3, "_ex") == 0)
		len -= 3;
	snprintf(call, sizeof(call), " ibv_%.*s", (int)len, verb);
	snprintf(name, sizeof(name), ": %s: ", strerrorname_np(err));
	if (strncmp(text, "usiw: verbs: ", 13) != 0 || !strstr(text, call))
		return "the line does not name the verb";
	return strstr(text, name) ? NULL : "the line does not name the errno";
}

/* ---- checks ---- */

struct state {
	struct ibv_qp_attr qp;
	struct ibv_qp_init_attr init;
	struct ibv_srq_attr srq;
	struct ibv_mr mr;
	int cqe, cqe_ex;
};

static struct state before;
static unsigned int check_cnt;
unsigned int failure_cnt;

static void state_read(struct state *s)
{
	memset(s, 0, sizeof(*s));
	NEEDS(ibv_query_qp(w.qp, &s->qp, 0, &s->init) == 0);
	NEEDS(ibv_query_srq(w.srq, &s->srq) == 0);
	s->mr = *w.mr;
	s->cqe = w.cq->cqe;
	s->cqe_ex = w.cq_ex->cqe;
}

static bool is_row(const char *verb)
{
	size_t i = 0;

	while (i < VERB_CNT && strcmp(verbs[i].name, verb) != 0)
		i++;
	if (i == VERB_CNT)
		return false;
	verbs[i].is_called = true;
	return true;
}

static void failure(int line, const char *what, const char *why)
{
	failure_cnt++;
	printf("line %d: %s: %s\n", line, what, why);
}

void note(const char *verb, int line, const char *what, long got, long want)
{
	struct state now;
	char text[200], said[1024];
	const char *wrong = NULL;

	said_next(said, sizeof(said));
	if (verb && got == want && want > 0)
		wrong = line_wrong(verb, (int)want, said);
	else if (verb && *said)
		wrong = "a line, though nothing is refused";
	if (wrong) {
		failure(line, what, wrong);
		printf("%s", said);
	}

	check_cnt++;
	if (verb && !is_row(verb))
		failure(line, what, "no such verb");
	if (w.qp) {
		state_read(&now);
		if (memcmp(&now, &before, sizeof(now)) != 0)
			failure(line, what, "changed something");
	}
	if (got == want)
		return;
	snprintf(text, sizeof(text), "got %ld (%s), want %ld (%s)", got,
		 strerror((int)got), want, strerror((int)want));
	failure(line, what, text);
}

/* ---- objects ---- */

struct ibv_context *device_open(const char *wanted)
{
	int cnt, i;
	struct ibv_device **list = ibv_get_device_list(&cnt);
	struct ibv_context *context = NULL;

	NEEDS(list);
	for (i = 0; i < cnt && !context; i++)
		if (strcmp(ibv_get_device_name(list[i]), wanted) == 0)
			context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	NEEDS(context);
	return context;
}

struct ibv_qp_init_attr qp_attr(struct ibv_cq *cq)
{
	return (struct ibv_qp_init_attr){
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 2,
			 .max_recv_sge = 2,
			 .max_inline_data = 32 },
		.qp_type = IBV_QPT_RC,
	};
}

struct ibv_srq *srq_open(struct ibv_pd *pd)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4,
						    .max_sge = 1 } };

	return ibv_create_srq(pd, &attr);
}

static struct ibv_dm *dm_open(struct ibv_context *context)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };

	return ibv_alloc_dm(context, &attr);
}

static struct ibv_td *td_open(struct ibv_context *context)
{
	struct ibv_td_init_attr attr = { 0 };

	return ibv_alloc_td(context, &attr);
}

static void objects_open(const char *device)
{
	struct ibv_parent_domain_init_attr parent = { 0 };
	struct ibv_cq_init_attr_ex ex = { .cqe = 4 };
	struct ibv_qp_init_attr attr;

	w.context = device_open(device);
	w.other = device_open(device);
	NEEDS(ibv_query_device(w.context, &w.limits) == 0);
	NEEDS((w.pd = ibv_alloc_pd(w.context)));
	NEEDS((w.pd2 = ibv_alloc_pd(w.context)));
	NEEDS((w.other_pd = ibv_alloc_pd(w.other)));
	NEEDS((w.td = td_open(w.context)));
	NEEDS((w.other_td = td_open(w.other)));
	parent.pd = w.pd;
	parent.td = w.td;
	NEEDS((w.parent = ibv_alloc_parent_domain(w.context, &parent)));
	NEEDS((w.channel = ibv_create_comp_channel(w.context)));
	NEEDS((w.cq = ibv_create_cq(w.context, 8, NULL, w.channel, 0)));
	NEEDS((w.other_cq = ibv_create_cq(w.other, 8, NULL, NULL, 0)));
	ex.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
	ex.parent_domain = w.parent;
	NEEDS((w.cq_ex = ibv_create_cq_ex(w.context, &ex)));
	NEEDS((w.srq = srq_open(w.pd)));
	NEEDS((w.other_srq = srq_open(w.other_pd)));
	attr = qp_attr(w.other_cq);
	NEEDS((w.other_qp = ibv_create_qp(w.other_pd, &attr)));
	w.buf = calloc(1, BUF_SIZE);
	NEEDS(w.buf);
	NEEDS((w.mr = ibv_reg_mr(w.pd, w.buf, BUF_SIZE,
				 IBV_ACCESS_LOCAL_WRITE)));
	NEEDS((w.dm = dm_open(w.context)));
	NEEDS((w.other_dm = dm_open(w.other)));
	attr = qp_attr(w.cq);
	NEEDS((w.qp = ibv_create_qp(w.parent, &attr)));
	state_read(&before);
}

/* One of these fails if a failed call has kept a reference to an object. */
static void objects_close(void)
{
	NEEDS(ibv_destroy_comp_channel(w.channel) == EBUSY);
	NEEDS(ibv_destroy_qp(w.qp) == 0);
	NEEDS(ibv_destroy_qp(w.other_qp) == 0);
	NEEDS(ibv_destroy_srq(w.srq) == 0);
	NEEDS(ibv_destroy_srq(w.other_srq) == 0);
	NEEDS(ibv_destroy_cq(w.cq) == 0);
	NEEDS(ibv_destroy_cq(w.other_cq) == 0);
	NEEDS(ibv_destroy_cq(ibv_cq_ex_to_cq(w.cq_ex)) == 0);
	NEEDS(ibv_destroy_comp_channel(w.channel) == 0);
	NEEDS(ibv_dereg_mr(w.mr) == 0);
	NEEDS(ibv_free_dm(w.dm) == 0);
	NEEDS(ibv_free_dm(w.other_dm) == 0);
	NEEDS(ibv_dealloc_pd(w.parent) == 0);
	NEEDS(ibv_dealloc_td(w.td) == 0);
	NEEDS(ibv_dealloc_td(w.other_td) == 0);
	NEEDS(ibv_dealloc_pd(w.pd) == 0);
	NEEDS(ibv_dealloc_pd(w.pd2) == 0);
	NEEDS(ibv_dealloc_pd(w.other_pd) == 0);
	NEEDS(ibv_close_device(w.context) == 0);
	NEEDS(ibv_close_device(w.other) == 0);
	free(w.buf);
	memset(&w, 0, sizeof(w));
}

int main(int argc, char **argv)
{
	const char *device = argc > 1 ? argv[1] : "usiw_lo";
	size_t i;

	said_begin();
	objects_open(device);
	check_memory();
	check_queues();
	check_others();
	objects_close();
	check_connection(device);
	for (i = 0; i < VERB_CNT; i++)
		if (!verbs[i].is_called)
			failure(__LINE__, verbs[i].name, "never called");
	printf("%u checks of %zu verbs, %u failures\n", check_cnt, VERB_CNT,
	       failure_cnt);
	return failure_cnt != 0;
}

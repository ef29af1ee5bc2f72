/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Processes of one user, of which some are stopped, or end: the others hear
 * what comes by UDP.
 */
#define _GNU_SOURCE
#include "ud-fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "loop/loop.h"
#include "loop/object.h"

/* ---- a process ----------------------------------------------------------- */

static struct process {
	pid_t pid; /* 0: none */
	int to, from;
	uint32_t num; /* of its QP */
} procs[4];
static int name_fd = -1; /* only this process has it */

/* Of this process: that have an address of that family which begins so. */
static int named_cnt(sa_family_t family, const void *start, size_t len)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int cnt = 0;

	must(dir);
	while ((entry = readdir(dir))) {
		struct sockaddr_storage ss = { 0 };
		socklen_t ss_len = sizeof(ss);
		const struct sockaddr *sa = (struct sockaddr *)&ss;

		if (getsockname(atoi(entry->d_name), (struct sockaddr *)&ss,
				&ss_len) == 0 &&
		    sa->sa_family == family &&
		    memcmp(sa->sa_data, start, len) == 0)
			cnt++;
	}
	closedir(dir);
	return cnt;
}

/* Sockets of IPv4. */
static int port_cnt(void)
{
	const uint16_t port_be = htons(SIB_UDP_PORT);

	return named_cnt(AF_INET, &port_be, sizeof(port_be));
}

/* The listener is the last that it is given. */
static bool has_all(void)
{
	return named_cnt(AF_UNIX, "\0usiw-udp/", 10) > 0;
}

/* 's': until it has what all have; 'r': a receive; 't': it is taken. */
static void process_do(struct rnicpair *p, char what)
{
	struct rnicpair_side *s = &p->side[1];

	switch (what) {
	case 's':
		wait_until(has_all());
		util_lock(&rnic_loop.lock); /* until it reads them */
		util_unlock(&rnic_loop.lock);
		must(port_cnt() == 2);
		return;
	case 'r':
		ud_recv(s, 1, 0, 100);
		return;
	case 't':
		must(rnicpair_take(s, s->rcq).status == USIW_WC_SUCCESS);
	}
}

static void process_main(int in, int out)
{
	struct rnicpair p;
	uint32_t num;
	char what;

	ud_open(&p, &defaults);
	num = rnic_qp_num(p.side[1].qp);
	must(write(out, &num, sizeof(num)) == sizeof(num));
	while (read(in, &what, 1) == 1) {
		process_do(&p, what);
		must(write(out, &what, 1) == 1);
	}
	rnicpair_close(&p);
	must(port_cnt() == 0);
	_exit(0);
}

static void process_start(struct process *proc)
{
	int to[2], from[2];
	pid_t pid;

	must(!pipe2(to, O_CLOEXEC) && !pipe2(from, O_CLOEXEC));
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		close(to[1]);
		close(from[0]);
		close(name_fd);
		for (size_t i = 0; i < ARRAY_LEN(procs); i++) {
			if (procs[i].pid) {
				close(procs[i].to);
				close(procs[i].from);
			}
		}
		process_main(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	proc->pid = pid;
	proc->to = to[1];
	proc->from = from[0];
	must(read(proc->from, &proc->num, sizeof(proc->num)) ==
	     sizeof(proc->num));
}

static void process_tell(struct process *proc, char what)
{
	must(write(proc->to, &what, 1) == 1);
	must(read(proc->from, &what, 1) == 1);
}

static void process_end(struct process *proc)
{
	int status;

	close(proc->to);
	must(waitpid(proc->pid, &status, 0) == proc->pid);
	close(proc->from);
	proc->pid = 0;
}

static void process_stop(struct process *proc)
{
	int status;

	must(!kill(proc->pid, SIGSTOP));
	must(waitpid(proc->pid, &status, WUNTRACED) == proc->pid);
	must(WIFSTOPPED(status));
}

/* ---- what comes by UDP --------------------------------------------------- */

#define FROM_PORT 5555

static void wire_send(uint32_t num)
{
	static const uint8_t lo[4] = { 127, 0, 0, 1 };
	struct sib_hdr hdr = { .opcode = SIB_OPCODE(SIB_UD, SIB_SEND_ONLY),
			       .pkey = SIB_PKEY_DEFAULT,
			       .dest_qpn = num,
			       .qkey = UD_QKEY,
			       .src_qpn = 0x333 };
	struct sib_path path = { .src_port = FROM_PORT,
				 .dst_port = SIB_UDP_PORT };
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(FROM_PORT) };
	const int mode = IP_PMTUDISC_DO;
	uint8_t octets[SIB_HDR_MAX + 16];
	struct iovec iov = { octets, 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int len = sib_hdr_encode(&hdr, 0, octets, SIB_HDR_MAX), tail;

	must(fd >= 0 && len > 0);
	must(!setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &mode, sizeof(mode)));
	must(!bind(fd, (struct sockaddr *)&sin, sizeof(sin)));
	must(!sib_gid_from_ip(lo, 4, &path.src));
	path.dst = path.src;
	iov.iov_len = (size_t)len;
	tail = sib_tail_encode(&path, &iov, 1, octets + len, SIB_TAIL_MAX);
	must(tail > 0);
	sin.sin_port = htons(SIB_UDP_PORT);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(sendto(fd, octets, (size_t)(len + tail), 0,
		    (struct sockaddr *)&sin, sizeof(sin)) == len + tail);
	close(fd);
}

/* ---- cases --------------------------------------------------------------- */

/*
 * Steps of processes A to D: '+': it begins, and has the port in the end; '?':
 * the same, and nobody can give it the port yet; '=': from now on it has it;
 * '-': it ends; '!': it is killed; 'z': it is stopped; 'g': it goes on; '>': it
 * hears.
 */
static const struct {
	const char *name, *steps;
} rows[] = {
	{ "the first is stopped", "+A +B >A >B zA >B gA >A >B" },
	{ "another is stopped", "+A +B zB >A gB >B" },
	{ "the first ends", "+A +B -A >B +C >C zB >C gB >B" },
	{ "the first is killed", "+A +B +C !A >B >C zB >C gB" },
	{ "one begins while the first is stopped",
	  "+A +B zA +C >C zB >C gB gA >A" },
	{ "one begins while all others are stopped",
	  "+A zA ?B gA =B zA >B gA" },
	{ "who was asked is killed", "+A zA ?B !A =B >B +C >C" },
	{ "a stopped one is killed", "+A +B zA >B !A >B +C >B >C" },
	{ "all end, and others begin", "+A +B -B -A +C >C +D zC >D gC" },
};

static void process_step(struct process *proc, char what)
{
	int status;

	switch (what) {
	case '+':
	case '?':
		process_start(proc);
		if (what == '+')
			process_tell(proc, 's');
		return;
	case '=':
		process_tell(proc, 's');
		return;
	case '-':
		process_end(proc);
		return;
	case '!':
		must(!kill(proc->pid, SIGKILL));
		must(waitpid(proc->pid, &status, 0) == proc->pid);
		close(proc->to);
		close(proc->from);
		proc->pid = 0;
		return;
	case 'z':
		process_stop(proc);
		return;
	case 'g':
		must(!kill(proc->pid, SIGCONT));
		return;
	case '>':
		process_tell(proc, 'r');
		wire_send(proc->num);
		process_tell(proc, 't');
		return;
	}
	must(!"a step");
}

CASE(who_is_stopped_or_ends_costs_others_nothing)
{
#ifdef __SANITIZE_THREAD__
	skip_because("no threads after a fork under TSan");
#endif
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		print_message("%s\n", rows[i].name);
		for (const char *step = rows[i].steps; *step;
		     step += step[2] ? 3 : 2)
			process_step(&procs[step[1] - 'A'], step[0]);
		for (size_t j = 0; j < ARRAY_LEN(procs); j++)
			if (procs[j].pid)
				process_end(&procs[j]);
	}
}

/* ---- another program has the name ---------------------------------------- */

static void name_take(void)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int len = sprintf(sun.sun_path + 1, "usiw-udp/1/%u", geteuid());

	must(fd >= 0);
	must(!bind(fd, (struct sockaddr *)&sun,
		   (socklen_t)(sizeof(sa_family_t) + 1 + (size_t)len)));
	must(!listen(fd, 8));
	name_fd = fd;
}

CASE(one_that_gives_nothing_costs_nothing)
{
#ifdef __SANITIZE_THREAD__
	skip_because("no threads after a fork under TSan");
#endif
	name_take();
	/* It does not answer. */
	process_step(&procs[0], '?');
	process_step(&procs[0], '>');
	close(name_fd);
	process_step(&procs[0], '=');
	process_step(&procs[0], '>');
	process_end(&procs[0]);
	/* Whatever it is asked. */
	name_take();
	process_step(&procs[0], '?');
	for (int i = 0; i < 16; i++)
		close(accept4(name_fd, NULL, NULL, SOCK_CLOEXEC));
	process_step(&procs[0], '>');
	process_end(&procs[0]);
	close(name_fd);
}

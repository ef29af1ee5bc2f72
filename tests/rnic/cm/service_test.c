/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ports of datagrams: each is in use once. */
#define _GNU_SOURCE
#include "sidr-fixture.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../netns-fixture.h"

#include "loop/loop.h"

#define PS_IPOIB 0x0002u

static int bind_to(const struct cm_side *s, uint16_t ps, const char *addr,
		   uint16_t port, uint32_t *ret_id)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(port) };

	assert_int_equal(inet_pton(AF_INET, addr, &sin.sin_addr), 1);
	assert_int_equal(rnic_cm_create_ud(s->chan, 1, ps, ret_id), 0);
	return rnic_cm_bind(s->chan, *ret_id, (struct sockaddr *)&sin);
}

CASE(a_port_is_in_use_once)
{
	struct sockaddr_storage local;
	struct cm_side s, other;
	uint32_t id, cnt;
	uint16_t port;

	local = sidr_bind(&s, AF_INET, 0);
	port = cm_port(&local);
	assert_int_not_equal(port, 0);
	assert_int_equal(bind_to(&s, SIB_PS_UDP, "127.0.0.1", port, &id),
			 -EADDRINUSE);
	/* Another port space has ports of its own, and TCP as well. */
	assert_int_equal(bind_to(&s, PS_IPOIB, "127.0.0.1", port, &id), 0);
	cm_side_open(&other, 1);
	assert_int_equal(
		rnic_cm_bind(other.chan, other.id, (struct sockaddr *)&local),
		0);
	cm_side_close(&other);
	assert_int_equal(rnic_cm_destroy(s.chan, s.id, &cnt), 0);
	assert_int_equal(bind_to(&s, SIB_PS_UDP, "127.0.0.1", port, &id), 0);
	cm_side_close(&s);
}

static uint32_t cap_low(uint32_t caps, bool has_cap)
{
	const uint32_t bit = 1u << CAP_NET_BIND_SERVICE;

	return has_cap ? caps | bit : caps & ~bit;
}

/* Of this thread.  Return: false: it cannot have it. */
static bool cap_set(bool has_cap)
{
	struct __user_cap_header_struct hdr = { _LINUX_CAPABILITY_VERSION_3,
						0 };
	struct __user_cap_data_struct data[2];

	must(syscall(SYS_capget, &hdr, data) == 0);
	data[0].effective = cap_low(data[0].effective, has_cap);
	return syscall(SYS_capset, &hdr, data) == 0;
}

static int bind_tcp(uint16_t port)
{
	struct sockaddr_storage ss = cm_loopback(AF_INET, port);
	struct cm_side s;
	int ret;

	cm_side_open(&s, 1);
	ret = rnic_cm_bind(s.chan, s.id, (struct sockaddr *)&ss);
	cm_side_close(&s);
	return ret;
}

static int bind_udp(uint16_t port)
{
	struct cm_side s;
	uint32_t id;
	int ret;

	assert_int_equal(rnic_cm_chan_new(&s.chan), 0);
	ret = bind_to(&s, SIB_PS_UDP, "127.0.0.1", port, &id);
	cm_side_close(&s);
	return ret;
}

/* As for TCP. */
CASE(a_privileged_port_takes_privilege)
{
	static const uint16_t ports[] = { 1, 1023, 1024 };

	for (size_t i = 0; i < 2 * ARRAY_LEN(ports); i++) {
		uint16_t port = ports[i / 2];
		bool has_cap = i % 2;
		int ret = has_cap || port == 1024 ? 0 : -EACCES;

		must(cap_set(has_cap));
		assert_int_equal(bind_tcp(port), ret);
		assert_int_equal(bind_udp(port), ret);
	}
}

CASE(only_own_addresses_are_bound)
{
	struct cm_side s;
	uint32_t id;

	assert_int_equal(rnic_cm_chan_new(&s.chan), 0);
	assert_int_equal(bind_to(&s, SIB_PS_UDP, "192.0.2.77", 0, &id),
			 -EADDRNOTAVAIL);
	assert_int_equal(bind_to(&s, SIB_PS_UDP, "0.0.0.0", 0, &id), 0);
	cm_side_close(&s);
}

CASE(listening_binds)
{
	struct rnic_cm_info info;
	struct cm_side s;

	assert_int_equal(rnic_cm_chan_new(&s.chan), 0);
	assert_int_equal(rnic_cm_create_ud(s.chan, 1, SIB_PS_UDP, &s.id), 0);
	assert_int_equal(rnic_cm_listen(s.chan, s.id, 0), 0);
	assert_int_equal(rnic_cm_listen(s.chan, s.id, 0), -EINVAL);
	assert_int_equal(rnic_cm_query(s.chan, s.id, &info), 0);
	assert_int_equal(info.state, RNIC_CM_S_LISTEN);
	assert_int_not_equal(cm_port(&info.local), 0);
	assert_int_equal(rnic_cm_disconnect(s.chan, s.id), -EINVAL);
	cm_side_close(&s);
}

/* A port that the application wants to come from is its own as well. */
CASE(a_source_port_is_bound)
{
	struct sockaddr_storage src = cm_loopback(AF_INET, 0), dst;
	struct rnic_cm_event ev;
	struct rnic_cm_info info;
	struct cm_side s, other;

	src = sidr_bind(&other, AF_INET, 0);
	dst = cm_loopback(AF_INET, 9);
	assert_int_equal(rnic_cm_chan_new(&s.chan), 0);
	assert_int_equal(rnic_cm_create_ud(s.chan, 1, SIB_PS_UDP, &s.id), 0);
	assert_int_equal(rnic_cm_resolve_addr(s.chan, s.id,
					      (struct sockaddr *)&src,
					      (struct sockaddr *)&dst, 1000),
			 -EADDRINUSE);
	cm_side_close(&other);
	assert_int_equal(rnic_cm_resolve_addr(s.chan, s.id,
					      (struct sockaddr *)&src,
					      (struct sockaddr *)&dst, 1000),
			 0);
	cm_expect(s.chan, RNIC_CM_ADDR_RESOLVED, 0, &ev);
	assert_int_equal(rnic_cm_query(s.chan, s.id, &info), 0);
	assert_int_equal(cm_port(&info.local), cm_port(&src));
	cm_side_close(&s);
}

/* What comes before is kept. */
CASE(requests_wait_for_the_listener)
{
	struct cm_side listener, active;
	struct sockaddr_storage local = sidr_bind(&listener, AF_INET, 0);
	struct rnic_cm_event ev;

	sidr_resolve(&active, AF_INET, cm_port(&local));
	assert_int_equal(sidr_connect(&active, "", 0), 0);
	assert_false(cm_is_readable(listener.chan, SIDR_QUIET_MS));
	assert_int_equal(rnic_cm_listen(listener.chan, listener.id, 0), 0);
	cm_expect(listener.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	cm_side_close(&active);
	cm_side_close(&listener);
}

/* ---- a program that becomes a daemon after it listens ---- */

static void daemon_serve(const struct cm_side *s)
{
	struct rnic_cm_event ev;

	if (rnic_cm_get_event(s->chan, &ev) < 0 ||
	    ev.type != RNIC_CM_CONNECT_REQUEST || memcmp(ev.pd, "hi", 2) != 0 ||
	    sidr_accept(s, ev.id, 7, "", 0) < 0)
		_exit(1);
	rnic_cm_chan_free(s->chan);
	rnic_loop_stop();
	_exit(0);
}

static void daemon_main(int to)
{
	struct cm_side s;
	uint16_t port = sidr_listen(&s, 0);

	if (fork() != 0)
		_exit(0);
	if (write(to, &port, sizeof(port)) != sizeof(port))
		_exit(1);
	daemon_serve(&s);
}

/* Runs first: this process has no thread yet. */
FIRST_CASE(a_daemon_goes_on_listening)
{
	struct rnic_cm_event ev;
	struct cm_side s;
	int via[2], status;
	uint16_t port = 0;
	pid_t pid;

#ifdef __SANITIZE_THREAD__
	skip_because("no threads after a fork under TSan");
#endif
	assert_int_equal(pipe(via), 0);
	pid = fork();
	if (pid == 0)
		daemon_main(via[1]);
	close(via[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(via[0], &port, sizeof(port)), sizeof(port));
	sidr_resolve(&s, AF_INET, port);
	assert_int_equal(sidr_connect(&s, "hi", 2), 0);
	cm_expect(s.chan, RNIC_CM_ESTABLISHED, 0, &ev);
	assert_int_equal(ev.qp_num, 7);
	cm_side_close(&s);
	close(via[0]);
}

/* What the listener hears comes through the parent's socket. */
CASE(a_child_that_closes_removes_nothing)
{
	struct cm_side listener, active;
	struct rnic_cm_event ev;
	uint16_t port = sidr_listen(&listener, 0);
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		rnic_cm_chan_free(listener.chan);
		/* Nor has it counted down what only the parent has. */
		_exit(cm.mads.user_cnt != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	sidr_resolve(&active, AF_INET, port);
	assert_int_equal(sidr_connect(&active, "hi", 2), 0);
	cm_expect(listener.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	cm_side_close(&active);
	cm_side_close(&listener);
}

static uint32_t join(const struct cm_side *s)
{
	struct sockaddr_in group = { .sin_family = AF_INET };
	uint32_t num = 0;

	(void)inet_pton(AF_INET, "239.1.2.3", &group.sin_addr);
	(void)rnic_cm_join(s->chan, s->id, (struct sockaddr *)&group,
			   sizeof(group), 1, &num);
	return num;
}

/* Which has inherited those of its parent. */
CASE(a_child_gives_its_groups_other_numbers)
{
	struct cm_side s;
	uint32_t first;
	int status;
	pid_t pid;

	sidr_bind(&s, AF_INET, 0);
	first = join(&s);
	assert_int_not_equal(first, 0);
	pid = fork();
	if (pid == 0) {
		uint32_t again = join(&s);

		_exit(again == 0 || again == first);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	cm_side_close(&s);
}

BEFORE_CASES()
{
	/* Before the settings are read for the first time. */
	setenv("USIW_PERSONA", "ca", 1);
	/* Where ports below 1024 are privileged. */
	must(netns_enter());
	netns_lo_set_up(true);
}

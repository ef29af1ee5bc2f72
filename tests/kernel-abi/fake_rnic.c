/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A libusiw-rnic-*.so with two fixed devices, for the tests of kernel-abi/. The
 * tests can compare the tree and the behaviour of descriptors octet by octet.
 * Its channels are real. Its connection manager refuses everything.
 */
#define _GNU_SOURCE /* F_DUPFD_CLOEXEC */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rnic/cm/rnic-cm-ud.h"
#include "rnic/dev/rnic-stats.h"
#include "rnic/os/rnic-observer.h"
#include "rnic/qp/rnic-fault.h"
#include "rnic/rnic.h"
#include "util/fdtab.h"

#define FAKE_DEVICE_CNT 2

struct rnic_device {
	struct rnic_device_attr attr;
};

struct rnic_chan {
	struct util_file file;
	int fd;	      /* internal */
	int first_fd; /* the application's */
	size_t record_size;
};

static struct rnic_device devices[FAKE_DEVICE_CNT] = {
	{ .attr = { .name = "usiw_lo",
		    .ifname = "lo",
		    .ifindex = 2000000001,
		    .uverbs_num = 1000,
		    .mtu = 65536,
		    .is_up = true,
		    .gid_cnt = 1,
		    .gid = { { [10] = 0xff, 0xff, 127, 0, 0, 1 } } } },
	{ .attr = { .name = "usiw_down0",
		    .ifname = "down0",
		    .ifindex = 2000000007,
		    .uverbs_num = 1001,
		    .mtu = 1500,
		    .is_up = false,
		    .gid_cnt = 2,
		    .gid = { { [10] = 0xff, 0xff, 192, 0, 2, 7 },
			     { 0xfe, 0x80, [15] = 7 } } } },
};
static struct rnic_device *const device_list[FAKE_DEVICE_CNT] = {
	&devices[0],
	&devices[1],
};

static struct util_fdtab *fds;
static uint32_t fork_gen;
static int internal_fd = -1;

static void disown(struct util_fdtab *tab, int fd, unsigned int kind,
		   void *object)
{
	(void)object;
	if (kind == RNIC_FD_INTERNAL) {
		util_fdtab_remove(tab, fd);
		syscall(SYS_close, fd);
	} else if (kind == RNIC_FD_CHAN) {
		util_fdtab_add(tab, fd, RNIC_FD_DEAD, NULL);
	}
}

static void fork_child(void)
{
	fork_gen++;
	util_fdtab_fork_child(fds);
	util_fdtab_each(fds, disown);
}

__attribute__((constructor)) static void fake_start(void)
{
	const uint8_t guid[8] = { 2, 0, 0, 0xff, 0xfe, 0, 0, 0 };
	const char *persona = getenv("USIW_PERSONA");

	for (int i = 0; i < FAKE_DEVICE_CNT; i++) {
		memcpy(&devices[i].attr.guid_be, guid, sizeof(guid));
		((uint8_t *)&devices[i].attr.guid_be)[7] = (uint8_t)(i + 1);
		if (persona && strcmp(persona, "ca") == 0)
			devices[i].attr.persona = RNIC_PERSONA_CA;
	}
}

struct util_fdtab *rnic_fdtab(void)
{
	if (!fds) {
		fds = util_fdtab_new();
		pthread_atfork(NULL, NULL, fork_child);
		/* A descriptor that the application must not close. */
		internal_fd = eventfd(0, EFD_CLOEXEC);
		util_fdtab_add(fds, internal_fd, RNIC_FD_INTERNAL, NULL);
	}
	return fds;
}

uint32_t rnic_fork_gen(void)
{
	return fork_gen;
}

const struct rnic_limits *rnic_limits(void)
{
	static const struct rnic_limits limits = { .hw_ver = 0x1a };

	return &limits;
}

int rnic_device_list(struct rnic_device *const **ret_list)
{
	*ret_list = device_list;
	return FAKE_DEVICE_CNT;
}

int rnic_device_query(const struct rnic_device *dev,
		      struct rnic_device_attr *ret_attr)
{
	*ret_attr = dev->attr;
	return 0;
}

/* Additional traffic of usiw_down0. */
static uint64_t traffic;

RNIC_EXPORT void fake_traffic_add(uint64_t fpdu_cnt);

void fake_traffic_add(uint64_t fpdu_cnt)
{
	traffic += fpdu_cnt;
}

void rnic_device_stats(const struct rnic_device *dev,
		       struct rnic_device_stats *ret_stats)
{
	uint64_t unit = dev == &devices[0] ? 1 : 1000;

	*ret_stats = (struct rnic_device_stats){ .tx_fpdu = unit,
						 .rx_fpdu = 2 * unit,
						 .rx_crc_bad = 3 * unit,
						 .rx_direct = 40 * unit,
						 .rx_staged = 52 * unit,
						 .tx_inplace = 60 * unit,
						 .tx_copied = 70 * unit };
	if (dev != &devices[0])
		ret_stats->tx_fpdu += traffic;
}

struct rnic_device *rnic_device_by_name(const char *name)
{
	for (int i = 0; i < FAKE_DEVICE_CNT; i++)
		if (strcmp(devices[i].attr.name, name) == 0)
			return &devices[i];
	return NULL;
}

struct rnic_device *rnic_device_by_addr(const struct sockaddr *addr)
{
	(void)addr;
	return NULL;
}

struct rnic_device *rnic_device_by_guid(uint64_t guid_be)
{
	for (int i = 0; i < FAKE_DEVICE_CNT; i++)
		if (devices[i].attr.guid_be == guid_be)
			return &devices[i];
	return NULL;
}

/* ---- the guard: records its calls ---- */

static bool is_guarding;
static struct sigaction guarded[64];

RNIC_EXPORT void fake_guard_set(bool is_on);

void fake_guard_set(bool is_on)
{
	is_guarding = is_on;
}

bool rnic_guard_is_on(void)
{
	return is_guarding;
}

int rnic_guard_copy(void *dst, const void *src, size_t len)
{
	(void)dst;
	(void)src;
	(void)len;
	return -ENOSYS;
}

int rnic_guard_sigaction(int sig, const struct sigaction *act,
			 struct sigaction *ret_old)
{
	struct sigaction old = guarded[sig];

	if (act)
		guarded[sig] = *act;
	if (ret_old)
		*ret_old = old;
	return 0;
}

/* ---- channels: every write to the eventfd is one record of 0x55 ---- */

static void chan_close(struct util_file *file)
{
	(void)file;
}

static void chan_free(struct util_file *file)
{
	struct rnic_chan *chan = (struct rnic_chan *)file;

	util_fdtab_remove(rnic_fdtab(), chan->fd);
	syscall(SYS_close, chan->fd);
	free(chan);
}

int rnic_chan_new(size_t record_size, struct rnic_chan **ret_chan)
{
	struct rnic_chan *chan = calloc(1, sizeof(*chan));

	if (!chan)
		return -ENOMEM;
	util_file_init(&chan->file, chan_close, chan_free);
	chan->record_size = record_size;
	chan->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	if (chan->fd < 0) {
		free(chan);
		return -errno;
	}
	util_fdtab_add(rnic_fdtab(), chan->fd, RNIC_FD_INTERNAL, NULL);
	chan->first_fd = (int)syscall(SYS_fcntl, chan->fd, F_DUPFD_CLOEXEC, 0);
	util_fdtab_install(rnic_fdtab(), chan->first_fd, RNIC_FD_CHAN,
			   &chan->file);
	*ret_chan = chan;
	return 0;
}

int rnic_chan_fd(const struct rnic_chan *chan)
{
	return chan->first_fd;
}

ssize_t rnic_chan_read(struct rnic_chan *chan, void *buf, size_t size)
{
	uint64_t token;

	if (size < chan->record_size)
		return -EINVAL;
	if (syscall(SYS_read, chan->fd, &token, sizeof(token)) < 0)
		return -errno;
	memset(buf, 0x55, chan->record_size);
	return (ssize_t)chan->record_size;
}

void rnic_chan_put(struct rnic_chan *chan)
{
	util_file_put(&chan->file);
}

void rnic_chan_close(struct rnic_chan *chan)
{
	if (util_fdtab_uninstall(rnic_fdtab(), chan->first_fd, &chan->file))
		syscall(SYS_close, chan->first_fd);
	rnic_chan_put(chan);
}

struct rnic_chan *rnic_chan_get_fd(int fd)
{
	return (struct rnic_chan *)util_fdtab_get(rnic_fdtab(), fd,
						  RNIC_FD_CHAN);
}

/* ---- connection manager: a channel that opens and closes ---- */

struct rnic_cm_chan {
	int fd;
};

int rnic_cm_chan_new(struct rnic_cm_chan **ret_chan)
{
	struct rnic_cm_chan *chan = calloc(1, sizeof(*chan));

	if (!chan)
		return -ENOMEM;
	chan->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	if (chan->fd < 0) {
		free(chan);
		return -errno;
	}
	util_fdtab_add(rnic_fdtab(), chan->fd, RNIC_FD_INTERNAL, NULL);
	*ret_chan = chan;
	return 0;
}

void rnic_cm_chan_set_file(struct rnic_cm_chan *chan,
			   const struct util_file *file)
{
	(void)chan;
	(void)file;
}

int rnic_cm_chan_fd(const struct rnic_cm_chan *chan)
{
	return chan->fd;
}

void rnic_cm_chan_close(struct rnic_cm_chan *chan)
{
	(void)chan;
}

void rnic_cm_chan_free(struct rnic_cm_chan *chan)
{
	util_fdtab_remove(rnic_fdtab(), chan->fd);
	syscall(SYS_close, chan->fd);
	free(chan);
}

int rnic_cm_get_event(struct rnic_cm_chan *chan, struct rnic_cm_event *ret_ev)
{
	(void)chan;
	(void)ret_ev;
	return -EAGAIN;
}

#define REFUSE(name, ...)                                                      \
	int rnic_cm_##name(__VA_ARGS__)                                        \
	{                                                                      \
		return -ENOENT;                                                \
	}

#pragma GCC diagnostic ignored "-Wunused-parameter"
REFUSE(create, struct rnic_cm_chan *chan, uint64_t uid, uint32_t *ret_id)
REFUSE(create_ud, struct rnic_cm_chan *chan, uint64_t uid, uint16_t ps,
       uint32_t *ret_id)
REFUSE(join, struct rnic_cm_chan *chan, uint32_t id,
       const struct sockaddr *addr, size_t addr_len, uint64_t uid,
       uint32_t *ret_join)
REFUSE(leave, struct rnic_cm_chan *chan, uint32_t join, uint32_t *ret_events)
REFUSE(destroy, struct rnic_cm_chan *chan, uint32_t id, uint32_t *ret_events)
REFUSE(set_uid, struct rnic_cm_chan *chan, uint32_t id, uint64_t uid)
REFUSE(bind, struct rnic_cm_chan *chan, uint32_t id,
       const struct sockaddr *addr)
REFUSE(resolve_addr, struct rnic_cm_chan *chan, uint32_t id,
       const struct sockaddr *src, const struct sockaddr *dst,
       uint32_t timeout_ms)
REFUSE(resolve_route, struct rnic_cm_chan *chan, uint32_t id,
       uint32_t timeout_ms)
REFUSE(query, struct rnic_cm_chan *chan, uint32_t id,
       struct rnic_cm_info *ret_info)
REFUSE(listen, struct rnic_cm_chan *chan, uint32_t id, int backlog)
REFUSE(note_qp, struct rnic_cm_chan *chan, uint32_t id)
REFUSE(connect, struct rnic_cm_chan *chan, uint32_t id,
       const struct rnic_cm_conn_param *param)
REFUSE(accept, struct rnic_cm_chan *chan, uint32_t id,
       const struct rnic_cm_conn_param *param)
REFUSE(establish, struct rnic_cm_chan *chan, uint32_t id)
REFUSE(reject, struct rnic_cm_chan *chan, uint32_t id, const void *pd,
       uint8_t pd_len)
REFUSE(disconnect, struct rnic_cm_chan *chan, uint32_t id)
REFUSE(set_option, struct rnic_cm_chan *chan, uint32_t id,
       enum rnic_cm_option opt, uint32_t value)
REFUSE(write_event, struct rnic_cm_chan *chan, uint32_t id,
       enum rnic_cm_event_type type, int status, const void *arg)
int rnic_fault_call(const char *name, const struct rnic_qp *qp)
{
	return 0;
}
const _Atomic uint32_t *rnic_observed_word(void)
{
	static const _Atomic uint32_t none;

	return &none;
}
bool rnic_observer_begin(enum usiw_observe kind, uint16_t record_kind,
			 uint32_t len, struct rnic_observer_record *ret_record)
{
	return false;
}
void rnic_observer_end(enum usiw_observe kind,
		       const struct rnic_observer_record *record)
{
}
bool rnic_cm_make_way(const struct sockaddr *addr, socklen_t len)
{
	return false;
}
REFUSE(migrate, struct rnic_cm_chan *from, uint32_t id, struct rnic_cm_chan *to,
       uint32_t *ret_id, uint32_t *ret_events)

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See observer.h. */
#define _GNU_SOURCE /* memfd_create, fallocate */
#include "observer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stat/process.h"

/* How long a thread may take for a record. */
#define USERS_MS 1000

/* A ring of a process. */
struct source {
	uint32_t pid;
	struct usiw_record_ring *ring;
	void *data;
	bool has_ended;
	int pid_fd; /* ready when it ends, though nobody waits for it; -1 */
	/* Its oldest record, taken already. */
	struct usiw_record *record;
	uint32_t len; /* 0: none */
	/* If it was attached: the process, its counter page, and its place. */
	struct process_list list;
	struct usiw_stat_page *page;
	struct usiw_observer_place *place;
};

struct observer {
	const char *command;
	enum usiw_observe kind;
	uint32_t ring_size, snap_len;
	/* For processes that a program starts; NULL: it did not start one. */
	struct usiw_observer_place *place;
	uint32_t slot_cnt; /* of those, how many are sources */
	struct source source[OBSERVER_SOURCES];
	uint32_t source_cnt;
	int last; /* whose record was shown; -1: none */
};

static size_t place_size(const struct observer *obs, uint32_t slots)
{
	return USIW_OBSERVER_DATA_AT + (size_t)slots * obs->ring_size;
}

static struct usiw_observer_place *place_map(const struct observer *obs, int fd,
					     uint64_t at, uint32_t slots)
{
	struct usiw_observer_place *place = mmap(NULL, place_size(obs, slots),
						 PROT_READ | PROT_WRITE,
						 MAP_SHARED, fd, (off_t)at);

	if (place == MAP_FAILED)
		return NULL;
	place->version = USIW_OBSERVER_VERSION;
	place->kind = obs->kind;
	place->ring_size = obs->ring_size;
	place->slot_cnt = slots;
	place->snap_len = obs->snap_len;
	__atomic_store_n(&place->magic, USIW_OBSERVER_MAGIC, __ATOMIC_RELEASE);
	return place;
}

struct observer *observer_new(const char *command, enum usiw_observe kind,
			      uint32_t ring_size, uint32_t snap_len)
{
	struct observer *obs = calloc(1, sizeof(*obs));

	if (!obs) {
		fprintf(stderr, "usiw: %s: no memory\n", command);
		return NULL;
	}
	obs->command = command;
	obs->kind = kind;
	obs->ring_size = ring_size;
	obs->snap_len = snap_len;
	obs->last = -1;
	return obs;
}

static struct source *source_add(struct observer *obs, uint32_t pid,
				 struct usiw_record_ring *ring, void *data)
{
	struct source *src = &obs->source[obs->source_cnt];

	if (obs->source_cnt == OBSERVER_SOURCES)
		return NULL;
	*src = (struct source){ .pid = pid, .ring = ring, .data = data };
	src->record = malloc(OBSERVER_RECORD_MAX);
	if (!src->record)
		return NULL;
	src->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	obs->source_cnt++;
	return src;
}

/* ---- a process that runs ------------------------------------------------- */

/* The page of a process, writable.  Return: a descriptor; -errno. */
static int page_open(const struct process *process)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", process->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static struct usiw_stat_page *page_map(int fd)
{
	struct usiw_stat_page *page;
	struct stat st;

	if (fstat(fd, &st) < 0 || (size_t)st.st_size < sizeof(*page))
		return NULL;
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    0);
	return page == MAP_FAILED ? NULL : page;
}

/* One command at a time.  Return: 0; the process ID of the other one. */
static uint32_t owner_take(struct usiw_observe_request *request)
{
	uint32_t me = (uint32_t)getpid(), other = 0;

	while (!atomic_compare_exchange_strong_explicit(
		&request->owner, &other, me, memory_order_acquire,
		memory_order_relaxed))
		if (kill((pid_t)other, 0) == 0 || errno != ESRCH)
			return other;
	return 0;
}

static void owner_give(struct usiw_observe_request *request)
{
	atomic_store_explicit(&request->owner, 0, memory_order_release);
}

/* What a command before this one observed may be in a thread's hands still.
 * Return: 0; -ETIMEDOUT. */
static int users_wait(struct usiw_observe_request *request)
{
	for (int ms = 0; ms < USERS_MS; ms++) {
		/* seq_cst: the thread finds nothing wanted, or is found */
		if (!atomic_load_explicit(&request->user_cnt,
					  memory_order_seq_cst))
			return 0;
		(void)poll(NULL, 0, 1);
	}
	return -ETIMEDOUT;
}

/* Memory for the records, all 0, in the page's file.  Return: 0; -errno. */
static int file_grow(const struct observer *obs, int fd, uint64_t at)
{
	off_t len = (off_t)place_size(obs, 1);
	struct stat st;
	int ret;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size < (off_t)at + len && ftruncate(fd, (off_t)at + len) < 0)
		return -errno;
	(void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			(off_t)at, len);
	/* A full disk is an error here, and not a signal there. */
	ret = posix_fallocate(fd, (off_t)at, len);
	return -ret;
}

/* The owner's.  Return: 0; -errno. */
static int attach_page(struct observer *obs, pid_t pid, int fd,
		       struct usiw_stat_page *page)
{
	uint64_t at = USIW_OBSERVER_AT(obs->kind);
	struct usiw_observe_request *request =
		&page->observed.request[obs->kind];
	struct usiw_observer_place *place;
	struct source *src;
	int ret = users_wait(request);

	if (ret == 0)
		ret = file_grow(obs, fd, at);
	if (ret < 0)
		return ret;
	place = place_map(obs, fd, at, 1);
	src = place ? source_add(obs, (uint32_t)pid, &place->slot[0].ring,
				 (char *)place + USIW_OBSERVER_DATA_AT)
		    : NULL;
	if (!src)
		return -ENOMEM;
	src->page = page;
	src->place = place;
	atomic_fetch_add_explicit(&request->serial, 1, memory_order_release);
	atomic_fetch_or_explicit(&page->observed.wanted, 1u << obs->kind,
				 memory_order_seq_cst);
	return 0;
}

/* Return: 0; -errno; *ret_other: the command that observes it, for -EBUSY. */
static int attach(struct observer *obs, pid_t pid, int fd, uint32_t *ret_other)
{
	struct usiw_stat_page *page = page_map(fd);
	_Atomic uint32_t *wanted;
	int ret;

	if (!page)
		return -EPROTO;
	*ret_other = owner_take(&page->observed.request[obs->kind]);
	if (*ret_other)
		return -EBUSY;
	/* The owner before may have been killed. */
	wanted = &page->observed.wanted;
	atomic_fetch_and_explicit(wanted, ~(1u << obs->kind),
				  memory_order_seq_cst);
	ret = attach_page(obs, pid, fd, page);
	if (ret < 0)
		owner_give(&page->observed.request[obs->kind]);
	return ret;
}

static void attach_explain(const struct observer *obs, pid_t pid, int ret,
			   uint32_t other)
{
	fprintf(stderr, "usiw: %s: process %d: ", obs->command, (int)pid);
	if (ret == -ETIMEDOUT)
		fputs("a thread of it stands still in the middle of a record; "
		      "is the process stopped?\n",
		      stderr);
	else if (ret == -EBUSY)
		fprintf(stderr, "usiw %s observes it already: process %u\n",
			obs->command, other);
	else
		fprintf(stderr, "%s\n", process_error(ret));
}

int observer_attach(struct observer *obs, pid_t pid)
{
	struct process_list list = { .cnt = 0 };
	int ret = process_find(&list, (int)pid), fd = -1;
	uint32_t other = 0;

	if (ret == 0)
		ret = fd = page_open(list.at[0]);
	if (ret >= 0) {
		ret = attach(obs, pid, fd, &other);
		close(fd);
	}
	if (ret < 0) {
		process_list_free(&list);
		attach_explain(obs, pid, ret, other);
		return -1;
	}
	obs->source[obs->source_cnt - 1].list = list;
	return 0;
}

/* ---- a program ------------------------------------------------------- */

static int place_new(struct observer *obs)
{
	static const char *const names[] = {
		[USIW_OBSERVE_CALLS] = "calls",
		[USIW_OBSERVE_PACKETS] = "packets",
	};
	int fd = memfd_create("usiw-observer", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	/* Of another kind, perhaps, by a command that started this one. */
	const char *outer = getenv("USIW_OBSERVE");
	char text[256];

	if (fd < 0 ||
	    ftruncate(fd, (off_t)place_size(obs, USIW_OBSERVER_SLOTS)) < 0)
		return -1;
	/* A process that makes it shorter would end this one. */
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	obs->place = place_map(obs, fd, 0, USIW_OBSERVER_SLOTS);
	if (!obs->place)
		return -1;
	snprintf(text, sizeof(text), "%s:/proc/%d/fd/%d%s%s", names[obs->kind],
		 (int)getpid(), fd, outer ? "," : "", outer ? outer : "");
	return setenv("USIW_OBSERVE", text, 1);
}

int observer_spawn(struct observer *obs, const struct options *options,
		   char *const *argv, struct launched *ret_program)
{
	if (launch_prepare(options, argv) < 0)
		return -1;
	if (place_new(obs) < 0) {
		fprintf(stderr, "usiw: %s: no memory for records: %s\n",
			obs->command, strerror(errno));
		return -1;
	}
	return launch_spawn(ret_program, obs->command, argv);
}

static volatile sig_atomic_t is_stopped;

static void stop(int sig)
{
	(void)sig;
	is_stopped = 1;
}

static void go_on(int sig)
{
	(void)sig;
}

void observer_signals_set(int flags)
{
	const struct sigaction stops = { .sa_handler = stop,
					 .sa_flags = flags };
	const struct sigaction goes_on = { .sa_handler = go_on };

	(void)sigaction(SIGINT, &stops, NULL);
	(void)sigaction(SIGTERM, &stops, NULL);
	(void)sigaction(SIGPIPE, &goes_on, NULL);
	(void)sigaction(SIGXFSZ, &goes_on, NULL);
}

bool observer_is_stopped(void)
{
	return is_stopped;
}

/* Processes that have taken a slot since the last look. */
static void slots_look(struct observer *obs)
{
	struct usiw_observer_place *place = obs->place;
	uint32_t pid;

	for (; place && obs->slot_cnt < USIW_OBSERVER_SLOTS; obs->slot_cnt++) {
		struct usiw_observer_slot *slot = &place->slot[obs->slot_cnt];

		pid = atomic_load_explicit(&slot->pid, memory_order_relaxed);
		if (!pid ||
		    !source_add(obs, pid, &slot->ring,
				(char *)place + USIW_OBSERVER_DATA_AT +
					(size_t)obs->slot_cnt * obs->ring_size))
			return;
	}
}

/* ---- records --------------------------------------------------------- */

static void source_look(const struct observer *obs, struct source *src)
{
	int64_t len;

	if (src->len || !src->data)
		return;
	len = usiw_record_take(src->ring, src->data, obs->ring_size,
			       src->record, OBSERVER_RECORD_MAX);
	if (len < 0) {
		fprintf(stderr,
			"usiw: %s: process %u: its records are unreadable; it "
			"is not observed any more\n",
			obs->command, src->pid);
		src->data = NULL;
		return;
	}
	src->len = (uint32_t)len;
}

bool observer_next(struct observer *obs, struct observer_record *ret_record)
{
	struct source *oldest = NULL;

	if (obs->last >= 0)
		obs->source[obs->last].len = 0;
	obs->last = -1;
	slots_look(obs);
	for (uint32_t i = 0; i < obs->source_cnt; i++) {
		struct source *src = &obs->source[i];

		source_look(obs, src);
		if (src->len &&
		    (!oldest || src->record->ns < oldest->record->ns))
			oldest = src;
	}
	if (!oldest)
		return false;
	obs->last = (int)(oldest - obs->source);
	*ret_record = (struct observer_record){
		.pid = oldest->pid,
		.source = (uint32_t)obs->last,
		.head = oldest->record,
		.payload = oldest->record + 1,
		.len = oldest->len - (uint32_t)sizeof(struct usiw_record),
	};
	return true;
}

static void beat(struct usiw_observer_place *place)
{
	if (place)
		atomic_fetch_add_explicit(&place->beat, 1,
					  memory_order_relaxed);
}

void observer_wait(struct observer *obs, int ms)
{
	beat(obs->place);
	for (uint32_t i = 0; i < obs->source_cnt; i++)
		beat(obs->source[i].place);
	(void)poll(NULL, 0, ms);
}

/* What it wrote before it ended is in its ring. */
static bool source_lives(struct source *src)
{
	struct pollfd ended = { .fd = src->pid_fd, .events = POLLIN };

	if (src->has_ended)
		return false;
	if (src->list.cnt) /* another program is not observed */
		src->has_ended = process_has_ended(src->list.at[0]);
	else if (src->pid_fd >= 0)
		src->has_ended = poll(&ended, 1, 0) == 1;
	else
		src->has_ended = kill((pid_t)src->pid, 0) < 0 && errno == ESRCH;
	return !src->has_ended;
}

uint32_t observer_live_cnt(struct observer *obs)
{
	uint32_t cnt = 0;

	slots_look(obs);
	for (uint32_t i = 0; i < obs->source_cnt; i++)
		cnt += source_lives(&obs->source[i]) && obs->source[i].data;
	return cnt;
}

uint64_t observer_source_lost(const struct observer *obs, uint32_t source)
{
	return atomic_load_explicit(&obs->source[source].ring->lost,
				    memory_order_relaxed);
}

uint64_t observer_lost(const struct observer *obs)
{
	uint64_t cnt = 0;

	for (uint32_t i = 0; i < obs->source_cnt; i++)
		cnt += observer_source_lost(obs, i);
	return cnt;
}

static void source_leave(const struct observer *obs, struct source *src)
{
	struct usiw_observed *observed = &src->page->observed;

	atomic_fetch_and_explicit(&observed->wanted, ~(1u << obs->kind),
				  memory_order_seq_cst);
	/* The memory is given back, though the process has it mapped. */
	(void)madvise(src->place, place_size(obs, 1), MADV_REMOVE);
	owner_give(&observed->request[obs->kind]);
}

void observer_free(struct observer *obs)
{
	for (uint32_t i = 0; i < obs->source_cnt; i++) {
		if (obs->source[i].place)
			source_leave(obs, &obs->source[i]);
		process_list_free(&obs->source[i].list);
		if (obs->source[i].pid_fd >= 0)
			close(obs->source[i].pid_fd);
		free(obs->source[i].record);
	}
	free(obs);
}

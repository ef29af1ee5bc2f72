/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See user.h. */
#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The smallest page of any architecture; a larger page counts as several. */
#define USER_PAGE ((uintptr_t)4096)
/* Pages that a thread remembers: 2 MiB. */
#define SEEN_CNT 512
/* Number of calls after which all pages are checked again. */
#define SEEN_CALLS 1024u

/*
 * An entry is the page's address.  Its low bits say whether the page is
 * writable, and in which age it was checked.  Age 0 is never current, so an
 * empty entry matches no page.
 */
#define SEEN_WRITE ((uintptr_t)1)
#define AGE_STEP ((uintptr_t)2)

#define USER_TLS _Thread_local __attribute__((tls_model("initial-exec")))

static USER_TLS uintptr_t user_seen[SEEN_CNT];
static USER_TLS uintptr_t user_age = AGE_STEP;
static USER_TLS uint32_t user_call_cnt;

/* The kernel copies the mask before it finds that -1 is no operation.  With
 * NULL as the mask it copies nothing. */
static bool read_probe(uintptr_t at)
{
	uintptr_t mask = at < 8 ? 8 : at & ~(uintptr_t)7;

	return syscall(SYS_rt_sigprocmask, -1, mask, NULL, (long)NSIG / 8) ==
		       0 ||
	       errno != EFAULT;
}

/* Writes one octet, which the caller is about to overwrite. */
static bool write_probe(uintptr_t at)
{
	return syscall(SYS_getrandom, at, 1l, (long)GRND_NONBLOCK) >= 0 ||
	       errno != EFAULT;
}

static bool page_probe(uintptr_t at, bool is_write)
{
	int err = errno;
	bool is_good = is_write ? write_probe(at) : read_probe(at);

	errno = err;
	return is_good;
}

static void grow_older(void)
{
	if (++user_call_cnt < SEEN_CALLS)
		return;
	user_call_cnt = 0;
	user_age += AGE_STEP;
	if (user_age < USER_PAGE)
		return;
	memset(user_seen, 0, sizeof(user_seen));
	user_age = AGE_STEP;
}

static bool is_good(uintptr_t at, size_t len, bool is_write)
{
	uintptr_t page = at & ~(USER_PAGE - 1), last, want;
	uintptr_t *seen;

	if (len == 0)
		return true;
	if (at > UINTPTR_MAX - (len - 1))
		return false;
	last = (at + (len - 1)) & ~(USER_PAGE - 1);
	grow_older();
	for (;; page += USER_PAGE, at = page) {
		seen = &user_seen[page / USER_PAGE % SEEN_CNT];
		want = page | user_age | SEEN_WRITE;
		/* A writable page is readable. */
		if ((is_write ? *seen : *seen | SEEN_WRITE) != want) {
			if (!page_probe(at, is_write))
				return false;
			*seen = is_write ? want : want & ~SEEN_WRITE;
		}
		if (page == last)
			return true;
	}
}

bool util_user_is_readable(const void *at, size_t len)
{
	return is_good((uintptr_t)at, len, false);
}

int util_user_get(void *to, const void *from, size_t len)
{
	if (!is_good((uintptr_t)from, len, false))
		return -EFAULT;
	if (len > 0)
		memcpy(to, from, len);
	return 0;
}

int util_user_put(void *to, const void *from, size_t len)
{
	if (!is_good((uintptr_t)to, len, true))
		return -EFAULT;
	if (len > 0)
		memcpy(to, from, len);
	return 0;
}

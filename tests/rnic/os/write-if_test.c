/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* write-if.c: what is written, and that an interruption writes nothing. */
#define _GNU_SOURCE
#include "must.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "os/write-if.h"

#define VALUE 5u

static _Atomic uint32_t word = VALUE;
static uint8_t octets[] = "some octets";
static const struct iovec pieces[] = { { octets, 4 }, { octets + 4, 7 } };

static int file_new(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	must(fd >= 0);
	return fd;
}

static void needs_rseq(void)
{
	if (!rnic_write_if_works())
		skip_because("this thread has no restartable sequences");
}

static void writes_all_pieces_at_their_place(void **state)
{
	int fd = file_new();
	char found[32] = "";

	needs_rseq();
	assert_int_equal(rnic_write_if(fd, pieces, 2, 3, &word, VALUE), 11);
	assert_int_equal(rnic_write_if(fd, pieces, 1, 20, &word, VALUE), 4);
	assert_int_equal(pread(fd, found, sizeof(found), 0), 24);
	assert_memory_equal(found, "\0\0\0some octets\0\0\0\0\0\0some", 24);
	close(fd);
}

static void does_nothing_if_the_word_differs(void **state)
{
	int fd = file_new();

	needs_rseq();
	assert_int_equal(rnic_write_if(fd, pieces, 2, 0, &word, VALUE + 1),
			 -ECANCELED);
	assert_int_equal(lseek(fd, 0, SEEK_END), 0);
	close(fd);
}

static void says_what_the_call_said(void **state)
{
	static const struct iovec bad = { (void *)8, 8 };
	int fd = file_new();

	needs_rseq();
	assert_int_equal(rnic_write_if(-1, pieces, 2, 0, &word, VALUE), -EBADF);
	assert_int_equal(rnic_write_if(fd, &bad, 1, 0, &word, VALUE), -EFAULT);
	close(fd);
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* Each call writes one octet more, or nothing and says so. */
static void an_interruption_writes_nothing(void **state)
{
	const struct itimerval often = { { 0, 20 }, { 0, 20 } };
	const struct itimerval never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = on_alarm };
	const struct iovec one = { octets, 1 };
	int fd = file_new();
	uint64_t done = 0;
	int interrupted = 0;

	needs_rseq();
	must(sigaction(SIGALRM, &action, NULL) == 0);
	must(setitimer(ITIMER_REAL, &often, NULL) == 0);
	while (interrupted < 10) {
		long rc = rnic_write_if(fd, &one, 1, done, &word, VALUE);

		if (rc == 1)
			done++;
		else if (rc == -EAGAIN)
			interrupted++;
		else
			fail_msg("rnic_write_if: %ld", rc);
		assert_int_equal(lseek(fd, 0, SEEK_END), done);
	}
	must(setitimer(ITIMER_REAL, &never, NULL) == 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_all_pieces_at_their_place),
		cmocka_unit_test(does_nothing_if_the_word_differs),
		cmocka_unit_test(says_what_the_call_said),
		cmocka_unit_test(an_interruption_writes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

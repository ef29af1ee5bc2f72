/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Limits on the number of unexpected peers and on their data. */
#include "fixture.h"

#include <sys/resource.h>

#include "lists.h"

#define HALF_OPEN_MAX 16
#define PEERS 500

/*
 * T-50, MPA-142: rdma_cm has one octet for the length of Private Data. Longer
 * data is cut (C-23), and nothing beyond the event's field is written.
 */
CASE(private_data_is_cut_to_what_rdma_cm_can_hold)
{
	static const size_t lens[] = { 0, 1, 255, 256, 512 };
	uint8_t frame[532];

	memcpy(frame, cm_mpa_request, 20);
	for (size_t i = 0; i < 512; i++)
		frame[20 + i] = (uint8_t)(i * 7 + 1);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		struct {
			struct rnic_cm_event ev;
			uint8_t guard[512];
		} box;
		struct cm_side s;
		size_t want = lens[i] < 255 ? lens[i] : 255;
		int fd = cm_rawpeer(cm_listen(&s, AF_INET, 0));

		memset(box.guard, 0x5a, sizeof(box.guard));
		frame[18] = (uint8_t)(lens[i] >> 8);
		frame[19] = (uint8_t)lens[i];
		cm_say(fd, frame, 20 + lens[i]);
		cm_expect(s.chan, RNIC_CM_CONNECT_REQUEST, 0, &box.ev);
		assert_int_equal(box.ev.pd_len, want);
		assert_memory_equal(box.ev.pd, frame + 20, want);
		for (size_t k = 0; k < sizeof(box.guard); k++)
			assert_int_equal(box.guard[k], 0x5a);
		close(fd);
		cm_side_close(&s);
	}
}

/* MPA-117, T-47: 513 octets are too many, and are not waited for. */
CASE(private_data_beyond_512_closes)
{
	uint8_t frame[20], buf[32];
	struct cm_side s;
	int fd;

	fd = cm_rawpeer(cm_listen(&s, AF_INET, 0));
	memcpy(frame, cm_mpa_request, 20);
	frame[18] = 2;
	frame[19] = 1;
	cm_say(fd, frame, 20);
	assert_int_equal(cm_read_to_end(fd, buf, sizeof(buf)), 0);
	assert_false(cm_is_readable(s.chan, 0));
	close(fd);
	cm_side_close(&s);
}

/* T-61, MPA-139, MPA-144: many peers connect and send nothing. */
CASE(silent_peers_are_few_and_leave)
{
	static int fd[PEERS];
	struct rnic_cm_event ev;
	struct cm_side s;
	uint8_t buf[32];
	uint16_t port;
	int last;

	port = cm_listen(&s, AF_INET, 0);
	for (int i = 0; i < PEERS; i++) {
		fd[i] = cm_rawpeer(port);
		assert_true(cm_half_open_cnt(&s) <= HALF_OPEN_MAX);
	}
	/* All are closed: those over the limit at once, the others after the
	 * time limit. */
	for (int i = 0; i < PEERS; i++) {
		struct pollfd pfd = { .fd = fd[i], .events = POLLIN };

		assert_int_equal(poll(&pfd, 1, CM_LIMIT_MS), 1);
		assert_true(recv(fd[i], buf, sizeof(buf), 0) <= 0);
		close(fd[i]);
	}
	assert_int_equal(cm_half_open_cnt(&s), 0);
	assert_false(cm_is_readable(s.chan, 0));
	/* A later peer is accepted. */
	last = cm_rawpeer(port);
	cm_say(last, cm_mpa_request, sizeof(cm_mpa_request));
	cm_expect(s.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	close(last);
	cm_side_close(&s);
}

BEFORE_CASES()
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	/* Before the settings are read for the first time. */
	setenv("USIW_START_MS", "1000", 1);
	setenv("USIW_DRAIN_MS", "300", 1);
	setenv("USIW_HALF_OPEN_MAX", "16", 1);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * USIW_MPA_REV0=permissive and USIW_MARKERS=on affect the wire: scripted peers
 * with the RDMA Consortium's protocol, and one with the present one.
 */
#include "fixture.h"

static const uint8_t rdmac_request[20] = "MPA ID Req Frame\xc0\x00\x00";
static const uint8_t rdmac_reply[20] = "MPA ID Rep Frame\xc0\x00\x00";

/* D00-F5: a Send of 24 zeros, first of its stream, DDP and RDMAP version 0 */
static const uint8_t d00_f5[52] = {
	0x00, 0x00,	   0x00,	0x00, 0x00, 0x2a, 0x40,
	0x03, [19] = 0x01, [48] = 0x4c, 0x86, 0xb3, 0x84,
};

/* MPA-184, -185: V-20, V-21 of doc/spec/mpa.md. */
CASE(accepts_an_rdmac_initiator)
{
	struct cm_side listener;
	struct rnic_cm_event ev;
	uint8_t octets[64];
	struct cm_qp q;
	uint32_t child;
	int fd;

	cm_qp_open(&q);
	fd = cm_rawpeer_ask(&listener, rdmac_request, &child);
	cm_accept(&listener, child, &q, "");
	cm_expect(listener.chan, RNIC_CM_ESTABLISHED, 0, &ev);
	assert_int_equal(recv(fd, octets, 20, MSG_WAITALL), 20);
	assert_memory_equal(octets, rdmac_reply, 20);
	/* No receive is posted: the answer is a TERMINATE of version 0. */
	cm_say(fd, d00_f5, sizeof(d00_f5));
	assert_int_equal(recv(fd, octets, 52, MSG_WAITALL), 52);
	assert_memory_equal(octets, "\0\0\0\0\0\x2a\x40\x07", 8);
	assert_memory_equal(octets + 24, "\x12\x02\xc0\0\0\x2a\x40\x03", 8);
	close(fd);
	cm_side_close(&listener);
	cm_qp_close(&q);
}

/* MPA-186, MPA-106 */
CM_ACTIVE_CASE(connects_to_an_rdmac_responder)
{
	struct rnic_cm_event ev;
	struct cm_active *a = *state;
	int fd;

	fd = cm_active_request(a, 24);
	assert_memory_equal(a->frame, "MPA ID Req Frame", 16);
	assert_int_equal(a->frame[16] & 0x80, 0x80); /* USIW_MARKERS=on */
	cm_say(fd, rdmac_reply, sizeof(rdmac_reply));
	cm_expect(a->side.chan, RNIC_CM_ESTABLISHED, 0, &ev);
	close(fd);
}

/* A marker, then the RTR: an empty Write to STag 1. */
static const uint8_t marked_rtr[24] = {
	0x00, 0x00, 0x00, 0x00, 0x00,	     0x0e, 0xc1, 0x40,
	0x00, 0x00, 0x00, 0x01, [20] = 0x3f, 0x1f, 0xf9, 0xa1,
};

/* A marker, then a Write of four octets to an STag that does not exist. */
static const uint8_t marked_write[28] = { 0x00, 0x00, 0x00, 0x00, 0x00, 0x12,
					  0xc1, 0x40, 0x12, 0x34, 0x56, 0x78,
					  0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
					  0x00, 0x00, 0xaa, 0xbb, 0xcc, 0xdd,
					  0x53, 0xd7, 0x49, 0x9f };

/* MPA-35, -39, -46, and the Responder's request for markers in this
 * direction. */
CASE(puts_and_takes_markers)
{
	static const uint8_t reply[24] =
		"MPA ID Rep Frame\xd0\x02\x00\x04\x80\x04\x80\x03";
	struct rnic_cm_event ev;
	struct cm_active a;
	int fd;

	cm_active_open(&a);
	fd = cm_active_request(&a, 24);
	assert_int_equal(a.frame[16] & 0x80, 0x80);
	cm_say(fd, reply, sizeof(reply));
	cm_expect(a.side.chan, RNIC_CM_ESTABLISHED, 0, &ev);
	assert_int_equal(recv(fd, a.frame, 24, MSG_WAITALL), 24);
	assert_memory_equal(a.frame, marked_rtr, 24);
	/* After correct framing, DDP detects the error: a TERMINATE names
	 * it. */
	cm_say(fd, marked_write, sizeof(marked_write));
	assert_int_equal(recv(fd, a.frame, 22, MSG_WAITALL), 22);
	assert_memory_equal(a.frame + 2, "\x41\x47", 2);
	assert_memory_equal(a.frame + 20, "\x11\x00", 2);
	close(fd);
	cm_active_close(&a);
}

BEFORE_CASES()
{
	/* Before the settings are read for the first time. */
	setenv("USIW_MPA_REV0", "permissive", 1);
	setenv("USIW_MARKERS", "on", 1);
	setenv("USIW_DRAIN_MS", "300", 1);
}

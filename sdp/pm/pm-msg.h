/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Encoding of Port Mapper messages (draft-pinkerton-iwarp-sdp-01, section 7.3).
 * Each is one UDP datagram of 48 octets.
 */
#ifndef SDP_PM_MSG_H
#define SDP_PM_MSG_H

#include <stddef.h>
#include <stdint.h>

#define SDP_PM_SIZE 48u
#define SDP_PM_UDP_PORT 3935u

enum sdp_pm_type {
	SDP_PM_REQ = 0,
	SDP_PM_ACCEPT = 1,
	SDP_PM_ACK = 2,
	SDP_PM_DENY = 3,
};

/* Special values of PmTime (1.8). */
#define SDP_PM_TIME_ONCE 0u
#define SDP_PM_TIME_FOREVER 255u

struct sdp_pm_msg {
	uint8_t type; /* enum sdp_pm_type */
	uint8_t ipv;  /* 4 or 6 */
	uint8_t time; /* PmTime; 0 except in PMAccept */
	uint16_t ap_port;
	uint16_t cp_port;
	uint64_t handle;     /* AssocHandle, opaque */
	uint8_t cp_addr[16]; /* network order; IPv4: 4 octets, then zeros */
	uint8_t ap_addr[16];
};

/* Writes SDP_PM_SIZE octets. Only a PMAccept carries PmTime (SDP-252, SDP-254,
 * SDP-255). Of an IPv4 address only its 4 octets are written. */
void sdp_pm_msg_encode(const struct sdp_pm_msg *msg, uint8_t *out);

/**
 * sdp_pm_msg_decode - read a datagram
 * Return: 0; -EPROTO: wrong size, version or address family; drop it silently
 *   (C20). Reserved octets and octets after an IPv4 address are ignored
 *   (SDP-256). PmTime is 0 unless the message is a PMAccept.
 */
int sdp_pm_msg_decode(const uint8_t *buf, size_t len,
		      struct sdp_pm_msg *ret_msg);

/* How long a mapping may be stored in milliseconds; 0: not at all (SDP-258);
 * UINT64_MAX: for ever. */
uint64_t sdp_pm_time_ms(uint8_t time);

#endif

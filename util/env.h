/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The table of settings: USIW_* environment variables and the same names in
 * /etc/usiw.conf (NAME=value lines, # comments).  The environment has
 * precedence.  If a value is invalid, one line on stderr names the variable,
 * the value and the valid values, and the default is used.
 */
#ifndef UTIL_ENV_H
#define UTIL_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum util_crc { UTIL_CRC_ON, UTIL_CRC_OFF, UTIL_CRC_AUTO };
enum util_local { UTIL_LOCAL_AUTO, UTIL_LOCAL_OFF, UTIL_LOCAL_ANY };
enum util_devices { UTIL_DEVICES_ONLY, UTIL_DEVICES_BESIDE };
enum util_port_space { UTIL_PORT_SPACE_APART, UTIL_PORT_SPACE_SHARED };
enum util_persona { UTIL_PERSONA_RNIC, UTIL_PERSONA_CA };
enum util_mpa_rev0 { UTIL_MPA_REV0_REFUSE, UTIL_MPA_REV0_PERMISSIVE };
enum util_sdp_carrier { UTIL_SDP_CARRIER_AUTO, UTIL_SDP_CARRIER_CM };

struct util_settings {
	const char *log;	   /* USIW_LOG, see util/log.h */
	enum util_crc crc;	   /* USIW_CRC on|off|auto, default on */
	enum util_local local;	   /* USIW_LOCAL auto|off|any, default auto */
	uint32_t local_after;	   /* USIW_LOCAL_AFTER, FPDUs, 32 */
	enum util_devices devices; /* USIW_DEVICES only|beside, default only */
	/* USIW_PORT_SPACE apart|shared, default apart */
	enum util_port_space port_space;
	enum util_persona persona; /* USIW_PERSONA rnic|ca, default rnic */
	const char *name;	   /* USIW_NAME, with one %d; NULL: none */
	const char *interfaces;	   /* USIW_INTERFACES comma list; NULL: all */
	const char *stat_dir;	   /* USIW_STAT_DIR; NULL: none */
	uint32_t mpa_rev;	   /* USIW_MPA_REV 1|2, default 2 */
	uint32_t start_ms;	   /* USIW_START_MS, MPA start limit, 10000 */
	uint32_t drain_ms;	   /* USIW_DRAIN_MS, closing streams, 2000 */
	uint32_t stall_ms;	   /* USIW_STALL_MS, rest of an FPDU, 300000 */
	uint32_t retry_ms;	   /* USIW_RETRY_MS, 30000; 0: TCP's own */
	uint32_t half_open_max;	   /* USIW_HALF_OPEN_MAX per listener, 512 */
	uint32_t ird;		   /* USIW_IRD, inbound reads, 128 */
	uint32_t ord;		   /* USIW_ORD, outbound reads, 128 */
	uint32_t engines;	   /* USIW_ENGINES per context; 0: by CPUs */
	uint32_t spin_us;	   /* USIW_SPIN_US, completion thread, 30 */
	uint32_t event_spin_us;	   /* USIW_EVENT_SPIN_US, waits, 40 */
	int32_t nice;		   /* USIW_NICE, completion thread, 0 */
	uint32_t staging_kib;	   /* USIW_STAGING_KIB, per stream, 256 */
	uint32_t rnr_ms; /* USIW_RNR_MS, Sends without receive, 1000 */
	bool rtr;	 /* USIW_RTR on|off: offer RTR, default on */
	enum util_mpa_rev0 mpa_rev0; /* USIW_MPA_REV0 refuse|permissive */
	bool markers;		     /* USIW_MARKERS on|off, default off */
	const char *fault; /* USIW_FAULT, see util/fault-spec.h; NULL: none */
	enum util_sdp_carrier sdp_carrier; /* USIW_SDP_CARRIER auto|cm */
	uint32_t sdp_pm_port;		   /* USIW_SDP_PM_PORT, UDP, 3935 */
	uint32_t sdp_after;		   /* USIW_SDP_AFTER, octets, 65536 */
	uint32_t sdp_reply_ms;		   /* USIW_SDP_REPLY_MS, 60000 */
	uint32_t sdp_pm_ms;		   /* USIW_SDP_PM_MS, first wait, 250 */
	uint32_t sdp_pm_sends;		   /* USIW_SDP_PM_SENDS, PMReqs, 4 */
	uint32_t sdp_pm_negative_ms;	   /* USIW_SDP_PM_NEGATIVE_MS, 10000 */
};

/* Parsed once, at the first call; never NULL.  Thread-safe. */
const struct util_settings *util_settings(void);

/*
 * Makes this copy of the code report nothing; call it before the first
 * util_settings().  It is for a library that links util/ in a process where
 * another library reports.
 */
void util_settings_set_quiet(void);

/* One row per setting, for help texts, and for the test of usiw(7). */
struct util_setting_doc {
	const char *name;
	const char *values;
	const char *default_value;
	const char *what;
};

extern const struct util_setting_doc util_setting_docs[];
extern const size_t util_setting_cnt;

/* The setting that @name, of @len octets, is a mistyped name of.  NULL: it is
 * the name of one, or like none. */
const char *util_setting_near(const char *name, size_t len);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The rules file, libsdp.conf(5): which sockets of which program use SDP, and
 * where the library's log goes.
 */
#ifndef SDP_RULES_H
#define SDP_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* The environment variable that names the file, and the default file. */
#define SDP_RULES_ENV "LIBSDP_CONFIG_FILE"
#define SDP_RULES_PATH "/etc/libsdp.conf"

enum sdp_use {
	SDP_USE_TCP,  /* never SDP */
	SDP_USE_SDP,  /* SDP or an error */
	SDP_USE_BOTH, /* server: both; client: SDP, else TCP */
};

enum sdp_rule_role { SDP_RULE_SERVER, SDP_RULE_CLIENT };

enum sdp_log_destination {
	SDP_LOG_UNSET, /* stderr */
	SDP_LOG_STDERR,
	SDP_LOG_SYSLOG,
	SDP_LOG_FILE,
};

/* min-level: 9 errors, 8 warnings, 7 connections, 4 rules that match, 3 rules
 * that do not match, 2 calls, 1 everything. */
#define SDP_LOG_LEVEL_MIN 1
#define SDP_LOG_LEVEL_MAX 9

struct sdp_log_rule {
	enum sdp_log_destination destination;
	unsigned int min_level; /* default: 9 */
	const char *file;	/* SDP_LOG_FILE: the name in the file */
};

struct sdp_rules;

/**
 * sdp_rules_parse - parse rules
 * @text: @len octets; need not end with 0.
 * @name: name of the file, for the error.
 * @ret_error: on -EINVAL the file, the line, what is wrong and how to correct
 *   it; its size is @error_size; may be NULL with 0.
 *
 * Return: 0, and the caller frees @ret_rules; -EINVAL; -ENOMEM.
 */
int sdp_rules_parse(const char *text, size_t len, const char *name,
		    struct sdp_rules **ret_rules, char *ret_error,
		    size_t error_size) __attribute__((warn_unused_result));

/**
 * sdp_rules_load - load the rules of this process
 *
 * Reads the file that $LIBSDP_CONFIG_FILE names (not in a setuid program), else
 * /etc/libsdp.conf. Without a file every server and client has "both".
 *
 * Return: 0; -EINVAL: an invalid line, described in @ret_error; -ENOMEM; an
 *   error of open() or read(), if the variable names the file or the file
 *   exists, but cannot be read (@ret_error names it).
 */
int sdp_rules_load(struct sdp_rules **ret_rules, char *ret_error,
		   size_t error_size) __attribute__((warn_unused_result));

/* The rules of a process without a file. */
const struct sdp_rules *sdp_rules_default(void);

/**
 * sdp_rules_find - the use that the first matching rule gives
 * @program: base name.
 * @addr: AF_INET or AF_INET6: the address that a server is bound to or a client
 *   connects to. IPv4-mapped addresses match as IPv4.
 * @ret_line: line of the rule, 0 when none matched; may be NULL.
 *
 * Return: SDP_USE_BOTH when no rule matches.
 * Context: any thread; the rules do not change.
 */
enum sdp_use sdp_rules_find(const struct sdp_rules *rules,
			    enum sdp_rule_role role, const char *program,
			    const struct sockaddr *addr,
			    unsigned int *ret_line);

/* Whether any socket of @program could use SDP. */
bool sdp_rules_concern(const struct sdp_rules *rules, const char *program);

const struct sdp_log_rule *sdp_rules_log(const struct sdp_rules *rules);

/**
 * sdp_log_start - configure the log of part "sdp" by the log line
 *
 * A file name without directory is in /var/log for root, in /tmp for other
 * users. Files of other users end in .UID. Without a log line nothing changes.
 *
 * Return: 0; -ENAMETOOLONG: the file name; the log goes to stderr.
 */
int sdp_log_start(const struct sdp_log_rule *log)
	__attribute__((warn_unused_result));

/* Does nothing for NULL and for the default rules. */
void sdp_rules_free(struct sdp_rules *rules);

#endif

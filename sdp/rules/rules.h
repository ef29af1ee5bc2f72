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

/* Where the file is looked for. */
#define SDP_RULES_ENV "LIBSDP_CONFIG_FILE"
#define SDP_RULES_PATH "/etc/libsdp.conf"

enum sdp_use {
	SDP_USE_TCP,  /* never SDP */
	SDP_USE_SDP,  /* SDP or failure */
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
 * that do not, 2 calls, 1 everything. */
#define SDP_LOG_LEVEL_MIN 1
#define SDP_LOG_LEVEL_MAX 9

struct sdp_log_rule {
	enum sdp_log_destination destination;
	unsigned int min_level; /* 9 unless said */
	const char *file;	/* SDP_LOG_FILE: as it stands in the file */
};

struct sdp_rules;

/**
 * sdp_rules_parse - make rules out of text
 * @text: @len octets; need not end with 0.
 * @name: of the file, for the error.
 * @ret_error: on -EINVAL file, line, what is wrong and what is right; its
 *   size is @error_size; may be NULL with 0.
 *
 * Return: 0, @ret_rules is to be freed; -EINVAL; -ENOMEM.
 */
int sdp_rules_parse(const char *text, size_t len, const char *name,
		    struct sdp_rules **ret_rules, char *ret_error,
		    size_t error_size) __attribute__((warn_unused_result));

/**
 * sdp_rules_load - the rules of this process
 *
 * Reads the file that $LIBSDP_CONFIG_FILE names (not in a setuid program),
 * else /etc/libsdp.conf.  Without a file: "both" for every server and client.
 *
 * Return: 0; -EINVAL: a line is wrong, @ret_error says which; -ENOMEM; what
 *   open() and read() say of a file that the variable names, or that is there
 *   but cannot be read (@ret_error names it).
 */
int sdp_rules_load(struct sdp_rules **ret_rules, char *ret_error,
		   size_t error_size) __attribute__((warn_unused_result));

/* The rules of a process without a file. */
const struct sdp_rules *sdp_rules_default(void);

/**
 * sdp_rules_find - what the first rule that matches says
 * @program: base name.
 * @addr: AF_INET or AF_INET6: what a server is bound to, what a client
 *   connects to.  IPv4-mapped addresses match as IPv4.
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
 * sdp_log_start - log of part "sdp" as the log line says
 *
 * A file without directory stands in /var/log for root, in /tmp for others;
 * others' files end in .UID.  Without a log line nothing changes.
 *
 * Return: 0; -ENAMETOOLONG: of the file; lines go to stderr.
 */
int sdp_log_start(const struct sdp_log_rule *log)
	__attribute__((warn_unused_result));

/* NULL and the default rules: nothing. */
void sdp_rules_free(struct sdp_rules *rules);

#endif

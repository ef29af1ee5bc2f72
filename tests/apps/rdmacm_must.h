/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Common parts of rdmacm.c that do not use librdmacm. */
#ifndef APPS_RDMACM_MUST_H
#define APPS_RDMACM_MUST_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define AT_ONCE 50
#define WAIT_MS 30000

#define MUST(cond)                                                             \
	do {                                                                   \
		if (!(cond)) {                                                 \
			fprintf(stderr, "%s:%d: %s (errno %d: %s)\n",          \
				__FILE__, __LINE__, #cond, errno,              \
				strerror(errno));                              \
			exit(1);                                               \
		}                                                              \
	} while (0)

static inline struct sockaddr_in addr_of(const char *text, uint16_t port_be)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = port_be };

	MUST(inet_pton(AF_INET, text, &addr.sin_addr) == 1);
	return addr;
}

static inline uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The cases, each in the file of its name. */
void rdmacm_commands(void);
void rdmacm_addrinfo(void);
void rdmacm_endpoint(void);
void rdmacm_sync(void);
void rdmacm_establish(void);
void rdmacm_early(void);
void rdmacm_path(void);
void rdmacm_ports_shared(void);
void rdmacm_tos(void);
void rdmacm_ack_timeout(void);
void rdmacm_ack_stopped(void);
void rdmacm_reuseaddr(void);
void rdmacm_afonly(void);
void rdmacm_no_option(void);
void rdmacm_backlog(void);
void rdmacm_data(void);
void rdmacm_edge(void);
void rdmacm_order(void);
void rdmacm_unacked(void);
void rdmacm_unreachable(char **words);
void rdmacm_ack_gone(char **words);
void rdmacm_ports_serve(char **words);
void rdmacm_ports_dial(char **words);
void rdmacm_afonly_default(char **words);

#endif

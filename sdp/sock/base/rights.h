/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Descriptors passed in messages (SCM_RIGHTS). */
#ifndef SDP_SOCK_RIGHTS_H
#define SDP_SOCK_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* Calls fn() for each of them. Invalid control data ends the walk. */
void sdp_rights_each(const struct msghdr *msg, void (*fn)(int fd));

/* Messages of the library: @len octets and one descriptor. @way is an AF_UNIX
 * socket that preserves message boundaries. */

/* Return: whether the message was sent. */
bool sdp_rights_send(int way, const void *octets, size_t len, int fd);
/* Return: descriptor, CLOEXEC; -EPROTO: the peer has closed, or the message is
 *   not of this kind; -EMFILE: the message was received, but this process has
 *   no number for the descriptor, which is closed; other -errno. */
int sdp_rights_receive(int way, void *octets, size_t len);

#endif

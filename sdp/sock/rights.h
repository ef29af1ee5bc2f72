/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The descriptors that a message passes on: SCM_RIGHTS. */
#ifndef SDP_SOCK_RIGHTS_H
#define SDP_SOCK_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* fn() for each of them.  Control data that is not in order ends the walk. */
void sdp_rights_each(const struct msghdr *msg, void (*fn)(int fd));

/* The library's own messages: @len octets, and one descriptor.  @way is a
 * socket of AF_UNIX that keeps messages apart. */

/* Return: whether the message went. */
bool sdp_rights_send(int way, const void *octets, size_t len, int fd);
/* Return: descriptor, CLOEXEC; -EPROTO: the peer has gone, or this was no such
 * message; -EMFILE: it was, and this process has no number left for the
 * descriptor, which is closed; other -errno. */
int sdp_rights_receive(int way, void *octets, size_t len);

#endif

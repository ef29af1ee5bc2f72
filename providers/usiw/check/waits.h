/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Threads of the process that wait for a descriptor. */
#ifndef USIW_CHECK_WAITS_H
#define USIW_CHECK_WAITS_H

#include <stdbool.h>

/*
 * Is a thread in poll(2), select(2), epoll_wait(2) or one of their kin, without
 * a time limit, for @fd to be readable?  False, too, if the system does not
 * say.
 */
bool usiw_check_is_waited_for(int fd);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Mistyped settings in the environment. */
#ifndef SETTING_H
#define SETTING_H

/*
 * Prints one line on stderr for each variable USIW_* that differs from the name
 * of a setting by a letter or two.  Other names may belong to other programs.
 */
void setting_warn_mistyped(void);

#endif

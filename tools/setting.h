/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Settings in the environment that are none. */
#ifndef SETTING_H
#define SETTING_H

/*
 * One line on stderr for each variable USIW_* whose name is that of a setting
 * but for a letter or two.  Other names may be somebody else's.
 */
void setting_warn_mistyped(void);

#endif

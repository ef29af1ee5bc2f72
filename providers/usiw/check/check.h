/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * usiw check, inside of the program: each verb that a rule looks at has a
 * function here, which stands in its place in the table of operations.  Without
 * USIW_CHECK nothing of it is there, and no verb costs more.
 */
#ifndef USIW_CHECK_CHECK_H
#define USIW_CHECK_CHECK_H

struct verbs_ops;

/*
 * Begins if USIW_CHECK asks for it.  Called once, when the provider is loaded.
 * Return: the operations to offer: @ops, or those that check and call them.
 */
const struct verbs_ops *usiw_check_start(const struct verbs_ops *ops);

#endif

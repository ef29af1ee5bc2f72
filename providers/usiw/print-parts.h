/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parts of print.c, print-attr.c and print-names.c. */
#ifndef USIW_PRINT_PARTS_H
#define USIW_PRINT_PARTS_H

#include "print.h"

/* Names of values and flags. */
extern const struct util_text_name usiw_names_access[];
extern const struct util_text_name usiw_names_srq_mask[];
extern const struct util_text_name usiw_names_rereg[];
extern const struct util_text_name usiw_names_mw_type[];
extern const struct util_text_name usiw_names_wr_opcode[];
extern const struct util_text_name usiw_names_send[];
extern const struct util_text_name usiw_names_sqe[];
extern const struct util_text_name usiw_names_qp_state[];
extern const struct util_text_name usiw_names_qp_type[];
extern const struct util_text_name usiw_names_port_state[];
extern const struct util_text_name usiw_names_mtu[];
extern const struct util_text_name usiw_names_event[];

#define ADD(...) util_text_add(&call->text, __VA_ARGS__)
#define ADD_NAME(names, value)                                                 \
	util_text_add_name(&call->text, usiw_names_##names, (uint64_t)(value))
#define ADD_FLAGS(names, value)                                                \
	util_text_add_flags(&call->text, usiw_names_##names, value)

/* Return: whether @to has a copy; otherwise the pointer is printed. */
bool usiw_print_is_read(struct usiw_call *call, void *to, const void *from,
			size_t len);

/* Beginning of a printer of what a pointer points to: @as is the copy. */
#define READ(type, as, from)                                                   \
	type as;                                                               \
                                                                               \
	if (!usiw_print_is_read(call, &(as), from, sizeof(as)))                \
	return

/* Those attributes that the mask names. */
void usiw_print_qp_attr_mask(struct usiw_call *call,
			     const struct ibv_qp_attr *attr, int mask);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Arguments and results of verbs as text, for usiw trace.  The type of an
 * argument says how it is printed, so that ops.c can do it for each verb from
 * its row.
 *
 * An object is printed by its number if it exists, and nothing of it is read
 * otherwise.  What an argument points to is read by rnic_guard_copy(): a bad
 * pointer is printed as one.
 */
#ifndef USIW_PRINT_H
#define USIW_PRINT_H

#include "call.h"
#include "objects.h"

/* The function for a type: X(function, type).  Enums are unsigned int. */
#define PRINT_TYPES(X)                                                         \
	X(usiw_print_int, int)                                                 \
	X(usiw_print_number, unsigned int)                                     \
	X(usiw_print_size, uint64_t)                                           \
	X(usiw_print_context, struct ibv_context *)                            \
	X(usiw_print_channel, struct ibv_comp_channel *)                       \
	X(usiw_print_pd, struct ibv_pd *)                                      \
	X(usiw_print_mr, struct ibv_mr *)                                      \
	X(usiw_print_vmr, struct verbs_mr *)                                   \
	X(usiw_print_mw, struct ibv_mw *)                                      \
	X(usiw_print_ah, struct ibv_ah *)                                      \
	X(usiw_print_dm, struct ibv_dm *)                                      \
	X(usiw_print_cq, struct ibv_cq *)                                      \
	X(usiw_print_cq_ex, struct ibv_cq_ex *)                                \
	X(usiw_print_srq, struct ibv_srq *)                                    \
	X(usiw_print_qp, struct ibv_qp *)                                      \
	X(usiw_print_gid, const union ibv_gid *)                               \
	X(usiw_print_sends, struct ibv_send_wr *)                              \
	X(usiw_print_recvs, struct ibv_recv_wr *)                              \
	X(usiw_print_bind, struct ibv_mw_bind *)                               \
	X(usiw_print_ah_attr, struct ibv_ah_attr *)                            \
	X(usiw_print_qp_attr, struct ibv_qp_attr *)                            \
	X(usiw_print_qp_init, struct ibv_qp_init_attr *)                       \
	X(usiw_print_qp_init_ex, struct ibv_qp_init_attr_ex *)                 \
	X(usiw_print_cq_init, struct ibv_cq_init_attr_ex *)                    \
	X(usiw_print_srq_attr, struct ibv_srq_attr *)                          \
	X(usiw_print_srq_init, struct ibv_srq_init_attr *)                     \
	X(usiw_print_srq_init_ex, struct ibv_srq_init_attr_ex *)               \
	X(usiw_print_dm_init, struct ibv_alloc_dm_attr *)                      \
	X(usiw_print_domain_init, struct ibv_parent_domain_init_attr *)        \
	X(usiw_print_port, struct ibv_port_attr *)                             \
	X(usiw_print_device, struct ibv_device_attr_ex *)

#define PRINT_DECLARE(name, type) void name(struct usiw_call *call, type value);
PRINT_TYPES(PRINT_DECLARE)
PRINT_DECLARE(usiw_print_pointer, const void *)

#define PRINT_CASE(name, type)                                                 \
	type:                                                                  \
	name,
#define USIW_PRINT(call, value)                                                \
	_Generic((value),                                                      \
		PRINT_TYPES(PRINT_CASE) uint8_t: usiw_print_number,            \
		uint16_t: usiw_print_number,                                   \
		default: usiw_print_pointer)(call, value)

/* Begins the next argument: "NAME=". */
void usiw_print_name(struct usiw_call *call, const char *name);

#define USIW_PRINT_ARG(call, arg)                                              \
	(usiw_print_name(call, #arg), USIW_PRINT(call, arg))

/* Each of up to six arguments. */
#define USIW_PRINT_ARGS(call, ...)                                             \
	PRINT_PICK(__VA_ARGS__, PRINT_6, PRINT_5, PRINT_4, PRINT_3, PRINT_2,   \
		   PRINT_1)                                                    \
	(call, __VA_ARGS__)
#define PRINT_PICK(a, b, c, d, e, f, picked, ...) picked
#define PRINT_1(call, arg) USIW_PRINT_ARG(call, arg)
#define PRINT_2(call, arg, ...)                                                \
	(USIW_PRINT_ARG(call, arg), PRINT_1(call, __VA_ARGS__))
#define PRINT_3(call, arg, ...)                                                \
	(USIW_PRINT_ARG(call, arg), PRINT_2(call, __VA_ARGS__))
#define PRINT_4(call, arg, ...)                                                \
	(USIW_PRINT_ARG(call, arg), PRINT_3(call, __VA_ARGS__))
#define PRINT_5(call, arg, ...)                                                \
	(USIW_PRINT_ARG(call, arg), PRINT_4(call, __VA_ARGS__))
#define PRINT_6(call, arg, ...)                                                \
	(USIW_PRINT_ARG(call, arg), PRINT_5(call, __VA_ARGS__))

/* What a verb has made, as "qp 0x000011"; or NULL. */
#define USIW_PRINT_MADE(call, value)                                           \
	((value) ? util_text_add(&(call)->text, _Generic((value),              \
					 struct ibv_pd *: "pd ",               \
					 struct ibv_mr *: "mr ",               \
					 struct ibv_mw *: "mw ",               \
					 struct ibv_ah *: "ah ",               \
					 struct ibv_dm *: "dm ",               \
					 struct ibv_td *: "td ",               \
					 struct ibv_cq *: "cq ",               \
					 struct ibv_cq_ex *: "cq ",            \
					 struct ibv_srq *: "srq ",             \
					 struct ibv_qp *: "qp "))              \
		 : (void)0,                                                    \
	 USIW_PRINT(call, value))

/* The end of the arguments, and the result of a verb that posts; of one that
 * counts. */
void usiw_print_bad(struct usiw_call *call, int err, const void *bad_wr);
void usiw_print_count(struct usiw_call *call, int value);

/* Entries of the send queue that are built and not published: [{}, {}]. */
void usiw_print_entries(struct usiw_call *call, const struct usiw_qp *qp,
			uint32_t cnt);

/* An asynchronous event: sets the name of the call, too. */
void usiw_print_event(struct usiw_call *call,
		      const struct ibv_async_event *event);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Detection of the libibverbs in use: the installed one, and simulated ones. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fake-rnic.h"

/* ---- a library that is made up ---- */

struct made_up {
	uint32_t number;
	const char *verbs[8]; /* in addition to those of rdma-core 34 */
	const char *lacks;
	size_t mask_at; /* in struct verbs_qp, after struct ibv_qp; 0: none */
};

static const struct made_up *lib;

static struct ibv_qp_ex *fake_qp_to_qp_ex(struct ibv_qp *qp)
{
	uint32_t mask;

	if (!lib->mask_at)
		return NULL;
	memcpy(&mask, (char *)qp + sizeof(*qp) + lib->mask_at, sizeof(mask));
	return mask & VERBS_QP_EX ? (struct ibv_qp_ex *)qp : NULL;
}

static void *fake_symbol(void *handle, const char *name, const char *version)
{
	static char some_function[1];
	struct ibv_qp_ex *(*fn)(struct ibv_qp *) = fake_qp_to_qp_ex;
	char of_number[64];
	void *ret = NULL;

	assert_ptr_equal(handle, lib);
	if (lib->lacks && strcmp(lib->lacks, name) == 0)
		return NULL;
	if (version) {
		snprintf(of_number, sizeof(of_number), "IBVERBS_PRIVATE_%u",
			 lib->number);
		if (strcmp(version, of_number))
			return NULL;
		snprintf(of_number, sizeof(of_number),
			 "verbs_register_driver_%u", lib->number);
		return strncmp(name, "verbs_register", 14) == 0 &&
				       strcmp(name, of_number)
			       ? NULL
			       : some_function;
	}
	if (strcmp(name, "ibv_qp_to_qp_ex") == 0) {
		memcpy(&ret, &fn, sizeof(ret));
		return ret;
	}
	for (size_t i = 0; lib->verbs[i]; i++)
		if (strcmp(lib->verbs[i], name) == 0)
			return some_function;
	return NULL;
}

static int look(const struct made_up *made_up, struct usiw_library *ret,
		char *text, size_t size)
{
	struct usiw_library_source source = {
		.handle = (void *)(uintptr_t)made_up,
		.symbol = fake_symbol,
	};

	lib = made_up;
	text[0] = '\0';
	return usiw_library_look(&source, ret, text, size);
}

#define V35 "ibv_import_dm"
#define V36 V35, "ibv_query_qp_data_in_order"
#define V59 V36, "ibv_alloc_dmah", "ibv_reg_mr_ex"
#define V62 V59, "ibv_query_port_speed"
#define V64 V62, "ibv_alloc_buf"
#define V65 V64, "ibv_create_comp_cntr"

/* ---- tests ---- */

CASE(each_release_is_recognised)
{
	static const struct {
		struct made_up made_up;
		uint32_t layout, op_cnt, grown;
	} rows[] = {
		{ { 34, { NULL }, NULL, 184 }, 34, 73, 0 },
		{ { 34, { V35 }, NULL, 184 }, 35, 75, 0 },
		{ { 34, { V36 }, NULL, 184 }, 36, 76, 0 },
		{ { 34, { V36 }, NULL, 192 }, 36, 76, 0 }, /* v44 */
		{ { 34, { V36 }, NULL, 200 }, 36, 76, 0 }, /* v45 */
		{ { 57, { V36 }, NULL, 200 }, 36, 76, 0 },
		{ { 59, { V59 }, NULL, 200 }, 59, 79, 3 },
		{ { 59, { V62 }, NULL, 200 }, 62, 81, 4 },
		{ { 64, { V64 }, NULL, 200 }, 64, 83, 6 },
		{ { 65, { V65 }, NULL, 200 }, 65, 93, 6 },
	};
	struct usiw_library found;
	char text[256];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (look(&rows[i].made_up, &found, text, sizeof(text)))
			fail_msg("row %zu: %s", i, text);
		assert_int_equal(found.number, rows[i].made_up.number);
		assert_int_equal(found.layout->layout, rows[i].layout);
		assert_int_equal(found.layout->op_cnt, rows[i].op_cnt);
		assert_int_equal(found.layout->head,
				 VERBS_CONTEXT_HEAD(0) +
					 rows[i].grown * sizeof(void *));
		assert_int_equal(found.qp_mask_at,
				 sizeof(struct ibv_qp) +
					 rows[i].made_up.mask_at);
		assert_non_null(found.fn.register_driver);
		assert_non_null(found.fn.init_and_alloc_context);
		assert_non_null(found.fn.uninit_context);
		assert_non_null(found.fn.set_ops);
	}
}

CASE(others_are_refused_with_a_sentence)
{
	static const struct {
		struct made_up made_up;
		int ret;
		const char *say;
	} rows[] = {
		{ { 33, { NULL }, NULL, 184 },
		  -ENOSYS,
		  "ABI 33, and this usiw has those of 34, 57, 59, 64, 65" },
		{ { 66, { V65 }, NULL, 200 }, -ENOSYS, "ABI 66" },
		{ { 0, { NULL }, NULL, 200 }, -ENOSYS, "ABI 0" },
		/* a verb of a later release under an older number */
		{ { 34, { V59 }, NULL, 200 }, -EPROTO, "rdma-core 59" },
		{ { 59, { V64 }, NULL, 200 }, -EPROTO, "ibv_alloc_buf" },
		{ { 64, { V62 }, NULL, 200 }, -EPROTO, "rdma-core 62" },
		{ { 34, { V36 }, NULL, 0 }, -EPROTO, "qp_to_qp_ex" },
		{ { 34, { V36 }, "ibv_qp_to_qp_ex", 192 },
		  -EPROTO,
		  "qp_to_qp_ex" },
		{ { 34, { V36 }, "verbs_set_ops", 192 },
		  -EPROTO,
		  "lacks functions" },
	};
	struct usiw_library found;
	char text[256];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(
			look(&rows[i].made_up, &found, text, sizeof(text)),
			rows[i].ret);
		if (!strstr(text, rows[i].say))
			fail_msg("row %zu: %s", i, text);
	}
}

/* What the constructor found matches the library itself. */
CASE(installed_one_is_known)
{
	struct verbs_qp qp = { 0 };

	assert_int_equal(usiw_library_find(), 0);
	assert_non_null(usiw_library.layout);
	assert_int_equal(usiw_library.layout->head,
			 offsetof(struct verbs_context, context));
	assert_false(usiw_library_is_qp_ex(&qp));
	assert_null(ibv_qp_to_qp_ex(&qp.qp));
	usiw_library_set_qp_ex(&qp);
	assert_true(usiw_library_is_qp_ex(&qp));
	assert_ptr_equal(ibv_qp_to_qp_ex(&qp.qp), &qp.qp_ex);
}

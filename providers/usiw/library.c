/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See library.h. */
#define _GNU_SOURCE
#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/interpose.h"
#include "util/log.h"

#define LIBRARY_NAME "libibverbs.so.1"
/* Limit of the search for an unknown number, to name it. */
#define NUMBER_MAX 255

const struct usiw_library_layout usiw_library_layouts[] = {
	{ 34, 73, VERBS_CONTEXT_HEAD(0), NULL, { 34 } },
	{ 35, 75, VERBS_CONTEXT_HEAD(0), "ibv_import_dm", { 34 } },
	{ 36,
	  76,
	  VERBS_CONTEXT_HEAD(0),
	  "ibv_query_qp_data_in_order",
	  { 34, 57 } },
	{ 59, 79, VERBS_CONTEXT_HEAD(3), "ibv_reg_mr_ex", { 59 } },
	{ 62, 81, VERBS_CONTEXT_HEAD(4), "ibv_query_port_speed", { 59 } },
	{ 64, 83, VERBS_CONTEXT_HEAD(6), "ibv_alloc_buf", { 64 } },
	{ 65, 93, VERBS_CONTEXT_HEAD(6), "ibv_create_comp_cntr", { 65 } },
	{ 0 },
};

struct usiw_library usiw_library;

/* ---- the number --------------------------------------------------------- */

static void *private_symbol(const struct usiw_library_source *source,
			    const char *name, uint32_t number)
{
	char version[sizeof("IBVERBS_PRIVATE_4294967295")];

	snprintf(version, sizeof(version), "IBVERBS_PRIVATE_%u", number);
	return source->symbol(source->handle, name, version);
}

static void *register_symbol(const struct usiw_library_source *source,
			     uint32_t number)
{
	char name[sizeof("verbs_register_driver_4294967295")];

	snprintf(name, sizeof(name), "verbs_register_driver_%u", number);
	return private_symbol(source, name, number);
}

static bool has_number(const struct usiw_library_layout *layout,
		       uint32_t number)
{
	return number &&
	       (layout->numbers[0] == number || layout->numbers[1] == number);
}

static bool is_known(uint32_t number)
{
	const struct usiw_library_layout *layout = usiw_library_layouts;

	for (; layout->op_cnt; layout++)
		if (has_number(layout, number))
			return true;
	return false;
}

/* Return: the number; 0: none. */
static uint32_t number_find(const struct usiw_library_source *source)
{
	const struct usiw_library_layout *layout = usiw_library_layouts;

	for (; layout->op_cnt; layout++)
		for (size_t i = 0; i < 2; i++)
			if (layout->numbers[i] &&
			    register_symbol(source, layout->numbers[i]))
				return layout->numbers[i];
	for (uint32_t number = 1; number <= NUMBER_MAX; number++)
		if (register_symbol(source, number))
			return number;
	return 0;
}

/* ---- the layout --------------------------------------------------------- */

static const struct usiw_library_layout *
layout_find(const struct usiw_library_source *source)
{
	const struct usiw_library_layout *layout = usiw_library_layouts;
	const struct usiw_library_layout *last = layout;

	for (; layout->op_cnt; layout++)
		if (!layout->symbol ||
		    source->symbol(source->handle, layout->symbol, NULL))
			last = layout;
	return last;
}

typedef struct ibv_qp_ex *qp_to_qp_ex_fn(struct ibv_qp *qp);

static void mask_put(struct verbs_qp *qp, size_t at, uint32_t mask)
{
	memcpy((char *)qp + at, &mask, sizeof(mask));
}

/*
 * Finds the offset at which the library reads the mask, by calling it.
 * Return: 0: not within the space of the structure.
 */
static size_t qp_mask_find(const struct usiw_library_source *source)
{
	void *symbol = source->symbol(source->handle, "ibv_qp_to_qp_ex", NULL);
	qp_to_qp_ex_fn *qp_to_qp_ex;
	struct verbs_qp qp;

	memcpy(&qp_to_qp_ex, &symbol, sizeof(symbol));
	if (!symbol)
		return 0;
	for (size_t at = sizeof(struct ibv_qp);
	     at + sizeof(uint32_t) <= sizeof(qp); at += sizeof(void *)) {
		memset(&qp, 0, sizeof(qp));
		mask_put(&qp, at, VERBS_QP_EX);
		if (qp_to_qp_ex(&qp.qp))
			return at;
	}
	return 0;
}

/* ---- all of it ---------------------------------------------------------- */

static int functions_find(const struct usiw_library_source *source,
			  struct usiw_library *lib)
{
	const struct {
		void *to;
		void *symbol;
	} functions[] = {
		{ &lib->fn.register_driver,
		  register_symbol(source, lib->number) },
		{ &lib->fn.init_and_alloc_context,
		  private_symbol(source, "_verbs_init_and_alloc_context",
				 lib->number) },
		{ &lib->fn.uninit_context,
		  private_symbol(source, "verbs_uninit_context", lib->number) },
		{ &lib->fn.set_ops,
		  private_symbol(source, "verbs_set_ops", lib->number) },
	};

	void *fork_init = source->symbol(source->handle, "ibv_fork_init", NULL);

	memcpy(&lib->fn.fork_init, &fork_init, sizeof(fork_init));
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (!functions[i].symbol)
			return -EPROTO;
		memcpy(functions[i].to, &functions[i].symbol, sizeof(void *));
	}
	return 0;
}

static void known_say(char *text, size_t size)
{
	const struct usiw_library_layout *layout = usiw_library_layouts;
	uint32_t last = 0;
	size_t len = 0;

	for (; layout->op_cnt && len < size; layout++) {
		for (size_t i = 0; i < 2; i++) {
			uint32_t number = layout->numbers[i];

			if (!number || number == last || len >= size)
				continue;
			len += (size_t)snprintf(text + len, size - len, "%s%u",
						len ? ", " : "", number);
			last = number;
		}
	}
}

int usiw_library_look(const struct usiw_library_source *source,
		      struct usiw_library *ret_library, char *ret_text,
		      size_t text_size)
{
	struct usiw_library lib = { .number = number_find(source) };
	char known[64] = "";

	if (!is_known(lib.number)) {
		known_say(known, sizeof(known));
		snprintf(ret_text, text_size,
			 "this libibverbs asks for providers of ABI %u, and "
			 "this usiw has those of %s: install a newer usiw, or "
			 "the rdma-core of the distribution",
			 lib.number, known);
		return -ENOSYS;
	}
	lib.layout = layout_find(source);
	if (!has_number(lib.layout, lib.number)) {
		snprintf(ret_text, text_size,
			 "this libibverbs says provider ABI %u, but has verbs "
			 "of rdma-core %u (%s): no released rdma-core is so; "
			 "install a newer usiw",
			 lib.number, lib.layout->layout,
			 lib.layout->symbol ? lib.layout->symbol : "none");
		return -EPROTO;
	}
	lib.qp_mask_at = qp_mask_find(source);
	if (!lib.qp_mask_at || functions_find(source, &lib) < 0) {
		snprintf(ret_text, text_size,
			 "this libibverbs (provider ABI %u) lacks %s that "
			 "every released one has: install the rdma-core of the "
			 "distribution",
			 lib.number,
			 lib.qp_mask_at ? "functions" : "an ibv_qp_to_qp_ex()");
		return -EPROTO;
	}
	*ret_library = lib;
	return 0;
}

static void *loaded_symbol(void *handle, const char *name, const char *version)
{
	return version ? dlvsym(handle, name, version) : dlsym(handle, name);
}

int usiw_library_find(void)
{
	struct usiw_library_source source = { .symbol = loaded_symbol };
	char text[256];
	int ret;

	/* libibverbs has loaded this provider. */
	source.handle = util_loaded_module(LIBRARY_NAME);
	if (!source.handle) {
		util_err("verbs",
			 "no %s is loaded: programs load this file by "
			 "libibverbs",
			 LIBRARY_NAME);
		return -ENOSYS;
	}
	ret = usiw_library_look(&source, &usiw_library, text, sizeof(text));
	if (ret < 0)
		util_err("verbs", "%s", text);
	return ret;
}

/* ---- objects ------------------------------------------------------------ */

bool usiw_library_is_context(const struct ibv_context *context)
{
	size_t size;

	memcpy(&size, (const char *)context - sizeof(size), sizeof(size));
	return size == usiw_library.layout->head + sizeof(*context);
}

void usiw_library_set_qp_ex(struct verbs_qp *qp)
{
	mask_put(qp, usiw_library.qp_mask_at, VERBS_QP_EX);
}

bool usiw_library_is_qp_ex(const struct verbs_qp *qp)
{
	uint32_t mask;

	memcpy(&mask, (const char *)qp + usiw_library.qp_mask_at, sizeof(mask));
	return mask & VERBS_QP_EX;
}

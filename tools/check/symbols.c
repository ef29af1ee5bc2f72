/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See symbols.h. */
#include "symbols.h"

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* Modules get places of their own, far from each other. */
#define MODULE_ROOM (UINT64_C(1) << 40)

struct module {
	struct module *next;
	char *path;
	Dwfl_Module *dwfl; /* NULL: it cannot be read */
	GElf_Addr bias;	   /* of its first octet */
};

struct symbols {
	Dwfl *dwfl;
	struct module *modules;
	uint64_t next;
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
};

struct symbols *symbols_new(void)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return NULL;
	symbols->dwfl = dwfl_begin(&callbacks);
	symbols->next = MODULE_ROOM;
	if (symbols->dwfl)
		return symbols;
	free(symbols);
	return NULL;
}

void symbols_free(struct symbols *symbols)
{
	struct module *module;

	if (!symbols)
		return;
	while ((module = symbols->modules)) {
		symbols->modules = module->next;
		free(module->path);
		free(module);
	}
	dwfl_end(symbols->dwfl);
	free(symbols);
}

static Dwfl_Module *dwfl_add(struct symbols *symbols, const char *path,
			     GElf_Addr bias)
{
	Dwfl_Module *dwfl;

	dwfl_report_begin_add(symbols->dwfl);
	dwfl = dwfl_report_elf(symbols->dwfl, path, path, -1, bias, true);
	dwfl_report_end(symbols->dwfl, NULL, NULL);
	return dwfl;
}

static const struct module *module_of(struct symbols *symbols, const char *path)
{
	struct module *module;

	for (module = symbols->modules; module; module = module->next)
		if (strcmp(module->path, path) == 0)
			return module;
	module = calloc(1, sizeof(*module));
	if (!module || !(module->path = strdup(path))) {
		free(module);
		return NULL;
	}
	module->bias = symbols->next;
	symbols->next += MODULE_ROOM;
	module->dwfl = dwfl_add(symbols, path, module->bias);
	module->next = symbols->modules;
	symbols->modules = module;
	return module;
}

/* The address in the file.  That of a program with fixed addresses begins
 * where its first segment does; others begin at 0. */
static GElf_Addr address_of(const struct module *module, uint64_t offset)
{
	GElf_Addr low;

	dwfl_module_info(module->dwfl, NULL, &low, NULL, NULL, NULL, NULL,
			 NULL);
	return low + offset;
}

void symbols_find(struct symbols *symbols, const char *path, uint64_t offset,
		  struct symbol *ret_symbol)
{
	const struct module *module = symbols ? module_of(symbols, path) : NULL;
	Dwfl_Line *line;
	GElf_Addr addr;

	*ret_symbol = (struct symbol){ 0 };
	if (!module || !module->dwfl)
		return;
	addr = address_of(module, offset);
	ret_symbol->function = dwfl_module_addrname(module->dwfl, addr);
	line = dwfl_module_getsrc(module->dwfl, addr);
	if (line)
		ret_symbol->file = dwfl_lineinfo(line, NULL, &ret_symbol->line,
						 NULL, NULL, NULL);
}

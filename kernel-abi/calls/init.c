/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The constructor. */
#include "tree/chdir.h"
#include "base/real.h"

/* It looks up symbols only, without file, thread and system call. */
__attribute__((constructor)) static void kabi_start(void)
{
	util_reals_fill(&kabi_real_table);
	kabi_chdir_start();
}

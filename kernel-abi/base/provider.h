/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A check whether this process's libibverbs will find the provider. */
#ifndef KABI_PROVIDER_H
#define KABI_PROVIDER_H

/*
 * If the process has a libibverbs and there is no provider of usiw for it, logs
 * what is missing and what to do.  libibverbs itself names at most a file that
 * it did not find.
 */
void kabi_provider_check(void);

/*
 * Logs, once, that the process has two libibverbs.  The dynamic linker loads
 * the provider once, and it serves the libibverbs that loaded it.
 */
void kabi_provider_check_libraries(void);

/*
 * Logs, once, that libibverbs asks a provider first that is of another build
 * and cannot say so: one from before usiw_interface, which USIW_UVERBS_ABI
 * keeps from the devices.  To be called when the providers are loaded.
 */
void kabi_provider_check_first(void);

#endif

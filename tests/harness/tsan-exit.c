/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The end of a process under ThreadSanitizer: linked to every program of the
 * tests then.
 *
 * Each process waits a second at its end for threads that may still report.
 * Many tests have dozens of processes, one after the other.  TSAN_OPTIONS still
 * overrides this.
 */
const char *__tsan_default_options(void);

__attribute__((visibility("default"))) const char *__tsan_default_options(void)
{
	return "atexit_sleep_ms=0";
}

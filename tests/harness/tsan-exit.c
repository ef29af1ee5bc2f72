/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The start and the end of a process under ThreadSanitizer: linked to every
 * program of the tests then.
 *
 * Many tests have dozens of processes, one after the other.  Each waits a
 * second at its end for threads that may still report, and clears a history for
 * each thread.  A report has the stack of the other access if that was one of
 * the last 64,000 of its thread.  TSAN_OPTIONS still overrides this.
 */
const char *__tsan_default_options(void);

__attribute__((visibility("default"))) const char *__tsan_default_options(void)
{
	return "atexit_sleep_ms=0:history_size=1";
}

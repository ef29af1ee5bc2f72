/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Opens and closes a reading of verbs-ops.def; no include guard on purpose.
 *
 * The first inclusion defines OP() so that each row which the layout has
 * becomes VERBS_ROW(kind, ret, name, params); the second takes OP() and
 * VERBS_ROW away again.
 */
#ifndef OP
#define OP(since, kind, ret, name, params) \
	VERBS_SINCE_##since(kind, ret, name, params)
#define VERBS_SINCE_34(...) VERBS_ROW(__VA_ARGS__)
#if USIW_VERBS_LAYOUT >= 59
#define VERBS_SINCE_59(...) VERBS_ROW(__VA_ARGS__)
#else
#define VERBS_SINCE_59(...)
#endif
#if USIW_VERBS_LAYOUT >= 62
#define VERBS_SINCE_62(...) VERBS_ROW(__VA_ARGS__)
#else
#define VERBS_SINCE_62(...)
#endif
#if USIW_VERBS_LAYOUT >= 64
#define VERBS_SINCE_64(...) VERBS_ROW(__VA_ARGS__)
#else
#define VERBS_SINCE_64(...)
#endif
#else
#undef OP
#undef VERBS_ROW
#undef VERBS_SINCE_34
#undef VERBS_SINCE_59
#undef VERBS_SINCE_62
#undef VERBS_SINCE_64
#endif

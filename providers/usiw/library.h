/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The libibverbs of this process, and the layout of its structures.
 *
 * One binary of the provider serves all of them.  It is linked to none.  It
 * finds the loaded library's private functions by name and version, and
 * distinguishes two layouts of one number by the verbs that the library
 * exports.
 */
#ifndef USIW_LIBRARY_H
#define USIW_LIBRARY_H

#include "verbs-abi.h"

/* One row of the table in verbs-abi.h. */
struct usiw_library_layout {
	uint32_t layout;
	uint32_t op_cnt;
	size_t head;	     /* octets of verbs_context before ibv_context */
	const char *symbol;  /* a verb that this layout introduced */
	uint32_t numbers[2]; /* provider ABIs that have it; 0: none */
};

/* Oldest first; the end has no operations. */
extern const struct usiw_library_layout usiw_library_layouts[];

struct usiw_library {
	uint32_t number; /* of the provider ABI; 0: none was found */
	const struct usiw_library_layout *layout;
	size_t qp_mask_at; /* of the mask in struct verbs_qp */
	struct verbs_library fn;
};

/* Of this process; set by usiw_library_find(). */
extern struct usiw_library usiw_library;

/* How symbols are found.  Tests use other libraries. */
struct usiw_library_source {
	void *handle;
	/* @version NULL: the default one */
	void *(*symbol)(void *handle, const char *name, const char *version);
};

/*
 * Fills in the description of @source.
 * Return: 0; -ENOSYS: a number that the table does not have, or none;
 *   -EPROTO: its verbs have another number's layout, or its QPs have no known
 *   layout.  @ret_text describes the error.
 */
int usiw_library_look(const struct usiw_library_source *source,
		      struct usiw_library *ret_library, char *ret_text,
		      size_t text_size);

/* Finds the library of the process; called once, before all other functions
 * here.  As usiw_library_look(), and logs the text. */
int usiw_library_find(void);

/* The library's struct verbs_context around @context, of its own length. */
static inline struct verbs_context *
usiw_library_context(struct ibv_context *context)
{
	return (struct verbs_context *)(void *)((char *)context -
						usiw_library.layout->head);
}

/* True if the library has initialised @context at the expected offset. */
bool usiw_library_is_context(const struct ibv_context *context);

/* For ibv_qp_to_qp_ex(). */
void usiw_library_set_qp_ex(struct verbs_qp *qp);
bool usiw_library_is_qp_ex(const struct verbs_qp *qp);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See inbox.h. */
#include "inbox.h"

#include <stdlib.h>

uint64_t sdp_inbox_len(const struct sdp_link *link)
{
	return link->rx.fed_len - link->rx.fed_at + link->rx.oob.has_kept +
	       sdp_conn_readable(link->conn);
}

void sdp_inbox_drop_fed(struct sdp_link *link)
{
	free(link->rx.fed);
	link->rx.fed = NULL;
	link->rx.fed_len = link->rx.fed_at = 0;
}

bool sdp_inbox_is_mark(const struct sdp_link *link, bool is_oob)
{
	return is_oob && link->rx.oob.left_cnt <= 1;
}

bool sdp_inbox_peek(const struct sdp_link *link, uint64_t off,
		    const uint8_t **ret_at, uint32_t *ret_len, bool *ret_is_oob)
{
	uint64_t fed = link->rx.fed_len - link->rx.fed_at;
	struct sdp_piece piece;

	if (off < fed) {
		*ret_at = link->rx.fed + link->rx.fed_at + off;
		*ret_len = fed - off < UINT32_MAX ? (uint32_t)(fed - off)
						  : UINT32_MAX;
		*ret_is_oob = false;
		return true;
	}
	off -= fed;
	if (link->rx.oob.has_kept) {
		if (!off) {
			*ret_at = &link->rx.oob.kept;
			*ret_len = 1;
			*ret_is_oob = true;
			return true;
		}
		off--;
	}
	if (sdp_conn_peek(link->conn, off, &piece, ret_is_oob) != 1)
		return false;
	*ret_at = ((struct sdp_mem *)(uintptr_t)piece.cookie)->base + piece.off;
	*ret_len = piece.len;
	return true;
}

bool sdp_inbox_is_at_mark(const struct sdp_link *link)
{
	const uint8_t *at;
	uint32_t len;
	bool is_oob;

	return sdp_inbox_peek(link, 0, &at, &len, &is_oob) && len == 1 &&
	       sdp_inbox_is_mark(link, is_oob);
}

void sdp_inbox_consume(struct sdp_link *link, uint32_t len, bool is_oob_end)
{
	if (link->rx.fed) {
		link->rx.fed_at += len;
		if (link->rx.fed_at == link->rx.fed_len)
			sdp_inbox_drop_fed(link);
		return;
	}
	if (is_oob_end && link->rx.oob.left_cnt)
		link->rx.oob.left_cnt--;
	/* A read beyond the mark discards the urgent octet. */
	if (is_oob_end && !link->rx.oob.left_cnt)
		link->rx.oob.has_octet = false;
	if (link->rx.oob.has_kept) {
		link->rx.oob.has_kept = false;
		return;
	}
	(void)sdp_conn_consume(link->conn, len);
}

void sdp_inbox_pass_mark(struct sdp_link *link)
{
	if (link->rx.oob.left_cnt == 1 && !link->opt.is_oobinline &&
	    !link->rx.zbuf.is_busy && sdp_inbox_is_at_mark(link))
		sdp_inbox_consume(link, 1, true);
}

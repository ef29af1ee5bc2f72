/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * DDP headers, and the order of segments on an in-order stream.
 */
#include "ddp.h"

#include <errno.h>

#include "include/siw-mpa.h"
#include "wire.h"

int ddp_hdr_decode(const uint8_t *buf, size_t len, struct ddp_hdr *ret_hdr)
{
	struct ddp_hdr h = { 0 };

	if (len < 2)
		return -EMSGSIZE;
	h.is_tagged = buf[0] & DDP_CTRL_TAGGED;
	if (len < ddp_hdr_size(h.is_tagged))
		return -EMSGSIZE;
	h.is_last = buf[0] & DDP_CTRL_LAST;
	h.version = buf[0] & DDP_CTRL_VERSION;
	h.ulp = buf[1];
	if (h.is_tagged) {
		h.stag = wire_get32(buf + 2);
		h.to = wire_get64(buf + 6);
	} else {
		h.ulp2 = wire_get32(buf + 2);
		h.qn = wire_get32(buf + 6);
		h.msn = wire_get32(buf + 10);
		h.mo = wire_get32(buf + 14);
	}
	*ret_hdr = h;
	return (int)ddp_hdr_size(h.is_tagged);
}

void ddp_order_init(struct ddp_order *o, uint8_t version)
{
	o->version = version;
	for (uint32_t qn = 0; qn < DDP_QN_CNT; qn++) {
		o->msn[qn] = 1; /* DDP-24 */
		o->mo[qn] = 0;
	}
}

uint16_t ddp_order_check(const struct ddp_order *o, const struct ddp_hdr *h,
			 uint32_t len)
{
	if (h->is_tagged) /* DDP-17, D-34 */
		return h->version == o->version ? 0 : SMPA_F_DDP_T_VERSION;
	if (h->version != o->version)
		return SMPA_F_DDP_U_VERSION;
	if (h->qn >= DDP_QN_CNT)
		return SMPA_F_DDP_U_QN; /* DDP-50, D-10 */
	if (h->msn != o->msn[h->qn])
		return SMPA_F_DDP_U_MSN; /* DDP-50, D-11 */
	if (h->mo != o->mo[h->qn])
		return SMPA_F_DDP_U_MO; /* DDP-50, D-12 */
	if (len > UINT32_MAX - h->mo)
		return SMPA_F_DDP_U_TOO_LONG; /* DDP-27 */
	return 0;
}

void ddp_order_advance(struct ddp_order *o, const struct ddp_hdr *h,
		       uint32_t len)
{
	if (h->is_tagged)
		return;
	if (h->is_last) {
		o->msn[h->qn]++;
		o->mo[h->qn] = 0;
	} else {
		o->mo[h->qn] += len;
	}
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Start frames: the encoding of a decoded frame is the same, no prefix is
 * accepted, and a Responder or Initiator that receives it keeps a consistent
 * state.
 */
#include "fuzz.h"

#include <string.h>

#include "pair.h"
#include "start-frame.h"

static void check_codec(const uint8_t *data, size_t size, bool is_reply)
{
	uint8_t out[START_FRAME_MAX], again[START_FRAME_MAX];
	struct start_frame f, g;
	int used = start_frame_decode(data, size, is_reply, &f);
	size_t len;

	fuzz_assert(used <= (int)size);
	if (used <= 0)
		return;
	fuzz_assert(start_frame_need(data, size) == (size_t)used);
	fuzz_assert(f.pd >= data && f.pd + f.pd_len == data + used);
	for (int cut = 0; cut < used; cut++)
		fuzz_assert(start_frame_decode(data, (size_t)cut, is_reply,
					       &g) == 0);
	len = start_frame_encode(&f, out);
	fuzz_assert(len == (size_t)used);
	fuzz_assert(start_frame_decode(out, len, is_reply, &g) == used);
	fuzz_assert(g.ird == f.ird && g.ord == f.ord && g.rtr == f.rtr &&
		    g.rev == f.rev && g.is_rejected == f.is_rejected);
	fuzz_assert(start_frame_encode(&g, again) == len &&
		    !memcmp(out, again, len));
}

static void check_engine(const uint8_t *data, size_t size, enum smpa_role role,
			 uint8_t rev)
{
	struct smpa_options o = test_options(role);
	struct end e;

	o.rev = rev;
	o.rev0 = size / 2 % 2;
	if (role == SMPA_INITIATOR)
		o.rtr = size % 8;
	end_init(&e, &o);
	e.rx_cut = (struct end_cut){ size, size % 3 };
	fuzz_assert(smpa_conn_start(e.conn, NULL, 0) == 0);
	end_drain(&e);
	end_feed(&e, data, size);
	end_drain(&e);
	end_feed_eof(&e);
	fuzz_assert(e.event_cnt > 0);
	end_fini(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_codec(data, size, false);
	check_codec(data, size, true);
	check_engine(data, size, SMPA_RESPONDER, size % 2 ? 1 : 2);
	check_engine(data, size, SMPA_INITIATOR, size % 2 ? 1 : 2);
	return 0;
}

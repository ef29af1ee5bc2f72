/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Send credit: how many messages each end may send.
 */
#include "flow/credit.h"

#include <assert.h>
#include <string.h>

#include "flow/seq.h"

/* One receive that is not announced to the peer. It takes a message that the
 * peer may send in excess while MSeqAck 0 is ambiguous (rule 11; departs from
 * SDP-17 on purpose). */
#define SPARE 1u

void sdp_credit_init(struct sdp_credit *credit, uint32_t pool,
		     uint32_t first_mseq, uint32_t peer_first_mseq)
{
	memset(credit, 0, sizeof(*credit));
	credit->pool = pool;
	credit->next_mseq = first_mseq;
	credit->rcv_first = peer_first_mseq;
}

void sdp_credit_post(struct sdp_credit *credit, uint32_t cnt)
{
	credit->posted += cnt;
}

/* Number of messages that an MSeqAck sent now would acknowledge. */
static uint32_t ack_cnt_now(const struct sdp_credit *credit)
{
	return credit->is_held ? credit->held_cnt : credit->rcv_cnt;
}

/* Whether MSeqAck would be the ambiguous 0 although it acknowledges one
 * message. The peer takes it to acknowledge none. */
static bool is_ambiguous(const struct sdp_credit *credit, uint32_t ack_cnt)
{
	return ack_cnt == 1 && credit->rcv_mseq - (credit->rcv_cnt - 1) == 0;
}

/*
 * The current Bufs (SDP-17). With the ambiguous 0 the spare receive counts,
 * because the message that Bufs does not seem to acknowledge has been received.
 * Otherwise the peer's credit would fall by one without a message of the peer,
 * perhaps to 0. If that happened at both ends, neither could send.
 *
 * While MSeqAck is held back, the messages that it does not acknowledge count
 * too: their receives are posted again, and the peer's formula subtracts them.
 * Otherwise the peer's credit would run out, and the message that ends the hold
 * may need that credit.
 */
static uint16_t bufs_now(const struct sdp_credit *credit)
{
	uint32_t spare = is_ambiguous(credit, ack_cnt_now(credit)) ? 0 : SPARE;
	uint32_t bufs = credit->posted > spare ? credit->posted - spare : 0;

	bufs += credit->rcv_cnt -
		(credit->is_held ? credit->held_cnt : credit->rcv_cnt);

	return (uint16_t)(bufs < SDP_BUFS_MAX ? bufs : SDP_BUFS_MAX);
}

uint16_t sdp_credit_hello_bufs(struct sdp_credit *credit)
{
	credit->sent_bufs = bufs_now(credit);
	return credit->sent_bufs;
}

void sdp_credit_on_hello(struct sdp_credit *credit, uint16_t bufs)
{
	credit->peer_bufs = bufs;
}

void sdp_credit_hello_ack_came(struct sdp_credit *credit)
{
	assert(credit->posted && credit->sent_bufs);
	credit->posted--;
	credit->sent_bufs--;
}

uint32_t sdp_credit_get(const struct sdp_credit *credit)
{
	uint32_t used;

	if (credit->has_ack)
		used = credit->next_mseq - 1 - credit->acked;
	else
		used = credit->sent_cnt;
	return credit->peer_bufs > used ? credit->peer_bufs - used : 0;
}

/* The peer's credit as it can compute it from @bufs and an MSeqAck that
 * covers @ack_cnt messages. */
static int64_t peer_credit(const struct sdp_credit *credit, uint16_t bufs,
			   uint32_t ack_cnt)
{
	if (is_ambiguous(credit, ack_cnt))
		ack_cnt = 0;
	return (int64_t)bufs - (uint32_t)(credit->rcv_cnt - ack_cnt);
}

/* What the peer would gain by a message of ours (rule 5). */
static int64_t gain(const struct sdp_credit *credit, int64_t known)
{
	return peer_credit(credit, bufs_now(credit), ack_cnt_now(credit)) -
	       known;
}

static int64_t known_credit(const struct sdp_credit *credit)
{
	return peer_credit(credit, credit->sent_bufs, credit->sent_ack_cnt);
}

bool sdp_credit_is_update_due(const struct sdp_credit *credit)
{
	int64_t known = known_credit(credit);
	int64_t more = gain(credit, known);

	if (more <= 0)
		return false;
	/* Two are too few for payload; but what updates used up is no news. */
	if (known <= 2 && more > credit->update_cnt)
		return true;
	return more >= credit->pool / 2;
}

bool sdp_credit_is_update_lazy(const struct sdp_credit *credit)
{
	int64_t known = known_credit(credit);

	return known <= 1 && gain(credit, known) > 0;
}

bool sdp_credit_allows(const struct sdp_credit *credit,
		       enum sdp_credit_need need)
{
	uint32_t have = sdp_credit_get(credit);

	/* Two updates that cross must leave both ends one credit: so the
	 * gain counts as the peer surely sees it (SDP-42). */
	if (need == SDP_CREDIT_UPDATE && have == 1)
		return gain(credit, known_credit(credit)) > 0;
	return have >= need;
}

bool sdp_credit_is_ambiguous(const struct sdp_credit *credit)
{
	return credit->has_heard && !credit->has_ack && credit->sent_cnt;
}

void sdp_credit_send(struct sdp_credit *credit, struct sdp_msg *msg)
{
	uint32_t ack_cnt = ack_cnt_now(credit);

	msg->bufs = bufs_now(credit);
	msg->mseq = credit->next_mseq++; /* SDP-20 */
	/* SDP-21, SDP-22 */
	msg->mseqack = ack_cnt ? credit->rcv_mseq - (credit->rcv_cnt - ack_cnt)
			       : 0;
	if (!credit->has_ack)
		credit->sent_cnt++;
	credit->sent_bufs = msg->bufs;
	credit->sent_ack_cnt = ack_cnt;
	credit->update_cnt = 0;
}

/* MSeqAck 0 before a first clear one: perhaps nothing has arrived (C6). */
static enum sdp_fault take_ack(struct sdp_credit *credit, uint32_t ack)
{
	uint32_t last = credit->next_mseq - 1;

	if (credit->has_ack) {
		if (ack - credit->acked > last - credit->acked)
			return SDP_FAULT_MSEQACK;
	} else if (ack == 0) {
		return SDP_FAULT_NONE;
	} else if (last - ack >= credit->sent_cnt) {
		return SDP_FAULT_MSEQACK;
	}
	credit->has_ack = true;
	credit->acked = ack;
	return SDP_FAULT_NONE;
}

enum sdp_fault sdp_credit_recv(struct sdp_credit *credit,
			       const struct sdp_msg *msg)
{
	bool is_update = msg->mid == SDP_MID_DATA && !msg->payload_len &&
			 !msg->flags;
	enum sdp_fault fault;

	if (!credit->posted)
		return SDP_FAULT_CREDIT;
	if (credit->has_heard ? msg->mseq != credit->rcv_mseq + 1
			      : msg->mseq - credit->rcv_first > 1) /* C4 */
		return SDP_FAULT_MSEQ;
	fault = take_ack(credit, msg->mseqack);
	if (fault)
		return fault;
	credit->has_heard = true;
	credit->rcv_mseq = msg->mseq;
	credit->rcv_cnt++;
	credit->posted--;
	credit->peer_bufs = msg->bufs;
	if (is_update)
		credit->update_cnt++;
	return SDP_FAULT_NONE;
}

bool sdp_credit_is_acked(const struct sdp_credit *credit, uint32_t mseq)
{
	return credit->has_ack && sdp_seq_is_reached(credit->acked, mseq);
}

void sdp_credit_hold(struct sdp_credit *credit)
{
	assert(credit->rcv_cnt);
	credit->is_held = true;
	credit->held_cnt = credit->rcv_cnt - 1;
}

void sdp_credit_release(struct sdp_credit *credit)
{
	credit->is_held = false;
}

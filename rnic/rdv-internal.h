/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The inside of the rendezvous: the QPs that wait for a peer (rdv.c), the TCP
 * connections that may be the peer's (rdv-link.c), and what both say in their
 * start frames (rdv-frame.c).  The manager's lock guards all of it.
 */
#ifndef RNIC_RDV_INTERNAL_H
#define RNIC_RDV_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "rdv.h"
#include "rnic.h"
#include "stream.h"

/* ---- rdv-frame.c -------------------------------------------------------- */

#define RDV_FRAME_LEN 24
#define RDV_RNR_RETRY_UNKNOWN 0xff

/* Private data of Request and Reply, from the sender's point of view. */
struct rdv_frame {
	uint8_t min_rnr_timer; /* as in ibv_qp_attr */
	uint8_t rnr_retry;     /* or RDV_RNR_RETRY_UNKNOWN: not RTS yet */
	uint32_t src_num, dst_num;
	uint64_t nonce; /* the dialler's, in both */
};

void rdv_frame_encode(const struct rdv_frame *frame,
		      uint8_t buf[RDV_FRAME_LEN]);

/* Return: 0; -EPROTO: no such frame. */
int rdv_frame_decode(const void *buf, size_t len, struct rdv_frame *ret_frame);

/* ---- rdv.c: QPs that wait ----------------------------------------------- */

TAILQ_HEAD(rdv_list, rdv);
TAILQ_HEAD(rdv_link_list, rdv_link);

struct rdv {
	struct rdv *hash_next;
	TAILQ_ENTRY(rdv) all_link;
	TAILQ_ENTRY(rdv) redial_link;
	struct rnic_qp *qp;
	uint32_t num, dest_num;
	struct sockaddr_storage local, peer; /* peer: with the port to dial */
	struct rnic_rdv_options opt;
	uint8_t rnr_retry;
	bool is_dialler;
	uint64_t nonce;
	struct rdv_link *link; /* the try under way */
	uint32_t try_cnt;
	uint64_t redial_ns;		   /* 0: not to be dialled again */
	uint64_t patience_ns, deadline_ns; /* 0: for ever */
};

/* The QP of that number waits; NULL: no. */
struct rdv *rdv_find(uint32_t num);

/* The dialler's try came to nothing: another one, later. */
void rdv_try_again(struct rdv *rdv);

/* The QP has its stream, or does not want one any more. */
void rdv_free(struct rdv *rdv);

/* ---- rdv-link.c: TCP connections ---------------------------------------- */

enum rdv_link_phase {
	RDV_LINK_CONNECTING, /* TCP handshake */
	RDV_LINK_STARTING,   /* start frames */
	RDV_LINK_PARKED,     /* a Request whose QP does not wait yet */
	RDV_LINK_ANSWERED,   /* Reply sent, the dialler's RTR awaited */
};

struct rdv_link {
	TAILQ_ENTRY(rdv_link) list_link; /* of its kind, by deadline */
	uint64_t ref;
	enum rdv_link_phase phase;
	struct rdv *rdv; /* NULL: accepted, not yet answered */
	int fd;		 /* -1: the stream's */
	struct rnic_stream *stream;
	uint32_t epoll_events;
	uint64_t deadline_ns;
	struct sockaddr_storage local, peer;
	struct rdv_frame frame; /* the peer's, once it has come */
	uint16_t ird, ord;	/* ANSWERED: outcome */
};

/* A socket that connects to the peer.  Return: -errno.  Any lock or none. */
int rdv_link_connect(const struct rdv *rdv);

/* Dial with what rdv_link_connect() answered; on failure there will be another
 * try. */
void rdv_link_dial(struct rdv *rdv, int fd);

/* The port of that block is to be accepted from; @is_again: it was already. */
int rdv_link_listen(int listener, uint32_t block_num, bool is_again);

/* A peer came before its QP waited: is it the one?  The rdv may be gone. */
void rdv_link_take_parked(struct rdv *rdv);

/* A QP connected to itself.  Return: 0: RTS; -errno. */
int rdv_link_self(const struct rdv *rdv);

/* Takes it from its rdv; nobody is told. */
void rdv_link_free(struct rdv_link *link);

void rdv_links_fire(uint64_t now_ns);
uint64_t rdv_links_next_ns(void);
void rdv_links_close_all(void);
void rdv_links_forget(void);

#endif

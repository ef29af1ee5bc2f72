/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The inside of connection out of band: the QPs that wait for a peer (oob.c),
 * the TCP connections that may be the peer's (oob-link.c), and what both say in
 * their start frames (oob-frame.c).  The manager's lock guards all of it.
 */
#ifndef RNIC_OOB_INTERNAL_H
#define RNIC_OOB_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "oob.h"
#include "rnic.h"
#include "stream.h"

/* ---- oob-frame.c -------------------------------------------------------- */

#define OOB_FRAME_LEN 24
#define OOB_RNR_RETRY_UNKNOWN 0xff

/* Private data of Request and Reply, from the sender's point of view. */
struct oob_frame {
	uint8_t min_rnr_timer; /* as in ibv_qp_attr */
	uint8_t rnr_retry;     /* or OOB_RNR_RETRY_UNKNOWN: not RTS yet */
	uint32_t src_num, dst_num;
	uint64_t nonce; /* the dialler's, in both */
};

void oob_frame_encode(const struct oob_frame *frame,
		      uint8_t buf[OOB_FRAME_LEN]);

/* Return: 0; -EPROTO: no such frame. */
int oob_frame_decode(const void *buf, size_t len, struct oob_frame *ret_frame);

/* ---- oob.c: QPs that wait ----------------------------------------------- */

TAILQ_HEAD(oob_list, oob);
TAILQ_HEAD(oob_link_list, oob_link);

struct oob {
	struct oob *hash_next;
	TAILQ_ENTRY(oob) all_link;
	TAILQ_ENTRY(oob) redial_link;
	struct rnic_qp *qp;
	uint32_t num, dest_num;
	struct sockaddr_storage local, peer; /* peer: with the port to dial */
	struct rnic_oob_options opt;
	uint8_t rnr_retry;
	bool is_dialler;
	uint64_t nonce;
	struct oob_link *link; /* the try under way */
	uint32_t try_cnt;
	uint64_t redial_ns;		/* 0: not to be dialled again */
	uint64_t retry_ns, deadline_ns; /* 0: for ever */
};

/* The QP of that number waits; NULL: no. */
struct oob *oob_find(uint32_t num);

/* The dialler's try came to nothing: another one, later. */
void oob_try_again(struct oob *oob);

/* The QP has its stream, or does not want one any more. */
void oob_free(struct oob *oob);

/* ---- oob-link.c: TCP connections ---------------------------------------- */

enum oob_link_phase {
	OOB_LINK_CONNECTING, /* TCP handshake */
	OOB_LINK_STARTING,   /* start frames */
	OOB_LINK_PARKED,     /* a Request whose QP does not wait yet */
	OOB_LINK_ANSWERED,   /* Reply sent, the dialler's RTR awaited */
};

struct oob_link {
	TAILQ_ENTRY(oob_link) list_link; /* of its kind, by deadline */
	uint64_t ref;
	enum oob_link_phase phase;
	struct oob *oob; /* NULL: accepted, not yet answered */
	int fd;		 /* -1: the stream's */
	struct rnic_stream *stream;
	uint32_t epoll_events;
	uint64_t deadline_ns;
	struct sockaddr_storage local, peer;
	struct oob_frame frame; /* the peer's, once it has come */
	uint16_t ird, ord;	/* ANSWERED: outcome */
};

/* A socket that connects to the peer.  Return: -errno.  Any lock or none. */
int oob_link_connect(const struct oob *oob);

/* Dial with what oob_link_connect() answered; on failure there will be another
 * try. */
void oob_link_dial(struct oob *oob, int fd);

/* The port of that block is to be accepted from; @is_again: it was already. */
int oob_link_listen(int listener, uint32_t block_num, bool is_again);

/* A peer came before its QP waited: is it the one?  The oob may be gone. */
void oob_link_take_parked(struct oob *oob);

/* A QP connected to itself.  Return: 0: RTS; -errno. */
int oob_link_self(const struct oob *oob);

/* Takes it from its oob; nobody is told. */
void oob_link_free(struct oob_link *link);

void oob_links_fire(uint64_t now_ns);
uint64_t oob_links_next_ns(void);
void oob_links_close_all(void);
void oob_links_forget(void);

#endif

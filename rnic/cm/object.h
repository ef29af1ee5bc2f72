/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The connection manager's channels, events, identities, listeners, and
 * connections that are being set up. The loop's lock guards all of them.
 * Sockets are non-blocking. Engines leave notes for identities by reference.
 */
#ifndef RNIC_CM_OBJECT_H
#define RNIC_CM_OBJECT_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "dev/device.h"
#include "dgram/host.h"
#include "loop/object.h"
#include "loop/ref.h"
#include "loop/timer.h"
#include "rnic.h"
#include "start/start.h"

/* ---- events -------------------------------------------------------------- */

struct cm_event {
	TAILQ_ENTRY(cm_event) link;
	struct cm_id *owner; /* the identity that counts it */
	struct cm_id *child; /* CONNECT_REQUEST: the new identity */
	uint32_t join_num;   /* MULTICAST_JOIN; else 0 */
	struct rnic_cm_event ev;
};

TAILQ_HEAD(cm_event_list, cm_event);
TAILQ_HEAD(cm_id_list, cm_id);
LIST_HEAD(cm_chan_list, rnic_cm_chan);

struct rnic_cm_chan {
	int fd; /* the channel's own, open as long as it exists */
	_Atomic uint32_t fork_gen;    /* of the process that used it last */
	const struct util_file *file; /* with the application's numbers */
	/* In a forked child: the epoll descriptor with those numbers. */
	int front_fd;
	uint32_t front_gen; /* of the process that made @front_fd */
	/* the loop's lock */
	LIST_ENTRY(rnic_cm_chan) link;
	struct cm_event_list events;
	struct cm_id_list ids;
	bool is_closed; /* readers leave */
};

/* ---- identities ---------------------------------------------------------- */

typedef uint8_t cm_state; /* RNIC_CM_S_* of struct rnic_cm_info */

struct cm_listener {
	struct rnic_acceptor acceptor;
	uint32_t watched; /* events that the loop waits for */
	uint32_t backlog;
	uint32_t unfetched_cnt; /* CONNECT_REQUESTs in the queue */
};

/* Where management datagrams go. */
struct cm_way {
	struct sib_path path;
	uint32_t ifindex;
	bool is_own; /* to a process of this host */
};

/*
 * A request for the QP of a service: the one that an identity sends, or the one
 * that has made an identity.
 */
struct cm_sidr {
	LIST_ENTRY(cm_sidr) link; /* by request_id */
	struct cm_id *id;
	bool is_listed;
	bool has_mads; /* it keeps the process's socket */
	bool is_asker;
	bool is_decided; /* the outcome is known; the answer is given */
	struct cm_way way;
	struct rnic_host_name name; /* at the peer */
	uint64_t tid, service_id;
	uint32_t request_id;
	uint8_t mad[SIB_MAD_SIZE]; /* the request; the answer */
	struct rnic_timer timer;
	uint32_t sent_cnt, full_cnt;
	struct cm_event *outcome; /* asker */
	uint64_t listener_ref;	  /* counts it while it is not decided */
};

/* A multicast group of an identity. */
struct cm_join {
	LIST_ENTRY(cm_join) link;
	struct cm_id *id;
	struct sib_gid mgid;
	uint64_t uid;
	uint32_t num; /* by which the application identifies it; never 0 */
	uint32_t events_reported;
};

LIST_HEAD(cm_join_list, cm_join);

/* A socket that management datagrams of this host come by (mad.h). */
struct cm_mad_sock {
	int fd; /* -1: there is none */
	enum rnic_loop_tag tag;
	uint64_t ref;
	uint32_t watched;
	struct rnic_timer pause; /* a stranger's descriptors are dropped */
};

/* Of identities for datagrams. */
struct cm_ud {
	uint16_t ps; /* port space; 0: the identity is for connections */
	struct cm_mad_sock sock; /* has the name of the port */
	bool has_mads;		 /* a listener keeps the process's socket */
	uint32_t undecided_cnt;	 /* requests of a listener */
	struct cm_sidr *sidr;
	struct cm_join_list joins;
};

struct cm_id {
	TAILQ_ENTRY(cm_id) chan_link;
	struct rnic_cm_chan *chan;
	uint64_t ref;
	uint64_t uid;
	uint32_t events_reported;
	cm_state state;		 /* changed by cm_id_set_state() */
	struct usiw_res_id *res; /* what others see of it */
	struct rnic_device *dev;
	struct sockaddr_storage local, peer;
	int fd; /* bound or listening TCP socket; -1 */
	uint8_t tos;
	uint8_t ack_timeout; /* 0: USIW_RETRY_MS */
	bool is_reuseaddr, has_afonly, is_afonly;
	bool is_moved;	   /* its socket is on the port beside (port.c) */
	bool has_qp;	   /* made by librdmacm, not by the application */
	bool is_inherited; /* the parent has its socket too, or had it */
	uint32_t qp_num;
	/* Persona ca: the peer's start frame has arrived. */
	bool has_start;
	uint8_t ird, ord;	  /* then: the agreed depths */
	struct cm_conn *conn;	  /* CONNECT, REQUEST: the connection */
	struct cm_event *ended;	  /* allocated for DISCONNECTED */
	struct rnic_timer unread; /* runs: DISCONNECTED waits */
	/* Persona ca. */
	struct cm_event *timewait; /* allocated for TIMEWAIT_EXIT */
	struct rnic_timer in_timewait;
	bool is_removed;       /* DEVICE_REMOVAL was raised */
	bool has_disconnected; /* the application has, while connected */
	struct cm_listener listener;
	struct cm_ud ud;
};

/* ---- after a fork -------------------------------------------------------- */

static inline bool cm_chan_is_forked(const struct rnic_cm_chan *chan)
{
	/* acquire: pairs with the release in fork.c */
	return atomic_load_explicit(&chan->fork_gen, memory_order_acquire) !=
	       rnic_fork_gen();
}

/* ---- connections in the making ------------------------------------------- */

enum cm_phase {
	CM_PHASE_ASKING,     /* is the listener on the port beside? */
	CM_PHASE_REFUSED,    /* the port is closed; another try will follow */
	CM_PHASE_CONNECTING, /* TCP handshake */
	CM_PHASE_STARTING,   /* passive: MPA Request awaited */
	CM_PHASE_ASKED,	     /* active: MPA Request sent, Reply awaited */
	CM_PHASE_REQUEST,    /* the application must accept or reject */
	CM_PHASE_RESPONSE,   /* active, with InfiniBand's steps: the application
				must report that it is ready */
	CM_PHASE_ANSWERED,   /* passive, persona ca: Reply sent, RTR awaited */
	CM_PHASE_BARE,	     /* established, without a QP */
	CM_PHASE_REJECTED,   /* Reply with R=1 sent, the peer's FIN awaited */
	CM_PHASE_CLOSING,    /* last octets out, then the peer's FIN */
};

struct cm_conn {
	struct rnic_start start; /* the first */
	enum cm_phase phase;	 /* changed by cm_conn_enter() */
	struct cm_id *id;	 /* active side; passive from REQUEST on */
	struct rnic_device *dev;
	uint64_t refused_ns; /* from here on a closed port is final */
	uint8_t rev;	     /* active: revision of the Request */
	bool is_shut;	     /* CLOSING: our FIN is out */
	bool is_beside;	     /* active: the listener has moved */
	bool is_bare;	     /* the number that was named belongs to no QP */
	uint32_t qp_life;    /* ANSWERED: the QP waits in this life; 0: no */
	struct cm_event *outcome;
	struct rnic_cm_conn_param param;
};

/* The listener of a half-open one. */
static inline struct cm_id *cm_conn_listener(const struct cm_conn *conn)
{
	return RNIC_OWNER(conn->start.acceptor, struct cm_id,
			  listener.acceptor);
}

/* Ports, or hosts, that are not queried for a while. */
struct cm_known {
	struct sockaddr_storage addr;
	uint64_t until_ns;
};

#define CM_KNOWN_CNT 32

LIST_HEAD(cm_sidr_list, cm_sidr);
#define CM_SIDR_LISTS 64u

/* The process's socket for answers to its requests; it sends by it, too. */
struct cm_mads {
	uint32_t user_cnt; /* 0: the rest is void */
	struct cm_mad_sock sock;
	uint32_t tid_high; /* its name */
	uint32_t tid_low;  /* of the next request */
	uint64_t burst_ns; /* until then BURST_MAX go to other hosts */
	uint32_t burst_cnt;
};

/* The number by which the application identifies it. */
static inline uint32_t cm_id_num(const struct cm_id *id)
{
	return rnic_ref_slot_idx(id->ref);
}

static inline bool cm_id_is_ud(const struct cm_id *id)
{
	return id->ud.ps != 0;
}

/* Persona ca: InfiniBand's handshake. */
static inline bool cm_id_is_ca(const struct cm_id *id)
{
	return id->dev && rnic_device_persona(id->dev) == RNIC_PERSONA_CA;
}

/*
 * A substitute for the peer's QP number. No QP has this number, and it is
 * neither 0 nor 1, which InfiniBand uses. It usually differs between
 * identities.
 */
static inline uint32_t cm_id_peer_num(const struct cm_id *id)
{
	return 2 + cm_id_num(id) % 254;
}

/* All of the connection manager; guarded by the loop's lock. */
struct cm_manager {
	uint32_t whole_gen; /* channels from this one on are complete */
	bool is_inherited;  /* from the parent, and not yet checked */
	struct cm_chan_list chans;
	struct cm_known known[CM_KNOWN_CNT];
	uint32_t known_turn;
	struct cm_mads mads;
	uint32_t join_last;
	struct cm_sidr_list sidrs[CM_SIDR_LISTS]; /* by request_id */
};

extern struct cm_manager cm;

#endif

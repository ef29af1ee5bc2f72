/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the files of the connection manager share: identities, connections in
 * the making, events, numbered references, the one manager of the process.
 *
 * One lock (rank CM) guards all of it; a second (rank LEAF) guards the notes
 * that engines leave, because an engine that ends a stream holds its lead and
 * may take nothing lower.  Nobody waits for anything while holding either;
 * sockets are non-blocking.
 *
 * References are numbers, (generation << 32 | slot): an epoll event or a note
 * that is late finds a slot of another generation and is dropped, so that an
 * identity may be destroyed at any time.
 */
#ifndef RNIC_CM_INTERNAL_H
#define RNIC_CM_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "../util/lock.h"
#include "os/clock.h"
#include "cm.h"
#include "rnic.h"
#include "stream.h"

/* ---- numbered references (cm-table.c) ---------------------------------- */

/* What an engine leaves when a stream ends.  Guarded by the inbox lock. */
struct cm_note {
	TAILQ_ENTRY(cm_note) link;
	uint32_t slot_idx;
	int status;
	bool is_queued;
};

struct cm_slot {
	void *object;	     /* CM lock */
	uint32_t generation; /* written under both locks; 0: free */
	uint32_t last_generation;
	uint32_t next_free;
	struct cm_note note;
};

#define CM_TABLE_PAGE 256u
#define CM_TABLE_PAGES 4096u

struct cm_table {
	struct cm_slot *page[CM_TABLE_PAGES]; /* written under both locks */
	uint32_t page_cnt;
	uint32_t first_free; /* UINT32_MAX: none */
};

/* Return: 0; -ENOMEM; -EMFILE: a million are alive. */
int cm_table_add(struct cm_table *table, void *object, uint64_t *ret_ref);
void cm_table_remove(struct cm_table *table, uint64_t ref);
/* NULL: not alive any more. */
void *cm_table_get(const struct cm_table *table, uint64_t ref);
/* By slot number alone, whatever the generation. */
void *cm_table_get_slot(const struct cm_table *table, uint32_t slot_idx);
/* Inbox lock held: the slot of a live reference; NULL: none. */
struct cm_slot *cm_table_live_slot(const struct cm_table *table, uint64_t ref);
/* Notes are those of the parent. */
void cm_table_fork_child(struct cm_table *table);

static inline uint32_t cm_ref_slot(uint64_t ref)
{
	return (uint32_t)ref;
}

/* ---- events (cm-event.c) ------------------------------------------------ */

struct cm_event {
	TAILQ_ENTRY(cm_event) link;
	struct cm_id *owner; /* whose events_reported grows */
	struct cm_id *child; /* CONNECT_REQUEST: the new identity */
	struct rnic_cm_event ev;
};

TAILQ_HEAD(cm_event_list, cm_event);
TAILQ_HEAD(cm_id_list, cm_id);
TAILQ_HEAD(cm_conn_list, cm_conn);
TAILQ_HEAD(cm_note_list, cm_note);
LIST_HEAD(cm_chan_list, rnic_cm_chan);

struct rnic_cm_chan {
	int fd;			      /* ours, as long as the channel is */
	_Atomic uint32_t fork_gen;    /* in whose life it was used last */
	const struct util_file *file; /* whose numbers are the application's */
	/* Of a forked child: the epoll descriptor behind those numbers. */
	int front_fd;
	uint32_t front_gen; /* whose life @front_fd is of */
	/* CM lock */
	LIST_ENTRY(rnic_cm_chan) link;
	struct cm_event_list events;
	struct cm_id_list ids;
};

/* Queue @event (made by cm_event_new) on its owner's channel; cannot fail. */
struct cm_event *cm_event_new(struct cm_id *owner);
void cm_event_post(struct cm_event *event, enum rnic_cm_event_type type,
		   int status);
/* Take a queued event back, its count in the eventfd included. */
void cm_event_remove(struct rnic_cm_chan *chan, struct cm_event *event);
/* Move what @id owns from its channel to another. */
void cm_event_migrate(struct cm_id *id, struct rnic_cm_chan *to);

/* ---- identities (cm-id.c) ----------------------------------------------- */

typedef uint8_t cm_state; /* RNIC_CM_S_* of struct rnic_cm_info */

struct cm_listener {
	TAILQ_ENTRY(cm_id) pause_link;
	struct cm_conn_list half_open; /* accepted by TCP, no Request yet */
	uint32_t half_open_cnt;
	uint32_t backlog;
	uint32_t unfetched_cnt; /* CONNECT_REQUESTs in the queue */
	uint64_t resume_ns;
	bool is_paused; /* out of file descriptors */
};

struct cm_id {
	TAILQ_ENTRY(cm_id) chan_link;
	struct rnic_cm_chan *chan;
	uint64_t ref;
	uint64_t uid;
	uint32_t events_reported;
	cm_state state;
	struct rnic_device *dev;
	struct sockaddr_storage local, peer;
	int fd; /* bound or listening TCP socket; -1 */
	uint8_t tos;
	uint8_t ack_timeout; /* 0: TCP's own */
	bool has_tos, is_reuseaddr, has_afonly, is_afonly;
	bool has_port;	   /* the application asked for a port: keep it */
	bool is_moved;	   /* its socket is on the port beside (cm-port.c) */
	bool has_qp;	   /* librdmacm's, not the application's own */
	bool is_inherited; /* the parent has it, too, or had */
	uint32_t qp_num;
	/* Persona ca: the peer's start frame is here. */
	bool has_start;
	uint8_t ird, ord;	/* then: reads at a time */
	struct cm_conn *conn;	/* CONNECT, REQUEST: the connection */
	struct cm_event *ended; /* set aside for DISCONNECTED */
	TAILQ_ENTRY(cm_id) unread_link;
	uint64_t unread_ns; /* 0: not in the manager's list */
	/* Persona ca. */
	struct cm_event *timewait; /* set aside for TIMEWAIT_EXIT */
	TAILQ_ENTRY(cm_id) timewait_link;
	uint64_t timewait_ns;  /* 0: not in the manager's list */
	bool has_disconnected; /* the application has, while connected */
	struct cm_listener listener;
};

int cm_id_new(struct rnic_cm_chan *chan, uint64_t uid, struct cm_id **ret_id);
/* With all that hangs on it, the stream of its QP included. */
void cm_id_free(struct cm_id *id);
static inline uint32_t cm_id_num(const struct cm_id *id)
{
	return cm_ref_slot(id->ref);
}
/* Return: 0 and the manager locked; -ENODEV; -ENOENT: unlocked. */
int cm_id_lock(struct rnic_cm_chan *chan, uint32_t num, struct cm_id **ret_id);
int cm_id_bind(struct cm_id *id, const struct sockaddr *addr);
/* A socket as the identity wants it, on exactly that port; or -errno. */
int cm_id_open_bound(const struct cm_id *id, const struct sockaddr *addr);
/* Another socket, bound to the same.  On failure the state is IDLE. */
int cm_id_rebind(struct cm_id *id);
/* Set aside what the end of a connection will take.  Return: 0; -ENOMEM. */
int cm_id_reserve_end(struct cm_id *id);
/* The application disconnects, in state ESTABLISHED or after it. */
void cm_id_disconnected(struct cm_id *id);
/* The stream of an established identity has ended. */
void cm_id_stream_ended(struct cm_id *id, int status);
/* DISCONNECTED waits: may it come now?  cm_id_unread_look_ns(): when to ask. */
void cm_id_look(struct cm_id *id, uint64_t now_ns);
uint64_t cm_id_unread_look_ns(uint64_t now_ns);
/* The identity's time in timewait is over. */
void cm_id_timewait_exit(struct cm_id *id);

/* ---- after a fork (cm-fork.c) ------------------------------------------- */

static inline bool cm_chan_is_forked(const struct rnic_cm_chan *chan)
{
	/* acquire: pairs with the release in cm-fork.c */
	return atomic_load_explicit(&chan->fork_gen, memory_order_acquire) !=
	       rnic_fork_gen();
}

/* Lock the manager; an inherited channel is made anew.  Return: 0, locked;
 * -errno, unlocked. */
int cm_chan_lock(struct rnic_cm_chan *chan);
/* The same to end it.  False: there is nothing to be ended. */
bool cm_chan_lock_to_close(const struct rnic_cm_chan *chan);
/* Is it in the list of channels? */
bool cm_chan_is_known(const struct rnic_cm_chan *chan);
/* The epoll descriptor behind the application's numbers; -1: the eventfd is. */
int cm_chan_front(const struct rnic_cm_chan *chan);

/* ---- addresses (cm-addr.c) ---------------------------------------------- */

/* Octets of an AF_INET or AF_INET6 address; 0: another family. */
socklen_t cm_addr_len(const struct sockaddr *addr);
bool cm_addr_is_any(const struct sockaddr *addr);
bool cm_addr_is_loopback(const struct sockaddr *addr);
uint16_t cm_addr_port_be(const struct sockaddr *addr);
void cm_addr_set_port_be(struct sockaddr_storage *addr, uint16_t port_be);
void cm_addr_set(struct sockaddr_storage *dst, const struct sockaddr *src);
/* IPv4-mapped becomes IPv4. */
void cm_addr_unmap(struct sockaddr_storage *addr);
bool cm_addr_equal(const struct sockaddr_storage *a,
		   const struct sockaddr_storage *b);
/* The same address, whatever the ports. */
bool cm_addr_is_same_host(const struct sockaddr_storage *a,
			  const struct sockaddr_storage *b);
void cm_addr_of_socket(int fd, struct sockaddr_storage *ret_local,
		       struct sockaddr_storage *ret_peer);
/* Non-blocking socket, in the fd table; or negative errno. */
int cm_sock_open(int family, int type);
void cm_sock_set_flag(int fd, int level, int name, int value);
void cm_sock_set_tos(int fd, int family, uint8_t tos);
void cm_sock_set_ack_timeout(int fd, uint8_t timeout);
/*
 * The address from which the kernel would reach @dst.  @src: NULL or any: no
 * wish.  Return: 0; -ENETUNREACH and what else connect(2) says.
 */
int cm_addr_source(const struct sockaddr *src, const struct sockaddr *dst,
		   struct sockaddr_storage *ret_local);
/* Does the address belong to this network namespace? */
bool cm_addr_is_own(const struct sockaddr *addr);

/* ---- ports beside TCP's (cm-port.c) -------------------------------------- */

#define CM_PORT_SIGN_SIZE 24

/* Has rdma_cm a port space of its own (USIW_PORT_SPACE)? */
bool cm_port_is_apart(void);
/* Where the listener of a port is when the port is a plain socket's. */
uint16_t cm_port_beside_be(uint16_t port_be);
/* The address of the identity's socket, as TCP knows it. */
void cm_port_real_local(const struct cm_id *id,
			struct sockaddr_storage *ret_addr);
/* @addr was in use.  Return: a socket beside it, and the identity is moved;
 * -EADDRINUSE: it is not the program's plain socket that has it. */
int cm_port_open_beside(struct cm_id *id, const struct sockaddr *addr);
/* What a moved listener says first: of which port it is.  Return: 0; -EAGAIN:
 * it has not come yet; -errno. */
int cm_port_send_sign(int fd, uint16_t port_be);
int cm_port_read_sign(int fd, uint16_t port_be);

/* ---- connections in the making (cm-start.c) ----------------------------- */

enum cm_phase {
	CM_PHASE_ASKING,     /* is the listener beside its port? */
	CM_PHASE_REFUSED,    /* the port is closed; soon another try */
	CM_PHASE_CONNECTING, /* TCP handshake */
	CM_PHASE_STARTING,   /* passive: MPA Request awaited */
	CM_PHASE_ASKED,	     /* active: MPA Request sent, Reply awaited */
	CM_PHASE_REQUEST,    /* the application is to accept or reject */
	CM_PHASE_RESPONSE,   /* active, in InfiniBand's steps: the application
				is to say that it is ready */
	CM_PHASE_ANSWERED,   /* passive, persona ca: Reply sent, RTR awaited */
	CM_PHASE_BARE,	     /* established, without a QP */
	CM_PHASE_REJECTED,   /* Reply with R=1 sent, the peer's FIN awaited */
	CM_PHASE_CLOSING,    /* last octets out, then the peer's FIN */
};

struct cm_conn {
	TAILQ_ENTRY(cm_conn) link; /* of the phase's list, by deadline */
	uint64_t ref;
	enum cm_phase phase;
	struct cm_id *id;	/* active side; passive from REQUEST on */
	struct cm_id *listener; /* passive, until REQUEST */
	TAILQ_ENTRY(cm_conn) half_open_link; /* the listener's, by age */
	struct rnic_device *dev;
	struct sockaddr_storage local, peer;
	int fd; /* the manager's until there is a stream */
	struct rnic_stream *stream;
	uint32_t epoll_events; /* as registered; 0: not registered */
	uint64_t deadline_ns;
	uint64_t refused_ns; /* from here on a closed port is final */
	uint8_t rev;	     /* active: revision of the Request */
	bool is_shut;	     /* CLOSING: our FIN is out */
	bool is_beside;	     /* active: the listener has moved */
	bool is_bare;	     /* the number that was named is no QP's */
	uint16_t ird, ord;   /* RESPONSE, ANSWERED: agreed */
	uint32_t qp_life;    /* ANSWERED: the QP waits in that life; 0: no */
	struct cm_event *outcome;
	struct rnic_cm_conn_param param;
};

/* Passive: the manager takes over an accepted socket (closed on failure). */
void cm_conn_accepted(struct cm_id *listener, int fd);
/* Active: the identity is in state ROUTE. */
int cm_conn_connect(struct cm_id *id, const struct rnic_cm_conn_param *param);
int cm_conn_accept(struct cm_id *id, const struct rnic_cm_conn_param *param);
/* Active, after CONNECT_RESPONSE: the application is ready. */
int cm_conn_establish(struct cm_id *id);
/* Reply with R=1, then an orderly close; the connection leaves its id. */
void cm_conn_reject(struct cm_conn *conn, const void *pd, uint8_t pd_len);
void cm_conn_free(struct cm_conn *conn);
/* A connection that is owed an outcome, of either side, is given up: an event
 * says so. */
void cm_conn_abort(struct cm_conn *conn, int status);
/* The socket is ready. */
void cm_conn_ready(struct cm_conn *conn, uint32_t events);
/* The deadline has passed. */
void cm_conn_expire(struct cm_conn *conn);

/* Between the files of the start (cm-start.c, cm-active.c, cm-passive.c). */
struct cm_conn *cm_conn_new(enum cm_phase phase);
/* Into the list of those that start, with its time limit. */
void cm_conn_begin(struct cm_conn *conn);
/* From there on the peer's program decides, which may be busy. */
void cm_conn_await_reply(struct cm_conn *conn);
/* Out of the list of its phase, away from identity and listener. */
void cm_conn_detach(struct cm_conn *conn);
/* Out of the list of its phase. */
void cm_conn_leave_list(struct cm_conn *conn);
/* The identity is established by the connection. */
void cm_conn_stands(struct cm_conn *conn, struct cm_id *id);
void cm_conn_drop_socket(struct cm_conn *conn);
int cm_conn_fd(const struct cm_conn *conn);
int cm_conn_watch(struct cm_conn *conn, uint32_t events);
int cm_conn_open_stream(struct cm_conn *conn, struct smpa_options *opt);
/* The QP takes the stream, with reads at a time as agreed.  Return: 0;
 * -errno: the stream is still ours. */
int cm_conn_attach(struct cm_conn *conn, struct cm_id *id, struct rnic_qp *qp,
		   uint16_t ird, uint16_t ord);
/* Private data of a start frame into an event. */
void cm_event_set_start(struct cm_event *event, const struct smpa_event *ev);
/* The peer's IRD and ORD, as an enhanced Reply says them. */
void cm_event_set_reply_depths(struct cm_event *event,
			       const struct smpa_event *ev);
/* The application hears how it ended.  @conn has its identity: whoever is owed
 * an outcome keeps it until then. */
void cm_conn_post_outcome(struct cm_conn *conn, int status);
/* D-27: one more try with revision 1. */
void cm_active_retry(struct cm_conn *conn);
void cm_active_connected(struct cm_conn *conn);
/* Dial again after a refusal. */
void cm_active_redial(struct cm_conn *conn);
/* The TCP connection stands, at the port beside.  The conn may be gone after.
 */
void cm_active_found(struct cm_conn *conn);
/* Dial the port itself.  The conn may be gone after. */
void cm_active_dial_port(struct cm_conn *conn);
/* A socket bound as the identity is; or -errno. */
int cm_active_open_source(const struct cm_id *id);
/* Return: 0: connected, or under way; -errno: what connect() says at once. */
int cm_active_dial(struct cm_conn *conn, const struct sockaddr_storage *to);
bool cm_active_is_connected(const struct cm_conn *conn);
void cm_active_established(struct cm_conn *conn, const struct smpa_event *ev);
void cm_passive_request(struct cm_conn *conn, const struct smpa_event *ev);
/* ANSWERED: octets, or the peer's leaving. */
void cm_passive_answered(struct cm_conn *conn);

/* ---- connections without a QP (cm-bare.c) -------------------------------- */

/* The connection stands.  Return: 0: it stays with its identity; -errno. */
int cm_bare_stand(struct cm_conn *conn);
/* The application disconnects: DISCONNECTED, and an orderly close. */
void cm_bare_end(struct cm_conn *conn);
void cm_bare_ready(struct cm_conn *conn, uint32_t events);

/* ---- is it beside? (cm-ask.c) -------------------------------------------- */

/* Return: whether an answer is awaited; else the port itself is to be dialled.
 */
bool cm_ask_begin(struct cm_conn *conn);
void cm_ask_ready(struct cm_conn *conn);
void cm_ask_expire(struct cm_conn *conn);
/* The port itself has answered, by MPA. */
void cm_ask_note_direct(const struct cm_conn *conn);

/* Ports, or hosts, that need not be asked for a while. */
struct cm_known {
	struct sockaddr_storage addr;
	uint64_t until_ns;
};

#define CM_KNOWN_CNT 32

/* Persona ca: InfiniBand's handshake. */
static inline bool cm_id_is_ca(const struct cm_id *id)
{
	return id->dev && rnic_device_persona(id->dev) == RNIC_PERSONA_CA;
}

/*
 * What stands for the peer's QP number: no QP's, and neither 0 nor 1, which
 * are InfiniBand's own.  It tells whose connection it is, not which.
 */
static inline uint32_t cm_id_peer_num(const struct cm_id *id)
{
	return 2 + cm_id_num(id) % 254;
}

/* Values of struct rdma_conn_param are octets. */
static inline uint8_t cm_depth_min(uint32_t a, uint32_t b)
{
	uint32_t min = a < b ? a : b;

	return min < UINT8_MAX ? (uint8_t)min : UINT8_MAX;
}

/* ---- closing (cm-close.c) ----------------------------------------------- */

/* What is queued goes out, FIN, the peer's FIN is awaited, bounded. */
void cm_conn_close(struct cm_conn *conn);
/* ... or, for a while, let the peer be the first to close. */
void cm_conn_close_behind_peer(struct cm_conn *conn);
void cm_conn_close_ready(struct cm_conn *conn);

/* ---- listeners (listen.c) ----------------------------------------------- */

#include "listen.h"

/* ---- the manager and its thread (cm-thread.c) ---------------------------- */

/* Which table an epoll event's reference is of. */
enum cm_tag {
	CM_TAG_INBOX,
	CM_TAG_LISTENER,
	CM_TAG_CONN,
	CM_TAG_OOB_LISTENER, /* reference: the port */
	CM_TAG_OOB_LINK,
	CM_TAG_PORT,
};

struct cm_manager {
	struct util_lock lock; /* CM: everything here but the inbox */
	uint32_t whole_gen;    /* channels from here on are whole */
	bool is_inherited;     /* from the parent, and not yet looked at */
	struct cm_table ids, conns, links;
	struct cm_chan_list chans;
	struct cm_conn_list asking, refused, starting, asked, answered,
		rejected, closing;
	struct cm_id_list paused;   /* listeners out of file descriptors */
	struct cm_id_list unread;   /* DISCONNECTED waits; by deadline */
	struct cm_id_list timewait; /* by deadline */
	struct cm_known known[CM_KNOWN_CNT];
	uint32_t known_turn;
	uint32_t closing_cnt; /* of both last lists */
	pthread_t thread;
	bool is_started, is_stopping;
	bool is_broken; /* written by the thread alone, under the lock */
	int epoll_fd, wake_fd;
	uint64_t wakes_ns;  /* when the thread wakes by itself */
	uint64_t linger_ns; /* until then it does so though nothing is due */

	struct util_lock inbox_lock; /* LEAF */
	struct cm_note_list inbox;
};

extern struct cm_manager cm;

/* Forked child.  @keeps_ids: they, and the channels, are whole. */
void cm_manager_reset(bool keeps_ids);
/* Make sure that the thread runs.  Return: 0; -errno; -EIO: it cannot wait
 * for sockets any more.  Manager locked. */
int cm_thread_start(void);
/* A deadline came up that the sleeping thread does not know. */
void cm_thread_deadline(uint64_t deadline_ns);
/* Do the thread's work while there is some and @events, on which the caller
 * is about to wait, is empty.  Manager not locked. */
void cm_thread_help(const struct cm_event_list *events);
/* (De)register; @events 0 removes.  Return: 0; -ENOMEM, -ENOSPC. */
int cm_thread_watch(int fd, enum cm_tag tag, uint64_t ref, uint32_t events,
		    uint32_t *registered);

#endif

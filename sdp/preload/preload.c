/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The stubs of libc's functions, and nothing else. For a descriptor that is not
 * in the table a stub costs one load and calls libc with unchanged arguments.
 *
 * In a vfork child the memory is shared with the parent, so code that changes
 * the table checks sdp_is_owner() first.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include "util/defer.h"
#include "util/unwind.h"
#include "util/user.h"
#include "sock/share/adopt.h"
#include "sock/start/ask.h"
#include "sock/start/connect.h"
#include "sock/io/copy.h"
#include "sock/enter/enter.h"
#include "sock/io/fd.h"
#include "sock/listen/listen.h"
#include "sock/io/message.h"
#include "sock/base/option.h"
#include "sock/share/share.h"
#include "sock/base/real.h"
#include "sock/io/stream.h"
#include "sock/base/table.h"
#include "stubs.h"
#include "verbs/sdp-link.h"

/* The socket of a call, pinned; NULL: not in the table. util_fdtab_unpin() and
 * util_defer_end() have to follow, or call_end(). */
static struct sdp_sock *call_begin(int fd, struct util_fd_pin *ret_pin)
{
	struct sdp_sock *sock;

	if (sdp_fd_kind(fd) != SDP_FD_SOCK)
		return NULL;
	util_defer_begin();
	sock = sdp_sock_pin(fd, ret_pin);
	if (!sock)
		util_defer_end();
	return sock;
}

static long call_end(const struct util_fd_pin *pin, long ret)
{
	sdp_ending_look();
	util_fdtab_unpin(pin);
	util_defer_end();
	return ret;
}

void sdp_stub_begin(struct sdp_stub_brief *brief, int fd)
{
	brief->sock = call_begin(fd, &brief->pin);
	brief->is_held = brief->sock && sdp_enter_hold(brief->sock);
}

int sdp_stub_end(const struct sdp_stub_brief *brief, int ret)
{
	if (brief->is_held)
		sdp_enter_left(brief->sock);
	if (brief->sock) {
		util_fdtab_unpin(&brief->pin);
		util_defer_end();
	}
	return ret;
}

static void pin_left(void *pin)
{
	util_fdtab_unpin(pin);
}

/* The result of a stub whose work is @call. */
#define CALL_END(pin, call) ((int)UTIL_RESULT(call_end(pin, call)))

/* The same for work that may sleep: a thread that leaves it without returning
 * must drop its pin. */
#define CALL_END_SLEEP(pin, call)                                              \
	CALL_END(pin, __extension__({                                          \
			 struct util_unwind unwind;                            \
			 long ret;                                             \
			 util_unwind_push(&unwind, pin_left, pin);             \
			 ret = (call);                                         \
			 util_unwind_pop(&unwind);                             \
			 ret;                                                  \
		 }))

/* A call that may sleep, and what it holds. */
struct io {
	struct util_unwind unwind;
	struct sdp_sock *sock;
	struct util_fd_pin pin;
	bool is_point; /* sdp_point_enter() */
	int depth;     /* ... and what that returned */
	int err;       /* 0; -errno: the result of the call */
	int saved_errno;
	bool is_counted; /* the kernel's: sdp_stream_begin() */
};

static void io_left(void *arg)
{
	struct io *io = arg;

	if (io->is_counted)
		sdp_enter_left(io->sock);
	util_fdtab_unpin(&io->pin);
	if (io->is_point)
		sdp_point_left(io->depth);
}

/* The kernel's call is counted. For that the library holds no lock and makes no
 * system call, so it need not prevent cancellation. */
static bool io_is_counted(const struct io *io, int flags)
{
	return sdp_enter_is_possible(io->sock) &&
	       !(flags & (MSG_OOB | MSG_ZEROCOPY)) &&
	       sdp_enter_in(io->sock, true) > 0;
}

/* The socket, with a pin until io_end(), unless it belongs to the kernel. A
 * cancellation point. */
static struct sdp_sock *io_get(struct io *io, int fd, bool is_send, int flags)
{
	int ret;

	io->is_counted = io->is_point = false;
	io->sock = call_begin(fd, &io->pin);
	if (!io->sock)
		return NULL;
	util_unwind_push(&io->unwind, io_left, io);
	io->is_counted = io_is_counted(io, flags);
	if (io->is_counted) {
		util_defer_end();
		return NULL;
	}
	io->saved_errno = errno;
	io->depth = sdp_point_enter();
	io->is_point = true;
	ret = sdp_stream_begin(io->sock, fd, is_send, flags);
	io->err = ret < 0 ? ret : 0;
	io->is_counted = ret == SDP_STREAM_COUNTED;
	if (ret != 0 && !io->is_counted)
		return io->sock;
	if (!io->is_counted) {
		util_unwind_pop(&io->unwind);
		util_fdtab_unpin(&io->pin);
	}
	util_defer_end();
	sdp_point_leave();
	io->is_point = false;
	return NULL;
}

/* The end of a call that was libc's. @ret: octets, or -1. */
static ssize_t io_done(struct io *io, int fd, bool is_send, int flags,
		       ssize_t ret)
{
	bool has_moved = ret > 0 && !(flags & (MSG_PEEK | MSG_ERRQUEUE));

	if (!io->is_counted)
		return ret;
	util_defer_begin();
	util_unwind_pop(&io->unwind);
	sdp_enter_out(io->sock, fd, is_send, has_moved ? (size_t)ret : 0);
	util_fdtab_unpin(&io->pin);
	util_defer_end();
	return ret;
}

static long io_end(struct io *io, long ret)
{
	sdp_ending_look();
	util_unwind_pop(&io->unwind);
	util_fdtab_unpin(&io->pin);
	ret = util_result(ret, io->saved_errno);
	util_defer_end();
	sdp_point_leave();
	return ret;
}

/* The end of a call whose octets go by SDP: @ours is its work. */
#define IO_END(io, ours) io_end(io, (io)->err ? (io)->err : (ours))

#define IOV_OF(buf, len)                                                       \
	&(const struct iovec)                                                  \
	{                                                                      \
		.iov_base = (void *)(uintptr_t)(buf), .iov_len = (len)         \
	}

/* ---- receive ---- */

#define STUB_IO(name, params, is_send, flags, ours, args)                      \
	STUB_IO_IF(name, params, true, is_send, flags, ours, args)

#define STUB_IO_IF(name, params, fits, is_send, flags, ours, args)             \
	EXPORT ssize_t name params                                             \
	{                                                                      \
		struct io io;                                                  \
		struct sdp_sock *sock;                                         \
		if (!(fits))                                                   \
			__chk_fail();                                          \
		sock = io_get(&io, fd, is_send, flags);                        \
		if (!sock)                                                     \
			return io_done(&io, fd, is_send, flags,                \
				       sdp_real()->name args);                 \
		return IO_END(&io, ours);                                      \
	}

#define RECV(flags) sdp_stream_recv(sock, fd, IOV_OF(buf, len), 1, flags)
#define SEND(flags) sdp_stream_send(sock, fd, IOV_OF(buf, len), 1, flags)

static ssize_t send_to(struct sdp_sock *sock, int fd, const struct iovec *iov,
		       int flags, const struct sockaddr *addr, socklen_t len)
{
	int ret = sdp_message_check_name(addr, len);

	return ret < 0 ? ret : sdp_stream_send(sock, fd, iov, 1, flags);
}

#define SEND_TO(flags)                                                         \
	send_to(sock, fd, IOV_OF(buf, len), flags, addr, addr_len)

/* A read of length 0 does not wait. A length that exceeds the address space
 * gives EFAULT before anything else. */
static bool read_is_plain(const void *buf, size_t len)
{
	uintptr_t end = (uintptr_t)buf + len;

	return len == 0 || end < len || (intptr_t)end < 0;
}

EXPORT ssize_t read(int fd, void *buf, size_t len)
{
	struct sdp_sock *sock;
	struct io io;

	if (read_is_plain(buf, len))
		return sdp_real()->read(fd, buf, len);
	sock = io_get(&io, fd, false, 0);
	if (!sock)
		return io_done(&io, fd, false, 0,
			       sdp_real()->read(fd, buf, len));
	return IO_END(&io, RECV(0));
}

EXPORT ssize_t __read_chk(int fd, void *buf, size_t len, size_t size)
{
	if (len > size)
		__chk_fail();
	return read(fd, buf, len);
}

STUB_IO(recv, (int fd, void *buf, size_t len, int flags), false, flags,
	RECV(flags), (fd, buf, len, flags))
STUB_IO_IF(__recv_chk, (int fd, void *buf, size_t len, size_t size, int flags),
	   len <= size, false, flags, RECV(flags), (fd, buf, len, size, flags))
STUB_IO(recvfrom,
	(int fd, void *buf, size_t len, int flags, struct sockaddr *addr,
	 socklen_t *addr_len),
	false, flags, sdp_message_no_name(addr_len, addr != NULL, RECV(flags)),
	(fd, buf, len, flags, addr, addr_len))
STUB_IO_IF(__recvfrom_chk,
	   (int fd, void *buf, size_t len, size_t size, int flags,
	    struct sockaddr *addr, socklen_t *addr_len),
	   len <= size, false, flags,
	   sdp_message_no_name(addr_len, addr != NULL, RECV(flags)),
	   (fd, buf, len, size, flags, addr, addr_len))
STUB_IO(readv, (int fd, const struct iovec *iov, int cnt), false, 0,
	sdp_message_readv(sock, fd, iov, cnt, 0), (fd, iov, cnt))
STUB_IO(preadv2,
	(int fd, const struct iovec *iov, int cnt, off_t offset, int flags),
	false, 0,
	offset == -1 ? sdp_message_readv(sock, fd, iov, cnt, flags) : -ESPIPE,
	(fd, iov, cnt, offset, flags))

static void message_adopt(struct msghdr *msg)
{
	UTIL_DEFER();

	sdp_adopt_message(msg);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct io io;
	struct sdp_sock *sock = io_get(&io, fd, false, flags);
	ssize_t ret;

	if (sock)
		return IO_END(&io, sdp_message_recv(sock, fd, msg, flags));
	ret = io_done(&io, fd, false, flags,
		      sdp_real()->recvmsg(fd, msg, flags));
	if (ret >= 0 && msg->msg_controllen > 0)
		message_adopt(msg);
	return ret;
}

static ssize_t messages_len(const struct mmsghdr *msgs, int cnt)
{
	ssize_t len = 0;

	for (int i = 0; i < cnt; i++)
		len += msgs[i].msg_len;
	return len;
}

EXPORT int recvmmsg(int fd, struct mmsghdr *msgs, unsigned int cnt, int flags,
		    struct timespec *limit)
{
	struct io io;
	struct sdp_sock *sock = io_get(&io, fd, false, flags);
	int ret;

	if (sock)
		return (int)IO_END(
			&io, sdp_message_recv_many(sock, fd, msgs, cnt, flags));
	ret = sdp_real()->recvmmsg(fd, msgs, cnt, flags, limit);
	(void)io_done(&io, fd, false, flags, messages_len(msgs, ret));
	for (int i = 0; i < ret; i++)
		if (msgs[i].msg_hdr.msg_controllen > 0)
			message_adopt(&msgs[i].msg_hdr);
	return ret;
}

/* ---- send ---- */

STUB_IO(write, (int fd, const void *buf, size_t len), true, 0, SEND(0),
	(fd, buf, len))
STUB_IO(send, (int fd, const void *buf, size_t len, int flags), true, flags,
	SEND(flags), (fd, buf, len, flags))
STUB_IO(sendto,
	(int fd, const void *buf, size_t len, int flags,
	 const struct sockaddr *addr, socklen_t addr_len),
	true, flags, SEND_TO(flags), (fd, buf, len, flags, addr, addr_len))
STUB_IO(writev, (int fd, const struct iovec *iov, int cnt), true, 0,
	sdp_message_writev(sock, fd, iov, cnt, 0), (fd, iov, cnt))
STUB_IO(pwritev2,
	(int fd, const struct iovec *iov, int cnt, off_t offset, int flags),
	true, 0,
	offset == -1 ? sdp_message_writev(sock, fd, iov, cnt, flags) : -ESPIPE,
	(fd, iov, cnt, offset, flags))

/* Prepares the sockets that a message passes on. */
static void message_share(const struct msghdr *msg)
{
	UTIL_DEFER();

	/* relaxed: this thread sees what it started itself */
	if ((sdp_enter_is_on() ||
	     atomic_load_explicit(&sdp_begun, memory_order_relaxed)) &&
	    !sdp_inside() && util_user_is_readable(msg, sizeof(*msg)) &&
	    util_user_is_readable(msg->msg_control, msg->msg_controllen) &&
	    msg->msg_controllen > 0)
		sdp_share_message(msg);
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct io io;
	struct sdp_sock *sock = io_get(&io, fd, true, flags);

	if (sock)
		return IO_END(&io, sdp_message_send(sock, fd, msg, flags));
	message_share(msg);
	return io_done(&io, fd, true, flags,
		       sdp_real()->sendmsg(fd, msg, flags));
}

EXPORT int sendmmsg(int fd, struct mmsghdr *msgs, unsigned int cnt, int flags)
{
	struct io io;
	struct sdp_sock *sock = io_get(&io, fd, true, flags);
	int ret;

	if (sock)
		return (int)IO_END(
			&io, sdp_message_send_many(sock, fd, msgs, cnt, flags));
	for (unsigned int i = 0; i < cnt && i < IOV_MAX; i++)
		message_share(&msgs[i].msg_hdr);
	ret = sdp_real()->sendmmsg(fd, msgs, cnt, flags);
	(void)io_done(&io, fd, true, flags, messages_len(msgs, ret));
	return ret;
}

#define STUB_SENDFILE(name, type)                                              \
	EXPORT ssize_t name(int fd, int in_fd, type *offset, size_t len)       \
	{                                                                      \
		struct io io;                                                  \
		struct sdp_sock *sock = io_get(&io, fd, true, 0);              \
		if (!sock)                                                     \
			return io_done(                                        \
				&io, fd, true, 0,                              \
				sdp_real()->name(fd, in_fd, offset, len));     \
		return IO_END(&io,                                             \
			      sdp_copy_file(sock, fd, in_fd, offset, len));    \
	}

STUB_SENDFILE(sendfile, off_t)
STUB_SENDFILE(sendfile64, off64_t)

EXPORT ssize_t splice(int in_fd, off64_t *in_off, int out_fd, off64_t *out_off,
		      size_t len, unsigned int flags)
{
	bool is_in = sdp_fd_kind(in_fd) == SDP_FD_SOCK;
	int fd = is_in ? in_fd : out_fd, pipe_fd = is_in ? out_fd : in_fd;
	struct sdp_sock *sock;
	struct io io;
	int err;

	if (sdp_fd_kind(fd) == SDP_FD_SOCK) {
		err = sdp_copy_check(pipe_fd, is_in ? in_off : out_off,
				     is_in ? out_off : in_off, len, flags);
		if (err <= 0)
			return UTIL_RESULT(err);
	}
	sock = io_get(&io, fd, !is_in, 0);
	if (!sock)
		return io_done(&io, fd, !is_in, 0,
			       sdp_real()->splice(in_fd, in_off, out_fd,
						  out_off, len, flags));
	return IO_END(
		&io, is_in ? sdp_copy_to_pipe(sock, fd, pipe_fd, len, flags)
			   : sdp_copy_from_pipe(sock, fd, pipe_fd, len, flags));
}

/* ---- sockets ---- */

/* If SDP is off in this program, AF_INET_SDP is passed to the kernel, which
 * refuses it. */
int sdp_stub_socket(int domain, int type, int protocol, const void *caller)
{
	bool is_sdp = domain == SDP_AF_INET_SDP && sdp_table();
	int fd;

	fd = sdp_real()->socket(is_sdp ? AF_INET : domain, type, protocol);
	if (fd >= 0 && (type & 0xf) == SOCK_STREAM &&
	    (domain == AF_INET || domain == AF_INET6 ||
	     domain == SDP_AF_INET_SDP)) {
		util_defer_begin();
		sdp_fd_socket(fd, domain, type, caller);
		util_defer_end();
	}
	return fd;
}

EXPORT int socket(int domain, int type, int protocol)
{
	return sdp_stub_socket(domain, type, protocol,
			       __builtin_return_address(0));
}

EXPORT int listen(int fd, int backlog)
{
	struct util_fd_pin pin;
	struct sdp_sock *sock = call_begin(fd, &pin);

	if (!sock)
		return sdp_real()->listen(fd, backlog);
	return CALL_END(&pin, sdp_listen(sock, fd, backlog));
}

EXPORT int accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	struct util_fd_pin pin;
	struct sdp_sock *sock = call_begin(fd, &pin);

	if (!sock)
		return sdp_real()->accept4(fd, addr, len, flags);
	return CALL_END_SLEEP(&pin, sdp_fd_accept(sock, fd, addr, len, flags));
}

EXPORT int accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	struct util_fd_pin pin;
	struct sdp_sock *sock = call_begin(fd, &pin);

	if (!sock)
		return sdp_real()->accept(fd, addr, len);
	return CALL_END_SLEEP(&pin, sdp_fd_accept(sock, fd, addr, len, 0));
}

/* An address of AF_INET_SDP has the layout of AF_INET. */
static const struct sockaddr *addr_plain(const struct sockaddr *addr,
					 socklen_t len, struct sockaddr_in *buf)
{
	if (len < sizeof(*buf) || util_user_get(buf, addr, sizeof(*buf)) < 0 ||
	    buf->sin_family != SDP_AF_INET_SDP)
		return addr;
	buf->sin_family = AF_INET;
	return (const struct sockaddr *)(const void *)buf;
}

EXPORT int bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct sockaddr_in buf;

	if (sdp_fd_kind(fd) == SDP_FD_SOCK) {
		UTIL_DEFER();
		addr = addr_plain(addr, len, &buf);
		sdp_fd_suit(fd, addr, len);
	}
	return sdp_real()->bind(fd, addr, len);
}

EXPORT int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct util_fd_pin pin;
	struct sdp_sock *sock = call_begin(fd, &pin);
	struct sockaddr_in buf;

	if (!sock)
		return sdp_real()->connect(fd, addr, len);
	addr = addr_plain(addr, len, &buf);
	sdp_fd_suit(fd, addr, len);
	return CALL_END_SLEEP(&pin, sdp_ask_connect(sock, fd, addr, len));
}

EXPORT int shutdown(int fd, int how)
{
	struct util_fd_pin pin;
	struct sdp_sock *sock = call_begin(fd, &pin);

	if (!sock)
		return sdp_real()->shutdown(fd, how);
	sdp_enter_never(sock);
	if (sdp_sock_is_asking(sock))
		sdp_ask_cancel(sock);
	if (!sdp_stream_is_begun(sock, fd))
		return CALL_END(&pin, sdp_connect_shutdown(sock, fd, how));
	return CALL_END(&pin, sdp_stream_shutdown(sock, fd, how));
}

/* The TCP socket below or the library answers. For a socket that belongs to the
 * kernel, the port must still be replaced by the one that the program sees. */
static bool has_names(const struct sdp_sock *sock)
{
	enum sdp_sock_state state = sdp_sock_state(sock);

	return state != SDP_SOCK_TCP && state != SDP_SOCK_LISTENING;
}

#define STUB_NAME(name, is_peer)                                               \
	EXPORT int name(int fd, struct sockaddr *addr, socklen_t *len)         \
	{                                                                      \
		struct sdp_stub_brief brief;                                   \
		int ret;                                                       \
		sdp_stub_begin(&brief, fd);                                    \
		if (brief.sock && has_names(brief.sock))                       \
			ret = (int)UTIL_RESULT(sdp_name_get(                   \
				brief.sock, fd, is_peer, addr, len));          \
		else                                                           \
			ret = sdp_real()->name(fd, addr, len);                 \
		return sdp_stub_end(&brief, ret);                              \
	}

STUB_NAME(getsockname, false)
STUB_NAME(getpeername, true)

static bool is_shadow(const struct sdp_sock *sock)
{
	enum sdp_sock_state state = sock ? sdp_sock_state(sock) : SDP_SOCK_TCP;

	return state == SDP_SOCK_STARTING || state == SDP_SOCK_STREAM ||
	       state == SDP_SOCK_RELAY;
}

static int option_set(struct sdp_sock *sock, int fd, int level, int name,
		      const void *value, socklen_t len)
{
	int ret;

	if (is_shadow(sock)) {
		sdp_share_use(sock);
		return (int)UTIL_RESULT(
			sdp_option_set(sock, level, name, value, len));
	}
	ret = sdp_real()->setsockopt(fd, level, name, value, len);
	if (ret == 0 && sock)
		sdp_option_note(sock, level, name, value, len);
	if (ret == 0 && sock && sdp_sock_state(sock) == SDP_SOCK_LISTENING)
		sdp_real()->setsockopt(sock->listening.twin_fd, level, name,
				       value, len);
	return ret;
}

EXPORT int setsockopt(int fd, int level, int name, const void *value,
		      socklen_t len)
{
	struct sdp_stub_brief brief;

	sdp_stub_begin(&brief, fd);
	return sdp_stub_end(
		&brief, option_set(brief.sock, fd, level, name, value, len));
}

static int option_get(struct sdp_sock *sock, int fd, int level, int name,
		      void *value, socklen_t *len)
{
	int ret;

	if (sock && level == SOL_SOCKET && name == SO_ERROR)
		sdp_connect_settle(sock, fd);
	if (is_shadow(sock))
		return (int)UTIL_RESULT(
			sdp_option_get(sock, level, name, value, len));
	ret = sdp_real()->getsockopt(fd, level, name, value, len);
	if (ret == 0)
		sdp_option_hide(fd, level, name, value, len);
	return ret;
}

EXPORT int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	struct sdp_stub_brief brief;

	sdp_stub_begin(&brief, fd);
	return sdp_stub_end(
		&brief, option_get(brief.sock, fd, level, name, value, len));
}

static void ioctl_done(struct sdp_sock *sock, int fd, unsigned long request,
		       const int *arg)
{
	switch (request) {
	case FIONBIO:
		sdp_fd_nonblock(sock, *arg != 0);
		break;
	case FIOASYNC:
		sdp_fd_async(sock, fd, *arg != 0);
		break;
	case FIOSETOWN:
	case SIOCSPGRP:
		sdp_fd_own(sock, F_SETOWN, (const void *)(intptr_t)*arg);
		break;
	default:
		break;
	}
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	struct sdp_stub_brief brief;
	void *arg;
	va_list ap;
	int ret;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (request == FIONREAD || request == SIOCATMARK) {
		UTIL_DEFER();
		sdp_stream_look(fd);
	}
	sdp_stub_begin(&brief, fd);
	ret = is_shadow(brief.sock) ? sdp_option_ioctl(brief.sock, request, arg)
				    : -ENOTTY;
	if (ret != -ENOTTY)
		return sdp_stub_end(&brief, (int)UTIL_RESULT(ret));
	ret = sdp_real()->ioctl(fd, request, arg);
	if (ret == 0 && arg && brief.sock)
		ioctl_done(brief.sock, fd, request, arg);
	return sdp_stub_end(&brief, ret);
}

EXPORT int sockatmark(int fd)
{
	int is_at = 0;

	return ioctl(fd, SIOCATMARK, &is_at) < 0 ? -1 : is_at;
}

/* ---- descriptors ---- */

EXPORT int close(int fd)
{
	if (sdp_fd_kind(fd) == SDP_FD_NONE)
		return sdp_real()->close(fd);
	UTIL_DEFER();
	return (int)UTIL_RESULT(sdp_fd_close(fd));
}

EXPORT int close_range(unsigned int first, unsigned int last, int flags)
{
	UTIL_DEFER();

	return (int)UTIL_RESULT(sdp_fd_close_range(first, last, flags));
}

EXPORT void closefrom(int lowest)
{
	UTIL_DEFER();

	sdp_fd_close_from(lowest < 0 ? 0 : (unsigned int)lowest);
}

/* Ends the stub of a duplicate: stdio uses the lowest numbers without opening
 * them. */
static int dup_end(int fd)
{
	if (fd >= 0 && fd <= SDP_STDIO_MAX)
		sdp_share_stdio(fd);
	return (int)UTIL_RESULT(fd);
}

EXPORT int dup(int fd)
{
	if (sdp_fd_kind(fd) == SDP_FD_NONE)
		return sdp_real()->dup(fd);
	UTIL_DEFER();
	return dup_end(sdp_fd_dup(fd, 0, false));
}

EXPORT int dup2(int fd, int new_fd)
{
	if (fd == new_fd || !sdp_table())
		return sdp_real()->dup2(fd, new_fd);
	UTIL_DEFER();
	return dup_end(sdp_fd_dup3(fd, new_fd, 0));
}

EXPORT int dup3(int fd, int new_fd, int flags)
{
	if (!sdp_table())
		return sdp_real()->dup3(fd, new_fd, flags);
	UTIL_DEFER();
	return dup_end(sdp_fd_dup3(fd, new_fd, flags));
}

/* Applies what the kernel did to the number to the socket below it too. */
static void fcntl_done(struct sdp_sock *sock, int fd, int cmd, void *arg)
{
	intptr_t flags = (intptr_t)arg;

	switch (cmd) {
	case F_SETFL:
		sdp_fd_nonblock(sock, flags & O_NONBLOCK);
		sdp_fd_async(sock, fd, flags & O_ASYNC);
		break;
	case F_SETOWN:
	case F_SETOWN_EX:
		sdp_fd_own(sock, cmd, arg);
		break;
	default:
		break;
	}
}

#define STUB_FCNTL(name)                                                       \
	EXPORT int name(int fd, int cmd, ...)                                  \
	{                                                                      \
		struct sdp_stub_brief brief;                                   \
		void *arg;                                                     \
		va_list ap;                                                    \
		int ret;                                                       \
		va_start(ap, cmd);                                             \
		arg = va_arg(ap, void *);                                      \
		va_end(ap);                                                    \
		/* A number that was closed past the library may now be one    \
		 * that it has itself. */                                      \
		if (sdp_fd_kind(fd) == SDP_FD_NONE || sdp_inside())            \
			return sdp_real()->name(fd, cmd, arg);                 \
		UTIL_DEFER();                                                  \
		if (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC)                  \
			return dup_end(sdp_fd_dup(fd, (int)(intptr_t)arg,      \
						  cmd == F_DUPFD_CLOEXEC));    \
		sdp_stub_begin(&brief, fd);                                    \
		ret = sdp_real()->name(fd, cmd, arg);                          \
		if (ret == 0 && brief.sock)                                    \
			fcntl_done(brief.sock, fd, cmd, arg);                  \
		return sdp_stub_end(&brief, ret);                              \
	}

STUB_FCNTL(fcntl)
STUB_FCNTL(fcntl64)

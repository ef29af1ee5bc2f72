/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Prints statistics pages in two forms. */
#include "tools/stat-print.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

#define NAME(name) #name,
#define TEXT(name, text) text,
#define ID(name, text) #name,

static const char *const counter_names[] = { SDP_STAT_COUNTERS(NAME) };
static const char *const event_names[] = { SDP_STAT_EVENTS(NAME) };
static const char *const fallback_names[] = { SDP_STAT_FALLBACKS(ID) };
static const char *const fallback_texts[] = { SDP_STAT_FALLBACKS(TEXT) };
static const char *const state_names[] = { SDP_STAT_STATES(NAME) };
static const char *const role_names[] = { "none", "server", "client" };
static const char *const carrier_names[] = { "none", "stream", "cm_send",
					     "cm_priv" };
/* By the numbers on the wire, enum sdp_mode. */
static const char *const mode_names[] = { "buffered", "combined", "pipelined" };

#define CNT(a) (sizeof(a) / sizeof((a)[0]))

_Static_assert(CNT(role_names) == SDP_STAT_ROLE_CNT, "a name for each role");
_Static_assert(CNT(carrier_names) == SDP_STAT_CARRIER_CNT,
	       "a name for each carrier");

#define NAME_OF(names, gauge) name_of((names), CNT(names), (gauge))

/* Another process writes the page, so it may contain any number. */
static const char *name_of(const char *const *names, size_t cnt, uint32_t value)
{
	return value < cnt ? names[value] : "unknown";
}

static uint32_t gauge(const struct sdp_stat_sock *sock,
		      enum sdp_stat_gauge which)
{
	return sdp_stat_gauge_get(sock, which);
}

static uint64_t word(const _Atomic uint64_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

/* Octets that SDP carried, over all mechanisms. */
static uint64_t sdp_octets(const uint64_t *counters, bool is_tx)
{
	int first = is_tx ? SDP_STAT_tx_bcopy : SDP_STAT_rx_bcopy;
	int last = is_tx ? SDP_STAT_tx_transaction : SDP_STAT_rx_transaction;
	uint64_t sum = 0;

	for (int i = first; i <= last; i++)
		sum += counters[i];
	return sum;
}

static void counters_of(const struct sdp_stat_sock *sock,
			uint64_t ret_counters[SDP_STAT_COUNTER_CNT])
{
	for (int i = 0; i < SDP_STAT_COUNTER_CNT; i++)
		ret_counters[i] =
			sdp_stat_counter_get(sock, (enum sdp_stat_counter)i);
}

#define ADDR_TEXT_SIZE (INET6_ADDRSTRLEN + 24)

/* "192.0.2.1:80", "[2001:db8::1]:80", "[fe80::1%3]:80"; "-": none. */
static const char *addr_text(const struct sdp_stat_addr *addr,
			     char buf[ADDR_TEXT_SIZE])
{
	uint64_t head = word(&addr->head), octets[2];
	char text[INET6_ADDRSTRLEN];
	unsigned int port = head >> 32 & 0xffff;
	uint32_t scope = (uint32_t)head;
	struct in_addr in;

	switch (head >> 48) {
	case AF_INET:
		in.s_addr = htonl((uint32_t)word(&addr->addr[0]));
		inet_ntop(AF_INET, &in, text, sizeof(text));
		snprintf(buf, ADDR_TEXT_SIZE, "%s:%u", text, port);
		return buf;
	case AF_INET6:
		for (int i = 0; i < 2; i++) {
			uint64_t host = word(&addr->addr[i]);

			for (int k = 7; k >= 0; k--, host >>= 8)
				((uint8_t *)&octets[i])[k] = (uint8_t)host;
		}
		inet_ntop(AF_INET6, octets, text, sizeof(text));
		if (scope)
			snprintf(buf, ADDR_TEXT_SIZE, "[%s%%%u]:%u", text,
				 scope, port);
		else
			snprintf(buf, ADDR_TEXT_SIZE, "[%s]:%u", text, port);
		return buf;
	default:
		return "-";
	}
}

static void sock_row(FILE *out, const struct sdp_stat_sock *sock)
{
	char local[ADDR_TEXT_SIZE], peer[ADDR_TEXT_SIZE];
	uint64_t counters[SDP_STAT_COUNTER_CNT];
	uint32_t fd = gauge(sock, SDP_STAT_fd);
	uint32_t why = gauge(sock, SDP_STAT_fallback);

	counters_of(sock, counters);
	fprintf(out, "  %5u ",
		atomic_load_explicit(&sock->id, memory_order_relaxed));
	if (fd == UINT32_MAX)
		fputs("   - ", out);
	else
		fprintf(out, "%4u ", fd);
	fprintf(out,
		"%-11s %-6s %-7s %-9s %-9s %5u %5u %14" PRIu64 " %14" PRIu64
		" %-23s %-23s%s%s%s\n",
		NAME_OF(state_names, gauge(sock, SDP_STAT_state)),
		NAME_OF(role_names, gauge(sock, SDP_STAT_role)),
		NAME_OF(carrier_names, gauge(sock, SDP_STAT_carrier)),
		NAME_OF(mode_names, gauge(sock, SDP_STAT_send_mode)),
		NAME_OF(mode_names, gauge(sock, SDP_STAT_recv_mode)),
		gauge(sock, SDP_STAT_send_credits),
		gauge(sock, SDP_STAT_recv_credits), sdp_octets(counters, true),
		sdp_octets(counters, false), addr_text(&sock->local, local),
		addr_text(&sock->peer, peer),
		gauge(sock, SDP_STAT_relay) ? " relay" : "",
		why ? " fallback:" : "",
		why ? NAME_OF(fallback_names, why) : "");
}

/* "  sent      bcopy 1, read 2, ..." */
static void totals_row(FILE *out, const char *title, const uint64_t *counters,
		       enum sdp_stat_counter first, enum sdp_stat_counter last)
{
	fprintf(out, "  %s", title);
	for (int i = (int)first; i <= (int)last; i++)
		fprintf(out, "%s %s %" PRIu64, i == (int)first ? "" : ",",
			counter_names[i] + 3, counters[i]);
	fputc('\n', out);
}

static void process_table(FILE *out, const struct stat_process *process)
{
	const struct sdp_stat_snapshot *s = &process->snapshot;

	fprintf(out, "%s (%d%s):", s->head.program, process->pid,
		process->is_ended ? ", ended" : "");
	for (int i = 0; i < SDP_STAT_EVENT_CNT; i++)
		fprintf(out, "%s %s %" PRIu64, i ? "," : "", event_names[i],
			word(&s->head.event[i]));
	fputc('\n', out);
	totals_row(out, "sent:    ", s->total, SDP_STAT_tx_bcopy,
		   SDP_STAT_tx_messages);
	totals_row(out, "received:", s->total, SDP_STAT_rx_bcopy,
		   SDP_STAT_rx_messages);
	for (int i = 1; i < SDP_STAT_FALLBACK_CNT; i++)
		if (word(&s->head.fallback[i]))
			fprintf(out, "  fallback: %" PRIu64 " %s: %s\n",
				word(&s->head.fallback[i]), fallback_names[i],
				fallback_texts[i]);
	if (s->sock_cnt)
		fprintf(out,
			"  %5s %4s %-11s %-6s %-7s %-9s %-9s %5s %5s %14s %14s "
			"%-23s %s\n",
			"ID", "FD", "STATE", "ROLE", "CARRIER", "SEND", "RECV",
			"SCRED", "RCRED", "SENT", "RECEIVED", "LOCAL", "PEER");
	for (uint32_t i = 0; i < s->sock_cnt; i++)
		sock_row(out, &s->sock[i]);
}

void stat_print_table(FILE *out, const struct stat_list *list)
{
	for (size_t i = 0; i < list->cnt; i++)
		process_table(out, &list->process[i]);
}

/* The text comes from another process. To keep the JSON valid, an octet that is
 * not plain ASCII is written as its code point. */
static void json_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void json_counters(FILE *out, const uint64_t *counters)
{
	for (int i = 0; i < SDP_STAT_COUNTER_CNT; i++)
		fprintf(out, "\"%s\":%" PRIu64 ",", counter_names[i],
			counters[i]);
	fprintf(out, "\"tx_octets\":%" PRIu64 ",\"rx_octets\":%" PRIu64,
		sdp_octets(counters, true), sdp_octets(counters, false));
}

static void json_addr(FILE *out, const char *name,
		      const struct sdp_stat_addr *addr)
{
	char buf[ADDR_TEXT_SIZE];
	const char *text = addr_text(addr, buf);

	if (text == buf)
		fprintf(out, "\"%s\":\"%s\",", name, text);
	else
		fprintf(out, "\"%s\":null,", name);
}

static void json_sock(FILE *out, const struct sdp_stat_sock *sock)
{
	uint64_t counters[SDP_STAT_COUNTER_CNT];
	uint32_t why = gauge(sock, SDP_STAT_fallback);

	counters_of(sock, counters);
	fprintf(out, "{\"id\":%u,\"fd\":%d,",
		atomic_load_explicit(&sock->id, memory_order_relaxed),
		(int)gauge(sock, SDP_STAT_fd));
	fprintf(out, "\"state\":\"%s\",\"role\":\"%s\",\"carrier\":\"%s\",",
		NAME_OF(state_names, gauge(sock, SDP_STAT_state)),
		NAME_OF(role_names, gauge(sock, SDP_STAT_role)),
		NAME_OF(carrier_names, gauge(sock, SDP_STAT_carrier)));
	fprintf(out, "\"send_mode\":\"%s\",\"recv_mode\":\"%s\",",
		NAME_OF(mode_names, gauge(sock, SDP_STAT_send_mode)),
		NAME_OF(mode_names, gauge(sock, SDP_STAT_recv_mode)));
	fprintf(out, "\"send_credits\":%u,\"recv_credits\":%u,\"relay\":%s,",
		gauge(sock, SDP_STAT_send_credits),
		gauge(sock, SDP_STAT_recv_credits),
		gauge(sock, SDP_STAT_relay) ? "true" : "false");
	if (why)
		fprintf(out, "\"fallback\":\"%s\",",
			NAME_OF(fallback_names, why));
	else
		fputs("\"fallback\":null,", out);
	json_addr(out, "local", &sock->local);
	json_addr(out, "peer", &sock->peer);
	json_counters(out, counters);
	fputc('}', out);
}

static void json_process(FILE *out, const struct stat_process *process)
{
	const struct sdp_stat_snapshot *s = &process->snapshot;
	uint64_t sum = 0;

	fprintf(out, "{\"pid\":%d,\"program\":", process->pid);
	json_text(out, s->head.program);
	fprintf(out, ",\"ended\":%s,\"start_ns\":%" PRIu64 ",\"events\":{",
		process->is_ended ? "true" : "false", s->head.start_ns);
	for (int i = 0; i < SDP_STAT_EVENT_CNT; i++)
		fprintf(out, "%s\"%s\":%" PRIu64, i ? "," : "", event_names[i],
			word(&s->head.event[i]));
	fputs("},\"fallbacks\":{", out);
	for (int i = 1; i < SDP_STAT_FALLBACK_CNT; i++) {
		sum += word(&s->head.fallback[i]);
		fprintf(out, "\"%s\":%" PRIu64 ",", fallback_names[i],
			word(&s->head.fallback[i]));
	}
	fprintf(out, "\"total\":%" PRIu64 "},\"totals\":{", sum);
	json_counters(out, s->total);
	fputs("},\"sockets\":[", out);
	for (uint32_t i = 0; i < s->sock_cnt; i++) {
		if (i)
			fputc(',', out);
		json_sock(out, &s->sock[i]);
	}
	fputs("]}", out);
}

void stat_print_json(FILE *out, const struct stat_list *list)
{
	fputs("{\"processes\":[", out);
	for (size_t i = 0; i < list->cnt; i++) {
		if (i)
			fputc(',', out);
		json_process(out, &list->process[i]);
	}
	fputs("]}\n", out);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A process with a statistics page, for sdpstat_test.py. It prints "ready" and
 * waits until its standard input ends. "fork": with a child that has no page,
 * whose number is the second line.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stat/sdp-stat.h"

static void established(void)
{
	struct sockaddr_in local = { .sin_family = AF_INET,
				     .sin_port = htons(40000) };
	struct sockaddr_in6 peer = { .sin6_family = AF_INET6,
				     .sin6_port = htons(80) };
	struct sdp_stat_sock *sock = sdp_stat_sock_add();

	local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	inet_pton(AF_INET6, "2001:db8::1", &peer.sin6_addr);
	sdp_stat_sock_name(sock, (struct sockaddr *)&local,
			   (struct sockaddr *)&peer);
	sdp_stat_set(sock, SDP_STAT_fd, 5);
	sdp_stat_set(sock, SDP_STAT_state, SDP_STAT_STATE_established);
	sdp_stat_set(sock, SDP_STAT_role, SDP_STAT_ROLE_CLIENT);
	sdp_stat_set(sock, SDP_STAT_carrier, SDP_STAT_CARRIER_CM_SEND);
	sdp_stat_set(sock, SDP_STAT_send_mode, 1);
	sdp_stat_set(sock, SDP_STAT_recv_mode, 2);
	sdp_stat_set(sock, SDP_STAT_send_credits, 11);
	sdp_stat_set(sock, SDP_STAT_recv_credits, 12);
	sdp_stat_add(sock, SDP_STAT_tx_bcopy, 100);
	sdp_stat_add(sock, SDP_STAT_tx_read, 30);
	sdp_stat_add(sock, SDP_STAT_rx_write, 7);
	sdp_stat_count(SDP_STAT_connects);
}

int main(int argc, char **argv)
{
	struct sdp_stat_sock *sock;
	pid_t child = 0;
	char octet;

	established();
	sock = sdp_stat_sock_add();
	sdp_stat_fell_back(sock, SDP_STAT_FALLBACK_denied);
	sock = sdp_stat_sock_add();
	sdp_stat_add(sock, SDP_STAT_tx_bcopy, 1000);
	sdp_stat_count(SDP_STAT_connects);
	sdp_stat_sock_remove(sock);
	if (argc > 1 && strcmp(argv[1], "fork") == 0)
		child = fork();
	if (child || argc == 1)
		puts("ready");
	if (child)
		printf("%d\n", (int)child);
	fflush(stdout);
	while (read(STDIN_FILENO, &octet, 1) > 0)
		;
	return 0;
}

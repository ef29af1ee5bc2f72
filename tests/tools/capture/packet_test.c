/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Headers, compared with octets that another program has made. */
#include "test.h"

#include <arpa/inet.h>
#include <string.h>

#include "capture/packet.h"
#include "hex.h"
#include "random.h"
#include "util/v4-mapped.h"

#define PAYLOAD_MAX 70u

static struct packet_end end_of(const char *text, uint16_t port)
{
	struct packet_end end = { .port = port };
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1)
		util_v4_map(end.addr, &v4);
	else
		assert_int_equal(inet_pton(AF_INET6, text, end.addr), 1);
	return end;
}

static void check_hex(const uint8_t *head, size_t len, const char *hex)
{
	uint8_t wanted[PACKET_HEAD_MAX];

	assert_int_equal(test_unhex(hex, wanted, sizeof(wanted)), len);
	assert_memory_equal(head, wanted, len);
}

static const uint8_t five[] = { 1, 2, 3, 4, 5 };

CASE(writes_tcp)
{
	const struct packet_payload payload = { five, 5, 5 }, none = { 0 };
	struct packet_tcp tcp = {
		.from = end_of("192.0.2.1", 4000),
		.to = end_of("192.0.2.2", 5000),
		.seq = 0x01020304,
		.ack = 0x0a0b0c0d,
		.flags = PACKET_PSH | PACKET_ACK,
	};
	uint8_t head[PACKET_HEAD_MAX];

	check_hex(head, packet_tcp_put(head, &tcp, &payload),
		  "4500002d000040004006b6c7c0000201c0000202"
		  "0fa01388010203040a0b0c0d5018ffffe5770000");
	tcp.from = end_of("2001:db8::1", 4000);
	tcp.to = end_of("2001:db8::2", 5000);
	tcp.seq = 0xfffffffe;
	tcp.ack = 0;
	tcp.flags = PACKET_SYN;
	check_hex(head, packet_tcp_put(head, &tcp, &none),
		  "60000000001c064020010db8000000000000000000000001"
		  "20010db80000000000000000000000020fa01388fffffffe"
		  "000000007002ffff0b5200000204ffd70103030e");
}

CASE(writes_udp)
{
	const struct packet_payload payload = { five, 5, 5 };
	struct packet_udp udp = {
		.from = end_of("192.0.2.1", 4791),
		.to = end_of("192.0.2.2", 4791),
		.tclass = 0x20,
		.hop_limit = 7,
		.ip_id = 0x1234,
		.flow_label = 0xabcde,
	};
	uint8_t head[PACKET_HEAD_MAX];

	check_hex(head, packet_udp_put(head, &udp, &payload),
		  "45200021123440000711dd74c0000201c0000202"
		  "12b712b7000d4d5c");
	udp.from = end_of("2001:db8::1", 49152);
	udp.to = end_of("2001:db8::2", 4791);
	check_hex(head, packet_udp_put(head, &udp, &payload),
		  "620abcde000d110720010db80000000000000000000000"
		  "0120010db8000000000000000000000002c00012b7000dc8a1");
}

/* The sum of 16 bit words, as RFC 1071 has it. */
static uint32_t sum_of(uint32_t sum, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	return sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum >> 16) + (sum & 0xffff);
	return (uint16_t)sum;
}

CASE(checksums_of_any_length_are_right)
{
	const char *const texts[][2] = { { "10.1.2.3", "10.255.0.9" },
					 { "fe80::1", "2001:db8:ffff::f" } };
	uint8_t whole[PACKET_HEAD_MAX + PAYLOAD_MAX];
	uint64_t seed = 1;

	for (size_t len = 0; len <= PAYLOAD_MAX; len++)
		for (int i = 0; i < 2; i++) {
			uint8_t octets[PAYLOAD_MAX];
			const struct packet_payload payload = { octets, len,
								len };
			const struct packet_tcp tcp = {
				.from = end_of(texts[i][0], 65535),
				.to = end_of(texts[i][1], 1),
				.seq = (uint32_t)test_random(&seed),
			};
			size_t ip = i ? 40 : 20, head;
			uint32_t sum;

			for (size_t j = 0; j < len; j++)
				octets[j] = (uint8_t)test_random(&seed);
			head = packet_tcp_put(whole, &tcp, &payload);
			memcpy(whole + head, octets, len);
			sum = sum_of(0, tcp.from.addr + (i ? 0 : 12),
				     i ? 16 : 4);
			sum = sum_of(sum, tcp.to.addr + (i ? 0 : 12),
				     i ? 16 : 4);
			sum += 6 + (uint32_t)(head - ip + len);
			sum = sum_of(sum, whole + ip, head - ip + len);
			assert_int_equal(fold(sum), 0xffff);
			if (!i)
				assert_int_equal(fold(sum_of(0, whole, 20)),
						 0xffff);
		}
}

CASE(leaves_the_checksum_of_a_cut_packet_to_be_computed)
{
	const struct packet_payload payload = { five, 5, 1000 };
	const struct packet_tcp tcp = {
		.from = end_of("192.0.2.1", 4000),
		.to = end_of("192.0.2.2", 5000),
	};
	uint8_t head[PACKET_HEAD_MAX];
	uint32_t sum;

	assert_int_equal(packet_tcp_put(head, &tcp, &payload), 40);
	assert_int_equal(head[2] << 8 | head[3], 1040);
	sum = sum_of(0, head + 12, 8) + 6 + 1020;
	assert_int_equal(head[36] << 8 | head[37], fold(sum));
}

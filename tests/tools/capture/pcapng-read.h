/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What tests find in the blocks of a pcapng file. */
#ifndef TEST_PCAPNG_READ_H
#define TEST_PCAPNG_READ_H

#include "test.h"

#include <stdbool.h>
#include <string.h>

#include "capture/pcapng.h"

#define READ_TEXT 512

enum read_type {
	READ_SECTION = 0x0a0d0d0a,
	READ_INTERFACE = 1,
	READ_STATISTICS = 5,
	READ_PACKET = 6,
};

struct read_block {
	enum read_type type;
	const uint8_t *body; /* behind type and length */
	uint32_t body_len;
	const uint8_t *options;
};

static inline uint32_t read32(const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static inline uint16_t read16(const uint8_t *p)
{
	uint16_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

/* The block at *at, which moves on.  Return: false: there is none. */
static inline bool read_next(const struct pcapng *file, size_t *at,
			     struct read_block *ret)
{
	const uint8_t *p = file->octets + *at;
	uint32_t len, fixed = 0;

	if (*at == file->len)
		return false;
	assert_true(file->len - *at >= 12);
	len = read32(p + 4);
	assert_true(len >= 12 && len % 4 == 0 && len <= file->len - *at);
	assert_int_equal(read32(p + len - 4), len);
	ret->type = (enum read_type)read32(p);
	ret->body = p + 8;
	ret->body_len = len - 12;
	switch (ret->type) {
	case READ_SECTION:
		fixed = 16;
		break;
	case READ_INTERFACE:
		fixed = 8;
		break;
	case READ_STATISTICS:
		fixed = 12;
		break;
	case READ_PACKET:
		fixed = 20 + ((read32(ret->body + 12) + 3) & ~3u);
		break;
	default:
		fail_msg("block type %u", ret->type);
	}
	assert_true(fixed + 4 <= ret->body_len);
	ret->options = ret->body + fixed;
	*at += len;
	return true;
}

/* Return: its value; NULL: the block has none. */
static inline const uint8_t *read_option(const struct read_block *block,
					 uint16_t code, uint16_t *ret_len)
{
	const uint8_t *p = block->options;
	const uint8_t *end = block->body + block->body_len;

	for (;;) {
		assert_true(end - p >= 4);
		*ret_len = read16(p + 2);
		if (read16(p) == code)
			return p + 4;
		if (read16(p) == 0) {
			assert_int_equal(*ret_len, 0);
			assert_ptr_equal(p + 4, end);
			return NULL;
		}
		p += 4 + ((*ret_len + 3u) & ~3u);
	}
}

static inline bool read_text_is(const struct read_block *block, uint16_t code,
				const char *text)
{
	uint16_t len;
	const uint8_t *p = read_option(block, code, &len);

	if (!p)
		return !text;
	return text && len == strlen(text) && memcmp(p, text, len) == 0;
}

static inline uint64_t read_count(const struct read_block *block, uint16_t code)
{
	uint16_t len;
	const uint8_t *p = read_option(block, code, &len);
	uint64_t value;

	if (!p)
		return 0;
	assert_int_equal(len, 8);
	memcpy(&value, p, sizeof(value));
	return value;
}

/* The upper half comes first. */
static inline uint64_t read_time(const uint8_t *p)
{
	return (uint64_t)read32(p) << 32 | read32(p + 4);
}

#endif

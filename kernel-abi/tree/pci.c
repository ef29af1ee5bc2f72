/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See pci.h. */
#include "tree/pci.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t hex_len(const char *text)
{
	size_t len = 0;

	while (isxdigit((unsigned char)text[len]))
		len++;
	return len;
}

/* Is it [@text, @text + @len), as 0000:3b:00.1? */
static bool is_address(const char *text, size_t len)
{
	size_t domain = hex_len(text);

	return domain >= 4 && len == domain + 8 && text[domain] == ':' &&
	       hex_len(text + domain + 1) == 2 && text[domain + 3] == ':' &&
	       hex_len(text + domain + 4) == 2 && text[domain + 6] == '.' &&
	       text[domain + 7] >= '0' && text[domain + 7] <= '7';
}

bool kabi_pci_cut(char *path)
{
	char *end = NULL;

	for (char *at = path; *at;) {
		size_t len = strcspn(at, "/");

		if (is_address(at, len))
			end = at + len;
		at += len;
		at += strspn(at, "/");
	}
	if (end)
		*end = '\0';
	return end;
}

bool kabi_pci_of_interface(const char *ifname, char *ret_path, size_t size)
{
	char path[64], real[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/class/net/%s/device", ifname);
	if (!realpath(path, real) || !kabi_pci_cut(real) ||
	    strlen(real) >= size)
		return false;
	memcpy(ret_path, real, strlen(real) + 1);
	return true;
}

void kabi_pci_of_number(uint32_t number, char *ret_path, size_t size)
{
	snprintf(ret_path, size, KABI_PCI_ROOT "/7573:%02x:%02x.%x",
		 number / 256 % 256, number / 8 % 32, number % 8);
}

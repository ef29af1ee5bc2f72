/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The content of every file of the tree, octet by octet. */
#define _GNU_SOURCE
#include "preloaded.h"

#define GID "0000:0000:0000:0000:0000:"
#define AS_CA "--as-ca"
#define VERBS "/sys/class/infiniband_verbs"

static const struct content {
	const char *path, *text; /* NULL: EINVAL */
} contents[] = {
	{ VERBS "/abi_version", "6\n" },
	{ VERBS "/uverbs1000/ibdev", "usiw_lo\n" },
	{ VERBS "/uverbs1000/dev", "231:1192\n" },
	{ VERBS "/uverbs1000/abi_version", "2\n" },
	{ VERBS "/uverbs1001/ibdev", "usiw_down0\n" },
	{ VERBS "/uverbs1001/dev", "231:1193\n" },
	{ VERBS "/uverbs1001/device/numa_node", "-1\n" },
	{ IBDOWN "/device/vendor", "0x7573\n" },
	{ IBDOWN "/device/device", "0x7769\n" },
	{ IBDOWN "/device/class", "0x020000\n" },
	{ IBDOWN "/device/numa_node", "-1\n" },
	{ VERBS "/uverbs1001/device/modalias",
	  "usiw:" KABI_TEST_INTERFACE "\n" },
	{ "/sys/class/misc/rdma_cm/abi_version", "4\n" },
	{ "/sys/class/misc/rdma_cm/dev", "10:1000192\n" },
	{ IBDEV "/node_type", "4: RNIC\n" },
	{ IBDEV "/node_guid", "0200:00ff:fe00:0001\n" },
	{ IBDOWN "/node_guid", "0200:00ff:fe00:0002\n" },
	{ IBDEV "/sys_image_guid", "0200:00ff:fe00:0001\n" },
	{ IBDEV "/node_desc", "usiw_lo\n" },
	{ IBDEV "/fw_ver", KABI_TEST_VERSION "\n" },
	{ IBDEV "/hw_rev", "1a\n" },
	{ IBDEV "/hca_type", "usiw\n" },
	{ IBDEV "/board_id", "usiw\n" },
	{ IBDEV "/ports/1/state", "4: ACTIVE\n" },
	{ IBDOWN "/ports/1/state", "1: DOWN\n" },
	{ IBDEV "/ports/1/phys_state", "5: LinkUp\n" },
	{ IBDOWN "/ports/1/phys_state", "3: Disabled\n" },
	{ IBDEV "/ports/1/link_layer", "Ethernet\n" },
	{ IBDOWN "/ports/1/rate", "2.5 Gb/sec (1X SDR)\n" },
	{ IBDEV "/ports/1/lid", "0x1\n" },
	{ IBDOWN "/ports/1/lid", "0x207\n" },
	{ IBDEV "/ports/1/lid_mask_count", "0\n" },
	{ IBDEV "/ports/1/sm_lid", "0x0\n" },
	{ IBDEV "/ports/1/sm_sl", "0\n" },
	{ IBDEV "/ports/1/cap_mask", "0x04010000\n" },
	{ IBDEV "/ports/1/pkeys/0", "0xffff\n" },
	{ IBDEV "/ports/1/gids/0", GID "ffff:7f00:0001\n" },
	{ IBDEV "/ports/1/gids/1", GID "0000:0000:0000\n" },
	{ IBDEV "/ports/1/gids/31", GID "0000:0000:0000\n" },
	{ IBDOWN "/ports/1/gids/0", GID "ffff:c000:0207\n" },
	{ IBDOWN "/ports/1/gids/1",
	  "fe80:0000:0000:0000:0000:0000:0000:0007\n" },
	{ IBDEV "/ports/1/gid_attrs/types/0", "RoCE v2\n" },
	{ IBDEV "/ports/1/gid_attrs/types/1", NULL },
	{ IBDOWN "/ports/1/gid_attrs/types/1", "RoCE v2\n" },
	{ IBDOWN "/ports/1/gid_attrs/ndevs/1", "down0\n" },
	{ IBDOWN "/ports/1/gid_attrs/ndevs/2", NULL },
	{ IBDEV "/ports/1/counters/port_xmit_data", "32\n" },
	{ IBDEV "/ports/1/counters/port_rcv_data", "23\n" },
	{ IBDOWN "/ports/1/counters/port_xmit_data", "32500\n" },
	{ IBDEV "/ports/1/counters/port_xmit_packets", "1\n" },
	{ IBDEV "/ports/1/counters/port_rcv_packets", "2\n" },
	{ IBDEV "/ports/1/counters/unicast_xmit_packets", "1\n" },
	{ IBDEV "/ports/1/counters/unicast_rcv_packets", "2\n" },
	{ IBDEV "/ports/1/counters/multicast_xmit_packets", "0\n" },
	{ IBDEV "/ports/1/counters/multicast_rcv_packets", "0\n" },
	{ IBDEV "/ports/1/counters/port_rcv_errors", "3\n" },
	{ IBDEV "/ports/1/counters/port_xmit_discards", "0\n" },
	{ IBDEV "/ports/1/hw_counters/sent_pkts", "1\n" },
	{ IBDOWN "/ports/1/hw_counters/rcvd_pkts", "2000\n" },
	{ IBDEV "/ports/1/hw_counters/rx_crc_bad", "3\n" },
	{ IBDEV "/ports/1/hw_counters/rx_direct", "40\n" },
	{ IBDEV "/ports/1/hw_counters/rx_staged", "52\n" },
	{ IBDEV "/ports/1/hw_counters/tx_inplace", "60\n" },
	{ IBDEV "/ports/1/hw_counters/tx_copied", "70\n" },
};

/* Files with different content for persona ca. */
static const struct content ca_contents[] = {
	{ IBDEV "/node_type", "1: CA\n" },
	{ IBDEV "/ports/1/link_layer", "Ethernet\n" },
	{ IBDEV "/ports/1/pkeys/0", "0xffff\n" },
};

static void contents_check(const struct content *list, size_t cnt)
{
	char text[128];

	for (size_t i = 0; i < cnt; i++) {
		const struct content *c = &list[i];
		int fd = open(c->path, O_RDONLY);
		ssize_t len;

		if (!c->text) {
			if (fd >= 0 || errno != EINVAL)
				fail_msg("%s is there", c->path);
			continue;
		}
		if (fd < 0)
			fail_msg("%s: %s", c->path, strerror(errno));
		len = read(fd, text, sizeof(text) - 1);
		text[len < 0 ? 0 : len] = '\0';
		if (strcmp(text, c->text) != 0)
			fail_msg("%s says %s", c->path, text);
		close(fd);
	}
}

CASE(every_file_has_the_contents_of_the_kernels)
{
	contents_check(contents, ARRAY_LEN(contents));
}

/* The tree is built once per process, so this runs in its own process. */
CASE(persona_ca_has_its_own_contents)
{
	int status;
	pid_t pid;

	assert_int_equal(setenv("USIW_PERSONA", "ca", 1), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		execl("/proc/self/exe", "sysfs_test", AS_CA, (char *)NULL);
	unsetenv("USIW_PERSONA");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

CASE(link_counts_are_those_of_directories)
{
	struct stat st;

	assert_int_equal(stat("/sys/class/infiniband", &st), 0);
	assert_int_equal(st.st_nlink, 2 + 2);
	assert_int_equal(stat(IBDEV "/ports/1", &st), 0);
	/* pkeys, gids, gid_attrs, counters, hw_counters */
	assert_int_equal(st.st_nlink, 2 + 5);
	assert_int_equal(stat(IBDEV "/fw_ver", &st), 0);
	assert_int_equal(st.st_nlink, 1);
}

BEFORE_CASES()
{
	run_under_preload(argv);
	if (argc > 1 && strcmp(argv[1], AS_CA) == 0) {
		contents_check(ca_contents, ARRAY_LEN(ca_contents));
		exit(0);
	}
}

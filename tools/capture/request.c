/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The command line of usiw capture. */
#include "request.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <stdbool.h>
#include <string.h>

#include "cmd.h"
#include "util/clock.h"
#include "util/v4-mapped.h"

#define RING_MIB_MAX 256

void capture_request_usage(FILE *out)
{
	fputs("Usage: usiw capture -o FILE [OPTIONS] " OPTIONS_USAGE "\n"
	      "                    [--] COMMAND [ARGUMENTS]\n"
	      "       usiw capture -o FILE [OPTIONS] -p PID [-p PID ...]\n"
	      "Writes what a program sends and receives as pcapng, which "
	      "Wireshark and tshark\n"
	      "decode, whatever carries it.  FILE may be -: standard output.\n"
	      "\nOptions, those of dumpcap(1) where they are the same:\n"
	      "  -o FILE, -w FILE     the file; or -\n"
	      "  -s SNAPLEN           most octets of a packet [262144]\n"
	      "  -c COUNT             end after so many packets\n"
	      "  -a duration:S | filesize:KB | packets:N | files:N   end "
	      "then\n"
	      "  -b duration:S | filesize:KB | packets:N   begin another file "
	      "then\n"
	      "  -b files:N           keep the last N files\n"
	      "  -B MIB               memory for each process [16]\n"
	      "  --qp NUM, --peer ADDRESS, --port PORT   only these packets\n"
	      "  -p PID               a process that runs\n"
	      "  --persona, --sdp     as usiw run\n"
	      "Exit code: that of COMMAND; 0; 1 failure; 2 wrong usage.\n",
	      out);
}

static int wrong(const char *what, const char *which)
{
	fprintf(stderr, "usiw: capture: %s: %s\n", which, what);
	return USAGE_EXIT;
}

/* KEY:NUMBER of -a and -b.  Return: 0; USAGE_EXIT: the reason was printed. */
static int condition_read(const char *text, uint64_t *octets, uint64_t *ns,
			  uint64_t *packets, uint64_t *files)
{
	static const struct {
		const char *key;
		uint64_t unit;
	} keys[] = { { "filesize:", 1000 },
		     { "duration:", NS_PER_S },
		     { "packets:", 1 },
		     { "files:", 1 } };
	uint64_t *const values[] = { octets, ns, packets, files };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t len = strlen(keys[i].key);

		if (strncmp(text, keys[i].key, len) != 0)
			continue;
		if (!options_number(text + len, 1, UINT32_MAX, values[i]))
			break;
		*values[i] *= keys[i].unit;
		return 0;
	}
	return wrong("is duration:S, filesize:KB, packets:N or files:N, with a "
		     "number from 1 on",
		     text);
}

static int address_read(const char *text, uint8_t ret_addr[16])
{
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1) {
		util_v4_map(ret_addr, &v4);
		return 0;
	}
	return inet_pton(AF_INET6, text, ret_addr) == 1
		       ? 0
		       : wrong("is no IP address", text);
}

enum { OPT_QP = 256, OPT_PEER, OPT_PORT };

/* A number of an option.  Return: 0; USAGE_EXIT: the reason was printed. */
static int number_take(const char *text, uint64_t max, uint64_t *ret_number)
{
	char what[64];

	if (options_number(text, 1, max, ret_number))
		return 0;
	snprintf(what, sizeof(what), "is no number from 1 to %llu",
		 (unsigned long long)max);
	return wrong(what, text);
}

static int filter_take(struct capture_request *request, int option,
		       const char *text)
{
	uint64_t number = 0;
	int ret;

	switch (option) {
	case OPT_QP:
		ret = number_take(text, 0xffffff, &number);
		request->filter.qp_num = (uint32_t)number;
		break;
	case OPT_PORT:
		ret = number_take(text, 0xffff, &number);
		request->filter.port = (uint16_t)number;
		break;
	default:
		request->filter.has_peer = true;
		ret = address_read(text, request->filter.peer);
		break;
	}
	if (ret == 0) {
		size_t len = strlen(request->filter_text);

		snprintf(request->filter_text + len,
			 sizeof(request->filter_text) - len, "%s%s %s",
			 len ? " and " : "",
			 option == OPT_QP     ? "qp"
			 : option == OPT_PORT ? "port"
					      : "peer",
			 text);
		request->filter.text = request->filter_text;
	}
	return ret;
}

static int snap_len_take(const char *text, uint32_t *ret_len)
{
	uint64_t number;

	if (!options_number(text, CAPTURE_SNAP_MIN, CAPTURE_SNAP_MAX, &number))
		return wrong("is no number from 128 to 262144", text);
	*ret_len = (uint32_t)number;
	return 0;
}

static int condition_take(struct capture_request *request, int option,
			  const char *text)
{
	struct writer_options *output = &request->output;
	uint64_t files = 0;
	int ret;

	if (option == 'a') {
		ret = condition_read(text, &request->end_octets,
				     &request->end_ns, &request->end_packets,
				     &files);
		if (files)
			output->end_files = (uint32_t)files;
		return ret;
	}
	ret = condition_read(text, &output->octets, &output->ns,
			     &output->packets, &files);
	if (files)
		output->files = (uint32_t)files;
	return ret;
}

static int pid_take(struct capture_request *request, const char *text)
{
	uint64_t pid = 0;

	if (!options_number(text, 1, INT32_MAX, &pid))
		return wrong("is no process ID", text);
	if (request->pid_cnt == CAPTURE_PIDS_MAX)
		return wrong("is one process too many", text);
	request->pids[request->pid_cnt++] = (pid_t)pid;
	return 0;
}

static int option_take(struct capture_request *request, int option,
		       const char *text)
{
	uint64_t number = 0;
	int ret = 0;

	switch (option) {
	case 'o':
	case 'w':
		request->output.path = text;
		break;
	case 's':
		ret = snap_len_take(text, &request->snap_len);
		break;
	case 'c':
		ret = number_take(text, UINT32_MAX, &request->end_packets);
		break;
	case 'B':
		ret = number_take(text, RING_MIB_MAX, &number);
		request->ring_mib = (uint32_t)number;
		break;
	case 'a':
	case 'b':
		ret = condition_take(request, option, text);
		break;
	case 'p':
		ret = pid_take(request, text);
		break;
	default:
		ret = filter_take(request, option, text);
		break;
	}
	return ret;
}

/* Process IDs without -p.  Return: 0; USAGE_EXIT: the reason was printed. */
static int words_take(struct capture_request *request, char **argv, int *first)
{
	uint64_t pid;
	int ret = 0;

	if (strcmp(argv[*first - 1], "--") == 0)
		return 0;
	while (ret == 0 && argv[*first] &&
	       options_number(argv[*first], 1, INT32_MAX, &pid))
		ret = pid_take(request, argv[(*first)++]);
	return ret;
}

/* What does not go together. */
static int request_check(const struct capture_request *request,
			 const char *command)
{
	const struct writer_options *output = &request->output;
	bool has_ring = output->octets || output->ns || output->packets;

	if (!output->path)
		return wrong("say where the packets go", "-o FILE is missing");
	if (!command == !request->pid_cnt)
		return wrong("either a command, or process IDs",
			     command ? command : "what is to be captured");
	if (has_ring && strcmp(output->path, "-") == 0)
		return wrong("needs the name of a file", "-b");
	if ((output->files || output->end_files) && !has_ring)
		return wrong("needs -b filesize, duration or packets",
			     "files:N");
	return 0;
}

/* As getopt_long(); those of usiw run are taken.  Return: 0: the reason was
 * printed. */
static int option_next(struct capture_request *request, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "qp", required_argument, NULL, OPT_QP },
		{ "peer", required_argument, NULL, OPT_PEER },
		{ "port", required_argument, NULL, OPT_PORT },
		{ 0 },
	};
	const char *why[2];

	while (argv[optind])
		switch (options_take(argv, &optind, &request->run, why)) {
		case OPTION_TAKEN:
			break;
		case OPTION_WRONG:
			(void)wrong(why[1], why[0]);
			return 0;
		case OPTION_OTHER:
			return getopt_long(argc, argv,
					   "+:o:w:s:c:a:b:B:p:", longs, NULL);
		}
	return -1;
}

int capture_request_take(struct capture_request *request, int argc, char **argv,
			 int *ret_first)
{
	int option, ret = 0;

	opterr = 0;
	while (ret == 0 && (option = option_next(request, argc, argv)) != -1) {
		if (option == '?')
			ret = wrong("no such option", argv[optind - 1]);
		else if (option == ':')
			ret = wrong("value missing", argv[optind - 1]);
		else if (option)
			ret = option_take(request, option, optarg);
		else
			ret = USAGE_EXIT;
	}
	*ret_first = optind;
	if (ret == 0)
		ret = words_take(request, argv, ret_first);
	return ret ? ret : request_check(request, argv[*ret_first]);
}

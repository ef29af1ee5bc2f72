# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The table of cases of datagrams: usiw with persona ca on the host, the
kernel's rdma_rxe in the guest. A case is data; roce.py runs it.

Not here: qperf's tests of UD and udpong. They do not work between two rdma_rxe
either: qperf makes address handles without GRH ("failed to create address
handle: Invalid argument"), and udpong ends with "rconnect: No such file or
directory".
"""
import itertools

from cases import LIMIT, SIDES

SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 63, 64, 65, 255, 256, 511, 1000, 1021, 1022,
         1023, 1024)  # the path MTU of a link of 1500 octets
IPS = ("ipv4", "ipv6")
GROUP = "239.1.2.3"


class RoceCase:
    """In the words of a command, OWN and PEER are addresses, GID is the index
    of the own one, and DEVICE the device's name, on the machine where it
    runs."""
    net, siw = "roce", {}

    def __init__(self, name, usiw, ip, words, packets, sizes=None, table=None,
                 timeout=30, tcp_ip="ipv4", client=("PEER",), own=(),
                 server=(), listens="tcp", group=None, pairs=1):
        self.name = f"roce-{usiw}-{name}-{ip}"
        self.usiw, self.ip, self.words = usiw, ip, words
        self.own = own  # what usiw's command has beside the words
        # What their commands have at the end.
        self.server, self.client = server, client
        self.listens = listens  # tcp or cm
        self.group = group  # the server is a member of it, the client sends
        self.tcp_ip = tcp_ip  # of the programs' own connection
        self.pairs = pairs  # of programs, at the same time
        self.packets = packets  # (from usiw, to usiw), at least
        self.sizes = sizes  # all sizes of payload that the wire must have
        self.table = table  # perftest: (program, octets, iterations)
        self.timeout, self.repeats = timeout * LIMIT, 0


def verify(usiw, ip, pairs=1):
    """Each size eight times, with immediate data and without, and what is
    lost. One process of usiw has the UDP port, and hands packets on to the
    others, whose sockets hold 10: a larger burst is lost if a process does not
    run for a while."""
    name = "ud-verify" if pairs == 1 else f"ud-verify-{pairs}-at-once"
    return RoceCase(name, usiw, ip,
                    ["UD_VERIFY", "-p", "PORT", "-S",
                     ",".join(map(str, SIZES)), "-b", 32 if pairs == 1 else 8],
                    (8 * pairs * len(SIZES), 8 * pairs * len(SIZES)),
                    sizes=set(SIZES), pairs=pairs,
                    tcp_ip=ip, client=("-c", "PEER"), own=("-d", "-q"),
                    timeout=60)


def pingpong(usiw, ip, size, *options):
    count = 100
    words = ["ibv_ud_pingpong", "-d", "DEVICE", "-g", "GID", "-p", "PORT",
             "-s", size, "-n", count, *options]
    name = "-".join(["ud-pingpong", str(size), *options]).replace("--", "-")
    return RoceCase(name, usiw, ip, words, (count, count), sizes={size})


def perf(usiw, ip, program, size, *options):
    count = 200
    words = [program, "-c", "UD", "-d", "DEVICE", "-x", "GID", "-F", "-p",
             "PORT", "-s", size, "-n", count, *options]
    if program == "ib_send_bw":
        words += ["-r", 2 * count]  # a datagram without a receive is lost
    count *= int(dict(zip(options, options[1:])).get("-q", 1))
    back = count if program == "ib_send_lat" or "-b" in options else 0
    packets = (count, back) if usiw == "client" else (back, count)
    name = "-".join([program, str(size), *options]).replace("--", "-")
    return RoceCase(name, usiw, ip, words, packets, sizes={size},
                    table=(program, size, count), timeout=60)


def udaddy(usiw, ip, *options, size=100, count=10):
    """rdma_cm's RDMA_PS_UDP: the client asks for a QP by SIDR."""
    words = ["udaddy", "-S", size, "-C", count, *options, "-b"]
    name = "-".join(["udaddy", *options]).replace("--", "-")
    mads = int(dict(zip(options, options[1:])).get("-c", 1))
    return RoceCase(name, usiw, ip, words, (mads, mads), {size, 256},
                    client=("OWN", "-s", "PEER"), server=("OWN",), listens="cm",
                    tcp_ip=ip)


def mckey(usiw, size=1000, count=10):
    """Both join a group; the client sends to it. rdma_rxe joins no group of
    IPv6 by rdma_cm."""
    words = ["mckey", "-m", GROUP, "-S", size, "-C", count, "-b"]
    packets = (count, 0) if usiw == "client" else (0, count)
    return RoceCase("mckey", usiw, "ipv4", words, packets, {size},
                    client=("OWN", "-s"), server=("OWN",), listens="cm",
                    group=GROUP)


def table():
    for usiw, ip in itertools.product(SIDES, IPS):
        yield verify(usiw, ip)
        for size in (1, 1024):
            yield pingpong(usiw, ip, size)
        yield pingpong(usiw, ip, 64, "-e")
        for size in (1, 64, 1024):
            yield perf(usiw, ip, "ib_send_bw", size)
            yield perf(usiw, ip, "ib_send_lat", size)
        yield perf(usiw, ip, "ib_send_bw", 512, "-b")
        yield perf(usiw, ip, "ib_send_lat", 32, "-I", "32")
        yield perf(usiw, ip, "ib_send_bw", 64, "-q", "4")
        yield verify(usiw, ip, pairs=3)
        yield udaddy(usiw, ip)
        yield udaddy(usiw, ip, "-c", "20")
    for usiw in SIDES:
        yield mckey(usiw)

# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The programs that are tested, by group."""
import errno
import functools
import re
import select
import subprocess
import time

import harness
import perftest
import rping
from harness import Skip, Test, check

# ---- rdmacm-utils --------------------------------------------------------

def pings(address, count=1000, size=64, bind=None, more=()):
    """Each ping is read by the server and written back."""
    with Test(f"rping {address} size {size} {' '.join(more)}") as test:
        rping.pair(test, count, size, address, listen=bind, more=more)
        total = test.counters.sum()
        check(total["read_wr"] >= count, f"{total['read_wr']} reads")
        check(total["write_wr"] >= count, f"{total['write_wr']} writes")
        if count * size > 1 << 20:
            test.demand_path()


def pings_machine(**kwargs):
    address = harness.machine_address()
    if not address:
        raise Skip("this machine has no address but loopback's")
    pings(address, **kwargs)


def simple_pair(name, server_command, client_command, octets, timeout=60,
                server_codes=(0,), client_codes=(0,)):
    with Test(name) as test:
        before = test.counters.sum()
        port = harness.free_port()
        server = test.start("server", server_command + ["-p", port])
        server.wait_listening(port)
        if server_command[0] == "riostream":
            # riostream's server registers its iomap after rlisten(). A client
            # that connects before that gets ENOMEM from riomap(). Once the
            # server waits in raccept(), or polls it, the iomap is registered.
            server.wait_waiting()
        client = test.start("client", client_command + ["-p", port])
        client.wait(timeout, codes=client_codes)
        server.wait(20, codes=server_codes)
        test.demand_payload(before, octets)


def cmtime(count=200):
    """Connections only: it transfers handshakes, no payload."""
    with Test(f"cmtime -c {count}") as test:
        port = harness.free_port()
        # The server runs for ever (rdma-core 44), or counts like the client
        # and ends with it (56).
        server = test.start("server", ["cmtime", "-p", port, "-c", count])
        server.wait_listening(port)
        client = test.start("client", ["cmtime", "-s", "127.0.0.1",
                                       "-p", port, "-c", count])
        client.wait(60)
        check(server.process.poll() in (None, 0), "the server died")
        text = client.text()
        check("failure" not in text and "error" not in text.lower(),
              "cmtime complains")
        total = test.counters.sum()
        for counter in ("connects", "accepts", "streams_opened"):
            check(total[counter] >= count,
                  f"{counter} is {total[counter]}")


RDMACM = [
    ("ucmatose", functools.partial(
        simple_pair, "ucmatose", ["ucmatose"],
        ["ucmatose", "-s", "127.0.0.1"], 2 * 10 * 100)),
    ("ucmatose-many", functools.partial(
        simple_pair, "ucmatose -c 20 -C 50 -S 5000",
        ["ucmatose", "-c", 20, "-C", 50, "-S", 5000],
        ["ucmatose", "-s", "127.0.0.1", "-c", 20, "-C", 50, "-S", 5000],
        2 * 20 * 50 * 5000)),
    ("cmtime", cmtime),
    ("rdma_server", functools.partial(
        simple_pair, "rdma_server / rdma_client", ["rdma_server"],
        ["rdma_client", "-s", "127.0.0.1"], 2 * 16)),
    ("rdma_xserver", functools.partial(
        simple_pair, "rdma_xserver / rdma_xclient", ["rdma_xserver", "-c",
                                                     "r"],
        ["rdma_xclient", "-s", "127.0.0.1", "-c", "r"], 16)),
]

RPING = [
    ("rping-loopback", functools.partial(pings, "127.0.0.1")),
    ("rping-ipv6", functools.partial(pings, "::1", bind="::1")),
    ("rping-ipv6-any", functools.partial(pings, "::1", bind="::0")),
    ("rping-machine", pings_machine),
    ("rping-65000", functools.partial(pings, "127.0.0.1", size=65000)),
]

# The program makes and moves its queue pair itself. rdma_cm only connects.
RPING_OWN_QP = [
    ("rping-q", functools.partial(pings, "127.0.0.1", more=["-q"])),
    ("rping-q-ipv6", functools.partial(pings, "::1", bind="::1",
                                       more=["-q"])),
]

# ---- rsockets ------------------------------------------------------------

SPRELOAD = "/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so"


def rstream(program, *options, size=1000, count=100, iterations=20,
            address="127.0.0.1", server=(), client=()):
    """
    -T v compares every octet.  With -T a rstream ends with poll's POLLHUP
    when the server's goodbye is there as soon as its last data.
    """
    words = ["-S", size, "-C", count, "-I", iterations, *options]
    codes = (0, select.POLLHUP) if "a" in options else (0,)
    name = " ".join(str(w) for w in [program, *options, *client, *server])
    return name, functools.partial(
        simple_pair, f"{name} -s {address} {' '.join(map(str, words))}",
        [program, *words, *server], [program, "-s", address, *words, *client],
        2 * size * count * iterations, client_codes=codes)


def rcopy():
    with Test("rcopy") as test:
        before = test.counters.sum()
        scratch = harness.os.path.join(test.directory, "scratch")
        harness.os.mkdir(scratch)
        harness.os.chmod(scratch, 0o1777)
        source = harness.os.path.join(scratch, "source")
        target = harness.os.path.join(scratch, "target")
        octets = harness.random.randbytes(3 * 1000 * 1000 + 1)
        with open(source, "wb") as f:
            f.write(octets)
        port = harness.free_port()
        # The server runs for ever.
        server = test.start("server", ["rcopy", "-p", port])
        server.wait_listening(port)
        client = test.start("client", ["rcopy", source,
                                       f"127.0.0.1:{target}", "-p", port])
        client.wait(60)
        check(server.process.poll() is None, "the server died")
        with open(target, "rb") as f:
            check(f.read() == octets, "the copy differs")
        test.demand_payload(before, len(octets))


def spreload(streams):
    """
    A program of sockets on rsockets, on us.  librdmacm 44 itself keeps others
    out: its select() takes an accepted socket for another one (iperf3 never
    hears of data), it has no accept4() (nc), and from the fourth accepted
    socket on its thread polls an array that has moved.  Its help for servers
    that fork (RDMAV_FORK_SAFE) listens by TCP and by rdma_cm on one port, which
    for iWARP is the same one.
    """
    with Test(f"iperf -P {streams} by librspreload") as test:
        harness.need("iperf")
        if not harness.os.path.exists(SPRELOAD):
            raise Skip("librspreload is not installed")
        before = test.counters.sum()
        port = harness.free_port()
        env = {"LD_PRELOAD": SPRELOAD}
        server = test.start("server", ["iperf", "-s", "-P", streams, "-p",
                                       port], env=env)
        server.wait_listening(port)
        client = test.start("client", ["iperf", "-c", "127.0.0.1", "-p", port,
                                       "-P", streams, "-n", "20M"], env=env)
        client.wait(60)
        server.wait(20)
        test.demand_payload(before, streams * 20 << 20)


def spreload_rstream():
    """rstream with plain sockets, turned into rsockets: octets are
    compared."""
    with Test("rstream -T s -T v by librspreload") as test:
        if not harness.os.path.exists(SPRELOAD):
            raise Skip("librspreload is not installed")
        before = test.counters.sum()
        port = harness.free_port()
        words = ["rstream", "-T", "s", "-T", "v", "-S", 5000, "-C", 100,
                 "-I", 10, "-p", port]
        env = {"LD_PRELOAD": SPRELOAD}
        server = test.start("server", words, env=env)
        server.wait_listening(port)
        client = test.start("client", words + ["-s", "127.0.0.1"], env=env)
        client.wait(60)
        server.wait(20)
        test.demand_payload(before, 2 * 5000 * 100 * 10)


def refused(*words, says=""):
    """Programs that need datagrams or multicast fail at once."""
    def run():
        with Test(f"{' '.join(words)} is refused") as test:
            program = test.start("program", words)
            code = program.wait(10, codes=None)
            check(code > 0, f"exit code {code}")
            check(says in program.text(), f"it says {program.text()}")

    return "".join(words), run


RSOCKETS = [
    rstream(program, "-T", mode)
    for program in ("rstream", "riostream") for mode in "abnv"
] + [
    rstream("rstream", "-T", "r"),
    rstream("rstream", "-k", 1),
    rstream("rstream", "-T", "v", size=1 << 20, count=10, iterations=2),
    rstream("rstream", "-T", "v", "-B", 65536, "-i", 0, size=100000, count=5),
    rstream("rstream", "-i", 256, size=256, count=1),
    rstream("riostream", "-T", "v", size=1 << 20, count=10, iterations=2),
    rstream("rstream", "-f", "ip", "-T", "v"),
    rstream("rstream", "-T", "v", server=("-b", "127.0.0.1"),
            client=("-b", "127.0.0.2")),
    rstream("rstream", "-T", "v", address="::1", server=("-b", "::1")),
    rstream("riostream", "-f", "ip", "-T", "v", address="::1",
            server=("-b", "::")),
    rstream("riostream", "-i", 0),
    rstream("riostream", "-i", 256, size=256, count=1),
    ("rcopy", rcopy),
]

# Some say nothing themselves.
NO_DATAGRAMS = "an iWARP device has no datagrams"
REFUSED = [
    refused("udaddy", "-s", "127.0.0.1", says=NO_DATAGRAMS),
    refused("udaddy", says=NO_DATAGRAMS),
    refused("mckey", "-m", "239.1.2.3", "-b", "127.0.0.1", says=NO_DATAGRAMS),
    refused("udpong", "-s", "127.0.0.1", says="Operation not supported"),
]

# ---- perftest ------------------------------------------------------------


def perf(program, *options, timeout=120):
    words = [str(o) for o in options]
    with Test(f"{program} -R {' '.join(words)}") as test:
        perftest.pair(test, program, words, timeout=timeout)
        if "-a" in words:
            test.demand_path()


def perf_row(program, *options, **kwargs):
    name = "".join([program] + [str(o) for o in options])
    return name, functools.partial(perf, program, *options, **kwargs)


def hand_row(program, *options, **kwargs):
    words = [str(o) for o in options]

    def run():
        with Test(f"{program} {' '.join(words)}") as test:
            perftest.pair(test, program, words, connect=perftest.BY_HAND,
                          **kwargs)

    return "".join([program] + words), run


def pingpong(program, *options, gid=0, octets=2 * 1000 * 4096):
    """
    rdma-core's examples: queue pairs connected by ibv_modify_qp().  Without a
    GID they tell each other LIDs.
    """
    words = [str(o) for o in options]
    if gid is not None:
        words = [f"-g{gid}"] + words

    def run():
        with Test(f"{program} {' '.join(words)}") as test:
            before = test.counters.sum()
            port = harness.free_port()
            command = [program, "-d", "usiw_lo", "-p", port, *words]
            server = test.start("server", command)
            server.wait_listening(port)
            client = test.start("client", command + ["127.0.0.1"])
            client.wait(60)
            server.wait(20)
            test.demand_payload(before, octets)

    return "".join([program] + words), run


def send_bw_by_hand(*options):
    """
    On an iWARP device ib_send_bw has a region for its credits.  perftest 4.5
    frees it only where rdma_cm connected (destroy_ctx: work_rdma_cm), so it
    cannot free its protection domain and ends with 1, on every such device.
    perftest 25.01 frees it and ends with 0.
    """
    words = [str(o) for o in options]
    complaints = [
        f"Failed to deallocate PD - {harness.os.strerror(errno.EBUSY)}",
        "Couldn't destroy all SEND resources"]

    def run():
        with Test(f"ib_send_bw {' '.join(words)}") as test:
            perftest.pair(test, "ib_send_bw", words, codes=(0, 1),
                          connect=perftest.BY_HAND)
            for program in test.programs:
                found = re.findall(r"(?:[Ff]ail|[Cc]ould|[Uu]nable|[Ee]rror).*",
                                   program.text())
                code = program.process.returncode
                check(found == (complaints if code == 1 else []),
                      f"exit code {code}, complaints: {found}")

    return "".join(["ib_send_bw"] + words), run


# A message without a receive is lost, and perftest waits for it for ever: all
# receives of ib_send_bw are posted beforehand.
UC = [
    hand_row(f"ib_{name}", "-c", "UC", *options)
    for name, options in (("write_bw", ()), ("write_bw", ("-b", "-q", 4)),
                          ("write_lat", ()), ("write_lat", ("-I", 64)),
                          ("send_lat", ()), ("send_lat", ("-e",)))
] + [
    send_bw_by_hand("-c", "UC", "-n", 500, "-r", 500),
    send_bw_by_hand("-c", "UC", "-s", 1 << 20, "-n", 100, "-r", 100),
    pingpong("ibv_uc_pingpong"), pingpong("ibv_uc_pingpong", "-e", gid=1),
    pingpong("ibv_uc_pingpong", gid=None),
]


def atomic_row(program, *options):
    words = [str(o) for o in options]

    def run():
        with Test(f"{program} -R {' '.join(words)}") as test:
            perftest.pair(test, program, words,
                          demand=perftest.demand_atomics)

    return "".join([program] + words), run


def atomic_many():
    with Test("16 queue pairs and the CPU at one word") as test:
        before = test.counters.sum()
        program = test.start("many", [harness.os.path.join(
            harness.BUILD, "bin", "apps-atomic-many")])
        program.wait(120)
        check("good" in program.text(), program.text())
        served = (test.counters.sum().get("atomic_served", 0) -
                  before.get("atomic_served", 0))
        check(served == 16 * 2000, f"{served} atomics by usiw's counters")


@functools.cache
def ucx_without_mpi():
    """
    The words that keep ucx_perftest from MPI.  Where it is built with MPI (UCX
    1.18 of Debian 13), it takes a standard input that is no terminal for a
    start by mpirun.  Where it is not (1.13 of Debian 12), it has no such word.
    """
    said = subprocess.run(["ucx_perftest", "-h"], capture_output=True,
                          text=True, check=False)
    return ["-P", "0"] if "MPI mode" in said.stdout + said.stderr else []


UCX_ATOMICS = ("add_lat", "add_mr", "fadd", "cswap")


def ucx(what, *options):
    """
    UCX's own queue pairs.  It takes no iWARP device, and with its upper
    layer (ucp) connects by datagrams first: only what is below (uct) runs.
    """
    count, size = 500, 8

    def run():
        with Test(f"ucx_perftest -t {what}") as test:
            harness.need("ucx_perftest")
            port = harness.free_port()
            command = ["ucx_perftest", *ucx_without_mpi(), "-d", "usiw_lo:1",
                       "-x", "rc_verbs", "-t", what, "-n", count, "-s", size,
                       "-w", 10, "-p", port, *options]
            server = test.start("server", command)
            server.wait_listening(port)
            client = test.start("client", command + ["127.0.0.1"])
            client.wait(60)
            server.wait(20)
            check(re.search(rf"^Final: +{count} ", client.text(), re.M),
                  "no result")
            check("ERROR" not in client.text() + server.text(), "an error")
            if what in UCX_ATOMICS:
                served = test.counters.sum().get("atomic_served", 0)
                check(served >= count, f"{served} atomics by usiw's counters")
            else:
                test.demand_payload({}, count * size)

    return f"ucx-{what}", run


ALL_TO_ALL_STREAMS = 16 * 15
ALL_TO_ALL_ROUNDS = 20


def all_to_all(*words):
    """16 processes, fully connected without rdma_cm."""
    def run():
        with Test(f"all to all {' '.join(words)}") as test:
            program = test.start("processes", [harness.os.path.join(
                harness.BUILD, "bin", "apps-all-to-all"), *words])
            program.wait(30)
            check("good" in program.text(), program.text())
            total = test.counters.sum()
            check(total["streams_opened"] == ALL_TO_ALL_STREAMS,
                  f"{total['streams_opened']} streams")
            rounds = ALL_TO_ALL_ROUNDS // 2 if words else ALL_TO_ALL_ROUNDS
            test.demand_payload({}, ALL_TO_ALL_STREAMS * rounds << 14)

    return "-".join(["all-to-all", *words]), run


def sweep(verb):
    """
    Streams of all sizes. There are more messages than places in the queue, so
    that its ring wraps with each size. Perftest measures the clock anew for each
    size, which takes longer than the messages: ping-pongs have few sizes.
    """
    return [perf_row(f"ib_{verb}_bw", "-a", "-n", 64, "-t", 16)] + [
        perf_row(f"ib_{verb}_lat", "-s", size, "-n", 64)
        for size in (1, 4097, 1 << 23)]


def duration():
    """-D uses SIGALRM. The run must last as long as requested."""
    with Test("ib_write_bw -R -D 3") as test:
        perftest.pair(test, "ib_write_bw", ["-D", "3"])
        check(harness.time.monotonic() - test.started >= 3,
              "three seconds were over too soon")


def devinfo():
    """Reports a channel adapter on Ethernet with persona ca."""
    with Test("ibv_devinfo -v") as test:
        program = test.start("devinfo", ["ibv_devinfo", "-v", "-d", "usiw_lo"])
        program.wait(20)
        is_ca = "ca" in harness.PERSONA
        for line in (r"transport:\s+" + (r"InfiniBand \(0\)" if is_ca
                                         else r"iWARP \(1\)"),
                     r"link_layer:\s+Ethernet", r"state:\s+PORT_ACTIVE",
                     r"max_pkeys:\s+1$", r"pkey_tbl_len:\s+1$",
                     r"GID\[ +0\]:.*RoCE v2"):
            check(re.search(line, program.text(), re.M), f"no line '{line}'")


def names():
    """Devices have the names that USIW_NAME asks for, though rdma-core has a
    provider for some of these."""
    for pattern in ("rxe%d", "siw%d", "my-%d.x"):
        with Test(f"USIW_NAME={pattern}") as test:
            name = pattern.replace("%d", "0")
            program = test.start("devinfo", ["env", f"USIW_NAME={pattern}",
                                             "ibv_devinfo", "-d", name])
            program.wait(20)
            check(re.search(rf"hca_id:\s+{re.escape(name)}$", program.text(),
                            re.M), program.text())


PCI_SCRIPT = r"""
for d in /sys/class/infiniband/*; do
    i=${d##*/usiw_}
    readlink $d/device | grep -Eq '/[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$'
    for f in vendor device class numa_node local_cpulist; do
        test -s $(readlink -f $d/device)/$f && cat $d/device/$f >/dev/null
    done
    grep -q ^usiw: $d/device/modalias
    test -e $d/device/net/$i -a -e $d/device/infiniband/usiw_$i/node_guid
    test $(cd $d/device/infiniband/.. && pwd -P) = $(readlink -f $d/device)
    echo good ${d##*/}
done
"""


def pci():
    """Each device has a PCI device: its interface's, or one of the tree."""
    with Test("PCI devices") as test:
        program = test.start("sh", ["sh", "-ec", PCI_SCRIPT])
        program.wait(20)
        check("good usiw_lo" in program.text(), "usiw_lo has none")


# Programs that behave differently with persona ca: rdma_cm's handshake is
# InfiniBand's, some programs (rping -q) move their QPs themselves, and
# perftest treats it as InfiniBand.
CA_SHORT = RPING[:2] + RPING_OWN_QP + RDMACM + [
    ("devinfo", devinfo),
    ("pci", pci),
    ("names", names),
    perf_row("ib_write_bw", "-b", "-q", 4), hand_row("ib_send_bw", "-q", 4),
    perf_row("ib_send_bw", "-q", 4), hand_row("ib_send_bw", "-b"),
    pingpong("ibv_rc_pingpong"), pingpong("ibv_rc_pingpong", "-e", gid=1),
    pingpong("ibv_rc_pingpong", "-o", "-c", gid=None),
    pingpong("ibv_rc_pingpong", "-s", 1 << 20, "-n", 20, "-r", 5,
             octets=2 * 20 * (1 << 20)),
    pingpong("ibv_srq_pingpong"), pingpong("ibv_srq_pingpong", "-e", gid=1),
    atomic_row("ib_atomic_bw"), atomic_row("ib_atomic_lat"),
    all_to_all(), all_to_all("kill"),
]
CA = CA_SHORT + [
    row(f"ib_{verb}_{what}", *options) for row in (perf_row, hand_row)
    for verb in ("write", "read", "send") for what in ("bw", "lat")
    for options in ((), ("-e",)) if verb != "write" or not options
] + [
    ucx("put_lat"), ucx("put_bw"), ucx("am_lat"), ucx("am_bw"),
] + [ucx(what) for what in UCX_ATOMICS] + [
    ("many", atomic_many),
    hand_row("ib_atomic_bw", demand=perftest.demand_atomics),
    hand_row("ib_atomic_lat", demand=perftest.demand_atomics),
]

GROUPS = {
    "ca": CA,
    "ca-short": CA_SHORT,
    "rping": RPING + RPING_OWN_QP,
    "rdmacm": RDMACM,
    "rsockets": RSOCKETS,
    "spreload": [(f"iperf-P{n}", functools.partial(spreload, n))
                 for n in (1, 2)] + [("rstream", spreload_rstream)],
    "refused": REFUSED,
    "write": sweep("write"),
    "read": sweep("read"),
    "send": sweep("send"),
    "atomic": [
        atomic_row(f"ib_atomic_{what}", "-A", kind, *options)
        for kind in ("FETCH_AND_ADD", "CMP_AND_SWAP")
        for what, options in (("bw", ()), ("bw", ("-b", "-q", 4)),
                              ("bw", ("-e", )), ("lat", ()), ("lat", ("-e", )))
    ] + [("many", atomic_many)],
    "by-hand": [
        pingpong("ibv_rc_pingpong", gid=gid, *options)
        for gid, options in ((0, ()), (0, ("-e",)), (0, ("-o",)),
                             (0, ("-c",)), (0, ("-N",)), (0, ("-t",)),
                             (1, ()), (1, ("-e",)), (1, ("-o", "-c", "-e")),
                             (None, ()))
    ] + [
        pingpong("ibv_rc_pingpong", "-s", 1 << 20, "-n", 50,
                 octets=2 * 50 * (1 << 20)),
        pingpong("ibv_rc_pingpong", "-r", 1, "-n", 200, "-s", 1, gid=1,
                 octets=2 * 200),
        pingpong("ibv_srq_pingpong"), pingpong("ibv_srq_pingpong", "-e"),
        pingpong("ibv_srq_pingpong", gid=1),
        all_to_all(), all_to_all("kill"),
    ] + [
        hand_row(f"ib_{verb}_{what}", *options)
        for verb in ("write", "read") for what in ("bw", "lat")
        for options in ((), ("-s", 1 << 20, "-n", 100))
    ] + [
        send_bw_by_hand(), send_bw_by_hand("-b", "-q", 2),
        hand_row("ib_send_lat"), hand_row("ib_send_lat", "-e"),
        hand_row("ib_send_lat", "-I", 64, "-s", 64),
        hand_row("ib_write_bw", "-q", 8, "-n", 500),
        hand_row("ib_write_bw", "-b"),
        hand_row("ib_read_lat", "-e"),
    ] + [
        hand_row(f"ib_atomic_{what}", "-A", kind,
                 demand=perftest.demand_atomics)
        for kind in ("FETCH_AND_ADD", "CMP_AND_SWAP") for what in ("bw", "lat")
    ],
    "uc": UC,
    "events": [perf_row(f"ib_{verb}_{what}", "-e")
               for verb in ("read", "send") for what in ("bw", "lat")],
    "queues": [
        perf_row("ib_write_bw", "-q", 4),
        perf_row("ib_read_bw", "-q", 4),
        perf_row("ib_write_bw", "-b"),
        perf_row("ib_read_bw", "-b"),
        perf_row("ib_send_bw", "-b"),
        perf_row("ib_send_bw", "--use-srq"),
    ],
    "inline": [perf_row(f"ib_{verb}_{what}", "-I", 64, "-s", 64)
               for verb in ("write", "send") for what in ("bw", "lat")] +
              [perf_row(f"ib_{verb}_{what}", "-I", 64)
               for verb in ("write", "send") for what in ("bw", "lat")],
    "duration": [("ib_write_bw-D", duration)] +
                [perf_row("ib_read_bw", "-D", 2),
                 perf_row("ib_send_bw", "-D", 2)],
}
